#!/bin/sh
# Secondaries are lost, leave, join and wait as spares while the world runs (--on-loss continue, --network-max,
# --network-spares): each step has the hash that it has in a run that nobody disturbs, and counts once in the recording,
# the log and the MCAP file. Then random ones of all these, by seed (members.py).
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
script=$(cd "${SOURCE_DIR:-.}" && pwd)/tests/fault/members.py
tapes=$(cd "${SOURCE_DIR:-.}" && pwd)/tests/fault/tapes.py
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
port=$((20000 + $$ * 64 % 12000))
partition=members-$$
steps=4000

# The run that nobody disturbs. It keeps to real time, so that there is time for all that happens to the others.
run_options="$worlds/warehouse.sdf --commands $worlds/warehouse.commands --rtf 1 --iterations $steps"
# shellcheck disable=SC2086
"$troupe" run $run_options --secondaries 0 -v 0 --hash-every 20 --record calm.tape --log calm.csv >calm.out 2>/dev/null
report $? 'the run that nobody disturbs'

# primary OPTION...: starts a primary at a port of its own; its options, with pace: so many times real time
primary()
{
	end_processes
	rm -f ./*.err p.*
	next_port
	# shellcheck disable=SC2086
	start p $run_options --hash-every 20 --record p.tape --log p.csv --report p.report \
		--network-role primary --network-listen 127.0.0.1:$port --network-partition $partition \
		--network-stale-ms 500 "$@"
	await p.err 'waiting for'
}
secondary() # NAME OPTION...
{
	secondary_name=$1
	shift
	start "$secondary_name" --network-role secondary --network-partition $partition \
		--network-address 127.0.0.1:$port --network-threads 1 "$@"
}
begun() { await p.out '^hash'; }
# same WHAT STATUS: the primary ends well, with the same output
same()
{
	ended p
	[ "$status" = "${2:-0}" ] && grep '^hash' p.out | cmp -s - calm.out
	report $? "$1: the same hashes (status $status): $(tail -n 2 p.err)"
	python3 "$tapes" same calm.tape p.tape
	report $? "$1: the same recording, but for the changes of members"
	cmp -s calm.csv p.csv
	report $? "$1: the same log"
}
# says NAME PATTERN: in time
says()
{
	await "$1.err" "$2"
	grep -q -e "$2" "$1.err"
	report $? "$1 says '$2': $(cat "$1.err")"
}
# ends NAME STATUS
ends()
{
	ended "$1" && [ "$status" = "$2" ]
	report $? "$1: exit status $status, not $2: $(tail -n 1 "$1.err")"
}
# changes: what the report says of the members: "lost 20" for each, with the steps that were repeated
changes() { grep -o '"change": "[a-z]*"\|"repeated_steps": [0-9]*' p.report | sed -n '/change/{N;s/[^a-z0-9]*"change": "\([a-z]*\)"\n.*: /\1 /;p}'; }

# One is killed; one hangs; the run goes on with the third.
primary --network-secondaries 3 --on-loss continue
secondary s1
secondary s2
secondary s3
begun
kill -KILL "$(cat s1.pid)"
says p 'the run goes on with 2 secondaries'
kill -STOP "$(cat s2.pid)"
says p 'silent for [0-9]* ms; \(the last step that all had acknowledged is [0-9]*\|no step was acknowledged by all\): the run goes on from there$'
says p 'the run goes on with 1 secondary; it stood still for'
same 'one is killed, one hangs'
ends s3 0
[ "$(grep -c 'troupe run: joined the primary' s3.err)" = 3 ] && ! grep -q 'looking.*looking' s3.err
report $? "the third joins again on its connection: $(cat s3.err)"
[ "$(changes | cut -d' ' -f1 | tr '\n' ' ')" = 'lost lost ' ]
report $? "the report names both: $(changes)"
python3 "$tapes" members p.tape >marks
[ "$(cut -d' ' -f1,3 marks | tr '\n' ' ')" = 'lost secondary lost secondary ' ]
report $? "the recording has both: $(cat marks)"
# secondaries are numbered as they join, so the lost ones may be any two
timeout 60 "$troupe" diff calm.tape p.tape -v 0 >said 2>&1
[ $? = 0 ] && [ "$(grep -c '^  step [0-9]*: secondary [123] (.*) lost$' said)" = 2 ] && grep -q '^secondaries of B that came' said
report $? "diff names both: $(cat said)"
timeout 60 "$troupe" bisect p.tape --when 'time > 3.5' -v 0 >said 2>&1
[ $? = 0 ] && [ "$(grep -c '^  step [0-9]*: secondary [123] (.*) lost$' said)" = 2 ]
report $? "bisect names both: $(cat said)"
timeout 60 "$troupe" replay p.tape --secondaries 0 -v 0 >said 2>&1
report $? "it can be replayed: $(cat said)"
kill -CONT "$(cat s2.pid)"
ends s2 3

# One that hung, and was lost, comes in again when it wakes. The topic of levels tells of both.
GZ_PARTITION=$partition
export GZ_PARTITION
no_gz=${TROUPE_NO_GZ:-}
unset TROUPE_NO_GZ
primary --network-secondaries 2 --on-loss continue
secondary s1
secondary s2
begun
kill -STOP "$(cat s2.pid)"
says p 'the run goes on with 1 secondary'
kill -CONT "$(cat s2.pid)"
says s2 'the run goes on without this process, which was lost: joining it again'
says p 'the run goes on with 2 secondaries'
timeout 30 "$troupe" topic echo -n 1 -t /world/warehouse/levels >levels 2>&1
unset GZ_PARTITION
TROUPE_NO_GZ=$no_gz
export TROUPE_NO_GZ
[ "$(sed -n 's/^  what: "\(.*\)"/\1/p' levels | tr '\n' ' ')" = 'lost came ' ] && grep -q '^  who: "secondary 2 (' levels
report $? "/world/warehouse/levels: $(tail -n 12 levels)"
same 'one hangs, is lost and comes again'
ends s1 0
ends s2 0
[ "$(changes | cut -d' ' -f1 | tr '\n' ' ')" = 'lost came ' ]
report $? "the report says that it was lost, and came: $(changes)"

# The default is that the run ends.
primary --network-secondaries 2
secondary s1
secondary s2
begun
kill -KILL "$(cat s1.pid)"
ends p 3
ends s2 3
grep -q '"step": ' p.report
report $((!$?)) 'without --on-loss the run ends, with its report'

# One is told to leave: it leaves with status 0, and nothing is repeated.
primary --network-secondaries 2 --on-loss continue --trace
secondary s1
secondary s2
begun
kill -TERM "$(cat s2.pid)"
ends s2 0
says p 'secondary [123] (.*) leaves at step [0-9]*: the run goes on'
same 'one leaves'
[ "$(changes)" = 'left 0' ]
report $? "the report says that it left, and that nothing was repeated: $(changes)"
grep -q '^left [0-9]* secondary [123] (.*)$' p.out
report $? "the trace says that it left"

# A third one joins; a fourth is one too many; then one is lost, and another comes in its place.
primary --network-secondaries 2 --network-max 3 --on-loss continue
secondary s1
secondary s2
begun
secondary s3
says p 'secondary 3 of 3 joined from'
says p 'the run goes on with 3 secondaries'
secondary s4
ends s4 3
grep -q 'one too many' s4.err
report $? "the fourth is turned away: $(tail -n 1 s4.err)"
kill -KILL "$(cat s1.pid)"
says p 'the run goes on with 2 secondaries'
secondary s5
await p.err 'secondary 3 of 3 joined from' 2
same 'some join, one is lost'
for name in s2 s3 s5; do ends $name 0; done
[ "$(changes | cut -d' ' -f1 | tr '\n' ' ')" = 'came lost came ' ]
report $? "the report says who came: $(changes)"
grep -q '"tuning": {"working": [1-3], "secondaries": 3' p.report
report $? "how many of them pay is found out: $(grep tuning p.report)"

# A spare waits until one is lost.
primary --network-secondaries 1 --on-loss continue --network-spares 1
secondary s1
begun
secondary spare
says spare 'this process comes again until it is let in'
kill -KILL "$(cat s1.pid)"
says p 'the run goes on with 1 secondary'
same 'a spare takes the place of the only one'
ends spare 0

# None is left: the run waits for one. Then it waits no longer, and ends with the state of the last step.
primary --network-secondaries 1 --on-loss continue --network-wait 3 --save-on-stop saved
secondary s1
begun
kill -KILL "$(cat s1.pid)"
await p.err 'the run goes on from there'
secondary s2
says p 'the run goes on with 1 secondary'
await p.out '^hash' $(($(grep -c '^hash' p.out) + 3))
kill -KILL "$(cat s2.pid)"
ends p 3
says p 'waited 3 s for 1 secondary: 1 missing'
"$troupe" run --resume saved --rtf 0 -v 0 --iterations "$steps" --secondaries 2 --hash-every 20 >rest.out 2>rest.err
tail -n "$(wc -l <rest.out)" calm.out | cmp -s - rest.out && [ -s rest.out ]
report $? "the state that was saved goes on: $(tail -n 1 rest.err)"

# Processes that were started here are not replaced: without any the run ends.
# shellcheck disable=SC2086
start p $run_options --hash-every 20 --transport tcp --secondaries 2 --on-loss continue
begun
for child in $(children "$(cat p.pid)"); do kill -KILL "$child"; done
ended p && [ "$status" = 3 ] && grep -q 'no secondary is left' p.err
report $? "children: exit status $status: $(tail -n 1 p.err)"

# A joiner with another key, or with none, disturbs nobody.
"$troupe" keygen --output key >/dev/null 2>&1
if [ -s key ]; then
	primary --network-secondaries 1 --network-max 3 --on-loss continue --network-key-file key
	secondary s1 --network-key-file key
	begun
	secondary s2
	sleep 0.3
	secondary s3 --network-key-file key
	says p 'the run goes on with 2 secondaries'
	same 'a joiner without the key'
	ends s3 0
fi

# what is refused
refused() # PATTERN OPTION...
{
	pattern=$1
	shift
	"$troupe" run "$worlds/meeting.sdf" "$@" >refused.out 2>&1
	[ $? != 0 ] && grep -q -e "$pattern" refused.out
	report $? "$*: $(cat refused.out)"
}
refused 'stop.*continue' --network-role primary --network-secondaries 1 --on-loss maybe
refused 'on-loss' --network-role primary --network-secondaries 1 --network-spares 1
refused 'spares wait until a secondary is lost' --network-role primary --network-secondaries 1 --on-loss stop --network-spares 1
refused 'on-loss' --secondaries 2 --on-loss continue

end_processes

# Random kills, stops, cuts of patience, joins and leaves.
if command -v python3 >/dev/null; then
	TROUPE=$troupe python3 "$script" "$worlds" "$scratch/random" 1 "$(amount 3 4 20 300)" >random.out 2>&1
	report $? "random changes of members: $(cat random.out)"
else
	skip 'random changes of members: there is no python3'
fi
totals
