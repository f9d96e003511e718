#!/bin/sh
# A running world and the programs of gz-transport 11, unchanged: they list and echo the topics of the run, call its
# services, and drive a cart. What they do becomes commands that are bound to steps: a recording of the run repeats it,
# and a run that nobody commands has the same bits with and without programs that look on.
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"
have_tools || {
	totals
	exit
}

cat >w.sdf <<'END'
<sdf version="1.9"><world name="w">
  <physics name="p" type="ode"><max_step_size>0.001</max_step_size><real_time_factor>1</real_time_factor></physics>
  <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal>
    <size>50 50</size></plane></geometry></collision></link></model>
  <model name="cart"><pose>0 0 0.25 0 0 0</pose><link name="base"><inertial><mass>5</mass><inertia><ixx>0.1</ixx>
    <iyy>0.1</iyy><izz>0.1</izz></inertia></inertial><collision name="c"><geometry><box><size>0.5 0.5 0.5</size></box>
    </geometry></collision></link>
    <plugin name="gz::sim::systems::VelocityControl" filename="x"/>
    <plugin name="gz::sim::systems::PosePublisher" filename="x"><publish_model_pose>true</publish_model_pose>
      <publish_link_pose>false</publish_link_pose><update_frequency>20</update_frequency></plugin></model>
  <model name="door"><pose>5 0 1 0 0 0</pose><link name="frame"><inertial><mass>50</mass></inertial><collision name="c">
    <geometry><box><size>0.2 0.2 2</size></box></geometry></collision></link>
    <link name="leaf"><pose>0.5 0 0 0 0 0</pose><inertial><mass>1</mass></inertial></link>
    <joint name="hinge" type="revolute"><parent>frame</parent><child>leaf</child><axis><xyz>0 0 1</xyz></axis></joint>
    <plugin name="gz::sim::systems::JointStatePublisher" filename="x"/></model>
</world></sdf>
END

listed()
{
	timeout 20 "$topic_tool" -l 2>/dev/null | grep -q '^/clock$'
}

# start NAME OPTIONS...: a run in the background, until its topics are listed
start()
{
	name=$1
	shift
	"$troupe" run w.sdf -v 1 "$@" >"$name.out" 2>"$name.err" &
	last=$!
	started="$started $last"
	until_true 120 listed || report 1 "no topics of the run: $(cat "$name.err")"
}
# call SERVICE REQUEST-TYPE REPLY-TYPE REQUEST: the reply in `out`
call()
{
	within 60 "$service_tool" -s "$1" --reqtype "ignition.msgs.$2" --reptype "ignition.msgs.$3" --timeout 30000 --req "$4"
}
# echoes TOPIC PATTERN
echoes()
{
	within 60 "$topic_tool" -e -t "$1" -n 1
	grep -qE -e "$2" out
	report $? "echo of $1"
}

start first --record first.rec --commands-out first.commands --secondaries 2
within 30 "$topic_tool" -l
for topic in /clock /stats /world/w/clock /world/w/stats /world/w/pose/info /world/w/dynamic_pose/info \
	/world/w/scene/info /world/w/scene/deletion /world/w/levels /model/cart/pose /world/w/model/door/joint_state; do
	grep -qx -e "$topic" out
	report $? "$topic is listed"
done
echoes /clock '^sim \{'
echoes /stats '^iterations: [0-9]+'
echoes /world/w/stats '^real_time_factor: (0\.|1)'
echoes /world/w/clock '^sim \{'
echoes /world/w/pose/info 'name: "ground"'
echoes /world/w/dynamic_pose/info 'name: "leaf"'
echoes /world/w/scene/info 'name: "door"'
echoes /model/cart/pose 'name: "cart"'
echoes /world/w/model/door/joint_state 'name: "hinge"'
for service in control create create_multiple remove set_pose set_pose_vector set_physics level/set_performer light_config enable_collision disable_collision wrench wrench/persistent wrench/clear; do
	within 30 "$service_tool" -i -s "/world/w/$service"
	grep -q 'tcp://127.0.0.1:' out
	report $? "service $service is described"
done

call /gazebo/worlds Empty StringMsg_V ''
grep -q '^data: "w"' out
report $? 'the worlds are named'
call /world/w/scene/info Empty Scene ''
grep -q 'name: "cart"' out
report $? 'the scene is given'
call /world/w/create EntityFactory Boolean 'sdf: "<sdf version=\"1.9\"><model name=\"ball\"><link name=\"l\"><collision name=\"c\"><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link></model></sdf>" pose {position {x: 2 y: 2 z: 3}}'
grep -q '^data: true' out
report $? 'a model is created'
echoes /world/w/pose/info 'name: "ball"'
call /world/w/set_pose Pose Boolean 'name: "ball" position {x: -3 y: 1 z: 0.2}'
grep -q '^data: true' out
report $? 'it is placed'

# A wrench as Gazebo takes it: a message on a topic. ign-msgs of that release does not know the type.
within 30 "$troupe" topic pub /world/w/wrench/persistent -m EntityWrench \
	-p 'entity {name: "ball" type: MODEL} wrench {force {x: 50}}'
report $? 'a wrench is published'
pushed()
{
	within 30 "$topic_tool" -e -t /world/w/dynamic_pose/info -n 1
	awk '/name: "ball"/ { here = 1 } here && $1 == "x:" { found = $2 > -2.9; exit } END { exit !found }' out
}
until_true 60 pushed
report $? "a model is pushed by a message: $(grep -A5 ball out)"

timeout 60 "$topic_tool" -e -t /world/w/scene/deletion -n 1 >gone 2>&1 &
watcher=$!
sleep 3 # the program does not tell when it listens
call /world/w/remove Entity Boolean 'name: "ball" type: MODEL'
grep -q '^data: true' out
report $? 'it is removed'
wait $watcher
grep -q '^data: ' gone
report $? 'its removal is published'
call /world/w/remove Entity Boolean 'name: "ball" type: MODEL'
! grep -qiE 'true|failed|timed out' out err
report $? 'what is not there is not removed'

# Driving: the program publishes a tenth of a second after its begin, and ends; it may not have found the run yet.
moves()
{
	within 30 "$topic_tool" -t /model/cart/cmd_vel -m ignition.msgs.Twist -p 'linear: {x: 2}'
	sleep 0.5
	within 30 "$topic_tool" -e -t /model/cart/pose -n 1
	x=$(sed -n 's/^  x: //p' out | head -n 1)
	case $x in [1-9]* | 0.[1-9]*) ;; *) return 1 ;; esac
}
until_true 120 moves
report $? "a Twist drives the cart: x $x"

call /world/w/control WorldControl Boolean 'pause: true'
grep -q '^data: true' out
report $? 'it pauses'
within 30 "$topic_tool" -e -t /stats -n 1
before=$(sed -n 's/^iterations: //p' out)
grep -q '^paused: true' out
report $? 'a paused world still publishes to a new subscriber'
call /world/w/control/blocking WorldControl Boolean 'pause: true multi_step: 50'
grep -q '^data: true' out
report $? 'steps are taken on request'
within 30 "$topic_tool" -e -t /stats -n 1
[ "$(sed -n 's/^iterations: //p' out)" -ge $((before + 50)) ]
report $? 'the reply comes after the last of them'
IGN_PARTITION=other within 30 "$topic_tool" -l
[ ! -s out ]
report $? 'another partition sees nothing'

# A subscriber that stops reading, and one that is killed, harm nobody.
"$topic_tool" -e -t /clock >/dev/null 2>&1 &
stopped=$!
started="$started $stopped"
call /world/w/control WorldControl Boolean 'pause: false'
sleep 0.5
kill -STOP $stopped
"$topic_tool" -e -t /clock >/dev/null 2>&1 &
killed=$!
started="$started $killed"
sleep 0.5
kill -KILL $killed 2>/dev/null
echoes /clock '^sim \{'
kill -KILL $stopped
end_last TERM
report $? 'the run ends well'
within 5 "$topic_tool" -l
[ ! -s out ]
report $? 'afterwards nothing is listed'

command=$(sed -n '/^the same hash again/{ n; s/^ *//; p; }' first.err)
for secondaries in 0 1 2; do
	# shellcheck disable=SC2086
	within 100 $command -v 1 --secondaries $secondaries
	grep -h '^state ' first.err | grep -qxf - err
	report $? "with $secondaries secondaries the written commands do not repeat the run: $command: $(cat err)"
done
timeout 120 "$troupe" replay first.rec --secondaries 0 -v 0 >out 2>err
report $? 'the recording of the live run has the same bits when it is replayed'

# Two runs in two partitions.
IGN_PARTITION=one$$
start one
one=$last
IGN_PARTITION=two$$
start two
call /world/w/control WorldControl Boolean 'pause: true'
grep -q '^data: true' out
report $? 'one of two runs is paused'
IGN_PARTITION=one$$
within 30 "$topic_tool" -e -t /stats -n 1
! grep -q '^paused: true' out
report $? 'the other one is not'
end_last TERM
last=$one
end_last TERM
grep -q '^the same hash again' one.err && grep -q '^state ' two.err && ! grep -q '^the same hash again' two.err
report $? "no command line repeats what programs commanded: $(cat one.err two.err)"

# Looking on changes no bit.
TROUPE_NO_GZ=1 timeout 60 "$troupe" run w.sdf --iterations 3000 --rtf 0 --hash-every 3000 -v 0 >alone
timeout 60 "$troupe" run w.sdf --iterations 3000 --rtf 1 --hash-every 3000 >watched 2>summary &
watched=$!
timeout 10 "$topic_tool" -e -t /world/w/pose/info -n 20 >/dev/null 2>&1
wait $watched
cmp -s alone watched
report $? 'the same bits with somebody who looks on'
grep -q '^the same hash again' summary
report $? "a command line repeats a run that programs only looked at: $(cat summary)"

"$troupe" run w.sdf --no-gz --iterations 2000 --rtf 1 -v 0 >/dev/null 2>&1 &
quiet=$!
within 5 "$topic_tool" -l
[ ! -s out ]
report $? '--no-gz offers nothing'
wait $quiet
totals
