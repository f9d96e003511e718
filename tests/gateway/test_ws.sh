#!/bin/sh
# `--serve ws` as its document (src/gateway/ws/PROTOCOL.md) describes it, to a client of Python's own modules: without it a
# message could come at another rate, to another client, or in another form, or a refusal could end the connection. And the
# grammar of --serve.
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"
TROUPE_NO_GZ=1
export TROUPE_NO_GZ

cp "$named_worlds/cart.sdf" w.sdf

for wrong in nope =9002 'ws=' 'ws=99999' 'ws,colour=red' 'ws,insecure=maybe' 'ws,cert=a' 'ws=0,'; do
	"$troupe" run w.sdf --iterations 1 --serve "$wrong" >out 2>err
	[ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^troupe run: --serve.*expected" err
	report $? "--serve $wrong is refused: $(cat err)"
done
"$troupe" run w.sdf --iterations 1 --serve ws=0 --serve ws=0 >out 2>err
[ $? = 2 ] && grep -q 'asked for twice' err
report $? "the same gateway twice: $(cat err)"
"$troupe" run w.sdf --iterations 1 --no-gz --serve gz >out 2>err
[ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q -e '--no-gz: --serve gz asks for it: expected one' err
report $? "gz-transport, and none: $(cat err)"
for same in '--foxglove 0' '--serve foxglove=0'; do
	# shellcheck disable=SC2086 # an option and its value
	"$troupe" run w.sdf --iterations 1 $same >out 2>err
	[ $? = 0 ] && grep -q '^troupe run: Foxglove: ws://127.0.0.1:[0-9]*/$' err
	report $? "$same: $(cat err)"
done
"$troupe" run w.sdf --iterations 1 --serve 'ws=*:0' --serve rosbridge=0,require-token >out 2>err
[ "$(grep -c '/?token=................' err)" = 2 ]
report $? "other hosts need a token: $(cat err)"

"$troupe" run w.sdf --serve ws=0 --record drive --hash-every 1000 >run.out 2>run.err &
last=$!
started=$last
until_true 60 grep -qs 'WebSocket: ws' run.err
port=$(sed -n 's|.*WebSocket: ws://127.0.0.1:\([0-9]*\)/$|\1|p' run.err)
timeout 90 python3 "$SOURCE_DIR/tests/gateway/ws_client.py" "$port" >client.out 2>client.err
report $? "the client: $(tail -n 3 client.err)"
while read -r said what; do
	[ "$said" = ok ]
	report $? "$what"
done <client.out
wait "$last"
report $? "the run ends well: $(cat run.err)"
"$troupe" replay drive --secondaries 0 >out 2>err && grep -q 'all the same' out
report $? "its recording repeats what the clients did: $(cat out err)"
totals
