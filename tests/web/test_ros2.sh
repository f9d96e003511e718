#!/bin/sh
# A node of ROS 2 in TypeScript, by another project, sees a run: topics with their types, clock, transforms, odometry, a
# scan and joints; and Open-RMF's topics. It finds others by multicast alone, so both are in a network of their own, whose loopback has multicast.
. "${SOURCE_DIR:-.}/tests/web/lib.sh"
. "$SOURCE_DIR/tests/gateway/rmf_world.sh"
web_needs 'a node of ROS 2 in TypeScript' @foxglove/ros2 @foxglove/rosmsg @foxglove/rtps @foxglove/rosmsg-msgs-common avl tslib
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
set -u
source=$(cd "${SOURCE_DIR:-.}" && pwd)
case $troupe in /*) ;; *) troupe=$PWD/$troupe ;; esac
cd "$scratch" || exit 1
TROUPE_NO_GZ=1
export TROUPE_NO_GZ
unset ROS_DOMAIN_ID CYCLONEDDS_URI

cat >both.sh <<'END'
ip link set lo up multicast on && ip route add 224.0.0.0/4 dev lo || exit 9
"$1" run "$3" --ros2 --ros2-domain 3 --ros2-address 127.0.0.1 >out 2>err &
run=$!
for _ in $(seq 1200); do
	grep -q 'ROS 2: domain' err && break
	sleep 0.05
done
timeout 150 node "$2/tests/web/$4" 3 >said 2>&1
kill -INT $run
wait $run
END
unshare -rn sh -c 'ip link set lo up' 2>/dev/null || {
	skip 'a node of ROS 2 in TypeScript' 'no network of its own can be made (unshare -rn, ip)'
	totals
	exit
}
# hears WORLD SCRIPT
hears()
{
	unshare -rn sh both.sh "$troupe" "$source" "$1" "$2"
	status=$?
	if grep -q 'built without DDS' err; then
		skip 'a node of ROS 2 in TypeScript' "$(cat err)"
		totals
		exit
	fi
	report $status "$2: the run ends well: $status $(cat err)"
	grep FAILED said
	read -r here _ there _ <<END
$(tail -n 1 said)
END
	case $here in *[!0-9]* | '') report 1 "the node ends well: $(tail -n 3 said)" ;; *) passed=$((passed + here)) failed=$((failed + there)) ;; esac
}

hears "$source/tests/data/ros/robot.sdf" ros2.js
building "$(doors)$(lift "$lift_plugin")$(slotcar car 3 6 0)<rmf_charger_waypoints name='charger_waypoints'>
	<rmf_vertex name='c1' x='3' y='6' level='L1'/></rmf_charger_waypoints>" >rmf.sdf
hears rmf.sdf rmf.js
totals
