#!/bin/sh
# A run that is a node of ROS 2, among programs that send rubbish: user data and names of participants and their ends,
# ros_discovery_info and messages that are none, and damaged packets of RTPS at the ports of the domain. The run goes on,
# sound programs are served, and a recording repeats what they did.
# optional commands: c++ g++
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/gateway/ros2.sh"
needs_node 'ROS 2' robot.sdf
need python3 || {
	totals
	exit
}

begin --record run.rec
memory_kib()
{
	awk '/^VmRSS/ { print $2 }' /proc/$run/status
}
before=$(memory_kib)

# --- packets ---------------------------------------------------------------------------------------------------------
packets=$(amount 3000 20000 60000 200000)
for seed in 1 2; do
	timeout 150 python3 "$source/tests/gateway/rtps_rubbish.py" $domain $seed $packets >sent 2>&1
	report $? "damaged packets: $(tail -n 1 sent)"
	[ "$(sed -n 's/^sent \([0-9]*\) .*/\1/p' sent)" -gt $((packets / 3)) ]
	report $? "most of them were sent: $(tail -n 1 sent)"
	kill -0 "$run" 2>/dev/null
	report $? "the run goes on after damaged packets, seed $seed: $(tail -n 2 err)"
done

grep -q 'the DDS library warns' err
report $? "damaged packets reach the library: $(cat err)"

# --- programs --------------------------------------------------------------------------------------------------------
if compile_peer; then
	ones=$(printf 'ff%.0s' $(seq 3000))
	long=636c69656e7469643d$(printf '61%.0s' $(seq 3000))3b # a clientid of 3000 letters
	for data in "$ones" "$long" 3b3b3b3d3d 636c69656e7469643d 00000000 74797065686173683d3b; do
		timeout 60 ./peer domain:$domain for:0.7 title:255 data:$data sub:/clock:rosgraph_msgs/Clock \
			raw:/cart/cmd_vel:geometry_msgs/Twist:0001000000 \
			raw:ros_discovery_info:rmw_dds_common/ParticipantEntitiesInfo:00010000$(echo "$ones" | cut -c 1-200) \
			raw:rq/get_entitiesRequest:simulation_interfaces/srv/GetEntities_Request:00010000$(echo "$ones" | cut -c 1-120) \
			raw:rq/simulate_steps/_action/send_goalRequest:simulation_interfaces/action/SimulateSteps_SendGoal_Request:00010000$(echo "$ones" | cut -c 1-60) \
			raw:rq/simulate_steps/_action/cancel_goalRequest:action_msgs/srv/CancelGoal_Request:00010000$(echo "$ones" | cut -c 1-80) \
			raw:rq/simulate_steps/_action/get_resultRequest:simulation_interfaces/action/SimulateSteps_GetResult_Request:00010000$(echo "$ones" | cut -c 1-40) \
			raw:/robot_joint_command:sensor_msgs/JointState:00000000$(echo "$ones" | cut -c 1-400) >said 2>&1
		report $? "a program with user data $(echo $data | cut -c 1-20): $(tail -n 1 said | cut -c 1-200)"
		kill -0 "$run" 2>/dev/null
		report $? "the run goes on: $(tail -n 2 err)"
	done
	# a sound one
	timeout 150 ./peer domain:$domain for:4 least:/clock:200 least:/odom:100 sub:/clock:rosgraph_msgs/Clock sub:/odom:nav_msgs/Odometry \
		pub:/cmd_vel:geometry_msgs/Twist:0.5,0 >said 2>&1
	report $? 'a sound program ends well'
	[ "$(grep -c '^/clock ' said)" -gt 50 ]
	report $? "it hears the clock: $(grep -c '^/clock ' said)"
	awk '$1 == "/odom" { split($5, p, "[=,]"); x = p[2] } END { exit !(x > 0.5) }' said
	report $? "it drives the cart: $(grep '^/odom ' said | tail -n 1)"
	[ "$(grep -c 'a message is refused' err)" -le 3 ] && [ "$(grep -c 'are refused' err)" -le 1 ]
	report $? "each is told of once: $(cut -c 1-200 err)"
fi
after=$(memory_kib)
[ "$((after - before))" -lt 300000 ]
report $? "memory: $before KiB before, $after KiB after"
[ "$(wc -l <err)" -lt 12 ]
report $? "few lines are said: $(head -n 12 err | cut -c 1-200)"
end
[ $ended -le 1 ]
report $? "the run ends well: $ended $(tail -n 1 err)"
timeout 120 "$troupe" replay run.rec --secondaries 0 -v 0 >out 2>err
report $? "the recording has the same bits: $(cat out err)"
totals
