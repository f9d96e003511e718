// A client of `troupe replay --foxglove`, by Foxglove's own client library and, for the playback control, which that
// library does not have, by the bytes of the protocol: see test_playback.sh.
//
// playback.js PORT LOG.csv: LOG.csv has the pose of the model 'cart' after each step of 10 ms of the recorded run.
"use strict";
const { readFileSync } = require("fs");
const { Client, check, finish, sleep, until } = require("./foxglove_client.js");

const url = `ws://127.0.0.1:${process.argv[2]}`;
const STEP_NS = 10000000n;
const [PLAYING, PAUSED, BUFFERING, ENDED] = [0, 1, 2, 3];

const rows = readFileSync(process.argv[3], "utf8").trim().split("\n").map((line) => line.split(","));
const column = (name) => rows[0].indexOf(name);
const steps = new Map(rows.slice(1).filter((row) => row[column("model")] === "cart").map((row) => [Number(row[column("step")]),
  { time: Number(row[column("time")]), x: Number(row[column("x")]), y: Number(row[column("y")]) }]));
const LAST = Math.max(...steps.keys());
const timeOf = (step) => BigInt(step) * STEP_NS;

class Player extends Client {
  constructor() {
    super(url, ["foxglove.sdk.v1"]);
    this.states = []; // each with the number of messages that had come before, by subscription
    this.requests = 0;
    this.socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string") return;
      const view = new DataView(data);
      if (view.getUint8(0) !== 5) return;
      const state = { status: view.getUint8(1), time: view.getBigUint64(2, true), speed: view.getFloat32(10, true),
        didSeek: view.getUint8(14), id: Buffer.from(data, 19, view.getUint32(15, true)).toString(), before: new Map() };
      for (const [id, list] of this.messages) state.before.set(id, list.length);
      check(data.byteLength === 19 + view.getUint32(15, true), "the length of a state");
      this.states.push(state);
    });
  }
  get last() { return this.states[this.states.length - 1]; }
  // The answer to a request.
  async control(plays, speed, seek, command = plays ? 0 : 1) {
    const id = `request-${++this.requests}`, bytes = Buffer.alloc(19 + id.length);
    bytes[0] = 3;
    bytes[1] = command;
    bytes.writeFloatLE(speed, 2);
    bytes[6] = seek === undefined ? 0 : 1;
    bytes.writeBigUInt64LE(seek ?? 0n, 7);
    bytes.writeUInt32LE(id.length, 15);
    bytes.write(id, 19);
    this.socket.send(bytes);
    return command > 1 ? undefined : until(() => this.states.find((state) => state.id === id));
  }
}

// The place of the cart in a message of frames.
function place(list, i) {
  return list.read(i).transforms.find((t) => t.child_frame_id === "cart")?.transform.translation;
}

async function main() {
  const a = new Player();
  check(await until(() => a.info), "no serverInfo");
  check(a.info.capabilities.includes("playbackControl") && !a.info.capabilities.includes("clientPublish"),
    `capabilities ${a.info?.capabilities}`);
  const begin = a.info.dataStartTime, end = a.info.dataEndTime;
  check(begin.sec === 0 && begin.nsec === 0 && BigInt(end.sec) * 1000000000n + BigInt(end.nsec) === timeOf(LAST),
    `from ${JSON.stringify(begin)} to ${JSON.stringify(end)}`);
  check(await until(() => a.last) && a.last.status === PAUSED && a.last.time === 0n && a.last.speed === 1 && !a.last.id,
    "the first state");
  const frames = await a.subscribe("/world/w/stage/tf"), clock = await a.subscribe("/clock");
  check(await until(() => frames.length && place(frames, frames.length - 1)), "no frames at the begin");

  // Each place that is shown is the recorded one of its time, exactly.
  let compared = 0;
  function compare(from) {
    for (let i = from; i < frames.length; i++) {
      const step = Number(frames[i].timestamp / STEP_NS), row = steps.get(step), is = place(frames, i);
      if (!is) continue;
      check(row && frames[i].timestamp === timeOf(step) && is.x === row.x && is.y === row.y,
        `step ${step}: the cart is at ${is.x} ${is.y}: ${row?.x} ${row?.y}`);
      compared++;
    }
  }

  // it plays, at the pace that was asked for, and stops
  const from = Date.now(), first = a.times[a.times.length - 1] ?? 0n; // before it is asked to: the answer may take its time
  check((await a.control(true, 1))?.status === PLAYING, "it does not play");
  check(await until(() => clock.length > 60), `of the clock came ${clock.length} messages`);
  const shown = Number(a.times[a.times.length - 1] - first) * 1e-9, took = (Date.now() - from) / 1000;
  check(shown <= took + 0.2, `${shown} s were shown in ${took} s`);
  let state = await a.control(false, 1);
  check(state?.status === PAUSED && !state.didSeek, "it does not stop");
  await a.call("/world/w/scene/info", {}); // what was sent before the answer to this has come, too
  const count = clock.length, at = a.last.time;
  await sleep(300);
  check(clock.length === count && a.last.time === at, `${clock.length - count} messages while it is paused`);
  for (let i = 1; i < clock.length; i++)
    check(clock[i].timestamp >= clock[i - 1].timestamp, "times go back while it plays");
  compare(0);
  check(compared > 5, `${compared} places compared`);

  // a jump, there and back: nothing of another step is shown after the answer
  const b = new Player();
  await until(() => b.last);
  for (const step of [333, 100, 101, 700, 0, 350, LAST, 50]) {
    const told = b.states.length;
    state = await a.control(false, 1, timeOf(step) + STEP_NS / 2n);
    check(state?.didSeek && state.time === timeOf(step) && state.status === BUFFERING, `to ${step}: ${state?.time}`);
    check(await until(() => a.last.status !== BUFFERING && a.last.time === timeOf(step)), `step ${step} does not come`);
    check(a.last.status === (step === LAST ? ENDED : PAUSED), `at ${step}: ${a.last.status}`);
    check(await until(() => clock.length > state.before.get(clock.id) && frames.length > state.before.get(frames.id) &&
      place(frames, frames.length - 1)), `no message at step ${step}`);
    check(await until(() => a.times[a.times.length - 1] === timeOf(step)), "the time does not follow");
    for (const list of [clock, frames])
      for (let i = state.before.get(list.id); i < list.length; i++)
        check(list[i].timestamp === timeOf(step), `at step ${step}: a message of ${list[i].timestamp}`);
    const { clock: now } = clock.read(clock.length - 1);
    check(Math.abs(now.sec + now.nanosec * 1e-9 - steps.get(step).time) < 1e-9, `at step ${step} the clock is ${now.sec}.${now.nanosec}`);
    compare(state.before.get(frames.id));
    check(await until(() => b.states.slice(told).some((s) => s.didSeek && !s.id && s.time === timeOf(step))),
      "another client is not told of the jump");
  }

  // models that come and go
  check(await until(() => !a.channels.has("/model/late/pose")), "a topic before its model");
  await a.control(false, 1, timeOf(400));
  const late = await a.subscribe("/model/late/pose");
  await a.control(true, 1);
  check(late && await until(() => late.length), "the topic of a model that was created in the run");

  // faster, up to the end
  const middle = Date.now(), earlier = frames.length;
  state = await a.control(true, 8, timeOf(500));
  check(state?.speed === 8, `speed ${state?.speed}`);
  check(await until(() => a.last.status === ENDED), `no end: ${JSON.stringify(a.last.status)}`);
  check(a.last.time === timeOf(LAST), `the end is at ${a.last.time}`);
  check(Date.now() - middle > Number(timeOf(LAST - 500)) / 1e6 / 8 * 0.8, "it plays too fast");
  compare(earlier);
  check((await a.control(true, 1))?.id && await until(() => a.last.status === ENDED), "it plays beyond the end");

  // what cannot be done
  state = await a.control(true, 0);
  check(state && state.speed === 1 && await until(() => a.statuses.find((s) => /speed 0: expected more than 0/.test(s.message))), "speed 0");
  await a.control(true, NaN);
  check(await until(() => a.statuses.find((s) => /speed -?nan: expected/.test(s.message))), "no speed");
  await a.control(true, 1, undefined, 7);
  check(await until(() => a.statuses.find((s) => /binary message: expected/.test(s.message))), "a bad command");
  const reply = await a.call("/world/w/control", { pause: true });
  check(/recording/.test(reply?.message), `a service that would change it: ${JSON.stringify(reply)}`);
  const scene = await a.call("/world/w/scene/info", {});
  check(scene?.model?.some((m) => m.name === "cart"), "a service that changes nothing");

  // a client without the control is shown the recording from its begin, when no other client has it
  a.client.close(), b.client.close();
  check(await until(() => a.closed && b.closed), "connections are not closed");
  const old = new Client(url);
  const ticks = await old.subscribe("/clock");
  check(await until(() => old.info) && !old.info.capabilities.includes("playbackControl") && !old.info.dataEndTime, "an older client");
  check(await until(() => ticks.length > 20), "an older client is shown nothing");
  check(ticks[0].timestamp < timeOf(LAST) && !old.error, `not from the begin: ${ticks[0]?.timestamp} ${old.error}`);
  old.client.close();
}
finish(main);
