#!/bin/sh
# Xacro files: --xacro lets the user's program expand the file of the command line, and nothing else does. The program is
# one of the test's own: it puts the values of its arguments into the file, and writes down how it was called. Without the
# rules that are shown here a world could start a program, a program that hangs or floods could stop a run, and a
# recording could not be replayed where there is no xacro.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
unset GZ_SIM_RESOURCE_PATH SDF_PATH IGN_GAZEBO_RESOURCE_PATH AMENT_PREFIX_PATH ROS_PACKAGE_PATH 2>/dev/null
plain_path=$PATH
mkdir -p bin robots
cat >bin/xacro <<'END'
#!/bin/sh
# xacro FILE NAME:=VALUE...
{
	echo "called"
	for word; do echo "word: $word"; done
	read -r line && echo "input: $line"
} >>"$CALLS"
file=$1
shift
case $file in
*hang*) exec sleep 1000 ;;
*flood*) exec yes '<robot>' ;;
*chatter*) exec yes 'chatter' >&2 ;;
*fail*) echo 'one line' >&2; echo 'undefined property: mass' >&2; exit 2 ;;
*crash*) kill -SEGV $$ ;;
*silent*) exit 0 ;;
*lingers*) sleep 1000 & echo $! >lingering ;;
*warns*) echo 'a deprecated tag' >&2 ;;
esac
cat "$file" >expanded.$$
for word; do
	sed "s|\${${word%%:=*}}|${word#*:=}|g" expanded.$$ >other.$$ && mv other.$$ expanded.$$
done
sed 's|<xacro:property[^>]*>||; s|${height}|0.4|g' expanded.$$
rm expanded.$$
END
chmod +x bin/xacro
export CALLS="$folder/calls" PATH="$folder/bin:$PATH"

# robot FILE: a macro with two values: height has a default
robot()
{
	cat >"$1" <<'END'
<robot name="box" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:property name="height" value="0.4"/>
<link name="body"><inertial><mass value="${mass}"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
<collision><geometry><box size="0.2 0.2 ${height}"/></geometry></collision></link></robot>
END
}
robot robots/box.urdf.xacro
robot robots/macro.urdf
sed 's|<xacro[^>]*>||; s|${mass}|3|; s|${height}|0.4|' robots/box.urdf.xacro >robots/box.urdf

# expands STATUS ARGUMENT...: as `does`; the starts of xacro are counted anew
expands()
{
	: >calls
	does "$@"
}
# started TIMES
started()
{
	[ "$(grep -c '^called$' calls)" = "$1" ]
	report $? "xacro is started $1 times: $(cat calls)"
}

# --- what it makes is what is run -------------------------------------------------------------------------------------

expands 0 print robots/box.urdf
sed 's/ urdf="[^"]*"//' out >plain
for file in robots/box.urdf.xacro robots/macro.urdf; do
	expands 0 print --xacro --xacro-arg mass:=3 $file
	started 1
	cmp -s out plain
	report $? "$file is printed as the robot that xacro makes"
done
expands 0 check --xacro --xacro-arg mass:=3 robots/box.urdf.xacro
started 1
said output 'box.urdf.xacro: can be run: worlds: 1, models: 1'
expands 0 topics --xacro --xacro-arg mass:=3 robots/box.urdf.xacro
started 1
said output '/world/default/clock'
expands 0 run robots/box.urdf --rtf 0 --iterations 50 --hash-every 50 -v 0
cp out plain
expands 0 run --xacro --xacro-arg mass:=3 robots/box.urdf.xacro --rtf 0 --iterations 50 --hash-every 50 -v 0
started 1
cmp -s out plain
report $? 'the same hash as the robot that xacro makes'
expands 0 print --xacro --xacro-arg mass:=4 robots/box.urdf.xacro
said output '<mass>4</mass>'
expands 0 print --xacro --xacro-arg mass:=4 --resource-path robots box.urdf.xacro
said output '<mass>4</mass>'
cat >settings.xml <<'END'
<troupe><world>robots/box.urdf.xacro</world><xacro>true</xacro><xacro-arg>mass:=3</xacro-arg><iterations>50</iterations></troupe>
END
expands 0 run --config settings.xml --rtf 0 --hash-every 50 -v 0
cmp -s out plain
report $? 'the same hash from a configuration file'
# a file that needs no xacro is read as it is
expands 0 check --xacro robots/box.urdf
started 0
expands 0 run --xacro warehouse --rtf 0 --iterations 2
started 0
# the name of a file is no option of xacro
robot ./-box.xacro
expands 0 print --xacro --xacro-arg mass:=3 -- -box.xacro
grep -qx 'word: ./-box.xacro' calls
report $? 'a file whose name begins with a dash'

# --- arguments are words, not text of a shell -------------------------------------------------------------------------

rm -f made
# shellcheck disable=SC2016
expands 1 print --xacro --xacro-arg 'mass:=3 $(touch made); touch made' robots/box.urdf.xacro
# shellcheck disable=SC2016
grep -qxF 'word: mass:=3 $(touch made); touch made' calls && [ ! -e made ]
report $? 'an argument reaches xacro as it is'
for wrong in 'mass' ':=3' '--help:=1' '-o'; do
	expands 2 print --xacro "--xacro-arg=$wrong" robots/box.urdf.xacro
	said output "--xacro-arg: '$wrong': expected NAME:=VALUE"
	started 0
done
expands 2 print --xacro-arg mass:=3 robots/box.urdf.xacro
said output '--xacro-arg without --xacro'
expands 2 run --xacro --resume state
started 0

# --- only the user's command line starts it ---------------------------------------------------------------------------

for command in run check print topics; do
	expands 1 $command robots/box.urdf.xacro
	said output 'box.urdf.xacro:2: <xacro:property> is a macro of xacro: expected the output of .xacro FILE.; .* --xacro'
	started 0
done
cat >world.sdf <<'END'
<sdf version="1.9"><world name="w"><include><uri>robots/box.urdf.xacro</uri></include></world></sdf>
END
expands 1 check --xacro world.sdf
said output 'box.urdf.xacro:2: .* is a macro of xacro'
started 0
cat >macro.sdf <<'END'
<sdf version="1.9"><world name="w"><xacro:include filename="other.sdf"/></world></sdf>
END
expands 1 check macro.sdf
said output 'macro.sdf:1: <xacro:include> is a macro of xacro'
sed 's|<xacro[^>]*>||; s|${height}|$(arg height)|' robots/box.urdf.xacro >bare.urdf
expands 1 check bare.urdf
said output 'bare.urdf:3: <mass> is a macro of xacro'

# --- a program that is missing, fails, hangs or floods ----------------------------------------------------------------

PATH=$plain_path expands 1 run --xacro robots/box.urdf.xacro
said output 'troupe run: --xacro: no program xacro in PATH'
for how in fail crash silent flood lingers warns hang chatter; do
	robot $how.xacro
done
expands 1 run --xacro fail.xacro
said output 'troupe run: xacro: one line'
said output 'troupe run: fail.xacro: xacro has failed with status 2: undefined property: mass'
expands 1 check --xacro crash.xacro
said output 'crash.xacro: xacro has crashed'
expands 1 check --xacro silent.xacro
said output 'silent.xacro: xacro has written nothing'
expands 1 check --xacro flood.xacro
said output 'flood.xacro: xacro writes more than 64 MiB'
expands 0 check --xacro --xacro-arg mass:=3 warns.xacro
said output 'xacro: a deprecated tag'
expands 0 check --xacro --xacro-arg mass:=3 lingers.xacro
said output 'can be run'
for tries in $(seq 300); do # a signal takes a while on a busy machine
	state=$(awk '{ print $3 }' "/proc/$(cat lingering)/stat" 2>/dev/null)
	[ "${state:-Z}" = Z ] && break
	sleep 0.1
done
[ "${state:-Z}" = Z ]
report $? "what xacro has started ends with it ($tries looks)"
timeout 100 "$troupe" run --xacro hang.xacro >out 2>err &
run=$!
for _ in $(seq 200); do
	grep -q hang calls && break
	sleep 0.2
done
kill "$run"
wait "$run"
[ $? = 0 ] || [ $? = 143 ]
report $? 'a run that waits for xacro obeys SIGTERM'
if [ -n "$long" ]; then
	for how in hang chatter; do
		expands 1 check --xacro $how.xacro
		said output "$how.xacro: xacro has not ended after 60 s"
	done
fi

# --- other processes need no xacro ------------------------------------------------------------------------------------

expands 0 run --xacro --xacro-arg mass:=3 robots/box.urdf.xacro --rtf 0 --iterations 50 --record recording --save-at 20 state
PATH=$plain_path expands 0 replay recording
said output 'all the same'
PATH=$plain_path expands 0 run --resume state --rtf 0 --iterations 50 --hash-every 50 -v 0
cmp -s out plain
report $? 'a saved state has the robot'
expands 0 run --xacro --xacro-arg mass:=3 robots/box.urdf.xacro --rtf 0 --iterations 50 --hash-every 50 -v 0 --transport tcp --network-stale-ms 60000 \
	--secondaries 1
started 1
cmp -s out plain
report $? 'secondaries of a network have the robot'

totals
