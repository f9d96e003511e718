# Worlds for PX4, with models as PX4's own for Gazebo.

# px4_world STEP MODELS
px4_world()
{
	cat <<-END
		<sdf version="1.9"><world name="w"><magnetic_field>1e-6 21e-6 -43e-6</magnetic_field>
		<spherical_coordinates><surface_model>EARTH_WGS84</surface_model><latitude_deg>47.397742</latitude_deg>
		<longitude_deg>8.545594</longitude_deg><elevation>488</elevation><heading_deg>0</heading_deg></spherical_coordinates>
		<physics name="p" type="ode"><max_step_size>$1</max_step_size><real_time_factor>0</real_time_factor></physics>
		<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision><visual name="v"><geometry><plane><size>100 100</size></plane></geometry></visual>
		</link></model>$2</world></sdf>
	END
}

# px4_rotor NUMBER X Y DIRECTION
px4_rotor()
{
	cat <<-END
		<link name="rotor_$1"><pose>$2 $3 0.05 0 0 0</pose><inertial><mass>0.005</mass><inertia><ixx>9.75e-07</ixx>
		<iyy>4.17041e-05</iyy><izz>4.26041e-05</izz></inertia></inertial></link>
		<joint name="rotor_$1_joint" type="revolute"><parent>base_link</parent><child>rotor_$1</child>
		<axis><xyz>0 0 1</xyz></axis></joint>
		<plugin name="motor_$1" filename="libgazebo_motor_model.so"><robotNamespace/><jointName>rotor_$1_joint</jointName>
		<linkName>rotor_$1</linkName><turningDirection>$4</turningDirection><timeConstantUp>0.0125</timeConstantUp>
		<timeConstantDown>0.025</timeConstantDown><maxRotVelocity>1100</maxRotVelocity><motorConstant>5.84e-06</motorConstant>
		<momentConstant>0.06</momentConstant><commandSubTopic>/gazebo/command/motor_speed</commandSubTopic>
		<motorNumber>$1</motorNumber><rotorDragCoefficient>0.000175</rotorDragCoefficient>
		<rollingMomentCoefficient>1e-06</rollingMomentCoefficient><motorSpeedPubTopic>/motor_speed/$1</motorSpeedPubTopic>
		<rotorVelocitySlowdownSim>10</rotorVelocitySlowdownSim></plugin>
	END
}

# px4_channel NUMBER
px4_channel()
{
	cat <<-END
		<channel name="rotor$1"><input_index>$1</input_index><input_offset>0</input_offset><input_scaling>1000</input_scaling>
		<zero_position_disarmed>0</zero_position_disarmed><zero_position_armed>100</zero_position_armed>
		<joint_control_type>velocity</joint_control_type></channel>
	END
}

# px4_copter NAME PORT X Y
px4_copter()
{
	cat <<-END
		<model name="$1"><pose>$3 $4 0.06 0 0 0.5</pose><link name="base_link"><inertial><mass>1.5</mass><inertia>
		<ixx>0.0168</ixx><iyy>0.0122</iyy><izz>0.0241</izz></inertia></inertial><collision name="c"><geometry><box>
		<size>0.47 0.47 0.11</size></box></geometry></collision></link>
		<link name="imu_link"><inertial><mass>1e-5</mass><inertia><ixx>1e-8</ixx><iyy>1e-8</iyy><izz>1e-8</izz></inertia>
		</inertial></link><joint name="imu_joint" type="fixed"><parent>base_link</parent><child>imu_link</child></joint>
		$(px4_rotor 0 0.13 -0.22 ccw)$(px4_rotor 1 -0.13 0.2 ccw)$(px4_rotor 2 0.13 0.22 cw)$(px4_rotor 3 -0.13 -0.2 cw)
		<plugin name="rotors_gazebo_imu_plugin" filename="libgazebo_imu_plugin.so"><robotNamespace/>
		<linkName>/imu_link</linkName><imuTopic>/imu</imuTopic><gyroscopeNoiseDensity>0.00018665</gyroscopeNoiseDensity>
		<accelerometerNoiseDensity>0.00186</accelerometerNoiseDensity></plugin>
		<plugin name="groundtruth_plugin" filename="libgazebo_groundtruth_plugin.so"><robotNamespace/></plugin>
		<plugin name="magnetometer_plugin" filename="libgazebo_magnetometer_plugin.so"><robotNamespace/><pubRate>100</pubRate>
		<noiseDensity>0.0004</noiseDensity><randomWalk>6.4e-06</randomWalk><biasCorrelationTime>600</biasCorrelationTime>
		<magTopic>/mag</magTopic></plugin>
		<plugin name="barometer_plugin" filename="libgazebo_barometer_plugin.so"><robotNamespace/><pubRate>50</pubRate>
		<baroTopic>/baro</baroTopic><baroDriftPaPerSec>0</baroDriftPaPerSec></plugin>
		<plugin name="gps_plugin" filename="libgazebo_gps_plugin.so"><robotNamespace/><gpsNoise>true</gpsNoise></plugin>
		<plugin name="mavlink_interface" filename="libgazebo_mavlink_interface.so"><robotNamespace/>
		<imuSubTopic>/imu</imuSubTopic><magSubTopic>/mag</magSubTopic><baroSubTopic>/baro</baroSubTopic>
		<mavlink_addr>INADDR_ANY</mavlink_addr><mavlink_tcp_port>$2</mavlink_tcp_port><mavlink_udp_port>14560</mavlink_udp_port>
		<serialEnabled>0</serialEnabled><serialDevice>/dev/ttyACM0</serialDevice><baudRate>921600</baudRate>
		<qgc_addr>INADDR_ANY</qgc_addr><qgc_udp_port>14550</qgc_udp_port><hil_mode>0</hil_mode>
		<hil_state_level>0</hil_state_level><enable_lockstep>1</enable_lockstep><use_tcp>1</use_tcp>
		<motorSpeedCommandPubTopic>/gazebo/command/motor_speed</motorSpeedCommandPubTopic><control_channels>
		$(px4_channel 0)$(px4_channel 1)$(px4_channel 2)$(px4_channel 3)</control_channels>${5:-}</plugin></model>
	END
}

# px4_post PORT DISARMED TYPE: a post with an arm that channel 0 lifts by 2 m for a control of 1, and by DISARMED when it
# is not armed. A rangefinder on the arm looks down from a height of 1 m.
px4_post()
{
	cat <<-END
		<model name="post"><pose>0 0 0.5 0 0 0.5</pose><link name="base"><inertial><mass>100</mass><inertia><ixx>10</ixx>
		<iyy>10</iyy><izz>10</izz></inertia></inertial><collision name="c"><geometry><box><size>1 1 1</size></box></geometry>
		</collision></link><link name="arm"><pose>1 0 0.5 0 0 0</pose><inertial><mass>0.1</mass><inertia><ixx>1e-3</ixx>
		<iyy>1e-3</iyy><izz>1e-3</izz></inertia></inertial><sensor name="beam" type="gpu_lidar"><pose>0 0 0 0 1.5707963 0</pose>
		<topic>beam</topic><update_rate>50</update_rate><lidar><scan><horizontal><samples>1</samples><min_angle>0</min_angle>
		<max_angle>0</max_angle></horizontal></scan><range><min>0.1</min><max>20</max></range></lidar></sensor></link>
		<joint name="slide" type="prismatic"><parent>base</parent><child>arm</child><axis><xyz>0 0 1</xyz></axis></joint>
		<plugin name="m" filename="libgazebo_mavlink_interface.so"><mavlink_tcp_port>$1</mavlink_tcp_port>
		<lidarSubTopic>beam</lidarSubTopic><control_channels><channel name="arm"><input_index>0</input_index>
		<input_scaling>2</input_scaling><zero_position_disarmed>$2</zero_position_disarmed><joint_name>slide</joint_name>
		<joint_control_type>$3</joint_control_type><joint_control_pid><p>500</p><d>10</d><cmdMax>1000</cmdMax>
		<cmdMin>-1000</cmdMin></joint_control_pid></channel></control_channels></plugin></model>
	END
}
