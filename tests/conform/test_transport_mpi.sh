#!/bin/sh
# What every transport must do, over MPI: tests/conform/test_transport_mpi.c on two, three and four ranks.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/determinism/ranks.sh"
can_try_ranks || { totals; exit; }
build=${BUILD_DIR:-build}
TROUPE_MODULES=$build/.libs
export TROUPE_MODULES
for count in 2 3 4; do
	TROUPE_SUITE=$scratch/$count
	export TROUPE_SUITE
	mkdir "$TROUPE_SUITE"
	(launch -n $count "$build/tests/conform/test_transport_mpi") >"$scratch/out" 2>"$scratch/err"
	report $? "$count ranks: status $?: $(grep -v '^-' "$scratch/err" | head -n 3)"
	sed -n 's/^FAILED: //p' "$scratch/out"
	[ "$(grep -c '^rank [0-9]: 14 passed, 0 failed$' "$scratch/out")" = $count ]
	report $? "$count ranks: all parts of the suite"
done
totals
