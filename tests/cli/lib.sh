# Shared by the scripts of this folder. The program runs in a temporary folder of the test. When a check fails, the
# output of the last command is shown, from the files `out` and `err`. Source this file; end with `totals`.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
set -u
case $troupe in /*) ;; *) troupe=$PWD/$troupe ;; esac
[ -x "$troupe" ] || { echo "no program $troupe: 0 passed, 1 failed"; exit 1; }
source=$(cd "${SOURCE_DIR:-.}" && pwd)
worlds=$source/worlds
folder=$scratch
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder" || exit 1

on_failure()
{
	for stream in out err; do
		[ ! -s $stream ] || sed "s/^/    $stream: /" $stream | head -n 30
	done
}

# does STATUS ARGUMENT...: runs the program with these arguments, which must end with this status
does()
{
	wanted=$1
	shift
	timeout "$run_limit_s" "$troupe" "$@" >out 2>err
	status=$?
	[ $status = "$wanted" ]
	report $? "status $status, not $wanted: troupe $*"
}
# said WHAT PATTERN, unsaid WHAT PATTERN: whether a line of what it wrote has the pattern
said()
{
	grep -qE -e "$2" out err
	report $? "$1: expected /$2/"
}
unsaid()
{
	! grep -qE -e "$2" out err
	report $? "$1: not expected: /$2/"
}
