// Opens the viewer's page in a real browser while troupe runs a world with a camera, and compares what both see. Prints
// TAP.
//
//   node looks.js TROUPE FOLDER
//
// FOLDER: for worlds, for what the browser writes, and for pictures of what failed.
const {check, main, open, part, settled, start, until} = require("./browser.js");
const fs = require("fs");
const path = require("path");
const {files, png} = require("./painted.js");

const [troupe, folder] = process.argv.slice(2);
const WIDE = 320, HIGH = 240, ANGLE = 1;
const DIFFER_MAX = .03;         // of the pixels: both draw edges smoothly, but not alike

for (const [name, bytes] of [...files, ["secret.png", png(4, () => [1, 2, 3, 255])]])
	fs.writeFileSync(path.join(folder, name), bytes);

// --- the world ------------------------------------------------------------------------------------------------------------

const still = (name, pose, geometry, look) => `<model name="${name}"><static>true</static><pose>${pose}</pose><link name="l"><visual name="v">` +
	`<geometry>${geometry}</geometry>${look}</visual></link></model>`;
const metal = maps => `<material><ambient>1 1 1 1</ambient><diffuse>1 1 1 1</diffuse><pbr><metal>${maps}<roughness>1</roughness><metalness>0</metalness></metal></pbr></material>`;
const painted = metal("<albedo_map>chart.png</albedo_map>");
const BLACK = "<material><ambient>0 0 0 1</ambient><diffuse>0 0 0 1</diffuse></material>";
const box = size => `<box><size>${size}</size></box>`;

// What stands before the camera, and a white wall behind what has holes
const sights = {
	box: still("box", "3 0 0 0.3 0.4 0.5", box("1 1.4 1.2"), painted),
	sphere: still("sphere", "3 0 0 0.4 0.5 0.3", "<sphere><radius>0.8</radius></sphere>", painted),
	cylinder: still("cylinder", "3 0 0 0.4 0.7 0.3", "<cylinder><radius>0.5</radius><length>1.2</length></cylinder>", painted),
	cone: still("cone", "3 0 0 0.4 0.5 0.3", "<cone><radius>0.7</radius><length>1.4</length></cone>", painted),
	capsule: still("capsule", "3 0 0 0.4 0.5 0.3", "<capsule><radius>0.4</radius><length>0.9</length></capsule>", painted),
	ellipsoid: still("ellipsoid", "3 0 0 0.4 0.5 0.3", "<ellipsoid><radii>0.4 0.8 0.6</radii></ellipsoid>", painted),
	plane: still("plane", "3 0 0 0 -1.2 0", "<plane><normal>0 0 1</normal><size>2 1.6</size></plane>", painted),
	wall: still("wall", "3 0 0 0 0 0.2", "<plane><normal>-1 0 0</normal><size>1.8 1.8</size></plane>", painted),
	mesh: still("mesh", "3 0 0 0 0 0.3", "<mesh><uri>quad.obj</uri><scale>1 1.8 1.8</scale></mesh>", ""),
	embedded: still("embedded", "3 0 0 0 0 -0.3", "<mesh><uri>quad.glb</uri><scale>1 1.8 1.8</scale></mesh>", ""),
	overlaid: still("overlaid", "3 0 0 0 0 0", "<mesh><uri>quad.glb</uri><scale>1 1.8 1.8</scale></mesh>", metal("<albedo_map>fence.png</albedo_map>")),
	glowing: still("glowing", "3 0 0 0 0 0.2", box("0.1 1.8 1.8"), "<material><ambient>0 0 0 1</ambient><diffuse>0 0 0 1</diffuse><pbr><metal><emissive_map>chart.png</emissive_map>" +
		"<roughness>1</roughness><metalness>0</metalness></metal></pbr></material>"),
};

function world(name, sight) {
	return `<world name="${name}"><physics type="ode"><max_step_size>0.01</max_step_size></physics><scene><ambient>1 1 1 1</ambient><shadows>0</shadows></scene>` +
		"<light type='directional' name='sun'><direction>1 0 -0.2</direction><diffuse>0.6 0.6 0.6 1</diffuse></light>" +
		still("back", "6 0 0 0 0 0", box("0.1 20 20"), BLACK) + sight +
		`<model name="eye"><static>true</static><link name="l"><sensor name="camera" type="camera"><update_rate>10</update_rate><topic>/${name}/seen</topic><camera>` +
		`<horizontal_fov>${ANGLE}</horizontal_fov><image><width>${WIDE}</width><height>${HIGH}</height></image><clip><near>0.1</near><far>30</far></clip></camera></sensor></link></model></world>`;
}

// The picture of the page from where the camera stands, and that of the camera, as PNG in base64, and how they differ: in
// each colour a pixel is bright or dark, because the page lights its world in its own way.
function compare(page, name) {
	return page.evaluate(async ({name, WIDE, HIGH, ANGLE}) => {
		const seen = await new Promise(resolve => {
			const end = viewer.connection.subscribe(`/${name}/seen`, 0, (message, {data}) => data && resolve({message, data, end}));
		});
		seen.end();
		const camera = viewer.camera.three.clone(), {renderer, three} = viewer.view;
		camera.fov = 2 * Math.atan(Math.tan(ANGLE / 2) * HIGH / WIDE) * 180 / Math.PI;
		Object.assign(camera, {aspect: WIDE / HIGH, near: .1, far: 30});
		camera.clearViewOffset();
		camera.position.set(0, 0, 0);
		camera.up.set(0, 0, 1);
		camera.lookAt(1, 0, 0);
		camera.updateProjectionMatrix();
		camera.updateMatrixWorld();
		viewer.view.showGrid(false);
		renderer.setSize(WIDE, HIGH, false);
		renderer.render(three, camera);
		const canvas = document.createElement("canvas"), context = canvas.getContext("2d", {willReadFrequently: true});
		Object.assign(canvas, {width: WIDE, height: HIGH});
		context.drawImage(renderer.domElement, 0, 0);
		const drawn = context.getImageData(0, 0, WIDE, HIGH).data, page = canvas.toDataURL();
		viewer.view.resize();
		const taken = context.createImageData(WIDE, HIGH);
		for (let i = 0; i < WIDE * HIGH; i++)
			taken.data.set([seen.data[3 * i], seen.data[3 * i + 1], seen.data[3 * i + 2], 255], 4 * i);
		context.putImageData(taken, 0, 0);
		const bright = data => {
			let most = 0;
			for (let i = 0; i < data.length; i += 4)
				most = Math.max(most, data[i], data[i + 1], data[i + 2]);
			return most;
		};
		const a = .35 * bright(drawn), b = .35 * bright(taken.data);
		let differ = 0, lit = 0;
		for (let i = 0; i < drawn.length; i += 4) {
			const sides = [0, 1, 2].map(c => [drawn[i + c] > a, taken.data[i + c] > b]);
			differ += sides.some(([one, other]) => one !== other);
			lit += sides.some(([, other]) => other);
		}
		return {differ: differ / (WIDE * HIGH), lit: lit / (WIDE * HIGH), page, camera: canvas.toDataURL()};
	}, {name, WIDE, HIGH, ANGLE});
}

// More images than requests of a page may wait
async function many(context) {
	const IMAGES = 300, at = path.join(folder, "many.sdf"), names = Array.from({length: IMAGES}, (_, i) => `copy${i}.png`);
	names.forEach(name => fs.writeFileSync(path.join(folder, name), png(4, () => [200, 100, 50, 255])));
	fs.writeFileSync(at, `<?xml version="1.0"?><sdf version="1.9"><world name="many">${names.map((name, i) => still(`b${i}`, `${i % 20} ${Math.floor(i / 20)} 0.5 0 0 0`, box("0.5 0.5 0.5"),
		metal(`<albedo_map>${name}</albedo_map>`))).join("")}</world></sdf>`);
	const run = await start(troupe, ["run", at, "--view-address", "0", "--no-gz", "--paused"]), asked = [];
	const hear = request => /\/images\//.test(request.url()) && asked.push(request.url());
	context.on("request", hear);
	const page = await open(context, run.address);
	await part("many images", async () => {
		await until(images => [...viewer.world.batches.all.values()].filter(({material}) => material.map).length === images, IMAGES);
		check(await page.evaluate(() => viewer.world.told.size === 0), "all of them are there");
		check(asked.length === 1, "equal ones are asked for once", asked.length);
	});
	context.off("request", hear);
	await run.end();
	await page.close();
}

// A ball of many triangles
function ball(rings) {
	const lines = [], points = [], at = (ring, step) => ring * rings + step % rings + 1;
	for (let ring = 0; ring <= rings; ring++)
		for (let step = 0; step < rings; step++) {
			const down = Math.PI * ring / rings, round = 2 * Math.PI * step / rings;
			points.push(`v ${Math.sin(down) * Math.cos(round)} ${Math.sin(down) * Math.sin(round)} ${Math.cos(down)}`);
		}
	for (let ring = 0; ring < rings; ring++)
		for (let step = 0; step < rings; step++)
			lines.push(`f ${at(ring, step)} ${at(ring + 1, step)} ${at(ring + 1, step + 1)}`, `f ${at(ring, step)} ${at(ring + 1, step + 1)} ${at(ring, step + 1)}`);
	return [...points, ...lines].join("\n");
}

async function detail(context) {
	const BALLS = 40, at = path.join(folder, "balls.sdf"), mesh = "<mesh><uri>ball.obj</uri></mesh>", red = "<material><diffuse>0.8 0.1 0.1 1</diffuse></material>";
	fs.writeFileSync(path.join(folder, "ball.obj"), ball(100));
	fs.writeFileSync(at, `<?xml version="1.0"?><sdf version="1.9"><world name="balls">${Array.from({length: BALLS}, (_, i) => still(`b${i}`, `${6 * i} 0 1 0 0 0`, mesh, red)).join("")}</world></sdf>`);
	const run = await start(troupe, ["run", at, "--view-address", "0", "--no-gz", "--paused"]);
	if (/without meshes/.test(run.said())) {
		await run.end();
		return;
	}
	const page = await open(context, run.address);
	await part("what is small has fewer triangles", async () => {
		await until(balls => viewer.world.asked === 0 && [...viewer.world.batches.all.values()].reduce((sum, batch) => sum + batch.instances.length, 0) === balls, BALLS);
		const drawn = x => page.evaluate(x => {
			const {camera, view, world} = viewer;
			camera.view(world.root.position.clone().set(x, -6, 2), world.root.position.clone().set(x + 6, 0, 1));
			camera.three.updateMatrixWorld();
			view.draw(camera, world);
			const parts = [...world.batches.all.values()].map(batch => [batch.instances.length, batch.source.attributes.position.count / 3]);
			return {whole: parts.reduce((most, [, triangles]) => Math.max(most, triangles), 0), all: parts.reduce((sum, [count, triangles]) => sum + count * triangles, 0),
				count: parts.reduce((sum, [count]) => sum + count, 0)};
		}, x);
		const near = await drawn(0), far = await drawn(-2000);
		check(near.count === BALLS && far.count === BALLS, "each is drawn once", JSON.stringify({near, far}));
		check(near.all > near.whole && near.all < BALLS / 2 * near.whole, "from near, some have all of them", JSON.stringify(near));
		check(far.all < BALLS * far.whole / 4, "from far, none has", JSON.stringify(far));
		const again = await drawn(0);
		// what is near the limit stays as it is, so that it does not flicker
		check(again.all > again.whole && again.all > near.all / 2 && again.all <= near.all, "and it comes back", JSON.stringify({near, again}));
	});
	await run.end();
	await page.close();
}

const keep = (name, url) => fs.writeFileSync(path.join(folder, name), Buffer.from(url.split(",")[1], "base64"));

async function looks(context) {
	const names = Object.keys(sights), at = path.join(folder, "looks.sdf");
	fs.writeFileSync(at, `<?xml version="1.0"?><sdf version="1.9">${names.map(name => world(name, sights[name])).join("")}</sdf>`);
	const run = await start(troupe, ["run", at, "--view-address", "0", "--no-gz", "--rtf", "1", "--secondaries", "1"]);
	if (/built without Embree|without meshes/.test(run.said())) {
		console.log("skipped: textures: this troupe was built without Embree or without meshes");
		await run.end();
		return;
	}
	const asked = [];
	context.on("request", request => asked.push(request.url()));
	const page = await open(context, run.address);
	for (const name of names)
		await part(`the page shows what the camera sees: ${name}`, async () => {
			await page.selectOption("#world", `/world/${name}`);
			await until(name => [...viewer.world.models.values()].some(model => model.name === name && model.links[0].instances.length &&
				model.links[0].instances.every(({batch}) => batch && (batch.material.map || batch.material.emissiveMap))), name);
			await settled();
			const found = await compare(page, name);
			if (found.differ > DIFFER_MAX || process.env.LOOKS_KEEP) {
				keep(`${name}-page.png`, found.page);
				keep(`${name}-camera.png`, found.camera);
			}
			check(found.differ <= DIFFER_MAX && found.lit > .05, `the page shows what the camera sees: ${name}`, JSON.stringify({differ: found.differ, lit: found.lit}));
		});
	await part("images come from the run, once", async () => {
		const images = asked.filter(url => /\/images\//.test(url));
		check(images.length === 2 && images.every(url => url.startsWith(run.address)), "two images were asked for, once each", images.join(" "));
		check(asked.every(url => url.startsWith(run.address) || /^(data|blob):/.test(url)), "and nothing of another host");
		const answers = await page.evaluate(async address => {
			const answer = await fetch(address);
			return {type: answer.headers.get("content-type"), cache: answer.headers.get("cache-control")};
		}, images[0]);
		const none = await context.request.get(`${run.address}images/0000000000000000`);
		check(answers.type === "image/png" && /immutable/.test(answers.cache), "a browser may keep them", JSON.stringify(answers));
		check(none.status() === 404, "there is no other", none.status());
		const refused = await page.evaluate(secret => Promise.all([secret, "/etc/passwd", "../secret.png", "secret.png"].map(name =>
			viewer.connection.image("/world/box", name).then(() => "given", error => error.message))), path.join(folder, "secret.png"));
		check(refused.every(text => /no material of the world has this map/.test(text)), "files that no material names are not sent", JSON.stringify(refused));
	});
	await run.end();
	await page.close();
}

// Where a box stands on a floor, the floor around its foot is darker, by the formula of src/web/feet.js.
async function feet(context) {
	const at = path.join(folder, "feet.sdf"), white = "<material><ambient>1 1 1 1</ambient><diffuse>0.9 0.9 0.9 1</diffuse></material>";
	const REACH_M = .4, STRENGTH = .38, HALF = .5;
	fs.writeFileSync(at, `<?xml version="1.0"?><sdf version="1.9"><world name="feet"><scene><grid>false</grid></scene><light type="directional" name="sun"><direction>0 0 -1</direction></light>
		${still("floor", "0 0 0 0 0 0", "<plane><normal>0 0 1</normal><size>40 40</size></plane>", white)}${still("stands", "0 0 0.5 0 0 0", box("1 1 1"), white)}
		${still("hangs", "6 0 3 0 0 0", box("1 1 1"), white)}${still("rolls", "-6 0 0.5 0 0 0", "<sphere><radius>0.5</radius></sphere>", white)}
		<model name="moves"><pose>0 6 0.5 0 0 0</pose><link name="l"><visual name="v"><geometry>${box("1 1 1")}</geometry>${white}</visual></link></model></world></sdf>`);
	const run = await start(troupe, ["run", at, "--view-address", "0", "--no-gz", "--paused"]), page = await open(context, run.address);
	// the part of the light that is taken, as drawn, at places of the floor
	const taken = places => page.evaluate(places => {
		const {feet, view, camera: {three}, world} = viewer, eye = three.clone(), context = view.renderer.getContext(), WIDE = 400, pixel = new Uint8Array(4);
		Object.assign(eye, {aspect: 1, fov: 4, near: .1, far: 200});
		eye.clearViewOffset();
		eye.up.set(0, 1, 0);
		world.sun.castShadow = false;
		view.renderer.setSize(WIDE, WIDE, false);
		const look = (x, y) => {
			eye.position.set(x, y, 60);
			eye.lookAt(x, y, 0);
			eye.updateProjectionMatrix();
			eye.updateMatrixWorld();
			view.renderer.render(view.three, eye);
			context.readPixels(WIDE / 2, WIDE / 2, 1, 1, context.RGBA, context.UNSIGNED_BYTE, pixel);
			return pixel[1];
		};
		feet.lay(true);
		const dark = places.map(place => look(...place));
		feet.lay(false);
		const plain = places.map(place => look(...place));
		view.resize();
		return places.map((place, i) => 1 - dark[i] / plain[i]);
	}, places);
	const formula = distance => STRENGTH * Math.max(0, 1 - distance / REACH_M) ** 2, near = (a, b) => Math.abs(a - b) < .02;
	await part("the floor is darker around feet", async () => {
		await settled();
		const far = [.05, .15, .3, .5], found = await taken([...far.map(d => [HALF + d, 0]), [HALF + .1, HALF + .1]]);
		check(far.every((d, i) => near(found[i], formula(d))) && found[0] > .2, "beside a box that stands there", JSON.stringify(found));
		check(near(found[4], formula(Math.hypot(.1, .1))), "and at its corner", found[4]);
		check((await taken([[6 + HALF + .1, 0]]))[0] === 0, "not below what hangs");
		const round = await taken([[-6 + HALF + .1, 0], [-6 + (HALF + .1) / Math.SQRT2, (HALF + .1) / Math.SQRT2]]);
		check(round.every(part => near(part, formula(.1))), "round where a sphere is", JSON.stringify(round));
		await page.evaluate(() => viewer.connection.call("/world/feet/set_pose", {name: "moves", position: {x: 0, y: -6, z: .5}, orientation: {w: 1}}));
		await until(() => [...viewer.world.models.values()].some(model => model.name === "moves" && viewer.world.poseOf(model).position.y === -6));
		const moved = await taken([[HALF + .1, 6], [HALF + .1, -6]]);
		check(moved[0] === 0 && near(moved[1], formula(.1)), "and it goes with what moves", JSON.stringify(moved));
		const shown = on => page.evaluate(async on => {
			const box = document.getElementById("look-shadows");
			box.checked = on;
			box.dispatchEvent(new Event("change"));
			await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))));
			return viewer.feet.mesh.count;
		}, on);
		check(await shown(false) === 0 && await shown(true) === 3, "the user can switch it off, with shadows");
	});
	await run.end();
	await page.close();
}

main(folder, [looks, feet, detail, many]);
