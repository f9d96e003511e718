#!/bin/sh
# Plug-ins in shared libraries: how they are found and loaded, and what is said of one that cannot be used. A run with
# one has the same bits for any number of secondaries, resumed and replayed; with another library it is refused.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
cc=${CC:-cc}
export TROUPE_NO_GZ=1
unset TROUPE_PLUGIN_PATH 2>/dev/null
version=$(sed -nE 's/^#define TROUPE_PLUGIN_ABI ([0-9]+)u$/\1/p' "$source/include/troupe/plugin.h")

# library FILE FLAG...: builds the plug-in of tests/plugin
library()
{
	file=$1
	shift
	mkdir -p "$(dirname "$file")"
	# shellcheck disable=SC2086 # the compiler may be several words
	$cc -std=gnu11 -O1 -fPIC -shared -I"$source/include" "$@" -o "$file" "$source/tests/plugin/${from:-push}.c" -lm 2>out
	report $? "builds $file"
}
# world FILE PLUGIN...: a world of two boxes that may slide, of which the first has the plug-ins
world()
{
	name=$1
	shift
	{
		printf "<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.001</max_step_size>"
		printf '<real_time_factor>0</real_time_factor></physics>\n'
		for model in a b; do
			printf "<model name='%s'><pose>0 %d 0.5 0 0 0</pose><link name='l'><inertial><mass>1</mass></inertial></link>\n" \
				$model "$([ $model = a ] && echo 0 || echo 5)"
			printf '%s\n' "$@"
			printf '</model>\n'
		done
		printf '</world></sdf>\n'
	} >"$name"
}
plugin() { printf "<plugin filename='%s' name='%s'>%s</plugin>" "$1" "$2" "${3:-}"; }
hash_of() { sed -n 's/^hash 200 //p' out; }

library good/libpush.so
world w.sdf "$(plugin push test::Push)"

# --- finding ----------------------------------------------------------------------------------------------------------

does 0 run w.sdf --iterations 10
said 'a library that is not found is ignored' 'w.sdf:3: ignored: plugin "test::Push" x2'
for file in push libpush libpush.so; do
	world n.sdf "$(plugin $file test::Push)"
	does 0 run n.sdf --iterations 10 --plugin-path nowhere --plugin-path good
	unsaid "$file is found" ignored
done
world n.sdf "$(plugin push test::Push2)"
TROUPE_PLUGIN_PATH=nowhere:$folder/good does 0 run n.sdf --iterations 10
unsaid 'TROUPE_PLUGIN_PATH, another name of the kind' ignored
does 0 check w.sdf --plugin-path "nowhere:good"
said 'check knows it' 'model plug-ins: 2 \(known: 2'
world n.sdf "$(plugin "$folder/good/libpush.so" test::Push)"
does 1 run n.sdf --iterations 10
said 'an absolute path elsewhere' 'n.sdf:3: plugin .*libpush.so.: it is not in a folder for plug-ins: expected --plugin-path'
does 0 run n.sdf --iterations 10 --plugin-path good
unsaid 'an absolute path' ignored

# --- what cannot be used ----------------------------------------------------------------------------------------------

# bad PATTERN FLAG...: the library is refused at its place
bad()
{
	pattern=$1
	shift
	library bad/libpush.so "$@"
	does 1 run w.sdf --iterations 10 --plugin-path bad
	said "bad: $*" "w.sdf:3: plugin 'push': $pattern"
	does 1 check w.sdf --plugin-path bad
	said "check of bad: $*" "w.sdf:3: plugin 'push': $pattern"
}
bad "it has version 77 of the interface: expected $version, that of this troupe" -DABI=77
bad "it has no symbol 'troupe_plugin'" -DMISSING_SYMBOL
bad "kind 'test::Push' has no configure\(\)" -DNO_CONFIGURE
bad "kind 'test::Push' may stand in the world, which has no runner" '-DKIND_FLAGS=TROUPE_IN_WORLD'
bad "kind 'test::Push' may stand nowhere" '-DKIND_FLAGS=TROUPE_LENIENT'
bad "kind 'test::Push' has flags 0x10001: expected bits of" '-DKIND_FLAGS=0x10001'
bad 'kind 1 has 8 bytes: expected [0-9]+ or more' '-DKIND_SIZE=8'
bad 'while it is loaded, it crashes \(Segmentation fault' -DCRASH
bad 'while it is loaded, it ends the process with status 3' -DLEAVE
[ -z "${TROUPE_TEST_FULL:-}" ] || bad 'while it is loaded, it has not returned after 20 s' -DHANG
# The machine for which an ELF file is made stands at byte 18: 0xf3 is RISC-V, 0x3e x86-64.
cp good/libpush.so bad/libpush.so
if [ "$(od -An -tu1 -j18 -N1 bad/libpush.so | tr -d ' ')" = 243 ]; then machine='\076'; else machine='\363'; fi
printf "$machine" | dd of=bad/libpush.so bs=1 seek=18 conv=notrunc 2>/dev/null
does 1 run w.sdf --plugin-path bad
said 'another architecture' "w.sdf:3: plugin 'push': it cannot be loaded: .*libpush.so"
echo 'no library' >bad/libpush.so
does 1 run w.sdf --plugin-path bad
said 'no library' "w.sdf:3: plugin 'push': it cannot be loaded: .*libpush.so"
# unfit PATTERN FLAG...: what configure() asks for is refused at the place of the plug-in
unfit()
{
	pattern=$1
	shift
	library bad/libpush.so "$@"
	does 1 run w.sdf --iterations 10 --plugin-path bad
	said "unfit: $*" "w.sdf:3: $pattern"
}
unfit "output '/given' gives 99: expected one of enum troupe_gives" -DGIVES=99 -DRATE=0
unfit "output '/given' has a rate of -?nan Hz: expected 0 to" -DGIVES=TROUPE_GIVES_PUBLISHED -DRATE=NAN
unfit "output '/given' has a rate of -1 Hz: expected 0 to" -DGIVES=TROUPE_GIVES_PUBLISHED -DRATE=-1
unfit "output '/given' needs report\(\), which 'test::Push' has not" -DGIVES=TROUPE_GIVES_REPORT -DRATE=0
unfit "output '/given' needs reckon\(\), which 'test::Push' has not" -DGIVES=TROUPE_GIVES_ODOMETRY -DRATE=0
unfit "output '/given' needs reckon\(\), which 'test::Push' has not" -DGIVES=TROUPE_GIVES_TF -DRATE=0
unfit "the plugin takes topic '/taken' as gz.msgs.Double and as gz.msgs.Twist: expected one type" '-DTAKES="/taken"'
unfit "topic '/' has 1 bytes: expected 2 to 255" -DTAKES=NULL
world n.sdf "$(plugin push test::Pull)"
does 1 run n.sdf --plugin-path good
said 'a kind that it has not' "n.sdf:3: plugin 'push' has no kind 'test::Pull': expected one of test::Push"
world n.sdf "$(plugin push test::Push '<force>1e9</force>')"
does 1 run n.sdf --plugin-path good
said 'a parameter out of range' 'n.sdf:3: <force>'
world n.sdf "$(plugin push test::Push '<farce>1</farce>')"
does 1 run n.sdf --plugin-path good
said 'an unknown parameter' 'n.sdf:3: <farce> is no parameter'

# --- what can be used -------------------------------------------------------------------------------------------------

does 0 run w.sdf --iterations 200 --hash-every 200 --plugin-path good
hash=$(hash_of)
[ -n "$hash" ]
report $? 'the run has a hash'
# a struct of an older header: it ends before the last members
library older/libpush.so '-DKIND_SIZE=offsetof(struct troupe_kind,update)'
library prints/libpush.so -DPRINTS
# a library that changes how the processor rounds, while it is loaded and in each function, and one that writes to what
# the host has given it: all others compute as before
library rounds/libpush.so -DROUNDS
library forges/libpush.so -DFORGES
library fast/libpush.so -ffast-math
for folder_of in older prints rounds forges fast; do
	does 0 run w.sdf --iterations 200 --hash-every 200 --plugin-path $folder_of
	[ "$(hash_of)" = "$hash" ]
	report $? "$folder_of: the same hash"
done
does 0 run w.sdf --iterations 200 --hash-every 200 --plugin-path good --secondaries 2 --chaos 3
[ "$(hash_of)" = "$hash" ]
report $? 'two secondaries, models moved: the same hash'
does 0 run w.sdf --iterations 200 --hash-every 200 --plugin-path good --transport tcp --network-stale-ms 60000 --secondaries 2
[ "$(hash_of)" = "$hash" ]
report $? 'over a network: the same hash'

for secondaries in 2 5; do
	does 0 run w.sdf --iterations 200 --hash-every 200 --plugin-path rounds --secondaries $secondaries --chaos 3
	[ "$(hash_of)" = "$hash" ]
	report $? "a library that rounds upwards, $secondaries secondaries: the same hash"
done

# a library that reads in pre_update() what only update() may read
library pries/libpush.so -DPRIES
does 0 run w.sdf --iterations 200 --hash-every 200 --plugin-path pries --secondaries 0
pried=$(hash_of)
does 0 run w.sdf --iterations 100 --plugin-path pries --save-at 100 pries.state
for how in 'w.sdf --secondaries 2 --chaos 3' 'w.sdf --transport tcp --network-stale-ms 60000 --secondaries 2' '--resume pries.state'; do
	# shellcheck disable=SC2086 # several words
	does 0 run $how --iterations 200 --hash-every 200 --plugin-path pries
	[ -n "$pried" ] && [ "$(hash_of)" = "$pried" ]
	report $? "a library that reads other models on a runner, $how: the same hash"
done

# an actor
library actor/libpush.so '-DKIND_FLAGS=TROUPE_IN_ACTOR'
{
	printf "<sdf version='1.9'><world name='w'><actor name='a'><link name='l'/>\n%s</actor></world></sdf>" \
		"$(plugin push test::Push)"
} >actor.sdf
does 0 run actor.sdf --iterations 20 --rtf 0 --plugin-path actor
unsaid 'a plug-in of an actor' 'ignored|warning'
does 0 check --plugin actor/libpush.so actor.sdf --steps 20
said 'a plug-in of an actor' '^kind test::Push, in actors$'
does 1 run w.sdf --iterations 10 --plugin-path actor
said 'a plug-in of actors in a model' "w.sdf:3: plugin 'test::Push' is in a <model>: expected it in an <actor>"

# A kind that rests is not called while its model sleeps: then the rule that it breaks from step 1000 on changes nothing,
# until a message comes.
from=rest
library rests/librest.so
library runs/librest.so -DRESTS=0
from=push
{
	printf "<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.001</max_step_size>"
	printf '<real_time_factor>0</real_time_factor></physics><model name="ground"><static>1</static><link name="l">'
	printf '<collision name="c"><geometry><plane/></geometry></collision></link></model><model name="m">'
	printf '<pose>0 0 0.5 0 0 0</pose><link name="l"><collision name="c"><geometry><box><size>1 1 1</size></box>'
	printf '</geometry></collision></link>%s</model></world></sdf>' "$(plugin rest test::Rest)"
} >rest.sdf
echo '1200 /touch data: 1' >touch.commands
# rests WHAT SAME OPTION...: whether steps 900 and 1500 have the same hash
rests()
{
	what=$1 same=$2
	shift 2
	does 0 run rest.sdf --iterations 1500 --hash-every 300 "$@"
	[ "$(sed -n 's/^hash 900 //p' out)" = "$(sed -n 's/^hash 1500 //p' out)" ]
	[ $? = "$same" ]
	report $? "a kind that rests: $what"
}
rests 'asleep, it is not called' 0 --plugin-path rests
rests 'nor on two secondaries' 0 --plugin-path rests --secondaries 2
rests 'nor in single steps' 0 --plugin-path rests --window 1
rests 'a message rouses it' 1 --plugin-path rests --commands touch.commands
rests 'with --no-sleep it is called' 1 --plugin-path rests --no-sleep
rests 'without the flag it is called' 1 --plugin-path runs

# --- the same library everywhere --------------------------------------------------------------------------------------

does 0 run w.sdf --iterations 100 --plugin-path good --save-at 100 half.state --record all.rec
does 0 run --resume half.state --iterations 200 --hash-every 200 --plugin-path good
[ "$(hash_of)" = "$hash" ]
report $? 'resumed: the same hash'
does 0 run w.sdf --iterations 200 --plugin-path good --record all.rec
does 0 replay all.rec --plugin-path good
library other/libpush.so -DRANDOM
for how in 'run --resume half.state --iterations 200' 'replay all.rec'; do
	# shellcheck disable=SC2086 # several words
	does 1 $how
	said "$how without the library" "plugin 'push': not found here; expected hash [0-9a-f]{16}, which .* has; see --plugin-path"
	# shellcheck disable=SC2086 # several words
	does 1 $how --plugin-path other
	said "$how with another library" "plugin 'push': .* has hash [0-9a-f]{16}, this machine [0-9a-f]{16} \\(other/libpush.so\\)"
done
# a run without the library goes on without it
does 0 run w.sdf --iterations 100 --save-at 100 none.state
does 0 run --resume none.state --iterations 120 --hash-every 120
none=$(sed -n 's/^hash 120 //p' out)
does 0 run --resume none.state --iterations 120 --hash-every 120 --plugin-path good
[ -n "$none" ] && [ "$(sed -n 's/^hash 120 //p' out)" = "$none" ]
report $? 'a plug-in that was ignored stays ignored'

# secondary FOLDER: a primary with the good library, and a secondary with that of another folder
secondary()
{
	timeout "$run_limit_s" "$troupe" run w.sdf --iterations 200 --network-role primary --network-secondaries 1 \
		--network-insecure --network-listen 127.0.0.1:0 --network-interface 127.0.0.1 --network-wait 100 --network-stale-ms 60000 \
		--network-partition plug$$ --plugin-path good --hash-every 200 >primary.out 2>primary.err &
	primary=$!
	timeout "$run_limit_s" "$troupe" run --network-role secondary --network-insecure --network-interface 127.0.0.1 \
		--network-wait 100 --network-partition plug$$ --plugin-path "$1" >out 2>err
	status=$?
	[ $status = 0 ] || kill $primary 2>/dev/null
	wait $primary
	cat primary.err >>err
	cat primary.out >>out
}
secondary good
[ $status = 0 ] && [ "$(hash_of)" = "$hash" ]
report $? 'a secondary with the same library: the same hash'
# A step that a lost secondary did not finish is decided once: the state that is saved has its decisions.
library decides/libpush.so -DDECIDES
does 0 run w.sdf --iterations 3000 --plugin-path decides --hash-every 3000
once=$(sed -n 's/^hash 3000 //p' out)
timeout "$run_limit_s" "$troupe" run w.sdf --iterations 3000 --rtf 0.25 --network-role primary --network-secondaries 1 \
	--network-insecure --network-listen 127.0.0.1:0 --network-interface 127.0.0.1 --network-wait 100 --network-stale-ms 60000 \
	--network-partition lost$$ --plugin-path decides --hash-every 100 --save-on-stop lost.state >primary.out 2>primary.err &
primary=$!
"$troupe" run --network-role secondary --network-insecure --network-interface 127.0.0.1 --network-wait 100 \
	--network-partition lost$$ --plugin-path decides >out 2>err &
lost=$!
for _ in $(seq 600); do
	! grep -q '^hash 500 ' primary.out || break
	sleep 0.1
done
kill -9 $lost
wait $primary
[ $? = 3 ] && [ -s lost.state ]
report $? 'the state is saved when a secondary is lost'
does 0 run --resume lost.state --iterations 3000 --rtf 0 --plugin-path decides --hash-every 3000
[ -n "$once" ] && [ "$(sed -n 's/^hash 3000 //p' out)" = "$once" ]
report $? 'a step that was given up is decided once'

secondary other
[ $status != 0 ]
report $? 'a secondary with another library ends'
said 'a secondary with another library' "plugin 'push': the primary has hash [0-9a-f]{16}, this machine [0-9a-f]{16}"
secondary nowhere
said 'a secondary without it' "plugin 'push': not found here; expected hash [0-9a-f]{16}, which the primary has; see --plugin-path"

# --- a model that is created ------------------------------------------------------------------------------------------

printf "<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.001</max_step_size></physics></world></sdf>" >e.sdf
printf "<sdf version='1.9'><model name='c'><link name='l'/>%s</model></sdf>" "$(plugin push test::Push)" >c.sdf
echo '5 /world/w/create sdf_filename: "c.sdf"' >c.commands
does 0 run e.sdf --commands c.commands --iterations 200 --hash-every 200 --plugin-path good --rtf 0
created=$(hash_of)
does 0 run e.sdf --commands c.commands --iterations 200 --hash-every 200 --plugin-path good --rtf 0 --transport tcp --network-stale-ms 60000 --secondaries 2
[ -n "$created" ] && [ "$(hash_of)" = "$created" ]
report $? 'a created model, over a network: the same hash'
does 0 run e.sdf --commands c.commands --iterations 100 --plugin-path good --rtf 0 --save-at 100 c.state
does 0 run --resume c.state --iterations 200 --hash-every 200 --plugin-path good --rtf 0
[ "$(hash_of)" = "$created" ]
report $? 'a created model, resumed: the same hash'
does 1 run --resume c.state --iterations 200 --rtf 0 --plugin-path other
said 'a created model, another library' "plugin 'push': .* has hash"

# --- rules that are broken in a run -----------------------------------------------------------------------------------

# breaks PATTERN FLAG: the run ends with one line, on a single runner, on two, and over a network
breaks()
{
	library broken/libpush.so "$2"
	for how in '--secondaries 0' '--secondaries 2' '--transport tcp --network-stale-ms 60000 --secondaries 2'; do
		# shellcheck disable=SC2086 # several words
		does 4 run w.sdf --iterations 50 --plugin-path broken $how
		said "$2, $how" "$1"
	done
}
breaks "step 5: plugin 'test::Push' \\(broken/libpush.so\\) of model 'a': pre_update\\(\\) writes beyond its 2 words" -DBEYOND
breaks "step 7: plugin 'test::Push' \\(broken/libpush.so\\) of model 'a': word 'push' is -?nan after pre_update\\(\\): expected a finite" -DNOT_A_NUMBER
library handles/libpush.so -DHANDLES
does 0 run w.sdf --iterations 200 --hash-every 200 --plugin-path handles
[ "$(hash_of)" = "$hash" ]
report $? 'handles that are none do nothing: the same hash'

# a flood of requests: the first ones are obeyed, the same ones everywhere
library asks/libpush.so -DASKS
for options in '--secondaries 0' '--secondaries 2 --chaos 1' '--secondaries 2 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086
	does 1 run w.sdf --iterations 20 --hash-every 20 --plugin-path asks --log asks.csv $options
	said "a flood of requests: $options" "step 5: test::Push: model 'b': 100000 messages and requests in one step: expected at most 16384, of all systems 65536: the last 83616 are dropped"
	grep -qE '^20,.*,model,a,,,16383\.' asks.csv
	report $? "the last request that is obeyed: $options"
	asked="${asked:-} $(sed -n 's/^hash 20 //p' out)"
done
[ "$(echo "$asked" | tr ' ' '\n' | sort -u | grep -c .)" = 1 ]
report $? "a flood of requests: one hash: $asked"

# --- a world's plug-in that differs in a replay ------------------------------------------------------------------------

# --- crashes ----------------------------------------------------------------------------------------------------------

# crashes PATTERN FLAG: the process ends by a signal, after one line that names the plug-in
crashes()
{
	pattern=$1
	shift
	library crash/libpush.so "$@"
	for command in 'run w.sdf --iterations 20' 'run w.sdf --iterations 20 --secondaries 2' \
		'check w.sdf --plugin crash/libpush.so'; do
		# shellcheck disable=SC2086
		(ulimit -c 0 && timeout 60 "$troupe" $command --plugin-path crash) >out 2>err
		[ $? -ge 128 ]
		report $? "$*: troupe $command ends by a signal"
		said "$*: troupe $command" "plugin 'test::Push' \(.*crash/libpush.so\) of model '[ab]': $pattern"
	done
}
crashes 'pre_update\(\) crashes: it uses memory that it has not' -DCRASH_LATE
crashes 'configure\(\) crashes: it uses memory that it has not' -DCRASH_SOON
crashes 'pre_update\(\) crashes$' -DABORT_LATE
crashes 'pre_update\(\) crashes: it uses memory that it has not' -DDEEP_LATE # a stack overflow
crashes 'pre_update\(\) ends its thread, and crashes$' -DLEAVE_THREAD # pthread_exit()

# exit() and quick_exit() in a plug-in: not the end that the user asked for
for flag in LEAVE_LATE LEAVE_QUICKLY; do
	library crash/libpush.so -D$flag
	for command in 'run w.sdf --iterations 20 --plugin-path crash' 'run w.sdf --iterations 20 --plugin-path crash --secondaries 2' \
		'check w.sdf --plugin crash/libpush.so'; do
		# shellcheck disable=SC2086
		does 1 $command
		said "$flag: troupe $command" "plugin 'test::Push' \(.*crash/libpush.so\) of model '[ab]': pre_update\(\) ends the process"
	done
done
library crash/libpush.so -DLEAVE_AT_ONCE
does 1 check w.sdf --plugin crash/libpush.so
said '_exit(): troupe check' '^troupe check: crash/libpush.so: it ends the process with status 0$'

from=drift
library good/libdrift.so
from=
printf "<sdf version='1.9'><world name='w'><plugin filename='drift' name='test::Drift'/><model name='m'><link name='l'/></model></world></sdf>" >drift.sdf
does 0 run drift.sdf --iterations 20 --plugin-path good --record drift.tape
does 1 replay drift.tape --plugin-path good
said 'a replay names the word' "world 'w': system 'test::Drift': drift: recorded [0-9]+, found [0-9]+"
does 1 check --plugin good/libdrift.so drift.sdf --steps 20
said 'check: a clock in update()' "plugin 'test::Drift' .* of the world: word 'drift' differs when update\\(\\) is called twice"

# --- troupe check --plugin --------------------------------------------------------------------------------------------

does 0 check --plugin good/libpush.so w.sdf --steps 150
said 'check: kinds' '^kind test::Push, in models$'
said 'check: parameters' '<force>: number from -100 to 100: N; default 1'
said 'check: words' 'word steps: whole number'
said 'check: a good one' '^good/libpush.so: keeps to the rules$'
said 'check: three runners' '150 steps on 3 runners'
# a file of this folder, as src/doc/tutorial/plugin.md names it
cp good/libpush.so libhere.so
does 0 check --plugin libhere.so w.sdf --steps 50
said 'check: a library of this folder' '^libhere.so: keeps to the rules$'
rm libhere.so
library found/libpush.so -DSTUCK
for secondaries in 0 2; do
	"$troupe" run w.sdf --iterations 50 --plugin-path found --secondaries $secondaries >out 2>err &
	stuck=$!
	for _ in $(seq 1200); do
		grep -q 'has not returned' err && break
		sleep 0.1
	done
	kill -KILL $stuck
	wait $stuck 2>/dev/null
	said "run: a function that does not return, --secondaries $secondaries" \
		"^troupe run: plugin 'test::Push' \(found/libpush.so\) of model '[ab]': pre_update\(\) has not returned for some seconds: the run waits for it$"
done
# A run that is asked to stop in such a step says what it waits for, gives the step up, and saves the state before it.
# It names the last step that was handed out: update() is called before step 7 is.
# gives_up WHAT OPTION...
gives_up()
{
	what=$1
	shift
	rm -f stuck.state stuck.rec stuck.json stuck.here
	"$troupe" run w.sdf --iterations 50 --plugin-path stuck --save-on-stop stuck.state --record stuck.rec \
		--report stuck.json "$@" >out 2>err &
	stuck=$!
	for _ in $(seq 1200); do
		[ ! -e stuck.here ] || break
		sleep 0.1
	done
	sleep 0.3 # other runners may be in this step, too
	kill -TERM $stuck
	for _ in $(seq 600); do
		kill -0 $stuck 2>/dev/null || break
		sleep 0.1
	done
	! kill -KILL $stuck 2>/dev/null
	report $? "$*: the first signal ends the run"
	wait $stuck
	status=$?
	[ $status = 0 ]
	report $? "$*: status $status, not 0"
	said "$*: what it waits for" "^troupe run: the stop waits for step [67]: $what, which is given up$"
	grep -q '"iterations": 7' stuck.json
	report $? "$*: the report is written"
	timeout 60 "$troupe" replay stuck.rec --plugin-path stuck >out 2>err
	report $? "$*: the recording is whole"
	does 1 run --resume stuck.state --iterations 7 --plugin-path good
	said "$*: the state is saved" "plugin 'push': .* has hash"
}
library stuck/libpush.so -DSTUCK
gives_up 'the plug-ins, before the physics' --secondaries 0
gives_up 'the plug-ins, before the physics \(secondary [12]\).*' --secondaries 2
library stuck/libpush.so -DSTUCK_UPDATE
gives_up 'update\(\) of the plug-ins' --secondaries 0
gives_up 'update\(\) of the plug-ins' --secondaries 2
# A copy of the process that fork() has made does not go on as if it were the run.
library forks/libpush.so -DFORKS
does 0 run w.sdf --iterations 50 --plugin-path forks --record forks.rec --record-every 10
said 'a plug-in that calls fork()' \
	"^troupe: plugin 'test::Push' \(forks/libpush.so\) of model '[ab]': pre_update\(\) has called fork\(\), and its copy of this process crashes$"
does 0 replay forks.rec --plugin-path forks
said 'a recording beside a copy' 'the same'
library soon/libpush.so -DSTUCK_SOON
"$troupe" run w.sdf --iterations 50 --plugin-path soon >out 2>err &
stuck=$!
for _ in $(seq 1200); do
	grep -q 'has not returned' err && break
	sleep 0.1
done
said 'run: configure() does not return' \
	"^troupe run: plugin 'test::Push' \(soon/libpush.so\) of model 'a': configure\(\) has not returned for some seconds"
kill -TERM $stuck
wait $stuck
said 'run: configure() does not return, and the run is asked to end' 'stopped while the world was loaded'
does 1 check --plugin found/libpush.so w.sdf --steps 50
said 'check: a function that does not return' "plugin 'test::Push' \(found/libpush.so\) of model '[ab]': pre_update\(\) has not returned after 10 s"
# finds PATTERN FLAG: troupe check --plugin names it
finds()
{
	library found/libpush.so "$2"
	does 1 check --plugin found/libpush.so w.sdf --steps 50
	said "check: $2" "$1"
}
twice="plugin 'test::Push' \\(found/libpush.so\\) of model 'a': word 'push' differs when pre_update\\(\\) is called twice: .* and .*: it has state outside"
finds "$twice" -DSTATIC
finds "$twice" -DCLOCK
finds "$twice" -DRANDOM
finds "step 5: .* of model 'a': pre_update\\(\\) writes beyond its 2 words" -DBEYOND
finds "step 5: .* of model 'a': pre_update\\(\\) writes beyond its 2 words" -DFAR_BEYOND
finds "what it publishes on '/model/a/push' differs when report\\(\\) is called twice: it has state outside" -DREPORTS
finds "what it publishes on '/model/a/push' differs when update\\(\\) is called twice: it has state outside" -DSPEAKS
library found/libpush.so -DHEARS
does 0 check --plugin found/libpush.so w.sdf --steps 20
echo '3 /hear data: 1' >hear.commands
does 1 check --plugin found/libpush.so w.sdf --steps 20 --commands hear.commands
said 'check: a message' "of model 'a': word 'steps' differs when command\\(\\) is called twice"
does 1 check --plugin found/libpush.so w.sdf --steps 20 --commands nowhere.commands
said 'check: no file of commands' 'nowhere.commands'
finds "step 7: .* of model 'a': word 'push' is -?nan" -DNOT_A_NUMBER
# what is kept from step to step, but not within one, shows when the world is resumed
finds 'saved and resumed: state [0-9]+: model .a., .*: it has state outside of its words' -DPER_STEP
printf "<sdf version='1.9'><world name='w'/></sdf>" >empty.sdf
does 1 check --plugin good/libpush.so empty.sdf
said 'check: a world without it' 'empty.sdf: no <plugin> of it is of a kind of good/libpush.so'
does 1 check --plugin nowhere.so w.sdf
said 'check: no such file' 'nowhere.so'

# --- a standby without the library ------------------------------------------------------------------------------------

# It says so as soon as it follows, and not when the primary is lost.
timeout "$run_limit_s" "$troupe" run w.sdf --plugin-path good --rtf 1 --until 200 --network-role primary --network-secondaries 1 \
	--network-listen 127.0.0.1:0 --network-stale-ms 60000 >primary.out 2>primary.err &
primary=$!
for _ in $(seq 1200); do
	port=$(sed -n 's/.*waiting for 1 secondary at 127\.0\.0\.1:\([0-9]*\),.*/\1/p' primary.err)
	[ -z "$port" ] || break
	sleep 0.1
done
timeout "$run_limit_s" "$troupe" run --network-role secondary --plugin-path good --network-address "127.0.0.1:$port" >secondary.out 2>&1 &
does 1 run --network-role standby --network-address "127.0.0.1:$port" --network-listen 127.0.0.1:0
cat primary.err >>err
said 'a standby without the library' "this process cannot go on with the run: .*push"
kill -TERM $primary 2>/dev/null
wait

totals
