// Opens the viewer's page in a real browser while troupe runs a world with panels of the user. Prints TAP.
//
//   node own.js TROUPE EXAMPLE FOLDER
const {check, main, model, open, part, rests, select, start, until} = require("./browser.js");
const {spawnSync} = require("child_process");
const fs = require("fs");
const path = require("path");

const [troupe, example, folder] = process.argv.slice(2);

const WORLD = path.join(folder, "panel.sdf");
fs.writeFileSync(WORLD, `<?xml version="1.0"?><sdf version="1.9"><world name="w"><physics type="ode"><max_step_size>0.001</max_step_size></physics>
	<model name="floor"><static>true</static><link name="l"><collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>
	<model name="cart"><pose>0 0 0.2 0 0 0</pose><link name="l"><collision name="c"><geometry><box><size>0.6 0.4 0.2</size></box></geometry></collision></link>
	<plugin filename="gz-sim-velocity-control-system" name="gz::sim::systems::VelocityControl"/></model></world></sdf>`);

// A folder with these files
function panel(name, files) {
	const at = path.join(folder, name);
	for (const [file, text] of Object.entries(files)) {
		fs.mkdirSync(path.dirname(path.join(at, file)), {recursive: true});
		fs.writeFileSync(path.join(at, file), text);
	}
	return at;
}

const run = (...options) => start(troupe, ["run", WORLD, "--no-gz", "--rtf", "1", ...options]);

async function frameOf(page, title) {
	const handle = await page.waitForSelector(`.own iframe[title="${title}"]`);
	return handle.contentFrame();
}

async function shows(context) {
	const {address, end} = await run("--view-address", "0", "--token", "--view-panel", example);
	const page = await open(context, address);
	await part("the example of the pages", async () => {
		const frame = await frameOf(page, "panel");
		await frame.waitForFunction(() => Number(document.getElementById("time").textContent) > 0);
		check(true, "a panel hears a topic, also where a token is asked for");
		check(await frame.textContent("#name") === "nothing is selected" && await frame.isDisabled("#stop"), "nothing is selected at first");
		await select("cart");
		await frame.waitForFunction(() => document.getElementById("name").textContent === "cart" && !document.getElementById("stop").disabled);
		check(true, "it is told of the selection, and of topics");
		await page.evaluate(() => viewer.connection.publish("/model/cart/cmd_vel", {linear: {x: .5}}));
		await until(() => [...viewer.world.models.values()].some(model => model.name === "cart" && viewer.world.poseOf(model).position.x > .1));
		await frame.click("#stop");
		check(await rests("cart"), "it publishes: the cart stops");
		await frame.click("#pause");
		await page.waitForFunction(() => document.getElementById("figure-speed").textContent === "paused");
		check(true, "it calls a service: the run is paused");
	});
	await part("it can be hidden and shown", async () => {
		await page.click(".own button[aria-label=Hide]");
		check(!await page.$(".own iframe"), "its button hides it");
		await page.click("#open-look");
		await page.check("#look-own input");
		const frame = await frameOf(page, "panel");
		await frame.waitForFunction(() => document.getElementById("name").textContent === "cart");
		check(true, "a menu has it again");
	});
	await end();
	await page.close();
}

// What it finds is told by selecting a model whose name says so: the page passes nothing else on.
const NOSY = `<!doctype html><meta charset="utf-8"><script type="module" src="deep/nosy.js"></script><p id="p">asking</p>`;
const NOSY_JS = `const found = {}, attempt = async (name, body) => { try { found[name] = await body(); } catch (error) { found[name] = "refused"; } };
	await attempt("page", () => String(parent.document));
	await attempt("storage", () => String(localStorage.length));
	await attempt("cookie", () => document.cookie || "none");
	await attempt("main", async () => (await fetch("/")).status);
	await attempt("worldFile", async () => (await fetch("../../../../view")).status);
	await attempt("own", async () => (await fetch(new URL("data.json", import.meta.url))).json().then(data => data.value));
	await attempt("out", async () => (await fetch("../%2e%2e/%2e%2e/main.js")).status);
	await attempt("host", async () => (await fetch("http://127.0.0.1:1/")).status);
	await attempt("socket", () => new Promise((resolve, reject) => {
		const socket = new WebSocket(new URL("/view", location.href.replace("http", "ws")), "troupe.view.v1");
		socket.onopen = () => resolve("open");
		socket.onerror = reject;
	}));
	addEventListener("message", ({ports: [port], data}) => {
		if (data.op !== "begin") return;
		found.errors = [];
		port.onmessage = ({data}) => { if (data.op === "error") found.errors.push(data.text); };
		for (const message of [null, 7, {op: "eval"}, {op: "__proto__"}, {op: "subscribe", topic: 3}, {op: "call", id: "x"}, {op: "select", name: "nobody"}, {op: "height", height: -1}])
			port.postMessage(message);
		for (let i = 0; i < 40; i++)
			port.postMessage({op: "subscribe", topic: "/t" + i});
	});
	globalThis.found = found;
	document.getElementById("p").textContent = "asked";`;

async function nosy(context) {
	const at = panel("nosy", {"index.html": NOSY, "deep/nosy.js": NOSY_JS, "deep/data.json": "{\"value\": 7}", ".hidden": "x"});
	const {address, end} = await run("--view-address", "0", "--view-panel", at);
	const page = await context.newPage();
	await page.goto(address);      // its refusals are errors on the console, which are as they should be
	await page.waitForFunction(() => globalThis.viewer && viewer.world.models.size > 0);
	await part("a panel has no more rights than the page", async () => {
		const frame = await frameOf(page, "nosy");
		await frame.waitForFunction(() => document.getElementById("p").textContent === "asked");
		const found = await frame.evaluate(() => globalThis.found);
		const refused = ["page", "storage", "cookie", "main", "worldFile", "out", "host", "socket"].filter(what => found[what] !== "refused");
		check(refused.length === 0, "page, storage, cookies, other files, other hosts and the connection are out of reach", JSON.stringify(found));
		check(found.own === 7, "its own files are not", JSON.stringify(found));
	});
	await part("what it asks for is checked", async () => {
		const frame = await frameOf(page, "nosy");
		await page.evaluate(() => viewer.own.restart());
		await frame.waitForFunction(() => globalThis.found.errors && globalThis.found.errors.length >= 16);
		const errors = await frame.evaluate(() => globalThis.found.errors);
		check(errors.length === 16 && errors.slice(0, 4).every(text => /^"op"/.test(text)) && errors.filter(text => /at most 32/.test(text)).length === 8,
			"nonsense, and what is too much, is refused", JSON.stringify(errors));
		check(await page.evaluate(() => viewer.connection.isOpen), "and harms nothing");
	});
	await part("its files lie below a path that nobody can guess", async () => {
		const src = await page.getAttribute(".own iframe", "src"), ask = url => context.request.get(url).then(answer => answer.status());
		check(/^panel\/[\w-]{16,}\/0\/index\.html$/.test(src), "the path is random", src);
		check(await ask(address + src) === 200, "there they are");
		const others = [src.replace("index.html", ".hidden"), src.replace("index.html", "deep/"), src.replace("index.html", "deep/../deep/data.json%00"),
			src.replace("index.html", "..%2f..%2f..%2fetc%2fpasswd"), src.replace(/panel\/[\w-]+/, "panel/0000000000000000"), src.replace("/0/", "/1/")];
		const answers = await Promise.all(others.map(other => ask(address + other)));
		check(answers.every(status => status === 404), "and no others", JSON.stringify(answers));
	});
	await end();
	await page.close();
}

async function refusals() {
	const says = (why, ...folders) => {
		const {status, stderr} = spawnSync(troupe, ["run", WORLD, "--iterations", "1", "--no-gz", "-v0", "--view-address", "0",
			...folders.flatMap(at => ["--view-panel", at])], {encoding: "utf8", timeout: 60000});
		check(status > 0 && stderr.trim().split("\n").length === 1 && why.test(stderr), String(why), `${status}: ${stderr}`);
	};
	await part("bad folders", async () => {
		says(/expected a folder of files, with index\.html/, panel("none", {"page.html": "x"}));
		says(/expected a folder of files, with index\.html/, path.join(folder, "nowhere"));
		const out = panel("out", {"index.html": "x"});
		fs.symlinkSync("/etc/passwd", path.join(out, "secret.txt"));
		says(/expected a plain file that no link leads out of the folder/, out);
		says(/expected at most 256 files/, panel("many", Object.fromEntries([["index.html", "x"], ...Array.from({length: 256}, (_, i) => [`${i}.txt`, "x"])])));
		says(/expected at most 4 folders/, panel("deep", {"index.html": "x", "a/b/c/d/e.txt": "x"}));
		says(/expected at most 4 panels/, ...Array.from({length: 5}, () => example));
	});
}

main(folder, [shows, nosy, refusals]);
