#!/bin/sh
# Ranks of an MPI run that die, hang, or are asked to end, and runs that cannot begin. mpirun ends all ranks two seconds after
# one of them has died; by then the primary has reported the lost rank, and has saved the state. The exit status of mpirun is the
# one of the rank that ended first.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/determinism/ranks.sh"
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
can_try_ranks || { totals; exit; }

# begin COUNT ARGUMENTS...: starts mpirun in the background, as p
begin()
{
	count=$1
	shift
	rm -f p.status p.pid p.out p.err saved-*
	(
		(launch -n "$count" "$troupe" run --transport mpi "$@") >p.out 2>p.err &
		echo $! >p.pid
		wait $!
		echo $? >p.status
	) 2>/dev/null &
	while [ ! -s p.pid ]; do sleep 0.01; done
}

# pid_of RANK: the process of this rank
pid_of()
{
	for child in $(children "$(cat p.pid)"); do
		tr '\0' '\n' <"/proc/$child/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$child"
	done
}

# Whether a rank still runs. One that has ended does not, also before mpirun has asked for its status.
rank_runs()
{
	for child in $(children "$(cat p.pid)"); do
		rank_line=
		read -r rank_line 2>/dev/null <"/proc/$child/stat"
		case ${rank_line##*) } in '' | [ZX]*) ;; *) return 0 ;; esac
	done
	return 1
}

# all_ended: waits for the end of mpirun; its exit status in $status. False: it or a rank hangs. Now and then Open MPI's
# mpirun (seen with 4.1.4) does not end well when all ranks have: one of its threads waits in PMIx for a lock that nobody
# gives back, or it crashes there, in PMIx_server_finalize(). Then the status is `unknown`; it is killed after 10 s.
all_ended()
{
	all_until=$(($(now_ms) + patience_ms)) over_ms=
	while ! ended_in p 0 && [ "$(now_ms)" -lt $all_until ]; do
		if rank_runs; then
			over_ms=
		elif [ $(($(now_ms) - ${over_ms:=$(now_ms)})) -gt 10000 ]; then
			kill -KILL "$(cat p.pid)"
			ended p
			status=unknown
			return 0
		fi
		sleep 0.02
	done
	[ "$status" != 139 ] || ! grep -q 'PMIx_server_finalize' p.err || status=unknown
	[ -n "$status" ]
}

# lost WHAT STATUS PATTERN: the run has ended with this status and one message of this pattern, and its last state leads
# to the right hash
lost()
{
	all_ended && [ "$status" = "$2" ] || [ "$status" = unknown ]
	report $? "$1: status $status: $(tail -n 1 p.err)"
	[ "$status" != unknown ] || skip "$1: the status of mpirun" 'it hung or crashed after its ranks had ended'
	[ "$(grep -c "$3" p.err)" = 1 ]
	report $? "$1: one message '$3': $(grep '^troupe' p.err | tail -n 2)"
	state=$(echo saved-*)
	step=${state#saved-}
	[ -s "$state" ]
	report $? "$1: a state is saved"
	timeout "$run_limit_s" "$troupe" run --resume "$state" --rtf 0 -v0 --iterations "$((step + 200))" --hash-every "$((step + 200))" --secondaries 1 >resumed
	timeout "$run_limit_s" "$troupe" run "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 0 -v0 \
		--iterations "$((step + 200))" --hash-every "$((step + 200))" --secondaries 0 >whole
	cmp -s resumed whole
	report $? "$1: a run that goes on from it has the same hash"
}

# going: waits until the run of p has begun
going() { await p.err 'the run begins' && sleep "$1"; }

for moment in 0 0.3 1; do
	begin 3 "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 1 --save-on-stop saved-%s
	going $moment
	kill -KILL "$(pid_of 1)"
	# a rank that is killed before the first step may leave no state
	lost "rank 1 was killed after $moment s" 137 'troupe run: secondary 1 (.* at rank 1) was lost: silent'
done

begin 5 "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 1 --save-on-stop saved-%s
going 0.5
kill -STOP "$(pid_of 4)"
lost 'rank 4 hangs' 3 'troupe run: secondary 4 (.* at rank 4) was lost: silent'

begin 3 "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 1 --save-on-stop saved-%s
going 0.5
kill -ABRT "$(pid_of 2)"
lost 'rank 2 aborts' 134 'troupe run: secondary 2 (.* at rank 2) was lost: silent'

# Also the primary may be lost, with --save-every: the page of clusters goes on in this way.
rm -f saved
begin 3 "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 1 --save-every 100 saved
until [ -s saved ]; do sleep 0.02; done
left=$(pid_of 0)
kill -KILL "$left"
all_ended && [ "$status" = 137 ] || [ "$status" = unknown ]
report $? "rank 0 was killed: status $status"
grep -q '^mpirun -n 5 build/troupe run --resume saved --iterations 4000 --transport mpi$' "$worlds/../src/doc/tutorial/cluster.md"
report $? "src/doc/tutorial/cluster.md says how to go on"
begin 3 --resume saved --iterations 900 --rtf 0 --hash-every 900
all_ended
report $? "a job that goes on from the saved state: status $status: $(tail -n 1 p.err)"
timeout "$run_limit_s" "$troupe" run "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 0 -v0 --iterations 900 \
	--hash-every 900 --secondaries 0 >whole
[ "$(grep '^hash' p.out)" = "$(cat whole)" ]
report $? "it has the same hash: $(grep '^hash' p.out)"

for signal in TERM INT; do
	begin 3 "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --rtf 1 --save-on-stop saved-%s
	going 0.5
	kill -TERM "$(pid_of 1)" # SIGTERM to a secondary alone has no effect
	sleep 0.5
	[ ! -s p.status ]
	report $? "SIGTERM to one secondary: the run goes on"
	kill -$signal "$(cat p.pid)"
	lost "SIG$signal to mpirun" 1 'steps, .* s simulated'
	! grep -q 'was lost\|left' p.err
	report $? "SIG$signal to mpirun: no rank counts as lost"
done

# usage COUNT STATUS PATTERN ARGUMENTS...: an error before the start, in one message
usage()
{
	count=$1 want=$2 pattern=$3
	shift 3
	(launch -n "$count" "$troupe" run --transport mpi "$@") >out 2>err
	status=$?
	[ $status = "$want" ] && [ "$(grep -c '^troupe run: ' err)" = 1 ] && grep -q "^troupe run: .*$pattern" err && [ ! -s out ]
	report $? "$pattern: status $status, expected $want: $(grep '^troupe' err)"
}
usage 3 1 'nowhere.sdf: cannot open' -v0 nowhere.sdf
usage 3 2 'secondaries 4 with 3 ranks: expected 2' -v0 --secondaries 4 "$worlds/meeting.sdf"
usage 1 2 'with one rank: expected a rank for the primary' -v0 "$worlds/meeting.sdf"
"$troupe" run --transport mpi "$worlds/meeting.sdf" >out 2>err
[ $? = 2 ] && grep -q 'with one rank' err
report $? "without mpirun: $(cat err)"

# Only rank 0 prints, and writes files.
ranks 4 "$worlds/meeting.sdf" --rtf 0 --iterations 100 --report report --record record --hash-every 100 --secondaries 3 >out 2>err
report $? "a run with outputs: $(tail -n 1 err)"
[ "$(wc -l <out)" = 1 ] && [ -s report ] && [ -s record ] && [ "$(grep -c 'the run begins' err)" = 1 ]
report $? "only rank 0 writes outputs"
[ "$(grep -c '"bytes_received"' report)" = 1 ]
report $? 'the report counts the bytes'
timeout "$run_limit_s" "$troupe" replay record >/dev/null
report $? 'the recording can be replayed'
totals
