#!/bin/sh
# A sample of the determinism suite: each case for all of its steps without secondaries, against its golden file; for
# half of its steps with three secondaries; then, in turn from case to case, with one, with forced moves between two,
# and with eight; and resumed from a saved state. With TROUPE_TEST_FULL they are run for all of their steps; `make
# check-long` runs each case in all of these ways. The comparison with golden files can fail; under another fingerprint it
# proves nothing.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/determinism/matrix.sh"

one_secondary()
{
	one_way --secondaries 1
	[ "$(member "$report" moves) $(member "$report" meetings)" = '0 0' ]
	report $? "$name: no moves and no meetings with one secondary"
}
forced_moves() { one_way --secondaries 2 --chaos 1 --distribution "$last_policy"; }
eight_secondaries() { one_way --secondaries 8 --chaos 3 --chaos-moves 4; }
changing_number() { one_way --chaos 5; } # the number of secondaries changes every few steps

# all_ways: all ways of the sample, each for all steps
all_ways()
{
	one_secondary
	one_way --secondaries 2 --distribution "$first_policy"
	check_counts
	save_at --secondaries 3 --distribution "$last_policy"
	resume_at "${saves##* }" --secondaries 2 --chaos 4
	forced_moves
	eight_secondaries
	changing_number
}

# most_ways: of the four last ways one, by turns
most_ways()
{
	save_at --secondaries 3 --distribution "$last_policy"
	[ -n "$quick" ] || check_counts
	resume_at "${saves##* }" --secondaries 2 --chaos 4
	one_of_four
}

# one_of_four: the ways by turns from case to case
one_of_four()
{
	turn=$((turn % 4 + 1))
	case $turn in
	1) one_secondary ;;
	2) eight_secondaries ;;
	3)
		# two secondaries that wait for each other on two cores cost several times as much as one
		[ -n "$full" ] || [ "$steps" -le 1000 ] || shorten $((steps / 200 * 100))
		forced_moves
		;;
	4) changing_number ;;
	esac
}

turn=0
sampled=0
# some_ways: half of the steps, with a saved state, on three secondaries; then, by turns from case to case, one of the
# other ways, or 500 steps from the saved state
some_ways()
{
	sampled=$((sampled + 1))
	whole=$reference whole_steps=$steps save=${saves##* }
	[ "$steps" -le 1000 ] || shorten $((steps / 200 * 100))
	[ "$save" -lt "$steps" ] || save=${saves%% *}
	save_at --secondaries 3 --distribution "$first_policy"
	if [ "$steps" != "$whole_steps" ] && ! counts_reached; then # the moves and meetings of this case come later
		reference=$whole steps=$whole_steps
		one_way --secondaries 3 --distribution "$first_policy"
		shorten $((steps / 200 * 100))
	fi
	check_counts
	[ $((sampled % 2)) = 0 ] || one_of_four
	reference=$whole steps=$whole_steps
	[ $((sampled % 2)) = 0 ] || return
	shorten $((save / 100 * 100 + 500))
	resume_at "$save" --secondaries 2 --chaos 4 --distribution "$last_policy"
}

# The own solver with fewer lanes, by turns from case to case; and ODE alone, with hashes from before there was another
# solver.
solvers()
{
	lanes=$((2 << sampled % 3))
	if "$troupe" run "$worlds/specification.sdf" --lanes $lanes --iterations 1 --no-gz -v 0 >"$scratch/out" 2>&1; then
		one_way --secondaries 2 --lanes $lanes
	else
		grep -q 'if this processor has the instructions' "$scratch/out"
		report $? "$name: $lanes lanes: refused for want of instructions"
	fi
	[ -e "$golden"_ode/"$name" ] || return 0
	ode_steps=$((($(wc -l <"$golden"_ode/"$name") - 1) * 100))
	(run "$scratch/ode" "$world" "$commands" "$ode_steps" --hash-every 100 --secondaries 2 --solver ode)
	golden_verdict "$golden"_ode/"$name" "$scratch/ode"
	verdict=$?
	if [ $verdict = 2 ]; then
		skip "$name: golden hashes of ODE" "they are of another fingerprint than $fingerprint"
	else
		report $verdict "$name: --solver ode has other hashes than those in $golden"_ode
	fi
}

sample()
{
	[ -z "$quick" ] || steps=$((steps / 40 < 200 ? 200 : steps / 40))
	runnable || { skip "$name" "$missing" && return; }
	run_reference
	compare_golden
	solvers
	"$(amount most_ways some_ways most_ways all_ways)"
}

check_table
for_each_case sample

# control WHAT VERDICT: the present golden file, compared with the hashes of heap, has this verdict
control()
{
	golden_verdict "$scratch/doctored" "$scratch/heap.reference"
	verdict=$?
	[ $verdict = "$2" ]
	report $? "$1: $verdict, expected $2"
}
{ echo "# fingerprint $fingerprint"; cat "$scratch/heap.reference"; } >"$scratch/undoctored"
cp "$scratch/undoctored" "$scratch/doctored"
control 'golden hashes that are the same' 0
sed '3s/.$/x/' "$scratch/undoctored" >"$scratch/doctored"
control 'a golden hash that is another' 1
head -n 2 "$scratch/undoctored" >"$scratch/doctored"
control 'golden hashes that end early' 1
sed '1s/.$/x/; 3s/.$/x/' "$scratch/undoctored" >"$scratch/doctored"
control 'golden hashes of another fingerprint' 2
# of a machine on which they are known to be the same
listed=$(sed -n "/^#/d; /^$fingerprint /d; s/ .*//p" "$source_dir/tests/determinism/fingerprints" | head -n 1)
if grep -q "^$fingerprint " "$source_dir/tests/determinism/fingerprints"; then
	sed "1s/.*/# fingerprint $listed/" "$scratch/undoctored" >"$scratch/doctored"
	control 'golden hashes of another machine that has the same' 0
	sed '3s/.$/x/' "$scratch/doctored" >"$scratch/other" && cp "$scratch/other" "$scratch/doctored"
	control 'a golden hash that is another, of another machine' 1
fi
rm "$scratch/doctored"
control 'no golden hashes' 1
totals
