#!/bin/sh
# Barrier clients by roslibjs: the run waits for them at each multiple of their period, so that it has the same bits however
# slow they are, and they may publish in ROS's way, too. One that dies or hangs leaves as configured and holds up no other.
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs 'barrier clients by roslibjs' roslib ws
. "$SOURCE_DIR/tests/determinism/lib.sh"
set -u
web_begin barrier.js
run_limit_s=60

{
	named_head ground | sed 's/0.001/0.01/'
	for name in a b; do
		echo "<model name='${name}_robot'><pose>0 $([ $name = a ] && echo 0 || echo 3) 0.2 0 0 0</pose><link name='l'><inertial>
		<mass>1</mass></inertial><collision name='c'><geometry><box><size>0.4 0.4 0.4</size></box></geometry></collision></link>
		<plugin name='gz::sim::systems::VelocityControl' filename='x'/>
		<plugin name='gz::sim::systems::PosePublisher' filename='x'><publish_model_pose>true</publish_model_pose></plugin></model>"
	done
	echo '</world></sdf>'
} >w.sdf

# begin OPTION...: a run in the background; its port in $port
begin()
{
	: >err
	timeout -k 1 $run_limit_s "$troupe" run w.sdf --rosbridge 0 --iterations 200 -v 1 "$@" >out 2>err &
	run=$!
	for _ in $(seq 200); do
		grep -q 'rosbridge: ws' err && break
		sleep 0.05
	done
	port=$(sed -n 's|.*rosbridge: ws://127.0.0.1:\([0-9]*\)/$|\1|p' err)
}

# tell FILE: what a client found, added to the counts
tell()
{
	grep -v ' passed, ' "$1"
	read -r here _ there _ <<END
$(grep ' passed, ' "$1" || echo '0 passed, 1 failed')
END
	passed=$((passed + here)) failed=$((failed + there))
}

# finish: waits for the run; its status in $status
finish()
{
	wait "$run"
	status=$?
	run=
}

steps=$(amount 12 24 36)
for secondaries in 0 2 2; do
	begin --secondaries $secondaries --wait-for a --wait-for b --hash-every 20 --record $secondaries.rec
	web_node "$script" "$port" a drive "$steps" >a.said 2>&1 &
	client=$!
	web_node "$script" "$port" b drive "$steps" >b.said 2>&1
	wait $client
	finish
	tell a.said
	tell b.said
	report "$([ $status = 0 ]; echo $?)" "the run with $secondaries secondaries: $status: $(cat err)"
	cp out $secondaries.hashes
	[ -e first ] || cp out first
	cmp -s first out
	report $? "the same bits, however slow the clients are, with $secondaries secondaries"
done
grep -q '^hash 200 ' first
report $? "hashes up to the end: $(tail -n 1 first)"
timeout -k 1 $run_limit_s "$troupe" replay 2.rec --secondaries 1 -v 0 >out 2>err
report $? "a replay without the clients has the same bits: $(cat out err)"

begin --wait-for a --wait-for b --wait-for c
web_node "$script" "$port" a die drop >a.said 2>&1 &
dies=$!
web_node "$script" "$port" c hang heard >c.said 2>&1 &
hangs=$!
web_node "$script" "$port" b drive "$steps" heard >b.said 2>&1 # the run must not end before c has heard why it is out
report $? 'a client that dies and one that hangs hold up no other'
wait $dies
wait $hangs
finish
tell a.said
tell b.said
tell c.said
report "$([ $status = 0 ]; echo $?)" "the run goes on without them: $status"
grep -q "'a', step [0-9]*: it closed its connection; the run goes on without it" err
report $? "a lost connection is told: $(cat err)"
grep -q "'c', step [0-9]*: no answer within 0.3 s; the run goes on without it" err
report $? "a deadline is told: $(cat err)"

begin --wait-for a
web_node "$script" "$port" a die end >a.said 2>&1
finish
tell a.said
report "$([ $status != 0 ] && [ $status -lt 124 ]; echo $?)" "the run ends as the client asked: $status"
grep -q "'a', step [0-9]*: it closed its connection$" err
report $? "and says why: $(cat err)"

begin --wait-for a
web_node "$script" "$port" a rude >a.said 2>&1
finish
tell a.said
grep -q "'a', step 5: it is done with step 12345: expected step 5" err
report $? "an answer to another step is told: $status: $(cat err)"
totals
