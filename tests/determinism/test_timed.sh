#!/bin/sh
# Commands bound to simulated time: a pause delays them with the world, and after a reset they come again, so the demo is
# the same demo whoever pauses it or sends it back to the start. That holds for any number of secondaries and any
# transport, in a replay, with the file of the commands, and from each saved state. A command too early, too late, or
# left out after a pause or a reset would give other bits.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

# shifted FILE FROM BY: the hashes of the steps from FROM on, with steps smaller by BY
shifted() { awk -v from="$2" -v by="$3" '$1 == "hash" && $2 > from { print $1, $2 - by, $3 }' "$1"; }
# agree WHAT REFERENCE FILE FROM BY: these hashes are those of the undisturbed run
agree()
{
	shifted "$3" "$4" "$5" >"$scratch/shifted"
	awk 'NR == FNR { there[$2] = $3; next } { found++; bad += there[$2] != $3 } END { exit bad || !found }' "$2" "$scratch/shifted"
	report $? "$1: $(grep -vFxf "$2" "$scratch/shifted" | head -n 1) is not of the undisturbed run"
}

world=$worlds/warehouse.sdf
commands=$worlds/warehouse.commands
end=$(amount 400 700 1500)
run "$scratch/whole" "$world" "$commands" "$end" --hash-every 50 --save-at 0 "$scratch/start"
report $? 'the demo runs'
# from FILE STEPS OPTION...: the demo with commands that are bound to steps as well
from()
{
	given=$1 steps=$2
	shift 2
	"$troupe" run --resume "$scratch/start" --commands "$given" --rtf 0 -v 0 --iterations "$steps" --hash-every 50 "$@" \
		>"$scratch/other" 2>"$scratch/err"
}
cat >"$scratch/pause" <<-END
250 /world/warehouse/control pause: true
400 /world/warehouse/control pause: false
END
cat >"$scratch/reset" <<-END
200 /world/warehouse/control pause: true
350 /world/warehouse/control reset: {all: true}
400 /world/warehouse/control multi_step: 50
500 /world/warehouse/control pause: false
END
for options in 0 '2 --chaos 1' '2 --transport tcp --network-stale-ms 60000'; do
	case $quick,$options in ?*,*tcp) continue ;; esac
	# shellcheck disable=SC2086
	from "$scratch/pause" $((end + 150)) --secondaries $options
	report $? "runs with a pause and $options: $(head -n 1 "$scratch/err")"
	agree "paused, $options" "$scratch/whole" "$scratch/other" 400 150
	# shellcheck disable=SC2086
	from "$scratch/reset" $((end + 450)) --secondaries $options --record "$scratch/record" --save-at 150 "$scratch/s.1" \
		--save-at 375 "$scratch/s.2" --save-at $((end + 300)) "$scratch/s.3"
	report $? "runs with a reset and $options: $(head -n 1 "$scratch/err")"
	agree "reset, $options" "$scratch/whole" "$scratch/other" 500 450
	for state in 1 2 3; do
		"$troupe" run --resume "$scratch/s.$state" --rtf 0 -v 0 --iterations $((end + 450)) --hash-every 50 >"$scratch/resumed" 2>"$scratch/err"
		agree "state $state, $options: $(head -n 1 "$scratch/err")" "$scratch/whole" "$scratch/resumed" 500 450
	done
done
for options in 0 '3 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086
	"$troupe" replay "$scratch/record" --secondaries $options >"$scratch/other" 2>&1
	report $? "replay with $options: $(tail -n 1 "$scratch/other")"
done
"$troupe" run "$world" --commands - --rtf 0 -v 0 --iterations "$end" --hash-every 100 --initial-sim-time 3 <"$commands" >"$scratch/other"
agree 'from standard input, and from another time on' "$scratch/whole" "$scratch/other" 0 0

# The state that is taken up brings its commands; those of the run are not its own any more.
mkdir "$scratch/states"
run "$scratch/out" "$world" "$commands" 200 --save-at 150 "$scratch/states/later"
echo '20 /world/warehouse/resume data: "later"' >"$scratch/up"
from "$scratch/up" $((end - 150 + 21)) --save-dir "$scratch/states"
shifted "$scratch/other" 21 -129 >"$scratch/shifted"
run "$scratch/every" "$world" "$commands" "$end" --hash-every 1
agree 'taken up' "$scratch/every" "$scratch/other" 21 -129

# Models that commands create and remove, another time step, and a reset by the commands themselves, which so go on for
# ever. What was created has another id each time, so poses are compared.
named ball | sed 's/0 0 5 0/0 0 90 0/' >"$scratch/w.sdf"
cat >"$scratch/own" <<-END
time: simulated
0.150 /world/w/remove name: "b"
0.02 /world/w/create name: "b" sdf: "$box" pose {position {x: 3 z: 50}}
0 /world/w/set_velocity name: "ball" linear {x: 1}
0.1 /world/w/set_physics max_step_size: 0.002
0.1 /world/w/set_velocity name: "b" linear {y: 2}
0.2 /world/w/control reset: {all: true}
0.3 /world/w/set_velocity name: "never" linear {x: 1}
END
# steps: 100 of 1 ms and 50 of 2 ms; then, because a reset leaves the time step as it is, 100 of 2 ms
poses() { sed -n '/"models"/,/^  \]/s/.*"name": "\([^"]*\)", "pose": \(\[[^]]*\]\).*/\1 \2/p' "$1"; }
for step in 60 120 200; do
	run "$scratch/out" "$scratch/w.sdf" "$scratch/own" $((150 + step / 2)) --report "$scratch/a.json" --save-at 130 "$scratch/mid" \
		--record "$scratch/record" --commands-out "$scratch/out.commands" --hash-every 50
	report $? "runs for $step ms after its reset"
	run "$scratch/other" "$scratch/w.sdf" "$scratch/own" $((250 + step / 2)) --report "$scratch/b.json" --secondaries 2
	[ "$(poses "$scratch/a.json")" = "$(poses "$scratch/b.json")" ] && [ -n "$(poses "$scratch/a.json")" ]
	report $? "$step ms after each reset the poses are the same: $(poses "$scratch/a.json" "$scratch/b.json" | tr '\n' ' ')"
	run "$scratch/other" "$scratch/w.sdf" "$scratch/out.commands" $((150 + step / 2)) --hash-every 50 --secondaries 3
	cmp -s "$scratch/out" "$scratch/other"
	report $? "$step: the file of its commands gives the same hashes"
	"$troupe" run --resume "$scratch/mid" --rtf 0 -v 0 --iterations $((150 + step / 2)) --hash-every 50 >"$scratch/other"
	grep -Fxf "$scratch/out" "$scratch/other" | cmp -s - "$scratch/other" && [ -s "$scratch/other" ]
	report $? "$step: and so does a saved state"
	"$troupe" replay "$scratch/record" >"$scratch/other" 2>&1
	report $? "$step: and a replay: $(tail -n 1 "$scratch/other")"
done
[ "$(sed -n 's/^  "waiting_commands": \(.*\),/\1/p' "$scratch/a.json")" = 2 ]
report $? "the reset and the command that never comes wait: $(grep waiting "$scratch/a.json")"

# A reset at the very time to which it resets: the step ends, and the run goes on.
printf 'time: simulated\n0 /world/w/control reset: {all: true}\n0 /world/w/set_velocity name: "ball" linear {x: 1}\n' >"$scratch/loop"
run "$scratch/out" "$scratch/w.sdf" "$scratch/loop" 20 --report "$scratch/a.json"
report $? 'a reset at time 0 comes to an end'

# Only time is reset: the models stay where they are, and are commanded again.
printf 'time: simulated\n0.01 /world/w/set_velocity name: "ball" linear {x: 1 z: 0}\n0.05 /world/w/set_velocity name: "ball" linear {x: 3}\n0.1 /world/w/control reset: {time_only: true}\n' >"$scratch/time"
run "$scratch/out" "$scratch/w.sdf" "$scratch/time" 200 --report "$scratch/a.json"
x=$(poses "$scratch/a.json" | sed 's/.*\[\([^,]*\),.*/\1/')
awk -v x="$x" 'BEGIN { exit !(x > 0.409 && x < 0.411) }' # 40 ms at 1 m/s, 50 at 3; 10 at 3, 40 at 1, 50 at 3 m/s
report $? "after a reset of time alone the ball is at $x"

# Two worlds: each takes a command for both at its own time.
glider="<model name='m'><pose>0 0 9 0 0 0</pose><link name='l'/><plugin name='gz::sim::systems::VelocityControl' filename='x'/></model>"
echo "<sdf version='1.9'><world name='one'>$glider</world><world name='two'>$glider</world></sdf>" >"$scratch/two.sdf"
printf 'time: simulated\n0.05 /model/m/cmd_vel linear: {x: 1}\n' >"$scratch/both"
run "$scratch/out" "$scratch/two.sdf" "$scratch/both" 100 --save-at 0 "$scratch/start"
printf '10 /world/one/control pause: true\n30 /world/one/control pause: false\n' >"$scratch/pause"
from "$scratch/pause" 100 --report "$scratch/a.json" --secondaries 2
report $? "two worlds: $(head -n 1 "$scratch/err")"
found=$(sed -n 's/.*"name": "m", "pose": \[\([^,]*\),.*/\1/p' "$scratch/a.json" | tr '\n' ' ')
echo "$found" | awk '{ exit !($1 > 0.0299 && $1 < 0.0301 && $2 > 0.0499 && $2 < 0.0501) }'
report $? "one of two worlds was paused for 20 ms, its model is 20 mm behind: $found"
totals
