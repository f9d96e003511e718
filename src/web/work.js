// Strip charts of the speed of the run and of each secondary's work, and the list of moves and loads.
import {secondaryColour} from "./palette.js";
import {$, canvas2d, countText, element, factorText, name, style} from "./page.js";

const SAMPLES_MAX = 600;      // of a strip: one pixel each
const EVENTS_MAX = 200;
const BAR_PX = 2;
const MEAN_OF = 5;            // samples that a number is the mean of: one second, in real time

export class Work {
	// choose(event); pace: of pace.js
	constructor(choose, pace) {
		this.choose = choose;
		this.pace = pace;
		this.rows = new Map();     // number of a secondary -> row
		this.speed = null;         // the row of the whole run
		this.events = [];
	}

	clear() {
		this.rows.clear();
		this.speed = this.makeRow("speed", "speed");
		$("work-rows").replaceChildren();
		this.events = [];
		$("event-list").replaceChildren(element("li", {class: "quiet"}, "none yet"));
	}

	// A message of /world/W/secondaries; what is drawn is the difference to the one before
	take(message) {
		for (const from of message.secondary || []) {
			const number = from.number || 0, row = this.rows.get(number) || this.addRow(number);
			const busy = from.busyS || 0, waiting = from.waitingS || 0, steps = Number(from.steps || 0);
			const spent = busy - row.busy + waiting - row.waiting;
			if (row.known && spent > 0) {
				this.addSample(row, (busy - row.busy) / spent);
				row.took_us = steps > row.steps ? (busy - row.busy) / (steps - row.steps) * 1e6 : 0;
			}
			Object.assign(row, {busy, waiting, steps, known: true, models: from.models || 0});
		}
		this.draw();
	}

	addSample(row, value) {
		row.samples.push(value);
		if (row.samples.length > SAMPLES_MAX)
			row.samples.shift();
	}

	makeRow(text, label, colour) {
		const dot = element("span", {class: colour ? "dot" : "dot hollow"}), canvas = element("canvas", {role: "img", "aria-label": label});
		if (colour)
			dot.style.background = colour;
		const what = element("div", {class: "what"});
		return {box: element("div", {class: "work"}, element("div", {class: "who"}, dot, text), canvas, what), canvas, what, samples: [],
			steps: 0, known: false};
	}

	addRow(number) {
		const row = {...this.makeRow(number ? `secondary ${number}` : "single runner", `work of secondary ${number}`, secondaryColour(number)),
			number, busy: 0, waiting: 0, models: 0, took_us: 0};
		this.rows.set(number, row);
		$("work").style.setProperty("--rows", this.rows.size + 1);
		$("work-rows").replaceChildren(...[this.speed, ...[...this.rows.values()].sort((a, b) => a.number - b.number)].map(each => each.box));
		return row;
	}

	draw() {
		if ($("work").hidden || !this.speed)
			return;
		this.drawPace();
		for (const row of this.rows.values()) {
			const mean = this.drawStrip(row, secondaryColour(row.number), 1, .5);
			row.what.replaceChildren(element("b", {}, Number.isFinite(mean) ? `${Math.round(100 * mean)} %` : "–"), ` at work`,
				element("br"), `${countText(row.models)} ${row.models === 1 ? "model" : "models"} · ${countText(row.took_us)} µs`);
		}
	}

	// The line is real time.
	drawPace() {
		const {factor, rate, samples} = this.pace;
		this.drawStrip({canvas: this.speed.canvas, samples}, style("--quiet"), 1.25 * Math.max(1, ...samples), 1);
		this.speed.what.replaceChildren(element("b", {}, factorText(factor)), " real time",
			element("br"), `${Number.isFinite(rate) ? countText(rate) : "–"} steps/s`);
	}

	// most: the value of a full bar; line: the value at which there is a line. Returns the mean of the last second.
	drawStrip(row, colour, most, line) {
		const {context, width, height} = canvas2d(row.canvas), shown = row.samples.slice(-Math.floor(width / BAR_PX));
		context.fillStyle = colour;
		context.globalAlpha = .85;
		shown.forEach((part, index) => {
			const high = Math.max(1, part / most * height);
			context.fillRect(width - BAR_PX * (shown.length - index), height - high, BAR_PX, high);
		});
		context.globalAlpha = 1;
		context.strokeStyle = style("--line");
		context.beginPath();
		context.moveTo(0, height * (1 - line / most));
		context.lineTo(width, height * (1 - line / most));
		context.stroke();
		const last = row.samples.slice(-MEAN_OF);
		return last.reduce((sum, part) => sum + part, 0) / last.length;
	}

	// event: of levels.js
	addEvent(event) {
		if (this.events.some(old => old.step === event.step && old.text === event.text))
			return;                // a recording that is played again
		this.events.unshift(event);
		this.events.sort((a, b) => b.step - a.step);
		this.events.length = Math.min(this.events.length, EVENTS_MAX);
		if (!$("work").hidden)
			this.drawEvents();
	}

	drawEvents() {
		if (this.events.length === 0)
			return;
		$("event-list").replaceChildren(...this.events.map(event => {
			const dot = element("span", {class: event.kind === "move" ? "dot" : "dot hollow"});
			if (event.kind === "move")
				dot.style.background = secondaryColour(event.secondary);
			return element("li", {}, element("button", {click: () => this.choose(event)},
				element("span", {class: "at"}, countText(event.step)), dot, element("span", {class: "text"}, name(event.text))));
		}));
	}

	shown() {
		this.draw();
		this.drawEvents();
	}
}
