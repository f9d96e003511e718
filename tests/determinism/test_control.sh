#!/bin/sh
# /world/NAME/control, bound to steps: pausing stops time and not the commands, stepping steps, resetting begins again.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

world=$worlds/meeting.sdf
drive='0 /model/cart_0/cmd_vel linear: {x: 0.8}'

# state STEPS COMMANDS: hash and simulated time at the end, for no and for two secondaries, which must agree
state()
{
	printf '%s\n' "$2" >"$scratch/commands"
	for secondaries in 0 2; do
		run "$scratch/out" "$world" "$scratch/commands" "$1" --secondaries $secondaries --report "$scratch/report$secondaries"
		check "runs with $secondaries secondaries" $?
	done
	[ "$(member "$scratch/report0" state_hash)" = "$(member "$scratch/report2" state_hash)" ]
	check "the same for 0 and 2 secondaries: $2" $?
	echo "$(member "$scratch/report2" state_hash) $(member "$scratch/report2" sim_time)"
}

# equal WHAT A B
equal()
{
	[ "$2" = "$3" ]
	check "$1: '$2', expected '$3'" $?
}

# state runs in a subshell, so its checks are counted by its output alone: it prints nothing else when all is well
plain500=$(state 500 "$drive")
plain510=$(state 510 "$drive")
plain511=$(state 511 "$drive")
equal 'simulated time' "${plain500#* }" 0.5
equal 'paused at 500: step 900 is as step 500' "$(state 900 "$drive
500 /world/meeting/control pause: true")" "$plain500"
equal 'multi_step: 10 more' "$(state 900 "$drive
500 /world/meeting/control pause: true
600 /world/meeting/control multi_step: 10")" "$plain510"
equal 'step: one more' "$(state 900 "$drive
500 /world/meeting/control pause: true
600 /world/meeting/control multi_step: 10
700 /world/meeting/control step: true")" "$plain511"
equal 'unpaused for 11 steps' "$(state 900 "$drive
500 /world/meeting/control pause: true
600 /world/meeting/control pause: false
611 /world/meeting/control pause: true")" "$plain511"
equal 'reset at 700: step 1200 is as step 500' "$(state 1200 "$drive
700 /world/meeting/control reset: {all: true}
700 /model/cart_0/cmd_vel linear: {x: 0.8}")" "$plain500"
equal 'reset forgets the command' "$(state 1200 "$drive
700 /world/meeting/control reset: {all: true}")" "$(state 500 '')"
equal 'reset of time alone' "$(state 510 "$drive
10 /world/meeting/control reset: {time_only: true}")" "${plain510% *} 0.5"

# Where the time of a run goes: the time between steps is part of a secondary's wait, the wait for real time is not.
# time_of WHAT STEPS OPTION VALUE CONDITION: the condition on wall, serial, busy and waiting, in seconds
time_of()
{
	run "$scratch/out" "$world" "$scratch/commands" "$2" "$3" "$4" --secondaries 1 --report "$scratch/report"
	check "runs: $1" $?
	awk -v wall="$(member "$scratch/report" wall_time)" -v serial="$(member "$scratch/report" serial_time)" '
		match($0, /"busy_time": [0-9.e-]+/) { busy = substr($0, RSTART + 13, RLENGTH - 13) }
		match($0, /"waiting_time": [0-9.e-]+/) { waiting = substr($0, RSTART + 16, RLENGTH - 16) }
		END { exit !(0 < serial && serial <= waiting && serial + busy <= wall && ('"$5"')) }' "$scratch/report"
	check "$1: serial_time" $?
}
printf '%s\n' "$drive" >"$scratch/commands"
time_of 'paced' 300 --rtf 0.5 'wall > 0.59 && busy + waiting > 0.59 && serial < waiting / 2'
time_of 'as fast as possible' 1000 --rtf 0 'serial + busy > wall / 4'
totals
