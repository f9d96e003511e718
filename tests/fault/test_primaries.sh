#!/bin/sh
# Several primaries on one network, and secondaries that search by multicast. A secondary goes only to a primary that
# awaits it; a running primary takes no secondary from a waiting one; a waiting primary is filled before the next;
# partitions do not mix; a secondary that was turned away searches further.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
port=$((20000 + $$ * 64 % 12000)) # ports below those that the system gives to clients
partition=primaries-$$
rounds=4

# primary NAME OPTION...: starts a primary at a port of its own
primary()
{
	primary_name=$1
	shift
	port=$((port + 1))
	start "$primary_name" "$worlds/meeting.sdf" --network-role primary --network-listen 127.0.0.1:$port \
		--network-partition $partition "$@"
	says "$primary_name" 'waiting for'
}
# secondary NAME OPTION...
secondary()
{
	secondary_name=$1
	shift
	start "$secondary_name" --network-role secondary --network-partition $partition "$@"
}
# says NAME PATTERN: the process prints the pattern in time
says()
{
	await "$1.err" "$2"
	report $? "$1 says '$2': $(cat "$1.err")"
}
silent() # NAME PATTERN
{
	! grep -q -e "$2" "$1.err"
	report $? "$1 says '$2': $(cat "$1.err")"
}
# ends NAME STATUS
ends()
{
	ended "$1" && [ "$status" = "$2" ]
	report $? "$1: exit status $status, not $2: $(tail -n 1 "$1.err")"
}
next()
{
	end_processes
	rm -f ./*.err ./*.out
	partition=primaries-$$-$port
}

primary probe --network-secondaries 1 --network-wait 0.2
ends probe 3
if ! grep -q 'found by multicast at' probe.err; then
	skip 'several primaries' 'there is no multicast here'
	totals
	exit
fi

# One primary runs, one waits.
round=0
while [ $round -lt $rounds ]; do
	round=$((round + 1))
	next
	primary running --network-secondaries 1 --rtf 1
	start own --network-role secondary --network-partition $partition --network-address 127.0.0.1:$port
	says running 'the run begins'
	secondary s
	says s "there is a primary at 127.0.0.1:$port, but it has begun its run"
	running_at=$port
	primary waiting --network-secondaries 1 --rtf 0 --iterations 20
	ends waiting 0
	ends s 0
	silent running 'turned away'
	grep -q 'joined the primary' s.err && ! grep -q "joined the primary .*127.0.0.1:$running_at" s.err
	report $? "the secondary joined the waiting primary: $(cat s.err)"
	ended_in running 0
	[ -z "$status" ]
	report $? "the running primary goes on: $status"
done

# The only primary runs already: no secondary joins it; a secondary that searches ends at its time limit, with the
# reason.
next
primary running --network-secondaries 1 --rtf 1
start own --network-role secondary --network-partition $partition --network-address 127.0.0.1:$port
says running 'the run begins'
secondary s --network-wait 4
ends s 3
says s "waited 4 s for a primary by multicast at .*: the primary at 127.0.0.1:$port has begun its run"
silent running 'turned away'

# Two primaries wait; there are enough secondaries for both.
next
primary one --network-secondaries 2 --rtf 0 --iterations 20
primary two --network-secondaries 2 --rtf 0 --iterations 20
for i in 1 2 3 4; do secondary s$i; done
for name in one two s1 s2 s3 s4; do ends $name 0; done

# Two primaries wait; there are enough secondaries for one: one run begins.
next
primary one --network-secondaries 2 --rtf 0 --iterations 20
primary two --network-secondaries 2 --rtf 0 --iterations 20
for i in 1 2; do secondary s$i; done
for i in 1 2; do ends s$i 0; done
until=$(($(now_ms) + patience_ms))
until [ -s one.status ] || [ -s two.status ] || [ "$(now_ms)" -ge $until ]; do sleep 0.02; done
[ "$(cat one.status two.status 2>/dev/null)" = 0 ]
report $? "one of the two runs began: $(cat one.err two.err)"

# Partitions do not mix.
next
ours=$partition
primary ours --network-secondaries 1 --rtf 0 --iterations 20
partition=$ours-other
primary theirs --network-secondaries 1 --rtf 0 --iterations 20 --network-wait 60
secondary s --network-wait 60
ends s 0
ends theirs 0
ended_in ours 0
[ -z "$status" ]
report $? "the primary of another partition waits: $status: $(cat ours.err)"
silent ours 'joined\|turned away'

# a refused secondary searches further: an unknown peer announces a primary at the address of a primary of another
# partition
if need python3; then
	next
	primary other --network-secondaries 1
	other_port=$port
	partition=$partition-ours
	python3 - $other_port $partition $protocol <<-'EOF2' &
		import os, signal, socket, struct, sys
		signal.alarm(30)
		group = ("239.255.84.82", 47082)
		out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
		ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
		ear.bind(group)
		ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group[0]) + socket.inet_aton("127.0.0.1"))
		partition = sys.argv[2].encode()
		while True:
		    asked = ear.recv(1000)
		    role, echoes = struct.unpack_from("<2Q", asked, 16)
		    if role != 2 or partition not in asked:
		        continue
		    number = struct.unpack_from("<Q", asked, 32 + 8 * echoes)[0]
		    out.sendto(b"troupe U" + struct.pack("<6Q", int(sys.argv[3]), 1, 1, number, 7, 1) + b"forged forged id" +
		               struct.pack("<3Q", int(sys.argv[1]), 1, 0) +
		               b"".join(struct.pack("<Q", len(text)) + text for text in (partition, b"host:1")), group)
	EOF2
	forger=$!
	secondary s
	says s 'turned this process away: .*partition'
	primary ours --network-secondaries 1 --rtf 0 --iterations 20
	ends ours 0
	ends s 0
	kill $forger 2>/dev/null
	wait $forger 2>/dev/null
fi
totals
