// The time line of a recording: any step can be shown. While a person drags the handle, the newest step that is asked for
// is sent when the one before is there, so that a long way back does not queue up.
import {$, countText, name, notice} from "./page.js";

const STEP_KEYS = {ArrowLeft: -100, ArrowRight: 100, PageUp: -1000, PageDown: 1000};

export class Timeline {
	// send(message): to troupe; marks(): steps of moves and loads that are known
	constructor(send, marks) {
		this.send = send;
		this.marks = marks;
		this.state = null;
		this.wanted = null;
		$("seek").addEventListener("input", () => this.seek(Number($("seek").value)));
		$("seek").addEventListener("keydown", event => {
			if (!STEP_KEYS[event.key] || !this.state)
				return;
			this.seek(this.shown() + STEP_KEYS[event.key]);
			event.preventDefault();
		});
		$("seek-back").addEventListener("click", () => this.jump(-1));
		$("seek-on").addEventListener("click", () => this.jump(1));
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
			playing: Boolean(message.playing), seeking: Boolean(message.seeking), text: message.text || ""};
		if (state.text && (!this.state || this.state.text !== state.text))
			notice(state.text, "bad");
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

	shown() {
		return this.wanted === null ? this.state.step : this.wanted;
	}

	describe() {
		const {end, seeking} = this.state;
		$("seek-text").textContent = `${seeking ? "going to " : ""}step ${countText(Number($("seek").value))} of ${countText(end)}`;
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

	// To the nearest known move or load before or after the step that is shown; without one by a tenth of the recording
	jump(direction) {
		if (!this.state)
			return;
		const {begin, end} = this.state, now = this.shown();
		const steps = this.marks().filter(step => direction > 0 ? step > now : step < now);
		const near = direction > 0 ? Math.min(...steps) : Math.max(...steps);
		this.seek(steps.length ? near : now + direction * Math.max(1, (end - begin) / 10));
	}

	// speed: 0: stops
	play(speed) {
		this.send({op: "play", speed});
	}

	toggle(speed) {
		this.play(this.state.playing ? 0 : speed);
	}
}
