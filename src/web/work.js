// The strip chart of each secondary's work, and the list of moves and loads.
import {secondaryColour} from "./palette.js";
import {$, canvas2d, countText, element, name, style} from "./page.js";

const SAMPLES_MAX = 600;      // of a strip: one pixel each
const EVENTS_MAX = 200;

export class Work {
	constructor(choose) {
		this.choose = choose;      // (event)
		this.rows = new Map();     // number of a secondary -> row
		this.events = [];
	}

	clear() {
		this.rows.clear();
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
				row.samples.push((busy - row.busy) / spent);
				if (row.samples.length > SAMPLES_MAX)
					row.samples.shift();
				row.took_us = steps > row.steps ? (busy - row.busy) / (steps - row.steps) * 1e6 : 0;
			}
			Object.assign(row, {busy, waiting, steps, known: true, models: from.models || 0});
		}
		this.draw();
	}

	addRow(number) {
		const dot = element("span", {class: "dot"}), canvas = element("canvas", {role: "img", "aria-label": `work of secondary ${number}`});
		dot.style.background = secondaryColour(number);
		const what = element("div", {class: "what"});
		const box = element("div", {class: "work"}, element("div", {class: "who"}, dot, number ? `secondary ${number}` : "single runner"), canvas, what);
		const row = {number, box, canvas, what, samples: [], busy: 0, waiting: 0, steps: 0, models: 0, took_us: 0, known: false};
		this.rows.set(number, row);
		$("work").style.setProperty("--rows", this.rows.size);
		$("work-rows").replaceChildren(...[...this.rows.values()].sort((a, b) => a.number - b.number).map(each => each.box));
		return row;
	}

	draw() {
		if ($("work").hidden)
			return;
		for (const row of this.rows.values()) {
			const {context, width, height} = canvas2d(row.canvas);
			context.fillStyle = secondaryColour(row.number);
			const shown = row.samples.slice(-Math.floor(width / 2));
			context.globalAlpha = .85;
			shown.forEach((part, index) => {
				const high = Math.max(1, part * height);
				context.fillRect(width - 2 * (shown.length - index), height - high, 2, high);
			});
			context.globalAlpha = 1;
			context.strokeStyle = style("--line");
			context.beginPath();
			context.moveTo(0, height / 2);
			context.lineTo(width, height / 2);
			context.stroke();
			const last = row.samples.slice(-5), mean = last.reduce((sum, part) => sum + part, 0) / (last.length || 1);
			row.what.replaceChildren(element("b", {}, last.length ? `${Math.round(100 * mean)} %` : "–"), ` at work`,
				element("br"), `${countText(row.models)} models · ${countText(row.took_us)} µs`);
		}
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
			const dot = element("span", {class: event.kind === "load" ? "dot hollow" : "dot"});
			if (event.kind !== "load")
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
