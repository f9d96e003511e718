#!/bin/sh
# Meshes of levels that nobody is near are read when a performer comes, and given up again. The hashes are those of a run
# that reads all at first: for each number of secondaries, with forced moves, over a network, in runs that are recorded
# and replayed, saved and resumed. A file that the reader refuses is found out when it is read, with one line.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

city_steps=$(amount 12000 12000 14000)
city=$scratch/city.sdf
city_commands=$scratch/city.commands
cp -R "$worlds/models" "$scratch/models"
"$worlds/generate" city --blocks 25 --robots 5 --kilobytes 5 --side 3 "$scratch/city" >"$scratch/made" 2>&1
report $? "the city is made: $(cat "$scratch/made")"
# on the way of the carts: a hill from an image; blocks that are no meshes, or that a command moves
hill="<model name='hill'><static>true</static><pose>7.5 7.5 0 0 0 0</pose><link name='l'><collision name='c'><geometry><heightmap><uri>models/shapes/hills.png</uri><size>3 3 0.1</size></heightmap></geometry></collision></link></model>"
awk -v hill="$hill" '/<plugin name="gz::sim" filename/ { print hill } { print } /<ref>block_12</ { print "<ref>hill</ref>" }' "$city" >"$scratch/more"
mv "$scratch/more" "$city"
{
	cat "$city_commands"
	echo '0.9 /world/city/set_pose name: "block_8" position: {x: 9 y: 3 z: 0.01}'
	echo '1.1 /world/city/remove name: "block_19" type: MODEL'
} >"$scratch/more"
mv "$scratch/more" "$city_commands"

# same WHAT OPTION...: the hashes of the run that has read all meshes at first
same()
{
	what=$1
	shift
	run "$scratch/other" "$city" "$city_commands" "$city_steps" --hash-every 20 --report "$scratch/report" "$@"
	cmp -s "$scratch/all" "$scratch/other"
	report $? "$what: $(diff "$scratch/all" "$scratch/other" 2>&1 | sed -n 2p)"
}

# --- what is read when ------------------------------------------------------------------------------------------------

run "$scratch/all" "$city" "$city_commands" "$city_steps" --hash-every 20 --secondaries 0 --load-all --report "$scratch/report"
report $? 'all meshes are read at first'
[ "$(member "$scratch/report" unread_meshes)" = 0 ] && [ "$(wc -l <"$scratch/all")" = $((city_steps / 20)) ]
report $? "with --load-all no mesh is left unread: $(member "$scratch/report" unread_meshes)"
run "$scratch/other" "$city" - 1 --secondaries 0 --report "$scratch/report"
[ "$(member "$scratch/report" unread_meshes)" = 26 ] && [ "$(member "$scratch/report" meshes_read)" = 5 ]
report $? "the meshes under the carts are read at first: $(member "$scratch/report" meshes_read)"
same '0 secondaries' --secondaries 0
read=$(member "$scratch/report" meshes_read) gone=$(member "$scratch/report" meshes_given_up)
[ "$read" -ge 20 ] && [ "$gone" -ge 5 ] && [ "$(member "$scratch/report" meshes_held)" -le 22 ]
report $? "carts come to $read meshes, and $gone are given up"
[ "$(member "$scratch/report" mesh_bytes)" -gt 10000 ]
report $? "memory of the meshes: $(member "$scratch/report" mesh_bytes)"

# --- the same bits ----------------------------------------------------------------------------------------------------

same '1 secondary' --secondaries 1
same '2 secondaries, step by step' --secondaries 2 --window 1
same '2 secondaries, forced moves' --secondaries 2 --chaos 3
same 'forced moves of many' --secondaries 2 --chaos 5 --chaos-moves 3
same 'two processes' --transport tcp --network-stale-ms 60000 --secondaries 2
[ "$(member "$scratch/report" meshes_read)" -le 10 ]
report $? "the primary reads few meshes: $(member "$scratch/report" meshes_read)"
[ -n "$quick" ] || same 'two processes, forced moves' --transport tcp --network-stale-ms 60000 --secondaries 2 --chaos 7
same 'a run that is recorded' --secondaries 0 --record "$scratch/record" --record-every 500
mv "$scratch/city.meshes" "$scratch/aside" # neither the recording nor the state needs the files
timeout "$run_limit_s" "$troupe" replay "$scratch/record" >"$scratch/replayed" 2>&1
report $? "is replayed: $(tail -2 "$scratch/replayed")"
mv "$scratch/aside" "$scratch/city.meshes"
run "$scratch/first" "$city" "$city_commands" 3000 --secondaries 0 --save-at 3000 "$scratch/state"
report $? 'a run that is saved'
mv "$scratch/city.meshes" "$scratch/aside"
timeout "$run_limit_s" "$troupe" run --resume "$scratch/state" --rtf 0 -v 0 --iterations "$city_steps" --hash-every 20 \
	--secondaries 1 >"$scratch/rest" 2>"$scratch/rest.err"
report $? "is resumed: $(cat "$scratch/rest.err")"
tail -n "$(wc -l <"$scratch/rest")" "$scratch/all" | cmp -s - "$scratch/rest" && [ -s "$scratch/rest" ]
report $? 'a run that is resumed'
mv "$scratch/aside" "$scratch/city.meshes"

# --- files that cannot be read ----------------------------------------------------------------------------------------

# lines: how many lines name the block
lines() { grep -c "block_$1" "$scratch/other.err"; }
# noisy OUTPUT STEPS OPTION...: runs with warnings
noisy()
{
	out=$1 until=$2
	shift 2
	timeout "$run_limit_s" "$troupe" run "$city" --commands "$city_commands" --rtf 0 -v 1 --iterations "$until" --hash-every 20 \
		"$@" >"$scratch/$out" 2>"$scratch/other.err"
}
# its points are a mesh, but its faces have others
sed -i 's/^f .*/f 1 2 9999/' "$scratch/city.meshes/block_10.obj"
noisy bad_all "$city_steps" --load-all --secondaries 0
report $? 'a bad file that is read at first'
[ "$(lines 10)" = 1 ]
report $? "one warning names it: $(cat "$scratch/other.err")"
noisy bad 100 --secondaries 0
[ "$(lines 10)" = 0 ]
report $? "a bad file that is far away is not read: $(cat "$scratch/other.err")"
for secondaries in 0 2; do
	noisy bad "$city_steps" --secondaries $secondaries
	report $? "$secondaries secondaries: the run goes on"
	[ "$(lines 10)" = 1 ] && grep -q 'city.sdf:[0-9]*: mesh ".*block_10.obj" of model "block_10": .*; the model is without it' "$scratch/other.err"
	report $? "one warning names it when it is read: $(cat "$scratch/other.err")"
	cmp -s "$scratch/bad_all" "$scratch/bad"
	report $? "$secondaries secondaries: a bad file has the same effect later: $(diff "$scratch/bad_all" "$scratch/bad" | sed -n 2p)"
done
noisy bad 10 --strict --secondaries 0
[ $? = 1 ] && [ "$(lines 10)" -ge 1 ]
report $? "--strict reads all at first: $(cat "$scratch/other.err")"
rm "$scratch/city.meshes/block_10.obj"
# files that change while the world is paused; its commands come through a pipe
mkfifo "$scratch/pipe"
timeout "$run_limit_s" "$troupe" run "$city" --commands - --rtf 0 -v 0 --paused --secondaries 0 --save-at 0 "$scratch/begun" \
	<"$scratch/pipe" >"$scratch/other" 2>"$scratch/other.err" &
running=$!
exec 9>"$scratch/pipe"
tries=0
while [ ! -e "$scratch/begun" ] && [ $((tries += 1)) -lt 2000 ]; do sleep 0.1; done
for i in 5 6 7 8 9; do
	for file in "$scratch/city.meshes/block_$i".*; do
		printf ' ' >>"$file"
	done
done
{
	sed -n 's|^[0-9.]* \(/model.*\)|\1|p' "$city_commands"
	echo '/world/city/control pause: false'
} >&9
wait $running
[ $? = 1 ] && [ "$(grep -c '' "$scratch/other.err")" = 1 ] && grep -q 'city.sdf:[0-9]*: mesh ".*block_[5-9].*it has changed since the world was loaded' "$scratch/other.err"
report $? "files that change meanwhile end the run: $(cat "$scratch/other.err")"
exec 9>&-
noisy bad 10 --secondaries 0
[ "$(lines 10)" = 1 ]
report $? "a missing file is named at first: $(cat "$scratch/other.err")"
totals
