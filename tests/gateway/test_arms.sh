#!/bin/sh
# Twenty arms of ros2_control in namespaces of their own, as their URDF and their controllers' file have them: a client of
# rosbridge sends trajectories to their controllers' topics and commands to their hardware, before and after a reset, and
# goals to their controllers, which it lists and switches; and goals after another world was loaded. What it sends becomes
# commands, so a recording repeats it.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
command -v python3 >/dev/null || {
	skip 'arms of ros2_control' 'no python3'
	totals
	exit
}
tests=$(cd "$SOURCE_DIR" && pwd)/tests
web_begin rosbridge.js
cp "$tests/data/ros_robots/arm.urdf" "$tests/data/ros_robots/arm.yaml" .
count=20
. "$tests/gateway/arms.sh"
arms_world $count >w.sdf
web_start rosbridge w.sdf --rosbridge 0 --record run.rec --secondaries 2 -v 1
PYTHONDONTWRITEBYTECODE=1 timeout 150 python3 "$tests/gateway/arms_client.py" "$port" $count >said 2>&1
web_tell said
web_stop 'many arms' run.rec

arms_world 3 >other.sdf
web_start rosbridge w.sdf --rosbridge 0 --rtf 1 -v 1
PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 "$tests/gateway/arms_client.py" "$port" 3 "$PWD/other.sdf" >said 2>&1
web_tell said
web_stop 'another world'

# --- in the process of a robot client -----------------------------------------------------------------------------------
sed "s|arm.yaml|$PWD/arm.yaml|" arm.urdf >mine.urdf
at=127.0.0.1:$((20000 + $$ % 12000))
"$troupe" run w.sdf --rtf 1 --network-role primary --network-listen $at --network-secondaries 1 --client bot -v 1 >out 2>primary.err &
run=$!
"$troupe" run --network-role secondary --network-address $at >secondary.out 2>secondary.err &
secondary=$!
"$troupe" run --network-role client --name bot --network-address $at --rosbridge 0 >client.out 2>err &
client=$!
web_port rosbridge
PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 "$tests/gateway/arms_client.py" "$port" bot "$PWD/mine.urdf" >said 2>&1
web_tell said
kill -INT "$run"
wait "$run"
report $? "the run with a client ends well: $(cat primary.err)"
wait $secondary $client
run=
totals
