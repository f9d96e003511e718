#!/bin/sh
# What files of others cannot do (src/doc/reference/rights.md): a world has no file read but those below its folder, its package and
# the resource paths, and no special file; what was refused or was not there leaves nothing, and stays so in a replay
# and a resumed run; values that would make a step last for ever are refused; two runs do not write one file.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
export TROUPE_NO_GZ=1
secret=of-nobody-else

hash_of() { sed -n "s/^hash $1 //p" out; }

# world FILE ELEMENT: a world with a static model whose link has this element
world()
{
	printf '<sdf version="1.9"><world name="w"><model name="m"><static>1</static><link name="l">%s</link></model></world></sdf>\n' \
		"$2" >"$1"
}
mesh() { printf '<collision name="c"><geometry><mesh><uri>%s</uri></mesh></geometry></collision>' "$1"; }
skin()
{
	printf '<visual name="v"><geometry><box><size>1 1 1</size></box></geometry><material><pbr><metal><albedo_map>%s</albedo_map></metal></pbr></material></visual>' "$1"
}

# --- which files a world may read -------------------------------------------------------------------------------------

mkdir -p outside own/meshes own/deep package/urdf package/meshes
triangle='v 0 0 0
v 1 0 0
v 0 1 0
f 1 2 3'
printf 'newmtl %s\n' $secret >outside/m.mtl
cp outside/m.mtl own/deep/m.mtl
printf '%s\n' "$triangle" >outside/plain.obj
printf '# %s\n%s\n' $secret "$triangle" >outside/secret.obj
printf 'mtllib ../../outside/m.mtl\n%s\n' "$triangle" >own/meshes/up.obj
printf 'mtllib %s/outside/m.mtl\n%s\n' "$folder" "$triangle" >own/meshes/absolute.obj
ln -s ../../outside/m.mtl own/meshes/link.mtl
printf 'mtllib link.mtl\n%s\n' "$triangle" >own/meshes/by_link.obj
ln -s ../../outside own/meshes/folder
printf 'mtllib folder/m.mtl\n%s\n' "$triangle" >own/meshes/by_folder.obj
printf 'mtllib /proc/self/environ\n%s\n' "$triangle" >own/meshes/proc.obj
ln -s ../../outside/secret.obj own/meshes/mesh.obj
printf '{"asset":{"version":"2.0"},"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"}],"bufferViews":[{"buffer":0,"byteLength":36}],"buffers":[{"byteLength":36,"uri":"../../outside/m.mtl"}]}' \
	>own/meshes/buffer.gltf

# keeps WHAT ELEMENT [OPTION...]: no byte of the secret is in what the run writes, whatever it says of the mesh
keeps()
{
	what=$1
	world own/w.sdf "$2"
	shift 2
	rm -f rec state
	SECRET=$secret timeout 60 "$troupe" run own/w.sdf --iterations 3 --record rec --save-at 2 state "$@" >out 2>err
	status=$?
	[ $status = 0 ] || [ $status = 1 ]
	report $? "$what: status $status"
	[ ! -e rec ] || ! grep -qa $secret rec state
	report $? "$what: the recording or the state has it"
}
for name in up.obj absolute.obj by_link.obj by_folder.obj proc.obj mesh.obj buffer.gltf; do
	keeps "$name" "$(mesh meshes/$name)"
done
keeps 'a mesh above the folder' "$(mesh ../outside/secret.obj)"
keeps 'a mesh by its path' "$(mesh "$folder/outside/secret.obj")"
keeps 'a mesh by file://' "$(mesh "file://$folder/outside/secret.obj")"
keeps 'a texture above the folder' "$(skin ../outside/m.mtl)" --sense-all
keeps 'a texture of /proc' "$(skin /proc/self/environ)" --sense-all
# reads OPTION...: the run finds all files that its world names
reads()
{
	does 0 run "$@" --iterations 3
	! grep -q 'not found' err
	report $? "a file is refused: troupe run $*"
}
world own/w.sdf "$(mesh ../outside/secret.obj)"
does 0 run own/w.sdf --iterations 3
said 'what is wrong with it' '^warning: own/w.sdf:1: .*outside/secret.obj.*: expected .*--resource-path'
reads own/w.sdf --resource-path outside
reads own/w.sdf --resource-path "$folder"

# what it may read, it reads: with its own folder as it is, by links inside of it, and in its package
printf 'mtllib ../deep/m.mtl\n%s\n' "$triangle" >own/meshes/inside.obj
ln -s ../deep/m.mtl own/meshes/inner.mtl
printf 'mtllib inner.mtl\n%s\n' "$triangle" >own/meshes/by_inner.obj
for name in inside.obj by_inner.obj; do
	world own/w.sdf "$(mesh meshes/$name)"
	does 0 run own/w.sdf --iterations 3 --record rec --sense-all
	grep -qa $secret rec
	report $? "$name is read, and recorded with what it names"
done
cp outside/plain.obj package/meshes
printf '<package><name>package</name></package>\n' >package/package.xml
world package/urdf/w.sdf "$(mesh ../meshes/plain.obj)"
reads package/urdf/w.sdf
rm package/package.xml
reads package/urdf/w.sdf # by the name of its folder
mkdir package/here && cp package/urdf/w.sdf package/here
does 0 run package/here/w.sdf --iterations 3
said 'a mesh beside the folder, without a package' '^warning: package/here/w.sdf:1: .*meshes/plain.obj.*: expected .*--resource-path'
ln -s "$folder/own" elsewhere
world own/w.sdf "$(mesh meshes/inside.obj)"
reads elsewhere/w.sdf

# includes
printf '<sdf version="1.9"><model name="s"><link name="%s"/></model></sdf>\n' $secret >outside/model.sdf
for uri in ../outside/model.sdf "$folder/outside/model.sdf" "file://$folder/outside/model.sdf"; do
	printf '<sdf version="1.9"><world name="w"><include><uri>%s</uri></include></world></sdf>\n' "$uri" >own/i.sdf
	does 1 run own/i.sdf --iterations 3
	said "an include of $uri" 'expected .*--resource-path'
	for command in check print; do
		does 1 $command own/i.sdf
		said "$command: an include of $uri" 'expected .*--resource-path'
	done
	does 0 run own/i.sdf --iterations 3 --resource-path outside
done

# --- special files ----------------------------------------------------------------------------------------------------

mkfifo own/pipe.sdf
for name in /dev/zero /proc/self/mem "$folder/own/pipe.sdf" "$folder/own" /proc/kmsg; do
	printf '<sdf version="1.9"><world name="w"><include><uri>%s</uri></include></world></sdf>\n' "$name" >own/i.sdf
	does 1 run own/i.sdf --iterations 3 --resource-path /
	printf '2 /world/w/create sdf_filename: "%s" name: "x"\n' "$name" >commands
	world own/e.sdf ''
	does 1 run own/e.sdf --iterations 3 --commands commands --resource-path /
	said "create of $name" "^.*step 2.*/world/w/create"
done

# --- what was not there, and what was refused --------------------------------------------------------------------------

# A file that was missing when a command named it stays missing in a replay, and for a run that is resumed.
world own/e.sdf ''
printf '%s\n' '10 /world/w/create sdf_filename: "late.sdf" name: "z"' \
	'20 /world/w/create sdf: "<sdf version=\"1.9\"><model name=\"p\"><link name=\"l\"/><plugin filename=\"/nowhere/libx.so\" name=\"x\"/></model></sdf>"' \
	'30 /world/w/create sdf: "<sdf version=\"1.9\"><model name=\"q\"><link name=\"l\"/><include><uri>late.sdf</uri></include></model></sdf>"' \
	>own/commands
does 1 run own/e.sdf --iterations 100 --commands own/commands --record rec --record-every 50 --save-at 5 early \
	--save-at 60 late --hash-every 100
hash=$(hash_of 100)
[ -n "$hash" ]
report $? 'the run has a hash'
does 0 replay rec
printf '<sdf version="1.9"><model name="late"><pose>0 0 1 0 0 0</pose><link name="l"/></model></sdf>\n' >own/late.sdf
does 0 replay rec
for state in early late; do
	want=1 # the refused commands are still to come
	[ $state = early ] || want=0
	does $want run --resume $state --iterations 100 --hash-every 100
	[ "$(hash_of 100)" = "$hash" ]
	report $? "resumed from $state when the file is there: another hash"
done
rm own/late.sdf
does 0 run --resume late --iterations 50
does 0 run own/e.sdf --iterations 10

# --- robot clients ----------------------------------------------------------------------------------------------------

# box NAME PLUGIN...: a model, as one line of a file of commands has it
box()
{
	printf '<sdf version=\\"1.9\\"><model name=\\"%s\\"><pose>%d 0 5 0 0 0</pose><link name=\\"l\\"><inertial><mass>1</mass></inertial></link>%s</model></sdf>' \
		"$1" "$(printf '%d' "'${1#r}")" "$2"
}
drive='<plugin filename=\"x\" name=\"gz::sim::systems::VelocityControl\"/>'
# trigger INNER: when /go comes, it does the inner part
trigger()
{
	printf '<plugin filename=\\"x\\" name=\\"gz::sim::systems::TriggeredPublisher\\"><input type=\\"gz.msgs.Empty\\" topic=\\"/go\\"/>%s</plugin>' "$1"
}
service() { printf '<service name=\\"/world/w/%s\\" reqType=\\"%s\\" repType=\\"gz.msgs.Boolean\\" timeout=\\"100\\" reqMsg=\\"%s\\"/>' "$1" "$2" "$3"; }
twist='<output type=\"gz.msgs.Twist\" topic=\"/model/ra/cmd_vel\">linear {x: 9}</output>'
detach='<plugin filename=\"x\" name=\"gz::sim::systems::DetachableJoint\"><parent_link>l</parent_link><child_model>ra</child_model><child_link>l</child_link></plugin>'

# acts WHO INNER: a model of the client WHO ("" for none) does it at step 20, among models of alice, of bob and of nobody
acts()
{
	{
		printf '1 /world/w/create@alice sdf: "%s"\n' "$(box ra "$drive")"
		printf '1 /world/w/create sdf: "%s"\n' "$(box rn "$drive")"
		printf '2 /world/w/create%s sdf: "%s"\n' "${1:+@$1}" "$(box rb "$2")"
		echo '20 /go'
	} >own/commands
	timeout 60 "$troupe" run own/e.sdf --iterations 100 --commands own/commands --hash-every 100 --record rec >out 2>err
}
world own/e.sdf ''
acts alice '' # nobody listens to /go
[ -n "$(hash_of 100)" ]
report $? 'models of clients'
for inner in "$(trigger "$twist")" "$detach" \
	"$(trigger "$(service set_pose gz.msgs.Pose "name: 'ra' position {x: 77}")")" \
	"$(trigger "$(service remove gz.msgs.Entity "name: 'ra' type: MODEL")")" \
	"$(trigger "$(service remove gz.msgs.Entity "name: 'rn' type: MODEL")")" \
	"$(trigger "$(service set_physics gz.msgs.Physics 'max_step_size: 0.5')")" \
	"$(trigger "$(service control gz.msgs.WorldControl 'pause: true')")"; do
	acts bob "$inner"
	own=$?
	[ $own = 0 ] || [ $own = 1 ]
	report $? "a model of bob: $inner"
	hash=$(hash_of 100)
	[ -n "$hash" ] && timeout 60 "$troupe" replay rec >out 2>err
	report $? "replayed: $inner"
	acts '' "$inner"
	[ "$(hash_of 100)" != "$hash" ]
	report $? "for a model of nobody it is the same: $inner"
done

# --- what would make a step last for ever -----------------------------------------------------------------------------

sed 's|<model|<physics type="ode"><ode><solver><iters>2000000000</iters></solver></ode></physics><model|' own/e.sdf >own/s.sdf
does 1 run own/s.sdf --iterations 3
said 'iterations of the solver' '^troupe run: own/s.sdf:1: <iters> is "2000000000": expected from 0 to 100000$'
world own/s.sdf '<sensor name="s" type="camera"><camera><image><width>8000</width><height>8000</height></image></camera></sensor>'
does 1 run own/s.sdf --iterations 3
said 'pixels of a camera' '^troupe run: own/s.sdf:1: <image> is 8000 x 8000: expected at most 33554432 pixels'

# --- one file of two runs ---------------------------------------------------------------------------------------------

"$troupe" run own/e.sdf --rtf 1 --record both.rec --log both.csv --mcap both.mcap --costs both.costs --commands-out both.out \
	--report both.json --save-on-stop both.state >first.out 2>first.err &
first=$!
for _ in $(seq 300); do
	[ ! -s both.rec ] || break
	sleep 0.1
done
sleep 0.3
for option in --record=both.rec --log=both.csv --mcap=both.mcap --costs=both.costs --commands-out=both.out --report=both.json \
	--save-on-stop=both.state; do
	does 1 run own/e.sdf --iterations 3 "${option%%=*}" "${option#*=}"
	said "$option of another run" "^troupe run: ${option#*=}: cannot write: another run writes it: expected another name"
done
does 0 run own/e.sdf --iterations 3 --record other.rec --report other.json
kill -TERM $first
wait $first
report $? 'the first run ends well'
does 0 replay both.rec
[ -s both.csv ] && [ -s both.json ] && [ -s both.state ]
report $? 'its files are there'
does 0 run own/e.sdf --iterations 3 --report both.json --log both.csv
# nothing is left of the locks
[ -z "$(find . -name '.troupe*')" ]
report $? "left: $(find . -name '.troupe*')"
totals
