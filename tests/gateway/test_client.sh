#!/bin/sh
# `troupe topic` and `troupe service`: against a node of ours, against the programs of gz-transport where they are
# installed, and the completion for bash.
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"

# client WHAT STATUS EXPECTED-OUTPUT ARGUMENTS...: the output is a pattern for the whole of it, with blanks for line ends
client()
{
	what=$1 want=$2 expected=$3
	shift 3
	timeout -k 1 60 "$troupe" "$@" >out 2>err
	status=$?
	[ $status = "$want" ] && echo "$(tr '\n' ' ' <out)" | grep -qxE -e "$expected"
	good=$?
	[ $good != 0 ] || { [ "$want" = 0 ] && [ ! -s err ]; } || { [ "$want" != 0 ] && [ "$(wc -l <err)" = 1 ]; }
	good=$((good + $?))
	report $good "$what (status $status): troupe $*: $(head -c 300 out) $(head -c 300 err)"
}

address='tcp://127.0.0.1:[0-9]+'
client 'nothing there' 1 '' topic list
client 'nothing there, as JSON' 1 '\[\] ' service list --json
start_peer pub /clock gz.msgs.Clock 120408011005 50 pub /odd my.Type 0a02 20 pub /bad gz.msgs.Clock ffff 20 \
	offer /world/w/control gz.msgs.WorldControl gz.msgs.Boolean 1001 \
	offer /no gz.msgs.StringMsg gz.msgs.Boolean refuse sub /cmd_vel
client 'topics' 0 '/bad /clock /odd ' topic list
client 'topics as JSON' 0 '\["/bad", "/clock", "/odd"\] ' topic list --json
client 'another partition' 1 '' topic list --partition "other$$"
client 'publishers' 0 "Publishers .*:   $address, ignition.msgs.Clock " topic info /clock
client 'publishers as JSON' 0 "\[{\"name\": \"/clock\", \"address\": \"$address\", \"type\": \"ignition.msgs.Clock\", .*}\] " \
	topic info --json -t /clock
client 'no publisher' 1 '' topic info /none
client 'messages' 0 '(system {   sec: 1   nsec: 5 }  ){2}' topic echo -t /clock -n 2
client 'messages as JSON' 0 '({"system":{"sec":"1","nsec":5}} ){3}' topic echo /clock --num 3 --json
client 'bytes' 0 'hex 120408011005  ' topic echo /clock -n 1 --raw
client 'a type that is not known' 0 'hex 0a02  ' topic echo /odd -n 1
client 'a type that is not known, as JSON' 0 '{"hex": "0a02"} ' topic echo /odd -n 1 --json
client 'bytes that are no message' 0 'hex ffff  ' topic echo /bad -n 1
client 'for a time' 0 '(hex 0a02  )+' topic echo /odd -d 3
client 'silence' 1 '' topic echo /none --timeout 0.3
client 'no publisher for a time' 1 '' topic echo /none -d 0.3
client 'too few' 1 '(hex 0a02  )+' topic echo /odd -n 1000000 -d 3
# what a busy machine publishes is less than 50 a second, and comes in bunches: the figures must agree with one another
client 'a rate' 0 '[.0-9]+ Hz, [.0-9]+ to [.0-9]+ s apart, 30 messages of 6 bytes ' topic hz /clock -n 30
awk '{ exit !($1 > 0 && $3 <= 1 / $1 + 1e-5 && 1 / $1 <= $5 + 1e-5) }' out
report $? "a mean rate: $(cat out)"
client 'a rate as JSON' 0 '{"rate_hz": [.0-9]+, .*"messages": 30, "mean_bytes": 6} ' topic hz /clock -n 30 --json
client 'a message' 0 '' topic pub /cmd_vel -m Twist -p 'linear: {x: 1}'
client 'a message as JSON' 0 '' topic pub /cmd_vel -m ignition.msgs.Twist --json -p '{"linear": {"x": 2}}'
client 'a message of another type' 0 '' topic pub /cmd_vel -m my.Type --raw -p 0102
client 'three messages' 0 '' topic pub /cmd_vel -m StringMsg -p 'data: "x"' -n 3 -r 50
client 'no subscriber' 1 '' topic pub /none -m Twist -p 'linear: {x: 1}' --timeout 0.3
published() { [ "$(grep -c '^message' said)" -ge 6 ]; }
until_true 60 published
printf 'message /cmd_vel %s\n' 'gz.msgs.Twist 120911000000000000f03f' 'gz.msgs.Twist 1209110000000000000040' 'my.Type 0102' \
	'gz.msgs.StringMsg 120178' 'gz.msgs.StringMsg 120178' 'gz.msgs.StringMsg 120178' >expected
grep '^message' said | cmp -s - expected
report $? "what was published: $(grep '^message' said)"

client 'services' 0 '/no /world/w/control ' service list
client 'services as JSON' 0 '\["/no", "/world/w/control"\] ' service list --json
client 'who offers' 0 "Service providers .*:   $address, ignition.msgs.StringMsg, ignition.msgs.Boolean " service info /no
client 'nobody offers' 1 '' service info /none
client 'a call' 0 'data: true ' service call /world/w/control --req 'pause: true'
client 'a call with types' 0 'data: true ' service call -s /world/w/control --reqtype gz.msgs.WorldControl \
	--reptype Boolean --timeout 3000 --req 'pause: true'
client 'a call as JSON' 0 '{"data":true} ' service call /world/w/control --json --req '{"pause": true}'
client 'a call with bytes' 0 'hex 1001 ' service call /world/w/control --raw --req 1001
client 'a refusal' 1 '' service call /no --req 'data: "x"'
client 'a bad request' 1 '' service call /no --req 'fly: 1'
client 'no such service' 1 '' service call /none --timeout 300
client 'no such types' 1 '' service call /no --reqtype Clock --reptype Clock --timeout 300
[ "$(grep -c '^request /world/w/control gz.msgs.WorldControl two-way 1001' said)" = 4 ]
report $? "four calls came: $(grep -c '^request /world' said)"

# One that is stopped by a signal says whether anything came; a reader that goes away ends it.
"$troupe" topic echo /clock >out 2>err &
echoes=$!
started="$started $echoes"
until_true 60 test -s out
kill -INT $echoes
wait $echoes
status=$?
[ $status = 0 ] && [ ! -s err ] && [ -s out ]
report $? "stopped by Ctrl-C: $status $(cat err)"
timeout -k 1 60 "$troupe" topic echo /clock 2>err | head -n 1 >out
grep -q system out
report $? 'a reader that goes away'

# before the publisher
timeout 60 "$troupe" topic echo /later -n 1 >out 2>err &
waiting=$!
sleep 0.3
timeout 60 "$troupe" topic pub /later -m StringMsg -p 'data: "at last"' --timeout 50
report $? 'published to one that waits'
wait $waiting
[ $? = 0 ] && grep -q 'data: "at last"' out
report $? "echoed when the publisher comes: $(cat out err)"

if have_tools; then
	timeout 60 "$topic_tool" -e -t /chat -n 1 >heard 2>&1 &
	waiting=$!
	client 'a message for a program of gz-transport' 0 '' topic pub /chat -m StringMsg -p 'data: "hello"' --timeout 50
	wait $waiting
	grep -q 'data: "hello"' heard
	report $? "a program of gz-transport hears: $(cat heard)"
	timeout 60 "$troupe" topic echo /chat -n 1 >out 2>err &
	waiting=$!
	# the program publishes once and ends, perhaps before the message is on its way
	heard()
	{
		timeout 20 "$topic_tool" -t /chat -m ignition.msgs.StringMsg -p 'data: "hi"' >/dev/null 2>&1
		[ -s out ]
	}
	until_true 60 heard
	wait $waiting
	grep -q 'data: "hi"' out
	report $? "a program of gz-transport is heard: $(cat out err)"
fi

# Each example of a service in the manual page troupe-commands(5), in a world that has what they name. The last one ends
# the run.
cp "$worlds/models/shapes/ramp.dae" cart.dae
cp "$source/tests/data/mesh/painted.png" chart.png
cat >w.sdf <<'END'
<sdf version="1.9"><world name="w"><model name="ball"><link name="l">
  <collision name="c"><geometry><mesh><uri>cart.dae</uri></mesh></geometry></collision><sensor name="imu" type="imu"/>
  <visual name="v"><geometry><sphere><radius>0.1</radius></sphere></geometry>
    <material><pbr><metal><albedo_map>chart.png</albedo_map></metal></pbr></material></visual>
</link></model></world></sdf>
END
"$troupe" run w.sdf --paused --save-dir . -v 0 >run.out 2>&1 &
run=$!
started="$started $run"
sed -n '/^\.SH OTHER SERVICES/,/^\.SH REPLIES/s/^\(troupe service call.*\)/\1/p' "$source/src/doc/man/troupe-commands.5" | sed 's/\\-/-/g' >examples
count=0
while read -r _ _ _ service _ request; do
	# the request stands in the quotes of a shell
	request=${request#\'} request=${request%\'}
	client 'an example' 0 '.*[^ ].*' service call "$service" --timeout 50000 ${request:+--req "$request"}
	! grep -q 'data: false' out
	report $? "refused: $service $request"
	count=$((count + 1))
done <examples
[ $count = 18 ]
report $? "$count examples of services, not 18"
wait $run
report $? "the run of the examples: $(cat run.out)"
rm w.sdf cart.dae chart.png before.state

# complete WORDS... EXPECTED: what bash offers for the last of the words
complete()
{
	bash -c '. "$1"; shift; expected=${*: -1}; COMP_WORDS=("${@:1:$#-1}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		function=$(complete -p troupe); function=${function##*-F }; "${function% troupe}"
		[ "${COMPREPLY[*]}" = "$expected" ] || { echo "${COMPREPLY[*]}"; exit 1; }' \
		complete "$source/src/cli/completion/troupe" "$troupe" "$@" >out 2>&1
	report $? "completion of $*: $(cat out)"
}
touch a.sdf b.csv c.txt
complete '' 'run replay bisect diff mcap view plot check print worlds topics keygen topic service --help --version'
complete ke keygen
complete topic '' 'list info echo hz pub --help'
complete topic echo --t '--topic --timeout'
complete service call --re '--reqtype --reptype --req'
complete run --network-k --network-key-file
complete run '' a.sdf
complete plot '' b.csv
complete run a.sdf --commands c c.txt
complete run a.sdf --commands-out c c.txt
complete topic echo /c /clock
complete service call /w /world/w/control
totals
