# Worlds of Open-RMF, with models as building_map_tools writes them.

inertia='<inertial><mass>20</mass><inertia><ixx>2</ixx><iyy>2</iyy><izz>2</izz></inertia></inertial>'
# panel NAME X TYPE AXIS LOWER UPPER: a part of a door, and its joint
panel()
{
	cat <<-END
		<link name="$1"><pose>$2 0 1.1 0 0 0</pose>$inertia<collision name="c"><geometry><box><size>0.9 0.1 2</size></box>
		</geometry></collision></link>
		<joint name="$1_joint" type="$3"><parent>world</parent><child>$1</child><axis><xyz>$4</xyz><limit><lower>$5</lower>
		<upper>$6</upper></limit></axis></joint>
	END
}

params='<v_max_door>0.5</v_max_door><a_max_door>0.3</a_max_door><a_nom_door>0.15</a_nom_door><dx_min_door>0.01</dx_min_door>
	<f_max_door>500.0</f_max_door>'
# doors: as building_map_tools writes them, one of each form
doors()
{
	cat <<-END
		<model name="main_door">$(panel right 0.5 prismatic '1 0 0' 0 0.9)$(panel left -0.5 prismatic '1 0 0' -0.9 0)
		<plugin name="door" filename="libdoor.so">$params<door name="left_right" type="DoubleSlidingDoor"
		left_joint_name="left_joint" right_joint_name="right_joint"/></plugin></model>
		<model name="swing"><pose>5 0 0 0 0 0</pose>$(panel left 0 revolute '0 0 1' -1.57 0)
		<plugin name="door" filename="libdoor.so">$params<door name="d" type="SwingDoor" left_joint_name="left_joint"
		right_joint_name="empty_joint"/></plugin></model>
		<model name="new_door"><pose>0 5 0 0 0 0</pose>$(panel right 0 prismatic '1 0 0' 0 0.9)
		<plugin name="register_component" filename="libregister_component.so"><component name="Door">$params
		<ros_interface>true</ros_interface><door name="d" type="SlidingDoor" left_joint_name="empty_joint"
		right_joint_name="right_joint"/></component></plugin></model>
		<plugin name="door" filename="libdoor.so"/>
	END
}

# slotcar NAME X Y YAW
slotcar()
{
	cat <<-END
		<model name="$1"><pose>$2 $3 0.11 0 0 $4</pose><link name="body">$inertia<collision name="c"><geometry><box>
		<size>0.6 0.5 0.2</size></box></geometry><surface><friction><ode><mu>0.1</mu><mu2>0.1</mu2></ode></friction></surface>
		</collision></link><plugin name="slotcar" filename="libslotcar.so"><nominal_drive_speed>0.5</nominal_drive_speed>
		<nominal_drive_acceleration>0.25</nominal_drive_acceleration><max_drive_acceleration>0.75</max_drive_acceleration>
		<nominal_turn_speed>0.6</nominal_turn_speed><nominal_turn_acceleration>1.5</nominal_turn_acceleration>
		<max_turn_acceleration>2.0</max_turn_acceleration><tire_radius>0.1</tire_radius><base_width>0.3206</base_width>
		<stop_distance>0.75</stop_distance><stop_radius>0.75</stop_radius><nominal_voltage>12</nominal_voltage>
		<nominal_capacity>1</nominal_capacity><charging_current>5</charging_current><mass>20</mass><inertia>10</inertia>
		<friction_coefficient>0.22</friction_coefficient><nominal_power>20</nominal_power></plugin></model>
	END
}

# sliding NAME X Z PUBLIC: a door of a lift; shaft doors tell their state, so that the test sees them
sliding()
{
	cat <<-END
		<model name="$1"><pose>$2 0 $3 0 0 0</pose>$(panel right 0 prismatic '1 0 0' 0 0.9)
		<plugin name="register_component" filename="libregister_component.so"><component name="Door">$params
		<ros_interface>$4</ros_interface><door name="d" type="SlidingDoor" left_joint_name="empty_joint"
		right_joint_name="right_joint"/></component></plugin></model>
	END
}

floors='<floor name="L1" elevation="0.0"><door_pair cabin_door="cabin_door" shaft_door="shaft_L1"/></floor>
		<floor name="L2" elevation="3.0"><door_pair cabin_door="cabin_door" shaft_door="shaft_L2"/></floor>'
motion='<v_max_cabin>2.0</v_max_cabin><a_max_cabin>1.2</a_max_cabin><a_nom_cabin>1.0</a_nom_cabin>
		<dx_min_cabin>0.01</dx_min_cabin><f_max_cabin>25323.0</f_max_cabin>'
lift_plugin="<plugin name='lift' filename='liblift.so'><lift_name>Lift1</lift_name>$floors$motion
	<cabin_joint_name>cabin_joint</cabin_joint_name><initial_floor>L1</initial_floor></plugin>"
# lift PLUGIN: a cabin for two floors, 3 m apart, with a box in it
lift()
{
	cat <<-END
		<model name="Lift1"><pose>0 3 0 0 0 0</pose><link name="platform"><inertial><mass>800</mass><inertia><ixx>100</ixx>
		<iyy>100</iyy><izz>100</izz></inertia></inertial><collision name="c"><pose>0 0 0.05 0 0 0</pose><geometry><box>
		<size>2 2 0.1</size></box></geometry></collision></link><joint name="cabin_joint" type="prismatic">
		<parent>world</parent><child>platform</child><axis><xyz>0 0 1</xyz></axis></joint>$1</model>
		<model name="box"><pose>0 3 0.2 0 0 0</pose><link name="l"><inertial><mass>30</mass></inertial><collision name="c">
		<geometry><box><size>0.2 0.2 0.2</size></box></geometry></collision></link>
		<plugin name="gz::sim::systems::OdometryPublisher" filename="x"><dimensions>3</dimensions>
		<odom_publish_frequency>2</odom_publish_frequency></plugin></model>
		$(sliding cabin_door 3 0 false)$(sliding shaft_L1 6 0 true)$(sliding shaft_L2 9 3 true)
	END
}

# workcell NAME KIND X: a counter, and on it a dispenser or an ingestor, as rmf_demos has them
workcell()
{
	cat <<-END
		<model name="$1_counter"><static>true</static><pose>$3 1 0.25 0 0 0</pose><link name="l"><collision name="c">
		<geometry><box><size>0.4 0.4 0.5</size></box></geometry></collision></link></model>
		<model name="$1"><static>true</static><pose>$3 1 0.5 0 0 0</pose><link name="body"/>
		<plugin name="teleport_$2" filename="libteleport_$2.so"/></model>
	END
}

# can NAME X: what stands on a dispenser; its origin is its bottom
can()
{
	cat <<-END
		<model name="$1"><pose>$2 1 0.5 0 0 0</pose><link name="l"><pose>0 0 0.06 0 0 0</pose><inertial><mass>0.39</mass>
		<inertia><ixx>0.0006</ixx><iyy>0.0006</iyy><izz>0.0002</izz></inertia></inertial><collision name="c"><geometry>
		<cylinder><radius>0.03</radius><length>0.12</length></cylinder></geometry></collision></link>
		<plugin name="gz::sim::systems::OdometryPublisher" filename="x"><dimensions>3</dimensions>
		<odom_publish_frequency>2</odom_publish_frequency></plugin></model>
	END
}

# readonly_robot NAME X: a robot that something else drives
readonly_robot()
{
	cat <<-END
		<model name="$1"><pose>$2 -3 0.11 0 0 0.5</pose><link name="body">$inertia<collision name="c"><geometry><box>
		<size>0.6 0.5 0.2</size></box></geometry></collision></link><plugin name="readonly" filename="libreadonly.so">
		<level_name>B1</level_name><graph_index>2</graph_index><spawn_waypoint>junction</spawn_waypoint>
		<look_ahead>3</look_ahead><update_rate>4</update_rate><waypoint_threshold>2</waypoint_threshold>
		<merge_lane>false</merge_lane><lane_threshold>0.2</lane_threshold></plugin>
		<plugin name="gz::sim::systems::VelocityControl" filename="x"/></model>
	END
}

crowd='<plugin name="crowd_simulation" filename="libcrowd_simulation.so"><behavior_file>behavior_file.xml</behavior_file>
	<scene_file>scene_file.xml</scene_file><update_time_step>0.1</update_time_step><model_type><typename>male</typename>
	<filename>model://MaleVisitorWalk</filename><animation>walk</animation><animation_speed>0.2</animation_speed>
	<initial_pose>0 0 0 1.5707963 0 0</initial_pose></model_type><external_agent>car</external_agent></plugin>'

# crowd_files: the files of Menge that $crowd names, as building_crowdsim writes them: six people in a corridor of 2 m around
# a square of 6 m, from corner to corner
crowd_files()
{
	cat >scene_file.xml <<-END
		<?xml version="1.0"?>
		<Experiment version="2.0"><SpatialQuery test_visibility="false" type="kd-tree"/><Common time_step="0.1"/>
		<ObstacleSet class="1" file_name="L1_navmesh.nav" type="nav_mesh"/>
		<AgentProfile name="external_agent"><Common class="1" max_accel="0.0" max_angle_vel="0" max_neighbors="10"
		max_speed="0" neighbor_dist="5" obstacleSet="1" pref_speed="0" r="0.3"/><ORCA tau="1.0" tauObst="0.4"/></AgentProfile>
		<AgentProfile name="male"><Common class="1" max_accel="5" max_angle_vel="180" max_neighbors="10" max_speed="1.5"
		neighbor_dist="5" obstacleSet="1" pref_speed="1.2" r="0.25"/><ORCA tau="1.0" tauObst="0.4"/></AgentProfile>
		<AgentGroup><ProfileSelector name="external_agent" type="const"/><StateSelector name="external_static" type="const"/>
		<Generator type="explicit"><Agent p_x="0" p_y="0"/></Generator></AgentGroup>
		<AgentGroup><ProfileSelector name="male" type="const"/><StateSelector name="lost" type="const"/>
		<Generator type="explicit"><Agent p_x="1" p_y="1"/><Agent p_x="1" p_y="1"/><Agent p_x="1" p_y="1"/>
		<Agent p_x="9" p_y="9"/><Agent p_x="9" p_y="9"/><Agent p_x="9" p_y="9"/></Generator></AgentGroup></Experiment>
	END
	cat >behavior_file.xml <<-END
		<?xml version="1.0"?>
		<BFSM><State final="1" name="external_static"/>
		<State final="0" name="lost"><GoalSelector dist="u" goal_set="0" type="weighted"/>
		<VelComponent file_name="L1_navmesh.nav" heading_threshold="15" type="nav_mesh"/></State>
		<State final="0" name="found"><GoalSelector dist="u" goal_set="1" type="weighted"/>
		<VelComponent file_name="L1_navmesh.nav" heading_threshold="15" type="nav_mesh"/></State>
		<Transition from="lost" to="found"><Condition distance="0.1" type="goal_reached"/><Target type="prob"/></Transition>
		<Transition from="found" to=""><Condition type="or"><Condition distance="0.1" type="goal_reached"/>
		<Condition dist="u" max="20" min="10" per_agent="1" type="timer"/></Condition><Target type="prob">
		<State name="lost" weight="0.8"/><State name="found" weight="0.2"/></Target></Transition>
		<GoalSet id="0"><Goal capacity="3" id="0" type="point" weight="1.0" x="1" y="9"/>
		<Goal capacity="4" id="1" type="point" weight="1.0" x="9" y="1"/></GoalSet>
		<GoalSet id="1"><Goal capacity="6" id="0" type="point" weight="1.0" x="1" y="1"/></GoalSet></BFSM>
	END
	tr -d '\n' <<-END | tr '|' '\n' >L1_navmesh.nav
		16|0 0|2 0|8 0|10 0|0 2|2 2|8 2|10 2|0 8|2 8|8 8|10 8|0 10|2 10|8 10|10 10||8|1 5 0 1|5 4 0 3|2 6 1 2|7 6 2 4|
		9 8 3 5|11 10 4 7|9 13 5 6|10 14 6 7||16|0 1 0 2|4 0 0 0|1 2 1 4|6 5 1 6|2 3 2 5|3 7 2 8|5 9 3 12|8 4 3 1|
		7 11 4 14|10 6 4 3|13 12 5 11|12 8 5 7|9 10 6 9|14 13 6 10|11 15 7 15|15 14 7 13||walkable|8||1 1|4 0 1 5 4|
		0 0 0|2 0 1|2 0 1||5 1|4 1 2 6 5|0 0 0|2 0 2|2 2 3||9 1|4 2 3 7 6|0 0 0|2 2 3|2 4 5||1 5|4 4 5 9 8|0 0 0|2 1 4|
		2 6 7||9 5|4 6 7 11 10|0 0 0|2 3 5|2 8 9||1 9|4 8 9 13 12|0 0 0|2 4 6|2 10 11||5 9|4 9 10 14 13|0 0 0|2 6 7|
		2 12 13||9 9|4 10 11 15 14|0 0 0|2 5 7|2 14 15
	END
	echo >>L1_navmesh.nav
}

# building MODELS
building()
{
	cat <<-END
		<sdf version="1.9"><world name="building"><physics name="p" type="ode"><max_step_size>0.01</max_step_size>
		<real_time_factor>6</real_time_factor></physics><model name="ground"><static>true</static><link name="l">
		<collision name="c"><geometry><plane/></geometry></collision></link></model>$1</world></sdf>
	END
}

# demo_building: all of it, as a world of rmf_demos has it
demo_building()
{
	building "<scene><ambient>1 1 1</ambient><background>0.8 0.8 0.8</background><grid>false</grid></scene>
		<gui fullscreen='0'><plugin name='World control' filename='WorldControl'/>
		<plugin name='toggle_charging' filename='toggle_charging'/><plugin name='toggle_floors' filename='toggle_floors'/></gui>
		<light type='directional' name='sun'><pose>0 0 10 0 0 0</pose><direction>-0.5 0.1 -0.9</direction></light>
		<plugin name='gz::sim::systems::Physics' filename='libgz-sim-physics-system.so'/>
		<plugin name='gz::sim::systems::UserCommands' filename='libgz-sim-user-commands-system.so'/>
		<plugin name='gz::sim::systems::SceneBroadcaster' filename='libgz-sim-scene-broadcaster-system.so'/>
		<plugin name='lift' filename='liblift.so'/>$crowd$(doors | sed 's/<pose>0 5 0/<pose>-9 5 0/; s/<pose>5 0 0/<pose>-9 0 0/
		s/<model name="main_door">/&<pose>-9 -5 0 0 0 0<\/pose>/')$(lift "$lift_plugin" | sed 's/<pose>0 3 0/<pose>-3 6 0/
		s/<pose>\([369]\) 0 /<pose>-\1 9 /')$(workcell pantry dispenser 0)$(can coke 0)$(workcell hardware ingestor 4)$(
		slotcar car 0.3 0 0)$(readonly_robot caddy 7)
		<rmf_charger_waypoints name='charger_waypoints'><rmf_vertex name='c1' x='0.3' y='0' level='L1'/></rmf_charger_waypoints>"
}
