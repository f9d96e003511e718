#!/bin/sh
# worlds/planned.py: maps and paths of planners' benchmarks become worlds and plans; robots follow them, with the same
# report on any number of secondaries; what cannot be read is refused with its place.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
build=$(cd "${BUILD_DIR:-$(dirname "$troupe")}" && pwd)
export PYTHONPATH="$build/python" PYTHONDONTWRITEBYTECODE=1
planned() { timeout "$run_limit_s" python3 "$worlds/planned.py" "$@" >out 2>err; }
# has WHAT PATTERN FILE
has()
{
	grep -Eq "$2" "$3"
	report $? "$1: no line of $3 has $2"
}
# bad PATTERN ARGUMENT...: make is refused so
bad()
{
	pattern=$1
	shift
	planned make "$@" bad
	[ $? = 1 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ]
	report $? "make $*: refused in one line"
	has "make $*" "^planned.py: $pattern" err
}

cat >a.map <<'EOT'
type octile
height 6
width 8
map
........
.@@..TT.
.@@..OW.
...SG...
.T......
........
EOT
printf 'version 1\n0 a.map 8 6 0 0 7 5 12\n0 a.map 8 6 7 0 0 5 12\n' >a.scen
printf '2\n0\n7\n' >a.agents
printf '# tasks\n2\n40\n47,0\n' >a.tasks
echo '{"mapFile": "a.map", "agentFile": "a.agents", "taskFile": "a.tasks", "teamSize": 2}' >a.json
echo '{"teamSize": 2, "start": [[0,0,"E"],[0,7,"W"]], "actualPaths": ["F,F,R,W","R,C,W,F"]}' >paths.json
printf 'Agent 0: (0,0)->(0,1)->(0,2)->(0,3)->(1,3)->\nAgent 1: (0,6)->(0,5)->(0,4)->(0,3)->(0,3)->\n' >paths.txt

planned make a.json league
report $? 'a problem of the League'
does 0 check league.sdf --resource-path "$worlds"
said 'its world' 'models: 8 .*levels: 1, performers: 2'
[ ! -e league.plan ]
report $? 'a problem has no plan'
planned make --scen a.scen --agents 1 a.map moving
report $? 'a map and its scenario'
has 'its world' 'robot_0_performer' moving.sdf
[ "$(grep -c '<performer' moving.sdf)" = 1 ]
report $? 'as many agents as asked for'

planned make --paths paths.json --cell 1 --tick 3 a.json league
report $? "what the League's programs write"
cat >expected <<'EOT'
robot,time,x,y,yaw
robot_0,0.000,0.000,0.000,0.0000
robot_0,3.000,1.000,0.000,0.0000
robot_0,6.000,2.000,0.000,0.0000
robot_0,9.000,2.000,0.000,-1.5708
robot_0,12.000,2.000,0.000,-1.5708
robot_1,0.000,7.000,0.000,-3.1416
robot_1,3.000,7.000,0.000,-4.7124
robot_1,6.000,7.000,0.000,-3.1416
robot_1,9.000,7.000,0.000,-3.1416
robot_1,12.000,6.000,0.000,-3.1416
EOT
sed 's/-0\.000/0.000/; s/-0\.0000/0.0000/' league.plan | cmp - expected
report $? 'its plan'
planned run league
report $? 'is followed'
mv out one
has 'all arrive' '"robots_not_arrived": 0' one
has 'in time' '"most": 0.0[0-9]*$' one
has 'apart' '"conflicts_in_motion": 0' one
planned run league --secondaries 2
cmp out one
report $? 'the same report on two secondaries'

# two paths that end in one cell: the plan has a conflict, the robots push each other
planned make --paths paths.txt a.map clash
report $? 'paths of cells'
planned run clash --more 3
report $? 'is followed, too'
has 'a conflict of the plan' '"conflicts_in_plan": 1' out
has 'and of the robots' '"conflicts_in_motion": [1-9]' out

bad 'none.map: No such file' none.map
printf 'type octile\nheight 2\nwidth 8\nmap\n........\n....x...\n' >b.map
bad "b.map:6: expected 8 cells of '.GS@OTW'" b.map
printf 'type octile\nheight 3\nwidth 8\nmap\n........\n' >b.map
bad 'b.map:5: the map ends: expected 3 rows' b.map
printf 'type octile\nheight 999999\nwidth 999999\nmap\n' >b.map
bad "b.map:1: expected 'type octile'" b.map
printf 'version 1\n0 a.map 8 6 1 1 7 5 12\n' >b.scen
bad 'b.scen:2: row 1, column 1: expected a free cell' --scen b.scen a.map
printf 'version 1\n0 a.map 8 6 x 0 7 5 12\n' >b.scen
bad "b.scen:2: 'x': expected a number" --scen b.scen a.map
printf 'version 1\n0 a.map 8 6 0 0 7 5 12\n0 a.map 8 6 0 0 7 5 12\n' >b.scen
bad 'b.scen: two agents begin in one cell' --scen b.scen a.map
printf 'Agent 0: (0,0)->(0,2)->\n' >b.txt
bad 'b.txt:1: from \(0, 0\) to \(0, 2\): expected a neighbouring cell' --paths b.txt a.map
printf 'Agent 1: (0,0)->(0,1)->\n' >b.txt
bad 'b.txt:1: expected agent 0' --paths b.txt a.map
echo '{"start": [[0,0,"E"]], "actualPaths": ["F,X"]}' >b.json
bad "b.json: agent 0: action 'X': expected F, R, C or W" --paths b.json a.map
echo '{"start": [[0,0,"N"]], "actualPaths": ["F"]}' >b.json
bad 'b.json: agent 0:1: row -1, column 0: expected a free cell' --paths b.json a.map
echo 'no json' >b.json
bad 'b.json: no JSON' b.json
printf 'robot,time,x,y,yaw\nrobot_0,1,0,0,0\nrobot_0,1,0,0,0\n' >moving.plan
planned run moving
[ $? = 1 ]
report $? 'a plan that goes back in time is refused'
has 'with its line' '^planned.py: moving.plan:3: expected the robots one after the other' err
totals
