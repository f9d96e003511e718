#!/bin/sh
# `troupe diff` names the first difference of two recordings: the step and the value that logs of each step of the runs
# themselves show, whatever the interval of the recorded states; and it says why: a command, or another world.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"

cat >w.sdf <<'EOF'
<sdf version="1.9"><world name="w">
  <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane/></geometry></collision></link></model>
  <model name="box"><pose>0 0 1 0 0.3 0.2</pose><link name="l"><collision name="c"><geometry><box><size>.4 .4 .4</size></box></geometry></collision></link></model>
  <model name="ball"><pose>3 0 1.5 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>.2</radius></sphere></geometry></collision></link></model>
</world></sdf>
EOF
sed 's/<radius>.2</<radius>.21</' w.sdf >larger.sdf
grep -v '"ball"' w.sdf >other.sdf
echo "2600 /world/w/wrench entity: {name: 'ball' type: MODEL} wrench: {force: {x: 0.001}}" >late.commands

# recorded NAME WORLD EVERY ARGUMENT...
recorded()
{
	name=$1
	world=$2
	every=$3
	shift 3
	does 0 run "$world" --record "$name" --record-every "$every" --log "$name.csv" --log-every 1 -v 0 "$@"
}
recorded a w.sdf 20 --iterations 3000
recorded b w.sdf 20 --iterations 3000 --commands late.commands
recorded c larger.sdf 20 --iterations 3000
recorded short w.sdf 70 --iterations 2000

# first A B COLUMN MODEL: the step at which this column of the model differs in the logs, and both values
first()
{
	awk -F, -v model="$4" -v column="$3" '
		FNR == 1 { for (i = 1; i <= NF; i++) if ($i == column) at = i; next }
		$4 != "model" || $5 != model { next }
		NR == FNR { value[$1] = $at; next }
		value[$1] != $at { print $1, value[$1], $at; exit }' "$1.csv" "$2.csv"
}

does 0 diff a a
said 'equal' '^the same from step 0 to 3000$'
cp a again
does 0 diff a again
does 1 diff a short
said 'one that ends before' '^the same from step 0 to 2000; A ends at step 3000, B at step 2000$'

first a b x ball >step
read -r step one two <step
does 1 diff a b --out chart.svg
said 'the step and the word' "^step $step: world 'w': model 'ball', link 'l': position x$"
said 'the value of A, as decimal and as bits' "^  A $one +[0-9a-f]{16}$"
said 'the value of B' "^  B $two +[0-9a-f]{16}$"
said 'up to where they are the same' "^the same up to step $((step - 1))$"
said 'what was commanded, and that A had nothing' "^  A none up to step $step$"
said 'what was commanded' '^  B step 2600: /world/w/wrench entity {name: "ball" '
said 'what was commanded in the step before' '^commands of step 2600:$'
said 'a row of the table' "^$step +$one +$two "
grep -q '<svg' chart.svg && grep -q 'position x' chart.svg
report $? 'the chart'
bits=$(sed -n 's/^  B [^ ]* *\([0-9a-f]*\)$/\1/p' out)
python3 -c 'import struct, sys; sys.exit(struct.unpack(">d", bytes.fromhex(sys.argv[1]))[0] != float(sys.argv[2]))' "$bits" "$two"
report $? "the bits $bits are not $two"
does 1 diff b a --secondaries 2
said 'the other way round' "^  A $two +$bits$"

first a c z ball >step
read -r step one two <step
does 1 diff a c
said 'another world: the step' "^step $step: world 'w': model 'ball', link 'l': position z$"
said 'another world: the values' "^$step +$one +$two "
said 'another world: why' '^commands: the same up to there; the worlds, seeds or settings differ$'
recorded d other.sdf 20 --iterations 10
does 1 diff a d
said 'a model of another name' "^step 0: world 'w': model 'ball' is only in the first$"

# --- trouble ---------------------------------------------------------------------------------------------------------
does 2 diff a
said 'one argument' 'no B given'
does 2 diff a b c
said 'three arguments' "'c': one argument too many: expected 2"
does 2 diff a w.sdf
said 'no recording' '^troupe diff: w.sdf: not a recording'
does 2 diff a missing
does 2 diff a b --out a
said 'the chart would replace a recording' '^troupe diff: '
head -c 30 a >cut
does 2 diff a cut
said 'cut off' 'cut off before its first state'
size=$(wc -c <a)
head -c $((size / 2)) a >half
does 1 diff a half
said 'half of one' '^the same from step 0 to [0-9]*; A ends at step 3000'
totals
