#!/bin/sh
# Shows how the command treats files: a name that cannot be written is refused before the run; which files are
# written to and which are replaced; what stays when writing fails; what is read from pipes and devices; and that a
# run can be stopped at any point, also while it waits for a reader.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"

# ends STATUS PATTERN OPTION...: a run of 20 steps, or the command after --, ends with this status and a line with the
# pattern on standard error
ends()
{
	want=$1 pattern=$2
	shift 2
	if [ "$1" = -- ]; then
		shift
		timeout 120 "$troupe" "$@" >out 2>err
	else
		timeout 120 "$troupe" run w.sdf --rtf 0 --iterations 20 "$@" >out 2>err
	fi
	status=$?
	[ $status = "$want" ] && { [ -z "$pattern" ] || grep -qE -e "$pattern" err; }
	report $? "status $status, not $want with /$pattern/: $*"
}

# refused PATTERN OPTION...: the same with status 1 and one line, before anything is run or written
refused()
{
	pattern=$1
	shift
	ends 1 "^troupe run: $pattern" "$@"
	[ "$(wc -l <err)" = 1 ]
	report $? "more than one line: $*"
}

nothing_left()
{
	! ls -d .troupe* >found 2>&1
	report $? "$1: $(cat found)"
}

named ball >w.sdf
echo '5 /world/w/control pause: true' >commands
: >err

# --- names, before the run -----------------------------------------------------------------------------------------
mkdir real
for option in --report --record --costs --log --save-on-stop '--save-at 5' '--save-every 5'; do
	# shellcheck disable=SC2086
	refused 'no/file: cannot write: No such file or directory' $option no/file
	# shellcheck disable=SC2086
	refused 'real: cannot write: is a folder' $option real
	# shellcheck disable=SC2086
	refused '/proc/file: cannot write: ' $option /proc/file
	name=${option%% *} value=no/file
	[ "$name" = "$option" ] || value="5 no/file"
	echo "<troupe><${name#--}>$value</${name#--}></troupe>" >c.xml
	refused 'no/file: cannot write: No such file or directory' --config c.xml
done
refused 'no/n.%s: cannot write: No such file or directory' --save-every 5 'no/n.%s'
refused 'n.%s/state: cannot write: %s in the name of a folder' --save-every 5 'n.%s/state'
refused 'n.%s/state: cannot write: %s in the name of a folder' --save-on-stop 'n.%s/state'
refused 'real: cannot write: is a folder' --save-every 5 r%s --report real
refused 'same: cannot write: it is the file of --report and of --record' --record same --report ./same
refused 'same: cannot write: it is the file of --costs and of --save-at' --costs same --save-at 5 same
refused './w.sdf: cannot write: it is the file of the world and of --report' --report ./w.sdf
ln -s commands link
refused 'link: cannot write: it is the file of --commands and of --record' --commands commands --record link
ends 0 '^warning: late: not saved, because the run did not take step 50 of --save-at: it ended at step 20$' --save-at 50 late
ends 0 '^20 steps' --save-at 5 same --save-every 10 same --save-on-stop same
refused 'same: cannot write: it is the file of --resume and of --record' -- run --resume same --record same
[ -s same ]
report $? 'a state that was to be gone on from is overwritten'
ends 0 '^30 steps' -- run --resume same --iterations 30 --rtf 0 --save-every 25 same
if [ "$(id -u)" != 0 ]; then
	mkdir closed && chmod 555 closed && : >kept && chmod 444 kept
	refused 'closed/file: cannot write: Permission denied' --record closed/file
	refused 'kept: cannot write: Permission denied' --report kept
	(cd closed && timeout 120 "$troupe" run ../w.sdf --iterations 5 --transport tcp --secondaries 1) 2>err
	[ $? = 1 ] && grep -q 'troupe-w-%s.state: cannot write: Permission denied (--save-on-stop)' err
	report $? 'the default of --save-on-stop in a folder that is read-only'
fi
printf '%0250d' 1 | tr 0 n >long
sed "s/world name='w'/world name='$(cat long)'/" w.sdf >long.sdf
ends 1 'cannot write: File name too long' -- run long.sdf --transport tcp --secondaries 1 --iterations 5
# A refused run leaves an old recording and an old table as they were.
echo old >r && echo old >c
ends 1 'not.there: cannot open' -- run not.there --record r --costs c
echo '5 /no/such x: 1' >bad
refused 'bad:1: ' --commands bad --record r --costs c --record-every 1
[ "$(cat r c)" = "old
old" ]
report $? 'a run that was refused has emptied a file'

# --- devices, pipes, links -----------------------------------------------------------------------------------------
before=$(ls -lL /dev/null | cut -c1-10)
ends 0 '' --save-at 5 /dev/null --save-every 5 /dev/null --save-on-stop /dev/null --report /dev/null --record /dev/null \
	--costs /dev/null --log /dev/null
[ -c /dev/null ] && [ "$(ls -lL /dev/null | cut -c1-10)" = "$before" ]
report $? '/dev/null is not what it was'
ln -s /dev/null sink
ends 0 '' --save-at 5 sink --report sink
[ -L sink ] && [ -c sink ]
report $? 'a link to a device is not what it was'
if [ -e /dev/full ]; then
	ends 1 '/dev/full: cannot write: No space left on device$' --report /dev/full
	ends 1 '1 state could not be saved, the first: /dev/full: cannot write: No space' --save-at 5 /dev/full
	ends 1 '/dev/full: cannot write: No space.*: the recording ends at step 0$' --record /dev/full
	ends 1 '/dev/full: cannot write: No space' --costs /dev/full
	ends 1 '/dev/full: cannot write: No space.*: the log ends at step 20$' --log /dev/full
fi
ln -s real/state by_link
ends 0 '' --save-at 5 by_link --record real/record
ends 0 '' --save-at 5 by_link
[ -L by_link ] && [ -s real/state ] && [ "$(ls real | wc -l)" = 2 ]
report $? 'a link was not followed'
mkfifo pipe
for option in '--save-at 20' --report --record --costs --log; do
	timeout 120 cat pipe >came &
	# shellcheck disable=SC2086
	ends 0 '' $option pipe
	wait $!
	[ -s came ] && [ -p pipe ]
	report $? "$option: nothing came through the pipe"
done
ends 0 '"iterations": 30' -- run --resume real/state --rtf 0 --iterations 30 --report /dev/stderr
umask 022
rm -f new && ends 0 '' --save-at 5 new && [ "$(stat -c %a new)" = 644 ] && chmod 640 new && ends 0 '' --save-at 6 new &&
	[ "$(stat -c %a new)" = 640 ]
report $? 'permissions of a new file, or of an old one'
{ timeout 120 "$troupe" run w.sdf --rtf 0 --iterations 20 --hash-every 20 --report /dev/stdout >out 2>err; } &&
	head -n 1 out | grep -q '^hash 20' && sed -n 2p out | grep -qx '{'
report $? 'the report in a file that is /dev/stdout has overwritten what was there'

# --- what a run survives -------------------------------------------------------------------------------------------
# full BLOCKS COMMAND...: runs the command with files limited to BLOCKS blocks of 512 bytes
full()
{
	blocks=$1
	shift
	(
		ulimit -f "$blocks" 2>err || exit 99
		exec timeout 120 "$@"
	) >out 2>err
}
ends 0 '' --save-at 10 kept_state
size=$(wc -c <kept_state)
cp kept_state last
full 1 "$troupe" run w.sdf --rtf 0 --iterations 20 --save-every 5 last --hash-every 20
status=$?
[ "$size" -gt 512 ] && [ $status = 1 ] && grep -q '^hash 20 ' out && cmp -s last kept_state &&
	grep -q '^warning: last: cannot write: File too large; the run goes on$' err && [ "$(grep -c ^warning err)" = 1 ] &&
	grep -q '^troupe run: 4 states could not be saved, the first: last: cannot write: File too large$' err
report $? "--save-every that fails: status $status"
nothing_left '--save-every that fails'
ends 0 '^20 steps' -- run --resume last --rtf 0 --iterations 20
full 1 "$troupe" run w.sdf --rtf 0 --iterations 20 --record record --record-every 5 --hash-every 20
status=$?
[ $status = 1 ] && grep -q '^hash 20 ' out && grep -q '^warning: record: cannot write: File too large: the recording ends' err
report $? "--record that fails: status $status"
ends 5 '' -- replay record
full 4 "$troupe" run w.sdf --rtf 0 --iterations 200 --log log.csv --log-every 1 --hash-every 200
status=$?
[ $status = 1 ] && grep -q '^hash 200 ' out && grep -q '^warning: log.csv: cannot write: File too large: the log ends' err &&
	[ "$(wc -c <log.csv)" = 2048 ]
report $? "--log that fails: status $status"
ends 0 'log.csv:[0-9]*: the file is cut off in this line, which is left out$' -- plot log.csv --out log.svg
rm -f record
full 1 "$troupe" run w.sdf --rtf 0 --iterations 20 --log log.csv --log-every 1 --mcap m.mcap --report report
status=$?
[ $status = 1 ] && grep -q '^troupe run: m.mcap: cannot write: File too large' err &&
	grep -q '^troupe run: report: cannot write: File too large$' err &&
	tail -n 1 err | grep -q '^troupe run: log.csv: cannot write: File too large'
report $? "of several files that cannot be written one is not named: status $status: $(cat err)"
full 4 "$troupe" run w.sdf --rtf 0 --iterations 200 --record record --record-every 5 -v 0
ends 5 '' -- replay record
grep -qE '^record: cut off after step [1-9][0-9]*: .*: all the same$' out
report $? "a recording that was cut off by a full disk: $(cat out)"
full 1 "$troupe" run w.sdf --rtf 0 --iterations 20 --report - --trace --hash-every 1
[ $? = 1 ] && grep -q 'standard output: cannot write: File too large' err
report $? 'standard output above the limit'

# --- what is read --------------------------------------------------------------------------------------------------
for device in /dev/zero /dev/urandom; do
	ends 1 "$device" -- run $device
	ends 1 "$device" --commands $device
	ends 1 "$device: not a state saved by troupe" -- run --resume $device
	ends 1 "$device" --config $device
	ends 1 "$device: not a plain file" -- replay $device
	ends 1 "$device" -- check $device
	ends 1 "$device" -- plot $device
done
for what in 'run .' 'run --resume .' 'run w.sdf --commands .' 'run w.sdf --config .' 'check .' 'print .' 'plot .'; do
	# shellcheck disable=SC2086
	ends 1 '(\.|^troupe replay: \.): is a folder: expected a file' -- $what
done
ends 1 'not a plain file: expected a recording' -- replay .
ends 1 'not a plain file: expected a recording' -- replay pipe
: >empty
ends 1 'empty:1: ' -- run empty
ends 1 'empty: not a state' -- run --resume empty
ends 1 'empty:1: ' --config empty
ends 0 '^20 steps' --commands empty
ends 5 '' -- replay empty
"$troupe" run /dev/stdin --rtf 0 --iterations 7 <w.sdf >out 2>err && grep -q '^7 steps' err
report $? 'a world on standard input'
cat w.sdf | "$troupe" run /dev/stdin --rtf 0 --iterations 7 >out 2>err && grep -q '^7 steps' err
report $? 'a world through a pipe'
"$troupe" run w.sdf --commands /dev/stdin --rtf 0 --iterations 7 <commands >out 2>err && grep -q '^7 steps, 2 paused for [0-9.]* s, 0.005 s' err
report $? 'commands on standard input'
cat kept_state | "$troupe" run --resume /dev/stdin --rtf 0 --iterations 17 >out 2>err && grep -q '^17 steps' err
report $? 'a state through a pipe'
{ sleep 0.3; cat w.sdf; } >pipe &
ends 0 '^7 steps' -- run pipe --rtf 0 --iterations 7
wait
# worlds whose topics would have the same names: run and check agree
printf '<sdf version="1.9">\n<world name="a b"/>\n<world name="a_b"/>\n</sdf>' >blank.sdf
for what in run check; do
	ends 1 "blank.sdf:3: worlds 'a b' and 'a_b' have the same topics" -- $what blank.sdf
done
# a plug-in that asks for a topic that has another type, or that is not a function of the state: the line says which
trigger()
{
	cat >trigger.sdf <<END
<sdf version="1.9"><world name="w">
<plugin filename="x" name="gz::sim::systems::TriggeredPublisher"><input type="$2" topic="$1"/>
<output type="gz.msgs.Empty" topic="/out"/></plugin>
<model name="m"><link name="l"/><plugin filename="x" name="gz::sim::systems::OdometryPublisher"/></model></world></sdf>
END
	ends 0 "trigger.sdf:2: plugin 'gz::sim::systems::TriggeredPublisher' gets no messages of topic '$1': $3" -- \
		run trigger.sdf --iterations 2
}
trigger /model/m/odometry gz.msgs.Twist 'they are gz.msgs.Odometry: expected gz.msgs.Twist$'
trigger /world/w/stats gz.msgs.WorldStatistics 'they depend on more than the state of the world: expected another topic$'
# zero bytes
printf '<sdf version="1.9">\n<world name="w"/>\n</sdf>\n\000<junk' >zero.sdf
ends 1 'zero.sdf:4: a zero byte' -- run zero.sdf
ends 1 'zero.sdf:4: a zero byte' -- check zero.sdf
ends 1 'zero.sdf:4: a zero byte' -- print zero.sdf
printf '<troupe>\n<seed>1</seed>\000</troupe>' >zero.xml
ends 1 'zero.xml:2: a zero byte' --config zero.xml
printf '1 /world/w/control pause: true\n2 /world/w/control pause: \000true\n' >zero.commands
ends 1 'zero.commands:2: a zero byte' --commands zero.commands
mkdir m && printf '<model><name>m</name>\n\000<sdf>model.sdf</sdf></model>' >m/model.config
echo '<sdf version="1.9"><world name="w"><include><uri>m</uri></include></world></sdf>' >includes.sdf
ends 1 'm/model.config:2: a zero byte' -- run includes.sdf
# text in UTF-16 has zero bytes
iconv -f UTF-8 -t UTF-16 w.sdf >wide.sdf
ends 0 '^7 steps' -- run wide.sdf --rtf 0 --iterations 7
{ iconv -f UTF-8 -t UTF-16 w.sdf; printf '\000\000'; } >wide_zero.sdf
ends 1 'wide_zero.sdf:5: a zero byte' -- run wide_zero.sdf

# --- being stopped -------------------------------------------------------------------------------------------------
# catches PID: whether the process has a handler for SIGTERM
catches() { [ $((0x$(sed -n 's/^SigCgt:[ \t]*//p' "/proc/$1/status" 2>found || echo 0) & 0x4000)) != 0 ]; }
# stop WAIT_S COMMAND...: tells the command to stop, WAIT_S seconds after it can be stopped; its status is in $status.
# README promises 1 s; here only a hang is a failure, because other tests use the processors.
stop()
{
	wait_s=$1
	shift
	"$@" >out 2>err &
	for _ in $(seq 600); do
		catches $! && break
		sleep 0.1
	done
	sleep "$wait_s"
	kill -s TERM $!
	for _ in $(seq 300); do
		sleep 0.1
		kill -0 $! 2>found || break
	done
	late=0
	kill -0 $! 2>found && late=1 && kill -s KILL $!
	wait $! 2>found
	status=$?
}
# stopped WAIT_S STATUS PATTERN COMMAND...: a command that is told to stop ends with that status. On a busy machine it may
# take longer until it is at the place where it is to be stopped.
stopped()
{
	first_s=$1 want=$2 pattern=$3
	shift 3
	for moment_s in "$first_s" 5 30; do
		stop "$moment_s" "$@"
		[ $late = 0 ] && [ $status = "$want" ] && { [ -z "$pattern" ] || grep -qE -e "$pattern" err; }
		right=$?
		[ $right != 0 ] || break
	done
	report $right "stopped after $moment_s s: status $status (late: $late), not $want with /$pattern/: $*"
}
[ -p never ] || mkfifo never
sleep 1000 >never & # a process that has the pipe open and writes nothing
sleeper=$!
stopped 0.5 0 '0 steps.*stopped while the world was loaded' "$troupe" run never --report early.json
grep -q '"iterations": 0' early.json
report $? 'no report of a run that was stopped while it was loaded'
stopped 0.5 0 '0 steps.*, so no state is saved' "$troupe" run w.sdf --commands never --save-on-stop s
stopped 0.5 0 '0 steps' "$troupe" run --resume never
stopped 0.5 0 '0 steps' "$troupe" run w.sdf --config never
kill $sleeper 2>found
wait $sleeper 2>found
stopped 0.5 0 '0 steps' "$troupe" run never # no process has the pipe open
awk 'BEGIN {
	print "<sdf version=\"1.9\"><world name=\"w\">"
	for (i = 0; i < 60000; i++)
		printf "<model name=\"m%d\"><static>1</static><pose>%d %d 0 0 0 0</pose><link name=\"l\"><collision name=\"c\">" \
			"<geometry><box><size>1 1 1</size></box></geometry></collision></link></model>\n", i, i % 300, i / 300
	print "</world></sdf>"
}' >large.sdf
for moment in 0.3 0.6; do
	stopped $moment 0 '0 steps|[0-9]+ steps' "$troupe" run large.sdf --rtf 0
done
# while the world is loaded: short runs are stopped in the same way as long ones
for name in $stop_signals; do
	"$troupe" run w.sdf --report early.json --save-on-stop early.%s >out 2>err &
	for _ in $(seq 20000); do catches $! && break; done
	kill -s $name $!
	wait $! 2>found
	status=$?
	[ $status = 0 ] && grep -q '"iterations": [0-9]' early.json && grep -qE 'the state of step|no state is saved' err
	report $? "SIG$name as soon as it is taken: status $status"
	rm -f early.*
done
# a pipe whose reader does not read: output is lost, and a message says so
mkfifo slow
sleep 1000 <slow &
sleeper=$!
stopped 1 1 'standard output: cannot write: no process reads it' sh -c "exec '$troupe' run w.sdf --rtf 0 --hash-every 1 >slow"
kill $sleeper 2>found
wait $sleeper 2>found
stopped 0.5 1 'pipe: cannot write: no process reads it' "$troupe" run w.sdf --report pipe
stopped 0.5 1 'pipe: cannot write: no process reads it' "$troupe" run w.sdf --save-on-stop pipe
stopped 0.5 1 'pipe: cannot write: no process reads it' "$troupe" run w.sdf --record pipe
stopped 0.5 1 'pipe: cannot write: no process reads it' "$troupe" run w.sdf --iterations 5 --report pipe
# while the run waits for the network
stopped 0.5 0 '' "$troupe" run w.sdf --network-role primary --network-secondaries 1 --network-listen 127.0.0.1:0 --save-on-stop s
stopped 0.5 0 '' "$troupe" run --network-role secondary --network-address 127.0.0.1:1
stopped 0.5 0 '' "$troupe" run w.sdf --rtf 1 --transport tcp --secondaries 2 --save-on-stop s
nothing_left 'after all'

totals
