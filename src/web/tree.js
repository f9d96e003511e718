// The list of models, with search. Only the rows in sight are elements of the page, so that ten thousand models cost
// nothing.
import {secondaryColour} from "./palette.js";
import {$, countText, element, name} from "./page.js";

const ROW = 26;   // px; style.css has the same

export class Tree {
	constructor(world, choose) {
		this.world = world;
		this.choose = choose;
		this.rows = [];
		this.list = $("tree-list");
		this.space = element("div", {class: "space", role: "presentation"});
		this.list.append(this.space);
		this.list.addEventListener("scroll", () => this.draw());
		this.list.addEventListener("keydown", event => this.key(event));
		this.space.addEventListener("click", event => this.click(event, false));
		this.space.addEventListener("dblclick", event => this.click(event, true));
		$("tree-search").addEventListener("input", () => this.fill());
		$("tree-search").addEventListener("keydown", event => {
			if (event.key === "Enter" && this.rows.length)
				this.choose(this.rows[0], true);
			if (event.key === "ArrowDown")
				this.list.focus();
		});
	}

	// After models came or went, or another text is searched
	fill() {
		if ($("tree").hidden)
			return;
		const words = $("tree-search").value.toLowerCase().split(/\s+/).filter(Boolean);
		const models = [...this.world.models.values()];
		this.rows = models.filter(model => {
			const text = model.name.toLowerCase() + (model.isStatic ? " static" : ` s${model.secondary}`) + (model.asleep ? " asleep" : "");
			return words.every(word => text.includes(word));
		});
		this.rows.sort((a, b) => a.isStatic - b.isStatic || a.name.localeCompare(b.name, "en", {numeric: true}));
		$("tree-count").textContent = this.rows.length === models.length ? `${countText(models.length)} models` :
			`${countText(this.rows.length)} of ${countText(models.length)} models`;
		this.space.style.height = `${ROW * this.rows.length + 8}px`;
		this.draw();
	}

	draw() {
		if ($("tree").hidden)
			return;
		const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 4);
		const last = Math.min(this.rows.length, first + Math.ceil(this.list.clientHeight / ROW) + 8);
		// rows stay the same elements, because an element that is replaced between press and release gets no click
		while (this.space.children.length < last - first)
			this.space.append(element("div", {class: "entry", role: "treeitem", "aria-level": 1},
				element("span"), element("span", {class: "name"}), element("span", {class: "note"})));
		while (this.space.children.length > Math.max(0, last - first))
			this.space.lastChild.remove();
		for (let index = first; index < last; index++)
			this.write(this.space.children[index - first], this.rows[index], index);
	}

	write(row, model, index) {
		const [dot, text, note] = row.children, hollow = model.isStatic || !model.loaded;
		dot.className = hollow ? "dot hollow" : "dot";
		dot.style.background = hollow ? "" : secondaryColour(model.secondary);
		dot.style.opacity = model.asleep ? ".4" : "";
		text.textContent = name(model.name);
		note.textContent = model.isStatic ? "static" : !model.loaded ? "not loaded" : model.asleep ? "asleep" : "";
		row.dataset.index = index;
		row.setAttribute("aria-selected", String(model === this.world.selected));
		row.setAttribute("aria-setsize", this.rows.length);
		row.setAttribute("aria-posinset", index + 1);
		row.style.top = `${4 + ROW * index}px`;
	}

	click(event, look) {
		const row = event.target.closest(".entry");
		if (row)
			this.choose(this.rows[Number(row.dataset.index)], look);
	}

	key(event) {
		const move = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9}[event.key];
		if (event.key === "Enter" && this.world.selected)
			this.choose(this.world.selected, true);
		else if (move && this.rows.length) {
			const old = this.rows.indexOf(this.world.selected);
			const index = Math.min(this.rows.length - 1, Math.max(0, old < 0 ? 0 : old + move));
			this.choose(this.rows[index], false);
			this.show(index);
		} else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	// The list shows which model is selected, also when it was picked in the view.
	reveal(model) {
		const index = model ? this.rows.indexOf(model) : -1;
		if (index >= 0 && !$("tree").hidden)
			this.show(index);
		else
			this.draw();
	}

	show(index) {
		const top = ROW * index;
		if (top < this.list.scrollTop)
			this.list.scrollTop = top;
		else if (top + ROW + 8 > this.list.scrollTop + this.list.clientHeight)
			this.list.scrollTop = top + ROW + 8 - this.list.clientHeight;
		this.draw();
	}
}
