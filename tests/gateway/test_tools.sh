#!/bin/sh
# The programs of gz-transport 11, unchanged and with their default settings, against a node of ours: they list, echo,
# publish and call; they come before, during and after it; and on a machine that has loopback only.
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"
have_tools || {
	totals
	exit
}

on_failure() { sed 's/^/    /' out err said 2>/dev/null | head -n 40; }

clock=120408011005 # system { sec: 1 nsec: 5 }

published()
{
	within 20 "$topic_tool" -t /cmd_vel -m ignition.msgs.Twist -p 'linear: {x: 1}'
	grep -q '^message' said
}

everything()
{
	where=$1
	start_peer pub /clock gz.msgs.Clock $clock 20 pub /once gz.msgs.StringMsg 120161 0 \
		offer /world/w/control gz.msgs.WorldControl gz.msgs.Boolean 1001 \
		offer /no gz.msgs.StringMsg gz.msgs.Boolean refuse sub /cmd_vel
	within 30 "$topic_tool" -l
	printf '/clock\n/once\n' | cmp -s - out
	report $? "$where: topics are listed"
	within 30 "$topic_tool" -i -t /clock
	grep -q 'tcp://127.0.0.1:[0-9]*, ignition.msgs.Clock$' out
	report $? "$where: a topic is described"
	within 30 "$topic_tool" -e -t /clock -n 2
	[ $? = 0 ] && [ "$(grep -c ' sec: 1$' out)" -ge 2 ] && [ "$(grep -c 'nsec: 5$' out)" -ge 2 ]
	report $? "$where: messages are echoed"
	within 30 "$topic_tool" -e -t /once -n 1
	grep -q 'data: "a"' out
	report $? "$where: a message published when a subscriber comes reaches it"
	within 30 "$service_tool" -l
	printf '/no\n/world/w/control\n' | cmp -s - out
	report $? "$where: services are listed"
	within 30 "$service_tool" -i -s /world/w/control
	grep -q 'tcp://127.0.0.1:[0-9]*, ignition.msgs.WorldControl, ignition.msgs.Boolean$' out
	report $? "$where: a service is described"
	within 30 "$service_tool" -s /world/w/control --reqtype ignition.msgs.WorldControl \
		--reptype ignition.msgs.Boolean --timeout 20000 --req 'pause: true'
	grep -q '^data: true' out && grep -q '^request /world/w/control gz.msgs.WorldControl two-way 1001' said
	report $? "$where: a service is called"
	within 30 "$service_tool" -s /no --reqtype ignition.msgs.StringMsg --reptype ignition.msgs.Boolean \
		--timeout 20000 --req 'data: "x"'
	grep -q 'Service call failed' out err
	report $? "$where: a service refuses"
	# the program publishes a tenth of a second after its begin, and ends: it may not have found the peer yet
	until_true 120 published
	grep -q '^message /cmd_vel gz.msgs.Twist 120911000000000000f03f$' said
	report $? "$where: what it publishes comes in"
}

if [ "${1:-}" = --alone ]; then
	everything 'without a network'
	end_last TERM
	totals
	exit
fi
everything 'with default settings'
IGN_PARTITION=other within 30 "$topic_tool" -l
[ ! -s out ]
report $? 'another partition sees nothing'
end_last TERM
within 30 "$topic_tool" -l
[ ! -s out ]
report $? 'after the end nothing is listed'

IGN_IP=127.0.0.1
export IGN_IP
everything 'with IGN_IP=127.0.0.1'
unset IGN_IP
end_last TERM

# One that comes first, stays while the node is killed, and hears the next.
timeout -k 1 120 "$topic_tool" -e -t /clock -n 200 >echoed 2>&1 &
echo_tool=$!
sleep 0.5
start_peer pub /clock gz.msgs.Clock $clock 50
echoed() { [ "$(grep -c nsec echoed)" -ge 5 ]; }
until_true 60 echoed
report $? 'a program that was there before hears'
end_last KILL
start_peer pub /clock gz.msgs.Clock $clock 50
wait $echo_tool
status=$?
[ $status = 0 ] && [ "$(grep -c nsec echoed)" -ge 200 ]
report $? "a program hears the next node after one that was killed (status $status)"
end_last TERM

start_peer pubs 1000 gz.msgs.Clock $clock 0
within 30 "$topic_tool" -l
count=$(wc -l <out)
[ "$count" = 1000 ]
report $? "of 1000 topics $count are listed"
end_last TERM

# A machine without a network.
alone='ip link set lo up && exec sh "$0" --alone'
if unshare -rn sh -c 'ip link set lo up' 2>/dev/null; then
	SOURCE_DIR=$source BUILD_DIR=${peer%/tests/gateway/gz_peer} unshare -rn \
		sh -c "$alone" "$source/tests/gateway/test_tools.sh" >out 2>&1
	tail -n 1 out | grep -q '^9 passed, 0 failed'
	report $? 'without a network'
else
	skip 'without a network' 'no network namespace can be made here'
fi
totals
