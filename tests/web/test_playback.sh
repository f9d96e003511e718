#!/bin/sh
# `troupe replay --foxglove`, with Foxglove's own client library: a recording plays, stops, and jumps to any step, and each
# place of a model that is shown is that of the recorded run, to the last bit. The recorded run was paused for a while, so
# that the time line must go on where simulated time stands still; a model is created in it.
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs "Foxglove's client library" @foxglove/ws-protocol ws @foxglove/rosmsg @foxglove/rosmsg2-serialization
. "$SOURCE_DIR/tests/determinism/lib.sh"
set -u
web_begin playback.js

cat >w.sdf <<'END'
<sdf version="1.9"><world name="w">
  <physics name="p" type="ode"><max_step_size>0.01</max_step_size></physics>
  <model name="cart"><pose>0 0 0.25 0 0 0</pose><link name="base"><gravity>false</gravity><inertial><mass>5</mass>
    <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
    <visual name="v"><geometry><box><size>0.5 0.5 0.5</size></box></geometry></visual></link>
    <plugin name="gz::sim::systems::VelocityControl" filename="x"/></model>
</world></sdf>
END
cat >w.commands <<'END'
10 /model/cart/cmd_vel linear: {x: 1} angular: {z: 0.3}
380 /world/w/create sdf: "<sdf version='1.9'><model name='late'><pose>9 9 9 0 0 0</pose><link name='l'/><plugin name='gz::sim::systems::PosePublisher' filename='x'><publish_model_pose>true</publish_model_pose></plugin></model></sdf>"
600 /world/w/control pause: true
650 /world/w/control pause: false
END
"$troupe" run w.sdf --commands w.commands --iterations 1000 --record run.rec --record-every 50 --log run.csv --log-every 1 --rtf 0 -v 0 >out 2>err
report $? "a run is recorded: $(cat out err)"

# play OPTION...: the port of a recording that is shown
play()
{
	: >err # the process does so, too, but later
	rm -f err
	"$troupe" replay run.rec --foxglove "$@" >out 2>err &
	run=$!
	web_port Foxglove
}
stop()
{
	kill -INT "$run"
	wait "$run"
	report $? "it ends well: $(cat out err)"
	run=
}

play 0 --secondaries 2
web_node "$script" "$port" run.csv >said 2>&1
web_tell said
stop
[ "$(wc -l <err)" = 1 ] && [ ! -s out ]
report $? "nothing else is printed: $(cat out err)"

play 0.0.0.0:0
grep -q 'Foxglove: ws://.*:[0-9]*/?token=[A-Za-z0-9_-]\{24\}$' err
report $? "with an address there is a token: $(cat err)"
stop
printf x | dd of=run.rec bs=1 seek=$(($(wc -c <run.rec) / 2)) conv=notrunc 2>/dev/null
play 0
stop
for bad in 'w.sdf --foxglove 0' 'run.rec --foxglove x' 'run.rec --foxglove 0 --mcap m' 'run.rec --foxglove 0 --until-step 5' \
	'run.rec --foxglove 0 --chaos 1' 'run.rec --foxglove 0 --transport tcp' 'run.rec --foxglove-insecure' 'none --foxglove 0'; do
	# word splitting is meant
	# shellcheck disable=SC2086
	timeout 20 "$troupe" replay $bad >out 2>err
	status=$?
	[ $status -ne 0 ] && [ $status -lt 3 ] && [ "$(wc -l <err)" = 1 ]
	report $? "replay $bad: $status $(cat err)"
done
totals
