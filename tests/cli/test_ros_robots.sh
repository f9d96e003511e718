#!/bin/sh
# Robots that were written for ROS and Gazebo Classic or ros2_control (tests/data/ros_robots): their drives, controllers and
# sensors become systems and settings with the plug-ins' parameters. Each robot moves as it is commanded, with the right
# value; as printed, which is the same robot written with systems, it has the same hash; what has no counterpart is named.
# Without the translation a robot stands, or its odometry, topics and frames are not those that programs of ROS expect.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
export TROUPE_NO_GZ=1
unset GZ_SIM_RESOURCE_PATH SDF_PATH IGN_GAZEBO_RESOURCE_PATH AMENT_PREFIX_PATH ROS_PACKAGE_PATH MENGE_RESOURCE_PATH 2>/dev/null
mkdir share
cp -r "$source/tests/data/ros_robots" share/robots
chmod -R u+w share
export ROS_PACKAGE_PATH="$folder/share"
robots=share/robots

# said PATTERN...: in the output of the last command
said()
{
	for pattern; do
		grep -Eq -e "$pattern" out err
		report $? "says: $pattern"
	done
}
# unsaid PATTERN
unsaid()
{
	! grep -Eq -e "$1" out err
	report $? "does not say: $1"
}
# near WHAT VALUE WANTED TOLERANCE
near()
{
	awk -v value="$2" -v wanted="$3" -v tolerance="$4" \
		'BEGIN { exit !(value != "" && value - wanted <= tolerance && wanted - value <= tolerance) }'
	report $? "$1 is $2: expected $3, at most $4 off"
}
# last KIND MODEL NAME COLUMN [STEP]: of the last row of the log, or of that of a step; NAME may be empty; the column turn
# is the yaw of a pose, in rad
last()
{
	awk -F, -v kind="$1" -v model="$2" -v name="$3" -v wanted="$4" -v step="${5:-$steps}" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
		$column["kind"] == kind && $column["model"] == model && $column["name"] == name &&
			$column["step"] <= step {
			value = wanted == "turn" ? 2 * atan2($column["qz"], $column["qw"]) : $column[wanted]
		}
		END { print value }' log.csv
}

# --- what the plug-ins become -----------------------------------------------------------------------------------------

# becomes ROBOT: as printed it has the systems of the expected list
becomes()
{
	does 0 print "$robots/$1"
	cp out "printed_$1.sdf"
	awk '/<plugin / { on = 1 } on { sub(/^ */, ""); print } /<\/plugin>|<plugin [^>]*\/>/ { on = 0 }' "printed_$1.sdf" >systems
	diff systems "$robots/$1.systems" >out 2>&1
	report $? "$1 is printed with the systems of $1.systems"
}
for robot in turtle.sdf husky.urdf car.sdf planar.sdf arm.urdf base.urdf; do
	becomes $robot
done

# --- topics -----------------------------------------------------------------------------------------------------------

# has KIND TOPIC TYPE: in the list of topics
has()
{
	grep -Eq "^$1 +$2 +gz.msgs.$3" out
	report $? "a topic: $1 $2 $3"
}
does 0 topics "$robots/turtle.sdf"
has in /model/turtle/cmd_vel Twist
has out /model/turtle/odometry Odometry
has out /model/turtle/tf Pose_V
has out /model/turtle/scan LaserScan
has out /model/turtle/imu IMU
has out /world/default/model/turtle/joint_state Model
does 0 topics "$robots/planar.sdf"
has out /model/planar/front/image_raw Image
has out /model/planar/front/camera_info CameraInfo
does 0 topics "$robots/husky.urdf"
has in /model/husky/husky_velocity_controller/cmd_vel Twist
has out /model/husky/husky_velocity_controller/odom Odometry
has out /model/husky/ground_truth Odometry
has out /model/husky/imu/data IMU
[ "$(grep -c '/model/husky/.* gz.msgs.Pose_V' out)" = 1 ]
report $? 'one transform of the husky'

# --- what is said -----------------------------------------------------------------------------------------------------

does 0 check "$robots/turtle.sdf"
unsaid '^(warning|ignored):'
does 1 check --strict "$robots/arm.urdf"
said 'arm.yaml:12: controller "wrist_controller": its topic is not offered: expected commands on robot_joint_command' \
	'arm.yaml:15: controller "other_controller" is left out: the joint "shoulder" is that of a controller before it'
cat >force.sdf <<'END'
<sdf version="1.6"><world name="w">
<plugin name="gazebo_ros_init" filename="libgazebo_ros_init.so"/>
<plugin name="gazebo_ros_factory" filename="libgazebo_ros_factory.so"/>
<model name="m"><link name="l"/>
<plugin name="pusher" filename="libgazebo_ros_force.so"><bodyName>l</bodyName></plugin>
</model></world></sdf>
END
does 0 check force.sdf
said 'ignored: plugin "pusher" x1 \(first at .*:5\): publish gz.msgs.EntityWrench on /world/WORLD/wrench/persistent'
unsaid 'gazebo_ros_init|gazebo_ros_factory'

# --- a world with all of them -----------------------------------------------------------------------------------------

# world FILE BEFORE AFTER: with the robots as BEFORE$ROBOT$AFTER
world()
{
	cat >"$1" <<END
<sdf version="1.9"><world name="w"><physics name="p" type="ode"><max_step_size>0.001</max_step_size></physics>
<model name="ground"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision>
<visual name="v"><geometry><plane/></geometry></visual></link></model>
<include><uri>$2turtle.sdf$3</uri></include>
<include><uri>$2husky.urdf$3</uri><pose>0 3 0.165 0 0 0</pose></include>
<include><uri>$2car.sdf$3</uri><pose>0 -3 0 0 0 0</pose></include>
<include><uri>$2planar.sdf$3</uri><pose>0 6 0 0 0 1.5707963267948966</pose></include>
<include><uri>$2arm.urdf$3</uri><pose>0 -6 0 0 0 0</pose></include>
<include><uri>$2base.urdf$3</uri><pose>0 9 0.1 0 0 0</pose></include>
</world></sdf>
END
}
world world.sdf "$folder/$robots/" ''
world plain.sdf "$folder/printed_" .sdf
steps=4000
cat >commands <<'END'
100 /model/turtle/cmd_vel linear {x: 0.2}
100 /model/husky/husky_velocity_controller/cmd_vel linear {x: 0.5}
100 /demo/cmd_demo linear {x: 1} angular {z: 0.2}
100 /model/planar/cmd_vel linear {x: 0.3 y: 0.2}
100 /model/arm/joint_trajectory_controller/joint_trajectory joint_names: ["shoulder", "elbow"] points {positions: [0.5, 1] time_from_start {sec: 1}} points {positions: [-0.5, 0.5] time_from_start {sec: 3}}
100 /model/arm/joint/wrist/cmd_vel data: 0.5
100 /model/arm/joint/grip/0/cmd_pos data: 0.03
100 /cmd_vel linear {x: 2} angular {z: 0}
END

# go FILE ARGUMENT...: the hashes of the run of a world, in `hashes`
go()
{
	file=$1
	shift
	run all "$file" commands $steps --hash-every 100 "$@" && grep '^hash' all >hashes
	report $? "runs $file $*"
}
go world.sdf --secondaries 0 --log log.csv --log-what 'model,joint'
cp hashes reference
go plain.sdf --secondaries 0
cmp -s hashes reference
report $? 'the same hashes as the robots written with systems'
for options in '2 --chaos 3' '2 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086
	go world.sdf --secondaries $options
	cmp -s hashes reference
	report $? "the same hashes with --secondaries $options"
done
go world.sdf --secondaries 2 --save-at 1500 state
timeout "$run_limit_s" "$troupe" run --resume state --rtf 0 -v 0 --iterations $steps --hash-every 100 2>err |
	grep '^hash' >hashes
awk '$2 > 1500' reference | cmp -s - hashes
report $? 'the same hashes resumed in the middle of a trajectory'

# 0.2 m/s for 3.9 s, with 1 m/s2 at first
near 'the place of the turtle' "$(last model turtle "" x)" 0.76 0.01
near 'the place of the husky' "$(last model husky "" x)" 1.95 0.06
# a circle of radius base / tan(angle) = 1 / tan(0.2) = 4.933 m about a point beside the rear axle, at 1 m/s
near 'the turn of the car' "$(last model car "" turn)" 0.79 0.04
near 'the x of the car' "$(last model car "" x)" 3.356 0.08
near 'the y of the car' "$(last model car "" y)" -1.184 0.12
# its frame is turned to the left by a right angle
near 'the x of the planar robot' "$(last model planar "" x)" -0.78 0.005
near 'the y of the planar robot' "$(last model planar "" y)" 7.17 0.005
# at most 0.5 m/s, with 2 m/s2
near 'the place of the base' "$(last model base "" x)" 1.8875 0.02
near 'the shoulder' "$(last joint arm shoulder position)" -0.5 0.005
near 'the elbow' "$(last joint arm elbow position)" 0.5 0.005
# between two points, 1.5 s after the command
near 'the shoulder on its way' "$(last joint arm shoulder position 1600)" 0.25 0.005
near 'the elbow on its way' "$(last joint arm elbow position 1600)" 0.875 0.005
near 'the wrist' "$(last joint arm wrist position)" 1.95 0.01
near 'the grip' "$(last joint arm grip position)" 0.03 0.001

totals
