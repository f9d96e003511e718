#!/bin/sh
# Programs that a world names (troupe::Program). They run only with --programs, in the process that was given the world;
# they are told where the run is; what they write and how they end is said; and none of them, nor what they have
# started, outlives the run, however it ends. A barrier client that the world starts drives a robot, with the same hash
# in each run.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
limits=$source/src/cli
limit_of() { sed -nE "s/.*\b$2 = ([0-9]+).*/\1/p" "$limits/$1"; }
restarts=$(limit_of keeper.h KEEPER_RESTARTS_MAX)
restart_ms=$(limit_of keeper.h KEEPER_RESTART_MS)
term_ms=$(limit_of keeper.h KEEPER_TERM_MS)
all_ms=$(($(limit_of keeper.h KEEPER_GRACE_MS) + term_ms + $(limit_of keeper.h KEEPER_KILL_MS)))
line_max=$(limit_of program_lines.h PROGRAM_LINE_MAX)
lines_max=$(limit_of program_lines.h PROGRAM_LINES_PER_S_MAX)
programs_max=$(sed -nE 's/.*TROUPE_PROGRAMS_MAX = ([0-9]+).*/\1/p' "$source/include/troupe/server.h")
args_max=$(sed -nE 's/.*TROUPE_PROGRAM_ARGS_MAX = ([0-9]+).*/\1/p' "$source/include/troupe/server.h")

# A number that only processes of this test have on their command line.
mark=7$$

# plugin ELEMENTS: a program
plugin() { printf "<plugin filename='troupe' name='troupe::Program'>%s</plugin>\n" "$1"; }
# shell NAME COMMANDS [ELEMENTS]: a program that is a shell; COMMANDS are XML
shell() { plugin "<executable>sh</executable><arg>-c</arg><arg>$2</arg><name>$1</name>${3:-}"; }
# world NAME: standard input is the content of the world
world()
{
	{
		printf "<sdf version='1.9'><world name='%s'>\n<physics name='p' type='ode'><max_step_size>0.001</max_step_size>" "$1"
		printf '<real_time_factor>1</real_time_factor></physics>\n'
		cat
		printf '</world></sdf>\n'
	} >"$1.sdf"
}
# run STATUS OPTION...: runs the command with this exit status, within a minute
run()
{
	want=$1
	shift
	timeout 60 "$troupe" run "$@" >out 2>err
	status=$?
	[ $status = "$want" ]
	report $? "status $status, not $want: troupe run $*"
}
# said WHAT PATTERN [COUNT]: lines of standard error
said()
{
	[ "$(grep -cE -e "$2" err)" = "${3:-1}" ]
	report $? "$1: expected ${3:-1} of /$2/"
}
# marked_files: the lists of arguments of the processes with the mark; each argument ends with a zero byte
marked_files() { grep -alxzF -e "$mark" /proc/[0-9]*/cmdline 2>/dev/null; }
marked() { marked_files | wc -l; }
# kill_marked: what is left of them
kill_marked()
{
	for file in $(marked_files); do
		pid=${file#/proc/}
		kill -KILL "${pid%/cmdline}"
	done
}
# becomes COUNT MS: whether so many processes have the mark within this time
becomes()
{
	end=$(($(date +%s%3N) + $2))
	until [ "$(marked)" = "$1" ]; do
		[ "$(date +%s%3N)" -lt $end ] || return 1
		sleep 0.05
	done
}
trap 'kill_marked; rm -rf "$folder"' EXIT

# --- not without the option ----------------------------------------------------------------------------------------
{
	shell one "echo x &gt;&gt; $folder/started"
	shell two "echo x &gt;&gt; $folder/started"
} | world two
run 0 two.sdf --iterations 10
said 'the warning' "^warning: two.sdf:[0-9]+: world 'two': not started: programs 'one', 'two'; --programs starts them$"
said 'no other warning' warning
run 1 two.sdf --iterations 10 --strict
run 0 two.sdf --iterations 10 -v0
[ ! -s err ] && [ ! -e started ]
report $? 'without --programs'
run 0 two.sdf --iterations 10 --programs --strict --record recorded --save-at 10 state
[ "$(wc -l <started)" = 2 ]
report $? 'with --programs two programs are started'
run 0 --resume state --iterations 20
said 'the warning of a resumed run' "world 'two': not started: programs 'one', 'two'"
run 0 --resume state --iterations 20 --programs
[ "$(wc -l <started)" = 4 ]
report $? 'a resumed run starts them'
echo '<troupe><programs>true</programs></troupe>' >c.xml
run 0 two.sdf --iterations 10 --config c.xml
[ "$(wc -l <started)" = 6 ]
report $? 'the configuration file has the option'
timeout 60 "$troupe" replay recorded >out 2>err && [ "$(wc -l <started)" = 6 ] && ! grep -q "'one'" err
report $? 'replay starts none, and does not warn'
timeout 60 "$troupe" check two.sdf >out 2>err && grep -q ' programs: 2, warnings: 0$' out && [ ! -s err ]
report $? 'check counts them'
timeout 60 "$troupe" print two.sdf >out 2>err && [ "$(grep -c 'name="troupe::Program"' out)" = 2 ]
report $? 'print keeps them'

# networked: only the process of the primary
rm started
run 0 two.sdf --iterations 10 --transport tcp --secondaries 2 --programs
[ "$(wc -l <started)" = 2 ]
report $? 'the secondaries start none'
run 2 --network-role secondary --programs
said 'a secondary refuses the option' '--programs: not with --network-role secondary: it is for the primary'
rm -f started
timeout 60 "$troupe" run two.sdf --iterations 10 --network-role primary --network-secondaries 1 --network-insecure \
	--network-listen 127.0.0.1:0 --network-wait 50 >out 2>primary.err &
primary=$!
i=0
until port=$(sed -nE 's/.*127\.0\.0\.1:([0-9]+).*/\1/p' primary.err) && [ -n "$port" ] || [ $((i += 1)) = 400 ]; do sleep 0.05; done
timeout 60 "$troupe" run --network-role secondary --network-insecure --network-address "127.0.0.1:$port" --network-wait 50 \
	>out 2>err
report $? 'the secondary'
wait $primary && grep -q "not started: programs 'one', 'two'" primary.err && [ ! -e started ]
report $? "a secondary starts none of the world that it was sent: $(cat primary.err)"

# --- wrong parameters -----------------------------------------------------------------------------------------------
# wrong PATTERN ELEMENTS: `run`, with and without the option, and `check` refuse it with the line of the plug-in
wrong()
{
	plugin "$2" | world wrong
	for command in 'run --iterations 1' 'run --iterations 1 --programs' check; do
		# shellcheck disable=SC2086
		timeout 20 "$troupe" $command wrong.sdf >out 2>err
		status=$?
		[ $status = 1 ] && grep -qE "wrong.sdf:3: $1" err
		report $? "status $status, not 1 with /$1/: $command"
	done
}
program='<executable>true</executable>'
wrong 'a program without <executable>: expected one$' ''
wrong "<executable> of a program: '': expected a file$" '<executable/>'
wrong "<executable> of a program: 'bin/': expected a file$" '<executable>bin/</executable>'
wrong '<argument> in the plug-in troupe::Program: expected executable, arg, name or restart$' "$program<argument>x</argument>"
wrong "<restart> of a program: 'sometimes': expected never or on-failure$" "$program<restart>sometimes</restart>"
wrong "<restart> of a program: '': expected never or on-failure$" "$program<restart/>"
wrong 'a second <executable> of a program: expected one$' "$program$program"
wrong 'a second <restart> of a program: expected one$' "$program<restart>never</restart><restart>never</restart>"
wrong '<arg> of a program has elements in it: expected only text$' "$program<arg><x/></arg>"
wrong "<name> of a program: 'a b': expected letters, digits, '_', '-' and '.' only$" "$program<name>a b</name>"
wrong "<name> of a program: '': expected 1 to [0-9]+ characters$" "$program<name/>"
wrong "one more <arg> of a program: expected at most $args_max$" "$program$(yes '<arg/>' | head -n $((args_max + 1)) | tr -d '\n')"
wrong "<arg> of a program: 'x{40}\.\.\.': expected at most [0-9]+ bytes$" "$program<arg>$(head -c 5000 /dev/zero | tr '\0' x)</arg>"
{
	plugin "$program<name>x</name>"
	plugin "$program<name>x</name>"
} | world same
run 1 same.sdf --iterations 1
said 'one name twice' "same.sdf:4: a second program 'x': expected different names$"
for i in $(seq "$programs_max"); do plugin "$program"; done | world most
run 0 most.sdf --iterations 1
said 'as many programs as may be' "programs 'true', 'true-2', 'true-3', .* and $((programs_max - 8)) more; --programs"
for i in $(seq $((programs_max + 1))); do plugin "$program"; done | world more
run 1 more.sdf --iterations 1
said 'too many programs' "more.sdf:$((programs_max + 3)): one more program: expected at most $programs_max in a file$"

# --- files that are not there ---------------------------------------------------------------------------------------
mkdir -p deep/bin deep/folder
printf '#!/bin/sh\necho started >>"%s"\n' "$folder/started" >deep/bin/no
rm -f started
missing()
{
	{
		shell first "echo started &gt;&gt; $folder/started"
		plugin "<executable>$1</executable>"
	} | world deep/missing
	run 1 deep/missing.sdf --iterations 10 --programs
	said "$1" "deep/missing.sdf:4: <executable> of program '.*': $2: expected a file that can be executed$"
	[ "$(wc -l <err)" = 1 ] && [ ! -e started ]
	report $? "$1: one line, and nothing is started"
	run 0 deep/missing.sdf --iterations 10
}
missing bin/absent "'$folder/deep/bin/absent': No such file or directory"
missing bin/no "'$folder/deep/bin/no': Permission denied"
missing ./folder "'$folder/deep/./folder': Is a directory"
missing /no/program "'/no/program': No such file or directory"
missing no-such-program-$mark "'no-such-program-$mark' in PATH: No such file or directory"

# --- what a program gets --------------------------------------------------------------------------------------------
cat >deep/bin/tell <<'END2'
#!/bin/sh
echo "arguments $#: <$1> <$2> <$3>"
echo "variables: $TROUPE_PROGRAM, $TROUPE_WORLD, ${TROUPE_MODEL-none}, ${TROUPE_LOCKSTEP_SOCKET-none}, ${TROUPE_LOCKSTEP_ADDRESS-none}"
"$TROUPE" --version
echo "folder: $(pwd), input: $(cat | wc -c) bytes, files: $(ls /proc/self/fd | tr '\n' ' ')"
kill -0 0 && grep -E '^Sig(Blk|Ign)' /proc/self/status
END2
chmod +x deep/bin/tell
{
	plugin '<executable>bin/tell</executable><arg>a b</arg><arg/><arg> $HOME "</arg>'
	echo '<model name="out er"><model name="in"><link name="l"/>'
	plugin '<executable>bin/tell</executable>'
	echo '</model><link name="l"/></model>'
} | world deep/tell
tell_s=$(amount 8 2 2) # long enough for a program that starts troupe
TROUPE_MODEL=wrong run 0 deep/tell.sdf --until "$tell_s" --programs --lockstep-socket socket --lockstep-listen 0 --log l.csv --record r \
	--commands - 7<deep/tell.sdf </dev/null
said 'arguments' '^\[tell\] arguments 3: <a b> <> <\$HOME ">$'
address='127\.0\.0\.1:[0-9]+'
said 'variables' "^\[tell\] variables: tell, deep/tell, none, $folder/socket, $address$"
said 'variables in a model' "^\[out_er.in.tell\] variables: out_er.in.tell, deep/tell, out er::in, $folder/socket, $address$"
said 'the command' "^\[tell\] $("$troupe" --version | head -n1)$"
# and the folder that ls lists
said 'folder, input, files' "^\[tell\] folder: $folder/deep, input: 0 bytes, files: 0 1 2 3 $"
# signals 32 and 33 are the C library's own: it does not change them
said 'signals' '^\[tell\] Sig(Blk|Ign):.0{7}[01][08]0{7}$' 2
run 0 deep/tell.sdf --until "$tell_s" --programs
said 'no sockets' '^\[tell\] variables: tell, deep/tell, none, none, none$'
[ ! -s out ]
report $? 'standard output is that of the run alone'
# without a slash: PATH
mkdir path
ln -s "$folder/deep/bin/tell" path/tell-in-path
plugin '<executable>tell-in-path</executable>' | world inpath
PATH=$folder/path:$PATH run 0 inpath.sdf --until "$tell_s" --programs
said 'PATH' '^\[tell-in-path\] arguments 0: <> <> <>$'

# --- how they end ---------------------------------------------------------------------------------------------------
run_ms=$((restart_ms * (restarts + 1) + 3000))
{
	plugin '<executable>true</executable>'
	plugin '<executable>false</executable>'
	shell dead 'kill -SEGV $$'
	shell again "echo x &gt;&gt; $folder/starts; exit 3" '<restart>on-failure</restart>'
	shell good "echo x &gt;&gt; $folder/good; exit 0" '<restart>on-failure</restart>'
	shell once "[ -e $folder/once ] || { touch $folder/once; kill -KILL \$\$; }" '<restart>on-failure</restart>'
	plugin '<executable>deep/bin/odd</executable>'
} | world ends
printf 'no program' >deep/bin/odd
chmod +x deep/bin/odd
run 0 ends.sdf --until $((run_ms / 1000)) --programs
said 'status 0' "^troupe run: program 'true' ended with status 0$"
said 'status 1' "^troupe run: program 'false' ended with status 1$"
said 'a signal' "^troupe run: program 'dead' was ended by signal 11 \(Segmentation fault\)$"
said 'restarts' "^troupe run: program 'again' ended with status 3: it is started again \([0-9]+ of $restarts\)$" "$restarts"
said 'too many restarts' "^troupe run: program 'again' ended with status 3: it was started again $restarts times, and is not any more$"
[ "$(wc -l <starts)" = $((restarts + 1)) ]
report $? "started $(wc -l <starts) times, not $((restarts + 1))"
said 'success is no failure' "^troupe run: program 'good' ended with status 0$"
[ "$(wc -l <good)" = 1 ]
report $? 'started again after success'
said 'killed once' "^troupe run: program 'once' was ended by signal 9 \(Killed\): it is started again \(1 of $restarts\)$"
said 'then good' "^troupe run: program 'once' ended with status 0$"
said 'no executable' "^troupe run: program 'odd' cannot be started: $folder/deep/bin/odd: Exec format error$"
run 0 ends.sdf --until 0.5 --programs -v0
said 'with -v 0 only what failed is said' '' 1
said 'with -v 0 only what failed is said' "program 'odd' cannot be started"
# the end of the run ends restarts, also while a program takes its time
{
	shell again "date +%s%3N &gt;&gt; $folder/times; exit 3" '<restart>on-failure</restart>'
	shell told "trap 'date +%s%3N > $folder/told; exit' TERM; while :; do sleep 0.02; done"
	shell deaf "trap '' TERM; while :; do sleep 0.1; done"
} | world late
run 0 late.sdf --until 0.6 --programs
[ "$(tail -n 1 times)" -le "$(cat told)" ]
report $? "started again after SIGTERM: $(tr '\n' ' ' <times), SIGTERM at $(cat told)"

# --- what they write ------------------------------------------------------------------------------------------------
{
	shell long "head -c $((line_max + 5)) /dev/zero | tr '\\0' x; echo; printf 'a\\033[1m\\tb\\r\\nno end'; echo bad &gt;&amp;2"
	shell flood 'while :; do echo flood; done'
	shell stream 'exec cat /dev/zero'
} | world write
begin_s=$(date +%s)
run 0 write.sdf --until 3 --programs
seconds=$(($(date +%s) - begin_s + 2)) # at most so many have begun
said 'a long line' "^\[long\] x{$line_max}\.\.\. \(5 bytes more\)$"
said 'control characters' "^\[long\] a\?\[1m$(printf '\t')b$"
said 'a line without an end, of both streams' '^\[long\] no endbad$'
flood=$(grep -c '^\[flood\] flood$' err)
[ "$flood" -ge "$lines_max" ] && [ "$flood" -le $((lines_max * seconds)) ] && grep -qE '^\[flood\] \([0-9]+ lines left out\)$' err
report $? "a flood: $flood lines"
said 'a line without end' "^\[stream\] \?{$line_max}\.\.\. \([0-9]+ bytes more\)$"
# nobody reads: the run goes on
mkfifo pipe
sleep $mark <pipe &
sleeper=$!
timeout 60 "$troupe" run write.sdf --until 2 --programs -v0 --report r.json 2>pipe
report $? 'a run whose standard error nobody reads'
kill $sleeper
wait $sleeper 2>/dev/null

# --- the end of the run ---------------------------------------------------------------------------------------------
# Each has a child in its group; one catches SIGTERM, one ignores it, one has a daemon in a session of its own.
{
	shell plain "sleep $mark &amp; sleep $mark"
	shell caught "trap 'echo caught &gt;&gt; $folder/caught; exit 5' TERM; while :; do sleep 0.05; done"
	shell deaf "trap '' TERM; while :; do sleep $mark; done"
	shell daemon "setsid -f sleep $mark; sleep $mark"
	shell gone "sleep $mark &amp; exit 0"
} | world end
rm -f caught
run 0 end.sdf --until 1 --programs
[ "$(cat caught)" = caught ]
report $? 'SIGTERM comes'
said 'SIGKILL comes' "^troupe run: program '.*' did not end within $((term_ms / 1000)) s of SIGTERM: killed$"
said 'SIGKILL comes to the one' "program 'deaf' did not end within"
said 'the end of a program that was told to is no news' "program '(plain|caught|daemon)'" 0
[ "$(marked)" = 0 ]
report $? "$(marked) processes outlive the run"
# begin OPTION...: a run without end, until its programs are there: two sleep in plain, one in deaf, two in daemon
begin()
{
	timeout -k 60 120 "$troupe" run end.sdf --programs "$@" >out 2>err &
	outer=$!
	becomes 5 20000
	report $? "the programs do not start: $(marked)"
	pid=$(cat /proc/$outer/task/$outer/children)
	pid=${pid%% *}
}
for signal in $stop_signals; do
	begin
	kill -s "$signal" "$pid"
	wait $outer
	report $? "stopped by $signal"
	[ "$(marked)" = 0 ]
	report $? "$(marked) processes outlive a run that was stopped by $signal"
done
for options in '' '--transport tcp --secondaries 2'; do
	# shellcheck disable=SC2086
	begin $options
	kill -KILL "$pid"
	wait $outer 2>/dev/null
	becomes 0 $((all_ms + 20000))
	report $? "$(marked) processes outlive a run that was killed $options"
done
# the keeper itself is killed: what the kernel can end, ends
begin
keeper=
for child in $(cat "/proc/$pid/task/$pid/children"); do
	[ -n "$(cat "/proc/$child/task/$child/children")" ] && keeper=$child
done
[ -n "$keeper" ] && [ "$(cat "/proc/$keeper/comm")" = keeper ] && [ "$(tr -d '\0' <"/proc/$keeper/cmdline")" = 'keeper of programs' ] &&
	kill -KILL "$keeper"
report $? 'the keeper is a child of the command, with a name of its own'
kill -TERM "$pid"
wait $outer
report $? 'a run whose keeper was killed'
for tries in $(seq 300); do # the kernel ends them, and takes a while on a busy machine
	grep -alz "sleep $mark" /proc/[0-9]*/cmdline 2>/dev/null >left
	[ -s left ] || break
	sleep 0.1
done
[ ! -s left ]
report $? "the programs of a keeper that was killed: $(cat left) ($tries looks)"
kill_marked
# a world that cannot be run, and one that fails: no program is left
shell left "exec sleep $mark" | world fails
run 1 fails.sdf --programs --iterations 10 --report no/folder
[ "$(marked)" = 0 ]
report $? 'a run that was refused'

# --- in lockstep ----------------------------------------------------------------------------------------------------
# shellcheck disable=SC2086
${TEST_CC:-cc} -Wall -Wextra -Werror "$source/tests/examples/follow.c" -o follow -lm
report $? 'the example follow does not build'
named floor "<plugin filename='troupe' name='troupe::Program'><executable>./drive</executable><arg>300</arg></plugin>" >floor.sdf
cat >drive <<'END2'
#!/bin/sh
exec ./follow "$TROUPE_LOCKSTEP_SOCKET" /model/cart "$1"
END2
chmod +x drive
steps=$(amount 2000 2500 6000)
lockstep="floor.sdf --resource-path $worlds --iterations $steps --hash-every $steps --lockstep-socket socket --wait-for follow"
hash=
for secondaries in 0 1 2; do
	# shellcheck disable=SC2086
	run 0 $lockstep --programs --secondaries $secondaries --record recording --commands-out commands
	hash=${hash:-$(cat out)}
	[ -n "$hash" ] && [ "$(cat out)" = "$hash" ]
	report $? "$secondaries secondaries: '$(cat out)', expected '$hash'"
	said 'the client leaves with the run' "program 'drive'" 0
done
# the cart has driven: without its program it stands
run 0 floor.sdf --resource-path "$worlds" --iterations "$steps" --hash-every "$steps"
[ "$(cat out)" != "$hash" ]
report $? 'the program drives nothing'
timeout 60 "$troupe" replay recording >out 2>err
report $? 'the replay'
run 0 floor.sdf --resource-path "$worlds" --iterations "$steps" --hash-every "$steps" --commands commands -v0
[ "$(cat out)" = "$hash" ]
report $? "the commands again: '$(cat out)', expected '$hash'"
totals
