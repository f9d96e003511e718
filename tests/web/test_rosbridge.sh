#!/bin/sh
# A running world and roslibjs: it reads topics, drives a cart, calls services and asks rosapi; a client that sends rubbish
# or does not read disturbs no other. What it does becomes commands: a recording of the run repeats it.
. "$SOURCE_DIR/tests/web/lib.sh"
web_needs 'roslibjs' roslib ws
. "$SOURCE_DIR/tests/determinism/lib.sh"
set -u
web_begin rosbridge.js

cat >w.sdf <<'END'
<sdf version="1.9"><world name="w">
  <physics name="p" type="ode"><max_step_size>0.01</max_step_size><real_time_factor>1</real_time_factor></physics>
  <model name="wall"><static>true</static><pose>4 0 1 0 0 0</pose><link name="l"><collision name="c"><geometry><box>
    <size>4 8 2</size></box></geometry></collision><visual name="v"><geometry><box><size>4 8 2</size></box></geometry></visual>
    </link></model>
  <model name="cart"><pose>0 0 0.25 0 0 0</pose><link name="base"><gravity>false</gravity><inertial><mass>5</mass>
    <inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
    <sensor name="lidar" type="gpu_lidar"><pose>0 0 0.3 0 0 0</pose><update_rate>20</update_rate>
      <lidar><scan><horizontal><samples>64</samples><min_angle>-3</min_angle><max_angle>3</max_angle></horizontal></scan>
      <range><min>0.1</min><max>5</max></range></lidar></sensor>
    <sensor name="camera" type="camera"><update_rate>20</update_rate><topic>/camera</topic>
      <camera><image><width>320</width><height>240</height></image></camera></sensor></link>
    <plugin name="gz::sim::systems::VelocityControl" filename="x"/>
    <plugin name="gz::sim::systems::OdometryPublisher" filename="x"/></model>
</world></sdf>
END

web_start rosbridge w.sdf --rosbridge 0 -v 1 --record run.rec --secondaries 2
web_node "$script" "$port" >said 2>&1
web_tell said
web_stop 'commands by rosbridge' run.rec

# a client that only reads changes no state; it reads for a second of simulated time, however long that takes
cat >read.js <<'END'
const { WebSocket } = require("ws");
let heard = 0, begun;
const socket = new WebSocket(`ws://127.0.0.1:${process.argv[2]}`);
socket.on("open", () => {
  for (const topic of ["/clock", "/odom", "/scan", "/camera", "/tf"]) socket.send(JSON.stringify({ op: "subscribe", topic }));
  socket.send('{"op":"call_service","service":"/rosapi/topics"}');
});
const end = (why) => { if (why) console.log(`${why} after ${heard} messages, the clock began at ${begun}`); process.exit(why ? 1 : 0); };
socket.on("message", (data) => {
  heard++;
  const { topic, msg } = JSON.parse(data);
  if (topic !== "/clock") return;
  const now = msg.clock.sec + msg.clock.nanosec * 1e-9;
  begun ??= now;
  if (heard > 20 && now > begun + 1) end();
});
socket.on("close", () => end("the connection was closed"));
socket.on("error", (error) => end(String(error)));
setTimeout(() => end("nothing more came"), 120000);
END
web_start rosbridge w.sdf --rosbridge 0 -v 1 --hash-every 20
web_node read.js "$port" >said 2>&1
report $? "a client that only reads: $(cat said)"
web_stop 'with a client that only reads'
grep '^hash ' out >with
read -r _ steps _ <<END
$(tail -n 1 with)
END
timeout 60 "$troupe" run w.sdf --iterations "${steps:-1}" --rtf 0 --hash-every 20 -v 0 >out 2>err
grep '^hash ' out >without
[ "$(wc -l <with)" -ge 5 ] && cmp -s with without
report $? "the same states with a client and without: $(tail -n 1 with) $(tail -n 1 without) $(cat err)"

web_addresses rosbridge rosbridge

# a robot client serves its own models, with its name before theirs
cat >client.js <<'END'
import(`${process.env.NODE_PATH}/roslib/dist/RosLib.js`).then(({ Ros, Service, Topic }) => {
  const ros = new Ros({ url: `ws://127.0.0.1:${process.argv[2]}` });
  const fail = (why) => { console.log(why); process.exit(1); };
  setTimeout(() => fail("nothing more came"), 60000);
  const later = (ms) => new Promise((done) => setTimeout(done, ms));
  const call = (name, serviceType, request) =>
    new Promise((done, no) => new Service({ ros, name, serviceType }).callService(request, done, no));
  const sdf = `<sdf version='1.9'><model name='rover'><pose>0 -3 0.25 0 0 0</pose><link name='base'><gravity>false</gravity></link>
    <plugin name='gz::sim::systems::VelocityControl' filename='x'/>
    <plugin name='gz::sim::systems::OdometryPublisher' filename='x'/></model></sdf>`;
  ros.on("error", (error) => fail(`${error}`));
  ros.on("connection", async () => {
    const made = await call("/c1/world/w/create", "gz.msgs.EntityFactory", { sdf }).catch(fail);
    if (!made.data) fail(`create: ${JSON.stringify(made)}`);
    let names = [];
    while (!names.includes("/c1/rover/odom")) {
      names = (await call("/rosapi/topics", "rosapi/Topics", {}).catch(fail)).topics;
      await later(50);
    }
    const strange = names.filter((name) => !/^\/(c1\/|clock$|tf$|tf_static$|client_count$|connected_clients$|rosout$)/.test(name));
    if (strange.length) fail(`not in the namespace: ${strange}`);
    const drive = new Topic({ ros, name: "/c1/rover/cmd_vel", messageType: "geometry_msgs/Twist" });
    drive.publish({ linear: { x: 2, y: 0, z: 0 }, angular: { x: 0, y: 0, z: 0 } });
    let clocks = 0;
    new Topic({ ros, name: "/clock", messageType: "rosgraph_msgs/Clock" }).subscribe(() => clocks++);
    new Topic({ ros, name: "/c1/odom", messageType: "nav_msgs/Odometry" }).subscribe((message) => {
      if (message.pose.pose.position.x < 0.5 || !clocks) return;
      console.log("drove");
      process.exit(0);
    });
  });
});
END
listen=$((10000 + $$ % 4000 * 4)) # below the ports that the system gives to outgoing connections
while grep -qi ":$(printf %04x $listen) " /proc/net/tcp; do listen=$((listen + 1)); done
rm -f err
"$troupe" run w.sdf --network-role primary --network-secondaries 1 --client c1 --network-listen 127.0.0.1:$listen --record client.rec \
	-v 1 >out 2>err &
run=$!
timeout 200 "$troupe" run --network-role secondary --network-address 127.0.0.1:$listen >secondary.out 2>secondary.err &
timeout 200 "$troupe" run --network-role client --name c1 --network-address 127.0.0.1:$listen --rosbridge 0 >client.out 2>client.err &
client=$!
for _ in $(seq 1200); do
	grep -q 'rosbridge: ws' client.err && break
	sleep 0.05
done
web_node client.js "$(sed -n 's|.*rosbridge: ws*://127.0.0.1:\([0-9]*\)/$|\1|p' client.err)" >said 2>&1
report $? "roslibjs at a robot client creates a robot and drives it: $(tail -n 20 said) $(tail -n 2 client.err)"
kill -INT "$run"
wait "$run"
report $? "the primary ends well: $(tail -n 3 err)"
run=
wait "$client"
timeout 120 "$troupe" replay client.rec --secondaries 0 -v 0 >out 2>err
report $? "the recording of the run with a client has the same bits: $(cat out err)"
totals
