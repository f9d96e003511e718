#!/bin/sh
# Commands change the world during the run. Hashes and replies are the same for any number of secondaries and with
# forced moves. A reset restores the world of the file. A command that cannot be obeyed is answered with the reason,
# and changes nothing.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

world=$worlds/asleep.sdf
commands=$scratch/commands

cat >"$commands" <<-EOF2
# among sleeping models: a box falls on a wall, a crate is removed from under another, a slab comes under models at rest
1000 /world/asleep/create name: "falling" pose {position {x: 2 y: 0 z: 3}} sdf: "$box"
1100 /world/asleep/remove name: "crate_1_0_0" type: MODEL
1200 /world/asleep/create name: "slab" pose {position {x: 2 y: 12 z: 0.1}} sdf: "$slab"
1200 /world/asleep/create_multiple data {name: "a" sdf: "$box" pose {position {x: 2 y: 12 z: 1.5}}} data {sdf: "$box" name: "b" pose {position {x: 2 y: 11.5 z: 3}}}
1250 /world/asleep/disable_collision name: "slab"
1300 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: 12}}
1301 /model/late/cmd_vel linear: {x: 0.9}
1800 /world/asleep/create sdf_filename: "models/cart" name: "late" allow_renaming: true pose {position {x: -4 y: 12}}
1801 /model/late_0/cmd_vel linear: {x: 0.9}
1810 /world/asleep/create clone_name: "cart_2" name: "twin" pose {position {x: -7 y: 12}}
1811 /model/twin/cmd_vel linear: {x: 0.7}
1820 /world/asleep/create clone_name: "falling" allow_renaming: true pose {position {x: 2 y: 0.2 z: 5}}
1830 /world/asleep/create clone_name: "twin" name: "triplet" relative_to: "twin" pose {position {y: -3 z: 1}}
1831 /world/asleep/create clone_name: "triplet" name: "fourth" pose {position {x: -7 y: 20}}
1832 /world/asleep/remove name: "triplet"
1840 /world/asleep/create_multiple data {clone_name: "a" name: "c" pose {position {x: 2 y: 12 z: 4}}} data {clone_name: "crate_0_0_1" name: "d" pose {position {x: 2 y: 11 z: 5}}}
1850 /world/asleep/wrench/persistent entity {name: "late"} wrench {force {y: 3} force_offset {x: 0.3}}
1860 /world/asleep/wrench/persistent entity {name: "restless::link" type: LINK} wrench {torque {z: 0.2}}
1900 /world/asleep/disable_collision name: "crate_0_1_2"
2300 /world/asleep/enable_collision name: "crate_0_1_2" type: MODEL
2590 /world/asleep/enable_collision name: "slab::l"
2600 /world/asleep/set_pose name: "slab" position {x: 2 y: 12 z: 0.4} orientation {z: 1 w: 1}
2700 /world/asleep/set_pose_vector pose {name: "cart_2" position {x: 2 y: 0 z: 2}} pose {name: "restless" position {x: 2 y: 4 z: 2}}
2800 /world/asleep/level/set_performer data: "cart_2" size {x: 1 y: 1 z: 1}
2810 /world/asleep/level/set_performer data: "ground" size {x: 0 y: 0 z: 0}
1870 /world/asleep/light_config name: "sun" intensity: 0.3 diffuse {r: 1 g: 0.5}
1880 /world/asleep/light_config name: "lamp" type: SPOT pose {position {z: 5}}
1881 /world/asleep/create sdf: "<sdf version='1.9'><light name='torch' type='point'><pose>1 2 3 0 0 0</pose></light></sdf>"
1882 /world/asleep/create sdf: "<sdf version='1.9'><light name='torch' type='spot'/></sdf>" allow_renaming: true
1883 /world/asleep/create light {name: "moon" type: DIRECTIONAL diffuse {r: 1}} pose {position {z: 9}}
2820 /world/asleep/remove name: "sun" type: LIGHT
2821 /world/asleep/remove name: "torch_0" type: LIGHT
2830 /world/asleep/set_pose id: 13 position {x: 2 y: 3 z: 2}
2900 /world/asleep/level/set_performer data: "cart_2" remove: true
2910 /world/asleep/level/set_performer data: "ground" remove: true
2950 /world/asleep/reset_model name: "cart_2"
2950 /world/asleep/reset_model name: "a" type: MODEL
2955 /world/asleep/wrench/clear name: "late"
2960 /world/asleep/reset_model name: "slab"
2970 /world/asleep/set_pose name: "late_0" position {x: -4 y: 14 z: 1}
2980 /model/late_0/cmd_vel linear: {x: -0.9}
2980 /world/asleep/reset_model name: "late_0"
3000 /world/asleep/remove name: "slab"
3050 /world/asleep/disable_collision name: "ground"
3060 /world/asleep/enable_collision name: "ground"
3070 /world/asleep/disable_collision name: "cart_1"
3100 /world/asleep/set_physics max_step_size: 0.0005 gravity {z: -20}
3400 /world/asleep/set_physics max_step_size: 0.001 gravity {z: -9.8}
3500 /world/asleep/remove name: "late"
3500 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: -12}}
3600 /world/asleep/control reset {all: true}
EOF2
# refused, each with its reason
cat >"$scratch/bad" <<-EOF2
10 /world/asleep/create name: "cart_0" sdf: "$box"|a model 'cart_0' exists already: expected another name, or allow_renaming
10 /world/asleep/create name: "x"|none of sdf, sdf_filename and clone_name: expected one of them
10 /world/asleep/create sdf: "<sdf version='1.9'><light name='sun' type='point'/></sdf>"|a light 'sun' exists already: expected another name
10 /world/asleep/create light {name: "sun"}|a light 'sun' exists already: expected another name
10 /world/asleep/create light {name: "new" intensity: -1}|intensity -1: expected 0 to
10 /world/asleep/create name: "x" clone_name: "nobody"|the world has no model 'nobody'
10 /world/asleep/create name: "x" clone_name: ""|clone_name is empty: expected the name of a model
10 /world/asleep/create name: "cart_1" clone_name: "cart_0"|a model 'cart_1' exists already: expected another name, or allow_renaming
10 /world/asleep/create clone_name: "cart_0"|a model 'cart_0' exists already: expected another name, or allow_renaming
10 /world/asleep/create name: "a::b" clone_name: "cart_0"|expected one that is not empty
10 /world/asleep/create name: "x" sdf: "<sdf version='1.9'><model name='m'>"|(command):1:
10 /world/asleep/create name: "x" sdf: "<sdf version='1.9'><world name='v'/></sdf>"|exactly one
10 /world/asleep/create name: "x" sdf_filename: "models/nothing"|models/nothing
10 /world/asleep/create name: "a::b" sdf: "$box"|expected one that is not empty
10 /world/asleep/create name: "x" relative_to: "nobody" sdf: "$box"|the world has no model 'nobody'
10 /world/asleep/create name: "x" pose {orientation {w: 1}} pose {position {x: 1e9}} sdf: "$box"|expected coordinates within
10 /world/asleep/remove name: "nobody"|the world has no model 'nobody'
10 /world/elsewhere/remove name: "cart_0"|this one is 'asleep', expected /world/asleep/
10 /world/asleep/delete name: "cart_0"|world 'asleep' has no service 'delete': expected one of control, control/state, create
10 /world/asleep/remove nam: "cart_0"|has no field 'nam': expected one of id, name, type
10 /model/nobody/cmd_vel linear: {x: 1}|topic '/model/nobody/cmd_vel' has no listener
10 /world/asleep/remove id: 4000|the world has no model with the id 4000
10 /world/asleep/remove id: 7 name: "cart_0"|the model with the id 7 is 'crate_0_1_2', not 'cart_0'
10 /world/asleep/remove type: MODEL|neither a name nor an id: expected the name or the id of a model
10 /world/asleep/remove name: "cart_0" type: LINK|only models can be removed
10 /world/asleep/remove name: "cart_0" type: LIGHT|the world has no light 'cart_0'
10 /world/asleep/remove id: 7 type: LIGHT|the world has no light with the id 7
10 /world/asleep/set_pose name: "nobody"|the world has no model 'nobody'
10 /world/asleep/set_pose name: "cart_0" orientation {x: 0}|orientation
10 /world/asleep/set_pose name: "cart_0" position {x: 1e8}|expected coordinates within 1e+07 m
10 /world/asleep/set_pose_vector pose {name: "cart_0"} pose {name: "nobody"}|item 2: the world has no model 'nobody'
10 /world/asleep/set_physics max_step_size: 0|max_step_size 0 s: expected
10 /world/asleep/set_physics real_time_factor: -1|real_time_factor -1: expected
10 /world/asleep/set_physics gravity {x: 1e8}|expected at most
10 /world/asleep/level/set_performer data: "cart_0" size {x: -1}|size -1: expected 0 to 1e+09 m
10 /world/asleep/level/set_performer data: "cart_0" secondary: 0|secondary 0: expected 1 to 1024
10 /world/asleep/level/set_performer data: "cart_0::link"|the world has no model 'cart_0::link'
10 /world/asleep/level/set_performer data: "cart_0" remove: true|model 'cart_0' is no performer
10 /world/asleep/reset_model name: "nobody"|the world has no model 'nobody'
10 /world/asleep/reset_model type: MODEL|neither a name nor an id: expected the name or the id of a model
10 /world/asleep/reset_model name: "cart_0" type: LINK|only models can be reset: expected MODEL
10 /world/asleep/reset_model name: "cart_0" position {x: 1}|has no field 'position'
EOF2

# same STEPS: runs with several numbers of secondaries agree with the run without any
same()
{
	run "$scratch/reference" "$world" "$commands" "$1" --hash-every 100 --trace --secondaries 0
	report $? 'the commands are obeyed'
	services=$(grep ' /world/' "$commands" | grep -vc /control) # a control says nothing
	[ "$(grep -c '^reply .* ok ' "$scratch/reference")" = "$services" ]
	report $? "$services replies: $(grep -c '^reply .* ok ' "$scratch/reference")"
	grep '^hash\|^reply' "$scratch/reference" >"$scratch/hashes"
	for options in 1 2 3 5 '2 --chaos 1' '3 --chaos 2'; do
		case $full,$options in ,[12] | ',3 --chaos 2') continue ;; esac
		# shellcheck disable=SC2086
		run "$scratch/other" "$world" "$commands" "$1" --hash-every 100 --trace --secondaries $options
		grep '^hash\|^reply' "$scratch/other" | cmp -s "$scratch/hashes"
		report $? "--secondaries $options: $(grep '^hash\|^reply' "$scratch/other" | diff "$scratch/hashes" - | sed -n 2p)"
	done
}

same 4600
# 1000 steps after the reset equal 1000 steps after the start.
run "$scratch/fresh" "$world" - 1000 --hash-every 1000 --secondaries 1
report $? 'runs without commands'
[ "$(sed -n 's/^hash 1000 //p' "$scratch/fresh")" = "$(sed -n 's/^hash 4600 //p' "$scratch/reference")" ]
report $? 'a reset brings back the world of the file, to the last bit'

# A copy has the bits of a model that is made of the same SDF: of a model of the file, which an <include> brought, and of
# a created one that has moved meanwhile.
for from in 'sdf_filename: "models/cart"' 'clone_name: "cart_2"' 'clone_name: "late"'; do
	printf '%s\n' '10 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: 12}}' \
		'11 /model/late/cmd_vel linear: {x: 0.9}' \
		"200 /world/asleep/create $from name: \"twin\" pose {position {x: -7 y: 12 z: 0.2} orientation {z: 0.5 w: 1}}" \
		'201 /model/twin/cmd_vel linear: {x: 0.7}' >"$scratch/copies"
	run "$scratch/copied" "$world" "$scratch/copies" 600 --hash-every 50 --secondaries 2
	[ -e "$scratch/made" ] || cp "$scratch/copied" "$scratch/made"
	[ -s "$scratch/made" ] && cmp -s "$scratch/made" "$scratch/copied"
	report $? "$from: $(diff "$scratch/made" "$scratch/copied" | sed -n 2p)"
done

# A refused command changes nothing.
run "$scratch/fresh" "$world" - 200 --hash-every 200 --secondaries 2
while IFS='|' read -r line reason; do
	printf '%s\n' "$line" >"$scratch/one"
	"$troupe" run "$world" --rtf 0 --iterations 200 --hash-every 200 --commands "$scratch/one" --secondaries 2 \
		>"$scratch/out" 2>"$scratch/err"
	[ $? = 1 ]
	report $? "exit status 1: $line"
	grep -qF "$reason" "$scratch/err"
	report $? "$reason: $(tail -n 1 "$scratch/err")"
	# the command is refused before the run, or its reply comes in the run
	[ ! -s "$scratch/out" ] || cmp -s "$scratch/fresh" "$scratch/out"
	report $? "nothing else happens: $line"
done <"$scratch/bad"

# At each verbosity a command that could not be obeyed is named once, and the exit status is 1.
printf '10 /world/asleep/remove name: "nobody"\n20 /world/asleep/remove name: "crate_1_0_1"\n900 %s\n' \
	'/world/asleep/remove name: "cart_0"' >"$scratch/commands"
for verbosity in 0 1 2 3; do
	"$troupe" run "$world" --rtf 0 --iterations 50 --commands "$scratch/commands" -v $verbosity --secondaries 1 2>"$scratch/err"
	[ $? = 1 ]
	report $? "-v $verbosity: exit status 1"
	[ "$(grep -c "the world has no model 'nobody'" "$scratch/err")" = 1 ]
	report $? "-v $verbosity: the reason stands there once"
	grep -q '^troupe run: 1 command could not be obeyed' "$scratch/err"
	report $? "-v $verbosity: $(tail -n 1 "$scratch/err")"
	[ $verbosity = 0 ] || grep -q '^1 model removed, 1 command refused, 1 command for steps that were not reached$' "$scratch/err"
	report $? "-v $verbosity: a summary of the commands"
done
totals
