#!/bin/sh
# Commands that come while the world runs: lines on standard input (--commands -), and the file that repeats them
# (--commands-out). A bad line gives one message with its number, and has no other effect; the run does not end with its
# input. The file repeats the run with the same bits: with every number of secondaries, with refused commands, over
# several worlds, after a resume.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
set -u
worlds=$(cd "$worlds" && pwd)
case $troupe in /*) ;; *) troupe=$PWD/$troupe ;; esac
cd "$scratch" || exit 1
named floor '<include><uri>models/cart</uri><name>other</name><pose>0 3 0 0 0 0</pose></include>' |
	sed "s/name='floor'/name='w'/; s/factor>0</factor>1</; 1d" >w.sdf
sed "s/world name='w'/world name='v'/; s/>other</>third</" w.sdf | sed '1,1s/<sdf[^>]*>//; s,</sdf>,,' >v.part
sed 's,</sdf>,,' w.sdf | cat - v.part >two.sdf
echo '</sdf>' >>two.sdf

# live NAME OPTION...: a run whose input is this function's; its hash is in NAME.hash, its commands in NAME.commands
live()
{
	name=$1
	shift
	timeout "$run_limit_s" "$troupe" run "$@" --resource-path "$worlds" --commands - --commands-out "$name.commands" \
		--hash-every "$steps" --iterations "$steps" >"$name.hash" 2>"$name.err"
}
# in_time LINES COUNT NAME OPTION...: live NAME with what the function LINES prints, which are COUNT commands that are taken.
# They are to come before the run ends, which on a busy machine takes ever slower runs.
in_time()
{
	lines=$1 wanted=$2
	shift 2
	for pace in 0.25 0.05 0.01; do
		"$lines" | live "$@" --rtf $pace
		status=$?
		[ "$(grep -c '^[0-9]' "$1.commands")" != "$wanted" ] || break
	done
	return $status
}
# repeats NAME OPTION...: the commands of NAME lead to its hash again, with 0, 1 and 2 secondaries
repeats()
{
	name=$1
	shift
	for secondaries in 0 1 2; do
		timeout "$run_limit_s" "$troupe" run "$@" --resource-path "$worlds" --commands "$name.commands" --rtf 0 --hash-every "$steps" \
			--iterations "$steps" --secondaries $secondaries -v 0 >again 2>again.err
		status=$?
		[ $status = 0 ] && [ -s again ] && cmp -s again "$name.hash"
		report $? "$name: again with $secondaries secondaries (status $status): $(cat again again.err "$name.commands")"
	done
}
said() { grep -qE -e "$2" "$1.err"; report $? "$1: expected $2: $(cat "$1.err")"; }

# The same commands as lines and as a file, if all lines come before the first step.
steps=500
printf '%s\n' '# a comment' '' '  5 /model/cart/cmd_vel linear: {x: 0.5}' "300 /model/cart/cmd_vel 'linear: {x: 1}'" >lines
live before w.sdf --rtf 0 <lines
report $? "lines before the run: $(cat before.err)"
timeout "$run_limit_s" "$troupe" run w.sdf --resource-path "$worlds" --commands lines --rtf 0 --hash-every 500 --iterations 500 -v 0 >file
cmp -s file before.hash
report $? 'lines before the run have the effect of a file'
repeats before w.sdf

# Lines that come later, some of them bad or refused; the last one has no line end.
steps=1000
later_lines()
{
	printf '%s\n' '2 /model/cart/cmd_vel linear: {x: 0.4}' '/nope data: 1' 'x /model/cart/cmd_vel linear: {x: 1}' \
		'9 /model/cart/cmd_vel linear {' '9 /model/cart/cmd_vel header: {data: "open' '/world/w/remove name: "none" type: MODEL'
	sleep 0.2
	printf '%s\n' '/model/cart/cmd_vel linear: {x: 0.8} angular: {z: 0.3}' '900 /model/other/cmd_vel linear: {x: 2}' \
		'1 /world/w/set_pose name: "other" position {x: -4 y: 0.1 z: 0.2}'
	sleep 0.2
	printf '/world/w/create_multiple data {sdf: "<sdf version='"'1.9'"'><model name='"'a # b'"'><link name='"'l'"'/></model></sdf>"} data {sdf: "no"}'
	sleep 0.1
}
in_time later_lines 5 later w.sdf
[ $? = 1 ]
report $? "a bad line makes the exit status 1: $(cat later.err)"
said later "^troupe run: standard input:2: topic '/nope' has no listener"
said later "^troupe run: standard input:3: step 'x': expected a whole number"
said later '^troupe run: standard input:4: .*expected'
said later '^troupe run: standard input:5: a quote in the text is not closed'
said later "remove: the world has no model 'none'"
said later '^1000 steps'
[ "$(grep -c '^troupe run: standard input:' later.err)" = 4 ]
report $? "one message for each bad line: $(cat later.err)"
[ "$(grep -cE '^[0-9]+ ' later.commands)" = 5 ] && grep -q '^# refused: [0-9]* /world/w/remove name: "none" type: MODEL$' later.commands
report $? "the taken commands: $(cat later.commands)"
grep -q '^[1-9][0-9]* /world/w/set_pose' later.commands
report $? "a line for a step that is past is taken later: $(cat later.commands)"
# create_multiple is refused in part, which is repeated, too
sed 's/^\([0-9]* .world.w.create_multiple .*\) data {sdf: "no"}$/\1/' later.commands >part.commands
! cmp -s part.commands later.commands
report $? "a message of two parts: $(cat later.commands)"
cp later.hash part.hash
repeats part w.sdf
timeout "$run_limit_s" "$troupe" run w.sdf --resource-path "$worlds" --commands later.commands --rtf 0 --hash-every 1000 --iterations 1000 \
	-v 0 >again 2>again.err
[ $? = 1 ] && cmp -s again later.hash
report $? "the same refusal again: $(cat again.err)"

# Two worlds: commands to both, to one, and by topics that models of both have.
steps=600
both_lines()
{
	printf '%s\n' '/model/cart/cmd_vel linear: {x: 0.4}' '/world/v/set_pose name: "cart" position {x: 2}' \
		'/model/third/cmd_vel linear: {x: 0.9}' '/world/w/set_pose name: "cart" position {x: 1}'
	sleep 0.2
	printf '%s\n' '/world/v/remove name: "third" type: MODEL' '/model/cart/cmd_vel angular: {z: 0.5}' \
		'/model/other/cmd_vel linear: {x: 0.9}' '/world/w/remove name: "other" type: MODEL'
	sleep 0.1
}
in_time both_lines 8 both two.sdf
report $? "two worlds: $(cat both.err)"
[ "$(grep -c '/model/cart/cmd_vel' both.commands)" = 2 ] && [ "$(grep -cE '^[0-9]' both.commands)" = 8 ]
report $? "a command to two worlds is written once: $(cat both.commands)"
grep -m 1 '^[0-9]' both.commands | grep -q '/model/cart/cmd_vel' && [ "$(grep -nE 'set_pose' both.commands | wc -l)" = 2 ]
report $? "each world has its commands in its own order: $(cat both.commands)"
repeats both two.sdf

# A resumed run: what the state holds is not written.
printf '%s\n' '10 /model/cart/cmd_vel linear: {x: 0.4}' '400 /model/cart/cmd_vel angular: {z: 0.5}' >lines
timeout "$run_limit_s" "$troupe" run w.sdf --resource-path "$worlds" --commands lines --iterations 200 --rtf 0 --save-at 200 state -v 0
steps=600
echo '400 /model/cart/cmd_vel linear: {x: 0.6}' | live resumed --resume state --rtf 0
report $? "resumed: $(cat resumed.err)"
[ "$(grep -cE '^[0-9]' resumed.commands)" = 1 ]
report $? "only what came after the resume: $(cat resumed.commands)"
repeats resumed --resume state

# A file that cannot be written ends nothing.
steps=100
echo '5 /model/cart/cmd_vel linear: {x: 0.5}' >lines
timeout "$run_limit_s" "$troupe" run w.sdf --resource-path "$worlds" --commands - --commands-out /dev/full --rtf 0 --iterations 100 \
	--report report --record record <lines 2>full.err
[ $? = 1 ] && [ -s report ] && "$troupe" replay record >/dev/null 2>&1
report $? "a full disk: $(cat full.err)"
said full '^troupe run: /dev/full: cannot write: No space left on device: the commands end before step 0$'
cp full.err twice.err
[ "$(grep -c '^warning: /dev/full' full.err)" = 1 ]
report $? "one warning: $(cat full.err)"
timeout "$run_limit_s" "$troupe" run w.sdf --resource-path "$worlds" --commands lines --commands-out ./lines 2>same.err
[ $? = 1 ]
report $? "the file that is read: $(cat same.err)"
said same 'it is the file of --commands and of --commands-out'

# The input: none, a folder, a line that is too long, an end at once, a stop while it is open.
timeout "$run_limit_s" "$troupe" run w.sdf --resource-path "$worlds" --commands - --rtf 0 --iterations 10 <&- 2>none.err
[ $? = 1 ]
report $? "no input: $(cat none.err)"
said none 'standard input: cannot read: Bad file descriptor'
timeout "$run_limit_s" "$troupe" run w.sdf --resource-path "$worlds" --commands - --rtf 0 --iterations 10 <. 2>folder.err
[ $? = 1 ]
report $? "a folder: $(cat folder.err)"
steps=$(amount 6000 1500 1500) # builds with a sanitizer read slowly
long_lines()
{
	head -c 17000000 /dev/zero | tr '\0' x
	printf '\n5 /model/cart/cmd_vel linear: {x: 0.5}\n'
}
in_time long_lines 1 long w.sdf
said long '^troupe run: standard input:1: a line of more than 16777216 bytes'
grep -q '^[0-9]* /model/cart/cmd_vel' long.commands
report $? "the line after a long one: $(cat long.commands)"
steps=100
live nothing w.sdf --rtf 0 </dev/null
report $? "an empty input: $(cat nothing.err)"
said nothing '^100 steps'
mkfifo pipe
sleep 1000 >pipe &
holder=$!
for limit_s in 1 10 60; do # a busy machine may need longer to begin
	timeout -s TERM $limit_s "$troupe" run w.sdf --resource-path "$worlds" --commands - <pipe 2>stopped.err
	status=$?
	! grep -q ' steps, ' stopped.err || break
done
[ $status = 124 ]
report $? "a stop while the input is open: $(cat stopped.err)"
said stopped ' steps, '
kill $holder
wait $holder 2>/dev/null
totals
