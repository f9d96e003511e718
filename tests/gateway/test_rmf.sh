#!/bin/sh
# Open-RMF's doors, lifts and slotcars, with its plug-ins, types and topics: a client of rosbridge does what its adapters
# do. Without it a building of Open-RMF would load, and nothing in it would move. tests/web/test_ros2.sh has DDS.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
. "$SOURCE_DIR/tests/gateway/rmf_world.sh"
command -v python3 >/dev/null || {
	skip 'Open-RMF' 'no python3'
	totals
	exit
}
client=$(cd "$SOURCE_DIR" && pwd)/tests/gateway/rmf_client.py
web_begin rosbridge.js

# played TEST OPTION...: the test of rmf_client.py, on w.sdf; the recording of the run has the same bits
played()
{
	test=$1
	shift
	rm -rf run.rec
	web_start rosbridge w.sdf --rosbridge 0 --record run.rec -v 1 "$@"
	PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 "$client" "$port" "$test" >said 2>&1
	web_tell said
	web_stop "$test" run.rec
}

building "$(doors)" >w.sdf
"$troupe" check w.sdf >out 2>&1
grep -q 'ignored: 0.*warnings: 0' out
report $? "doors: the world has no warnings: $(cat out)"
played doors --secondaries 2

building "$(slotcar car 0 0 0)$(slotcar other 6 2 3.14159)<rmf_charger_waypoints name='charger_waypoints'>
	<rmf_vertex name='c1' x='0' y='0' level='L1'/></rmf_charger_waypoints>" >w.sdf
"$troupe" check w.sdf >out 2>&1
grep -q 'ignored: 0.*warnings: 0' out
report $? "slotcars: the world has no warnings: $(cat out)"
played slotcars --secondaries 2

for name in drain charge; do
	echo "1 /charge_state name: '_enable_$name'
4000 /charge_state name: '_enable_$name' selected: true"
done | sort -n >charge.cmd
played charging --commands charge.cmd

building "$(slotcar tractor -4 0 0 | sed 's|<stop_distance>|<steering>ackermann</steering><lookahead_distance>2</lookahead_distance><min_turning_radius>1.5</min_turning_radius>&|; s|speed>0.[56]|speed>1|')" >w.sdf
"$troupe" check w.sdf >out 2>&1
grep -q 'ignored: 0.*warnings: 0' out
report $? "ackermann: the world has no warnings: $(cat out)"
played tractor --secondaries 1
sed 's/ackermann/skid/' w.sdf >wrong.sdf
"$troupe" check wrong.sdf >out 2>&1
grep -q "wrong.sdf:[0-9]*: .*'skid': expected diff_drive or ackermann" out
report $? "an unknown steering: $(cat out)"

building "$(lift "$lift_plugin")" >w.sdf
"$troupe" check w.sdf >out 2>&1
grep -q 'ignored: 0.*warnings: 0' out
report $? "lifts: the world has no warnings: $(cat out)"
played lifts --secondaries 2
building "$(lift "<plugin name='register_component' filename='libregister_component.so'><component name='Lift'>$floors$motion
	<cabin_joint_name>cabin_joint</cabin_joint_name><initial_floor>L1</initial_floor></component></plugin>")
	<plugin name='lift' filename='liblift.so'/><plugin name='door' filename='libdoor.so'/>" >w.sdf
played lifts --secondaries 1

building "$(workcell pantry dispenser 0)$(can coke 0)$(workcell hardware ingestor 4)$(slotcar car 0.3 0 0)$(slotcar other 0 -1 0)" >w.sdf
"$troupe" check w.sdf >out 2>&1
grep -q 'ignored: 0.*warnings: 0' out
report $? "dispensers and ingestors: the world has no warnings: $(cat out)"
played workcells --secondaries 2
# refused TOPIC MESSAGE WHY: one line says why
refused()
{
	echo "3 $1 $2" >wrong.cmd
	timeout 100 "$troupe" run w.sdf --commands wrong.cmd --iterations 9 --rtf 0 -v 0 >out 2>err
	[ $? = 1 ] && grep -q "step 3: $1: $3" err && [ "$(wc -l <err)" = 1 ]
	report $? "$1, '$3': $(cat err)"
}
refused /dispenser_requests "target_guid: 'pantry' request_guid: '$(printf %064d 0)'" 'request_guid has more than 63 bytes'
refused /ingestor_requests "target_guid: 'hardware'" 'request_guid is empty'
refused /fleet_states "name: 'f' $(printf "robots {name: 'r'} %.0s" $(seq 257))" 'the fleet has more than 256 robots'

building "$(readonly_robot caddy 7)$(slotcar car 0 0 0)$crowd" >w.sdf
"$troupe" check w.sdf >out 2>&1
grep -q 'ignored: 0.*warnings: 1' out && grep -q 'w.sdf:[0-9]*: .*there are no people: <scene_file> "scene_file.xml"' out
report $? "readonly robots, and a crowd without its files, which is named: $(cat out)"
mkdir menge
(cd menge && crowd_files)
MENGE_RESOURCE_PATH=$PWD/menge "$troupe" check w.sdf >out 2>&1
grep -q 'dynamic: 8).*ignored: 0.*warnings: 0' out
report $? "six people, whose files are in MENGE_RESOURCE_PATH: $(cat out)"
played readonly --secondaries 2

building "$(doors)" >w.sdf
# Each of these is left out, or refused, with a word.
while read -r from to what; do
	sed "s|$from|$to|" w.sdf >wrong.sdf
	"$troupe" check wrong.sdf >out 2>&1
	grep -q "wrong.sdf:[0-9]*: .*$what" out
	report $? "$to: $(cat out)"
done <<-END
	left_joint_name="left_joint" left_joint_name="no_joint" no_joint
	<v_max_door>0.5 <v_max_door>x v_max_door
	name="Door" name="Window" component
END
totals
