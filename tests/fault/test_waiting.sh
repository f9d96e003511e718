#!/bin/sh
# The messages while primary and secondaries look for each other: what a process waits for and where, which process
# joins, which is missing, and why two do not meet. Each is printed once, however often the attempt is repeated.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
on_terminal=$(cd "${BUILD_DIR:-.}" && pwd)/tests/cli/on_terminal
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
port=$((20000 + $$ * 64 % 12000))
partition=waiting-$$

# primary OPTION...: starts a primary at a port of its own
primary()
{
	end_processes
	rm -f ./*.err ./*.out
	next_port
	start p "$worlds/meeting.sdf" --rtf 0 --iterations 20 --network-role primary --network-listen 127.0.0.1:$port \
		--network-partition $partition "$@"
	says p 'waiting for'
}
# secondary NAME OPTION...: starts a secondary for that address
secondary()
{
	secondary_name=$1
	shift
	start "$secondary_name" --network-role secondary --network-partition $partition --network-address 127.0.0.1:$port "$@"
}
# says NAME PATTERN: the process prints the pattern in time, and not more than once
says()
{
	await "$1.err" "$2"
	[ "$(grep -c -e "$2" "$1.err")" = 1 ]
	report $? "$1 says once '$2': $(cat "$1.err")"
}
# ends NAME STATUS
ends()
{
	ended "$1" && [ "$status" = "$2" ]
	report $? "$1: exit status $status, not $2: $(tail -n 1 "$1.err")"
}
silent() # NAME PATTERN
{
	! grep -q -e "$2" "$1.err"
	report $? "$1 says '$2': $(cat "$1.err")"
}

# All goes well.
primary --network-secondaries 2
says p "^troupe run: waiting for 2 secondaries at 127.0.0.1:$port, this machine only, .*, partition '$partition', without a key\$"
secondary s1
says s1 "^troupe run: looking for a primary at 127.0.0.1:$port, without a key, so only on this machine\$"
says s1 "^troupe run: joined the primary (.* at 127.0.0.1:$port), as secondary 1 of 2\$"
says p '^troupe run: secondary 1 of 2 joined from 127.0.0.1:[0-9]*$'
secondary s2
says p '^troupe run: secondary 2 of 2 joined from 127.0.0.1:[0-9]*$'
says p '^troupe run: 2 secondaries ready: the run begins$'
for name in p s1 s2; do ends $name 0; done
multicast=
grep -q 'found by multicast at' p.err && multicast=1

# A secondary leaves before the run begins.
primary --network-secondaries 2
secondary s1
says p 'secondary 1 of 2 joined'
kill -KILL "$(cat s1.pid)"
says p '^troupe run: secondary 1 (.* at 127.0.0.1:[0-9]*): .*; 0 of 2 present$'
secondary s2 -v0
await p.err 'secondary 1 of 2 joined' 2
[ "$(grep -c 'secondary 1 of 2 joined' p.err)" = 2 ] && [ ! -s s2.err ]
report $? "another secondary joins, without a message: $(cat p.err s2.err)"

# Ctrl-C: the process that gets the signal exits with 0, and the process that waited for it reports it.
kill -INT "$(cat p.pid)"
ends p 0
ends s2 3
for signal in $stop_signals; do
	primary --network-secondaries 1
	kill -$signal "$(cat p.pid)"
	ends p 0
	start s1 --network-role secondary --network-address 127.0.0.1:$port
	says s1 'looking for'
	kill -$signal "$(cat s1.pid)"
	ends s1 0
done

# Not all secondaries come.
primary --network-secondaries 3 --network-wait 4
secondary s1
ends p 3
says p 'gave up: waited 4 s for 3 secondaries: 2 missing, present: secondary 1 (.* at 127.0.0.1:[0-9]*); before the first step$'
ends s1 3
says s1 'waited 4 s for 3 secondaries: 2 missing'
primary --network-secondaries 1 --network-wait 0.2
ends p 3
says p 'waited 0.2 s for 1 secondary: 1 missing, none present; '
secondary s1 --network-wait 2
ends s1 3
says s1 "^troupe run: 127.0.0.1:$port: cannot be reached: "
says s1 "^troupe run: waited 2 s for a primary at 127.0.0.1:$port, .*: 127.0.0.1:$port: cannot be reached: "

# Another process has the port already.
primary --network-secondaries 1
start q "$worlds/meeting.sdf" --network-role primary --network-secondaries 1 --network-listen 127.0.0.1:$port
ends q 1
says q "cannot listen on 127.0.0.1:$port: .*another primary.*--network-listen"

# An unknown peer sends invalid data again and again.
if need python3; then
	python3 - $port <<-'EOF2'
		import socket, sys
		for payload in (b"GET / HTTP/1.0\r\n\r\n", b"\x10\x00\x00\x00\x01" + b"x" * 16) * 10:
		    try:
		        with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as peer:
		            peer.sendall(payload)
		            peer.recv(1000)
		    except OSError:
		        pass
	EOF2
	says p '^troupe run: turned away 127.0.0.1:[0-9]*: a frame of type 47, which does not exist$'
	[ "$(grep -c 'turned away' p.err)" -le 8 ] && [ "$(grep -c 'turned away .*: its hello' p.err)" -ge 1 ]
	report $? "only some invalid data are reported: $(cat p.err)"
fi

# A matching secondary comes and goes, again and again.
if need python3; then
	primary --network-secondaries 1
	python3 - $port "$troupe" $partition <<-'EOF2'
		import socket, subprocess, sys, time
		with socket.create_server(("127.0.0.1", 0)) as fake:
		    fake.settimeout(5)
		    secondary = subprocess.Popen([sys.argv[2], "run", "-v0", "--network-role", "secondary", "--network-partition",
		                                  sys.argv[3], "--network-address", "127.0.0.1:%d" % fake.getsockname()[1]])
		    try:
		        with fake.accept()[0] as peer:
		            hello = peer.recv(2000)
		    finally:
		        secondary.kill()
		        secondary.wait()
		for _ in range(25):
		    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as peer:
		        peer.settimeout(5)
		        peer.sendall(hello)
		        peer.recv(2000)
		    time.sleep(0.02)
	EOF2
	for _ in $(seq 3000); do
		[ "$(grep -c 'joined from' p.err)" = "$(grep -c '0 of 1 present' p.err)" ] && break
		sleep 0.02
	done
	came=$(grep -c 'joined from' p.err)
	[ "$came" -ge 5 ] && [ "$came" -le 10 ] && [ "$came" = "$(grep -c '0 of 1 present' p.err)" ]
	report $? "only some joins and losses are reported: $(cat p.err)"
fi

# A secondary of another partition gets the reason, and the primary reports it, too.
primary --network-secondaries 1
start s1 --network-role secondary --network-partition other --network-address 127.0.0.1:$port
ends s1 3
says s1 "turned this process away: .*partition"
says p "^troupe run: turned away a secondary (.* at 127.0.0.1:[0-9]*): .*partition"

# Another key, or none, on either side. KEYS_OF_PRIMARY KEYS_OF_SECONDARY, and the messages of both when the address is
# known and by multicast.
keys_differ()
{
	primary_key=$1 secondary_key=$2
	# shellcheck disable=SC2086
	primary --network-secondaries 1 $primary_key
	# shellcheck disable=SC2086
	secondary s1 --network-wait 4 $secondary_key
	ends s1 3
	says s1 "^troupe run: 127.0.0.1:$port: $3"
	says s1 "^troupe run: waited 4 s for a primary at 127.0.0.1:$port, .*: 127.0.0.1:$port: $3"
	says p "^troupe run: turned away 127.0.0.1:[0-9]*: $4"
	if [ -z "$multicast" ]; then
		skip "keys by multicast: $5" 'there is no multicast here'
		return
	fi
	# shellcheck disable=SC2086
	start s2 --network-role secondary --network-partition $partition --network-wait 4 $secondary_key
	# shellcheck disable=SC2086
	start s3 --network-role secondary --network-partition $partition-other --network-wait 4 $secondary_key
	says s2 "^troupe run: looking for a primary by multicast at .*, partition '$partition', "
	says s2 "^troupe run: there is a primary at 127.0.0.1:$port, but it $5\$"
	says p "^troupe run: a secondary at 127.0.0.1 cannot join: it $6\$"
	ends s2 3
	says s2 "^troupe run: waited 4 s for a primary by multicast at .*: the primary at 127.0.0.1:$port $5\$"
	ends s3 3
	silent s3 'there is a primary'
	silent p 'joined'
}
# False announcements under ever new names come; then the important message must still come: the reason why the
# secondary could not join.
if [ -z "$multicast" ]; then
	skip 'announcements of what is not so' 'there is no multicast here'
elif need python3; then
	end_processes
	rm -f ./*.err
	start s1 --network-role secondary --network-partition $partition
	says s1 'looking for a primary by multicast'
	next_port
	python3 - $port $partition $protocol <<-'EOF2'
		import os, socket, struct, sys, time
		group = ("239.255.84.82", 47082)
		out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		out.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
		ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
		ear.bind(group)
		ear.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group[0]) + socket.inet_aton("127.0.0.1"))
		ear.settimeout(5)
		partition = sys.argv[2].encode()
		def asked(): # the nonce of the test's own secondary
		    while True:
		        bytes = ear.recv(1000)
		        role, echoes = struct.unpack_from("<2Q", bytes, 16)
		        if role == 2 and partition in bytes:
		            return struct.unpack_from("<Q", bytes, 32 + 8 * echoes)[0]
		def announce(mac, echo):
		    out.sendto(b"troupe U" + struct.pack("<3Q", int(sys.argv[3]), 1, 1) + struct.pack("<3Q", echo, 7, 1) + os.urandom(16) +
		               struct.pack("<3Q", int(sys.argv[1]), 1, 0) +
		               b"".join(struct.pack("<Q", len(text)) + text for text in (partition, b"host:1")) + mac, group)
		for _ in range(15):
		    announce(os.urandom(32), 0)
		    time.sleep(0.1)
		announce(b"", 0) # an answer to no question
		announce(b"", asked())
	EOF2
	says s1 "there is a primary at 127.0.0.1:$port, but it has a key, and this process has none"
	says s1 "^troupe run: 127.0.0.1:$port: cannot be reached"
fi

if "$troupe" keygen --output one >/dev/null 2>&1 && "$troupe" keygen --output other >/dev/null; then
	keys_differ '--network-key-file one' '--network-key-file other' 'the TLS handshake failed: it has no key, or another' \
		'the TLS handshake failed: it has no key, or another' 'has another key than this process' 'has another key than this process'
	keys_differ '--network-key-file one' '' 'closed the connection before it sent anything: it may have a key, and this process has none' \
		'it does not speak TLS: it has no key, and this process has one' 'has a key, and this process has none' 'has no key, and this process has one'
	keys_differ '' '--network-key-file one' '.* during the TLS handshake.*: it may have no key, and this process has one' \
		'it speaks TLS: it has a key, and this process has none' 'has no key, and this process has one' 'has a key, and this process has none'
else
	skip 'keys' 'this build has no TLS'
fi

# On a terminal there is one line, which is kept up to date.
next_port
TERM=xterm timeout 60 "$on_terminal" "$troupe" run "$worlds/meeting.sdf" --network-role primary --network-secondaries 2 \
	--network-listen 127.0.0.1:$port --network-wait 2 >terminal 2>&1
status=$?
if [ $status = 125 ]; then
	skip 'the line on a terminal' "$(cat terminal)"
else
	[ $status = 3 ] && grep -q '0 of 2 secondaries present' terminal
	report $? "on a terminal: $(cat terminal)"
fi
# A process that --transport tcp has started waits for its primary, however late that one is: here it says nothing for
# longer than any other process would wait for it, and ends.
cat >late.py <<-'EOF2'
	import socket, subprocess, sys
	one, other = socket.socketpair()
	child = subprocess.Popen([sys.argv[1], "run", "--network-role", "secondary", "--network-socket", str(other.fileno())],
	                         pass_fds=[other.fileno()])
	other.close()
	try:
	    print("ended with status", child.wait(3))
	except subprocess.TimeoutExpired:
	    one.close()
	    print("waited, then ended with status", child.wait(60))
EOF2
timeout 90 python3 late.py "$troupe" >late 2>&1
[ "$(tail -n 1 late)" = 'waited, then ended with status 3' ]
report $? "a process whose primary is late: $(tail -n 2 late)"
totals
