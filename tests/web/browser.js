// Shared by the scripts of this folder that open the viewer's page in a real browser (Chromium, by playwright-core) while
// troupe runs, and act on it as a person does: with pointer and keys. They print TAP.
const {chromium} = require("playwright-core");
const {spawn} = require("child_process");
const fs = require("fs");
const path = require("path");

const CHROMIUM = process.env.CHROMIUM || "/usr/bin/chromium";
const WIDTH = 1280, HEIGHT = 760;
const PATIENCE_MS = 60000;      // a machine without a graphics card, with other work to do, draws an image in a second
const LIMIT_MS = 540000;        // of a script
const IMAGE_MS = 80;           // from one image to the next

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

let count = 0, failed = 0, page = null, folder = ".", doing = "the browser starts", last = "none";
const children = new Set(), complaints = [];

function check(ok, what, detail) {
	count++;
	failed += ok ? 0 : 1;
	last = what;
	console.log(`${ok ? "ok" : "not ok"} ${count} - ${what}`);
	if (!ok && detail !== undefined)
		console.log(`  # ${String(detail).slice(0, 600)}`);
}

// The page whose picture is kept when a part fails.
function trouble(shown) {
	page = shown;
}

async function part(what, body) {
	doing = what;
	try {
		await body();
	} catch (error) {
		check(false, what, error.stack || error);
		if (page)
			await page.screenshot({path: path.join(folder, `failed-${count}.png`)}).catch(() => {});
	}
}

// --- troupe ---------------------------------------------------------------------------------------------------------

// Starts a troupe that serves browsers: program [options]. Returns {address, port, said(), end()}.
function start(program, options) {
	const child = spawn(program, options, {stdio: ["ignore", "pipe", "pipe"]});
	children.add(child);
	const ended = new Promise(resolve => child.on("exit", code => {
		children.delete(child);
		resolve(code);
	}));
	return new Promise((resolve, reject) => {
		let text = "";
		const hear = data => {
			text += data;
			const found = /(?:view: http|Foxglove: ws)s?:\/\/[\w.-]+:(\d+)\/\S*\n/.exec(text);
			if (found)
				resolve({address: found[0].trim().split(" ")[1], port: Number(found[1]), said: () => text, end: () => {
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

// Waits until the first world is there.
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

// Whether a model comes to rest: it has not moved in 0.3 s of simulated time. A busy machine takes long to tell troupe of a
// key that was let go.
async function rests(name) {
	const end_ms = Date.now() + PATIENCE_MS;
	while (Date.now() < end_ms) {
		const before = await model(name), time_s = await page.evaluate(() => viewer.lastTime);
		await until(time_s => viewer.lastTime > time_s + .3, time_s);
		const now = await model(name);
		if (Math.hypot(now.x - before.x, now.y - before.y) < .002)
			return true;
	}
	return false;
}

// Selects a model as a person does: by the search
async function select(name) {
	await page.focus("#view");
	await page.keyboard.press("/");
	await page.fill("#tree-search", name);
	await page.keyboard.press("Enter");
	await page.waitForSelector(`#inspector h1:text-is("${name}")`);
}

// Looks at a model from near by, and gives the place of its middle on the screen
async function lookAt(name) {
	await page.evaluate(name => {
		const model = [...viewer.world.models.values()].find(model => model.name === name), box = viewer.world.boxOf(model);
		box.expandByScalar(2);
		viewer.camera.show(box, "top");
	}, name);
	await cameraRests();
	return page.evaluate(name => {
		const model = [...viewer.world.models.values()].find(model => model.name === name), box = viewer.world.boxOf(model);
		const at = box.min.clone().add(box.max).multiplyScalar(.5).project(viewer.camera.three);
		return {x: (at.x + 1) / 2 * innerWidth, y: (1 - at.y) / 2 * innerHeight};
	}, name);
}

// Waits until two images have been drawn: matrices of the camera are made for an image, and a slow machine takes its time
// for one.
const cameraRests = () => page.evaluate(() => new Promise(resolve => {
	let images = 3;
	const next = () => images-- ? requestAnimationFrame(next) : resolve();
	next();
}));

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

// --- a script ---------------------------------------------------------------------------------------------------------

// Without a graphics card an image takes a processor a part of a second, and a page draws as many as it can while a part
// waits for something else. So it is given fewer.
function drawRarely(image_ms) {
	const draw = window.requestAnimationFrame.bind(window);
	window.requestAnimationFrame = body => setTimeout(draw, image_ms, body);
	window.cancelAnimationFrame = clearTimeout.bind(window);
}

// Runs the parts, functions of the browser's context, and ends the process. where: a folder for what the browser writes,
// and for pictures of what failed; more: options of the context.
async function main(where, parts, more = {}) {
	folder = where;
	const watch = setTimeout(() => {
		console.log(`Bail out! ${LIMIT_MS / 1000} s are over, in '${doing}'; the last check was: ${last}`);
		children.forEach(child => child.kill("SIGKILL"));
		process.exit(1);
	}, LIMIT_MS);
	const context = await chromium.launchPersistentContext(path.join(folder, "profile"), {executablePath: CHROMIUM, headless: true,
		viewport: {width: WIDTH, height: HEIGHT}, colorScheme: "light", args: flags, ...more});
	await context.addInitScript(drawRarely, IMAGE_MS);
	for (const each of parts)
		await part(each.name, () => each(context));
	check(complaints.length === 0, "the browser has no complaint", complaints.join("; "));
	await context.close();
	children.forEach(child => child.kill("SIGKILL"));
	clearTimeout(watch);
	console.log(`1..${count}`);
	console.log(`${count - failed} passed, ${failed} failed`);
	process.exit(failed ? 1 : 0);
}

module.exports = {HEIGHT, WIDTH, cameraRests, check, compare, complaints, lookAt, main, model, open, part, rests, select, settled, start, trouble, until};
