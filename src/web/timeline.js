// The time line of a recording: any step can be shown. While a person drags the handle, the newest step that is asked for
// is sent when the one before is there, so that each of them is seen; after WAIT_MS it is sent anyway, and ends a jump
// that takes long.
import {Marks} from "./marks.js";
import {$, countText, name, notice} from "./page.js";

export const FASTEST = 1000;     // as fast as possible: no browser shows more than this
const WAIT_MS = 1000;
const STEP_KEYS = {ArrowLeft: -100, ArrowRight: 100, PageUp: -1000, PageDown: 1000};

export class Timeline {
	// send(message): to troupe; selected(): the name of the selected model, or null
	constructor(send, selected) {
		this.send = send;
		this.marks = new Marks($("seek-marks"), mark => this.seek(mark.step));
		this.state = null;
		this.wanted = null;      // a step that was not sent yet
		this.sent = null;        // the step that was sent last; null: an event was
		this.sent_ms = 0;
		$("seek").addEventListener("input", () => this.seek(Number($("seek").value)));
		$("seek").addEventListener("keydown", event => {
			if (!STEP_KEYS[event.key] || !this.state)
				return;
			this.seek(this.shown() + STEP_KEYS[event.key]);
			event.preventDefault();
		});
		$("seek-back").addEventListener("click", () => this.find(true));
		$("seek-on").addEventListener("click", () => this.find(false));
		$("seek-mark").addEventListener("click", () => this.mark(selected()));
	}

	get active() {
		return this.state !== null;
	}

	clear() {
		this.state = this.wanted = this.sent = null;
		$("timeline").hidden = true;
		this.marks.clear();
	}

	// The message "timeline" of troupe
	take(message) {
		const state = {begin: message.begin || 0, end: message.end || 0, step: message.step || 0, speed: message.speed || 1,
			playing: Boolean(message.playing), seeking: Boolean(message.seeking), reached: message.reached || 0, text: message.text || "",
			hash: message.hash || ""};
		if (state.text && (!this.state || this.state.text !== state.text))
			notice(state.text, "bad");
		if (!this.state || this.state.speed !== state.speed)
			this.showSpeed(state.speed);
		this.state = state;
		$("timeline").hidden = false;
		$("seek").min = state.begin;
		$("seek").max = state.end;
		this.marks.range(state.begin, state.end);
		if (this.wanted !== null && !this.waits()) {
			const wanted = this.wanted;
			this.wanted = null;
			if (state.seeking || wanted !== state.step)
				this.seek(wanted);
		}
		if (this.wanted === null && !state.seeking)
			$("seek").value = state.step;
		this.describe();
	}

	// The message "marks" of troupe
	takeMarks({found = [], commands = [], contacts = [], members = [], losses = []}) {
		this.marks.set("found", found);
		this.marks.set("command", commands);
		this.marks.set("contact", contacts);
		this.marks.set("join", members);
		this.marks.set("loss", losses);
	}

	// Another page may have chosen it.
	showSpeed(speed) {
		const known = [...$("speed").options].find(option => option.value !== "" && (Number(option.value) || FASTEST) === speed);
		if (known)
			$("speed").value = known.value;
	}

	// The step that is shown, or that will be
	shown() {
		return this.wanted !== null ? this.wanted : this.state.seeking && this.sent !== null ? this.sent : this.state.step;
	}

	// Whether another step is to wait for the jump that is under way
	waits() {
		return this.state.seeking && performance.now() - this.sent_ms < WAIT_MS;
	}

	describe() {
		const {end, seeking, hash, reached} = this.state, at = countText(Number($("seek").value));
		$("seek-text").textContent = !seeking ? `step ${at} of ${countText(end)}` :
			this.wanted === null && this.sent === null ? `looking, at step ${countText(reached)} of ${countText(end)}` :
				`going to step ${at}, at ${countText(reached)} of ${countText(end)}`;
		$("seek-hash").textContent = seeking ? "" : hash;
		$("seek").setAttribute("aria-valuetext", name($("seek-text").textContent));
	}

	seek(step) {
		if (!this.state)
			return;
		const {begin, end} = this.state, at = Math.min(end, Math.max(begin, Math.round(step)));
		$("seek").value = at;
		if (this.waits())
			this.wanted = at;
		else {
			this.state.seeking = true;
			this.note(at);
			this.send({op: "seek", step: at});
		}
		this.describe();
	}

	note(step) {
		this.sent = step;
		this.sent_ms = performance.now();
	}

	// Some steps on, or back; it stops playing
	step(count) {
		if (!this.state)
			return;
		if (this.state.playing)
			this.play(0);
		this.seek(this.shown() + count);
	}

	// To the event before or after the step that is shown; troupe looks for it, and says if there is none
	find(back) {
		if (!this.state)
			return;
		this.wanted = null;
		this.note(null);
		this.state.text = "";       // the same answer is told again
		this.send({op: "find", event: $("seek-event").value, back});
	}

	// Has troupe mark where contacts begin; model: its name, or null: of all models
	mark(model) {
		if (!this.state)
			return;
		this.wanted = null;
		this.note(null);
		this.send({op: "mark", ...model === null ? {} : {model}});
	}

	// speed: 0: stops
	play(speed) {
		this.send({op: "play", speed});
	}

	toggle(speed) {
		this.play(this.state.playing ? 0 : speed);
	}
}
