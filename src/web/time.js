// The bar: play, pause, step, speed, reset, and the figures of the run.
import {$, clockText, countText, icon, number} from "./page.js";

export class TimeBar {
	// request(service, message) -> Promise of whether it was done
	constructor(request) {
		this.request = request;
		this.paused = null;
		this.last = null;        // {now_ms, step}: for steps per second
		this.rate = NaN;
		$("play").addEventListener("click", () => this.toggle());
		$("step").addEventListener("click", () => this.step());
		$("reset").addEventListener("click", () => request("control", {reset: {all: true}}));
		$("speed").addEventListener("change", () => {
			if ($("speed").value !== "")
				request("set_physics", {realTimeFactor: Number($("speed").value)});
		});
	}

	clear() {
		this.last = null;
		this.rate = NaN;
		for (const figure of ["time", "step", "speed", "rate"])
			$(`figure-${figure}`).textContent = "–";
	}

	toggle() {
		return this.request("control", {pause: !this.paused});
	}

	step() {
		const count = Math.min(1e6, Math.max(1, Math.round(Number($("step-count").value) || 1)));
		return this.request("control", {pause: true, multiStep: count});
	}

	allow(on) {
		for (const id of ["play", "step", "reset", "speed", "step-count", "open-add"])
			$(id).disabled = !on;
	}

	// A message of /world/W/stats
	stats(message) {
		const paused = Boolean(message.paused);
		if (paused === this.paused)
			return;
		this.paused = paused;
		$("play").replaceChildren(icon(paused ? "play" : "pause"));
		$("play").setAttribute("aria-label", paused ? "Play" : "Pause");
		if (paused)
			this.last = null;
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
