#!/bin/sh
# Carts pull trailers, let them go and take others; a load is dropped from a static crane; a model that is joined is
# removed and created again. Joined models move between secondaries together, also between levels, and sleep and wake as
# one. The hash of every step is the same for all placements, over tcp, in a replay, and when the run is resumed before,
# between and after joints are made.
. "${SOURCE_DIR:-.}/tests/determinism/systems.sh"

world=$scratch/joints.sdf
orders=$scratch/commands
steps=$(amount 500 900 1500 3000)

# box NAME POSE Z MASS: the link l
box()
{
	cat <<-END
		<model name='$1'><pose>$2</pose><link name='l'><pose>0 0 $3 0 0 0</pose><inertial><mass>$4</mass><inertia><ixx>0.3</ixx>
		<iyy>0.3</iyy><izz>0.3</izz></inertia></inertial><collision name='c'><geometry><box><size>0.6 0.5 0.4</size></box>
		</geometry></collision></link>
	END
}

# cart NAME POSE OTHER: it is joined to l of another model
cart()
{
	box "$1" "$2" 0.4 10
	for wheel in fl:0.2:0.35 fr:0.2:-0.35 rl:-0.2:0.35 rr:-0.2:-0.35; do
		at=${wheel#*:}
		cat <<-END
			<link name='${wheel%%:*}'><pose>${at%:*} ${at#*:} 0.15 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.02</ixx>
			<iyy>0.02</iyy><izz>0.02</izz></inertia></inertial><collision name='c'><geometry><sphere><radius>0.15</radius></sphere>
			</geometry></collision></link><joint name='${wheel%%:*}_joint' type='revolute'><parent>l</parent>
			<child>${wheel%%:*}</child><axis><xyz>0 1 0</xyz></axis></joint>
		END
	done
	cat <<-END
		<plugin name='gz::sim::systems::DiffDrive' filename='x'><left_joint>fl_joint</left_joint><left_joint>rl_joint</left_joint>
		<right_joint>fr_joint</right_joint><right_joint>rr_joint</right_joint><wheel_separation>0.7</wheel_separation>
		<wheel_radius>0.15</wheel_radius></plugin>
	END
	for other in $3; do
		cat <<-END
			<plugin name='gz::sim::systems::DetachableJoint' filename='x'><parent_link>l</parent_link><child_model>$other</child_model>
			<child_link>l</child_link><attach_topic>/$1/$other/attach</attach_topic><detach_topic>/$1/$other/detach</detach_topic>
			<output_topic>/$1/$other/state</output_topic><suppress_child_warning>true</suppress_child_warning></plugin>
		END
	done
	echo '</model>'
}

# trailer NAME POSE
trailer()
{
	box "$1" "$2" 0.2 3
	echo '</model>'
}

# level NAME POSE MODEL
level()
{
	echo "<level name='$1'><pose>$2</pose><geometry><box><size>8 40 20</size></box></geometry><buffer>1</buffer><ref>$3</ref></level>"
}

{
	named_head ground | sed "s/name='w'/name='joints'/; s/0.001/0.004/"
	cat <<-'END'
		<model name='crane'><static>true</static><pose>0 -3 2 0 0 0</pose><link name='l'/><plugin
		name='gz::sim::systems::DetachableJoint' filename='x'><parent_link>l</parent_link><child_model>load</child_model>
		<child_link>l</child_link></plugin></model>
	END
	cart cart_0 '-5 0 0 0 0 0' 'trailer_0 trailer_1'
	cart cart_1 '-5 3 0 0 0 0' trailer_1
	cart cart_2 '5 8 0 0 0 3.14159' guest
	trailer trailer_0 '-5.8 0 0.01 0 0 0'
	trailer trailer_1 '-5 1.2 0.01 0 0 0'
	trailer load '0 -3 1.2 0.3 0 0'
	cat <<-'END'
		<plugin name='gz::sim' filename='x'><performer name='p0'><ref>cart_0</ref><geometry><box><size>2 2 2</size></box></geometry>
		</performer><performer name='p1'><ref>cart_2</ref><geometry><box><size>2 2 2</size></box></geometry></performer>
	END
	level west '-4 0 0 0 0 0' trailer_0
	level east '4 0 0 0 0 0' load
	echo '</plugin></world></sdf>'
} >"$world"
guest=$(trailer guest '5.8 8 0.01 0 0 0' | tr -d '\n' | tr '"' "'")
cat >"$orders" <<-END
	10 /model/cart_0/cmd_vel linear {x: 1.5} angular {z: 0.3}
	10 /cart_0/trailer_1/detach
	30 /model/cart_1/cmd_vel linear {x: -1} angular {z: 0.5}
	60 /cart_1/trailer_1/detach
	90 /world/joints/create sdf: "<sdf version='1.9'>$guest</sdf>"
	95 /model/cart_2/cmd_vel linear {x: 1.2}
	150 /model/crane/detachable_joint/detach
	170 /cart_0/trailer_0/detach
	200 /cart_0/trailer_1/attach
	260 /world/joints/remove name: "guest" type: MODEL
	280 /model/cart_1/cmd_vel linear {x: 0}
	300 /cart_1/trailer_1/attach
	310 /world/joints/create sdf: "<sdf version='1.9'>$guest</sdf>"
	340 /cart_2/guest/attach
	420 /model/cart_0/cmd_vel linear {x: -1}
END

first
for topic in cart_1/trailer_1/detach crane/detachable cart_0/trailer_1/attach cart_2/guest/attach; do
	grep -v "$topic" "$orders" >"$scratch/fewer"
	matters "$topic" "$scratch/fewer"
done
placements '1 --chaos 4 --chaos-moves 1' '2 --chaos 3' 3 '2 --transport tcp --chaos 3 --network-stale-ms 60000'
go --secondaries 0 --report "$scratch/windows"
same 'windows'
longest=$(sed -n 's/.*"windows": {"count": [0-9]*, "longest": \([0-9]*\),.*/\1/p' "$scratch/windows")
[ "${longest:-0}" = 5 ] # 20 ms
report $? "where DetachableJoint waits, several steps are taken together: $longest, expected 5"
save_and_resume 5 155 230 325
resume "$scratch/saved" 325 '2 --transport tcp --network-stale-ms 60000'
record_and_replay 0 '3 --chaos 2'
totals
