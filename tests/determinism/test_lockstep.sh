#!/bin/sh
# Barrier clients of other processes: a controller that speaks to the lockstep socket drives a cart along a path. All
# runs have one hash, whatever the secondaries, the controller's delays and the load. Then: a recording repeats the run
# without the controller; the controller is killed; it does not come; the run is stopped while it waits.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
set -u
named floor >"$scratch/floor.sdf"
# shellcheck disable=SC2086
${TEST_CC:-cc} -Wall -Wextra -Werror "${SOURCE_DIR:-.}/tests/examples/follow.c" -o "$scratch/follow" -lm
report $? 'the example follow does not build'

limit=6000
# run NAME OPTION...: the output is in $scratch/NAME.out and .err
run()
{
	name=$1
	shift
	timeout $run_limit_s "$troupe" run "$scratch/floor.sdf" --resource-path "$worlds" --rtf 0 -v 1 --iterations $limit \
		--hash-every 6000 --lockstep-socket "$scratch/$name" "$@" >"$scratch/$name.out" 2>"$scratch/$name.err"
}

# follow NAME [DELAY_US]: starts the controller
follow()
{
	timeout $run_limit_s "$scratch/follow" "$scratch/$1" /model/cart ${2:+"$2"} >"$scratch/$1.path" 2>"$scratch/$1.said"
}

want=
load=
for i in $(seq "$(amount 3 10 20 100)"); do
	if [ $((i % 3)) = 0 ]; then # the load comes and goes
		timeout 5 sh -c 'while :; do :; done' &
		load=$!
	fi
	follow "run$i" $((i * 37 % 700 + 1)) &
	client=$!
	run "run$i" --wait-for follow --secondaries $((i % 3)) --record "$scratch/record" --commands-out "$scratch/commands"
	report $? "run $i: $(cat "$scratch/run$i.err")"
	wait $client
	report $? "run $i: the client's status: $(cat "$scratch/run$i.said")"
	[ -z "$load" ] || { kill "$load"; wait "$load"; } 2>/dev/null
	load=
	hash=$(cat "$scratch/run$i.out")
	want=${want:-$hash}
	[ -n "$hash" ] && [ "$hash" = "$want" ]
	report $? "run $i: '$hash', expected '$want'"
	cmp -s "$scratch/run1.path" "$scratch/run$i.path"
	report $? "run $i: another path"
done
[ "$(grep -c '^corner' "$scratch/run1.path")" -ge 2 ]
report $? "the cart does not reach two corners: $(cat "$scratch/run1.path")"
timeout $run_limit_s "$troupe" replay "$scratch/record" >"$scratch/replay" 2>&1
report $? "the replay: $(cat "$scratch/replay")"
for secondaries in 0 1 2; do
	timeout $run_limit_s "$troupe" run "$scratch/floor.sdf" --resource-path "$worlds" --rtf 0 -v 0 --iterations $limit \
		--hash-every 6000 --commands "$scratch/commands" --secondaries $secondaries >"$scratch/again"
	report $? "the written commands with $secondaries secondaries"
	cmp -s "$scratch/again" "$scratch/run1.out"
	report $? "the written commands give '$(cat "$scratch/again")' with $secondaries secondaries, expected '$want'"
done

# killed in the middle: `follow` joins so that its failure ends the run
limit=100000000
"$scratch/follow" "$scratch/killed" /model/cart 1000 >/dev/null 2>&1 &
client=$!
(
	for _ in $(seq 6000); do # until steps are taken, which the run does with the client only
		[ ! -s "$scratch/killed.out" ] || break
		sleep 0.05
	done
	kill -KILL $client
) &
run killed --wait-for follow
# reset: the client had data that it had not read
[ $? = 3 ] && grep -qE "barrier client 'follow', step [0-9]*: (it closed its connection|.*reset by peer)" \
	"$scratch/killed.err"
report $? "killed: $(cat "$scratch/killed.err")"
wait
limit=6000

run absent --wait-for nobody --wait-for-timeout 0.2
[ $? = 3 ] && grep -q "'nobody' did not join within 0.2 s" "$scratch/absent.err"
report $? "absent: $(cat "$scratch/absent.err")"
[ ! -e "$scratch/absent" ]
report $? 'the socket is left behind'

# stopped while the run waits for its client to come, and in a barrier
for what in before inside; do
	rm -f "$scratch/stopped"
	if [ $what = inside ]; then
		"$scratch/follow" "$scratch/stopped" /model/cart >/dev/null 2>&1 &
		client=$!
	fi
	"$troupe" run "$scratch/floor.sdf" --resource-path "$worlds" --rtf 0 --lockstep-socket "$scratch/stopped" \
		--wait-for follow -v 0 2>"$scratch/stopped.err" &
	pid=$!
	until [ -e "$scratch/stopped" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
	sleep 0.5
	[ $what = before ] || kill -STOP $client
	sleep 0.3
	kill -TERM $pid
	wait $pid
	report $? "stopped $what: $(cat "$scratch/stopped.err")"
	[ $what = before ] || { kill -CONT $client; kill -TERM $client; wait $client; }
done

run refused --lockstep-listen 0.0.0.0:0
[ $? = 1 ] && grep -q 'expected 127.0.0.1, or --lockstep-insecure' "$scratch/refused.err"
report $? "other hosts: $(cat "$scratch/refused.err")"
totals
