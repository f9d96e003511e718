#!/bin/sh
# Services that answer and change no world, as a person at a shell meets them: a state that is saved on request, reasons of
# refusals in the log and on a topic, and a run that is ended.
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"

cat >w.sdf <<'END'
<sdf version="1.9"><world name="my world">
  <physics name="p" type="ode"><max_step_size>0.001</max_step_size><real_time_factor>1</real_time_factor></physics>
  <model name="ground"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal>
    <size>50 50</size></plane></geometry></collision></link></model>
  <model name="ball"><pose>0 0 3 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>0.2</radius>
    </sphere></geometry></collision></link></model>
  <gui><camera name="eye"><pose>1 2 3 0 0 0</pose></camera></gui>
</world></sdf>
END

on_failure() { sed 's/^/    /' out err run.err 2>/dev/null | head -n 40; }
# call SERVICE REQUEST
call()
{
	within 60 "$troupe" service call "$1" --timeout 30000 -r "$2"
}
# ended LIMIT: waits for the run; its status
ended()
{
	until_true "$1" gone || end_last KILL
	wait "$last"
}
gone()
{
	! kill -0 "$last" 2>/dev/null
}

mkdir states
"$troupe" run w.sdf --save-dir states -v 1 --hash-every 100 >run.out 2>run.err &
last=$!
started=$last
until_true 60 call /gazebo/worlds 'unused: false'
grep -q '"my world"' out
report $? 'the world is named'
"$troupe" topic echo /world/my_world/replies >replies 2>&1 &
echo=$!
started="$started $echo"
# it listens when it has heard of a refusal
heard()
{
	call /world/my_world/save 'data: "../probe"'
	[ -s replies ]
}
until_true 60 heard
report $? 'replies are heard'
call /world/my_world/save 'data: "a.state"'
grep -q 'data: true' out && [ -s states/a.state ]
report $? 'a state is saved'
call /world/my_world/save 'data: "../a.state"'
grep -qx 'data: false' out && [ ! -e a.state ]
report $? 'a state is not saved elsewhere'
call /world/my_world/control/state 'state {entities {id: 1}}'
grep -qx 'data: false' out
report $? 'a state of Gazebo is refused'
call /world/my_world/control/state 'world_control {pause: true}'
grep -q 'data: true' out
report $? 'the world is controlled'
all_heard() { [ "$(grep -c '^ok: true' replies)" -ge 2 ]; }
until_true 60 all_heard
kill -TERM "$echo"
wait "$echo"
[ "$(grep -c '^ok: true' replies)" = 2 ] && grep -q 'the state of step [0-9]* is saved: states/a.state' replies &&
	grep -q "'../a.state': expected the name of a file" replies && grep -q 'a state of 1 entities' replies
report $? "replies have reasons: $(cat replies)"
grep -q "/world/my_world/save: '../a.state': expected the name of a file" run.err
report $? 'the reason is in the log'
call /world/my_world/generate_world_sdf 'header {}'
# the text form of a string: \012 stands for a line end, and \" and \' for quotes
sed -n 's/^data: "\(.*\)"$/\1/p' out | sed -e 's/\\"/"/g' -e "s/\\\\'/'/g" -e 's/\\012/\
/g' >now.sdf
grep -q '<world name="my world">' now.sdf && "$troupe" check now.sdf >out 2>&1
report $? 'the SDF of the world is accepted'
call /world/my_world/gui/info 'unused: false'
grep -q 'name: "eye"' out
report $? 'the user interface is described'
call /server_control 'stop: true'
grep -q 'data: true' out
report $? 'the request to stop is answered'
ended 60
report $? 'the run has ended well'

# the state is complete: a run from it has the hashes of the run
"$troupe" run --resume states/a.state --iterations "$(awk 'END {print $2}' run.out)" --rtf 0 --no-gz --hash-every 100 -v 0 >resumed.out 2>err
status=$?
common=$(grep -cxFf run.out resumed.out)
[ $status = 0 ] && [ "$common" -ge 1 ]
report $? "a run resumed from the state has the same bits ($common hashes)"

"$troupe" run w.sdf -v 1 >run.out 2>run.err &
last=$!
started=$last
until_true 60 call /gazebo/worlds 'unused: false'
call /world/my_world/save 'data: "b.state"'
grep -qx 'data: false' out && grep -q 'clients cannot save states' run.err
report $? 'without --save-dir nothing is saved'
end_last TERM
report $? 'a refused call is no error of the run'
totals
