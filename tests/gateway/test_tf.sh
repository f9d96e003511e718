#!/bin/sh
# Frames of several robots, as programs for one robot find them that are started in the robot's namespace and listen to
# nothing else: each frame is there under the name that stock configuration gives it, has one parent, and stands where
# the world's file has it; so has the frame that the message of a sensor names. Over rosbridge; over DDS the messages are
# the same (test_bag), and test_ros2.sh has some of them. Without this, a robot in a namespace has no transforms at all,
# or an odometry that is not connected to its sensors.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
TROUPE_NO_GZ=1
export TROUPE_NO_GZ
client=$worlds/../tests/gateway/rosbridge_client.py
cp "$worlds/../tests/data/ros/robots.sdf" "$worlds/../tests/data/ros/bot.urdf" .

command -v python3 >/dev/null || {
	skip 'frames of several robots' 'no python3'
	totals
	exit
}
start run robots.sdf --rtf 1 --rosbridge 0
if ! await run.err 'rosbridge: ws' && grep -q build run.err; then
	skip 'frames of several robots' "$(head -n 1 run.err)"
	totals
	exit
fi
port=$(sed -n 's|.*rosbridge: ws://127.0.0.1:\([0-9]*\)/.*|\1|p' run.err)
report "$([ -n "$port" ]; echo $?)" "the run begins: $(cat run.err)"

# finds NAMESPACE SENSOR LINE...: "FRAME X Y Z" for frames in the robot's odom, and at last "sensor X Y Z"
finds()
{
	namespace=$1 sensor=$2
	shift 2
	printf '%s\n' "$@" >expected
	# shellcheck disable=SC2046 # words
	timeout 100 python3 "$client" tf "$port" "$namespace" "$sensor" $(sed -n '/^sensor /!s/ .*//p' expected) >found 2>&1
	cmp -s expected found
	report $? "$namespace: found $(cat found), expected $(cat expected)"
}

lidars=
"$troupe" topics robots.sdf 2>/dev/null | grep -q LaserScan && lidars=1
[ -n "$lidars" ] || skip 'frames of lidars' 'no Embree'
finds /r1 "$([ -n "$lidars" ] && echo scan || echo camera_info)" 'base_link 0.000 0.000 0.000' 'base_footprint 0.000 0.000 0.000' \
	'laser 0.200 0.000 0.100' 'laser/lidar 0.200 0.000 0.150' 'laser/eye/optical 0.200 0.000 0.100' 'r1/odom 0.000 0.000 0.000' \
	'r1/base_link 0.000 0.000 0.000' 'r1/laser/eye 0.200 0.000 0.100' 'sensor 0.200 0.000 0.150'
[ -z "$lidars" ] || finds /r2 scan 'base_footprint 0.000 0.000 0.000' 'base_link 0.000 0.000 0.100' 'laser 0.200 0.000 0.250' \
	'base_footprint/lidar 0.200 0.000 0.250' 'sensor 0.200 0.000 0.250'
# odometry gives the place in the world: its frame is 0.1 m above the model's, and the link 0.3 m
finds /r3 imu 'base_footprint 0.000 4.000 0.000' 'base_link 0.000 4.000 0.000' 'chassis 0.000 4.000 0.200' 'sensor 0.100 4.000 0.200'
finds /r_4 imu 'base_link 0.500 6.000 0.000' 'plate 0.000 6.000 0.000' 'dock 0.500 7.000 0.000' 'plate/imu 0.000 6.100 0.000' \
	'sensor 0.000 6.100 0.000'
finds /ns5 imu 'base_link 0.000 8.000 0.000' 'base_link/imu 0.000 8.000 0.400' 'sensor 0.000 8.000 0.400'
kill -INT "$(cat run.pid)"
ended run
report "$status" "the run ends well: $status $(cat run.err)"
totals
