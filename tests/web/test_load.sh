#!/bin/sh
# A running world and roslibjs: load_world, unload_world and troupe/set_seed. What was loaded has the same bits as a run of
# its own; what is not sound leaves the run as it is; options that bind a run to its world are named.
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs 'other worlds in a run by roslibjs' roslib ws
. "$SOURCE_DIR/tests/determinism/lib.sh"
set -u
web_begin load.js
unset GZ_SIM_RESOURCE_PATH SDF_PATH IGN_GAZEBO_RESOURCE_PATH AMENT_PREFIX_PATH ROS_PACKAGE_PATH MENGE_RESOURCE_PATH

# --- worlds ----------------------------------------------------------------------------------------------------------
cp "${script%/*}/../data/ros/ball.sdf" first.sdf || exit 1
# its state depends on the seed, which ODE's iterations draw from
sed 's/<world name="heap">/<world name="other">/' "$worlds/heap.sdf" >other.sdf || exit 1
echo '<sdf version="1.9"><world name="w"><model></world></sdf>' >bad.sdf
echo '<sdf version="1.9"><world name="v"/><world name="w"/></sdf>' >two.sdf
echo '<sdf version="1.9"><world name="w"><plugin name="none" filename="/none/none.so"/><plugin name="troupe::Program" filename="x"/></world></sdf>' >plugin.sdf
echo '<sdf version="1.9"><world name="asset"><model name="m"><link name="l"><collision name="c"><geometry><mesh>
<uri>model://none/none.obj</uri></mesh></geometry></collision></link></model></world></sdf>' >asset.sdf
mkfifo pipe.sdf
for seed in 5 9; do
	"$troupe" run other.sdf --seed $seed --iterations 300 --hash-every 300 --solver ode --secondaries 0 -v 0 >other.$seed.hash 2>err
	report $? "a run of its own with seed $seed: $(cat err)"
done

# --- loading ---------------------------------------------------------------------------------------------------------
web_start rosbridge first.sdf --rosbridge 0 --paused --seed 5 --solver ode --secondaries 2 -v 1
web_node "$script" "$port" "$run" "$scratch" >said 2>&1
web_tell said
web_ends
report $? "quitting ends the run"
kill -KILL "$run" 2>/dev/null
wait "$run"
report $? "exit status 0: $(tail -n 3 err)"
run=

# --- what binds a run to its world -----------------------------------------------------------------------------------
"$troupe" run first.sdf --iterations 1 --save-at 1 first.state -v 0 >out 2>err
report $? "a saved state: $(cat err)"
# bound WORDS OPTIONS...
bound()
{
	words=$1
	shift
	rm -f err
	timeout 100 "$troupe" run "$@" --rosbridge 0 -v 1 >out 2>err &
	run=$!
	web_port rosbridge
	web_node "$script" "$port" refused "$words" >said 2>&1
	web_tell said
	web_ends
	report $? "$*: quitting ends the run"
	kill -KILL "$run" 2>/dev/null
	wait "$run"
	run=
}
for option in --record --log --mcap --commands-out --report --costs --save-on-stop; do
	bound "not with $option" first.sdf --paused "$option" "out$option"
done
bound 'not with --resume' --resume first.state --paused
bound 'not with --lockstep-socket' first.sdf --paused --lockstep-socket socket
bound 'not with --transport' first.sdf --paused --transport tcp --secondaries 1
bound 'not with --programs' first.sdf --paused --programs
totals
