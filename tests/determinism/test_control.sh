#!/bin/sh
# Commands to /world/NAME/control at their steps: a pause stops simulated time but not the commands; multi_step takes
# exactly its steps; a reset restores the start.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

world=$worlds/meeting.sdf
drive='0 /model/cart_0/cmd_vel linear: {x: 0.8}'

# state STEPS COMMANDS: prints hash and simulated time at the end; runs with 0 and with 2 secondaries must agree
state()
{
	printf '%s\n' "$2" >"$scratch/commands"
	for secondaries in 0 2; do
		run "$scratch/out" "$world" "$scratch/commands" "$1" --secondaries $secondaries --report "$scratch/report$secondaries"
		report $? "runs with $secondaries secondaries"
	done
	[ "$(member "$scratch/report0" state_hash)" = "$(member "$scratch/report2" state_hash)" ]
	report $? "the same for 0 and 2 secondaries: $2"
	echo "$(member "$scratch/report2" state_hash) $(member "$scratch/report2" sim_time)"
}

# equal WHAT A B
equal()
{
	[ "$2" = "$3" ]
	report $? "$1: '$2', expected '$3'"
}

# state runs in a subshell, so its output alone shows its failed checks: it prints nothing else when all pass
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

# How long the world runs, and when it pauses: the table in src/run/primary.c, row by row. In a run of 60 steps the
# message comes at step 10: to a world that is paused before step 10, to one that takes 5 more steps, or to one that
# runs.
paused='10 /world/meeting/control pause: true'
stepping='8 /world/meeting/control pause: true multi_step: 5'
running='10 /world/meeting/control ""'
# row MESSAGE PAUSED STEPPING RUNNING: the simulated milliseconds at the end in each of the three cases
row()
{
	message=$1
	shift
	for before in "$paused" "$stepping" "$running"; do
		printf '%s\n' "$before" "10 /world/meeting/control $message" >"$scratch/commands"
		run "$scratch/out" "$world" "$scratch/commands" 60 --secondaries 1 --report "$scratch/report"
		equal "$message after ${before#* }" "$(member "$scratch/report" sim_time | awk '{ print $1 * 1000 }')" "$1"
		shift
	done
}
row 'pause: true' 10 10 10
row 'pause: true multi_step: 7' 17 20 17
row 'pause: true step: true' 11 14 11
row 'pause: false' 60 60 60
row 'pause: false multi_step: 7' 60 60 60
row 'multi_step: 7' 17 20 60
row 'step: true' 11 14 60
row 'run_to_sim_time {nsec: 30000000}' 30 30 30
row 'pause: false run_to_sim_time {nsec: 30000000}' 30 30 30
row 'pause: true run_to_sim_time {nsec: 30000000}' 10 10 10
row 'multi_step: 7 run_to_sim_time {nsec: 30000000}' 17 20 30
row 'multi_step: 30 run_to_sim_time {nsec: 30000000}' 30 30 30
row 'pause: true multi_step: 7 run_to_sim_time {nsec: 30000000}' 17 20 17
row 'run_to_sim_time {nsec: 10000000}' 10 13 60 # not still to come
row 'pause: false run_to_sim_time {nsec: 5000000}' 60 60 60
row 'seed: 3' 10 13 60
# the request of an earlier message stays
row 'run_to_sim_time {nsec: 30000000}
15 /world/meeting/control pause: false' 60 60 60
row 'run_to_sim_time {nsec: 30000000}
15 /world/meeting/control multi_step: 3' 30 30 30
row 'run_to_sim_time {nsec: 30000000}
15 /world/meeting/control pause: true
20 /world/meeting/control pause: false' 55 55 55
row 'multi_step: 20
15 /world/meeting/control pause: true
20 /world/meeting/control pause: false' 55 55 55
row 'run_to_sim_time {nsec: 30000000}
15 /world/meeting/control reset {time_only: true}' 30 30 30
# A time between two steps ends the run with the first step that reaches it; and times in seconds.
equal 'run_to_sim_time between two steps' "$(state 60 '10 /world/meeting/control run_to_sim_time {nsec: 20400000}')" "$(state 21 '')"
equal 'run_to_sim_time of a second and some' "$(state 1300 '10 /world/meeting/control run_to_sim_time {sec: 1 nsec: 200000000}')" "$(state 1200 '')"
equal 'run_to_sim_time over a change of the step' "$(state 60 '0 /world/meeting/control run_to_sim_time {nsec: 20000000}
10 /world/meeting/set_physics max_step_size: 0.0005' | cut -d ' ' -f 2)" 0.02

# Where the time of a run goes: the time between steps is part of a secondary's wait, the wait for real time is not.
# measure WHAT STEPS OPTION VALUE CONDITION: a run for time_of
measure()
{
	run "$scratch/out" "$world" "$scratch/commands" "$2" "$3" "$4" --secondaries 1 --report "$scratch/report"
	report $? "runs: $1"
	awk -v wall="$(member "$scratch/report" wall_time)" -v serial="$(member "$scratch/report" serial_time)" '
		match($0, /"busy_time": [0-9.e-]+/) { busy = substr($0, RSTART + 13, RLENGTH - 13) }
		match($0, /"waiting_time": [0-9.e-]+/) { waiting = substr($0, RSTART + 16, RLENGTH - 16) }
		END { exit !(0 < serial && serial <= waiting && serial + busy <= wall && ('"$5"')) }' "$scratch/report"
}
# time_of WHAT STEPS OPTION VALUE CONDITION: the condition on wall, serial, busy and waiting, in seconds, holds in one of five
# runs: other programs may take the processor away at any point of a run
time_of()
{
	measure "$@" || measure "$@" || measure "$@" || measure "$@" || measure "$@"
	report $? "$1: serial_time"
}
printf '%s\n' "$drive" >"$scratch/commands"
time_of 'paced' 300 --rtf 0.5 'wall > 0.59 && busy + waiting > 0.59 && serial < waiting / 2'
time_of 'as fast as possible' 1000 --rtf 0 'serial + busy > wall / 4'
totals
