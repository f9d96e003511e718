#!/bin/sh
# PX4's SITL finds the vehicles of a run by its simulator interface (`--serve px4`: MAVLink over TCP) and flies them in
# lockstep, and each flight has the same bits: without it a frame or a unit would be wrong, a step would be taken without
# its controls, or what a program sends could harm a run. tests/gateway/px4_sitl.py stands in for PX4.
SERVER=px4
SITL=px4_sitl.py
. "${SOURCE_DIR:-.}/tests/gateway/autopilot.sh"
. "$source/tests/gateway/px4_world.sh"

# flight NAME WORLD SENSORS KIND SITL_OPTIONS TROUPE_OPTION...: hashes in NAME.hashes, what PX4 had in NAME.state
flight()
{
	name=$1 file=$2 sensors=$3 kind=$4 more=$5
	shift 5
	"$troupe" run "$file" --serve px4 --hash-every 50 "$@" >"$name.hashes" 2>"$name.err" &
	last=$!
	started="$started $last"
	until_true 60 grep -qs 'PX4: TCP' "$name.err"
	# shellcheck disable=SC2086 # several options
	timeout 120 python3 "$sitl" "$base" "$sensors" "$kind" $more >"$name.state" 2>"$name.said"
	report $? "$name: PX4: $(cat "$name.said" "$name.err")"
	end_last TERM
	grep '^hash' "$name.hashes" | head -n "$(((sensors - 1) / 50))" >"$name.same"
}

# 16 s, in steps of 4 ms
px4_world 0.004 "$(px4_copter iris "$base" 0 0)" >copter.sdf
flight copter copter.sdf 4000 copter '' --wait-for iris --record copter.rec
python3 - copter.state <<'END' >out 2>&1
import json, math, sys
state = json.load(open(sys.argv[1]))
assert math.dist(state["there"], (3, 1, -2)) < 0.2, state["there"]
assert math.dist(state["back"], (0, 0, -0.5)) < 0.2, state["back"]
sensor, gps, truth = state["sensor"], state["gps"], state["truth"]
time_us, acceleration, magnetic = sensor[0], sensor[1:4], sensor[7:10]
assert abs(acceleration[2] + 9.8) < 1.5, acceleration  # it hangs in the air: up is -z
assert sensor[14] in (0x3f, 0x1ff, 0x1fff), hex(sensor[14])
w, x, y, z = truth[1:5]
yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
# gauss; at Zurich the earth's field has 3.4 degrees of declination, 63.5 of inclination and 0.483 gauss, and the world
# says another one
heading = math.radians(3.4) - math.atan2(magnetic[1], magnetic[0])
assert abs(math.atan2(math.sin(heading - yaw), math.cos(heading - yaw))) < 0.1, (heading, yaw)
assert abs(magnetic[2] - 0.432) < 0.03, magnetic
assert abs(sensor[10] - 956) < 3, sensor[10]  # hPa at 488 m
assert abs(sensor[12] - truth[10] / 1e3) < 5, (sensor[12], truth[10])  # m
assert abs(sensor[13] - 11.8) < 0.2, sensor[13]  # degrees C at 488 m
assert abs(gps[1] - truth[8]) < 500 and abs(gps[2] - truth[9]) < 800, (gps, truth)  # some m, in 1e-7 degrees
assert abs(gps[3] - truth[10]) < 10000 and gps[11] == 3, (gps, truth)
assert abs(gps[1] - 473977420) < 5000 and abs(gps[2] - 85455940) < 5000, gps
assert state["heartbeat"][5] == 3 and 0 <= time_us - state["time"][0] < 1100000, state
END
report $? "the copter flies there and back; frames and units are PX4's: $(cat out)"
# The GPS is 0.12 s late, and says so: it is where the copter was then. Remote control comes and goes; a recording has it.
px4_world 0.004 "$(px4_copter iris "$base" 0 0 | sed 's|<gpsNoise>true|<gpsNoise>false|')" >exact.sdf
cat >rc.cmd <<-END
	250 /px4/$base/rc channel: 1500 channel: 1100 channel: 1900 rssi: 200
	500 /px4/$base/rc rssi: 0
END
flight exact exact.sdf 1000 copter '' --wait-for iris --commands rc.cmd --record exact.rec --secondaries 2
python3 - exact.state <<'END' >out 2>&1
import json, sys
state = json.load(open(sys.argv[1]))
late, rcs, rc = state["late"], state["rcs"], state["rc"]
assert late["lags"] == [120000], late
assert late["error"] < 0.02 < 0.1 < late["off"], late
assert rc[1:4] == [1500, 1100, 1900] and set(rc[4:19]) == {65535} and rc[19:] == [3, 200], rc
assert all(b - a == 20000 for a, b in zip(rcs, rcs[1:])), rcs
assert abs(rcs[0] - 1e6) <= 20000 and abs(rcs[-1] - 2e6) <= 30000, rcs
END
report $? "a late GPS and a remote control: $(cat out)"
"$troupe" replay exact.rec --secondaries 0 >out 2>err && grep -q 'all the same' out
report $? "a recording repeats them: $(cat out err)"
for wrong in "$(printf 'channel: 1500 %.0s' $(seq 19));at most 18 channels" 'channel: 1500 channel: 3001;channel 2 is 3001 us' 'rssi: 256;rssi of at most 255'; do
	echo "3 /px4/$base/rc ${wrong%;*}" >wrong.cmd
	"$troupe" run exact.sdf --commands wrong.cmd --iterations 5 -v 0 >out 2>err
	[ $? = 1 ] && grep -q "step 3: /px4/$base/rc: .*${wrong#*;}" err && [ "$(wc -l <err)" = 1 ]
	report $? "a wrong remote control, '${wrong#*;}': $(cat err)"
done
"$troupe" replay copter.rec --secondaries 0 >out 2>err && grep -q 'all the same' out
report $? "a recording repeats the flight without PX4: $(cat out err)"

# same NAME: the same hashes as in the first flight
same()
{
	[ -s "$1.same" ] && head -n "$(wc -l <"$1.same")" copter.same >expected && cmp -s expected "$1.same"
	report $? "$1: the same bits as in the first flight"
}
flight threads copter.sdf 501 copter '' --wait-for iris --secondaries 2
same threads
flight rubbish copter.sdf 501 copter '--rubbish' --wait-for iris
same rubbish
[ "$(grep -c 'no MAVLink message' rubbish.err)" = 1 ]
report $? "rubbish is told once: $(cat rubbish.err)"

# Again and again, with something else on all processors.
for i in 1 2; do
	sh -c 'while :; do :; done' &
	started="$started $!"
	loads="${loads:-} $!"
done
runs=$(amount 3 6 20)
for i in $(seq "$runs"); do
	flight "again$i" copter.sdf 151 copter '' --wait-for iris --secondaries $((i % 3)) >out
	[ -s "again$i.same" ] && head -n 3 copter.same | cmp -s - "again$i.same" || break
done
[ "$i" = "$runs" ] && cmp -s "again1.same" "again$i.same"
report $? "$runs flights under load have the same bits: $(cat out)"
# word splitting is meant
# shellcheck disable=SC2086
kill $loads

# A channel that drives a joint, and a rangefinder, from 1 m up.
for how in position position_kinematic; do
	px4_world 0.004 "$(px4_post "$base" 0.25 $how)" >post.sdf
	flight "$how" post.sdf 300 idle '' --wait-for post
	python3 -c 'import json, sys; at = json.load(open(sys.argv[1]))["distance"]; sys.exit(not (0 < at[1] and abs(at[3] - 100) <= 2))' \
		"$how.state"
	report $? "$how: an armed channel, and a rangefinder: $(cat "$how.state")"
	flight "disarmed-$how" post.sdf 300 idle --disarmed --wait-for post
	python3 -c 'import json, sys; sys.exit(abs(json.load(open(sys.argv[1]))["distance"][3] - 125) > 2)' "disarmed-$how.state"
	report $? "$how: a channel that is not armed: $(cat "disarmed-$how.state")"
done

# Many vehicles, each with its own PX4, on one and on two secondaries; the period is four steps.
fleet=50
vehicles=
for i in $(seq 0 $((fleet - 1))); do
	vehicles="$vehicles$(px4_copter "iris$i" $((base + i)) $((i % 10 * 2)) $((i / 10 * 2)))"
done
px4_world 0.001 "$vehicles" >fleet.sdf
names=$(seq -s ' --wait-for iris' 0 $((fleet - 1)))
for secondaries in 0 2; do
	# shellcheck disable=SC2086 # several options
	flight "fleet$secondaries" fleet.sdf 101 copter "--fleet $fleet" --secondaries $secondaries --wait-for iris$names
	[ "$(wc -l <"fleet$secondaries.state")" = $fleet ] && [ "$(wc -l <"fleet$secondaries.same")" = 2 ]
	report $? "$fleet vehicles on $secondaries secondaries"
done
[ -s fleet0.same ] && cmp fleet0.same fleet2.same
report $? 'many vehicles: the same bits on two secondaries'

# Without --wait-for the run goes on alone; PX4 boots without an answer, comes, goes and comes back, also by IPv6.
start()
{
	"$troupe" run "$@" >late.out 2>late.err &
	last=$!
	started="$started $last"
	until_true 60 grep -qs 'PX4: TCP' late.err
}
left()
{
	[ "$(grep -c "iris.*left" late.err)" -ge "$1" ]
}
start copter.sdf --serve 'px4=[::1]' --rtf 1
for times in 1 2; do
	timeout 60 python3 "$sitl" "$base" 200 copter --host ::1 --boots 100 >late.state 2>late.said
	report $? "PX4 boots in a running world, by IPv6, time $times: $(cat late.said)"
done
python3 - late.state <<'END' >out 2>&1
import json, sys
state = json.load(open(sys.argv[1]))
assert state["ack"] == [400, 3], state["ack"]  # it is no vehicle that could be armed
END
report $? "commands are answered: $(cat out)"
timeout 60 python3 "$sitl" "$base" 100 copter --host ::1 --free >late.state 2>late.said
report $? "a PX4 that is not in lockstep: $(cat late.said)"

# Hostile programs: nothing, rubbish only, a flood that reads nothing, a second one beside the first.
python3 - "$base" <<'END' >out 2>&1
import socket, sys
port = int(sys.argv[1])
def connect():
    to = socket.create_connection(("::1", port), 10)
    to.settimeout(10)
    return to
silent = connect()
rubbish = connect()
rubbish.sendall(bytes(range(256)) * 200)
half = connect()
half.sendall(b"\xfd\x51\x00\x00\x00\x01\x01\x5d\x00\x00")
half.close()
def frame(number, payload, extra):
    body = bytes([len(payload), 0, 0, 0, 1, 1]) + number.to_bytes(3, "little") + payload
    crc = 0xffff
    for byte in body + bytes([extra]):
        byte ^= crc & 0xff
        byte = (byte ^ (byte << 4)) & 0xff
        crc = ((crc >> 8) ^ (byte << 8) ^ (byte << 3) ^ (byte >> 4)) & 0xffff
    return b"\xfd" + body + crc.to_bytes(2, "little")
first = connect()
first.sendall(frame(0, bytes(9), 50))
assert first.recv(10)
second = connect()
assert second.recv(10) == b"", "a second program is not turned away"
try:
    for _ in range(2000):  # more than 100 MB, and its own messages are not read
        first.sendall(frame(76, bytes(33), 152) * 1000)
except OSError as error:
    print(error)
END
report $? "hostile programs: $(cat out)"
timeout 60 python3 "$sitl" "$base" 100 copter --host ::1 >late.state 2>late.said
report $? "the next PX4 is served: $(cat late.said)"
end_last TERM
report "$([ $? -le 1 ]; echo $?)" "the run has ended well: $(cat late.err)"
[ "$(grep -c 'is turned away' late.err)" = 1 ]
report $? "the second program is told of: $(cat late.err)"

# What cannot be served is refused, or said.
serves_nowhere copter.sdf
px4_world 0.01 "$(px4_copter a "$base" 0 0)$(px4_copter b "$base" 3 0)" >twice.sdf
twice twice.sdf
"$troupe" check copter.sdf >out 2>&1
report $? "a world as PX4's is loaded: $(cat out)"
grep -q 'ignored: 0.*warnings: 0' out
report $? "a world as PX4's has no warnings: $(cat out)"
# Each of these worlds is wrong in one element.
wrong_in copter.sdf <<-END
	<mavlink_tcp_port>$base <mavlink_tcp_port>70000 mavlink_tcp_port
	<input_index>0 <input_index>16 input_index
	<gpsNoise> <update_rate>51</update_rate><gpsNoise> update_rate
	<joint_control_type>velocity <joint_control_type>torque joint_control_type
END
totals
