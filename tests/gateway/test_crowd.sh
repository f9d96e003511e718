#!/bin/sh
# Many programs and one run, and few programs and many runs, by gz-transport: partitions keep runs apart; a program may
# come before the run, during it and after it; a hundred subscribers, one that stops reading and one that is killed do not
# disturb one another, and change no bit of the run; nor does a second run of the same world. The programs are troupe's own; the genuine ones are added where they
# are installed.
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"

# world NAME: in NAME.sdf
world()
{
	cat >"$1.sdf" <<-END_OF_WORLD
		<sdf version='1.9'><world name='$1'>
		<physics name='p' type='ode'><max_step_size>0.001</max_step_size><real_time_factor>1</real_time_factor></physics>
		<model name='ball'><pose>0 0 100 0 0 0</pose><link name='l'><inertial><mass>1</mass></inertial></link></model>
		</world></sdf>
	END_OF_WORLD
}
world a
world b

# start NAME PARTITION OPTION...: a run in the background, until it answers
start()
{
	name=$1 partition=$2
	shift 2
	GZ_PARTITION=$partition "$troupe" run "$name.sdf" -v 1 "$@" >"$name.out" 2>"$name.err" &
	last=$!
	started="$started $last"
	within 60 "$troupe" topic echo /clock -n 1 --partition "$partition"
	report $? "the run of $name answers: $(cat err "$name.err")"
}
# ends PID WHAT: the process ends by itself, with 0
ends()
{
	wait "$1"
	report $? "$2 (status $?)"
}

# Two runs and a client in three partitions.
start a "one$$"
one=$last
start b "two$$"
two=$last
within 30 "$troupe" topic list --partition "one$$"
grep -q '^/world/a/clock$' out && ! grep -q /world/b/ out
report $? "a client of the first run: $(cat out)"
within 30 "$troupe" topic list --partition "two$$"
grep -q '^/world/b/clock$' out && ! grep -q /world/a/ out
report $? "a client of the second run: $(cat out)"
within 30 "$troupe" topic list --partition "three$$"
[ $? = 1 ] && [ ! -s out ]
report $? "a client of neither: $(cat out)"
within 30 "$troupe" service call /world/b/control --req 'pause: true' --partition "one$$" --timeout 500
[ $? = 1 ]
report $? "the second run cannot be called in the first one's partition: $(cat out)"
within 30 "$troupe" service call /world/b/control --req 'pause: true' --partition "two$$"
report $? "the second run is paused: $(cat err)"
for pair in one:false two:true; do
	within 30 "$troupe" topic echo /stats -n 1 --json --partition "${pair%:*}$$"
	[ "${pair#*:}" = "$(grep -q '"paused":true' out && echo true || echo false)" ]
	report $? "$pair: $(cat out)"
done
kill -TERM $one $two
ends $one 'the first run ends'
ends $two 'the second run ends'

# Clients that come before the run stay when it is killed, and see the next one.
GZ_PARTITION=before$$
export GZ_PARTITION
timeout -k 1 200 "$troupe" topic echo /clock -n 300 >early 2>early.err &
early=$!
timeout -k 1 100 "$troupe" service call /world/a/control --req 'pause: false' --timeout 90000 >called 2>&1 &
caller=$!
sleep 0.5
start a "before$$"
ends $caller "a call that was made before the run: $(cat called)"
until_true 60 grep -q nsec early
report $? 'a subscriber that came before the run'
end_last KILL
start a "before$$"
ends $early "a subscriber sees the run after the one that was killed: $(cat early.err)"
end_last TERM
within 30 "$troupe" topic list
[ $? = 1 ]
report $? "after the run there is nothing: $(cat out)"
within 30 "$troupe" topic echo /clock -n 1 --timeout 0.5
[ $? = 1 ]
report $? 'a client that comes after the run'

# A process that may open few files runs without gz-transport, and says so.
(ulimit -n 24 && timeout 60 "$troupe" run a.sdf --rtf 0 --until 0.1) >few.out 2>few.err
report $? "a run that may open few files: $(tail -n 2 few.err)"
grep -q 'no gz-transport: gz-transport: cannot open [0-9]* files: Too many open files' few.err
report $? "it says what is missing: $(head -n 3 few.err)"

# A hundred subscribers; one of them stops reading, and one is killed.
timeout 60 "$troupe" run a.sdf --no-gz --rtf 0 --until 4 2>alone.err
GZ_PARTITION=crowd$$
start a "crowd$$" --paused --until 4
crowd=
"$troupe" topic echo /clock -d 300 >stopped.out 2>&1 &
stopped=$!
"$troupe" topic echo /clock -d 300 >killed.out 2>&1 &
killed=$!
started="$started $stopped $killed"
for i in $(seq "$(amount 10 100 100)"); do
	timeout -k 1 300 "$troupe" topic echo /clock -n 200 >"heard$i" 2>"heard$i.err" &
	crowd="$crowd $!"
done
# each is there when it has had the message of the paused world
all_there() { [ "$(grep -lc '^sim' heard* stopped.out killed.out | wc -l)" = $(($(amount 10 100 100) + 2)) ]; }
until_true 120 all_there
report $? 'not all subscribers come'
kill -STOP $stopped
# a hundred processes may leave it little time, so it waits longer than by itself; a run that is blocked answers never
within 100 "$troupe" service call /world/a/control --req 'pause: false' --timeout 90000
report $? "the run goes on: $(cat err)"
sleep 0.3
kill -KILL $killed
good=0
for pid in $crowd; do
	wait "$pid"
	good=$((good + ($? == 0)))
done
[ $good = "$(amount 10 100 100)" ]
report $? "of the subscribers $good have all: $(cat heard*.err | head -n 3)"
ends $last "the run ends: $(cat a.err)"
grep '^state ' alone.err >alone && grep '^state ' a.err | cmp -s - alone
report $? "the same bits: $(cat a.err), expected $(cat alone)"
kill -CONT $stopped
kill -TERM $stopped
wait $stopped 2>/dev/null

# Two runs of one world, and one of another world: what a system of one publishes is no command to the others, which have
# the same topic.
cat >twice.sdf <<'END'
<sdf version='1.9'><world name='twice'>
<model name='a'><link name='l'><inertial><mass>1</mass></inertial></link>
<plugin name='gz::sim::systems::VelocityControl' filename='x'/></model>
<plugin name='gz::sim::systems::TriggeredPublisher' filename='x'><input type='gz.msgs.Empty' topic='/go'/>
<output type='gz.msgs.Twist' topic='/model/a/cmd_vel'>linear: {x: 1}</output></plugin>
</world></sdf>
END
sed "s/'twice'/'other'/; /TriggeredPublisher/d; /<output/d" twice.sdf >other.sdf
echo '1500 /go' >go
: >none
run_at_once() # WORLD COMMANDS OPTION...
{
	world=$1.sdf commands=$2
	shift 2
	GZ_PARTITION=twice$$ timeout 120 "$troupe" run "$world" --commands "$commands" --iterations 3000 -v 0 --hash-every 100 "$@"
}
run_at_once twice go --rtf 0 --no-gz >alone 2>err
report $? "twice.sdf runs: $(cat err)"
run_at_once other none --rtf 0 --no-gz >alone_other 2>err
report $? "other.sdf runs: $(cat err)"
run_at_once twice go --rtf 1 >first 2>first.err &
last=$!
started="$started $last"
within 60 "$troupe" topic echo /clock -n 1 --partition "twice$$"
run_at_once other none --rtf 1 >other 2>other.err &
third=$!
started="$started $third"
run_at_once twice go --rtf 1 >second 2>second.err
report $? "the second run of a world: $(cat second.err)"
wait $last
report $? "the first run of a world: $(cat first.err)"
wait $third
report $? "the run of the other world: $(cat other.err)"
cmp -s alone first && cmp -s alone second && cmp -s alone_other other
report $? "runs at a time: $(diff alone first | head -n 2; diff alone second | head -n 2; diff alone_other other | head -n 2)"

# The same as with a crowd, with a genuine program that stops reading.
if have_tools; then
	IGN_PARTITION=genuine$$
	start a "genuine$$" # until the other program has heard enough, however late it comes
	"$topic_tool" -e -t /clock >/dev/null 2>&1 &
	stopped=$!
	started="$started $stopped"
	sleep 0.5
	kill -STOP $stopped
	within 60 "$topic_tool" -e -t /clock -n 100
	report $? "another program hears while one is stopped: $(tail -n 1 out)"
	kill -TERM $last
	ends $last "the run ends while a program is stopped: $(cat a.err)"
	kill -KILL $stopped
fi
totals
