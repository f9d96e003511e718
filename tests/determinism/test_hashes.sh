#!/bin/sh
# test limit: 900
# The same hashes for any number of secondaries and under forced moves, on every world of ours (and two of Gazebo's,
# where they are at hand). Worlds that are there to show moves and contacts across secondaries must have had some.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

# same NAME WORLD COMMANDS STEPS MOVES MEETINGS: the last two are what there must be at least, on two secondaries
same()
{
	name=$1 world=$2 commands=$3 steps=$4 moves=$5 meetings=$6
	[ -z "$quick" ] || steps=$((steps / 20 < 200 ? 200 : steps / 20))
	reference=$scratch/reference
	run "$reference" "$world" "$commands" "$steps" --hash-every 100 --secondaries 0
	check "$name: runs" $?
	[ "$(grep -c '^hash ' "$reference")" = $((steps / 100)) ]
	check "$name: a hash every 100 steps" $?
	[ "$(sed 's/.* //' "$reference" | sort -u | wc -l)" -gt 1 ]
	check "$name: the hashes change" $?
	for options in '1' '2' '3' '5' '2 --chaos 1' '3 --chaos 2' '5 --chaos 3 --chaos-moves 4'; do
		# shellcheck disable=SC2086
		run "$scratch/other" "$world" "$commands" "$steps" --hash-every 100 --report "$scratch/report" \
			--secondaries $options && cmp -s "$reference" "$scratch/other"
		check "$name: --secondaries $options: $(diff "$reference" "$scratch/other" | sed -n 2p)" $?
		[ "$options" != 2 ] || cp "$scratch/report" "$scratch/report2"
		[ "$options" != 1 ] || [ "$(member "$scratch/report" moves) $(member "$scratch/report" meetings)" = '0 0' ]
		check "$name: no moves and no meetings with one secondary" $?
	done
	[ -z "$quick" ] || return 0
	echo "$name: $steps steps, $(member "$scratch/report2" moves) moves, $(member "$scratch/report2" meetings) meetings"
	[ "$(member "$scratch/report2" moves)" -ge "$moves" ]
	check "$name: at least $moves moves" $?
	[ "$(member "$scratch/report2" meetings)" -ge "$meetings" ]
	check "$name: at least $meetings contacts of models that began on different secondaries" $?
}

same warehouse "$worlds/warehouse.sdf" "$worlds/warehouse.commands" 16000 1 1
same meeting "$worlds/meeting.sdf" "$worlds/meeting.commands" 8000 1 1
same asleep "$worlds/asleep.sdf" "$worlds/asleep.commands" 8000 0 1
same hill "$worlds/hill.sdf" - 6000 1 1
same heap "$worlds/heap.sdf" - 3000 1 1
same mechanisms "$worlds/mechanisms.sdf" - 8000 0 0
same patrol "$worlds/patrol.sdf" - 16000 1 1
same large "$worlds/large.sdf" "$worlds/large.commands" 4000 1 1
if grep -q 'define HAVE_MESHES' "${BUILD_DIR:-.}/config.h"; then
	same shapes "$worlds/shapes.sdf" - 6000 1 1
else
	echo "built without meshes: shapes.sdf is left out"
fi
for i in 1 2 3 4 5; do
	same "specification $i" "$worlds/specification.sdf" "$worlds/specification_$i.commands" 400 0 0
done
for world in "$worlds"/*.sdf; do
	grep -q "^same.*/${world##*/}\"\|^	same.*/${world##*/}\"" "$0"
	check "${world##*/} is in the table" $?
done
corpus=${SOURCE_DIR:-.}/../shared/corpus
if [ -d "$corpus" ]; then
	cat >"$scratch/levels.commands" <<-EOF
	0 /model/vehicle_blue/cmd_vel linear: {x: 4.0}
	0 /model/vehicle_red/cmd_vel linear: {x: 2.0}
	EOF
	same levels.sdf "$corpus/gz-examples/levels.sdf" "$scratch/levels.commands" 18000 1 0
	same standalone.sdf "$corpus/gz-distributed/standalone.sdf" - 4000 0 0
else
	echo "the corpus is not here: Gazebo's own worlds are left out"
fi
totals
