#!/bin/sh
# Twenty robots, each in its namespace, as Nav2, slam_toolbox and ros2_control see them (ros2_robots.cpp, on Fast DDS):
# costmaps of their scans agree with the map, which needs transforms that are right at the time of each scan; commands
# of velocity act with a stamp and without; joints go where the hardware's topic says. The same again after a reset, and
# after another world was loaded. A buffer of transforms that does not interpolate must find a difference.
# optional commands: c++ g++
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/gateway/ros2.sh"
robots=20

# pens HALF: a world with pens whose walls stand HALF metres from the robot
pens()
{
	awk -v half="$1" -v robots=$robots 'BEGIN {
		print "<sdf version=\"1.9\"><world name=\"w\"><physics name=\"p\" type=\"ode\"><max_step_size>0.01</max_step_size></physics>"
		for (i = 1; i <= robots; i++) {
			x = 12 * (i % 5)
			y = 12 * int(i / 5)
			printf "<model name=\"pen%d\"><static>1</static><pose>%g %g 0.5 0 0 0</pose><link name=\"l\">", i, x, y
			for (k = 0; k < 4; k++)
				printf "<visual name=\"v%d\"><pose>%g %g 0 0 0 0</pose><geometry><box><size>%g %g 1</size></box></geometry></visual>",
					k, (k < 2) * (2 * k - 1) * (half + .1), (k > 1) * (2 * k - 5) * (half + .1),
					k < 2 ? .2 : 2 * half, k < 2 ? 2 * half : .2
			print "</link></model>"
			printf "<model name=\"robot%d\"><pose>%g %g 0.3 0 0 0</pose><link name=\"base_link\"><gravity>0</gravity>", i, x, y
			printf "<inertial><mass>1e5</mass><inertia><ixx>1e5</ixx><iyy>1e5</iyy><izz>1e5</izz></inertia></inertial>"
			printf "<sensor name=\"scan\" type=\"gpu_lidar\"><pose>0.1 0 0.1 0 0 0</pose><update_rate>7</update_rate><topic>robot%d/scan</topic><lidar><scan><horizontal>", i
			printf "<samples>40</samples><min_angle>-3.1</min_angle><max_angle>3.1</max_angle></horizontal></scan><range><min>0.1</min><max>10</max></range></lidar></sensor></link>"
			printf "<link name=\"top\"><pose>0 0 1 0 0 0</pose><gravity>0</gravity><inertial><mass>0.1</mass></inertial></link>"
			printf "<joint name=\"arm\" type=\"revolute\"><parent>base_link</parent><child>top</child><axis><xyz>0 0 1</xyz></axis></joint>"
			print "<plugin name=\"gz::sim::systems::VelocityControl\" filename=\"x\"/>"
			print "<plugin name=\"gz::sim::systems::OdometryPublisher\" filename=\"x\"><robot_base_frame>robot" i "/base_link</robot_base_frame><odom_publish_frequency>20</odom_publish_frequency></plugin>"
			print "<plugin name=\"gz::sim::systems::JointStatePublisher\" filename=\"x\"/>"
			print "<plugin name=\"gz::sim::systems::JointPositionController\" filename=\"x\"><joint_name>arm</joint_name><use_velocity_commands>true</use_velocity_commands></plugin></model>"
		}
		print "</world></sdf>"
	}'
}

needs_node 'robots of ROS 2' robot.sdf
pens 2 >w.sdf
pens 3 >wider.sdf
"$troupe" topics w.sdf 2>/dev/null | grep -q LaserScan || {
	skip 'robots of ROS 2' 'no Embree'
	totals
	exit
}
compile_peer robots || {
	totals
	exit
}

begin --rtf 1
timeout 200 ./robots $domain $robots 2 reset "world:$scratch/wider.sdf:3" >said 2>&1
report $? "robots, a reset and another world: $(cat said)"
for phase in 0 1 2; do
	grep -q "^phase $phase: $robots robots, enough points, 0 beside a wall" said
	report $? "phase $phase: $(cat said)"
done
ROS2_ROBOTS_LATE=1 timeout 200 ./robots $domain $robots 3 >said 2>&1
status=$?
[ $status = 1 ] && grep -q "^phase 0: $robots robots, enough points, [1-9][0-9]* beside a wall" said
report $? "without interpolation nothing is found: $status $(cat said)"
end
report $? "the run ends well: $(cat err)"
totals
