// Opens the viewer's page in a real browser while troupe runs worlds with <gui>. Prints TAP.
//
//   node gui.js TROUPE FOLDER
const {check, main, model, open, part, settled, start, until} = require("./browser.js");
const fs = require("fs");
const path = require("path");
const zlib = require("zlib");

const [troupe, folder] = process.argv.slice(2);

const panel = (kind, inside = "") => `<plugin filename="${kind}" name="${kind}"><gz-gui><title>${kind} of the world</title><property type="string" key="state">docked</property></gz-gui>${inside}</plugin>`;
const CART = `<model name="cart"><pose>1 2 0.2 0 0 0</pose><link name="l"><collision name="c"><geometry><box><size>0.6 0.4 0.2</size></box></geometry></collision>
	<visual name="v"><geometry><box><size>0.6 0.4 0.2</size></box></geometry></visual></link>
	<plugin filename="gz-sim-velocity-control-system" name="gz::sim::systems::VelocityControl"/>
	<plugin filename="gz-sim-triggered-publisher-system" name="gz::sim::systems::TriggeredPublisher"><input type="gz.msgs.Int32" topic="/keyboard/keypress">
	<match field="data">87</match></input><output type="gz.msgs.Twist" topic="/model/cart/cmd_vel">linear: {x: 0.5}</output></plugin></model>`;
const FLOOR = "<model name='floor'><static>true</static><link name='l'><collision name='c'><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model>";

function world(name, inside, scene = "") {
	const at = path.join(folder, `${name}.sdf`);
	fs.writeFileSync(at, `<?xml version="1.0"?><sdf version="1.9"><world name="${name}"><physics type="ode"><max_step_size>0.001</max_step_size></physics>${scene}${inside}${FLOOR}${CART}</world></sdf>`);
	return at;
}

const run = (at, ...options) => start(troupe, ["run", at, "--view-address", "0", "--no-gz", ...options]);
const shown = page => page.evaluate(() => Object.fromEntries(["time", "figures", "tree", "topics", "work", "drive"].map(id => [id, !document.getElementById(id).hidden])));
const near = (one, other, by = .02) => one.every((value, i) => Math.abs(value - other[i]) < by);

async function camera(context) {
	const {address, end} = await run(world("eye", "<gui><camera name='user'><pose>4 -3 5 0 0.6 2.2</pose></camera></gui>"), "--paused");
	const page = await open(context, address);
	await part("<gui><camera> is the first view", async () => {
		await until(() => viewer.gui.camera);
		await settled();
		const found = await page.evaluate(() => [viewer.camera.three.position.toArray(), viewer.camera.target.clone().sub(viewer.camera.three.position).normalize().toArray()]);
		const direction = [Math.cos(.6) * Math.cos(2.2), Math.cos(.6) * Math.sin(2.2), -Math.sin(.6)];
		check(near(found[0], [4, -3, 5]) && near(found[1], direction), "the eye is at its pose, and looks along its x axis", JSON.stringify(found));
		await page.setViewportSize({width: 1000, height: 700});
		await settled();
		check(near(await page.evaluate(() => viewer.camera.three.position.toArray()), [4, -3, 5]), "also when the window changes");
		await page.keyboard.press("h");
		await settled();
		check(!near(await page.evaluate(() => viewer.camera.three.position.toArray()), [4, -3, 5], .5), "until another view is chosen");
	});
	await end();
	await page.close();
}

async function tracking(context) {
	const track = "<track_visual><name>cart</name><static>true</static><use_model_frame>true</use_model_frame><inherit_yaw>true</inherit_yaw><xyz>-3 0 2</xyz></track_visual>";
	const {address, end} = await run(world("track", `<gui><camera name="user">${track}</camera></gui>`), "--rtf", "1");
	const page = await open(context, address);
	await part("<track_visual> follows its model", async () => {
		await until(() => viewer.camera.following);
		const offset = () => page.evaluate(() => {
			const model = [...viewer.world.models.values()].find(({name}) => name === "cart");
			return viewer.camera.three.position.clone().sub(viewer.world.poseOf(model).position).toArray();
		});
		await settled();
		const first = await offset();
		check(near(first, [-3, 0, 2], .1), "the eye is where <xyz> says", JSON.stringify(first));
		await page.evaluate(() => viewer.connection.publish("/model/cart/cmd_vel", {linear: {x: .5}}));
		await until(() => [...viewer.world.models.values()].some(model => model.name === "cart" && viewer.world.poseOf(model).position.x > 1.5));
		const later = await offset();
		check(near(later, first, .15), "and goes with it", JSON.stringify([first, later]));
	});
	await end();
	await page.close();
}

const PANELS = ["<gui fullscreen='0'>", panel("MinimalScene", "<background_color>0.2 0.4 0.6</background_color><camera_pose>-6 0 6 0 0.5 0</camera_pose>"),
	panel("WorldStats"), panel("EntityTree"), panel("GzSceneManager"), panel("Teleop", "<topic>/model/cart/cmd_vel</topic>"),
	panel("TopicEcho", "<topic>/world/panels/stats</topic>"), panel("Plotting", "<topic>/clock</topic>"), panel("KeyPublisher"), panel("Lights"), panel("libVideoRecorder.so"),
	"</gui>"].join("");

async function panels(context) {
	const {address, end} = await run(world("panels", PANELS), "--rtf", "1");
	const page = await open(context, address);
	await part("<gui><plugin> opens and closes panels", async () => {
		await until(() => document.querySelector("#shown .echo") && document.querySelector("#shown canvas.plot") && !document.getElementById("drive").hidden && viewer.gui.keyTopic);
		const found = await shown(page);
		check(JSON.stringify(found) === JSON.stringify({time: false, figures: true, tree: true, topics: false, work: false, drive: true}), "those that are named are there, the others are not", JSON.stringify(found));
		const notices = await page.$$eval("#notices .notice", all => all.map(one => one.dataset.text));
		check(notices.some(text => /no panel for Lights, VideoRecorder, which/.test(text)), "what the page does not have is named once", JSON.stringify(notices));
		const position = await page.evaluate(() => viewer.camera.three.position.toArray());
		check(near(position, [-6, 0, 6]), "the scene's camera is the first view", JSON.stringify(position));
		const background = await page.evaluate(() => viewer.view.scene.background);
		check(background && background.b === .6, "and its background is that of the page", JSON.stringify(background));
		await until(() => /simTime/.test(document.querySelector("#shown .echo").textContent));
		check(true, "a topic is shown as text");
		check(await page.$("#shown .panel span:has-text('TopicEcho of the world')"), "with the title of its panel");
	});
	await part("KeyPublisher publishes keys", async () => {
		await page.focus("#view");
		await page.keyboard.press("w");
		await until(() => [...viewer.world.models.values()].some(model => model.name === "cart" && viewer.world.poseOf(model).position.x > 1.2));
		check((await model("cart")).x > 1.2, "a triggered publisher of the world hears the key");
		await page.click("[aria-label='Publish no keys']");
		check(await page.evaluate(() => viewer.gui.keyTopic === null), "and it can be ended");
	});
	await part("the user can open what is closed", async () => {
		await page.keyboard.press("v");
		await page.check("#look-time");
		check((await shown(page)).time, "the time control is there again");
	});
	await end();
	await page.close();
}

async function scene(context) {
	const plain = await run(world("plain", ""), "--paused"), page = await open(context, plain.address);
	await part("without <gui> and <scene>", async () => {
		await settled();
		const found = await shown(page), look = await page.evaluate(() => ({grid: viewer.view.grid.visible, sun: viewer.world.sun.castShadow, background: viewer.view.scene.background}));
		check(found.time && found.figures, "the page has its usual panels", JSON.stringify(found));
		check(look.grid && look.sun && look.background === null, "a grid, shadows, and the background of the theme", JSON.stringify(look));
	});
	await plain.end();
	await page.close();
	const dark = await run(world("dark", "", "<scene><background>0 0.1 0 1</background><grid>false</grid><shadows>false</shadows></scene>"), "--paused");
	const other = await open(context, dark.address);
	await part("<scene> decides", async () => {
		await settled();
		const look = await other.evaluate(() => ({grid: viewer.view.grid.visible, sun: viewer.world.sun.castShadow, colour: viewer.view.three.background.getHexString()}));
		check(!look.grid && !look.sun && /^00(19|1a)00$/.test(look.colour), "no grid, no shadows, its background", JSON.stringify(look));
	});
	await dark.end();
	await other.close();
	const open_air = await run(world("air", "", "<scene><sky><time>12</time></sky></scene>"), "--paused");
	const third = await open(context, open_air.address);
	await part("<sky>", async () => {
		const colours = await third.evaluate(() => {
			const {view} = viewer, camera = viewer.camera.three.clone(), pixels = new Uint8Array(4), context = view.renderer.getContext();
			const look = (x, y, z) => {
				camera.up.set(0, 1, 0);
				camera.position.set(0, 0, 50);
				camera.lookAt(x, y, 50 + z);
				camera.updateMatrixWorld();
				view.sky.follow(camera);
				view.renderer.render(view.three, camera);
				context.readPixels(view.renderer.domElement.width >> 1, view.renderer.domElement.height >> 1, 1, 1, context.RGBA, context.UNSIGNED_BYTE, pixels);
				return [...pixels].slice(0, 3);
			};
			return {up: look(0, .01, 1), level: look(1, 0, .02)};
		});
		check(colours.up[2] > 1.5 * colours.up[0] && colours.up[0] < colours.level[0] - 40, "is blue above and bright at the horizon", JSON.stringify(colours));
	});
	await open_air.end();
	await third.close();
}

// The colour in the middle of a picture from `at` to `to`, 0 to 255; a function for page.evaluate()
const LOOK = `globalThis.lookFrom = (at, to, up = [0, 0, 1]) => {
	const {view} = viewer, camera = viewer.camera.three.clone(), pixels = new Uint8Array(4), context = view.renderer.getContext();
	Object.assign(camera, {near: .1, far: 1000, fov: .5});
	camera.clearViewOffset();
	camera.up.set(...up);
	camera.position.set(...at);
	camera.lookAt(...to);
	camera.updateProjectionMatrix();
	camera.updateMatrixWorld();
	view.sky.follow(camera, view.time);
	view.renderer.render(view.three, camera);
	context.readPixels(view.renderer.domElement.width >> 1, view.renderer.domElement.height >> 1, 1, 1, context.RGBA, context.UNSIGNED_BYTE, pixels);
	return [...pixels].slice(0, 3);
}`;
const unit = way => way.map(part => part / Math.hypot(...way));
const WAYS = [[1, .2, .3], [-1, .1, .4], [.2, 1, .1], [.3, -1, .2], [.1, .2, 1], [-.4, .3, 1], [.5, .5, -1], [1, -1, .9]].map(unit);

// A DDS file whose texels are their own directions: (d + 1) / 2
function directions(side) {
	const head = Buffer.alloc(128), put = (at, number) => head.writeUInt32LE(number, at);
	head.write("DDS ");
	[[4, 124], [8, 0x1007], [12, side], [16, side], [28, 1], [76, 32], [80, 0x40], [88, 24], [92, 0xff0000], [96, 0xff00], [100, 0xff], [108, 0x1008], [112, 0xfe00]]
		.forEach(([at, number]) => put(at, number));
	const faces = [(s, t) => [1, -t, -s], (s, t) => [-1, -t, s], (s, t) => [s, 1, t], (s, t) => [s, -1, -t], (s, t) => [s, -t, 1], (s, t) => [-s, -t, -1]];
	const texels = faces.flatMap(face => Array.from({length: side * side}, (_, i) => {
		const [x, y, z] = unit(face((i % side + .5) * 2 / side - 1, (Math.floor(i / side) + .5) * 2 / side - 1));
		return [-z, y, x].map(part => Math.round((part + 1) / 2 * 255));   // blue first; z is turned round
	}).flat());
	return Buffer.concat([head, Buffer.from(texels)]);
}

async function cubeMap(context) {
	fs.writeFileSync(path.join(folder, "sky.dds"), directions(128));
	const {address, end} = await run(world("cube", "", "<scene><sky><cubemap_uri>sky.dds</cubemap_uri></sky></scene>"), "--paused");
	const page = await open(context, address);
	await part("<cubemap_uri>", async () => {
		await until(() => viewer.view.sky.uniforms.cube.value);
		await page.evaluate(LOOK);
		const seen = await page.evaluate(ways => ways.map(([x, y, z]) => lookFrom([0, 0, 50], [x, y, 50 + z], [.1, .3, 1])), WAYS);
		const off = Math.max(...WAYS.flatMap((way, i) => way.map((part, k) => Math.abs(seen[i][k] - (part + 1) / 2 * 255))));
		check(off <= 3, "each direction has its colour", `${off}: ${JSON.stringify(seen)}`);
	});
	await end();
	await page.close();
}

// The formula of src/sensor/picture.h
function cloudPart([x, y, z], time_s, {humidity, size, speed, direction}) {
	const smooth = (from, to, at) => {
		const t = Math.min(1, Math.max(0, (at - from) / (to - from)));
		return t * t * (3 - 2 * t);
	};
	const value = (i, j) => {
		let hash = Math.imul(i & 255, 374761393) + Math.imul(j & 255, 668265263) | 0;
		hash = Math.imul(hash ^ hash >>> 13, 1274126177);
		return ((hash ^ hash >>> 16) & 255) / 255;
	};
	const noise = (u, v) => [0, 1, 2, 3].reduce((sum, corner) => {
		const i = corner % 2, j = corner >> 1, a = smooth(0, 1, u - Math.floor(u)), b = smooth(0, 1, v - Math.floor(v));
		return sum + (i ? a : 1 - a) * (j ? b : 1 - b) * value(Math.floor(u) + i, Math.floor(v) + j);
	}, 0);
	const cell = 200 + 1600 * size, cover = .8 - .6 * humidity, way = speed * time_s;
	let u = (1000 * x / z - way * Math.cos(direction)) / cell, v = (1000 * y / z - way * Math.sin(direction)) / cell, sum = 0;
	for (let octave = 1; octave <= 5; octave++, u = 2 * u + 17, v = 2 * v + 17)
		sum += noise(u, v) / 2 ** octave;
	return smooth(cover - .08, cover + .12, sum) * smooth(.02, .25, z);
}

async function clouds(context) {
	const like = {humidity: .5, size: .4, speed: 30, direction: .7};
	const inside = `<speed>${like.speed}</speed><direction>${like.direction}</direction><humidity>${like.humidity}</humidity><mean_size>${like.size}</mean_size><ambient>1 0 0 1</ambient>`;
	const {address, end} = await run(world("clouds", "", `<scene><sky><time>13</time><clouds>${inside}</clouds></sky></scene>`), "--paused");
	const page = await open(context, address);
	await part("<clouds>", async () => {
		const ways = Array.from({length: 40}, (_, i) => unit([Math.cos(2.4 * i), Math.sin(2.4 * i), .1 + i / 20]));
		await page.evaluate(LOOK);
		for (const time_s of [0, 100]) {
			const {seen, high, low} = await page.evaluate(([ways, time_s]) => {
				viewer.view.time = time_s;
				const {high, low} = viewer.view.sky.uniforms;
				return {seen: ways.map(([x, y, z]) => lookFrom([0, 0, 50], [x, y, 50 + z], [0, 1, .1])), high: high.value.toArray(), low: low.value.toArray()};
			}, [ways, time_s]);
			const parts = ways.map(way => cloudPart(way, time_s, like));
			const off = Math.max(...ways.map((way, i) => {
				const clear = low.map((from, k) => from + way[2] ** .55 * (high[k] - from));
				return Math.max(...clear.map((from, k) => Math.abs(seen[i][k] - 255 * (from + parts[i] * ((k ? 0 : 1) - from)))));
			}));
			check(off <= 4 && Math.max(...parts) > .9 && Math.min(...parts) < .1, `clouds are those of the cameras, ${time_s} s`, `${off}: ${JSON.stringify(seen.slice(0, 8))}`);
		}
	});
	await end();
	await page.close();
}

// A PNG of `side` by `side` pixels
function png(side, colourAt, grey = false) {
	const chunk = (kind, data) => {
		const body = Buffer.concat([Buffer.from(kind), data]), out = Buffer.alloc(body.length + 8);
		out.writeUInt32BE(data.length, 0);
		body.copy(out, 4);
		out.writeUInt32BE(zlib.crc32 ? zlib.crc32(body) : crc(body), body.length + 4);
		return out;
	};
	const head = Buffer.alloc(13), rows = [];
	head.writeUInt32BE(side, 0);
	head.writeUInt32BE(side, 4);
	head[8] = 8;
	head[9] = grey ? 0 : 2;
	for (let y = 0; y < side; y++)
		rows.push(0, ...Array.from({length: side}, (_, x) => colourAt(x, y)).flat());
	return Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), chunk("IHDR", head), chunk("IDAT", zlib.deflateSync(Buffer.from(rows))), chunk("IEND", Buffer.alloc(0))]);
}

function crc(bytes) {
	let all = -1;
	for (const byte of bytes) {
		all ^= byte;
		for (let bit = 0; bit < 8; bit++)
			all = all >>> 1 ^ (all & 1 ? 0xedb88320 : 0);
	}
	return ~all >>> 0;
}

// A flat heightmap with a picture of four colours over all of it, and one that rises to the right, red below and green above.
async function ground(context) {
	const RED = [255, 0, 0], GREEN = [0, 255, 0], BLUE = [0, 0, 255], YELLOW = [255, 255, 0];
	fs.writeFileSync(path.join(folder, "flat.png"), png(3, () => [0], true));
	fs.writeFileSync(path.join(folder, "rise.png"), png(5, x => [Math.round(255 * x / 4)], true));
	fs.writeFileSync(path.join(folder, "four.png"), png(32, (x, y) => y < 16 ? x < 16 ? RED : GREEN : x < 16 ? BLUE : YELLOW));
	fs.writeFileSync(path.join(folder, "red.png"), png(4, () => RED));
	fs.writeFileSync(path.join(folder, "green.png"), png(4, () => GREEN));
	const map = (name, image, at, layers) => `<model name="${name}"><static>true</static><pose>${at} 0 0 0 0 0</pose><link name="l"><visual name="v"><geometry><heightmap>
		<uri>${image}</uri><size>20 20 4</size><pos>0 0 5</pos>${layers}</heightmap></geometry></visual></link></model>`;
	const layer = (image, size) => `<texture><diffuse>${image}</diffuse><size>${size}</size></texture>`;
	const maps = map("flat", "flat.png", 0, layer("four.png", 20)) +
		map("rise", "rise.png", 100, `${layer("red.png", 3)}${layer("green.png", 3)}<blend><min_height>1</min_height><fade_dist>2</fade_dist></blend>`);
	const {address, end} = await run(world("ground", maps, "<scene><shadows>false</shadows></scene>"), "--paused");
	const page = await open(context, address);
	await part("textures of heightmaps", async () => {
		await until(() => viewer.world.asked === 0 && viewer.world.textures.made.size >= 3);
		await settled();
		await page.evaluate(LOOK);
		const seen = await page.evaluate(places => places.map(([x, y]) => lookFrom([x, y, 60], [x, y, 0], [0, 1, 0])),
			[[-5, 5], [5, 5], [-5, -5], [5, -5], [91, 3], [100, 3], [109, 3]]);
		const dark = 12, is = (colour, wanted) => colour.every((part, k) => wanted[k] ? part > 60 : part < dark);
		check([RED, GREEN, BLUE, YELLOW].every((wanted, i) => is(seen[i], wanted)), "a texture lies as the cameras see it", JSON.stringify(seen));
		check(is(seen[4], RED) && is(seen[6], GREEN) && Math.abs(seen[5][0] - seen[5][1]) < dark && seen[5][0] > 60, "the next one is faded in by the height", JSON.stringify(seen));
	});
	await end();
	await page.close();
}

// Black boxes in a ring, seen from its middle: what is seen of them is the fog
async function fog(context) {
	const AT = [2, 5, 8, 12], COLOUR = [.8, .6, .2];
	const black = "<material><ambient>0 0 0 1</ambient><diffuse>0 0 0 1</diffuse></material>";
	const boxes = AT.map((at, i) => `<model name="b${i}"><static>true</static><pose>${[at, 0, -at, 0][i]} ${[0, at, 0, -at][i]} 50 0 0 0</pose><link name="l"><visual name="v">
		<geometry><box><size>0.02 0.02 0.02</size></box></geometry>${black}</visual></link></model>`).join("");
	for (const [kind, power, most] of [["linear", 1, .9], ["quadratic", 2, .7], ["none", 0, .9]]) {
		const inside = `<fog><color>${COLOUR.join(" ")} 1</color><type>${kind}</type><start>2</start><end>10</end><density>${most}</density></fog>`;
		const {address, end} = await run(world(`fog_${kind}`, boxes, `<scene><background>0 0 0 1</background><grid>false</grid>${inside}</scene>`), "--paused");
		const page = await open(context, address);
		await part(`fog: ${kind}`, async () => {
			await settled();
			const seen = await page.evaluate(AT => {
				const {view} = viewer, camera = viewer.camera.three.clone(), pixels = new Uint8Array(4), context = view.renderer.getContext();
				const look = (x, y, z) => {
					camera.near = .1;
					camera.far = 1000;
					camera.fov = .02;
					camera.clearViewOffset();
					camera.up.set(0, 0, 1);
					camera.position.set(0, 0, 50);
					camera.lookAt(x, y, 50 + z);
					camera.updateProjectionMatrix();
					camera.updateMatrixWorld();
					view.renderer.render(view.three, camera);
					context.readPixels(view.renderer.domElement.width >> 1, view.renderer.domElement.height >> 1, 1, 1, context.RGBA, context.UNSIGNED_BYTE, pixels);
					return [...pixels].slice(0, 3);
				};
				return [...AT.map((at, i) => look([at, 0, -at, 0][i], [0, at, 0, -at][i], 0)), look(1, 1, 1)];
			}, AT);
			// the nearer side of a box; then the background
			const parts = [...AT.map(at => most * Math.min(1, Math.max(0, at - .01 - 2) / 8) ** power), most].map(part => power ? part : 0);
			const wanted = parts.map(part => COLOUR.map(value => 255 * value * part));
			check(seen.every((pixel, i) => pixel.every((value, c) => Math.abs(value - wanted[i][c]) < 2.5)), `fog: ${kind}, as cameras see it`, JSON.stringify({seen, wanted}));
		});
		await end();
		await page.close();
	}
}

main(folder, [camera, tracking, panels, scene, fog, cubeMap, clouds, ground]);
