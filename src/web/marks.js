// Marks on a line of steps: what was found, commands, contacts, and secondaries that were lost or came. Each has a tooltip
// and can be clicked.
import {countText, element, name} from "./page.js";

const KIND_MAX = 256;         // of a kind; troupe sends no more of a recording (src/gateway/marks.h)
const KINDS = {
	command: ["command", "commands"], contact: ["begin of a contact", "begins of contacts"], join: ["secondary that came", "secondaries that came or left"],
	loss: ["lost secondary", "lost secondaries"], found: ["found", "found"],
};

// mark: {step, last, count, text}
export function markText(kind, {step, last = step, count = 1, text = ""}) {
	const [one, many] = KINDS[kind], where = last > step ? `steps ${countText(step)} to ${countText(last)}` : `step ${countText(step)}`;
	const what = count > 1 ? `${countText(count)} ${many}` : one;
	return `${where}: ${what}${text ? `: ${name(text)}${count > 1 && last > step ? ", …" : ""}` : ""}`;
}

export class Marks {
	// box: the element in which they stand; choose(mark, text): one was clicked
	constructor(box, choose) {
		this.box = box;
		this.choose = choose;
		this.clear();
	}

	clear() {
		this.all = new Map();
		this.begin = this.end = 0;
		this.box.replaceChildren();
	}

	get count() {
		return [...this.all.values()].reduce((sum, list) => sum + list.length, 0);
	}

	set(kind, list) {
		this.all.set(kind, list.slice(-KIND_MAX));
		this.draw();
	}

	// What is too near the last one of its kind to be told apart is counted there.
	add(kind, mark) {
		const list = this.all.get(kind) || [], before = list[list.length - 1];
		if (before && mark.step - before.step <= (this.end - this.begin) / KIND_MAX)
			this.set(kind, [...list.slice(0, -1), {...before, last: mark.step, count: (before.count || 1) + 1}]);
		else
			this.set(kind, [...list, mark]);
	}

	// The steps at the ends of the line
	range(begin, end) {
		if (begin === this.begin && end === this.end)
			return;
		Object.assign(this, {begin, end});
		for (const mark of this.box.children)
			this.place(mark);
	}

	place(mark) {
		const part = (mark.dataset.step - this.begin) / Math.max(1, this.end - this.begin);
		mark.style.setProperty("--at", Math.min(1, Math.max(0, part)));
	}

	// What is rare comes last, and so lies above.
	draw() {
		this.box.replaceChildren(...Object.keys(KINDS).flatMap(kind => (this.all.get(kind) || []).map(mark => {
			const text = markText(kind, mark);
			const out = element("button", {class: `mark ${kind}`, title: text, "aria-label": text, "data-step": mark.step, click: () => this.choose(mark, text)});
			this.place(out);
			return out;
		})));
	}
}
