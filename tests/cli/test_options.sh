#!/bin/sh
# Each option of `troupe run` has its effect: an effect shows with the option that does not show without it. This finds
# an option that is read and then forgotten.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

box='<collision name="c"><geometry><box><size>0.5 0.5 0.5</size></box></geometry></collision>'
# A heavy model of six bodies and two light models, far from each other; a level without a performer near it.
world=$scratch/world.sdf
{
	echo '<sdf version="1.9"><world name="w"><physics name="p" type="ode"><max_step_size>0.001</max_step_size>
	<real_time_factor>0</real_time_factor></physics><model name="floor"><static>true</static><pose>0 0 -0.5 0 0 0</pose>
	<link name="l"><collision name="c"><geometry><box><size>99 99 1</size></box></geometry></collision></link></model>
	<model name="chain"><pose>-20 0 1 0 0 0</pose><link name="l0"/>'
	for i in 1 2 3 4 5; do
		echo "<link name='l$i'><pose>$i 0 0 0 0 0</pose></link><joint name='j$i' type='ball'><parent>l$((i - 1))</parent>
		<child>l$i</child></joint>"
	done
	echo "</model><model name='a'><pose>0 0 0.25 0 0 0</pose><link name='l'>$box</link></model>
	<model name='b'><pose>20 0 0.25 0 0 0</pose><link name='l'>$box</link></model>
	<model name='far'><pose>40 0 0.25 0 0 0</pose><link name='l'>$box</link></model>
	<plugin name='gz::sim' filename='x'><performer name='pa'><ref>a</ref><geometry><box><size>1 1 1</size></box></geometry>
	</performer><level name='away'><pose>40 0 0 0 0 0</pose><geometry><box><size>4 4 4</size></box></geometry><ref>far</ref>
	</level></plugin></world></sdf>"
} >"$world"

# reported OPTION...: runs 20 steps; the report is in $scratch/report, the output in $scratch/out and $scratch/err
reported()
{
	timeout 60 "$troupe" run "$world" --rtf 0 --iterations 20 --report "$scratch/report" "$@" >"$scratch/out" 2>"$scratch/err"
}
# has WHAT PATTERN, has_no WHAT PATTERN: whether the report has a line with this pattern
has()
{
	grep -q -e "$2" "$scratch/report"
	report $? "$1: the report has no '$2': $(head -n 1 "$scratch/err")"
}
has_no()
{
	! grep -q -e "$2" "$scratch/report"
	report $? "$1: the report has '$2'"
}
on() { grep "\"secondary\": $1, " "$scratch/report"; }

reported
cp "$scratch/report" "$scratch/plain"
plain=$(member "$scratch/report" state_hash)
[ -n "$plain" ] && [ ! -s "$scratch/out" ]
report $? 'without options it prints nothing'

# --- secondaries -----------------------------------------------------------------------------------------------------------
for n in 0 1 2 5; do
	reported --secondaries "$n"
	[ "$(grep -c '^    {"secondary": ' "$scratch/report")" = $((n ? n : 1)) ]
	report $? "--secondaries $n: $(grep -c '^    {"secondary": ' "$scratch/report") in the report"
	[ "$(member "$scratch/report" state_hash)" = "$plain" ]
	report $? "--secondaries $n: the same state"
done
reported --secondaries 2
on 1 | grep -q '"chain", "b"' && on 2 | grep -q '"a"'
report $? "round-robin: $(on 1)"
reported --secondaries 2 --distribution balanced
on 1 | grep -q '\["chain"\]' || on 2 | grep -q '\["chain"\]'
report $? "--distribution balanced: the heavy model is alone: $(on 1) $(on 2)"
reported --secondaries 3 --pin a=3 --pin b=3 --pin away=2 --pin chain=3
on 3 | grep -q '"performers": \["chain", "a", "b"\]'
report $? "--pin: $(on 3)"
reported --secondaries 2 --no-levels --pin far=2
[ "$(member "$scratch/report" state_hash)" != "$plain" ] && on 2 | grep -q '"far"'
report $? '--no-levels: a level far away is simulated'
reported --secondaries 2 --no-levels --levels
[ "$(member "$scratch/report" state_hash)" = "$plain" ]
report $? '--levels takes it back'
reported --iterations 700
has 'asleep after 0.7 s' '"asleep": true'
slept=$(member "$scratch/report" state_hash)
reported --iterations 700 --no-sleep
has_no '--no-sleep' '"asleep": true'
[ "$(member "$scratch/report" state_hash)" != "$slept" ]
report $? '--no-sleep: another state'
mkdir "$scratch/folder"
echo "<model name='m'><link name='l'>$box</link></model>" | sed 's|^|<sdf version="1.9">|; s|$|</sdf>|' >"$scratch/folder/thing.sdf"
sed 's|</world>|<include><uri>thing.sdf</uri><name>found</name></include></world>|' "$world" >"$scratch/including.sdf"
timeout 60 "$troupe" run "$scratch/including.sdf" --rtf 0 --iterations 5 --report "$scratch/report" -v 0 \
	--resource-path "$scratch/folder" 2>"$scratch/err"
has '--resource-path' '"name": "found"'
sed 's|</world>|<unheard_of/></world>|' "$world" >"$scratch/warned.sdf"
timeout 60 "$troupe" run "$scratch/warned.sdf" --rtf 0 --iterations 5 --strict >"$scratch/out" 2>&1
[ $? = 1 ]
report $? '--strict: a warning is an error'
timeout 60 "$troupe" run "$scratch/warned.sdf" --rtf 0 --iterations 5 >"$scratch/out" 2>&1
report $? '... and is none without it'

# --- how long and how fast -------------------------------------------------------------------------------------------------
reported --iterations 33
[ "$(member "$scratch/report" iterations)" = 33 ] && [ "$(member "$scratch/report" sim_time)" = 0.033 ]
report $? '--iterations'
reported --iterations 0 --until 0.041
[ "$(member "$scratch/report" iterations)" = 41 ]
report $? "--until: $(member "$scratch/report" iterations) steps"
reported --initial-sim-time 7.5
[ "$(member "$scratch/report" sim_time)" = 7.52 ]
report $? "--initial-sim-time: $(member "$scratch/report" sim_time)"
reported --initial-sim-time 7.5 --until 7.511 --iterations 0
[ "$(member "$scratch/report" iterations)" = 11 ]
report $? '--until counts from it'
# Simulated time is the sum of the time steps since the last reset, and begins at --initial-sim-time.
echo '5 /world/w/set_physics max_step_size: 0.003' >"$scratch/commands"
reported --commands "$scratch/commands"
awk -v t="$(member "$scratch/report" sim_time)" 'BEGIN { exit !(t > 0.0499999 && t < 0.0500001) }'
report $? "5 steps of 1 ms and 15 of 3 ms: $(member "$scratch/report" sim_time)"
for what in time_only all; do
	echo "12 /world/w/control reset {$what: true}" >"$scratch/commands"
	reported --commands "$scratch/commands" --initial-sim-time 7.5
	[ "$(member "$scratch/report" sim_time)" = 7.508 ]
	report $? "a reset ($what) goes back to --initial-sim-time: $(member "$scratch/report" sim_time)"
done
echo '0 /world/w/control run_to_sim_time {nsec: 7000000}' >"$scratch/commands"
reported --commands "$scratch/commands"
[ "$(member "$scratch/report" sim_time)" = 0.007 ]
report $? "run_to_sim_time: $(member "$scratch/report" sim_time)"
echo '3 /world/w/control pause: true multi_step: 4
5 /world/w/control pause: true
9 /world/w/control multi_step: 2' >"$scratch/commands"
reported --commands "$scratch/commands"
[ "$(member "$scratch/report" sim_time)" = 0.007 ]
report $? "a pause ends the steps that were asked for: $(member "$scratch/report" sim_time)"
reported --paused
[ "$(member "$scratch/report" sim_time)" = 0 ]
report $? '--paused'
reported --paused -r
[ "$(member "$scratch/report" sim_time)" = 0.02 ]
report $? '-r takes it back'
# at_least OPTION...: with these options 200 steps of 1 ms take at least 0.15 s, whatever the machine
at_least()
{
	timeout 60 "$troupe" run "$world" --iterations 200 --report "$scratch/report" -v 0 "$@" 2>"$scratch/err"
	awk -v took="$(member "$scratch/report" wall_time)" 'BEGIN { exit !(took >= 0.15) }'
	report $? "$*: took $(member "$scratch/report" wall_time) s"
}
at_least --rtf 1
at_least -z 1000
at_least --update-rate 500

# --- input -----------------------------------------------------------------------------------------------------------------
echo '5 /world/w/remove name: "a"' >"$scratch/commands"
reported --commands "$scratch/commands"
has_no '--commands' '"name": "a"'
[ "$(member "$scratch/report" removed)" = 1 ]
report $? '--commands: one model is removed'
echo '<troupe><iterations>7</iterations><secondaries>4</secondaries><pin>a=4</pin></troupe>' >"$scratch/config"
timeout 60 "$troupe" run "$world" --rtf 0 --config "$scratch/config" --report "$scratch/report" -v 0
[ "$(member "$scratch/report" iterations)" = 7 ] && on 4 | grep -q '"a"'
report $? '--config'
reported --seed 5 --save-at 20 "$scratch/seed.5"
reported --seed 6 --save-at 20 "$scratch/seed.6"
! cmp -s "$scratch/seed.5" "$scratch/seed.6"
report $? '--seed is in the saved state'
timeout 60 "$troupe" run --resume "$scratch/seed.5" --rtf 0 --iterations 30 --report "$scratch/report" -v 0
[ "$(member "$scratch/report" iterations)" = 30 ]
report $? '--resume goes on from the saved step'
timeout 60 "$troupe" run --resume "$scratch/seed.5" --rtf 0 --iterations 20 --save-on-stop "$scratch/seed.same" -v 0
[ ! -e "$scratch/seed.same" ] || cmp -s "$scratch/seed.same" "$scratch/seed.5"
report $? '--resume keeps the seed'

# --- output ----------------------------------------------------------------------------------------------------------------
reported --save-every 8 "$scratch/every.%s"
[ -s "$scratch/every.8" ] && [ -s "$scratch/every.16" ] && [ ! -e "$scratch/every.20" ]
report $? '--save-every'
for every in 5 10; do
	reported --record "$scratch/tape" --record-every "$every"
	timeout 60 "$troupe" replay "$scratch/tape" >"$scratch/out" 2>&1
	grep -q "20 steps, $((20 / every + 1)) hashes compared" "$scratch/out"
	report $? "--record-every $every: $(head -n 1 "$scratch/out")"
	reported --costs "$scratch/costs" --costs-every "$every"
	cut -d , -f 2 "$scratch/costs" | sed 1d | sort -un >"$scratch/sampled"
	[ "$(wc -l <"$scratch/sampled")" = $((20 / every)) ] && [ "$(head -n 1 "$scratch/sampled")" = "$every" ]
	report $? "--costs-every $every: $(tr '\n' ' ' <"$scratch/sampled")"
	reported --hash-every "$every"
	[ "$(grep -c '^hash ' "$scratch/out")" = $((20 / every)) ]
	report $? "--hash-every $every"
done
reported --trace --secondaries 2 --commands "$scratch/commands"
grep -q "reply.*model 'a' removed" "$scratch/out"
report $? "--trace: $(head -n 1 "$scratch/out")"
for level in 0 1 2; do
	timeout 60 "$troupe" run "$scratch/warned.sdf" --rtf 0 --iterations 5 -v $level >"$scratch/out" 2>"$scratch/err.$level"
done
[ ! -s "$scratch/err.0" ] && [ -s "$scratch/err.1" ]
report $? '-v 0 is silent, -v 1 is not'
for level in +9 -1; do
	timeout 60 "$troupe" run -v $level "$scratch/warned.sdf" --iterations 5 2>"$scratch/err" >"$scratch/out"
	[ $? = 2 ] && [ "$(cat "$scratch/err")" = "troupe run: -v: '$level': expected a whole number from 0 to 4" ]
	report $? "-v $level: $(cat "$scratch/err")"
done
timeout 60 "$troupe" run -v +0 "$scratch/warned.sdf" --rtf 0 --iterations 5 >"$scratch/out" 2>"$scratch/err" && [ ! -s "$scratch/err" ]
report $? "-v +0: $(cat "$scratch/err")"
timeout 60 "$troupe" run -v "$scratch/warned.sdf" --rtf 0 --iterations 5 >"$scratch/out" 2>"$scratch/err" && [ -s "$scratch/err" ]
report $? "-v, and no number: $(cat "$scratch/err")"

# --- for tests -------------------------------------------------------------------------------------------------------------
reported --secondaries 2 --chaos 3 --iterations 200
few=$(member "$scratch/report" moves)
reported --secondaries 2 --chaos 3 --chaos-moves 4 --iterations 200
many=$(member "$scratch/report" moves)
[ "$few" -gt 0 ] && [ "$many" -gt $((2 * few)) ]
report $? "--chaos and --chaos-moves: $few and $many moves"
reported --secondaries 2 --chaos 4 --iterations 200
[ "$(member "$scratch/report" moves)" != "$few" ] || {
	reported --secondaries 2 --chaos 5 --iterations 200
	[ "$(member "$scratch/report" moves)" != "$few" ]
}
report $? '--chaos takes a seed'
totals
