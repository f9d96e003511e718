#!/bin/sh
# A running world takes up a saved state: from there it has the bits of the run that was saved, whatever it did before,
# with any number of secondaries and any transport, in a replay, with the file of its commands, and when it is saved
# again. A state that does not fit is refused, and changes nothing.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

states=$scratch/states
mkdir "$states"
crowd=
for i in 1 2 3 4 5 6 7; do
	crowd="$crowd data {name: \"b$i\" sdf: \"$box\" pose {position {x: $i y: 14 z: 2}}}"
done

# hashes FILE FROM TO: the hashes of the steps after FROM up to TO, without the steps
hashes() { awk -v from="$2" -v to="$3" '$1 == "hash" && $2 > from && $2 <= to { print $3 }' "$1"; }

# follows NAME WORLD COMMANDS SAVE-AT MORE BEFORE RESUME-AT OPTION...: a run is saved at SAVE-AT and goes on for MORE
# steps. Another run of the world, with the commands BEFORE, takes the state up at RESUME-AT, and goes on as the first.
follows()
{
	name=$1 world=$2 given=$3 at=$4 more=$5 before=$6 from=$7
	shift 7
	until=$((from + 1 + more))
	run "$scratch/whole" "$world" "$given" $((at + more)) --hash-every 1 --secondaries 2 --save-at "$at" "$states/$name" "$@"
	report $? "$name: runs and saves"
	hashes "$scratch/whole" "$at" $((at + more)) >"$scratch/rest"
	[ "$(wc -l <"$scratch/rest")" = "$more" ]
	report $? "$name: $more hashes to compare"
	inner=$(sed -n "s/.*<world name=['\"]\([^'\"]*\).*/\1/p" "$world" | head -n 1)
	{ [ "$before" = - ] || awk -v until="$from" '$1 < until' "$before"; echo "$from /world/$inner/resume data: \"$name\""; } >"$scratch/commands"
	for options in 0 1 2 3 '2 --chaos 1' '2 --transport tcp --network-stale-ms 60000' '3 --transport tcp --network-stale-ms 60000 --chaos 2' '2 --distribution balanced'; do
		case $quick,$options in ?*,[013] | ?*,*tcp* | ?*,*balanced) continue ;; esac
		case $full,$options in ,[1] | ',2' | ',2 --distribution balanced' | ',2 --transport tcp --network-stale-ms 60000') continue ;; esac
		# shellcheck disable=SC2086
		run "$scratch/other" "$world" "$scratch/commands" "$until" --hash-every 1 --save-dir "$states" --secondaries $options "$@"
		hashes "$scratch/other" $((from + 1)) "$until" | cmp -s "$scratch/rest"
		report $? "$name, $options: from step $((from + 1 + $(hashes "$scratch/other" $((from + 1)) "$until" | cmp "$scratch/rest" - 2>/dev/null | sed 's/.*line //' | grep . || echo 0)))"
	done
}

# again NAME WORLD UNTIL OPTION...: the run of $scratch/commands is recorded, written as commands and saved around the
# step of the command
again()
{
	name=$1 world=$2 until=$3
	shift 3
	run "$scratch/whole" "$world" "$scratch/commands" "$until" --hash-every "$until" --save-dir "$states" --secondaries 2 \
		--record "$scratch/record" --record-every 1 --commands-out "$scratch/out.commands" "$@" \
		--save-at "$from" "$scratch/s.0" --save-at $((from + 1)) "$scratch/s.1" --save-at $((from + 2)) "$scratch/s.2"
	report $? "$name: is recorded"
	for i in 0 1 2; do
		"$troupe" run --resume "$scratch/s.$i" --rtf 0 -v 0 --iterations "$until" --hash-every "$until" --save-dir "$states" \
			--secondaries $i >"$scratch/other" 2>"$scratch/err"
		cmp -s "$scratch/whole" "$scratch/other"
		report $? "$name: saved $i steps after the command, and resumed: $(head -n 1 "$scratch/err")"
	done
	run "$scratch/other" "$world" "$scratch/out.commands" "$until" --hash-every "$until" --save-dir "$states" --secondaries 3 "$@"
	cmp -s "$scratch/whole" "$scratch/other"
	report $? "$name: the commands give the same run"
	mv "$states" "$states.hidden" # a recording needs no saved state
	for options in 0 '3 --transport tcp --network-stale-ms 60000'; do
		case $quick,$options in ?*,*tcp) continue ;; esac
		# shellcheck disable=SC2086
		"$troupe" replay "$scratch/record" --secondaries $options >"$scratch/other" 2>&1
		report $? "$name: replay with $options: $(tail -n 1 "$scratch/other")"
	done
	mv "$states.hidden" "$states"
}

cat >"$scratch/saved" <<-EOF2
100 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: 12}}
101 /model/late/cmd_vel linear: {x: 0.9}
120 /world/asleep/remove name: "crate_1_0_1"
130 /world/asleep/disable_collision name: "crate_0_1_1"
140 /world/asleep/create name: "slab" pose {position {x: 2 y: 12 z: 0.5}} sdf: "$slab"
150 /world/asleep/wrench/persistent entity {name: "late"} wrench {force {y: 3} force_offset {x: 0.3}}
160 /world/asleep/create_multiple $crowd
170 /world/asleep/remove name: "b3"
175 /world/asleep/remove name: "b5"
180 /world/asleep/level/set_performer data: "cart_2" size {x: 1 y: 1 z: 1}
185 /world/asleep/light_config name: "lamp" type: SPOT pose {position {z: 5}}
186 /world/asleep/light_config name: "sun" intensity: 0.25
190 /world/asleep/set_physics max_step_size: 0.0005 gravity {z: -20}
195 /world/asleep/set_pose name: "ground" position {z: -0.1}
200 /world/asleep/set_velocity name: "b1" linear {x: 1}
201 /world/asleep/create name: "next" pose {position {x: 9 y: 12 z: 1}} sdf: "$box"
205 /world/asleep/remove name: "late"
206 /world/asleep/create name: "next" allow_renaming: true pose {position {x: 9 y: 12 z: 3}} sdf: "$slab"
220 /world/asleep/enable_collision name: "crate_0_1_1"
260 /world/asleep/reset_model name: "slab"
300 /world/asleep/remove name: "lamp" type: LIGHT
350 /world/asleep/control reset {all: true}
EOF2
cat >"$scratch/before" <<-EOF2
20 /world/asleep/create name: "slab" pose {position {x: 2 y: 0 z: 4}} sdf: "$box"
21 /world/asleep/create name: "plate" pose {position {x: 5 y: 0 z: 4}} sdf: "$slab"
21 /world/asleep/create_multiple $crowd
22 /world/asleep/create_multiple data {name: "c1" sdf: "$slab"} data {name: "c2" sdf: "$slab" pose {position {z: 9}}} data {name: "c3" sdf: "$box" pose {position {z: 20}}}
25 /world/asleep/remove name: "cart_1"
26 /world/asleep/remove name: "ground"
27 /world/asleep/remove name: "sun" type: LIGHT
28 /world/asleep/light_config name: "torch"
29 /world/asleep/light_config name: "lamp" type: POINT
30 /world/asleep/disable_collision name: "crate_0_1_2"
31 /world/asleep/wrench/persistent entity {name: "restless"} wrench {torque {z: 0.2}}
33 /world/asleep/level/set_performer data: "slab" size {x: 2 y: 1 z: 0}
34 /world/asleep/set_physics max_step_size: 0.002
40 /world/asleep/remove name: "c2"
59 /world/asleep/remove name: "c3"
59 /world/asleep/wrench entity {name: "b2" type: MODEL} wrench {force {z: 500}}
59 /world/asleep/set_pose name: "restless" position {x: 2 y: 4 z: 2}
EOF2
follows asleep "$worlds/asleep.sdf" "$scratch/saved" 200 "$(amount 60 120 400)" "$scratch/before" 60
again asleep "$worlds/asleep.sdf" "$(amount 120 200 400)"
# a later state, or an earlier one; the first step; the last step before the state
follows later "$worlds/asleep.sdf" "$scratch/before" 50 "$(amount 40 100 200)" "$scratch/saved" 230
follows first "$worlds/asleep.sdf" "$scratch/saved" 0 "$(amount 40 100 300)" - 0
again first "$worlds/asleep.sdf" 60
# levels come and go, performers are ghosts of others
follows patrol "$worlds/patrol.sdf" - 700 "$(amount 60 150 900)" - 150
again patrol "$worlds/patrol.sdf" 300
follows warehouse "$worlds/warehouse.sdf" "$worlds/warehouse.commands" 300 "$(amount 30 100 400)" - 100
if [ -z "$quick" ]; then
	follows heap "$worlds/heap.sdf" - 300 "$(amount 30 60 200)" - 20
	follows lidar "$worlds/lidar.sdf" "$worlds/lidar.commands" 200 "$(amount 30 100 400)" - 70 --sense-all
	follows mechanisms "$worlds/mechanisms.sdf" - 600 "$(amount 30 100 400)" - 150
fi

# readings go on as those of the run that was saved
if [ -z "$quick" ]; then
	run "$scratch/whole" "$worlds/lidar.sdf" - 400 --sense-all --secondaries 1 --save-at 150 "$states/seen" --report "$scratch/whole.json"
	echo '60 /world/lidar/resume data: "seen"' >"$scratch/commands"
	for options in 0 2 '2 --transport tcp --network-stale-ms 60000'; do
		# shellcheck disable=SC2086
		run "$scratch/other" "$worlds/lidar.sdf" "$scratch/commands" 311 --sense-all --save-dir "$states" --report "$scratch/other.json" \
			--secondaries $options
		[ "$(grep readings "$scratch/whole.json")" = "$(grep readings "$scratch/other.json")" ] && grep -q readings "$scratch/other.json"
		report $? "readings with $options: $(grep readings "$scratch/whole.json" "$scratch/other.json" | tr -d '\n')"
	done
fi

# Of the commands that wait, those of the state that was taken up go when the next state is taken up. Those that were
# given to the run stay, also when the run was saved and resumed in between.
echo "<sdf version='1.9'><world name='w'><model name='m'><pose>0 0 9 0 0 0</pose><link name='l'/></model></world></sdf>" >"$scratch/w.sdf"
echo '30 /world/w/set_velocity name: "m" linear {x: 1}' >"$scratch/saved"
run "$scratch/out" "$scratch/w.sdf" "$scratch/saved" 21 --save-at 20 "$states/one"
cat >"$scratch/commands" <<-EOF2
10 /world/w/resume data: "one"
16 /world/w/resume data: "one"
18 /world/w/set_velocity name: "m" linear {y: 2}
27 /world/w/set_velocity name: "m" linear {y: 3}
27 /world/w/set_velocity name: "m" linear {z: 1}
33 /world/w/resume data: "one"
EOF2
from=10
again commands "$scratch/w.sdf" 30
again commands "$scratch/w.sdf" 50
from=16
again commands "$scratch/w.sdf" 30
from=26 # in the same step, the command of the state comes before those that were given
again commands "$scratch/w.sdf" 50

# Several worlds: only the named one takes its state up. The others go on as if nothing had been.
{ echo '<sdf version="1.9">'; for world in one two; do
	echo "<world name='$world'><model name='m'><pose>0 0 9 0 0 0</pose><link name='l'/></model></world>"
done; echo '</sdf>'; } >"$scratch/two.sdf"
cat >"$scratch/commands" <<-EOF2
5 /world/one/set_velocity name: "m" linear {x: 1}
7 /world/one/create name: "n" sdf: "$box"
60 /world/one/resume data: "two"
EOF2
run "$scratch/out" "$scratch/two.sdf" - 100 --save-at 40 "$states/two" --report "$scratch/alone.json"
run "$scratch/out" "$scratch/two.sdf" "$scratch/commands" 100 --save-dir "$states" --secondaries 2 --report "$scratch/both.json"
report $? 'one of two worlds takes a state up'
worlds_hash() { sed -n '/"worlds"/,$s/^ *"state_hash": "\(.*\)",$/\1/p' "$1" | sed -n "$2p"; }
[ "$(worlds_hash "$scratch/alone.json" 2)" = "$(worlds_hash "$scratch/both.json" 2)" ] && [ -n "$(worlds_hash "$scratch/both.json" 2)" ]
report $? 'and the other one has its own bits'
run "$scratch/out" "$scratch/two.sdf" - 79 --report "$scratch/alone.json"
[ "$(worlds_hash "$scratch/alone.json" 1)" = "$(worlds_hash "$scratch/both.json" 1)" ]
report $? 'and the first one those of the saved run'

# Two states in one step; a state of a paused world; commands in the same step, before and after.
cat >"$scratch/commands" <<-EOF2
50 /world/asleep/create name: "gone" sdf: "$box"
50 /world/asleep/resume data: "later"
50 /world/asleep/create name: "gone_too" sdf: "$box"
50 /world/asleep/resume data: "asleep"
50 /world/asleep/create name: "kept" pose {position {z: 30}} sdf: "$box"
EOF2
run "$scratch/out" "$worlds/asleep.sdf" "$scratch/commands" 100 --save-dir "$states" --secondaries 2 --trace --report "$scratch/json"
report $? 'two states in one step'
grep -q '"name": "kept"' "$scratch/json" && ! grep -q '"name": "gone' "$scratch/json" &&
	[ "$(grep -c '^reply 51 /world/asleep/resume ok' "$scratch/out")" = 2 ]
report $? "the last one counts, and what comes after it"
from=50
again order "$worlds/asleep.sdf" 100

# Noise of systems is that of the simulated time, in a world that takes up a state and after a reset.
cat >"$scratch/noise.sdf" <<-'EOF2'
<sdf version="1.9"><world name="noise"><wind><linear_velocity>3 0 0</linear_velocity></wind>
<plugin name="gz::sim::systems::WindEffects" filename="x"><horizontal><magnitude>
<noise type="gaussian"><mean>0</mean><stddev>1</stddev></noise></magnitude></horizontal></plugin>
<model name="m"><enable_wind>true</enable_wind><pose>0 0 9 0 0 0</pose><link name="l"/>
<plugin name="gz::sim::systems::OdometryPublisher" filename="x"><odom_publish_frequency>0</odom_publish_frequency>
<gaussian_noise>1</gaussian_noise></plugin>
<plugin name="gz::sim::systems::TriggeredPublisher" filename="x"><input type="gz.msgs.Odometry" topic="/model/m/odometry">
<match field="twist.linear.y" tol="0.5">0.5</match></input>
<output type="gz.msgs.Twist" topic="/model/m/cmd_vel">linear: {z: 1}</output></plugin>
<plugin name="gz::sim::systems::VelocityControl" filename="x"/></model>
</world></sdf>
EOF2
follows noise "$scratch/noise.sdf" - 50 60 - 23
again noise "$scratch/noise.sdf" 80
echo '40 /world/noise/control reset {all: true}' >"$scratch/commands"
run "$scratch/other" "$scratch/noise.sdf" "$scratch/commands" 80 --hash-every 1
hashes "$scratch/other" 0 40 >"$scratch/one"
hashes "$scratch/other" 40 80 | cmp -s "$scratch/one"
report $? "noise after a reset: from step $(hashes "$scratch/other" 40 80 | cmp "$scratch/one" - 2>/dev/null | sed 's/.*line //')"

# A created model with sensors goes when a state is taken up, and another one may get its place.
sensors='<sensor name="imu" type="imu"><update_rate>100</update_rate></sensor><sensor name="lidar" type="lidar"><update_rate>50</update_rate><lidar><scan><horizontal><samples>9</samples><min_angle>-1</min_angle><max_angle>1</max_angle></horizontal></scan><range><min>0.1</min><max>9</max></range></lidar></sensor>'
seeing="<sdf version='1.9'><model name='n'><link name='l'><visual name='v'><geometry><mesh><uri>model://shapes/block.obj</uri></mesh></geometry></visual>$(echo "$sensors" | tr '"' "'")</link></model></sdf>"
cat >"$scratch/saved" <<-EOF2
7 /world/w/create name: "kept" pose {position {x: 3 z: 9}} sdf: "$seeing"
EOF2
run "$scratch/out" "$scratch/w.sdf" "$scratch/saved" 21 --save-at 3 "$states/none" --save-at 12 "$states/one" --sense-all
cat >"$scratch/commands" <<-EOF2
5 /world/w/create name: "gone" pose {position {x: -3 z: 9}} sdf: "$seeing"
5 /world/w/create name: "gone_too" pose {position {x: -6 z: 9}} sdf: "$seeing"
20 /world/w/resume data: "none"
31 /world/w/remove name: "kept"
32 /world/w/resume data: "one"
33 /world/w/create name: "new" pose {position {x: -3 z: 9}} sdf: "$seeing"
EOF2
from=20
again sensors "$scratch/w.sdf" 60 --sense-all
echo '20 /world/asleep/control pause: true' >"$scratch/pause"
run "$scratch/out" "$worlds/asleep.sdf" "$scratch/pause" 40 --save-at 30 "$states/paused"
echo '10 /world/asleep/resume data: "paused"' >"$scratch/commands"
run "$scratch/out" "$worlds/asleep.sdf" "$scratch/commands" 60 --save-dir "$states" --hash-every 10
[ "$(hashes "$scratch/out" 10 60 | uniq | wc -l)" = 1 ]
report $? 'a paused state is paused'

# The summary names a command line that repeats the run.
"$troupe" run "$worlds/asleep.sdf" --commands "$scratch/commands" --rtf 0 --iterations 60 --save-dir "$states" >"$scratch/out" 2>"$scratch/err"
line=$(sed -n '/^the same hash again/{n;s/^  //p;}' "$scratch/err")
[ "$(sh -c "$line" | sed 's/^hash 60 //')" = "$(sed -n 's/^state //p' "$scratch/err")" ]
report $? "the same again: $line"

# Refused, each with its reason; nothing has changed.
run "$scratch/fresh" "$worlds/asleep.sdf" - 30 --hash-every 30
head -c 1000 "$states/asleep" >"$states/cut"
echo hello >"$states/text"
{ head -c 16 "$states/asleep"; printf '\377'; tail -c +18 "$states/asleep"; } >"$states/version"
{ head -c 5000 "$states/asleep"; printf '\377\376\375'; tail -c +5004 "$states/asleep"; } >"$states/bits"
sed 's/restless/restfull/' "$worlds/asleep.sdf" >"$scratch/asleep.sdf"
cp -r "$worlds/models" "$scratch/"
run "$scratch/out" "$scratch/asleep.sdf" - 20 --save-at 10 "$states/other"
run "$scratch/out" "$worlds/asleep.sdf" - 20 --save-at 10 "$states/seed" --seed 7
run "$scratch/out" "$worlds/asleep.sdf" - 20 --save-at 10 "$states/awake" --no-sleep
echo "$box" >"$scratch/box.sdf"
echo "90 /world/asleep/create name: \"x\" sdf_filename: \"$scratch/box.sdf\"" >"$scratch/waits"
run "$scratch/out" "$worlds/asleep.sdf" "$scratch/waits" 20 --save-at 10 "$states/waits"
while IFS='|' read -r data reason; do
	echo "10 /world/asleep/resume data: \"$data\"" >"$scratch/commands"
	"$troupe" run "$worlds/asleep.sdf" --commands "$scratch/commands" --rtf 0 -v 0 --iterations 30 --save-dir "$states" \
		--hash-every 30 --record "$scratch/record" >"$scratch/out" 2>"$scratch/err"
	[ $? = 1 ] && [ "$(wc -l <"$scratch/err")" = 1 ] && grep -q "$reason" "$scratch/err" && cmp -s "$scratch/fresh" "$scratch/out" &&
		"$troupe" replay "$scratch/record" >"$scratch/out" 2>&1
	report $? "'$data' is refused: expected '$reason', found: $(head -n 3 "$scratch/err")"
done <<-EOF2
nothing|nothing: cannot
cut|cut: damaged: its checksum
text|text: not a state saved by troupe
version|version: version .*: expected
bits|bits: damaged: its checksum
other|a state of another world: .*asleep.sdf has changed since
seed|a state of a run with seed 7: expected 0
awake|expected the same --no-levels, --no-sleep and --solver
waits|for commands that waited
patrol|a state of the world in .*patrol.sdf: expected one of .*asleep.sdf
../x|expected the name of a file
a/b|expected the name of a file
|expected the name of a file
EOF2
echo '10 /world/asleep/resume data: "asleep"' >"$scratch/commands"
(cd "$worlds" && "$troupe" run asleep.sdf --commands "$scratch/commands" --rtf 0 -v 0 --iterations 30 --save-dir "$states") \
	>"$scratch/out" 2>"$scratch/err"
report $? "the folder of the world has another name: $(cat "$scratch/err")"
"$troupe" run "$worlds/asleep.sdf" --commands "$scratch/commands" --rtf 0 -v 0 --iterations 30 >"$scratch/out" 2>"$scratch/err"
[ $? != 0 ] && grep -q 'clients cannot resume states: expected a run with a folder for them (--save-dir)' "$scratch/err"
report $? "without --save-dir: $(cat "$scratch/err")"
echo '10 /world/asleep/resume data: "asleep" state: "x"' >"$scratch/commands"
"$troupe" run "$worlds/asleep.sdf" --commands "$scratch/commands" --rtf 0 -v 0 --iterations 30 --save-dir "$states" \
	>"$scratch/out" 2>"$scratch/err"
[ $? != 0 ] && grep -q 'expected only the name' "$scratch/err"
report $? "a state in the message: $(cat "$scratch/err")"
totals
