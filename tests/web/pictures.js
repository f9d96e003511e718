// Opens the viewer's page in a real browser while troupe runs worlds that this script makes, and looks at the first
// picture, the key H, colours, shadows, and the figures of the run. Prints TAP.
//
//   node pictures.js TROUPE FOLDER
//
// FOLDER: for worlds, for what the browser writes, and for pictures of what failed.
const {check, main, open, part, settled, start, until} = require("./browser.js");
const fs = require("fs");
const path = require("path");

const [troupe, folder] = process.argv.slice(2);

const paint = rgb => rgb ? `<material><diffuse>${rgb} 1</diffuse></material>` : "";
const box = (size, rgb) => `<collision name="c"><geometry><box><size>${size}</size></box></geometry></collision>` +
	`<visual name="v"><geometry><box><size>${size}</size></box></geometry>${paint(rgb)}</visual>`;
const model = (name, pose, parts, more = "") => `<model name="${name}">${more}<pose>${pose} 0 0 0</pose><link name="l">${parts}</link></model>`;
const still = (name, pose, parts) => model(name, pose, parts, "<static>true</static>");
const FLOOR = still("floor", "0 0 0", "<collision name='c'><geometry><plane><normal>0 0 1</normal></plane></geometry></collision>");
const SUN = `<light type="directional" name="sun"><cast_shadows>true</cast_shadows><direction>-0.5 0.4 -0.8</direction></light>`;

// Runs a world with these parts.
function run(name, parts, ...options) {
	const at = path.join(folder, `${name}.sdf`);
	fs.writeFileSync(at, `<?xml version="1.0"?><sdf version="1.9"><world name="${name}"><physics type="ode"><max_step_size>0.001</max_step_size></physics>${parts}</world></sdf>`);
	return start(troupe, ["run", at, "--view-address", "0", "--no-gz", ...options]);
}

// The height of each model in the picture, in pixels; 0: it is not in the picture. Its middle, and what hides it.
const looks = page => page.evaluate(async () => {
	const {Sight} = await import(new URL("sight.js", location.href).href), sight = new Sight(viewer.world), eye = viewer.camera.three.position;
	const out = {inside: sight.inside(eye), models: {}};
	for (const {model, box} of viewer.world.items()) {
		const middle = box.min.clone().add(box.max).multiplyScalar(.5), low = middle.clone(), high = middle.clone();
		low.z = box.min.z;
		high.z = box.max.z;
		const [a, b] = [low, high].map(at => at.project(viewer.camera.three)), reach = box.max.distanceTo(box.min) / 2;
		const seen = sight.free(eye, middle, model) >= 1 - reach / eye.distanceTo(middle);
		out.models[model.name] = {height: Math.abs(a.x) < 1 && Math.abs(a.y) < 1 && a.z < 1 ? (b.y - a.y) / 2 * innerHeight : 0, seen};
	}
	return out;
});

// Brightness (0 to 255) of the places on the screen where these points of the world are drawn, each the mean of `wide`
// pixels squared; and the mean colour of all
async function light(page, points, wide = 3) {
	await settled();
	const shot = (await page.screenshot()).toString("base64");
	return page.evaluate(async ({shot, points, wide}) => {
		const image = await createImageBitmap(new Blob([Uint8Array.from(atob(shot), c => c.charCodeAt(0))]));
		const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext("2d"), colour = [0, 0, 0];
		context.drawImage(image, 0, 0);
		const each = points.map(point => {
			const at = viewer.camera.three.position.clone().set(...point).project(viewer.camera.three);
			const {data} = context.getImageData((at.x + 1) / 2 * innerWidth - wide / 2, (1 - at.y) / 2 * innerHeight - wide / 2, wide, wide);
			let sum = 0;
			data.forEach((value, i) => {
				sum += i % 4 < 3 ? value / 3 / wide / wide : 0;
				if (i % 4 < 3)
					colour[i % 4] += value / wide / wide / points.length;
			});
			return sum;
		});
		return {each, least: Math.min(...each), most: Math.max(...each), colour};
	}, {shot, points, wide});
}

// --- what is in the picture ---------------------------------------------------------------------------------------------

// A hall with a roof: from outside one would see only its walls.
async function hall(context) {
	const walls = [["w1", "10 0 2", "0.4 20 4"], ["w2", "-10 0 2", "0.4 20 4"], ["w3", "0 10 2", "20 0.4 4"], ["w4", "0 -10 2", "20 0.4 4"],
		["roof", "0 0 4.2", "21 21 0.4"], ["rack", "0 -2 1", "6 0.3 2"]].map(([name, pose, size]) => still(name, pose, box(size))).join("");
	const run_ = await run("hall", FLOOR + SUN + walls + model("robot_a", "1 1 0.25", box("0.6 0.4 0.5")) + model("robot_b", "-2 3 0.25", box("0.6 0.4 0.5")), "--paused");
	const page = await open(context, run_.address);
	await part("the first picture of a hall", async () => {
		await settled();
		const {inside, models} = await looks(page);
		check(!inside, "the eye is in no body");
		check(["robot_a", "robot_b"].every(name => models[name].seen && models[name].height > 12), "it shows the robots, which walls and roof hide from outside",
			JSON.stringify(models));
	});
	await run_.end();
	await page.close();
}

// Bodies that have fallen out of the world, some of them for a minute
async function fallen(context) {
	const posts = [0, 1, 2, 3, 4, 5].map(i => still(`post_${i}`, `${2 * i} ${i % 2} 0.5`, box("0.4 0.4 1"))).join("");
	const balls = [model("near", "3 3 0.2", box("0.4 0.4 0.4")), model("low", "0 3 -300", box("0.4 0.4 0.4")), model("lower", "5 3 -17000", box("0.4 0.4 0.4")),
		model("far", "90000 20 1", box("0.4 0.4 0.4"))].join("");
	const run_ = await run("fallen", SUN + posts + balls, "--paused");
	const page = await open(context, run_.address);
	for (const key of ["first", "h"])
		await part(`what fell does not spoil the picture: ${key}`, async () => {
			if (key !== "first") {
				await page.evaluate(() => viewer.camera.show(viewer.world.extent().expandByScalar(5000), "top"));
				await page.focus("#view");
				await page.keyboard.press(key);
			}
			await settled();
			const {models} = await looks(page);
			check([0, 1, 2, 3, 4, 5].every(i => models[`post_${i}`].height > 12) && models.near.height > 5, "what is there is large", JSON.stringify(models));
		});
	await run_.end();
	await page.close();
}

// Only a body that falls: it is what there is
async function alone(context) {
	const run_ = await run("alone", SUN + FLOOR + model("ball", "0 0 -4000", box("0.4 0.4 0.4")), "--paused");
	const page = await open(context, run_.address);
	await part("a body that is alone", async () => {
		await page.focus("#view");
		await page.keyboard.press("h");
		await settled();
		const {models} = await looks(page);
		check(models.ball.height > 40, "the key H shows it wherever it is", JSON.stringify(models));
	});
	await run_.end();
	await page.close();
}

// --- colours and shadows ------------------------------------------------------------------------------------------------

const grid = (x, y, z, dx, dy) => [-1, 0, 1].flatMap(i => [-1, 0, 1].map(j => [x + i * dx, y + j * dy, z]));

async function colours(context) {
	// the sun stands in the direction 0.5 -0.4 0.8: shadows fall towards -x and +y
	const parts = SUN + still("slab", "0 0 -0.05", box("30 30 0.1", "0.8 0.8 0.8")) + still("block", "0 0 1", box("2 2 2", "0.9 0.9 0.9")) +
		model("red", "4 -4 0.5", box("1 1 1", "0.9 0.05 0.05")) + model("blue", "4 5 0.5", box("1 1 1", "0.05 0.1 0.9"));
	const run_ = await run("colours", parts, "--paused", "--secondaries", "2");
	const page = await open(context, run_.address);
	await settled();
	await page.evaluate(() => viewer.world.models.forEach(model => viewer.world.setStatus(model.id, 1)));   // all with secondary 1
	await page.evaluate(() => viewer.camera.show(viewer.world.boxOf([...viewer.world.models.values()].find(model => model.name === "block")).expandByScalar(5), "top"));
	await part("colours", async () => {
		const top = [[4, -4, 1]], {colour: [r, g, b]} = await light(page, top, 7);
		check(r > 3 * g && r > 3 * b, "a body has the colour of its material at first", JSON.stringify([r, g, b]));
		await page.focus("#view");
		await page.keyboard.press("k");
		check(await page.inputValue("#look-colour") === "secondary", "the key K shows secondaries");
		const {colour} = await light(page, top, 7);
		check(!(colour[0] > 3 * colour[1] && colour[0] > 3 * colour[2]), "which give it another colour", JSON.stringify(colour));
		await page.focus("#view");
		await page.keyboard.press("k");
		check((await light(page, top, 7)).colour[0] > 3 * (await light(page, top, 7)).colour[1], "and materials again");
	});
	for (const size of [5, 14])
		await part(`shadows, ${size} m around`, async () => {
			await page.evaluate(size => viewer.camera.show(viewer.world.boxOf([...viewer.world.models.values()].find(model => model.name === "block")).expandByScalar(size), "top"), size);
			const floor = await light(page, grid(4, 0, 0, .8, .8), 5), top = await light(page, grid(0, 0, 2, .7, .7), 5);
			check(floor.most - floor.least < 14 && top.most - top.least < 14, "what is lit has no stripes", JSON.stringify([floor, top]));
			const within = await light(page, [-1.3, -1.5, -1.7].flatMap(x => [.2, .5, .9].map(y => [x, y, 0])), 1);
			check(within.most < .85 * floor.least, "the shadow has no holes", JSON.stringify([within, floor.least]));
			// the block itself hides the floor beside its foot, more so from near
			const {x, y, z} = await page.evaluate(() => viewer.camera.three.position.clone());
			const left = -1 - .04 - 2 * Math.max(0, 1 + x) / (z - 2), behind = 1 + .04 + 2 * Math.max(0, 1 - y) / (z - 2);
			const foot = await light(page, [0, .2, .4, .6, .8].flatMap(at => [[left, at, 0], [-at, behind, 0]]), 1);
			check(foot.most < .85 * floor.least, "and begins at the body that casts it", JSON.stringify([foot, floor.least]));
			const beyond = await light(page, [[-2.6, -2.6, 0], [2.6, 2.8, 0], [0, -1.5, 0], [1.5, 0, 0]], 3);
			check(beyond.least > .93 * floor.least, "elsewhere is none", JSON.stringify([beyond, floor.least]));
		});
	await run_.end();
	await page.close();
}

// --- figures ------------------------------------------------------------------------------------------------------------

async function figures(context) {
	const run_ = await run("figures", FLOOR + SUN + model("ball", "0 0 2", box("0.4 0.4 0.4")), "--rtf", "1", "--secondaries", "2");
	const page = await open(context, run_.address);
	await part("steps per second", async () => {
		await until(() => Number.isFinite(viewer.pace.rate));
		// the truth: what the run's own statistics say of the same time; half of the time the page is too busy to draw
		const found = await page.evaluate(async () => {
			const stats = [], out = [];
			const seconds = time => Number(time.sec || 0) + (time.nsec || 0) * 1e-9;
			const end = viewer.connection.subscribe("/world/figures/stats", 20, message =>
				stats.push({real: seconds(message.realTime), steps: Number(message.iterations)}));
			for (let i = 0; i < 24; i++) {
				await new Promise(resolve => setTimeout(resolve, 250));
				if (i % 4 === 3)
					for (const until = performance.now() + 600; performance.now() < until; );
				const text = id => document.getElementById(id).textContent, {now, rate, factor, marks} = viewer.pace;
				out.push({now, rate, factor, from: marks[0], to: viewer.pace.sampled, header: text("figure-rate"), speed: text("figure-speed"),
					chart: viewer.work.speed.what.innerText.replace(/\n/g, "|"), time: text("figure-time"), step: text("figure-step")});
			}
			end();
			return {stats, out};
		});
		const plain = text => Number(text.replace(/[^\d.]/g, ""));
		const truth = (from, to) => {
			const before = [...found.stats].reverse().find(mark => mark.real <= from) || found.stats[0], after = found.stats.find(mark => mark.real >= to) || found.stats[found.stats.length - 1];
			return (after.steps - before.steps) / (after.real - before.real);
		};
		// two of 24 may fall into a moment in which the machine stood still
		const wrong = found.out.filter(({rate, from, to}) => {
			const real = truth(from.real - .3, to.real + .3);
			return found.stats.length > 4 && !(rate > .6 * real && rate < 1.6 * real);
		});
		check(wrong.length <= 2, "are those of the run, however late pictures come", JSON.stringify(wrong.slice(0, 3)));
		check(found.out.every(({rate, factor}) => Math.abs(rate - 1000 * factor) < 1), "belong to the real-time factor");
		const apart = found.out.filter(({header, speed, chart}) => chart !== `${speed} real time|${header} steps/s`);
		check(apart.length === 0, "are the same in the bar and in the chart", JSON.stringify(apart.slice(0, 3)));
		const torn = found.out.filter(({now, time, step}) => now.step !== plain(step) || Math.abs(now.step * .001 - now.time) > 1e-6 || Math.abs(plain(time) - now.time) > .006);
		check(torn.length === 0, "time and step are those of one state", JSON.stringify(torn.slice(0, 3)));
	});
	await part("a pause", async () => {
		await page.focus("#view");
		await page.keyboard.press(" ");
		await until(() => document.getElementById("figure-speed").textContent === "paused");
		check(/^–/.test(await page.evaluate(() => viewer.work.speed.what.innerText)), "the chart has no speed in a pause", await page.evaluate(() => viewer.work.speed.what.innerText));
		await page.waitForTimeout(1500);
		await page.keyboard.press(" ");
		await until(() => Number.isFinite(viewer.pace.rate));
		const {took, rate} = await page.evaluate(() => ({took: viewer.pace.sampled.real - viewer.pace.marks[0].real, rate: viewer.pace.rate}));
		check(took < 1.5 && rate > 100, "which does not count as time of the run", `${took} s, ${rate}`);
	});
	await part("trials of another number of secondaries", async () => {
		const events = await page.evaluate(() => {
			const {levels, work} = viewer, before = work.events.length, at = (step, shares, secondary, movedFrom) =>
				levels.take({step, shares, performer: [{name: "ball", secondary, movedFrom}]});
			levels.known = true;
			at(10, 1, 1);
			at(20, 2, 2);       // a trial
			at(30, 3, 1);       // and back
			at(40, 3, 2, 1);    // a move
			return work.events.slice(0, work.events.length - before).map(({step, text}) => `${step} ${text}`);
		});
		check(events.join() === "40 ball  1 → 2", "are not moves", events.join());
		const members = await page.evaluate(() => {
			const {levels, work} = viewer, before = work.events.length;
			const change = [{what: "lost", who: "secondary 2 (<b>h</b>:7)", step: 41, repeatedSteps: 20, stoodStillS: .01}];
			for (const step of [42, 43])      // each message has it
				levels.take({step, change});
			work.drawEvents();
			return work.events.slice(0, work.events.length - before).map(({step, kind, text}) => `${step} ${kind} ${text}`);
		});
		check(members.join() === "41 loss secondary 2 (<b>h</b>:7) lost, 20 steps again, 0.01 s still", "a lost secondary is told once", members.join());
	});
	await run_.end();
	await page.close();
}

main(folder, [hall, fallen, alone, colours, figures]);
