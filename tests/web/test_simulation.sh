#!/bin/sh
# A running world and roslibjs: all services of simulation_interfaces and its action, sound requests and others. What they
# do becomes commands: a recording of the run repeats it, with other secondaries, too.
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs 'simulation_interfaces by roslibjs' roslib ws
. "$SOURCE_DIR/tests/determinism/lib.sh"
set -u
web_begin simulation.js

cp "${script%/*}/../data/ros/ball.sdf" w.sdf || exit 1

mkdir states crate
echo '<model><name>A crate</name><sdf version="1.9">crate.sdf</sdf></model>' >crate/model.config
echo '<sdf version="1.9"><model name="crate"><static>true</static><link name="l"/></model></sdf>' >crate/crate.sdf
unset GZ_SIM_RESOURCE_PATH SDF_PATH IGN_GAZEBO_RESOURCE_PATH AMENT_PREFIX_PATH ROS_PACKAGE_PATH MENGE_RESOURCE_PATH
web_start rosbridge w.sdf --rosbridge 0 --paused --seed 5 --secondaries 2 --save-dir states --record run.rec -v 1
web_node "$script" "$port" >said 2>&1
web_tell said
web_ends
report $? "quitting ends the run"
kill -KILL "$run" 2>/dev/null
wait "$run"
status=$?
report "$([ "$status" -le 1 ]; echo $?)" "refused commands are told by the exit status, and nothing else: $status"
run=
replays_equal run.rec
totals
