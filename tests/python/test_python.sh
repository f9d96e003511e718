#!/bin/sh
# The Python module: its structs are those of the headers; its worlds have the hashes that `troupe run` prints; numbers
# are taken without a copy; errors, threads, memory. Everything runs from the build folder, with nothing installed.
# With a library that has a sanitizer, Python needs the sanitizer's own library first.
# optional commands: python3
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
build=${BUILD_DIR:-$source/build}
if ! command -v python3 >/dev/null; then
	skip 'the Python module' 'no python3'
	totals
	exit
fi
case ${TEST_CC:-cc} in
*sanitize=thread*)
	skip 'the Python module' 'Python does not run under ThreadSanitizer'
	totals
	exit
	;;
*sanitize=address*)
	# shellcheck disable=SC2086
	preload=$($TEST_CC -print-file-name=libasan.so)
	ASAN_OPTIONS=detect_leaks=0:intercept_tls_get_addr=0:verify_asan_link_order=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64
	export ASAN_OPTIONS
	;;
*) preload= ;;
esac
PYTHONPATH=$build/python:$source/tests/python
PYTHONDONTWRITEBYTECODE=1
TROUPE=$troupe
SOURCE_DIR=$source
BUILD_DIR=$build
export PYTHONPATH PYTHONDONTWRITEBYTECODE TROUPE SOURCE_DIR BUILD_DIR

# A Python that has numpy, if there is one: the module needs none, but users have it.
python=python3
for other in python3 /usr/bin/python3; do
	if "$other" -c 'import numpy' 2>/dev/null; then
		python=$other
		break
	fi
done

# counts FILE: adds the "N passed, N failed[, N skipped]" in its last line to the totals
counts()
{
	# shellcheck disable=SC2046
	set -- $(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed\(, \([0-9]*\) skipped\)*$/\1 \2 \4/p' "$1")
	[ $# -ge 2 ] || return 1
	passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + ${3:-0}))
}

# with_python ARGUMENTS: runs Python with the library's sanitizer, if it has one
with_python() { timeout 900 env LD_PRELOAD="$preload" "$python" "$@"; }

with_python "$source/tests/python/layout.py" >layout.c 2>err
report $? 'layout.py makes a program'
# shellcheck disable=SC2086
${TEST_CC:-cc} -I "$source/include" layout.c -o layout 2>err
report $? 'the program is compiled'
./layout >out 2>err
report $? 'the structs of the module are those of the headers'
counts out || report 1 'the comparison of structs ends'

for test in "$source"/tests/python/test_*.py; do
	with_python "$test" >out 2>err
	status=$?
	grep -v '^[0-9]* passed' out
	counts out && [ $status -le 1 ]
	report $? "${test##*/} ends"
	[ $status = 0 ] || sed 's/^/    /' err | tail -n 40
done
totals
