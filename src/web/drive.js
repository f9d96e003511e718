// Drives the selected robot: a pad for pointer and touch, and the keys W A S D. While a key or the pad is held, the
// velocity goes out ten times a second; when it is let go, once more with zero.
import {$, name, notice} from "./page.js";

const EACH_MS = 100;
const REACH_PX = 47;
const KEYS = {KeyW: [1, 0], KeyS: [-1, 0], KeyA: [0, 1], KeyD: [0, -1]};

export class Drive {
	// publish(topic, message) -> whether it was sent
	constructor(publish) {
		this.publish = publish;
		this.topic = null;
		this.model = null;
		this.keys = new Set();
		this.pad = null;
		this.timer = 0;
		this.changed = () => {};
		const pad = $("drive-pad");
		pad.addEventListener("pointerdown", event => {
			pad.setPointerCapture(event.pointerId);
			this.drag(event);
		});
		pad.addEventListener("pointermove", event => pad.hasPointerCapture(event.pointerId) && this.drag(event));
		for (const end of ["pointerup", "pointercancel", "lostpointercapture"])
			pad.addEventListener(end, () => this.release());
		$("drive").querySelector(".close").addEventListener("click", () => this.end());
		addEventListener("blur", () => this.release());
	}

	begin(model, topic) {
		this.end();
		this.model = model;
		this.topic = topic;
		$("drive").hidden = false;
		$("drive-name").textContent = name(model.name);
		this.changed();
	}

	end() {
		this.release();
		this.topic = this.model = null;
		$("drive").hidden = true;
		this.changed();
	}

	// Returns whether the key is one of driving.
	key(event, down) {
		if (!this.topic || !KEYS[event.code])
			return false;
		if (down)
			this.keys.add(event.code);
		else
			this.keys.delete(event.code);
		if (this.keys.size)
			this.hold();
		else
			this.release();
		return true;
	}

	drag(event) {
		const bounds = $("drive-pad").getBoundingClientRect();
		let x = event.clientX - bounds.left - bounds.width / 2, y = event.clientY - bounds.top - bounds.height / 2;
		const length = Math.hypot(x, y);
		if (length > REACH_PX) {
			x *= REACH_PX / length;
			y *= REACH_PX / length;
		}
		this.pad = [-y / REACH_PX, -x / REACH_PX];
		this.hold();
	}

	wanted() {
		if (this.pad)
			return this.pad;
		let forward = 0, left = 0;
		for (const code of this.keys) {
			forward += KEYS[code][0];
			left += KEYS[code][1];
		}
		return [forward, left];
	}

	hold() {
		const [forward, left] = this.wanted();
		$("drive-knob").style.transform = `translate(${-left * REACH_PX}px, ${-forward * REACH_PX}px)`;
		if (!this.timer) {
			this.timer = setInterval(() => this.say(), EACH_MS);
			this.say();
		}
	}

	release() {
		this.keys.clear();
		this.pad = null;
		$("drive-knob").style.transform = "";
		if (!this.timer)
			return;
		clearInterval(this.timer);
		this.timer = 0;
		this.say();
	}

	say() {
		if (!this.topic)
			return;
		const [forward, left] = this.wanted();
		const message = {linear: {x: forward * Number($("drive-speed").value || 0)}, angular: {z: left * Number($("drive-turn").value || 0)}};
		if (!this.publish(this.topic, message)) {
			notice("There is no connection to troupe: the robot is not driven.", "bad");
			this.end();
		}
	}
}
