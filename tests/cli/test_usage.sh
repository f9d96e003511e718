#!/bin/sh
# Shows what the command accepts and refuses: the exit status, and the one line that says why. Compares the --help of
# each command with its manual page.
# optional commands: groff
on_terminal=$(cd "${BUILD_DIR:-.}" && pwd)/tests/cli/on_terminal
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"

# one_line FILE: whether it has one line; without a process, because this script asks some seven hundred times
one_line()
{
	{ read -r _ && ! read -r _; } <"$1"
}

# bad STATUS PATTERN ARGUMENTS...: this status, nothing on standard output, one line on standard error with the pattern
bad()
{
	want=$1 pattern=$2
	shift 2
	timeout 60 "$troupe" "$@" >out 2>err
	status=$?
	[ $status = "$want" ] && [ ! -s out ] && one_line err && grep -qE -e "$pattern" err
	report $? "status $status, not $want with one line /$pattern/: troupe $*"
}

# good PATTERN ARGUMENTS...: status 0, the pattern on standard output or standard error
good()
{
	pattern=$1
	shift
	timeout 60 "$troupe" "$@" >out 2>err
	status=$?
	[ $status = 0 ] && cat out err | grep -qE -e "$pattern"
	report $? "status $status, not 0 with /$pattern/: troupe $*"
}

cat >w.sdf <<'END'
<sdf version="1.9"><world name="w">
  <physics type="ode"><max_step_size>0.001</max_step_size><real_time_factor>0</real_time_factor></physics>
  <model name="ball one"><pose>0 0 1 0 0 0</pose><link name="l">
    <inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
    <collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link></model>
  <model name="ball two"><pose>0 5 1 0 0 0</pose><link name="l">
    <inertial><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
    <collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link></model>
  <plugin name="gz::sim" filename="">
    <performer name="p1"><ref>ball one</ref><geometry><box><size>1 1 1</size></box></geometry></performer>
    <performer name="p2"><ref>ball two</ref><geometry><box><size>1 1 1</size></box></geometry></performer>
    <level name="the level"><pose>0 0 1 0 0 0</pose><geometry><box><size>2 2 2</size></box></geometry>
      <buffer>1</buffer></level>
  </plugin>
</world></sdf>
END
echo '<sdf version="1.9"><world name="w">' >broken.sdf
echo 'not XML' >text.sdf
: >empty.sdf
echo '<mujoco name="x"/>' >robot.sdf
echo '<sdf version="1.9"/>' >none.sdf
echo '<sdf version="1.9"><world name="v"/><world name="w"/></sdf>' >two.sdf
sed 's|<mass>1</mass>|<mass>-1</mass>|' w.sdf >mass.sdf
sed 's|<radius>0.1</radius>|<radius>abc</radius>|' w.sdf >radius.sdf

# --- wrong usage ---------------------------------------------------------------------------------------------------
bad 2 'no command given: expected run, replay, bisect, diff, mcap, view, plot, check, print, worlds, topics, keygen, topic or service; see troupe --help'
bad 2 "'fly': no such command: expected run, replay, bisect, diff, mcap, view, plot, check, print, worlds, topics, keygen, topic or service" fly
bad 2 "'--fly': no such option" --fly
bad 2 "'': no such command" ''
bad 2 'troupe topic: no action given: expected list, info, echo, hz or pub; see troupe topic --help' topic
bad 2 "troupe topic: 'fly': no such action: expected list, info, echo, hz or pub" topic fly
bad 2 'troupe service: no action given: expected list, info or call; see troupe service --help' service
bad 2 'troupe topic echo: no TOPIC given; see troupe topic echo --help' topic echo
bad 2 'troupe topic pub: no type \(-m TYPE\) given; see troupe topic pub --help' topic pub /t
bad 2 'troupe topic pub: no message \(-p TEXT\) given' topic pub /t -m Twist
bad 1 "troupe topic pub: message of type gz.msgs.Twist: column 1: .*no field 'fly'" topic pub /t -m Twist -p 'fly: 1'
bad 1 "troupe topic pub: type 'Fly' is not known: expected one of gz.msgs" topic pub /t -m Fly -p 'x: 1'
bad 1 "troupe topic pub: 'abc': expected pairs of hexadecimal digits" topic pub /t -m Fly --raw -p abc
bad 2 'troupe run: no WORLD.sdf given; see troupe run --help' run
bad 2 'troupe check: no WORLD.sdf given; see troupe check --help' check
bad 2 'troupe print: no WORLD.sdf given' print --flat
bad 2 "troupe run: 'x.sdf': a second argument: expected only one WORLD.sdf" run w.sdf x.sdf
bad 2 "troupe run: '': expected WORLD.sdf" run ''
bad 2 "troupe run: --fly: no such option; see troupe run --help" run --fly w.sdf
bad 2 "troupe run: --fly: no such option" run --fly=3 w.sdf
bad 2 "troupe run: --secondary: no such option; there is --secondaries; see troupe run --help" run --secondary 2 w.sdf
bad 2 "troupe run: -q: no such option" run -q w.sdf
bad 2 "troupe run: -q: no such option" run -rq w.sdf
bad 2 "troupe run: --iterations: no N given" run w.sdf --iterations
bad 2 "troupe run: --iterations: no N given" run --iterations --paused w.sdf
bad 2 "troupe run: --report: no FILE given" run w.sdf --report
bad 2 "troupe run: --report: '': expected FILE" run w.sdf --report=
bad 2 "troupe run: -z: no HZ given" run w.sdf -z
bad 2 "troupe run: --paused: 'yes': expected no argument" run w.sdf --paused=yes
for value in -1 1e3 abc '' ' 5' '5 ' 5x 0x10 1.0; do
	bad 2 "^troupe run: --iterations: '$value': expected a whole number of 0 or more$" run w.sdf --iterations "$value"
done
bad 2 "^troupe run: --iterations: '99999999999999999999': expected at most 9223372036854775807$" \
	run w.sdf --iterations 99999999999999999999
bad 2 "troupe run: --iterations: 'abc': expected" run --iterations=abc w.sdf
for value in -1 1025 abc; do
	bad 2 "troupe run: --secondaries: '$value': expected a whole number from 0 to 1024" run --secondaries $value w.sdf
done
for value in -1 nan inf 1e7 abc ''; do
	bad 2 "troupe run: --rtf: '$value': expected a number from 0 to 1e\+06" run --rtf "$value" w.sdf
done
for value in 0 -5 nan abc 1,5; do
	bad 2 "troupe run: -z: '$value': expected a number from 0.001 to 1e\+12" run -z $value w.sdf
done
bad 2 "troupe run: --until: '-1': expected a number from 0" run --until -1 w.sdf
bad 2 "troupe run: --initial-sim-time: 'x': expected a number" run --initial-sim-time x w.sdf
bad 2 "troupe run: --seed: '1.5': expected a whole number" run --seed 1.5 w.sdf
bad 2 "troupe run: --chaos: 'x': expected a whole number" run --chaos x w.sdf
bad 2 "troupe run: --chaos-moves: '-1'" run --chaos 1 --chaos-moves -1 w.sdf
bad 2 "troupe run: --hash-every: '-1': expected a whole number" run --hash-every -1 w.sdf
bad 2 "troupe run: -v: '5': expected a whole number from 0 to 4" run -v5 w.sdf
bad 2 "troupe run: -v: '-1': expected a whole number from 0 to 4" run -v -1 w.sdf
bad 2 "troupe run: --distribution: 'random': expected round-robin or balanced$" run --distribution random w.sdf
bad 2 "troupe run: --distribution: 'round': expected round-robin or balanced" run --distribution round w.sdf
bad 1 "pin 'nobody=1': w.sdf has no 'nobody' that can be pinned: expected a performer" run --pin nobody=1 w.sdf
bad 1 "pin 'ball one': expected PERFORMER=I" run --pin 'ball one' w.sdf
bad 1 "pin 'ball one=0': expected PERFORMER=I" run --pin 'ball one=0' w.sdf
bad 1 "pin '=1': expected PERFORMER=I" run --pin =1 w.sdf
# A performer is given by its own name or by its model's; a name with two meanings is refused.
bad 1 "pin 'p1=2': 'p1' is pinned twice: expected once; the other pin is 'ball one=1'" run --pin 'ball one=1' --pin p1=2 w.sdf
sed 's|<performer name="p2">|<performer name="ball one">|' w.sdf >both.sdf
bad 1 "pin 'ball one=1': 'ball one' is the model 'ball one' and the performer of model 'ball two': expected a name" \
	run --pin 'ball one=1' both.sdf
sed 's|<performer name="p2">|<performer name="p1">|' w.sdf >both.sdf
bad 1 "pin 'p1=1': 'p1' is the performer of model 'ball one' and the performer of model 'ball two'" run --pin p1=1 both.sdf
sed 's|<level name="the level">|<level name="p2">|' w.sdf >both.sdf
bad 1 "pin 'p2=1': 'p2' is the performer of model 'ball two' and the level 'p2': expected" run --pin p2=1 both.sdf
sed 's|<performer name="p1">|<performer name="ball one">|' w.sdf >same.sdf
bad 1 "no/x.csv: cannot write: No such file" run --costs no/x.csv w.sdf
bad 2 "troupe run: --costs-every: '0'" run --costs-every 0 w.sdf
bad 2 "troupe run: --break: 'all': expected random, pairs, rotation, reference, proof, sleepers, levels, leavers, ties, notes or hits" run --break all w.sdf
bad 2 "troupe run: --rtf and --update-rate: expected only one of them" run --rtf 1 -z 100 w.sdf
bad 2 "troupe run: -g: .*not part of troupe" run -g w.sdf
# Every flag of any version of Gazebo is accepted, or refused with a hint at troupe's own option.
gazebo='-g --gui -s -r -f --file -v --verbose -z --iterations --initial-sim-time --levels --distributed --network-role
	--network-secondaries --seed --wait-for-assets --record --record-path --record-resources --record-topic --record-period
	--log-overwrite --log-compress --playback --physics-engine --headless-rendering --render-engine --render-engine-gui
	--render-engine-server --render-engine-api-backend --render-engine-gui-api-backend --render-engine-server-api-backend
	--gui-config --version --versions --force-version --help --help-all -h'
for flag in $gazebo; do
	timeout 60 "$troupe" run "$flag" >out 2>err </dev/null
	! grep -q 'no such option' out err
	report $? "$flag of Gazebo is not known"
done
bad 2 "troupe run: no WORLD.sdf given" run --record w.sdf
bad 2 "troupe run: --record-every: '0': expected a whole number of 1 or more" run --record r --record-every 0 w.sdf
bad 2 'troupe replay: no FILE given; see troupe replay --help' replay
bad 2 "troupe replay: --until-step: 'x': expected a whole number of 0 or more" replay r --until-step x
bad 2 "troupe replay: --iterations: no such option" replay --iterations 5 r
bad 2 "troupe replay: --network-stale-ms without --transport tcp: expected both" replay --network-stale-ms 500 r
bad 2 "troupe replay: --transport tcp with --secondaries 0: expected at least 1" replay --transport tcp --secondaries 0 r
bad 1 'r: ' replay --transport tcp --secondaries 2 r
bad 2 'troupe replay: --topic without --mcap: expected both' replay --topic /clock r
bad 2 'troupe mcap: no RECORDING given; see troupe mcap --help' mcap
bad 2 'troupe mcap: no file given to write: expected -o FILE; see troupe mcap --help' mcap r
bad 2 "troupe mcap: --topic: '/clock@0': expected PATTERN or PATTERN@HZ, with more than 0 and at most 1e9 Hz; see" mcap r -o m --topic /clock@0
bad 2 "troupe mcap: --topic: '@5': expected PATTERN or PATTERN@HZ" mcap r -o m --topic @5
bad 1 'm/m: cannot write: ' mcap r -o m/m
bad 2 'troupe run: --topic without --mcap: expected both' run --topic /clock w.sdf
bad 2 "troupe run: --topic: 'x@y': expected PATTERN or PATTERN@HZ" run --mcap m --topic x@y w.sdf
claim_domain
# a run waits only for clients that can come: not by way of gateways that have no services for them
for gateway in '' '--foxglove 0' '--view-address 0' '--watch-listen 127.0.0.1:0' "--ros2 --ros2-domain $domain"; do
	# shellcheck disable=SC2086 # words
	bad 2 '^troupe run: (--wait-for: no barrier client can join: expected|--[a-z0-9]*: .*build)' run -v 0 --no-gz --wait-for c \
		--iterations 1 $gateway w.sdf
done
timeout 60 "$troupe" run -v 0 --no-gz --rosbridge 0 --wait-for c --wait-for-timeout 0.1 w.sdf >out 2>err
case "$? $(cat err)" in
"3 troupe run: barrier client 'c' did not join within 0.1 s" | '2 '*build*) report 0 '' ;;
*) report 1 "clients that join by rosbridge are not awaited: $(cat err)" ;;
esac
bad 2 "troupe run: --wait-for: 'a b': expected 1 to 63 letters, digits, '_', '-' and '.'" run --wait-for 'a b' w.sdf
bad 2 "troupe run: --record-path: " run --record-path=x w.sdf
bad 2 "troupe run: --playback: " run --playback x
bad 2 "troupe run: --physics-engine: .*ODE" run --physics-engine x w.sdf
bad 2 "troupe run: --network-role primary without --network-secondaries: expected" run --network-role primary w.sdf
bad 2 "troupe run: --network-role: 'x': expected primary, secondary, client, standby or none" run --network-role x w.sdf
bad 2 "troupe run: no WORLD.sdf given" run --network-role Primary --network-secondaries 2
bad 2 "troupe run: --network-secondaries: '0': expected a whole number from 1 to" run --network-secondaries 0 w.sdf
bad 2 "troupe run: --secondaries 3 and --network-secondaries 2: expected the same number, or only one of them" run --network-role PRIMARY --network-secondaries 2 \
	--secondaries 3 w.sdf
bad 2 "troupe run: --network-address: not without --network-role" run --network-address 127.0.0.1 w.sdf
bad 2 "troupe run: --network-address: not with --network-role primary" run --network-role primary \
	--network-secondaries 1 --network-address 127.0.0.1 w.sdf
bad 2 "troupe run: --network-listen: not with --network-role secondary" run --network-role secondary --network-listen :1
bad 2 "troupe run: --network-socket: '77': expected the number of an open socket" run --network-role secondary --network-socket 77
bad 2 "troupe run: --network-socket: '1': expected the number of an open socket" run --network-role secondary --network-socket 1
bad 2 "troupe run: --network-stale-ms: not without --network-role or --transport tcp;" run --network-stale-ms 100 w.sdf
bad 2 "troupe run: --network-wait: not without --network-role;" run --network-wait 1 w.sdf
bad 2 "troupe run: --network-threads: not without --network-role or --transport tcp;" run --network-threads 2 w.sdf
bad 2 "troupe run: --network-threads: not with --network-role primary" run --network-role primary --network-secondaries 1 \
	--network-threads 2 w.sdf
for threads in 0 257 1000 -1 two 1.5 ''; do
	bad 2 "troupe run: --network-threads: '$threads': expected a whole number from 1 to 256" run --network-role secondary \
		--network-threads "$threads"
done
bad 2 "troupe run: --transport: 'udp': expected inproc, tcp or mpi" run --transport udp w.sdf
bad 2 "troupe run: transport 'mpi'" run --transport mpi w.sdf
bad 2 "troupe run: --transport mpi and --network-role primary: expected only one of them: the rank of a process is its role" run \
	--transport mpi --network-role primary w.sdf
bad 2 "troupe run: --network-socket: not with --transport mpi" run --transport mpi --network-socket 3 w.sdf
bad 2 "troupe replay: --transport: 'mpi': expected inproc or tcp" replay --transport mpi r
bad 2 "troupe run: --transport tcp with --secondaries 0: expected at least 1" run --transport tcp --secondaries 0 w.sdf
bad 2 "troupe run: --transport tcp and --network-role primary: expected only one of them: .*, and this role waits for secondaries;" run \
	--transport tcp --network-role primary w.sdf
bad 2 "troupe run: --transport tcp and --network-role secondary: expected only one of them: .*, and this role is that of a secondary;" run \
	--transport TCP --network-role Secondary
bad 2 "troupe run: --transport: not with --network-role primary" run --transport inproc --network-role primary w.sdf
bad 2 "troupe run: --network-secondaries: not with --transport tcp" run --transport tcp --network-secondaries 2 w.sdf
bad 2 "troupe run: --network-role primary without --network-secondaries: expected" run --network-role primary --secondaries 0 w.sdf
# Options that have no effect at a secondary are refused there.
for option in '--commands c' '--report r' '--record r' '--record r --record-every 5' '--iterations 5' '--until 5' '--rtf 1' \
	'--update-rate 5' '--initial-sim-time 1' '--paused' '-r' '--seed 1' '--save-at 5 s' '--save-every 5 s' '--save-on-stop s' '--save-dir .' \
	'--log l' '--log l --log-every 5' '--pin a=1' '--hash-every 5' '--trace' '--costs c' '--secondaries 2' '--distribution balanced' '--no-levels' '--levels' \
	'--no-sleep' '--strict' '--resource-path .' '--resume s' '--chaos 1' '--network-secondaries 2' '--network-listen :1' \
	'--network-stale-ms 500'; do
	# shellcheck disable=SC2086
	bad 2 "^troupe run: ${option%% *}: not with --network-role secondary: it is for the primary; see troupe run --help$" \
		run --network-role secondary $option
done
bad 2 "^troupe run: --transport: not with --network-role secondary;" run --network-role secondary --transport inproc
bad 2 "troupe run: --network-key-file and --network-insecure: expected only one of them" run --network-role secondary \
	--network-key-file k --network-insecure
bad 2 "troupe run: --network-address and --network-interface: expected only one of them" run --network-role secondary \
	--network-address 127.0.0.1 --network-interface lo
bad 1 "'nothing0': no such network interface" run --network-role primary --network-secondaries 1 --network-listen :0 \
	--network-interface nothing0 w.sdf
bad 2 "troupe run: --costs-every without --costs: expected both" run --costs-every 5 w.sdf
bad 2 "troupe run: --record-every without --record: expected both" run --record-every 5 w.sdf
bad 2 "troupe run: --log-every without --log: expected both" run --log-every 5 w.sdf
bad 2 "troupe run: --log-what without --log: expected both" run --log-what model w.sdf
bad 2 "troupe run: --log-every: '0': expected a whole number of 1 or more" run --log l --log-every 0 w.sdf
bad 2 "troupe run: --log-what: 'lnik': no such kind: expected model, link, joint, .* or sensor; see" run --log l \
	--log-what lnik:x w.sdf
bad 2 'troupe plot: no FILE.csv given; see troupe plot --help' plot
bad 2 "troupe plot: --width: '10': expected a whole number from 300 to 20000" plot --width 10 l
bad 2 "troupe plot: --iterations: no such option" plot --iterations 5 l
bad 2 "troupe run: --chaos-moves without --chaos: expected both" run --chaos-moves 5 w.sdf
bad 1 "pin 'ball one=2': 'ball one' is pinned twice: expected once" run --pin 'ball one=1' --pin 'ball two=1' --pin 'ball one=2' w.sdf
bad 1 "no/key: " run --network-role secondary --network-address 192.0.2.1:1 --network-key-file no/key
HOME=$folder XDG_CONFIG_HOME= bad 1 "without a key only this machine" run --network-role secondary --network-address 192.0.2.1
bad 1 "two.sdf: 2 worlds: expected one in networked mode" run --transport tcp --secondaries 1 two.sdf
bad 1 "no/s: cannot write" run --save-on-stop no/s w.sdf
bad 1 "no: expected a folder, in which files can be made for clients" run --save-dir no w.sdf
bad 2 "troupe run: --headless-rendering: " run --headless-rendering w.sdf
bad 2 "troupe check: --iterations: no such option" check --iterations 5 w.sdf
bad 2 "troupe print: --flat: '1': expected no argument" print --flat=1 w.sdf

# --- bad input -----------------------------------------------------------------------------------------------------
for command in run print; do
	bad 1 'missing.sdf: ' $command missing.sdf
	bad 1 'broken.sdf:[0-9]+: ' $command broken.sdf
	bad 1 'text.sdf:1: ' $command text.sdf
	bad 1 'empty.sdf' $command empty.sdf
	bad 1 'robot.sdf:1: ' $command robot.sdf
	bad 1 "$folder: " $command "$folder"
	bad 1 '--help' $command -- --help
done
bad 1 'none.sdf: no <world>' run none.sdf
bad 1 'mass.sdf:[45]: ' run mass.sdf
bad 1 'radius.sdf:[56]: .*abc' run radius.sdf
for world in missing broken text empty robot none mass radius; do
	timeout 60 "$troupe" check $world.sdf >out 2>err
	status=$?
	[ $status = 1 ] && grep -q "^error: .*$world.sdf" err && grep -q "^$world.sdf: cannot be run: errors: [1-9]" out
	report $? "status $status: troupe check $world.sdf"
done

# --- worlds by name ------------------------------------------------------------------------------------------------
bad 1 'nowhere: cannot open: .*; and no world of this name is in a resource path or comes with troupe' run nowhere
bad 1 '^[^;]*/nowhere: cannot open: [^;]*$' run "$folder/nowhere"
mkdir -p given/deep old new worlds_of_gazebo folder.sdf
sed 's|world name="w"|world name="given"|' w.sdf >given/place.sdf
sed 's|world name="w"|world name="deep"|' w.sdf >given/deep/place.sdf
for variable in old new worlds_of_gazebo; do
	sed "s|world name=\"w\"|world name=\"$variable\"|" w.sdf >$variable/place.sdf
done
# place WORLD ARGUMENTS...: this world is run, checked and printed
place()
{
	world=$1
	shift
	for name in place place.sdf; do
		good "world '$world'" run -v3 --iterations 5 "$@" $name
		good "^[^ ]*place.sdf: can be run" check "$@" $name
		good "<world name=\"$world\"" print "$@" $name
	done
}
place given --resource-path given
place given --resource-path nowhere --resource-path given --resource-path old
good "world 'deep'" run -v3 --iterations 5 --resource-path given deep/place
GZ_SIM_RESOURCE_PATH=$folder/nowhere:$folder/new:$folder/old place new
IGN_GAZEBO_RESOURCE_PATH=$folder/old place old
SDF_PATH=:$folder/old: place old
GZ_SIM_RESOURCE_PATH=$folder/new SDF_PATH=$folder/worlds_of_gazebo IGN_GAZEBO_RESOURCE_PATH=$folder/old place new
GZ_SIM_RESOURCE_PATH=$folder/new place given --resource-path given
# An existing file comes before all folders; an existing folder does not.
cp w.sdf place
GZ_SIM_RESOURCE_PATH=$folder/new good "world 'w'" run -v3 --iterations 5 place
rm place
mkdir place
GZ_SIM_RESOURCE_PATH=$folder/new place new
cp w.sdf place.sdf
GZ_SIM_RESOURCE_PATH=$folder/new good "world 'w'" run -v3 --iterations 5 place
rm -r place place.sdf
# worlds that come with troupe are found from any folder
good "world 'specification'" run -v3 --iterations 5 specification
good '^40 steps' run --iterations 40 warehouse.sdf --commands warehouse
good '^40 steps' run --iterations 40 warehouse --commands warehouse.commands
good 'warehouse.sdf: can be run' check warehouse
printf '<troupe><world>place</world><resource-path>given</resource-path><iterations>5</iterations></troupe>' >c.xml
good "world 'given'" run -v3 --config c.xml
# a world found by its name is saved and recorded like a file
mkdir -p given/model
echo '<sdf version="1.9"><model name="m"><link name="l"/></model></sdf>' >given/model/model.sdf
sed 's|</world>|<include><uri>model</uri></include></world>|' given/place.sdf >given/more.sdf
GZ_SIM_RESOURCE_PATH=$folder/given good '^20 steps' run more --iterations 20 --save-at 10 state --record recording
mv given hidden
good '^20 steps' run --resume state --iterations 20
good '20 steps, .* all the same' replay recording
mv hidden given

# --- roles, and where they come from -------------------------------------------------------------------------------
short='--iterations 5 --rtf 0 -v0'
# alone OPTION...: runs in one process, and prints one line with the pattern
alone()
{
	pattern=$1
	shift
	# shellcheck disable=SC2086
	timeout 60 "$troupe" run w.sdf $short "$@" >out 2>err
	status=$?
	[ $status = 0 ] && { [ -z "$pattern" ] && [ ! -s err ] || { [ "$(wc -l <err)" = 1 ] && grep -qE -e "$pattern" err; }; }
	report $? "status $status, not 0 with /$pattern/ alone: troupe run $*"
}
alone '' --network-role none
alone '' --network-role NONE --transport InProc --distribution Balanced
alone '' --transport TCP --secondaries 1 --distribution ROUND-ROBIN
alone '' --transport tcp --secondaries 1 --network-role none
alone '--distributed without --network-role: the world runs in one process' --distributed
bad 2 '--network-listen: not with --network-role none;' run --network-role none --network-listen :1 w.sdf
echo '<troupe><network-role>primary</network-role><network-secondaries>2</network-secondaries>
<network-wait>0.1</network-wait></troupe>' >role.xml
alone '' --config role.xml --network-role none
sed 's/0\.1/20/' role.xml >patient.xml # a secondary of this run may need longer than 0.1 s
alone '' --config patient.xml --network-role none --transport tcp --secondaries 1
sed 's|0.1</network-wait>|1e-9</network-wait>|' role.xml >wait.xml
alone '' --config wait.xml --network-role none --transport tcp --secondaries 1
bad 3 'waited 0.1 s for 2 secondaries' run --config role.xml -v0 w.sdf --network-listen :0
bad 2 '--network-secondaries: not with --network-role secondary' run --config role.xml --network-role secondary
for prefix in IGN_GAZEBO_NETWORK GZ_SIM_NETWORK; do
	export ${prefix}_SECONDARIES=2
	alone "^troupe run: ${prefix}_SECONDARIES in the environment is ignored: without a network role the world runs in one process$"
	alone "^troupe run: ${prefix}_SECONDARIES in the environment is ignored: with --transport tcp" --transport tcp --secondaries 1
	alone '' --network-role none
	export ${prefix}_ROLE=Primary
	alone '' --network-role none
	timeout 60 "$troupe" run w.sdf --network-address 127.0.0.1 >out 2>err
	[ $? = 2 ] && grep -q "^troupe run: --network-address: not with ${prefix}_ROLE=Primary in the environment;" err
	report $? "what does not fit ${prefix}_ROLE"
	# shellcheck disable=SC2086
	timeout 60 "$troupe" run w.sdf $short --network-wait 0.1 --network-listen :0 >out 2>err
	[ $? = 3 ] && [ "$(wc -l <err)" = 3 ] && grep -q "^troupe run: ${prefix}_ROLE in the environment is deprecated" err &&
		grep -q "^troupe run: ${prefix}_SECONDARIES in the environment is deprecated" err &&
		grep -q 'waited 0.1 s for 2 secondaries' err
	report $? "${prefix}_ROLE and ${prefix}_SECONDARIES"
	# shellcheck disable=SC2086
	timeout 60 "$troupe" run w.sdf $short --network-wait 0.1 --network-listen :0 --secondaries 1 >out 2>err
	[ $? = 3 ] && [ "$(wc -l <err)" = 2 ] && grep -q 'waited 0.1 s for 1 secondary' err
	report $? "${prefix}_SECONDARIES and --secondaries"
	export ${prefix}_SECONDARIES=x
	timeout 60 "$troupe" run w.sdf >out 2>err
	[ $? = 2 ] && grep -q "number of secondaries 'x' in the environment: expected a whole number from 1 to 1024" err
	report $? "${prefix}_SECONDARIES=x"
	unset ${prefix}_ROLE ${prefix}_SECONDARIES
	for variable in ${prefix}_ROLE ${prefix}_SECONDARIES; do
		"$troupe" run --help >out 2>err
		grep -q $variable out && grep -q "$variable" "$source/src/doc/man/troupe-run.1"
		report $? "$variable in --help and in the manual page"
	done
done

# Gazebo's partition. waits PATTERN OPTION...: a primary that waits prints the pattern, or, with '', nothing about a
# partition
waits()
{
	pattern=$1
	shift
	# shellcheck disable=SC2086
	timeout 60 "$troupe" run w.sdf $short --network-role primary --network-secondaries 1 --network-wait 0.1 \
		--network-listen :0 "$@" >out 2>err
	[ $? = 3 ] && if [ -z "$pattern" ]; then ! grep -qi partition err; else [ "$(grep -cE "$pattern" err)" = 1 ]; fi
	report $? "a primary's partition: /$pattern/ with $*"
}
counts='^troupe run: GZ_PARTITION in the environment counts as --network-partition here$'
waits ''
GZ_PARTITION=here waits "$counts"
GZ_PARTITION=here IGN_PARTITION=there waits "$counts"
IGN_PARTITION=there waits '^troupe run: IGN_PARTITION in the environment counts as --network-partition there$'
GZ_PARTITION='' IGN_PARTITION='' waits ''
GZ_PARTITION=here waits '' --network-partition mine
echo '<troupe><network-partition>mine</network-partition></troupe>' >c.xml
GZ_PARTITION=here waits '' --config c.xml
GZ_PARTITION=here waits "waiting for 1 secondary .*, partition 'here'" -v1
GZ_PARTITION=here alone ''
GZ_PARTITION=here alone '' --transport tcp --secondaries 1
GZ_PARTITION=here timeout 60 "$troupe" run --network-role secondary --network-wait 0.1 --network-address 127.0.0.1:1 >out 2>err
[ $? = 3 ] && grep -qE "$counts" err
report $? "a secondary's partition"
for variable in GZ_PARTITION IGN_PARTITION; do
	"$troupe" run --help >out 2>err
	grep -q $variable out && grep -q "$variable" "$source/src/doc/man/troupe-run.1"
	report $? "$variable in --help and in the manual page"
done

# --- files of commands ---------------------------------------------------------------------------------------------
# commands TEXT STATUS PATTERN: runs with a file of commands of this text (with printf's escapes)
commands()
{
	# the text is a format
	# shellcheck disable=SC2059
	printf "$1" >c.txt
	shift
	bad "$@" run --iterations 5 --rtf 0 w.sdf --commands c.txt
}
commands 'abc /world/w/control pause: true\n' 1 "c.txt:1: step 'abc': expected a whole number"
commands '\n# x\n-1 /world/w/control pause: true\n' 1 "c.txt:3: step '-1': expected"
commands '99999999999999999999 /world/w/control pause: true\n' 1 "c.txt:1: step '9+': expected"
commands '1\n' 1 'c.txt:1: no topic: expected STEP TOPIC TEXT'
commands '1 world/w/control pause: true\n' 1 "c.txt:1: topic 'world/w/control': expected a topic that begins with '/'"
commands '1 /start ""\n' 1 "c.txt:1: topic '/start' has no listener"
commands '1 /model/all/cmd_velo ""\n' 1 "c.txt:1: topic '/model/all/cmd_velo' has no listener: expected .*/world/w/control$"
commands '1 /world/w/control "" x\n' 1 "c.txt:1: column 1: expected a field's name"
commands "1 /world/w/control 'pause: true\n" 1 'c.txt:1: .*expected the text in a pair of single quotes'
commands "1 /world/w/control 'pause:\ntrue'\n2 /world/w/control 'pause:\n\n  maybe'\n" 1 \
	"c.txt:3: column 3 of line 3: pause: expected true or false, found 'maybe'"
commands '1 /world/w/control pause: "\n2 /world/w/control pause: true\n' 1 'c.txt:1: a quote in the text is not closed'
commands '1 /world/w/control pause: maybe\n' 1 'c.txt:1: '
commands '1 /world/w/control no_such: 1\n' 1 'c.txt:1: .*no_such'
commands '1 /world/w/control pause: true\n2 /no/such/topic x: 1\n' 1 'c.txt:2: .*/no/such/topic'
commands '1 /world/other/control pause: true\n' 1 'c.txt:1: '
sed 's/world name="w"/world name="my world"/' w.sdf >blank.sdf
printf '1 /start ""\n' >c.txt
bad 1 "topic '/start' has no listener: expected /world/my_world/control" run --iterations 5 blank.sdf --commands c.txt
printf '1 /world/w/control pause: true\n' >c.txt
bad 1 "this one is 'my world', expected /world/my_world/\.\.\." run --iterations 5 blank.sdf --commands c.txt
commands '1 /world/w/control pause: \000true\n' 1 'c.txt:1: a zero byte'
{ printf '1 /world/w/control '; head -c 17000000 /dev/zero | tr '\0' x; echo; } >c.txt
bad 1 'c.txt:1: a command of 17000019 bytes: expected at most 16777216' run --iterations 5 w.sdf --commands c.txt
# A file whose commands are in the worst order takes no longer than a sorted one.
awk 'BEGIN { for (i = 150000; i > 0; i--) print 1000 + i, "/world/w/control pause: false" }' >c.txt
good '' run --iterations 5 --rtf 0 w.sdf --commands c.txt
bad 1 '^troupe run: --commands: missing.txt: cannot open: .*; and no file of commands of this name' run --iterations 5 w.sdf --commands missing.txt
bad 1 'is a folder: expected a file' run --iterations 5 w.sdf --commands "$folder"

# --- configuration files -------------------------------------------------------------------------------------------
# config TEXT STATUS PATTERN [ARGUMENTS]: runs with a configuration file of this text
config()
{
	printf '%s\n' "$1" >c.xml
	shift
	want=$1 pattern=$2
	shift 2
	bad "$want" "$pattern" run --config c.xml --iterations 5 "$@"
}
config '<troupe>' 1 'c.xml:[12]: ' w.sdf
config '' 1 'c.xml' w.sdf
config '<settings/>' 1 'c.xml:1: <settings>: expected <troupe>' w.sdf
config '<troupe a="1"/>' 1 "c.xml:1: attribute 'a' of <troupe>: expected none" w.sdf
config '<troupe>hello</troupe>' 1 "c.xml:1: 'hello' in <troupe>: expected only elements" w.sdf
config '<troupe>
<fly>1</fly></troupe>' 1 'c.xml:2: <fly>: no such setting: expected one of world resource-path plugin-path xacro xacro-arg strict' w.sdf
config '<troupe><config>x</config></troupe>' 1 'c.xml:1: <config>: no such setting: expected one of' w.sdf
config '<troupe><help>true</help></troupe>' 1 'c.xml:1: <help>: no such setting: expected one of' w.sdf
config '<troupe>
 <seed>1</seed>

 <seed>2</seed></troupe>' 1 'c.xml:4: <seed>: given twice' w.sdf
config '<troupe><rtf>fast</rtf></troupe>' 1 "c.xml:1: <rtf>: 'fast': expected a number" w.sdf
config '<troupe><iterations>abc</iterations></troupe>' 1 "c.xml:1: <iterations>: 'abc': expected a whole number" w.sdf
config '<troupe><trace>maybe</trace></troupe>' 1 "c.xml:1: <trace>: 'maybe': expected true or false" w.sdf
config '<troupe><trace/></troupe>' 1 "c.xml:1: <trace>: '': expected true or false" w.sdf
config '<troupe><distribution>x</distribution></troupe>' 1 "c.xml:1: <distribution>: 'x': expected round-robin or balanced" w.sdf
config '<troupe><rtf><x/></rtf></troupe>' 1 'c.xml:1: <rtf>: expected only text in it, no elements' w.sdf
config '<troupe><rtf a="1">0</rtf></troupe>' 1 'c.xml:1: <rtf>: expected only text in it, no attributes' w.sdf
config '<troupe><rtf>1</rtf>
<update-rate>5</update-rate></troupe>' 1 'c.xml:2: <rtf> and <update-rate>: expected only one of them' w.sdf
config '<troupe><seed>1</seed></troupe>' 2 'no WORLD.sdf given'
config '<!DOCTYPE troupe [<!ENTITY x "0">]><troupe><rtf>&x;</rtf></troupe>' 1 'c.xml:1: ' w.sdf
bad 1 'missing.xml: cannot open' run --config missing.xml w.sdf

# --- output that cannot be written ---------------------------------------------------------------------------------
bad 1 '/nowhere/report: cannot write' run --iterations 5 w.sdf --report /nowhere/report
bad 1 'is a folder' run --iterations 5 w.sdf --report "$folder"
if [ ! -c /dev/full ]; then
	skip 'a full device' 'there is no /dev/full'
else
	"$troupe" run --iterations 5 --hash-every 1 w.sdf >/dev/full 2>err
	[ $? = 1 ] && grep -q 'standard output: cannot write' err && [ "$(wc -l <err)" = 1 ]
	report $? 'run into a full device'
	"$troupe" --help >/dev/full 2>err
	[ $? = 1 ] && grep -q 'standard output: cannot write' err
	report $? 'help into a full device'
	for what in 'print w.sdf' 'print --flat w.sdf' 'topics w.sdf' 'topics --json w.sdf'; do
		# shellcheck disable=SC2086
		"$troupe" $what >/dev/full 2>err
		[ $? = 1 ] && grep -q ': standard output: cannot write: No space left on device$' err
		report $? "$what into a full device"
	done
fi
"$troupe" run --iterations 5 --hash-every 1 w.sdf >&- 2>err
[ $? = 1 ] && grep -q 'standard output: cannot write' err
report $? 'run with standard output closed'
# no limit: the run ends because its reader ends
{ timeout 60 "$troupe" run --hash-every 1 w.sdf 2>err; echo $? >status; } | head -n 1 >out
[ "$(cat status)" = 1 ] && grep -q 'standard output: cannot write' err
report $? 'run into a pipe whose reader goes'

# --- what is good --------------------------------------------------------------------------------------------------
good '^usage: troupe COMMAND' --help
good '^usage: troupe COMMAND' -h
good '^troupe [0-9]+\.[0-9]+' --version
good '^fingerprint [0-9a-f]{16}$' --version
good '^mathematics (SLEEF|libm)$' --version
good '^usage: troupe run' run --help
good '^usage: troupe run' run w.sdf -h
good '^usage: troupe check' check --help
good '^usage: troupe replay' replay --help
good '^5 steps' run --iterations 5 --record r w.sdf
good '^5 steps, 2 hashes compared: all the same$' replay r
good '^usage: troupe print' print --help
good '^usage: troupe plot' plot --help
good '^5 steps, 0.005 s simulated' run w.sdf --iterations 5
good '^5 steps' run --iterations=5 w.sdf
good '^5 steps' run --iterations 7 w.sdf --iterations 5
good '^5 steps' run --iterations 5 -- w.sdf
good '^5 steps' run -r -s -v 4 --levels --iterations 5 w.sdf
good '^5 steps' run -rs -v4 --iterations 5 w.sdf
good 'a primary and 2 secondaries' run --secondaries 2 --iterations 5 -v w.sdf
good 'a primary and 2 secondaries' run --secondaries 2 --iterations 5 -vr w.sdf
good 'a single runner' run --secondaries 0 --iterations 5 --verbose=3 w.sdf
good '^5 steps' run -z 100000000 --iterations 5 w.sdf
good '^5 steps' run -z100000000 --iterations 5 w.sdf
good '^5 steps' run --update-rate 1e9 --iterations 5 w.sdf
good '^5 steps' run --paused -r --iterations 5 w.sdf
good '^5 steps' run --distribution round-robin --iterations 5 w.sdf
good '^5 steps' run --distribution balanced --secondaries 2 --iterations 5 w.sdf
good '^5 steps' run --pin 'ball one=2' --pin 'the level=1' --secondaries 2 --iterations 5 w.sdf
good '^5 steps' run --pin 'ball one=2' --secondaries 2 --iterations 5 same.sdf
# models are where they are pinned, by either name
for pins in 'ball one=2|ball two=1' 'p1=2|p2=1' 'p1=2|ball two=1'; do
	good '"performers": \["ball two"\]' run --pin "${pins%|*}" --pin "${pins#*|}" --secondaries 2 --iterations 5 --no-levels \
		--report - w.sdf
	grep -A1 '"secondary": 1' out | grep -q 'performers": \["ball two"\]' && grep -q '"secondary": 2.*"performers": \["ball one"\]' out
	report $? "--pin $pins: another secondary"
done
good "performer 'ball one' is pinned to secondary 9, but there are only 2: the pin is ignored" \
	run --pin 'ball one=9' --secondaries 2 --iterations 5 w.sdf
good '^20 steps, 0.02 s' run --until 0.02 w.sdf
good '^20 steps, 0.02 s' run --initial-sim-time 3 --until 3.02 w.sdf
good '^load 0 the level [12]$' run --trace --secondaries 2 --iterations 5 w.sdf
good '^unload [0-9]+ the level 0$' run --trace --secondaries 0 --iterations 1200 w.sdf
good '^hash 10 [0-9a-f]{16}$' run --hash-every 5 --iterations 10 w.sdf
good '^5 steps' run --chaos 3 --secondaries 2 --iterations 5 w.sdf
good '^5 steps' run --chaos 3 --chaos-moves 2 --secondaries 2 --iterations 5 w.sdf
good '"state_hash": "[0-9a-f]{16}"' run --iterations 5 --report - w.sdf
good 'w.sdf: can be run: worlds: 1, models: 2 \(static: 0, dynamic: 2\), links: 2, joints: 0, bodies: 2,' check w.sdf
good ' collisions: 2, levels: 1, performers: 2, model plug-ins: 0 ' check w.sdf
good '^model ball one ' print --flat w.sdf
good '<sdf version' print w.sdf

"$troupe" run --iterations 5 -v 0 w.sdf >out 2>err && [ ! -s out ] && [ ! -s err ]
report $? 'run -v 0 says something'
"$troupe" run --no-levels --trace --secondaries 2 --iterations 5 w.sdf >out 2>err && ! grep -q level out
report $? 'run --no-levels still has levels'
"$troupe" run --iterations 5 --hash-every 5 w.sdf >hash 2>err && "$troupe" print w.sdf >copy.sdf 2>err &&
	"$troupe" run --iterations 5 --hash-every 5 copy.sdf >out 2>err && cmp -s hash out
report $? 'what print prints does not run to the same hash'
echo '1 /world/w/control pause: true' >c.txt
good '^5 steps, 4 paused for [0-9.]+ s, 0.001 s simulated' run --iterations 5 --commands c.txt w.sdf
printf '1 /world/w/control pause: true\n2 /world/w/control ""\n2 /world/w/control\n3 /world/w/control pause: false\n' >c.txt
good '^5 steps, 2 paused for [0-9.]+ s, 0.003 s simulated' run --iterations 5 --commands c.txt w.sdf
printf "# a note\r\n\r\n  3 /world/w/control 'pause: false'  \r\n\t1   /world/w/control\tpause: true\r\n" >c.txt
good '^5 steps, 2 paused for [0-9.]+ s, 0.003 s simulated' run --iterations 5 --commands c.txt w.sdf

umask 022
"$troupe" run --iterations 5 --report r.json w.sdf >out 2>err && grep -q '"iterations": 5' r.json && [ ! -s out ] &&
	[ "$(ls -l r.json | cut -c1-10)" = -rw-r--r-- ] && ! ls r.json.* 2>err
report $? 'run --report FILE'
"$troupe" run --iterations 6 --report r.json w.sdf >out 2>err && grep -q '"iterations": 6' r.json
report $? 'run --report over an old file'
"$troupe" run --iterations 5 --report /dev/null w.sdf >out 2>err && [ -c /dev/null ]
report $? 'run --report /dev/null'
"$troupe" run --iterations 5 --hash-every 5 --report - w.sdf >out 2>err && head -n 1 out | grep -q '^hash 5 ' &&
	sed -n 2p out | grep -qx '{'
report $? 'the report comes after the lines'

printf '<?xml version="1.0"?>\n<!-- mine -->\n<troupe>\n <world>w.sdf</world> <iterations>7</iterations>\n
 <rtf>0.5</rtf><paused>true</paused> <hash-every>7</hash-every>\n</troupe>\n' >c.xml
good '^hash 7 ' run --config c.xml -r --rtf 0
good '^8 steps, 8 paused for [0-9.]+ s, 0 s simulated' run --config c.xml --iterations 8
good '^7 steps' run --config c.xml -z 1e9
cp w.sdf x.sdf
good "^7 steps" run x.sdf --config c.xml

{
	echo '<sdf version="1.9"><world name="w">'
	for i in $(seq 25); do
		echo "<model name='m$i'><static>1</static><link name='l'/><plugin name='p$i' filename='x'/></model>"
	done
	echo '</world></sdf>'
} >many.sdf
good '^and 5 more warnings' run --iterations 1 many.sdf
[ "$(grep -c '^warning: many.sdf:[0-9]*: ' err)" = 20 ]
report $? 'not 20 warnings'
good '^warning: many.sdf:26: ignored: plugin "p25" x1(: .*)?$' run -v 2 --iterations 1 many.sdf
[ "$(grep -c '^warning: ' err)" = 25 ]
report $? 'not 25 warnings with -v 2'
# a world that wants to be recorded, or to play a recording, makes and reads no file; the warning names the option
cat >log.sdf <<'END'
<sdf version="1.9"><world name="w">
<plugin name="gz::sim::systems::LogRecord" filename="x"><record_path>made</record_path></plugin>
<plugin name="gz::sim::systems::LogPlayback" filename="x"><record_path>no</record_path><playback_path/></plugin>
</world></sdf>
END
good "^warning: log.sdf:2: ignored: .*LogRecord\" x1 .<record_path> is 'made'.: .*--record FILE$" run --iterations 1 log.sdf
good '^warning: log.sdf:3: ignored: .*LogPlayback" x1: .*troupe replay FILE$' run --iterations 1 log.sdf
[ ! -e made ]
report $? 'a world made a file'
# With --recordings it does, in a folder of its own each time, and the result can be played in place of a run.
ball='<model name="m"><pose>0 0 3 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link></model>'
log_world() # FILE PLUGIN ELEMENTS
{
	echo "<sdf version='1.9'><world name='w'><physics type='ode'><real_time_factor>0</real_time_factor></physics>
<plugin name='gz::sim::systems::$2' filename='x'>$3</plugin>$ball</world></sdf>" >"$1"
}
log_world log.sdf LogRecord '<record_path>in/made/</record_path><record_period>0.05</record_period><record_topic>/clock</record_topic>'
plain=$("$troupe" run --iterations 200 --hash-every 200 log.sdf 2>err)
good "^$plain\$" run --recordings --iterations 200 --hash-every 200 log.sdf
grep -qx 'troupe run: log.sdf:2: LogRecord: recorded in in/made' err && ! grep -q ignored err && [ -s in/made/topics.mcap ]
report $? "LogRecord with --recordings: the folder and what is said: $(cat err)"
"$troupe" mcap in/made/recording.troupe -o clock.mcap --topic /clock 2>err && cmp clock.mcap in/made/topics.mcap >>err 2>&1
report $? "<record_topic>: other messages than those of the topic: $(cat err)"
good '^200 steps, 5 hashes compared: all the same$' replay in/made/recording.troupe
grep -q warning err
[ $? = 1 ]
report $? "a replay warns of LogRecord: $(cat err)"
good ' recorded in in/made\(1\)$' run --recordings --iterations 100 --transport tcp --secondaries 2 log.sdf
good '^100 steps, 3 hashes compared: all the same$' replay 'in/made(1)/recording.troupe'
log_world over.sdf LogRecord '<record_path>in/made</record_path><overwrite>true</overwrite><compress>1</compress>'
touch in/made/mine
good '^warning: over.sdf:2: <compress>: the recording is not compressed' run --recordings --iterations 300 over.sdf
[ -e in/made/mine ] && [ ! -e 'in/made(2)' ]
report $? '<overwrite> replaces more than the files of the recording, or makes a folder'
good 'LogRecord is not obeyed, because --record is given$' run --recordings --record other --iterations 100 over.sdf
good '^300 steps, 2 hashes compared: all the same$' replay in/made/recording.troupe
log_world odd.sdf LogRecord '<path>odd</path><record_topic>[ab]</record_topic><record_period>soon</record_period>'
good "<record_topic>: '\[ab\]': expected a topic" run --recordings --iterations 1 odd.sdf
grep -q "<record_period>: 'soon': expected 0 to 1e+09 s: it is not used" err && [ ! -e odd/topics.mcap ]
report $? 'a topic that is no pattern, and a period that is no number'
timeout 60 "$troupe" run --strict --recordings odd.sdf >out 2>err
[ $? = 1 ] && [ ! -e 'odd(1)' ]
report $? 'a run that is refused leaves a folder, or --strict does not refuse it'
log_world usual.sdf LogRecord ''
good ' recorded in troupe-w-recording$' run --recordings --iterations 1 usual.sdf
touch file
log_world file.sdf LogRecord '<record_path>file/in</record_path>'
bad 1 "^troupe run: file.sdf:2: <record_path> of LogRecord: 'file/in': cannot make the folder: " run --recordings file.sdf
log_world play.sdf LogPlayback '<playback_path>in/made</playback_path>'
good '^300 steps, 2 hashes compared: all the same$' run --recordings play.sdf
good 'LogPlayback: troupe replay in/made/recording.troupe, instead of a run$' run --recordings -r --secondaries 0 play.sdf
bad 2 '^troupe run: --commands: not with --recordings and the LogPlayback of play.sdf:2' run --recordings --commands x play.sdf
bad 2 '^troupe run: --recordings and --resume: ' run --recordings --resume x
log_world play.sdf LogPlayback '<playback_path>in/made(1)/recording.troupe</playback_path>'
good '^50 steps, 2 hashes compared: all the same$' run --recordings --transport tcp --secondaries 2 --iterations 50 play.sdf
mkdir gazebo
touch gazebo/state.tlog
log_world play.sdf LogPlayback '<playback_path>gazebo</playback_path>'
bad 1 "^troupe run: play.sdf:2: <playback_path>: 'gazebo/state.tlog': a log of Gazebo, which has another format" run --recordings play.sdf
log_world play.sdf LogPlayback '<path>none</path>'
bad 1 "^troupe run: play.sdf:2: <path>: 'none': No such file" run --recordings play.sdf
log_world play.sdf LogPlayback '<path>log.sdf</path>'
bad 1 '^troupe replay: log.sdf: ' run --recordings -v 0 play.sdf
log_world play.sdf LogPlayback ''
good 'LogPlayback without <playback_path>: the world is run$' run --recordings --iterations 3 play.sdf
good 'model plug-ins: 25 \(known: 0, ignored: 25\), warnings: 25$' check many.sdf

# check goes on after errors: several models and plug-ins have errors, and ignored parts are counted
cat >several.sdf <<'END'
<sdf version="1.9"><world name="w"><population/>
<model name="a"><pose>0 1e8 0 0 0 0</pose><link name="l"/></model>
<model name="b"><pose>1e8 0 0 0 0 0</pose><link name="l"/></model>
<model name="c"><link name="l"><typo/><typo/><my:own/></link><plugin name="p" filename="q"/></model>
<model name="d"><link name="l"><typo/></link><plugin name="p" filename="q"/></model>
</world></sdf>
END
timeout 60 "$troupe" check several.sdf >out 2>err
[ $? = 1 ]
report $? 'check of several errors: status'
for line in '^error: several.sdf:2: model .a. can move' '^error: several.sdf:3: model .b. can move' '^ignored: <population> in <world> x1 \(first at several.sdf:1\)$' \
	'^ignored: <typo> in <link> x3 \(first at several.sdf:4\), which SDF does not know$' \
	'^ignored: plugin "p" x2 \(first at several.sdf:4\)(: .*)?$'; do
	grep -qE "$line" err
	report $? "check does not say: $line"
done
[ "$(grep -c 'typo\|my:own' err)" = 1 ]
report $? 'typo is named more than once, or my:own is'

# All at once: one error for each part that cannot be read; then, without these errors, all ignored parts and the whole
# summary.
cat >all.sdf <<'END'
<sdf version="1.9"><world name="w"><population/><road/>
<plugin name="gz::sim::systems::Physics" filename="a"/>
<plugin name="ignition::gazebo::systems::UserCommands" filename="a"/>
<plugin name="gz::sim::systems::Elevator" filename="a"/>
<plugin name="gz::sim::systems::DiffDrive" filename="a"/>
<plugin name="gz::sim::systems::Elevator" filename="a"/>
<plugin name="gz::sim" filename="">
<performer name="p"><ref>e</ref><geometry><box><size>1 1 1</size></box></geometry></performer>
<level name="v"><geometry><box><size>1 1 1</size></box></geometry><ref>nobody</ref></level></plugin>
<model name="a"><link name="l"><inertial><mass>-1</mass></inertial></link></model>
<model name="b"><link name="l"><collision name="c"><geometry><sphere><radius>abc</radius></sphere></geometry></collision></link></model>
<model name="c"><pose>1 2</pose><link name="l"><typo/><typo/></link><plugin name="p" filename="q"/></model>
<model name="d"><static>1</static><link name="l"><collision name="c"><geometry><mesh><uri>no.stl</uri></mesh></geometry></collision></link></model>
<model name="e"><link name="l"/></model>
<model name="f"><link name="k"/><link name="l"/><joint name="j" type="fixed"><parent>k</parent><child>x</child></joint>
<plugin name="gz::sim::systems::JointController" filename=""><joint_name>no</joint_name></plugin>
<plugin name="gz::sim::systems::VelocityControl" filename=""/></model>
<include><uri>model://nothing</uri></include>
</world></sdf>
END
# says STATUS PATTERN...: `troupe check all.sdf` has this status, and on standard error one line for each pattern, and
# no others
says()
{
	want=$1
	shift
	timeout 60 "$troupe" check all.sdf >out 2>err
	status=$?
	[ $status = "$want" ] && [ "$(wc -l <out)" = 1 ] && [ "$(wc -l <err)" = $# ]
	report $? "check of all.sdf: status $status, not $want, or not one line and $#"
	for line in "$@"; do
		[ "$(grep -cE "$line" err)" = 1 ]
		report $? "check does not say once: $line"
	done
}
says 1 '^error: all.sdf:10: <mass> is -1' '^error: all.sdf:11: <radius> is "abc"' '^error: all.sdf:12: <pose> is "1 2"' \
	'^error: all.sdf:15: <child> of joint "j" is "x"' '^error: all.sdf:18: <include> of "model://nothing"' \
	'^ignored: <typo> in <link> x2 \(first at all.sdf:12\), which SDF does not know$' \
	'^warning: all.sdf:13: "no.stl" of model "d"'
grep -qx 'all.sdf: cannot be run: errors: 5, warnings: 2' out
report $? 'not 5 errors and 2 warnings'
sed -i 's|<mass>-1|<mass>1|; s|abc|1|; s|<pose>1 2</pose>||; s|<child>x|<child>l|; /<include>/d' all.sdf
says 0 '^warning: all.sdf:13: "no.stl" of model "d"' "^warning: all.sdf:9: <level name='v'>: .*'nobody'" \
	"^warning: all.sdf:16: .*there is no joint 'no' in model 'f'" '^ignored: <population> in <world> x1 \(first at all.sdf:1\)$' \
	'^ignored: <road> in <world> x1 \(first at all.sdf:1\)$' \
	'^ignored: <typo> in <link> x2 \(first at all.sdf:12\), which SDF does not know$' \
	'^ignored: plugin "p" x1 \(first at all.sdf:12\)(: .*)?$' \
	'^ignored: plugin "gz::sim::systems::Elevator" x2 \(first at all.sdf:4\)(: .*)?$' \
	'^ignored: plugin "gz::sim::systems::DiffDrive" x1 \(first at all.sdf:5\)(: .*)?$'
summary='worlds: 1, models: 6 (static: 1, dynamic: 5), links: 7, joints: 1, bodies: 5, collisions: 2, levels: 1, performers: 1'
grep -qxF "all.sdf: can be run: $summary, model plug-ins: 3 (known: 1, ignored: 2), warnings: 8" out
report $? 'check of all.sdf: another summary'
# run warns of the same parts, except those that only matter for pictures
good '^1 step,' run --iterations 1 all.sdf
for line in '<population> in <world> x1$' '<typo> in <link> x2, which SDF does not know$' 'plugin "p" x1(: .*)?$' \
	'plugin "gz::sim::systems::Elevator" x2(: .*)?$' 'plugin "gz::sim::systems::DiffDrive" x1(: .*)?$'; do
	[ "$(grep -cE "^warning: all.sdf:[0-9]+: ignored: $line" err)" = 1 ]
	report $? "run does not say once: ignored: $line"
done
[ "$(grep -c '^warning: ' err)" = 8 ]
report $? 'run does not give the 8 warnings that check counts'

# --- sensors, and --strict -----------------------------------------------------------------------------------------
cat >sensors.sdf <<'END'
<sdf version="1.9"><world name="w"><road/><plugin name="gz::sim::systems::Sensors" filename="a"/>
<model name="a"><link name="l"><sensor name="left" type="rfid"/><sensor name="right" type="rfid"/></link></model>
<model name="b"><link name="l"><sensor name="s" type="sonar"/></link></model>
</world></sdf>
END
good '^warning: sensors.sdf:2: ignored: sensors of type rfid x2: a::l::left, a::l::right$' run --iterations 1 sensors.sdf
good '^warning: sensors.sdf:3: ignored: sensors of type sonar x1: b::l::s$' run --iterations 1 sensors.sdf
[ "$(grep -c '^warning' err)" = 2 ]
report $? 'run warns of more than two types of sensors'
good '^ignored: sensor "a::l::left" of type rfid \(sensors.sdf:2\)$' check sensors.sdf
for line in '^ignored: sensor "a::l::right" of type rfid \(sensors.sdf:2\)$' \
	'^ignored: sensor "b::l::s" of type sonar \(sensors.sdf:3\)$' '^ignored: <road> in <world> x1 '; do
	grep -qE "$line" err
	report $? "check does not say: $line"
done
[ "$(wc -l <err)" = 4 ] && grep -q 'warnings: 2$' out
report $? 'check of sensors: not four lines and two warnings'
# the ignored parts of a created model are in the reply
echo '1 /world/w/create sdf: "<sdf version='"'1.9'"'><model name='"'n'"'><link name='"'l'"'><sensor name='"'s'"' type='"'sonar'"'/><sensor name='"'t'"' type='"'rfid'"'/></link><plugin name='"'p'"' filename='"'q'"'/></model></sdf>"' >c.txt
good "^reply 1 /world/w/create ok model 'n' created, id 3; ignored: sensors of type sonar x1, sensors of type rfid x1, plugin \"p\" x1$" \
	run --iterations 5 --trace --commands c.txt w.sdf
good '^5 steps' run --strict --iterations 5 w.sdf
good '^w.sdf: can be run' check --strict w.sdf
echo '<sdf version="1.9"><world name="w"><road/><gui/></world></sdf>' >pictures.sdf
good '^5 steps' run --strict --iterations 5 pictures.sdf
good 'warnings: 0$' check --strict pictures.sdf
for world in sensors all many; do
	timeout 60 "$troupe" run --strict --iterations 5 $world.sdf >out 2>err
	[ $? = 1 ] && [ ! -s out ] && ! grep -q ' steps' err && grep -qE '^troupe run: --strict: [0-9]+ warnings: see above$' err
	report $? "run --strict $world.sdf"
	timeout 60 "$troupe" check --strict $world.sdf >out 2>err
	[ $? = 1 ] && grep -q "^$world.sdf: can be run: .*warnings: [1-9]" out
	report $? "check --strict $world.sdf"
done
bad 1 '^troupe run: --strict: 2 warnings, the first: sensors.sdf:2: ignored: sensors of type rfid x2: a::l::left, a::l::right$' run --strict -v0 sensors.sdf
printf '<troupe><strict>true</strict></troupe>' >c.xml
bad 1 '^troupe run: --strict: 2 warnings, the first: ' run --config c.xml -v0 sensors.sdf
# the secondaries that the primary started end with it
bad 1 '^troupe run: --strict: 2 warnings, the first: ' run --strict -v0 --transport tcp --secondaries 2 sensors.sdf

sed 's|<model name="ball one">|<gravity>0 0 -1000000</gravity>&|' w.sdf >fast.sdf
bad 4 "^troupe run: step [0-9]+: model 'ball (one|two)' diverged" run --no-levels fast.sdf --report r.json
grep -q '"iterations": [1-9]' r.json
report $? 'no report of a run that failed'
named axle >axle.sdf
echo '10 /model/spun/joint/axle/cmd_force data: 1e5' >axle.commands
bad 4 "^troupe run: step 10: model 'spun' diverged at joint 'axle': " run --rtf 0 --iterations 20 axle.sdf --commands axle.commands
# ODE's exact solver gives NaN for one model in a step of several; ODE would give the step up in the middle. The island
# of this model is solved again iteratively, and the other models keep their bits.
# crate NAME X MOMENT
crate()
{
	echo "<model name='$1'><pose>$2 0 0.6 0.3 0.2 0</pose><link name='l'><inertial><mass>1000</mass><inertia><ixx>$3</ixx>" \
		"<iyy>$3</iyy><izz>$3</izz></inertia></inertial><collision name='c'><geometry><box><size>1 1 1</size></box>" \
		"</geometry></collision></link></model>"
}
pose_of() { sed -n "s/.*\"name\": \"$1\", \"pose\": \[\([^]]*\)\].*/\1/p" r.json; }
rm -f first.*
for order in 'one two' 'spun one two' 'one spun two' 'one two spun'; do
	{
		named_head ground
		for name in $order; do
			case $name in
			spun) crate spun 5 1e-15 ;;
			one) crate one 10 166 ;;
			two) crate two 15 166 ;;
			esac
		done
		echo '</world></sdf>'
	} >crates.sdf
	for solver in lanes ode; do
		good '^world' run -v 3 --rtf 0 --iterations 2000 --secondaries 1 --solver $solver crates.sdf --report r.json
		echo "$(pose_of one) $(pose_of two)" >poses.$solver
		[ -e first.$solver ] || cp poses.$solver first.$solver
		[ "$(wc -w <poses.$solver)" = 14 ] && cmp -s poses.$solver first.$solver
		report $? "crates $order, $solver: those that ODE did not give up on are elsewhere"
	done
done
# with ODE alone a humanoid has more rows than are solved exactly
good "model 'humanoid' has joints of 1[0-9]+ constraint rows: more than 96 are solved by iterations, so it may creep" \
	run --solver ode --iterations 1 --rtf 0 "$SOURCE_DIR/tests/robots/humanoid.sdf"

# --- signals -------------------------------------------------------------------------------------------------------
# A long step is given up when the run gets a signal to stop: 700 boxes in one place. The state before the step is
# saved.
{
	echo '<sdf version="1.9"><world name="w">'
	i=0
	while [ $((i += 1)) -le 700 ]; do
		echo "<model name='m$i'><link name='l'><collision name='c'><geometry><box><size>1 1 1</size></box></geometry>" \
			'</collision></link></model>'
	done
	echo '</world></sdf>'
} >crowd.sdf
# caught PID: waits until the process has a handler for SIGTERM
caught()
{
	until [ $((0x$(sed -n 's/^SigCgt:[ \t]*//p' "/proc/$1/status" || echo 0) & 0x4000)) != 0 ]; do
		kill -0 "$1" || return 1
		sleep 0.02
	done
} 2>/dev/null
for secondaries in 0 2; do
	for moment_s in 1 10 60; do # a busy machine may need longer to begin with the step
		rm -f crowd.state
		"$troupe" run --rtf 0 --secondaries $secondaries --save-on-stop crowd.state crowd.sdf >out 2>err &
		caught $!
		sleep $moment_s
		kill -s TERM $! 2>err
		wait $!
		status=$?
		[ ! -s crowd.state ] || break
	done
	[ $status = 0 ] && [ -s crowd.state ]
	report $? "told to stop in the middle of a crowd, on $secondaries secondaries: status $status"
done
next=$(($(sed -n 's/.*the state of step \([0-9]*\).*/\1/p' err) + 1))
good "^hash $next " run --resume crowd.state --iterations "$next" --hash-every 1
# going: waits until the run has taken steps
going()
{
	for _ in $(seq 6000); do
		grep -q '^hash' out && return
		sleep 0.02
	done
}
for name in $stop_signals; do
	rm -f r.json
	: >out
	"$troupe" run --hash-every 10000 --report r.json w.sdf >out 2>err &
	going
	kill -s $name $! 2>err
	wait $!
	status=$?
	[ $status = 0 ] && grep -q '"iterations": [1-9]' r.json
	report $? "SIG$name: status $status"
done

# timeout(1) and some shells send a signal twice; a second one that comes later kills
for pause in 0 0.05 0.5; do
	for _ in 1 2 3 4 5 6 7 8 9 10; do # on a busy machine a short pause may become a long one
		"$troupe" run --rtf 0 --save-on-stop twice.state crowd.sdf >out 2>err &
		caught $!
		sleep 1
		kill -s TERM $! 2>err
		sleep $pause
		kill -s TERM $! 2>/dev/null
		wait $!
		status=$?
		[ $status != 0 ] && [ $pause != 0.5 ] || break
	done
	case $pause:$status in
	0.5:143 | 0.5:0 | 0:0 | 0.05:0) ;;
	*) false ;;
	esac
	report $? "SIGTERM twice, $pause s apart: status $status"
done

(
	trap '' HUP # ignores SIGHUP, as nohup does
	"$troupe" run --hash-every 1000000 --until 3 --rtf 4 w.sdf >out 2>err &
	sleep 0.3
	kill -s HUP $! 2>err
	wait $!
)
status=$?
[ $status = 0 ] && grep -q '^3[0-9]* steps' err
report $? "an ignored SIGHUP: status $status"

# --- the status line -----------------------------------------------------------------------------------------------
: >out
# terminal STATUS PATTERN ABSENT ARGUMENTS...: on a terminal the command has this status, and shows the first pattern,
# but not the second
terminal()
{
	want=$1 pattern=$2 absent=$3
	shift 3
	TERM=xterm timeout 60 "$on_terminal" "$troupe" "$@" >err 2>&1
	status=$?
	[ $status = "$want" ] && grep -q -e "$pattern" err && ! grep -q -e "$absent" err
	report $? "on a terminal: status $status, not $want with /$pattern/ and without /$absent/: troupe $*"
}
"$on_terminal" true >out 2>err
status=$?
if [ $status = 125 ]; then
	skip 'the status line and colours on a terminal' "$(cat err)"
else
	report $status "on_terminal: status $status"
	terminal 0 'sim 0\.[0-9]* s  rtf' 'no such line' run --until 0.5 --rtf 1 w.sdf
	NO_COLOR=1 terminal 1 'error: ' '\[1;3' check mass.sdf
	terminal 1 '\[1;31merror:' 'no such line' check mass.sdf
fi
"$troupe" run --until 0.3 --rtf 1 w.sdf >out 2>err && ! grep -q 'sim ' err
report $? 'a status line in a pipe'

# --- topics --------------------------------------------------------------------------------------------------------

good '^out +/world/w/pose/info +gz.msgs.Pose_V  60 Hz  \(server\)$' topics w.sdf
good '^in +/model/robot_0/cmd_vel +gz.msgs.Twist  \(gz::sim::systems::DiffDrive of model .robot_0.\)$' topics large
good '^out +/model/robot_0/odometry +gz.msgs.Odometry  50 Hz' topics large
good '^service +/world/w/remove/blocking +gz.msgs.Entity -> gz.msgs.Boolean' topics w.sdf
good '^service +/server_control/blocking +gz.msgs.ServerControl -> gz.msgs.Boolean' topics w.sdf
good '"kind": "service", "name": "/world/w/hash"' topics --json w.sdf
bad 1 'nowhere.sdf' topics nowhere.sdf

# The tables of src/doc/reference/gazebo.md are those of a world that has all of these plug-ins.
cat >tables.sdf <<'END'
<sdf version='1.9'><world name='W'><model name='M'><link name='a'><enable_wind>true</enable_wind></link><link name='b'/><link name='c'/>
<link name='L'/><plugin filename='x' name='gz::sim::systems::DetachableJoint'><parent_link>a</parent_link>
<child_model>M</child_model><child_link>l</child_link></plugin><plugin filename='x' name='gz::sim::systems::TrackController'><link>L</link>
<odometry_publish_frequency>50</odometry_publish_frequency></plugin>
<plugin filename='x' name='gz::sim::systems::TrackedVehicle'><left_track><link>L</link></left_track><right_track><link>L</link>
</right_track></plugin>
<joint name='J' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
<joint name='R' type='revolute'><parent>a</parent><child>c</child><axis><xyz>0 0 1</xyz></axis></joint>
<plugin filename='x' name='gz::sim::systems::PosePublisher'><static_publisher>1</static_publisher></plugin>
<plugin filename='x' name='gz::sim::systems::JointStatePublisher'/>
<plugin filename='x' name='gz::sim::systems::ApplyJointForce'><joint_name>J</joint_name></plugin>
<plugin filename='x' name='gz::sim::systems::JointController'><joint_name>J</joint_name></plugin>
<plugin filename='x' name='gz::sim::systems::JointPositionController'><joint_name>J</joint_name></plugin>
<plugin filename='x' name='gz::sim::systems::DiffDrive'><left_joint>J</left_joint><right_joint>R</right_joint></plugin>
<plugin filename='x' name='gz::sim::systems::OdometryPublisher'/>
<plugin filename='x' name='gz::sim::systems::DriveToPoseController'/>
<plugin filename='x' name='gz::sim::systems::JointTrajectoryController'/>
<plugin filename='x' name='gz::sim::systems::TrajectoryFollower'><link_name>a</link_name><circle><radius>1</radius></circle>
</plugin>
<plugin filename='x' name='gz::sim::systems::AckermannSteering'><left_steering_joint>J</left_steering_joint>
<right_steering_joint>R</right_steering_joint><steering_only>true</steering_only></plugin>
<plugin filename='x' name='gz::sim::systems::Thruster'><joint_name>J</joint_name></plugin>
<plugin filename='x' name='gz::sim::systems::Hydrodynamics'><link_name>a</link_name></plugin>
<plugin filename='x' name='gz::sim::systems::TouchPlugin'><target>t</target><time>1</time><namespace>NAMESPACE</namespace></plugin>
<plugin filename='x' name='gz::sim::systems::PerformerDetector'><geometry><box><size>1 1 1</size></box></geometry></plugin>
<plugin filename='x' name='gz::sim::systems::KineticEnergyMonitor'><link_name>a</link_name></plugin>
<plugin filename='x' name='gz::sim::systems::Breadcrumbs'><breadcrumb><sdf version='1.9'><model name='B'><link name='l'/></model></sdf>
</breadcrumb></plugin>
<plugin filename='x' name='gz::sim::systems::CommsEndpoint'><address>A</address><topic>ADDRESS/rx</topic></plugin>
<plugin filename='x' name='gz::sim::systems::LinearBatteryPlugin'><battery_name>B</battery_name><voltage>1</voltage><capacity>1</capacity>
<enable_recharge>true</enable_recharge><charging_time>1</charging_time></plugin>
</model><plugin filename='x' name='gz::sim::systems::WindEffects'/><plugin filename='x' name='gz::sim::systems::RFComms'/></world></sdf>
END
kind=
while read -r name type rest; do
	case $name in
	published | taken) kind=$name ;;
	service) [ "$type" != request ] || kind=$name ;;
	/*) echo "$kind $name $type" ;;
	esac
done <"$source/src/doc/reference/gazebo.md" | grep '^[a-z]' | sort >page.table
"$troupe" topics tables.sdf 2>/dev/null | grep -v '/blocking ' | sed 's/^out /published /; s/^in /taken /' |
	awk '{ print $1, $2, $3 }' | sort -u >run.table
diff page.table run.table >table.diff
report $? "tables of topics and services in src/doc/reference/gazebo.md: $(cat table.diff)"

# Its table of sensors has the topics that a sensor of each type has.
sensors='imu altimeter magnetometer navsat air_pressure air_speed contact lidar gpu_lidar camera wide_angle_camera depth_camera rgbd_camera
	segmentation_camera boundingbox_camera thermal_camera logical_camera'
{
	echo "<sdf version='1.9'><world name='W'><model name='M'><link name='L'/><link name='K'>
		<collision name='c'><geometry><sphere><radius>1</radius></sphere></geometry></collision>
		<sensor name='solid' type='boundingbox_camera'><camera><box_type>3d</box_type></camera></sensor>"
	for sensor in $sensors; do
		case $sensor in
		*lidar) settings="<lidar><range><min>0.1</min><max>9</max></range></lidar>" ;;
		contact) settings='<contact><collision>c</collision></contact>' ;;
		logical_camera) settings='<logical_camera/>' ;;
		*camera) settings='<camera/>' ;;
		*) settings= ;;
		esac
		echo "<sensor name='$sensor' type='$sensor'>$settings</sensor>"
	done
	echo "</link><joint name='J' type='revolute'><parent>L</parent><child>K</child><axis><xyz>0 0 1</xyz></axis>
		<sensor name='force_torque' type='force_torque'/></joint></model></world></sdf>"
} >sensors.sdf
sed -n '/^sensor  *topic  *message$/,/^```$/p' "$source/src/doc/reference/gazebo.md" | awk 'NR > 1 && NF > 1 { print $1, $2, $3 }' | sort >page.table
"$troupe" topics sensors.sdf 2>/dev/null >all.topics
# each picture has a topic of compressed pictures beside it
awk '$3 == "gz.msgs.Image" { print $2 }' all.topics | sort >plain.topics
sed -nE 's,^out +(.*)/compressed(Depth)? +troupe.msgs.CompressedImage .*,\1,p' all.topics | sort >packed.topics
if grep -q 'define HAVE_MESHES' "${BUILD_DIR:-.}/config.h"; then
	diff plain.topics packed.topics >table.diff
	report $? "compressed pictures: $(cat table.diff)"
fi
grep -v troupe.msgs.CompressedImage all.topics |
	sed -nE 's,^out +/world/W/model/M/(link/K|joint/J)/sensor/([a-z_]*)/([^ ]*) +([^ ]*).*,\2 \3 \4,p' |
	sed 's/^solid /boundingbox_camera /' | sort -u >run.table
# without Embree lidars and cameras have no topics, except logical cameras
if ! grep -q 'define HAVE_EMBREE' "${BUILD_DIR:-.}/config.h"; then
	grep -vE '^([a-z_]*lidar|camera|[a-km-z][a-z_]*_camera) ' page.table >sighted.table && mv sighted.table page.table
fi
[ -s page.table ] && diff page.table run.table >table.diff
report $? "table of sensors in src/doc/reference/gazebo.md: $(cat table.diff)"
bad 2 'topics: ' topics

# --- keygen --------------------------------------------------------------------------------------------------------
umask 022
XDG_CONFIG_HOME=$folder/config good "^$folder/config/troupe/key$" keygen
[ "$(stat -c %a config config/troupe config/troupe/key | tr '\n' ' ')" = '700 700 600 ' ]
report $? 'a key that others may read'
cp config/troupe/key before
XDG_CONFIG_HOME=$folder/config bad 1 "config/troupe/key: cannot write: the file exists" keygen
cmp -s config/troupe/key before
report $? 'a key that was there is another now'
HOME=$folder XDG_CONFIG_HOME=relative good "^$folder/.config/troupe/key$" keygen
good '^own$' keygen --output own
[ "$(cat own before .config/troupe/key | sort -u | grep -cxE 'troupe key 1 [0-9a-f]{64}')" = 3 ]
report $? 'two keys are the same, or not of the form that was promised'
(unset HOME XDG_CONFIG_HOME; bad 1 'neither XDG_CONFIG_HOME nor HOME is set: expected --output' keygen; [ $failed = 0 ]) ||
	failed=$((failed + 1))
bad 1 '/dev/null/key: cannot write: Not a directory' keygen --output /dev/null/key
bad 2 'keygen: ' keygen there

# --- names and forms that people try ---------------------------------------------------------------------------------
bad 1 'warehous: .*expected the name of a world, such as "warehouse"; and no world of this name' run warehous
good '^warehouse  *A warehouse: 12 one-way aisles and 12 stations, each a level, and 24 carts$' worlds
good '^  {"name": "lidar", "file": ".*lidar.sdf", "description": ' worlds --json
mkdir -p mine
echo '<sdf version="1.9"><world name="w"/></sdf>' >mine/my_own.sdf
good '^my_own  *[^ ]*/mine/my_own.sdf$' worlds --resource-path mine
bad 1 'such as "my_own"' run my_onw --resource-path mine
bad 2 'worlds: ' worlds there
# files of one kind under the name of another
timeout 60 "$troupe" run w.sdf --iterations 5 --rtf 0 --record a.rec >out 2>err
bad 1 'a.rec: a recording of troupe, which troupe replay takes: expected a table' plot a.rec
bad 1 'w.sdf: an XML file: expected a table' plot w.sdf
bad 1 'a.csv: cannot write: --output makes an MCAP file: expected a name that ends in .mcap' mcap a.rec -o a.csv
bad 1 'a.mcap: cannot write: --log makes a table \(CSV\): expected a name that ends in .csv' run w.sdf --log a.mcap
bad 1 'a.csv: cannot write: --record makes a recording' run w.sdf --record a.csv
[ ! -e a.csv ] && [ ! -e a.mcap ]
report $? 'a file that was refused is there'
# a topic with a slash behind it, as in comments of Gazebo's worlds
printf '1 /world/w/control/ pause: true\n' >c.txt
timeout 60 "$troupe" run w.sdf --iterations 5 --rtf 0 --commands c.txt --commands-out taken >out 2>err
grep -q '^1 /world/w/control ' taken
report $? "a topic that ends in a slash: $(cat err)"
# the forms of gz topic and gz service
bad 2 'troupe topic echo: no TOPIC given' topic -e
bad 2 'troupe topic echo: -n: .0.: expected' topic -t /clock -e -n 0
bad 2 'troupe topic info: no TOPIC given' topic -i
bad 2 'troupe topic pub: no type' topic -t /t -p 'x: 1'
bad 2 'troupe topic list: ' topic -l there
bad 2 'troupe service call: no SERVICE given' service --reqtype Boolean --reptype Boolean --req 'data: true'
bad 2 'troupe service info: no SERVICE given' service -i
bad 2 "'-t': no such action" topic -t /clock
# one grammar of addresses
for option in --view-address --foxglove --rosbridge --lockstep-listen; do
	wrong=2
	[ $option != --lockstep-listen ] || wrong=1
	for address in 127.0.0.1:x 127.0.0.1:70000 '[::1' :; do
		bad $wrong "troupe run: $option: '.*': expected PORT, :PORT, HOST:PORT or \[IPv6\]:PORT" run w.sdf --iterations 1 $option "$address"
	done
	for address in 0 :0 localhost:0 127.0.0.1:0; do
		timeout 60 "$troupe" run w.sdf --iterations 1 --rtf 0 -v 1 $option $address >out 2>err
		status=$?
		[ $status = 0 ] || grep -q 'this build has no' err
		report $? "$option $address: status $status: $(cat err)"
	done
done
for address in 0 localhost:0 :0; do
	timeout 60 "$troupe" run w.sdf --iterations 1 --rtf 0 -v 1 --view $address >out 2>err
	grep -qE 'view: http://127.0.0.1:[0-9]+/|this build has no' err
	report $? "--view $address: $(cat err)"
done

# --- the manual pages ----------------------------------------------------------------------------------------------
# --help and the manual page of each command have the same usage, the same options with the same arguments, the same exit
# statuses, and the same variables; no line is wider than a terminal
pages=$source/src/doc/man
# help_of COMMAND: prints the help; for a command with actions that of all actions
help_of()
{
	case $1 in
	topic) for action in list info echo hz pub; do "$troupe" topic $action --help; done ;;
	service) for action in list info call; do "$troupe" service $action --help; done ;;
	*) "$troupe" "$1" --help ;;
	esac
}
# section NAME PAGE: the lines of a section
section() { sed -n "/^\.SH $1$/,/^\.SH/p" "$2" | sed '1d; /^\.SH/d'; }
# plain: lines of a page as they are read, without fonts
plain() { sed -E 's/\\f[IR]//g; s/\\-/-/g; s/"//g; s/^\.[BIR]+ //; s/ +/ /g; s/\[ /[/; s/ \]/]/'; }
[ "$("$troupe" --help | sed -n '/^Commands$/,/^$/s/^  \([a-z]*\) .*/\1/p')" = "$(section COMMANDS "$pages/troupe.1" |
	sed -n 's/^\.BR troupe\\-\([a-z]*\) (1)$/\1/p')" ]
report $? 'commands in --help and in the manual page'
for command in run replay bisect diff mcap view plot check print worlds topics keygen topic service; do
	page=$pages/troupe-$command.1
	help_of $command >help
	sed -nE '/^(usage:|      ) (troupe .*)$/{ s//\2/; s/ \| (--connect)/\ntroupe '$command' [OPTIONS] \1/; p; }' help | sort >in_help
	section SYNOPSIS "$page" | plain | tr '\n' ' ' | sed 's/ \.br /\n/g; s/HOST *\[: PORT *\]/HOST[:PORT]/; s/ $/\n/' |
		sort >in_man
	diff in_help in_man >out 2>err && [ -s in_man ]
	report $? "usage of $command in --help (<) and in the manual page (>): $(cat out)"
	sed -nE 's/^ {2,6}(-.*)$/\1/p' help | sed -E 's/  .*//; s/,? +-/, -/' | sort -u >in_help
	section OPTIONS "$page" | grep -A1 '^\.TP' | grep '^\.B' | plain | grep '^-' | sort >in_man
	diff in_help in_man >out 2>err && [ -s in_man ]
	report $? "options of $command in --help (<) and in the manual page (>): $(cat out)"
	sed -n '/^Exit status/,$p' help | grep -oE '(^  |; )[0-9] ' | tr -dc '0-9\n' | sort -u >in_help
	section 'EXIT STATUS' "$page" | sed -n 's/^\.B \([0-9]\)$/\1/p' >in_man
	diff in_help in_man >out 2>err && [ -s in_man ]
	report $? "exit statuses of $command in --help (<) and in the manual page (>): $(cat out)"
	grep -oE '\b[A-Z]+(_[A-Z]+)+\b' help | sort -u | while read -r variable; do
		section 'ENVIRONMENT' "$page" | grep -qw "$variable" || section FILES "$page" | grep -qw "$variable" || echo "$variable"
	done >out
	[ ! -s out ]
	report $? "variables of $command --help that the manual page lacks: $(cat out)"
	tail -n 1 help | grep -qx "The manual page (man troupe-$command) says more\."
	report $? "$command --help does not name its manual page"
done
for command in '' run replay bisect diff mcap view plot check print worlds topics keygen topic service 'topic list' 'topic info' 'topic echo' 'topic hz' \
	'topic pub' 'service list' 'service info' 'service call'; do
	# word splitting is meant
	# shellcheck disable=SC2086
	"$troupe" $command --help | awk 'length > 79' >out
	[ ! -s out ]
	report $? "lines of troupe $command --help wider than 79 columns"
done
for status in 0 1 2 3 4 5; do
	"$troupe" --help | grep -q "^  $status  " && section 'EXIT STATUS' "$pages/troupe.1" | grep -qx "\.B $status"
	report $? "exit status $status in --help and in the manual page"
done
# Every page has the sections that readers expect, and is named in troupe(1); a page that another one cites is there, and
# has the section that is cited: "see SECTION in" and the page in the next line, or "see SECTION." in the page itself.
for page in "$pages"/*.[0-9]; do
	name=${page##*/}
	for section in NAME DESCRIPTION 'SEE ALSO'; do
		grep -qx "\.SH $section" "$page"
		report $? "$name has no section $section"
	done
	case $name in
	*.7) ;;
	*)
		grep -qx '\.SH SYNOPSIS' "$page"
		report $? "$name has no section SYNOPSIS"
		;;
	esac
	sed -n '/^\.SH NAME/{ n; p; }' "$page" | plain | grep -q "^${name%.[0-9]} - "
	report $? "$name has another name"
	[ "$name" = troupe.1 ] || plain <"$pages/troupe.1" | grep -q "^${name%.[0-9]} (${name##*.})"
	report $? "$name is not in troupe(1)"
	sed -n '/^\.nf/,/^\.fi/p' "$page" | sed 's/\\-/-/g' | grep -oE 'troupe [a-z]+ .*' | while read -r _ command words; do
		help_of "$command" >help
		for word in ${words%% && *}; do
			case $word in
			-*) grep -qE -e "(^  ?|,) +$word( |\$|,)" help || echo "$command $word" ;;
			esac
		done
	done >out
	[ ! -s out ]
	report $? "options in examples of $name that are not in --help: $(cat out)"
	if command -v groff >/dev/null; then
		groff -ww -man -Tutf8 -z "$page" >out 2>&1
		[ ! -s out ]
		report $? "$name: $(cat out)"
	fi
	sed -n "s/^\.BR \(troupe[a-z\\-]*\) (\([0-9]\)).*/\1.\2/p" "$page" | tr -d '\\' | sort -u | while read -r cited; do
		[ -e "$pages/$cited" ] || echo "$cited"
	done >out
	[ ! -s out ]
	report $? "pages that $name cites, and that are not there: $(cat out)"
	awk 'cited && /^\.BR troupe/ { page = $2; sub(/\\-/, "-", page); n = $3; gsub(/[^0-9]/, "", n); print page "." n "\t" cited }
		{ cited = "" } / in$/ { text = $0; sub(/ in$/, "", text); sub(/^\(/, "", text); sub(/.*[sS]ee /, "", text); sub(/.*[,;:.] /, "", text)
			if (text ~ /^[A-Z]/) cited = text }
		match($0, /[sS]ee [A-Z][A-Z -]+[.;)]/) { print own "\t" substr($0, RSTART + 4, RLENGTH - 5) }' own="$name" "$page" | while IFS='	' read -r cited section; do
		grep -qxF -e ".SH $section" -e ".SS $section" "$pages/$cited" || echo "$section in $cited"
	done >out
	[ ! -s out ]
	report $? "sections that $name cites, and that are not there: $(cat out)"
done
# every service of a world is in its manual page and in src/doc/reference/gazebo.md
echo '1 /world/w/fly x: 1' >c.txt
timeout 60 "$troupe" run --iterations 5 --commands c.txt w.sdf >out 2>err
services=$(sed -n "s/.*has no service 'fly': expected one of \(.*\)$/\1/p" err | tr -d ,)
[ "$(echo "$services" | wc -w)" -ge 8 ]
report $? 'the services of a world are not listed'
for service in $services; do
	grep -q "/world/NAME/$service " "$pages/troupe-commands.5"
	report $? "$service is not in the manual page"
	grep -qw "$service" "$source/src/doc/reference/gazebo.md"
	report $? "$service is not in src/doc/reference/gazebo.md"
done

totals
