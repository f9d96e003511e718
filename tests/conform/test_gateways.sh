#!/bin/sh
# What all gateways of a run have in common, played by each: the end and its reason, slow clients, commands, names, late
# clients, clients that leave, models that come and go, garbage (tests/conform/gateway_suite has the cases). The gateways
# are separate code: without one suite for all of them, a lesson that one has learnt is missing in another.
#
# usage: test_gateways.sh [GATEWAY...]
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
case $troupe in /*) ;; *) troupe=$PWD/$troupe ;; esac
suite=$(cd "${SOURCE_DIR:-.}" && pwd)/tests/conform/gateway_suite
cd "$scratch" || exit 1
command -v python3 >/dev/null || {
	skip 'gateways' 'no python3'
	totals
	exit
}
[ $# != 0 ] || set -- rosbridge foxglove view ws relay lockstep dds gz mcap bag
for gateway; do
	mkdir "$gateway"
	(cd "$gateway" && python3 -B "$suite" "$gateway" "$troupe") >"$gateway.said" 2>&1
	grep -q '^[0-9]* passed, [0-9]* failed' "$gateway.said"
	report $? "$gateway: the suite ended without totals: $(tail -n 5 "$gateway.said")"
	grep -v '^[0-9]* passed, [0-9]* failed' "$gateway.said"
	read -r here _ there _ <<-TOTALS
		$(grep '^[0-9]* passed, [0-9]* failed' "$gateway.said")
	TOTALS
	passed=$((passed + ${here:-0})) failed=$((failed + ${there:-0})) skipped=$((skipped + $(grep -c '^skipped: ' "$gateway.said")))
done
totals
