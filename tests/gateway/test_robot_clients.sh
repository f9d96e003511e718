#!/bin/sh
# Robot clients: the flows (a) to (d) of the specification's distributed simulator, with several processes: a primary, a
# secondary, two clients, and beside each client a program that creates robots at random places and drives them at
# random (random_spawn.py), through its own client's port. Then clients that are killed, hang, leave and come, while the
# run goes on. In each case the recording of the run has the same hashes when it is replayed in one process: bits depend
# neither on owners and pins nor on who takes part.
#
# Without the checks here a client could offer the topics of another, its robots could be simulated anywhere, or a run
# that goes on with other members could lose a command or a word of its state.
proxy=$(cd "${BUILD_DIR:-.}" && pwd)/tests/fault/delay_proxy
no_scans=--no-scans
! grep -q 'define HAVE_EMBREE' "${BUILD_DIR:-.}/config.h" || no_scans=
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
TROUPE_NO_GZ=1
export TROUPE_NO_GZ
source=$(cd "$worlds/.." && pwd)
# below the ports that the system gives to outgoing connections (from 32768 on)
port=$((10000 + $$ % 400 * 20))
# next_ports: $port, for the primary, and those at $port + 10000 .. 10019 that no earlier process of this test had
next_ports()
{
	port=$((port + 19))
	next_port
}

if ! "$troupe" run "$worlds/warehouse.sdf" --iterations 1 --foxglove 127.0.0.1:0 -v0 >/dev/null 2>err; then
	grep -q 'built without' err
	report $? "a gateway can be opened: $(cat err)"
	skip 'robot clients' 'this build has no Foxglove'
	totals
	exit
fi

[ -z "$no_scans" ] || skip 'scans of robots' 'built without Embree'

named ground "<model name='crate'><pose>3 3 0.25 0 0 0</pose><link name='l'>
<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
<collision name='c'><geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision></link>
<plugin filename='gz-sim-odometry-publisher-system' name='gz::sim::systems::OdometryPublisher'/></model>" |
	sed "s/name='w'/name='large'/" >ground.sdf

# await WHAT SECONDS COMMAND...: until the command succeeds
await()
{
	what=$1 tries=$(($2 * 20))
	shift 2
	for _ in $(seq $tries); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	report 1 "$what"
	return 1
}

primary() { start primary ground.sdf --network-role primary --network-secondaries 1 --network-listen "127.0.0.1:$port" \
	--record run.rec --hash-every 1000 --rtf 1 -v3 "$@"; }
secondary() { start secondary --network-role secondary --network-address "127.0.0.1:$port"; }
# client NAME PORT ADDRESS: with a Foxglove port of its own
client() { start "$1" --network-role client --name "$1" --network-address "127.0.0.1:$3" --foxglove "$2"; }
# spawner NAME PORT ROBOTS SECONDS: what it says in NAME.said, its status in NAME.came
spawner()
{
	rm -f "$1.came" "$1.said"
	( timeout 200 python3 "$source/tests/gateway/random_spawn.py" "$2" "$1" "$3" "$4" 7 $no_scans >"$1.said" 2>&1; echo $? >"$1.came" ) &
}
ended() { await "$1 ends" 120 test -s "$1.status"; [ "$(cat "$1.status")" = "$2" ]; report $? "$1: status $(cat "$1.status"), not $2: $(tail -n 2 "$1.err")"; }
# finish OTHERS...: ends the run, once all that the test waits for has happened, however long that took. The others end,
# too, and say that the primary was told to stop.
finish()
{
	kill -INT "$(cat primary.pid)"
	ended primary 0
	for other; do ended "$other" 3; done
}
# same: the recording is replayed in one process, with other numbers of secondaries, with the hashes of the run
same()
{
	steps=$(sed -n 's/^\([0-9]*\) steps, .*/\1/p' primary.err)
	for n in 0 2; do
		timeout 120 "$troupe" replay run.rec --secondaries $n >replayed 2>&1
		report $? "a replay with $n secondaries: $(tail -n 1 replayed)"
		grep -q "^$steps steps, .* all the same" replayed
		report $? "a replay has all $steps steps: $(cat replayed)"
	done
}

# --- flows (a) to (d) ------------------------------------------------------------------------------------------------

next_ports
primary --client tb3_1 --client tb3_2 --foxglove $((port + 10003)) --watch-listen 127.0.0.1:$((port + 10004))
secondary
client tb3_1 $((port + 10000)) $port
client tb3_2 $((port + 10001)) $port
spawner tb3_1 $((port + 10000)) 4 2
spawner tb3_2 $((port + 10001)) 3 2
await 'both drive' 120 sh -c 'grep -q driving tb3_1.said && grep -q driving tb3_2.said'
# A viewer that says it is a client is none: it does not have the client's ticket.
timeout 20 python3 - $((port + 10004)) "$("$troupe" --version | sed -n '1s/.* //p')" \
	"$(sed -n 's/.*HELLO_PROTOCOL = \([0-9]*\).*/\1/p' "$source/src/net/hello.h")" >viewers 2>&1 <<'END'
import os, socket, struct, sys

def text(word):
    return struct.pack("<Q", len(word)) + word.encode()

def answer(client, ticket):
    hello = b"troupe T" + struct.pack("<Q", int(sys.argv[3])) + text("viewer") + struct.pack("<Q", 3) + os.urandom(16)
    hello += struct.pack("<8Q", *[0] * 8)  # fingerprint and its five parts, world, secondaries
    hello += text(sys.argv[2]) + text("") + text(client) + ticket
    hello += b"\0" * 16 + struct.pack("<Q", 0) + text("")  # no run, no term, listens nowhere
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 10) as s:
        s.sendall(struct.pack("<IB", len(hello), 1) + hello)
        bytes = b""
        while len(bytes) < 5 or len(bytes) < 5 + struct.unpack("<I", bytes[:4])[0]:
            bytes += s.recv(4096)
    return {3: "refused", 14: "welcome"}.get(bytes[4], bytes[4]), bytes[5:]

print("viewer", *answer("", bytes(16)))
print("client", *answer("tb3_1", bytes(16)))
print("client", *answer("tb3_1", os.urandom(16)))
print("client", *answer("tb3_3", bytes(16)))
END
[ "$(cut -d ' ' -f 1,2 viewers | tr '\n' ',')" = 'viewer welcome,client refused,client refused,client refused,' ]
report $? "a viewer with the name of a client: $(cat viewers)"
timeout 20 python3 "$source/tests/gateway/random_spawn.py" --list $((port + 10003)) >listed 2>&1
grep -q '^topics .*/clock .*/model/crate/odometry' listed
report $? "the primary offers the topics of its own models: $(cut -c 1-200 listed)"
! grep -q 'tb3_[12]_robot' listed
report $? "the primary offers no topic of a client's model: $(cut -c 1-200 listed)"
await 'both programs end' 120 test -s tb3_1.came -a -s tb3_2.came
for name in tb3_1 tb3_2; do
	[ "$(cat $name.came)" = 0 ]
	report $? "the program of $name: $(tail -n 2 $name.said)"
	grep -q "^services .*/$name/world/large/create " $name.said
	report $? "(a) $name offers its service in its namespace"
	grep -q "^services .*/$name/world/large/wheel_slip " $name.said
	report $? "(a) $name offers the slip of its wheels"
	grep "^services\|^topics" $name.said | tr ' ' '\n' | grep '^/' | grep -qv "^/$name/"
	report $((!$?)) "(a) $name offers nothing outside its namespace"
	grep "^topics" $name.said | grep -q "/$name/clock "
	report $? "(a) $name publishes the clock"
	grep -q "^refusal .*/$name/model/${name}_robot0/cmd_vel: .*linear.x: .*expected a number between" $name.said
	report $? "a message that the run refuses is told to the program: $(grep '^refusal' $name.said)"
	grep -q '^stamps regular' $name.said
	report $? "(d) odometry of $name has the stamps of the lockstep: $(grep ^stamps $name.said)"
	awk -v no_scans="$no_scans" '(/^odometry / || !no_scans && /^scans /) && $2 < 30 { bad = 1 } END { exit bad }' $name.said
	report $? "(c) robots of $name have odometry and scans: $(grep '^odometry\|^scans' $name.said)"
done
grep -q '^created 4' tb3_1.said && grep -q '^created 3' tb3_2.said
report $? '(b) all robots were created'
grep '^topics' tb3_1.said | grep -q 'tb3_2_robot\|/crate/'
report $((!$?)) '(b) nobody else offers the topics of a robot'
finish secondary tb3_1 tb3_2
grep -q 'work: secondary 1 .*, secondary 2 .*, secondary 3 ' primary.err
report $? 'the clients took part as secondaries'
same

# --- a client is killed, another hangs -------------------------------------------------------------------------------

for how in 'KILL remove' 'STOP keep'; do
	signal=${how% *} lost=${how#* }
	next_ports
	primary --client tb3_1 --client tb3_2 --client-lost "$lost"
	secondary
	client tb3_1 $((port + 10000)) $port
	client tb3_2 $((port + 10001)) $port
	spawner tb3_1 $((port + 10000)) 2 3
	spawner tb3_2 $((port + 10001)) 2 20
	await 'robots are driven' 120 grep -q driving tb3_1.said
	await 'robots of the other client are driven' 120 grep -q driving tb3_2.said
	kill -"$signal" "$(cat tb3_2.pid)"
	await 'the loss is noticed' 120 grep -q "client 'tb3_2' is gone" primary.err
	await 'the program of the other client ends' 120 test -s tb3_1.came
	finish secondary tb3_1
	kill -CONT "$(cat tb3_2.pid)" 2>/dev/null
	[ "$(cat tb3_1.came 2>/dev/null)" = 0 ]
	report $? "$how: the program of the other client: $(tail -n 2 tb3_1.said)"
	removed=$(sed -n 's/.*models created, \([0-9]*\) models removed.*/\1/p' primary.err)
	[ "$lost $removed" = 'remove 2' ] || [ "$lost $removed" = 'keep ' ]
	report $? "$how: '$removed' models removed"
	same
	end_processes
done

# A robot is asked for while a step of two seconds lasts, and the client is killed before the next.
next_ports
primary --client tb3_1 --rtf 0.0005
secondary
client tb3_1 $((port + 10000)) $port
await 'the client takes part' 120 grep -q tb3_1 primary.err
timeout 60 python3 "$source/tests/gateway/random_spawn.py" --ask $((port + 10000)) tb3_1 >asked 2>&1
report $? "a robot is asked for: $(tail -n 1 asked)"
kill -KILL "$(cat tb3_1.pid)"
await 'the loss is noticed' 120 grep -q "client 'tb3_1' is gone" primary.err
sleep 7
finish secondary
grep -q '^1 model created, 1 model removed' primary.err
report $? "a robot that is created after its client is gone is removed: $(tail -n 3 primary.err)"
same
end_processes

# --- clients come and go ---------------------------------------------------------------------------------------------

next_ports
primary --clients 2 --client-lost keep
secondary
await 'the run begins without a client' 120 grep -q 'the run begins' primary.err
client tb3_1 $((port + 10000)) $port
spawner tb3_1 $((port + 10000)) 2 1
await 'the program of a client that joined ends' 120 test -s tb3_1.came
[ "$(cat tb3_1.came)" = 0 ]
report $? "a client joins a run that goes on: $(tail -n 2 tb3_1.said)"
kill -TERM "$(cat tb3_1.pid)"
ended tb3_1 0
await 'the run goes on without it' 120 grep -q "client 'tb3_1' is gone" primary.err
client tb3_1 $((port + 10001)) $port
await 'it comes back' 120 grep -q joined tb3_1.err
client tb3_1b $((port + 10002)) $port
await 'another one joins' 120 grep -q joined tb3_1b.err
# all are back: until then a twin could take the place of the first one
await 'the first one hears of the other' 120 grep -q 'as secondary [0-9] of 3' tb3_1.err
start third --network-role client --name tb3_3 --network-address "127.0.0.1:$port"
ended third 3
grep -q 'turned this process away: .*no further client may join' third.err # in other words while others join
report $? "one too many is turned away: $(tail -n 1 third.err)"
start twin --network-role client --name tb3_1 --network-address "127.0.0.1:$port"
ended twin 3
grep -q 'turned this process away: a client of this name takes part already' twin.err
report $? "a second client of one name is turned away: $(tail -n 1 twin.err)"
finish tb3_1 tb3_1b
[ "$(sed -n 's/.* as secondary \([0-9] of [0-9]\)/\1/p' tb3_1.err | tail -n 1)" = '2 of 3' ]
report $? "the clients are numbered behind the secondary: $(grep joined tb3_1.err | tail -n 1)"
same

# --- stopped while a client comes in ---------------------------------------------------------------------------------

# The client's connection takes 400 ms for each message, so the members are gathered when the primary is stopped.
if [ -x "$proxy" ]; then
	next_ports
	"$proxy" 127.0.0.1:$((port + 10010)) "127.0.0.1:$port" 400 >proxy.out 2>&1 &
	proxy_pid=$!
	primary --clients 1
	secondary
	await 'the run begins' 120 grep -q 'the run begins' primary.err
	start tb3_1 --network-role client --name tb3_1 --network-address "127.0.0.1:$((port + 10010))"
	await 'the members are gathered' 120 grep -q 'waiting for 2 secondaries' primary.err
	finish secondary
	same
	kill "$proxy_pid"
	end_processes
fi

# --- rubbish, and a run that a client ends ---------------------------------------------------------------------------

next_ports
primary --client tb3_1 --client-lost end
secondary
client tb3_1 $((port + 10000)) $port
await 'the run begins' 120 grep -q 'the run begins' primary.err
python3 - $port <<'END'
import socket, sys
for rubbish in b"\0" * 64, b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 4096:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
        s.sendall(rubbish)
END
sleep 1
[ ! -s primary.status ]
report $? 'rubbish from an unknown peer harms nobody'
kill -KILL "$(cat tb3_1.pid)"
ended primary 3
grep -q "client 'tb3_1' is gone" primary.err
report $? "--client-lost end: the run ends and says why: $(tail -n 1 primary.err)"
end_processes

# --- a client that takes part, and then sends rubbish ---------------------------------------------------------------

# It leaves as one that was lost: the run goes on, and the program of the other client notices nothing.
if [ -x "$proxy" ]; then
	next_ports
	"$proxy" 127.0.0.1:$((port + 10010)) "127.0.0.1:$port" 0 >proxy.out 2>&1 &
	proxy_pid=$!
	primary --client tb3_1 --client tb3_2 --client-lost remove
	secondary
	client tb3_1 $((port + 10000)) $port
	client tb3_2 $((port + 10001)) $((port + 10010))
	spawner tb3_2 $((port + 10001)) 2 60
	await 'robots of the client are driven' 120 grep -q driving tb3_2.said
	spawner tb3_1 $((port + 10000)) 2 3
	await 'robots of the other client are driven' 120 grep -q driving tb3_1.said
	kill -USR2 $proxy_pid
	await 'rubbish is noticed' 120 grep -q "client 'tb3_2' is gone" primary.err
	await 'the program of the other client ends' 120 test -s tb3_1.came
	[ "$(cat tb3_1.came)" = 0 ]
	report $? "rubbish of one client: the program of the other: $(tail -n 2 tb3_1.said)"
	[ ! -s primary.status ]
	report $? "rubbish of a client does not end the run: $(tail -n 2 primary.err)"
	finish secondary tb3_1
	grep -q ', 2 models removed' primary.err
	report $? "its models are removed: $(tail -n 4 primary.err)"
	same
	kill $proxy_pid
	end_processes
fi

# --- delay -----------------------------------------------------------------------------------------------------------

# Each step and each ack of the client takes 50 ms; what it sees has the same stamps.
if [ -x "$proxy" ]; then
	next_ports
	"$proxy" 127.0.0.1:$((port + 10010)) "127.0.0.1:$port" 50 >proxy.out 2>&1 &
	proxy_pid=$!
	sed -i 's/0.001/0.01/' ground.sdf
	primary --client tb3_1 --network-stale-ms 5000
	secondary
	client tb3_1 $((port + 10000)) $((port + 10010))
	spawner tb3_1 $((port + 10000)) 1 1
	await 'the program behind the delay ends' 240 test -s tb3_1.came
	grep -q '^stamps regular' tb3_1.said
	report $? "stamps behind a delay of 50 ms: $(cat tb3_1.said | tail -n 1)"
	finish
	kill "$proxy_pid"
	timeout 60 "$troupe" replay run.rec >replayed 2>&1
	report $? "a replay of the run with delay: $(cat replayed)"
fi

totals
