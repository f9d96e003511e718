#!/bin/sh
# test limit: 60
# --camera-out writes each picture once, with its time, and the same pictures with any number of secondaries. A camera that
# waits for a trigger takes one picture in the step of each message, also after a pause, in a resumed run and in a replay.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"

image='<image><width>32</width><height>24</height></image>'
cat >"$scratch/w.sdf" <<-EOF2
	<sdf version="1.9"><world name="w"><light name="sun" type="directional"><direction>1 0 -1</direction></light>
	<model name="ball"><pose>4 0 1 0 0 0</pose><link name="l"><inertial><mass>1</mass></inertial><collision name="c"><geometry>
	<sphere><radius>1</radius></sphere></geometry></collision><visual name="v"><geometry><sphere><radius>1</radius></sphere>
	</geometry><material><diffuse>1 0 0</diffuse><ambient>1 0 0</ambient></material></visual></link></model>
	<model name="eye"><pose>0 0 1 0 0 0</pose><link name="l"><gravity>0</gravity><inertial><mass>1</mass></inertial>
	<sensor name="c" type="camera"><update_rate>10</update_rate><camera>$image</camera></sensor>
	<sensor name="d" type="depth_camera"><topic>depth</topic><update_rate>5</update_rate><camera>$image</camera></sensor>
	</link></model></world></sdf>
EOF2
"$troupe" topics "$scratch/w.sdf" 2>/dev/null | grep -q gz.msgs.Image || {
	skip 'pictures' 'built without Embree'
	totals
	exit
}
# pictures FOLDER OPTION...
pictures()
{
	folder=$1
	shift
	run "$scratch/said" "$scratch/w.sdf" - 400 --camera-out "$scratch/$folder" "$@"
	report $? "writes pictures with $*"
}
pictures one --secondaries 0
names=$(cd "$scratch/one" && echo *)
camera=world_w_model_eye_link_l_sensor_c_image
[ "$names" = "depth-000000000000.png depth-000000200000.png $camera-000000000000.png $camera-000000100000.png $camera-000000200000.png $camera-000000300000.png" ]
report $? "names: $names"
cmp -s "$scratch/one/$camera-000000000000.png" "$scratch/one/$camera-000000300000.png"
[ $? = 1 ]
report $? 'the ball falls in the picture'
for options in '2' '2 --transport tcp --network-stale-ms 60000'; do
	rm -rf "$scratch/again"
	# shellcheck disable=SC2086 # options are words
	pictures again --secondaries $options
	diff -r "$scratch/one" "$scratch/again" >"$scratch/diff"
	report $? "the same pictures with $options: $(cat "$scratch/diff")"
done
# --- formats -------------------------------------------------------------------------------------------------------
# FORMAT BITS TYPE: depth and type of colour in the head of the PNG file (0: grey, 2: colour)
sed 's|<sensor name="d".*||' "$scratch/w.sdf" >"$scratch/plain.sdf"
while read -r format bits type; do
	sed "s|</height>|</height><format>$format</format>|" "$scratch/plain.sdf" >"$scratch/f.sdf"
	rm -rf "$scratch/again"
	run "$scratch/said" "$scratch/f.sdf" - 10 --camera-out "$scratch/again"
	report $? "writes pictures of $format"
	head=$(od -An -tu1 -j24 -N2 "$scratch/again/$camera-000000000000.png" | tr -s ' ')
	[ "$head" = " $bits $type" ]
	report $? "$format: bits and type of the picture:$head"
	[ "$format" = B8G8R8 ] && {
		cmp "$scratch/one/$camera-000000000000.png" "$scratch/again/$camera-000000000000.png"
		report $? 'blue, green and red are written as red, green and blue'
	}
done <<-EOF2
	B8G8R8 8 2
	L8 8 0
	L16 16 0
	BAYER_GRBG8 8 0
EOF2
# --- triggers ------------------------------------------------------------------------------------------------------
post="/world/w/model/post/link/l/sensor/c/image/trigger"
waits="<triggered>1</triggered>$image"
cat >"$scratch/t.sdf" <<-EOF2
	<sdf version="1.9"><world name="w"><light name="sun" type="directional"><direction>1 0 -1</direction></light>
	<model name="ball"><pose>4 0 1 0 0 0</pose><link name="l"><visual name="v"><geometry><sphere><radius>1</radius></sphere>
	</geometry></visual></link></model>
	<model name="post"><static>1</static><pose>0 0 1 0 0 0</pose><link name="l"><sensor name="c" type="camera"><update_rate>1
	</update_rate><camera>$waits</camera></sensor></link></model>
	<model name="eye"><pose>0 0 1 0 0 0</pose><link name="l"><gravity>0</gravity>
	<sensor name="d" type="depth_camera"><topic>depth</topic><camera><trigger_topic>shoot</trigger_topic>$waits
	<noise><type>gaussian</type><stddev>0.1</stddev></noise></camera></sensor></link></model></world></sdf>
EOF2
cat >"$scratch/commands" <<-EOF2
	30 /shoot data: true
	40 $post data: true
	40 $post data: true
	41 /shoot data: false
	50 /world/w/control pause: true
	53 $post data: true
	60 /world/w/control pause: false
EOF2
# shots FOLDER OPTION...: pictures and readings
shots()
{
	folder=$1
	shift
	rm -rf "${scratch:?}/$folder"
	timeout "$run_limit_s" "$troupe" run "$@" --rtf 0 -v 0 --iterations 100 --sense-all --report "$scratch/report" \
		--camera-out "$scratch/$folder" >"$scratch/said" 2>&1
	report $? "writes pictures of triggers with $*: $(head -n 3 "$scratch/said")"
	{ ls "$scratch/$folder" && member "$scratch/report" readings && member "$scratch/report" readings_digest; } >"$scratch/$folder.list"
}
set -- "$scratch/t.sdf" --commands "$scratch/commands"
shots two "$@" --secondaries 0
waiting=world_w_model_post_link_l_sensor_c_image
[ "$(head -n 5 "$scratch/two.list" | tr '\n' ' ')" = "depth-000000030000.png depth-000000041000.png $waiting-000000040000.png $waiting-000000050000.png 4 " ]
report $? "one picture for each trigger: $(tr '\n' ' ' <"$scratch/two.list")"
for options in '1' '2' '2 --transport tcp --network-stale-ms 60000' '3 --chaos 2'; do
	# shellcheck disable=SC2086 # options are words
	shots again "$@" --secondaries $options
	diff -r "$scratch/two" "$scratch/again" >"$scratch/diff" && cmp "$scratch/two.list" "$scratch/again.list" >>"$scratch/diff" 2>&1
	report $? "the same pictures of triggers with $options: $(cat "$scratch/diff")"
done
shots again "$@" --secondaries 2 --save-at 56 "$scratch/paused" --record "$scratch/record"
for options in '0' '2 --transport tcp --network-stale-ms 60000'; do
	# shellcheck disable=SC2086 # options are words
	shots rest --resume "$scratch/paused" --secondaries $options
	[ "$(head -n 1 "$scratch/rest.list")" = "$waiting-000000050000.png" ] && cmp -s "$scratch/rest/$waiting-000000050000.png" \
		"$scratch/two/$waiting-000000050000.png" && [ "$(tail -n 2 "$scratch/rest.list")" = "$(tail -n 2 "$scratch/two.list")" ]
	report $? "a trigger in a pause is in a saved state, $options: $(tr '\n' ' ' <"$scratch/rest.list")"
done
timeout "$run_limit_s" "$troupe" replay "$scratch/record" --secondaries 2 >"$scratch/said" 2>&1 &&
	grep -q "^4 readings of sensors, digest $(tail -n 1 "$scratch/two.list")\$" "$scratch/said"
report $? "the replay has the same triggers: $(cat "$scratch/said")"
"$troupe" topics "$scratch/t.sdf" >"$scratch/said" 2>&1
grep -q "$post *gz.msgs.Boolean" "$scratch/said" && grep -q '/shoot *gz.msgs.Boolean' "$scratch/said"
report $? "triggers are topics: $(cat "$scratch/said")"
sed 's|<pose>0 0 1 0 0 0</pose><link name="l"><gravity>|<plugin name="gz::sim::systems::VelocityControl" filename=""><topic>/shoot</topic></plugin>&|' \
	"$scratch/t.sdf" >"$scratch/two_types.sdf"
timeout "$run_limit_s" "$troupe" run "$scratch/two_types.sdf" --iterations 1 >"$scratch/said" 2>&1
grep -q "topic '/shoot' carries gz.msgs.Twist for another plugin: expected gz.msgs.Boolean" "$scratch/said"
report $? "a trigger on a topic of another type: $(cat "$scratch/said")"

: >"$scratch/file"
timeout 60 "$troupe" run "$scratch/w.sdf" --iterations 5 --rtf 0 --camera-out "$scratch/file" >"$scratch/said" 2>&1
[ $? = 1 ] && grep -q "^troupe run: $scratch/file: cannot make this folder for pictures: " "$scratch/said"
report $? "a file for a folder: $(cat "$scratch/said")"
if command -v python3 >/dev/null; then
	python3 - "$scratch/one/$camera-000000000000.png" "$scratch/one/depth-000000000000.png" <<-'EOF2'
		import struct, sys, zlib

		def rows(path):
		    data, at, packed = open(path, "rb").read(), 8, b""
		    while at < len(data):
		        count, kind = struct.unpack(">I4s", data[at:at + 8])
		        if kind == b"IHDR":
		            width, height, bits, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
		        if kind == b"IDAT":
		            packed += data[at + 8:at + 8 + count]
		        at += count + 12
		    step = {2: 3, 0: 2}[colour]
		    raw, before, out = zlib.decompress(packed), bytearray(width * step), []
		    for y in range(height):
		        line = bytearray(raw[y * (width * step + 1) + 1:(y + 1) * (width * step + 1)])
		        for x in range(len(line)):
		            a = line[x - step] if x >= step else 0
		            b, c = before[x], before[x - step] if x >= step else 0
		            p = a + b - c
		            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
		            line[x] = line[x] + [0, a, b, (a + b) // 2, paeth][raw[y * (width * step + 1)]] & 255
		        out.append(line)
		        before = line
		    return out

		picture, depth = rows(sys.argv[1]), rows(sys.argv[2])
		red, green, blue = picture[12][48:51]
		mm = depth[12][32] << 8 | depth[12][33]
		if not (red > 40 and green == blue == 0 and 2990 < mm < 3020):
		    sys.exit("in the middle: colour %d %d %d, depth %d mm: expected a red ball at 3 m" % (red, green, blue, mm))
	EOF2
	report $? 'the ball in the middle is red and 3 m away'
fi
totals
