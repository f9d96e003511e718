#!/bin/sh
# Damaged mesh and image files. Every command must end with a documented exit status and one line that names the
# file, and no command may be ended by a signal. First come the files of tests/data/mesh, which crash a reader (other
# versions of the reader may refuse them). Then a stand-in for assimp ends in every way in which a reader can end,
# also at a secondary that receives the file.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
data=$(cd "${SOURCE_DIR:-.}" && pwd)/tests/data/mesh
export SDF_PATH="$data" # the files are not below the folders of the worlds

model()
{
	# model MESH [MORE]: prints a world of one model
	echo "<sdf version='1.9'><world name='w'><model name='m'>$2<link name='l'><collision name='c'><geometry>"
	echo "$1</geometry></collision></link></model></world></sdf>"
}
mesh() { echo "<mesh><uri>$1</uri></mesh>"; }

# ends COMMAND STATUSES: the command ends with one of these statuses
ends()
{
	what=$1 statuses=$2
	shift 2
	timeout 120 "$troupe" "$@" >out 2>err
	status=$?
	case " $statuses " in
	*" $status "*) return 0 ;;
	esac
	echo "$what: status $status: $(cat err)"
	return 1
}

# --- files ------------------------------------------------------------------------------------------------------------

crashed=0
for file in "$data"/broken_*.dae "$data"/broken_*.glb "$data"/broken_*.gltf "$data"/broken_*.obj "$data"/broken_*.stl; do
	[ -e "$file" ] || continue
	name=${file##*/}
	model "$(mesh "$file")" >w.sdf
	good=0
	ends "$name: check" '0 1' check w.sdf || good=1
	checked=$status
	[ "$(grep -c "$name" err)" = 1 ] || good=1
	[ "$checked" = 0 ] || grep -q "^error: w.sdf:2: .*$name.*the process that reads it" err || good=1
	report $good "$name is checked: $(cat err)"
	crashed=$((crashed + checked))
	# the outcome may depend on chance, but there is always one line
	ends "$name: run" '0 1' run w.sdf --iterations 10 --rtf 0 -v 1
	report $? "$name is run"
	[ "$status" = 0 ] || { [ "$(grep -c "$name" err)" = 1 ] && grep -q 'the process that reads it' err; }
	report $? "$name is run: $(cat err)"
	ends "$name: print" '0 1' print w.sdf
	report $? "$name is printed"
done
echo "$crashed of the broken files ended the process that reads them"

# a visual is read where a sensor sees it: check and run find the same
seen()
{
	# seen GEOMETRY SENSOR STATUS
	echo "<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'><visual name='v'><geometry>
		$1</geometry></visual>$2</link></model></world></sdf>" >w.sdf
	ends "visual $1: check" "$3" check w.sdf && ends "visual $1: run" "$3" run w.sdf --iterations 2 --rtf 0 -v 0 &&
		{ [ "$3" = 0 ] || grep -q '^troupe run: w.sdf:[12]: <p' err; }
	report $? "a visual with $1 $2: $(cat err)"
}
eye="<sensor name='s' type='camera'><camera/></sensor>"
for wrong in "<heightmap><uri>$data/sound_grey.png</uri><size>1 1 1</size><pos>-1</pos></heightmap>" \
	'<polyline><point>1 x</point><height>1</height></polyline>'; do
	seen "$wrong" "$eye" 1
	seen "$wrong" '' 0
done

# the .sdf files beside the meshes, as they were found
for file in "$data"/broken_*.sdf; do
	ends "$file" '0 1' check "$file"
	report $? "$file"
done

# a sound world goes on when a model with a broken mesh is created
model '<box><size>1 1 1</size></box>' '<pose>0 0 5 0 0 0</pose>' >good.sdf
model "$(mesh "$data/broken_3.gltf")" >bad.sdf
model "$(mesh "$data/sound.glb")" >sound.sdf
for folder in bad sound; do
	mkdir $folder
	sed 's/<world[^>]*>//; s/<\/world>//' $folder.sdf >$folder/model.sdf
done
cat >both.commands <<END
5 /world/w/create sdf_filename: "$PWD/bad/model.sdf" name: "bad"
9 /world/w/create sdf_filename: "$PWD/sound/model.sdf" name: "sound"
END
ends 'create' '0 1' run good.sdf --commands both.commands --iterations 20 --rtf 0 --trace --hash-every 20
report $? 'a run in which a broken mesh is created'
grep -q '^hash 20 ' out && grep -q "^reply 9 /world/w/create ok" out
report $? "the run goes on: $(cat out err)"
[ "$status" = 0 ] || grep -q "^reply 5 /world/w/create failed .*broken_3.gltf.*the process that reads it" out
report $? "the reply has the reason: $(cat out err)"

# --- every way to end -------------------------------------------------------------------------------------------------

# A reader that ends as the file says, in the place of assimp's and libpng's. If there is a sanitizer, it must be loaded
# first, and then this one.
cat >reader.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
const void *aiImportFileExWithProperties(const char *path, unsigned flags, void *io, const void *settings)
{
	(void)flags, (void)io, (void)settings;
	if (strstr(path, "segv"))
		raise(SIGSEGV);
	if (strstr(path, "exit"))
		_exit(3);
	if (strstr(path, "memory"))
		for (size_t i = 0;; i++)
			*(volatile char *)malloc(1 << 20) = 1;
	if (strstr(path, "still"))
		pause();
	return NULL;
}
void *png_create_read_struct_2(const char *version, void *a, void *b, void *c, void *d, void *e, void *f)
{
	(void)version, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
	abort();
}
END
with_meshes=1
! "$troupe" check "$data/broken_1.sdf" 2>&1 | grep -q 'built without' || with_meshes=
stand_in=
case "$with_meshes ${TEST_CC:-cc}" in
' '*) skip 'every way to end' 'troupe was built without meshes' ;;
*-fsanitize=*) skip 'every way to end' 'there is no stand-in for a reader under a sanitizer' ;;
*)
	# shellcheck disable=SC2086
	${TEST_CC:-cc} -shared -fPIC reader.c -o reader.so 2>err &&
		[ "$(LD_PRELOAD=$PWD/reader.so "$troupe" --version 2>&1 | grep -c '^troupe ')" = 1 ] && stand_in=1
	[ -n "$stand_in" ]
	report $? "a stand-in for a reader: $(cat err)"
	;;
esac

# told FILE WORDS SHAPE: the world is refused in one line with these words
told()
{
	model "$3" >w.sdf
	timeout 120 env LD_PRELOAD="$PWD/reader.so" "$troupe" run w.sdf --iterations 1 --rtf 0 >out 2>err
	[ $? = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q "w.sdf:2: \"./$1\" of model \"m\": the process that reads it $2" err
	report $? "a reader that ends: $1: $(cat err)"
}

if [ -n "$stand_in" ]; then
	for file in segv exit memory; do
		cp "$data/sound.obj" $file.obj
	done
	cp "$data/sound_grey.png" hill.png
	told segv.obj 'ended by signal 11 (SIGSEGV)' "$(mesh segv.obj)"
	told exit.obj 'ended with status 3' "$(mesh exit.obj)"
	told memory.obj '\(ended by signal 11\|needs more than\)' "$(mesh memory.obj)"
	told hill.png 'ended by signal 6 (SIGABRT)' \
		'<heightmap><uri>hill.png</uri><size>9 9 1</size></heightmap>'

	# the primary can read a file that a secondary cannot read
	cp "$data/sound.obj" segv.obj
	model "$(mesh segv.obj)" >w.sdf
	port=$((20000 + $$ * 64 % 12000))
	next_port
	start p w.sdf --iterations 100000000 --rtf 1 --network-role primary --network-secondaries 1 \
		--network-listen 127.0.0.1:$port
	LD_PRELOAD=$PWD/reader.so
	export LD_PRELOAD
	start s --network-role secondary --network-address 127.0.0.1:$port --network-wait 60
	unset LD_PRELOAD
	ended s
	[ "$status" != 0 ] && [ "$status" -lt 128 ] && grep -q 'segv.obj.*the process that reads it ended by signal 11' s.err
	report $? "a secondary refuses a world: $status: $(cat s.err)"
	await p.err 'segv.obj.*the process that reads it ended by signal 11'
	report $? "its primary reports the reason: $(cat p.err)"
	kill -TERM "$(cat p.pid)"
	ended p && [ "$status" = 0 ]
	report $? "the primary then waits for another one: $status: $(cat p.err)"
fi

# --- nothing is left --------------------------------------------------------------------------------------------------

# The process that reads files ends with its server, also when the server is killed.
model "$(mesh "$data/sound.obj")" >w.sdf
start k w.sdf --iterations 100000000 --rtf 1
if [ -n "$with_meshes" ]; then
	for _ in $(seq 1200); do
		child=$(children "$(cat k.pid)")
		[ -z "$child" ] && [ ! -s k.status ] || break
		sleep 0.05
	done
	[ -n "$child" ]
	report $? "there is no process that reads files: $(cat k.err)"
	kill -KILL "$(cat k.pid)"
	for child in $child; do
		for _ in $(seq 1200); do
			[ -e "/proc/$child" ] || break
			sleep 0.05
		done
		[ ! -e "/proc/$child" ]
		report $? "process $child has not ended"
	done
else
	skip 'nothing is left' 'troupe was built without meshes'
fi
totals
