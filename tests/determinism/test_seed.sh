#!/bin/sh
# A state depends on --seed where ODE's iterative solver works, and nowhere else. Saved states and recordings hold the
# seed.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

heap=$worlds/heap.sdf
steps=$(amount 400 400 1000)
half=$((steps / 2))

# hashes FILE OPTION...: writes the hashes of the state half-way and at the end to FILE
hashes()
{
	file=$1
	shift
	run "$file" "$heap" - "$steps" --hash-every "$half" --solver ode "$@"
	report $? "runs with $*"
}

same() { cmp -s "$2" "$3"; report $? "$1: $(tr '\n' ' ' <"$2") and $(tr '\n' ' ' <"$3")"; }
other() { [ "$(tail -n 1 "$2")" != "$(tail -n 1 "$3")" ]; report $? "$1: the same state"; }

hashes "$scratch/plain" --secondaries 1
hashes "$scratch/zero" --secondaries 1 --seed 0
hashes "$scratch/one" --secondaries 1 --seed 1
hashes "$scratch/large" --secondaries 1 --seed 4294967297
same 'seed 0 is the default' "$scratch/plain" "$scratch/zero"
other 'seeds 0 and 1' "$scratch/zero" "$scratch/one"
other 'seeds 1 and 2^32 + 1' "$scratch/one" "$scratch/large"

for options in '0' '2 --chaos 3' '2 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086 # options are words
	hashes "$scratch/again" --seed 1 --secondaries $options
	same "seed 1 with $options" "$scratch/one" "$scratch/again"
done

hashes "$scratch/saved" --seed 1 --save-at "$half" "$scratch/state" --record "$scratch/recording"
same 'saved and recorded' "$scratch/one" "$scratch/saved"
timeout "$run_limit_s" "$troupe" run --resume "$scratch/state" --rtf 0 -v 0 --iterations "$steps" --hash-every "$steps" \
	>"$scratch/resumed" 2>&1
tail -n 1 "$scratch/one" >"$scratch/end"
same 'resumed without --seed' "$scratch/end" "$scratch/resumed"
timeout "$run_limit_s" "$troupe" replay "$scratch/recording" >"$scratch/replayed" 2>&1
report $? "replayed: $(tail -n 3 "$scratch/replayed")"

# troupe's own solver draws nothing, and neither does the exact one of ODE.
for seed in 0 1; do
	run "$scratch/exact$seed" "$worlds/meeting.sdf" - 500 --hash-every 500 --seed $seed --solver ode
	report $? "meeting with seed $seed"
	run "$scratch/own$seed" "$heap" - "$steps" --hash-every "$half" --seed $seed
	report $? "own solver with seed $seed"
done
same 'a world without iterations' "$scratch/exact0" "$scratch/exact1"
same 'the own solver' "$scratch/own0" "$scratch/own1"

totals
