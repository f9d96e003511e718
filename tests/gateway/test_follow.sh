#!/bin/sh
# Barrier clients over gz-transport: the example follow.sh, which is a shell script with `troupe service`, drives a cart
# along a path in lockstep. All runs have one hash, whatever the secondaries and the load. Then: the written commands
# repeat the run without the script; the world starts the script; the script is killed; it does not come. (Other ways to do it wrong: test_callers.)
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"
follow=$source/tests/examples/follow.sh
named floor >floor.sdf

limit=3000
# run NAME OPTION...: its output is in NAME.out and NAME.err
run()
{
	name=$1
	shift
	timeout -k 1 200 "$troupe" run floor.sdf --resource-path "$worlds" --rtf 0 -v 1 --iterations $limit --hash-every 3000 "$@" \
		>"$name.out" 2>"$name.err"
}

want=
load=
for i in $(seq "$(amount 2 2 12 100)"); do
	if [ $((i % 3)) = 0 ]; then # a load that comes and goes
		timeout 5 sh -c 'while :; do :; done' &
		load=$!
	fi
	TROUPE=$troupe timeout -k 1 200 sh "$follow" /model/cart >"path$i" 2>said &
	client=$!
	run "run$i" --wait-for follow --secondaries $((i % 3)) --commands-out commands
	report $? "run $i: $(cat "run$i.err")"
	wait $client
	report $? "run $i: the status of the client: $(cat said)"
	[ -z "$load" ] || { kill "$load"; wait "$load"; } 2>/dev/null
	load=
	hash=$(cat "run$i.out")
	want=${want:-$hash}
	[ -n "$hash" ] && [ "$hash" = "$want" ]
	report $? "run $i: '$hash', expected '$want'"
	cmp -s path1 "path$i"
	report $? "run $i: another path"
done
[ "$(grep -c '^corner' path1)" -ge 1 ]
report $? "the cart reaches no corner: $(cat path1)"
grep -q '^the same hash again' run1.err
report $? "the summary names what repeats the run: $(cat run1.err)"
for secondaries in 0 1 2; do
	run again --no-gz --commands commands --secondaries $secondaries
	cmp -s again.out run1.out
	report $? "the written commands with $secondaries secondaries: '$(cat again.out)', expected '$want'"
done

# the world itself starts the script, which finds command and run in its environment: the same hash
sed "s|</world>|<plugin filename='troupe' name='troupe::Program'><executable>$follow</executable><arg>/model/cart</arg>\
</plugin></world>|" floor.sdf >started.sdf
for secondaries in 0 2; do
	timeout -k 1 200 "$troupe" run started.sdf --resource-path "$worlds" --rtf 0 --iterations $limit --hash-every 3000 \
		--wait-for follow --programs --secondaries $secondaries >program.out 2>program.err
	report $? "the script as a program of the world: $(cat program.err)"
	cmp -s program.out run1.out
	report $? "the script as a program, $secondaries secondaries: '$(cat program.out)', expected '$want'"
	sed -n 's/^\[follow.sh\] //p' program.err | cmp -s - path1
	report $? "another path: $(cat program.err)"
done

# killed in the middle, with its call: the deadline of 10 s ends the run, because `follow` joins so
limit=100000000
: >killed.path
TROUPE=$troupe setsid sh "$follow" /model/cart >killed.path 2>&1 &
client=$!
started="$started $client"
run killed --wait-for follow &
killed=$!
until_true 60 grep -q '^corner' killed.path
kill -KILL -$client
wait $killed
[ $? = 3 ] && grep -q "barrier client 'follow', step [0-9]*: no answer within 10 s" killed.err
report $? "killed: $(cat killed.err)"
limit=3000

run absent --wait-for nobody --wait-for-timeout 0.2
[ $? = 3 ] && grep -q "'nobody' did not join within 0.2 s" absent.err &&
	grep -q '^troupe run: lockstep: waiting for nobody$' absent.err
report $? "absent: $(cat absent.err)"
totals
