#!/bin/sh
# A replay has the same bits with any number of secondaries, and needs none of the files of its world. A recording
# that was cut off or is damaged can be used up to that point. A difference is named. Recording changes no bit.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

cp -r "$worlds" "$scratch/worlds"
here=$scratch/worlds
tape=$scratch/recording

# replay STATUS PATTERN OPTION...: the replay has this exit status, and one line with the pattern
replay()
{
	want=$1 pattern=$2
	shift 2
	timeout 60 "$troupe" replay -v 0 "$@" >"$scratch/out" 2>"$scratch/err"
	status=$?
	[ "$status" = "$want" ] && [ "$(cat "$scratch/out" "$scratch/err" | wc -l)" = 1 ] &&
		cat "$scratch/out" "$scratch/err" | grep -qE -e "$pattern"
	report $? "replay $*: $status, not $want with /$pattern/: $(cat "$scratch/out" "$scratch/err" | head -n 3)"
}

turn=0
# comes_again NAME COMMANDS STEPS EVERY OPTION...: records a run with two secondaries, whose output must be that of a
# run without a recording, and replays it without the world's files
comes_again()
{
	name=$1 given=$2 until=$3 every=$4
	shift 4
	run "$scratch/plain" "$here/$name.sdf" "$given" "$until" --hash-every "$every" --secondaries 1 "$@"
	run "$scratch/recorded" "$here/$name.sdf" "$given" "$until" --hash-every "$every" --secondaries 2 \
		--record "$tape" --record-every "$every" "$@"
	report $? "$name: runs and records"
	cmp -s "$scratch/plain" "$scratch/recorded"
	report $? "$name: recording changes the output"
	mv "$here" "$here.hidden"
	turn=$((turn % 2 + 1))
	for options in 0 1 3 '2 --chaos 1'; do
		# two of the four ways for each recording, by turns; all four with TROUPE_TEST_FULL
		case $full,$turn,$options in ,1,[02]* | ,2,[13]*) continue ;; esac
		# shellcheck disable=SC2086
		replay 0 "^$until steps, $((until / every + 1)) hashes compared: all the same$" "$tape" --secondaries $options
	done
	mv "$here.hidden" "$here"
	timeout 60 "$troupe" replay "$tape" -v 3 2>"$scratch/err" | grep '^hash' | sed 1d >"$scratch/again"
	cmp -s "$scratch/plain" "$scratch/again"
	report $? "$name: hashes of the replay are not those of the run"
}

cat >"$scratch/edits" <<-EOF2
	100 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: 12}}
	101 /model/late/cmd_vel linear: {x: 0.9}
	150 /world/asleep/remove name: "crate_1_0_1"
	200 /world/asleep/create name: "slab" pose {position {x: 2 y: 12 z: 0.5}} sdf: "$slab"
	250 /world/asleep/create_multiple data {sdf_filename: "models/cart" name: "a" pose {position {x: 2 y: 12 z: 1.5}}} data {sdf_filename: "models/cart" name: "b" pose {position {x: 3 y: 12 z: 2}}}
	260 /world/asleep/create sdf_filename: "models/cart" name: "a" allow_renaming: true pose {position {x: 5 y: 12 z: 1}}
	270 /world/asleep/create clone_name: "late" name: "twin" pose {position {x: -7 y: 12}}
	271 /world/asleep/create clone_name: "cart_2" name: "other" pose {position {x: -7 y: 20}}
	272 /model/twin/cmd_vel linear: {x: 0.7}
	300 /world/asleep/remove name: "late"
	310 /model/late/cmd_vel linear: {x: 0.5}
	320 /world/asleep/remove name: "nobody"
	350 /world/asleep/create sdf_filename: "models/cart" name: "late" pose {position {x: -2 y: -12}}
	400 /world/asleep/set_pose name: "slab" position {x: 2 y: 12 z: 0.1}
	450 /world/asleep/set_pose name: "ground" position {z: -0.1}
	500 /world/asleep/level/set_performer data: "cart_2" size {x: 1 y: 1 z: 1}
	510 /world/asleep/level/set_performer data: "slab"
	520 /world/asleep/remove name: "sun" type: LIGHT
	530 /world/asleep/set_pose id: 14 position {x: 2 y: 3 z: 2}
	531 /world/asleep/create sdf: "$beacon"
	532 /world/asleep/light_config name: "beacon::l::b" intensity: 0.25
	533 /world/asleep/light_config name: "c" pose {position {z: 2}}
	540 /world/asleep/reset_model name: "beacon"
	541 /world/asleep/light_config name: "c" range: 3
	540 /world/asleep/disable_collision name: "crate_0_1_2"
	542 /world/asleep/wrench/persistent entity {name: "cart_2"} wrench {force {y: 3} force_offset {x: 0.3}}
	543 /world/asleep/wrench/persistent entity {name: "restless"} wrench {torque {z: 0.2}}
	544 /world/asleep/light_config name: "sun" intensity: 0.3
	545 /world/asleep/light_config name: "lamp" type: SPOT
	550 /world/asleep/set_physics max_step_size: 0.0005 real_time_factor: 0.001 gravity {z: -20}
	560 /world/asleep/set_physics real_time_factor: 1000000
	600 /model/late/cmd_vel linear: {x: 0.5}
	650 /world/asleep/reset_model name: "cart_2"
	640 /world/asleep/enable_collision name: "crate_0_1_2"
	645 /world/asleep/wrench/clear name: "restless"
	650 /world/asleep/reset_model name: "b"
	700 /world/asleep/control pause: true
	720 /world/asleep/control multi_step: 100
	850 /world/asleep/control run_to_sim_time {sec: 1} pause: false
	900 /world/asleep/control reset {all: true} pause: false
	1000 /world/asleep/control run_to_sim_time {nsec: 150000000}
EOF2
sed '/nobody/d; /^310/d' "$scratch/edits" >"$scratch/good"
comes_again asleep "$scratch/good" 1200 50
comes_again warehouse "$here/warehouse.commands" "$(amount 800 800 1500)" 100
comes_again specification "$here/specification_2.commands" 500 100
comes_again patrol - 600 100
[ -n "$quick" ] || comes_again heap - "$(amount 0 500 1500)" 500
[ -n "$quick" ] || comes_again hill - "$(amount 0 1000 3000)" 1000
[ -n "$quick" ] || comes_again shapes - 600 200

# commands that could not be obeyed are recorded, too
"$troupe" run "$here/asleep.sdf" --commands "$scratch/edits" --rtf 0 -v 0 --iterations 900 --record "$tape" 2>"$scratch/err"
[ $? = 1 ] && grep -q '2 commands could not be obeyed' "$scratch/err"
report $? "refused commands: $(cat "$scratch/err")"
replay 0 '^900 steps, 2 hashes compared: all the same$' "$tape" --secondaries 1

# A recording of a resumed run begins at the saved state, has none of the earlier commands, and has the files that were
# read later.
run "$scratch/out" "$here/meeting.sdf" "$here/meeting.commands" 100 --save-at 100 "$scratch/state"
echo '150 /world/meeting/create sdf_filename: "late.sdf" name: "late" pose {position {z: 3}}' |
	sed "s|late.sdf|$here/late.sdf|; s|/world/meeting|/world/$(sed -n 's/.*<world name="\([^"]*\)".*/\1/p' "$here/meeting.sdf")|" >"$scratch/late"
cat >"$here/late.sdf" <<'END'
<sdf version="1.9"><model name="late"><link name="l"><collision name="c"><geometry><sphere><radius>0.2</radius></sphere></geometry>
</collision></link></model></sdf>
END
"$troupe" run --resume "$scratch/state" --commands "$scratch/late" --rtf 0 -v 0 --iterations 450 --record "$tape" \
	--record-every 100 --trace >"$scratch/out" 2>&1
grep -q '^reply 150 .* ok' "$scratch/out"
report $? "a model from a file, after a resume: $(head -n 2 "$scratch/out")"
mv "$here" "$here.hidden"
replay 0 '^350 steps, 5 hashes compared: all the same$' "$tape" --secondaries 0
replay 0 '^350 steps, 5 hashes compared: all the same$' "$tape" --secondaries 3
mv "$here.hidden" "$here"

# A model that is given as text names a mesh, which is a part of the recording, too.
cat >"$here/corner.obj" <<'END'
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
END
echo "20 /world/w/create name: \"late\" pose {position {z: 3}} sdf: \"<sdf version='1.9'><model name='m'><link name='l'><collision
	name='c'><geometry><mesh><uri>corner.obj</uri></mesh></geometry></collision></link></model></sdf>\"" | tr '\n\t' '  ' >"$scratch/mesh"
echo >>"$scratch/mesh"
echo '<sdf version="1.9"><world name="w"><model name="floor"><static>true</static><link name="l"><collision name="c"><geometry>
<plane/></geometry></collision></link></model></world></sdf>' >"$here/plain.sdf"
"$troupe" run "$here/plain.sdf" --commands "$scratch/mesh" --rtf 0 -v 0 --iterations 900 --record "$tape" --record-every 100 \
	--trace >"$scratch/out" 2>"$scratch/err"
if grep -q 'built without' "$scratch/out" "$scratch/err"; then
	skip 'a mesh of a model that is created' 'troupe was built without meshes'
else
	grep -q '^reply 20 .* ok' "$scratch/out"
	report $? "a model with a mesh is created: $(head -n 2 "$scratch/out" "$scratch/err" | tr '\n' ';')"
	mv "$here" "$here.hidden"
	replay 0 '^900 steps, 10 hashes compared: all the same$' "$tape" --secondaries 1
	mv "$here.hidden" "$here"
	sed -i 's/^v 1 0 0/v 5 0 0/' "$here/corner.obj"
	replay 0 '^900 steps, 10 hashes compared: all the same$' "$tape" --secondaries 2
fi

# models found in resource paths: of an option and of the environment
mkdir -p "$here/option/ball" "$here/environment/other"
cp "$here/late.sdf" "$here/environment/other/model.sdf"
sed 's/late/ball/' "$here/late.sdf" >"$here/option/ball/model.sdf"
for model in option/ball environment/other; do
	echo "<model><name>m</name><sdf version='1.9'>model.sdf</sdf></model>" >"$here/$model/model.config"
done
echo '<sdf version="1.9"><world name="w"><include><uri>model://ball</uri></include>
<include><uri>model://other</uri><pose>3 0 0 0 0 0</pose></include></world></sdf>' >"$here/found.sdf"
(
	GZ_SIM_RESOURCE_PATH=$scratch:$here/environment
	export GZ_SIM_RESOURCE_PATH
	run "$scratch/out" "$here/found.sdf" - 100 --record "$tape" --resource-path "$here/option"
)
report $? 'models from resource paths'
mv "$here" "$here.hidden"
replay 0 '^100 steps, 2 hashes compared: all the same$' "$tape"
mv "$here.hidden" "$here"

# several worlds, one of which ends before the other
sed 's|<sdf[^>]*>||; s|</sdf>||; s|<?xml[^>]*>||' "$here/meeting.sdf" >"$scratch/inner"
{
	echo '<sdf version="1.9">'
	sed 's|<world name="[^"]*"|<world name="one"|' "$scratch/inner"
	sed 's|<world name="[^"]*"|<world name="two"|; s|<max_step_size>[^<]*|<max_step_size>0.002|' "$scratch/inner"
	echo '</sdf>'
} >"$here/two.sdf"
printf '10 /world/one/control pause: true\n60 /world/one/control pause: false\n' >"$scratch/two"
run "$scratch/out" "$here/two.sdf" "$scratch/two" 0 --until 0.4 --record "$tape" --record-every 100 --secondaries 1
report $? 'two worlds'
replay 0 '^[1-9][0-9]* steps, [4-7] hashes compared: all the same$' "$tape" --secondaries 2

# --- cut off and damaged -------------------------------------------------------------------------------------------
run "$scratch/out" "$here/meeting.sdf" "$here/meeting.commands" 400 --record "$tape" --record-every 50
size=$(wc -c <"$tape")
# number OFFSET: prints 64 bits of the recording
number() { od -An -tu8 -j "$1" -N 8 "$tape" | tr -d ' '; }
first=24 # where the second chunk ends
for _ in 1 2; do
	first=$((first + 24 + $(number $((first + 8)))))
done
for cut in 0 10 23 24 40 1000; do
	head -c "$cut" "$tape" >"$scratch/cut"
	replay 5 'cut: cut off before its first state: nothing to compare$' "$scratch/cut"
done
last=-1
step=$(((size - first) / $(amount 10 12 40)))
for cut in $(seq "$first" "$step" $((size - 1))) $((size - 1)); do
	head -c "$cut" "$tape" >"$scratch/cut"
	replay 5 'cut: cut off after step [0-9]*: [0-9]* steps, [1-9][0-9]* hashes compared: all the same$' "$scratch/cut" \
		--secondaries 1
	now=$(sed -n 's/.*cut off after step \([0-9]*\):.*/\1/p' "$scratch/out")
	[ "${now:--2}" -ge "$last" ]
	report $? "cut at $cut: after step $now, a shorter one after $last"
	last=$now
done
[ "$last" = 400 ]
report $? "cut at the end: after step $last, not 400"
# flip BYTE FILE: prints the file with one bit of this byte changed
flip()
{
	byte=$(od -An -tu1 -j "$1" -N 1 "$tape")
	{
		head -c "$1" "$tape"
		# shellcheck disable=SC2059
		printf "\\$(printf %03o $((byte ^ 4)))"
		tail -c +$(($1 + 2)) "$tape"
	} >"$2"
}
flip $((first / 2)) "$scratch/flip"
replay 5 'flip: damaged before its first state: nothing to compare$' "$scratch/flip"
for byte in $((first + 30)) $(((first + size) / 2)) $((size - 10)); do
	flip "$byte" "$scratch/flip"
	replay 5 'flip: (damaged|cut off) after step [0-9]*: .* all the same$' "$scratch/flip" --secondaries 1
done
flip 16 "$scratch/flip"
replay 1 'flip: version 3: expected 7' "$scratch/flip"
replay 1 'meeting.sdf: not a recording' "$here/meeting.sdf"
"$troupe" run "$here/meeting.sdf" --iterations 2 --save-at 1 "$scratch/saved" -v 0
replay 1 'saved: not a recording of troupe: it is a saved state, which troupe run --resume takes' "$scratch/saved"
replay 1 'nothing: cannot open' "$scratch/nothing"
replay 1 'not a plain file' "$scratch"
replay 0 '^200 steps, 5 hashes compared: all the same$' "$tape" --until-step 249

# A recording of a killed run can be used up to the last state that was written.
"$troupe" run "$here/meeting.sdf" --rtf 0 -v 0 --record "$tape" --record-every 20 &
for _ in $(seq 600); do
	[ -s "$tape" ] && [ "$(wc -c <"$tape")" -gt $((first + 2000)) ] && break
	sleep 0.1
done
kill -s KILL $!
wait $! 2>"$scratch/err"
killed=5 # it was cut off; 0 when the replay does not read as far
"$troupe" replay "$tape" -v 0 --secondaries 0 --until-step 500 >"$scratch/out" 2>&1 && killed=0
replay $killed 'cut off after step [1-9]|^[1-9][0-9]* steps' "$tape" --secondaries 0 --until-step 500

# --- what differs --------------------------------------------------------------------------------------------------
# doctor HASH WHAT: the recording with a changed hash in its HASHth state, and in the first model of it a word changed
# (word) or its id (id), or the hash of its levels (levels), or nothing else (rest)
doctor()
{
	python3 - "$tape" "$1" "$2" "$scratch/doctored" <<'END'
import struct, sys
MASK = (1 << 64) - 1
def mix(a, b):
    product = (a ^ 0xa0761d6478bd642f) * (b ^ 0xe7037ed1a0b428db)
    return (product ^ product >> 64) & MASK
def checksum(kind, index, data):
    value = mix(mix(kind, index), len(data))
    for (word,) in struct.iter_unpack('<Q', data[:len(data) & ~7]):
        value = mix(value ^ word, 0x8ebc6af09c88c6e3)
    tail = data[len(data) & ~7:].ljust(8, b'\0')
    return mix(value ^ struct.unpack('<Q', tail)[0], 0x8ebc6af09c88c6e3)
path, wanted, what, out = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
data = open(path, 'rb').read()
result, at, index, hashes = data[:24], 24, 0, 0
while at < len(data):
    kind, count, check = struct.unpack_from('<QQQ', data, at)
    body = bytearray(data[at + 24:at + 24 + count])
    assert checksum(kind, index, bytes(body)) == check
    hashes += kind in (4, 7)
    if kind in (4, 7) and hashes == wanted:
        body[8] ^= 1
        # after step and hash, in the state of a step that failed whether the world had begun it: three numbers, the
        # words of the world's plug-ins and their count
        world = 16 + 8 * (kind == 7)
        model = world + 24 + 8 + 8 * struct.unpack_from('<Q', body, world + 24)[0]
        words = model + 16 + 8 + struct.unpack_from('<Q', body, model + 16)[0] + 8
        if what == 'word':
            body[words + 8:words + 16] = struct.pack('<d', 123.5)
        elif what == 'id':
            body[model + 8] ^= 64
        elif what == 'levels':
            body[world + 8] ^= 1
        elif what == 'rest':
            pass
    result += struct.pack('<QQQ', kind, len(body), checksum(kind, index, bytes(body))) + bytes(body)
    at += 24 + count
    index += 1
open(out, 'wb').write(result)
END
	report $? "doctor $1 $2"
}
run "$scratch/out" "$here/meeting.sdf" "$here/meeting.commands" 300 --record "$tape" --record-every 100

if need python3; then
	doctor 3 word
	replay 1 "^step 200: \(the same up to step 100\) world '[^']*': model '[^']*', link '[^']*': position y: recorded 123.5, found -?[0-9]" \
		"$scratch/doctored" --secondaries 0
	replay 0 '^100 steps, 2 hashes' "$scratch/doctored" --until-step 199
	doctor 1 word
	replay 1 "^step 0: world '[^']*': model .* recorded 123.5, found" "$scratch/doctored" --secondaries 2
	doctor 2 id
	replay 1 "^step 100: .* model '[^']*' \([0-9]*\) recorded, '[^']*' \([0-9]*\) found in its place$" "$scratch/doctored"
	doctor 2 levels
	replay 1 '^step 100: .* which levels are loaded: recorded [0-9a-f]{16}, found' "$scratch/doctored"
	doctor 2 rest
	replay 1 '^step 100: .*only the hash' "$scratch/doctored"

	# a world whose first model is the only one that changes
	cat >"$scratch/falling.sdf" <<'END'
<sdf version='1.9'><world name='w'><model name='stone'><pose>0 0 90 0 0 0</pose><link name='l'><collision name='c'>
<geometry><sphere><radius>1</radius></sphere></geometry></collision></link></model></world></sdf>
END
	run "$scratch/out" "$scratch/falling.sdf" - 300 --record "$tape" --record-every 100
	doctor 3 word
	replay 1 "^step 200: .* model 'stone', link 'l': position y: recorded 123.5, found 0" "$scratch/doctored"
fi

# a run that differs from the recorded one, because a rule of determinism is broken
for rule in 'random --solver ode' pairs; do
	# shellcheck disable=SC2086 # options are words
	run "$scratch/out" "$here/heap.sdf" - 500 --break $rule --secondaries 3 --chaos 1 --record "$tape" --record-every 100
	replay 1 "^step [1-9]00: .* world 'heap': model '[^']*', .*: recorded [^ ]*, found [^ ]*$" "$tape" --secondaries 0
done

# --- what cannot be written ----------------------------------------------------------------------------------------
if [ ! -c /dev/full ]; then
	skip 'a full device' 'there is no /dev/full'
else
	timeout 60 "$troupe" run "$here/meeting.sdf" --rtf 0 --iterations 300 --hash-every 300 --record /dev/full \
		>"$scratch/out" 2>"$scratch/err"
	[ $? = 1 ] && grep -q '^hash 300 ' "$scratch/out" && [ "$(grep -c '^warning: /dev/full: cannot write' "$scratch/err")" = 1 ] &&
		[ "$(grep -c '^troupe run: /dev/full: cannot write' "$scratch/err")" = 1 ]
	report $? "a full device: $(cat "$scratch/err")"
fi
timeout 60 "$troupe" run "$here/meeting.sdf" --rtf 0 --iterations 10 --record "$scratch/no/such" >"$scratch/out" 2>"$scratch/err"
[ $? = 1 ] && grep -q 'no/such: cannot write' "$scratch/err" && [ "$(wc -l <"$scratch/err")" = 1 ]
report $? "nowhere to record: $(cat "$scratch/err")"
# --- a run that fails ----------------------------------------------------------------------------------------------
# Its recording holds every step up to the failure, and the last state with the effects of the commands and decisions of
# the step that failed.
named belt "<model name='x'><pose>0 9 5 0 0 0</pose><link name='l'/></model>" >"$scratch/fails.sdf"
{
	echo '5 /model/belt/link/l/track_cmd_vel data: 1'
	echo '100 /world/w/set_physics gravity {z: -1e6}'
	for i in $(seq 100 200); do echo "$i /world/w/set_velocity name: \"b\" linear {x: 0.$i}"; done
} >"$scratch/fails.commands"
"$troupe" run "$scratch/fails.sdf" --commands "$scratch/fails.commands" --rtf 0 -v 0 --iterations 1000 --hash-every 1 \
	--record "$tape" --secondaries 2 >"$scratch/out" 2>"$scratch/err"
status=$? last=$(tail -n 1 "$scratch/out" | cut -d ' ' -f 2)
[ $status = 4 ] && [ "${last:-0}" -gt 100 ] && [ "$last" -lt 200 ]
report $? "a model diverges: status $status, step $last: $(cat "$scratch/err")"
for options in '--secondaries 0' '--secondaries 3 --chaos 5' '--secondaries 2 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086
	replay 0 "^$last steps, 2 hashes compared: all the same \(the recorded run failed after these steps\)\$" "$tape" $options
done
if need python3; then
	doctor 2 rest
	replay 1 "^step $last: \(the same up to step 0\) only the hash of the whole" "$scratch/doctored" --secondaries 1
fi
totals
