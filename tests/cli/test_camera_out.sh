#!/bin/sh
# test limit: 60
# --camera-out writes each picture once, with its time, and the same pictures with any number of secondaries.
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
	check "writes pictures with $*" $?
}
pictures one --secondaries 0
names=$(cd "$scratch/one" && echo *)
camera=world_w_model_eye_link_l_sensor_c_image
[ "$names" = "depth-000000000000.png depth-000000200000.png $camera-000000000000.png $camera-000000100000.png $camera-000000200000.png $camera-000000300000.png" ]
check "names: $names" $?
cmp -s "$scratch/one/$camera-000000000000.png" "$scratch/one/$camera-000000300000.png"
[ $? = 1 ]
check 'the ball falls in the picture' $?
for options in '2' '2 --transport tcp --network-stale-ms 60000'; do
	rm -rf "$scratch/again"
	# shellcheck disable=SC2086 # options are words
	pictures again --secondaries $options
	diff -r "$scratch/one" "$scratch/again" >"$scratch/diff"
	check "the same pictures with $options: $(cat "$scratch/diff")" $?
done
: >"$scratch/file"
timeout 20 "$troupe" run "$scratch/w.sdf" --iterations 5 --rtf 0 --camera-out "$scratch/file" >"$scratch/said" 2>&1
[ $? = 1 ] && grep -q "^troupe run: $scratch/file: cannot make this folder for pictures: " "$scratch/said"
check "a file for a folder: $(cat "$scratch/said")" $?
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
	check 'the ball in the middle is red and 3 m away' $?
fi
totals
