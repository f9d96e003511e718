#!/bin/sh
# A process of a networked run is killed, stopped or told to leave, at random moments. All others must stop in time
# and report the same last step, no process may stay, and the saved state must lead to the same end. A secondary that
# comes too late, is one too many, or sends invalid data changes nothing.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
stale=1500 # so that no process counts as lost on a busy machine
rounds=${TROUPE_TEST_ROUNDS:-$(amount 6 6 10 20)} # of killing; check-long has 200
until_step=3000
far_step=15000

# Waits until the primary has taken some steps.
going() { await p.out '^hash'; }

reference=$("$troupe" run "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" -v0 --rtf 0 --iterations $until_step \
	--hash-every $until_step)
[ -n "$reference" ]
report $? "alone: $reference"

port=$((20000 + $$ * 64 % 12000))
# gather N OPTION...: starts a primary and N secondaries over loopback
gather()
{
	count=$1
	shift
	next_port
	end_processes
	rm -f ./*.out
	# slow enough not to end before what is done to it, on a busy machine
	start p "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 0.3 --iterations $until_step --hash-every 10 \
		--network-role Primary --network-secondaries "$count" --network-listen 127.0.0.1:$port \
		--network-stale-ms $stale --save-on-stop saved "$@"
	for i in $(seq "$count"); do
		start "s$i" --network-role SECONDARY --network-address 127.0.0.1:$port
	done
	going
	report $? 'it goes'
}

# saved WHAT: the state that the primary saved leads to the same end as the undisturbed run
saved()
{
	resumed=$("$troupe" run --resume saved -v0 --rtf 0 --iterations $until_step --hash-every $until_step 2>&1)
	expected=$reference
	if [ -z "$resumed" ]; then # the run was beyond this step when it was killed
		resumed=$("$troupe" run --resume saved -v0 --rtf 0 --iterations $far_step --hash-every $far_step 2>&1)
		far_reference=${far_reference:-$("$troupe" run "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" \
			-v0 --rtf 0 --iterations $far_step --hash-every $far_step)}
		expected=$far_reference
	fi
	[ -n "$resumed" ] && [ "$resumed" = "$expected" ]
	report $? "$1: resumed: $resumed, expected $expected"
	rm -f saved
}

# await_secondaries N: waits until the primary has started N secondaries; their process numbers in $secondaries
await_secondaries()
{
	for _ in $(seq 3000); do
		secondaries=$(children "$(cat p.pid)" | tr '\n' ' ')
		[ "$(echo "$secondaries" | wc -w)" = "$1" ] && break
		sleep 0.02
	done
	[ "$(echo "$secondaries" | wc -w)" = "$1" ]
	report $? "the primary has $1 secondaries: $secondaries"
}

step_said() { sed -n 's/.*the last step that all had acknowledged is \([0-9]*\).*/\1/p' "$1.err" | tail -n 1; }

# hit_secondary SIGNAL: sends the signal to the first of two secondaries; the primary and the second one must stop
hit_secondary()
{
	sleep "0.$(($(od -An -N2 -tu2 /dev/urandom) % 10))"
	began=$(now_ms)
	kill "-$1" "$(cat s1.pid)"
	ended p
	report $? "secondary $1: the primary ended in time"
	took=$(($(now_ms) - began))
	[ "$status" = 3 ]
	report $? "secondary $1: the primary's exit status is 3: $status"
	ended s2
	report $? "secondary $1: the other secondary ended"
	[ "$status" = 3 ]
	report $? "secondary $1: the other secondary's exit status is 3: $status"
	[ -n "$(step_said p)" ] && [ "$(step_said p)" = "$(step_said s2)" ]
	report $? "secondary $1: the same last step: $(step_said p), $(step_said s2)"
	echo "secondary $1: all had ended after $took ms"
	saved "secondary $1"
}

gather 2
hit_secondary KILL
gather 2
hit_secondary STOP
kill -KILL "$(cat s1.pid)"
gather 2
hit_secondary TERM
ended s1 && [ "$status" = 0 ]
report $? "the secondary with SIGTERM has left: $status"

# What systems have decided for the step in which a secondary is lost is in the saved state, and nothing of it is
# decided again: a belt runs in that step, too, and a message is heard once.
named belt "<model name='c'><pose>0 9 0 0 0 0</pose><link name='l'><gravity>false</gravity></link>
<plugin name='gz::sim::systems::TriggeredPublisher' filename='x'><input type='gz.msgs.Odometry' topic='/model/b/odometry'/>
<output type='gz.msgs.Empty' topic='/model/d/detachable_joint/attach'/></plugin></model>
<model name='d'><pose>0 11 0 0 0 0</pose><link name='l'><gravity>false</gravity></link>
<plugin name='gz::sim::systems::TriggeredPublisher' filename='x'><input type='gz.msgs.Odometry' topic='/model/b/odometry'/><delay_ms>5</delay_ms>
<output type='gz.msgs.Twist' topic='/model/d/cmd_vel'>linear: {x: 0.1}</output></plugin>
<plugin name='gz::sim::systems::VelocityControl' filename='x'/></model>" >belt.sdf
echo '5 /model/belt/link/l/track_cmd_vel data: 1' >belt.commands
for round in 1 2 3; do
	end_processes
	rm -f belt.state.*
	start p belt.sdf --commands belt.commands --rtf 0 -v0 --iterations 0 --hash-every 1 --transport tcp --secondaries 2 \
		--network-stale-ms 60000 --save-on-stop belt.state.%s --record belt.tape
	await_secondaries 2
	going
	kill -KILL "${secondaries%% *}"
	ended p && [ "$status" = 3 ]
	report $? "a belt, round $round: the primary's exit status is 3: $status"
	at=$(echo belt.state.*)
	at=${at#belt.state.}
	"$troupe" run belt.sdf --commands belt.commands --rtf 0 -v0 --iterations $((at + 40)) --hash-every 1 | tail -n 40 >alone
	"$troupe" run --resume "belt.state.$at" --rtf 0 -v0 --iterations $((at + 40)) --hash-every 1 >resumed 2>&1
	[ "$(wc -l <alone)" = 40 ] && cmp -s alone resumed
	report $? "a belt, round $round, resumed at step $at: $(diff alone resumed | sed -n 2p)"
	"$troupe" replay belt.tape --secondaries 1 >replayed 2>&1 && grep -q "^$at steps, .* all the same (the recorded run failed" replayed
	report $? "a belt, round $round, replayed: $(tail -n 1 replayed)"
done

# holds FILE: waits until the tracer has made the file; false: the tracer ended before
holds()
{
	until [ -f "$1" ] || ! kill -0 $holder 2>/dev/null; do sleep 0.02; done
	[ -f "$1" ]
}
# end_holder: ends the tracer; its exit status in $holder_status
end_holder()
{
	kill $holder 2>/dev/null
	wait $holder 2>/dev/null
	holder_status=$?
}
# not_held WHAT: prints why the tracer held nothing: the kernel forbids it (status 9), or the tracer came too late (8)
not_held()
{
	case $holder_status in
	9) skip "$1" 'the kernel lets no thread be traced here' ;;
	*) report 1 "$1: the tracer: status $holder_status: $(tail -n 1 hold.err)" ;;
	esac
}
cat >tracer.py <<-'EOF2'
	import ctypes, errno, sys
	def hold(thread):
	    libc = ctypes.CDLL(None, use_errno=True)
	    if libc.ptrace(16, thread, 0, 0): # PTRACE_ATTACH
	        sys.exit(8 if ctypes.get_errno() == errno.ESRCH else 9)
EOF2

# A runner is stuck in a step, while its heartbeat goes on: a tracer holds its stepping thread, the second one.
cat >hold.py <<-'EOF2'
	import os, sys, time, tracer
	threads = sorted(int(name) for name in os.listdir("/proc/%s/task" % sys.argv[1]))
	assert len(threads) >= 3, threads # it has threads that help, too
	tracer.hold(threads[1])
	open("held", "w").close()
	time.sleep(90)
EOF2
rm -f held
gather 2
python3 hold.py "$(cat s1.pid)" 2>hold.err &
holder=$!
if holds held; then
	ended p && [ "$status" = 3 ]
	report $? "a stuck runner: the primary's exit status is 3: $status"
	# if the thread is held in a system call on the connection, the heartbeat stops, too
	grep -q 'did not acknowledge step\|silent for' p.err
	report $? "a stuck runner: $(tail -n 1 p.err)"
	ended s2 && [ "$status" = 3 ]
	report $? "a stuck runner: the other secondary: $status"
	saved 'a stuck runner'
	kill -KILL "$(cat s1.pid)"
	end_holder
else
	end_holder
	not_held 'a stuck runner'
fi

state_of() { sed 's/.*) //; s/ .*//' "/proc/$(cat "$1.pid")/stat" 2>/dev/null; }

# A secondary that gets SIGTERM while it loads does not wait for the end of loading. Its loading thread is held as soon
# as it exists.
cat >hold_loader.py <<-'EOF2'
	import os, signal, sys, time, tracer
	signal.alarm(90)
	open("ready", "w").close()
	while not os.path.exists("s1.pid") or not os.path.getsize("s1.pid"):
	    time.sleep(0.001)
	tasks = "/proc/%s/task" % open("s1.pid").read().strip()
	while len(os.listdir(tasks)) < 2:
	    time.sleep(0.0002)
	loader = max(int(name) for name in os.listdir(tasks))
	tracer.hold(loader)
	os.waitpid(loader, 0x40000000)
	open("held", "w").close()
	time.sleep(90)
EOF2
awk 'BEGIN {
	print "<sdf version=\"1.9\"><world name=\"w\">"
	for (i = 0; i < 8000; i++)
		printf "<model name=\"m%d\"><pose>%d 0 1 0 0 0</pose><link name=\"l\"/></model>\n", i, 3 * i
	print "</world></sdf>"
}' >many.sdf
# hold_loader: starts a run and holds the loading thread; false: no thread is held, or it was too late
hold_loader()
{
	end_processes
	rm -f held ready
	next_port
	start p many.sdf --network-role primary --network-secondaries 1 --network-listen 127.0.0.1:$port
	await p.err 'waiting for'
	python3 hold_loader.py 2>hold.err &
	holder=$!
	holds ready
	start s1 --network-role secondary --network-address 127.0.0.1:$port
	holds held && ! grep -q 'the run begins' p.err && return
	end_holder
	return 1
}
# on a busy machine the tracer may come too late
for _ in 1 2 3 4 5 6 7 8; do
	is_held=
	hold_loader && is_held=1
	[ -z "$is_held" ] && [ "$holder_status" != 9 ] || break
done
if [ -n "$is_held" ]; then
	kill -TERM "$(cat s1.pid)"
	await p.err '0 of 1 present'
	report $? "leaves while it loads: the primary knows: $(cat p.err)"
	for _ in $(seq 3000); do [ "$(state_of s1)" = Z ] && break || sleep 0.02; done
	[ "$(state_of s1)" = Z ] # its status is for the shell once it is not traced any more
	report $? "leaves while it loads: the process has ended: $(state_of s1)"
	end_holder
	ended s1 && [ "$status" = 0 ]
	report $? "leaves while it loads: the exit status is 0: $status"
else
	not_held 'leaving while it loads'
fi

# The primary: if it is killed, its newest saved state is resumed; if it gets SIGTERM, it saves.
gather 2 --save-every 400 saved
until [ -s saved ] || [ -s p.status ]; do sleep 0.02; done
kill -KILL "$(cat p.pid)"
for i in 1 2; do
	ended s$i && [ "$status" = 3 ]
	report $? "the primary was killed: secondary $i: $status"
	grep -q 'the primary .*the last step that all had acknowledged\|the primary .*no step' s$i.err
	report $? "the primary was killed: secondary $i reports it: $(tail -n 1 s$i.err)"
done
saved 'the primary was killed'
for signal in $stop_signals; do
	gather 2
	kill -$signal "$(cat p.pid)"
	ended p && [ "$status" = 0 ]
	report $? "the primary gets SIG$signal: $status"
	ended s1 && [ "$status" = 3 ] && ended s2 && [ "$status" = 3 ]
	report $? "the primary left, by SIG$signal: $status"
	saved "the primary left, by SIG$signal"
done

# All processes are stopped together (Ctrl-Z, a suspended machine) while no step is taken: no process takes another one
# for lost. With time to spare: on a busy machine it takes half a second until the last one has stopped.
long_stale=2000
end_processes
start p "$worlds/meeting.sdf" -v0 --paused --transport tcp --secondaries 2 --network-stale-ms $long_stale --save-on-stop saved
await_secondaries 2
sleep 0.5
all="$(cat p.pid) $secondaries"
# shellcheck disable=SC2086
kill -STOP $all
sleep 3.5
# shellcheck disable=SC2086
kill -CONT $all
ended_in p $((long_stale * 3 / 2))
[ -z "$status" ]
report $? "all were stopped: the run goes on: $status: $(tail -n 1 p.err)"
kill -TERM "$(cat p.pid)" 2>/dev/null
ended p && [ "$status" = 0 ]
report $? "all were stopped: then the primary leaves: $status: $(tail -n 1 p.err)"
rm -f saved

# The same before the start; and a stale time that is shorter than the interval of the checks.
end_processes
next_port
start p "$worlds/meeting.sdf" --network-role primary --network-secondaries 2 --network-listen 127.0.0.1:$port \
	--network-stale-ms $long_stale
start s1 --network-role secondary --network-address 127.0.0.1:$port
await s1.err 'joined the primary'
kill -STOP "$(cat p.pid)" "$(cat s1.pid)"
sleep 3.5
kill -CONT "$(cat p.pid)" "$(cat s1.pid)"
ended_in s1 $((long_stale * 3 / 2))
[ -z "$status" ] && grep -q 'secondary 1 of 2 joined' p.err && ! grep -q '0 of 2 present' p.err
report $? "all were stopped before the start: $status: $(cat p.err s1.err)"
# one success in ten is enough: on a busy machine a process may have been silent for so long
for _ in 1 2 3 4 5 6 7 8 9 10; do
	end_processes
	next_port
	start p "$worlds/meeting.sdf" --network-role primary --network-secondaries 2 --network-listen 127.0.0.1:$port \
		--network-stale-ms 40
	start s1 --network-role secondary --network-address 127.0.0.1:$port
	await s1.err 'joined the primary'
	ended_in s1 500 || break
done
[ -z "$status" ] && ! grep -q '0 of 2 present' p.err
report $? "a short stale time: $status: $(cat p.err s1.err)"

# A secondary comes late, and unknown peers send invalid data or nothing: the run goes on unchanged.
gather 1
timeout 60 "$troupe" run --network-role secondary --network-address 127.0.0.1:$port 2>late.err
[ $? = 3 ] && grep -q 'the run has begun' late.err
report $? "a late secondary gets the reason: $(tail -n 1 late.err)"
if need python3; then
	python3 - $port <<-'EOF2'
		import os, socket, sys
		for payload in (b"GET / HTTP/1.0\r\n\r\n", b"\xff" * 4096, b"\x10\x00\x00\x00\x01" + os.urandom(16), b""):
		    try:
		        with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as peer:
		            peer.sendall(payload)
		    except OSError:
		        pass
	EOF2
fi
ended p && [ "$status" = 0 ]
report $? "the run went on to its end: $status"
[ "$(grep -c 'turned away 127.0.0.1:[0-9]*: it came too late: the run has begun$' p.err)" = 1 ]
report $? "the late secondary is named: $(cat p.err)"
[ "$(grep -c 'turned away 127.0.0.1:[0-9]*: a frame of type 47, which does not exist$' p.err)" = 1 ]
report $? "an unknown peer that sends invalid data is named: $(cat p.err)"
[ "hash $until_step" = "$(tail -n 1 p.out | cut -d' ' -f1-2)" ] && [ "$(tail -n 1 p.out)" = "$reference" ]
report $? "the run has the same state at its end: $(tail -n 1 p.out)"
ended s1 && [ "$status" = 0 ]
report $? "the secondary's exit status: $status"

# A model diverges: the step in which it does so counts for no process.
named falls >wild.sdf
end_processes
next_port
start p wild.sdf --rtf 0 --network-role primary --network-secondaries 1 --network-listen 127.0.0.1:$port --save-on-stop saved.%s
start s1 --network-role secondary --network-address 127.0.0.1:$port
ended p && [ "$status" = 4 ] && [ -f saved.100 ]
report $? "a model diverges: the state before this step is saved: $status: $(tail -n 1 p.err)"
ended s1 && [ "$status" = 3 ] && [ "$(step_said s1)" = 99 ]
report $? "a model diverges: the secondary reports the step before: $status: $(tail -n 1 s1.err)"

# too few secondaries: the message says how many are missing
next_port
"$troupe" run "$worlds/meeting.sdf" --network-role primary --network-secondaries 2 --network-listen 127.0.0.1:$port \
	--network-wait 0.3 2>missing.err
[ $? = 3 ] && grep -q '2 missing, none present' missing.err
report $? "the number of missing secondaries is reported: $(tail -n 1 missing.err)"

# Any process of one run is killed, at any moment: by turns the primary and each secondary. Each must exist to be
# killed.
round=0
resumed_rounds=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	end_processes
	rm -f saved
	start p "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 8 -v1 --transport tcp --secondaries 2 \
		--save-every 100 saved --save-on-stop saved --network-stale-ms 2000
	if [ $((round % 2)) = 0 ]; then # by turns: kills may come before the first step in every second round
		until [ -s saved ] || [ -s p.status ]; do sleep 0.02; done
	fi
	sleep "0.$(printf '%03d' $(($(od -An -N2 -tu2 /dev/urandom) % 600)))"
	# by turns: the primary may be killed before it has started a secondary
	[ $((round % 3)) = 0 ] || await_secondaries 2
	victims="$(cat p.pid) $(children "$(cat p.pid)" | tr '\n' ' ')"
	victim=$(echo "$victims" | cut -d ' ' -f $((round % 3 + 1)))
	kill -KILL "$victim"
	report $? "round $round: $victim of $victims is killed"
	ended p
	report $? "round $round: the primary ended: $status"
	left=
	for process in $victims; do
		for _ in $(seq 3000); do
			kill -0 "$process" 2>/dev/null || break
			[ "$(sed 's/.*) //; s/ .*//' "/proc/$process/stat" 2>/dev/null)" = Z ] && break
			sleep 0.02
		done
		kill -0 "$process" 2>/dev/null && [ "$(sed 's/.*) //; s/ .*//' "/proc/$process/stat" 2>/dev/null)" != Z ] && left="$left $process"
	done
	[ -z "$left" ]
	report $? "round $round: no process is left: $left of $victims"
	# shellcheck disable=SC2086
	[ -z "$left" ] || kill -KILL $left
	[ -f saved ] || continue
	saved "round $round"
	resumed_rounds=$((resumed_rounds + 1))
done
[ $resumed_rounds -ge $((rounds / 2)) ]
report $? "$resumed_rounds of $rounds rounds left a state that was resumed"
totals
