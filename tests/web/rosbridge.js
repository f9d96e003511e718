// roslibjs as a program of ROS on a running world: node rosbridge.js PORT
"use strict";
const { WebSocket } = require("ws");
const { PATIENCE_MS, check, connected, finish, roslib, sleep, until } = require("./checks.js");
const url = `ws://127.0.0.1:${process.argv[2]}`;

// A WebSocket that keeps what it gets, for what roslibjs does not say.
class Raw {
  constructor() {
    this.heard = [];
    this.socket = new WebSocket(url);
    this.socket.on("message", (data) => this.heard.push(JSON.parse(data)));
    this.socket.on("close", (code) => (this.closed = code));
    this.socket.on("error", () => {});
    this.open = new Promise((done) => this.socket.on("open", done));
  }
  say(value) {
    this.socket.send(typeof value === "string" ? value : JSON.stringify(value));
  }
  find(test) {
    return until(() => this.heard.find(test));
  }
}

async function topics(ROSLIB, ros) {
  const topic = (name, messageType, more) => new ROSLIB.Topic({ ros, name, messageType, ...more });
  const keep = (of) => {
    const list = [];
    of.subscribe((message) => list.push(message));
    return list;
  };
  const odom = topic("/cart/odom", "nav_msgs/msg/Odometry");
  const odoms = keep(odom);
  const shorts = keep(topic("odom", "nav_msgs/Odometry")); // the only robot, no slash, a type as of ROS 1
  const clocks = keep(topic("/clock", "rosgraph_msgs/msg/Clock"));
  const frames = keep(topic("/tf", "tf2_msgs/msg/TFMessage"));
  const scans = keep(topic("/cart/scan", "sensor_msgs/msg/LaserScan"));
  const images = keep(topic("/camera", "sensor_msgs/msg/Image"));
  const later = keep(topic("/second/odom", "nav_msgs/msg/Odometry"));
  check(await until(() => odoms.length > 3 && shorts.length > 3 && clocks.length > 3 && frames.length > 3), "messages come");
  check(odoms[0].header.stamp.sec >= 0 && odoms[0].header.frame_id === "cart/odom", `odometry: ${JSON.stringify(odoms[0])}`);
  check(odoms[0].pose.covariance.length === 36, "an array of fixed length");
  check(await until(() => scans.length > 1), "a lidar");
  const scan = scans[1];
  check(scan && scan.ranges.length === 64 && scan.ranges.some((r) => r > 1 && r < 2.1) && scan.ranges.includes(null), `ranges: ${scan && scan.ranges}`);
  check(await until(() => images.length > 0), "a picture");
  const image = images[0];
  check(image && typeof image.data === "string" && Buffer.from(image.data, "base64").length === image.step * image.height && image.encoding === "rgb8", `a picture: ${image && [image.width, image.height, image.step, image.encoding]}`);

  const drive = topic("/cart/cmd_vel", "geometry_msgs/msg/Twist");
  const before = odoms[odoms.length - 1].pose.pose.position.x;
  drive.publish({ linear: { x: 1, y: 0, z: 0 }, angular: { x: 0, y: 0, z: 0 } });
  check(await until(() => odoms[odoms.length - 1].pose.pose.position.x > before + 0.3), "cmd_vel drives the cart");
  topic("cmd_vel", "geometry_msgs/Twist").publish({ linear: { x: 0 } });
  check(await until(() => Math.abs(odoms[odoms.length - 1].twist.twist.linear.x) < 0.01), "a name without namespace, and fields left out, stop it");
  const stamped = topic("/cart/cmd_vel", "geometry_msgs/msg/TwistStamped");
  stamped.publish({ header: { stamp: { sec: 0, nanosec: 0 }, frame_id: "" }, twist: { linear: { x: 0.5 } } });
  check(await until(() => odoms[odoms.length - 1].twist.twist.linear.x > 0.4), "TwistStamped drives, too");
  drive.publish({});

  const slow = new ROSLIB.Topic({ ros, name: "/cart/odom", messageType: "nav_msgs/msg/Odometry" });
  odom.unsubscribe();
  await call(ROSLIB, ros, "/rosapi/get_time"); // the answer comes when that is done
  const count = odoms.length;
  await sleep(300);
  check(odoms.length <= count + 1, `unsubscribed: ${odoms.length - count} more`);
  slow.throttle_rate = 200;
  slow.queue_length = 1;
  const begun_ms = Date.now(), slows = keep(slow);
  check(await until(() => slows.length >= 6), `throttled messages: ${slows.length}`);
  const took_s = (Date.now() - begun_ms) / 1000;
  check(slows.length <= 2 + 5 * took_s, `throttled to 5 a second: ${slows.length} in ${took_s} s`);
  return later;
}

function call(ROSLIB, ros, name, args = {}) {
  return new Promise((done) => {
    new ROSLIB.Service({ ros, name, serviceType: "" }).callService(args, (values) => done({ values }), (error) => done({ error }));
    setTimeout(() => done({ error: "no answer" }), PATIENCE_MS);
  });
}

async function rosapi(ROSLIB, ros) {
  const ask = (method, ...args) =>
    new Promise((done) => ros[method](...args, done, (error) => done({ error })));
  const all = await ask("getTopics");
  const at = all.topics.indexOf("/cart/odom");
  check(at >= 0 && all.types[at] === "nav_msgs/msg/Odometry" && all.topics.length === new Set(all.topics).size, `topics: ${JSON.stringify(all)}`);
  check((await ask("getTopicType", "/clock")) === "rosgraph_msgs/msg/Clock", "type of a topic");
  check((await ask("getTopicType", "/none")) === "", "type of no topic");
  check((await ask("getTopicsForType", "sensor_msgs/msg/LaserScan")).includes("/cart/scan"), "topics of a type");
  const services = await ask("getServices");
  check(services.includes("/rosapi/topics") && services.includes("/world/w/control"), `services: ${services}`);
  check((await ask("getServiceType", "/world/w/control")) === "gz.msgs.WorldControl", "type of a service");
  check((await ask("getServicesForType", "gz.msgs.WorldControl")).includes("/world/w/control"), "services of a type");
  check(JSON.stringify(await ask("getNodes")) === '["/troupe"]', "nodes");
  const node = await ask("getNodeDetails", "/troupe");
  check(JSON.stringify(node).includes("/cart/cmd_vel"), `a node: ${JSON.stringify(node)}`);
  const defs = await ask("getMessageDetails", "geometry_msgs/msg/Twist");
  check(defs.length === 2 && defs[0].fieldnames.join() === "linear,angular" && defs[1].fieldtypes.join() === "float64,float64,float64", `details: ${JSON.stringify(defs)}`);
  check(JSON.stringify(ros.decodeTypeDefs(defs)).includes('"linear":{"x":"float64"'), "roslibjs reads them");
  check(!!(await ask("getMessageDetails", "x/y")).error, "details of no type");
  const raw = await ask("getTopicsAndRawTypes");
  check(raw.typedefs_full_text[raw.topics.indexOf("/cart/odom")].includes("MSG: geometry_msgs/"), "definitions as text");
  const time = await call(ROSLIB, ros, "/rosapi/get_time");
  check(time.values && time.values.time.sec >= 0 && time.values.time.nanosec < 1e9, `time: ${JSON.stringify(time)}`);
}

async function services(ROSLIB, ros) {
  const pause = await call(ROSLIB, ros, "/world/w/control", { pause: true });
  check(pause.values && pause.values.data === true, `a service of the run: ${JSON.stringify(pause)}`);
  const stands = async () => {
    const now = JSON.stringify(await call(ROSLIB, ros, "/rosapi/get_time"));
    await sleep(200);
    return now === JSON.stringify(await call(ROSLIB, ros, "rosapi/get_time"));
  };
  check(await until(stands), "a paused world has no time");
  await call(ROSLIB, ros, "world/w/control", { pause: false });
  const wrong = await call(ROSLIB, ros, "/world/w/control", { pose: 1 });
  check(/pose/.test(wrong.error), `a wrong request: ${JSON.stringify(wrong)}`);
  check(/no service/.test((await call(ROSLIB, ros, "/none")).error), "no service");
  const sdf = `<sdf version="1.9"><model name="second"><pose>9 9 0.25 0 0 0</pose><link name="base"><gravity>false</gravity></link>
    <plugin name="gz::sim::systems::OdometryPublisher" filename="x"/></model></sdf>`;
  const create = await call(ROSLIB, ros, "/world/w/create", { sdf, name: "second" });
  check(create.values && create.values.data === true, `a model is created: ${JSON.stringify(create)}`);
}

// What is wrong costs a status, and nothing else.
async function hostile() {
  const raw = new Raw();
  await raw.open;
  const wrong = ["{", "[]", "3", '"x"', "null", "{}", '{"op":1}', '{"op":"none"}', '{"op":"subscribe"}', '{"op":"subscribe","topic":""}',
    '{"op":"subscribe","topic":"/clock","type":"std_msgs/msg/String"}', '{"op":"publish","topic":"/none","msg":{}}',
    '{"op":"publish","topic":"/cart/cmd_vel"}', '{"op":"publish","topic":"/cart/cmd_vel","msg":{"linear":{"x":"1"}}}',
    '{"op":"publish","topic":"/cart/cmd_vel","msg":{"linear":{"w":1}}}', '{"op":"publish","topic":"/cart/cmd_vel","msg":{"linear":[1]}}',
    '{"op":"publish","topic":"/cart/cmd_vel","msg":{"linear":{"x":1e300}}}', '{"op":"publish","topic":"/cart/cmd_vel","msg":{"linear":{"x":null}}}',
    '{"op":"advertise","topic":"/cart/cmd_vel","type":"std_msgs/msg/String"}', '{"op":"set_level","level":"loud"}',
    '{"op":"fragment","id":"1","num":0,"total":2,"data":"x"}', '{"op":"call_service"}', `{"op":"subscribe","topic":"${"x".repeat(10000)}"}`,
    "[".repeat(100000)];
  for (let i = 0; i < wrong.length; i++) {
    const before = raw.heard.length;
    raw.say(wrong[i]);
    const said = await until(() => raw.heard[before]);
    check(said && said.op === "status" && said.level === "error" && said.msg, `${wrong[i].slice(0, 80)}: ${JSON.stringify(said)}`);
  }
  raw.socket.send(Buffer.from([1, 2, 3]));
  check(await raw.find((m) => /binary/.test(m.msg)), "a binary message");
  raw.say({ op: "unsubscribe", topic: "/none", id: "u1" });
  check(await raw.find((m) => m.level === "warning" && m.id === "u1"), "unsubscribe of nothing, with its id");
  raw.say({ op: "set_level", level: "none" });
  const quiet = raw.heard.length;
  raw.say({ op: "none" });
  raw.say({ op: "call_service", service: "/none", id: [1, "x"] });
  const answer = await raw.find((m) => m.op === "service_response");
  check(answer && !answer.result && JSON.stringify(answer.id) === '[1,"x"]' && raw.heard.length === quiet + 1, "nothing is said at level none; an id of any form");
  raw.say({ op: "subscribe", topic: "/clock", type: "rosgraph_msgs/msg/Clock" });
  check(await raw.find((m) => m.op === "publish" && m.topic === "/clock"), "the client can go on");
  raw.socket.close();

  const long = new Raw();
  await long.open;
  long.say(" ".repeat((4 << 20) + 1));
  check(await until(() => long.closed), "a message that is too long ends the connection");
  const foreign = new WebSocket(url, { origin: "https://example.org" });
  check(await new Promise((done) => (foreign.on("error", () => done(true)), foreign.on("open", () => done(false)))), "a page of a foreign site");
  const named = new WebSocket(url, ["other"]);
  check(await new Promise((done) => (named.on("error", () => done(true)), named.on("open", () => done(false)))), "another subprotocol");
}

// A client that floods and never reads does not disturb another one.
async function flood() {
  const mad = new Raw(), calm = new Raw();
  await Promise.all([mad.open, calm.open]);
  mad.say({ op: "subscribe", topic: "/camera" });
  mad.say({ op: "subscribe", topic: "/cart/odom" });
  mad.socket.pause();
  for (let i = 0; i < 20000; i++) mad.say({ op: "publish", topic: "/none", msg: { x: i } });
  calm.say({ op: "subscribe", topic: "/clock" });
  check(await until(() => calm.heard.filter((m) => m.op === "publish").length > 20), "another client is served");
  mad.socket.terminate();
  calm.socket.close();
}

finish(async () => {
  const ROSLIB = await roslib();
  const ros = await connected(ROSLIB, url);
  const later = await topics(ROSLIB, ros);
  await rosapi(ROSLIB, ros);
  await services(ROSLIB, ros);
  check(await until(() => later.length > 1), "a topic that came after its subscription");
  await hostile();
  await flood();
});
