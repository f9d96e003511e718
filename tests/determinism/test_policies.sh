#!/bin/sh
# Policies, pins and the table of costs. The bits do not depend on the assignment; pins hold; the table shows the
# assignment. No check here depends on how long anything takes.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

steps=$(amount 400 1000 1400 2000)
table=$scratch/costs.csv

# had NODE: the secondaries that simulated this node
had() { awk -F, -v name="$1" 'NR > 1 && $8 == name { print $4 }' "$table" | sort -u | tr '\n' ' '; }

run "$scratch/reference" "$worlds/large.sdf" "$worlds/large.commands" $steps --hash-every 100 --secondaries 0
report $? "large: runs"
for options in '2 --distribution balanced' '3 --distribution balanced' '4 --distribution balanced --chaos 3' \
	'3 --distribution balanced --pin robot_0=2' '2 --pin robot_0=2 --pin level_3=1' \
	'1 --distribution balanced'; do
	# shellcheck disable=SC2086
	run "$scratch/other" "$worlds/large.sdf" "$worlds/large.commands" $steps --hash-every 100 --costs "$table" \
		--costs-every 50 --secondaries $options
	cmp -s "$scratch/reference" "$scratch/other"
	report $? "large with $options: $(diff "$scratch/reference" "$scratch/other" | sed -n 2p)"
	[ "$(sed -n 1p "$table")" = 'world,step,component,secondary,pin,kind,ns,name' ]
	report $? "$options: the table's head"
	awk -F, -v every=50 -v steps=$steps '
		NR == 1 { next }
		NF != 8 || $2 % every || ($6 != "performer" && $6 != "cargo" && $6 != "level") || $4 < 1 { bad = NR " " $0 }
		{ samples[$2] = 1; key = $2 "," $3; if (key in at && at[key] != $4) bad = "split: " $0; at[key] = $4
		  timed += $6 == "performer" && $7 > 0 }
		END {
			for (s in samples) count++
			if (count != steps / every) bad = count " samples"
			if (timed < 60) bad = timed " performers cost something"
			if (bad) print bad
			exit bad != ""
		}' "$table"
	report $? "$options: each row is whole, each component on one secondary, a sample every 50 steps"
	case $options in
	*robot_0=2*)
		[ "$(had robot_0)" = '2 ' ]
		report $? "$options: the pin holds: $(had robot_0)"
		[ "$(awk -F, '$8 == "robot_0" { print $5 }' "$table" | sort -u)" = 2 ]
		report $? "$options: the table names it"
		;;
	esac
done

# An idle secondary helps a busy one: all robots are on one secondary of two. In a run as short as this the system may
# have no core for the idle one: so one run of several must show it.
pins=$(sed -n 's/^ *<ref>\(robot_[0-9]*\)<.*/ --pin \1=1/p' "$worlds/large.sdf" | sort -u | tr -d '\n')
helped=0
for try in 1 2 3 4 5 6 7 8; do
	# shellcheck disable=SC2086
	run "$scratch/other" "$worlds/large.sdf" "$worlds/large.commands" $steps --hash-every 100 --secondaries 2 $pins \
		--report "$scratch/report.json"
	report $? "large, all robots on one of two, run $try: runs"
	cmp -s "$scratch/reference" "$scratch/other"
	report $? "large, all robots on one of two, run $try: $(diff "$scratch/reference" "$scratch/other" | sed -n 2p)"
	helped=$(sed -n 's/.*"secondary": 2,.*"helped": \([0-9]*\).*/\1/p' "$scratch/report.json")
	[ "${helped:-0}" -gt 0 ] && break
done
if [ "$(nproc)" -gt 1 ]; then
	[ "${helped:-0}" -gt 0 ]
	report $? "the other one helped: stepped ${helped:-no} groups that are not its own"
else
	skip 'helping' 'needs two cores'
fi

# models asleep cost nothing
run "$scratch/other" "$worlds/asleep.sdf" - 1500 --costs "$table" --costs-every 500 --secondaries 2
report $? "asleep: runs"
[ "$(awk -F, '$2 == 1500 && $8 ~ /^crate/ { sum += $7; count++ } END { print (count > 10), sum }' "$table")" = '1 0' ]
report $? "asleep: crates at rest cost nothing"

# the sensors of a model are a part of its cost: a lidar among models that cost little has a secondary almost for itself
{
	echo '<sdf version="1.9"><world name="w">'
	for i in 0 1 2 3 4 5; do
		echo "<model name='b$i'><allow_auto_disable>0</allow_auto_disable><pose>$((3 * i)) 0 1 0 0 0</pose><link name='l'>
			<gravity>0</gravity><inertial><mass>1</mass></inertial><visual name='v'><geometry><box><size>1 1 1</size></box>
			</geometry></visual>"
		[ $i = 0 ] && echo '<sensor name="s" type="lidar"><update_rate>100</update_rate><lidar><scan><horizontal><samples>3000
			</samples><min_angle>-3.1</min_angle><max_angle>3.1</max_angle></horizontal></scan><range><min>0.1</min>
			<max>30</max></range></lidar></sensor>'
		echo '</link></model>'
	done
	echo '</world></sdf>'
} >"$scratch/seeing.sdf"
if "$troupe" topics "$scratch/seeing.sdf" 2>/dev/null | grep -q LaserScan; then
	run "$scratch/other" "$scratch/seeing.sdf" - 2000 --sense-all --costs "$table" --costs-every 1000 --secondaries 2
	report $? "sensing: runs"
	awk -F, '$2 == 2000 && $8 ~ /^b/ { cost[$8] = $7 } END { exit !(cost["b0"] > 3 * cost["b1"]) }' "$table"
	report $? "sensing: the lidar counts: $(awk -F, '$2 == 2000 && $8 ~ /^b[01]/ { print $8, $7 }' "$table" | tr '\n' ' ')"
else
	skip 'the cost of sensors' 'built without Embree'
fi

# if the table cannot be written, the table ends, not the run
if [ ! -c /dev/full ]; then
	skip 'a full disk' 'there is no /dev/full'
else
	"$troupe" run "$worlds/large.sdf" --iterations 300 --rtf 0 --costs /dev/full >"$scratch/out" 2>"$scratch/err"
	[ $? = 1 ] && grep -q '^300 steps' "$scratch/err"
	report $? "a full disk: the run goes on, to status 1: $(cat "$scratch/err")"
	grep -q '/dev/full: cannot write: No space left on device: the table of costs ends here; the run goes on' "$scratch/err"
	report $? "a full disk: it is said"
fi

totals
