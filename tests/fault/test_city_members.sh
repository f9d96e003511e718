#!/bin/sh
# Meshes that nobody is near go to a secondary when it needs them: each step has the hash of a run that has read all of
# them at first, when a secondary is lost and another one joins, when a standby takes over from the primary, and when a
# file is read slowly, or is no longer what it was. --load-all sends all at first.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
peers=$(cd "${SOURCE_DIR:-.}" && pwd)/tests/fault/follow.py
. "${SOURCE_DIR:-.}/tests/fault/processes.sh"
port=$((20000 + $$ * 64 % 12000))
steps=8000 stale=3000

# the carts come to a few of 400 blocks
cp -R "$worlds/models" models
"$worlds/generate" city --blocks 400 --robots 4 --kilobytes 20 --side 3 city >made 2>&1
report $? "the city is made: $(cat made)"
all_bytes=$(cat city.meshes/* | wc -c)
run_options="city.sdf --commands city.commands --iterations $steps --hash-every 20"
# shellcheck disable=SC2086
"$troupe" run $run_options --rtf 0 -v 0 --secondaries 0 --load-all >calm.out 2>calm.err
report $? "the run that reads all at first: $(cat calm.err)"

# sent WHAT OPTION...: the same hashes over a network; the bytes in $sent
sent()
{
	what=$1
	shift
	# shellcheck disable=SC2086
	"$troupe" run $run_options --rtf 0 -v 0 --transport tcp --network-stale-ms 60000 --secondaries 1 --report sent.report \
		"$@" >sent.out 2>sent.err && cmp -s calm.out sent.out
	report $? "$what: the same hashes: $(diff calm.out sent.out | sed -n 2p) $(cat sent.err)"
	sent=$(sed -n 's/.*"bytes_sent": *\([0-9]*\).*/\1/p' sent.report)
}
sent 'all meshes are sent' --load-all
[ "$sent" -ge "$all_bytes" ]
report $? "with --load-all a secondary is sent $sent bytes: the meshes have $all_bytes"
sent 'meshes are sent when they are needed'
[ "$sent" -lt $((all_bytes / 4)) ]
report $? "a secondary is sent $sent bytes: the meshes have $all_bytes"
sent 'in one step after the other' --window 1 --chaos 3
sent 'a recorded run' --record sent.tape
mv city.meshes aside # a recording needs no files
"$troupe" replay sent.tape >replayed 2>&1
report $? "is replayed: $(tail -n 2 replayed)"
mv aside city.meshes

# resumed WHAT COMMANDS: a state that was saved with these, and without the files
resumed()
{
	"$troupe" run city.sdf --commands "$2" --iterations $steps --hash-every 20 --rtf 0 -v 0 --secondaries 0 \
		--save-at 3000 state >once.out 2>once.err
	report $? "$1: is saved: $(cat once.err)"
	mv city.meshes aside
	"$troupe" run --resume state --iterations $steps --hash-every 20 --rtf 0 -v 0 --transport tcp \
		--network-stale-ms 60000 --secondaries 2 --report sent.report >resumed.out 2>resumed.err
	report $? "$1: is resumed: $(cat resumed.err)"
	mv aside city.meshes
	[ -s resumed.out ] && tail -n "$(wc -l <resumed.out)" once.out | cmp -s - resumed.out
	report $? "$1: the same hashes: $(head -n 1 resumed.out)"
	sent=$(sed -n 's/.*"bytes_sent": *\([0-9]*\).*/\1/p' sent.report)
}
resumed 'a state' city.commands
[ "$sent" -lt $((all_bytes / 2)) ]
report $? "two secondaries are sent $sent bytes: the meshes have $all_bytes"
{
	cat city.commands
	echo '0.9 /world/city/set_pose name: "block_8" position: {x: 9 y: 3 z: 0.01}'
} >moved.commands
resumed 'a state in which a block was moved' moved.commands
[ "$sent" -lt $((all_bytes / 2)) ]
report $? "a block was moved: two secondaries are sent $sent bytes: the meshes have $all_bytes"

# primary OPTION...: keeps to four times real time, so that there is time for what happens
primary()
{
	end_processes
	rm -f ./*.err
	next_port
	# shellcheck disable=SC2086
	start p $run_options --rtf 4 --network-role primary --network-listen 127.0.0.1:$port --network-stale-ms $stale \
		--on-loss continue "$@"
	await p.err 'waiting for'
}
secondary() # NAME
{
	start "$1" --network-role secondary --network-address 127.0.0.1:$port --network-threads 1
}
# same WHAT NAME STATUS: the process ends so, and no hash that was printed is another
same()
{
	ended "$2" && [ "$status" = "$3" ]
	report $? "$1: exit status $status: $(tail -n 3 "$2".err)"
	grep -hE '^hash [0-9]+ [0-9a-f]{16}$' p.out "$2.out" | sort -u >mine
	sort -u $calm | comm -23 mine - >wrong
	[ ! -s wrong ] && grep -qx "$(tail -n 1 $calm)" "$2.out"
	report $? "$1: the same hashes: $(head -n 1 wrong) $(tail -n 1 "$2.out")"
}

# changes OPTION...: members that change after 2000 steps
changes()
{
	primary --network-secondaries 2 --network-max 2 "$@"
	secondary a
	secondary b
	await p.out '^hash' 100
	kill -KILL "$(cat a.pid)"
	await p.err 'the run goes on with 1 secondary'
	report $? "a secondary is lost: $(tail -n 2 p.err)"
	secondary c
	await p.err 'the run goes on with 2 secondaries'
	report $? "another one joins: $(tail -n 2 p.err)"
}
calm=calm.out
changes
same 'members that change' p 0

# the one that joins then is sent the mesh of the block that was moved, and asks for others
run_options="city.sdf --commands moved.commands --iterations $steps --hash-every 20"
# shellcheck disable=SC2086
"$troupe" run $run_options --rtf 0 -v 0 --secondaries 0 --load-all >moved.out 2>moved.err
report $? "the run in which a block is moved: $(cat moved.err)"
calm=moved.out
changes --report sent.report
same 'members that change after a block was moved' p 0
sent=$(sed -n 's/.*"bytes_sent": *\([0-9]*\).*/\1/p' sent.report)
[ "$sent" -lt $((all_bytes / 2)) ]
report $? "three secondaries are sent $sent bytes: the meshes have $all_bytes"
calm=calm.out
run_options="city.sdf --commands city.commands --iterations $steps --hash-every 20"

primary --network-secondaries 2
followed=$port
next_port
start s --network-role standby --network-address 127.0.0.1:$followed --network-listen 127.0.0.1:$port --hash-every 20 \
	--network-stale-ms $stale --network-wait 60
port=$followed
secondary a
secondary b
await s.err 'follows the primary'
await p.out '^hash' 100
kill -KILL "$(cat p.pid)"
same 'a standby takes over' s 0

# A standby gets the meshes once, and not with each state: follow.py is one that counts.
if command -v python3 >/dev/null; then
	primary --network-secondaries 1
	timeout 100 python3 "$peers" weigh $port >weighed 2>&1 &
	weighs=$!
	await weighed ready
	secondary a
	wait $weighs
	# shellcheck disable=SC2046
	set -- $(sed -n 's/^files \([0-9]*\) recording/\1/p' weighed)
	[ "${1:-0}" -ge "$all_bytes" ] && [ "$2" -lt $((all_bytes / 2)) ]
	report $? "a standby gets the meshes ($all_bytes bytes) once: $(cat weighed)"
	end_processes
fi

# A disk that takes longer for a file than peers may be silent: the primary reads it while it goes on hearing them.
end_processes
cat >slow.c <<'EOF'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#define SLOW(name)                                                                                                     \
	int name(const char *path, int flags, mode_t mode)                                                             \
	{                                                                                                              \
		int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);        \
		if (strstr(path, "city.meshes") && !access("slow", F_OK) && !unlink("slow"))                           \
			sleep(3);                                                                                      \
		return next(path, flags, mode);                                                                        \
	}
SLOW(open)
SLOW(open64)
EOF
if [ -z "$quick" ] && ${TEST_CC:-cc} -shared -fPIC -o slow.so slow.c -ldl 2>slow.err; then
	rm -f p.err p.out slow
	next_port
	# shellcheck disable=SC2086
	LD_PRELOAD=$PWD/slow.so start p $run_options --rtf 0 --network-role primary --network-listen 127.0.0.1:$port \
		--network-secondaries 2 --network-stale-ms 1000
	await p.err 'waiting for'
	touch slow
	secondary a
	secondary b
	same 'a slow disk' p 0
	[ ! -e slow ]
	report $? 'a slow disk: no file was read late'
else
	skip "a slow disk" "no compiler, or a build with a sanitizer"
fi

# the primary gives a file only as it was when the world was loaded
end_processes
mkfifo pipe
rm -f begun p.err
timeout 100 "$troupe" run city.sdf --commands - --rtf 0 -v 0 --paused --iterations $steps --transport tcp --secondaries 1 \
	--network-stale-ms 60000 --save-at 0 begun <pipe >p.out 2>p.err &
running=$!
exec 9>pipe
for try in $(seq 1000); do [ ! -e begun ] || break; sleep 0.02; done
for file in city.meshes/*; do printf ' ' >>"$file"; done
{
	sed -n 's|^[0-9.]* \(/model.*\)|\1|p' city.commands
	echo '/world/city/control pause: false'
} >&9
wait $running
status=$?
grep -q 'city.sdf:[0-9]*: mesh .*it has changed since the world was loaded' p.err && [ "$status" = 1 ]
report $? "a file that has changed ends the run: $status, after $try looks: $(cat p.err)"
exec 9>&-
totals
