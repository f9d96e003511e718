#!/bin/sh
# The five redistribution examples of the specification as worlds: the whole trace is compared line by line.
# Initially P1 is in L1 on secondary 1, P2 and P3 are in L2 on secondary 2, L3 is empty and secondary 3 is idle. The
# move is made at step 201.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

# example NUMBER WHAT: the expected trace after the first two lines comes on standard input
example()
{
	{
		printf 'load 0 L1 1\nload 0 L2 2\n'
		cat
	} >"$scratch/expected"
	run "$scratch/trace" "$worlds/specification.sdf" "$worlds/specification_$1.commands" 400 --secondaries 3 --window 1 --trace
	diff "$scratch/expected" "$scratch/trace"
	report $? "example $1: $2"
}

example 1 'P1 enters L3: nothing moves' <<EOF
unload 201 L1 1
load 201 L3 1
EOF
example 2 'P1 enters L2: P1 moves to 2, 1 is idle' <<EOF
move 201 P1 1 2
unload 201 L1 1
EOF
example 3 'P2 and P3 enter L1 at once: P1 moves to 2, 1 is idle' <<EOF
move 201 P1 1 2
unload 201 L1 1
load 201 L1 2
unload 201 L2 2
EOF
example 4 'P3 enters L3: P3 moves to 3' <<EOF
move 201 P3 2 3
load 201 L3 3
EOF
example 5 'P2 enters L1: P2 moves to 1' <<EOF
move 201 P2 2 1
EOF
totals
