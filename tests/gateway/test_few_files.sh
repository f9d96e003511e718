#!/bin/sh
# Runs that may open few files: with each gateway, at each limit, a run goes on with what it can open, or ends at once with
# a line that says so. It never crashes, and never waits for what does not come: libraries of gateways do both.
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"
claim_domain
ROS_DOMAIN_ID=$domain
export ROS_DOMAIN_ID

# few FILES OPTION...: a run with this limit, in a shell that has none of the files of this one
few()
{
	files=$1
	shift
	# a shell that opens its script needs a file; the run has those that are left
	(
		exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
		ulimit -n "$files" && exec timeout -k 1 60 "$troupe" run "$worlds/meeting.sdf" --iterations 20 --rtf 0 "$@"
	) >out 2>err
	status=$?
	case $status in
	0) grep -q '^state ' err ;;
	1) grep -q 'built without' err || [ "$(grep -c '^troupe run: .*\(Too many open files\|Out Of Resources\)' err)" = 1 ] ;;
	127) grep -q 'error while loading shared libraries' err ;; # of timeout or of the program itself
	*) false ;;
	esac
	report $? "$files files, $*: status $status: $(head -n 3 err)"
}

# each OPTION...: the limits at which something is missing, down to that at which nothing runs
each()
{
	for n in 64 34 32 20 14 12 11 10 9 8 7 6 5 4; do
		few $n "$@"
	done
}

each
each --no-gz --ros2
each --no-gz --rosbridge 0
each --no-gz --foxglove 0
each --no-gz --view 0
each --no-gz --lockstep-listen 0
each --no-gz --watch-listen 127.0.0.1:0
each --no-gz --transport tcp --secondaries 3
each --no-gz --mcap x.mcap --record x.rec
each --ros2 --rosbridge 0 --foxglove 0 --view 0

# what is missing is said
few 24
grep -q 'no gz-transport: gz-transport: cannot open [0-9]* files: Too many open files (--no-gz leaves it out)' err
report $? "without gz-transport: $(head -n 3 err)"
few 12 --ros2
if ! grep -q 'built without' err; then
	grep -q '^troupe run: --ros2: domain [0-9]*: cannot open [0-9]* files: Too many open files$' err
	report $? "without ROS 2: $(head -n 3 err)"
fi
totals
