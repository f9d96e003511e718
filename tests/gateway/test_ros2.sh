#!/bin/sh
# Nodes of ROS 2 and a running world: a program with another implementation of DDS (Fast DDS, ROS 2's default) subscribes
# to all kinds of topics, drives a cart and moves a joint, floods, hangs, comes late and sends what is no message. What it
# does becomes commands, so a recording repeats it; and a run has the same bits with and without such programs.
# optional commands: c++ g++
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/gateway/ros2.sh"
needs_node 'ROS 2' robot.sdf

# --- options ---------------------------------------------------------------------------------------------------------
for bad in '--ros2 --ros2-domain 233' '--ros2 --ros2-domain -1' '--ros2 --ros2-address nowhere' '--ros2 --ros2-distro x' \
	'--ros2-domain 3' '--ros2 --ros2-address 203.0.113.9'; do
	# shellcheck disable=SC2086 # words
	timeout 20 "$troupe" run w.sdf $bad --iterations 1 --rtf 0 -v 0 >out 2>err
	status=$?
	[ $status -ne 0 ] && [ $status -le 4 ] && [ "$(wc -l <err)" -le 2 ] && grep -q '^troupe run: ' err
	report $? "$bad: $status $(cat err)"
done
if command -v python3 >/dev/null; then
	python3 - "$troupe" $domain >out 2>err <<'END'
import os, resource, subprocess, sys
if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 5000:
    sys.exit(77)
for _ in range(4000):
    os.set_inheritable(os.open("/dev/null", os.O_RDONLY), True)
done = subprocess.run([sys.argv[1], "run", "w.sdf", "--ros2", "--ros2-domain", sys.argv[2], "--iterations", "1", "--rtf", "0",
                       "-v", "0"], close_fds=False, timeout=20)
sys.exit(done.returncode)
END
	case $? in
	77) skip 'thousands of open files' 'the limit for open files is below 5000' ;;
	0) report 1 'thousands of open files: no error' ;;
	*) report "$(grep -q 'too many open files' err; echo $?)" "thousands of open files: $(cat err)" ;;
	esac
fi
ROS_DOMAIN_ID=x timeout 20 "$troupe" run w.sdf --ros2 --iterations 1 --rtf 0 -v 0 >out 2>err
grep -q "^troupe run: ROS_DOMAIN_ID: 'x': expected 0 .. 232$" err
report $? "a wrong ROS_DOMAIN_ID: $(cat err)"
ROS_DOMAIN_ID=$domain timeout 20 "$troupe" run w.sdf --ros2 --iterations 1 --rtf 0 >out 2>err
grep -q "ROS 2: domain $domain, node /troupe, this machine only" err
report $? "ROS_DOMAIN_ID: $(cat err)"

# --- a program of Fast DDS -------------------------------------------------------------------------------------------
compile_peer || {
	totals
	exit
}

# peer ORDERS...: what it prints in `said`
peer()
{
	timeout 150 ./peer domain:$domain "$@" >said 2>&1
}

# has NAME PATTERN: whether a message of the topic has the words
has()
{
	grep "^$1 " said | grep -Eq "$2"
	report $? "$1: '$2': $(grep -m 1 "^$1 " said | cut -c 1-200)"
}

begin --record run.rec --secondaries 2
least="least:ros_discovery_info:1 least:/clock:300 least:/tf_static:1 least:/cart/tf_static:1 least:/joint_states:100"
for topic in tf cart/tf odom cart/odom scan scan/points image camera_info imu navsat contact robot_joint_states; do
	least="$least least:/$topic:5"
done
# shellcheck disable=SC2086 # words
peer for:6 $least nodes sub:/clock:rosgraph_msgs/Clock:best sub:/tf:tf2_msgs/TFMessage sub:/tf_static:tf2_msgs/TFMessage:static \
	sub:/cart/tf:tf2_msgs/TFMessage sub:/cart/tf_static:tf2_msgs/TFMessage:static \
	sub:/odom:nav_msgs/Odometry sub:/cart/odom:nav_msgs/Odometry sub:/scan:sensor_msgs/LaserScan:best \
	sub:/scan/points:sensor_msgs/PointCloud2 sub:/image:sensor_msgs/Image sub:/camera_info:sensor_msgs/CameraInfo \
	sub:/imu:sensor_msgs/Imu:best sub:/navsat:sensor_msgs/NavSatFix sub:/contact:ros_gz_interfaces/Contacts \
	sub:/joint_states:sensor_msgs/JointState sub:/robot_joint_states:sensor_msgs/JointState \
	pub:/cmd_vel:geometry_msgs/Twist:0.5,0 pub:/robot_joint_command:sensor_msgs/JointState:turn,1
report $? 'the program of Fast DDS ends well'
has ros_discovery_info 'node=/troupe readers=[1-9][0-9]* writers=[1-9]'
has /tf 'frame=cart/odom child=cart/base translation='
has /tf_static 'frame=cart/base child=cart/base/lidar translation=0.100000,0.000000,0.200000 rotation=0.000000,0.000000,0.000000,1.0'
has /tf_static 'frame=cart/base/camera child=cart/base/camera/optical translation=0.000000,0.000000,0.000000 rotation=-0.5'
has /tf_static 'frame=cart/base child=cart/plate translation=0.000000,0.000000,0.300000'
has /tf_static 'frame=cart/plate child=cart/mast translation=0.200000,0.000000,0.200000'
# for programs in the namespace of the robot: its frames without its name, and those that its messages name
has /cart/tf 'frame=odom child=base translation=.* frame=odom child=cart/odom translation=0.0.* frame=base child=cart/base translation=0.0'
has /cart/tf_static 'frame=base child=base/lidar translation=0.100000,0.000000,0.200000 rotation=0.000000,0.000000,0.000000,1.0'
has /cart/tf_static 'frame=base/lidar child=cart/base/lidar translation=0.000000,0.000000,0.000000 rotation=0.000000,0.000000,0.000000,1.0'
has /cart/tf_static 'frame=base child=base_link translation=0.000000,0.000000,0.000000'
has /cart/tf_static 'frame=plate child=mast translation=0.200000,0.000000,0.200000'
has /cart/odom 'frame=cart/odom child=cart/base'
has /scan 'frame=cart/base/lidar -1.000000 1.000000 0.100000 .* ranges=21:'
has /scan/points '21x1 fields=x:0:7:1,y:4:7:1,z:8:7:1,'
has /image 'frame=cart/base/camera/optical 64x48 rgb8 step=192 data=9216:'
has /camera_info 'frame=cart/base/camera/optical 64x48 model='
has /imu 'frame=cart/base/imu orientation=-?0.000[0-9]*,-?0.000[0-9]*,-?0.000[0-9]*,1.0'
has /navsat 'status=0 service=1 place=35.0000[0-9]*,139.0000'
has /contact 'contacts=0'
has /robot_joint_states 'names=turn, position='
# the clock goes on with the run, and few messages are lost
awk '$1 == "/clock" { sub("time=", "", $2); if (n++ && ($2 - last < 0.0099 || $2 - last > 0.0101)) gaps++; last = $2 }
	END { exit !(n > 200 && gaps < n / 20) }' said
report $? "clocks: $(grep -c '^/clock ' said)"
# at 0.5 m/s the cart goes half a metre in each second, by its own stamps
awk '$1 == "/odom" { split($2, s, "="); split($5, p, "[=,]"); t = s[2]; x = p[2]
		if (x > 0.1 && !moved) { moved = 1; t0 = t; x0 = x } }
	END { e = x - x0 - 0.5 * (t - t0); exit !(moved && t - t0 > 1 && e * e < 1e-6) }' said
report $? "the cart is driven: $(grep '^/odom ' said | tail -n 1)"
awk '$1 == "/joint_states" { split($5, p, "[=,]"); at = p[2] } END { exit !(at > 0.9 && at < 1.1) }' said
report $? "the joint is moved: $(grep '^/joint_states ' said | tail -n 1)"
end
report $? "the run ends well: $(cat err)"
timeout 120 "$troupe" replay run.rec --secondaries 0 -v 0 >out 2>err
report $? "the recording of the run that was commanded has the same bits: $(cat out err)"

# --- compressed pictures, and those of several cameras in one sensor -------------------------------------------------
# With image_transport a node subscribes to /image/compressed; a stereo pair has the topics of stereo_image_proc. The pictures
# of both are also in a bag of the same run.
cp w.sdf plain.sdf
pair='<sensor name="pair" type="multicamera"><update_rate>10</update_rate>'
pair="$pair<camera name='left'><image><width>40</width><height>30</height></image></camera>"
pair="$pair<camera name='right'><troupe:baseline>0.12</troupe:baseline><image><width>40</width><height>30</height></image></camera>"
sed "s|<sensor name=\"camera\"|$pair</sensor>&|; s|</camera></sensor>|<troupe:compressed><format>png</format></troupe:compressed>&|" \
	plain.sdf >w.sdf
begin --mcap pair.mcap --mcap-names ros --topic '*/image*' --topic '*/camera_info'
peer for:6 least:/image/compressed:5 least:/left/image:5 least:/left/image/compressed:5 least:/right/camera_info:5 \
	sub:/image/compressed:sensor_msgs/CompressedImage sub:/left/image:sensor_msgs/Image \
	sub:/left/image/compressed:sensor_msgs/CompressedImage:best sub:/right/camera_info:sensor_msgs/CameraInfo
report $? "compressed pictures and a stereo pair: $(tail -n 2 said)"
has /image/compressed "frame=cart/base/camera/optical format='rgb8; png compressed bgr8' [0-9]+ bytes from 89 50 4e 47 0d 0a 1a 0a 00 00 00 0d 49 48 44 52 00 00 00 40 00 00 00 30 "
has /left/image 'frame=cart/base/pair/left/optical 40x30 rgb8 step=120 data=3600:'
has /left/image/compressed "frame=cart/base/pair/left/optical format='rgb8; jpeg compressed bgr8' [0-9]+ bytes from ff d8 ff"
has /right/camera_info 'frame=cart/base/pair/right/optical 40x30 model='
end
report $? "the run of the pair ends well: $(cat err)"
for topic in /left/image /left/camera_info /right/image /right/camera_info /cart/left/image /cart/right/image; do
	grep -aqF "$topic" pair.mcap
	report $? "$topic is in the bag"
done
cp plain.sdf w.sdf

# --- wrong messages, floods, slow and late readers -------------------------------------------------------------------
begin --ros2-distro humble
bad=00010000ffffffffffffffffffffffffffffffff # a sequence of 2^32 - 1 in a header
# on a busy machine the two may not have found each other in that time
for _ in 1 2 3 4 5 6 7 8; do
	peer for:3 raw:/cmd_vel:geometry_msgs/Twist:00010000 raw:/cart/cmd_vel:geometry_msgs/TwistStamped:$bad \
		raw:/robot_joint_command:sensor_msgs/JointState:${bad}00 raw:/cart/cmd_vel:geometry_msgs/Twist:ffff0000 \
		pub:/cart/robot_joint_command:sensor_msgs/JointState:nothing,1 pub:/odom:nav_msgs/Odometry:1 \
		pub:/scan:std_msgs/Float64:1 sub:/imu:std_msgs/Float64
	report $? 'wrong messages are sent'
	[ "$(grep -c 'a message is refused' err)" -lt 4 ] || break
done
[ "$(grep -c 'ROS 2: /cmd_vel: a message is refused: not a message of geometry_msgs/msg/Twist in CDR' err)" = 1 ]
report $? "a wrong message is told of once: $(cat err)"
grep -q "ROS 2: /cart/robot_joint_command: a message is refused: joint 'nothing' takes no command of a position" err
report $? "a joint that is not there: $(cat err)"
# (the library itself drops the one whose first bytes name no form of CDR)
[ "$(grep -c 'a message is refused' err)" = 4 ] && ! grep -q '^/imu' said
report $? "each topic tells of its own: $(cat err)"
./peer domain:$domain for:30 sub:/image:sensor_msgs/Image sub:/clock:rosgraph_msgs/Clock >hung 2>&1 &
hung=$!
timeout 60 ./peer domain:$domain for:3 flood:/cmd_vel:geometry_msgs/TwistStamped:0.25,0 >flooded 2>&1 &
flood=$!
sleep 1.5
kill -STOP $hung
peer for:3 least:ros_discovery_info:1 least:/image:2 least:/odom:20 least:/clock:60 nodes:24 sub:/clock:rosgraph_msgs/Clock \
	sub:/odom:nav_msgs/Odometry sub:/image:sensor_msgs/Image
report $? 'a late program ends well'
kill -KILL $hung
wait $hung $flood 2>/dev/null
has ros_discovery_info 'node=/troupe readers=[1-9][0-9]* writers=[1-9]'
has /image '64x48 rgb8'
has /odom 'position=0.[1-9]'
[ "$(grep -c '^/clock ' said)" -gt 50 ]
report $? "a slow program and a flood stop nobody else: $(grep -c '^/clock ' said) clocks"
kill -0 "$run"
report $? 'the run goes on'
end
report $? "the run ends well: $(cat err)"

# --- large messages --------------------------------------------------------------------------------------------------
# pictures of 0.9 MB at 10 Hz: at least half of them arrive, by their stamps. A busy machine loses packets between any two
# programs, so one of a few tries is enough.
sed 's|<width>64</width><height>48</height>|<width>640</width><height>480</height>|' w.sdf >large.sdf
mv w.sdf small.sdf
mv large.sdf w.sdf
begin
for _ in 1 2 3 4 5; do
	peer for:5 least:/image:6 sub:/image:sensor_msgs/Image
	awk '$1 == "/image" { sub("stamp=", "", $2); if (!n++) first = $2; last = $2 }
		END { exit !(n > 3 && n >= 0.5 * (1 + 10 * (last - first))) }' said
	half=$?
	[ $half = 0 ] && break
done
report $half "large pictures: $(grep -c '^/image ' said), $(grep '^/image ' said | sed -n '1p;$p' | tr '\n' ' ')"
end
report $? "the run ends well: $(cat err)"
mv small.sdf w.sdf

# --- other hosts -----------------------------------------------------------------------------------------------------
# Two networks joined by a cable: in the first is the run, and a program beside it; in the second is another host.
cat >hosts.sh <<'END'
ip link set lo up
unshare -n sleep 600 &
other=$!
sleep 0.5
ip link add name va0 type veth peer name vb0 netns $other && ip addr add 10.1.0.1/24 dev va0 && ip link set va0 up &&
	nsenter -t $other -n sh -c 'ip link set lo up; ip addr add 10.1.0.2/24 dev vb0; ip link set vb0 up' || exit 9
sleep 1
for address in '' 10.1.0.1; do
	"$1" run w.sdf --ros2 --ros2-domain 5 ${address:+--ros2-address $address} >out 2>err &
	run=$!
	for _ in $(seq 1200); do
		grep -q 'ROS 2: domain' err && break
		sleep 0.05
	done
	timeout 150 ./peer domain:5 for:4 least:/clock:60 sub:/clock:rosgraph_msgs/Clock pub:/cmd_vel:geometry_msgs/Twist:0,0 \
		>"here$address" &
	here=$!
	nsenter -t $other -n timeout 150 ./peer domain:5 for:4 ${address:+least:/clock:60} sub:/clock:rosgraph_msgs/Clock >"there$address"
	wait $here
	kill -INT $run
	wait $run
done
kill $other
END
if unshare -rn sh -c 'ip link add name va0 type veth peer name vb0' 2>/dev/null; then
	unshare -rn sh hosts.sh "$troupe" >hosts 2>&1
	report $? "two networks: $(cat hosts)"
	[ "$(wc -l <here)" -gt 50 ] && [ "$(wc -l <there)" = 0 ]
	report $? "without an address only this machine: $(wc -l <here) here, $(wc -l <there) there"
	[ "$(wc -l <here10.1.0.1)" -gt 50 ] && [ "$(wc -l <there10.1.0.1)" -gt 50 ]
	report $? "with an address other hosts, too: $(wc -l <here10.1.0.1) here, $(wc -l <there10.1.0.1) there"
else
	skip 'other hosts' 'no networks of its own can be made (unshare -rn, ip link add type veth)'
fi

# --- the same bits ---------------------------------------------------------------------------------------------------
begin --hash-every 20
peer for:3 least:/clock:100 least:/image:5 least:/scan:5 sub:/clock:rosgraph_msgs/Clock sub:/tf:tf2_msgs/TFMessage sub:/image:sensor_msgs/Image sub:/scan:sensor_msgs/LaserScan
end
report $? "a run with readers ends well: $(cat err)"
grep '^hash ' out >with
timeout 100 "$troupe" run w.sdf --iterations "$(awk 'END { print $2 + 0 }' with)" --hash-every 20 -v 0 --rtf 0 >alone 2>&1
[ "$(wc -l <with)" -ge 10 ] && grep '^hash ' alone | cmp -s - with
report $? "the same states with and without readers: $(tail -n 1 with) $(tail -n 1 alone)"
[ "$(grep -c '^/image ' said)" -gt 3 ]
report $? 'the readers had messages'

# A name that no model has is probably a mistake; without a word, all topics without a namespace would be missing.
for name in cart nobody; do
	timeout 60 "$troupe" run w.sdf --ros2 --ros2-domain $domain --ros2-robot $name --iterations 1 --rtf 0 >out 2>err
	report $? "a robot of the name $name: $(cat err)"
	found=$(grep -c "^troupe run: --ros2-robot: no model '$name' is in the world: " err)
	[ "$name $found" = 'cart 0' ] || [ "$name $found" = 'nobody 1' ]
	report $? "--ros2-robot $name: $(head -n 2 err)"
done

# --- a robot client --------------------------------------------------------------------------------------------------
# Its own process is a node with its name, which offers its robots and takes commands for them; the primary is none.
port=$((10000 + $$ % 2000 * 4)) # below the ports that the system gives to outgoing connections
while grep -qi ":$(printf %04x $port) " /proc/net/tcp; do port=$((port + 1)); done
named ground | sed "s/name='w'/name='large'/" >ground.sdf
"$troupe" run ground.sdf --network-role primary --network-secondaries 1 --client tb3_1 --network-listen 127.0.0.1:$port --rtf 1 \
	--record client.rec >primary.out 2>primary.err &
run=$!
timeout 150 "$troupe" run --network-role secondary --network-address 127.0.0.1:$port >secondary.out 2>secondary.err &
timeout 150 "$troupe" run --network-role client --name tb3_1 --network-address 127.0.0.1:$port --ros2 --ros2-domain $domain \
	--foxglove $((port + 10000)) >client.out 2>client.err &
client=$!
if python3 -c '' 2>/dev/null; then
	timeout 100 python3 "$source/tests/gateway/random_spawn.py" $((port + 10000)) tb3_1 1 0 7 >spawned 2>&1
	report $? "a robot is created through the client: $(tail -n 2 spawned)"
	peer for:5 least:ros_discovery_info:1 least:/clock:1 least:/tb3_1/clock:1 least:/tb3_1/tb3_1_robot0/odom:100 least:/tf:1 \
		nodes sub:/clock:rosgraph_msgs/Clock:best sub:/tb3_1/clock:rosgraph_msgs/Clock:best \
		sub:/tb3_1/tb3_1_robot0/odom:nav_msgs/Odometry sub:/tf:tf2_msgs/TFMessage \
		pub:/tb3_1/tb3_1_robot0/cmd_vel:geometry_msgs/Twist:0.5,0
	report $? 'the program of Fast DDS ends well beside a client'
	has ros_discovery_info 'node=/tb3_1troupe'
	has /clock 'time='
	has /tb3_1/clock 'time='
	has /tb3_1/tb3_1_robot0/odom 'child=tb3_1_robot0/chassis'
	has /tf 'child=tb3_1_robot0/chassis'
	sed -n 's|^/tb3_1/tb3_1_robot0/odom .*position=\([^,]*\),.*|\1|p' said >went
	awk 'END { exit $1 < 0.5 }' went
	report $? "the robot went forward: $(tail -n 1 went) m"
fi
kill -INT $run
wait $run
report $? "the primary ends well: $(tail -n 1 primary.err)"
run=
wait $client
timeout 60 "$troupe" replay client.rec >replayed 2>&1
report $? "the recording repeats what came from ROS 2: $(tail -n 1 replayed)"
totals
