#!/bin/sh
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
# A reset begins the times anew: no picture replaces one of before.
cat >"$scratch/orders" <<EOF2
150 /world/w/control reset {all: true}
160 /world/w/control reset {all: true}
EOF2
run "$scratch/said" "$scratch/w.sdf" "$scratch/orders" 400 --camera-out "$scratch/reset" --secondaries 0
report $? 'writes pictures of a run with resets'
names=$(cd "$scratch/reset" && echo $camera*)
zero=$camera-000000000000 first=$camera-000000100000
[ "$names" = "$zero-2.png $zero-3.png $zero.png $first-3.png $first.png $camera-000000200000-3.png" ] &&
	cmp -s "$scratch/one/$first.png" "$scratch/reset/$first-3.png"
report $? "names after resets: $names"
# --- skies ---------------------------------------------------------------------------------------------------------
# le NUMBER...: each as four bytes, the lowest first
le()
{
	for number; do
		# shellcheck disable=SC2059 # the bytes are the format
		printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $((number & 255)) $((number >> 8 & 255)) $((number >> 16 & 255)) \
			$((number >> 24 & 255)))"
	done
}
# a cube map of one texel on each face
{
	printf 'DDS '
	le 124 0x1007 1 1 0 0 1 0 0 0 0 0 0 0 0 0 0 0 32 0x40 0 24 0xff0000 0xff00 0xff 0 0x1008 0xfe00 0 0 0
	printf '\001\002\003\011\012\013\021\022\023\031\032\033\041\042\043\051\052\377'
} >"$scratch/sky.dds"
clouds='<clouds><speed>1000</speed></clouds>'
while read -r name sky; do
	sed "s|<light|<scene><sky>$sky</sky></scene><light|; s|<sensor name=\"c\"|<sensor name=\"up\" type=\"camera\"><pose>0 0 0 0 -1.57 0</pose><update_rate>10</update_rate><camera>$image</camera></sensor>&|" \
		"$scratch/w.sdf" >"$scratch/sky.sdf"
	for options in '0' '2' '2 --transport tcp --network-stale-ms 60000'; do
		# shellcheck disable=SC2086 # options are words
		run "$scratch/said" "$scratch/sky.sdf" - 400 --camera-out "$scratch/$name-${options##* }" --secondaries $options
		report $? "writes pictures of a sky, $name with $options: $(grep -c warning "$scratch/said") warnings"
		diff -r "$scratch/$name-0" "$scratch/$name-${options##* }" >"$scratch/diff"
		report $? "the same sky with $options, $name: $(cat "$scratch/diff")"
	done
done <<EOF2
cube <cubemap_uri>sky.dds</cubemap_uri>
clouds $clouds
plain
EOF2
up=world_w_model_eye_link_l_sensor_up_image
cmp -s "$scratch/clouds-0/$up-000000000000.png" "$scratch/clouds-0/$up-000000300000.png"
[ $? = 1 ]
report $? 'clouds drift'
cmp -s "$scratch/plain-0/$up-000000000000.png" "$scratch/plain-0/$up-000000300000.png"
report $? 'a sky without clouds stays'
cmp -s "$scratch/plain-0/$up-000000000000.png" "$scratch/cube-0/$up-000000000000.png"
[ $? = 1 ]
report $? 'a cube map is another sky'
# of the wrong kind, cut off, and not there
head -c 100 "$scratch/sky.dds" >"$scratch/cut.dds"
while read -r file text; do
	sed "s|<light|<scene><sky><cubemap_uri>$file</cubemap_uri></sky></scene><light|" "$scratch/w.sdf" >"$scratch/bad.sdf"
	"$troupe" check "$scratch/bad.sdf" >"$scratch/out" 2>"$scratch/said"
	[ "$(grep -c "^warning: .*bad.sdf:1: .*$text" "$scratch/said")" = 1 ]
	report $? "$file: one line: $(cat "$scratch/said")"
done <<'EOF2'
cut.dds of the sky: not a readable DDS file
w.sdf of the sky: unknown kind of image: expected DDS, PNG or JPEG
none.dds is not found
EOF2
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

# --- data sets -----------------------------------------------------------------------------------------------------
# A crate turned by 0.3 rad, of which a wall hides a part, and a ball that the border of the picture cuts and that falls.
label='<plugin name="gz::sim::systems::Label" filename="gz-sim-label-system"><label>'
boxes='type="boundingbox_camera"><update_rate>10</update_rate>'
cat >"$scratch/s.sdf" <<-EOF2
	<sdf version="1.9"><world name="w"><light name="sun" type="directional"><direction>1 0 -1</direction></light>
	<model name="crate"><static>1</static><pose>5 0 0 0 0 0.3</pose><link name="l"><visual name="v"><geometry><box><size>2 1 1
	</size></box></geometry></visual></link>${label}7</label></plugin></model>
	<model name="wall"><static>1</static><pose>3 1 0 0 0 0</pose><link name="l"><visual name="v"><geometry><box><size>0.1 2 4
	</size></box></geometry></visual></link></model>
	<model name="ball"><pose>6 -3.4 0 0 0 0</pose><link name="l"><inertial><mass>1</mass></inertial><visual name="v"><geometry>
	<sphere><radius>0.5</radius></sphere></geometry></visual></link>${label}9</label></plugin></model>
	<model name="eye"><pose>0 0 0 0 0 0</pose><link name="l"><gravity>0</gravity><inertial><mass>1</mass></inertial>
	<sensor name="s" $boxes<topic>solid</topic><camera><box_type>3d</box_type></camera></sensor>
	<sensor name="f" $boxes<topic>flat</topic><camera></camera></sensor></link></model></world></sdf>
EOF2
for format in coco kitti; do
	run "$scratch/said" "$scratch/s.sdf" - 250 --camera-out "$scratch/$format" --camera-format $format --secondaries 0
	report $? "writes a data set, $format: $(cat "$scratch/said")"
	run "$scratch/said" "$scratch/s.sdf" - 250 --camera-out "$scratch/$format.tcp" --camera-format $format --secondaries 2 \
		--transport tcp --network-stale-ms 60000
	diff -r "$scratch/$format" "$scratch/$format.tcp" >"$scratch/diff"
	report $? "the same data set with two processes, $format: $(cat "$scratch/diff")"
done
[ "$(cd "$scratch/kitti" && echo ./*/* | wc -w)" = 18 ]
report $? "files: $(cd "$scratch/kitti" && echo ./*/*)"
timeout "$run_limit_s" "$troupe" run "$scratch/s.sdf" --camera-format coco --iterations 1 >"$scratch/said" 2>&1
[ $? = 2 ] && grep -q 'camera-out' "$scratch/said"
report $? "a format without a folder: $(cat "$scratch/said")"
# a run that is killed
"$troupe" run "$scratch/s.sdf" --rtf 0 --iterations 20000 --camera-out "$scratch/killed" --camera-format coco >"$scratch/said" 2>&1 &
victim=$!
until [ "$(find "$scratch/killed" -name 'solid_image*' 2>"$scratch/said.find" | wc -l)" -gt 20 ] || ! kill -0 $victim 2>"$scratch/said.kill"; do
	sleep 0.05
done
kill -9 $victim 2>"$scratch/said.kill"
wait $victim
if command -v python3 >/dev/null; then
	python3 - "$scratch/coco" "$scratch/kitti" "$scratch/killed" <<-'EOF2'
		import json, math, os, sys

		coco, kitti, killed = sys.argv[1:]
		data, focal = json.load(open(coco + "/instances.json")), 160 / math.tan(1.047 / 2)

		def near(value, expected, tolerance, what):
		    if abs(value - expected) > tolerance:
		        sys.exit("%s is %r: expected %r" % (what, value, expected))

		names = ["%s_image-%012d.png" % (name, time) for time in (0, 100000, 200000) for name in ("flat", "solid")]
		if sorted(names) != sorted(image["file_name"] for image in data["images"]):
		    sys.exit("pictures: %r" % data["images"])
		for image in data["images"]:
		    if not os.path.exists(coco + "/" + image["file_name"]) or (image["width"], image["height"]) != (320, 240):
		        sys.exit("picture: %r" % image)
		if [(entry["id"], entry["name"]) for entry in data["categories"]] != [(7, "7"), (9, "9")]:
		    sys.exit("categories: %r" % data["categories"])
		if [entry["id"] for entry in data["annotations"]] != list(range(1, 13)):
		    sys.exit("annotations: %r" % data["annotations"])
		solid = [image["id"] for image in data["images"] if image["file_name"].startswith("solid_image-000000000000")][0]
		crate, ball = [entry for entry in data["annotations"] if entry["image_id"] == solid]
		# the crate's corners in the picture; what lies left of the middle is behind the wall
		corners = [(5 + x * math.cos(0.3) - y * math.sin(0.3), x * math.sin(0.3) + y * math.cos(0.3)) for x in (-1, 1) for y in (-0.5, 0.5)]
		right = max(160 - focal * y / x for x, y in corners)
		top = min(120 - focal * 0.5 / x for x, y in corners)
		near(crate["bbox"][0], 160, 0, "left of the crate")
		near(crate["bbox"][0] + crate["bbox"][2], right, 1, "right of the crate")
		near(crate["bbox"][1], top, 1, "top of the crate")
		near(crate["truncated"], 0, 0, "truncated of the crate")
		whole = right - min(160 - focal * y / x for x, y in corners)
		near(crate["visible"], (right - 160) / whole, 0.06, "visible of the crate")
		for value, expected in zip(crate["center"] + crate["size"], (0, 0, 5, 2, 1, 1)):
		    near(value, expected, 1e-9, "the crate's box")
		# the ball's silhouette, from its tangents
		angle, spread = math.atan2(3.4, 6), math.asin(0.5 / math.hypot(3.4, 6))
		left, right = (160 + focal * math.tan(angle + side * spread) for side in (-1, 1))
		near(ball["truncated"], (right - 320) / (right - left), 0.01, "truncated of the ball")
		near(ball["bbox"][0], left, 1, "left of the ball")
		near(ball["bbox"][0] + ball["bbox"][2], 320, 0, "right of the ball")
		near(ball["visible"], 1, 0, "visible of the ball")

		number = [i for i in range(6) if " 5 " in open(kitti + "/label_2/%06d.txt" % i).readline()][0]
		lines = [line.split() for line in open(kitti + "/label_2/%06d.txt" % number)]
		near(len(lines), 2, 0, "lines")
		turn, at = -math.pi / 2 - 0.3, [float(word) for word in lines[0][1:]]
		# truncated occluded alpha, left top right bottom, height width length, x y z of the lower side's middle, turn
		expected = [0, 1 if crate["visible"] >= 0.5 else 2, turn] + at[3:7] + [1, 1, 2, 0, 0.5, 5, turn]
		for value, right in zip(at, expected):
		    near(value, right, 0.006, "label of the crate %r" % lines[0])
		near(float(lines[1][3]), -math.pi / 2 - math.atan2(3.4, 6), 0.006, "alpha of the ball")
		calib = dict(line.split(":") for line in open(kitti + "/calib/%06d.txt" % number))
		p2 = [float(word) for word in calib["P2"].split()]
		near(p2[0], focal, 1e-6, "focal length")
		x, y, z = at[10:13]
		near(p2[0] * x / z + p2[2], 160, 1e-6, "column of the crate's lower side")

		half = json.load(open(killed + "/instances.json"))
		last = max(entry["image_id"] for entry in half["annotations"])
		if len(half["images"]) < 20 or last > len(half["images"]) or len(half["images"]) - last > 1:
		    sys.exit("a killed run: %d pictures, the last with boxes is %d" % (len(half["images"]), last))
	EOF2
	report $? 'the data sets have the boxes of theory, and that of a killed run is whole'
fi

# --- segments, normals and flow ------------------------------------------------------------------------------------
# The same things, seen by a camera and by a boundingbox_camera that give segments, too. A camera without segments, and one
# without a picture, belong to no data set.
truth='<troupe:truth>segments normals flow</troupe:truth>'
size() { echo "<image><width>$1</width><height>$2</height></image>"; }
eyes="<sensor name='c' type='camera'><update_rate>10</update_rate><camera>$truth$(size 64 48)</camera></sensor>"
eyes="$eyes<sensor name='p' type='segmentation_camera'><update_rate>10</update_rate><camera>$truth$(size 8 8)</camera></sensor>"
eyes="$eyes<sensor name='d' type='depth_camera'><update_rate>10</update_rate><camera>$(size 8 8)</camera></sensor>"
sed "s|<sensor name=\"s\".*|$eyes|; s|<topic>flat</topic><camera>|&$truth|" "$scratch/s.sdf" >"$scratch/t.sdf"
for format in coco kitti; do
	run "$scratch/said" "$scratch/t.sdf" - 150 --camera-out "$scratch/$format.s" --camera-format $format --secondaries 0
	report $? "writes a data set of segments, $format: $(cat "$scratch/said")"
	run "$scratch/said" "$scratch/t.sdf" - 150 --camera-out "$scratch/$format.t" --camera-format $format --secondaries 2 \
		--transport tcp --network-stale-ms 60000
	diff -r "$scratch/$format.s" "$scratch/$format.t" >"$scratch/diff"
	report $? "the same segments with two processes, $format: $(cat "$scratch/diff")"
done
cat >"$scratch/png.py" <<'EOF3'
import struct, zlib


def png(path):
    """Width, height, bytes of a pixel, and the pixels of a PNG without interlacing."""
    data, at, packed = open(path, "rb").read(), 8, b""
    while at < len(data):
        count, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, bits, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + count]
        at += count + 12
    step = bits // 8 * {2: 3, 0: 1}[colour]
    raw, before, out = zlib.decompress(packed), bytearray(width * step), bytearray()
    for y in range(height):
        start = y * (width * step + 1)
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + width * step])
        for x in range(len(line)):
            a = line[x - step] if x >= step else 0
            b, c = before[x], before[x - step] if x >= step else 0
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[x] = line[x] + [0, a, b, (a + b) // 2, paeth][kind] & 255
        out += line
        before = line
    return width, height, step, out
EOF3
PYTHONPATH=$scratch
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
if command -v python3 >/dev/null; then
	python3 - "$scratch/coco.s" "$scratch/kitti.s" <<-'EOF2'
		import json, os, struct, sys
		from png import png

		coco, kitti = sys.argv[1:]

		def check(found, expected, what):
		    if found != expected:
		        sys.exit("%s is %r: expected %r" % (what, found, expected))

		def inside(polygons, width, height):
		    """The pixels whose middles lie in one of the polygons, even-odd."""
		    found = set()
		    for polygon in polygons:
		        points = list(zip(polygon[::2], polygon[1::2]))
		        for y in range(height):
		            crossings = sorted(a[0] for a, b in zip(points, points[1:] + points[:1])
		                               if min(a[1], b[1]) < y + .5 < max(a[1], b[1]))
		            for left, right in zip(crossings[::2], crossings[1::2]):
		                found |= {(x, y) for x in range(left, right)}
		    return found

		data, whole = (json.load(open("%s/%s.json" % (coco, name))) for name in ("instances", "panoptic"))
		check(len(data["images"]), 4, "number of pictures")
		check(whole["images"], [image for image in data["images"]], "pictures of panoptic.json")
		check(whole["categories"], [{"id": 7, "name": "7", "isthing": 1}, {"id": 9, "name": "9", "isthing": 1}], "categories")
		check([each["image_id"] for each in whole["annotations"]], [1, 2, 3, 4], "annotations of panoptic.json")
		kinds = set()
		for image, each in zip(data["images"], whole["annotations"]):
		    width, height, step, pixels = png(coco + "/" + each["file_name"])
		    check((width, height, step), (image["width"], image["height"], 3), each["file_name"])
		    check(png(coco + "/" + image["file_name"])[:2], (width, height), image["file_name"])
		    ids = [pixels[3 * i] + 256 * pixels[3 * i + 1] + 65536 * pixels[3 * i + 2] for i in range(width * height)]
		    check([one["id"] for one in each["segments_info"]], sorted(set(ids) - {0}), "segments of " + each["file_name"])
		    for one in each["segments_info"]:
		        places = [(i % width, i // width) for i, number in enumerate(ids) if number == one["id"]]
		        left, top = (min(place[k] for place in places) for k in (0, 1))
		        right, bottom = (max(place[k] for place in places) for k in (0, 1))
		        check(one["area"], len(places), "area")
		        check(one["bbox"], [left, top, right - left + 1, bottom - top + 1], "bbox")
		        check((one["category_id"], one["iscrowd"]), (one["id"] >> 16, 0), "category")
		        mine = [entry for entry in data["annotations"] if entry["image_id"] == image["id"] and
		                65536 * entry["category_id"] + entry["instance"] == one["id"]]
		        check(len(mine), 1, "annotations of a segment")
		        entry = mine[0]
		        check((entry["area"], entry["bbox"], entry["iscrowd"]), (len(places), one["bbox"], 0), "annotation")
		        check(entry["mask"]["size"], [height, width], "size of the mask")
		        # the run lengths, column after column
		        mask, on = [], False
		        for count in entry["mask"]["counts"]:
		            mask += [on] * count
		            on = not on
		        check(len(mask), width * height, "pixels of the mask")
		        check({(i // height, i % height) for i, bit in enumerate(mask) if bit}, set(places), "decoded mask")
		        check(inside(entry["segmentation"], width, height), set(places), "pixels within the polygons")
		        kinds.add("visible" in entry)
		check(kinds, {True, False}, "annotations with and without measured boxes")
		check(sum(len(each["segments_info"]) for each in whole["annotations"]), len(data["annotations"]), "segments in all")

		for number in range(4):
		    width, height, step, pixels = png(kitti + "/instance_2/%06d.png" % number)
		    values = {pixels[2 * i] * 256 + pixels[2 * i + 1] for i in range(width * height)}
		    lines = [line.split() for line in open(kitti + "/label_2/%06d.txt" % number)]
		    check(values - {0}, {256 * 7 + 1, 256 * 9 + 1}, "values of instance_2")
		    check([line[0] for line in lines], ["7", "9"], "labels")
		    check(lines[0][2] == "3", width == 64, "occluded is unknown without measured boxes")

		normals = [name for name in os.listdir(coco) if "_c_normals-" in name]
		flow = sorted(name for name in os.listdir(coco) if "_c_flow-" in name)
		check((len(normals), len(flow)), (2, 2), "normals and flow")
		width, height, step, pixels = png(coco + "/" + normals[0])
		colours = {bytes(pixels[3 * i:3 * i + 3]) for i in range(width * height)}
		for colour in (b"\x80\x80\x80", b"\x80\x80\x00"): # nothing, and the wall straight ahead
		    check(colour in colours, True, "a normal %r" % colour)
		bytes_of = open(coco + "/" + flow[1], "rb").read()
		check(bytes_of[:4] + bytes_of[4:12], b"PIEH" + struct.pack("<II", 64, 48), "head of a .flo")
		numbers = struct.unpack("<%df" % (2 * 64 * 48), bytes_of[12:])
		check(any(abs(number) > 0.01 for number in numbers), True, "the ball falls")
		check(numbers[2 * (24 * 64 + 33)], 0.0, "the crate stands")
	EOF2
	report $? 'run lengths are the pixels of the segments; panoptic.json, instance_2, normals and flow are right'
fi

: >"$scratch/file"
timeout 60 "$troupe" run "$scratch/w.sdf" --iterations 5 --rtf 0 --camera-out "$scratch/file" >"$scratch/said" 2>&1
[ $? = 1 ] && grep -q "^troupe run: $scratch/file: cannot make this folder for pictures: " "$scratch/said"
report $? "a file for a folder: $(cat "$scratch/said")"
if command -v python3 >/dev/null; then
	python3 - "$scratch/one/$camera-000000000000.png" "$scratch/one/depth-000000000000.png" <<-'EOF2'
		import sys
		from png import png

		(width, _, _, picture), (_, _, _, depth) = png(sys.argv[1]), png(sys.argv[2])
		middle = 12 * width + 16
		red, green, blue = picture[3 * middle:3 * middle + 3]
		mm = depth[2 * middle] << 8 | depth[2 * middle + 1]
		if not (red > 40 and green == blue == 0 and 2990 < mm < 3020):
		    sys.exit("in the middle: colour %d %d %d, depth %d mm: expected a red ball at 3 m" % (red, green, blue, mm))
	EOF2
	report $? 'the ball in the middle is red and 3 m away'
fi
totals
