#!/bin/sh
# Secondaries that are ranks of an MPI run: the same hashes and replies as with a single runner, under forced moves, with
# levels, with models that are created and removed, and across saved states that another transport goes on from.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "${SOURCE_DIR:-.}/tests/determinism/ranks.sh"
can_try_ranks || { totals; exit; }
stale=10000 # no rank shall count as lost on a busy machine

# over RANKS OUTPUT WORLD COMMANDS STEPS OPTION...: runs the world on so many ranks
over()
{
	rank_count=$1 output=$2 world=$3 commands=$4 steps=$5
	shift 5
	[ "$commands" = - ] || set -- --commands "$commands" "$@"
	ranks "$rank_count" "$world" --rtf 0 -v 0 --iterations "$steps" --network-stale-ms $stale "$@" \
		>"$output" 2>"$output.err" || { sed 's/^/    /' "$output.err"; return 1; }
}

# same NAME WORLD COMMANDS STEPS: a run over ranks equals one in a single process
same()
{
	name=$1 world=$2 commands=$3 steps=$4
	run "$scratch/reference" "$world" "$commands" "$steps" --hash-every 50 --trace --secondaries 0
	report $? "$name: alone"
	grep '^hash\|^reply' "$scratch/reference" >"$scratch/hashes"
	[ "$(grep -c '^hash' "$scratch/hashes")" = $((steps / 50)) ]
	report $? "$name: a hash every 50 steps"
	for options in 2 3 '5 --chaos 3 --chaos-moves 2'; do
		# shellcheck disable=SC2086
		set -- $options
		count=$1
		shift
		over "$count" "$scratch/other" "$world" "$commands" "$steps" --hash-every 50 --trace "$@"
		report $? "$name: $count ranks $*"
		grep '^hash\|^reply' "$scratch/other" | cmp -s "$scratch/hashes"
		report $? "$name: $count ranks $*: $(grep '^hash\|^reply' "$scratch/other" | diff "$scratch/hashes" - | sed -n 2p)"
	done
}

same meeting "$worlds/meeting.sdf" "$worlds/meeting.commands" "$(amount 300 300 1200 4000)"
same warehouse "$worlds/warehouse.sdf" "$worlds/warehouse.commands" "$(amount 300 300 800 4000)"
same patrol "$worlds/patrol.sdf" - "$(amount 300 300 800 4000)"

cat >"$scratch/commands" <<-EOF2
	50 /world/asleep/create name: "falling" pose {position {x: 2 y: 0 z: 3}} sdf: "$box"
	110 /world/asleep/remove name: "crate_1_0_0" type: MODEL
	120 /world/asleep/create_multiple data {name: "a" sdf: "$box" pose {position {x: 2 y: 12 z: 1.5}}} data {sdf: "$box" name: "b" pose {position {x: 2 y: 11.5 z: 3}}}
	200 /world/asleep/remove name: "a" type: MODEL
EOF2
same 'created and removed' "$worlds/asleep.sdf" "$scratch/commands" 300

# Threads go on from a state that ranks saved, and the other way round.
run "$scratch/whole" "$worlds/meeting.sdf" "$worlds/meeting.commands" 400 --hash-every 400 --secondaries 2
report $? 'meeting: 400 steps'
over 3 "$scratch/first" "$worlds/meeting.sdf" "$worlds/meeting.commands" 200 --save-at 200 "$scratch/by_ranks"
report $? 'ranks save a state'
timeout "$run_limit_s" "$troupe" run --resume "$scratch/by_ranks" --rtf 0 -v 0 --iterations 400 --hash-every 400 --secondaries 1 >"$scratch/second"
cmp -s "$scratch/whole" "$scratch/second"
report $? "threads go on from it: $(cat "$scratch/second")"
run "$scratch/first" "$worlds/meeting.sdf" "$worlds/meeting.commands" 200 --save-at 200 "$scratch/by_threads" --secondaries 2
report $? 'threads save a state'
ranks 4 --resume "$scratch/by_threads" --rtf 0 -v 0 --iterations 400 --hash-every 400 --network-stale-ms $stale >"$scratch/second" 2>"$scratch/err"
cmp -s "$scratch/whole" "$scratch/second"
report $? "ranks go on from it: $(cat "$scratch/second"; tail -n 3 "$scratch/err")"

# Readings, of which a rank is sent what its sensors can see.
cat >"$scratch/sensors.sdf" <<-'EOF2'
	<sdf version='1.9'><world name='sensors'><physics type='ode'><max_step_size>0.001</max_step_size></physics>
	<model name='a'><pose>0 0 3 0 0 0</pose><link name='l'><collision name='c'><geometry><sphere/></geometry></collision>
	<sensor name='i' type='imu'><update_rate>250</update_rate><imu><angular_velocity><x><noise type='gaussian'>
	<stddev>0.1</stddev></noise></x></angular_velocity></imu></sensor></link></model>
	<model name='b'><pose>4 0 2 0 0 0</pose><link name='l'><collision name='c'><geometry><sphere/></geometry></collision>
	<sensor name='v' type='logical_camera'><pose>0 0 0 0 0 3.14</pose><update_rate>100</update_rate><logical_camera>
	<near>0.1</near><far>20</far><horizontal_fov>2</horizontal_fov><aspect_ratio>1</aspect_ratio></logical_camera></sensor>
	</link></model></world></sdf>
EOF2
# digest OUTPUT: the line of the summary
digest() { grep -h '^[1-9][0-9]* readings of sensors, digest' "$@"; }
timeout "$run_limit_s" "$troupe" run "$scratch/sensors.sdf" --sense-all --rtf 0 --iterations 300 --secondaries 0 -v 1 >"$scratch/one" 2>&1
report $? 'sensors alone'
digest "$scratch/one" >"$scratch/digest"
report $? "sensors have readings: $(tail -n 3 "$scratch/one")"
for options in 2 '3 --chaos 3 --chaos-moves 2'; do
	# shellcheck disable=SC2086 # words
	set -- $options
	count=$1
	shift
	ranks "$count" "$scratch/sensors.sdf" --sense-all --rtf 0 --iterations 300 -v 1 --network-stale-ms $stale "$@" >"$scratch/again" 2>&1
	report $? "sensors on $count ranks $*"
	digest "$scratch/again" | cmp -s "$scratch/digest"
	report $? "sensors on $count ranks $*: $(digest "$scratch/again"), alone $(cat "$scratch/digest")"
done

# A negative control: if a rule of determinism is broken, the hashes differ.
run "$scratch/reference" "$worlds/mechanisms.sdf" - 400 --hash-every 50 --secondaries 0
over 3 "$scratch/other" "$worlds/mechanisms.sdf" - 400 --hash-every 50 --chaos 3 --chaos-moves 2 --break reference
! cmp -s "$scratch/reference" "$scratch/other"
report $? 'a broken rule shows'
totals
