#!/bin/sh
# A viewer of its own process: `troupe view --connect` serves the page of a run, comes and goes without an effect on the
# run, and ends with it.
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"

# await FILE PATTERN: the first match in a file that is being written
await()
{
	for _ in $(seq 600); do
		found=$(sed -n "s#.*\($2\).*#\1#p" "$1" | head -n 1)
		[ -n "$found" ] && echo "$found" && return
		sleep 0.1
	done
	return 1
}

# get URL: the status of the answer, and its body
get()
{
	python3 - "$1" <<'END'
import sys, urllib.request
answer = urllib.request.urlopen(sys.argv[1], timeout=20)
sys.stdout.write("%d %s" % (answer.status, answer.read().decode()))
END
}

need python3 || { totals; exit; }
world=$worlds/warehouse.sdf
XDG_CONFIG_HOME=$scratch # a key of the user is not used
export XDG_CONFIG_HOME
# it goes on until all that is done to it has been done, however long that takes
"$troupe" run "$world" --hash-every 100 --rtf 0.4 --no-gz --watch-listen 127.0.0.1:0 -v 3 >"$scratch/run" 2>"$scratch/run.err" &
run=$!
started="$started $run"
address=$(await "$scratch/run.err" '127\.0\.0\.1:[0-9][0-9]*, without' | sed 's/, without//')
report $? "the run prints where viewers join"

# the address of the run is taken: each option that needs an address of its own names itself, and says no more
for option in "--watch-listen $address" "--lockstep-listen $address" "--foxglove $address" "--rosbridge $address"; do
	# shellcheck disable=SC2086
	timeout 60 "$troupe" run "$world" --iterations 2 --no-gz -v 0 $option >"$scratch/taken" 2>&1
	[ $? = 1 ] && [ "$(wc -l <"$scratch/taken")" = 1 ] &&
		grep -q "^troupe run: ${option%% *}: .*$address.*: Address already in use$" "$scratch/taken"
	report $? "$option: $(cat "$scratch/taken")"
done
timeout 60 "$troupe" run "$world" --network-role primary --network-secondaries 1 --network-listen "$address" --no-gz -v 0 \
	>"$scratch/taken" 2>&1
[ $? = 1 ] && grep -q 'Address already in use: .*--network-listen :PORT chooses another port$' "$scratch/taken"
report $? "--network-listen: $(cat "$scratch/taken")"
# without a key, but only for programs of this machine
timeout 60 "$troupe" run "$world" --iterations 2 --no-gz --watch-listen 127.0.0.1:0 --watch-insecure >"$scratch/local" 2>&1
! grep -q 'other hosts' "$scratch/local"
report $? "--watch-insecure for this machine only: $(grep -m 1 viewers "$scratch/local")"

"$troupe" view --connect "$address" --view-address 127.0.0.1:0 >"$scratch/view" 2>&1 &
view=$!
started="$started $view"
page=$(await "$scratch/view" 'http://[0-9.:]*/')
if [ -z "$page" ] && grep -q 'no viewer' "$scratch/view"; then
	skip 'a viewer of its own process' 'this build has no viewer'
	kill $run
	totals
	exit
fi
report "$([ -n "$page" ]; echo $?)" "the viewer prints its address: $(cat "$scratch/view")"
get "$page" | grep -q '^200 <!doctype html'
report $? 'the page'
"$troupe" view --connect "$address" --view-address 127.0.0.1:0 >"$scratch/second" 2>&1 &
second=$!
started="$started $second"
await "$scratch/second" 'http://[0-9.:]*/' >/dev/null
report $? 'a second viewer'
kill -TERM $second
wait $second
status=$?
[ $status = 0 ]
report $? "a viewer that is told to end: $status"
kill -0 $run
report $? 'the run goes on without it'
steps=$(awk '/^hash / { step = $2 } END { print step + 0 }' "$scratch/run")
await "$scratch/run" "hash $((steps + 100))" >/dev/null
report $? "the run does not go on: $(tail -n 1 "$scratch/run")"
kill -TERM $run
wait $run
report $? "the run: $(tail -n 2 "$scratch/run.err")"
wait $view
report $? "the viewer ends with the run: $(cat "$scratch/view")"
started=
# the figures of time differ, the hashes do not
grep '^hash ' "$scratch/run" >"$scratch/with"
timeout 300 "$troupe" run "$world" --iterations "$(awk 'END { print $2 + 0 }' "$scratch/with")" --hash-every 100 --rtf 0 --no-gz \
	>"$scratch/plain" 2>&1
[ -s "$scratch/with" ] && grep '^hash ' "$scratch/plain" | cmp -s - "$scratch/with"
report $? "viewers change the state: $(tail -n 1 "$scratch/with"), without $(grep '^hash ' "$scratch/plain" | tail -n 1)"

timeout 60 "$troupe" view --connect 127.0.0.1:1 >"$scratch/none" 2>&1
[ $? = 3 ] && [ "$(wc -l <"$scratch/none")" = 1 ]
report $? "nobody listens: $(cat "$scratch/none")"
[ "$(grep -o '127\.0\.0\.1:1' "$scratch/none" | wc -l)" = 1 ]
report $? 'the message has the address once'
# Ctrl-C while it tries: there is nothing to save, and it was only told to end
"$troupe" view --connect 127.0.0.1:1 >"$scratch/none" 2>&1 &
trying=$!
started=$trying
until_true 60 catches $trying
sleep 1
kill -TERM $trying
wait $trying
status=$?
[ $status = 0 ] && [ ! -s "$scratch/none" ]
report $? "a viewer that is told to end while it tries to join: $status $(cat "$scratch/none")"
timeout 60 "$troupe" view --connect 'nowhere:x' >"$scratch/none" 2>&1
[ $? = 2 ] && [ "$(wc -l <"$scratch/none")" = 1 ]
report $? "no address: $(cat "$scratch/none")"
timeout 60 "$troupe" view >"$scratch/none" 2>&1
[ $? = 2 ]
report $? "nothing to show: $(cat "$scratch/none")"
totals
