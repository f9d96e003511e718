#!/bin/sh
# Divers and a ship that move while they speak by sound (AcousticComms), so that each message arrives by where the sender
# was and where the receiver is, and some are lost because they are too far or come while another one is heard. Each
# that arrives changes a course. The hashes are the same for all placements, when the run is resumed while messages are
# under way, and in replays.
. "${SOURCE_DIR:-.}/tests/determinism/systems.sh"
set -u

world=$scratch/sound.sdf
orders=$scratch/commands
steps=$(amount 600 900 1500 3000)

# diver NAME POSE VELOCITY REACTION: its course changes to REACTION with each message that it hears
diver()
{
	cat <<-END
		<model name='$1'><pose>$2</pose><link name='l'><gravity>0</gravity><inertial><mass>1</mass></inertial></link>
	END
	plugin VelocityControl "<initial_linear>$3</initial_linear>"
	plugin CommsEndpoint "<address>$1</address><topic>$1/rx</topic>"
	plugin TriggeredPublisher "<input type='gz.msgs.Dataframe' topic='$1/rx'/><output type='gz.msgs.Twist'
		topic='/model/$1/cmd_vel'>$4</output>"
	echo '</model>'
}

{
	echo "<sdf version='1.9'><world name='sound'><physics name='p' type='ode'><max_step_size>0.004</max_step_size></physics>"
	plugin AcousticComms '<max_range>40</max_range><speed_of_sound>30</speed_of_sound>
		<collision_time_per_byte>0.0005</collision_time_per_byte>'
	diver ship '0 0 0 0 0 0' '2 0 0' 'linear {x: 1 y: 0.5} angular {z: 0.2}'
	diver ann '5 4 -3 0 0 0' '0 3 0' 'linear {x: 2 z: -0.5}'
	diver bob '-9 2 -5 0 0 0' '-1 0 0.5' 'linear {x: -3} angular {z: -1}'
	diver eve '12 -8 -2 0 0 0' '4 -1 0' 'linear {y: 2}'
	echo '</world></sdf>'
} >"$world"
# each speaks to the next one, again and again
i=0
for at in 5 7 30 31 60 100 101 130 170 171 172 200 240 280 330; do
	i=$((i + 1))
	case $((i % 4)) in
	0) pair='ship ann' ;;
	1) pair='ann bob' ;;
	2) pair='bob ship' ;;
	3) pair='ann eve' ;;
	esac
	echo "$at /broker/msgs src_address: \"${pair% *}\" dst_address: \"${pair#* }\" data: \"message $i of many\""
done >"$orders"

first
# each diver has heard something
for name in ship ann bob eve; do
	grep -v "dst_address: \"$name\"" "$orders" >"$scratch/fewer"
	matters "what $name hears" "$scratch/fewer"
done
placements '1 --chaos 4 --chaos-moves 1' '2 --chaos 3' '3' '2 --transport tcp --chaos 3 --network-stale-ms 60000'
# while no message is under way, steps are taken together: for 20 ms
go --secondaries 0 --report "$scratch/report"
same 'windows'
windows=$(sed -n 's/.*"windows": {"count": \([0-9]*\), "longest": \([0-9]*\),.*/\1 \2/p' "$scratch/report")
[ "${windows% *}" -lt "$((steps * 9 / 10))" ] && [ "${windows#* }" -ge 4 ]
report $? "steps are taken together: windows, the longest: $windows"
save_and_resume 8 105 175
record_and_replay 0 '3 --chaos 2'
totals
