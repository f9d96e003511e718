# What the tests of autopilots (ardupilot, px4) share. Source it after SERVER, the name of --serve, and SITL, the program
# that stands in for the autopilot, are set.
. "${SOURCE_DIR:-.}/tests/gateway/lib.sh"
TROUPE_NO_GZ=1
export TROUPE_NO_GZ
sitl="$source/tests/gateway/$SITL"
command -v python3 >/dev/null || {
	skip "$SERVER" 'no python3'
	totals
	exit
}
base=$((20000 + $$ * 64 % 11968)) # of 64 ports; below those that the system gives away
while grep -qiE ":($(for i in $(seq 0 63); do printf '%04x|' $((base + i)); done)x) " /proc/net/tcp /proc/net/udp; do
	base=$((20000 + (base - 20000 + 64) % 11968))
done

# serves_nowhere WORLD: where it cannot be served, one line says so
serves_nowhere()
{
	for wrong in "$SERVER=*" "$SERVER=nowhere" "$SERVER=0.0.0.0" "$SERVER,token=abcdefghijklmnop"; do
		"$troupe" run "$1" --iterations 1 --serve "$wrong" >out 2>err
		[ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && grep -q 'expected' err
		report $? "--serve $wrong is refused: $(cat err)"
	done
}

# twice WORLD: its models a and b have one port
twice()
{
	"$troupe" run "$1" --iterations 1 --serve "$SERVER" >out 2>err
	grep -q "port $base .*'a' and 'b'.*expected" err
	report $? "two vehicles with one port: $(cat err)"
}

# wrong_in WORLD: each line of the input changes one element, FROM TO, and what is said then has WHAT
wrong_in()
{
	while read -r from to what; do
		sed "s|$from|$to|" "$1" >wrong.sdf
		"$troupe" check wrong.sdf >out 2>&1
		[ $? != 0 ] && grep -q "wrong.sdf:[0-9]*: .*$what" out
		report $? "$to: $(cat out)"
	done
}
