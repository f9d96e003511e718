#!/bin/sh
# The summary at the end of a run has a few plain lines; what they say is true; and the command that it shows gives
# the same hash again.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
lines_max=25

# sums STATUS ARGUMENT...: runs with this status; the summary is in `err`
sums()
{
	want=$1
	shift
	timeout 100 "$troupe" run --rtf 0 "$@" >out 2>err
	status=$?
	[ $status = "$want" ] && [ "$(wc -l <err)" -le $lines_max ]
	report $? "status $status, not $want, or $(wc -l <err) lines: run $*"
	! LC_ALL=C grep -q '[{}"[:cntrl:]]' err
	report $? "JSON, or a control character: run $*"
}

# has COUNT PATTERN: the summary has COUNT lines with the pattern
has()
{
	[ "$(grep -cE -e "$2" err)" = "$1" ]
	report $? "not $1 times /$2/"
}

# again: the command in the summary leads to the hash in the summary
again()
{
	cp err kept
	hash=$(sed -n 's/^state \([0-9a-f]\{16\}\)$/\1/p' err)
	command=$(sed -n '/^the same hash again/{n;s/^  //p;}' err)
	sh -c "$command" >shown 2>&1
	[ -n "$hash" ] && [ "$(wc -l <shown)" = 1 ] && grep -qE "^hash [0-9]+ $hash\$" shown
	report $? "the same hash again: '$command' shows '$(head -n 1 shown)'"
}

demo=$(sed -n "s/^demo='build.troupe \(.*\)'/\1/p" "$source/bootstrap")
[ -n "$demo" ] && ! echo "$demo" | grep -q -- --report
report $? "the demo prints a report: $demo"

worlds=$source/worlds
carts=$(grep -c 'stands at' "$worlds/warehouse.commands")
: >err
sums 0 warehouse --commands warehouse --iterations 700 --secondaries 2
has 1 "^$carts of $carts robots are upright and within 0.05 m of where their odometry says; the farthest is cart_[0-9]*: 0\.0[0-4][0-9] m$"
has 1 '^700 steps, 0.7 s simulated in [0-9.]+ s: [0-9.e+]+ times real time, [0-9]+ steps/s$'
has 1 '^[0-9]+ moves between secondaries, [1-9][0-9]* loads of levels$'
has 1 '^work: secondary 1 [0-9]+ %, secondary 2 [0-9]+ %$'
sed -n 's/^work: secondary 1 \([0-9]*\) %, secondary 2 \([0-9]*\) %$/\1 \2/p' err | awk '{ exit !($1 + $2 >= 99 && $1 + $2 <= 101) }'
report $? 'the shares of the work are not all of it'
has 0 'times as fast|not upright'
has 1 '^  .* --transport tcp --secondaries 3 --chaos 7$'
has 1 '^  .* --secondaries 3 --trace$'
again
# The commands that the summary proposes run, and lead to the same hash.
for what in '--chaos 7' '--trace'; do
	command=$(sed -n "s/^  \(.*$what\)\$/\1/p" kept)
	sh -c "$command" >out 2>err
	[ $? = 0 ] && grep -qx "state $hash" err && { [ "$what" != --trace ] || grep -q '^load ' out; }
	report $? "to try next: $command"
done
"$troupe" run --rtf 0 warehouse --commands warehouse --iterations 700 --secondaries 2 --report r.json -v 0 >out 2>err
loads=$(sed -n 's/^  "loads": \([0-9]*\),$/\1/p' r.json)
grep -q "^[0-9]* moves between secondaries, $loads loads of levels" kept
report $? "not $loads loads"

# The speed of a resumed run is that of its own steps.
timeout 100 "$troupe" run warehouse --commands warehouse --iterations 300 --save-at 299 state -v 0
sums 0 --resume state --iterations 300
has 1 '^300 steps, 1 of them in this run, 0.001 s simulated in [0-9.]+ s: [0-9.e+-]+ times real time, [0-9]+ steps/s$'
again
"$troupe" run --rtf 0 --resume state --iterations 300 --report r.json -v 0 >out 2>err
awk -F '[ ,]+' '/"(wall_time|rtf|steps_per_second)":/ { n[$2] = $3 }
	END { t = n["\"wall_time\":"]; exit !(near(n["\"rtf\":"] * t, 0.001) && near(n["\"steps_per_second\":"] * t, 1)) }
	function near(a, b) { return a > 0.99 * b && a < 1.01 * b }' r.json
report $? "the speed of a resumed run: $(grep -E 'wall_time|rtf|per_second' r.json)"
rm state

# a cart on its roof, and one that was moved away
printf '10 /world/meeting/set_pose name: "cart_0" position {x: 50 y: 50 z: 2} orientation {x: 1 w: 0}\n' >commands
sums 0 "$worlds/meeting.sdf" --commands commands --iterations 20 --secondaries 1
has 1 '^7 of 8 robots are upright and within 0.05 m of where their odometry says; the farthest is cart_0: [1-9][0-9]\.[0-9]{3} m$'
has 1 '^not upright: cart_0; not at the height of the start: cart_0 1.76 m higher$'
has 0 '^work'
again

# a robot that drops from the edge of the world is upright, and where its odometry says, which knows no height
place=$("$troupe" run "$worlds/meeting.sdf" --rtf 0 --iterations 1 -v 0 --report - | sed -n 's/.*"name": "cart_0", "pose": \[\([^,]*\), \([^,]*\),.*/position {x: \1 y: \2 z: -122}/p')
printf '10 /world/meeting/set_pose name: "cart_0" %s\n' "$place" >commands
sums 0 "$worlds/meeting.sdf" --commands commands --iterations 20 --secondaries 1
has 1 '^7 of 8 robots are upright and within 0.05 m of where their odometry says; the farthest is cart_0: 122\.[0-9]* m$'
has 1 '^not at the height of the start: cart_0 122 m lower$'

# A pause is no time of the run, and a reset takes none of the simulated time away.
printf '100 /world/meeting/control reset {all: true}\n200 /world/meeting/control pause: true\n' >commands
sums 0 "$worlds/meeting.sdf" --commands commands --iterations 3000 --secondaries 1
has 1 '^3000 steps, 2800 paused for [0-9.]+ s, 0.2 s simulated in [0-9.]+ s: [0-9.e+]+ times real time, [0-9]+ steps/s$'
again
"$troupe" run --rtf 0 "$worlds/meeting.sdf" --commands commands --iterations 3000 --report r.json -v 0 >out 2>err
awk -F '[ ,]+' '/"(wall_time|paused_time|paused_steps|sim_time|rtf|steps_per_second)":/ { n[$2] = $3 }
	END { t = n["\"wall_time\":"] - n["\"paused_time\":"]
		exit !(t > 0 && n["\"paused_time\":"] > 0 && n["\"paused_steps\":"] == 2800 && n["\"sim_time\":"] == 0.1 &&
			near(n["\"rtf\":"] * t, 0.2) && near(n["\"steps_per_second\":"] * t, 200)) }
	function near(a, b) { return a > 0.99 * b && a < 1.01 * b }' r.json
report $? "the speed of a run with a pause: $(grep -E 'time|rtf|per_second|paused' r.json | tr '\n' ' ')"

# A run with --until that is paused says that it does not end, and obeys a signal.
printf '5 /world/meeting/control pause: true\n' >commands
for secondaries in 0 1 2; do
	"$troupe" run "$worlds/meeting.sdf" --commands commands --until 0.1 --rtf 0 --secondaries $secondaries >out 2>err &
	for _ in $(seq 600); do
		grep -q 'paused at' err && break
		sleep 0.1
	done
	kill -TERM $!
	wait $!
	status=$?
	[ $status = 0 ]
	report $? "--secondaries $secondaries: status $status of a paused run that was stopped"
	has 1 '^troupe run: paused at 0.005 s: the run ends at 0.1 s \(--until\), which it does not reach in a pause: to go on, pause: false on /world/meeting/control$'
	has 1 '^[0-9]+ steps, [0-9]+ paused for [0-9.]+ s, 0.005 s simulated'
done

# options on which the state depends are in the command, and names are quoted
mkdir "it's a folder"
cp "$worlds/meeting.sdf" "it's a folder/a world.sdf"
printf '5 /world/meeting/control pause: false\n' >"it's a folder/\$commands"
sums 0 "it's a folder/a world.sdf" --commands "it's a folder/\$commands" --iterations 30 --seed 5 --no-sleep --no-levels --initial-sim-time 2.5 \
	--paused --secondaries 2 --distribution balanced --chaos 3 --resource-path "$worlds"
again
grep -q -- "--seed 5 --initial-sim-time 2.5 --no-levels --no-sleep --paused --iterations 30" kept
report $? 'options are missing'
sums 0 "$worlds/meeting.sdf" --until 0.02 --save-at 5 state --secondaries 1
again
sums 0 --resume state --iterations 40 --secondaries 2 --transport tcp
again
has 0 'transport tcp --secondaries 3'

# nothing is reported that the world does not have
named ball >w.sdf
sums 0 w.sdf --iterations 20
has 1 '^20 steps, 0.02 s simulated'
has 1 '^state [0-9a-f]{16}$'
has 0 'robot|^work|moves|times as fast|to try next'
sums 0 /dev/stdin --iterations 20 <w.sdf
has 1 '^state [0-9a-f]{16}$'
cat w.sdf | timeout 60 "$troupe" run /dev/stdin --rtf 0 --iterations 20 >out 2>err
has 0 'the same hash again'
timeout 60 "$troupe" run w.sdf --rtf 0 --iterations 20 -v 0 >out 2>err
[ ! -s out ] && [ ! -s err ]
report $? '-v 0 says something'
timeout 60 "$troupe" run w.sdf --rtf 0 --iterations 20 --report - >out 2>err
[ ! -s err ] && python3 -c 'import json; json.load(open("out"))' 2>err
report $? '--report - is not the JSON alone'
{
	echo '<sdf version="1.9">'
	for i in $(seq 12); do
		echo "<world name='w$i'><model name='a'><link name='l'/></model><model name='b'><pose>5 5 5 0 0 0</pose><link name='l'/></model></world>"
	done
	echo '</sdf>'
} >many.sdf
sums 0 many.sdf --iterations 20 --secondaries 2
has 1 '^and 10 more worlds$'
again

totals
