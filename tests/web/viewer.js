// Opens the viewer's page in a real browser while troupe runs: the demo, a lidar, a recording. Prints TAP.
//
//   node viewer.js TROUPE WORLDS PICTURE FOLDER [--update]
//
// WORLDS: the folder of the worlds; PICTURE: the kept picture of the demo's page, which --update makes anew; FOLDER: for
// what the browser writes, and for pictures of what failed.
const {HEIGHT, WIDTH, cameraRests, check, compare, lookAt, main, model, open, part, rests, select, settled, start, until} = require("./browser.js");
const {spawn, spawnSync} = require("child_process");
const fs = require("fs");
const path = require("path");

const [troupe, worlds, kept, folder, update] = process.argv.slice(2);
let page = null;                // of the demo
const TIME_S = 20;              // of the kept picture
const HOSTILE = "<img src=x onerror=globalThis.hacked=1>\u202e\"'`";

// port: 0: any
function run(world, port, ...options) {
	return start(troupe, ["run", path.join(worlds, world), "--view-address", String(port), "--no-gz", ...options]);
}

// Drags the box that is being moved while troupe is slow to answer: nothing that is done meanwhile is lost.
async function answersLate() {
	const grip = await lookAt("box"), before = await model("box");
	await page.evaluate(() => {
		const {connection} = viewer, call = connection.call;
		globalThis.late = {poses: [], held: []};
		connection.call = async function(service, message) {
			const reply = await call.call(this, service, message);
			if (/\/set_pose$/.test(service) && late.poses.push(message.position) && late.held)
				await new Promise(go => late.held.push(go));
			return reply;
		};
	});
	await page.mouse.move(grip.x, grip.y);
	await page.mouse.down();
	await page.mouse.move(grip.x - 60, grip.y, {steps: 4});
	await page.mouse.up();
	await page.keyboard.press("PageUp");
	await page.keyboard.press("PageUp");
	await until(() => late.held.length > 0);
	await page.evaluate(() => {
		const {held} = late;
		late.held = null;
		held.forEach(go => go());
	});
	await until(before => {
		const box = [...viewer.world.models.values()].find(({name}) => name === "box"), shown = viewer.world.poseOf(box).position, {x, z} = late.poses[late.poses.length - 1];
		return Math.abs(x - before.x) > .2 && Math.abs(z - before.z - .2) < .02 && Math.hypot(shown.x - x, shown.z - z) < .01;
	}, before);
	check(true, "what is done before troupe has answered is not lost");
}

// --- the demo -----------------------------------------------------------------------------------------------------------

async function demo(context) {
	// a pause at the time of the kept picture, and no commands after it. All carts are told to stop there, or they would go
	// on as they were told last, and push the one that is driven.
	const commands = fs.readFileSync(path.join(worlds, "warehouse.commands"), "utf8").split("\n");
	const at = commands.findIndex(line => Number(line.split(" ")[0]) > TIME_S);
	const carts = new Set(commands.slice(0, at).map(line => line.split(" ")[1]).filter(topic => /^\/model\/[^/]+\/cmd_vel$/.test(topic)));
	commands.splice(at, Infinity, ...[...carts].map(topic => `${TIME_S} ${topic} linear: {x: 0}`), `${TIME_S} /world/warehouse/control pause: true`);
	fs.writeFileSync(path.join(folder, "demo.commands"), commands.join("\n"));
	const world = await run("warehouse.sdf", 0, "--commands", path.join(folder, "demo.commands"), "--secondaries", "3", "--rtf", "1");
	page = await open(context, world.address);

	await part("the world of the demo is there", async () => {
		check(await page.title() === "warehouse – troupe", "the title names the world");
		check(await page.evaluate(() => viewer.world.models.size) >= 140, "its models are there");
		check(await page.evaluate(() => viewer.levels.levels.size) === 36, "its levels are there", await page.evaluate(() => viewer.levels.levels.size));
		check(await page.evaluate(() => [...viewer.world.batches.all.values()].length) <= 6, "equal shapes are drawn together");
	});

	await part("the picture is the kept one", async () => {
		const before = await page.evaluate(() => [...viewer.levels.levels.values()].filter(level => level.loaded).length);
		await until(() => document.getElementById("figure-time").textContent === "20.00 s" && document.getElementById("figure-speed").textContent === "paused");
		await settled();
		await page.evaluate(() => viewer.show("first"));   // as a person sees it who opens the page now
		await settled();
		await page.waitForTimeout(3000);
		const taken = await page.screenshot();
		if (update) {
			fs.writeFileSync(kept, taken);
			console.log(`# wrote ${kept}`);
		}
		const rows = [64, 600], {differ, mean, colours, why} = await compare(context, taken, fs.readFileSync(kept), rows);
		check(differ < .02, "the picture at 20 s is the kept one", why || `${(100 * differ).toFixed(2)} % of its pixels differ, by ${mean} on average`);
		if (differ >= .02)
			fs.writeFileSync(path.join(folder, "taken.png"), taken);
		check(colours > 40, "and it is not empty", `${colours} colours`);
		check(await page.evaluate(() => viewer.pace.samples.length > 4 && /steps\/s/.test(viewer.work.speed.what.innerText)), "the speed has a chart");
		const events = await page.evaluate(() => viewer.work.events.map(event => event.kind));
		check(before > 0 && events.includes("load"), "levels were seen to load", events.length);
		check(events.includes("move"), "models were seen to move to another secondary", events.length);
	});

	await part("a cart is picked and driven", async () => {
		const at = await lookAt("cart_5");
		await page.mouse.click(at.x, at.y);
		await page.waitForSelector("#inspector h1");
		const picked = await page.innerText("#inspector h1");
		check(/^(cart_5|tote_\d+)$/.test(picked), "a click picks what is there", picked);
		await select("cart_5");
		check(true, "the search finds the cart");
		await until(() => /left_wheel_joint/.test(document.getElementById("inspector").innerText));
		check(true, "the inspector has its joints");
		const before = await model("cart_5");
		await page.focus("#view");
		await page.keyboard.press(" ");
		await page.keyboard.press("g");
		check(await page.isVisible("#drive-pad"), "the pad is there");
		await page.keyboard.down("s");
		await until(before => {
			const model = [...viewer.world.models.values()].find(model => model.name === "cart_5"), {position} = viewer.world.poseOf(model);
			return Math.hypot(position.x - before.x, position.y - before.y) > .4;
		}, before);
		await page.keyboard.up("s");
		check(true, "the cart drives while the key is held");
		check(await rests("cart_5"), "and stops when it is let go");
		await page.keyboard.press(" ");
		await until(() => document.getElementById("play").getAttribute("aria-label") === "Play");
		check(true, "the space key pauses");
		await page.keyboard.press("Escape");
	});

	await part("models come, move and go", async () => {
		await page.keyboard.press("Escape");
		await page.evaluate(() => viewer.camera.show(viewer.world.extent(), "top"));
		await cameraRests();
		await page.click("#open-add");
		await page.click("#add-menu [data-shape=box]");
		await page.mouse.click(WIDTH / 2, 110);
		await until(() => [...viewer.world.models.values()].some(model => model.name === "box"));
		check(true, "a box is added where the click was");
		const at = await lookAt("box");
		await page.mouse.click(at.x, at.y);
		await page.waitForSelector("#inspector h1");
		check(await page.innerText("#inspector h1") === "box", "it can be picked");
		const before = await model("box"), grip = await lookAt("box");
		await page.keyboard.press("m");
		await page.mouse.move(grip.x, grip.y);
		await page.mouse.down();
		await page.mouse.move(grip.x + 60, grip.y + 5, {steps: 4});
		await page.mouse.up();
		await until(before => {
			const model = [...viewer.world.models.values()].find(model => model.name === "box");
			return Math.abs(viewer.world.poseOf(model).position.x - before.x) > .2;
		}, before);
		check(true, "it can be dragged");
		const dragged = await model("box");
		await page.keyboard.press("PageUp");
		await until(z => {
			const model = [...viewer.world.models.values()].find(model => model.name === "box");
			return viewer.world.poseOf(model).position.z > z + .05;
		}, dragged.z);
		check(true, "and moved by a key");
		await answersLate();
		await page.keyboard.press("Escape");
		await page.keyboard.press("Delete");
		await until(() => ![...viewer.world.models.values()].some(model => model.name === "box"));
		check(true, "it can be removed");
		await until(() => document.getElementById("inspector").hidden);
		check(await page.evaluate(() => viewer.world.selected === null), "and nothing is selected any more");
	});

	await part("a hostile name is only text", async () => {
		const sdf = `<sdf version="1.9"><model name="${HOSTILE.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/"/g, "&quot;")}"><static>true</static><link name="l"/></model></sdf>`;
		const outcome = await page.evaluate(sdf => viewer.connection.call("/world/warehouse/create", {sdf}).then(() => "", error => error.message), sdf);
		if (outcome === "")
			await until(() => [...viewer.world.models.values()].some(model => model.name.includes("onerror")));
		else
			await page.evaluate(text => viewer.connection.events.error(text), `refused: ${HOSTILE}`);
		await page.fill("#tree-search", outcome === "" ? "onerror" : HOSTILE);
		await page.waitForTimeout(500);
		check(await page.evaluate(() => !document.querySelector("img") && globalThis.hacked === undefined), "no name becomes an element", outcome);
		await page.fill("#tree-search", "");
	});

	await part("a refusal is legible", async () => {
		await page.evaluate(() => viewer.connection.call("/world/warehouse/remove", {name: "nobody", type: "MODEL"}).catch(error => viewer.connection.events.error(error.message)));
		await page.waitForSelector(".notice.bad:has-text('nobody')");
		check(true, "troupe's reason is on the page");
	});

	await part("small screens and keys", async () => {
		await page.keyboard.press("Escape");
		await page.setViewportSize({width: 390, height: 760});
		await until(() => innerWidth === 390);
		check(await page.evaluate(() => document.documentElement.scrollWidth <= 390 && document.getElementById("bar").getBoundingClientRect().right <= 390),
			"the page is not wider than a small screen");
		check(await page.evaluate(() => [...document.querySelectorAll("button, input, select")].every(control =>
			control.textContent.trim() || control.getAttribute("aria-label") || control.title || control.closest("label"))), "each control has a name");
		await page.setViewportSize({width: 360, height: 640});
		await until(() => innerWidth === 360 && document.getElementById("bar").offsetHeight < 100);
		check(await page.isVisible("#speed") && await page.isVisible("#open-work"), "two rows have all that is needed");
		const sheets = () => page.evaluate(() => ["tree", "topics", "work", "inspector"].filter(id => document.getElementById(id).offsetHeight > 0).join());
		await page.click("#open-topics");
		await page.click("#open-tree");
		check(await sheets() === "tree", "one panel is open at a time", await sheets());
		await page.click("#tree-list .entry >> nth=2");
		await page.waitForSelector("#inspector h1");
		check(await sheets() === "inspector", "the inspector is one of them", await sheets());
		await page.click("#open-work");
		check(await sheets() === "work", "a later panel is not behind it", await sheets());
		await page.click("#open-look");
		check(await page.evaluate(() => document.getElementById("look-menu").getBoundingClientRect().top >= document.getElementById("bar").getBoundingClientRect().bottom),
			"a menu covers no button");
		await page.keyboard.press("Escape");
		check(!await page.isVisible("#step-count") && !await page.isVisible("#open-help"), "what has no room is in a menu");
		await page.click("#open-more");
		check(await page.isVisible("#step-count") && await page.isVisible("#figure-step"), "which has the number of steps");
		await page.fill("#step-count", "3");
		const time_s = await page.evaluate(() => viewer.lastTime);
		await page.click("#step");
		await until(time_s => viewer.lastTime > time_s, time_s);
		await page.click("#open-help");
		check(await page.isVisible("#help"), "and the keys");
		await page.keyboard.press("Escape");
		await page.setViewportSize({width: WIDTH, height: HEIGHT});
		await page.fill("#step-count", "1");
		check(await page.evaluate(() => document.getElementById("steps").closest("#time") && document.getElementById("open-help").closest("#menus") &&
			document.getElementById("more-menu").hidden), "on a wide screen all is in the bar");
		for (const width of [360, WIDTH]) {
			await page.setViewportSize({width, height: HEIGHT});
			await until(width => innerWidth === width && document.getElementById("bar").offsetHeight < (width === 360 ? 100 : 60), width);
		}
		check(true, "the bar is as high as its rows");
		await page.focus("#view");
		const eye = () => page.evaluate(() => viewer.camera.target.toArray().join());
		const where = await eye();
		await page.keyboard.press("Shift+ArrowRight");
		check(await eye() !== where, "keys shift the view");
		await page.keyboard.press("?");
		check(await page.isVisible("#help"), "? shows the keys");
		await page.keyboard.press("Escape");
		await page.emulateMedia({colorScheme: "dark"});
		await until(() => viewer.view.three.background.toArray().reduce((sum, value) => sum + value) < .6);
		check(true, "the world is dark when the system is");
		await page.emulateMedia({colorScheme: "light"});
	});

	await part("back to the start", async () => {
		if (await page.evaluate(() => document.getElementById("play").getAttribute("aria-label") === "Pause"))
			await page.click("#play");
		await page.click("#reset");
		await until(() => viewer.lastTime < .001);
		await settled();
		const before = await model("cart_12");
		await page.click("#play");
		await until(() => viewer.lastTime > 1.5);
		const now = await model("cart_12"), way = Math.hypot(now.x - before.x, now.y - before.y);
		check(way > 1 && way < 6, "the carts are driven again", way);
	});

	await part("the connection is cut and restored", async () => {
		await world.end();
		await page.waitForSelector("#lost:not([hidden])");
		const text = await page.innerText("#lost");
		check(/(lost|ended)/.test(text) && /next try/.test(text), "the page says that troupe is gone", text);
		check(await page.evaluate(() => viewer.world.models.size) > 100, "the world stays on the screen");
		const again = await run("warehouse.sdf", world.port, "--secondaries", "2", "--paused");
		await until(() => document.getElementById("lost").hidden && viewer.world.models.size > 100 && viewer.levels.known);
		check(await page.evaluate(() => !document.getElementById("play").disabled), "and is back when troupe is");
		await again.end();
	});
	await page.close();
}

// --- sensors --------------------------------------------------------------------------------------------------------------

async function sensors(context) {
	const world = await run("lidar.sdf", 0, "--rtf", "1", "--secondaries", "2");
	const page = await open(context, world.address);
	await part("sensors are shown", async () => {
		await select("scout_0");
		await page.click("#inspector .sensor button:text-is('Scan') >> nth=0");
		await until(() => viewer.topics.group.children.some(part => part.geometry.attributes.position && part.geometry.attributes.position.count > 20));
		check(true, "the beams of a lidar are in the world");
		await page.click("#inspector li:has-text('odometry') button");
		await until(() => document.querySelectorAll(".shown option").length > 2);
		check(true, "a topic's numbers can be plotted");
	});
	await world.end();
	await page.close();
}

// --- a recording ------------------------------------------------------------------------------------------------------------

async function recording(context) {
	if (/no such command/.test(spawnSync(troupe, ["view", "--help"]).stderr)) {
		console.log("skipped: a recording in the browser: this troupe has no command view");
		return;
	}
	const file = path.join(folder, "jam.recording");
	await new Promise((resolve, reject) => spawn(troupe, ["run", path.join(worlds, "jam.sdf"), "--commands", path.join(worlds, "jam.commands"),
		"--iterations", "3000", "--record", file, "--no-gz", "--secondaries", "2"], {stdio: "ignore"}).on("exit", code => code ? reject(new Error(`status ${code}`)) : resolve()));
	const shown = await start(troupe, ["view", file, "--view-address", "0"]);
	const page = await open(context, shown.address);
	await part("a recording is played and scrubbed", async () => {
		await page.waitForSelector("#timeline:not([hidden])");
		check(await page.isHidden("#reset"), "what changes the world is not offered");
		const seek = step => page.evaluate(step => {
			const seek = document.getElementById("seek");
			seek.value = step;
			seek.dispatchEvent(new Event("input"));
		}, step);
		const poses = () => page.evaluate(() => [...viewer.world.poses].map(([id, pose]) => `${id} ${[...pose]}`).sort().join());
		const there = step => until(step => viewer.timeline.state.step === step && !viewer.timeline.state.seeking && viewer.lastStep === step, step);
		await seek(1000);
		await there(1000);
		const first = await poses();
		await seek(2500);
		await there(2500);
		check(await poses() !== first, "a later step looks different");
		await seek(1000);
		await there(1000);
		check(await poses() === first, "a step back shows the same state");
		check(!await page.evaluate(() => viewer.timeline.state.text), "its hash is the recorded one", await page.evaluate(() => viewer.timeline.state.text));
		const text = await page.evaluate(() => {
			viewer.timeline.seek(2600);
			return document.getElementById("seek-text").textContent;
		});
		check(/^going to step 2\s600, at [\d\s]+ of 3\s000$/.test(text), "the page says how far a jump has come", text);
		await there(2600);
		// a jump that has taken long already gives way to another one
		await page.evaluate(() => {
			viewer.timeline.state.seeking = true;
			viewer.timeline.sent_ms = performance.now() - 2000;
			viewer.timeline.seek(1000);
		});
		await there(1000);
		check(true, "another step ends a jump that takes long");
		await page.focus("#view");
		await page.keyboard.press(" ");
		await until(() => viewer.timeline.state.step > 1100);
		check(true, "it plays");
		check(await page.inputValue("#speed") === "1", "the page says how fast");
	});
	await shown.end();
	await page.close();
}

// Boxes that fall upon one another
async function events(context) {
	const file = path.join(folder, "heap.recording");
	const create = "sdf: \"<sdf version='1.9'><model name='late'><static>true</static><pose>50 50 0 0 0 0</pose><link name='l'/></model></sdf>\"";
	fs.writeFileSync(path.join(folder, "heap.commands"), `40 /world/heap/create ${create}\n`);
	spawnSync(troupe, ["run", path.join(worlds, "heap.sdf"), "--commands", path.join(folder, "heap.commands"), "--iterations", "300", "--record", file, "--record-every", "100", "--no-gz", "--secondaries", "2"]);
	const hashes = spawnSync(troupe, ["replay", file, "-v", "3"]).stdout.toString();
	const shown = await start(troupe, ["view", file, "--view-address", "0", "--secondaries", "2", "--mark", `150:${HOSTILE}`, "--mark", "200"]);
	const page = await open(context, shown.address);
	const rest = async act => {
		await act();
		await page.waitForTimeout(200);
		await until(() => !viewer.timeline.state.seeking && viewer.timeline.state.hash === document.getElementById("seek-hash").textContent);
		return page.evaluate(() => viewer.timeline.state.step);
	};
	await part("a recording's moves and contacts are found", async () => {
		await page.waitForSelector("#timeline:not([hidden])");
		const moved = await rest(() => page.click("#seek-on"));
		check(moved > 0 && moved < 300, "the next move is shown", moved);
		await page.selectOption("#seek-event", "contact");
		await page.focus("#view");
		await rest(() => page.evaluate(() => viewer.timeline.seek(100)));
		const before = await rest(() => page.keyboard.press("["));
		check(before > 0 && before < 100, "and the contact before a step", before);
		const again = await rest(() => page.keyboard.press(","));
		check(again === before - 1, "one step back", again);
		check(await rest(() => page.keyboard.press("]")) === before, "the same contact is found from there");
		await page.fill("#step-count", String(200 - before));
		const step = await rest(() => page.click("#step"));
		const hash = await page.innerText("#seek-hash");
		check(step === 200 && hashes.includes(`hash 200 ${hash}`), "many steps on; the hash is the recorded one", `${step} ${hash} ${hashes}`);
		await rest(() => page.evaluate(() => viewer.timeline.seek(0)));
		await page.click("#seek-back");
		await page.waitForSelector(".notice:has-text('before step 0 no contact begins')");
		check(true, "the page says that there is none");
	});
	await part("the time line has marks", async () => {
		const marks = kind => page.$$eval(`#seek-marks .mark.${kind}`, all => all.map(({title, dataset}) => ({title, step: Number(dataset.step)})));
		const found = await marks("found");
		check(JSON.stringify(found.map(({step}) => step)) === "[150,200]" && /^step 150: found: <img src=x/.test(found[0].title) && found[1].title === "step 200: found",
			"of what was found, with its text", JSON.stringify(found));
		const commands = await marks("command");
		check(commands.length === 1 && commands[0].step === 40 && /^step 40: command: .*\/create$/.test(commands[0].title), "of commands", JSON.stringify(commands));
		check((await marks("contact")).length === 0, "of no contacts, until they are asked for");
		await page.evaluate(() => viewer.timeline.takeMarks({losses: [{step: 60, text: "secondary 2 lost"}],
			members: [{step: 90, text: "secondary 2 came"}], found: viewer.timeline.marks.all.get("found"), commands: viewer.timeline.marks.all.get("command")}));
		const lost = await marks("loss"), came = await marks("join");
		check(lost.length === 1 && lost[0].title === "step 60: lost secondary: secondary 2 lost" && came.length === 1 &&
			came[0].title === "step 90: secondary that came: secondary 2 came", "of secondaries that were lost or came", JSON.stringify([lost, came]));
		await page.click("#seek-mark");
		await until(() => document.querySelector("#seek-marks .mark.contact") && !viewer.timeline.state.seeking);
		const contacts = await marks("contact");
		await rest(() => page.evaluate(() => viewer.timeline.seek(0)));
		await page.selectOption("#seek-event", "contact");
		const first = await rest(() => page.click("#seek-on"));
		check(contacts[0].step === first && /^step \d+: .*contact/.test(contacts[0].title), "then the first is where a search finds it", `${first} ${JSON.stringify(contacts)}`);
		await rest(() => page.click("#seek-marks .mark.found >> nth=0"));
		check(await page.evaluate(() => viewer.timeline.state.step) === 150, "a click goes there");
		check(await page.evaluate(() => globalThis.hacked === undefined), "and a text is only text");
		await select("late");
		await page.click("#seek-mark");
		await until(() => !document.querySelector("#seek-marks .mark.contact") && !viewer.timeline.state.seeking);
		check(true, "with a model selected they are those of the model");
	});
	await shown.end();
	const bad = spawnSync(troupe, ["view", file, "--mark", "x"]).stderr.toString();
	check(/mark 'x': expected STEP or STEP:TEXT/.test(bad), "a mark that is none is refused", bad);
	await page.close();
}

// Requests of a run have marks, too; so have secondaries that are lost or come.
async function live(context) {
	const world = await run("warehouse.sdf", 0, "--paused"), page = await open(context, world.address);
	await part("a run has marks", async () => {
		await page.evaluate(() => viewer.connection.call("/world/warehouse/control", {multiStep: 300, pause: true}));
		await until(() => viewer.lastStep >= 300);
		await page.evaluate(() => viewer.connection.call("/world/warehouse/set_pose", {name: "cart_5", position: {z: 3}}));
		await page.waitForSelector("#live-marks .mark.command[title*='set_pose']");
		check(true, "of requests");
		const change = {what: "lost", who: "secondary 2 (here)", step: 290};
		await page.evaluate(change => viewer.levels.take({step: 300, change: [change, {...change, what: "came", step: 295}]}), change);
		await page.waitForSelector("#live-marks:not([hidden]) .mark.loss[title^='step 290: lost secondary: secondary 2 (here) lost']");
		await page.waitForSelector("#live-marks .mark.join[title^='step 295']");
		await page.click("#live-marks .mark.loss");
		await page.waitForSelector(".notice:has-text('secondary 2 (here) lost')");
		check(true, "and of losses and joins, with what they are");
		await page.evaluate(() => {
			for (let step = 1; step < 2000; step++)
				viewer.liveMarks.add("contact", {step: 10 * step, text: "x"});
		});
		check(await page.evaluate(() => viewer.liveMarks.count) < 300, "but not too many", await page.evaluate(() => viewer.liveMarks.count));
	});
	await world.end();
	await page.close();
}

main(folder, [demo, sensors, recording, events, live]);
