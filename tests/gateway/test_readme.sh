#!/bin/sh
# test limit: 120
# The commands of README's section on robots' software, as they stand there. Only ports are replaced by free ones.
. "${SOURCE_DIR:-.}/tests/cli/lib.sh"
unset TROUPE_NO_GZ 2>/dev/null
# a domain that no other test has, whose ports are below those that the system gives to outgoing connections
export GZ_PARTITION=readme$$ ROS_DOMAIN_ID=$((1 + $$ % 9))

awk "/^The robot's own software\$/ { inside = 1; next } inside && /^ROS 2\$/ { exit } inside && /^    build\/troupe/" \
	"$source/README" | sed 's/^ *//' >commands
[ "$(wc -l <commands)" -ge 5 ]
report $? 'README has the commands'

mkdir -p build
ln -s "$troupe" build/troupe
base=$((10000 + $$ % 5000 * 4)) # four ports, below those of outgoing connections
while for i in 0 1 2 3; do printf ':%04X \n' $((base + i)); done | grep -qFf - /proc/net/tcp; do base=$((base + 4)); done
free_ports()
{
	sed -e "s/ 9090/ $base/" -e "s/ 8765/ $((base + 1))/" -e "s/ 8766/ $((base + 2))/" \
		-e "s/--network-address 127.0.0.1/&:$((base + 3))/" -e "s/--network-role primary/& --network-listen 127.0.0.1:$((base + 3))/"
}
free_ports <commands >here
for option in '--ros2' "--rosbridge $base" "--foxglove $base"; do
	# shellcheck disable=SC2086 # an option and its port
	"$troupe" run "$worlds/warehouse.sdf" --iterations 1 $option >out 2>err && continue
	skip "$option" "this build has it not: $(head -n 1 err)"
	sed "s/ ${option% *}\( [0-9]*\)\{0,1\}//" here >there
	mv there here
done

# What stands before an & goes on beside the next command; all end by themselves, and well.
number=0
pids=
while read -r line; do
	number=$((number + 1))
	case $line in
	*'&')
		sh -c "timeout 60 ${line%&}" >"out.$number" 2>&1 &
		pids="$pids $!"
		;;
	*)
		sh -c "timeout 60 $line" >out 2>err
		report $? "$line"
		for pid in $pids; do
			wait "$pid"
			report $? "a command before $line"
		done
		pids=
		;;
	esac
done <here
grep -q 'all the same' out.* out 2>/dev/null || [ -s drive ]
report $? 'the recording is there'
totals
