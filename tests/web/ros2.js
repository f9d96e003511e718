// A node of ROS 2 in TypeScript by another project (@foxglove/ros2), which subscribes: ros2.js DOMAIN. It prints a line for
// each check that fails, and the totals.
//
// The library asks for transient local writers, which rclcpp's subscriptions to topics like these do not: here it asks for
// volatile ones, but for /tf_static.
"use strict";
const { RosNode } = require("@foxglove/ros2");
const { UdpSocketNode } = require("@foxglove/ros2/nodejs");
const { Durability } = require("@foxglove/rtps");
const { ros2humble } = require("@foxglove/rosmsg-msgs-common");

let passed = 0;
let failed = 0;
function check(what, good) {
  if (good) passed++;
  else {
    failed++;
    console.log(`FAILED: ${what}`);
  }
}

// The definition of the type and of all types in it, as the library takes them.
function definition(type) {
  const list = [];
  const add = (name) => {
    if (list.some((one) => one.name === name)) return;
    const found = ros2humble[name];
    list.push({ name, definitions: found.definitions });
    for (const field of found.definitions) if (field.isComplex) add(field.type);
  };
  add(type);
  return [{ definitions: list[0].definitions }, ...list.slice(1)];
}

const topics = [
  ["/clock", "rosgraph_msgs/Clock"],
  ["/tf", "tf2_msgs/TFMessage"],
  ["/tf_static", "tf2_msgs/TFMessage"],
  ["/cart/odom", "nav_msgs/Odometry"],
  ["/scan", "sensor_msgs/LaserScan"],
  ["/joint_states", "sensor_msgs/JointState"],
];

async function main() {
  const domainId = Number(process.argv[2]);
  const node = new RosNode({ name: "typescript", domainId, addresses: ["127.0.0.1"], udpSocketCreate: UdpSocketNode.Create });
  const participant = node._participant;
  const subscribe = participant.subscribe.bind(participant);
  participant.subscribe = (options) =>
    subscribe({ ...options, durability: options.topicName === "rt/tf_static" ? Durability.TransientLocal : Durability.Volatile });
  const got = new Map();
  await node.start();
  for (const [topic, type] of topics) {
    got.set(topic, []);
    const dataType = type.replace("/", "/msg/");
    node.subscribe({ topic, dataType, msgDefinition: definition(type) }).on("message", (_time, message) => got.get(topic).push(message));
  }
  const enough = () => topics.every(([topic]) => got.get(topic).length >= (topic === "/tf_static" ? 1 : 5));
  for (let i = 0; i < 2000 && !enough(); i++) await new Promise((done) => setTimeout(done, 50));
  const known = new Map(node.getPublishedTopics());
  for (const [topic, type] of topics) {
    check(`${topic} is known as ${known.get(topic)}`, known.get(topic)?.replace("/msg/", "/") === type);
    check(`${topic} has messages: ${got.get(topic).length}`, got.get(topic).length > 0);
  }
  const last = (topic) => got.get(topic).at(-1) ?? {};
  const clocks = got.get("/clock").map(({ clock }) => clock.sec + clock.nsec * 1e-9);
  // the library hands a message on when it comes, also one that the writer sends again because its receipt was late
  const times = [...new Set(clocks)].sort((a, b) => a - b);
  const steps = times.map((time, i) => (i ? time - times[i - 1] : 0.01));
  check(`the clock goes on: ${clocks}`, times.length >= 5 && steps.every((step) => step > 0.009 && step < 5));
  check("the odometry has its frames", last("/cart/odom").header?.frame_id === "cart/odom" && last("/cart/odom").child_frame_id === "cart/base");
  const { transforms } = last("/tf");
  check("so has the transform", transforms?.length === 1 && transforms[0].child_frame_id === "cart/base");
  const fixed = (last("/tf_static").transforms ?? []).map((one) => `${one.header.frame_id} ${one.child_frame_id}`);
  check(`frames that never move: ${fixed}`, fixed.includes("cart/base cart/base/lidar") && fixed.includes("cart/plate cart/mast"));
  check("the scan has its ranges", last("/scan").ranges?.length === 21 && last("/scan").ranges.some((range) => range > 1 && range < 10));
  check("the joint has its state", last("/joint_states").name?.[0] === "turn" && last("/joint_states").position.length === 1);
  await node.shutdown();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

main();
