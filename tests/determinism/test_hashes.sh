#!/bin/sh
# test limit: 900
# A sample of the determinism suite: each case with several numbers of secondaries, policies, forced moves, and gone on
# from a saved state. `make check-long` runs all of it. The golden files can fail, and what they say elsewhere is nothing.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/determinism/matrix.sh"

sample()
{
	[ -z "$quick" ] || steps=$((steps / 20 < 200 ? 200 : steps / 20))
	runnable || { skip "$name" "$missing" && return; }
	run_reference
	compare_golden
	one_way --secondaries 1
	[ "$(member "$report" moves) $(member "$report" meetings)" = '0 0' ]
	check "$name: no moves and no meetings with one secondary" $?
	one_way --secondaries 2 --distribution "$first_policy"
	[ -n "$quick" ] || check_counts
	save_at --secondaries 3 --distribution "$last_policy"
	resume_at "${saves##* }" --secondaries 2 --chaos 4
	one_way --secondaries 2 --chaos 1 --distribution "$last_policy"
	one_way --secondaries 8 --chaos 3 --chaos-moves 4
	one_way --chaos 5 # how many secondaries work changes every few steps
}

check_table
for_each_case sample

# control WHAT VERDICT: of the golden file at hand, for the hashes of heap
control()
{
	golden_verdict "$scratch/doctored" "$scratch/heap.reference"
	verdict=$?
	[ $verdict = "$2" ]
	check "$1: $verdict, expected $2" $?
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
rm "$scratch/doctored"
control 'no golden hashes' 1
totals
