// A node of ROS 2 in TypeScript by another project (@foxglove/ros2) hears Open-RMF's topics over DDS: rmf.js DOMAIN. The
// types are written here as Open-RMF's packages have them.
"use strict";
const { RosNode } = require("@foxglove/ros2");
const { UdpSocketNode } = require("@foxglove/ros2/nodejs");
const { Durability } = require("@foxglove/rtps");
const { parse } = require("@foxglove/rosmsg");
const { check, until, finish } = require("./checks.js");

const time = "\n===\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n";
const location = "\n===\nMSG: rmf_fleet_msgs/Location\nbuiltin_interfaces/Time t\nfloat32 x\nfloat32 y\nfloat32 yaw\n" +
  "bool obey_approach_speed_limit\nfloat32 approach_speed_limit\nstring level_name\nuint64 index\n";
const mode = "\n===\nMSG: rmf_fleet_msgs/RobotMode\nuint32 mode\nuint64 mode_request_id\nstring performing_action\n";
const door = "\n===\nMSG: rmf_door_msgs/DoorMode\nuint32 value\n";
const topics = [
  ["/door_states", "rmf_door_msgs/DoorState",
    "builtin_interfaces/Time door_time\nstring door_name\nrmf_door_msgs/DoorMode current_mode" + door + time],
  ["/lift_states", "rmf_lift_msgs/LiftState",
    "builtin_interfaces/Time lift_time\nstring lift_name\nstring[] available_floors\nstring current_floor\nstring destination_floor\n" +
    "uint8 door_state\nuint8 motion_state\nuint8[] available_modes\nuint8 current_mode\nstring session_id" + time],
  ["/robot_state", "rmf_fleet_msgs/RobotState",
    "string name\nstring model\nstring task_id\nuint64 seq\nrmf_fleet_msgs/RobotMode mode\nfloat32 battery_percent\n" +
    "rmf_fleet_msgs/Location location\nrmf_fleet_msgs/Location[] path" + location + mode + time],
];
const requests = [
  ["/door_requests", "rmf_door_msgs/msg/DoorRequest"],
  ["/lift_requests", "rmf_lift_msgs/msg/LiftRequest"],
  ["/robot_path_requests", "rmf_fleet_msgs/msg/PathRequest"],
  ["/robot_mode_requests", "rmf_fleet_msgs/msg/ModeRequest"],
  ["/robot_pause_requests", "rmf_fleet_msgs/msg/PauseRequest"],
];

async function main() {
  const node = new RosNode({ name: "rmf", domainId: Number(process.argv[2]), addresses: ["127.0.0.1"], udpSocketCreate: UdpSocketNode.Create });
  const participant = node._participant, subscribe = participant.subscribe.bind(participant);
  participant.subscribe = (options) => subscribe({ ...options, durability: Durability.Volatile });
  const asked = new Map(), last = new Map();
  participant.on("discoveredSubscription", (reader) => asked.set(reader.topicName, reader.typeName));
  await node.start();
  for (const [topic, type, text] of topics)
    node.subscribe({ topic, dataType: type.replace("/", "/msg/"), msgDefinition: parse(text, { ros2: true }) })
      .on("message", (_time, message) => last.set(`${topic} ${message.door_name ?? message.lift_name ?? message.name}`, message));
  const heard = (key, good) => until(() => last.has(key) && good(last.get(key)));
  check(await heard("/door_states swing", (m) => m.current_mode.value === 0), `a door: ${JSON.stringify(last.get("/door_states swing"))}`);
  check(await heard("/door_states main_door", () => true), "two doors give the same topic");
  check(await heard("/lift_states Lift1", (m) => m.current_floor === "L1" && m.door_state === 0 && m.available_floors.join() === "L1,L2" &&
    m.available_modes[0] === 2), "a lift");
  check(await heard("/robot_state car", (m) => m.mode.mode === 1 && m.battery_percent === 100 && m.location.level_name === "L1" &&
    m.path.length === 0 && m.seq > 0n), "a slotcar that charges");
  const known = new Map(node.getPublishedTopics());
  for (const [topic, type] of topics) check(known.get(topic)?.replace("/msg/", "/") === type, `${topic} is known as ${known.get(topic)}`);
  for (const [topic, type] of requests) {
    const dds = type.replace("/msg/", "::msg::dds_::") + "_";
    check(await until(() => asked.get(`rt${topic}`) === dds), `${topic} is taken as ${asked.get(`rt${topic}`)}`);
  }
  await node.shutdown();
}

finish(main);
