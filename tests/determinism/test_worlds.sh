#!/bin/sh
# Several worlds in one file: each has the states that it has alone, for any number of secondaries and with forced
# moves; a command reaches its world; a paused world waits alone; a world that fails stops all worlds.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

# world NAME: prints the content of <sdf> of one of our worlds, with absolute names of included files
world()
{
	sed -n '/<world /,/<\/world>/p' "$worlds/$1.sdf" | sed "s|<uri>models/|<uri>file://$(cd "$worlds" && pwd)/models/|"
}

two=$scratch/two.sdf
{ echo '<sdf version="1.9">'; world asleep; world hill; echo '</sdf>'; } >"$two"
long=3000
[ -z "$quick" ] || long=800
sed '/^2000/s/2000/200/' "$worlds/asleep.commands" >"$scratch/commands"

run "$scratch/asleep" "$worlds/asleep.sdf" "$scratch/commands" $long --secondaries 1 --report "$scratch/asleep.json"
run "$scratch/hill" "$worlds/hill.sdf" - $long --secondaries 1 --report "$scratch/hill.json"
alone="$(member "$scratch/asleep.json" state_hash) $(member "$scratch/hill.json" state_hash)"
run "$scratch/reference" "$two" "$scratch/commands" $long --secondaries 0 --hash-every 100
[ "$(grep -c '^hash' "$scratch/reference")" = $((long / 100)) ]
report $? 'a hash every 100 steps'
for options in 0 1 2 3 '2 --chaos 1'; do
	# shellcheck disable=SC2086
	run "$scratch/other" "$two" "$scratch/commands" $long --hash-every 100 --report "$scratch/report" --secondaries $options
	cmp -s "$scratch/reference" "$scratch/other"
	report $? "--secondaries $options: $(diff "$scratch/reference" "$scratch/other" | sed -n 2p)"
	together=$(sed -n '/"worlds"/,$s/^  "state_hash": "\(.*\)",$/\1/p' "$scratch/report" | tr '\n' ' ')
	[ "$together" = "$alone " ]
	report $? "--secondaries $options: each as alone ($together, $alone)"
done
# windows: each state has the hash that it has when each step is taken by itself
run "$scratch/single" "$two" "$scratch/commands" 600 --hash-every 1 --secondaries 0 --window 1
[ "$(wc -l <"$scratch/single")" = 600 ]
report $? 'a hash of each step'
for options in 0 2 '0 --window 7' '1 --chaos 1' '2 --chaos 2'; do
	# shellcheck disable=SC2086
	run "$scratch/other" "$two" "$scratch/commands" 600 --hash-every 1 --report "$scratch/report" --secondaries $options
	cmp -s "$scratch/single" "$scratch/other"
	report $? "--secondaries $options: $(diff "$scratch/single" "$scratch/other" | sed -n 2p)"
	longest=$(sed -n 's/.*"windows": {"count": [0-9]*, "longest": \([0-9]*\),.*/\1/p' "$scratch/report" | sort -n | head -n 1)
	[ "${longest:-0}" -ge 7 ]
	report $? "--secondaries $options: a window of $longest steps, expected 7"
done
run "$scratch/trace" "$two" "$scratch/commands" $long --secondaries 2 --chaos 1 --trace
grep -q '^move [0-9]* hill/' "$scratch/trace" && grep -q '^move [0-9]* asleep/' "$scratch/trace"
report $? 'the trace says which world'

# a world of longer steps reaches a time limit in fewer of them; states of later steps of the other one are saved, too
{
	echo '<sdf version="1.9">'
	world hill | sed 's|<max_step_size>[^<]*|<max_step_size>0.002|'
	world asleep
	echo '</sdf>'
} >"$scratch/paces.sdf"
grep -q '<max_step_size>0.002' "$scratch/paces.sdf"
report $? 'paces: the first world has longer steps'
"$troupe" run "$scratch/paces.sdf" --rtf 0 --no-gz --until 0.3 --secondaries 0 --save-at 250 "$scratch/late.state" >"$scratch/out" 2>"$scratch/err"
report $? "paces: runs: $(cat "$scratch/err")"
[ -s "$scratch/late.state" ] && ! grep -q 'not saved' "$scratch/err"
report $? 'paces: the state of a step that only the second world takes is saved'
hash=$(sed -n 's/^state //p' "$scratch/err")
again=$(sed -n 's/^  .* run \(.*paces.sdf .*--iterations.*\)/\1/p' "$scratch/err" | head -n 1)
for options in "--resume $scratch/late.state --until 0.3 --no-gz --rtf 0 --hash-every 300" "$again"; do
	# shellcheck disable=SC2086
	"$troupe" run $options >"$scratch/out" 2>"$scratch/other"
	[ -n "$hash" ] && [ "$(sed -n 's/^hash 300 //p' "$scratch/out")" = "$hash" ]
	report $? "paces: $options: the same state: $(cat "$scratch/out"), $hash"
done

# one world is paused, the other goes on
echo '100 /world/hill/control pause: true' >"$scratch/pause"
run "$scratch/out" "$two" "$scratch/pause" 500 --secondaries 1 --report "$scratch/report"
times=$(sed -n 's/^  "sim_time": \(.*\),$/\1/p' "$scratch/report" | tr '\n' ' ')
[ "$times" = '0.5 0.1 ' ]
report $? "one world is paused at 0.1 s, the other goes on to 0.5 s: $times"

# The shapes of hill end in its valley: its highest place is 31 m high, and its lowest 18 m.
run "$scratch/out" "$worlds/hill.sdf" - "$(amount 3000 25000 40000)" --secondaries 1 --report "$scratch/hill.json"
lowest=$(sed -n 's/.*"pose": \[[^,]*, [^,]*, \([^,]*\),.*/\1/p' "$scratch/hill.json" | sort -n | head -n 1)
awk -v lowest="$lowest" 'BEGIN { exit !(lowest > 18) }'
report $? "nothing falls from the hill: the lowest shape is at $lowest m"

# refused NAME REASON: the run is refused with exit status 1
refused()
{
	"$troupe" run "$scratch/$1.sdf" --rtf 0 --iterations 2000 --secondaries 2 ${3:+--commands "$3"} >"$scratch/out" 2>"$scratch/err"
	[ $? = "${4:-1}" ]
	report $? "$1: exit status ${4:-1}"
	grep -qF "$2" "$scratch/err"
	report $? "$1: $2: $(tail -n 1 "$scratch/err")"
}
printf '<sdf version="1.9"><world name="a"/>\n<world name="a"/></sdf>' >"$scratch/same.sdf"
refused same "same.sdf:2: "
echo '1 /world/nowhere/control pause: true' >"$scratch/nowhere"
refused two "'/world/nowhere/control'" "$scratch/nowhere"
echo '1 /world/hill/crate name: "x"' >"$scratch/service"
refused two "world 'hill' has no service 'crate'" "$scratch/service"
# a model is thrown beyond all bounds: the other world stops, too
cat >"$scratch/wild.sdf" <<-EOF2
<sdf version="1.9"><world name="calm"><model name="m"><link name="l"/></model><model name="n"><link name="l"/></model></world>
<world name="wild"><gravity>0 0 -1e6</gravity><model name="m"><link name="l"/></model><model name="n"><link name="l"/></model></world></sdf>
EOF2
refused wild 'diverged' '' 4
totals
