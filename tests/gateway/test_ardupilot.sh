#!/bin/sh
# ArduPilot's SITL finds the vehicles of a run by its JSON interface (`--serve ardupilot`), flies and drives them in
# lockstep, and each flight has the same bits: without it a frame would be wrong (north, east, down), a step would be taken
# without servo outputs, or a lost packet would change the flight. tests/gateway/sitl.py stands in for ArduPilot.
SERVER=ardupilot
SITL=sitl.py
. "${SOURCE_DIR:-.}/tests/gateway/autopilot.sh"
. "$source/tests/gateway/ardupilot_world.sh"

# flight NAME WORLD STEPS KIND SITL_OPTIONS TROUPE_OPTION...: hashes in NAME.hashes, the last state in NAME.state
flight()
{
	name=$1 file=$2 steps=$3 kind=$4 more=$5
	shift 5
	"$troupe" run "$file" --iterations "$steps" --serve ardupilot --hash-every 50 "$@" >"$name.hashes" 2>"$name.err" &
	last=$!
	until_true 60 grep -qs 'ArduPilot: UDP' "$name.err"
	# shellcheck disable=SC2086 # several options
	timeout 300 python3 "$sitl" "$base" "$((steps - 1))" "$kind" $more >"$name.state" 2>"$name.said"
	report $? "$name: ArduPilot: $(cat "$name.said")"
	kill -TERM "$last" 2>/dev/null # the last step waits for servo outputs that do not come
	wait "$last"
	grep '^hash' "$name.hashes" | head -n "$(((steps - 50) / 50))" >"$name.same"
}

# near NAME: within 0.2 m of the goal of sitl.py
near()
{
	python3 - "$1.state" "$2" <<-'END'
		import json, math, sys
		at = json.load(open(sys.argv[1]))["position"]
		sys.exit(math.dist(at[:int(sys.argv[2])], (3, 1, -2)[:int(sys.argv[2])]) > 0.2)
	END
	report $? "$1: it is where it was sent: $(cat "$1.state")"
}

world 0.001 "$(copter "$base")" >copter.sdf
flight copter copter.sdf 12000 copter '' --wait-for iris --record copter.rec
near copter 3
world 0.002 "$(rover cart "$base" 0 0 '')" >rover.sdf
flight rover rover.sdf 5000 rover '' --wait-for cart
near rover 2
"$troupe" replay copter.rec --secondaries 0 >out 2>err && grep -q 'all the same' out
report $? "a recording repeats the flight without ArduPilot: $(cat out err)"

# same NAME: the same hashes as in the first flight
same()
{
	[ -s "$1.same" ] && cmp -s copter.same "$1.same"
	report $? "$1: the same bits as in the first flight"
}
# The rest flies the first seconds only.
head -n 30 copter.same >short && mv short copter.same
flight threads copter.sdf 1551 copter '' --wait-for iris --secondaries 2
same threads
flight lost copter.sdf 1551 copter '--drop 7' --wait-for iris
same lost
flight wide copter.sdf 1551 copter '--channels 32' --wait-for iris --secondaries 1
same wide

# Many vehicles, each with its own ArduPilot, on one and on two secondaries.
fleet=50
vehicles=
for i in $(seq 0 $((fleet - 1))); do
	vehicles="$vehicles$(rover "cart$i" $((base + i)) $((i % 10 * 2)) $((i / 10 * 2)) '')"
done
world 0.004 "$vehicles" >fleet.sdf
names=$(seq -s ' --wait-for cart' 0 $((fleet - 1)))
for secondaries in 0 2; do
	# shellcheck disable=SC2086 # several options
	flight "fleet$secondaries" fleet.sdf 251 rover "--fleet $fleet" --secondaries $secondaries --wait-for cart$names
	[ "$(wc -l <"fleet$secondaries.state")" = $fleet ] && [ "$(wc -l <"fleet$secondaries.same")" = 4 ]
	report $? "$fleet vehicles on $secondaries secondaries"
done
cmp fleet0.same fleet2.same
report $? 'many vehicles: the same bits on two secondaries'

# A rangefinder, and the wind of the world: 3 m/s to the east, the rover looks 0.3 rad to the north of east.
range='<sensor><type>rangefinder</type><index>2</index><topic>beam</topic></sensor>'
world 0.01 "$(rover cart "$base" 0 0 "$range")
	<model name='wall'><static>1</static><pose>5 0 0 0 0 0.3</pose><link name='l'><visual name='v'><geometry><box>
	<size>0.2 9 9</size></box></geometry></visual></link></model>" |
	sed -e 's|<linear_velocity>0 0 0|<linear_velocity>3 0 0|' -e 's|<sensor name="imu_sensor"|<sensor name="beam" type="gpu_lidar">\
		<pose>0.2 0 0.2 0 0 0</pose><topic>beam</topic><update_rate>100</update_rate><lidar><scan><horizontal><samples>1</samples>\
		<min_angle>0</min_angle><max_angle>0</max_angle></horizontal></scan><range><min>0.1</min><max>20</max></range></lidar>\
		</sensor>&|' >sensors.sdf
flight sensors sensors.sdf 60 idle '' --wait-for cart
python3 - sensors.state <<'END' >out 2>&1
import json, math, sys
state = json.load(open(sys.argv[1]))
wall = (5 * math.cos(0.3) - 0.1) - 0.2  # the wall is turned as the rover is
assert abs(state["rng_2"] - wall) < 0.02, (state["rng_2"], wall)
assert "rng_1" not in state
# it comes from the west, which is to the left behind the rover: pi - (pi/2 - 0.3 + pi/2) ... as a vane shows it
assert abs(state["windvane"]["speed"] - 3) < 0.05, state["windvane"]
assert abs(state["windvane"]["direction"] - (0.3 - math.pi)) < 0.02 or \
    abs(state["windvane"]["direction"] - (0.3 + math.pi)) < 0.02, state["windvane"]
END
report $? "rangefinder and wind: $(cat out)"

# Without --wait-for the run goes on alone; ArduPilot comes, goes and comes back; what is no packet is told once.
"$troupe" run rover.sdf --serve ardupilot --rtf 1 --lockstep-deadline 1 >late.out 2>late.err &
last=$!
started=$last
until_true 60 grep -qs 'ArduPilot: UDP' late.err
python3 - "$base" <<'END'
import socket, sys
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for bad in b"", b"x", b"\x1a\x48", b"\x1a\x48" + bytes(37), b"\x1a\x48" + bytes(39), b"\x81\x73" + bytes(38), bytes(40), bytes(9000):
    out.sendto(bad, ("127.0.0.1", int(sys.argv[1])))
END
gone()
{
	[ "$(grep -c 'step [0-9]*: no answer within' late.err)" -ge "$1" ]
}
for times in 1 2; do
	timeout 60 python3 "$sitl" "$base" 50 rover >late.state 2>late.said
	report $? "ArduPilot comes to a running world, time $times: $(cat late.said)"
	until_true 60 gone $times
done
kill -TERM "$last"
wait "$last"
report $? "a run whose ArduPilot has gone ends well: $(cat late.err)"
[ "$(grep -c "ArduPilot of 'cart': a packet.*expected" late.err)" = 1 ]
report $? "what is no packet is told once: $(cat late.err)"

# What cannot be served is refused, or said.
serves_nowhere rover.sdf
world 0.01 "$(rover a "$base" 0 0 '')$(rover b "$base" 3 0 '')" >twice.sdf
twice twice.sdf
# Each of these worlds is wrong in one element.
wrong_in rover.sdf <<-END
	<fdm_port_in>$base <fdm_port_in>70000 fdm_port_in
	channel="0" channel="32" channel
	<type>VELOCITY <type>SPEED VELOCITY
	<servo_max>1900 <servo_max>1100 servo_min
END
totals
