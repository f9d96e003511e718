# Runs that are nodes of ROS 2, for scripts that stand beside this file. Source it after tests/determinism/lib.sh; it goes
# to the folder $scratch, and ends what runs at the end.
set -u
source=$(cd "${SOURCE_DIR:-.}" && pwd)
case $troupe in /*) ;; *) troupe=$PWD/$troupe ;; esac
cd "$scratch" || exit 1
run=
trap '[ -z "$run" ] || kill -KILL "$run" 2>/dev/null; rm -rf "$scratch"' EXIT
TROUPE_NO_GZ=1
export TROUPE_NO_GZ
unset ROS_DOMAIN_ID CYCLONEDDS_URI
claim_domain

# needs_node WHAT WORLD: w.sdf, a copy of WORLD, can be run as a node; ends the test, skipped, if the build is without DDS
needs_node()
{
	cp "$source/tests/data/ros/$2" w.sdf || exit 1
	timeout 60 "$troupe" run w.sdf --ros2 --ros2-domain $domain --iterations 1 --rtf 0 -v 0 >out 2>err
	status=$?
	if grep -q 'built without DDS' err; then
		echo "skipped: $1: $(cat err)"
		echo '0 passed, 0 failed, 1 skipped'
		exit 0
	fi
	report $status "a run is a node: $(cat err)"
}

# begin OPTIONS...: a run in the background
begin()
{
	"$troupe" run w.sdf --ros2 --ros2-domain $domain -v 1 "$@" >out 2>err &
	run=$!
	for _ in $(seq 1200); do # what takes longer is a hang
		grep -q 'ROS 2: domain' err && return
		sleep 0.05
	done
	report 1 "the run does not begin: $(cat err)"
}

# end: ends the run; its status
end()
{
	kill -INT "$run"
	wait "$run"
	ended=$?
	run=
	return $ended
}

# compile_peer [NAME]: ./peer, or ./NAME, a program on Fast DDS; false: it cannot be compiled, which counts as skipped
compile_peer()
{
	name=${1:-peer}
	cxx=$(command -v c++ || command -v g++) || cxx=
	library=fastdds # since version 3
	[ -n "$cxx" ] && "$cxx" -E -include fastrtps/config.h -x c++ /dev/null >/dev/null 2>&1 && library=fastrtps
	[ -n "$cxx" ] && "$cxx" -std=c++17 -O0 "$source/tests/gateway/ros2_$name.cpp" -o "$name" -l$library -lfastcdr 2>compiled && return
	skip 'programs with Fast DDS' "no C++ compiler, or neither libfastdds-dev nor libfastrtps-dev: $(head -n 1 compiled 2>/dev/null)"
	return 1
}
