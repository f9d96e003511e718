#!/bin/sh
# MAVLink code of another project (node-mavlink) decodes what --serve px4 sends, and encodes what it takes: without it both
# sides of tests/gateway/test_px4.sh could have the same error.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
. "$SOURCE_DIR/tests/gateway/px4_world.sh"
web_needs 'MAVLink of another project' node-mavlink mavlink-mappings
web_begin px4.js
port=$((20000 + $$ % 12000))
while grep -qi ":$(printf %04x $port) " /proc/net/tcp; do port=$((port + 1)); done
px4_world 0.004 "$(px4_post "$port" 0 position)" >w.sdf
echo "100 /px4/$port/rc channel: 1500 channel: 2000 rssi: 99" >rc.cmd
"$troupe" run w.sdf --serve px4 --wait-for post --commands rc.cmd >out 2>err &
run=$!
until grep -q 'PX4: TCP' err || ! web_runs; do sleep 0.05; done
web_node "$script" "$port" 500 >said 2>&1
web_tell said
kill -TERM "$run"
wait "$run"
run=
report 0 'the run has ended'
totals
