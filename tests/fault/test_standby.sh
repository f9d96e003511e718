#!/bin/sh
# The primary is killed, hangs or is cut off, and a standby takes its place (--network-role standby, --network-standby):
# each step has the hash that it has in a run that nobody disturbs. Then random ones of these, by seed (primaries.py).
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
script=$(cd "${SOURCE_DIR:-.}" && pwd)/tests/fault/primaries.py
peers=$(cd "${SOURCE_DIR:-.}" && pwd)/tests/fault/follow.py
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
port=$((20000 + $$ * 64 % 12000))
steps=4000
patience_ms=300000 # the longest run takes 100 s

run_options="$worlds/warehouse.sdf --commands $worlds/warehouse.commands --iterations $steps"
# shellcheck disable=SC2086
"$troupe" run $run_options --rtf 0 --secondaries 0 -v 0 --hash-every 20 >calm.out 2>/dev/null
report $? 'the run that nobody disturbs'

# The run takes two seconds. A busy machine may begin a disturbance when the run is over, or leave a process without time
# for longer than the stale time: then the block, which is a function, is done again, and both are so many times as long.
slower=1
# once FUNCTION
once()
{
	for slower in 1 5 20; do
		late= passed_before=$passed failed_before=$failed
		"$1" >block.out
		[ "$failed" = "$failed_before" ] || ! grep -qE 'silent for|is silent' ./*.err || late=yes
		[ -n "$late" ] || break
		echo "$1: the run was over, or a process was silent, too soon"
		[ $slower = 20 ] || passed=$passed_before failed=$failed_before
	done
	cat block.out
	[ -z "$late" ]
	report $? "$1: the run is over before it is disturbed, though it takes 40 s, or a process is silent for 8 s"
}
# disturb SIGNAL NAME...: the processes get this signal in the middle of the run
disturb()
{
	signal=$1 numbers=
	shift
	for disturbed; do
		[ ! -s "$disturbed.status" ] || late=yes
		numbers="$numbers $(cat "$disturbed.pid")"
	done
	# shellcheck disable=SC2086
	kill "-$signal" $numbers 2>/dev/null # all at once
}
# primary OPTION...: a primary at a port of its own; so many times as fast as real time
pace=2
primary()
{
	end_processes
	rm -f ./*.err ./*.out.p ./*.report
	next_port
	# shellcheck disable=SC2086
	start p $run_options --rtf "$(awk "BEGIN { print $pace / $slower }")" --hash-every 20 --report p.report --network-role primary \
		--network-listen 127.0.0.1:$port --network-stale-ms $((400 * slower)) "$@"
	await p.err 'waiting for'
}
secondary() # NAME OPTION...
{
	secondary_name=$1
	shift
	start "$secondary_name" --network-role secondary --network-address 127.0.0.1:$port --network-threads 1 "$@"
}
# standby NAME OPTION...: follows the primary at $port, and is at $port afterwards
standby()
{
	standby_name=$1
	shift
	followed=$port
	next_port
	start "$standby_name" --network-role standby --network-address 127.0.0.1:$followed \
		--network-listen 127.0.0.1:$port --hash-every 20 --network-stale-ms $((400 * slower)) --network-wait 20 "$@"
}
# says NAME PATTERN: in time
says()
{
	await "$1.err" "$2" || { [ -s "$1.status" ] && late=yes; }
	[ -z "$late" ] || return 0
	grep -q -e "$2" "$1.err"
	report $? "$1 says '$2': $(cat "$1.err")"
}
# b follows p, and the secondaries know where it is: a primary that is killed before has no standby
followed()
{
	says b 'follows the primary'
	await p.err 'the run goes on with' || late=yes
}
# ends NAME STATUS
ends()
{
	[ -z "$late" ] || return 0
	ended "$1" && [ "$status" = "$2" ]
	report $? "$1: exit status $status, not $2: $(tail -n 1 "$1.err")"
}
# same WHAT NAME...: these processes printed no other hash than that of its step, and the last one printed the last step. The
# last lines of a process that was killed may be missing or cut.
same()
{
	[ -z "$late" ] || return 0
	what=$1
	shift
	for last; do
		grep -E '^hash [0-9]+ [0-9a-f]{16}$' "$last.out"
	done >mine.all
	sort -u mine.all >mine
	sort -u calm.out >calm.sorted
	[ -z "$(comm -23 mine calm.sorted)" ] && [ "$(wc -l <mine)" -ge $((steps / 20 - 30)) ] &&
		grep -qx "$(tail -n 1 calm.out)" "$last.out"
	report $? "$what: the same hashes ($(wc -l <mine) of them; $(comm -23 mine calm.sorted | head -n 1))"
}

# The primary is killed; the standby goes on with both secondaries, and another one follows it and takes over, too.
killed_twice()
{
	primary --network-secondaries 2
	secondary s1
	secondary s2
	standby b
	says b 'follows the primary at 127.0.0.1:[0-9]*, of 2 secondaries'
	says p 'the standby at port [0-9]* follows this primary'
	await p.out '^hash [6-9][0-9][0-9] '
	disturb KILL p
	says s1 'was lost: .*: looking for the standby at the same host'
	says b 'this standby takes over as primary of term 2: the run goes on from step [0-9]*'
	standby c
	says c 'follows the primary'
	await b.out '^hash [23][0-9][0-9][0-9] '
	disturb KILL b
	says c 'takes over as primary of term 3'
	ends c 0
	ends s1 0
	ends s2 0
	same 'killed twice' p b c
}
once killed_twice

# It hangs, and wakes when another one has taken over: it ends, and says why.
hangs_and_wakes()
{
	primary --network-secondaries 3 --on-loss continue
	secondary s1
	secondary s2
	secondary s3
	standby b --on-loss continue
	followed
	await p.out '^hash [6-9][0-9][0-9] '
	disturb STOP p
	says b 'takes over as primary of term 2'
	await b.out '^hash'
	kill -CONT "$(cat p.pid)"
	ends p 3
	says p 'the standby and 3 of 3 secondaries are lost: with them the standby may have taken over this run'
	ends b 0
	for name in s1 s2 s3; do ends $name 0; done
	same 'hangs and wakes' p b
}
once hangs_and_wakes

# A secondary is lost with it: the other two of three are a majority, with the standby. One of three is none.
one_of_three_lost()
{
	primary --network-secondaries 3 --on-loss continue
	secondary s1
	secondary s2
	secondary s3
	standby b --on-loss continue --report b.report --record b.tape
	followed
	await p.out '^hash [6-9][0-9][0-9] '
	disturb KILL p s2
	says b 'takes over as primary of term 2'
	says b 'a secondary did not join again: the run goes on without it'
	says b 'the run goes on with 2 secondaries; it stood still for [0-9.]* s'
	ends b 0
	grep -q '"term": 2, "changes": .*"change": "lost", "who": "the primary of term 1", "step": [1-9]' b.report
	report $? "the report tells of the loss of the primary: $(grep changes b.report)"
	timeout 60 "$troupe" diff b.tape b.tape >told 2>&1
	grep -q '  step [1-9][0-9]*: the primary of term 1 lost' told && grep -q ': a secondary that was to join again lost' told
	report $? "and so does the recording of the standby: $(cat told)"
	ends s1 0
	same 'a secondary is lost with it' p b
}
once one_of_three_lost
two_of_three_lost()
{
	primary --network-secondaries 3 --on-loss continue
	secondary s1
	secondary s2
	secondary s3
	standby b --network-wait $((slower < 10 ? 2 * slower : 20))
	followed
	disturb KILL p s2 s3
	ends b 3
	says b 'the primary was lost, and 1 of 3 secondaries came to this standby: expected 2'
}
once two_of_three_lost

# saved_by_standby: b has saved its state, which goes on with the same bits
saved_by_standby()
{
	says b 'state: saved the state of step'
	[ -z "$late" ] || return 0
	"$troupe" run --resume ./*.state --rtf 0 --iterations $steps --hash-every 20 -v 0 >again.out 2>again.err
	report $? "the state that was saved goes on: $(cat again.err)"
	[ -s again.out ] && tail -n "$(wc -l <again.out)" calm.out | cmp -s - again.out
	report $? 'the state that was saved has the same hashes'
}
# Where the loss of a secondary ends the run, the standby needs all of them.
all_needed()
{
	rm -f ./*.state
	primary --network-secondaries 2
	secondary s1
	secondary s2
	standby b --network-wait $((slower < 10 ? 2 * slower : 20))
	followed
	disturb KILL p s2
	ends b 3
	says b 'the primary was lost, and 1 of 2 secondaries came to this standby: expected 2'
	saved_by_standby
}
once all_needed

# Both are lost when it takes over: wherever it stands then, the state is saved, and goes on with the same bits.
all_lost()
{
	rm -f ./*.state
	primary --network-secondaries 2
	secondary s1
	secondary s2
	standby b
	followed
	disturb KILL p
	says b 'takes over as primary of term 2'
	disturb KILL s1 s2
	ends b 3
	saved_by_standby
}
once all_lost

# It takes over, and finds that it cannot have a place that it was to have: the run cannot go on, and its state is saved.
no_place()
{
	rm -f ./*.state
	primary --network-secondaries 2
	secondary s1
	secondary s2
	standby b --lockstep-listen 192.0.2.1:9 --lockstep-insecure
	followed
	disturb KILL p
	says b 'takes over as primary of term 2'
	says b '192.0.2.1:9'
	[ -n "$late" ] || ended b
	[ -n "$late" ] || [ "$status" != 0 ]
	report $? "b: exit status $status"
	saved_by_standby
}
once no_place

# The standby is cut off: the run goes on without it. It follows again when it is back, and then takes over.
cut_off()
{
	pace=1.3
	primary --network-secondaries 2
	pace=2
	secondary s1
	secondary s2
	standby b --network-wait $slower
	followed
	disturb STOP b
	says p 'the standby at port [0-9]* is lost'
	says p 'the run goes on with 2 secondaries'
	kill -CONT "$(cat b.pid)"
	await p.err 'follows this primary' 2
	await b.err 'follows the primary' 2
	await p.out '^hash 3[5-9][0-9][0-9] ' # the time to wait, which began with the loss, has passed
	disturb KILL p
	ends b 0
	same 'the standby was cut off' p b
}
once cut_off

# It is beside a secondary; the report of a run that ends well has it.
beside_a_secondary()
{
	primary --network-secondaries 2
	followed=$port
	next_port
	start s1 --network-role secondary --network-address 127.0.0.1:$followed --network-threads 1 --network-standby \
		--network-listen 127.0.0.1:$port
	start s2 --network-role secondary --network-address 127.0.0.1:$followed --network-threads 1
	says p 'the standby at port [0-9]* follows this primary'
	ends p 0
	ends s1 0
	ends s2 0
	grep -q '"change": "came", "who": "the standby at port' p.report
	report $? "the report has the standby: $(grep change p.report)"
	[ -z "$(children "$(cat s1.pid)")" ]
	report $? 'the standby beside a secondary ends with it'
}
once beside_a_secondary

# A robot client goes to the standby, too, if that lets clients in.
with_a_client()
{
	primary --network-secondaries 1 --clients 1
	secondary s1
	standby b --clients 1
	followed
	start c --network-role client --name tb3 --network-address 127.0.0.1:$followed --network-threads 1
	await p.err "client 'tb3' joined"
	disturb KILL p
	says b "client 'tb3' joined as secondary 2 of 2"
	ends b 0
	ends c 0
	ends s1 0
}
once with_a_client

# It comes in the moment in which the last secondary is ready: the primary reads both at once.
comes_with_the_start()
{
	primary --network-secondaries 1
	secondary s1
	await s1.err 'joined the primary'
	kill -STOP "$(cat p.pid)" # before it knows that this secondary has the world, or a little after that
	standby b
	sleep 0.2
	kill -CONT "$(cat p.pid)"
	followed
	! grep 'closed the connection before it sent anything' b.err || unheard=yes # when the run ended
	disturb TERM p
	ends p 0
	ends b 3
}
unheard=
for _ in 1 2 3; do
	once comes_with_the_start
done
[ -z "$unheard" ]
report $? 'a standby that comes in the moment of the start has no answer'

# The run is ended by its user: for the standby, too. A standby that is ended leaves the run as it is.
ended_by_its_user()
{
	primary --network-secondaries 1
	secondary s1
	standby b
	followed
	disturb TERM b
	ends b 0
	says p 'is lost: it left'
	port=$followed
	standby c
	says c 'follows the primary'
	disturb TERM p
	ends p 0
	ends c 3
}
once ended_by_its_user

# A primary is killed while the members change, while it saves, and after it was resumed.
while_one_joins()
{
	primary --network-secondaries 2 --network-max 3 --on-loss continue --save-every 50 every
	secondary s1
	secondary s2
	standby b
	followed
	primary_port=$followed
	start s3 --network-role secondary --network-address 127.0.0.1:$primary_port --network-threads 1
	await p.err 'secondary 3 of 3 joined from'
	disturb KILL p
	ends b 0
	ends s1 0
	same 'while one joins' p b
}
once while_one_joins
resumed()
{
	end_processes
	next_port
	start p --resume every --rtf "$(awk "BEGIN { print 2 / $slower }")" --iterations $steps --hash-every 20 --network-role primary \
		--network-secondaries 2 --network-listen 127.0.0.1:$port --network-stale-ms $((400 * slower))
	secondary s1
	secondary s2
	standby b
	followed
	disturb KILL p
	ends b 0
	grep -qx "$(tail -n 1 calm.out)" b.out
	report $? "a resumed run goes on: $(tail -n 1 b.out)"
}
[ ! -s every ] || once resumed

# With a key; a standby without it, or with another one, is no standby.
"$troupe" keygen --output key >/dev/null 2>&1
"$troupe" keygen --output other >/dev/null 2>&1
with_a_key()
{
	primary --network-secondaries 1 --network-key-file key
	secondary s1 --network-key-file key
	await p.out '^hash'
	standby x --network-key-file other --network-wait 0.5
	port=$followed
	ends x 3
	standby b --network-key-file key
	followed
	disturb KILL p
	ends b 0
	same 'with a key' p b
}
[ ! -s key ] || once with_a_key

# A primary that sends other than it should, and a standby that does: nobody else is harmed.
a_primary_that_lies()
{
	end_processes
	next_port
	timeout 300 python3 "$peers" primary $port >lies.out 2>lies.err &
	liar=$!
	standby b --network-wait 200
	wait $liar
	report $? "a primary that lies: $(cat lies.out lies.err)"
	[ "$(wc -l <lies.out)" = 21 ]
	report $? "the standby asked each time: $(tail -n 1 lies.out)"
	ends b 1
	says b 'this process cannot go on with the run: what the primary sent: not a recording'
}
# liar NAME ARGUMENT...: waits until it can take part; $! is its number
liar()
{
	name=$1
	shift
	timeout 300 python3 "$peers" "$@" >"$name.out" 2>"$name.err" &
	liar=$!
	await "$name.out" ready
}
a_standby_that_lies()
{
	pace=0.8
	primary --network-secondaries 2
	pace=2
	liar lies standby $port
	secondary s1
	secondary s2
	wait $liar
	[ ! -s p.status ] || late=yes
	[ "$(grep -c '^followed' lies.out)" = 6 ]
	report $? "a standby that lies: $(cat lies.out lies.err) $(tail -n 3 p.err)"
	ends p 0
	same 'a standby that lies' p
}
# A secondary without which the primary goes on has no vote, though one would be enough here.
a_secondary_that_is_no_member()
{
	pace=0.8
	primary --network-secondaries 1 --on-loss continue
	pace=2
	liar voter secondary $port $((port + 1))
	secondary s1
	standby b
	wait $liar
	[ ! -s p.status ] || late=yes
	grep -q '^again 0: it is a standby, and the primary is not lost' voter.out
	report $? "a secondary that is no member: $(cat voter.out voter.err)"
	! grep -q 'lost the primary\|takes over' b.err
	report $? "its vote does not count: $(tail -n 2 b.err)"
	ends p 0
	ends b 0
}
if command -v python3 >/dev/null; then
	a_primary_that_lies
	once a_standby_that_lies
	once a_secondary_that_is_no_member
fi

# what is refused
refused() # PATTERN OPTION...
{
	pattern=$1
	shift
	"$troupe" run "$@" >refused.out 2>&1
	[ $? != 0 ] && grep -q -e "$pattern" refused.out
	report $? "$*: $(cat refused.out)"
}
refused 'without --network-address: expected HOST' --network-role standby
refused 'not with --network-role standby: the state' --network-role standby --network-address 127.0.0.1 --resume x
refused 'not with --network-role standby: the state' --network-role standby --network-address 127.0.0.1 --commands x
refused 'without --network-address: expected HOST' --network-role secondary --network-standby
refused 'network-listen: not with --network-role secondary' --network-role secondary --network-address 127.0.0.1 --network-listen :1
refused 'network-standby: not with --network-role primary' --network-role primary --network-standby

end_processes

# Primaries that are killed and hang, with secondaries and standbys, at random.
if command -v python3 >/dev/null; then
	TROUPE=$troupe python3 "$script" "$worlds" "$scratch/random" 1 "$(amount 2 4 12 200)" >random.out 2>&1
	report $? "random losses of primaries: $(cat random.out)"
else
	skip 'random losses of primaries: there is no python3'
fi
totals
