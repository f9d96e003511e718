// The list of topics, and what can be shown of them: the beams of a lidar and points of a cloud in the world, pictures of
// cameras, and any number as a plot.
import {
	AdditiveBlending, BufferGeometry, Float32BufferAttribute, Group, LineBasicMaterial, LineSegments, NormalBlending, Points, PointsMaterial,
} from "./three/build/three.module.js";
import {$, canvas2d, element, icon, name, notice, number, style} from "./page.js";
import {isDark} from "./palette.js";
import {matrixOf} from "./scene.js";

const LIST_MAX = 300;
const SHOWN_MAX = 6;
const SAMPLES_MAX = 600;
const FIELDS_MAX = 200;
const LIDAR_HZ = 15;
const POINTS_MAX = 400000;
const ECHO_CHARACTERS = 4000;
const PLOT_COLOURS = ["#3d7bf0", "#f08a24", "#22a878"];

const short = type => type.replace(/^gz\.msgs\.|^troupe\.msgs\./, "");

// --- in the world ----------------------------------------------------------------------------------------------------

class Scan {
	constructor(group) {
		this.group = group;
		this.beams = new LineSegments(new BufferGeometry(), new LineBasicMaterial({color: 0x2f9bff, transparent: true, opacity: .16, depthWrite: false}));
		this.hits = new Points(new BufferGeometry(), new PointsMaterial({color: 0xff3b5c, size: 5, sizeAttenuation: false}));
		for (const part of [this.beams, this.hits]) {
			part.frustumCulled = false;
			part.matrixAutoUpdate = false;
			group.add(part);
		}
	}

	take(message) {
		const beams = [], hits = [], ranges = message.ranges || [], count = message.count || ranges.length;
		const rows = Math.max(1, message.verticalCount || 1), most = message.rangeMax || Infinity;
		for (let row = 0; row < rows; row++)
			for (let column = 0; column < count; column++) {
				const range = Number(ranges[row * count + column]);
				if (!(range > 0 && range < most))
					continue;
				const angle = (message.angleMin || 0) + column * (message.angleStep || 0);
				const height = (message.verticalAngleMin || 0) + row * (message.verticalAngleStep || 0);
				const x = range * Math.cos(height) * Math.cos(angle), y = range * Math.cos(height) * Math.sin(angle), z = range * Math.sin(height);
				hits.push(x, y, z);
				beams.push(0, 0, 0, x, y, z);
			}
		const matrix = matrixOf(message.worldPose);
		this.beams.material.blending = isDark() ? AdditiveBlending : NormalBlending;
		for (const [part, points] of [[this.beams, beams], [this.hits, hits]]) {
			part.geometry.dispose();
			part.geometry = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(points, 3));
			part.matrix.copy(matrix);
			part.matrixWorldNeedsUpdate = true;
		}
	}

	end() {
		this.group.remove(this.beams, this.hits);
		this.beams.geometry.dispose();
		this.hits.geometry.dispose();
	}
}

class Cloud {
	// place: Promise of a function that gives the matrix of the sensor, or null
	constructor(group, place) {
		this.group = group;
		this.matrix = () => null;
		place.then(matrix => { this.matrix = matrix; }, error => notice(error.message, "bad"));
		this.points = new Points(new BufferGeometry(), new PointsMaterial({color: 0xff3b5c, size: 2.5, sizeAttenuation: false}));
		this.points.frustumCulled = false;
		this.points.matrixAutoUpdate = false;
		group.add(this.points);
	}

	take(message, envelope) {
		const fields = Object.fromEntries((message.field || []).map(field => [field.name, field.offset || 0]));
		const bytes = envelope.data, step = message.pointStep || 0;
		if (!bytes || !step || !("x" in fields && "y" in fields && "z" in fields))
			return;
		const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), points = [];
		const count = Math.min(POINTS_MAX, Math.floor(bytes.byteLength / step)), little = !message.isBigendian;
		for (let i = 0; i < count; i++) {
			const x = view.getFloat32(i * step + fields.x, little), y = view.getFloat32(i * step + fields.y, little);
			const z = view.getFloat32(i * step + fields.z, little);
			if (Number.isFinite(x + y + z))
				points.push(x, y, z);
		}
		this.points.geometry.dispose();
		this.points.geometry = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(points, 3));
		const matrix = this.matrix();
		this.points.visible = Boolean(matrix);
		if (matrix)
			this.points.matrix.copy(matrix);
		this.points.matrixWorldNeedsUpdate = true;
	}

	end() {
		this.group.remove(this.points);
		this.points.geometry.dispose();
	}
}

// --- pictures --------------------------------------------------------------------------------------------------------

// Bytes of a gz.msgs.Image -> RGBA. null: a format that is not known here.
function pixels(message, bytes) {
	const {width = 0, height = 0} = message, count = width * height, out = new Uint8ClampedArray(4 * count);
	const step = message.step || 0, format = message.pixelFormatType;
	const copy = (size, put) => {
		for (let y = 0; y < height; y++)
			for (let x = 0; x < width; x++)
				put(4 * (y * width + x), (step || size * width) * y + size * x);
	};
	const opaque = (at, r, g, b) => out.set([r, g, b, 255], at);
	if (format === "RGB_INT8")
		copy(3, (at, from) => opaque(at, bytes[from], bytes[from + 1], bytes[from + 2]));
	else if (format === "BGR_INT8")
		copy(3, (at, from) => opaque(at, bytes[from + 2], bytes[from + 1], bytes[from]));
	else if (format === "RGBA_INT8")
		copy(4, (at, from) => opaque(at, bytes[from], bytes[from + 1], bytes[from + 2]));
	else if (format === "L_INT8" || (format || "").startsWith("BAYER_")) // the mosaic as it is
		copy(1, (at, from) => opaque(at, bytes[from], bytes[from], bytes[from]));
	else if (format === "L_INT16")
		copy(2, (at, from) => opaque(at, bytes[from + 1], bytes[from + 1], bytes[from + 1]));
	else if (format === "R_FLOAT32") {
		const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		const value = from => view.getFloat32(from, true);
		const far = depthLimit(count, index => value(4 * index));
		copy(4, (at, from) => {
			const shade = 255 - 235 * Math.min(1, value(from) / far);
			opaque(at, shade, shade, shade);
		});
	} else
		return null;
	return out;
}

function depthLimit(count, at) {
	let far = 0;
	for (let i = 0; i < count; i++)
		if (Number.isFinite(at(i)))
			far = Math.max(far, at(i));
	return far || 1;
}

class Picture {
	constructor(box) {
		this.canvas = element("canvas", {role: "img", "aria-label": "camera"});
		this.text = element("span", {class: "quiet"}, "waiting for a picture …");
		box.append(this.canvas, element("div", {class: "foot"}, this.text));
	}

	take(message, envelope) {
		const {width = 0, height = 0} = message, bytes = envelope.data || new Uint8Array(0);
		let rgba = null;
		try {
			rgba = width > 0 && height > 0 && width * height <= 1 << 24 ? pixels(message, bytes) : null;
		} catch (error) {
			rgba = null;       // fewer bytes than width and height say
		}
		if (!rgba) {
			this.text.textContent = `${width} × ${height}, ${message.pixelFormatType || "unknown format"}: cannot be shown`;
			return;
		}
		this.canvas.width = width;
		this.canvas.height = height;
		this.canvas.getContext("2d").putImageData(new ImageData(rgba, width, height), 0, 0);
		this.text.textContent = `${width} × ${height}, ${number(envelope.time || 0, 2)} s`;
	}

	end() {}
}

// A picture as a file, which the browser decodes
class Packed {
	constructor(box) {
		this.canvas = element("canvas", {role: "img", "aria-label": "camera"});
		this.text = element("span", {class: "quiet"}, "waiting for a picture …");
		box.append(this.canvas, element("div", {class: "foot"}, this.text));
	}

	async take(message, envelope) {
		const bytes = envelope.data || new Uint8Array(0);
		try {
			const image = await createImageBitmap(new Blob([bytes]));
			Object.assign(this.canvas, {width: image.width, height: image.height});
			this.canvas.getContext("2d").drawImage(image, 0, 0);
			this.text.textContent = `${image.width} × ${image.height}, ${name(message.format || "")}, ${Math.ceil(bytes.length / 1024)} KiB, ${number(envelope.time || 0, 2)} s`;
		} catch (error) {
			this.text.textContent = `${name(message.format || "unknown format")}: cannot be shown`;
		}
	}

	end() {}
}

// --- texts -----------------------------------------------------------------------------------------------------------

class Echo {
	constructor(box) {
		this.text = element("pre", {class: "echo"}, "waiting for a message …");
		box.append(this.text);
	}

	take(message, envelope) {
		const {header, ...rest} = message, bytes = envelope.data ? `\n(and ${envelope.data.length} bytes)` : "";
		const text = JSON.stringify(rest, null, 1).replace(/[{}",]/g, "").replace(/^\s*\n/gm, "").slice(0, ECHO_CHARACTERS);
		this.text.textContent = `${number(envelope.time || 0, 2)} s\n${text.split("\n").map(name).join("\n")}${bytes}`;
	}

	end() {}
}

// --- plots -----------------------------------------------------------------------------------------------------------

// The numbers of a message: path -> number
function numbers(message, prefix = "", out = new Map()) {
	for (const [key, value] of Object.entries(message)) {
		const path = prefix ? `${prefix}.${key}` : key;
		if (out.size >= FIELDS_MAX || key === "header")
			continue;
		if (typeof value === "number" || typeof value === "boolean" || typeof value === "string" && value !== "" && Number.isFinite(Number(value)))
			out.set(path, Number(value));
		else if (value && typeof value === "object")
			numbers(value, path, out);
	}
	return out;
}

class Plot {
	constructor(box) {
		this.canvas = element("canvas", {class: "plot", role: "img", "aria-label": "plot"});
		this.field = element("select", {"aria-label": "What is plotted", change: () => this.draw()});
		this.value = element("b", {}, "–");
		box.append(this.canvas, element("div", {class: "foot"}, this.field, this.value));
		this.samples = [];       // {time, values}
		this.seen = new Set();
	}

	take(message, envelope) {
		const values = numbers(message);
		for (const path of values.keys())
			if (!this.seen.has(path) && this.seen.size < FIELDS_MAX) {
				this.seen.add(path);
				this.field.append(element("option", {value: path}, name(path)));
			}
		// a paused or reset world sends the same or an earlier time
		const time = envelope.time || 0;
		if (this.samples.length && time < this.samples[this.samples.length - 1].time)
			this.samples = [];
		this.samples.push({time, values});
		if (this.samples.length > SAMPLES_MAX)
			this.samples.shift();
		this.draw();
	}

	draw() {
		const {context, width, height} = canvas2d(this.canvas), path = this.field.value;
		// a member with its default is left out of a message
		const points = this.samples.map(({time, values}) => [time, values.get(path) || 0]).filter(point => Number.isFinite(point[1]));
		if (points.length < 2)
			return;
		let low = Infinity, high = -Infinity;
		for (const [, value] of points) {
			low = Math.min(low, value);
			high = Math.max(high, value);
		}
		const span = high - low || Math.abs(high) || 1, first = points[0][0], time = points[points.length - 1][0] - first || 1;
		const x = at => 4 + (at - first) / time * (width - 8), y = value => height - 16 - (value - low) / span * (height - 32) + (high === low ? -(height - 32) / 2 : 0);
		context.strokeStyle = PLOT_COLOURS[0];
		context.lineWidth = 1.6;
		context.beginPath();
		points.forEach(([at, value], index) => index ? context.lineTo(x(at), y(value)) : context.moveTo(x(at), y(value)));
		context.stroke();
		context.fillStyle = style("--quiet");
		context.font = "11px system-ui, sans-serif";
		context.fillText(high.toPrecision(4), 5, 12);
		context.fillText(low.toPrecision(4), 5, height - 4);
		const last = `${number(time, time < 10 ? 2 : 0)} s`;
		context.fillText(last, width - 5 - context.measureText(last).width, height - 4);
		this.value.textContent = points[points.length - 1][1].toPrecision(5);
	}

	end() {}
}

// --- the list --------------------------------------------------------------------------------------------------------

export class Topics {
	// place(topic): Promise of a function that gives the matrix of the sensor whose topic it is, or null
	constructor(connection, three, place, redraw) {
		Object.assign(this, {connection, place, redraw});
		this.group = new Group();
		three.add(this.group);
		this.published = [];
		this.taken = [];
		this.services = [];
		this.shown = new Map();       // topic -> {end}
		this.changed = () => {};      // called when a topic is shown or hidden
		$("topic-search").addEventListener("input", () => this.fill());
	}

	set(message) {
		this.published = message.published || [];
		this.taken = message.taken || [];
		this.services = message.services || [];
		this.fill();
	}

	clear() {
		for (const topic of [...this.shown.keys()])
			this.hide(topic);
	}

	fill() {
		if ($("topics").hidden)
			return;
		const words = $("topic-search").value.toLowerCase().split(/\s+/).filter(Boolean);
		const found = this.published.filter(({name: topic, type}) => words.every(word => `${topic} ${type}`.toLowerCase().includes(word)));
		$("topic-list").replaceChildren(...found.slice(0, LIST_MAX).map(topic => element("li", {},
			element("span", {class: "name"}, name(topic.name)), element("span", {class: "type"}, name(short(topic.type))),
			element("button", {"aria-pressed": String(this.shown.has(topic.name)), click: () => this.toggle(topic)},
				this.shown.has(topic.name) ? "Hide" : "Show"),
			element("button", {"aria-pressed": String(this.shown.has(this.key(topic, "text"))), title: "The messages as text",
				click: () => this.toggle(topic, "text")}, "Text"))),
		...found.length > LIST_MAX ? [element("li", {class: "quiet"}, `and ${found.length - LIST_MAX} more`)] : []);
	}

	all() {
		return {published: this.published, taken: this.taken, services: this.services};
	}

	// The topics of a model that a person may want to see
	of(model, world) {
		const begins = [`/model/${model.name}/`, `${world}/model/${model.name}/`];
		return this.published.filter(topic => begins.some(begin => topic.name.startsWith(begin)))
			.map(topic => ({...topic, short: topic.name.slice(begins.find(begin => topic.name.startsWith(begin)).length)}));
	}

	driveTopic(model, world) {
		const names = [`/model/${model.name}/cmd_vel`, `${world}/model/${model.name}/cmd_vel`];
		const found = this.taken.find(topic => names.includes(topic.name) && short(topic.type) === "Twist");
		return found ? found.name : null;
	}

	// A topic is shown twice at most: as its type wants, and as text.
	key(topic, as) {
		return as === "text" ? `${topic.name} text` : topic.name;
	}

	toggle(topic, as = "") {
		if (this.shown.has(this.key(topic, as)))
			this.hide(this.key(topic, as));
		else
			this.show(topic, as);
		this.fill();
	}

	partFor(topic, as, box) {
		const type = short(topic.type);
		if (as === "text")
			return new Echo(box);
		if (as === "plot")
			return new Plot(box);
		return type === "LaserScan" ? new Scan(this.group) : type === "PointCloudPacked" ? new Cloud(this.group, this.place(topic.name)) :
			type === "Image" ? new Picture(box) : type === "CompressedImage" ? new Packed(box) : new Plot(box);
	}

	// as: text, plot, or as the type wants; title: in place of the topic's name
	show(topic, as = "", title = "") {
		const key = this.key(topic, as);
		if (this.shown.has(key))
			return;
		if (this.shown.size >= SHOWN_MAX) {
			notice(`At most ${SHOWN_MAX} topics are shown at a time.`);
			return;
		}
		const type = short(topic.type), inWorld = !as && (type === "LaserScan" || type === "PointCloudPacked");
		const box = element("section", {class: inWorld ? "panel shown small" : "panel shown", "aria-label": name(topic.name)},
			element("div", {class: "head"}, element("span", {title: name(topic.name)}, element("bdi", {}, name(title || topic.name))),
				element("button", {class: "icon close", "aria-label": "Hide", click: () => this.toggle(topic, as)}, icon("close"))));
		const part = this.partFor(topic, as, box);
		if (inWorld)
			box.append(element("span", {class: "quiet"}, "shown in the world"));
		$("shown").append(box);
		const stop = this.connection.subscribe(topic.name, /Image$/.test(type) ? 10 : LIDAR_HZ, (message, envelope) => {
			part.take(message, envelope);
			this.redraw();
		});
		this.shown.set(key, {end: () => {
			stop();
			part.end();
			box.remove();
			this.redraw();
		}});
		this.changed();
	}

	hide(topic) {
		const shown = this.shown.get(topic);
		this.shown.delete(topic);
		if (shown)
			shown.end();
		this.changed();
	}
}
