# Processes of one networked run, in a folder of the test's own. Source it after tests/determinism/lib.sh, which counts.
XDG_CONFIG_HOME=$scratch/config
export XDG_CONFIG_HOME
case $troupe in /*) ;; *) troupe=$PWD/$troupe ;; esac
worlds=$(cd "$worlds" && pwd)
# The version of the protocol, for scripts that make announcements.
protocol=$(sed -n 's/.*HELLO_PROTOCOL = \([0-9]*\),.*/\1/p' "$worlds/../src/net/hello.h")
cd "$scratch" || exit 1

# The last lines of each process, below a check that has failed.
on_failure() { tail -n 6 "$scratch"/*.err 2>/dev/null | sed 's/^/    /'; }

now_ms() { echo $(($(date +%s%N) / 1000000)); }
# The time limit for an event that must come: a longer wait is a hang. Much longer than the event takes on an idle
# machine.
patience_ms=120000
# Ends all processes of the test, whatever has happened: each process is in one of these files.
end_processes()
{
	for file in "$scratch"/*.pid; do
		[ -s "$file" ] && [ ! -s "${file%.pid}.status" ] && kill -KILL "$(cat "$file")" 2>/dev/null
	done
	# otherwise a process that ends late would count as the next process of its name
	for file in "$scratch"/*.pid; do
		for _ in $(seq 250); do
			[ ! -s "$file" ] || [ -s "${file%.pid}.status" ] && break
			sleep 0.02
		done
	done
	rm -f "$scratch"/*.pid "$scratch"/*.status
}
end_all()
{
	end_processes
	rm -rf "$scratch"
}
trap end_all EXIT
trap 'exit 1' HUP INT TERM

# children PID: the numbers of its child processes, one a line, from /proc, so that no other tool is needed
children()
{
	for stat in /proc/[0-9]*/stat; do
		read -r stat_line 2>/dev/null <"$stat" || continue # the process has ended
		# the fields after the name, which may contain blanks and brackets: state, parent
		stat_parent=${stat_line##*) ? }
		[ "${stat_parent%% *}" != "$1" ] || echo "${stat_line%% *}"
	done
}

# start NAME ARGUMENTS...: runs troupe in the background, with its process number in NAME.pid and its output in NAME.out
# and NAME.err
start()
{
	name=$1
	shift
	rm -f "$name.status" "$name.pid" "$name.out" "$name.err"
	(
		"$troupe" run "$@" >"$name.out" 2>"$name.err" &
		echo $! >"$name.pid"
		wait $!
		echo $? >"$name.status"
	) 2>/dev/null &
	while [ ! -s "$name.pid" ]; do sleep 0.01; done
}
# Puts the next port to which no socket is bound into $port: the same tests may run twice on this machine.
next_port()
{
	port=$((port + 1))
	while grep -qi ":$(printf %04x $port) " /proc/net/tcp; do port=$((port + 1)); done
}
# ended_in NAME MS: whether the process ends within this time; its exit status in $status
ended_in()
{
	until=$(($(now_ms) + $2))
	while [ ! -s "$1.status" ] && [ "$(now_ms)" -lt $until ]; do sleep 0.02; done
	status=$(cat "$1.status" 2>/dev/null)
	[ -n "$status" ]
}
# ended NAME: waits for the end of the process; its exit status in $status. False: it hangs.
ended() { ended_in "$1" $patience_ms; }
# await FILE PATTERN [COUNT]: waits until FILE has COUNT lines (default: 1) with PATTERN. False: they do not come in
# time, or not before the end of the process NAME whose output is in NAME.out or NAME.err.
await()
{
	await_until=$(($(now_ms) + patience_ms)) await_end=
	until [ "$(grep -c -e "$2" "$1" 2>/dev/null)" -ge "${3:-1}" ] 2>/dev/null; do
		[ -z "$await_end" ] && [ "$(now_ms)" -lt $await_until ] || return 1
		[ ! -s "${1%.*}.status" ] || await_end=yes # a last look: nothing more comes
		sleep 0.02
	done
}
