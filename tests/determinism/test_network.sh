#!/bin/sh
# Secondaries in processes of their own: the hashes and replies are those of a single runner, with forced moves, and
# while the world is changed, paused, reset, recorded, saved and resumed. A negative control shows that the
# comparison can fail.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
XDG_CONFIG_HOME=$scratch/config
export XDG_CONFIG_HOME
stale=10000 # no process shall count as lost on a busy machine

# the ways in which a run is repeated over the network
ways()
{
	if [ -z "$quick" ]; then
		echo '1
2
3 --chaos 3 --chaos-moves 2
2 --distribution balanced'
	fi
	echo '1 --network-threads 2
2 --network-threads 3 --chaos 5'
}

# same NAME WORLD COMMANDS STEPS: a run over the network equals one in a single process
same()
{
	name=$1 world=$2 commands=$3 steps=$4
	run "$scratch/reference" "$world" "$commands" "$steps" --hash-every 50 --trace --secondaries 0
	report $? "$name: alone"
	grep '^hash\|^reply' "$scratch/reference" >"$scratch/hashes"
	[ "$(grep -c '^hash' "$scratch/hashes")" = $((steps / 50)) ]
	report $? "$name: a hash every 50 steps"
	ways >"$scratch/ways"
	while read -r options <&3; do
		# shellcheck disable=SC2086
		run "$scratch/other" "$world" "$commands" "$steps" --hash-every 50 --trace --transport tcp --network-stale-ms 60000 \
			--network-stale-ms $stale --secondaries $options
		report $? "$name: --transport tcp --network-stale-ms 60000 --secondaries $options"
		grep '^hash\|^reply' "$scratch/other" | cmp -s "$scratch/hashes"
		report $? "$name: --secondaries $options: $(grep '^hash\|^reply' "$scratch/other" |
			diff "$scratch/hashes" - | sed -n 2p)"
	done 3<"$scratch/ways"
}

same meeting "$worlds/meeting.sdf" "$worlds/meeting.commands" "$(amount 400 800 1600 4000)"
same warehouse "$worlds/warehouse.sdf" "$worlds/warehouse.commands" "$(amount 200 400 1200 4000)"
same mechanisms "$worlds/mechanisms.sdf" - "$(amount 200 300 800 2000)"
[ -n "$quick" ] || same patrol "$worlds/patrol.sdf" - "$(amount 0 400 1200 4000)"
[ -n "$quick" ] || same heap "$worlds/heap.sdf" - "$(amount 0 200 300 800)"
[ -n "$quick" ] || same hill "$worlds/hill.sdf" - 400
[ -n "$quick" ] || same specification "$worlds/specification.sdf" "$worlds/specification_1.commands" "$(amount 0 300 1000 4000)"

cat >"$scratch/commands" <<-EOF2
	50 /world/asleep/create name: "falling" pose {position {x: 2 y: 0 z: 3}} sdf: "$box"
	110 /world/asleep/remove name: "crate_1_0_0" type: MODEL
	115 /world/asleep/remove id: 14
	120 /world/asleep/create name: "slab" pose {position {x: 2 y: 12 z: 0.1}} sdf: "$slab"
	120 /world/asleep/create_multiple data {name: "a" sdf: "$box" pose {position {x: 2 y: 12 z: 1.5}}} data {sdf: "$box" name: "b" pose {position {x: 2 y: 11.5 z: 3}}}
	130 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: 12}}
	131 /model/late/cmd_vel linear: {x: 0.9}
	180 /world/asleep/create sdf_filename: "models/cart" name: "late" allow_renaming: true pose {position {x: -4 y: 12}}
	181 /model/late_0/cmd_vel linear: {x: 0.9}
	190 /world/asleep/create clone_name: "late_0" name: "twin" pose {position {x: -7 y: 12}}
	191 /world/asleep/create clone_name: "cart_2" name: "other" pose {position {x: -7 y: 20}}
	192 /model/twin/cmd_vel linear: {x: 0.7}
	250 /world/asleep/wrench/persistent entity {name: "late"} wrench {force {y: 3} force_offset {x: 0.3}}
	251 /world/asleep/wrench/persistent entity {name: "restless"} wrench {torque {z: 0.2}}
	260 /world/asleep/set_pose name: "slab" position {x: 2 y: 12 z: 0.4} orientation {z: 1 w: 1}
	270 /world/asleep/set_pose_vector pose {name: "cart_2" position {x: 2 y: 0 z: 2}} pose {name: "restless" position {x: 2 y: 4 z: 2}}
	280 /world/asleep/level/set_performer data: "cart_2" size {x: 1 y: 1 z: 1}
	282 /world/asleep/level/set_performer data: "slab" size {x: 9 y: 3 z: 1}
	252 /world/asleep/light_config name: "sun" intensity: 0.3
	253 /world/asleep/light_config name: "lamp" type: SPOT pose {position {z: 5}}
	284 /world/asleep/remove name: "sun" type: LIGHT
	286 /world/asleep/set_pose id: 13 position {x: 2 y: 3 z: 2}
	287 /world/asleep/create sdf: "$beacon"
	291 /world/asleep/light_config name: "beacon::l::b" intensity: 0.25
	292 /world/asleep/light_config name: "c" pose {position {z: 2}}
	330 /world/asleep/reset_model name: "beacon"
	332 /world/asleep/light_config name: "c" range: 3
	288 /world/asleep/disable_collision name: "slab"
	289 /world/asleep/disable_collision name: "crate_0_1_2"
	290 /world/asleep/level/set_performer data: "cart_2" remove: true
	335 /world/asleep/enable_collision name: "crate_0_1_2"
	320 /world/asleep/level/set_performer data: "ground" secondary: 2
	300 /world/asleep/remove name: "slab"
	310 /world/asleep/set_physics max_step_size: 0.0005 gravity {z: -20}
	340 /world/asleep/set_physics max_step_size: 0.001 gravity {z: -9.8}
	341 /world/asleep/remove name: "lamp" type: LIGHT
	343 /world/asleep/light_config name: "torch"
	342 /world/asleep/wrench/clear name: "restless"
	345 /world/asleep/control pause: true
	346 /model/late_0/cmd_vel linear: {x: 0.3}
	350 /world/asleep/control pause: false
	360 /world/asleep/remove name: "late"
	360 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: -12}}
	500 /world/asleep/control reset {all: true}
EOF2
same edits "$worlds/asleep.sdf" "$scratch/commands" 700

# lists of numbers: one message moves two arms, each by the arm's own number in the list
arm()
{
	echo "<model name='arm_$1'><pose>0 $1 1 0 0 0</pose><link name='a'/><link name='b'><pose>0 0 0.5 0 0 0</pose></link>
	<joint name='base' type='fixed'><parent>world</parent><child>a</child></joint><joint name='j' type='revolute'>
	<parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint><plugin filename='x'
	name='gz::sim::systems::Joint$2'><joint_name>j</joint_name><use_actuator_msg>true</use_actuator_msg>
	<actuator_number>$1</actuator_number></plugin></model>"
}
echo "<sdf version='1.9'><world name='arms'>$(arm 0 Controller)$(arm 1 Controller)$(arm 2 PositionController)
	$(arm 3 PositionController)</world></sdf>" >"$scratch/arms.sdf"
cat >"$scratch/commands.arms" <<-EOF2
	5 /actuators velocity: [1, -2]
	30 /actuators velocity: 3 position: [0, 0, 0.5, -0.25]
	60 /actuators position: [0, 0, 1] velocity: [0, 1, 9]
EOF2
same arms "$scratch/arms.sdf" "$scratch/commands.arms" 100
for lines in 1 2 3; do
	sed "${lines}d" "$scratch/commands.arms" >"$scratch/fewer"
	run "$scratch/other" "$scratch/arms.sdf" "$scratch/fewer" 100 --hash-every 100 --secondaries 1
	! grep -qxF "$(grep '^hash 100' "$scratch/hashes")" "$scratch/other"
	report $? "each message to the arms moves something: $lines"
done
echo '5 /actuators normalized: [1, 2]' >"$scratch/none"
"$troupe" run "$scratch/arms.sdf" --rtf 0 --iterations 10 --commands "$scratch/none" >"$scratch/out" 2>"$scratch/err"
[ $? = 1 ] && grep -q "step 5: /actuators: joint 'j' is actuator 0, from 0, of velocity: expected more than 0 numbers" "$scratch/err"
report $? "a message for no arm: $(cat "$scratch/err")"

# saved, resumed and recorded over the network
run "$scratch/out" "$worlds/asleep.sdf" "$scratch/commands" 700 --hash-every 700 --transport tcp --network-stale-ms 60000 --secondaries 2 \
	--network-stale-ms $stale --record "$scratch/tape" --record-every 100 --save-at 330 "$scratch/state" \
	--report "$scratch/report"
report $? 'recorded and saved'
for options in '--secondaries 0' "--transport tcp --secondaries 2 --network-stale-ms $stale" \
	"--transport TCP --secondaries 1 --network-stale-ms $stale --chaos 3 --until-step 400"; do
	# shellcheck disable=SC2086
	timeout "$run_limit_s" "$troupe" replay "$scratch/tape" $options >"$scratch/replay" 2>&1 &&
		grep -q 'hashes compared: all the same$' "$scratch/replay"
	report $? "the recording replays, $options: $(tail -n 1 "$scratch/replay")"
done
run "$scratch/out2" "$worlds/mechanisms.sdf" - 400 --secondaries 0 --break reference --record "$scratch/broken"
timeout "$run_limit_s" "$troupe" replay "$scratch/broken" --transport tcp --secondaries 2 --network-stale-ms $stale \
	>"$scratch/replay" 2>&1
[ $? = 1 ] && grep -q '^step [0-9]*: ' "$scratch/replay"
report $? "a recording of another run does not: $(tail -n 1 "$scratch/replay")"
for options in '--secondaries 1' "--transport tcp --secondaries 2 --network-stale-ms $stale"; do
	# shellcheck disable=SC2086
	"$troupe" run --resume "$scratch/state" -v0 --rtf 0 --iterations 700 --hash-every 700 $options >"$scratch/resumed" 2>&1
	cmp -s "$scratch/out" "$scratch/resumed"
	report $? "resumed $options: $(cat "$scratch/out") $(cat "$scratch/resumed")"
done
grep -q '"bytes_per_robot_step": [0-9]' "$scratch/report"
report $? 'the report has the bytes of a robot-step'

# a run that breaks a rule of determinism differs
run "$scratch/reference" "$worlds/mechanisms.sdf" - 400 --hash-every 50 --secondaries 0
run "$scratch/other" "$worlds/mechanisms.sdf" - 400 --hash-every 50 --transport tcp --network-stale-ms 60000 --secondaries 2 --chaos 3 \
	--chaos-moves 2 --network-stale-ms $stale --break reference
! cmp -s "$scratch/reference" "$scratch/other"
report $? 'a broken rule shows'
totals
