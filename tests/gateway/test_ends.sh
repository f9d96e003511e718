#!/bin/sh
# The end of a run as each gateway says it: programs that are connected hear that a run has failed, and why, or that it
# has ended; also those of the process of a robot client. A gateway that told a failed run as a clean end would have
# test benches count it as passed.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
client=$worlds/../tests/gateway/rosbridge_client.py
TROUPE_NO_GZ=1
export TROUPE_NO_GZ

if ! "$troupe" run "$worlds/warehouse.sdf" --iterations 1 --rosbridge 0 --view-address 0 -v0 >/dev/null 2>err; then
	grep -q build err
	report $? "gateways can be opened: $(cat err)"
	skip 'ends' "$(head -n 1 err)"
	totals
	exit
fi
command -v python3 >/dev/null || {
	skip 'ends' 'no python3'
	totals
	exit
}

# a force on a small mass, at step 10, makes the model diverge
named axle >axle.sdf
echo '10 /model/spun/joint/axle/cmd_force data: 1e5' >axle.commands
: >no.commands

# serves NAME WHAT: the port at which the process NAME serves WHAT, in $port
serves()
{
	await "$1.err" "$2: [a-z]*://"
	port=$(sed -n "s|.*$2: [a-z]*://127.0.0.1:\([0-9]*\)/.*|\1|p" "$1.err")
	[ -n "$port" ]
	report $? "$1 serves $2: $(cat "$1.err")"
}

# listen NAME PORT [PROTOCOL [CLIENT [FILE]]]: a program that is connected, in the background. A barrier client asks for
# 100 s for each answer, more than a run allows by itself.
listeners=
listen()
{
	listener=$1
	shift
	timeout 100 python3 "$client" end "$@" >"$listener.heard" 2>&1 &
	listeners="$listeners $!"
	await "$listener.heard" connected
	report $? "$listener connects: $(cat "$listener.heard")"
}
# all_heard NAME STATUS: until all listeners and the process NAME have ended
all_heard()
{
	# shellcheck disable=SC2086 # words
	wait $listeners
	listeners=
	ended "$1"
	[ "$status" = "$2" ]
	report $? "$1 ends with $2: $status $(cat "$1.err")"
}
# heard NAME LINE...: whether it printed the lines, behind `connected`
heard()
{
	heard_by=$1
	shift
	printf '%s\n' connected "$@" | cmp -s - "$heard_by.heard"
	report $? "$heard_by: $(cat "$heard_by.heard"): expected $*"
}

# begin COMMANDS: a run that waits for the barrier client `c`, with programs at each gateway
begin()
{
	start run axle.sdf --commands "$1" --iterations 20 --rtf 0 --rosbridge 0 --foxglove 0 --view-address 0 --wait-for c \
		--lockstep-deadline 100
	serves run Foxglove && listen foxglove "$port" foxglove.sdk.v1
	serves run view && listen view "$port" troupe.view.v1
	serves run rosbridge && listen other "$port"
	listen barrier "$port" '' c
}

begin no.commands
all_heard run 0
heard foxglove 'closed 1001 the run has ended'
heard view 'bye the run has ended' 'closed 1001 the run has ended'
heard other 'closed 1001 the run has ended'
heard barrier 'step {"ended": {"text": "the run has ended"}}' 'closed 1001 the run has ended'

begin axle.commands
all_heard run 4
why=$(sed -n "s/^troupe run: \(step 10: model 'spun' diverged at joint 'axle'.*\)/\1/p" run.err)
cut=$(printf '%.123s' "$why") # the frame that closes a connection has no room for more
report "$([ -n "$why" ]; echo $?)" "the run says why: $(cat run.err)"
heard foxglove "status 2 the run has failed: $why" "closed 1001 $cut"
heard view "bye $why" "closed 1001 $cut"
heard other "status error the run has failed: $why" "closed 1001 $cut"
heard barrier "step {\"ended\": {\"failed\": true, \"text\": \"$why\"}}" "status error the run has failed: $why" "closed 1001 $cut"

# The process of a robot client hears it from the primary, and tells its own clients. It joins when the first barrier
# client has come, which waits in the first step until all others are there.
port=$((10000 + $$ % 2000 * 4)) # below the ports that the system gives to outgoing connections
next_port
at=127.0.0.1:$port
start primary axle.sdf --commands axle.commands --network-role primary --network-secondaries 1 --client tb3 \
	--network-listen $at --rtf 0 --iterations 20 --rosbridge 0 --wait-for c --lockstep-deadline 100
serves primary rosbridge && listen barrier "$port" '' c all_there
start tb3 --network-role client --name tb3 --network-address $at --rosbridge 0 --foxglove 0
start secondary --network-role secondary --network-address $at
serves tb3 Foxglove && listen foxglove "$port" foxglove.sdk.v1
serves tb3 rosbridge && listen other "$port"
: >all_there
all_heard primary 4
ended tb3
report "$([ "$status" != 0 ]; echo $?)" "the process of the client ends with an error, too: $status $(cat tb3.err)"
said=$(sed -n 's/^troupe run: \(.*diverged at joint .*\)/\1/p' tb3.err)
report "$([ -n "$said" ]; echo $?)" "and says why: $(cat tb3.err)"
heard foxglove "status 2 the run has failed: $said" "closed 1001 $(printf '%.123s' "$said")"
heard other "status error the run has failed: $said" "closed 1001 $(printf '%.123s' "$said")"
totals
