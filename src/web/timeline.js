// The time line of a recording: any step can be shown. While a person drags the handle, the newest step that is asked for
// is sent when the one before is there, so that a long way back does not queue up.
import {$, countText, name, notice} from "./page.js";

export const FASTEST = 1000;     // as fast as possible: no browser shows more than this
const STEP_KEYS = {ArrowLeft: -100, ArrowRight: 100, PageUp: -1000, PageDown: 1000};

export class Timeline {
	// send(message): to troupe
	constructor(send) {
		this.send = send;
		this.state = null;
		this.wanted = null;
		$("seek").addEventListener("input", () => this.seek(Number($("seek").value)));
		$("seek").addEventListener("keydown", event => {
			if (!STEP_KEYS[event.key] || !this.state)
				return;
			this.seek(this.shown() + STEP_KEYS[event.key]);
			event.preventDefault();
		});
		$("seek-back").addEventListener("click", () => this.find(true));
		$("seek-on").addEventListener("click", () => this.find(false));
	}

	get active() {
		return this.state !== null;
	}

	clear() {
		this.state = this.wanted = null;
		$("timeline").hidden = true;
	}

	// The message "timeline" of troupe
	take(message) {
		const state = {begin: message.begin || 0, end: message.end || 0, step: message.step || 0, speed: message.speed || 1,
			playing: Boolean(message.playing), seeking: Boolean(message.seeking), text: message.text || "", hash: message.hash || ""};
		if (state.text && (!this.state || this.state.text !== state.text))
			notice(state.text, "bad");
		if (!this.state || this.state.speed !== state.speed)
			this.showSpeed(state.speed);
		this.state = state;
		$("timeline").hidden = false;
		$("seek").min = state.begin;
		$("seek").max = state.end;
		if (!state.seeking && this.wanted !== null) {
			const wanted = this.wanted;
			this.wanted = null;
			if (wanted !== state.step)
				this.seek(wanted);
		}
		if (this.wanted === null && !state.seeking)
			$("seek").value = state.step;
		this.describe();
	}

	// Another page may have chosen it.
	showSpeed(speed) {
		const known = [...$("speed").options].find(option => option.value !== "" && (Number(option.value) || FASTEST) === speed);
		if (known)
			$("speed").value = known.value;
	}

	shown() {
		return this.wanted === null ? this.state.step : this.wanted;
	}

	describe() {
		const {end, seeking, hash} = this.state;
		$("seek-text").textContent = `${seeking ? "going to " : ""}step ${countText(Number($("seek").value))} of ${countText(end)}`;
		$("seek-hash").textContent = seeking ? "" : hash;
		$("seek").setAttribute("aria-valuetext", name($("seek-text").textContent));
	}

	seek(step) {
		if (!this.state)
			return;
		const {begin, end, seeking} = this.state, at = Math.min(end, Math.max(begin, Math.round(step)));
		$("seek").value = at;
		if (seeking)
			this.wanted = at;
		else {
			this.state.seeking = true;
			this.send({op: "seek", step: at});
		}
		this.describe();
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
		this.state.text = "";       // the same answer is told again
		this.send({op: "find", event: $("seek-event").value, back});
	}

	// speed: 0: stops
	play(speed) {
		this.send({op: "play", speed});
	}

	toggle(speed) {
		this.play(this.state.playing ? 0 : speed);
	}
}
