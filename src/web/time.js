// The bar: play, pause, step, speed, reset, and the figures of the run.
import {$, clockText, countText, factorText, icon} from "./page.js";
import {FASTEST} from "./timeline.js";

export class TimeBar {
	// request(service, message) -> Promise of whether it was done; timeline: of a recording; pace: of pace.js
	constructor(request, timeline, pace) {
		this.request = request;
		this.timeline = timeline;
		this.pace = pace;
		this.paused = null;
		this.wanted = null;      // real-time factor that the run keeps to; 0: as fast as possible
		$("play").addEventListener("click", () => this.toggle());
		$("step").addEventListener("click", () => this.step());
		$("step-back").addEventListener("click", () => this.step(-1));
		$("reset").addEventListener("click", () => request("control", {reset: {all: true}, pause: Boolean(this.paused)}));
		$("speed").addEventListener("change", () => this.choose());
	}

	async choose() {
		if (this.timeline.active && this.timeline.state.playing)
			this.timeline.play(this.speed());
		else if (!this.timeline.active && $("speed").value !== "" &&
			!await this.request("set_physics", {realTimeFactor: Number($("speed").value)}))
			this.showWanted();
	}

	// Any page or program may set the pace. One that does not change is not shown again: a person may be choosing another.
	setWanted(factor) {
		if (factor === this.wanted || this.timeline.active)
			return;
		this.wanted = factor;
		this.showWanted();
	}

	showWanted() {
		const other = [...$("speed").options].find(option => option.hidden);
		$("speed").value = String(this.wanted);
		if ($("speed").value !== String(this.wanted)) {
			other.textContent = this.wanted === null ? "as started" : `${Number(this.wanted.toPrecision(3))}×`;
			$("speed").value = "";
		}
	}

	clear() {
		this.wanted = this.paused = null;
		for (const figure of ["time", "step", "speed", "rate"])
			$(`figure-${figure}`).textContent = "–";
	}

	// of a recording
	speed() {
		return $("speed").value === "" ? 1 : Number($("speed").value) || FASTEST;
	}

	toggle() {
		if (this.timeline.active) {
			this.timeline.toggle(this.speed());
			return undefined;
		}
		return this.request("control", {pause: !this.paused});
	}

	// direction: -1: back, in a recording
	step(direction = 1) {
		const count = Math.min(1e6, Math.max(1, Math.round(Number($("step-count").value) || 1)));
		if (this.timeline.active)
			return this.timeline.step(direction * count);
		return this.request("control", {pause: true, multiStep: count});
	}

	// acts: whether the world can be commanded; plays: whether a recording can be played
	allow(acts, plays) {
		for (const id of ["reset", "open-add"])
			$(id).disabled = !acts;
		for (const id of ["play", "speed", "step", "step-back", "step-count"])
			$(id).disabled = !acts && !plays;
	}

	// A message of /world/W/stats
	stats(message) {
		if (!this.timeline.active)
			this.setPaused(Boolean(message.paused));
	}

	setPaused(paused) {
		if (paused === this.paused)
			return;
		this.paused = paused;
		$("play").replaceChildren(icon(paused ? "play" : "pause"));
		$("play").setAttribute("aria-label", paused ? "Play" : "Pause");
		this.pace.setPaused(paused);
		this.showPace();
	}

	// After each picture: its step and time
	show() {
		$("figure-time").textContent = clockText(this.pace.now.time);
		$("figure-step").textContent = countText(this.pace.now.step);
	}

	// The figures that the chart has, too
	showPace() {
		const {factor, rate} = this.pace;
		$("figure-speed").textContent = this.paused ? "paused" : factorText(factor);
		$("figure-rate").textContent = this.paused || !Number.isFinite(rate) ? "–" : countText(rate);
	}
}
