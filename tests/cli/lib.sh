# Shared by scripts of this folder: the program, a folder of the test's own in which it runs, counting. Source it; end with
# `totals`. Standard error of the last command is expected in the file `err`, of which `check` shows the beginning.
set -u
troupe=${TROUPE:-./troupe}
case $troupe in /*) ;; *) troupe=$PWD/$troupe ;; esac
[ -x "$troupe" ] || { echo "no program $troupe: 0 passed, 1 failed"; exit 1; }
source=$(cd "${SOURCE_DIR:-.}" && pwd)
passed=0
failed=0
folder=$(mktemp -d) || exit 1
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder" || exit 1

# check STATUS WHAT
check()
{
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAILED: $2"
		sed 's/^/    err: /' err | head -n 30
	fi
}

totals()
{
	echo "$passed passed, $failed failed"
	[ "$failed" = 0 ]
}
