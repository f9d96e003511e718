#!/bin/sh
# Cars that are steered, that roll sideways, and that follow trajectories, meet one another. The hash of every step is
# the same for all placements, over tcp, in a replay, and when the run is resumed while commands work.
. "${SOURCE_DIR:-.}/tests/determinism/systems.sh"

world=$scratch/drives.sdf
orders=$scratch/commands
steps=$(amount 400 900 1500 3000)

# wheel NAME X Y PARENT FDIR
wheel()
{
	cat <<-END
		<link name='$1'><pose>$2 $3 0.2 0 0 0</pose><inertial><mass>2</mass><inertia><ixx>0.04</ixx><iyy>0.04</iyy>
		<izz>0.04</izz></inertia></inertial><collision name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry>
		${5:+<surface><friction><ode><mu2>0</mu2><fdir1 gz:expressed_in='base'>$5</fdir1></ode></friction></surface>}
		</collision></link><joint name='$1_joint' type='revolute'><parent>$4</parent><child>$1</child><axis>
		<xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>
	END
}

# steering NAME Y
steering()
{
	cat <<-END
		<link name='$1'><pose>0.5 $2 0.2 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy>
		<izz>0.02</izz></inertia></inertial></link><joint name='$1_joint' type='revolute'><parent>base</parent>
		<child>$1</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis></joint>
	END
}

# car NAME POSE: its begin
car()
{
	cat <<-END
		<model name='$1'><pose>$2</pose><link name='base'><pose>0 0 0.3 0 0 0</pose><inertial><mass>20</mass><inertia>
		<ixx>2</ixx><iyy>2</iyy><izz>2</izz></inertia></inertial><collision name='c'><geometry><box><size>1.5 0.6 0.2</size>
		</box></geometry></collision></link>
	END
}

steered()
{
	car "$1" "$2"
	steering steer_left 0.4
	steering steer_right -0.4
	wheel front_left 0.5 0.4 steer_left
	wheel front_right 0.5 -0.4 steer_right
	wheel rear_left -0.5 0.4 base
	wheel rear_right -0.5 -0.4 base
	plugin AckermannSteering '<left_joint>rear_left_joint</left_joint><right_joint>rear_right_joint</right_joint>
		<left_steering_joint>steer_left_joint</left_steering_joint><kingpin_width>0.8</kingpin_width>
		<right_steering_joint>steer_right_joint</right_steering_joint><wheel_separation>0.8</wheel_separation>
		<steer_p_gain>10</steer_p_gain><max_acceleration>3</max_acceleration><max_jerk>40</max_jerk>'
	plugin OdometryPublisher '<gaussian_noise>0.1</gaussian_noise><dimensions>3</dimensions>'
	echo '</model>'
}

rolling()
{
	car "$1" "$2"
	wheel front_left 0.5 0.4 base '1 -1 0'
	wheel front_right 0.5 -0.4 base '1 1 0'
	wheel rear_left -0.5 0.4 base '1 1 0'
	wheel rear_right -0.5 -0.4 base '1 -1 0'
	plugin MecanumDrive '<front_left_joint>front_left_joint</front_left_joint>
		<front_right_joint>front_right_joint</front_right_joint><back_left_joint>rear_left_joint</back_left_joint>
		<back_right_joint>rear_right_joint</back_right_joint><wheel_separation>0.8</wheel_separation>
		<max_linear_acceleration>2</max_linear_acceleration>'
	plugin OdometryPublisher ''
	plugin DriveToPoseController ''
	echo '</model>'
}

# a car whose wheels follow a trajectory
following()
{
	car "$1" "$2"
	wheel front_left 0.5 0.4 base
	wheel front_right 0.5 -0.4 base
	wheel rear_left -0.5 0.4 base
	wheel rear_right -0.5 -0.4 base
	plugin JointTrajectoryController '<velocity_p_gain>2</velocity_p_gain><velocity_p_gain>2</velocity_p_gain>
		<velocity_p_gain>2</velocity_p_gain><velocity_p_gain>2</velocity_p_gain><position_i_gain>1</position_i_gain>'
	echo '</model>'
}

{
	named_head ground | sed "s/name='w'/name='drives'/; s/0.001/0.004/"
	steered steered_0 '0 0 0 0 0 0'
	steered steered_1 '0 5 0 0 0 0'
	rolling rolling_0 '3 0.3 0 0 0 1'
	rolling rolling_1 '6 5 0 0 0 0'
	following following_0 '-3 0 0 0 0 0'
	following following_1 '9 5 0 0 0 3.14159'
	car pushed '2 -4 0 0 0 1'
	plugin TrajectoryFollower '<link_name>base</link_name><force>250</force><loop>true</loop><waypoints>
		<waypoint>1 2</waypoint><waypoint>2 -4</waypoint></waypoints>'
	echo '</model>'
	echo '</world></sdf>'
} >"$world"
names='joint_names: ["front_left_joint", "rear_left_joint", "front_right_joint", "rear_right_joint"]'
cat >"$orders" <<-END
	10 /model/steered_0/cmd_vel linear {x: 1} angular {z: 0.1}
	10 /model/steered_1/cmd_vel linear {x: 1.5} angular {z: -0.3}
	20 /model/rolling_0/cmd_vel linear {x: -0.3 y: -0.4} angular {z: 0.3}
	30 /model/rolling_1/cmd_vel linear {y: 0.5}
	40 /model/following_0/joint_trajectory $names points {velocities: [3, 3, 3, 3] time_from_start {nsec: 400000000}} points {velocities: [5, 5, 9, 9] time_from_start {sec: 1}} points {velocities: [2, 2, 2, 2] effort: [1] time_from_start {sec: 2}}
	50 /model/following_1/joint_trajectory $names points {velocities: [6, 6, 5, 5] time_from_start {sec: 1}}
	150 /model/rolling_1/cmd_pose pose {position {x: 8 y: 6} orientation {w: 1}}
	300 /model/steered_0/cmd_vel linear {x: -1} angular {z: 2}
	350 /model/rolling_1/cmd_vel linear {x: -1}
END

first
matters 'that there are commands' -
placements '1 --chaos 4 --chaos-moves 1' '2 --chaos 3' 3 '2 --transport tcp --chaos 3 --network-stale-ms 60000'
save_and_resume 45 200 330
record_and_replay 0 '3 --chaos 2'
totals
