// What is known of the selected model, and what can be done with it. Pose, velocity and joints come from the service
// /world/W/model, five times a second; without it the pose is the one that is drawn. Its sensors come from the service
// /world/W/model/sensors, whenever models or topics have come or gone.
import {secondaryColour} from "./palette.js";
import {$, element, icon, name, number} from "./page.js";
import {anglesOf, rotation} from "./scene.js";

const EACH_MS = 200;
const JOINTS_MAX = 60;
const SENSORS_MAX = 60;
// What the button of a sensor's topic says; "Plot" for any other type
const SHOWN_AS = {LaserScan: "Scan", PointCloudPacked: "Points", Image: "Picture", CompressedImage: "Compressed", CameraInfo: "Info", PerformanceSensorMetrics: "Rate"};

const degrees = radians => number(radians * 180 / Math.PI, 1);

function vectorCells(vector, digits = 3) {
	return ["x", "y", "z"].map(axis => element("td", {}, number(vector && vector[axis] || 0, digits)));
}

export class Inspector {
	// act: {follow, move, drive, remove, topic, close}: functions of the model (topic: of {name, type})
	constructor(world, levels, act) {
		this.world = world;
		this.levels = levels;
		this.act = act;
		this.box = $("inspector");
		this.model = null;
		this.state = null;
		this.ask = null;         // (id) -> Promise of a ModelState; null: there is no connection
		this.askSensors = null;  // (id) -> Promise of a ModelSensors; null: there is no connection
		this.found = [];         // the sensors of the model
		this.topics = () => [];  // (model) -> topics of the model that can be shown
		this.isShown = () => false; // (name of a topic)
		this.drives = () => false;
		this.commands = true;
		setInterval(() => this.refresh(), EACH_MS);
	}

	show(model) {
		if (model !== this.model)
			this.state = null;
		if (!model || !this.model || model.id !== this.model.id)
			this.found = [];
		this.model = model;
		this.box.hidden = !model;
		if (model)
			this.build();
		this.renew();
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
		this.listed = "";
		this.buildLists();
	}

	// Models or topics have come or gone.
	async renew() {
		const {model} = this;
		this.buildLists();
		if (!model || !this.askSensors)
			return;
		try {
			const {sensor = []} = await this.askSensors(model.id) || {};
			if (this.model && this.model.id === model.id)
				this.found = sensor;
		} catch (error) {
			// the model has gone, or the connection: what was found stays until another model is selected
		}
		this.buildLists();
	}

	// Lists that say the same stay the same elements, because an element that is replaced between press and release gets
	// no click.
	buildLists() {
		if (!this.model)
			return;
		const {model} = this;
		this.buttons.drive.disabled = !this.commands || !this.drives(model);
		const ofSensors = new Set(this.found.flatMap(sensor => (sensor.topic || []).map(topic => topic.name)));
		const topics = this.topics(model).filter(topic => !ofSensors.has(topic.name));
		const shown = [...ofSensors, ...topics.map(topic => topic.name)].filter(topic => this.isShown(topic));
		const listed = JSON.stringify([this.found, topics, shown, model.links.length]);
		if (listed === this.listed)
			return;
		this.listed = listed;
		this.list.replaceChildren(...this.sensorList(), ...this.topicList(topics), ...this.linkList());
	}

	topicButton(topic, text) {
		return element("button", {title: name(topic.name), "aria-pressed": String(this.isShown(topic.name)),
			click: () => this.act.topic(topic)}, text);
	}

	sensorList() {
		if (!this.found.length)
			return [];
		const row = sensor => {
			const {topic: topics = [], rateHz = 0} = sensor;
			const rate = !topics.length ? "not simulated" : sensor.onTrigger ? "when triggered" : rateHz > 0 ? `${number(rateHz, rateHz % 1 ? 2 : 0)} Hz` : "each step";
			return element("li", {class: "sensor"}, element("span", {class: "name", title: name(sensor.name || "")}, name(sensor.name || "")),
				element("span", {class: "quiet"}, `${name(sensor.type || "")}, ${rate}`),
				...topics.length ? [element("span", {class: "quiet topic", title: name(topics[0].name)}, element("bdi", {}, name(topics[0].name))),
					element("div", {class: "ways"}, ...topics.map(topic => this.topicButton(topic,
						SHOWN_AS[(topic.type || "").replace(/^(gz|troupe)\.msgs\./, "")] || "Plot")))] : []);
		};
		const more = this.found.length - SENSORS_MAX;
		return [element("h2", {}, this.found.length === 1 ? "1 sensor" : `${this.found.length} sensors`),
			element("ul", {class: "list"}, ...this.found.slice(0, SENSORS_MAX).map(row),
				more > 0 ? element("li", {class: "quiet"}, `and ${more} more`) : null)];
	}

	topicList(topics) {
		if (!topics.length)
			return [];
		return [element("h2", {}, "Topics"), element("ul", {class: "list"}, ...topics.map(topic =>
			element("li", {}, element("span", {title: name(topic.name)}, name(topic.short)), this.topicButton(topic, "Show"))))];
	}

	linkList() {
		const {links} = this.model;
		if (links.length < 2)
			return [];
		return [element("h2", {}, `${links.length} links`), element("ul", {class: "list"}, ...links.slice(0, JOINTS_MAX).map(link =>
			element("li", {}, element("span", {}, name(link.name)))))];
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
