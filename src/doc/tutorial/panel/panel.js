// The time of the world, a button that stops the selected robot, and one that pauses the run.
import {connect, say} from "./page.js";

const at = id => document.getElementById(id);
let world = "", selected = null, taken = [], calls = 0;

const driven = () => taken.find(topic => topic.name === `/model/${selected}/cmd_vel`);

const hear = {
	begin(message) {
		world = message.world;
		at("pause").disabled = !message.commands;
		say({op: "subscribe", topic: `${world}/stats`, rate: 5});
		say({op: "height", height: document.body.scrollHeight + 8});
	},
	topics(message) {
		taken = message.taken;
		at("stop").disabled = !driven();
	},
	selection({name}) {
		selected = name;
		at("name").textContent = name === null ? "nothing is selected" : name;
		at("stop").disabled = !driven();
	},
	message({message}) {
		const {sec = 0, nsec = 0} = message.simTime || {};
		at("time").textContent = (Number(sec) + nsec / 1e9).toFixed(1);
	},
	reply({ok, text}) {
		at("said").textContent = ok ? "" : text;
	},
	error({text}) {
		at("said").textContent = text;
	},
};

connect(message => hear[message.op] && hear[message.op](message));
at("stop").addEventListener("click", () => say({op: "publish", topic: driven().name, message: {}}));
at("pause").addEventListener("click", () => say({op: "call", id: ++calls, service: `${world}/control`, request: {pause: true}}));
