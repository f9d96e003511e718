# Shared by the scripts of this folder: counting, running, comparing. Source this file; end with `totals`.
passed=0
failed=0
skipped=0
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
troupe=${TROUPE:-./troupe}
worlds=${SOURCE_DIR:-.}/worlds
named_worlds=$(cd "${SOURCE_DIR:-.}/tests/worlds" && pwd)
quick=${TROUPE_TEST_QUICK:-}
full=${TROUPE_TEST_FULL:-}
long=${TROUPE_TEST_LONG:-}
run_limit_s=300 # time limit of one run
# models that commands create
box="<sdf version='1.9'><model name='m'><link name='l'><collision name='c'><geometry><box><size>1 1 1</size></box></geometry></collision></link></model></sdf>"
slab="<sdf version='1.9'><model name='m'><static>true</static><link name='l'><collision name='c'><geometry><box><size>9 3 0.2</size></box></geometry></collision></link></model></sdf>"
beacon="<sdf version='1.9'><model name='beacon'><static>true</static><link name='l'><light name='b' type='point'/><light name='c' type='spot'/></link></model></sdf>"

# amount QUICK USUAL FULL [LONG]: the size of a test: QUICK in builds with a sanitizer (TROUPE_TEST_QUICK), USUAL in `make
# check`, FULL for some tests in .ci/run (TROUPE_TEST_FULL), and LONG, which is otherwise FULL, in `make check-long`
# (TROUPE_TEST_FULL and TROUPE_TEST_LONG). C programs: tests/amount.h.
amount()
{
	if [ -n "$quick" ]; then
		echo "$1"
	elif [ -n "$long" ]; then
		echo "${4:-$3}"
	elif [ -n "$full" ]; then
		echo "$3"
	else
		echo "$2"
	fi
}

# claim_domain: $domain becomes a domain of ROS 2 that no other test of this machine has meanwhile (its ports are below
# those that the system gives away). It is held, by way of file 9, until all that this test has started has ended. Two
# tests with one domain answer each other's requests. In Python: tests/gateway/ros_domain.py.
claim_domain()
{
	domain=$((10 + $$ % 90))
	for _ in $(seq 90); do
		lock=${TMPDIR:-/tmp}/troupe_ros_domain_$domain
		if (: >>"$lock") 2>/dev/null; then
			exec 9>>"$lock"
			flock -n 9 && return
		fi
		domain=$((10 + (domain - 9) % 90))
	done
	exec 9>&-
	report 1 'no domain of ROS 2 from 10 to 99 is free'
}

# What is shown when a check has failed, beside its text: a script may define another one.
on_failure() { :; }
# report STATUS WHAT: the one way in which scripts count what they have found. The status comes first: some shells change
# `$?` when they have put the output of a command in WHAT.
report()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $2"
		on_failure
	fi
}

# The signals that end a run. Under nohup SIGHUP is ignored, and all processes started there ignore it, too.
case $(awk '/^SigIgn/ { print $2 }' /proc/self/status) in
*[13579bdf]) stop_signals='TERM INT' ;;
*) stop_signals='TERM INT HUP' ;;
esac

# skip WHAT WHY
skip()
{
	skipped=$((skipped + 1))
	echo "skipped: $1: $2"
}

# need COMMAND: whether the command exists; a missing tool is a failure
need()
{
	command -v "$1" >/dev/null && return
	report 1 "$1 is missing: see the packages in bootstrap"
	return 1
}

totals()
{
	echo "$passed passed, $failed failed$([ $skipped = 0 ] || echo ", $skipped skipped")"
	[ "$failed" = 0 ]
}

# run OUTPUT WORLD COMMANDS STEPS OPTION...: runs the world, with its output in OUTPUT; COMMANDS may be "-".
run()
{
	output=$1 world=$2 commands=$3 steps=$4
	shift 4
	[ "$commands" = - ] || set -- --commands "$commands" "$@"
	timeout "$run_limit_s" "$troupe" run "$world" --rtf 0 -v 0 --iterations "$steps" "$@" >"$output" 2>"$output.err" || {
		sed 's/^/    /' "$output.err"
		return 1
	}
}

# named_head NAME: the world tests/worlds/NAME.sdf without its end, for a script that adds models
named_head() { sed '$d' "$named_worlds/$1.sdf"; }
# named NAME [ELEMENTS]: that world, with these elements added to it
named() { named_head "$1" && printf '%s</world></sdf>\n' "${2:-}"; }

# The value of this member in a report, if it is a number.
member() { sed -n "s/^  \"$2\": \"*\([-0-9a-fx.]*\)\"*,*\$/\1/p" "$1"; }

# replays_equal FILE: the recording is replayed by a single runner, and by a secondary
replays_equal()
{
	for secondaries in 0 1; do
		timeout 120 "$troupe" replay "$1" --secondaries $secondaries -v 0 >out 2>err
		report $? "the recording has the same bits with $secondaries secondaries: $(cat out err)"
	done
}
