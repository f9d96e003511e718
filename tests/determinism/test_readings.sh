#!/bin/sh
# What sensors measure is the same with any number of secondaries, over tcp, with forced moves, in a resumed run and in a
# replay. A sensor takes as many samples in each second as its rate says. Sensors change no state.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

world=$scratch/world.sdf
steps=$(amount 400 500 3000 6000)

# noise VALUE: of one signal, with a bias that walks
noise()
{
	echo "<noise type='gaussian'><mean>0.1</mean><stddev>$1</stddev><bias_mean>0.2</bias_mean><bias_stddev>$1</bias_stddev>
		<dynamic_bias_stddev>$1</dynamic_bias_stddev><dynamic_bias_correlation_time>3</dynamic_bias_correlation_time></noise>"
}
# sensors RATE LIDAR-RATE REACH: of a robot
sensors()
{
	cat <<-EOF3
		<sensor name='a' type='altimeter'><update_rate>$1</update_rate><altimeter>
			<vertical_position>$(noise 0.1)</vertical_position></altimeter></sensor>
		<sensor name='i' type='imu'><update_rate>$1</update_rate><imu><orientation_reference_frame>
			<localization>GRAV_UP</localization></orientation_reference_frame><angular_velocity><x>$(noise 0.01)</x></angular_velocity>
			<linear_acceleration><z>$(noise 0.2)</z></linear_acceleration></imu></sensor>
		<sensor name='m' type='magnetometer'><update_rate>$1</update_rate></sensor>
		<sensor name='n' type='navsat'><update_rate>$1</update_rate><navsat><position_sensing>
			<horizontal>$(noise 1)</horizontal></position_sensing></navsat></sensor>
		<sensor name='p' type='air_pressure'><update_rate>$1</update_rate></sensor>
		<sensor name='s' type='air_speed'><update_rate>$1</update_rate></sensor>
		<sensor name='l' type='lidar'><update_rate>$2</update_rate><lidar><scan><horizontal><samples>40</samples>
			<min_angle>-3.1</min_angle><max_angle>3.1</max_angle></horizontal><vertical><samples>3</samples>
			<min_angle>-0.4</min_angle><max_angle>0.4</max_angle></vertical></scan><range><min>0.1</min><max>$3</max></range>
			$(noise 0.01)</lidar></sensor>
		<sensor name='v' type='lidar'><update_rate>$2</update_rate><pose>0.1 0 0.4 0.2 -0.1 2</pose><lidar>
			<troupe:pattern columns='60'>OS0-32</troupe:pattern><troupe:motion>true</troupe:motion>
			<troupe:returns>2</troupe:returns><troupe:divergence>0.01</troupe:divergence><troupe:fog>50</troupe:fog>
			<troupe:dropout_intensity>5</troupe:dropout_intensity><troupe:noise_intensity>20</troupe:noise_intensity>
			<range><min>0.1</min><max>$3</max></range>$(noise 0.01)</lidar></sensor>
		<sensor name='t' type='contact'><update_rate>$1</update_rate><contact><collision>c</collision></contact></sensor>
		<sensor name='d' type='rgbd_camera'><update_rate>$2</update_rate><camera><image><width>16</width><height>12</height>
			</image>$(noise 0.01)</camera></sensor>
		<sensor name='r' type='camera'><update_rate>$2</update_rate><camera><image><width>16</width><height>12</height>
			<anti_aliasing>4</anti_aliasing></image><troupe:readout_time>0.03</troupe:readout_time>
			<troupe:exposure_time>0.01</troupe:exposure_time><troupe:gain>1.5</troupe:gain>$(noise 0.01)</camera></sensor>
		<sensor name='o' type='logical_camera'><update_rate>$2</update_rate><logical_camera><far>9</far></logical_camera></sensor>
	EOF3
}
shape='<geometry><box><size>0.5 0.6 0.7</size></box></geometry>'
# what cameras see has textures: of a file beside the world, and inside a mesh file
painted=${SOURCE_DIR:-.}/tests/data/mesh/painted
cp "$painted.png" "$painted.glb" "$worlds/models/shapes/hills.png" "$scratch"
paint='<material><pbr><metal><albedo_map>painted.png</albedo_map><normal_map>painted.png</normal_map></metal></pbr></material>
	<plugin name="gz::sim::systems::Thermal" filename="gz-sim-thermal-system"><heat_signature>painted.png</heat_signature>
	<max_temp>400</max_temp></plugin>'
# robot NAME X Z RATE LIDAR-RATE REACH
robot()
{
	echo "<model name='$1'><pose>$2 0 $3 0.3 0.2 0.1</pose><link name='l'><inertial><mass>1</mass></inertial>
		<collision name='c'>$shape</collision><visual name='v'>$shape$paint</visual>$(sensors "$4" "$5" "$6")</link>
		<link name='h'><pose>0.5 0 0 0 0 0</pose><inertial><mass>0.5</mass></inertial></link>
		<joint name='j' type='fixed'><parent>l</parent><child>h</child><sensor name='f' type='force_torque'>
		<update_rate>$4</update_rate><force_torque><force><z>$(noise 0.1)</z></force></force_torque></sensor></joint></model>"
}
# large readings are divided between threads
large="<model name='large'><pose>2 3 5 0.1 0.3 0</pose><link name='l'><inertial><mass>1</mass></inertial>
	<collision name='c'>$shape</collision><visual name='v'><pose>0.6 -0.5 -0.5 0 0 3.1</pose><geometry><mesh><uri>painted.glb</uri></mesh>
	</geometry></visual><visual name='flat'><geometry><mesh><uri>painted.glb</uri></mesh></geometry></visual>
	<sensor name='l' type='lidar'><update_rate>10</update_rate><lidar><scan><horizontal><samples>201</samples>
		<min_angle>-3.1</min_angle><max_angle>3.1</max_angle></horizontal><vertical><samples>31</samples>
		<min_angle>-0.9</min_angle><max_angle>0.4</max_angle></vertical></scan><range><min>0.1</min><max>30</max></range>
		$(noise 0.01)</lidar></sensor>
	<sensor name='v' type='lidar'><update_rate>10</update_rate><lidar><troupe:pattern>Mid-360</troupe:pattern>
		<troupe:motion>true</troupe:motion></lidar></sensor>
	<sensor name='d' type='rgbd_camera'><update_rate>10</update_rate><camera><image><width>81</width><height>77</height>
		</image>$(noise 0.01)</camera></sensor>
	<sensor name='r' type='rgbd_camera'><update_rate>10</update_rate><camera><image><width>81</width><height>77</height>
		</image><troupe:readout_time>0.02</troupe:readout_time><troupe:exposure_time>0.02</troupe:exposure_time></camera></sensor>
	<sensor name='h' type='thermal_camera'><update_rate>10</update_rate><camera><image><width>81</width><height>77</height>
		</image><troupe:exposure_time>0.01</troupe:exposure_time></camera></sensor>
	<sensor name='m' type='multicamera'><update_rate>10</update_rate><camera name='left'><image><width>40</width>
		<height>30</height></image></camera><camera name='right'><pose>0 -0.1 0 0 0 0.2</pose><image><width>81</width>
		<height>77</height></image>$(noise 0.01)<troupe:readout_time>0.02</troupe:readout_time></camera></sensor>
	<sensor name='s' type='segmentation_camera'><update_rate>10</update_rate><camera><image><width>81</width>
		<height>77</height></image></camera></sensor></link></model>"
{
	echo '<sdf version="1.9"><world name="w"><spherical_coordinates><latitude_deg>47</latitude_deg></spherical_coordinates>'
	echo '<model name="floor"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision>'
	echo "$(sensors 7 9 20)</link></model>"
	robot a 0 3 30 20 3
	robot b 0.2 5 0 25 inf
	robot c 4 1 33.333 10 6
	robot d 9 0.35 1000 50 30
	echo "$large"
	echo "<model name='hill'><static>1</static><pose>20 20 -3 0 0 0</pose><link name='l'><visual name='v'><geometry><heightmap>
		<uri>hills.png</uri><size>24 24 9</size><texture><size>3</size><diffuse>painted.png</diffuse></texture><texture>
		<size>5</size><diffuse>painted.png</diffuse><normal>painted.png</normal></texture><blend><min_height>2</min_height>
		<fade_dist>4</fade_dist></blend></heightmap></geometry></visual></link></model>"
	# the floor, which is static, becomes a performer by a command, and the post is one from the beginning
	echo "<model name='post'><static>1</static><pose>0 9 0 0 0 0</pose><link name='l'>$(sensors 30 15 20)</link></model>"
	echo "<plugin name='gz::sim' filename='x'><performer name='p'><ref>post</ref><geometry><box><size>1 1 1</size></box></geometry>
		</performer></plugin></world></sdf>"
} | sed '/rgbd_camera/s|<camera>|&<troupe:truth>flow normals segments</troupe:truth>|
	/segmentation_camera/s|<camera>|&<troupe:truth>flow</troupe:truth>|' >"$world"
robot e 7 2 50 30 10 | sed '1s/^/<sdf version="1.9">/; $s|$|</sdf>|' >"$scratch/e.sdf"
cat >"$scratch/commands" <<-EOF2
	40 /world/w/create sdf_filename: "$scratch/e.sdf" name: "e"
	90 /world/w/set_pose name: "d" position {x: 9 z: 4}
	95 /world/w/level/set_performer data: "floor"
	100 /world/w/set_spherical_coordinates latitude_deg: -33 longitude_deg: 150 elevation: 20 heading_deg: 10
	120 /world/w/set_physics max_step_size: 0.002 gravity {x: 1}
	150 /world/w/control pause: true
	155 /world/w/control pause: false
	200 /world/w/remove name: "c" type: MODEL
	240 /world/w/set_physics max_step_size: 0.001
	300 /world/w/control reset { all: true }
EOF2

# measure OUTPUT OPTION...: writes count and digest of the readings and the hash of the state to OUTPUT
measure()
{
	out=$1
	shift
	run "$scratch/said" "$world" "$scratch/commands" "$steps" --report "$scratch/report" "$@"
	report $? "runs with $*"
	for what in readings readings_digest state_hash; do
		member "$scratch/report" $what
	done >"$out"
}
same() { cmp -s "$2" "$3"; report $? "$1: $(head -n 3 "$2" | tr '\n' ' ') and $(head -n 3 "$3" | tr '\n' ' ')"; }
# after STEP FILE: the lines of a log that belong to later steps
after() { awk -F, -v step="$1" 'NR > 1 && $1 + 0 > step' "$2"; }

measure "$scratch/one" --sense-all --secondaries 0 --log "$scratch/one.csv" --log-what sensor
[ "$(wc -l <"$scratch/one.csv")" -gt 1000 ]
report $? "the log has samples of sensors: $(wc -l <"$scratch/one.csv") lines"
[ "$(member "$scratch/report" textures)" = 1 ]
report $? "one texture of one image, from two files: $(member "$scratch/report" textures)"
[ "$(head -n 1 "$scratch/one")" -gt 1000 ]
report $? "sensors measure: $(head -n 1 "$scratch/one") readings"
# the ways in which the run is repeated
ways()
{
	if [ -z "$quick" ]; then
		echo '1
2
2 --distribution balanced
5 --chaos 3
2 --transport tcp --network-stale-ms 60000'
	fi
	echo '2 --chaos 4 --chaos-moves 2
3 --transport tcp --chaos 5 --network-stale-ms 60000'
}
ways >"$scratch/ways"
while read -r options <&3; do
	# shellcheck disable=SC2086 # options are words
	measure "$scratch/again" --sense-all --secondaries $options --log "$scratch/again.csv" --log-what sensor
	same "the log of secondaries $options" "$scratch/one.csv" "$scratch/again.csv"
	same "secondaries $options" "$scratch/one" "$scratch/again"
done 3<"$scratch/ways"

measure "$scratch/none" --secondaries 1
[ "$(head -n 1 "$scratch/none")" = 0 ] && [ "$(tail -n 1 "$scratch/none")" = "$(tail -n 1 "$scratch/one")" ]
report $? 'without subscribers nothing is measured, and the states are the same'

measure "$scratch/other" --sense-all --secondaries 1 --seed 5
[ "$(sed -n 2p "$scratch/other")" != "$(sed -n 2p "$scratch/one")" ]
report $? 'noise depends on the seed'

# the total of a resumed run is that of the whole run
measure "$scratch/again" --sense-all --secondaries 2 --save-at 37 "$scratch/s1" --save-at 130 "$scratch/s2" --save-at 152 \
	"$scratch/s3" --save-at 333 "$scratch/s4" --record "$scratch/recording"
same 'saved and recorded' "$scratch/one" "$scratch/again"
for how in 1 4 $(amount '' '2 3' '2 3') '2 --transport tcp --network-stale-ms 60000' '3 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086 # options are words
	timeout "$run_limit_s" "$troupe" run --resume "$scratch/s${how%% *}" --rtf 0 -v 0 --iterations "$steps" \
		--secondaries $how --report "$scratch/report" --log "$scratch/again.csv" --log-what sensor >"$scratch/said" 2>&1
	report $? "resumes: $(head -n 3 "$scratch/said")"
	for what in readings readings_digest state_hash; do
		member "$scratch/report" $what
	done >"$scratch/again"
	same "resumed from state ${how%% *} on secondaries $how" "$scratch/one" "$scratch/again"
	saved_at=$(echo 37 130 152 333 | cut -d' ' -f"${how%% *}")
	after "$saved_at" "$scratch/one.csv" >"$scratch/rest"
	after "$saved_at" "$scratch/again.csv" >"$scratch/again"
	same "the log resumed from state ${how%% *} on secondaries $how" "$scratch/rest" "$scratch/again"
done
timeout "$run_limit_s" "$troupe" replay "$scratch/recording" --secondaries 3 >"$scratch/said" 2>&1
report $? "replays: $(cat "$scratch/said")"
grep -q "^$(head -n 1 "$scratch/one") readings of sensors, digest $(sed -n 2p "$scratch/one")\$" "$scratch/said"
report $? "the replay measures the same: $(cat "$scratch/said")"

# Robots that see are created in a world whose file has none that does, so that the meshes of its visuals were not read
# with it: they see these, and those of models that were created before them. The files go into recordings and states.
mkdir "$scratch/late"
cp "$worlds/models/shapes/block.obj" "$worlds/models/shapes/flat.png" "$scratch/late"
late=$scratch/late/w.sdf
mesh="<visual name='v'><geometry><mesh><uri>block.obj</uri>"
echo "<sdf version='1.9'><world name='w'><model name='wall'><static>1</static><pose>5 0 1 0 0 0</pose><link name='l'>
	$mesh<scale>4 4 4</scale></mesh></geometry></visual></link></model><model name='hill'><static>1</static><link name='l'>
	<collision name='c'><geometry><plane/></geometry></collision><visual name='v'><pose>0 10 0 1.5707963267948966 0 0</pose>
	<geometry><heightmap><uri>flat.png</uri><size>20 20 2</size></heightmap></geometry></visual></link></model></world></sdf>" >"$late"
echo "<sdf version='1.9'><model name='crate'><static>1</static><link name='l'>$mesh</mesh></geometry></visual></link></model></sdf>" \
	>"$scratch/late/crate.sdf"
echo "<sdf version='1.9'><model name='r'><link name='l'><collision name='c'><geometry><sphere><radius>0.3</radius></sphere>
	</geometry></collision><sensor name='s' type='gpu_lidar'><pose>0 0 0.7 0 0 0</pose><update_rate>10</update_rate><lidar>
	<scan><horizontal><samples>1</samples><min_angle>YAW</min_angle><max_angle>YAW</max_angle></horizontal></scan><range>
	<min>0.1</min><max>20</max></range></lidar></sensor></link></model></sdf>" >"$scratch/late/r.sdf"
for yaw in 0 1.5707963267948966 3.141592653589793; do
	sed "s/YAW/$yaw/g" "$scratch/late/r.sdf" >"$scratch/late/r_${yaw%%.*}.sdf"
done
cat >"$scratch/late/commands" <<-EOF2
	3 /world/w/create sdf_filename: "crate.sdf" name: "crate" pose {position {x: -4 z: 1}}
	20 /world/w/create sdf_filename: "r_0.sdf" name: "wall_ahead" pose {position {z: 0.3}}
	120 /world/w/create sdf_filename: "r_1.sdf" name: "hill_beside" pose {position {z: 0.3}}
	140 /world/w/remove name: "wall_ahead" type: MODEL
	220 /world/w/create sdf_filename: "r_3.sdf" name: "crate_behind" pose {position {z: 0.3}}
EOF2
# measure_late OUTPUT OPTION...
measure_late()
{
	out=$1
	shift
	run "$scratch/said" "$late" "$scratch/late/commands" 400 --report "$scratch/report" --sense-all "$@"
	report $? "runs with $*: $(cat "$scratch/said.err")"
	for what in readings readings_digest state_hash; do
		member "$scratch/report" $what
	done >"$out"
}
measure_late "$scratch/first" --secondaries 0 --record "$scratch/recording" --save-at 10 "$scratch/s1" --save-at 100 "$scratch/s2" \
	--save-at 160 "$scratch/s3" --log "$scratch/late.csv" --log-what sensor
# the faces are 3, 8 and 3.5 m away
for seen in wall_ahead=3 hill_beside=8 crate_behind=3.5; do
	awk -F, -v model="${seen%=*}" -v range="${seen#*=}" '$5 == model { good = $NF > range - 1e-6 && $NF < range + 1e-6 }
		END { exit !good }' "$scratch/late.csv"
	report $? "sees the mesh of a visual: $seen: $(grep "${seen%=*}" "$scratch/late.csv" | head -n 1)"
done
for options in '2' '3 --chaos 3' '2 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086 # options are words
	measure_late "$scratch/again" --secondaries $options
	same "created robots see, secondaries $options" "$scratch/first" "$scratch/again"
done
rm "$scratch/late/block.obj" "$scratch/late/flat.png"
for state in s1 s2 s3; do
	timeout "$run_limit_s" "$troupe" run --resume "$scratch/$state" --rtf 0 -v 0 --iterations 400 --secondaries 2 --transport tcp \
		--network-stale-ms 60000 --report "$scratch/report" >"$scratch/said" 2>&1
	for what in readings readings_digest state_hash; do
		member "$scratch/report" $what
	done >"$scratch/again"
	same "created robots see, resumed from $state" "$scratch/first" "$scratch/again"
done
timeout "$run_limit_s" "$troupe" replay "$scratch/recording" --secondaries 3 >"$scratch/said" 2>&1
grep -q "^$(head -n 1 "$scratch/first") readings of sensors, digest $(sed -n 2p "$scratch/first")\$" "$scratch/said"
report $? "created robots see in the replay: $(cat "$scratch/said")"

# Where Embree cannot be loaded, lidars are ignored, and the other sensors measure.
mkdir "$scratch/broken"
for name in libembree3.so.3 libembree4.so.4; do
	echo 'no library' >"$scratch/broken/$name"
done
echo "<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'>
	<sensor name='a' type='altimeter'><update_rate>10</update_rate></sensor><sensor name='eye' type='gpu_lidar'><update_rate>10
	</update_rate><lidar><range><min>0.1</min><max>9</max></range></lidar></sensor></link></model></world></sdf>" >"$scratch/eye.sdf"
LD_LIBRARY_PATH=$scratch/broken${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout "$run_limit_s" "$troupe" run "$scratch/eye.sdf" \
	--rtf 0 --iterations 1000 --sense-all --secondaries 2 --report "$scratch/report" >"$scratch/said" 2>&1
report $? "runs without the library: $(cat "$scratch/said")"
grep -q 'ignored: sensors of type gpu_lidar x1: m::l::eye' "$scratch/said" && [ "$(member "$scratch/report" readings)" = 10 ]
report $? "ignores the lidar, 10 readings: $(member "$scratch/report" readings) $(cat "$scratch/said")"

grep -Eq 'eye.sdf: lidars and cameras do not measure: (Embree cannot be loaded: .*: expected libembree|troupe was built without Embree: )' "$scratch/said"
report $? "says why: $(cat "$scratch/said")"

# 30 Hz are 30 samples in each second, 33.333 Hz are 33 or 34; rate 0 is one in each state
count()
{
	echo "<sdf version='1.9'><world name='w'><model name='m'><static>1</static><link name='l'><sensor name='s' type='altimeter'>
		<update_rate>$1</update_rate></sensor></link></model></world></sdf>" >"$scratch/count.sdf"
	run "$scratch/said" "$scratch/count.sdf" - "$2" --sense-all --secondaries 0 --report "$scratch/report"
	[ "$(member "$scratch/report" readings)" = "$3" ]
	report $? "$1 Hz for $2 ms: $(member "$scratch/report" readings) readings, expected $3"
}
# a static performer has each sample once, too
count_of_performer()
{
	sed "s|</world>|<plugin name='gz::sim' filename='x'><performer name='p'><ref>m</ref><geometry><box><size>1 1 1</size></box></geometry>\
		</performer></plugin></world>|" "$scratch/count.sdf" >"$scratch/performer.sdf"
	run "$scratch/said" "$scratch/performer.sdf" - 1000 --sense-all --secondaries 0 --report "$scratch/report"
	[ "$(member "$scratch/report" readings)" = "$1" ]
	report $? "of a static performer: $(member "$scratch/report" readings) readings, expected $1"
}
count 30 1000 30
count_of_performer 30
for ms in 1000 2000 3000 60000; do
	count 30 $ms $((ms * 30 / 1000))
done
count 33.333 3000 99
count 33.333 30030 1000
count 0 500 500
count 1000 500 500
count 100000 500 500
count 0.5 10000 5

# A lidar that is created after a logical camera has measured sees meshes, which nothing had to read before: the seat of
# the stool begins 1.7 m away.
cp "$worlds/models/shapes/stool.obj" "$scratch"
cat >"$scratch/late.sdf" <<'END'
<sdf version="1.9"><world name="w"><physics name="p" type="ode"><max_step_size>0.01</max_step_size></physics>
<model name="stool"><static>1</static><pose>2 0 0 0 0 0</pose><link name="l"><visual name="v"><geometry><mesh>
  <uri>stool.obj</uri></mesh></geometry></visual></link></model>
<model name="eye"><static>1</static><link name="l"><sensor name="s" type="logical_camera"><update_rate>50</update_rate>
  </sensor></link></model></world></sdf>
END
cat >"$scratch/late.commands" <<'END'
10 /world/w/create name: "late" pose {position {z: 0.43}} sdf: "<sdf version='1.9'><model name='m'><static>1</static><link name='l'><sensor name='s' type='gpu_lidar'><update_rate>50</update_rate><lidar><scan><horizontal><samples>3</samples><min_angle>-0.1</min_angle><max_angle>0.1</max_angle></horizontal></scan><range><min>0.1</min><max>9</max></range></lidar></sensor></link></model></sdf>"
END
for options in '0' '2' '2 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086 # options are words
	run "$scratch/said" "$scratch/late.sdf" "$scratch/late.commands" 30 --sense-all --secondaries $options \
		--log "$scratch/late.csv" --log-what sensor
	awk -F, '/late/ { far = $NF } END { exit !(far > 1.69 && far < 1.71) }' "$scratch/late.csv"
	report $? "a lidar that came later, secondaries $options: $(grep late "$scratch/late.csv" | tail -n 1)"
done
totals
