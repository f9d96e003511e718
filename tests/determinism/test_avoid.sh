#!/bin/sh
# Carts that are driven by what their lidars see: the example avoid, a barrier client that takes scans and gives
# commands, so here states depend on readings. The carts touch nothing, they get about, and the state at the end is the
# same for any number of secondaries and in each run. Where the obstacles cannot be seen, the carts touch them: so the
# example would notice.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
set -u
if ! grep -q 'define HAVE_EMBREE' "${BUILD_DIR:-.}/config.h"; then
	skip avoid 'built without Embree: lidars do not measure'
	totals
	exit
fi
avoid=${BUILD_DIR:-.}/tests/determinism/avoid
seconds=$(amount 6 20 30 60)

# drive NAME WORLD SECONDS SECONDARIES: the output is in $scratch/NAME
drive()
{
	timeout "$run_limit_s" "$avoid" "$2" "$3" "$4" >"$scratch/$1" 2>&1
}

run=0
for secondaries in $(amount '1 2' '1 2 0' '1 2 0 -1 4 8' '1 2 3 0 2 -1 4 1 3 8'); do
	run=$((run + 1))
	drive $run "$worlds/lidar.sdf" "$seconds" "$secondaries"
	report $? "run $run, $secondaries secondaries: $(cat "$scratch/$run")"
	cmp -s "$scratch/1" "$scratch/$run"
	report $? "run $run, $secondaries secondaries: $(diff "$scratch/1" "$scratch/$run")"
done
# eight carts, twenty scans a second; the scan at the end is not taken any more
awk -v seconds="$seconds" '/ drove / { carts++; slow += $3 < seconds / 5 } / scans, / { scans = $1; touched = $3 }
	END { exit !(carts == 8 && !slow && touched == 0 && scans > 8 * (20 * seconds - 5)) }' "$scratch/1"
report $? "the carts get about: $(cat "$scratch/1")"
grep -q '^hash [0-9a-f]\{16\}$' "$scratch/1"
report $? "a hash: $(cat "$scratch/1")"

# the same world without visuals of walls and boxes
sed '/<visual /,/<\/visual>/d' "$worlds/lidar.sdf" >"$scratch/dark.sdf"
GZ_SIM_RESOURCE_PATH=$worlds drive dark "$scratch/dark.sdf" 20 1
[ $? = 1 ] && grep -q ' touches ' "$scratch/dark"
report $? "in the dark: $(cat "$scratch/dark")"
totals
