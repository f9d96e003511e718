// Panels of the user: folders of files that troupe serves (--view-panel), each in a frame that has no origin: it cannot
// reach the page, its storage or its connection, only send messages through a port (PROTOCOL.md, "Panels"). What a panel
// asks for is checked here, and is a subscription, a call or a command of this page: a panel can do what the page can.
import {$, element, icon, name} from "./page.js";

const TOPICS_MAX = 32;        // subscriptions of a panel
const CALLS_MAX = 16;         // replies that it waits for
const SCENE_MODELS_MAX = 10000;
const HEIGHT_MAX = 800;

const isText = value => typeof value === "string" && value.length <= 1000;
const isObject = value => typeof value === "object" && value !== null && !Array.isArray(value);

class OwnPanel {
	// page: of OwnPanels
	constructor({name: title, path}, page, close) {
		this.page = page;
		this.subscriptions = new Map();   // topic -> function that ends it
		this.calls = 0;
		this.frame = element("iframe", {sandbox: "allow-scripts", src: path, title: name(title), referrerpolicy: "no-referrer"});
		this.box = element("section", {class: "panel shown own", "aria-label": name(title)}, element("div", {class: "head"},
			element("span", {}, element("bdi", {}, name(title))),
			element("button", {class: "icon close", "aria-label": "Hide", click: close}, icon("close"))), this.frame);
		this.frame.addEventListener("load", () => this.begin());
		$("shown").append(this.box);
	}

	begin() {
		this.rest();
		const channel = new MessageChannel();
		this.port = channel.port1;
		this.port.onmessage = event => this.hear(event.data);
		// the frame has no origin that could be named here; its address is one of this server
		this.frame.contentWindow.postMessage({op: "begin", version: 1, ...this.page.state()}, "*", [channel.port2]);
		this.say({op: "topics", ...this.page.topics()});
		this.say({op: "scene", models: this.page.scene().slice(0, SCENE_MODELS_MAX)});
		this.say({op: "selection", name: this.page.selection()});
	}

	say(message) {
		if (this.port)
			this.port.postMessage(message);
	}

	// --- what it asks for -------------------------------------------------------------------------------------------------

	hear(message) {
		const act = isObject(message) && Object.prototype.hasOwnProperty.call(this.ops, message.op) ? this.ops[message.op] : null;
		const error = act ? act.call(this, message) : "\"op\": expected subscribe, unsubscribe, call, publish, select or height";
		if (error)
			this.say({op: "error", text: error});
	}

	get ops() {
		return {subscribe: this.subscribe, unsubscribe: this.unsubscribe, call: this.call, publish: this.publish, select: this.select, height: this.setHeight};
	}

	subscribe({topic, rate = 0}) {
		if (!isText(topic) || !(rate >= 0))
			return "subscribe: expected \"topic\", and \"rate\" of 0 or more";
		if (this.subscriptions.has(topic))
			return "";
		if (this.subscriptions.size >= TOPICS_MAX)
			return `subscribe: a panel has at most ${TOPICS_MAX} topics`;
		this.subscriptions.set(topic, this.page.subscribe(topic, rate, (content, {type, step, time, data}) =>
			this.say({op: "message", topic, type, step, time, message: content, ...data && {data}})));
		return "";
	}

	unsubscribe({topic}) {
		const end = this.subscriptions.get(topic);
		this.subscriptions.delete(topic);
		if (end)
			end();
		return "";
	}

	call({id, service, request = {}}) {
		if (!Number.isSafeInteger(id) || !isText(service) || !isObject(request))
			return "call: expected \"id\", \"service\" and \"request\"";
		if (this.calls >= CALLS_MAX)
			return `call: a panel waits for at most ${CALLS_MAX} replies`;
		this.calls++;
		this.page.call(service, request).then(({step, text, reply}) => this.say({op: "reply", id, ok: true, step, text, reply}),
			error => this.say({op: "reply", id, ok: false, text: error.message})).then(() => { this.calls--; });
		return "";
	}

	publish({topic, message}) {
		if (!isText(topic) || !isObject(message))
			return "publish: expected \"topic\" and \"message\"";
		return this.page.publish(topic, message) ? "" : "publish: there is no connection to troupe";
	}

	select({name: model = null}) {
		if (model !== null && !isText(model))
			return "select: expected \"name\", or null";
		return this.page.select(model) ? "" : "select: there is no such model";
	}

	setHeight({height}) {
		if (!(height > 0))
			return "height: expected pixels";
		this.frame.style.height = `${Math.min(HEIGHT_MAX, Math.round(height))}px`;
		return "";
	}

	// --- its end ----------------------------------------------------------------------------------------------------------

	rest() {
		for (const end of this.subscriptions.values())
			end();
		this.subscriptions.clear();
		if (this.port)
			this.port.close();
		this.port = null;
	}

	end() {
		this.rest();
		this.box.remove();
	}
}

export class OwnPanels {
	// page: {state() -> {world, commands, dark}, topics() -> {published, taken, services}, scene() -> [{id, name, isStatic,
	//   position, rotation}], selection() -> name or null, subscribe(topic, rate, listener), call(service, request),
	//   publish(topic, message), select(name) -> whether it is there}
	constructor(page) {
		this.page = page;
		this.known = [];          // {name, path}, as troupe has told
		this.open = new Map();    // path -> OwnPanel
	}

	// panels: of the hello
	set(panels) {
		if (JSON.stringify(panels) === JSON.stringify(this.known))
			return;
		[...this.open.keys()].forEach(path => this.show(path, false));
		this.known = panels;
		panels.forEach(({path}) => this.show(path, true));
		this.list();
	}

	// The menu in which they can be opened again
	list() {
		$("look-own").replaceChildren(...this.known.map(panel => element("label", {}, element("input", {type: "checkbox", checked: this.open.has(panel.path),
			change: event => this.show(panel.path, event.target.checked)}), ` ${name(panel.name)}`)));
		$("look-own").hidden = this.known.length === 0;
	}

	show(path, on) {
		const panel = this.known.find(one => one.path === path);
		if (on && panel && !this.open.has(path))
			this.open.set(path, new OwnPanel(panel, this.page, () => this.show(path, false)));
		if (!on && this.open.has(path)) {
			this.open.get(path).end();
			this.open.delete(path);
		}
		this.list();
	}

	// The panel of this name, which <gui> may have. Returns whether there is one.
	showNamed(title, on) {
		const found = this.known.find(one => one.name === title);
		if (found)
			this.show(found.path, on);
		return Boolean(found);
	}

	tell(message) {
		for (const panel of this.open.values())
			panel.say(message);
	}

	// Another world is shown.
	restart() {
		for (const panel of this.open.values())
			panel.begin();
	}
}
