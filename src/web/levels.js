// What only troupe has: the boxes of levels, with their buffers, loaded or not, in the colour of their secondary; and the
// ghosts of performers. Also the list of what has happened: a message of /world/W/levels has the present state, so an
// event is a difference between two messages.
import {
	BoxBufferGeometry, BufferGeometry, Color, EdgesGeometry, Float32BufferAttribute, Group, LineBasicMaterial, LineDashedMaterial,
	LineLoop, LineSegments, Mesh, MeshBasicMaterial, PlaneBufferGeometry,
} from "./three/build/three.module.js";
import {secondaryColour} from "./palette.js";

const EDGES = new EdgesGeometry(new BoxBufferGeometry(1, 1, 1));
const FLOOR = new PlaneBufferGeometry(1, 1);
const LIFT_M = .012;          // above the floor, so that the two do not flicker

function outline(width, depth) {
	const x = width / 2, y = depth / 2;
	const geometry = new BufferGeometry();
	geometry.setAttribute("position", new Float32BufferAttribute([-x, -y, 0, x, -y, 0, x, y, 0, -x, y, 0, -x, -y, 0], 3));
	return geometry;
}

export class Levels {
	constructor(three, world) {
		this.world = world;
		this.group = new Group();
		this.ghosts = new Group();
		three.add(this.group, this.ghosts);
		this.levels = new Map();      // name -> {parts, loaded, secondary}
		this.performers = new Map();  // name -> {secondary, ghosts}
		this.changes = new Set();     // of the processes: those that were told
		this.quiet = "#8b94a3";
		this.jump = Infinity;         // two messages farther apart, in steps, are not compared
		this.onEvent = () => {};      // {step, text, name, secondary}
	}

	clear() {
		this.group.remove(...this.group.children);
		this.ghosts.remove(...this.ghosts.children);
		this.levels.clear();
		this.performers.clear();
		this.changes.clear();
		this.known = false;
	}

	// The reply of the service: boxes, and the first state
	setBoxes(message) {
		this.clear();
		for (const from of message.level || [])
			if (from.size)
				this.addLevel(from);
		this.take(message);
	}

	addLevel(from) {
		const centre = from.centre || {}, size = from.size, buffer = from.buffer || 0;
		const x = size.x || 0, y = size.y || 0, z = size.z || 0, bottom = Math.max((centre.z || 0) - z / 2, LIFT_M);
		const group = new Group();
		const edges = new LineSegments(EDGES, new LineBasicMaterial({transparent: true}));
		edges.position.set(centre.x || 0, centre.y || 0, centre.z || 0);
		edges.scale.set(x, y, z);
		const floor = new Mesh(FLOOR, new MeshBasicMaterial({transparent: true, depthWrite: false}));
		floor.position.set(centre.x || 0, centre.y || 0, bottom);
		floor.scale.set(x, y, 1);
		const line = new LineLoop(outline(x, y), new LineBasicMaterial({transparent: true}));
		line.position.copy(floor.position);
		group.add(edges, floor, line);
		let rim = null;
		if (buffer > 0) {
			rim = new LineLoop(outline(x + 2 * buffer, y + 2 * buffer),
				new LineDashedMaterial({transparent: true, dashSize: .35, gapSize: .25}));
			rim.computeLineDistances();
			rim.position.copy(floor.position);
			group.add(rim);
		}
		this.group.add(group);
		this.levels.set(from.name || "", {edges, floor, line, rim, loaded: null, secondary: 0});
	}

	paint(level) {
		const colour = new Color(level.loaded ? secondaryColour(level.secondary) : this.quiet);
		for (const part of [level.edges, level.floor, level.line, level.rim])
			if (part)
				part.material.color.copy(colour);
		level.edges.material.opacity = level.loaded ? .2 : .07;
		level.floor.material.opacity = level.loaded ? .13 : 0;
		level.floor.visible = level.loaded;
		level.line.material.opacity = level.loaded ? .95 : .4;
		if (level.rim) {
			level.rim.visible = true;
			level.rim.material.opacity = level.loaded ? .55 : .2;
		}
	}

	// A message of the topic, or of the service
	take(message) {
		const step = Number(message.step || 0), shares = Number(message.shares || 0), events = [];
		for (const from of message.level || []) {
			const level = this.levels.get(from.name || "");
			const loaded = Boolean(from.loaded), secondary = from.secondary || 0;
			if (!level || level.loaded === loaded && level.secondary === secondary)
				continue;
			if (this.known && level.loaded !== loaded)
				events.push({step, kind: "load", text: `${from.name} ${loaded ? "loaded" : "unloaded"}`, name: from.name, secondary});
			level.loaded = loaded;
			level.secondary = secondary;
			this.paint(level);
		}
		for (const from of message.performer || []) {
			const name = from.name || "", secondary = from.secondary || 0, old = this.performers.get(name);
			// what another number of secondaries has shared out did not move
			const before = from.movedFrom || (old && shares === this.shares ? old.secondary : 0);
			if (this.known && before && secondary && before !== secondary)
				events.push({step, kind: "move", text: `${name}  ${before} → ${secondary}`, name, secondary});
			this.performers.set(name, {secondary, ghosts: from.ghost || [], levels: from.level || [], near: from.near || []});
		}
		for (const from of message.change || [])
			this.addChange(from);
		this.known = true;
		this.shares = shares;
		// a recording can jump: what differs then did not happen in one step
		const jumped = Math.abs(step - (this.step || 0)) > this.jump;
		this.step = step;
		for (const event of jumped ? [] : events)
			this.onEvent(event);
		this.makeGhosts();
	}

	// Of the processes of a networked run: each message has the last ones, so each is told once
	addChange({what = "", who = "", step = 0, repeatedSteps = 0, stoodStillS = 0}) {
		const key = `${step} ${what} ${who}`;
		if (this.changes.has(key))
			return;
		this.changes.add(key);
		const notes = [Number(repeatedSteps) > 0 ? `${repeatedSteps} steps again` : "", stoodStillS > 0 ? `${stoodStillS.toFixed(2)} s still` : ""];
		this.onEvent({step: Number(step), kind: what === "lost" ? "loss" : "member", text: [`${who} ${what}`, ...notes].filter(Boolean).join(", "),
			name: "", secondary: 0});
	}

	// A frame around a performer for each secondary that knows it as a ghost, each a little larger than the one before
	makeGhosts() {
		this.ghosts.remove(...this.ghosts.children);
		const byName = new Map([...this.world.models.values()].map(model => [model.name, model]));
		for (const [name, {ghosts}] of this.performers) {
			const model = byName.get(name);
			if (model)
				ghosts.forEach((secondary, index) => {
					const frame = new LineSegments(EDGES, new LineBasicMaterial({color: new Color(secondaryColour(secondary))}));
					Object.assign(frame.userData, {model, margin: .12 + .08 * index});
					this.ghosts.add(frame);
				});
		}
		this.moveGhosts();
	}

	moveGhosts() {
		for (const frame of this.ghosts.children) {
			const {model, margin} = frame.userData, box = this.world.boxOf(model);
			box.getCenter(frame.position);
			box.getSize(frame.scale).addScalar(margin);
			frame.visible = model.loaded && this.world.models.get(model.id) === model;
		}
	}

	of(name) {
		return this.performers.get(name) || null;
	}
}
