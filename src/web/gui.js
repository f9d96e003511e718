// What a world says about its page, in <gui> (service /world/W/gui/info): its camera is the first view, and its plug-ins,
// which are the panels of Gazebo's window, open and close the panels of the page that do the same.
import {Vector3} from "./three/build/three.module.js";
import {element, icon, name} from "./page.js";

// What the page does anyway, or what its menus have
const SILENT = new Set(["GzSceneManager", "SceneManager", "InteractiveViewControl", "SelectEntities", "Select", "VisualizationCapabilities", "Spawn",
	"EntityContextMenuPlugin", "MarkerManager", "TransformControl", "Shapes", "ResourceSpawner", "ViewAngle", "ComponentInspector", "GridConfig", "Grid3D",
	"VisualizeContacts", "VisualizeLidar", "PointCloud", "PlaybackScrubber", "CameraFps"]);
// Codes of keys as Gazebo publishes them: those of Qt
const QT_KEYS = {ArrowLeft: 0x01000012, ArrowUp: 0x01000013, ArrowRight: 0x01000014, ArrowDown: 0x01000015, Escape: 0x01000000, Tab: 0x01000001,
	Backspace: 0x01000003, Enter: 0x01000004, Delete: 0x01000007, Home: 0x01000010, End: 0x01000011, PageUp: 0x01000016, PageDown: 0x01000017,
	Shift: 0x01000020, Control: 0x01000021, Alt: 0x01000023};
const PLUGINS_MAX = 100;
const AHEAD_M = 10;           // where a camera looks that does not look at the ground
const NAMED_MAX = 8;

const numbersOf = text => text.split(/\s+/).filter(Boolean).map(Number);

// from: gz.msgs.Plugin. {kind, title, collapsed, text(child)}
export function readPlugin(from) {
	const kind = (from.filename || from.name || "").replace(/^.*\//, "").replace(/^lib/, "").replace(/\.so$/, "").replace(/^(gz|ignition)-gui-?\d*-/, "");
	const root = new DOMParser().parseFromString(`<plugin>${from.innerxml || ""}</plugin>`, "text/xml").documentElement;
	const child = (parent, tag) => parent && [...parent.children].find(one => one.localName === tag);
	const look = child(root, "gz-gui") || child(root, "ignition-gui");
	const state = look && [...look.children].find(one => one.localName === "property" && one.getAttribute("key") === "state");
	const text = (...tags) => (tags.reduce(child, root) || {textContent: ""}).textContent.trim();
	return {kind, title: look && child(look, "title") ? child(look, "title").textContent.trim() : "", text,
		collapsed: Boolean(state) && /collapsed/.test(state.textContent)};
}

// pose: x y z roll pitch yaw. The direction in which a camera at this pose looks
function ahead([, pitch, yaw]) {
	return new Vector3(Math.cos(pitch) * Math.cos(yaw), Math.cos(pitch) * Math.sin(yaw), -Math.sin(pitch));
}

// Where the eye is and what it looks at: the ground, if it looks down
function viewOf(eye, direction) {
	const down = direction.z < -.05 && eye.z > 0 ? -eye.z / direction.z : AHEAD_M;
	return {eye, target: eye.clone().addScaledVector(direction, Math.min(200, Math.max(1, down)))};
}

export class Gui {
	// page: {panel(id, on), show(topic, as, title) -> whether it is there, drive(topic) -> the same, publish(topic, message),
	//   topics() -> names that are taken, images() -> topics of pictures, view({eye, target}), track(name, track),
	//   look({background}), ownPanel(name) -> whether the user has such a panel, which is opened, notice(text), box: where small panels stand, changed()}
	constructor(page) {
		this.page = page;
		this.clear();
	}

	clear() {
		this.camera = null;      // {eye, target}: the first view, if the world gives one
		this.track = null;       // {name, ...}: the model that it follows
		this.waiting = [];       // what needs topics or models that are not there yet: functions that say whether it is done
		this.endKeys();
	}

	// message: gz.msgs.GUI. quiet: panels and topics are as the user has them, because the world was shown before
	take(message, quiet = false) {
		const plugins = (message.plugin || []).slice(0, PLUGINS_MAX).map(readPlugin), has = kind => plugins.some(plugin => plugin.kind === kind);
		this.takeCamera(message.camera);
		const missing = new Set();
		if (plugins.length && !quiet)
			this.close(has);
		for (const plugin of plugins)
			if (this.kinds[plugin.kind])
				this.kinds[plugin.kind].call(this, plugin, quiet);
			else if (!this.page.ownPanel(plugin.kind) && !SILENT.has(plugin.kind))
				missing.add(plugin.kind);
		if (missing.size)
			this.page.notice(`The page has no panel for ${[...missing].slice(0, NAMED_MAX).map(name).join(", ")}${missing.size > NAMED_MAX ? ` and ${missing.size - NAMED_MAX} more` : ""}, which <gui> names.`);
		this.proceed();
	}

	// As in Gazebo's window, a world that lists panels has these and no others.
	close(has) {
		for (const [panel, kind] of [["time", "WorldControl"], ["figures", "WorldStats"], ["tree", "EntityTree"], ["topics", "TopicViewer"], ["work", "Secondaries"]])
			this.page.panel(panel, has(kind));
	}

	takeCamera(camera) {
		const {pose = {}, track} = camera || {}, at = pose.position || {}, turn = pose.orientation || {};
		if (at.x || at.y || at.z || turn.x || turn.y || turn.z) {
			const eye = new Vector3(at.x || 0, at.y || 0, at.z || 0);
			this.camera = viewOf(eye, new Vector3(1, 0, 0).applyQuaternion({x: turn.x || 0, y: turn.y || 0, z: turn.z || 0, w: turn.w || 0}));
		}
		if (track && track.name)
			this.follow(track.name, {still: track.static, inModel: track.useModelFrame, turns: track.inheritYaw, least: track.minDist || 0, most: track.maxDist || 0,
				at: track.xyz || {}});
	}

	follow(model, track) {
		this.track = {name: model, ...track};
		this.waiting.push(() => this.page.track(this.track));
	}

	// --- panels -------------------------------------------------------------------------------------------------------

	get kinds() {
		return {
			MinimalScene: this.takeScene, Scene3D: this.takeScene, GzScene3D: this.takeScene,
			WorldControl() {}, WorldStats() {}, Secondaries() {},
			EntityTree: this.takeSide, TopicViewer: this.takeSide,
			ImageDisplay: this.takeImage, Plotting: this.takePlot, TransportPlotting: this.takePlot, TopicEcho: this.takeEcho,
			Teleop: this.takeTeleop, KeyPublisher: this.takeKeys, CameraTracking: this.takeTracking, CameraTrackingConfig() {},
		};
	}

	takeScene(plugin) {
		const pose = numbersOf(plugin.text("camera_pose")), colour = numbersOf(plugin.text("background_color"));
		if (pose.length === 6 && pose.every(Number.isFinite) && !this.camera)
			this.camera = viewOf(new Vector3(...pose), ahead(pose.slice(3)));
		if (colour.length >= 3 && colour.every(Number.isFinite))
			this.page.look({background: {r: colour[0], g: colour[1], b: colour[2]}});
	}

	takeSide({kind, collapsed}, quiet) {
		if (collapsed && !quiet)
			this.page.panel({EntityTree: "tree", TopicViewer: "topics"}[kind], false);
	}

	takeImage(plugin, quiet) {
		const topic = plugin.text("topic");
		if (!quiet)
			this.waiting.push(() => this.page.show(topic || this.page.images()[0] || "", "", plugin.title));
	}

	takePlot(plugin, quiet) {
		if (!quiet && plugin.text("topic"))
			this.waiting.push(() => this.page.show(plugin.text("topic"), "plot", plugin.title));
		else if (!quiet)
			this.page.panel("topics", true);
	}

	takeEcho(plugin, quiet) {
		if (!quiet && plugin.text("topic"))
			this.waiting.push(() => this.page.show(plugin.text("topic"), "text", plugin.title));
		else if (!quiet)
			this.page.panel("topics", true);
	}

	takeTeleop(plugin, quiet) {
		if (!quiet)
			this.waiting.push(() => this.page.drive(plugin.text("topic") || "/cmd_vel"));
	}

	takeTracking(plugin) {
		const model = plugin.text("follow_target") || plugin.text("follow", "target"), [x, y, z] = numbersOf(plugin.text("follow_offset") || "-5 0 3");
		if (model)
			this.follow(model, {still: true, inModel: true, turns: true, least: 0, most: 0, at: {x, y, z}});
	}

	takeKeys(plugin, quiet) {
		const topic = plugin.text("topic") || "/keyboard/keypress";
		if (!quiet)
			this.waiting.push(() => this.page.topics().includes(topic) && this.beginKeys(topic));
	}

	// Topics or models have come.
	proceed() {
		this.waiting = this.waiting.filter(act => !act());
	}

	// --- keys ---------------------------------------------------------------------------------------------------------

	beginKeys(topic) {
		this.endKeys();
		this.keyTopic = topic;
		this.keyBox = element("section", {class: "panel shown small", "aria-label": "Keys"}, element("div", {class: "head"},
			element("span", {title: name(topic)}, element("bdi", {}, `Keys: ${name(topic)}`)),
			element("button", {class: "icon close", "aria-label": "Publish no keys", click: () => this.endKeys()}, icon("close"))));
		this.page.box.append(this.keyBox);
		return true;
	}

	endKeys() {
		this.keyTopic = null;
		if (this.keyBox)
			this.keyBox.remove();
		this.keyBox = null;
	}

	// Returns whether the key was published: then it does nothing else.
	key(event) {
		const code = QT_KEYS[event.key] || (event.key.length === 1 ? event.key.toUpperCase().codePointAt(0) : 0);
		if (!this.keyTopic || !code || event.key === "Escape")
			return false;
		this.page.publish(this.keyTopic, {data: code});
		return true;
	}
}
