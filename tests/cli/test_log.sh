#!/bin/sh
# Shows of `troupe run --log`: which samples and rows a log has; that the rows agree with the report; and that the
# bytes do not depend on the assignment, on the transport, or on a resume.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
need python3 || { totals; exit 1; }

# logged WHAT STATUS OPTION...: a run with this exit status
logged()
{
	what=$1 want=$2
	shift 2
	timeout $run_limit_s "$troupe" run --rtf 0 -v 0 "$@" >out 2>err
	status=$?
	[ $status = "$want" ]
	report $? "$what: exit status $status: $(head -n 1 err)"
}

# ask WHAT FILE.csv EXPRESSION: a Python expression over `rows`, a list of dictionaries with numbers where there are some, and
# `n(kind, model, name)`, the rows of an entity
cat >ask.py <<'END_OF_ASK'
import csv, json, sys, math
texts = {"world", "kind", "model", "name", "model2", "name2"}
with open(sys.argv[1], newline="") as file:
    lines = list(csv.reader(file))
assert all(len(line) == len(lines[0]) for line in lines)
rows = [{k: v if k in texts or v == "" else float(v) for k, v in zip(lines[0], line)} for line in lines[1:]]
def n(kind, model="", name=""):
    return [r for r in rows if (r["kind"], r["model"], r["name"]) == (kind, model, name)]
def near(a, b, by):
    return abs(a - b) <= by
kinds = {r["kind"] for r in rows}
steps = sorted({r["step"] for r in rows})
good = eval(sys.argv[2])
if not good:
    print("not so:", sys.argv[2], "kinds", kinds, "steps", steps[:3], "...", steps[-3:])
sys.exit(0 if good else 1)
END_OF_ASK
ask()
{
	python3 ask.py "$2" "$3" >answer 2>&1
	report $? "$1: $(tail -n 1 answer)"
}

cat >w.sdf <<'END_OF_WORLD'
<sdf version="1.9"><world name="w">
  <physics type="ode"><max_step_size>0.001</max_step_size></physics>
  <model name="floor"><static>1</static><pose>0 0 -0.5 0 0 0</pose><link name="l"><collision name="c"><geometry><box><size>50 50 1</size></box></geometry></collision></link></model>
  <model name="ball"><pose>0 0 5 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link></model>
  <model name="a &quot;b&quot;, c"><pose>3 0 0.5 0 0 0</pose><link name="l"><collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link></model>
  <model name="arm"><pose>0 5 1 0 0 0</pose><link name="base"><kinematic>1</kinematic></link>
    <link name="hand"><pose>0.5 0 0 0 0 0</pose></link>
    <joint name="elbow" type="revolute"><parent>base</parent><child>hand</child><axis><xyz>0 0 1</xyz></axis></joint>
    <plugin name="gz::sim::systems::JointController" filename=""><joint_name>elbow</joint_name><initial_velocity>2</initial_velocity></plugin></model>
</world></sdf>
END_OF_WORLD

# --- samples and rows ----------------------------------------------------------------------------------------------
logged 'a log' 0 w.sdf --iterations 95 --log a.csv --report a.json
ask 'every 10 ms, from the beginning' a.csv 'steps == list(range(0, 91, 10)) and all(near(r["time"], r["step"] / 1000, 1e-12) for r in rows)'
ask 'the usual kinds' a.csv 'kinds == {"model", "joint"} and {r["world"] for r in rows} == {"w"}'
ask 'one row for each entity and sample' a.csv 'len(rows) == 10 * 4 and len({(r["step"], r["kind"], r["model"], r["name"]) for r in rows}) == 40'
ask 'no static model' a.csv 'not n("model", "floor")'
ask 'a body that falls' a.csv 'all(near(r["vz"], -9.8 * r["time"], 1e-9) and r["x"] == 0 and r["qw"] == 1 for r in n("model", "ball"))'
ask 'a joint that turns' a.csv 'all(r["axis"] == 1 and near(r["velocity"], 2, 1e-6) and near(r["position"], 2 * r["time"], 1e-6) for r in n("joint", "arm", "elbow")[1:])'
ask 'names with commas and quotes' a.csv 'len(n("model", "a \"b\", c")) == 10'
ask 'no secondary, no effort' a.csv 'all(r["secondary"] == "" and r["effort"] == "" for r in rows)'
head -n 1 a.csv >columns
# each of several worlds has its own samples, up to the step at which it ends
sed 's|world name="w"|world name="v"|; s|<max_step_size>0.001|<max_step_size>0.002|; 1s|<sdf[^>]*>||; s|</sdf>||' w.sdf >second
sed 's|</sdf>||' w.sdf | cat - second >two.sdf
echo '</sdf>' >>two.sdf
logged 'two worlds' 0 two.sdf --iterations 95 --log two.csv
ask 'each world has its samples' two.csv 'all(len({(r["step"], r["kind"], r["model"], r["name"]) for r in rows if r["world"] == w}) == len([r for r in rows if r["world"] == w]) for w in ("v", "w"))'
for step_s in 0.002:5 0.004:3 0.02:1 0.0003:33; do
	sed "s|<max_step_size>0.001|<max_step_size>${step_s%:*}|" w.sdf >s.sdf
	logged "steps of ${step_s%:*} s" 0 s.sdf --iterations 100 --log s.csv
	ask "steps of ${step_s%:*} s: samples every ${step_s#*:}" s.csv "steps == list(range(0, 101, ${step_s#*:}))"
done
logged '--log-every' 0 w.sdf --iterations 20 --log e.csv --log-every 7
ask '--log-every 7' e.csv 'steps == [0, 7, 14]'
logged 'a run of no length' 0 w.sdf --iterations 1 --log z.csv --log-every 1000
ask 'one sample' z.csv 'steps == [0]'
printf '5 /world/w/control pause: true\n15 /world/w/control pause: false\n17 /world/w/set_physics max_step_size: 0.01\n' >commands
logged 'pauses and other steps' 0 w.sdf --iterations 20 --log p.csv --log-every 1 --commands commands
ask 'time stands still, and goes faster' p.csv '[r["time"] for r in n("model", "ball")][14:] == [0.005, 0.005, 0.006, 0.007, 0.017, 0.027, 0.037]'
printf '30 /world/w/set_physics max_step_size: 0.002\n' >commands
logged 'the default interval, and other steps' 0 w.sdf --iterations 60 --log d.csv --commands commands --save-at 40 state
ask '10 ms from sample to sample' d.csv 'steps == [0, 10, 20, 30, 35, 40, 45, 50, 55, 60]'
logged 'and resumed' 0 --resume state --iterations 60 --log r.csv
ask 'the same interval when it is resumed' r.csv 'steps == [40, 45, 50, 55, 60]'
awk -F, 'NR > 1 && $1 >= 40' d.csv >rest
tail -n +2 r.csv | cmp -s - rest
report $? 'the same rows when it is resumed'
# a joint of the world of which a model was removed does not move
cat >loose.sdf <<'END_OF_WORLD'
<sdf version="1.9"><world name="w"><model name="a"><link name="l"/></model><model name="b"><pose>2 0 0 0 0 0</pose><link name="l"/></model>
<joint name="j" type="revolute"><pose relative_to="a::l"/><parent>a::l</parent><child>b::l</child><axis><xyz>0 0 1</xyz></axis></joint></world></sdf>
END_OF_WORLD
printf '0 /world/w/wrench entity {name: "a"} wrench {force {y: 100} torque {z: 50}}\n10 /world/w/remove name: "a"\n' >commands
logged 'a joint without its parent' 0 loose.sdf --iterations 20 --log j.csv --log-every 1 --log-what joint --commands commands --save-at 12 state
ask 'it turns, and then stands' j.csv 'all(abs(r["velocity"]) > 0.01 for r in rows if 2 < r["step"] <= 10) and all(r["velocity"] == 0 for r in rows if r["step"] > 10) and len(rows) == 21'
logged 'and resumed' 0 --resume state --iterations 20 --log r.csv --log-every 1 --log-what joint
awk -F, 'NR > 1 && $1 >= 12' j.csv >rest
tail -n +2 r.csv | cmp -s - rest
report $? "the joint in a resumed run: $(tail -n +2 r.csv | diff rest - | sed -n 2,3p)"
printf '%s\n' "10 /world/w/create sdf: '<sdf version=\"1.9\"><model name=\"new\"><link name=\"l\"/></model></sdf>'" \
	'30 /world/w/remove name: "new"' '40 /world/w/remove name: "ball"' >commands
logged 'models that come and go' 0 w.sdf --iterations 60 --log m.csv --log-every 5 --commands commands
ask 'rows come and go' m.csv '[r["step"] for r in n("model", "new")] == [15, 20, 25, 30] and [r["step"] for r in n("model", "ball")][-1] == 40'
sed 's|</sdf>||' w.sdf >two.sdf
echo '<world name="v"><model name="ball"><link name="l"/></model></world></sdf>' >>two.sdf
logged 'two worlds' 0 two.sdf --iterations 20 --log two.csv
ask 'rows of two worlds' two.csv '[(r["world"], r["step"]) for r in n("model", "ball")] == [("w", 0), ("v", 0), ("w", 10), ("v", 10), ("w", 20), ("v", 20)]'

# --- patterns ------------------------------------------------------------------------------------------------------
logged 'links and contacts' 0 w.sdf --iterations 20 --log c.csv --log-what 'link:arm,contact'
ask 'links and contacts' c.csv 'kinds == {"link", "contact"} and len(n("link", "arm", "hand")) == 3 and not n("link", "ball", "l")'
ask 'a box stands on the floor' c.csv 'all(r["depth"] >= 0 and near(r["z"], 0, 1e-3) and near(abs(r["nz"]), 1, 1e-9) and {r["model"], r["model2"]} == {"floor", "a \"b\", c"} and r["name"] == r["name2"] == "l::c" for r in rows if r["kind"] == "contact") and len([r for r in rows if r["kind"] == "contact"]) >= 4'
logged 'contacts of one' 0 w.sdf --iterations 20 --log c.csv --log-what 'contact:ball'
ask 'no contacts of a ball in the air' c.csv 'not rows'
logged 'efforts' 0 w.sdf --iterations 20 --log f.csv --log-what 'effort' --report f.json
ask 'efforts' f.csv 'kinds == {"joint"} and all(r["effort"] != "" for r in rows) and near(n("joint", "arm", "elbow")[1]["effort"], 0, 1e-6)'
sed 's|<model name="arm">|<model name="bat"><pose>9 9 9 0 0 0</pose><link name="l"/></model>&|' w.sdf >b.sdf
logged 'secondaries' 0 b.sdf --iterations 20 --secondaries 2 --log o.csv --log-what 'secondary:ba*,model:arm,model:b*'
ask 'secondaries' o.csv 'all(r["secondary"] in ((1, 2) if r["step"] else (0,)) for r in n("model", "ball") + n("model", "bat")) and all(r["secondary"] == "" for r in n("model", "arm")) and len(rows) == 9'
logged 'one model' 0 w.sdf --iterations 20 --log o.csv --log-what 'arm'
ask 'one model' o.csv 'kinds == {"model", "joint"} and {r["model"] for r in rows} == {"arm"}'
"$troupe" run w.sdf --rtf 0 --iterations 20 --log none.csv --log-what 'arms,contact:bal' 2>err
grep -q "^warning: none.csv: the log has no row: the run had nothing that --log-what 'arms,contact:bal' chooses" err
report $? "a pattern that chooses nothing: $(head -n 1 err)"
for file in c f o e m two; do
	head -n 1 $file.csv | cmp -s - columns
	report $? "the columns of $file.csv are others"
done

# --- the report says the same --------------------------------------------------------------------------------------
cat >compare.py <<'END_OF_COMPARE'
import csv, json, sys
report = json.load(open(sys.argv[1]))
rows = [r for r in csv.DictReader(open(sys.argv[2], newline=""))]
last = [r for r in rows if r["step"] == str(report["iterations"])]
compared = 0
def same(row, columns, numbers):
    global compared
    for column, number in zip(columns.split(), numbers):
        assert float(row[column]) == number, (row["kind"], row["model"], row["name"], column, row[column], number)
        compared += 1
for model in report["models"]:
    for row in last:
        if row["model"] != model["name"]:
            continue
        if row["kind"] == "model":
            same(row, "x y z qw qx qy qz vx vy vz wx wy wz", model["pose"] + model["twist"])
            same(row, "asleep", [model["asleep"]])
        if row["kind"] == "odometry":
            o, d = model["odometry"], model["drift"]
            same(row, "x y yaw vx wz", [o[k] for k in ("x", "y", "yaw", "linear", "angular")])
            same(row, "drift drift_yaw tilt", [d[k] for k in ("position", "yaw", "tilt")])
        if row["kind"] == "joint":
            joint = next(j for j in model["joints"] if j["name"] == row["name"])
            axis = int(row["axis"]) - 1
            same(row, "position velocity", [joint["position"][axis], joint["velocity"][axis]])
            assert ("effort" in joint) == (row["effort"] != "")
            if row["effort"]:
                same(row, "effort", [joint["effort"][axis]])
print(compared)
sys.exit(0 if compared >= int(sys.argv[3]) else 1)
END_OF_COMPARE
logged 'a cart' 0 "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --iterations 300 --log cart.csv --log-what '*' --report cart.json
python3 compare.py cart.json cart.csv 200 >answer 2>&1
report $? "log and report of carts: $(tail -n 1 answer)"
logged 'mechanisms' 0 "$worlds/mechanisms.sdf" --iterations 300 --log mech.csv --log-what 'model,effort' --report mech.json
python3 compare.py mech.json mech.csv 200 >answer 2>&1
report $? "log and report of mechanisms: $(tail -n 1 answer)"
ask 'axes of their own' mech.csv '{r["axis"] for r in n("joint", "gripper", "hang")} == {1, 2}'
python3 -c 'import json, sys; m = {m["name"]: m for m in json.load(open("a.json"))["models"]}; b = m["ball"]
sys.exit(not (abs(b["twist"][2] + 9.8 * 0.095) < 1e-9 and "joints" not in b and "effort" not in m["arm"]["joints"][0]))' 2>err
report $? 'the report of a run without efforts'

# --- sensors -------------------------------------------------------------------------------------------------------
seen='<visual name="v"><geometry><box><size>1 1 1</size></box></geometry></visual>'
cat >sensed.sdf <<END_OF_WORLD
<sdf version="1.9"><world name="w"><gravity>0 0 -10</gravity><magnetic_field>1e-5 2e-5 3e-5</magnetic_field>
  <spherical_coordinates><latitude_deg>47</latitude_deg><longitude_deg>8</longitude_deg><elevation>400</elevation></spherical_coordinates>
  <model name="floor"><static>1</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision></link></model>
  <model name="wall"><static>1</static><pose>3.5 0 0.5 0 0 0</pose><link name="l">$seen</link></model>
  <model name="box"><pose>0 0 0.5 0 0 0</pose><link name="l"><collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision>
    <sensor name="i" type="imu"><update_rate>1000</update_rate></sensor><sensor name="t" type="contact"><update_rate>50</update_rate>
    <contact><collision>c</collision></contact></sensor><sensor name="m" type="magnetometer"><update_rate>50</update_rate></sensor>
    <sensor name="n" type="navsat"><update_rate>50</update_rate></sensor><sensor name="s" type="air_speed"><update_rate>50</update_rate></sensor>
    <sensor name="p" type="air_pressure"><update_rate>50</update_rate></sensor><sensor name="o" type="logical_camera"/>
    <sensor name="r" type="lidar"><update_rate>50</update_rate><lidar><scan><horizontal><samples>3</samples><min_angle>-0.1</min_angle>
    <max_angle>0.1</max_angle></horizontal></scan><range><min>0.1</min><max>9</max></range></lidar></sensor></link>
    <link name="hand"><pose>0 0 1 0 0 0</pose><inertial><mass>2</mass></inertial></link><joint name="j" type="fixed"><parent>l</parent>
    <child>hand</child><sensor name="f" type="force_torque"><update_rate>50</update_rate></sensor></joint></model>
  <model name="ball"><pose>50 0 90 0 0 0</pose><link name="l"><sensor name="a" type="altimeter"><update_rate>30</update_rate></sensor></link></model>
</world></sdf>
END_OF_WORLD
logged 'sensors' 0 sensed.sdf --iterations 500 --log s.csv --log-what 'sensor,model:ball' --report s.json
ask 'a row for each sample' s.csv '[len(n("sensor", "box", "l::" + s)) for s in "imnpst"] == [500, 25, 25, 25, 25, 25]'
ask 'pictures and lists have no row' s.csv 'not n("sensor", "box", "l::o") and kinds == {"sensor", "model"}'
ask 'a box at rest' s.csv 'all(near(r["az"], 10, 1e-6) and near(r["ax"], 0, 1e-6) and near(r["qw"], 1, 1e-9) for r in n("sensor", "box", "l::i")[20:])'
ask 'its contacts' s.csv 'all(r["contacts"] >= 3 and 0 <= r["depth"] < 1e-2 for r in n("sensor", "box", "l::t")[2:])'
ask 'the magnetic field' s.csv 'all(near(r["bx"], 1e-5, 1e-9) and near(r["by"], 2e-5, 1e-9) and near(r["bz"], 3e-5, 1e-9) for r in n("sensor", "box", "l::m"))'
ask 'its place on earth' s.csv 'all(near(r["latitude"], 47, 1e-9) and near(r["longitude"], 8, 1e-9) and near(r["altitude"], 400.5, 1e-3) for r in n("sensor", "box", "l::n"))'
ask 'the air' s.csv 'all(near(r["pressure"], 101325 * (1 - 0.0065 * 400.5 / 288.15) ** 5.2559, 5) for r in n("sensor", "box", "l::p")) and all(250 < r["temperature"] < 300 for r in n("sensor", "box", "l::s"))'
ask 'the weight of the hand' s.csv 'near((lambda r: abs(r["fz"]))(n("sensor", "box", "j::f")[-1]), 20, 1e-3)'
ask 'a fall, at 30 Hz' s.csv '[r["step"] for r in n("sensor", "ball", "l::a")] == [34, 67, 100, 134, 167, 200, 234, 267, 300, 334, 367, 400, 434, 467, 500] and all(near(r["vz"], -10 * r["time"], 1e-9) and near(r["time"], r["step"] / 1000, 1e-9) for r in n("sensor", "ball", "l::a"))'
ask 'a row of another kind has empty cells' s.csv 'all(r["ax"] == "" and r["range"] == "" and r["asleep"] != "" for r in n("model", "ball"))'
ask 'the same columns first' s.csv "','.join(lines[0]).startswith(open('columns').read().strip() + ',')"
if "$troupe" topics sensed.sdf 2>/dev/null | grep -q LaserScan; then
	ask 'the wall, in states from the first one' s.csv '[r["step"] for r in n("sensor", "box", "l::r")] == list(range(0, 500, 20)) and all(near(r["range"], 3, 1e-2) for r in n("sensor", "box", "l::r"))'
else
	skip 'lidars in the log' 'built without Embree'
fi
logged 'one sensor' 0 sensed.sdf --iterations 100 --log one.csv --log-what 'sensor:box/l::m' --report one.json
ask 'one of them' one.csv '{(r["model"], r["name"]) for r in rows} == {("box", "l::m")}'
python3 -c 'import json, sys; a, b = [json.load(open(f)) for f in ("s.json", "one.json")]; sys.exit(not b["readings"] == 5 < a["readings"])' 2>err
report $? 'others do not measure'
"$troupe" plot s.csv --what sensor:ball --out s.svg 2>err && grep -q 'z (m)' s.svg
report $? "the altimeter can be drawn: $(cat err)"
# sensors of a model that comes, goes, and comes back with a reset
cat >probe.sdf <<-'END_OF_WORLD'
	<sdf version="1.9"><model name="probe"><static>1</static><link name="l"><sensor name="m" type="magnetometer"/></link></model></sdf>
END_OF_WORLD
cat >probe.commands <<-'END_OF_COMMANDS'
	33 /world/w/create sdf_filename: "probe.sdf" name: "probe"
	60 /world/w/remove name: "probe" type: MODEL
END_OF_COMMANDS
logged 'a sensor that comes and goes' 0 sensed.sdf --iterations 100 --commands probe.commands --log p.csv --log-every 25 --log-what 'sensor:probe,model'
ask 'its samples' p.csv '[r["step"] for r in n("sensor", "probe", "l::m")] == list(range(35, 61))'

# --- the same bytes ------------------------------------------------------------------------------------------------
# same WORLD STEPS SAVE: all kinds, over placements, transports and resumes
same()
{
	world=$1 steps=$2 save=$3
	commands=$worlds/$world.commands
	[ -e "$commands" ] || commands=/dev/null
	everything='model,link,joint,contact,odometry,effort,sensor'
	set -- "$worlds/$world.sdf" --commands "$commands" --iterations "$steps" --log-every 4 --log-what "$everything"
	logged "$world: alone" 0 "$@" --secondaries 0 --log alone.csv --save-at "$save" state
	[ "$(wc -l <alone.csv)" -gt "$steps" ]
	report $? "$world: the log has many rows"
	for how in '--secondaries 1' '--secondaries 3 --chaos 5' '--secondaries 2 --distribution balanced' \
		'--transport tcp --network-stale-ms 60000 --secondaries 2 --chaos 3'; do
		# shellcheck disable=SC2086
		logged "$world: $how" 0 "$@" $how --log other.csv
		cmp -s alone.csv other.csv
		report $? "$world: $how: another log"
	done
	logged "$world: recorded, saved and so on" 0 "$@" --secondaries 2 --log other.csv --record record --save-every 7 every
	cmp -s alone.csv other.csv
	report $? "$world: with files of other kinds: another log"
	{ head -n 1 alone.csv; awk -F, -v from="$save" 'NR > 1 && $1 + 0 >= from' alone.csv; } >rest.csv
	for how in '--secondaries 0' '--transport tcp --network-stale-ms 60000 --secondaries 2'; do
		# shellcheck disable=SC2086
		logged "$world: resumed, $how" 0 --resume state --iterations "$steps" --log-every 4 --log-what "$everything" $how \
			--log other.csv
		cmp -s rest.csv other.csv
		report $? "$world: resumed at step $save, $how: another log"
	done
	rm -f record every
}
same meeting "$(amount 60 240 240)" 30
same mechanisms "$(amount 60 200 200)" 40
same spawn "$(amount 60 240 1000)" 50
same warehouse "$(amount 20 80 400)" 10
# The bytes of only one column depend on the run: the secondary that simulates a model.
set -- "$worlds/meeting.sdf" --commands "$worlds/meeting.commands" --iterations 60 --log-what secondary
logged 'one secondary' 0 "$@" --secondaries 1 --log alone.csv
logged 'three' 0 "$@" --secondaries 3 --log other.csv
! cmp -s alone.csv other.csv && sed 's/,[0-9]*$/,/' alone.csv >rest.csv && sed 's/,[0-9]*$/,/' other.csv | cmp -s - rest.csv
report $? 'with the secondary: only the last column differs'

# --- a model that is placed on the globe ---------------------------------------------------------------------------
# The same place by way of the coordinates that are centred in the earth (WGS 84). x points 30 degrees north of east.
cat >globe.sdf <<'END'
<sdf version="1.9"><world name="globe"><gravity>0 0 0</gravity><spherical_coordinates>
<surface_model>EARTH_WGS84</surface_model><latitude_deg>47.5</latitude_deg><longitude_deg>8.5</longitude_deg>
<elevation>400</elevation><heading_deg>30</heading_deg></spherical_coordinates></world></sdf>
END
cat >globe.commands <<'END'
5 /world/globe/create sdf: "<sdf version='1.9'><model name='m'><link name='l'/></model></sdf>" pose {position {x: 7 y: 8 z: 9}} spherical_coordinates {latitude_deg: 47.501 longitude_deg: 8.503 elevation: 450 heading_deg: 90}
END
cat >globe.py <<'END'
import math
def centred(latitude, longitude, height):
    a, f = 6378137.0, 1 / 298.257223563
    e2 = f * (2 - f)
    lat, lon = math.radians(latitude), math.radians(longitude)
    n = a / math.sqrt(1 - e2 * math.sin(lat) ** 2)
    return ((n + height) * math.cos(lat) * math.cos(lon), (n + height) * math.cos(lat) * math.sin(lon),
            (n * (1 - e2) + height) * math.sin(lat))
at, origin = centred(47.501, 8.503, 450), centred(47.5, 8.5, 400)
d = [p - q for p, q in zip(at, origin)]
lat, lon, turn = math.radians(47.5), math.radians(8.5), math.radians(30)
east = -math.sin(lon) * d[0] + math.cos(lon) * d[1]
north = -math.sin(lat) * (math.cos(lon) * d[0] + math.sin(lon) * d[1]) + math.cos(lat) * d[2]
up = math.cos(lat) * (math.cos(lon) * d[0] + math.sin(lon) * d[1]) + math.sin(lat) * d[2]
print(f"dict(x={east * math.cos(turn) + north * math.sin(turn)!r}, y={north * math.cos(turn) - east * math.sin(turn)!r}, "
      f"z={up!r}, qw=math.sqrt(0.5), qz=math.sqrt(0.5))")
END
logged 'placed on the globe' 0 globe.sdf --commands globe.commands --iterations 20 --log globe.csv
ask 'a model is where its latitude and longitude are' globe.csv \
	"all(near(n('model', 'm')[-1][k], v, 1e-6) for k, v in $(python3 globe.py).items())"
# another place of the world has the same effect as one of the file, for what comes later; a model can be placed there, too
sed 's|<spherical_coordinates>.*|<spherical_coordinates/>|; /<surface_model>/d; /<elevation>/s|.*|</world></sdf>|' globe.sdf >nowhere.sdf
{
	echo '3 /world/globe/set_spherical_coordinates latitude_deg: 47.5 longitude_deg: 8.5 elevation: 400 heading_deg: 30'
	cat globe.commands
} >moved.commands
logged 'with another place of the world' 0 nowhere.sdf --commands moved.commands --iterations 20 --log moved.csv
cmp -s globe.csv moved.csv
report $? 'a place that a command gave is as good as that of the file'
logged 'without it' 0 nowhere.sdf --commands globe.commands --iterations 20 --log nowhere.csv
! cmp -s globe.csv nowhere.csv
report $? 'without it the place is another one'
{
	echo '3 /world/globe/create sdf: "<sdf version='"'1.9'><model name='m'><link name='l'/></model></sdf>"'"'
	echo '5 /world/globe/set_spherical_coordinates latitude_deg: 47.501 longitude_deg: 8.503 elevation: 450 heading_deg: 90 entity {name: "m"}'
} >entity.commands
logged 'a model is sent to a place' 0 globe.sdf --commands entity.commands --iterations 20 --log entity.csv
ask 'a model goes where its latitude and longitude are' entity.csv \
	"all(near(n('model', 'm')[-1][k], v, 1e-6) for k, v in $(python3 globe.py).items())"
sed 's/latitude_deg: 47.5 /latitude_deg: 91 /' moved.commands >beyond.commands
logged 'the world beyond the pole' 1 nowhere.sdf --commands beyond.commands --iterations 20
grep -q 'spherical_coordinates: expected a latitude_deg from -90 to 90' err
report $? 'a world beyond the pole is refused'
sed 's/latitude_deg: 47.501/latitude_deg: 90.5/' globe.commands >beyond.commands
logged 'beyond the pole' 1 globe.sdf --commands beyond.commands --iterations 20
grep -q 'spherical_coordinates: expected a latitude_deg from -90 to 90' err
report $? 'a latitude beyond the pole is refused'

# --- a run that is stopped -----------------------------------------------------------------------------------------
"$troupe" run w.sdf --rtf 1 -v 0 --log stop.csv >out 2>err &
i=0
until [ "$(cat stop.csv 2>/dev/null | wc -l)" -gt 9 ] || [ $i -ge 600 ]; do # whole rows of two steps
	sleep 0.1
	i=$((i + 1))
done
kill -s TERM $!
wait $!
report $? "stopped: exit status $?"
ask 'whole rows, as far as it came' stop.csv 'len(steps) >= 2 and steps == list(range(0, int(steps[-1]) + 1, 10)) and len(rows) == 4 * len(steps)'
"$troupe" plot stop.csv --out stop.svg 2>err && python3 -c 'import xml.dom.minidom as dom; dom.parse("stop.svg")' 2>err
report $? "the log can be drawn: $(cat err)"
totals
