#!/bin/sh
# Robots in URDF: run alone, included in a world, and created while it runs; their meshes are found in packages. A robot
# drives and its scanner sees a wall. The hash is the same for all placements, over tcp, resumed and replayed.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
export TROUPE_NO_GZ=1
unset GZ_SIM_RESOURCE_PATH SDF_PATH IGN_GAZEBO_RESOURCE_PATH AMENT_PREFIX_PATH ROS_PACKAGE_PATH 2>/dev/null
robots=$source/tests/data/urdf

# --- alone ------------------------------------------------------------------------------------------------------------

for robot in arm turtle gripper quadruped humanoid; do
	does 0 check "$robots/$robot.urdf"
	said "$robot can be run" 'can be run'
	does 0 run "$robots/$robot.urdf" --rtf 0 --iterations 200 --report "$robot.json"
	does 0 print "$robots/$robot.urdf"
	cp out "$robot.sdf"
	does 0 run "$robot.sdf" --rtf 0 --iterations 200 --report again.json
	[ -n "$(member "$robot.json" state_hash)" ] && [ "$(member "$robot.json" state_hash)" = "$(member again.json state_hash)" ]
	report $? "$robot as printed has the same hash"
done

# --- in a world -------------------------------------------------------------------------------------------------------

# the robots are not below the folder of the world
export SDF_PATH="$robots"
named ground "<model name='wall'><static>1</static><pose>3 0 0.5 0 0 0</pose><link name='l'><collision name='c'><geometry><box>
<size>0.2 4 1</size></box></geometry></collision><visual name='v'><geometry><box><size>0.2 4 1</size></box></geometry>
</visual></link></model>
<include><uri>$robots/turtle.urdf</uri></include>
<include><uri>$robots/turtle.urdf</uri><name>other</name><pose>0 2 0 0 0 1</pose></include>
<include><uri>$robots/arm.urdf</uri><pose>0 -3 0 0 0 0</pose></include>
<include><uri>$robots/gripper.urdf</uri><pose>2 -3 1 0 0 0</pose></include>" | sed 's/0.001/0.002/' >world.sdf
cat >commands <<END
10 /cmd_vel linear {x: 0.4}
20 /model/arm/joint/elbow_joint/0/cmd_pos data: 0.8
30 /model/gripper/joint/left_finger_joint/0/cmd_pos data: 0.03
100 /world/w/create sdf_filename: "$robots/quadruped.urdf" name: "dog" pose {position {x: -2 z: 0.4}}
END
steps=$(amount 400 1500 3000)

go()
{
	run all world.sdf commands "$steps" --hash-every 1 --secondaries "$@" && grep '^hash' all >hashes
	report $? "runs with --secondaries $*"
}
go 0 --report report.json --log log.csv --log-every 10
cp hashes reference
[ "$(wc -l <reference)" -ge "$steps" ]
report $? 'a hash of every step'
for options in '2 --chaos 3' '3 --transport tcp --chaos 3 --network-stale-ms 60000'; do
	# shellcheck disable=SC2086
	go $options
	cmp -s hashes reference
	report $? "the same hashes with $options"
done
go 2 --record recording --save-at 200 saved
does 0 replay recording -v 0 --secondaries 3
timeout "$run_limit_s" "$troupe" run --resume saved --rtf 0 -v 0 --iterations "$steps" --hash-every 1 --secondaries 2 2>err |
	grep '^hash' >hashes
awk '$2 > 200' reference | cmp -s - hashes
report $? 'the same hashes resumed'

# Both robots listen to /cmd_vel. The one that looks along x has gone 0.4 m/s for the time since the command, less what
# it needed to speed up.
place=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i } $column["kind"] == "model" && $column["model"] == "turtle" { x = $column["x"] } END { print x }' log.csv)
awk -v x="$place" -v steps="$steps" 'BEGIN { gone = 0.4 * 0.002 * (steps - 10); exit !(x > 0.7 * gone && x < 1.05 * gone) }'
report $? "the robot drives: it is at x = $place after $steps steps"

# --- meshes in packages -----------------------------------------------------------------------------------------------

mkdir -p share/body/urdf share/body/meshes
cat >share/body/meshes/box.obj <<'END'
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
END
cat >share/body/urdf/body.urdf <<'END'
<robot name="body"><link name="l"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<collision><geometry><mesh filename="package://body/meshes/box.obj" scale="0.5 0.5 0.5"/></geometry></collision></link></robot>
END
does 0 run share/body/urdf/body.urdf --rtf 0 --iterations 10
[ ! -s err ] || ! grep -q 'not found' err
report $? 'a mesh in the package of the robot'
cp share/body/urdf/body.urdf alone.urdf
mkdir -p elsewhere
mv share elsewhere/share
does 0 run alone.urdf --rtf 0 --iterations 10
said 'a mesh that is not found' 'package://body/meshes/box.obj" .*is not found'
for variable in AMENT_PREFIX_PATH=elsewhere ROS_PACKAGE_PATH=elsewhere/share GZ_SIM_RESOURCE_PATH=elsewhere/share; do
	env "$variable" timeout 60 "$troupe" run alone.urdf --rtf 0 --iterations 10 >out 2>err
	! grep -q 'not found' err
	report $? "a mesh found with $variable"
done

# The body falls on its side, where its shape decides; so each run below has the mesh, also without the variable.
named ground '<include><uri>alone.urdf</uri><pose>0 0 0.3 0.4 0.2 0</pose></include>' >fall.sdf
# falls NAME ARGUMENT...: the hash of the last step, in the file NAME
falls()
{
	fall=$1
	shift
	timeout "$run_limit_s" "$troupe" run "$@" --rtf 0 -v 0 --iterations 600 --hash-every 600 >"$fall" 2>err
	grep -q '^hash 600 ' "$fall"
	report $? "$fall runs"
}
falls missing fall.sdf --secondaries 0
for variable in AMENT_PREFIX_PATH=elsewhere ROS_PACKAGE_PATH=elsewhere/share; do
	export "${variable?}"
	rm -f whole.record whole.state
	falls whole fall.sdf --secondaries 0 --record whole.record --save-at 300 whole.state
	falls over_tcp fall.sdf --secondaries 2 --transport tcp --network-stale-ms 60000
	unset AMENT_PREFIX_PATH ROS_PACKAGE_PATH
	! cmp -s whole missing
	report $? "the mesh matters ($variable)"
	cmp -s whole over_tcp
	report $? "secondaries of a network have the mesh ($variable)"
	falls resumed --resume whole.state --secondaries 0
	cmp -s whole resumed
	report $? "a state has the mesh ($variable)"
	does 0 replay whole.record -v 0
done

# --- what is wrong ----------------------------------------------------------------------------------------------------

printf '<robot name="r">\n<link name="a"/>\n<link name="b"/></robot>' >wrong.urdf
does 1 run wrong.urdf
said 'two roots' '^troupe.*wrong.urdf:3: the links "a" of line 2 and "b"|wrong.urdf:3: the links "a" of line 2 and "b"'
printf '<sdf version="1.9"><world name="w"><include><uri>wrong.urdf</uri></include></world></sdf>' >around.sdf
does 1 check around.sdf
said 'two roots, included' 'wrong.urdf:3: the links'
echo '5 /world/w/create sdf_filename: "wrong.urdf" name: "x"' >create
does 1 run world.sdf --rtf 0 --iterations 10 --commands create
said 'two roots, created' 'wrong.urdf:3: the links'
totals
