#!/bin/sh
# Where the files are that worlds and robots name: the models that every Gazebo has, the caches of Fuel, packages of ROS;
# damaged descriptions of models; what a message says of a file that is not there; and how names with characters that a
# terminal obeys are shown. Without this, worlds of Gazebo lose their floor, and robots their meshes.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
export TROUPE_NO_GZ=1
unset GZ_SIM_RESOURCE_PATH SDF_PATH IGN_GAZEBO_RESOURCE_PATH AMENT_PREFIX_PATH ROS_PACKAGE_PATH MENGE_RESOURCE_PATH GZ_FUEL_CACHE_PATH \
	IGN_FUEL_CACHE_PATH 2>/dev/null
mkdir home && HOME=$folder/home && export HOME
data=$source/tests/data

# world FILE ELEMENT...: a world with the elements
world()
{
	file=$1
	shift
	printf '<sdf version="1.9"><world name="w">%s</world></sdf>\n' "$*" >"$file"
}
# model FOLDER NAME: a folder with a model of a link of that name
model()
{
	mkdir -p "$1"
	printf '<model><name>x</name><sdf version="1.9">model.sdf</sdf></model>' >"$1/model.config"
	printf '<sdf version="1.9"><model name="found"><static>1</static><link name="%s"/></model></sdf>' "$2" >"$1/model.sdf"
}
box='<model name="box"><pose>0 0 0.5 0 0 0</pose><link name="l"><collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>'

# --- sun and ground plane ---------------------------------------------------------------------------------------------

world classic.world "<include><uri>model://sun</uri></include><include><uri>model://ground_plane</uri></include>$box"
does 0 check --strict classic.world
unsaid 'the two are known' '^warning|^ignored'
does 0 print --flat classic.world
said 'the sun' '^light sun$'
said 'the plane' '^collision ground_plane::link::collision pose 0.0* 0.0* 0.0* 1.0* .* plane 0.0* 0.0* 1.0*$'
does 0 run classic.world --rtf 0 --iterations 1000 --log z.csv --log-what model --log-every 1000
awk -F, '$4 ~ /box/ || $0 ~ /box/ { z = $0 } END { print z }' z.csv >last
does 0 print classic.world
cp out printed.sdf
does 0 run printed.sdf --rtf 0 --iterations 1000 --report printed.json
does 0 run classic.world --rtf 0 --iterations 1000 --report classic.json --secondaries 2
[ -n "$(member classic.json state_hash)" ] && [ "$(member classic.json state_hash)" = "$(member printed.json state_hash)" ]
report $? 'printed and shared out, the world has the same hash'
for uri in 'model://ground_plane/' 'model://ground_plane/model.sdf' ground_plane \
	'https://fuel.gazebosim.org/1.0/OpenRobotics/models/Ground Plane' \
	'https://fuel.gazebosim.org/1.0/OpenRobotics/models/Ground%20Plane' \
	'https://fuel.gazebosim.org/1.0/openrobotics/models/ground%20plane/3' \
	'http://fuel.ignitionrobotics.org/1.0/OPENROBOTICS/models/ground plane/tip' \
	'https://fuel.ignitionrobotics.org/OpenRobotics/models/Ground Plane/' \
	'https://app.gazebosim.org/OpenRobotics/fuel/models/Ground Plane' \
	'https://app.ignitionrobotics.org/OpenRobotics/fuel/models/Ground%20Plane' \
	'https://api.ignitionfuel.org/1.0/OpenRobotics/models/Ground_Plane' \
	'fuel://fuel.gazebosim.org/openrobotics/models/ground plane/1'; do
	world w.sdf "<include><name>floor</name><pose>0 0 -1 0 0 0</pose><uri>$uri</uri></include>"
	does 0 print --flat w.sdf
	said "$uri" '^collision floor::link::collision pose 0.0* 0.0* -1.0* .* plane'
done
world w.sdf '<include><uri>https://fuel.gazebosim.org/1.0/OpenRobotics/models/Sun</uri></include>'
does 0 print --flat w.sdf
said 'the sun of Fuel' '^light sun$'
for uri in https://fuel.gazebosim.org/1.0/someone/models/Sun https://example.org/1.0/OpenRobotics/models/Sun \
	https://fuel.gazebosim.org/1.0/OpenRobotics/worlds/Sun https://fuel.gazebosim.org/1.0/OpenRobotics/models; do
	world w.sdf "<include><uri>$uri</uri></include>"
	does 0 check w.sdf
	said "$uri is another thing" 'is on another machine, and is not found: expected a copy .*; it is left out$'
done
model models/ground_plane mine
does 0 print --flat --resource-path models classic.world
said 'a model of the user under this name is taken' '^link found::mine '
unsaid 'and not the other' 'ground_plane'

# --- caches of Fuel ---------------------------------------------------------------------------------------------------

cache=cache/fuel.ignitionrobotics.org/openrobotics
for version in 1 2 10; do
	model "$cache/models/big cart/$version" "v$version"
done
mkdir -p "$cache/models/big cart/10/meshes" "$cache/worlds/my town/1"
cp "$worlds/models/shapes/block.obj" "$cache/models/big cart/10/meshes/Block.obj"
cat >"$cache/models/big cart/10/model.sdf" <<END
<sdf version="1.9"><model name="found"><static>1</static><link name="v10"><collision name="own"><geometry><mesh>
<uri>model://Big Cart/meshes/Block.obj</uri></mesh></geometry></collision></link></model></sdf>
END
world "$cache/worlds/my town/1/town.sdf" "$box"
model 'cache/fuel.example.org:8000/Someone/models/Crane/4' crane
fuel=https://fuel.gazebosim.org/1.0/OpenRobotics/models
world w.sdf "<include><uri>$fuel/Big Cart</uri></include>"
does 0 print --flat w.sdf
unsaid 'not without the cache' 'model found'
mkdir -p home/.gz && ln -s "$folder/cache" home/.gz/fuel
does 0 print --flat w.sdf
said 'the newest version' '^link found::v10 '
rm home/.gz/fuel && mkdir -p home/.ignition && ln -s "$folder/cache" home/.ignition/fuel
does 0 print --flat w.sdf
said '~/.ignition/fuel' '^link found::v10 '
rm home/.ignition/fuel
for variable in GZ_FUEL_CACHE_PATH IGN_FUEL_CACHE_PATH; do
	env "$variable=$folder/cache" "$troupe" print --flat w.sdf >out 2>err
	said "$variable" '^link found::v10 '
done
does 0 print --flat --resource-path cache w.sdf
said 'a resource path' '^link found::v10 '
export GZ_FUEL_CACHE_PATH="$folder/cache"
for pair in "$fuel/Big%20Cart/2 v2" "$fuel/BIG CART/1/ v1" "$fuel/big cart/tip v10" 'model://Big Cart v10' \
	'https://app.gazebosim.org/OpenRobotics/fuel/models/Big Cart v10' 'model://Crane crane' \
	'https://fuel.example.org:8000/someone/models/crane crane'; do
	world w.sdf "<include><uri>${pair% *}</uri></include>"
	does 0 print --flat w.sdf
	said "${pair% *}" "^link found::${pair##* } "
done
world w.sdf "<include><uri>$fuel/Big Cart/3</uri></include>"
does 0 check w.sdf
said 'a version that is not there' "\"$fuel/Big Cart/3\" is on another machine, and is not found in a cache of Fuel or in $folder/cache: "
world w.sdf "<model name='m'><static>1</static><link name='l'><collision name='c'><geometry><mesh><uri>$fuel/Big Cart/10/files/meshes/Block.obj</uri></mesh></geometry></collision></link></model><include><uri>model://big cart</uri></include>"
does 0 check --strict w.sdf
does 0 run w.sdf --rtf 0 --iterations 10 --secondaries 1 --transport tcp --network-stale-ms 60000 --save-at 5 st.5 --record r.rec --report tcp.json
does 0 print --flat 'https://fuel.gazebosim.org/1.0/OpenRobotics/worlds/My Town'
said 'a world of the cache' '^model box '
mv cache gone
does 0 replay r.rec
said 'a replay has the files' 'all the same'
does 0 run --resume st.5 --rtf 0 --iterations 10 --report again.json
[ -n "$(member tcp.json state_hash)" ] && [ "$(member tcp.json state_hash)" = "$(member again.json state_hash)" ]
report $? 'a resumed run has the files'
unset GZ_FUEL_CACHE_PATH

# --- model.config -----------------------------------------------------------------------------------------------------

world w.sdf '<include><uri>model://damaged</uri></include>'
# damaged WHAT LINK PATTERN, model.config from standard input
damaged()
{
	cat >damaged/model.config
	does 0 print --flat w.sdf
	said "$1" "^link found::$2 "
	does 0 check w.sdf
	said "$1" "^warning: w.sdf:1: ./damaged/model.config$3"
}
model damaged usual
printf '<sdf version="1.9"><model name="found"><static>1</static><link name="other"/></model></sdf>' >damaged/other.sdf
damaged 'a bare &' other ':1: .*: the file of the model is other.sdf$' <<END
<model><name>m</name><sdf version="1.6">other.sdf</sdf><description>Doors & walls</description></model>
END
damaged 'a bare & first' other ':3: .*: the file of the model is other.sdf$' <<END
<?xml version="1.0"?>
<model><author><name>A</name></author>
<description>Doors & walls <b></description><sdf version="1.6">other.sdf</sdf>
</model>
END
damaged 'an end that is missing' other '.*: the file of the model is other.sdf$' <<END
<model><name>m</name><sdf version="1.6">other.sdf</sdf><description>
END
damaged 'no XML' usual '.*: the file of the model is model.sdf$' <<END
name: m
END
damaged 'a file that is not there' usual ': the file "none.sdf" is not there: model.sdf is used$' <<END
<model><name>m</name><sdf version="1.6">none.sdf</sdf></model>
END
: >damaged/model.config
does 0 print --flat w.sdf
said 'an empty one' '^link found::usual '

# --- packages ---------------------------------------------------------------------------------------------------------

# package FOLDER NAME: a package with a mesh and a robot that names it
package()
{
	mkdir -p "$1/urdf/robots" "$1/meshes"
	echo "<package format='3'><name> $2 </name><license>x</license></package>" >"$1/package.xml"
	cp "$worlds/models/shapes/block.obj" "$1/meshes/"
}
# robot PACKAGE
robot()
{
	echo "<robot name='r'><link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial><collision><geometry><mesh filename='package://$1/meshes/block.obj'/></geometry></collision></link></robot>"
}
package src/My_Repo my_description
robot my_description >src/My_Repo/urdf/robots/r.urdf
does 0 check --strict src/My_Repo/urdf/robots/r.urdf
(cd src/My_Repo/urdf/robots && "$troupe" check --strict r.urdf >"$folder/out" 2>"$folder/err")
report $? 'the package that the file is in, from its own folder'
package src/deep/er/Other_Repo other_description
robot other_description >r.urdf
does 1 check --strict r.urdf
said 'a package that is not found' '"package://other_description/meshes/block.obj" of model "r" is not found beside r.urdf or above it'
ROS_PACKAGE_PATH=$folder/nowhere:$folder/src "$troupe" check --strict r.urdf >out 2>err
report $? 'below ROS_PACKAGE_PATH'
package prefix/share/OTHER other_description
AMENT_PREFIX_PATH=$folder/prefix "$troupe" check --strict r.urdf >out 2>err
report $? 'below AMENT_PREFIX_PATH'
robot other_description >src/My_Repo/urdf/beside.urdf
package src/My_Repo2 other_description
does 0 check --strict src/My_Repo/urdf/beside.urdf --resource-path src/My_Repo2
ROS_PACKAGE_PATH=$folder/src "$troupe" run r.urdf --rtf 0 --iterations 10 --secondaries 1 --transport tcp --network-stale-ms 60000 --save-at 5 st2.5 --report tcp.json >out 2>err
report $? 'a secondary has the package'
mv src gone2
does 0 run --resume st2.5 --rtf 0 --iterations 10 --report again.json
[ -n "$(member tcp.json state_hash)" ] && [ "$(member tcp.json state_hash)" = "$(member again.json state_hash)" ]
report $? 'a resumed run has the package'
mv gone2 src

# --- what is not there ------------------------------------------------------------------------------------------------

world w.sdf '<include><uri>model://damage</uri></include>'
does 1 check w.sdf
said 'a model' '^error: w.sdf:1: <include> of "model://damage" is not found beside w.sdf or above it: expected a file or folder that is there, such as "damaged"$'
does 1 check --resource-path models --resource-path src w.sdf
said 'a model, with resource paths' 'is not found beside w.sdf, above it, in models or in src: expected'
world w.sdf '<include><uri>model://ground_plan</uri></include>'
does 1 check w.sdf
said 'the name of a model of Gazebo' 'such as "ground_plane"$'
world w.sdf '<model name="m"><link name="l"><collision name="c"><geometry><mesh><uri>src/My_Repo/meshes/blok.obj</uri></mesh></geometry></collision></link></model>'
does 0 check w.sdf
said 'a mesh' '^warning: w.sdf:1: "src/My_Repo/meshes/blok.obj" of model "m" is not found beside w.sdf or above it: expected a file or folder that is there, such as "block.obj"$'
does 1 run --strict w.sdf --iterations 1
sub() { echo "<model name='$2'><static>1</static><link name='l'><collision name='c'><geometry><mesh><uri>$data/mesh/$1</uri><submesh><name>$3</name></submesh></mesh></geometry></collision></link></model>"; }
world w.sdf "$(sub named.dae a Wing)$(sub named.gltf b BodyNode)$(sub named.obj c Wing)"
does 0 check --strict w.sdf --resource-path "$data/mesh"
world w.sdf "$(sub named.dae a wing)"
does 0 check w.sdf --resource-path "$data/mesh"
said 'a sub-mesh' 'named.dae" of model "a" has no sub-mesh "wing": the model is without it: expected the name of a node or mesh, such as "Wing"'
world w.sdf '<model name="m"><link name="base"/><link name="left_wheel"/><joint name="left_wheel_joint" type="revolute"><parent>base</parent><child>left_wheel</child><axis><xyz>0 1 0</xyz></axis></joint><plugin name="gz::sim::systems::JointController" filename="x"><joint_name>left_weel_joint</joint_name></plugin><plugin name="gz::sim::systems::VelocityControl" filename="x"><link_name>bas</link_name></plugin></model>'
does 0 run w.sdf --rtf 0 --iterations 1
said 'a joint of a plug-in' "<joint_name>: there is no joint 'left_weel_joint' in model 'm': expected the name of a joint of it, such as \"left_wheel_joint\""
said 'a link of a plug-in' "<link_name>: there is no link 'bas' in model 'm': expected the name of a link of it, such as \"base\""
mkdir plugins && : >plugins/libpush.so
world w.sdf '<model name="m"><link name="l"/><plugin name="gz::sim::systems::DifDrive" filename="libpus.so"/></model>'
does 0 check --plugin-path plugins w.sdf
said 'the library of a plug-in' 'plugin "gz::sim::systems::DifDrive" x1.*: its library "libpus.so" is not found in plugins.*: expected a library that is there, such as "libpush.so"; there is the plugin "DiffDrive"'

# --- characters that a terminal obeys ---------------------------------------------------------------------------------

world w.sdf '<model name="m&#155;31mR&#8238;X&#10;model forged"><static>1</static><link name="l"><sensor name="s" type="imu"/></link><plugin filename="x" name="p&#155;2J&#8206;"/></model>'
hostile=$(printf '\302\233|\342\200\256|\342\200\216')
for arguments in 'check w.sdf' 'print w.sdf' 'print --flat w.sdf' 'topics w.sdf' 'topics --json w.sdf' \
	'run w.sdf --rtf 0 --iterations 2 -v 3 --report names.json --log names.csv --log-what model --trace'; do
	# shellcheck disable=SC2086
	timeout "$run_limit_s" "$troupe" $arguments >out 2>err
	: >names.all
	cat out err names.csv names.json >names.all 2>/dev/null
	! grep -aEq "$hostile" names.all
	report $? "troupe $arguments: shows no control characters"
done
timeout "$run_limit_s" "$troupe" print --flat w.sdf >out 2>err
[ "$(wc -l <out)" = "$(grep -Ec '^(world|model|link|sensor) ' out)" ] && ! grep -q '^model forged' out
report $? 'a name cannot forge a line'
said 'escapes' '^model m\\u009b31mR\\u202eX\\nmodel forged static=1'
does 0 print w.sdf
cp out again.sdf
"$troupe" print --flat w.sdf >flat.1 2>/dev/null
"$troupe" print --flat again.sdf >flat.2 2>/dev/null
cmp -s flat.1 flat.2
report $? 'what is printed has the same names'

totals
