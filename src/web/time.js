// The bar: play, pause, step, speed, reset, and the figures of the run.
import {$, clockText, countText, icon, number} from "./page.js";
import {FASTEST} from "./timeline.js";

export class TimeBar {
	// request(service, message) -> Promise of whether it was done; timeline: of a recording
	constructor(request, timeline) {
		this.request = request;
		this.timeline = timeline;
		this.paused = null;
		this.pace = null;        // real-time factor that the run keeps to; 0: as fast as possible
		this.last = null;        // {now_ms, step}: for steps per second
		this.rate = NaN;
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
			this.showPace();
	}

	// Any page or program may set the pace. One that does not change is not shown again: a person may be choosing another.
	setPace(pace) {
		if (pace === this.pace || this.timeline.active)
			return;
		this.pace = pace;
		this.showPace();
	}

	showPace() {
		const other = [...$("speed").options].find(option => option.hidden);
		$("speed").value = String(this.pace);
		if ($("speed").value !== String(this.pace)) {
			other.textContent = this.pace === null ? "as started" : `${Number(this.pace.toPrecision(3))}×`;
			$("speed").value = "";
		}
	}

	clear() {
		this.last = this.pace = null;
		this.rate = NaN;
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
		if (paused) {
			this.last = null;
			$("figure-speed").textContent = "paused";
			$("figure-rate").textContent = "–";
		}
	}

	picture(picture, now_ms) {
		$("figure-time").textContent = clockText(picture.time);
		$("figure-step").textContent = countText(picture.step);
		$("figure-speed").textContent = this.paused ? "paused" : `${number(picture.realTimeFactor, picture.realTimeFactor < 10 ? 2 : 1)}×`;
		if (!this.last || picture.step < this.last.step)
			this.last = {now_ms, step: picture.step};
		else if (now_ms - this.last.now_ms > 500) {
			this.rate = (picture.step - this.last.step) / (now_ms - this.last.now_ms) * 1000;
			this.last = {now_ms, step: picture.step};
		}
		$("figure-rate").textContent = this.paused || !Number.isFinite(this.rate) ? "–" : countText(this.rate);
	}
}
