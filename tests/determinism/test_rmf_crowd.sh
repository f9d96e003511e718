#!/bin/sh
# Open-RMF's crowd: people who walk between each other, around a robot that drives, with files as building_crowdsim writes
# them. All runs have the same bits; another seed has other people. What is wrong in a file is named with its line.
. "${SOURCE_DIR:-.}/tests/determinism/systems.sh"
set -u
cd "$scratch" || exit 1
. "$SOURCE_DIR/tests/gateway/rmf_world.sh"
crowd_files
robot='<model name="car"><pose>5 1 0.2 0 0 0</pose><link name="body"><inertial><mass>1</mass></inertial><collision name="c">
	<geometry><box><size>0.4 0.4 0.4</size></box></geometry></collision></link>
	<plugin name="gz::sim::systems::VelocityControl" filename="x"/></model>'
building "$crowd$robot" | sed 's|<real_time_factor>6</real_time_factor>||' >crowd.sdf
world=$scratch/crowd.sdf
orders=$scratch/orders
cat >orders <<END
300 /model/car/cmd_vel linear {x: 0.4}
900 /model/car/cmd_vel linear {x: -0.4}
2000 /world/building/control reset {all: true}
END
steps=3000
hash_every=50
record_every=500

first --save-at 620 "$scratch/saved" --save-at 2200 "$scratch/later"
other 'the seed makes a difference' --seed 7
# 250 steps after the reset, and 250 steps after the beginning, before the robot gets its first command
[ "$(awk '$2 == 250 {print $3}' "$scratch/reference")" = "$(awk '$2 == 2250 {print $3}' "$scratch/reference")" ]
report $? "a reset begins anew: $(grep -E ' 2?250 ' "$scratch/reference" | tr '\n' ' ')"
all=$orders orders=-
other 'the robot makes a difference'
orders=$all
placements 1 2 '3 --chaos 5' '2 --window 1' '2 --transport tcp --network-stale-ms 60000'
resume "$scratch/saved" 620 0 '3 --window 1'
resume "$scratch/later" 2200 2
record_and_replay 0 2

# A lidar sees them: what it measures is other than without them.
lidar='<model name="post"><static>true</static><pose>1 5 1 0 0 0</pose><link name="l"><sensor name="s" type="gpu_lidar">
	<update_rate>10</update_rate><lidar><scan><horizontal><samples>90</samples><min_angle>-3</min_angle><max_angle>3</max_angle>
	</horizontal></scan><range><min>0.1</min><max>20</max></range></lidar></sensor></link></model>'
building "$lidar$robot" >empty.sdf
building "$lidar$robot$crowd" >seen.sdf
for name in empty seen; do
	timeout "$run_limit_s" "$troupe" run $name.sdf --iterations 300 --rtf 0 -v 0 --sense-all --report $name.json
	report $? "$name: runs"
done
[ "$(member empty.json readings)" -gt 20 ] && [ "$(member empty.json readings)" = "$(member seen.json readings)" ] &&
	[ "$(member empty.json readings_digest)" != "$(member seen.json readings_digest)" ]
report $? "a lidar sees people: $(member empty.json readings_digest) $(member seen.json readings_digest)"

# A slotcar drives through them to a corner: it stops before people, they go around it, and it comes through. Nobody comes
# nearer than the two radii, 0.3 and 0.25 m, nor, among people, much nearer than twice 0.25 m, once they have left the
# places at which several begin.
building "$(slotcar car 5 1 0)$crowd" | sed 's|<real_time_factor>6</real_time_factor>||' >car.sdf
echo "10 /robot_path_requests fleet_name: 'f' robot_name: 'car' task_id: 't' path {x: 5 y: 1 level_name: 'L1'}" \
	"path {x: 9 y: 1 yaw: 1.57 level_name: 'L1'} path {x: 9 y: 9 level_name: 'L1'}" >path
timeout "$run_limit_s" "$troupe" run car.sdf --commands path --iterations 9000 --rtf 0 -v 0 --log log --log-every 10 \
	--log-what model:car,model:agent\* 2>err
report $? "a slotcar in the crowd runs: $(cat err)"
awk -F, '
	NR == 1 || $1 < 300 {next}
	$1 != step {step = $1; count = 0}
	{
		for (i = 0; i < count; i++) {
			d = sqrt(($8 - x[i]) ^ 2 + ($9 - y[i]) ^ 2)
			if (name[i] == "car" || $5 == "car") {
				if (cars == "" || d < cars) cars = d
			} else if (people == "" || d < people)
				people = d
		}
		x[count] = $8
		y[count] = $9
		name[count++] = $5
		if ($5 == "car") far = sqrt(($8 - 9) ^ 2 + ($9 - 9) ^ 2)
		else if ($8 < 0.2 || $9 < 0.2 || $8 > 9.8 || $9 > 9.8 || ($8 > 2.2 && $8 < 7.8 && $9 > 2.2 && $9 < 7.8)) walls++
	}
	END {
		print far " m from its place, " cars " m between car and people, " people " m between people, in walls: " walls + 0
		exit !(far < 0.1 && cars > 0.54 && people > 0.4 && !walls)
	}' log >found
report $? "a slotcar in the crowd: $(cat found)"

# With short steps there are many between two decisions, which are taken together, and the time that is set back is no
# reason to wait for the next one.
sed 's|<max_step_size>0.01|<max_step_size>0.001|' crowd.sdf >fine.sdf
cat >orders <<END
300 /model/car/cmd_vel linear {x: 0.4}
1500 /world/building/control reset {time_only: true}
END
steps=2500
world=$scratch/fine.sdf
first
for options in '0 --window 50' '2' '3 --chaos 4'; do
	# shellcheck disable=SC2086
	go --report windows.json --secondaries $options
	same "short steps, --secondaries $options"
	longest=$(sed -n 's/.*"windows": {.*"longest": \([0-9]*\).*/\1/p' windows.json)
	[ "${longest:-0}" -ge 7 ]
	report $? "short steps, --secondaries $options: a window of $longest steps"
done

timeout "$run_limit_s" "$troupe" run fine.sdf --iterations 300 --rtf 0 -v 1 --transport tcp --secondaries 2 >out 2>&1 &&
	! grep 'each step is exchanged' out
report $? "over a network, no step is said to be exchanged by itself: $(cat out)"

# printed, the world has its crowd and needs no files any more, and has the same states
world=$scratch/crowd.sdf
first
cp reference original
"$troupe" print crowd.sdf >printed.sdf 2>err
report $? "prints: $(cat err)"
mkdir empty && mv scene_file.xml behavior_file.xml L1_navmesh.nav empty
"$troupe" check printed.sdf >out 2>&1 && grep -q 'dynamic: 7).*warnings: 0' out
report $? "what is printed has the crowd: $(cat out)"
world=$scratch/printed.sdf
first
cmp -s original reference
report $? "what is printed has the states of the original: $(diff original reference | head -2)"
placements 2
mv empty/* .

# What Menge has and is not used has a warning, one for each kind; scene and behaviour are read as without it.
cp behavior_file.xml kept
sed 's|<VelComponent|<Action type="teleport"/><Action type="other"/><VelModifier type="formation"/>&|
	s|</BFSM>|<Task type="door"/>&|' kept >behavior_file.xml
cp scene_file.xml kept_scene
sed 's|</Experiment>|<Elevation type="flat"/>&|' kept_scene >scene_file.xml
"$troupe" check crowd.sdf >out 2>&1 && grep -q 'warnings: 4' out && for part in 'Action> in <State' 'VelModifier> in <State' \
	'Task> in <BFSM' 'Elevation> in <Experiment'; do grep -q "_file.xml:[0-9]*: <$part> has no effect" out || exit 1; done
report $? "parts that have no effect: $(cat out)"
mv kept behavior_file.xml
mv kept_scene scene_file.xml

# wrong FILE FROM TO WHERE WHAT: with this change the world is refused in one line that begins with the place
wrong()
{
	cp "$1" kept
	sed "s|$2|$3|" kept >"$1"
	cmp -s kept "$1" && report 1 "'$2' is not in $1"
	timeout 60 "$troupe" run crowd.sdf --iterations 1 -v 0 >out 2>err
	[ $? = 1 ] && grep -q "$4:[0-9]*: .*$5" err
	report $? "$1, '$3': $(cat err)"
	timeout 60 "$troupe" check crowd.sdf >all 2>&1
	grep -q "$5" all && [ -z "$(sort all | uniq -d)" ]
	report $? "$1, '$3', once: $(cat all)"
	cp kept "$1"
}
wrong scene_file.xml 'Experiment' 'Scene' scene_file.xml '<Scene>: expected <Experiment> as the root'
wrong scene_file.xml 'r="0.25"' 'r="wide"' scene_file.xml 'r of <Common> is "wide": expected a number from 0.001 to 100'
wrong scene_file.xml 'type="explicit"' 'type="rect_grid"' scene_file.xml '<Generator> is of the type "rect_grid": expected "explicit"'
wrong scene_file.xml 'ProfileSelector name="male"' 'ProfileSelector name="m"' scene_file.xml 'name is "m": expected that of an <AgentProfile>'
wrong scene_file.xml 'StateSelector name="lost"' 'StateSelector name="gone"' scene_file.xml 'state "gone": expected the name of a <State>'
wrong scene_file.xml 'name="male"' 'name="child"' crowd.sdf 'no <model_type> has the <typename> "child"'
wrong scene_file.xml 'ObstacleSet class="1" file_name="L1_navmesh.nav"' 'ObstacleSet file_name="none.nav"' scene_file.xml 'the navigation mesh "none.nav" is not found'
wrong scene_file.xml '</Experiment>' '' scene_file.xml 'expected well-formed XML'
wrong behavior_file.xml 'goal_set="1"' 'goal_set="9"' behavior_file.xml 'goal_set is 9: expected the id of a <GoalSet> with goals'
wrong behavior_file.xml 'from="lost"' 'from="lost,none"' behavior_file.xml 'from has "none": expected the name of a <State>'
wrong behavior_file.xml 'Target type="prob"/' 'Target type="return"/' behavior_file.xml 'type of <Target> is "return": expected prob'
wrong behavior_file.xml 'name="found" weight' 'name="fond" weight' behavior_file.xml '"fond": expected the name of a <State>'
wrong L1_navmesh.nav '^8 4 3 1$' '8 4 33 1' L1_navmesh.nav 'of a polygon that does not have it'
wrong L1_navmesh.nav '^2 0 1$' '2 0 7' L1_navmesh.nav 'of a polygon that does not have it'
wrong L1_navmesh.nav '^8 4 3 1$' '8 four 3 1' L1_navmesh.nav '"four": expected a vertex of a wall'
cp L1_navmesh.nav kept
printf '0 0\0' >>L1_navmesh.nav
"$troupe" check crowd.sdf >out 2>&1
[ $? = 1 ] && grep -q 'L1_navmesh.nav: a zero byte: expected text' out
report $? "a zero byte in a mesh: $(cat out)"
cp kept L1_navmesh.nav
wrong crowd.sdf '</world>' "$(echo "$crowd" | tr -d '\n')</world>" crowd.sdf 'a second crowd'
wrong crowd.sdf '<external_agent>car</external_agent>' "$(printf '<external_agent>r%d</external_agent>' 1 2 3 4 5 6 7 8)" crowd.sdf 'expected an <Agent> of the scene for each, but there are 7'
totals
