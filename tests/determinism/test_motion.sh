#!/bin/sh
# Commands set velocities of models and joints, and forces. The hash of every step and the replies are the same for
# all placements, over tcp, in a replay, and when the run is resumed before, between and after these commands.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

mechanisms=$worlds/mechanisms.sdf
motions=$scratch/motions
long=400

# compare WHAT EXPECTED FOUND
compare()
{
	cmp -s "$2" "$3"
	report $? "$1: $(diff "$2" "$3" 2>&1 | sed -n '2p')"
}

name=$(sed -n "s/.*<world name='\([^']*\)'.*/\1/p" "$mechanisms")
# each kind of joint, models that touch and models that hang on others, several commands in one step; and some that
# cannot be obeyed
sed "s|^\([0-9]*\) |\1 /world/$name/|" >"$motions" <<-'EOF2'
	20 set_velocity name: "lump_1" linear {x: 0.4 z: 1} angular {y: 3}
	20 wrench entity {name: "lump_1"} wrench {force {z: 40}}
	20 wrench entity {name: "lump_1::l" type: LINK} wrench {force {x: 9} torque {z: 1} force_offset {y: 0.1}}
	21 set_joint name: "press" joint: "spindle" position: 1 velocity: 2
	40 set_joint name: "gripper" joint: "hang" axis: 1 position: 0.3
	40 set_joint name: "gripper" joint: "hang" velocity: 0.5
	41 set_joint name: "gripper" joint: "left_joint" velocity: 0.05
	41 set_joint name: "gripper" joint: "right_joint" velocity: 0.05
	60 set_joint name: "beam" joint: "pivot" position: 0.2 velocity: 0.1
	60 set_joint name: "gears" joint: "input_joint" velocity: 1
	60 set_joint name: "sweeper" joint: "a" position: 1
	61 set_joint name: "cart" joint: "front_joint" position: 3
	80 wrench entity {name: "swing"} wrench {force {x: 300}}
	80 wrench entity {name: "cart"} wrench {force {y: 60}}
	80 set_velocity name: "crate_0" linear {y: 2}
	80 wrench entity {name: "crate_1"} wrench {force {x: -200 z: 90}}
	100 wrench entity {name: "bar"} wrench {torque {x: 50}}
	100 control pause: true
	105 wrench entity {name: "bar"} wrench {torque {x: 50}}
	105 set_velocity name: "bar" angular {z: 2}
	110 control pause: false
	150 wrench entity {name: "crate_2"} wrench {force {z: 500}}
	150 reset_model name: "crate_2"
	151 wrench entity {name: "crate_2"} wrench {force {z: 500}}
	151 remove name: "crate_2"
	200 control reset {all: true}
	201 set_velocity name: "crate_2" linear {x: -1}
EOF2

# go OPTION...: runs all steps, with the output in $scratch/other
go()
{
	run "$scratch/all" "$mechanisms" "$motions" "$long" --hash-every 1 --trace "$@"
	[ $? = 0 ] || grep -q 'commands* could not be obeyed' "$scratch/all.err" || return 1
	grep '^hash\|^reply' "$scratch/all" >"$scratch/other"
}

go --secondaries 0 >/dev/null
report $? "runs: $(tail -n 1 "$scratch/all.err")"
cp "$scratch/other" "$scratch/reference"
obeyed=$(grep -c '^reply .* ok ' "$scratch/reference")
[ "$obeyed" -ge 17 ]
report $? "most commands are obeyed: $obeyed"
for reason in 'gearbox' 'the world is paused' 'ties bodies that move with joint'; do
	grep -q "^reply .* failed .*$reason" "$scratch/reference"
	report $? "refused: $reason"
done
# the effects of the commands show
run "$scratch/still" "$mechanisms" - "$long" --hash-every 1 --secondaries 0
grep '^hash' "$scratch/reference" | cmp -s - "$scratch/still"
[ $? = 1 ]
report $? 'the commands make a difference'

for options in '1 --chaos 4 --chaos-moves 1' '2 --chaos 3' '3' '2 --anew' '2 --transport tcp --network-stale-ms 60000' \
	'2 --transport tcp --chaos 3 --network-stale-ms 60000'; do
	# shellcheck disable=SC2086
	go --secondaries $options >/dev/null
	compare "--secondaries $options" "$scratch/reference" "$scratch/other"
done

# saved in the step of a command, while a force waits because the world is paused, and long after
for at in 20 21 41 81 103 152 250; do
	go --secondaries 2 --chaos 5 --save-at "$at" "$scratch/saved" >/dev/null
	compare "saved at $at" "$scratch/reference" "$scratch/other"
	awk -v at="$at" '($1 == "hash" && $2 > at) || ($1 == "reply" && $2 >= at)' "$scratch/reference" >"$scratch/rest"
	timeout "$run_limit_s" "$troupe" run --resume "$scratch/saved" --rtf 0 -v 0 --iterations "$long" --trace \
		--hash-every 1 --secondaries 3 --chaos 6 2>&1 | grep '^hash\|^reply' >"$scratch/other"
	compare "resumed at $at" "$scratch/rest" "$scratch/other"
done

go --secondaries 2 --chaos 8 --record "$scratch/recording" --record-every 10 >/dev/null
compare 'recorded' "$scratch/reference" "$scratch/other"
for options in 0 '3 --chaos 2' '2 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086
	timeout "$run_limit_s" "$troupe" replay "$scratch/recording" -v 0 --secondaries $options >"$scratch/out" 2>&1
	report $? "replay --secondaries $options: $(tail -n 1 "$scratch/out")"
done
totals
