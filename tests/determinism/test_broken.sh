#!/bin/sh
# Negative controls: when one rule of determinism is broken, the comparison that test_hashes.sh makes must fail. When
# none is broken, it must hold, or the control would show nothing.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

# control RULE WORLD COMMANDS STEPS [OPTION...]: RULE "-" breaks nothing
control()
{
	rule=$1 world=$2 commands=$3 steps=$4
	shift 4
	[ "$rule" = - ] || set -- "$@" --break "$rule"
	different=0
	run "$scratch/reference" "$world" "$commands" "$steps" --hash-every 100 --secondaries 0 --window 1 "$@" || different=error
	for options in '2' '3 --chaos 1' '3 --chaos 2'; do
		[ "$different" = 0 ] || break # one difference is enough
		# shellcheck disable=SC2086
		run "$scratch/other" "$world" "$commands" "$steps" --hash-every 100 --secondaries $options "$@" || different=error
		cmp -s "$scratch/reference" "$scratch/other" || [ "$different" = error ] || different=1
	done
	echo "$(basename "$world"), rule broken: $rule: $([ "$different" = 1 ] && echo "hashes differ" || echo "hashes agree")"
	if [ "$rule" = - ]; then
		[ "$different" = 0 ]
	else
		[ "$different" = 1 ]
	fi
	report $? "$(basename "$world"): $rule"
}

heap=$worlds/heap.sdf meeting=$worlds/meeting.sdf
heap_steps=$(amount 500 500 1500)
control - "$heap" - "$heap_steps"
control pairs "$heap" - "$heap_steps"
# objects of ODE keep nothing where troupe's own solver works, and it draws nothing
control - "$heap" - "$heap_steps" --solver ode
control random "$heap" - "$heap_steps" --solver ode
control pairs "$heap" - "$heap_steps" --solver ode
control rotation "$heap" - "$heap_steps" --solver ode
control - "$meeting" "$worlds/meeting.commands" 4000
control reference "$meeting" "$worlds/meeting.commands" 4000
control reference "$meeting" "$worlds/meeting.commands" 4000 --solver ode
# what windows rest on; their guesses are often wrong under chaos
patrol=$worlds/patrol.sdf mechanisms=$worlds/mechanisms.sdf
control proof "$meeting" "$worlds/meeting.commands" 3000
control leavers "$meeting" "$worlds/meeting.commands" 3000
control sleepers "$meeting" "$worlds/meeting.commands" 3000
control - "$patrol" - 3000
control levels "$patrol" - 3000
control - "$mechanisms" - 3000
control ties "$mechanisms" - 3000
totals
