#!/bin/sh
# Systems that decide on events, on the primary: what they publish, ask of the world and remember (also words of systems
# of the world) has the same bits for any number of secondaries, over TCP, with forced moves, resumed and replayed. A
# replay must not do twice what a system decided: here a model is created, and a second time would be refused.
. "${SOURCE_DIR:-.}/tests/determinism/systems.sh"
set -u

trigger() { plugin TriggeredPublisher "<input type=\"$1\" topic=\"$2\">$3</input>$4"; }
box='<link name="l"><inertial><mass>1</mass></inertial><collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link>'
endpoint() { plugin CommsEndpoint "<address>$1</address><topic>$1/rx</topic>"; }
# model NAME X Y Z PLUGINS
model() { printf '<model name="%s"><pose>%s %s %s 0 0 0</pose>%s%s</model>\n' "$1" "$2" "$3" "$4" "$box" "$5"; }
battery='<battery_name>b</battery_name><voltage>12</voltage><open_circuit_voltage_constant_coef>12</open_circuit_voltage_constant_coef><open_circuit_voltage_linear_coef>-2</open_circuit_voltage_linear_coef><resistance>0.1</resistance><capacity>1</capacity><power_load>300</power_load>'
world=$scratch/event.sdf
{
	echo '<sdf version="1.9"><world name="event"><physics name="p" type="ode"><max_step_size>0.001</max_step_size></physics>'
	echo '<plugin name="gz::sim" filename="x"><performer name="p"><ref>ship</ref><geometry><box><size>1 1 1</size></box></geometry></performer></plugin>'
	echo '<model name="ground"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision></link></model>'
	model probe 0 0 0.6 "$(plugin TouchPlugin '<target>ground</target><time>0.4</time><namespace>probe</namespace><enabled>1</enabled>')$(endpoint p)"
	model ball 3 0 2 "$(plugin KineticEnergyMonitor '<link_name>l</link_name>')" | sed 's|</link>|<sensor name="a" type="altimeter"><topic>/high</topic><update_rate>40</update_rate><altimeter><vertical_position><noise type="gaussian"><stddev>0.1</stddev></noise></vertical_position></altimeter></sensor></link>|'
	model ship 6 0 0.5 "$(plugin VelocityControl '')$(plugin OdometryPublisher '')$(plugin LinearBatteryPlugin "$battery<start_draining>1</start_draining>")$(endpoint s)$(plugin Breadcrumbs "<topic>/drop</topic><max_deployments>1</max_deployments><disable_physics_time>0.1</disable_physics_time><breadcrumb><sdf version=\"1.9\"><model name=\"crumb\"><pose>-2 0 1 0 0 0</pose>$box</model></sdf></breadcrumb>")"
	model boat 6 9 0.5 "$(plugin VelocityControl '')$(plugin LinearBatteryPlugin "$battery<power_draining_topic>/drain</power_draining_topic><stop_power_draining_topic>/model/ship/cmd_vel</stop_power_draining_topic>")"
	echo '<actor name="walker"><pose>5 3 0.5 0 0 0</pose><link name="l"><collision name="c"><geometry><box><size>0.3 0.3 1</size></box></geometry></collision></link>'
	plugin FollowActor '<target>boat</target><velocity>3</velocity><min_distance>1</min_distance><max_distance>8</max_distance>'
	echo '</actor>'
	echo '<model name="gate"><static>1</static><pose>9 0 1 0 0 0</pose><link name="l"/>'
	plugin PerformerDetector '<topic>/gate</topic><geometry><box><size>2 2 2</size></box></geometry>'
	echo '</model>'
	trigger gz.msgs.Boolean /probe/touched '<match>data: true</match>' '<output type="gz.msgs.Twist" topic="/model/ship/cmd_vel">linear {x: 4}</output>'
	trigger gz.msgs.Double /model/ball/kinetic_energy '' '<delay_ms>33</delay_ms><output type="gz.msgs.Twist" topic="/model/boat/cmd_vel">angular {z: 1.5}</output><output type="gz.msgs.Empty" topic="/drain"/>'
	trigger gz.msgs.Pose /gate '<match field="name">"ship"</match><match field="position.x" tol="1">-1.5</match>' '<delay_ms>5</delay_ms><service name="/world/event/create" reqType="gz.msgs.EntityFactory" reqMsg="sdf: '"'&lt;sdf version=&quot;1.9&quot;>&lt;model name=&quot;late&quot;>&lt;link name=&quot;l&quot;/>&lt;/model>&lt;/sdf>'"' pose {position {x: -5 z: 3}}"/>'
	# twelve messages, of which the radio loses some, and one reaction to each that comes
	for i in 1 2 3 4 5 6; do
		frame="<output type=\"gz.msgs.Dataframe\" topic=\"/broker/msgs\">src_address: \"p\" dst_address: \"s\" data: \"message $i\"</output>"
		trigger gz.msgs.Boolean /probe/touched '' "$frame<delay_ms>$((i * 3))</delay_ms>$frame"
	done
	# what the run publishes itself: poses, odometry, a sensor
	trigger gz.msgs.Altimeter /high '<match field="vertical_position" tol="0.2">-0.7</match>' '<output type="gz.msgs.Twist" topic="/model/boat/cmd_vel">linear {x: 0.5}</output>'
	trigger gz.msgs.Odometry /model/ship/odometry '<match field="twist.linear.x" tol="1">4</match>' '<output type="gz.msgs.Twist" topic="/model/boat/cmd_vel">linear {y: 0.125} angular {z: 0.5}</output>'
	trigger gz.msgs.Dataframe s/rx '' '<output type="gz.msgs.Twist" topic="/model/boat/cmd_vel">linear {y: 0.25}</output><output type="gz.msgs.Empty" topic="/drop"></output>'
	plugin RFComms '<range_config><fading_exponent>2</fading_exponent><sigma>20</sigma></range_config><radio_config><tx_power>20</tx_power><noise_floor>-40</noise_floor></radio_config>'
	echo '</world></sdf>'
} >"$world"
steps=1500
hash_every=50
record_every=100

first --report "$scratch/report" --save-at 620 "$scratch/saved" --save-at 1000 "$scratch/later" --record "$scratch/tape" --record-every "$record_every"
# each chain has come to its end: the models are there, the crumb a second time, as a static one, and nothing was refused
[ "$(member "$scratch/report" created)" = 3 ] && [ "$(member "$scratch/report" refused_commands)" = 0 ]
report $? "each model is created, nothing refused: $(grep -E '"(created|refused_commands)"' "$scratch/report")"
hearing=$world
for topic in /high /model/ship/odometry; do
	world=$scratch/deaf.sdf
	grep -v "<input type=\"gz.msgs.[A-Za-z]*\" topic=\"$topic\"" "$hearing" >"$world"
	other "what the run publishes on $topic makes a difference"
done
world=$hearing
placements 2 '3 --chaos 5' '2 --transport tcp --network-stale-ms 60000'
resume "$scratch/saved" 620 0 2 '2 --transport tcp --network-stale-ms 60000'
resume "$scratch/later" 1000 0 2
replay "$scratch/tape" 0 2

# A step in which a model diverges has been decided: the messages of its systems are under way in the state that is
# saved. Resumed, the step ends in the same way, and is not decided a second time.
world=$scratch/doomed.sdf
{
	echo '<sdf version="1.9"><world name="doomed"><gravity>0 0 -1e6</gravity>'
	echo '<physics name="p" type="ode"><max_step_size>0.02</max_step_size></physics>'
	model stone 0 0 0 "$(plugin PosePublisher '<use_pose_vector_msg>1</use_pose_vector_msg>')"
	trigger gz.msgs.Pose_V /model/stone/pose '' '<delay_ms>500</delay_ms><output type="gz.msgs.Empty" topic="/fell"></output>'
	echo '</world></sdf>'
} >"$world"
# doomed REPORT OPTION...: runs until the stone diverges
doomed()
{
	report=$1
	shift
	timeout "$run_limit_s" "$troupe" run "$@" --rtf 0 -v 0 --iterations 50 --report "$report" --secondaries 0 2>"$scratch/doomed.err"
	[ $? = 4 ] && grep -q "model 'stone' diverged" "$scratch/doomed.err"
	report $? "the stone diverges: $(tail -n 1 "$scratch/doomed.err")"
}
doomed "$scratch/one" "$world" --save-on-stop "$scratch/doomed.state"
doomed "$scratch/two" --resume "$scratch/doomed.state"
[ -n "$(member "$scratch/one" state_hash)" ] && [ "$(member "$scratch/one" state_hash)" = "$(member "$scratch/two" state_hash)" ]
report $? "a step that failed is decided once: $(member "$scratch/one" state_hash) $(member "$scratch/two" state_hash)"
totals
