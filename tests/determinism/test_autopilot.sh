#!/bin/sh
# The example autopilot flies a quadcopter by its sensors, as a barrier client over TCP: motor speeds in, sensors out, at
# each sample of the IMU. All runs have one hash, whatever the load and the secondaries. It holds height, attitude and
# heading, also after a push. Without it nothing flies. When it is lost, the run ends or goes on, as it asked for.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
set -u
example=${SOURCE_DIR:-.}/tests/examples/autopilot
limit_s=20
steps=20000
# shellcheck disable=SC2086
${TEST_CC:-cc} -O1 -Wall -Wextra -Werror "$example/autopilot.c" -o "$scratch/autopilot" -lm
report $? 'the example autopilot builds'

# a kick of 0.04 N m s and 0.05 N s at 15 s: without control the copter would turn over in a second
echo '15000 /world/hover/wrench entity {name: "quad" type: MODEL} wrench {force {x: 50} torque {x: 40}}' >"$scratch/push"

# fly NAME [AUTOPILOT'S OPTION]... -- OPTION...: a run with the autopilot; NAME.out and .err are the run's output, NAME.said
# the autopilot's. $flown: the autopilot's status. Returns the run's.
fly()
{
	name=$scratch/$1
	shift
	options=
	while [ "$1" != -- ]; do
		options="$options $1"
		shift
	done
	shift
	: >"$name.err"
	timeout $run_limit_s "$troupe" run "$example/hover.sdf" --rtf 0 -v 1 --until $limit_s --hash-every $steps \
		--lockstep-listen 0 --wait-for autopilot --wait-for-timeout 60 "$@" >"$name.out" 2>"$name.err" &
	process=$!
	for _ in $(seq 2400); do
		address=$(sed -n 's/.*clients join at \([0-9.]*:[0-9]*\).*/\1/p' "$name.err")
		[ -n "$address" ] && break
		sleep 0.05
	done
	# shellcheck disable=SC2086
	timeout $run_limit_s "$scratch/autopilot" "$address" $options >"$name.said" 2>&1
	flown=$?
	wait $process
}

want=
load=
for i in $(seq "$(amount 2 4 8 20)"); do
	if [ $((i % 2)) = 0 ]; then # twice as many busy programs as are needed to disturb both
		timeout 60 sh -c 'while :; do :; done' &
		load=$!
	fi
	fly "run$i" -- --secondaries $((i % 3)) --commands "$scratch/push" --commands-out "$scratch/commands" \
		--log "$scratch/log" --log-every 100 --log-what model:quad
	report $? "run $i: $(cat "$scratch/run$i.err")"
	[ $flown = 0 ]
	report $? "run $i: the autopilot: $(cat "$scratch/run$i.said")"
	[ -z "$load" ] || { kill "$load"; wait "$load"; } 2>/dev/null
	load=
	hash=$(cat "$scratch/run$i.out")
	want=${want:-$hash}
	[ -n "$hash" ] && [ "$hash" = "$want" ]
	report $? "run $i: '$hash', expected '$want'"
	cmp -s "$scratch/run1.said" "$scratch/run$i.said"
	report $? "run $i: another flight"
done

# each 4 ms a sample, from the first barrier on
[ "$(sed -n 's/^flown: \([0-9]*\) samples.*/\1/p' "$scratch/run1.said")" -ge $((limit_s * 250 - 2)) ]
report $? "as many samples as the IMU has: $(tail -n 1 "$scratch/run1.said")"

# The true state: height above the start, tilt, heading. The columns are named in the first line.
# truth FROM TO: the extremes of height, tilt in degrees and yaw in degrees between these times
truth()
{
	awk -F , -v from="$1" -v to="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		{
			t = $column["time"]; z = $column["z"] - 0.05
			qw = $column["qw"]; qx = $column["qx"]; qy = $column["qy"]; qz = $column["qz"]
			if (t < from || t > to) next
			up = 1 - 2 * (qx * qx + qy * qy)
			tilt = atan2(sqrt(up < 1 ? 1 - up * up : 0), up) * 57.29577951308232
			yaw = 2 * atan2(qz, qw) * 57.29577951308232
			if (!seen++) { low = high = z; most = tilt; left = right = yaw }
			if (z < low) low = z
			if (z > high) high = z
			if (tilt > most) most = tilt
			if (yaw < left) left = yaw
			if (yaw > right) right = yaw
		}
		END { printf "%.4f %.4f %.3f %.2f %.2f\n", low, high, most, left, right }' "$scratch/log"
}
# within FROM TO LOW HIGH TILT LEFT RIGHT: the truth stays in these bounds
within()
{
	truth "$1" "$2" | awk -v low="$3" -v high="$4" -v tilt="$5" -v left="$6" -v right="$7" '
		{ exit !($1 >= low && $2 <= high && $3 <= tilt && $4 >= left && $5 <= right) }'
}
within 7 7.9 1.95 2.05 0.5 -1 1
report $? "hovers at 2 m, before the turn: $(truth 7 7.9)"
within 14 14.9 1.97 2.03 0.5 87 93
report $? "has turned by 90 degrees: $(truth 14 14.9)"
! within 15 16 1.9 2.1 2 87 93
report $? "the push tilts it: $(truth 15 16)"
within 18.5 20 1.95 2.05 1 87 93
report $? "level again after the push: $(truth 18.5 20)"

for secondaries in 0 2; do
	timeout $run_limit_s "$troupe" run "$example/hover.sdf" --rtf 0 -v 0 --until $limit_s --hash-every $steps \
		--commands "$scratch/commands" --secondaries $secondaries >"$scratch/again"
	report $? "the written commands with $secondaries secondaries"
	cmp -s "$scratch/again" "$scratch/run1.out"
	report $? "the written commands give '$(cat "$scratch/again")', expected '$want'"
done

timeout $run_limit_s "$troupe" run "$example/hover.sdf" --rtf 0 -v 0 --until $limit_s --hash-every $steps \
	--log "$scratch/log" --log-every 100 --log-what model:quad >"$scratch/alone"
within 5 $limit_s -0.01 0.01 0.5 -1 1 && ! cmp -s "$scratch/alone" "$scratch/run1.out"
report $? "without the autopilot it stays on the ground: $(truth 5 $limit_s)"

fly lost --die-at 5 --
[ $? = 3 ] && [ $flown = 9 ] && grep -q "barrier client 'autopilot', step [0-9]*" "$scratch/lost.err" && [ ! -s "$scratch/lost.out" ]
report $? "a lost autopilot ends the run: $(cat "$scratch/lost.err")"
fly dropped --die-at 5 --drop -- --log "$scratch/log" --log-every 100 --log-what model:quad
[ $? = 0 ] && [ $flown = 9 ] && grep -q "barrier client 'autopilot'" "$scratch/dropped.err" && [ -s "$scratch/dropped.out" ]
report $? "a lost autopilot with --drop is left behind: $(cat "$scratch/dropped.err")"
[ "$(awk -F , 'END { print ($2 >= 20) }' "$scratch/log")" = 1 ]
report $? 'the run without it goes on to its end'
totals
