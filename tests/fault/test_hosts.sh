#!/bin/sh
# Several hosts: network namespaces joined by a switch, where the kernel and the rights allow it, else processes that
# meet over loopback. They find each other by multicast, or by address across lines with delay and loss (netem where
# the kernel has it, else delay_proxy, which has the same effect on a connection). The state must be that of one
# process. A cut cable, which closes nothing, must end all processes in time, at the same step, with a saved state
# that leads to the same bits.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
XDG_CONFIG_HOME=$scratch/config
export XDG_CONFIG_HOME
absolute() { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac; }
troupe=$(absolute "$troupe")
proxy=$(absolute "${BUILD_DIR:-.}/tests/fault/delay_proxy")
worlds=$(cd "$worlds" && pwd)
cd "$scratch" || exit 1
steps=$(amount 200 200 600)
delay_ms=10 # one way
stale=10000 # no process shall count as lost on a busy machine
patience_ms=60000 # what takes longer is a hang
port=$((20000 + $$ * 64 % 12000))
hosts= # the hosts: p, s1 and s2, and x, which is the switch
switch=troupe-$$-x

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# --- whatever happens, nothing of ours is left -----------------------------------------------------------------------------

end_processes()
{
	for file in ./*.pid; do
		[ ! -s "$file" ] || [ -s "${file%.pid}.status" ] || kill -KILL "$(cat "$file")" 2>/dev/null
	done
	wait
	rm -f ./*.pid ./*.status ./*.out ./*.err
}
end_all()
{
	cd "$scratch" && end_processes
	for host in $hosts; do ip netns delete "troupe-$$-$host"; done 2>/dev/null
	rm -rf "$scratch"
}
trap end_all EXIT
trap 'exit 1' HUP INT TERM

# --- hosts ---------------------------------------------------------------------------------------------------------------

add_host()
{
	ip netns add "troupe-$$-$1" || return 1
	hosts="$hosts $1"
	ip -n "troupe-$$-$1" link set lo up
}
plug_in() # HOST ADDRESS
{
	ip -n "$switch" link add "to-$1" type veth peer name eth0 netns "troupe-$$-$1" &&
		ip -n "$switch" link set "to-$1" master bridge up &&
		ip -n "troupe-$$-$1" address add "$2/24" dev eth0 &&
		ip -n "troupe-$$-$1" link set eth0 up &&
		ip -n "troupe-$$-$1" route add default dev eth0
}
make_hosts()
{
	add_host x && add_host p && add_host s1 && add_host s2 || return 1
	ip -n "$switch" link add bridge type bridge && ip -n "$switch" address add 10.83.84.254/24 dev bridge &&
		ip -n "$switch" link set bridge up || return 1
	plug_in p 10.83.84.1 && plug_in s1 10.83.84.2 && plug_in s2 10.83.84.3
}
# on HOST COMMAND...: runs the command on the host; its process is the command itself
on()
{
	on_host=$1
	shift
	if [ -n "$hosts" ]; then exec ip netns exec "troupe-$$-$on_host" "$@"; else exec "$@"; fi
}

: >hosts.log
if need ip && make_hosts >hosts.log 2>&1; then
	primary_at=10.83.84.1 middle=10.83.84.254 listen=10.83.84.1
else
	skip 'hosts of their own' "no network namespaces here: $(tail -n 1 hosts.log)"
	for host in $hosts; do ip netns delete "troupe-$$-$host"; done
	hosts='' primary_at=127.0.0.1 middle=127.0.0.1 listen=127.0.0.1
fi
netem=
if [ -n "$hosts" ] && tc -n "$switch" qdisc add dev to-s1 root netem delay 1ms 2>/dev/null; then
	tc -n "$switch" qdisc delete dev to-s1 root
	netem=1
fi
# with a key if this build has TLS, so that TLS is delayed, too
secure=
"$troupe" keygen >key.log 2>&1 || secure=--network-insecure

# --- processes -----------------------------------------------------------------------------------------------------------

# start NAME HOST COMMAND...: runs the command in the background, with its process number in NAME.pid and its output in
# NAME.out and NAME.err
start()
{
	name=$1 host=$2
	shift 2
	(
		on "$host" "$@" >"$name.out" 2>"$name.err" &
		echo $! >"$name.pid"
		wait $!
		echo "$? $(now_ms)" >"$name.status"
	) 2>/dev/null &
}
# ended NAME: waits for its end; its exit status in $status, when that was in $ended_ms. False: it hangs.
ended()
{
	until=$(($(now_ms) + patience_ms))
	while [ ! -s "$1.status" ] && [ "$(now_ms)" -lt $until ]; do sleep 0.02; done
	status='' ended_ms=$(now_ms)
	[ ! -s "$1.status" ] || read -r status ended_ms <"$1.status"
	[ -n "$status" ]
}
# said NAME PATTERN: waits until it has said so
said()
{
	for _ in $(seq 3000); do
		grep -q "$2" "$1.out" 2>/dev/null && return 0
		[ ! -s "$1.status" ] || return 1
		sleep 0.02
	done
	return 1
}
primary()
{
	# shellcheck disable=SC2086
	start p p "$troupe" run "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --hash-every 10 --report report \
		--network-role primary --network-secondaries 2 --network-listen "$listen:$port" --network-wait 20 \
		--save-on-stop saved --network-stale-ms $stale $secure "$@"
}
secondary() # NAME OPTION...: on the host of that name
{
	secondary_name=$1
	shift
	# shellcheck disable=SC2086
	start "$secondary_name" "$secondary_name" "$troupe" run --network-role secondary --network-wait 20 $secure "$@"
}
# lines DELAY_MS [STALL_ONE_IN STALL_MS]: starts a delayed line for each secondary; each line stalls by its own seed
lines()
{
	for i in 1 2; do
		start "line$i" x "$proxy" $middle:$((port + i)) $primary_at:$port "$@" ${2:+"$i"}
		said "line$i" listening
		report $? "line $i: $(cat "line$i.err")"
	done
}
across_lines() { for i in 1 2; do secondary s$i --network-address $middle:$((port + i)); done; }
direct() { for i in 1 2; do secondary s$i --network-address $primary_at:$port; done; }
next()
{
	end_processes
	rm -f report saved
	port=$((port + 3))
}

# --- the same bits ---------------------------------------------------------------------------------------------------------

"$troupe" run "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" -v0 --rtf 0 --iterations $steps --hash-every 10 \
	>alone
report $? "alone: $(tail -n 1 alone)"
[ "$(wc -l <alone)" = $((steps / 10)) ]
report $? 'alone: a hash every 10 steps'

# same WHAT: all three end well, and come to the hashes that one process comes to
same()
{
	ended p
	report "${status:-1}" "$1: the primary's exit status is 0: $status $(tail -n 1 p.err)"
	for i in 1 2; do
		ended s$i
		report "${status:-1}" "$1: secondary $i's exit status is 0: $status $(tail -n 1 s$i.err)"
	done
	cmp -s alone p.out
	report $? "$1: the same hashes: $(diff alone p.out | sed -n 2p)"
}
# What a step took, in ms.
took() { awk -v wall="$(member report wall_time)" -v steps=$steps 'BEGIN { printf "%.3f", wall * 1000 / steps }'; }
between() { awk -v low="$1" -v value="$2" -v high="$3" 'BEGIN { exit !(value >= low && value <= high) }'; }

if [ -n "$hosts" ]; then
	listen='*'
	primary --rtf 0 --iterations $steps
	secondary s1
	secondary s2
	same 'found by multicast'
	next
	listen=$primary_at
fi
# each step is exchanged: how long a step takes is measured
primary --rtf 0 --iterations $steps --window 1
direct
same 'direct'
plain=$(took)

# What bench/README says of other networks: one round trip more, not two. A busy machine only adds to what a step takes, so
# the quickest of some runs counts.
for _ in 1 2 3 4 5; do
	next
	primary --rtf 0 --iterations $steps --window 1
	lines $delay_ms
	across_lines
	same "$delay_ms ms"
	delayed=$(took)
	between 0 "$delayed" "$(awk -v plain="$plain" -v delay=$delay_ms 'BEGIN { print plain + 4 * delay }')" && break
done
between $((2 * delay_ms)) "$delayed" "$(awk -v plain="$plain" -v delay=$delay_ms 'BEGIN { print plain + 4 * delay }')"
report $? "a step takes one round trip more: $plain ms, and $delayed ms when that is $((2 * delay_ms)) ms"
echo "a step: $plain ms, with $((2 * delay_ms)) ms there and back $delayed ms"
next

# Loss: by the kernel, or in its effect on TCP, where all data behind a lost packet are late.
if [ -n "$netem" ]; then
	for i in p s1 s2; do tc -n "$switch" qdisc add dev to-$i root netem delay 2ms 1ms loss 1%; done
	primary --rtf 0 --iterations $steps
	direct
	same 'netem: delay and loss'
	for i in p s1 s2; do tc -n "$switch" qdisc delete dev to-$i root; done
	next
else
	skip 'delay and loss by netem' 'the kernel does not have it, so delay_proxy does it'
fi
primary --rtf 0 --iterations $steps --window 1
lines 1 50 100 # one in fifty is late by 100 ms more
across_lines
same 'delay and loss'
lost=$(took)
between 4 "$lost" 1000 # 2 ms of delay there and back, and what was lost
report $? "something was lost: a step took $lost ms"
next

# --- a cable that is cut -------------------------------------------------------------------------------------------------

stale=2000
resumed_steps=3000
reference=$("$troupe" run "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" -v0 --rtf 0 \
	--iterations $resumed_steps --hash-every $resumed_steps)
step_said() { sed -n 's/.*the last step that all had acknowledged is \([0-9]*\).*/\1/p' "$1.err" | tail -n 1; }

# stopped WHAT CUT...: all processes end with 3 and report the same last step. A process that was cut off may have
# missed the message about the last window of steps, so it may report so many less; the others may not.
window_most=20
stopped()
{
	what=$1
	shift
	for name in p s1 s2; do
		ended $name && [ "$status" = 3 ]
		report $? "$what: $name's exit status is 3: $status: $(tail -n 1 $name.err)"
		echo "$what: $name ended after $((ended_ms - began)) ms"
		expected=$(step_said p)
		said_step=$(step_said $name)
		case " $* " in *" $name "*)
			[ "$said_step" -lt "$expected" ] && [ "$said_step" -ge $((expected - window_most)) ] && said_step=$expected ;;
		esac
		[ -n "$said_step" ] && [ "$said_step" = "$expected" ]
		report $? "$what: the same last step: $name says $said_step, the primary $expected"
	done
	resumed=$("$troupe" run --resume saved -v0 --rtf 0 --iterations $resumed_steps --hash-every $resumed_steps 2>&1)
	[ "$resumed" = "$reference" ]
	report $? "$what: resumed: $resumed, expected $reference"
	next
}
# until it goes
goes()
{
	said p '^hash 50 '
	report $? "$1: it goes: $(tail -n 1 p.err)"
	began=$(now_ms)
}

for cut in '1' '1 2'; do
	primary --rtf 0.1
	lines $delay_ms
	across_lines
	goes "line $cut cut"
	names=
	for i in $cut; do
		kill -USR1 "$(cat "line$i.pid")"
		names="$names s$i"
	done
	# shellcheck disable=SC2086
	stopped "line $cut cut" $names
done
if [ -n "$hosts" ]; then
	for cut in s1 p; do
		primary --rtf 0.1
		direct
		goes "$cut unplugged"
		ip -n "$switch" link set to-$cut nomaster
		names=$cut
		[ $cut != p ] || names='s1 s2'
		# shellcheck disable=SC2086
		stopped "$cut unplugged" $names
		ip -n "$switch" link set to-$cut master bridge
	done
fi
totals
