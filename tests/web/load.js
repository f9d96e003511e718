// Other worlds in a run, as a program of ROS asks for them by roslibjs: node load.js PORT PID FOLDER, where FOLDER has the
// worlds of test_load.sh, or node load.js PORT refused TEXT: no other world can be loaded, and the answer has the text.
"use strict";
const fs = require("fs");
const { PATIENCE_MS, check, finish, roslib, sleep } = require("./checks.js");
const [, , port, second, third] = process.argv;
const url = `ws://127.0.0.1:${port}`;
const UNSUPPORTED = 0, OK = 1, INCORRECT_STATE = 3, FAILED = 4;
const NO_WORLD = 101, FORMAT = 101, EMPTY = 102, PARSE = 103, MISSING = 104, ELEMENTS = 106, TRANSITION = 103;
const camel = (name) => name.replace(/(^|_)([a-z])/g, (all, _, letter) => letter.toUpperCase());
const own = { "troupe/get_hash": "GetHash", "troupe/get_seed": "GetSeed", "troupe/set_seed": "SetSeed" };

class Program {
  constructor(ROSLIB) {
    this.ROSLIB = ROSLIB;
  }
  // Until the run answers: it begins anew at the same port.
  async connect() {
    for (const end_ms = Date.now() + PATIENCE_MS; Date.now() < end_ms; await sleep(20)) {
      const ros = new this.ROSLIB.Ros({ url });
      if (await new Promise((done) => (ros.on("connection", () => done(true)), ros.on("error", () => done(false))))) {
        this.ros = ros;
        this.closed = new Promise((done) => ros.on("close", done));
        return;
      }
    }
    throw Error("no connection");
  }
  call(name, args = {}) {
    const serviceType = own[name] ? `troupe_interfaces/srv/${own[name]}` : `simulation_interfaces/srv/${camel(name)}`;
    const service = new this.ROSLIB.Service({ ros: this.ros, name: `/${name}`, serviceType });
    return new Promise((done) => service.callService(args, done, (error) => done({ result: {}, error })));
  }
  async expect(result, name, args) {
    const values = await this.call(name, args), said = values.result || {};
    check(said.result === result && (result === OK) === !said.error_message, `${name} ${JSON.stringify(args || {}).slice(0, 200)}: ${JSON.stringify(values).slice(0, 500)}: expected ${result}`);
    return values;
  }
  // The answer comes before the connection closes.
  async change(name, args) {
    const values = await this.expect(OK, name, args);
    await this.closed;
    await this.connect();
    return values;
  }
  async state() {
    return (await this.expect(OK, "get_simulation_state")).state.state;
  }
  async hash() {
    const { step, hash } = await this.expect(OK, "troupe/get_hash");
    return `${step} ${hash}`;
  }
}

const uri = (path) => ({ world_resource: { uri: path } });
const text = (resource_string) => ({ world_resource: { resource_string } });

async function bad(p, folder) {
  const before = await p.hash(), file = (name) => uri(`${folder}/${name}`);
  await p.expect(EMPTY, "load_world", {});
  await p.expect(FORMAT, "load_world", uri("world.usd"));
  for (const words of ["hello", "  ", "{}"]) await p.expect(FORMAT, "load_world", text(words));
  for (const name of ["none.sdf", "/none/none.sdf", "file:///none.sdf", "model://none", "https://example.org/w.sdf", "x".repeat(5000), "../../../../none"]) await p.expect(MISSING, "load_world", uri(name));
  check((await p.call("load_world", file("asset.sdf"))).result.error_message.includes("none.obj"), "the file that is missing is named");
  await p.expect(MISSING, "load_world", file("asset.sdf"));
  await p.expect(ELEMENTS, "load_world", { ...file("asset.sdf"), fail_on_unsupported_element: true, ignore_missing_or_unsupported_assets: true });
  const told = (await p.call("load_world", { ...file("asset.sdf"), fail_on_unsupported_element: true, ignore_missing_or_unsupported_assets: true })).result.error_message;
  check(/^.*fail_on_unsupported_element: 1 warning, the first: .*asset\.sdf:\d+: .*none\.obj/.test(told), `what is not supported: ${told}`);
  for (const name of ["bad.sdf", "two.sdf", "plugin.sdf"]) await p.expect(PARSE, "load_world", file(name));
  for (const words of ["<", "<sdf", "<sdf version='1.9'/>", "<sdf version='1.9'><world name=''/></sdf>", "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><sdf version='1.9'><world name='&b;'>"]) await p.expect(PARSE, "load_world", text(words));
  await p.expect(FAILED, "load_world", text(`<sdf version='1.9'><world name='w'>${"<model name='m'>".repeat(200)}`));
  for (const name of ["/", folder, "/dev/zero", "/dev/null", "/proc/self/mem", "a\tb\u0007", `${folder}/pipe.sdf`]) {
    const { result } = await p.call("load_world", uri(name));
    check(result.result === MISSING && result.error_message && !/[\n\u0007]/.test(result.error_message), `${name}: ${JSON.stringify(result)}`);
  }
  for (const seed of ["", "-1", "x", "1.5", "1e3", " 1", "9223372036854775808", "99999999999999999999"]) await p.expect(FAILED, "troupe/set_seed", { seed });
  for (const args of [{ none: 1 }, { world_resource: "x" }, { world_resource: { uri: 1 } }, [1]]) await p.expect(FAILED, "load_world", args);
  check((await p.hash()) === before, "nothing has changed");
}

async function busy(p, folder) {
  const action = new p.ROSLIB.Action({ ros: p.ros, name: "/simulate_steps", actionType: "simulation_interfaces/action/SimulateSteps" });
  let feedback;
  const told = new Promise((done) => (feedback = done));
  const ended = new Promise((done) => {
    const id = action.sendGoal({ steps: 100000000 }, done, () => feedback(id), done);
  });
  const id = await told;
  await p.expect(INCORRECT_STATE, "load_world", uri(`${folder}/other.sdf`));
  await p.expect(INCORRECT_STATE, "unload_world");
  await p.expect(INCORRECT_STATE, "troupe/set_seed", { seed: "1" });
  action.cancelGoal(id);
  await ended;
}

async function steps(p, count) {
  await p.expect(OK, "step_simulation", { steps: count });
  return p.hash();
}

// The hashes are those of runs of their own, from the shell.
async function worlds(p, folder) {
  const hash = (name) => fs.readFileSync(`${folder}/${name}.hash`, "utf8").replace("hash ", "").trim();
  const { world } = await p.change("load_world", uri(`file://${folder}/other.sdf`));
  check(world.name === "other" && world.world_resource.uri === `file://${folder}/other.sdf`, `what was loaded: ${JSON.stringify(world)}`);
  check((await p.state()) === 0, "stopped at first");
  const { entities } = await p.expect(OK, "get_entities");
  check(entities.length > 50 && entities.includes("ground") && !entities.includes("ball"), `its models: ${entities}`);
  check((await p.hash()).startsWith("0 "), "at step 0");
  check((await steps(p, 300)) === hash("other.5"), `as a run of its own: ${await p.hash()}`);
  await p.change("troupe/set_seed", { seed: "9" });
  check((await p.expect(OK, "troupe/get_seed")).seed === "9" && (await p.state()) === 0 && (await p.hash()).startsWith("0 "), "another seed");
  check((await steps(p, 300)) === hash("other.9") && hash("other.9") !== hash("other.5"), `as a run with that seed: ${await p.hash()}`);
  // a relative name begins in the folder of the world; the seed is kept
  check((await p.change("load_world", uri("first.sdf"))).world.name === "w", "a relative name");
  await p.change("load_world", text(fs.readFileSync(`${folder}/other.sdf`, "utf8")));
  check((await steps(p, 300)) === hash("other.9"), "as a text");
  await p.change("troupe/set_seed", { seed: "5" });
  check((await steps(p, 300)) === hash("other.5"), "the text anew");
  check((await p.change("load_world", { ...uri("asset.sdf"), ignore_missing_or_unsupported_assets: true })).world.name === "asset", "a missing file is ignored");
  check((await p.change("load_world", uri("warehouse"))).world.name === "warehouse", "a world of troupe");
  await p.change("load_world", uri(`${folder}/first.sdf`));
}

async function unloaded(p, folder) {
  await p.change("unload_world");
  check((await p.state()) === 4, "no world");
  await p.expect(NO_WORLD, "unload_world");
  await p.expect(NO_WORLD, "get_current_world");
  for (const state of [0, 1, 2, 4]) await p.expect(TRANSITION, "set_simulation_state", { state: { state } });
  for (const name of ["get_entities", "step_simulation", "reset_simulation", "spawn_entity", "delete_entity", "get_named_poses", "troupe/get_hash", "troupe/get_seed", "troupe/set_seed"]) await p.expect(INCORRECT_STATE, name);
  await p.expect(OK, "get_available_worlds");
  check((await p.call("get_simulator_features")).features.features.includes(43), "features");
  await p.expect(PARSE, "load_world", uri(`${folder}/bad.sdf`));
  check((await p.state()) === 4, "still no world");
  check((await p.change("load_world", uri("first.sdf"))).world.name === "w" && (await p.state()) === 0, "a world again");
}

// Threads and files of the process: as many after many worlds as before.
const used = (pid) => ["task", "fd"].map((list) => fs.readdirSync(`/proc/${pid}/${list}`).length).join();
async function many(p, pid, folder, count) {
  await p.change("load_world", uri("first.sdf"));
  const before = used(pid);
  for (let i = 0; i < count; i++) await p.change("load_world", uri(`${folder}/${i % 2 ? "first" : "other"}.sdf`));
  check((await p.state()) === 0 && used(pid) === before, `threads and files: ${used(pid)}: expected ${before}`);
}

// Of two at once one counts; the other is refused, or hears that the run ends. Worlds are read in the background, where now
// and then the later request comes first: then the world that cannot be read counts, and nothing has changed.
async function twice(p, folder) {
  let calls;
  for (let tries = 0; tries < 20; tries++) {
    calls = [p.call("load_world", uri(`${folder}/other.sdf`)), p.call("load_world", uri(`${folder}/bad.sdf`))];
    if ((await calls[0]).result.result !== INCORRECT_STATE) break;
    check((await calls[1]).result.result === PARSE, "the second came first");
  }
  check((await calls[0]).result.result === OK, "the first");
  const other = await Promise.race([calls[1], p.closed.then(() => null)]);
  const late = !other || other.error || other.result.error_message === "the run has ended";
  check(late || other.result.result === INCORRECT_STATE, `the second: ${JSON.stringify(other)}`);
  await p.closed;
  await p.connect();
  check((await p.expect(OK, "get_current_world")).world.name === "other", "the first counts");
}

async function refused(p, words) {
  const features = (await p.call("get_simulator_features")).features.features;
  check(features.includes(44) && ![40, 41, 43].some((feature) => features.includes(feature)), `features: ${features}`);
  for (const [name, args] of [["load_world", uri("other.sdf")], ["unload_world", {}], ["troupe/set_seed", { seed: "1" }]])
    check((await p.expect(UNSUPPORTED, name, args)).result.error_message.includes(words), `${name}: expected '${words}'`);
}

finish(async () => {
  const ROSLIB = await roslib();
  const p = new Program(ROSLIB);
  await p.connect();
  if (second === "refused") {
    await refused(p, third);
  } else {
    const features = (await p.call("get_simulator_features")).features.features;
    check([40, 41, 43, 44].every((feature) => features.includes(feature)), `features: ${features}`);
    await bad(p, third);
    await busy(p, third);
    await worlds(p, third);
    await unloaded(p, third);
    await twice(p, third);
    await many(p, second, third, 20);
  }
  await p.expect(OK, "set_simulation_state", { state: { state: 3 } });
});
