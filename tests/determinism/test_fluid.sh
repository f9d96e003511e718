#!/bin/sh
# The systems for air and water: the hash of every step is the same for all placements, over tcp, in a replay, and when
# the run is resumed. Each of them has memory, noise or a command that could depend on the runner.
. "${SOURCE_DIR:-.}/tests/determinism/systems.sh"

steps=400
record_every=10
world=$scratch/fluid.sdf
orders=$scratch/orders

# link NAME POSE: a link with a box
link()
{
	echo "<link name='$1'><pose>$2</pose><inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz>
	</inertia></inertial><collision name='c'><geometry><box><size>0.3 0.2 0.1</size></box></geometry></collision></link>"
}
# joint NAME PARENT CHILD AXIS
joint()
{
	echo "<joint name='$1' type='revolute'><parent>$2</parent><child>$3</child><axis><xyz>$4</xyz></axis></joint>"
}
# rotor NUMBER POSE TURN [NAMESPACE]
rotor()
{
	link "r$1" "$2"
	joint "j$1" l "r$1" '0 0 1'
	plugin MulticopterMotorModel "<jointName>j$1</jointName><linkName>r$1</linkName><motorNumber>$1</motorNumber>
	<turningDirection>$3</turningDirection><motorConstant>1e-4</motorConstant>
	<commandSubTopic>motors</commandSubTopic><robotNamespace>${4:-copter}</robotNamespace>"
}
# controlled NUMBER DIRECTION: a rotor of a controller
controlled()
{
	echo "<rotor><jointName>j$1</jointName><forceConstant>1e-4</forceConstant><momentConstant>0.016</momentConstant>
	<direction>$2</direction></rotor>"
}
{
	echo "<sdf version='1.11'><world name='w'><physics type='ode'><max_step_size>0.002</max_step_size></physics>
	<wind><linear_velocity>3 1 0</linear_velocity></wind>"
	plugin Buoyancy '<graded_buoyancy><default_density>1000</default_density><density_change><above_depth>0
	</above_depth><density>1</density></density_change></graded_buoyancy>'
	plugin WindEffects "<horizontal><magnitude><noise type='gaussian'><mean>0</mean><stddev>1</stddev></noise>
	</magnitude></horizontal>"
	plugin ApplyLinkWrench '<persistent><entity_name>raft</entity_name><entity_type>model</entity_type>
	<torque>0 0 0.2</torque></persistent>'
	for i in 1 2 3; do
		echo "<model name='kite_$i'><enable_wind>true</enable_wind><pose>0 $((i * 4)) 5 0.2 0.1 0</pose>"
		link l '0 0 0 0 0 0'
		plugin LiftDrag '<link_name>l</link_name><cp>0 0.1 0</cp><cla>3</cla><alpha_stall>0.3</alpha_stall>'
		plugin AdvancedLiftDrag '<link_name>l</link_name><AR>6</AR><area>0.05</area><eff>0.9</eff><CLa>5</CLa><Cellp>-0.5</Cellp>
		<Cemq>-9</Cemq><Cenr>-0.1</Cenr><CYb>-0.2</CYb><Cema>-0.4</Cema><alpha_stall>0.3</alpha_stall>'
		echo '</model>'
	done
	echo "<model name='raft'><pose>0 0 0.1 0.3 0.2 0</pose>"
	link l '0 0 0 0 0 0'
	link p '-0.5 0 0 0 0 0'
	joint j l p '1 0 0'
	plugin Hydrodynamics '<link_name>l</link_name><xDotU>-0.5</xDotU><yDotV>-1</yDotV><xU>-2</xU><yVabsV>-3</yVabsV>
	<zW>-20</zW><kP>-1</kP><mQ>-1</mQ><nR>-1</nR>'
	plugin Thruster '<joint_name>j</joint_name><propeller_diameter>0.2</propeller_diameter>'
	plugin BuoyancyEngine '<link_name>l</link_name><namespace>raft</namespace><max_inflation_rate>0.001
	</max_inflation_rate>'
	echo "</model><model name='copter'><pose>9 0 9 0 0 0</pose>"
	link l '0 0 0 0 0 0'
	rotor 0 '0.5 0 0.2 0 0 0' cw
	rotor 1 '-0.5 0 0.2 0 0 0' ccw
	echo "</model><model name='quad'><pose>-9 0 9 0 0 0</pose>"
	link l '0 0 0 0 0 0'
	rotor 0 '0.5 0.1 0.2 0 0 0' ccw quad
	rotor 1 '-0.1 0.5 0.2 0 0 0' cw quad
	rotor 2 '-0.5 -0.1 0.2 0 0 0' ccw quad
	rotor 3 '0.1 -0.5 0.2 0 0 0' cw quad
	plugin MulticopterVelocityControl "<robotNamespace>quad</robotNamespace><comLinkName>l</comLinkName>
	<velocityGain>4 4 4</velocityGain><attitudeGain>40 40 1</attitudeGain><angularRateGain>12 12 4</angularRateGain>
	<linearVelocityNoiseStdDev>0.1 0.1 0.1</linearVelocityNoiseStdDev><rotorConfiguration>$(controlled 0 1
	controlled 1 -1; controlled 2 1; controlled 3 -1)</rotorConfiguration>"
	echo '</model></world></sdf>'
} >"$world"
cat >"$orders" <<-'EOF2'
	10 /model/raft/joint/j/cmd_thrust data: 4
	20 /copter/motors velocity: [420, 400]
	40 /quad/cmd_vel linear {x: 1 z: 0.5} angular {z: 0.2}
	50 /ocean_current x: 0.3
	60 /model/raft/buoyancy_engine data: 0.0009
	150 /world/w/wind linear_velocity {x: -5 z: 1} enable_wind: true
	170 /quad/enable data: false
	190 /quad/enable data: true
	195 /quad/cmd_vel linear {x: 1}
	200 /model/raft/joint/j/enable_deadband data: true
	250 /world/w/wrench/clear name: "raft" type: MODEL
EOF2

first
matters 'that there are commands' -
other 'the seed makes a difference' --seed 7
placements '1 --chaos 4 --chaos-moves 1' 2 '3 --chaos 3' '2 --transport tcp --network-stale-ms 60000'
save_and_resume 15 100 180
record_and_replay 0 '3 --chaos 2' '2 --transport tcp --network-stale-ms 60000'
totals
