// Puts the parts of the page together: the connection feeds the world, panels show it, keys and buttons act on it.
import {Vector3} from "./three/build/three.module.js";
import {Camera} from "./camera.js";
import {Connection} from "./connection.js";
import {Drive} from "./drive.js";
import {Feet} from "./feet.js";
import {lookFrom, subjectOf} from "./framing.js";
import {Gui} from "./gui.js";
import {Handling} from "./handling.js";
import {Inspector} from "./inspector.js";
import {Levels} from "./levels.js";
import {Marks} from "./marks.js";
import {Motion} from "./motion.js";
import {OwnPanels} from "./own.js";
import {Pace} from "./pace.js";
import {$, element, name, notice} from "./page.js";
import {isDark} from "./palette.js";
import {World, anglesOf, matrixOf} from "./scene.js";
import {Sight} from "./sight.js";
import {TimeBar} from "./time.js";
import {Timeline} from "./timeline.js";
import {Topics} from "./topics.js";
import {Touching} from "./touching.js";
import {Tree} from "./tree.js";
import {View} from "./view.js";
import {Work} from "./work.js";

const TOPICS_EACH_MS = 1500;
const SCENES_HZ = 4;          // a scene is long, and in some worlds models come and go all the time
const SIDE_PX = 288;
const NARROW = matchMedia("(max-width: 760px)");
const MENUS = ["add", "look", "more"];
const NARROW_MENU = {"steps": "more-menu", "open-help": "more-menu", "figure-steps": "more-figures", "figure-rates": "more-figures"};
const SHEETS = ["tree", "topics", "work"];   // a narrow screen has room for one of them, or for the inspector

const options = {colour: "material", sleep: true, collisions: false};
let view;
try {
	view = new View($("view"));
} catch (error) {
	$("lost").hidden = false;
	$("lost-title").textContent = "The world cannot be shown.";
	$("lost-text").textContent = error.message;
	$("lost-now").hidden = true;
	throw error;
}

let worlds = [], worldName = "", whole = true, commands = false, recording = false, moved = true, ends = [], topicsAt = 0, topicsTimer = 0, timelineHidden = true, liveFrom = null;

// --- the parts -----------------------------------------------------------------------------------------------------------

function address() {
	const here = new URL("view", location.href);
	here.protocol = location.protocol === "https:" ? "wss:" : "ws:";
	here.search = location.search;
	return here.href;
}

function panels() {
	const narrow = NARROW.matches, bar = $("bar").offsetHeight + 16;
	const below = belowPx();
	const side = !$("tree").hidden || !$("topics").hidden, right = !$("inspector").hidden;
	if (narrow)
		return {left: 0, right: 0, top: bar, bottom: side || right ? innerHeight * .42 : below};
	return {left: side ? SIDE_PX : 0, right: right ? SIDE_PX : 0, top: bar, bottom: below};
}

const camera = new Camera($("view"), panels);
const world = new World(view.three, options, geometry => connection.mesh(worldName, geometry), path => connection.image(worldName, path));
const feet = new Feet(view.three, world);
const motion = new Motion(world);
const levels = new Levels(view.three, world);
const pace = new Pace();
const work = new Work(showEvent, pace);
const timeline = new Timeline(message => connection.send(message), () => world.selected ? world.selected.name : null);
const liveMarks = new Marks($("live-marks"), (mark, text) => notice(text));
const tree = new Tree(world, select);
const connection = new Connection(address(), {state: onState, hello: onHello, topics: onTopics, epoch: askTopics,
	timeline: onTimeline, marks: message => timeline.takeMarks(message), picture: onPicture,
	error: text => notice(text, "bad")});
const time = new TimeBar(request, timeline, pace);
const drive = new Drive((topic, message) => connection.publish(topic, message));
const handling = new Handling(view, camera, world, {
	select, call, changed: () => inspector.press("move", Boolean(handling.moving)),
});
const topics = new Topics(connection, view.three, sensorOfTopic, redraw);
const touching = new Touching(view.three, world, (rate, listener) => connection.subscribe(`${worldName}/touching`, rate, listener), redraw);
const inspector = new Inspector(world, levels, {
	follow: toggleFollow, move: model => handling.moveModel(model), drive: toggleDrive, remove, close: () => select(null, false),
	topic: topic => topics.toggle(topic),
});

const gui = new Gui({
	panel: openPanel, show: showTopic, drive: driveTopic, publish: (topic, message) => connection.publish(topic, message),
	topics: () => topics.taken.map(topic => topic.name), images: () => topics.published.filter(({type}) => type === "gz.msgs.Image").map(topic => topic.name),
	ownPanel: kind => own.showNamed(kind, true), track: trackModel, look: ({background}) => view.setBackground(background), notice: text => notice(text), box: $("shown"),
});

const own = new OwnPanels({
	state: () => ({world: worldName, commands, dark: isDark()}), topics: () => topics.all(), selection: () => world.selected ? world.selected.name : null,
	scene: sceneForPanels, subscribe: (topic, rate, listener) => connection.subscribe(topic, rate, listener),
	call: (service, message) => connection.call(service, message), publish: (topic, message) => connection.publish(topic, message), select: selectNamed,
});

pace.changed = () => {
	time.showPace();
	work.draw();
};
world.changed = redraw;
Object.assign(view.sky, {ask: async path => (await world.textures.imageOf(path)).image, changed: () => world.reflect(view.sky.environment),
	failed: (name, error) => world.tellTexture(name, error)});
world.failed = text => notice(text, "bad");
world.meshed = () => camera.keeps && show(camera.keeps);
world.asking = count => {
	$("coming").hidden = count === 0;
	$("coming").textContent = count === 1 ? "1 mesh is coming …" : `${count} meshes are coming …`;
};
levels.onEvent = event => {
	work.addEvent(event);
	if (event.kind === "loss" || event.kind === "member")
		markLive(event.kind === "loss" ? "loss" : "join", event.step, event.text);
};
inspector.topics = model => topics.of(model, worldName);
inspector.isShown = topic => topics.shown.has(topic);
topics.changed = () => inspector.buildLists();
inspector.drives = model => Boolean(topics.driveTopic(model, worldName));
inspector.ask = async id => (await call("model", {data: id})).reply;
inspector.askSensors = async id => (await call("model/sensors", {data: id})).reply;
drive.changed = () => inspector.press("drive", Boolean(drive.topic));

function redraw() {
	view.dirty = true;
}

function call(service, message) {
	return connection.call(`${worldName}/${service}`, message);
}

async function request(service, message) {
	return handling.request(service, message);
}

// Promise of a function that gives the present matrix of the sensor that publishes the topic; null: its link is not there
async function sensorOfTopic(topic) {
	const {sensor = []} = (await call("sensor", {data: topic})).reply || {};
	const link = sensor.length ? sensor[0].link : 0, inLink = matrixOf(sensor.length ? sensor[0].pose : null);
	return () => world.links.has(link) ? world.links.get(link).matrix.clone().multiply(inLink) : null;
}

// --- what comes ----------------------------------------------------------------------------------------------------------

function onState({state, text, again_ms}) {
	const lost = state !== "open";
	$("lost").hidden = !lost;
	document.body.classList.toggle("is-lost", lost);
	time.allow(!lost && commands, !lost && recording);
	if (!lost)
		return;
	drive.end();
	$("lost-title").textContent = /ended/.test(text) ? "The run has ended." : "The connection to troupe is lost.";
	$("lost-text").textContent = `${/ended/.test(text) ? "" : `${name(text)}. `}The next try is in ${again_ms / 1000} s; the picture stays as it was.`;
}

function onHello(message) {
	const first = worlds.length === 0, same = JSON.stringify(message.worlds) === JSON.stringify(worlds);
	worlds = message.worlds || [];
	commands = message.commands === true;
	recording = Boolean(message.recording);
	document.body.classList.toggle("is-recording", recording);
	levels.jump = recording ? 2000 : Infinity;
	timeline.clear();
	inspector.commands = commands;
	time.allow(commands, recording);
	$("world").replaceChildren(...worlds.map(path => element("option", {value: path}, name(path.replace(/^\/world\//, "")))));
	$("world").disabled = worlds.length < 2;
	connection.askTopics();
	own.set(message.panels || []);
	// another run may be at this address by now: everything is taken anew, but the camera stays where the world is the same
	showWorld(worlds.includes(worldName) ? worldName : worlds[0] || "", first || !same);
	if (!first)
		notice("The connection is back.");
}

function showWorld(path, frame) {
	ends.forEach(end => end());
	worldName = path;
	$("world").value = path;
	document.title = `${name(path.replace(/^\/world\//, ""))} – troupe`;
	select(null, false);
	topics.clear();
	levels.clear();
	motion.clear();
	world.clear();
	pace.clear();
	work.clear();
	time.clear();
	liveMarks.clear();
	liveFrom = null;
	gui.clear();
	view.setBackground(null);
	whole = frame;
	moved = true;
	ends = [
		connection.subscribe(`${path}/scene/info`, SCENES_HZ, onScene),
		connection.subscribe(`${path}/stats`, 5, message => time.stats(message)),
		connection.subscribe(`${path}/secondaries`, 5, message => {
			work.take(message);
			time.setWanted(message.pace || 0);
		}),
		connection.subscribe(`${path}/levels`, 0, onLevels),
		connection.subscribe(`${path}/replies`, 0, ({service = "", step = 0, ok}) => ok && markLive("command", Number(step), service)),
	];
	connection.showWorld(path);
	own.restart();
	touching.restart();
	askLevels(path);
	askGui(path, !frame);
}

// quiet: the world was shown before
async function askGui(path, quiet) {
	const {reply} = await connection.call(`${path}/gui/info`, {}).catch(() => ({}));
	if (path !== worldName || !reply)
		return;
	gui.take(reply, quiet);
	if ((gui.camera || gui.track) && camera.keeps === "first")
		show("first");
}

async function askLevels(path) {
	try {
		const {reply} = await connection.call(`${path}/levels`, {});
		if (path === worldName) {
			levels.setBoxes(reply || {});
			redraw();
		}
	} catch (error) {
		if (connection.isOpen)
			notice(error.message, "bad");
	}
}

function onLevels(message) {
	if (levels.known)       // the boxes are there
		levels.take(message);
	redraw();
}

function onScene(message) {
	const selected = world.selected && world.selected.id;
	view.setScene(message);
	world.setScene(message, view.sky.environment);
	if (selected !== null && selected !== undefined && !world.selected) {
		const again = world.models.get(selected);
		select(again || null, false);
	}
	view.layGrid(world.extent());
	gui.proceed();
	if (whole) {
		whole = moved = false;
		show("first");
	}
	own.tell({op: "scene", models: sceneForPanels()});
	levels.makeGhosts();
	tree.fill();
	inspector.renew();
	redraw();
}

function onTopics(message) {
	topics.set(message);
	own.tell({op: "topics", ...topics.all()});
	gui.proceed();
	inspector.renew();
}

function onTimeline(message) {
	timeline.take(message);
	time.setPaused(!timeline.state.playing);
	if (timelineHidden !== $("timeline").hidden) {
		timelineHidden = $("timeline").hidden;
		layout();
	}
}

// A run has no end yet: its line goes from the first step that this page has seen to the present one.
function markLive(kind, step, text) {
	if (!recording)
		liveMarks.add(kind, {step, text});
}

function showLive() {
	if (liveFrom === null || viewer.lastStep < liveFrom)
		liveFrom = viewer.lastStep;
	liveMarks.range(liveFrom, viewer.lastStep);
	$("live-marks").hidden = recording || liveMarks.count === 0;
}

function askTopics() {
	const now = performance.now();
	clearTimeout(topicsTimer);
	topicsTimer = setTimeout(() => {
		topicsAt = performance.now();
		connection.askTopics();
	}, Math.max(0, topicsAt + TOPICS_EACH_MS - now));
}

function onPicture(picture) {
	if (worlds[picture.world] !== worldName)
		return;
	const now_ms = performance.now();
	if (motion.take(picture, now_ms))
		treeChanged = true;
	pace.take(picture);
	time.show();
	if (!moved && camera.keeps === "first")   // the scene has things where they began, the picture where they are
		show("first");
	moved = true;
	viewer.lastStep = picture.step;
	viewer.lastTime = view.time = picture.time;
	redraw();
}

let treeChanged = false;
setInterval(() => {
	showLive();
	if (treeChanged)
		tree.draw();
	treeChanged = false;
}, 250);

// --- selecting and looking ------------------------------------------------------------------------------------------------

function select(model, look) {
	// a model that was removed is not the world's any more, but still the inspector's
	if (model !== world.selected || model !== inspector.model) {
		if (handling.moving)
			handling.moveModel(handling.moving);
		if (drive.model && drive.model !== model)
			drive.end();
		camera.follow(null);
		world.select(model);
		inspector.show(model);
		own.tell({op: "selection", name: model ? model.name : null});
		inspector.press("drive", Boolean(drive.topic));
		if (model && NARROW.matches)
			SHEETS.forEach(closePanel);
		layout();
	}
	if (model && look) {
		const box = world.boxOf(model), size = box.max.distanceTo(box.min);
		camera.lookAt(world.poseOf(model).position, size);
	}
	tree.reveal(model);
	redraw();
}

// name: null: none. Returns whether it is there.
function selectNamed(wanted) {
	const model = [...world.models.values()].find(({name: one}) => one === wanted) || null;
	if (model || wanted === null)
		select(model, false);
	return Boolean(model) || wanted === null;
}

// What panels of the user are told of the models: where they are now
function sceneForPanels() {
	return [...world.models.values()].map(model => {
		const {position, rotation} = world.poseOf(model);
		return {id: model.id, name: model.name, isStatic: model.isStatic, position: position.toArray(), rotation: rotation.toArray()};
	});
}

function showEvent(event) {
	if (timeline.active)
		timeline.seek(event.step);
	for (const model of world.models.values())
		if (model.name === event.name) {
			select(model, true);
			return;
		}
}

// What shows something of any world: what moves, from where one sees it
function showFirst() {
	if (gui.track && trackModel(gui.track))
		return;
	if (gui.camera) {
		camera.view(gui.camera.eye, gui.camera.target);
		return;
	}
	const subject = subjectOf(world.items()), fit = (direction, nearer) => {
		camera.place(subject.box, direction, nearer);
		return camera.three.position.clone();
	};
	const {direction, nearer} = lookFrom(subject, fit, (eye, point) => camera.sees(point), new Sight(world));
	camera.place(subject.box, direction, nearer);
}

// direction: of the camera; or first
function show(direction) {
	const first = direction === "first", ofWorld = direction === "home" || !world.selected;
	camera.follow(null);
	inspector.press("follow", false);
	if (first)
		showFirst();
	else
		camera.show(ofWorld ? world.extent() : world.boxOf(world.selected).expandByScalar(2), direction);
	camera.keeps = first || direction === "home" ? direction : null;
	redraw();
}

function toggleFollow(model) {
	const on = !camera.following;
	camera.follow(on ? () => world.poseOf(model).position : null);
	if (on)
		camera.lookAt(world.poseOf(model).position, 2);
	inspector.press("follow", on);
}

function toggleDrive(model) {
	const topic = topics.driveTopic(model, worldName);
	if (drive.topic)
		drive.end();
	else if (topic)
		drive.begin(model, topic);
	else
		notice(`${model.name} has no topic cmd_vel: it cannot be driven.`);
	$("view").focus({preventScroll: true});
}

async function remove(model) {
	await handling.remove(model);
}

// --- what <gui> asks for --------------------------------------------------------------------------------------------------------

// id: of a panel, or of a group of the bar. The choice of the user, who may open and close it, stays what it is.
function openPanel(id, on) {
	if ($(`look-${id}`))
		$(`look-${id}`).checked = on;
	if (id === "time" || id === "figures")
		$(id).hidden = !on;
	else if ($(id).hidden === on)
		togglePanel(id, [], false);
	layout();
}

// as: plot, text, or as the type wants. Returns whether the topic is there.
function showTopic(topic, as, title) {
	const found = topics.published.find(({name: one}) => one === topic);
	if (found)
		topics.show(found, as, title);
	return Boolean(found);
}

function driveTopic(topic) {
	const found = topics.taken.find(({name: one, type}) => one === topic && type === "gz.msgs.Twist");
	if (found && commands)
		drive.begin({name: topic}, topic);
	return Boolean(found);
}

// track: of gui.js. Returns whether the model is there.
function trackModel(track) {
	const model = [...world.models.values()].find(({name: one}) => one === track.name);
	if (!model)
		return false;
	const at = () => world.poseOf(world.models.get(model.id) || model), now = at(), yaw = () => anglesOf(at().rotation).yaw;
	const offset = new Vector3(track.at.x || 0, track.at.y || 0, track.at.z || 0);
	if (track.still)
		camera.view(track.inModel ? offset.applyAxisAngle(camera.three.up, track.turns ? yaw() : 0).add(now.position) : offset, now.position);
	else if (gui.camera)
		camera.view(gui.camera.eye, now.position);
	else
		camera.lookAt(now.position, 2);
	camera.follow(() => at().position, {still: track.still && !track.inModel, yaw: track.still && track.inModel && track.turns ? yaw : null,
		least: track.least, most: track.most});
	return true;
}

// --- panels and menus -------------------------------------------------------------------------------------------------------

// Height of what lies along the lower edge
function belowPx() {
	const parts = ["work", "timeline"].filter(id => !$(id).hidden);
	return parts.reduce((sum, id) => sum + $(id).offsetHeight + 8, 0);
}

function layout() {
	const below = belowPx(), open = below > 0;
	document.body.classList.toggle("below", open);
	document.body.classList.toggle("inspected", !$("inspector").hidden);
	document.body.classList.toggle("sheet", ["tree", "topics", "work"].some(id => !$(id).hidden));
	document.documentElement.style.setProperty("--below", `${below}px`);
	document.documentElement.style.setProperty("--bar", `${$("bar").offsetHeight}px`);
	view.resize();
	camera.resize($("view").clientWidth, $("view").clientHeight);
	if (camera.keeps)
		show(camera.keeps);
	redraw();
}

// kept: the next page that this browser opens has it so, too
function togglePanel(id, others = [], kept = true) {
	const panel = $(id), on = panel.hidden;
	for (const other of on ? NARROW.matches ? SHEETS.filter(sheet => sheet !== id) : others : [])
		closePanel(other);
	panel.hidden = !on;
	$(`open-${id}`).setAttribute("aria-pressed", String(on));
	if (on)
		({tree: () => tree.fill(), topics: () => topics.fill(), work: () => work.shown()})[id]();
	layout();
	if (id === "work" && on)
		work.shown();
	if (kept)
		localStorage.setItem(`open-${id}`, on ? "1" : "");
}

function closePanel(id) {
	if (!$(id).hidden)
		togglePanel(id);
}

function toggleMenu(id) {
	for (const other of MENUS) {
		const on = other === id && $(`${other}-menu`).hidden;
		$(`${other}-menu`).hidden = !on;
		$(`open-${other}`).setAttribute("aria-expanded", String(on));
		if (on)
			$(`${other}-menu`).querySelector("button, select, input").focus();
	}
}

const panelKeys = {
	tree: () => togglePanel("tree", ["topics"]), topics: () => togglePanel("topics", ["tree"]), work: () => togglePanel("work"),
};
$("open-tree").addEventListener("click", panelKeys.tree);
$("open-topics").addEventListener("click", panelKeys.topics);
$("open-work").addEventListener("click", panelKeys.work);
$("open-add").addEventListener("click", () => toggleMenu("add"));
$("open-look").addEventListener("click", () => toggleMenu("look"));
$("open-more").addEventListener("click", () => toggleMenu("more"));
$("open-help").addEventListener("click", () => {
	toggleMenu(null);
	$("help").showModal();
});
$("tree").querySelector(".close").addEventListener("click", panelKeys.tree);
$("topics").querySelector(".close").addEventListener("click", panelKeys.topics);
$("lost-now").addEventListener("click", () => connection.open());
$("world").addEventListener("change", () => showWorld($("world").value, true));
for (const button of $("look-menu").querySelectorAll("[data-view]"))
	button.addEventListener("click", () => show(button.dataset.view));
$("view").addEventListener("pointerdown", () => toggleMenu(null));

// What has no room in the bar of a narrow screen stands in a menu there.
const homes = new Map(Object.keys(NARROW_MENU).map(id => {
	const home = document.createComment(id);
	$(id).before(home);
	return [id, home];
}));

function placeInBar() {
	for (const [id, home] of homes)
		if (NARROW.matches)
			$(NARROW_MENU[id]).append($(id));
		else
			home.after($(id));
	if (!NARROW.matches && !$("more-menu").hidden)
		toggleMenu(null);
}

NARROW.addEventListener("change", placeInBar);
placeInBar();

// What is shown: a control and what it does
const looks = {
	colour: value => { options.colour = value; world.repaint(); },
	sleep: value => { options.sleep = value; world.repaint(); },
	levels: value => { levels.group.visible = value; },
	ghosts: value => { levels.ghosts.visible = value; },
	contacts: value => touching.want("contacts", value),
	components: value => touching.want("components", value),
	shadows: value => view.showShadows(value),
	grid: value => view.showGrid(value),
	time: value => { $("time").hidden = !value; layout(); },
	figures: value => { $("figures").hidden = !value; layout(); },
	collisions: value => { options.collisions = value; world.remake(); },
	theme: value => {
		if (value)
			document.documentElement.dataset.theme = value;
		else
			delete document.documentElement.dataset.theme;
		localStorage.setItem("theme", value);
		retheme();
	},
};

function toggleColour() {
	const control = $("look-colour");
	control.value = options.colour === "secondary" ? "material" : "secondary";
	control.dispatchEvent(new Event("change"));
}

for (const [key, apply] of Object.entries(looks)) {
	const control = $(`look-${key}`);
	control.addEventListener("change", () => {
		apply(control.type === "checkbox" ? control.checked : control.value);
		redraw();
	});
}

function retheme() {
	view.theme();
	view.layGrid(world.extent());
	world.retheme();
	work.draw();
	redraw();
}

// --- keys ---------------------------------------------------------------------------------------------------------------------

const keys = {
	" ": () => (commands || recording) && time.toggle(), ".": () => (commands || recording) && time.step(), ",": () => recording && time.step(-1),
	"[": () => recording && timeline.find(true), "]": () => recording && timeline.find(false),
	h: () => show("home"), k: toggleColour, 7: () => show("top"), 1: () => show("front"), 3: () => show("side"),
	f: () => world.selected && toggleFollow(world.selected), m: () => world.selected && commands && handling.moveModel(world.selected),
	g: () => world.selected && commands && toggleDrive(world.selected),
	q: () => handling.turnModel(1), e: () => handling.turnModel(-1),
	Delete: () => world.selected && commands && remove(world.selected),
	t: panelKeys.tree, p: panelKeys.topics, c: panelKeys.work,
	a: () => commands && toggleMenu("add"), v: () => toggleMenu("look"),
	"?": () => $("help").showModal(),
	"/": () => { if ($("tree").hidden) panelKeys.tree(); $("tree-search").focus(); },
	"+": () => camera.zoom(1 / 1.2), "=": () => camera.zoom(1 / 1.2), "-": () => camera.zoom(1.2),
	ArrowLeft: event => arrow(event, -1, 0), ArrowRight: event => arrow(event, 1, 0),
	ArrowUp: event => arrow(event, 0, 1), ArrowDown: event => arrow(event, 0, -1),
	PageUp: () => handling.nudge(0, 0, 1), PageDown: () => handling.nudge(0, 0, -1),
	Enter: () => handling.placing && handling.place(null),
	Escape: escape,
};

// Moves the model that is being moved, or the camera
function arrow(event, right, up) {
	if (handling.moving)
		handling.nudge(right, up, 0);
	else if (event.shiftKey)
		camera.shift(right, up);
	else
		camera.turn(.08 * right, .06 * up);
}

function escape() {
	if (MENUS.some(id => !$(`${id}-menu`).hidden))
		toggleMenu(null);
	else if (handling.placing)
		handling.endPlacing();
	else if (handling.moving)
		handling.moveModel(handling.moving);
	else if (drive.topic)
		drive.end();
	else
		select(null, false);
	$("view").focus({preventScroll: true});
}

addEventListener("keydown", event => {
	const typing = event.target.closest("input, select, textarea, dialog");
	if (event.ctrlKey || event.metaKey || event.altKey || typing && event.key !== "Escape" || $("help").open)
		return;
	// space and enter press the button that has the focus
	if ((event.key === " " || event.key === "Enter") && event.target.closest("button"))
		return;
	if (gui.key(event) || drive.key(event, true)) {
		event.preventDefault();
		return;
	}
	const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
	if (!act)
		return;
	act(event);
	event.preventDefault();
	redraw();
});
addEventListener("keyup", event => drive.key(event, false));

// --- images ---------------------------------------------------------------------------------------------------------------------

function image(now_ms) {
	requestAnimationFrame(image);
	const moved = motion.glide(now_ms);
	if (moved) {
		levels.moveGhosts();
		touching.move();
	}
	if (moved || view.dirty)
		feet.lay(view.shadowsOn && view.scene.shadows);
	if (camera.update() || moved || view.dirty) {
		view.dirty = false;
		view.frameModel(world);
		view.draw(camera, world);
	}
}

const theme = localStorage.getItem("theme") || "";
if (theme)
	document.documentElement.dataset.theme = theme;
$("look-theme").value = theme;
for (const id of ["tree", "work"])
	if (localStorage.getItem(`open-${id}`) === "1" || localStorage.getItem(`open-${id}`) === null && id === "work" && !NARROW.matches)
		panelKeys[id]();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", retheme);
addEventListener("resize", layout);
const resizes = new ResizeObserver(layout);
resizes.observe($("work"));
resizes.observe($("bar"));
view.theme();
layout();
time.allow(false, false);
requestAnimationFrame(image);
connection.open();

// For the console of the browser, and for tests/web
globalThis.viewer = {camera, connection, feet, gui, lastStep: 0, lastTime: 0, levels, liveMarks, motion, own, pace, show, timeline, topics, touching, view, work, world};
