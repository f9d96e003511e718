#!/bin/sh
# test limit: 600
# Negative controls: with one rule of determinism broken, the comparison that test_hashes.sh makes must fail. Without, it
# must hold, or the control would be none.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

# control RULE WORLD COMMANDS STEPS: RULE "-" breaks nothing
control()
{
	rule=$1 world=$2 commands=$3 steps=$4
	set --
	[ "$rule" = - ] || set -- --break "$rule"
	different=0
	run "$scratch/reference" "$world" "$commands" "$steps" --hash-every 100 --secondaries 0 "$@" || different=error
	for options in '2' '3 --chaos 1' '3 --chaos 2'; do
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
	check "$(basename "$world"): $rule" $?
}

heap=$worlds/heap.sdf meeting=$worlds/meeting.sdf
control - "$heap" - 1500
control random "$heap" - 1500
control pairs "$heap" - 1500
control rotation "$heap" - 1500
control - "$meeting" "$worlds/meeting.commands" 4000
control reference "$meeting" "$worlds/meeting.commands" 4000
totals
