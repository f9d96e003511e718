// What a person does to models in the view: select, move, turn, add, remove. Each is one request to troupe, so a recording
// repeats it; while a model is moved, a request goes out when the one before has been answered, and has what was done since.
import {Plane, Quaternion, Vector3} from "./three/build/three.module.js";
import {$, name, notice} from "./page.js";

const CLICK_PX = 5;
const TURN_RAD = Math.PI / 12;
const NUDGE_M = .1;
const HELD_MS = 500;          // so long a model counts as where it was put: the picture comes after the answer
const UP = new Vector3(0, 0, 1);
const FILE_BYTES_MAX = 8 << 20;

function inertia(shape, mass, size) {
	const m = mass * size * size, i = shape === "sphere" ? m / 10 : shape === "box" ? m / 6 : m * 7 / 48;
	const z = shape === "cylinder" ? m / 8 : i;
	return `<inertial><mass>${mass}</mass><inertia><ixx>${i}</ixx><iyy>${i}</iyy><izz>${z}</izz></inertia></inertial>`;
}

function shapeSdf(shape, size, mass) {
	const geometry = {
		box: `<box><size>${size} ${size} ${size}</size></box>`,
		sphere: `<sphere><radius>${size / 2}</radius></sphere>`,
		cylinder: `<cylinder><radius>${size / 2}</radius><length>${size}</length></cylinder>`,
	}[shape];
	return `<?xml version="1.0"?><sdf version="1.9"><model name="${shape}"><link name="link">${inertia(shape, mass, size)}` +
		`<collision name="collision"><geometry>${geometry}</geometry></collision>` +
		`<visual name="visual"><geometry>${geometry}</geometry><material><diffuse>0.85 0.6 0.25 1</diffuse></material></visual></link></model></sdf>`;
}

// troupe knows the text of a file, but not its name: it says "FOLDER/(command):LINE: ...", with the folder of its world.
function ofFile(text, file) {
	const named = text.replace(/^.*?\(command\)(?=:)/, () => file);
	return named === text ? `${file}: ${text}` : named;
}

export class Handling {
	// act: {select(model, look), call(service, request) -> Promise, commands() -> bool, changed()}
	constructor(view, camera, world, act) {
		Object.assign(this, {view, camera, world, act, moving: null, placing: null, drag: null, press: null, held: null, busy: false});
		const canvas = view.canvas;
		canvas.addEventListener("pointerdown", event => this.down(event));
		canvas.addEventListener("pointermove", event => this.move(event));
		canvas.addEventListener("pointerup", event => this.up(event));
		canvas.addEventListener("pointercancel", () => this.cancel());
		canvas.addEventListener("dblclick", event => this.twice(event));
		for (const button of $("add-menu").querySelectorAll("[data-shape]"))
			button.addEventListener("click", () => this.placeShape(button.dataset.shape));
		$("add-file").addEventListener("change", event => this.placeFile(event.target));
	}

	// --- pointer ----------------------------------------------------------------------------------------------------

	// A click on the floor means nothing, not the floor.
	hitModel(event) {
		const hit = this.world.pick(this.view.aim(this.camera.three, event));
		return hit && !hit.instance.shape.plane ? hit : null;
	}

	down(event) {
		this.view.canvas.focus({preventScroll: true});
		// the second finger zooms: neither of the two is a click
		this.press = event.isPrimary && {x: event.clientX, y: event.clientY, id: event.pointerId, button: event.button};
		if (event.button !== 0 || !this.moving || this.placing)
			return;
		const hit = this.world.pick(this.view.aim(this.camera.three, event));
		if (!hit || hit.instance.link.model !== this.moving)
			return;
		const pose = this.world.poseOf(this.moving);
		this.drag = {from: hit.point.clone(), pose, now: pose.position.clone(), rise: 0, y: event.clientY};
		this.camera.controls.enabled = false;
		this.view.canvas.setPointerCapture(event.pointerId);
	}

	move(event) {
		const drag = this.drag;
		if (!drag)
			return;
		if (event.shiftKey)
			drag.rise += (drag.y - event.clientY) * this.camera.distance / this.view.canvas.clientHeight;
		drag.y = event.clientY;
		const at = new Vector3(), ray = this.view.aim(this.camera.three, event).ray;
		if (!event.shiftKey && ray.intersectPlane(new Plane(UP, -drag.from.z - drag.rise), at)) {
			drag.now.x = drag.pose.position.x + at.x - drag.from.x;
			drag.now.y = drag.pose.position.y + at.y - drag.from.y;
		}
		drag.now.z = drag.pose.position.z + drag.rise;
		this.put(drag.now, drag.pose.rotation);
	}

	up(event) {
		const press = this.press;
		this.press = null;
		if (this.drag) {
			this.camera.controls.enabled = true;
			this.put(this.drag.now, this.drag.pose.rotation);
			this.drag = null;
			return;
		}
		if (!press || press.button !== 0 || Math.hypot(event.clientX - press.x, event.clientY - press.y) > CLICK_PX)
			return;
		if (this.placing)
			this.place(event);
		else {
			const hit = this.hitModel(event);
			this.act.select(hit ? hit.instance.link.model : null, false);
		}
	}

	twice(event) {
		const hit = this.hitModel(event);
		if (hit && !this.placing)
			this.act.select(hit.instance.link.model, true);
	}

	cancel() {
		this.press = this.drag = null;
		this.camera.controls.enabled = true;
	}

	// --- moving -----------------------------------------------------------------------------------------------------

	// model: null ends it
	moveModel(model) {
		this.moving = this.moving === model ? null : model;
		this.view.canvas.classList.toggle("moving", Boolean(this.moving));
		if (this.moving)
			notice("Drag the model, with shift up and down; or use arrows, page up and page down. Q and E turn it; escape ends.");
		this.act.changed();
	}

	// Where the model that is being moved was put just now, or where it is
	pose() {
		const {held, moving} = this;
		return held && held.model === moving && (this.busy || performance.now() - held.ms < HELD_MS) ?
			{position: held.position.clone(), rotation: held.rotation.clone()} : this.world.poseOf(moving);
	}

	// One request at a time; the newest pose is asked for when the one before has been answered.
	async put(position, rotation) {
		this.held = {model: this.moving, position: position.clone(), rotation: rotation.clone(), ms: performance.now()};
		if (this.busy || !this.moving)
			return;
		this.busy = true;
		for (let sent = null; sent !== this.held;) {
			sent = this.held;
			await this.setPose(sent.model, sent.position, sent.rotation);
			sent.ms = performance.now();
		}
		this.busy = false;
	}

	// One key: right and up in the picture, or higher
	nudge(right, up, higher) {
		if (!this.moving)
			return;
		const {position, rotation} = this.pose(), [x, y] = this.camera.alongFloor(right, up);
		const along = Math.abs(x) > Math.abs(y) ? new Vector3(Math.sign(x), 0, higher) : new Vector3(0, Math.sign(y), higher);
		this.put(position.addScaledVector(along, NUDGE_M), rotation);
	}

	turnModel(direction) {
		if (!this.moving)
			return false;
		const {position, rotation} = this.pose();
		this.put(position, rotation.premultiply(new Quaternion().setFromAxisAngle(UP, direction * TURN_RAD)));
		return true;
	}

	async setPose(model, position, rotation) {
		const {x, y, z, w} = rotation;
		await this.request("set_pose", {name: model.name, position: {x: position.x, y: position.y, z: position.z}, orientation: {x, y, z, w}});
	}

	// Returns whether troupe did it; otherwise the reason is on the page. file: from which the request comes
	async request(service, request, file = "") {
		try {
			await this.act.call(service, request);
			return true;
		} catch (error) {
			notice(file ? ofFile(error.message, file) : error.message, "bad");
			return false;
		}
	}

	// --- adding and removing ------------------------------------------------------------------------------------------

	placeShape(shape) {
		const size = Number($("add-size").value), mass = Number($("add-mass").value);
		if (!(size >= .01 && size <= 100) || !(mass >= .001 && mass <= 1e5)) {
			notice("size: expected 0.01 to 100 m; mass: expected 0.001 to 100000 kg", "bad");
			return;
		}
		this.beginPlacing({what: shape, sdf: shapeSdf(shape, size, mass), lift: size / 2 + .002});
	}

	async placeFile(input) {
		const file = input.files[0];
		input.value = "";
		if (!file)
			return;
		if (file.size > FILE_BYTES_MAX) {
			notice(`${file.name}: larger than 8 MB`, "bad");
			return;
		}
		this.beginPlacing({what: file.name, sdf: await file.text(), lift: 0, file: file.name});
	}

	beginPlacing(what) {
		this.placing = what;
		this.view.canvas.classList.add("placing");
		$("add-menu").hidden = true;
		$("open-add").setAttribute("aria-expanded", "false");
		notice(`Click the place of ${what.what}; enter: in the middle of the view; escape: not.`);
		this.view.canvas.focus({preventScroll: true});
	}

	endPlacing() {
		this.placing = null;
		this.view.canvas.classList.remove("placing");
	}

	// event: null: the middle of the view
	async place(event) {
		const {what, sdf, lift, file} = this.placing, at = this.camera.target.clone();
		this.endPlacing();
		if (event) {
			const raycaster = this.view.aim(this.camera.three, event), hit = this.world.pick(raycaster);
			if (hit)
				at.copy(hit.point);
			else if (!raycaster.ray.intersectPlane(new Plane(UP, 0), at))
				return;
		} else
			at.z = Math.max(0, at.z);
		const done = await this.request("create", {sdf, pose: {position: {x: at.x, y: at.y, z: at.z + lift}, orientation: {w: 1}}, allowRenaming: true}, file);
		if (done)
			notice(`${what} was added.`);
	}

	async remove(model) {
		if (await this.request("remove", {name: model.name, type: "MODEL"}))
			notice(`${name(model.name)} was removed.`);
	}
}
