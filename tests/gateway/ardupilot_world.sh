# Worlds for ArduPilot, with models as those of ardupilot_gazebo.

# world STEP MODELS
world()
{
	cat <<-END
		<sdf version="1.9"><world name="w"><wind><linear_velocity>0 0 0</linear_velocity></wind>
		<physics name="p" type="ode"><max_step_size>$1</max_step_size><real_time_factor>0</real_time_factor></physics>
		<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision>
		</link></model>$2</world></sdf>
	END
}

imu='<sensor name="imu_sensor" type="imu"><pose>0 0 0 3.14159265358979 0 0</pose><update_rate>100</update_rate></sensor>'
plugin='<fdm_addr>127.0.0.1</fdm_addr><lock_step>1</lock_step>
	<modelXYZToAirplaneXForwardZDown degrees="true">0 0 0 180 0 0</modelXYZToAirplaneXForwardZDown>
	<gazeboXYZToNED degrees="true">0 0 0 180 0 90</gazeboXYZToNED>'

# rotor NUMBER X Y SIGN: with two blades, as ArduPilot's Iris has them
rotor()
{
	cat <<-END
		<link name="rotor_$1"><pose>$2 $3 0.05 0 0 0</pose><inertial><mass>0.025</mass><inertia><ixx>1e-5</ixx>
		<iyy>1.6e-4</iyy><izz>1.6e-4</izz></inertia></inertial></link>
		<joint name="rotor_$1_joint" type="revolute"><parent>base</parent><child>rotor_$1</child>
		<axis><xyz>0 0 1</xyz></axis></joint>
	END
	for blade in 1 -1; do
		cat <<-END
			<plugin filename="x" name="gz::sim::systems::LiftDrag"><a0>0.3</a0><alpha_stall>1.4</alpha_stall><cla>4.25</cla>
			<cda>0.1</cda><cma>0</cma><cla_stall>-0.025</cla_stall><cda_stall>0</cda_stall><cma_stall>0</cma_stall>
			<area>0.002</area><air_density>1.2041</air_density><cp>$(awk "BEGIN { print 0.084 * $blade }") 0 0</cp>
			<forward>0 $(($4 * blade)) 0</forward><upward>0 0 1</upward><link_name>rotor_$1</link_name></plugin>
		END
	done
}

# control CHANNEL JOINT MULTIPLIER REST
control()
{
	cat <<-END
		<control channel="$1"><jointName>$2</jointName><multiplier>$3</multiplier><servo_min>1100</servo_min>
		<servo_max>1900</servo_max><type>VELOCITY</type>$4</control>
	END
}

# copter PORT
copter()
{
	by_force='<p_gain>0.2</p_gain><i_gain>0</i_gain><d_gain>0</d_gain><i_max>0</i_max><i_min>0</i_min><cmd_max>2.5</cmd_max>
		<cmd_min>-2.5</cmd_min>'
	cat <<-END
		<model name="iris"><pose>0 0 0.06 0 0 0.5</pose><link name="base"><inertial><mass>1.5</mass><inertia><ixx>0.008</ixx>
		<iyy>0.015</iyy><izz>0.017</izz></inertia></inertial><collision name="c"><geometry><box><size>0.4 0.4 0.1</size></box>
		</geometry></collision>$(echo "$imu" | sed 's/100</1000</')</link>
		$(rotor 0 0.13 -0.22 1)$(rotor 1 -0.13 0.2 1)$(rotor 2 0.13 0.22 -1)$(rotor 3 -0.13 -0.2 -1)
		<plugin name="ArduPilotPlugin" filename="ArduPilotPlugin">$plugin<fdm_port_in>$1</fdm_port_in>
		<imuName>base::imu_sensor</imuName>
		$(control 0 rotor_0_joint 838 "$by_force")$(control 1 rotor_1_joint 838 "$by_force")
		$(control 2 rotor_2_joint -838 "$by_force")$(control 3 rotor_3_joint -838 "$by_force")</plugin></model>
	END
}

# rover NAME PORT X Y MORE
rover()
{
	cat <<-END
		<model name="$1"><pose>$3 $4 0.1 0 0 0.3</pose><link name="base"><inertial><mass>2</mass><inertia><ixx>0.05</ixx>
		<iyy>0.05</iyy><izz>0.05</izz></inertia></inertial><collision name="c"><pose>-0.1 0 -0.05 0 0 0</pose><geometry><sphere>
		<radius>0.05</radius></sphere></geometry><surface><friction><ode><mu>0</mu><mu2>0</mu2></ode></friction></surface>
		</collision>$imu</link>
	END
	for side in left:0.15 right:-0.15; do
		cat <<-END
			<link name="${side%:*}"><pose>0.1 ${side#*:} 0 -1.5707963 0 0</pose><inertial><mass>0.2</mass><inertia><ixx>1e-3</ixx>
			<iyy>1e-3</iyy><izz>1e-3</izz></inertia></inertial><collision name="c"><geometry><sphere><radius>0.1</radius></sphere>
			</geometry></collision></link><joint name="${side%:*}_joint" type="revolute"><parent>base</parent>
			<child>${side%:*}</child><axis><xyz>0 0 1</xyz></axis></joint>
		END
	done
	cat <<-END
		<plugin name="gz::sim::systems::ArduPilotPlugin" filename="ArduPilotPlugin">$plugin<fdm_port_in>$2</fdm_port_in>$5
		$(control 0 left_joint 20 '<offset>-0.5</offset><useForce>0</useForce>')
		$(control 1 right_joint 20 '<offset>-0.5</offset><useForce>0</useForce>')</plugin></model>
	END
}
