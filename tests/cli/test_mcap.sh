#!/bin/sh
# An MCAP file is the same for any number of secondaries, any transport, with stops in between, and made again from a
# recording, sensors included; it ends where the disk is full, and is whole up to a chunk when the run is killed. What
# other programs read in it: tests/web/test_mcap.sh.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
data=${SOURCE_DIR:-.}/tests/data/mcap
cd "$scratch" || exit 1

# record NAME OPTION...
record()
{
	name=$1
	shift
	run "$name.said" "$data/w.sdf" "$data/w.commands" 2500 --mcap "$name.mcap" "$@"
	report $? "$name is recorded with $*: $(cat "$name.said")"
}
# same NAME WHAT
same()
{
	cmp one.mcap "$1" >diff 2>&1
	report $? "$2 gives the same file: $(cat diff)"
}

record one --secondaries 0
[ "$(wc -c <one.mcap)" -gt 50000 ]
report $? 'the file has some size'
record two --secondaries 2
same two.mcap 'a run with 2 secondaries'
record three --secondaries 2 --transport tcp --network-stale-ms 60000 --chaos 7
same three.mcap 'a run whose secondaries are processes'
record four --secondaries 0 --save-every 400 'state'
same four.mcap 'a run that is interrupted to save its state'

# the recording has no topic: the sensors measured nothing while it was made
run tape.said "$data/w.sdf" "$data/w.commands" 2500 --record tape --record-every 300
report $? 'a recording is made'
timeout 60 "$troupe" mcap tape -o again.mcap --secondaries 2 >said 2>&1
report $? "a file is made of it: $(cat said)"
same again.mcap 'troupe mcap'
grep -q "^troupe mcap: again.mcap: steps 0 to 2500, [0-9]* messages of [0-9]* topics, $(wc -c <one.mcap) bytes\$" said
report $? "what was written is said: $(cat said)"
timeout 60 "$troupe" replay tape --mcap replay.mcap --secondaries 0 >said 2>&1
report $? "the recording runs again: $(cat said)"
same replay.mcap 'troupe replay --mcap'

# a bag of ROS 2: the names depend on what there is, and a model comes in the middle
record bag --secondaries 0 --mcap-names ros
grep -aq '/clock' bag.mcap && ! grep -aq '/world/w/' bag.mcap
report $? "names of ROS 2: $(grep -ao '/[a-z0-9_]*/[a-z_/]*' bag.mcap | sort -u | tr '\n' ' ')"
record bag2 --secondaries 2 --transport tcp --network-stale-ms 60000 --chaos 7 --mcap-names ros
timeout 60 "$troupe" mcap tape -o bag3.mcap --secondaries 2 --names ros >said 2>&1
report $? "a bag is made of the recording: $(cat said)"
timeout 60 "$troupe" replay tape --mcap bag4.mcap --mcap-names ros --secondaries 0 >said 2>&1
report $? "and by replay: $(cat said)"
bags='bag2 bag3 bag4'
if "$troupe" run "$data/w.sdf" --iterations 1 --rosbridge 0 -v 0 >/dev/null 2>&1; then
	record bag5 --rosbridge 0 --secondaries 1
	bags="$bags bag5"
fi
for bag in $bags; do
	cmp bag.mcap $bag.mcap >diff 2>&1
	report $? "$bag is the same bag: $(cat diff)"
done
# 1.8 s of the model that comes at 0.7 s
timeout 60 "$troupe" mcap tape -o late.mcap --names ros --robot late --topic '/imu@5' >said 2>&1 &&
	grep -qE ', (9|10) messages of 1 topic' said
report $? "names of the robot that is named: $(cat said)"

record some --topic '/world/*/imu@50' --topic /clock@10
timeout 60 "$troupe" mcap tape -o again.mcap --topic '/world/*/imu@50' --topic /clock@10 >said 2>&1 && cmp some.mcap again.mcap
report $? "chosen topics, from the run and from the recording: $(cat said)"
# 2500 steps of 1 ms, and the state at the beginning
timeout 60 "$troupe" mcap tape -o clock.mcap --topic /clock@10 >said 2>&1 && grep -q ", $((2500 / 100 + 1)) messages of 1 topic" said
report $? "only the chosen topic, at its rate: $(cat said)"
timeout 60 "$troupe" mcap tape -o none.mcap --topic /nothing >said 2>&1 && grep -q 'none.mcap: no topic matches --topic /nothing$' said
report $? "a pattern that matches nothing is named: $(cat said)"

# What else a run writes, and when, is not in the file; efforts are, though no other option asks for them; and what a
# system has published once is there once, however long the world is paused after it.
cat >more.sdf <<'END_OF_WORLD'
<sdf version="1.9"><world name="w"><model name="a"><pose>0 0 2 0 0 0</pose><link name="l"/><link name="m"><pose>1 0 0 0 0 0</pose></link>
<joint name="j" type="revolute"><parent>l</parent><child>m</child><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="w" type="fixed"><parent>world</parent><child>l</child></joint>
<plugin name="gz::sim::systems::JointStatePublisher" filename="x"/>
<plugin name="gz::sim::systems::JointController" filename="x"><joint_name>j</joint_name><initial_velocity>1</initial_velocity></plugin>
<plugin name="gz::sim::systems::TriggeredPublisher" filename="x"><input type="gz.msgs.Empty" topic="/go"/>
<output type="gz.msgs.Empty" topic="/went"/></plugin></model></world></sdf>
END_OF_WORLD
cat >more.commands <<'END_OF_COMMANDS'
5 /world/w/create name: "b" sdf: "<sdf version='1.9'><model name='b'><link name='l'/></model></sdf>"
10 /world/w/remove name: "b"
20 /go
21 /world/w/control pause: true
30 /world/w/control pause: false
END_OF_COMMANDS
# more NAME OPTION...
more()
{
	name=$1
	shift
	run "$name.said" more.sdf more.commands 60 --mcap "$name.mcap" "$@"
	report $? "more.sdf is recorded with $*: $(cat "$name.said")"
	cmp -s more.mcap "$name.mcap"
	report $? "the same file with $*"
}
more more
more saves --save-at 11 state --save-every 7 states
more efforts --log more.csv --log-what effort,contact,link,sensor
more others --record more.tape --commands-out more.out --report more.json --costs more.costs --trace --hash-every 1
timeout 60 "$troupe" mcap more.tape -o more.again --topic '/world/*/joint_state' >said 2>&1 &&
	timeout 60 "$troupe" run more.sdf --commands more.commands --rtf 0 -v 0 --iterations 60 --mcap more.joints --topic '/world/*/joint_state' &&
	cmp -s more.again more.joints
report $? "efforts from a recording: $(cat said)"
timeout 60 "$troupe" mcap more.tape -o more.went --topic /went >said 2>&1 && grep -q ' 1 message' said
report $? "what was published once: $(cat said)"

# recordings that end early, or are no recordings
head -c "$(($(wc -c <tape) * 2 / 3))" tape >cut
timeout 60 "$troupe" mcap cut -o cut.mcap >said 2>&1
[ $? = 5 ] && grep -q '^troupe mcap: cut: cut off after step [0-9]*: the file ends there$' said
report $? "a recording that was cut off: $(cat said)"
timeout 60 "$troupe" mcap one.mcap -o cut.mcap >said 2>&1
[ $? = 1 ] && grep -q '^troupe mcap: one.mcap: ' said
report $? "a file that is no recording: $(cat said)"

# a disk that is full ends the file, not the run
timeout 60 "$troupe" run "$data/w.sdf" --iterations 2500 --commands "$data/w.commands" --mcap /dev/full --hash-every 2500 >out 2>said
[ $? = 1 ] && [ "$(grep -c 'No space left' said)" = 2 ] && grep -q '; the run goes on$' said
report $? "a full disk is one warning and one error: $(cat said)"
timeout 60 "$troupe" run "$data/w.sdf" --iterations 2500 --commands "$data/w.commands" -v 0 --hash-every 2500 >expected
cmp -s out expected
report $? 'a run whose file ends has the same hash'

# a run that is killed: a long one, so that there are chunks
"$troupe" run "$data/w.sdf" --rtf 0 -v 0 --mcap killed.mcap &
killed=$!
for _ in $(seq 1200); do
	[ "$(wc -c 2>/dev/null <killed.mcap || echo 0)" -gt 200000 ] && break
	sleep 0.1
done
kill -9 $killed
wait $killed 2>/dev/null
[ "$(head -c 5 killed.mcap | tail -c 4)" = MCAP ] && [ "$(wc -c <killed.mcap)" -gt 200000 ]
report $? "a run that was killed leaves $(wc -c <killed.mcap) bytes"
totals
