#!/bin/sh
# A delivery in a building of Open-RMF over DDS, in both directions: a client on Cyclone DDS, with types that Cyclone's
# compiler makes of an IDL file, asks a door, a lift, a dispenser, a slotcar and an ingestor, as Open-RMF's adapters do, and
# hears their states and results. What it asks becomes commands, so a recording repeats it.
# optional commands: cc gcc idlc
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/gateway/ros2.sh"
. "$source/tests/gateway/rmf_world.sh"
needs_node 'Open-RMF over DDS' ball.sdf
cc=$(command -v cc || command -v gcc) || cc=
[ -n "$cc" ] && command -v idlc >/dev/null && idlc -l c -t "$source/tests/gateway/rmf_msgs.idl" >compiled 2>&1 &&
	"$cc" -O0 -I. "$source/tests/gateway/rmf_fleet.c" rmf_msgs.c -o fleet -lddsc -lm >compiled 2>&1 || {
	skip 'Open-RMF over DDS' "no C compiler, cyclonedds-tools or cyclonedds-dev: $(head -n 1 compiled 2>/dev/null)"
	totals
	exit
}
demo_building >w.sdf
"$troupe" check w.sdf >out 2>&1
grep -q 'ignored: 0.*warnings: 1' out && grep -q 'there are no people: <scene_file> "scene_file.xml"' out
report $? "of the building nothing is ignored but the crowd: $(cat out)"
begin --record run.rec --secondaries 2
timeout 200 ./fleet $domain >said 2>&1
report $? "a delivery: $(cat said)"
end
report $? "the run ends well: $ended $(cat err)"
replays_equal run.rec
totals
