#!/bin/sh
# Vehicles on tracks, carts whose wheels slip, and cargo on conveyors meet one another; cargo falls asleep and is woken
# by its belt. The hash of every step is the same for all placements, over tcp, in a replay, and when the run is resumed
# while belts run. Without what is known of static surfaces on other machines, the hashes over tcp would differ.
. "${SOURCE_DIR:-.}/tests/determinism/systems.sh"

world=$scratch/surfaces.sdf
orders=$scratch/commands
steps=$(amount 400 900 1500 3000)

# link NAME POSE MASS SIZE
link()
{
	cat <<-END
		<link name='$1'><pose>$2</pose><inertial><mass>$3</mass><inertia><ixx>0.3</ixx><iyy>0.3</iyy><izz>0.3</izz></inertia>
		</inertial><collision name='c'><geometry><box><size>$4</size></box></geometry></collision></link>
	END
}

# tank NAME POSE
tank()
{
	echo "<model name='$1'><pose>$2</pose>"
	link base '0 0 0.25 0 0 0' 10 '0.4 0.25 0.15'
	for side in left:0.2 right:-0.2; do
		link "${side%:*}" "0 ${side#*:} 0.1 0 0 0" 5 '0.6 0.1 0.2'
		echo "<joint name='${side%:*}_j' type='fixed'><parent>base</parent><child>${side%:*}</child></joint>"
		plugin TrackController "<link>${side%:*}</link><max_acceleration>2</max_acceleration>"
	done
	plugin TrackedVehicle '<left_track><link>left</link></left_track><right_track><link>right</link></right_track>
		<tracks_separation>0.4</tracks_separation>'
	echo '</model>'
}

# cart NAME POSE
cart()
{
	echo "<model name='$1'><pose>$2</pose>"
	link base '0 0 0.35 0 0 0' 10 '0.8 0.3 0.2'
	for wheel in fl:0.3:0.3 fr:0.3:-0.3 rl:-0.3:0.3 rr:-0.3:-0.3; do
		at=${wheel#*:}
		cat <<-END
			<link name='${wheel%%:*}'><pose>${at%:*} ${at#*:} 0.2 -1.5707963267948966 0 0</pose><inertial><mass>1</mass><inertia>
			<ixx>0.02</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial><collision name='c'><geometry><cylinder>
			<radius>0.2</radius><length>0.1</length></cylinder></geometry></collision></link><joint name='${wheel%%:*}_joint'
			type='revolute'><parent>base</parent><child>${wheel%%:*}</child><axis><xyz expressed_in='__model__'>0 1 0</xyz>
			</axis></joint>
		END
	done
	plugin DiffDrive '<left_joint>fl_joint</left_joint><left_joint>rl_joint</left_joint><right_joint>fr_joint</right_joint>
		<right_joint>rr_joint</right_joint><wheel_separation>0.6</wheel_separation><wheel_radius>0.2</wheel_radius>'
	echo "<plugin name='gz::sim::systems::WheelSlip' filename='x'>"
	for wheel in fl fr rl rr; do
		echo "<wheel link_name='$wheel'><slip_compliance_lateral>2</slip_compliance_lateral><slip_compliance_longitudinal>1
			</slip_compliance_longitudinal><wheel_normal_force>35</wheel_normal_force><wheel_radius>0.2</wheel_radius></wheel>"
	done
	echo '</plugin></model>'
}

# belt NAME POSE PARAMETERS
belt()
{
	echo "<model name='$1'><static>true</static><pose>$2</pose>"
	link l '0 0 0 0 0 0' 1 '6 1 0.1'
	plugin TrackController "<link>l</link>$3"
	echo '</model>'
}

# box NAME POSE
box()
{
	echo "<model name='$1'><pose>$2</pose>"
	link l '0 0 0 0 0 0' 2 '0.4 0.4 0.4'
	echo '</model>'
}

{
	named_head ground | sed "s/name='w'/name='surfaces'/; s/0.001/0.004/"
	tank tank_0 '0 0 0 0 0 0'
	tank tank_1 '2 0.1 0 0 0 3.1'
	cart cart_0 '0 3 0 0 0 0'
	cart cart_1 '2.5 3.2 0 0 0 3'
	belt belt_0 '0 -3 0.05 0 0 0.3' '<max_acceleration>1</max_acceleration>'
	belt belt_1 '2.5 -3 0.3 0 -0.05 1' '<max_command_age>2</max_command_age>'
	box box_0 '-1 -3.2 0.3 0 0 0.5'
	box box_1 '0.2 -3 0.3 0 0 0'
	box box_2 '2.5 -3 0.6 0 0 0'
	echo '</world></sdf>'
} >"$world"
cat >"$orders" <<-'END'
	10 /model/tank_0/cmd_vel linear {x: 1} angular {z: 0.2}
	10 /model/tank_1/cmd_vel linear {x: 0.7}
	20 /model/cart_0/cmd_vel linear {x: 1.5} angular {z: 0.6}
	20 /model/cart_1/cmd_vel linear {x: 1.2}
	170 /model/belt_0/link/l/track_cmd_vel data: 0.8
	180 /model/belt_1/link/l/track_cmd_vel data: -0.6
	200 /model/tank_1/steering_efficiency data: 0.8
	210 /model/tank_1/cmd_vel linear {x: -0.3} angular {z: -0.8}
	330 /model/belt_0/link/l/track_cmd_center_of_rotation x: 0 y: -6 z: 0
	250 /world/surfaces/wheel_slip entity {name: "cart_1::rl"} slip_compliance_longitudinal: 4
	260 /world/surfaces/wheel_slip entity {id: 4} slip_compliance_lateral: 3 slip_compliance_longitudinal: 2
	340 /model/cart_0/cmd_vel linear {x: -1}
	360 /model/belt_0/link/l/track_cmd_vel data: 0
END

first
for topic in tank_0/ cart_0/ belt_0/ belt_1/ wheel_slip; do
	grep -v "/$topic" "$orders" >"$scratch/fewer"
	matters "that $topic has commands" "$scratch/fewer"
done
placements '1 --chaos 4 --chaos-moves 1' '2 --chaos 3' 3 '2 --transport tcp --chaos 3 --network-stale-ms 60000'
save_and_resume 45 200 335
record_and_replay 0 '3 --chaos 2'
totals
