#!/bin/sh
# Files of --mcap read by @mcap/core, with all sums checked, and their messages decoded by the definitions in the file
# alone: whole, by ranges of time, damaged, and cut off by kill -9.
. "${SOURCE_DIR:-.}/tests/determinism/lib.sh"
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs 'MCAP files read by another project' @mcap/core @mcap/support @foxglove/schemas @foxglove/rosmsg2-serialization protobufjs
data=$SOURCE_DIR/tests/data/mcap
cd "$scratch" || exit 1
run said "$data/w.sdf" "$data/w.commands" 2500 --mcap whole.mcap --topic '*'
report $? 'a file is written'
run said "$data/w.sdf" - 0 --until 0.0005 --mcap empty.mcap --topic /nothing
report $? 'a file without messages is written'
"$troupe" run "$data/w.sdf" --rtf 0 -v 0 --mcap killed.mcap &
killed=$!
for _ in $(seq 1200); do
	[ "$(wc -c 2>/dev/null <killed.mcap || echo 0)" -gt 400000 ] && break
	sleep 0.1
done
kill -9 $killed
wait $killed 2>/dev/null
# frames that the world names: one of them twice, one that a system tells of, those of two cameras
sensor() {
	echo "<sensor name='$1' type='$2'><pose>$3 0 0 0 0 0</pose><update_rate>10</update_rate>$4</sensor>"
}
cat >frames.sdf <<END
<sdf version='1.9'><world name='f'><model name='bot'><pose>0 0 5 0 0 0</pose><link name='base'><inertial><mass>1</mass>
</inertial>
$(sensor plain imu 1 '') $(sensor one imu 2 '<frame_id>turned</frame_id>')
$(sensor two altimeter 3 '<gz_frame_id>turned</gz_frame_id>') $(sensor told imu 4 '<frame_id>bot/base</frame_id>')
$(sensor eye camera 5 "<frame_id>eye</frame_id><camera><optical_frame_id>eye_optical</optical_frame_id><image><width>8</width>
<height>8</height></image></camera>")
$(sensor depth depth_camera 6 "<gz_frame_id>depth</gz_frame_id><camera><image><width>8</width><height>8</height></image></camera>")
$(sensor look camera 7 "<gz_frame_id>look</gz_frame_id><camera><image><width>8</width><height>8</height></image></camera>")
</link><plugin name='gz::sim::systems::OdometryPublisher' filename='x'><robot_base_frame>bot/base</robot_base_frame></plugin>
</model></world></sdf>
END
run said frames.sdf - 300 --mcap frames.mcap --topic '*'
report $? 'a file with named frames is written'
cp "$SOURCE_DIR/tests/data/ros/robots.sdf" "$SOURCE_DIR/tests/data/ros/bot.urdf" .
run said robots.sdf - 100 --mcap bag.mcap --mcap-names ros --topic '*'
report $? 'a bag of ROS 2 is written'
web_node "$SOURCE_DIR/tests/web/mcap.js" whole.mcap killed.mcap empty.mcap frames.mcap bag.mcap >said
report $? "the files are read: $(cat said)"
tail -n 1 said
totals
