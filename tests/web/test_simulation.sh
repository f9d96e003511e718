#!/bin/sh
# A running world and roslibjs: all services of simulation_interfaces and its action, sound requests and others. What they
# do becomes commands: a recording of the run repeats it, with other secondaries, too.
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs 'simulation_interfaces by roslibjs' roslib ws
. "$SOURCE_DIR/tests/determinism/lib.sh"
set -u
web_begin simulation.js

cat >w.sdf <<'END'
<sdf version="1.9"><world name="w">
  <physics name="p" type="ode"><max_step_size>0.01</max_step_size><real_time_factor>4</real_time_factor></physics>
  <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal>
    </plane></geometry></collision></link></model>
  <model name="wall"><static>true</static><pose>4 0 1 0 0 0</pose><link name="l"><collision name="c"><geometry><box>
    <size>4 8 2</size></box></geometry></collision></link></model>
  <model name="ball"><pose>0 0 2 0 0 0</pose><link name="l"><inertial><mass>1</mass></inertial><collision name="c"><geometry>
    <sphere><radius>0.5</radius></sphere></geometry></collision></link></model>
</world></sdf>
END

mkdir states
"$troupe" run w.sdf --rosbridge 0 --paused --seed 5 --secondaries 2 --save-dir states --record run.rec -v 1 >out 2>err &
run=$!
web_port rosbridge
web_node "$script" "$port" >said 2>&1
web_tell said
web_ends
check "quitting ends the run" $?
kill -KILL "$run" 2>/dev/null
wait "$run"
status=$?
check "refused commands are told by the exit status, and nothing else: $status" "$([ "$status" -le 1 ]; echo $?)"
run=
for secondaries in 0 1; do
	timeout 120 "$troupe" replay run.rec --secondaries $secondaries -v 0 >out 2>err
	check "the recording has the same bits with $secondaries secondaries: $(cat out err)" $?
done
totals
