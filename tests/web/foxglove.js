// A client of a run, by Foxglove's own client library: see test_foxglove.sh.
//
// foxglove.js PORT: goes through the protocol with a run of the world of test_foxglove.sh, and prints a line for each
// check that fails, and the totals.
"use strict";
const { Client, WebSocket, check, finish, sleep, until } = require("./foxglove_client.js");

const url = `ws://127.0.0.1:${process.argv[2]}`;

function raw(protocols, options) {
  return new Promise((done) => {
    const socket = new WebSocket(url, protocols, options);
    socket.on("open", () => done(socket));
    socket.on("unexpected-response", (_, answer) => done(answer.statusCode));
    socket.on("error", (error) => done(String(error)));
  });
}

// CDR of geometry_msgs/msg/Twist.
function twist(x) {
  const bytes = Buffer.alloc(52);
  bytes[1] = 1;
  bytes.writeDoubleLE(x, 4);
  return bytes;
}

// Of a polygon that may be concave, and of the body that a closed list of triangles encloses.
function area(points) {
  return points.reduce((sum, [x, y], i) => {
    const [nx, ny] = points[(i + 1) % points.length];
    return sum + (x * ny - nx * y) / 2;
  }, 0);
}

function volume({ points, indices }) {
  let sum = 0;
  for (let i = 0; i < indices.length; i += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => points[indices[i + k]]);
    sum += (a.x * (b.y * c.z - b.z * c.y) + a.y * (b.z * c.x - b.x * c.z) + a.z * (b.x * c.y - b.y * c.x)) / 6;
  }
  return sum;
}

async function main() {
  check((await raw(["x.v1"])) === 400, "a wrong subprotocol is not refused");
  check((await raw([])) === 400, "no subprotocol is not refused");
  check((await raw(["foxglove.sdk.v1"], { origin: "http://evil.example" })) === 403, "a foreign page is not refused");
  for (const protocol of ["foxglove.sdk.v1", "foxglove.websocket.v1"]) {
    const socket = await raw([protocol], { origin: "https://app.foxglove.dev" });
    check(socket.protocol === protocol, `${protocol}: ${socket.protocol || socket}`);
    socket.close?.();
  }

  const a = new Client(url, ["foxglove.sdk.v1"]);
  check(await until(() => a.info), "no serverInfo");
  check(["clientPublish", "services", "time", "connectionGraph"].every((c) => a.info.capabilities.includes(c)),
    `capabilities ${a.info?.capabilities}`);
  check(a.info.supportedEncodings.join() === "json,cdr" && a.info.sessionId, "encodings or session");

  // topics
  const clock = await a.subscribe("/clock");
  const poses = await a.subscribe("/model/cart/pose");
  const stats = await a.subscribe("/stats");
  const list = await until(() => clock.length >= 100 && clock);
  check(list, `of /clock came ${clock.length} messages`);
  check(a.channels.get("/clock").schemaName === "rosgraph_msgs/msg/Clock", "the type of /clock");
  let grows = true;
  for (let i = 1; i < clock.length; i++) {
    const { clock: now } = clock.read(i), { clock: before } = clock.read(i - 1);
    grows &&= BigInt(now.sec) * 1000000000n + BigInt(now.nanosec) === clock[i].timestamp && clock[i].timestamp > clock[i - 1].timestamp;
    grows &&= now.sec > before.sec || now.nanosec > before.nanosec;
  }
  check(grows, "the clock's messages, or their times");
  check(await until(() => poses.length > 3) && typeof (poses.read(0).pose?.position.x ?? poses.read(0).transforms?.[0].transform.translation.x) === "number",
    `the pose of the cart: ${poses.length}`);
  check(await until(() => stats.length) && a.channels.get("/stats").encoding === "json" && Number(stats.read(0).iterations) > 0,
    "statistics as JSON");
  check(JSON.parse(a.channels.get("/stats").schema).properties.iterations, "the schema of the statistics");
  check(await until(() => a.times.length > 3), "no time");

  // a subscription ends
  a.client.unsubscribe(clock.id);
  await a.call("/world/w/control", { pause: false });
  const before = clock.length;
  await sleep(300);
  check(clock.length <= before + 1, `${clock.length - before} messages after the end of the subscription`);
  const ticks = a.times.length;
  check(await until(() => a.times.length > ticks + 3), "no time without a subscription to the clock");

  // publish: the cart moves
  const x = () => { const m = poses.read(poses.length - 1); return m.pose?.position.x ?? m.transforms[0].transform.translation.x; };
  const begin = x();
  a.publish("/model/cart/cmd_vel", "gz.msgs.Twist", '{"linear":{"x":1}}');
  check(await until(() => x() > begin + 0.2), `a Twist as JSON does not drive the cart: ${x()}`);
  a.publish("/model/cart/cmd_vel", "geometry_msgs/msg/Twist", twist(-2), "cdr");
  const here = x();
  check(await until(() => x() < here - 0.2), `a Twist as CDR does not drive the cart back: ${x()}`);
  check(!a.statuses.length, `statuses: ${JSON.stringify(a.statuses)}`);
  a.publish("/model/cart/cmd_vel", "gz.msgs.Twist", '{"linear":{"x":"fast"}}');
  check(await until(() => a.statuses.find((s) => s.level === 2 && /linear.x/.test(s.message))), "a bad Twist");
  const nothing = a.publish("/nothing", "gz.msgs.Twist", "{}");
  const untaken = () => a.statuses.filter((s) => s.level === 1 && /'\/nothing': the run takes no messages/.test(s.message));
  check(await until(() => untaken().length) && untaken().length === 1, "no such topic");
  a.client.unadvertise(nothing);
  check(await until(() => !untaken().length), "a channel that is gone has a status");
  a.publish("/model/cart/cmd_vel", "gz.msgs.Twist", "{}", "x-text");
  check(await until(() => a.statuses.find((s) => /expected json or cdr/.test(s.message))), "a bad encoding");

  // services
  check([...a.services.values()].every((s) => s.request.schema === s.requestSchema && JSON.parse(s.responseSchema).properties),
    "schemas of services");
  check((await a.call("/world/w/create", { sdf: '<sdf version="1.9"><model name="ball"><static>true</static><link name="l"/></model></sdf>' }))?.data === true,
    "a model is not created");
  let reply = await a.call("/world/w/remove", { name: "nobody", type: "MODEL" });
  check(/nobody/.test(reply?.message), `a failing call: ${JSON.stringify(reply)}`);
  reply = await a.call("/world/w/control", "{no json");
  check(reply?.message, "a bad request");
  reply = await a.call("/world/w/control", "{}", "cdr");
  check(/json/.test(reply?.message), "an encoding that is not taken");
  reply = await a.call("/nothing", {});
  check(/no such service/.test(reply?.message), "a service that is not there");
  const scene = await a.call("/world/w/scene/info", {});
  check(scene?.model?.some((m) => m.name === "ball"), "the scene has the new model");

  // shapes and frames for a 3D panel
  const shapes = await a.subscribe("/world/w/stage");
  const frames = await a.subscribe("/world/w/stage/tf");
  check(await until(() => shapes.length) && a.channels.get("/world/w/stage").schemaName === "foxglove.SceneUpdate",
    "no shapes");
  const cube = shapes.read(0).entities.find((e) => e.cubes?.length);
  check(cube && Math.abs(cube.cubes[0].size.x - 0.5) < 1e-9, `the box of the cart: ${JSON.stringify(shapes.read(0)).slice(0, 500)}`);
  const wedge = cube?.triangles?.[0];
  check(wedge?.indices.length === 12 && Math.max(...wedge.points.map((p) => p.x)) === 2 &&
    wedge.indices.every((i) => wedge.points[i]), `the mesh of the cart: ${JSON.stringify(wedge)}`);
  const outline = [[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], ell = cube?.triangles?.[1];
  check(ell && Math.abs(volume(ell) - 0.5 * area(outline)) < 1e-6, `the polyline of the cart: ${JSON.stringify(ell)}`);
  const place = () => frames.length && frames.read(frames.length - 1).transforms.find((t) => t.child_frame_id === "cart");
  check(await until(place), "no frame of the cart");
  // the cart drives, and one of the two topics may be ahead on a busy machine
  check(await until(() => Math.abs(place().transform.translation.x - x()) < 1) && place().header.frame_id === "w",
    `the cart's frame: ${JSON.stringify(place())}, at ${x()}`);
  check(!a.channels.get("/world/w/stage/tf").schemaName.indexOf("tf2_msgs"), "the type of frames");
  check(frames.read(0).transforms.length, "the first message of frames is empty");
  // a picture has a frame that the transforms lead to
  const pictures = await a.subscribe("/camera");
  check(await until(() => pictures.length), "no picture");
  const parents = new Map(frames.read(frames.length - 1).transforms.map((t) => [t.child_frame_id, t.header.frame_id]));
  let frame = pictures.length ? pictures.read(0).header.frame_id : "";
  for (let i = 0; i < 9 && parents.has(frame); i++) frame = parents.get(frame);
  check(frame === "w", `a picture's frame leads to ${frame}: ${JSON.stringify([...parents])}`);
  a.client.unsubscribe(pictures.id);
  a.client.unsubscribe(shapes.id);
  a.client.unsubscribe(frames.id);

  // the graph, and topics that come and go
  a.client.subscribeConnectionGraph();
  check(await until(() => a.graph?.publishedTopics.some((t) => t.name === "/clock")), "no connection graph");
  a.graph = undefined;
  const early = a.client.advertise({ topic: "/model/other/cmd_vel", encoding: "json", schemaName: "gz.msgs.Twist" });
  const warned = () => a.statuses.some((s) => /'\/model\/other\/cmd_vel'/.test(s.message));
  check(await until(warned), "a topic that is not there yet");
  await a.call("/world/w/create", { sdf: '<sdf version="1.9"><model name="other"><link name="l"/><plugin name="gz::sim::systems::VelocityControl" filename="x"/><plugin name="gz::sim::systems::PosePublisher" filename="x"><publish_model_pose>true</publish_model_pose></plugin></model></sdf>' });
  const other = await a.subscribe("/model/other/pose");
  check(other && await until(() => other.length > 2), "the topic of a new model");
  check(await until(() => a.graph), "the graph is not told of a new topic");
  a.client.sendMessage(early, Buffer.from('{"linear":{"x":1}}'));
  check(await until(() => other.read(other.length - 1).pose.position.x > 0.1) && !warned(),
    "a channel that was advertised before there was its topic");
  const id = a.channels.get("/model/other/pose")?.id;
  await a.call("/world/w/remove", { name: "other", type: "MODEL" });
  check(await until(() => a.gone.includes(id)), "the topic of a removed model stays");

  // what troupe does not have
  a.client.getParameters([], "1");
  check(await until(() => a.statuses.find((s) => /no parameters/.test(s.message))), "parameters");
  let asset;
  a.client.on("fetchAssetResponse", (answer) => (asset = answer));
  a.client.fetchAsset("package://x", 7);
  check(await until(() => asset?.requestId === 7 && /no assets/.test(asset.error)), "assets");
  a.socket.send("{}");
  a.socket.send("[");
  a.socket.send(Buffer.from([9, 9]));
  check(await until(() => a.statuses.filter((s) => /no such operation|text message|binary message/.test(s.message)).length === 3),
    `bad messages: ${JSON.stringify(a.statuses)}`);

  // A slow client loses its own oldest messages, is told, and goes on; another one gets all.
  const slow = new Client(url), quick = new Client(url);
  const much = await slow.subscribe("/camera");
  const few = await quick.subscribe("/model/cart/pose");
  check(much && await until(() => much.length > 3), "no pictures");
  slow.socket._socket.pause();
  const count = few.length;
  // of simulated time, because a busy machine may be slower than real time
  for (let i = 0; i < 3000 && few.length < count + 50; i++) await sleep(20);
  check(few.length >= count + 50, `a slow client stops another one: ${few.length - count}`);
  const last = few[few.length - 1].timestamp;
  slow.socket._socket.resume();
  check(await until(() => slow.statuses.find((s) => /messages were lost so far/.test(s.message))), "the loss is not told");
  check(await until(() => much.length && much[much.length - 1].timestamp > last), "the slow client does not get the present");
  let jump = 0n;
  for (let i = 1; i < much.length; i++) {
    const step = much[i].timestamp - much[i - 1].timestamp;
    if (step > jump) jump = step;
    if (step <= 0n) jump = -1000000000000n;
  }
  check(jump > 200000000n, `the lost ones are not the oldest: ${jump}`);
  for (const client of [a, slow, quick]) client.client.close();
}
finish(main);
