#!/bin/sh
# A resumed run has the same bits with any number of secondaries, needs none of the files of its world, and may begin
# among commands and changes of the world. A file that is damaged, that has another version, or that is not a saved
# state is refused.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

cp -r "$worlds" "$scratch/worlds"
here=$scratch/worlds

turn=0
# goes_on NAME COMMANDS STEPS SAVE...: saves a state at each SAVE, hides the files of the world, and resumes each state
goes_on()
{
	name=$1 given=$2 until=$3
	shift 3
	saves=
	for at in "$@"; do
		saves="$saves --save-at $at $scratch/$name.$at"
	done
	# shellcheck disable=SC2086
	run "$scratch/whole" "$here/$name.sdf" "$given" "$until" --hash-every 50 --secondaries 2 $saves
	report $? "$name: runs and saves"
	mv "$here" "$here.hidden"
	for at in "$@"; do
		if [ "$at" = 0 ]; then
			cp "$scratch/whole" "$scratch/rest"
		else
			sed -n "/^hash $at /,\$p" "$scratch/whole" | sed 1d >"$scratch/rest"
		fi
		[ -s "$scratch/rest" ]
		report $? "$name from $at: something is left to compare"
		turn=$((turn % 2 + 1))
		for options in 0 1 3 '2 --chaos 1'; do
			# two of the four ways for each state, by turns; all four with TROUPE_TEST_FULL
			case $full,$turn,$options in ,1,[02]* | ,2,[13]*) continue ;; esac
			# shellcheck disable=SC2086
			"$troupe" run --resume "$scratch/$name.$at" --rtf 0 -v 0 --iterations "$until" --hash-every 50 \
				--secondaries $options >"$scratch/resumed" 2>"$scratch/err"
			cmp -s "$scratch/rest" "$scratch/resumed"
			report $? "$name from $at with $options: $(head -n 1 "$scratch/err") $(diff "$scratch/rest" "$scratch/resumed" | sed -n 2p)"
		done
	done
	mv "$here.hidden" "$here"
}

cat >"$scratch/edits" <<-EOF2
100 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: 12}}
101 /model/late/cmd_vel linear: {x: 0.9}
150 /world/asleep/remove name: "crate_1_0_1"
199 /world/asleep/disable_collision name: "crate_0_1_1"
200 /world/asleep/create name: "slab" pose {position {x: 2 y: 12 z: 0.5}} sdf: "$slab"
203 /world/asleep/enable_collision name: "crate_0_1_1"
240 /world/asleep/wrench/persistent entity {name: "late"} wrench {force {y: 3} force_offset {x: 0.3}}
245 /world/asleep/wrench/persistent entity {name: "restless"} wrench {torque {z: 0.2}}
250 /world/asleep/create_multiple data {sdf_filename: "models/cart" name: "a" pose {position {x: 2 y: 12 z: 1.5}}} data {sdf_filename: "models/cart" name: "b" pose {position {x: 3 y: 12 z: 2}}}
260 /world/asleep/create clone_name: "late" name: "twin" pose {position {x: -7 y: 12}}
261 /world/asleep/create clone_name: "cart_2" name: "other" pose {position {x: -7 y: 20}}
262 /model/twin/cmd_vel linear: {x: 0.7}
300 /world/asleep/remove name: "late"
350 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: -12}}
400 /world/asleep/set_pose name: "slab" position {x: 2 y: 12 z: 0.1}
420 /world/asleep/disable_collision name: "crate_0_1_2"
440 /world/asleep/disable_collision name: "slab"
450 /world/asleep/set_pose name: "ground" position {z: -0.1}
500 /world/asleep/level/set_performer data: "cart_2" size {x: 1 y: 1 z: 1}
510 /world/asleep/level/set_performer data: "slab" size {x: 2 y: 1 z: 0}
246 /world/asleep/light_config name: "sun" intensity: 0.3
247 /world/asleep/light_config name: "lamp" type: SPOT pose {position {z: 5}}
515 /world/asleep/light_config name: "torch"
520 /world/asleep/remove name: "sun" type: LIGHT
530 /world/asleep/set_pose id: 14 position {x: 2 y: 3 z: 2}
531 /world/asleep/create sdf: "$beacon"
532 /world/asleep/light_config name: "beacon::l::b" intensity: 0.25
533 /world/asleep/light_config name: "c" pose {position {z: 2}}
730 /world/asleep/reset_model name: "beacon"
731 /world/asleep/light_config name: "c" range: 3
550 /world/asleep/set_physics max_step_size: 0.0005 gravity {z: -20}
600 /model/late/cmd_vel linear: {x: 0.5}
655 /world/asleep/wrench/clear name: "restless"
660 /world/asleep/enable_collision name: "crate_0_1_2"
700 /world/asleep/reset_model name: "cart_2"
720 /world/asleep/reset_model name: "late"
735 /world/asleep/remove name: "lamp" type: LIGHT
740 /world/asleep/reset_model name: "slab"
750 /world/asleep/reset_model name: "b"
900 /world/asleep/control reset {all: true}
EOF2
goes_on asleep "$scratch/edits" 1200 100 200 300 650 1000
goes_on warehouse "$here/warehouse.commands" "$(amount 2000 1200 2000)" 50 1000
goes_on patrol - 1500 700
goes_on shapes - 600 300
[ -n "$quick" ] || goes_on hill - "$(amount 0 2800 4000)" 1500 2500
[ -n "$quick" ] || goes_on heap - "$(amount 0 1000 1500)" 800
[ -n "$quick" ] || goes_on mechanisms - "$(amount 0 1500 3000)" 1200

# Several worlds with different steps: one is paused, one is in the middle of a multi_step, one has a stray; a performer
# is removed; a state is saved at step 0, too.
cat >"$here/several.sdf" <<-EOF2
<sdf version='1.9'>
$(for world in one two three; do
	echo "<world name='$world'><plugin name='gz::sim' filename='x'>"
	for name in mover leaver; do
		echo "<performer name='p_$name'><ref>$name</ref><geometry><box><size>0.5 0.5 0.5</size></box></geometry></performer>"
	done
	echo "<level name='home'><geometry><box><size>4 4 9</size></box></geometry><ref>load</ref></level>
	<level name='away'><pose>0 9 0 0 0 0</pose><geometry><box><size>2 2 9</size></box></geometry><ref>far</ref></level></plugin>
	<model name='ground'><static>true</static><pose>0 0 -0.5 0 0 0</pose><link name='l'><collision name='c'><geometry><box>
	<size>60 60 1</size></box></geometry></collision></link></model>"
	for model in mover:0:0 load:1.2:0 leaver:0:9 far:0.8:9; do
		x=${model#*:}
		echo "<model name='${model%%:*}'><pose>${x%:*} ${model##*:} 0.25 0 0 0</pose><link name='l'><inertial><mass>2</mass>
		<inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial><collision name='c'><geometry><box>
		<size>0.5 0.5 0.5</size></box></geometry></collision></link>
		<plugin name='gz::sim::systems::VelocityControl' filename='x'/></model>"
	done
	echo '</world>'
done)</sdf>
EOF2
cat >"$scratch/several" <<-EOF2
0 /model/mover/cmd_vel linear: {x: 2}
20 /world/one/set_physics max_step_size: 0.002 gravity {z: -5}
40 /world/two/control pause: true
60 /world/three/control pause: true multi_step: 900
100 /world/one/remove name: "leaver"
1100 /world/two/control run_to_sim_time {nsec: 300000000}
1300 /world/three/control pause: false
EOF2
goes_on several "$scratch/several" 1600 0 50 100 150 700 1050 1200

# A command for a model's topic counts in each world in which the topic has a listener at the command's step, whichever
# world can create models and whenever the command was given; a command without a listener is refused once.
echo "<sdf version='1.9'>$(for world in one two three; do
	echo "<world name='$world'><gravity>0 0 0</gravity></world>"
done)</sdf>" >"$here/empty.sdf"
cart="sdf: \"<sdf version='1.9'><model name='cart'><link name='l'/><plugin name='gz::sim::systems::VelocityControl' filename='x'/></model></sdf>\""
cat >"$scratch/heard" <<-EOF2
	30 /world/one/create sdf: "<sdf version='1.9'><model name='box'><link name='l'/></model></sdf>"
	60 /world/two/create $cart
	110 /model/cart/cmd_vel linear: {x: 1}
	160 /world/three/create $cart
	210 /model/cart/cmd_vel linear: {y: 1}
EOF2
goes_on empty "$scratch/heard" 300 50 100 150 200
# cart_in: prints "x y" of the cart in each world, from $scratch/out.report
cart_in() { sed -n 's/.*"name": "cart", "pose": \[\([^,]*\), \([^,]*\),.*/\1 \2/p' "$scratch/out.report"; }
run "$scratch/out" "$here/empty.sdf" "$scratch/heard" 300 --report "$scratch/out.report"
cart_in | awk '{ good += $2 > 0.08 && ($1 > 0.09) == (NR == 1) } END { exit !(NR == 2 && good == 2) }'
report $? "each world's cart takes the commands during its existence: $(cart_in | tr '\n' ';')"
cat >"$scratch/unheard" <<-EOF2
	0 /world/one/create sdf: "<sdf version='1.9'><model name='box'><link name='l'/></model></sdf>"
	0 /world/two/create $cart
	2 /world/two/remove name: "cart"
	10 /model/cart/cmd_vel linear: {x: 1}
EOF2
sed -n 4p "$scratch/unheard" >"$scratch/unheard.after"
sed 4d "$scratch/unheard" >"$scratch/unheard.before"
run "$scratch/out" "$here/empty.sdf" "$scratch/unheard.before" 5 --save-at 5 "$scratch/saved"
cp "$scratch/saved" "$scratch/saved.late"
refused() { grep -c 'reply 10 /model/cart/cmd_vel failed this topic has no listener' "$1" | tr '\n' ' ' && grep refused_commands "$2" | tr -d ' \n'; }
"$troupe" run "$here/empty.sdf" --commands "$scratch/unheard" --rtf 0 -v 0 --iterations 20 --trace --save-at 5 "$scratch/saved" \
	--report "$scratch/whole" >"$scratch/out" 2>&1
[ $? = 1 ] && [ "$(refused "$scratch/out" "$scratch/whole")" = '1 "refused_commands":0,"refused_commands":0,"refused_commands":1,' ]
report $? "a command without a listener is refused once: $(refused "$scratch/out" "$scratch/whole")"
for commands in /dev/null "$scratch/unheard.after"; do # with the commands of the saved state, and with commands given after the resume
	"$troupe" run --resume "$scratch/saved" --commands "$commands" --rtf 0 -v 0 --iterations 20 --trace --report "$scratch/rest" \
		>"$scratch/other" 2>&1
	[ "$(refused "$scratch/out" "$scratch/whole")" = "$(refused "$scratch/other" "$scratch/rest")" ]
	report $? "and so in a run that goes on: $(refused "$scratch/other" "$scratch/rest")"
	cp "$scratch/saved.late" "$scratch/saved"
done

# A model that is refused when its world runs already is removed once; the world can be saved.
cat >"$scratch/bad" <<-'EOF2'
5 /world/three/create name: "bad" sdf: "<sdf version='1.9'><model name='m'><link name='a'/><link name='b'/><joint name='j' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint><joint name='k' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint><plugin name='gz::sim::systems::DiffDrive' filename='x'><left_joint>j</left_joint><right_joint>j</right_joint></plugin></model></sdf>"
EOF2
"$troupe" run "$here/several.sdf" --commands "$scratch/bad" --rtf 0 -v 0 --iterations 20 --save-at 10 "$scratch/after" \
	>"$scratch/out" 2>"$scratch/err"
[ $? = 1 ] && grep -q 'expected two joints' "$scratch/err" && [ -s "$scratch/after" ]
report $? "a plug-in that is refused at run time: $(head -n 1 "$scratch/err")"
"$troupe" run --resume "$scratch/after" --rtf 0 -v 0 --iterations 20
report $? 'and its world goes on'

# --save-every, with numbered files and with one file
run "$scratch/out" "$here/meeting.sdf" "$here/meeting.commands" 350 --save-every 100 "$scratch/n.%s" \
	--save-every 150 "$scratch/newest" --secondaries 2 --hash-every 50
[ -s "$scratch/n.100" ] && [ -s "$scratch/n.200" ] && [ -s "$scratch/n.300" ] && [ ! -e "$scratch/n.400" ]
report $? 'saved every 100 steps'
cmp -s "$scratch/n.300" "$scratch/newest"
report $? 'the newest is that of step 300'
# A resumed run saves the same file again.
"$troupe" run --resume "$scratch/n.100" --rtf 0 -v 0 --iterations 200 --save-at 200 "$scratch/again" --secondaries 3
cmp -s "$scratch/n.200" "$scratch/again"
report $? 'a resumed run saves the same file'

# A run is resumed, gets commands that name files of their own, and is saved again: the second state has the files of
# the first one, for models that exist and for one that comes later, and the new files, also those found in the
# environment's folders.
cat >"$scratch/first" <<-EOF2
50 /world/asleep/create sdf_filename: "models/cart" name: "old" pose {position {x: -2 y: 12}}
400 /world/asleep/create sdf_filename: "models/cart" name: "old_to_come" pose {position {x: -2 y: -12}}
EOF2
cat >"$scratch/second" <<-EOF2
160 /world/asleep/create sdf_filename: "ball.sdf" name: "new" pose {position {x: 2 y: 12 z: 2}}
350 /world/asleep/create sdf_filename: "ball.sdf" name: "new_to_come" pose {position {x: 3 y: 12 z: 2}}
360 /world/asleep/create sdf_filename: "model://found" name: "found_to_come" pose {position {x: 4 y: 12 z: 2}}
EOF2
run "$scratch/out" "$here/asleep.sdf" "$scratch/first" 100 --save-at 100 "$scratch/state.1"
mkdir -p "$scratch/late/found"
ball='<model name="ball"><link name="l"><collision name="c"><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link></model>'
echo "<sdf version='1.9'>$ball</sdf>" | tee "$here/ball.sdf" >"$scratch/late/found/model.sdf"
echo "<model><name>found</name><sdf version='1.9'>model.sdf</sdf></model>" >"$scratch/late/found/model.config"
GZ_SIM_RESOURCE_PATH=$scratch/late "$troupe" run --resume "$scratch/state.1" --commands "$scratch/second" --rtf 0 -v 0 \
	--iterations 500 --hash-every 50 --save-at 200 "$scratch/state.2" >"$scratch/whole" 2>"$scratch/err"
report $? "commands after a resume: $(head -n 1 "$scratch/err")"
sed -n '/^hash 200 /,$p' "$scratch/whole" | sed 1d >"$scratch/rest"
mv "$here" "$here.hidden"
mv "$scratch/late" "$scratch/late.hidden"
for options in 0 2; do
	"$troupe" run --resume "$scratch/state.2" --rtf 0 -v 0 --iterations 500 --hash-every 50 --secondaries $options \
		--save-at 300 "$scratch/state.3" >"$scratch/resumed" 2>"$scratch/err"
	report $? "from the second state with $options: $(head -n 1 "$scratch/err")"
	cmp -s "$scratch/rest" "$scratch/resumed"
	report $? "from the second state with $options: $(diff "$scratch/rest" "$scratch/resumed" | sed -n 2p)"
done
# resumed a third time, with only the state
sed -n '/^hash 300 /,$p' "$scratch/whole" | sed 1d >"$scratch/rest"
"$troupe" run --resume "$scratch/state.3" --rtf 0 -v 0 --iterations 500 --hash-every 50 >"$scratch/resumed" 2>"$scratch/err"
cmp -s "$scratch/rest" "$scratch/resumed" && [ -s "$scratch/rest" ]
report $? "from the third state: $(head -n 1 "$scratch/err") $(diff "$scratch/rest" "$scratch/resumed" | sed -n 2p)"
mv "$here.hidden" "$here"

# Each of several worlds has the files of the models that are created in it later.
cat >"$scratch/three" <<-EOF2
	50 /world/one/create sdf_filename: "ball.sdf" name: "new" pose {position {z: 2}}
	60 /world/three/create sdf_filename: "models/cart" name: "new" pose {position {x: 9 z: 2}}
	70 /world/two/create_multiple data {sdf_filename: "models/cart" name: "new" pose {position {x: 9 z: 2}}}
EOF2
run "$scratch/whole" "$here/several.sdf" "$scratch/three" 100 --hash-every 50 --save-at 20 "$scratch/files" --trace
[ "$(grep -c '^reply .* ok' "$scratch/whole")" = 3 ]
report $? "three are created: $(grep '^reply' "$scratch/whole" | tr '\n' ';')"
mv "$here" "$here.hidden"
"$troupe" run --resume "$scratch/files" --rtf 0 -v 0 --iterations 100 --hash-every 50 --trace >"$scratch/resumed" 2>"$scratch/err"
mv "$here.hidden" "$here"
[ "$(grep -c '^reply .* ok' "$scratch/resumed")" = 3 ]
report $? "and without their files: $(grep '^reply' "$scratch/resumed" | tr '\n' ';')"

# Files that were found in resource paths, given by option and by the environment, are found again.
mkdir -p "$scratch/given" "$scratch/environment"
cp -r "$here/models" "$scratch/given"
cp -r "$here/models" "$scratch/environment/others"
sed 's|models/cart</uri>|models/cart</uri><pose>0 5 0 0 0 0</pose>|; s|<uri>models/cart|<uri>model://cart|' \
	"$here/meeting.sdf" >"$scratch/elsewhere.sdf"
GZ_SIM_RESOURCE_PATH=$scratch/no:$scratch/environment/others "$troupe" run "$scratch/elsewhere.sdf" --rtf 0 -v 0 \
	--iterations 200 --hash-every 200 --save-at 100 "$scratch/found" --resource-path "$scratch/given" >"$scratch/whole"
report $? 'runs with files from elsewhere'
rm -r "$scratch/given" "$scratch/environment"
"$troupe" run --resume "$scratch/found" --rtf 0 -v 0 --iterations 200 --hash-every 200 >"$scratch/resumed"
cmp -s "$scratch/whole" "$scratch/resumed"
report $? 'goes on without them'

# refused FILE REASON OPTION...: the state is refused for this reason
refused()
{
	file=$1 reason=$2
	shift 2
	timeout 60 "$troupe" run --resume "$file" --rtf 0 --iterations 400 "$@" >"$scratch/out" 2>"$scratch/err"
	[ $? = "${status:-1}" ] && grep -qF -e "$reason" "$scratch/err" && [ "$(wc -l <"$scratch/err")" = 1 ]
	report $? "$reason: $(head -n 2 "$scratch/err")"
}
state=$scratch/n.100
size=$(wc -c <"$state")
for cut in 0 10 31 32 100 $((size / 2)) $((size - 1)); do
	head -c "$cut" "$state" >"$scratch/cut"
	if [ "$cut" -lt 32 ]; then
		refused "$scratch/cut" "cut: not a state saved by troupe"
	else
		refused "$scratch/cut" 'cut: damaged: its checksum does not fit'
	fi
done
{ head -c 500 "$state"; printf 'X'; tail -c +502 "$state"; } >"$scratch/flip"
refused "$scratch/flip" 'flip: damaged: its checksum does not fit'
{ head -c 16 "$state"; printf '\177'; tail -c +18 "$state"; } >"$scratch/newer"
version=$(sed -n 's/^enum { VERSION = \([0-9]*\) };$/\1/p' "$SOURCE_DIR/src/server/save.c")
refused "$scratch/newer" "newer: version 127: expected $version;"
refused "$here/meeting.sdf" 'meeting.sdf: not a state saved by troupe'
refused "$scratch/nothing" 'nothing: cannot open'
"$troupe" run "$here/meeting.sdf" --iterations 2 --record "$scratch/recorded" -v 0
refused "$scratch/recorded" 'recorded: not a state saved by troupe: it is a recording, which troupe replay takes'
status=2 refused "$state" '--resume and a WORLD.sdf: expected only one of them' "$here/meeting.sdf"

# A folder that cannot be written to is found before the run.
"$troupe" run "$here/meeting.sdf" --iterations 10 --save-at 5 "$scratch/no/such" >"$scratch/out" 2>"$scratch/err"
[ $? = 1 ] && grep -q 'cannot write' "$scratch/err"
report $? "nowhere to save: $(cat "$scratch/err")"
for word in x -1 1.5 ''; do
	"$troupe" run "$here/meeting.sdf" --iterations 10 --save-at "$word" "$scratch/s" >"$scratch/out" 2>"$scratch/err"
	case $? in 1 | 2) ok=0 ;; *) ok=1 ;; esac
	report $ok "--save-at '$word': $(cat "$scratch/err")"
done
# The state before a step in which a model diverges is saved with the number of this step, and without any effect of it.
named falls >"$scratch/wild.sdf"
for options in '0' '2'; do
	"$troupe" run "$scratch/wild.sdf" --rtf 0 -v 0 --secondaries $options --hash-every 1 --save-on-stop "$scratch/wild.%s" \
		>"$scratch/out" 2>"$scratch/err"
	[ $? = 4 ] && [ "$(tail -n 1 "$scratch/out" | cut -d ' ' -f 2)" = 100 ] && [ -f "$scratch/wild.100" ]
	report $? "--secondaries $options: the state before the divergence is saved, and no hash of the step told"
	"$troupe" run "$scratch/wild.sdf" --rtf 0 -v 0 --secondaries 1 --save-at 100 "$scratch/tame" >"$scratch/out" 2>&1
	cmp -s "$scratch/tame" "$scratch/wild.100"
	report $? "--secondaries $options: it is the one that --save-at saves"
	rm -f "$scratch/wild.100"
done

# One of several worlds diverges: the others have not taken this step either, and go on from the same step.
cat >"$scratch/beside.sdf" <<-END
<sdf version="1.9"><world name="calm"><model name="m"><link name="l"/></model></world>
<world name="w"><gravity>0 0 -1000000</gravity><model name="m"><link name="l"/></model></world></sdf>
END
for options in '0' '1'; do
	"$troupe" run "$scratch/beside.sdf" --rtf 0 -v 0 --secondaries $options --report "$scratch/report" \
		--save-on-stop "$scratch/wild.%s" >"$scratch/out" 2>"$scratch/err"
	[ $? = 4 ] && [ "$(sed -n 's/^  "sim_time": \(.*\),/\1/p' "$scratch/report" | uniq)" = 0.1 ]
	report $? "--secondaries $options: all worlds end at the step before the divergence"
	"$troupe" run "$scratch/beside.sdf" --rtf 0 -v 0 --iterations 100 --save-at 100 "$scratch/tame" >"$scratch/out" 2>&1
	cmp -s "$scratch/tame" "$scratch/wild.100"
	report $? "--secondaries $options: all worlds are saved before the divergence"
	rm -f "$scratch/wild.100"
done

# The report after a resume equals that of an undisturbed run: also which models are asleep in a paused world. A model
# that is created or placed while the world is paused is not asleep.
cat >"$scratch/paused" <<-END
2500 /world/asleep/control pause: true
2520 /world/asleep/set_pose name: "crate_1_0_1" position {z: 5}
2520 /world/asleep/create name: "late" pose {position {x: 30 z: 1}} sdf: "<sdf version='1.9'><model name='m'><link name='l'/></model></sdf>"
END
# models REPORT: prints the report's list of models
models() { sed -n '/^  "models": /,/^  \]/p' "$1"; }
sed '/cmd_vel/d' "$worlds/asleep.commands" >>"$scratch/paused"
run "$scratch/out" "$worlds/asleep.sdf" "$scratch/paused" 2530 --save-at 2510 "$scratch/saved" --report "$scratch/whole"
report $? 'runs until it is paused'
[ "$(models "$scratch/whole" | grep -c '"asleep": true')" -gt 5 ] &&
	models "$scratch/whole" | grep '"name": "late"' | grep -q '"asleep": false' &&
	models "$scratch/whole" | grep '"name": "crate_1_0_1"' | grep -q '"asleep": false'
report $? "models asleep in a paused world: $(models "$scratch/whole" | grep -c '"asleep": true')"
"$troupe" run --resume "$scratch/saved" --rtf 0 -v 0 --iterations 2530 --report "$scratch/resumed" >"$scratch/out" 2>&1
models "$scratch/whole" >"$scratch/a"
models "$scratch/resumed" >"$scratch/b"
cmp -s "$scratch/a" "$scratch/b"
report $? "models asleep after a resume: $(diff "$scratch/a" "$scratch/b" | sed -n 2p)"
# a run may go on with ODE, or without sleep, from a saved state
"$troupe" run "$worlds/asleep.sdf" --rtf 0 --secondaries 0 --iterations 600 --save-at 600 "$scratch/stacks" -v 0 >"$scratch/out" 2>&1
report $? "stacks are saved: $(cat "$scratch/out")"
for option in '' '--solver ode' --no-sleep; do
	for secondaries in 0 3; do
		# shellcheck disable=SC2086
		"$troupe" run --resume "$scratch/stacks" --rtf 0 --iterations 1600 --hash-every 50 -v 0 $option \
			--secondaries $secondaries >"$scratch/with.$secondaries" 2>"$scratch/err"
		report $? "resumed with '$option': $(cat "$scratch/err")"
	done
	cmp -s "$scratch/with.0" "$scratch/with.3"
	report $? "resumed with '$option': the same with three secondaries"
	[ -z "$option" ] && cp "$scratch/with.0" "$scratch/as_before" && continue
	! cmp -s "$scratch/with.0" "$scratch/as_before"
	report $? "resumed with '$option': the option acts"
done
totals
