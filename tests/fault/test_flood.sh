#!/bin/sh
# A primary and a secondary meet while the network is flooded: with announcements that are made up, recorded, or
# valid but for their MAC; with connections of all kinds. The time that they need is printed. PROTOCOL.md promises
# two seconds, and tests/unit checks that in virtual time; here only a hang is a failure. All of it runs in a network
# namespace of its own, so that no other run is flooded.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
flood=$(cd "${BUILD_DIR:-.}" && pwd)/tests/fault/flood
if [ -z "${FLOOD_ALONE:-}" ]; then
	FLOOD_ALONE=1 "$flood" alone sh "$0"
	status=$?
	rm -rf "$scratch"
	[ $status = 77 ] || exit $status
	scratch=$(mktemp -d)
	skip 'floods' 'no network of its own can be had here'
	totals
	exit
fi
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
port=$((20000 + $$ * 64 % 12000)) # ports below those that the system gives to clients
flooder=
worst=0

end_flood()
{
	[ -z "$flooder" ] || kill "$flooder" 2>/dev/null
	[ -z "$flooder" ] || wait "$flooder"
	flooder=
}
trap 'end_flood; end_all' EXIT

# begin_flood ARGUMENT...: returns once it floods
begin_flood()
{
	"$flood" "$@" >flood.said 2>&1 &
	flooder=$!
	await flood.said flooding
	sleep 0.3
}

# meet WHAT OPTION...: prints how long a secondary with these options takes to join
meet()
{
	what=$1
	shift
	end_processes
	rm -f ./*.err ./*.out
	# shellcheck disable=SC2086
	start p "$worlds/meeting.sdf" --rtf 0 --iterations 20 --network-role primary --network-secondaries 1 \
		--network-listen 127.0.0.1:$port $key
	await p.err 'waiting for'
	began=$(now_ms)
	# shellcheck disable=SC2086
	start s --network-role secondary $key "$@"
	await p.err 'the run begins'
	met=$?
	took=$(($(now_ms) - began))
	[ $met = 0 ]
	report $? "$what: they do not meet: $(tail -n 1 p.err) / $(tail -n 1 s.err)"
	[ "$took" -le "$worst" ] || worst=$took
	ended p && [ "$status" = 0 ]
	report $? "$what: the primary's exit status is $status: $(tail -n 1 p.err)"
	flooded=$flooder
	end_flood
	echo "$what: $took ms${flooded:+, flood: $(tail -n 1 flood.said)}"
}

for keyed in '' yes; do
	key=
	if [ -n "$keyed" ]; then
		"$troupe" keygen --output key >/dev/null 2>&1 || { skip 'with a key' 'this build has no TLS'; continue; }
		key='--network-key-file key'
	fi
	named=${keyed:+, with a key}
	: >flood.said
	meet "quiet$named"
	FLOOD_MAC=${keyed:+1}
	FLOOD_MAC=${FLOOD_MAC:-0}
	export FLOOD_MAC
	begin_flood garbage
	meet "garbage$named"
	for senders in $(amount 500 500 "1 500"); do
		export FLOOD_SENDERS=$senders
		for role in 1 2; do
			begin_flood announce $role 1 -
			meet "announcements of role $role from $senders$named"
			if [ -n "$keyed" ] || [ $senders != 1 ]; then # any process on this machine that hears the secondary may be its primary
				begin_flood listen $role 1 -
				meet "announcements with our numbers, of role $role from $senders$named"
			fi
			begin_flood replay $role
			meet "recorded announcements of role $role from $senders$named"
		done
		for manner in silent close rubbish tls hello; do
			begin_flood connect 127.0.0.1:$port $manner
			meet "connections ($manner) from $senders$named" --network-address 127.0.0.1:$port
		done
	done
	unset FLOOD_SENDERS
done
echo "at most $worst ms"

# Announcements of a primary that has ended, recorded by a process without the key and sent again all the time: a
# secondary that comes later goes to the running primary, and never to the address of the ended one.
if "$troupe" keygen --output gone >/dev/null 2>&1; then
	end_processes
	start old "$worlds/meeting.sdf" --network-role primary --network-secondaries 1 --network-listen 127.0.0.1:$((port + 1)) \
		--network-key-file gone
	await old.err 'waiting for'
	begin_flood replay 1
	sleep 1
	kill -KILL "$(cat old.pid)"
	ended old
	report $? 'the old primary has ended'
	key='--network-key-file gone'
	meet 'announcements of a primary that is gone'
	! grep -q "$((port + 1))" s.err
	report $? "the secondary tried the address of the ended primary: $(cat s.err)"
	grep -q '^[1-9][0-9]* in' flood.said
	report $? "nothing was sent again: $(cat flood.said)"
else
	skip 'announcements of a primary that is gone' 'this build has no TLS'
fi
totals
