#!/bin/sh
# test limit: 400
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
	check "$what: exit status $status: $(head -n 1 err)" $?
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
	check "$1: $(tail -n 1 answer)" $?
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
for file in c f o e m two; do
	head -n 1 $file.csv | cmp -s - columns
	check "the columns of $file.csv are others" $?
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
check "log and report of carts: $(tail -n 1 answer)" $?
logged 'mechanisms' 0 "$worlds/mechanisms.sdf" --iterations 300 --log mech.csv --log-what 'model,effort' --report mech.json
python3 compare.py mech.json mech.csv 200 >answer 2>&1
check "log and report of mechanisms: $(tail -n 1 answer)" $?
ask 'axes of their own' mech.csv '{r["axis"] for r in n("joint", "gripper", "hang")} == {1, 2}'
python3 -c 'import json, sys; m = {m["name"]: m for m in json.load(open("a.json"))["models"]}; b = m["ball"]
sys.exit(not (abs(b["twist"][2] + 9.8 * 0.095) < 1e-9 and "joints" not in b and "effort" not in m["arm"]["joints"][0]))' 2>err
check 'the report of a run without efforts' $?

# --- the same bytes ------------------------------------------------------------------------------------------------
# same WORLD STEPS SAVE: all kinds, over placements, transports and resumes
same()
{
	world=$1 steps=$2 save=$3
	commands=$worlds/$world.commands
	[ -e "$commands" ] || commands=/dev/null
	everything='model,link,joint,contact,odometry,effort'
	set -- "$worlds/$world.sdf" --commands "$commands" --iterations "$steps" --log-every 4 --log-what "$everything"
	logged "$world: alone" 0 "$@" --secondaries 0 --log alone.csv --save-at "$save" state
	[ "$(wc -l <alone.csv)" -gt "$steps" ]
	check "$world: the log has many rows" $?
	for how in '--secondaries 1' '--secondaries 3 --chaos 5' '--secondaries 2 --distribution balanced' \
		'--transport tcp --secondaries 2 --chaos 3'; do
		# shellcheck disable=SC2086
		logged "$world: $how" 0 "$@" $how --log other.csv
		cmp -s alone.csv other.csv
		check "$world: $how: another log" $?
	done
	logged "$world: recorded, saved and so on" 0 "$@" --secondaries 2 --log other.csv --record record --save-every 7 every
	cmp -s alone.csv other.csv
	check "$world: with files of other kinds: another log" $?
	{ head -n 1 alone.csv; awk -F, -v from="$save" 'NR > 1 && $1 + 0 >= from' alone.csv; } >rest.csv
	for how in '--secondaries 0' '--transport tcp --secondaries 2'; do
		# shellcheck disable=SC2086
		logged "$world: resumed, $how" 0 --resume state --iterations "$steps" --log-every 4 --log-what "$everything" $how \
			--log other.csv
		cmp -s rest.csv other.csv
		check "$world: resumed at step $save, $how: another log" $?
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
check 'with the secondary: only the last column differs' $?

# --- a run that is stopped -----------------------------------------------------------------------------------------
"$troupe" run w.sdf --rtf 1 -v 0 --log stop.csv >out 2>err &
i=0
while [ ! -s stop.csv ] && [ $i -lt 100 ]; do
	sleep 0.1
	i=$((i + 1))
done
kill -s TERM $!
wait $!
check "stopped: exit status $?" $?
ask 'whole rows, as far as it came' stop.csv 'len(steps) >= 2 and steps == list(range(0, int(steps[-1]) + 1, 10)) and len(rows) == 4 * len(steps)'
"$troupe" plot stop.csv --out stop.svg 2>err && python3 -c 'import xml.dom.minidom as dom; dom.parse("stop.svg")' 2>err
check "the log can be drawn: $(cat err)" $?
totals
