// Opens the viewer's page in a real browser (Chromium, by playwright-core) while troupe runs, and acts on it as a person
// does: with pointer and keys. Prints TAP.
//
//   node viewer.js TROUPE WORLDS PICTURE FOLDER [--update]
//
// WORLDS: the folder of the worlds; PICTURE: the kept picture of the demo's page, which --update makes anew; FOLDER: for
// what the browser writes, and for pictures of what failed.
const {chromium} = require("playwright-core");
const {spawn, spawnSync} = require("child_process");
const fs = require("fs");
const path = require("path");

const [troupe, worlds, kept, folder, update] = process.argv.slice(2);
const CHROMIUM = process.env.CHROMIUM || "/usr/bin/chromium";
const WIDTH = 1280, HEIGHT = 760;
const PATIENCE_MS = 60000;      // a machine without a graphics card, with other work to do, draws an image in a second
const STEP = 20000;             // of the kept picture: the world's time is then 20 s
const HOSTILE = "<img src=x onerror=globalThis.hacked=1>\u202e\"'`";

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

let count = 0, failed = 0, page = null;
const children = new Set();

function check(ok, what, detail) {
	count++;
	failed += ok ? 0 : 1;
	console.log(`${ok ? "ok" : "not ok"} ${count} - ${what}`);
	if (!ok && detail !== undefined)
		console.log(`  # ${String(detail).slice(0, 600)}`);
}

async function part(what, body) {
	try {
		await body();
	} catch (error) {
		check(false, what, error.stack || error);
		if (page)
			await page.screenshot({path: path.join(folder, `failed-${count}.png`)}).catch(() => {});
	}
}

// --- troupe ---------------------------------------------------------------------------------------------------------

// port: 0: any
function run(world, port, ...options) {
	return start(["run", path.join(worlds, world), "--view-address", String(port), "--no-gz", ...options]);
}

// Starts a troupe that serves a page. Returns {address, port, end()}.
function start(options) {
	const child = spawn(troupe, options, {stdio: ["ignore", "pipe", "pipe"]});
	children.add(child);
	const ended = new Promise(resolve => child.on("exit", code => {
		children.delete(child);
		resolve(code);
	}));
	return new Promise((resolve, reject) => {
		let text = "";
		const hear = data => {
			text += data;
			const found = /view: (http:\/\/127\.0\.0\.1:(\d+)\/)/.exec(text);
			if (found)
				resolve({address: found[1], port: Number(found[2]), end: () => {
					child.kill("SIGINT");
					return ended;
				}});
		};
		child.stdout.on("data", hear);
		child.stderr.on("data", hear);
		ended.then(code => reject(new Error(`troupe ended with status ${code}: ${text}`)));
	});
}

// --- the page ---------------------------------------------------------------------------------------------------------

const complaints = [];

async function open(context, address) {
	page = await context.newPage();
	page.setDefaultTimeout(PATIENCE_MS);
	page.on("pageerror", error => complaints.push(error.message));
	// without troupe the browser complains about the WebSocket, as it should
	page.on("console", message => message.type() === "error" && !/WebSocket/.test(message.text()) && complaints.push(message.text()));
	await page.goto(address);
	await page.waitForFunction(() => globalThis.viewer && viewer.world.models.size > 0 && viewer.levels.known);
	return page;
}

const until = (body, argument) => page.waitForFunction(body, argument, {timeout: PATIENCE_MS, polling: 100});

function model(name) {
	return page.evaluate(name => {
		const found = [...viewer.world.models.values()].find(model => model.name === name);
		if (!found)
			return null;
		const {position} = viewer.world.poseOf(found);
		return {id: found.id, secondary: found.secondary, asleep: found.asleep, x: position.x, y: position.y, z: position.z};
	}, name);
}

// Looks at a model from near by, and gives the place of its middle on the screen
async function lookAt(name) {
	await page.evaluate(name => {
		const model = [...viewer.world.models.values()].find(model => model.name === name), box = viewer.world.boxOf(model);
		box.expandByScalar(2);
		viewer.camera.show(box, "top");
	}, name);
	await page.waitForTimeout(1500);
	return page.evaluate(name => {
		const model = [...viewer.world.models.values()].find(model => model.name === name), box = viewer.world.boxOf(model);
		const at = box.min.clone().add(box.max).multiplyScalar(.5).project(viewer.camera.three);
		return {x: (at.x + 1) / 2 * innerWidth, y: (1 - at.y) / 2 * innerHeight};
	}, name);
}

const settled = () => page.evaluate(() => new Promise(resolve => {
	const look = () => viewer.motion.gliding.size || viewer.view.dirty ? setTimeout(look, 100) : requestAnimationFrame(() => requestAnimationFrame(resolve));
	setTimeout(look, 300);
}));

// --- pictures ---------------------------------------------------------------------------------------------------------

// The browser decodes both. Returns the part of pixels that differ by more than 24 of 255, above y, beside the bar.
async function compare(context, one, two, rows) {
	const blank = await context.newPage();
	const result = await blank.evaluate(async ({one, two, rows}) => {
		const decode = async base64 => {
			const image = new Image();
			image.src = `data:image/png;base64,${base64}`;
			await image.decode();
			const canvas = document.createElement("canvas");
			canvas.width = image.width;
			canvas.height = image.height;
			canvas.getContext("2d").drawImage(image, 0, 0);
			return canvas.getContext("2d").getImageData(0, 0, image.width, image.height);
		};
		const a = await decode(one), b = await decode(two);
		if (a.width !== b.width || a.height !== b.height)
			return {differ: 1, why: `${a.width}x${a.height}, ${b.width}x${b.height}`};
		let differ = 0, sum = 0;
		const colours = new Set();
		for (let i = 4 * a.width * rows[0]; i < 4 * a.width * rows[1]; i += 4) {
			const most = Math.max(Math.abs(a.data[i] - b.data[i]), Math.abs(a.data[i + 1] - b.data[i + 1]), Math.abs(a.data[i + 2] - b.data[i + 2]));
			differ += most > 24;
			sum += most;
			colours.add(a.data[i] >> 4 << 8 | a.data[i + 1] >> 4 << 4 | a.data[i + 2] >> 4);
		}
		const pixels = a.width * (rows[1] - rows[0]);
		return {differ: differ / pixels, mean: sum / pixels, colours: colours.size};
	}, {one: one.toString("base64"), two: two.toString("base64"), rows});
	await blank.close();
	return result;
}

// --- the demo -----------------------------------------------------------------------------------------------------------

async function demo(context) {
	// a pause at the step of the kept picture, and no commands after it: a paused world goes on counting steps
	const commands = fs.readFileSync(path.join(worlds, "warehouse.commands"), "utf8").split("\n");
	const at = commands.findIndex(line => Number(line.split(" ")[0]) > STEP);
	commands.splice(at, Infinity, `${STEP} /world/warehouse/control pause: true`);
	fs.writeFileSync(path.join(folder, "demo.commands"), commands.join("\n"));
	const world = await run("warehouse.sdf", 0, "--commands", path.join(folder, "demo.commands"), "--secondaries", "3", "--rtf", "2");
	await open(context, world.address);

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
		await page.keyboard.press("/");
		await page.keyboard.type("cart_5");
		await page.keyboard.press("Enter");
		check(await page.innerText("#inspector h1") === "cart_5", "the search finds the cart");
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
		await page.waitForTimeout(2500);
		const first = await model("cart_5");
		await page.waitForTimeout(1000);
		const second = await model("cart_5");
		check(Math.hypot(second.x - first.x, second.y - first.y) < .05, "and stops when it is let go", JSON.stringify([first, second]));
		await page.keyboard.press(" ");
		await until(() => document.getElementById("play").getAttribute("aria-label") === "Play");
		check(true, "the space key pauses");
		await page.keyboard.press("Escape");
	});

	await part("models come, move and go", async () => {
		await page.keyboard.press("Escape");
		await page.evaluate(() => viewer.camera.show(viewer.world.extent(), "top"));
		await page.waitForTimeout(1000);
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
		await page.keyboard.press("Escape");
		await page.keyboard.press("Delete");
		await until(() => ![...viewer.world.models.values()].some(model => model.name === "box"));
		check(true, "it can be removed");
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
		await page.waitForTimeout(800);
		check(await page.evaluate(() => document.documentElement.scrollWidth <= 390 && document.getElementById("bar").getBoundingClientRect().right <= 390),
			"the page is not wider than a small screen");
		check(await page.evaluate(() => [...document.querySelectorAll("button, input, select")].every(control =>
			control.textContent.trim() || control.getAttribute("aria-label") || control.title || control.closest("label"))), "each control has a name");
		await page.setViewportSize({width: WIDTH, height: HEIGHT});
		await page.focus("#view");
		await page.keyboard.press("?");
		check(await page.isVisible("#help"), "? shows the keys");
		await page.keyboard.press("Escape");
		await page.emulateMedia({colorScheme: "dark"});
		await page.waitForTimeout(500);
		const [red, green, blue] = await page.evaluate(() => viewer.view.three.background.toArray());
		check(red + green + blue < .6, "the world is dark when the system is");
		await page.emulateMedia({colorScheme: "light"});
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
	await open(context, world.address);
	await part("sensors are shown", async () => {
		await page.keyboard.press("/");
		await page.keyboard.type("scout_0");
		await page.keyboard.press("Enter");
		await page.click("#inspector li:has-text('lidar/scan') >> nth=0 >> button");
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
	const shown = await start(["view", file, "--view-address", "0"]);
	await open(context, shown.address);
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
		await page.focus("#view");
		await page.keyboard.press(" ");
		await until(() => viewer.timeline.state.step > 1100);
		check(true, "it plays");
	});
	await shown.end();
	await page.close();
}

(async () => {
	const watch = setTimeout(() => {
		console.log("Bail out! the time is over");
		children.forEach(child => child.kill("SIGKILL"));
		process.exit(1);
	}, 540000);
	const context = await chromium.launchPersistentContext(path.join(folder, "profile"), {executablePath: CHROMIUM, headless: true,
		viewport: {width: WIDTH, height: HEIGHT}, colorScheme: "light", args: flags});
	for (const each of [demo, sensors, recording])
		await part(each.name, () => each(context));
	check(complaints.length === 0, "the browser has no complaint", complaints.join("; "));
	await context.close();
	children.forEach(child => child.kill("SIGKILL"));
	clearTimeout(watch);
	console.log(`1..${count}`);
	console.log(`${count - failed} passed, ${failed} failed`);
	process.exit(failed ? 1 : 0);
})();
