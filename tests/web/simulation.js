// The services of simulation_interfaces, as a program of ROS calls them by roslibjs: node simulation.js PORT
"use strict";
const { WebSocket } = require("ws");
const { check, connected, finish, roslib, until } = require("./checks.js");
const url = `ws://127.0.0.1:${process.argv[2]}`;
const OK = 1, UNSUPPORTED = 0, NOT_FOUND = 2, INCORRECT_STATE = 3, FAILED = 4;
const camel = (name) => name.replace(/(^|_)([a-z])/g, (all, _, letter) => letter.toUpperCase());
const box = `<sdf version="1.9"><model name="box"><link name="l"><inertial><mass>1</mass></inertial><collision name="c"><geometry><box>
  <size>0.4 0.4 0.4</size></box></geometry></collision></link></model></sdf>`;

class Program {
  constructor(ROSLIB, ros) {
    Object.assign(this, { ROSLIB, ros, details: new Map() });
  }
  call(name, args = {}, serviceType = `simulation_interfaces/srv/${camel(name)}`) {
    const service = new this.ROSLIB.Service({ ros: this.ros, name: `/${name}`, serviceType });
    return new Promise((done) => service.callService(args, done, (error) => (check(false, `${name}: ${error}`), done({ result: {} }))));
  }
  // The response must have the fields that rosapi tells of its type, all of them.
  async of(name, args, serviceType = `simulation_interfaces/srv/${camel(name)}`) {
    if (!this.details.has(serviceType))
      this.details.set(serviceType, await this.call("rosapi/service_response_details", { type: serviceType }, "rosapi_msgs/srv/ServiceResponseDetails"));
    const values = await this.call(name, args, serviceType), defs = this.details.get(serviceType).typedefs;
    const whole = (value, type) => {
      const def = defs.find((d) => d.type === type || d.type.replace("/msg/", "/") === type);
      return !def || (def.fieldnames.slice().sort().join() === Object.keys(value).sort().join() &&
        def.fieldnames.every((field, i) => [].concat(value[field]).every((part) => whole(part, def.fieldtypes[i]))));
    };
    check(defs && defs.length && whole(values, defs[0].type), `${name}: all fields: ${JSON.stringify(values)}`);
    return values;
  }
  async expect(result, name, args, serviceType) {
    const values = await this.of(name, args, serviceType);
    const said = values.result || {};
    check(said.result === result && (result === OK) === !said.error_message, `${name} ${JSON.stringify(args)}: ${JSON.stringify(said)}: expected ${result}`);
    return values;
  }
  goal(steps, onFeedback, onBegin = () => {}) {
    const action = new this.ROSLIB.Action({ ros: this.ros, name: "/simulate_steps", actionType: "simulation_interfaces/action/SimulateSteps" });
    return new Promise((done) => {
      const id = action.sendGoal({ steps }, (values) => done({ values }), onFeedback, (error) => done({ error }));
      onBegin(() => action.cancelGoal(id));
    });
  }
}

async function names(p) {
  const services = (await p.call("rosapi/services", {}, "rosapi_msgs/srv/Services")).services;
  const wanted = "get_simulator_features get_simulation_state set_simulation_state step_simulation reset_simulation load_world unload_world get_current_world get_available_worlds spawn_entity spawn_entities delete_entity get_entities get_entity_state get_entities_states set_entity_state get_entity_info set_entity_info get_entity_bounds get_spawnables get_named_poses get_named_pose_bounds".split(" ");
  check(wanted.every((name) => services.includes(`/${name}`)), `services: ${services}`);
  for (const name of wanted) {
    const type = (await p.call("rosapi/service_type", { service: `/${name}` }, "rosapi_msgs/srv/ServiceType")).type;
    const request = await p.call("rosapi/service_request_details", { type }, "rosapi_msgs/srv/ServiceRequestDetails");
    check(type === `simulation_interfaces/srv/${camel(name)}` && request.typedefs[0].type === `${type}_Request`, `${name}: ${type}`);
  }
  const actions = (await p.call("rosapi/action_servers", {}, "rosapi_msgs/srv/GetActionServers")).action_servers;
  check(JSON.stringify(actions) === '["/simulate_steps"]', `actions: ${actions}`);
  const type = (await p.call("rosapi/action_type", { action: "/simulate_steps" }, "rosapi_msgs/srv/ActionType")).type;
  const goal = await p.call("rosapi/action_goal_details", { type }, "rosapi_msgs/srv/ActionGoalDetails");
  check(type === "simulation_interfaces/action/SimulateSteps" && goal.typedefs[0].fieldnames.join() === "steps", `the goal: ${JSON.stringify(goal)}`);
  const response = await p.call("rosapi/service_response_details", { type: "simulation_interfaces/srv/SetSimulationState" }, "rosapi_msgs/srv/ServiceResponseDetails");
  const constants = (def) => def.constnames.map((name, i) => `${name}=${def.constvalues[i]}`).join();
  check(constants(response.typedefs[0]) === "ALREADY_IN_TARGET_STATE=101,STATE_TRANSITION_ERROR=102,INCORRECT_TRANSITION=103" && constants(response.typedefs[1]).includes("RESULT_OK=1,RESULT_NOT_FOUND=2"), `constants: ${JSON.stringify(response)}`);
  const has = (await p.of("get_simulator_features", {})).features.features;
  check(has.includes(24) && has.includes(33) && !has.includes(40) && new Set(has).size === has.length, `features: ${has}`);
}

async function run(p) {
  const state = async () => (await p.expect(OK, "get_simulation_state", {})).state.state;
  const time = async () => (await p.expect(OK, "get_entity_state", { entity: "ball" })).state.header.stamp;
  const ns = ({ sec, nanosec }) => sec * 1e9 + nanosec;
  check((await state()) === 0, "a run that begins paused is stopped");
  await p.expect(OK, "set_simulation_state", { state: { state: 1 } });
  check((await state()) === 1, "it plays");
  await p.expect(INCORRECT_STATE, "step_simulation", { steps: 1 });
  await p.expect(OK, "set_simulation_state", { state: { state: 2 } });
  await p.expect(101, "set_simulation_state", { state: { state: 2 } });
  const before = ns(await time());
  await p.expect(OK, "step_simulation", { steps: 20 });
  check(ns(await time()) === before + 20 * 10e6, "20 steps of 10 ms when the answer comes");
  for (const steps of [0, -1, 1.5, "1", null, 2 ** 32, [1], {}, 1e300]) await p.expect(FAILED, "step_simulation", { steps });
  for (const args of [{ none: 1 }, [1], "x", 3]) await p.expect(FAILED, "step_simulation", args);

  const feedbacks = [];
  const done = await p.goal(12, (f) => feedbacks.push(f));
  check(done.values && done.values.result.result === OK && ns(await time()) === before + 32 * 10e6, `an action: ${JSON.stringify(done)}`);
  check(feedbacks.length === 12 && feedbacks.every((f, i) => f.completed_steps === i + 1 && f.remaining_steps === 11 - i), `feedback: ${JSON.stringify(feedbacks)}`);
  const cancelled = await p.goal(100000, undefined, (cancel) => setTimeout(cancel, 300));
  check(/cancelled after/.test(cancelled.error), `an action that is cancelled: ${JSON.stringify(cancelled)}`);
  check((await state()) === 2, "paused behind it");
  check(/expected a paused one/.test((await (await p.expect(OK, "set_simulation_state", { state: { state: 1 } }), p.goal(5))).error), "an action while it plays");
  await p.expect(OK, "set_simulation_state", { state: { state: 2 } });
}

async function entities(p) {
  const list = async () => (await p.expect(OK, "get_entities", {})).entities.slice().sort().join();
  check((await list()) === "ball,ground,wall", `entities: ${await list()}`);
  const spawn = (more) => ({ name: "new", entity_resource: { resource_string: box }, initial_pose: { pose: { position: { x: -3, y: 0, z: 1 } } }, ...more });
  check((await p.expect(OK, "spawn_entity", spawn())).entity_name === "new", "a name");
  await p.expect(101, "spawn_entity", spawn());
  check((await p.expect(OK, "spawn_entity", spawn({ allow_renaming: true, initial_pose: { header: { frame_id: "new" }, pose: { position: { x: 0, y: 2, z: 0 } } } }))).entity_name === "new_0", "another name");
  check((await p.expect(OK, "get_entity_state", { entity: "new_0" })).state.pose.position.y === 2, "beside an entity");
  await p.expect(104, "spawn_entity", { name: "x" });
  await p.expect(107, "spawn_entity", { name: "x", entity_resource: { uri: "/none/none.sdf" } });
  for (const uri of ["https://example.org/x.sdf", "fuel://x/y"]) await p.expect(107, "spawn_entity", { name: "x", entity_resource: { uri } });
  for (const x of [2e9, 1e30]) await p.expect(109, "spawn_entity", spawn({ name: "x", initial_pose: { pose: { position: { x, y: 0, z: 0 } } } }));
  const many = await p.expect(150, "spawn_entities", { spawn_requests: [spawn({ name: "a" }), { name: "b" }, spawn({ name: "c", allow_renaming: true })] });
  check(many.results.map((r) => `${r.entity_name}${r.result.result}`).join() === "a1,104,c1", `many: ${JSON.stringify(many)}`);
  await p.expect(OK, "delete_entity", { entity: "a" });
  await p.expect(NOT_FOUND, "delete_entity", { entity: "a" });
  check((await list()) === "ball,c,ground,new,new_0,wall", `entities: ${await list()}`);
  check((await p.expect(OK, "get_entities", { filters: { filter: "^new" } })).entities.length === 2, "a filter");

  await p.expect(OK, "set_entity_state", { entity: "ball", set_pose: true, set_twist: true, state: { pose: { position: { x: 1, y: 2, z: 3 } }, twist: { linear: { x: 0.5 } } } });
  const ball = (await p.expect(OK, "get_entities_states", { filters: { filter: "ball" } })).states[0];
  check(JSON.stringify(ball.pose.position) === '{"x":1,"y":2,"z":3}' && ball.twist.linear.x === 0.5, `what was set: ${JSON.stringify(ball)}`);
  await p.expect(101, "set_entity_state", { entity: "ball", set_pose: true, state: { pose: { orientation: { x: 0, y: 0, z: 0, w: 0 } } } });
  await p.expect(NOT_FOUND, "set_entity_state", { entity: "none", set_pose: true });
  const bounds = (await p.expect(OK, "get_entity_bounds", { entity: "wall" })).bounds;
  check(bounds.type === 1 && JSON.stringify(bounds.points[0]) === '{"x":2,"y":4,"z":1}', `bounds: ${JSON.stringify(bounds)}`);
  check((await p.expect(OK, "get_entity_info", { entity: "wall" })).info.category.category === 5, "a category");
  await p.expect(OK, "set_entity_info", { entity: "wall", info: { category: { category: 1 }, description: "of brick", tags: ["red", "tall"] } });
  const { info } = await p.expect(OK, "get_entity_info", { entity: "wall" });
  check(info.category.category === 1 && info.description === "of brick" && info.tags.join() === "red,tall", `what was said: ${JSON.stringify(info)}`);
  check((await p.expect(OK, "get_entities", { filters: { tags: { tags: ["tall", "none"] } } })).entities.join() === "wall", "a filter by tags");
  await p.expect(NOT_FOUND, "set_entity_info", { entity: "none" });
  await p.expect(FAILED, "set_entity_info", { entity: "wall", info: { category: { category: 9 } } });
  const poses = (await p.expect(OK, "get_named_poses", {})).poses;
  check(poses.map((pose) => `${pose.name} ${pose.tags}`).join() === "dock frame,room level" && poses[0].pose.position.y === 2, `poses: ${JSON.stringify(poses)}`);
  const room = (await p.expect(OK, "get_named_pose_bounds", { name: "room" })).bounds;
  check(room.type === 1 && JSON.stringify(room.points) === '[{"x":50,"y":50,"z":10},{"x":-50,"y":-50,"z":-10}]', `bounds: ${JSON.stringify(room)}`);
  check((await p.expect(OK, "get_named_pose_bounds", { name: "dock" })).bounds.type === 0, "a frame has no bounds");
  await p.expect(NOT_FOUND, "get_named_pose_bounds", { name: "none" });
  const { spawnables } = await p.expect(OK, "get_spawnables", {});
  check(spawnables.length === 1 && spawnables[0].description === "A crate" && spawnables[0].entity_resource.uri === "model://crate", `spawnables: ${JSON.stringify(spawnables)}`);
  check((await p.expect(OK, "spawn_entity", { entity_resource: spawnables[0].entity_resource, initial_pose: { pose: { position: { x: -8, y: 0, z: 1 } } } })).entity_name === "crate", "one of the list");
  await p.expect(OK, "delete_entity", { entity: "crate" });
  for (const source of ["..", "/", "file:///etc", "https://example.org/models"]) await p.expect(FAILED, "get_spawnables", { sources: [source] });
  const { worlds } = await p.expect(OK, "get_available_worlds", {});
  check(worlds.some((world) => world.name === "w" && world.world_resource.uri.endsWith("/w.sdf")), `worlds: ${JSON.stringify(worlds)}`);
  await p.expect(FAILED, "get_available_worlds", { additional_sources: ["/etc"] });
  check((await p.expect(OK, "get_available_worlds", { additional_sources: ["/etc"], continue_on_error: true })).worlds.length === worlds.length, "a wrong source");
  for (const [name, args] of [["load_world", { world_resource: { uri: "w.sdf" } }], ["unload_world", {}]]) await p.expect(UNSUPPORTED, name, args);
  const world = (await p.expect(OK, "get_current_world", {})).world;
  check(world.name === "w" && world.world_resource.resource_string.includes('<model name="new_0">'), `the world: ${JSON.stringify(world).slice(0, 300)}`);
}

async function own(p) {
  const hash = async () => (await p.expect(OK, "troupe/get_hash", {}, "troupe_interfaces/srv/GetHash")).hash;
  check((await p.expect(OK, "troupe/get_seed", {}, "troupe_interfaces/srv/GetSeed")).seed === "5", "the seed");
  await p.expect(FAILED, "troupe/save", { name: "../x" }, "troupe_interfaces/srv/Save");
  await p.expect(OK, "troupe/save", { name: "one" }, "troupe_interfaces/srv/Save");
  const ball = async () => JSON.stringify((await p.expect(OK, "get_entity_state", { entity: "ball" })).state);
  const [first, then] = [await ball(), await hash()];
  await p.expect(OK, "step_simulation", { steps: 30 });
  check((await hash()) !== then && (await ball()) !== first, "another state");
  await p.expect(OK, "troupe/resume", { name: "one" }, "troupe_interfaces/srv/Resume");
  check((await ball()) === first, "the saved state");
  await p.expect(FAILED, "troupe/resume", { name: "none" }, "troupe_interfaces/srv/Resume");
  await p.expect(OK, "reset_simulation", { scope: 4 });
  check((await p.expect(OK, "get_entities", {})).entities.length === 3, "spawned entities are gone");
  await p.expect(OK, "reset_simulation", {});
  await p.expect(OK, "step_simulation", { steps: 25 });
}

// A client that leaves does not leave its goal behind; one that floods is answered.
async function rude(p) {
  const socket = new WebSocket(url);
  const heard = [];
  await new Promise((done) => socket.on("open", done));
  socket.on("message", (data) => heard.push(JSON.parse(data)));
  for (const text of ['{"op":"send_action_goal"}', '{"op":"send_action_goal","action":"/none"}', '{"op":"cancel_action_goal","action":"/simulate_steps","id":"x"}']) socket.send(text);
  for (let i = 0; i < 2000; i++) socket.send(JSON.stringify({ op: "call_service", service: i % 2 ? "/get_entities" : "/step_simulation", id: i, args: i % 2 ? {} : { steps: -1 } }));
  await until(() => heard.filter((m) => m.op === "service_response").length >= 2000);
  const answers = heard.filter((m) => m.op === "service_response");
  check(answers.length === 2000 && answers.every((m) => m.result === true && m.values.result.result !== undefined), `${answers.length} of 2000 answers`);
  check(heard.filter((m) => m.op === "status" && m.msg).length === 2, `${JSON.stringify(heard.filter((m) => m.op === "status"))}`);
  check(heard.filter((m) => m.op === "action_result" && m.result === false && m.values.includes("/none")).length === 1, "a goal of no action is refused");
  socket.send(JSON.stringify({ op: "send_action_goal", action: "/simulate_steps", id: "g", feedback: true, args: { steps: 1000000 } }));
  check(await until(() => heard.some((m) => m.op === "action_feedback")), "a goal that goes on");
  await p.expect(INCORRECT_STATE, "step_simulation", { steps: 1 });
  socket.terminate();
  check(await until(async () => (await p.call("step_simulation", { steps: 1 })).result.result === OK), "steps after the other client has gone");
}

finish(async () => {
  const ROSLIB = await roslib();
  const ros = await connected(ROSLIB, url);
  const p = new Program(ROSLIB, ros);
  await names(p);
  await run(p);
  await entities(p);
  await own(p);
  await rude(p);
  await p.expect(OK, "set_simulation_state", { state: { state: 3 } });
});
