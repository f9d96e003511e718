// A barrier client of a run, by roslibjs: node barrier.js PORT NAME WHAT [ARGUMENT [FILE]]
//   drive STEPS  posts a velocity with each of so many answers, takes its time, and leaves once FILE is there
//   die STEPS    closes its connection without a word, at a barrier
//   hang FILE    does not answer, makes FILE when the run has ended that for it, and says how
//   rude         does all that a client must not do
"use strict";
const fs = require("fs");
const [, , port, name, what, argument, file] = process.argv;
const counts = { passed: 0, failed: 0 };
const check = (good, text) => {
  good ? counts.passed++ : counts.failed++;
  if (!good) console.log(`FAILED: ${name}: ${text}`);
};
const end = (status = 0) => (console.log(`${counts.passed} passed, ${counts.failed} failed`), process.exit(status));
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
process.on("unhandledRejection", (error) => (console.log(`FAILED: ${name}: ${error}`), process.exit(1)));
setTimeout(() => (console.log(`FAILED: ${name}: too slow`), process.exit(1)), 60000);
const PERIOD_NS = 50e6, types = { join: "LockstepJoin", step: "LockstepTurn", leave: "LockstepLeave" };

import(`${process.env.NODE_PATH}/roslib/dist/RosLib.js`).then(async (ROSLIB) => {
  const connect = () =>
    new Promise((done) => {
      const ros = new ROSLIB.Ros({ url: `ws://127.0.0.1:${port}` });
      ros.on("connection", () => done(ros));
      ros.on("error", () => (console.log("FAILED: no connection"), process.exit(1)));
    });
  // The reply, or {refused: the reason}.
  const call = (ros, which, args) =>
    new Promise((done) => {
      const service = new ROSLIB.Service({ ros, name: `/lockstep/${which}`, serviceType: `troupe.msgs.${types[which]}` });
      service.callService(args, done, (refused) => done({ refused }));
    });
  const ros = await connect();
  ros.on("close", () => (console.log(`FAILED: ${name}: the connection was closed`), process.exit(1)));
  const join = (more) => call(ros, "join", { version: 1, name, period_ns: PERIOD_NS, text_form: true, ...more });
  const answered = (step, message) => call(ros, "step", { name, done: { step: String(step), message } });
  const drive = new ROSLIB.Topic({ ros, name: `/${name}_robot/cmd_vel`, messageType: "geometry_msgs/Twist" });

  // Answers of ROS's own kind, and of the protocol's own kind, in turns.
  async function take_part(steps, delays) {
    const odometry = `/model/${name}_robot/pose`;
    const welcome = (await join({ deadline_ns: 5e9, failure: what === "die" && argument === "end" ? "END" : "DROP", subscribe: [{ topic: odometry }] })).welcome;
    check(welcome && welcome.world === "w" && welcome.stepS === 0.01, `joined: ${JSON.stringify(welcome)}`);
    let said = await call(ros, "step", { name }), last = -1;
    for (let i = 0; i < steps; i++) {
      const step = said.step;
      check(step && Number(step.timeNs || 0) % PERIOD_NS === 0 && Number(step.step || 0) > last, `a step: ${JSON.stringify(said).slice(0, 200)}`);
      if (i === 3) check((step.message || []).some((m) => m.topic === odometry && m.content.includes("position")), `what it subscribed to: ${JSON.stringify(step).slice(0, 300)}`);
      if (!step) return;
      last = Number(step.step || 0);
      if (delays) await sleep(Math.random() * 6);
      const x = 0.1 * (i + 1);
      if (i % 2) drive.publish({ linear: { x, y: 0, z: 0 }, angular: { x: 0, y: 0, z: 0.3 } });
      said = await answered(last, i % 2 ? [] : [{ topic: `/model/${name}_robot/cmd_vel`, content: `linear {x: ${x}} angular {z: -0.3}` }]);
    }
    return said;
  }

  if (what === "drive") {
    await take_part(Number(argument), true);
    while (file && !fs.existsSync(file)) await sleep(20); // the run waits for this client meanwhile
    const bye = await call(ros, "leave", { name });
    check(bye.ended && !bye.ended.failed, `it left: ${JSON.stringify(bye)}`);
    return end();
  }
  if (what === "die") {
    await take_part(3, false);
    return end(); // the kernel closes the connection
  }
  if (what === "hang") {
    await join({ deadline_ns: 300e6 });
    let late = await call(ros, "step", { name });
    while (late.step) { // once, unless a process is slow
      await sleep(400);
      late = await call(ros, "step", { name });
    }
    fs.writeFileSync(argument, "");
    check(late.ended && late.ended.failed && /no answer within 0.3 s/.test(late.ended.text), `why it is out: ${JSON.stringify(late)}`);
    return end();
  }
  // rude
  const other = await connect();
  const refused = async (text, promise) => {
    const said = await promise;
    check(text.test(said.refused || ""), `refused: ${JSON.stringify(said)}: expected ${text}`);
  };
  const services = await new Promise((done) => new ROSLIB.Service({ ros, name: "/rosapi/services", serviceType: "rosapi_msgs/srv/Services" }).callService({}, done));
  check(["join", "step", "leave"].every((which) => services.services.includes(`/lockstep/${which}`)), `services: ${services.services}`);
  await refused(/has not joined/, call(ros, "step", { name }));
  await refused(/has not joined/, call(ros, "leave", { name }));
  await refused(/version 7/, join({ version: 7 }));
  await refused(/'none': there is none/, join({ world: "none" }));
  await refused(/none/, join({ none: 1 }));
  await refused(/period/, join({ period_ns: 1 }));
  await refused(/expected an object/, call(ros, "join", 3));
  check((await join({ failure: "DROP" })).welcome, "joined");
  await refused(/joined already/, join({}));
  await refused(/joined already/, call(other, "join", { version: 1, name }));
  const first = call(ros, "step", { name });
  let said = await first;
  check(said.step, `a step: ${JSON.stringify(said)}`);
  const at = String(said.step.step || 0);
  // Another connection can neither answer for it nor make it leave.
  await refused(/has not joined/, call(other, "step", { name, done: { step: at } }));
  await refused(/has not joined/, call(other, "leave", { name }));
  other.close();
  await sleep(100);
  said = await call(ros, "step", { name }); // once more, as the first reply might have been lost
  check(said.step && String(said.step.step || 0) === at, `the step again: ${JSON.stringify(said)}`);
  said = await answered(at, [{ topic: "/none", content: "data: true" }]);
  check(said.step && said.step.message.some((m) => m.refused && m.topic === "/none" && m.text), `what was refused: ${JSON.stringify(said)}`);
  said = await answered(12345, []);
  check(said.ended && said.ended.failed && /expected step/.test(said.ended.text), `an answer to another step: ${JSON.stringify(said)}`);
  end();
});
