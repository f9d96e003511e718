// The WebSocket to troupe (src/gateway/view/PROTOCOL.md), which comes back by itself after it was lost: subscriptions
// and the picture's world are said again, requests that were waiting fail with a reason.
import {decodeFrame} from "./frames.js";

const AGAIN_MS = [500, 1000, 2000, 4000];
const ANSWER_MS = 30000;
const FILES_MAX = 8;          // meshes and images that are asked for at a time: they are read one after the other

export class Connection {
	// address: ws://... ; events: {state, hello, topics, epoch, timeline, marks, picture, error}, functions of one argument each.
	// state gets {state: "open" | "lost", text, again_ms}.
	constructor(address, events) {
		this.address = address;
		this.events = events;
		this.subscriptions = new Map();       // topic -> {rate, listeners, newest}
		this.waiting = new Map();             // id -> {resolve, reject, timer}
		this.files = [];                      // what is asked for later: {message, resolve, reject}
		this.filesAsked = 0;
		this.next = 1;
		this.tries = 0;
		this.parting = "";
		this.world = null;
	}

	open() {
		clearTimeout(this.timer);
		this.timer = 0;
		if (this.socket && this.socket.readyState <= WebSocket.OPEN)
			return;
		const socket = new WebSocket(this.address, "troupe.view.v1");
		socket.binaryType = "arraybuffer";
		socket.onopen = () => this.opened();
		socket.onmessage = event => this.hear(event.data);
		socket.onclose = event => this.closed(socket, event);
		this.socket = socket;
		this.parting = "";
	}

	get isOpen() {
		return Boolean(this.socket) && this.socket.readyState === WebSocket.OPEN;
	}

	opened() {
		this.tries = 0;
		this.events.state({state: "open"});
		for (const [topic, {rate}] of this.subscriptions)
			this.send({op: "subscribe", topic, ...rate && {rate}});
		if (this.world)
			this.send({op: "motion", world: this.world});
	}

	closed(socket, event) {
		if (socket !== this.socket)
			return;
		for (const {reject, timer} of this.waiting.values()) {
			clearTimeout(timer);
			reject(new Error("the connection was lost before the answer came"));
		}
		this.waiting.clear();
		const again_ms = AGAIN_MS[Math.min(this.tries++, AGAIN_MS.length - 1)];
		const text = this.parting || event.reason || (event.code === 1006 ? "troupe does not answer" : `closed with code ${event.code}`);
		this.events.state({state: "lost", text, again_ms});
		this.timer = setTimeout(() => this.open(), again_ms);
	}

	send(message) {
		if (!this.isOpen)
			return false;
		this.socket.send(JSON.stringify(message));
		return true;
	}

	// --- what comes -------------------------------------------------------------------------------------------------

	hear(data) {
		try {
			if (typeof data === "string")
				this.hearText(JSON.parse(data));
			else
				this.hearFrame(decodeFrame(data));
		} catch (error) {
			this.events.error(error.message);
		}
	}

	hearFrame(frame) {
		if (frame.kind === "picture")
			this.events.picture(frame);
		else if (frame.kind === "mesh")
			this.answer(frame.id, waiting => waiting.resolve(frame));
		else
			this.deliver({...frame.json, data: frame.data});
	}

	hearText(message) {
		switch (message.op) {
		case "hello":
		case "topics":
		case "epoch":
		case "timeline":
		case "marks":
			this.events[message.op](message);
			break;
		case "message":
			this.deliver(message);
			break;
		case "reply":
			this.answer(message.id, waiting => {
				if (message.ok)
					waiting.resolve(message);
				else
					waiting.reject(new Error(message.text || "troupe refused the request"));
			});
			break;
		case "error":
			this.events.error(message.text || "troupe reports an error without a text");
			break;
		case "bye":
			this.parting = message.text || "";
			break;
		}
	}

	deliver(message) {
		const subscription = this.subscriptions.get(message.topic);
		if (!subscription)
			return;
		subscription.newest = message;
		for (const listener of [...subscription.listeners])
			listener(message.message || {}, message);
	}

	answer(id, act) {
		const waiting = this.waiting.get(id);
		if (!waiting)
			return;
		this.waiting.delete(id);
		clearTimeout(waiting.timer);
		act(waiting);
	}

	// --- what is asked ----------------------------------------------------------------------------------------------

	// listener(message, envelope); envelope.data: the bytes of a message with raw bytes. Returns a function that ends it.
	subscribe(topic, rate, listener) {
		let subscription = this.subscriptions.get(topic);
		if (!subscription) {
			subscription = {rate, listeners: new Set(), newest: null};
			this.subscriptions.set(topic, subscription);
			this.send({op: "subscribe", topic, ...rate && {rate}});
		}
		subscription.listeners.add(listener);
		if (subscription.newest)
			listener(subscription.newest.message || {}, subscription.newest);
		return () => {
			subscription.listeners.delete(listener);
			if (subscription.listeners.size === 0 && this.subscriptions.get(topic) === subscription) {
				this.subscriptions.delete(topic);
				this.send({op: "unsubscribe", topic});
			}
		};
	}

	ask(message) {
		const id = this.next++;
		return new Promise((resolve, reject) => {
			if (!this.send({...message, id})) {
				reject(new Error("there is no connection to troupe"));
				return;
			}
			const timer = setTimeout(() => this.answer(id, waiting => waiting.reject(new Error("no answer for 30 s"))), ANSWER_MS);
			this.waiting.set(id, {resolve, reject, timer});
		});
	}

	// Promise of the reply: {step, text, reply}; an Error with troupe's text when it refused
	call(service, request) {
		return this.ask({op: "call", service, request});
	}

	// The same, a few at a time: troupe keeps only so many requests of a page, and the last of many would wait for too long.
	askFile(message) {
		return new Promise((resolve, reject) => {
			this.files.push({message, resolve, reject});
			this.askFiles();
		});
	}

	askFiles() {
		while (this.filesAsked < FILES_MAX && this.files.length) {
			const {message, resolve, reject} = this.files.shift();
			this.filesAsked++;
			this.ask(message).then(resolve, reject).then(() => {
				this.filesAsked--;
				this.askFiles();
			});
		}
	}

	// Promise of {points, triangles, texcoords, parts, materials}
	mesh(world, geometry) {
		return this.askFile({op: "mesh", world, geometry});
	}

	// path: of a map of a material. Promise of the address of the image, relative to the page
	async image(world, path) {
		return (await this.askFile({op: "image", world, image: {data: path}})).path || "";
	}

	publish(topic, message) {
		return this.send({op: "publish", topic, message});
	}

	askTopics() {
		this.send({op: "topics"});
	}

	showWorld(world) {
		this.world = world;
		this.send({op: "motion", world});
	}
}
