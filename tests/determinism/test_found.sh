#!/bin/sh
# Worlds that once broke a law, in found/, and similar ones: the hash of every step is the same for all placements,
# over tcp, with all of ODE's objects made anew at each step, and after a resume; and each world comes to its known
# outcome.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

found=${SOURCE_DIR:-.}/tests/determinism/found

# same WORLD STEPS SAVE_STEP...: sets $report, the report of the run without secondaries. The commands are in
# WORLD.commands.
same()
{
	name=$1 steps=$2
	shift 2
	world=$found/$name.sdf commands=-
	[ ! -e "$found/$name.commands" ] || commands=$found/$name.commands
	report=$scratch/$name.report reference=$scratch/$name.reference
	run "$reference" "$world" "$commands" "$steps" --hash-every 1 --secondaries 0 --report "$report"
	report $? "$name: runs"
	for options in '0 --anew' '1 --chaos 4 --chaos-moves 1' '2 --chaos 3' '3 --anew --chaos 9 --chaos-moves 2' \
		'2 --transport tcp --chaos 3 --network-stale-ms 60000'; do
		case ${quick:+quick }$options in
		'quick 0 --anew' | 'quick 1 '*) continue ;;
		esac
		# shellcheck disable=SC2086
		run "$scratch/other" "$world" "$commands" "$steps" --hash-every 1 --secondaries $options
		compare "$name: --secondaries $options" "$reference" "$scratch/other"
	done
	for at in "$@"; do
		run "$scratch/other" "$world" "$commands" "$steps" --hash-every 1 --secondaries 2 --chaos 5 \
			--save-at "$at" "$scratch/saved"
		compare "$name: saved at $at" "$reference" "$scratch/other"
		awk -v at="$at" '$2 > at' "$reference" >"$scratch/rest"
		timeout "$run_limit_s" "$troupe" run --resume "$scratch/saved" --rtf 0 -v 0 --iterations "$steps" \
			--hash-every 1 --secondaries 1 --chaos 6 --chaos-moves 1 >"$scratch/other" 2>&1
		compare "$name: resumed at $at" "$scratch/rest" "$scratch/other"
	done
}

# compare WHAT EXPECTED FOUND
compare()
{
	cmp -s "$2" "$3"
	report $? "$1: $(diff "$2" "$3" 2>&1 | sed -n '2p')"
}

# coordinate MODEL NUMBER: of the model's position in $report; 1 is x
coordinate() { sed -n "s/.*\"name\": \"$1\", \"pose\": \[\([^]]*\)\].*/\1/p" "$report" | cut -d, -f"$2"; }

# between WHAT VALUE LOW HIGH
between()
{
	awk -v v="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(v != "" && v >= low && v <= high) }'
	report $? "$name: $1: $2, expected $3 to $4"
}

# A joint of the world that is not stepped, because its other model is unloaded or removed, keeps its position.
same world_joint 300 60 200
same world_joint_removed 400 150

# A motor that lifts a flap off its only stop; screws with stops and springs. All these once became NaN, the flap in
# some placements only.
same flap 600 250
same screw_spring 500 150
same screw_stop 500
same screw_quick 500 100
same screw_free 800
same screw_lead 800 60

# A damper of 1e-320, whose softness is no number, once ended the run at step 0.
same weak_damper 100 40

# The exact solver fails only in a later try of a coupling's search. The second try must find the island of this
# failure; otherwise state k+1 has old values of two steps ago.
same trial_fails 60 30

# One model diverges in the first try, whose state k+1 was stored. The second try must begin from state k for all models
# of the ODE world: for the cart's boxes, too; otherwise a wheel that state k+1 lifts loses its contact.
same second_try 40 1

# In some steps a first try, whose state k+1 was stored, has noted the efforts of joints already. Those of the second try
# take their place: efforts that come twice ended a run over a network.
same noted_twice 300 100
# ODE steps an island around a kinematic body, beside another one in the same ODE world, or alone in one
same kinematic_between 100 60
for options in '0' '2 --transport tcp --chaos 3 --network-stale-ms 60000'; do
	# shellcheck disable=SC2086
	run "$scratch/other" "$found/noted_twice.sdf" - 300 --secondaries $options --log "$scratch/${options%% *}.csv" \
		--log-every 1 --log-what effort
	report $? "noted_twice: logs efforts: --secondaries $options"
done
compare 'noted_twice: efforts over tcp' "$scratch/0.csv" "$scratch/2.csv"

# The creation of a static model changes no other model in the states that are saved later.
same static_created 1500 500 1100
same static_in_file 1500 500 1100

# The first friction direction of a plane's own surface.
same fdir1_plane 600 300
between 'the box stands on the plane, m' "$(coordinate box 3)" 0.49 0.51

# Hundreds of shapes in one place: as many contacts as push them apart, and the same ones in all placements.
# crowd NUMBER GEOMETRY
crowd()
{
	echo '<sdf version="1.9"><world name="w"><gravity>0 0 0</gravity>'
	for i in $(seq "$1"); do
		echo "<model name='m$i'><link name='l'><collision name='c'><geometry>$2</geometry></collision></link></model>"
	done
	echo '</world></sdf>'
}
kept=$found
found=$scratch
crowd 120 '<box><size>1 1 1</size></box>' >"$found/boxes.sdf"
crowd 80 '<capsule><radius>0.2</radius><length>2</length></capsule>' >"$found/capsules.sdf"
same boxes 8 4
same capsules 8 4
# A plate with more crates on it than a crowd may have contacts: no crate may lose its contacts.
{
	named_head ground
	echo '<model name="plate"><pose>0 0 0.1 0 0 0</pose><link name="l"><inertial><mass>99</mass>
	<inertia><ixx>99</ixx><iyy>99</iyy><izz>99</izz></inertia></inertial><collision name="c"><geometry><box><size>10 10 0.2</size></box>
	</geometry></collision></link></model>'
	for i in 0 1 2 3 4 5 6 7 8 9; do
		for k in 0 1 2 3 4 5 6 7 8 9; do
			echo "<model name='c$i$k'><pose>-4.$i -4.$k 0.5 0 0 0</pose><link name='l'><pose>$i $k 0 0 0 0</pose><collision name='c'>
			<geometry><sphere><radius>0.3</radius></sphere></geometry></collision></link></model>"
		done
	done
	echo '</world></sdf>'
} >"$found/plate.sdf"
same plate 60
for i in 00 37 99; do
	between 'a ball lies on the plate, m' "$(coordinate c$i 3)" 0.49 0.51
done
found=$kept

# If several models diverge in one step, the first in the file is named, whichever secondary simulates it.
{
	echo '<sdf version="1.9"><world name="w"><gravity>0 0 -1e6</gravity>'
	for i in 0 1 2 3 4 5; do
		echo "<model name='m$i'><pose>$i 0 0 0 0 0</pose><link name='l'/></model>"
	done
	echo '</world></sdf>'
} >"$scratch/falling.sdf"
run "$scratch/alone" "$scratch/falling.sdf" - 200 --secondaries 0 >/dev/null
grep -q "model 'm0' diverged" "$scratch/alone.err"
report $? "several diverge: $(tail -n 1 "$scratch/alone.err")"
for options in 2 '3 --chaos 1 --chaos-moves 1' '3 --chaos 2 --chaos-moves 1' '3 --chaos 3 --chaos-moves 1' \
	'2 --chaos 4 --chaos-moves 1 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086
	run "$scratch/other" "$scratch/falling.sdf" - 200 --secondaries $options >/dev/null
	cmp -s "$scratch/alone.err" "$scratch/other.err"
	report $? "--secondaries $options: $(tail -n 1 "$scratch/other.err")"
done

# The floor of a level that is not loaded holds a model that slides onto it.
same unloaded_floor 8000 4000
between 'the crate has left the loaded floor, m' "$(coordinate crate_a 1)" 5.5 9
between 'and stands on the other, m' "$(coordinate crate_a 3)" 0.24 0.26

# What a tie or a joint of the world connects to a model that is simulated is simulated, too, whatever its level: it
# follows the truck out of its level and back, and does not stay behind.
name=trailer report=$scratch/trailer.report
run "$scratch/other" "$found/trailer.sdf" "$found/trailer.commands" 1600 --secondaries 0 --report "$report"
between 'the last wagon is drawn along, two lengths of 1.5 m behind the truck at 8 m' "$(coordinate last 1)" 4.99 5.1
same trailer 3200 900 2500
between 'the last wagon came back: it is at most two lengths from the truck at 0, m' "$(coordinate last 1)" -3 -1.8
between 'the crate was let go on the way back, m' "$(coordinate crate 1)" 1.2 1.8

# Models of unloaded levels are there for a model that comes near, and for the models that it pushes into others.
same ghost 2000 600 1100
between 'the first crate was pushed, m' "$(coordinate crate1 1)" 1.6 1.9
between 'and the last, which stands apart, by the others, m' "$(coordinate crate3 1)" 3.6 3.9
between 'the crate beside them was not loaded, m' "$(coordinate far 3)" 0.5 0.5
totals
