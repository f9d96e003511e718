#!/bin/sh
# Steps that are taken between two exchanges: each state has the hash that it has when each step is taken by itself, for
# windows of each length, of random lengths with wrong guesses, over a network, and in runs that are resumed or replayed
# from their middle. The hashes are of every step, so those within windows are compared, too.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

# windows FILE: how many steps the longest window of the run had, and how many steps were repeated
longest() { sed -n 's/.*"windows": {"count": [0-9]*, "longest": \([0-9]*\),.*/\1/p' "$1"; }
repeated() { sed -n 's/.*"windows": {.*"repeated_steps": \([0-9]*\)}.*/\1/p' "$1"; }

# one LEAST OPTION...: with these options the hashes are those of single steps, and some window is so long
all_repeated=0
one()
{
	least=$1
	shift
	run "$scratch/other" "$world" "$commands" "$steps" --hash-every 1 --report "$scratch/report" "$@"
	cmp -s "$scratch/single" "$scratch/other"
	report $? "$name $*: $(diff "$scratch/single" "$scratch/other" 2>&1 | sed -n 2p)"
	[ "$(longest "$scratch/report")" -ge "$least" ]
	report $? "$name $*: a window of $(longest "$scratch/report") steps, expected $least"
	all_repeated=$((all_repeated + $(repeated "$scratch/report")))
}

# each NAME STEPS LEAST: LEAST: what the longest window has at least, if it is found out
each()
{
	name=$1 world=$worlds/$1.sdf commands=$worlds/$1.commands steps=$2 least=$3
	[ -e "$commands" ] || commands=-
	run "$scratch/single" "$world" "$commands" "$steps" --hash-every 1 --secondaries 0 --window 1 --report "$scratch/report"
	report $? "$name: runs"
	[ "$(longest "$scratch/report")" = 1 ] && [ "$(wc -l <"$scratch/single")" = "$steps" ]
	report $? "$name: each step by itself"
	one "$least" --secondaries 0
	one 2 --secondaries 2 --window 2
	one "$((least < 7 ? least : 7))" --secondaries 0 --window 7
	one "$((least > 20 ? 64 : least))" --secondaries 3 --window 64
	one "$least" --secondaries 2 --chaos "$steps"
	one "$least" --secondaries 0 --chaos 2
	[ -n "$quick" ] || one "$((least < 7 ? least : 7))" --transport tcp --network-stale-ms 60000 --secondaries 2 --window 7
	one "$least" --transport tcp --network-stale-ms 60000 --secondaries 2 --chaos 4
}

most=$(amount 600 1500 4000)
each meeting "$((most * 2))" 20
each patrol "$most" 9
each warehouse "$((most / 2))" 20
each crowd "$most" 20
each large "$((most / 4))" 5
each churn "$most" 7
each mechanisms "$((most / 3))" 9
[ "$all_repeated" -gt 100 ]
report $? "wrong guesses were repeated: $all_repeated steps"

# Robots cross the borders of levels all the time. A window ends there only if it is the first performer that comes near a
# level, or the last one that leaves it.
"$worlds/generate" fleet --robots 64 --step 1 "$scratch/fleet" >/dev/null
report $? 'fleet: is made'
for i in $(seq 0 63); do
	echo "$((i % 4 * 60)) /model/robot_$i/cmd_vel linear: {x: 1} angular: {z: 0.$((i % 5))}"
done | sort -n >"$scratch/fleet.commands"
worlds_there=$worlds worlds=$scratch
ln -s "$worlds_there/models" "$scratch/models"
each fleet "$((most / 4))" 20
worlds=$worlds_there
run "$scratch/other" "$scratch/fleet.sdf" "$scratch/fleet.commands" 1000 --secondaries 0 --report "$scratch/report"
windows=$(sed -n 's/.*"windows": {"count": \([0-9]*\),.*/\1/p' "$scratch/report")
[ "$windows" -lt 200 ]
report $? "fleet: windows cross borders: $windows windows"

# Models that met come apart, and share a group for some hundreds of steps more; it is dissolved within a window.
name=large world=$worlds/large.sdf commands=$worlds/large.commands steps=2400
run "$scratch/single" "$world" "$commands" "$steps" --hash-every 20 --secondaries 0 --window 1
report $? 'large: 2400 steps'
run "$scratch/other" "$world" "$commands" "$steps" --hash-every 20 --secondaries 0
cmp -s "$scratch/single" "$scratch/other"
report $? "large: groups that are dissolved: $(diff "$scratch/single" "$scratch/other" 2>&1 | sed -n 2p)"

# Crates fall asleep within windows that are refuted, because balls fall on others at that time: they fall asleep again.
{
	named_head ground | sed 's/0.001/0.002/'
	for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
		echo "<model name='crate_$i'><pose>$((2 * i)) 0 $(awk "BEGIN { print 0.25 + $i % 3 * 0.0001 }") 0 0 0</pose>"
		echo "<link name='l'><collision name='c'><geometry><box>"
		echo "<size>0.5 0.5 0.5</size></box></geometry></collision></link></model>"
		for j in 0 1; do
			echo "<model name='ball_${i}_$j'><pose>$((2 * i)) $((2 + i)) $(awk "BEGIN { print $j ? 1.8 + 0.01 * $i : 0.2 }") 0 0 0</pose>"
			echo "<link name='l'><collision name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link></model>"
		done
	done
	echo '</world></sdf>'
} >"$scratch/falls.sdf"
name=falls world=$scratch/falls.sdf commands=- steps=400
run "$scratch/single" "$world" - "$steps" --hash-every 1 --secondaries 0 --window 1
report $? 'falls: runs'
for seed in 1 2 15 29; do
	one 20 --secondaries 0 --chaos "$seed"
done
# which models are said to be asleep, at a step that a window ends at after some fell asleep in it
asleep() { grep -o '"name": "[a-z_0-9]*"\|"asleep": [a-z]*' "$scratch/report" | tr '\n' ' '; }
for steps in 254 258 300; do
	run "$scratch/other" "$world" - "$steps" --secondaries 0 --window 1 --report "$scratch/report"
	single=$(asleep)
	run "$scratch/other" "$world" - "$steps" --secondaries 0 --window 64 --report "$scratch/report"
	[ "$single" = "$(asleep)" ]
	report $? "falls: asleep at $steps: $single, $(asleep)"
done

# A plate that sleeps is hit within a window by a model that is kept together with it, and gets out of the way of a block
# that would have met it where it was: the block is not kept together with it.
box() # NAME POSE MASS SIZE [ELEMENTS]
{
	echo "<model name='$1'><pose>$2 0 0 0</pose><link name='l'><gravity>false</gravity><inertial><mass>$3</mass><inertia><ixx>$3</ixx>"
	echo "<iyy>$3</iyy><izz>$3</izz></inertia></inertial><collision name='c'><geometry><box><size>$4</size></box></geometry></collision>"
	echo "</link>${5:-}</model>"
}
moved() { echo "<plugin name='gz::sim::systems::VelocityControl' filename='x'><initial_linear>$1</initial_linear></plugin>"; }
for height in 50.54 50.5 50.46; do
	{
		echo '<sdf version="1.9"><world name="w"><physics name="p" type="ode"><max_step_size>0.002</max_step_size></physics>'
		box plate '0 0 0' 1 '2 2 0.04'
		box a '1.28 0 0' 5 '0.4 0.4 0.01' "$(moved '0 0 0')"
		box c "0 0 $height" 100 '0.3 0.3 0.3' "$(moved '0 0 -25')"
		echo '</world></sdf>'
	} >"$scratch/hit.sdf"
	echo '1000 /model/a/cmd_vel linear: {x: -10}' >"$scratch/hit.commands"
	name="hit from $height m" world=$scratch/hit.sdf commands=$scratch/hit.commands steps=1010
	run "$scratch/single" "$world" "$commands" "$steps" --hash-every 1 --secondaries 0 --window 1
	report $? "$name: runs"
	one 9 --secondaries 0
	one 9 --secondaries 2
	one 24 --secondaries 0 --window 24
	run "$scratch/other" "$world" "$commands" "$steps" --hash-every 1 --secondaries 0 --break hits
	! cmp -s "$scratch/single" "$scratch/other"
	report $? "$name: another state if it is forgotten where the plate lay"
done

# Wrenches that last act in each step of a window: on models that go ahead of others or are near some, that have plug-ins,
# that would sleep or are woken by it, beside the centre of mass, so that the torque turns with the link, and with no force.
{
	named_head ground | sed 's/0.001/0.002/'
	for i in 0 1 2 3 4 5 6 7; do
		box "float_$i" "$((3 * i)) 9 $((2 + i))" 1 '0.5 0.4 0.3' "$([ $((i % 3)) = 1 ] && moved '0.1 0 0')"
		echo "<model name='crate_$i'><pose>$((i / 2)).$((i % 2 * 3)) 0 0.25 0 0 0</pose><link name='l'>"
		echo "<collision name='c'><geometry><box><size>0.25 0.25 0.5</size></box></geometry></collision></link></model>"
	done
	echo '</world></sdf>'
} >"$scratch/pushed.sdf"
{
	for i in 0 1 2 3 4 5 6 7; do
		echo "$((i % 2 * 20)) /world/w/wrench/persistent entity {name: 'float_$i'} wrench {force {x: 0.$i} force_offset {y: 0.2} torque {z: 0.0$i}}"
		echo "30 /world/w/wrench/persistent entity {name: 'float_$i'} wrench {torque {x: 0.01}}"
	done
	echo "40 /world/w/wrench/persistent entity {name: 'crate_0'} wrench {force {x: 0.5}}"
	echo "41 /world/w/wrench/persistent entity {name: 'crate_3'} wrench {force {}}"
	echo "42 /world/w/wrench/persistent entity {name: 'crate_4'} wrench {force {x: 2500} force_offset {z: 0.1}}"
	echo "320 /world/w/wrench/persistent entity {name: 'crate_7'} wrench {force {y: 1}}"
	echo "350 /world/w/wrench entity {name: 'crate_6'} wrench {force {x: 900}}"
	echo "400 /world/w/wrench/clear name: 'float_2'"
	echo "400 /world/w/remove name: 'float_3' type: MODEL"
} | sort -n -s >"$scratch/pushed.commands"
worlds_there=$worlds worlds=$scratch
each pushed 600 10
worlds=$worlds_there
for options in '--secondaries 3 --window 7' '--secondaries 1 --transport tcp' '--secondaries 3 --transport tcp --window 64'; do
	# shellcheck disable=SC2086
	one 7 $options
done
run "$scratch/other" "$world" "$commands" "$steps" --hash-every 1 --secondaries 2 --save-at 377 "$scratch/state" --report "$scratch/report"
sed 1,377d "$scratch/single" >"$scratch/rest"
timeout "$run_limit_s" "$troupe" run --resume "$scratch/state" --rtf 0 -v 0 --iterations "$steps" --secondaries 2 --window 13 \
	--hash-every 1 >"$scratch/other" 2>"$scratch/other.err"
cmp -s "$scratch/rest" "$scratch/other"
report $? "pushed: resumed at 377: $(diff "$scratch/rest" "$scratch/other" | sed -n 2p)"

# Sensors of contacts and of forces, some on models that fall asleep within windows: what was noted of each model in its
# last step is in a saved state, byte by byte.
{
	named_head ground | sed 's/0.001/0.002/'
	for i in 0 1 2 3 4 5 6 7; do
		echo "<model name='crate_$i'><pose>$((2 * i)) 0 $(awk "BEGIN { print 0.25 + $i % 3 * 0.01 }") 0 0 0</pose><link name='l'>"
		echo "<collision name='c'><geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision>"
		echo "<sensor name='t' type='contact'><update_rate>20</update_rate><contact><collision>c</collision></contact></sensor>"
		echo "</link><link name='h'><pose>0.35 0 0 0 0 0</pose><inertial><mass>0.5</mass></inertial></link>"
		echo "<joint name='j' type='revolute'><parent>l</parent><child>h</child><axis><xyz>0 1 0</xyz><limit>"
		echo "<lower>-0.3</lower><upper>0.3</upper></limit></axis><sensor name='f' type='force_torque'>"
		echo "<update_rate>50</update_rate></sensor></joint></model>"
		for j in 0 1; do
			echo "<model name='ball_${i}_$j'><pose>$((2 * i)) $((2 + i)) $(awk "BEGIN { print $j ? 1.8 + 0.1 * $i : 0.2 }") 0 0 0</pose>"
			echo "<link name='l'><collision name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link></model>"
		done
	done
	echo '</world></sdf>'
} >"$scratch/noted.sdf"
# noted OPTION...: the world's hash of each step to noted.out, its state to noted.state, what is measured to noted.read
noted()
{
	run "$scratch/noted.out" "$scratch/noted.sdf" - 900 --hash-every 1 --save-at 777 "$scratch/noted.state" --report "$scratch/report" "$@"
	for what in readings readings_digest; do
		member "$scratch/report" $what
	done >"$scratch/noted.read"
}
for sense in '' --sense-all; do
	# shellcheck disable=SC2086
	noted --secondaries 0 --window 1 $sense
	for what in out state read; do
		mv "$scratch/noted.$what" "$scratch/single.$what"
	done
	for options in '--secondaries 0' '--secondaries 2 --window 7' '--secondaries 3 --chaos 3' '--transport tcp --secondaries 2 --chaos 4'; do
		# shellcheck disable=SC2086
		noted $options $sense
		for what in out state read; do
			cmp -s "$scratch/single.$what" "$scratch/noted.$what"
			report $? "noted $options $sense: $what"
		done
		[ "$(longest "$scratch/report")" -ge 7 ]
		report $? "noted $options $sense: a window of $(longest "$scratch/report") steps"
	done
done
[ "$(head -n 1 "$scratch/single.read")" -gt 500 ]
report $? "noted: $(head -n 1 "$scratch/single.read") readings"
noted --secondaries 0 --sense-all --break notes
! cmp -s "$scratch/single.state" "$scratch/noted.state"
report $? 'noted: a state in which notes are forgotten is another one'

# strays, which a window might not let go in time
name=spawn world=$worlds/spawn.sdf commands=$worlds/spawn.commands steps=$most
run "$scratch/single" "$world" "$commands" "$steps" --hash-every 1 --secondaries 0 --window 1
report $? 'spawn: runs'
for seed in 1 2 3; do
	one 1 --secondaries 2 --chaos "$seed"
done
one 1 --secondaries 0 --window 64
# a stray of the first step, which nothing holds after step 21
name=stray_left world=${SOURCE_DIR:-.}/tests/determinism/found/stray_left.sdf commands=- steps=60
run "$scratch/single" "$world" "$commands" "$steps" --hash-every 1 --secondaries 0 --window 1
report $? 'stray_left: runs'
one 1 --secondaries 0 --window 64
one 1 --secondaries 2 --window 32 --transport tcp --network-stale-ms 60000

# a state is saved, and a run recorded, at the step that was asked for, though a window would have gone on
world=$worlds/meeting.sdf commands=$worlds/meeting.commands steps=2000
run "$scratch/single" "$world" "$commands" "$steps" --hash-every 1 --secondaries 0 --window 1
run "$scratch/other" "$world" "$commands" "$steps" --hash-every 1 --secondaries 2 --chaos 3 --save-at 1003 "$scratch/state" \
	--record "$scratch/tape" --record-every 77
cmp -s "$scratch/single" "$scratch/other"
report $? 'a run that is saved and recorded'
sed 1,1003d "$scratch/single" >"$scratch/rest"
timeout "$run_limit_s" "$troupe" run --resume "$scratch/state" --rtf 0 -v 0 --iterations "$steps" --secondaries 2 \
	--hash-every 1 --window 13 >"$scratch/other" 2>"$scratch/other.err"
cmp -s "$scratch/rest" "$scratch/other"
report $? "resumed at 1003: $(diff "$scratch/rest" "$scratch/other" | sed -n 2p)"
timeout "$run_limit_s" "$troupe" replay "$scratch/tape" --secondaries 3 --chaos 5 >"$scratch/out" 2>"$scratch/err"
report $? "replayed: $(tail -1 "$scratch/err")"

# what is expected of the number
"$troupe" run "$world" --window 1001 -v 0 2>"$scratch/err"
[ $? = 2 ] && grep -q -- "--window: '1001': expected a whole number from 0 to 1000" "$scratch/err"
report $? "--window 1001: $(cat "$scratch/err")"
totals
