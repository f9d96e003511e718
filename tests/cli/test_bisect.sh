#!/bin/sh
# `troupe bisect` finds the same first steps as a look at a log of every step of the run itself, whatever the condition,
# says what is no condition and which names there are not, and needs few replays with --monotone.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"

cat >fall.sdf <<'EOF'
<sdf version="1.9"><world name="w">
  <physics type="ode"><max_step_size>0.002</max_step_size></physics>
  <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision></link></model>
  <model name="box_1"><pose>0 0 1 0 0.3 0.2</pose><link name="l"><collision name="c"><geometry><box><size>.4 .4 .4</size></box></geometry></collision></link></model>
  <model name="box_2"><pose>3 0 1.5 0 0 0</pose><link name="l"><collision name="c"><geometry><box><size>.4 .4 .4</size></box></geometry></collision>
    <sensor name="up" type="altimeter"><update_rate>50</update_rate></sensor></link></model>
  <model name="arm-1"><pose>0 3 2 0 0 0</pose>
    <link name="base"/><link name="hand"><pose>0.5 0 0 0 0 0</pose></link>
    <joint name="holds" type="fixed"><parent>world</parent><child>base</child></joint>
    <joint name="elbow" type="revolute"><parent>base</parent><child>hand</child><pose>-0.5 0 0 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint></model>
</world></sdf>
EOF
printf '%s\n' "700 /world/w/create sdf: '<sdf version=\"1.9\"><model name=\"late\"><pose>-3 0 .3 0 0 0</pose><link name=\"l\"><collision name=\"c\"><geometry><sphere><radius>.1</radius></sphere></geometry></collision></link></model></sdf>'" \
	>fall.commands
does 0 run fall.sdf --commands fall.commands --iterations 2500 --record drop --record-every 20 --log drop.csv \
	--log-every 1 --log-what 'model,joint,link,contact,sensor' -v 0

# What the log says. It was written by other code than that of the conditions: first steps by name of a rule.
cat >rules.py <<'EOF'
import csv, math, sys

states = {}
for row in csv.DictReader(open("drop.csv")):
    state = states.setdefault(int(row["step"]), {})
    if row["kind"] == "contact":
        state.setdefault("contacts", []).append((row["model"], row["model2"], float(row["depth"])))
    else:
        state[row["kind"], row["model"], row["name"]] = {
            k: float(v) for k, v in row.items() if v and k not in ("world", "kind", "model", "name", "model2", "name2")}


def model(state, name, column):
    return state["model", name, ""][column]


def place(state, name):
    return [model(state, name, c) for c in "xyz"]


def tilt(state, name):
    w, x, y, z = (model(state, name, c) for c in ("qw", "qx", "qy", "qz"))
    return math.acos(max(-1, min(1, 1 - 2 * (x * x + y * y))))


def touches(state, a, b):
    return any({a, b} == set(c[:2]) for c in state.get("contacts", []))


RULES = {
    "box_1.z < 0.5": lambda s: model(s, "box_1", "z") < 0.5,
    "box_2.vz < -3 and not box_1.z > 0.9": lambda s: model(s, "box_2", "vz") < -3 and not model(s, "box_1", "z") > 0.9,
    "contact(box_1, ground)": lambda s: touches(s, "box_1", "ground"),
    "contact('box_*', ground) and step > 300": None,
    "box_1.tilt < 5 deg": lambda s: tilt(s, "box_1") < math.radians(5),
    "box_1.speed*box_1.speed > 2 * 9.8 * 0.4": lambda s: sum(model(s, "box_1", c) ** 2 for c in ("vx", "vy", "vz")) > 2 * 9.8 * 0.4,
    "'arm-1'/elbow.velocity > 2": lambda s: s["joint", "arm-1", "elbow"]["velocity"] > 2,
    "'arm-1'/hand.z <= 1.6": lambda s: s["link", "arm-1", "hand"]["z"] <= 1.6,
    "distance(box_1, box_2) < 3.02": lambda s: math.dist(place(s, "box_1"), place(s, "box_2")) < 3.02,
    "min('box_*'.z) < 0.35": lambda s: min(model(s, "box_1", "z"), model(s, "box_2", "z")) < 0.35,
    "max('box_*'.z, 0.1) < 0.7": lambda s: max(model(s, "box_1", "z"), model(s, "box_2", "z")) < 0.7,
    "depth(box_1, ground) > 0.0005": lambda s: any(c[2] > 0.0005 for c in s.get("contacts", []) if "box_1" in c[:2]),
    "max('box_1'/\"*\".z, 0) < 0.4": lambda s: s["link", "box_1", "l"]["z"] < 0.4,
    "exists(late)": lambda s: ("model", "late", "") in s,
    "late.z < 0.2 or late.asleep": lambda s: ("model", "late", "") in s and model(s, "late", "z") < 0.2,
    "not box_1.asleep and box_1.vz < -1": lambda s: not model(s, "box_1", "asleep") and model(s, "box_1", "vz") < -1,
    "time >= 1.5": None,
}
for text, rule in RULES.items():
    if "contact('" in text:
        step = next(k for k, s in states.items() if k > 300 and (touches(s, "box_1", "ground") or touches(s, "box_2", "ground")))
    elif text == "time >= 1.5":
        step = 750
    else:
        step = next((k for k, s in sorted(states.items()) if rule(s)), -1)
    print("%d\t%s" % (step, text))
print("%d\t%s" % (next(k for k, s in states.items() if ("sensor", "box_2", "l::up") in s
                       and s["sensor", "box_2", "l::up"]["z"] < -0.5), "box_2/l::up.z < -0.5"))
EOF
python3 rules.py >expected 2>err
report $? 'the log has all that the rules ask for'
while IFS='	' read -r step text; do
	"$troupe" bisect --when "$text" drop >out 2>err
	[ $? = 0 ] && grep -q "^step $step, " out
	report $? "$text: expected step $step, found: $(head -n 1 out)"
	grep -qx 'found with 1 replay' out
	report $? "$text: more than one replay"
done <expected

# --- how it ends ---------------------------------------------------------------------------------------------------
first=$(sed -n 's/	box_1.z < 0.5$//p' expected)
does 0 bisect --while 'box_1.z >= 0.5' drop
said 'the step at which it is over' "^step $first, time .* s: not true any more: box_1.z >= 0.5$"
said 'the value there and before' "^  box_1.z +0\.49[0-9]*  \(step $((first - 1)): 0\.50[0-9]*\)$"
does 1 bisect --while 'box_1.z > -1' drop
said 'it holds' '^true to the end from step 0 to 2500$'
does 1 bisect --when 'box_1.z > 9' drop
said 'it never comes' '^never true from step 0 to 2500$'
does 0 bisect --when 'box_1.z < 0.5' --from-step 900 drop
said 'no state before --from-step' '^step 900, '
does 1 bisect --when 'step == 1000' --until-step 999 drop
said 'no state after --until-step' '^never true from step 0 to 999$'
does 0 bisect --when "contact(box_1, ground)" --from-step "$first" --secondaries 2 drop
said 'the same with two secondaries' "^step $(sed -n 's/	contact(box_1, ground)$//p' expected), "
does 0 bisect --when "exists('late') and min('*'.z) < 10" drop
said 'a pattern names whose value it is' "^  '\*'.z .*  ground$"
does 0 bisect --all --when 'step > 10 and step < 20 or step == 30' drop
[ "$(cut -d' ' -f2,6 out | tr '\n' ' ')" = '11,true 20,false 30,true 31,false ' ] ||
	[ "$(sed 's/^step \([0-9]*\), .*: /\1 /' out | tr '\n' ' ')" = '11 true 20 false 30 true 31 false ' ]
report $? "--all lists each change: $(cat out)"

# --- halving: what stays true is found in few replays ----------------------------------------------------------------
for step in 0 1 777 1234 2500; do
	does 0 bisect --monotone -v --when "step >= $step" drop
	said "halving finds step $step" "^step $step, "
done
replays=$(sed -n 's/^found with \([0-9]*\) replays*$/\1/p' out)
tried=$(grep -c ': false$' out)
[ "$replays" -ge 1 ] && [ "$replays" -le 20 ] && [ "$tried" -ge 2 ] && [ "$tried" -le 19 ]
report $? "halving takes $replays replays, and tries $tried states"
for text in 'late.z < 0.2' "exists(late) and late.z < 0.2"; do
	does 0 bisect --monotone --when "$text" drop
	said "halving finds $text" "^step $(sed -n 's/	late.z < 0.2 or late.asleep$//p' expected), "
done
does 0 bisect --monotone --while 'step < 1000' drop
said 'halving finds an end' '^step 1000, .* not true any more'

# --- what is refused -------------------------------------------------------------------------------------------------
# refuses PATTERN CONDITION
refuses()
{
	does 2 bisect --when "$2" drop
	[ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -qE -e "^troupe bisect: --when, $1" err
	report $? "$2: expected /$1/, found: $(cat err)"
}
refuses "column 10: the text ends here: expected a number" 'box_1.z <'
refuses "column 1: 'box_1.z': expected a condition" 'box_1.z'
refuses "column 1: 'box_1.z': expected a condition" 'box_1.z and step > 3'
refuses "column 14: 'step': expected a number, and not" '3 + 4 > 2 + (step > 3)'
refuses "column 4: '-1.z': expected a name with - in quotes" 'arm-1.z > 0'
refuses "column 7: '>': expected . and a quantity" 'box_1 > 0'
refuses "column 9: '=': expected == to compare" 'box_1.z = 3'
refuses "column 13: '3': expected an operator" 'box_1.z < 4 3'
refuses "column 1: ''box_\*'.z': expected min\(\) or max\(\)" "'box_*'.z < 4"
refuses "column 5: ''box_\*'.z': expected a pattern's quantity alone" "min('box_*'.z + 1) < 4"
refuses "column 17: '\)': expected , and another name" 'distance(box_1  ) < 2'
refuses "column 24: 'ground': expected \)" 'contact(box_1, ground, ground)'
refuses "column 7: the text ends here: expected \)" '(time '
refuses "column 17: no model is called 'bax_1': expected a model of world 'w', such as \"box_1\"" 'box_1.z < 4 and bax_1.z < 3'
refuses "column 1: model 'arm-1' has no link, joint or sensor 'elbo': expected one that it has, such as \"elbow\"" \
	"'arm-1'/elbo.velocity > 0"
refuses "column 1: arm-1/elbow has no quantity 'velocty': expected one that it has, such as \"velocity\"" \
	"'arm-1'/elbow.velocty > 0"
refuses "column 202: " "$(printf '%0250d' 0 | tr 0 '(')"
does 2 bisect drop
said 'no condition' 'expected --when CONDITION or --while CONDITION'
does 2 bisect --when 'step > 1' --while 'step > 1' drop
does 2 bisect --when 'step > 1' fall.sdf
said 'not a recording' '^troupe bisect: fall.sdf: not a recording'
does 2 bisect --when 'step > 1' --world v drop
said 'no such world' "no world 'v': expected one of the recording, such as \"w\""
does 2 bisect --when 'step > 1' --from-step 3000 drop
head -c 60000 drop >cut
does 1 bisect --when 'step > 2400' cut
said 'a recording that was cut off' 'warning: the recording was cut off'
totals
