#!/bin/sh
# Which models sleep, and when: all models at rest, except those that must not; models that a cart hits wake, models
# that it passes sleep on, and all sleep again afterwards. With --no-sleep no model sleeps.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

world=$worlds/asleep.sdf
# at last the cart drives away from the wall: while it leans on the wall, the iterative solver does not bring them to
# rest
commands=$scratch/commands
sed 's|^5000 \(/model/cart_0/cmd_vel linear: {x:\) 0}|5000 \1 -0.5}\
7000 \1 0}|' "$worlds/asleep.commands" >"$commands"

# at STEPS OPTION...: makes a report of the state after STEPS steps
at()
{
	steps=$1
	shift
	run "$scratch/out" "$world" "$commands" "$steps" --report "$scratch/report" "$@"
	report $? "runs for $steps steps $*"
}

asleep() { grep -c "\"name\": \"$1.*\"asleep\": true" "$scratch/report"; }
pose() { sed -n "s/.*\"name\": \"$1\", \"pose\": \[\([^]]*\)\].*/\1/p" "$scratch/report"; }

# sleepers WHEN PATTERN NUMBER
sleepers()
{
	found=$(asleep "$2")
	[ "$found" = "$3" ]
	report $? "$1: $3 of '$2' sleep, found $found"
}

for secondaries in $(amount 2 1 '0 2'); do
	at 300 --secondaries $secondaries
	sleepers 'too early' '' 0
	at 1999 --secondaries $secondaries
	sleepers 'at rest' crate_ 27
	sleepers 'at rest' cart_ 3
	sleepers 'at rest' restless 0
	before=$(pose crate_0_2_1)
	untouched=$(pose crate_2_2_1)
	at 2010 --secondaries $secondaries
	sleepers 'commanded' cart_ 1
	sleepers 'still far away' crate_ 27
	at 4500 --secondaries $secondaries
	sleepers 'driven into' crate_0_ 0
	sleepers 'passed by' crate_1_ 9
	sleepers 'nobody near' crate_2_ 9
	[ "$before" != "$(pose crate_0_2_1)" ]
	report $? 'the wall that was driven into gave way'
	[ "$untouched" = "$(pose crate_2_2_1)" ]
	report $? 'the other wall did not'
	at 9000 --secondaries $secondaries
	sleepers 'all over' crate_ 27
	sleepers 'all over' cart_ 3
	sleepers 'all over' restless 0
done
# A stack that is solved iteratively, as this one is by ODE, trembles, and falls asleep all the same; a model that
# sinks by 2 mm/s, held by its damper, does not.
{
	named_head ground
	for i in 0 1 2 3 4 5 6 7 8 9; do
		echo "<model name='crate_$i'><pose>0 0 $i.5 0 0 0</pose><link name='l'><inertial><mass>$((1 + i % 3))</mass></inertial>
		<collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>"
	done
	echo '<model name="slow"><pose>5 0 1 0 0 0</pose><link name="l"/><joint name="j" type="prismatic"><parent>world</parent>
	<child>l</child><axis><xyz>0 0 1</xyz><dynamics><damping>4900</damping></dynamics></axis></joint></model></world></sdf>'
} >"$scratch/stack.sdf"
world=$scratch/stack.sdf commands=-
for secondaries in $(amount 0 0 '0 2'); do
	for solver in lanes ode; do
		at 10000 --secondaries $secondaries --solver $solver
		sleepers "a stack of ten, $solver" crate_ 10
		sleepers "a slow mechanism, $solver" slow 0
		sunk=$(pose slow | cut -d, -f3)
		[ "${sunk#*0.98}" != "$sunk" ]
		report $? "$solver: sinks by 20 mm in 10 s: 1 m to $sunk"
	done
done
world=$worlds/asleep.sdf commands=$worlds/asleep.commands
at 4500 --secondaries 1 --no-sleep
sleepers 'told not to sleep' '' 0
totals
