#!/bin/sh
# test limit: 120
# Files of --mcap read by @mcap/core, with all sums checked, and their messages decoded by the definitions in the file
# alone: whole, by ranges of time, damaged, and cut off by kill -9.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs 'MCAP files read by another project' @mcap/core @mcap/support @foxglove/schemas @foxglove/rosmsg2-serialization protobufjs
data=$SOURCE_DIR/tests/data/mcap
cd "$scratch" || exit 1
run said "$data/w.sdf" "$data/w.commands" 2500 --mcap whole.mcap --topic '*'
check 'a file is written' $?
run said "$data/w.sdf" - 0 --until 0.0005 --mcap empty.mcap --topic /nothing
check 'a file without messages is written' $?
"$troupe" run "$data/w.sdf" --rtf 0 -v 0 --mcap killed.mcap &
killed=$!
for _ in $(seq 300); do
	[ "$(wc -c 2>/dev/null <killed.mcap || echo 0)" -gt 400000 ] && break
	sleep 0.1
done
kill -9 $killed
wait $killed 2>/dev/null
web_node "$SOURCE_DIR/tests/web/mcap.js" whole.mcap killed.mcap empty.mcap >said
check "the files are read: $(cat said)" $?
tail -n 1 said
totals
