#!/bin/sh
# Levels in whole runs of small worlds: law 4 (models that may touch are together, floors exist where bodies are),
# levels that share performers, pins, and models that outlive their level.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

# box NAME X Y Z SIZE STATIC [PLUGIN]
box()
{
	cat <<-EOF
	<model name='$1'><static>$6</static><pose>$2 $3 $4 0 0 0</pose><link name='l'><inertial><mass>2</mass><inertia>
	<ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial><collision name='c'><geometry><box><size>$5</size>
	</box></geometry></collision></link>${7:-}</model>
	EOF
}

driven="<plugin name='gz::sim::systems::VelocityControl' filename='x'/>"

# performer NAME [EXTRA [SIZE]]
performer()
{
	echo "<performer name='p_$1'><ref>$1</ref><geometry><box><size>${3:-1 1 1}</size></box></geometry>${2:-}</performer>"
}

# level NAME X Y SIZE BUFFER EXTRA REF...
level()
{
	printf "<level name='%s'><pose>%s %s 0 0 0 0</pose><geometry><box><size>%s</size></box></geometry>" "$1" "$2" "$3" "$4"
	printf "<buffer>%s</buffer>%s" "$5" "$6"
	shift 6
	for ref in "$@"; do printf "<ref>%s</ref>" "$ref"; done
	echo '</level>'
}

# world: models on descriptor 0; the plugin's content in $plugin
world()
{
	echo "<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.001</max_step_size>"
	echo "<real_time_factor>0</real_time_factor></physics>"
	cat
	echo "<plugin name='gz::sim' filename='x'>$plugin</plugin></world></sdf>"
}

# height REPORT MODEL, in whole centimetres
height() { sed -n "s/.*\"name\": \"$2\", \"pose\": \[[^,]*, [^,]*, \([^,]*\),.*/\1/p" "$1" | awk '{printf "%d", $1 * 100 + 0.5}'; }

holds()
{
	# holds WHAT GREP-ARGUMENTS...
	what=$1
	shift
	grep -q "$@"
	report $? "$what"
}

# --- a floor of a level on another runner ---
# `guest` is in level west. It stands with one edge on the floor of west and with the other on the floor of level east,
# which another secondary has; without either floor it would tip over.
plugin="$(performer host) $(performer guest) $(level west -5 0 '9.6 20 20' 0 '' floor_west) $(level east 5 0 '9.8 20 20' 0 '' floor_east)"
{
	box floor_west -5.7 0 -0.5 '10 20 1' true
	box floor_east 5 0 -0.5 '10 20 1' true
	box host 6 5 0.3 '0.6 0.6 0.6' false
	box guest -0.45 -5 0.5 '0.98 0.98 0.98' false
	box drop 8 -5 1 '0.5 0.5 0.5' false
} | world >"$scratch/floors.sdf"
run "$scratch/trace" "$scratch/floors.sdf" - 2000 --secondaries 2 --trace --report "$scratch/report"
report $? 'floors: runs'
holds 'floors: west and east are on different secondaries' -x 'load 0 east 2' "$scratch/trace"
[ "$(height "$scratch/report" guest)" = 49 ]
report $? "floors: the guest at the border stands: $(height "$scratch/report" guest) cm"
[ "$(height "$scratch/report" drop)" = 25 ]
report $? "floors: a model that no performer declares lands on a level's floor: $(height "$scratch/report" drop) cm"

# --- performers of different levels meet at the border ---
# The performers' volumes are smaller than the models, so that the models touch while each performer is in its own level
# only.
plugin="$(performer left '' '0.1 0.1 0.1') $(performer right '' '0.1 0.1 0.1')
	$(level west -5 0 '9.98 20 20' 0 '' a) $(level east 5 0 '9.98 20 20' 0 '' b)"
{
	box ground 0 0 -0.5 '30 20 1' true
	box a -9 9 0.5 '1 1 1' true
	box b 9 9 0.5 '1 1 1' true
	box left -1 0 0.3 '0.6 0.6 0.6' false "$driven"
	box right 1 0 0.3 '0.6 0.6 0.6' false "$driven"
} | world >"$scratch/border.sdf"
cat >"$scratch/border.commands" <<EOF
0 /model/left/cmd_vel linear: {x: 0.5}
0 /model/right/cmd_vel linear: {x: -0.5}
EOF
run "$scratch/trace" "$scratch/border.sdf" "$scratch/border.commands" 2000 --secondaries 2 --trace --report "$scratch/report"
report $? 'border: runs'
holds 'border: contact brings them together' '^move [0-9]* \(left\|right\) ' "$scratch/trace"
[ "$(member "$scratch/report" meetings)" -ge 1 ]
report $? 'border: models of different secondaries met'
run "$scratch/one" "$scratch/border.sdf" "$scratch/border.commands" 2000 --secondaries 0 --report "$scratch/report0"
[ "$(member "$scratch/report" state_hash)" = "$(member "$scratch/report0" state_hash)" ]
report $? 'border: the same as with one runner'
x_left=$(sed -n 's/.*"left", "pose": \[\([^,]*\),.*/\1/p' "$scratch/report")
x_right=$(sed -n 's/.*"right", "pose": \[\([^,]*\),.*/\1/p' "$scratch/report")
awk "BEGIN { exit !($x_right - $x_left > 0.55) }"
report $? "border: they did not pass through each other: $x_left, $x_right"
awk "BEGIN { exit !($x_left < -0.1 && $x_right > 0.1) }"
report $? "border: each has stayed in its level: $x_left, $x_right"

# --- a level's box is pushed over the border, and outlives the level while it must ---
plugin="$(performer pusher) $(level home 0 0 '6 6 20' 0 '' load) $(level next 8 0 '8 6 20' 0 '' marker)"
{
	box ground 0 0 -0.5 '60 20 1' true
	box marker 11 2.5 0.2 '0.4 0.4 0.4' true
	box load 1 0 0.25 '0.5 0.5 0.5' false
	box pusher -1 0 0.3 '0.6 0.6 0.6' false "$driven"
} | world >"$scratch/outlive.sdf"
cat >"$scratch/outlive.commands" <<EOF
0 /model/pusher/cmd_vel linear: {x: 2}
4000 /model/pusher/cmd_vel linear: {y: 3}
8000 /model/pusher/cmd_vel linear: {x: 0}
EOF
run "$scratch/trace" "$scratch/outlive.sdf" "$scratch/outlive.commands" 8500 --secondaries 2 --trace --report "$scratch/report"
report $? 'outlive: runs'
holds 'outlive: home is unloaded on the way' '^unload [0-9]* home ' "$scratch/trace"
x_load=$(sed -n 's/.*"load", "pose": \[\([^,]*\),.*/\1/p' "$scratch/report")
awk "BEGIN { exit !($x_load > 6) }"
report $? "outlive: the box was pushed on after its level was gone: $x_load m"

# --- a model appears beside another one: both are on one secondary at once ---
# `near` appears with its level, and touches `waits`, which has existed all the time.
plugin="$(performer comes) $(level l 5 0 '3 3 3' 1 '' near)"
{
	box ground 0 0 -0.5 '60 20 1' true
	box comes 0 0 0.3 '0.6 0.6 0.6' false "$driven"
	box near 5 0 0.5 '1 1 1' false
	box waits 6.005 0 0.5 '1 1 1' false
} | world >"$scratch/late.sdf"
echo '0 /model/comes/cmd_vel linear: {x: 2}' >"$scratch/late.commands"
run "$scratch/trace" "$scratch/late.sdf" "$scratch/late.commands" 1500 --secondaries 1 --trace --report "$scratch/report"
report $? 'late: runs'
holds 'late: the level is loaded on the way' '^load [1-9][0-9]* l 1$' "$scratch/trace"
[ "$(member "$scratch/report" meetings)" = 0 ]
report $? "late: $(member "$scratch/report" meetings) meetings on one secondary"

# --- levels that overlap ---
# While `left` is in both levels, the levels and `right` are on one secondary; when it has left one of them, they part.
plugin="$(performer left) $(performer right) $(level west -2 0 '6 8 8' 0 '' a) $(level east 2 0 '6 8 8' 0 '' b)"
{
	box ground 0 0 -0.5 '60 20 1' true
	box a -4 3 0.5 '1 1 1' true
	box b 4 3 0.5 '1 1 1' true
	box left 0 0 0.3 '0.6 0.6 0.6' false "$driven"
	box right 4 0 0.3 '0.6 0.6 0.6' false
} | world >"$scratch/overlap.sdf"
echo '500 /model/left/cmd_vel linear: {x: -2}' >"$scratch/overlap.commands"
run "$scratch/trace" "$scratch/overlap.sdf" "$scratch/overlap.commands" 400 --secondaries 2 --trace
report $? 'overlap: runs'
[ "$(cat "$scratch/trace")" = 'load 0 west 1
load 0 east 1' ]
report $? 'overlap: both levels on one secondary while a performer is in both'
run "$scratch/trace" "$scratch/overlap.sdf" "$scratch/overlap.commands" 1500 --secondaries 2 --trace --hash-every 100
sed '/^hash/d' "$scratch/trace" >"$scratch/events"
[ "$(grep -c '^move ' "$scratch/events")" = 1 ] && grep -q '^load [1-9][0-9]* \(west\|east\) 2$' "$scratch/events"
report $? "overlap: one performer and its level move when they part: $(tail -n +3 "$scratch/events" | tr '\n' ';')"
run "$scratch/one" "$scratch/overlap.sdf" "$scratch/overlap.commands" 1500 --secondaries 0 --hash-every 100
grep '^hash' "$scratch/trace" | cmp -s - "$scratch/one"
report $? 'overlap: the same as with one runner'

# --- pins and numbers in the world ---
plugin="<secondaries>3</secondaries> $(performer one '<secondary>3</secondary>') $(performer two) $(level l 50 0 '10 10 10' 0 '<secondary>2</secondary>' far)"
{
	box ground 0 0 -0.5 '200 200 1' true
	box far 53 3 0.5 '1 1 1' true
	box one 0 0 0.5 '1 1 1' false
	box two 50 0 0.5 '1 1 1' false
} | world >"$scratch/pins.sdf"
run "$scratch/trace" "$scratch/pins.sdf" - 10 --trace --report "$scratch/report"
report $? 'pins: runs'
[ "$(grep -c '"secondary":' "$scratch/report")" = 3 ]
report $? "pins: the world asks for three secondaries"
holds 'pins: a pinned level' -x 'load 0 l 2' "$scratch/trace"
holds 'pins: a pinned performer' '"secondary": 3, "levels": \[\], "performers": \["one"\]' "$scratch/report"
run "$scratch/trace" "$scratch/pins.sdf" - 10 --secondaries 1 --report "$scratch/report"
[ "$(grep -c '"secondary":' "$scratch/report")" = 1 ]
report $? 'pins: the command line overrides the number'

# --- without levels everything exists ---
run "$scratch/trace" "$scratch/outlive.sdf" - 10 --no-levels --trace --secondaries 2
report $? 'no levels: runs'
! grep -q load "$scratch/trace"
report $? 'no levels: nothing is loaded or unloaded'
totals
