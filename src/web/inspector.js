// What is known of the selected model, and what can be done with it. Pose, velocity and joints come from the service
// /world/W/model, five times a second; without it the pose is the one that is drawn.
import {secondaryColour} from "./palette.js";
import {$, element, icon, name, number} from "./page.js";
import {anglesOf, rotation} from "./scene.js";

const EACH_MS = 200;
const JOINTS_MAX = 60;

const degrees = radians => number(radians * 180 / Math.PI, 1);

function vectorCells(vector, digits = 3) {
	return ["x", "y", "z"].map(axis => element("td", {}, number(vector && vector[axis] || 0, digits)));
}

export class Inspector {
	// act: {follow, move, drive, remove, topic, close}: functions of the model (topic: of a name)
	constructor(world, levels, act) {
		this.world = world;
		this.levels = levels;
		this.act = act;
		this.box = $("inspector");
		this.model = null;
		this.state = null;
		this.ask = null;         // (id) -> Promise of a ModelState; null: there is no connection
		this.sensors = () => []; // (model) -> topics of the model that can be shown
		this.drives = () => false;
		this.commands = true;
		setInterval(() => this.refresh(), EACH_MS);
	}

	show(model) {
		if (model !== this.model)
			this.state = null;
		this.model = model;
		this.box.hidden = !model;
		if (model)
			this.build();
		this.refresh();
	}

	build() {
		const {model, act} = this;
		const tool = (text, title, run, attributes = {}) => element("button", {title, click: run, ...attributes}, text);
		this.chips = element("div", {class: "chips"});
		this.table = element("div");
		this.buttons = {
			follow: tool("Follow", "The camera follows (F)", () => act.follow(model), {"aria-pressed": "false"}),
			move: tool("Move", "Drag it in the view (M)", () => act.move(model), {"aria-pressed": "false"}),
			drive: tool("Drive", "Drive with keys or pad (G)", () => act.drive(model), {"aria-pressed": "false"}),
			remove: tool("Remove", "Remove it (delete)", () => act.remove(model), {class: "danger"}),
		};
		this.buttons.drive.disabled = !this.commands || !this.drives(model);
		this.buttons.move.disabled = this.buttons.remove.disabled = !this.commands;
		this.list = element("div");
		this.box.replaceChildren(
			element("div", {class: "head"}, element("h1", {}, name(model.name)),
				element("button", {class: "icon close", "aria-label": "Deselect", click: () => act.close()}, icon("close"))),
			element("div", {class: "body"}, this.chips, element("div", {class: "tools"}, ...Object.values(this.buttons)), this.table, this.list));
		this.buildLists();
	}

	buildLists() {
		if (!this.model)
			return;
		const {model} = this, sensors = this.sensors(model), parts = [];
		this.buttons.drive.disabled = !this.commands || !this.drives(model);
		if (sensors.length)
			parts.push(element("h2", {}, "Sensors and topics"), element("ul", {class: "list"}, ...sensors.map(topic =>
				element("li", {}, element("span", {title: name(topic.name)}, name(topic.short)),
					element("button", {click: () => this.act.topic(topic)}, "Show")))));
		if (model.links.length > 1)
			parts.push(element("h2", {}, `${model.links.length} links`), element("ul", {class: "list"}, ...model.links.slice(0, JOINTS_MAX).map(link =>
				element("li", {}, element("span", {}, name(link.name))))));
		this.list.replaceChildren(...parts);
	}

	press(tool, on) {
		if (this.model)
			this.buttons[tool].setAttribute("aria-pressed", String(on));
	}

	async refresh() {
		const {model} = this;
		if (!model || this.box.hidden)
			return;
		if (this.ask && !this.asking) {
			this.asking = true;
			try {
				const state = await this.ask(model.id);
				if (this.model && this.model.id === model.id)
					this.state = state;
			} catch (error) {
				this.state = null;
			}
			this.asking = false;
		}
		if (this.model)
			this.draw();
	}

	draw() {
		const {model, state} = this, chips = [];
		const performer = this.levels.of(model.name);
		const chip = (text, colour) => {
			const dot = colour && element("span", {class: "dot"});
			if (dot)
				dot.style.background = colour;
			chips.push(element("span", {class: "chip"}, dot || null, text));
		};
		if (model.isStatic)
			chip("static");
		else if (model.loaded)
			chip(model.secondary ? `secondary ${model.secondary}` : "single runner", secondaryColour(model.secondary));
		if (!model.loaded)
			chip("not loaded");
		if (!model.isStatic && model.loaded)
			chip(model.asleep ? "asleep" : "awake");
		if (performer) {
			chip("performer");
			performer.levels.forEach(level => chip(`in ${name(level)}`));
			performer.near.forEach(level => chip(`near ${name(level)}`));
			performer.ghosts.forEach(ghost => chip(`ghost on ${ghost}`, secondaryColour(ghost)));
		}
		this.chips.replaceChildren(...chips);
		this.table.replaceChildren(...this.tables(state));
	}

	tables(state) {
		const drawn = this.world.poseOf(this.model);
		const at = state && state.pose ? state.pose.position || {} : drawn.position;
		const angles = anglesOf(state && state.pose ? rotation(state.pose) : drawn.rotation);
		const rows = [
			element("tr", {}, element("td", {}, "position, m"), ...vectorCells(at)),
			element("tr", {}, element("td", {}, "roll pitch yaw, °"), ...["roll", "pitch", "yaw"].map(angle => element("td", {}, degrees(angles[angle])))),
		];
		if (state && !this.model.isStatic)
			rows.push(element("tr", {}, element("td", {}, "velocity, m/s"), ...vectorCells(state.linear)),
				element("tr", {}, element("td", {}, "turning, rad/s"), ...vectorCells(state.angular)));
		const out = [element("table", {}, element("thead", {}, element("tr", {}, element("th"), element("th", {}, "x"), element("th", {}, "y"), element("th", {}, "z"))),
			element("tbody", {}, ...rows))];
		const joints = state && state.joint || [];
		if (joints.length)
			out.push(element("table", {}, element("thead", {}, element("tr", {}, element("th", {}, "joint"), element("th", {}, "position"), element("th", {}, "velocity"))),
				element("tbody", {}, ...joints.slice(0, JOINTS_MAX).map(joint => element("tr", {}, element("td", {}, name(joint.name || "")),
					element("td", {}, (joint.position || []).map(value => number(Number(value))).join(" ")),
					element("td", {}, (joint.velocity || []).map(value => number(Number(value))).join(" ")))))));
		return out;
	}
}
