// Opens the viewer's page in a real browser while troupe runs worlds that this script makes: sensors, lights, adding,
// driving by touch, time, several worlds, token and TLS, many boxes. Prints TAP.
//
//   node sights.js TROUPE WORLDS FOLDER
//
// WORLDS: the folder of the worlds; FOLDER: for worlds, for what the browser writes, and for pictures of what failed.
const {HEIGHT, WIDTH, check, lookAt, main, model, open, part, rests, select, settled, start, until} = require("./browser.js");
const {spawnSync} = require("child_process");
const fs = require("fs");
const http = require("http");
const path = require("path");

const [troupe, worlds, folder] = process.argv.slice(2);
const BOXES = 100;              // along each side of the square of boxes: 10000 in all

const RED = "<material><diffuse>0.9 0.05 0.05 1</diffuse></material>";
const box = (size, look = "") => `<collision name="c"><geometry><box><size>${size}</size></box></geometry></collision>` +
	`<visual name="v"><geometry><box><size>${size}</size></box></geometry>${look}</visual>`;
const still = (name, pose, parts) => `<model name="${name}"><static>true</static><pose>${pose}</pose><link name="l">${parts}</link></model>`;
const FLOOR = still("floor", "0 0 0 0 0 0", "<collision name='c'><geometry><plane><normal>0 0 1</normal></plane></geometry></collision>");
const world = (name, parts) => `<world name="${name}"><physics type="ode"><max_step_size>0.001</max_step_size></physics>${parts}</world>`;

// Writes a file of worlds, and gives its path.
function file(name, ...texts) {
	const at = path.join(folder, name);
	fs.writeFileSync(at, `<?xml version="1.0"?><sdf version="1.9">${texts.join("")}</sdf>`);
	return at;
}

function run(at, address, ...options) {
	return start(troupe, ["run", at, "--view-address", String(address), "--no-gz", ...options]);
}

// The colour, 0 to 255, of the place on the screen where a point of the world is drawn: the mean of 7 by 7 pixels
async function colourAt(page, x, y, z) {
	const shot = (await page.screenshot()).toString("base64");
	return page.evaluate(async ({shot, point}) => {
		const image = await createImageBitmap(new Blob([Uint8Array.from(atob(shot), c => c.charCodeAt(0))]));
		const at = viewer.camera.three.position.clone().set(...point).project(viewer.camera.three);
		const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext("2d");
		context.drawImage(image, 0, 0);
		const {data} = context.getImageData((at.x + 1) / 2 * innerWidth - 3, (1 - at.y) / 2 * innerHeight - 3, 7, 7);
		const sum = [0, 0, 0];
		data.forEach((value, i) => { sum[i % 4] += i % 4 < 3 ? value / 49 : 0; });
		return sum.slice(0, 3);
	}, {shot, point: [x, y, z]});
}

// --- sensors ------------------------------------------------------------------------------------------------------------

// The eye looks along x at a red wall whose face is at x = 4. Its sensors are beside the origin of its link, and its link
// beside that of its model.
const camera = "<camera><horizontal_fov>1</horizontal_fov><image><width>64</width><height>48</height></image><clip><near>0.1</near><far>30</far></clip></camera>";
const lidar = "<lidar><scan><horizontal><samples>41</samples><min_angle>-0.4</min_angle><max_angle>0.4</max_angle></horizontal>" +
	"<vertical><samples>5</samples><min_angle>-0.1</min_angle><max_angle>0.1</max_angle></vertical></scan><range><min>0.1</min><max>20</max></range></lidar>";
const EYE = `<model name="eye"><static>true</static><pose>1 0 1 0 0 0</pose><link name="head"><pose>0 0.5 0 0 0 0</pose>
	<sensor name="colour" type="camera"><update_rate>20</update_rate>${camera}</sensor>
	<sensor name="depth" type="depth_camera"><update_rate>20</update_rate><topic>/far</topic><pose>0.5 0 0 0 0 0</pose>${camera}</sensor>
	<sensor name="beams" type="gpu_lidar"><update_rate>12.5</update_rate><topic>/beams</topic><pose>0 -0.5 0 0 0 0</pose>${lidar}</sensor>
	<sensor name="still" type="camera"><update_rate>5</update_rate>${camera.replace("<camera>", "<camera><triggered>true</triggered><trigger_topic>/now</trigger_topic>")}</sensor>
	<sensor name="ping" type="sonar"/></link></model>
	<model name="feel"><pose>-2 0 0.5 0 0 0</pose><link name="l">${box("0.4 0.4 0.4")}
	<sensor name="motion" type="imu"><always_on>true</always_on></sensor></link></model>`;
const SUN = "<light type='directional' name='sun'><direction>0.3 0.2 -1</direction></light>";

const rowOf = name => `#inspector .sensor:has(.name:text-is("${name}"))`;

async function sensors(context) {
	const run_ = await run(file("eye.sdf", world("eye", FLOOR + SUN + EYE + still("wall", "4.5 0 1 0 0 0", box("1 6 4", RED)))), 0, "--rtf", "1", "--secondaries", "1");
	if (/ignored.*sensor/.test(run_.said()) && /gpu_lidar/.test(run_.said())) {
		console.log("skipped: sensors that see: this troupe was built without Embree");
		await run_.end();
		return;
	}
	const page = await open(context, run_.address);
	await part("the inspector lists sensors", async () => {
		await select("eye");
		await page.waitForSelector(rowOf("head::colour"));
		const rows = await page.$$eval("#inspector .sensor", rows => rows.map(row => [...row.querySelectorAll("span, button")].map(part => part.textContent)));
		const text = name => (rows.find(row => row[0] === name) || []).join("|");
		check(rows.length === 5, "all sensors of the model are listed", JSON.stringify(rows));
		check(/\|camera, 20 Hz\|.*\|Picture\|Info\|Compressed$/.test(text("head::colour")), "with type, rate, and what can be shown", text("head::colour"));
		check(/\|gpu_lidar, 12.50 Hz\|\/beams\|Scan\|Points$/.test(text("head::beams")), "with the topic that the file names", text("head::beams"));
		check(/camera, when triggered/.test(text("head::still")), "a camera that waits for a trigger says so", text("head::still"));
		check(/sonar, not simulated$/.test(text("head::ping")), "a sensor that is not simulated says so", text("head::ping"));
		check(!await page.$("#inspector h2:text-is('Topics')"), "a topic of a sensor is not listed twice");
	});
	await part("a camera's picture is shown", async () => {
		await page.click(`${rowOf("head::colour")} button:text-is("Picture")`);
		await until(() => { const canvas = document.querySelector("#shown canvas[aria-label=camera]"); return canvas && canvas.width === 64; });
		const seen = await page.evaluate(() => {
			const canvas = document.querySelector("#shown canvas[aria-label=camera]");
			return {height: canvas.height, middle: [...canvas.getContext("2d").getImageData(32, 24, 1, 1).data]};
		});
		check(seen.height === 48, "it has the camera's size", JSON.stringify(seen));
		check(seen.middle[0] > 60 && seen.middle[0] > 2 * seen.middle[1] && seen.middle[0] > 2 * seen.middle[2], "the red wall is red", JSON.stringify(seen));
		check(await page.getAttribute(`${rowOf("head::colour")} button:text-is("Picture")`, "aria-pressed") === "true", "its button is pressed");
		await page.click(`${rowOf("head::colour")} button:text-is("Picture")`);
		await until(() => !document.querySelector("#shown canvas[aria-label=camera]"));
		check(true, "the button hides it again");
		await page.click(`${rowOf("head::colour")} button:text-is("Compressed")`);
		await until(() => { const canvas = document.querySelector("#shown canvas[aria-label=camera]"); return canvas && canvas.width === 64; });
		const packed = await page.evaluate(() => [...document.querySelector("#shown canvas[aria-label=camera]").getContext("2d").getImageData(32, 24, 1, 1).data]);
		check(packed[0] > 60 && packed[0] > 2 * packed[1] && packed[0] > 2 * packed[2], "so is it in the compressed picture", JSON.stringify(packed));
		await page.click(`${rowOf("head::colour")} button:text-is("Compressed")`);
		await until(() => !document.querySelector("#shown canvas[aria-label=camera]"));
		await page.click(`${rowOf("head::depth")} button:text-is("Picture")`);
		await until(() => { const canvas = document.querySelector("#shown canvas[aria-label=camera]"); return canvas && canvas.width === 64; });
		const depth = await page.evaluate(() => [...document.querySelector("#shown canvas[aria-label=camera]").getContext("2d").getImageData(32, 24, 1, 1).data]);
		check(depth[0] === depth[1] && depth[1] === depth[2] && depth[0] > 0 && depth[0] < 255, "a picture of depths is grey", JSON.stringify(depth));
	});
	await part("point clouds are where the sensor sees them", async () => {
		// the middle of the points, in the world; the wall's face is at x = 4
		const cloud = () => page.evaluate(() => {
			const part = viewer.topics.group.children.find(part => part.isPoints && part.visible && part.geometry.attributes.position && part.geometry.attributes.position.count > 20);
			if (!part)
				return null;
			const out = {count: part.geometry.attributes.position.count, near: Infinity, far: -Infinity, left: -Infinity, right: Infinity};
			const at = viewer.camera.three.position.clone();
			for (let i = 0; i < out.count; i++) {
				at.fromBufferAttribute(part.geometry.attributes.position, i).applyMatrix4(part.matrix);
				if (at.z < .05)
					continue;     // the floor
				out.near = Math.min(out.near, at.x);
				out.far = Math.max(out.far, at.x);
				out.left = Math.max(out.left, at.y);
				out.right = Math.min(out.right, at.y);
			}
			return out;
		});
		const shown = async (sensor, middle) => {
			await page.click(`${rowOf(sensor)} button:text-is("Points")`);
			await until(() => viewer.topics.group.children.some(part => part.isPoints && part.visible && part.geometry.attributes.position && part.geometry.attributes.position.count > 20));
			const found = await cloud();
			check(found && Math.abs(found.near - 4) < .02 && Math.abs(found.far - 4) < .02, `${sensor}: all points lie on the wall`, JSON.stringify(found));
			check(found && Math.abs((found.left + found.right) / 2 - middle) < .1, `${sensor}: they are in front of the sensor`, JSON.stringify(found));
			await page.click(`${rowOf(sensor)} button:text-is("Points")`);
			await until(() => !viewer.topics.group.children.length);
		};
		await shown("head::beams", 0);
		await shown("head::depth", .5);
	});
	await part("numbers are plotted", async () => {
		await select("feel");
		await page.click(`${rowOf("l::motion")} button:text-is("Plot")`);
		await until(() => [...document.querySelectorAll(".shown option")].some(option => option.value === "linearAcceleration.z"));
		await page.selectOption(".shown select", "linearAcceleration.z");
		// at rest it weighs as much as gravity
		await until(() => Math.abs(Number(document.querySelector(".shown b").textContent) - 9.8) < .2);
		check(true, "the plot has the numbers of an IMU");
	});
	await run_.end();
	await page.close();
}

// --- lights, textures -----------------------------------------------------------------------------------------------------

const lamp = (type, name, pose, more) => `<light type="${type}" name="${name}"><pose>${pose}</pose><diffuse>1 1 1 1</diffuse><intensity>3</intensity>` +
	`<attenuation><range>6</range><constant>0.2</constant><linear>0</linear><quadratic>0.1</quadratic></attenuation>${more}</light>`;

// Concave: there is nothing in its corner at 1.5 1.5
const ELL = ["0 0", "2 0", "2 1", "1 1", "1 2", "0 2"];

async function lights(context) {
	const text = still("slab", "0 0 -0.05 0 0 0", box("40 40 0.1", "<material><diffuse>0.4 0.4 0.4 1</diffuse></material>")) +
		still("poster", "0 -8 0.5 0 0 0", box("1 1 1", "<material><diffuse>0.1 0.7 0.1 1</diffuse><pbr><metal><albedo_map>materials/none.png</albedo_map></metal></pbr></material>")) +
		still("ell", "4 -9 0 0 0 0", `<visual name="v"><geometry><polyline><height>0.5</height>${ELL.map(xy => `<point>${xy}</point>`).join("")}</polyline></geometry>${RED}</visual>`) +
		lamp("point", "bulb", "-8 0 2 0 0 0", "") +
		lamp("spot", "torch", "8 0 4 0 0 0", "<direction>0 0 -1</direction><spot><inner_angle>0.3</inner_angle><outer_angle>0.6</outer_angle><falloff>1</falloff></spot>");
	const run_ = await run(file("lamps.sdf", world("lamps", text)), 0, "--paused");
	const asked = [];
	context.on("request", request => asked.push(request.url()));
	const page = await open(context, run_.address);
	await part("point and spot lights shine", async () => {
		const found = await page.evaluate(() => viewer.world.lights.children.filter(light => light.isPointLight || light.isSpotLight)
			.map(light => [light.type, ...light.position.toArray()].join(" ")));
		check(found.includes("PointLight -8 0 2") && found.includes("SpotLight 8 0 4"), "both are at their places", JSON.stringify(found));
		await page.evaluate(() => viewer.camera.show(viewer.world.extent(), "top"));
		await settled();
		const bright = async (x, y) => (await colourAt(page, x, y, 0)).reduce((sum, value) => sum + value) / 3;
		const dark = await bright(0, 6), bulb = await bright(-8, 1), torch = await bright(8, .5), beside = await bright(8, 5);
		check(bulb > 1.15 * dark, "the floor below the bulb is brighter", JSON.stringify({dark, bulb}));
		check(torch > 1.15 * dark, "the floor in the torch's cone is brighter", JSON.stringify({dark, torch}));
		check(Math.abs(beside - dark) < .1 * dark, "and beside the cone it is not", JSON.stringify({dark, beside}));
		await page.evaluate(() => viewer.connection.call("/world/lamps/light_config", {name: "bulb", type: "POINT", isLightOff: true}));
		await until(() => !viewer.world.lights.children.some(light => light.isPointLight));
		await settled();
		const off = await bright(-8, 1);
		check(Math.abs(off - dark) < .1 * dark, "a bulb that is switched off gives no light", JSON.stringify({dark, off}));
	});
	await part("a polyline", async () => {
		const red = async (x, y, z) => {
			const [r, g, b] = await colourAt(page, 4 + x, -9 + y, z);
			return r > 2 * g && r > 2 * b;
		};
		await until(() => [...viewer.world.meshes.keys()].some(key => /polyline/.test(key)) && !viewer.world.asked);
		await settled();
		check(await red(.5, .5, .5) && await red(1.5, .5, .5) && await red(.5, 1.5, .5), "it is drawn");
		check(!await red(1.5, 1.5, 0), "its inner corner is empty");
		check(await page.evaluate(() => {
			const {position} = viewer.camera.three, before = position.toArray().join();
			viewer.world.meshed();
			return position.toArray().join() === before;
		}), "a mesh that comes late does not move a camera that was placed");
	});
	await part("a texture that is not there", async () => {
		const [red, green, blue] = await colourAt(page, 0, -8, 1);
		check(green > 1.5 * red && green > 1.5 * blue, "the shape has its colour", JSON.stringify([red, green, blue]));
		const others = asked.filter(url => !url.startsWith(run_.address) && !url.startsWith("data:") && !url.startsWith("blob:"));
		check(asked.length > 5 && others.length === 0, "the page asks no other host for anything", others.join(" "));
		check(!asked.some(url => /none\.png/.test(url)), "and nobody for the texture");
	});
	await run_.end();
	await page.close();
}

// --- adding, driving, time --------------------------------------------------------------------------------------------------

const CART = `<model name="cart"><pose>0 3 0.2 0 0 0</pose><link name="l">${box("0.6 0.4 0.2")}</link>
	<plugin filename="gz-sim-velocity-control-system" name="gz::sim::systems::VelocityControl"/></model>`;

async function handling(context) {
	const run_ = await run(file("yard.sdf", world("yard", FLOOR + SUN + CART)), 0, "--rtf", "1", "--secondaries", "1");
	const page = await open(context, run_.address);
	const named = name => until(name => [...viewer.world.models.values()].some(model => model.name === name), name);
	const shapes = name => page.evaluate(name => {
		const model = [...viewer.world.models.values()].find(model => model.name === name);
		return model.links.flatMap(link => link.instances.map(instance => `${instance.shape.key} ${instance.shape.scale.toArray()}`)).join();
	}, name);
	// The camera looks at the middle from above, so that a place on the screen is a place on the floor.
	const above = async () => {
		await page.keyboard.press("Escape");
		await page.evaluate(() => {
			const box = viewer.world.extent();
			box.min.set(-5, -5, 0);
			box.max.set(5, 5, 1);
			viewer.camera.show(box, "top");
		});
		await settled();
	};
	const screen = (x, y) => page.evaluate(([x, y]) => {
		const at = viewer.camera.three.position.clone().set(x, y, 0).project(viewer.camera.three);
		return {x: (at.x + 1) / 2 * innerWidth, y: (1 - at.y) / 2 * innerHeight};
	}, [x, y]);

	await part("a sphere, a cylinder and a file are added", async () => {
		await above();
		for (const [shape, x, expected] of [["sphere", -2, "sphere 0.3,0.3,0.3"], ["cylinder", 2, "cylinder 0.3,0.3,0.6"]]) {
			await page.click("#open-add");
			await page.fill("#add-size", "0.6");
			await page.fill("#add-mass", "2.5");
			await page.click(`#add-menu [data-shape=${shape}]`);
			const at = await screen(x, 0);
			await page.mouse.click(at.x, at.y);
			await named(shape);
			check(await shapes(shape) === expected, `a ${shape} of the given size is there`, await shapes(shape));
			const there = await model(shape);
			check(Math.abs(there.x - x) < .3 && Math.abs(there.y) < .3, `the ${shape} is where the click was`, JSON.stringify(there));
		}
		const sdf = path.join(folder, "lamp post.sdf");
		fs.writeFileSync(sdf, `<sdf version="1.9">${still("post", "0 0 0 0 0 0", box("0.2 0.2 2"))}</sdf>`);
		await page.click("#open-add");
		await page.setInputFiles("#add-file", sdf);
		await page.waitForSelector("#view.placing");
		const at = await screen(0, -2);
		await page.mouse.click(at.x, at.y);
		await named("post");
		const there = await model("post");
		check(Math.abs(there.x) < .1 && Math.abs(there.y + 2) < .1, "the model of the file is where the click was", JSON.stringify(there));
		fs.writeFileSync(sdf, "<sdf version='1.9'><model name='bad'><link name='l'><collision name='c'><geometry><sphere><radius>-1</radius></sphere></geometry></collision></link></model></sdf>");
		await page.click("#open-add");
		await page.setInputFiles("#add-file", sdf);
		await page.waitForSelector("#view.placing");
		await page.mouse.click(at.x, at.y);
		await page.waitForSelector(".notice.bad:has-text('radius')");
		check(!await model("bad"), "a bad file is refused with troupe's reason");
		check(/^lamp post\.sdf:1: .*radius/.test(await page.innerText(".notice.bad")), "which names the file and the line", await page.innerText(".notice.bad"));
	});

	await part("driving by touch", async () => {
		await select("cart");
		await page.click("#inspector button:text-is('Drive')");
		await page.waitForSelector("#drive-pad");
		const touch = await context.newCDPSession(page), pad = await (await page.$("#drive-pad")).boundingBox();
		const x = pad.x + pad.width / 2, y = pad.y + pad.height / 2, before = await model("cart");
		const send = (type, ...points) => touch.send("Input.dispatchTouchEvent", {type, touchPoints: points.map(([x, y]) => ({x, y}))});
		await send("touchStart", [x, y]);
		await send("touchMove", [x, y - 40]);
		await until(before => {
			const model = [...viewer.world.models.values()].find(model => model.name === "cart");
			return viewer.world.poseOf(model).position.x > before.x + .5;
		}, before);
		check(true, "the cart drives forward while the finger is on the pad");
		await send("touchEnd");
		check(await page.evaluate(() => document.getElementById("drive-knob").style.transform === ""), "the knob goes back");
		check(await rests("cart"), "and it stops when the finger is lifted");
		await page.keyboard.press("Escape");
	});

	await part("time: speed, steps, reset", async () => {
		const speed = () => page.evaluate(() => parseFloat(document.getElementById("figure-speed").textContent));
		await until(() => document.getElementById("speed").value === "1");
		check(true, "the page says how fast the run is to be");
		for (const [pace, shown] of [[3, "3×"], [.5, "0.5×"]]) {
			// as another page or program does it
			await page.evaluate(pace => viewer.connection.call("/world/yard/set_physics", {realTimeFactor: pace}), pace);
			await until(shown => { const speed = document.getElementById("speed"); return speed.selectedOptions[0].textContent.replace("½", "0.5") === shown; }, shown);
			check(true, `and follows when another program changes it to ${shown}`);
		}
		await page.selectOption("#speed", "0.1");
		await until(() => { const text = document.getElementById("figure-speed").textContent; return /×/.test(text) && parseFloat(text) < .15; });
		check(true, "a slower speed is kept", await speed());
		await page.selectOption("#speed", "0");
		await until(() => parseFloat(document.getElementById("figure-speed").textContent) > .3);
		check(true, "as fast as possible is faster");
		await page.selectOption("#speed", "1");
		await page.focus("#view");
		await page.keyboard.press(" ");
		await until(() => document.getElementById("play").getAttribute("aria-label") === "Play");
		const seconds = () => page.evaluate(() => document.getElementById("figure-time").textContent);
		await page.fill("#step-count", "25");
		const steps = await page.evaluate(() => viewer.lastTime);
		await page.click("#step");
		await until(before => Math.abs(viewer.lastTime - before - .025) < 1e-9, steps);
		check(true, "25 steps of 1 ms take 25 ms");
		await page.waitForTimeout(300);
		check(Math.abs(await page.evaluate(() => viewer.lastTime) - steps - .025) < 1e-9, "and then it is paused", await seconds());
		await page.click("#reset");
		await until(() => viewer.lastTime < 1);
		await until(() => {
			const {position} = viewer.world.poseOf([...viewer.world.models.values()].find(model => model.name === "cart"));
			return Math.abs(position.x) < .1 && Math.abs(position.y - 3) < .1;
		});
		check(true, "reset puts the cart back");
		await until(() => ![...viewer.world.models.values()].some(model => model.name === "sphere"));
		check(true, "and removes what was added");
		check(await page.evaluate(() => viewer.lastTime) === 0, "and a world that was paused still is", await seconds());
	});
	await run_.end();
	await page.close();
}

// --- several worlds -----------------------------------------------------------------------------------------------------------

async function several(context) {
	const ball = name => `<model name="${name}"><pose>0 0 3 0 0 0</pose><link name="l">${box("1 1 1")}</link></model>`;
	const run_ = await run(file("two.sdf", world("first", FLOOR + ball("apple")), world("second", FLOOR + ball("pear") + ball("plum").replace("0 0 3", "4 0 3"))),
		0, "--rtf", "1", "--paused");
	const page = await open(context, run_.address);
	await part("several worlds in one file", async () => {
		const names = () => page.evaluate(() => [...viewer.world.models.values()].map(model => model.name).sort().join());
		check(await page.$$eval("#world option", options => options.map(option => option.textContent).join()) === "first,second", "both worlds can be chosen");
		check(await names() === "apple,floor", "the first is shown", await names());
		await page.selectOption("#world", "/world/second");
		await until(() => [...viewer.world.models.values()].some(model => model.name === "plum"));
		check(await names() === "floor,pear,plum", "the second has its own models", await names());
		check(await page.title() === "second – troupe", "the title says which");
		await select("plum");
		await until(() => /position, m/.test(document.getElementById("inspector").innerText));
		await page.focus("#view");
		await page.keyboard.press("Delete");
		await until(() => ![...viewer.world.models.values()].some(model => model.name === "plum"));
		check(true, "a command goes to the world that is shown");
		await page.selectOption("#world", "/world/first");
		await until(() => [...viewer.world.models.values()].some(model => model.name === "apple"));
		check(await names() === "apple,floor", "the other has not changed", await names());
		await page.focus("#view");
		await page.keyboard.press(" ");
		await until(() => { const model = [...viewer.world.models.values()].find(model => model.name === "apple"); return viewer.world.poseOf(model).position.z < 1; });
		check(true, "it moves when it plays");
	});
	await run_.end();
	await page.close();
}

// --- contacts and components -----------------------------------------------------------------------------------------------------

async function touching(context) {
	const crate = (name, x) => `<model name="${name}"><pose>${x} 0 0.5 0 0 0</pose><link name="l">${box("1 1 1")}</link></model>`;
	const run_ = await run(file("crates.sdf", world("crates", FLOOR + SUN + crate("left", 0) + crate("right", .99) + crate("alone", 6))), 0, "--rtf", "1", "--no-sleep", "--secondaries", "2");
	const page = await open(context, run_.address);
	await part("contacts and components", async () => {
		const points = part => page.evaluate(part => [...(viewer.touching[part].geometry.attributes.position || {array: []}).array], part);
		check((await points("points")).length === 0 && !await page.evaluate(() => viewer.connection.subscriptions.has("/world/crates/touching")), "nothing is asked for before it is shown");
		await page.click("#open-look");
		await page.check("#look-contacts");
		// of twelve: two crates are pushed apart, after which a corner may hang less than 1 um above the floor
		await until(() => viewer.touching.points.geometry.attributes.position.count >= 10);
		const places = await points("points"), floor = places.filter((value, i) => i % 3 === 2 && Math.abs(value) < .02).length;
		check(floor >= 10, "each crate stands on its corners", places.join(" "));
		const normals = await points("normals");
		let upright = 0;
		for (let i = 0; i < normals.length; i += 6)
			upright += Math.abs(Math.abs(normals[i + 5] - normals[i + 2]) - .25) < .01 && Math.abs(normals[i + 2]) < .02;
		check(upright >= 10, "their normals are upright", `${upright} upright: ` + normals.join(" "));
		await page.check("#look-components");
		await until(() => viewer.touching.components.geometry.attributes.position.count > 0);
		const lines = await points("components");
		check(lines.length === 12 && lines.every((value, i) => i % 3 !== 0 || value < 1.1), "the two that touch are joined, the third is not", lines.join(" "));
		await page.uncheck("#look-contacts");
		await page.uncheck("#look-components");
		await until(() => !viewer.connection.subscriptions.has("/world/crates/touching"));
		check((await points("points")).length === 0, "when neither is shown, nothing is asked for");
	});
	await run_.end();
	await page.close();
}

// The secondaries are processes, and so is the viewer, which joins when all crates sleep.
async function touching_elsewhere(context) {
	const crate = (name, x) => `<model name="${name}"><pose>${x} 0 0.5 0 0 0</pose><link name="l">${box("1 1 1")}</link></model>`;
	const run_ = await run(file("asleep.sdf", world("crates", FLOOR + SUN + crate("left", 0) + crate("alone", 6))), 0, "--rtf", "2",
		"--transport", "tcp", "--secondaries", "2", "--watch-listen", "127.0.0.1:0", "-v", "3");
	const [, there] = /(127\.0\.0\.1:\d+), without/.exec(run_.said()) || [];
	const viewer_ = await start(troupe, ["view", "--connect", there, "--view-address", "0"]);
	const page = await open(context, viewer_.address);
	await part("contacts of sleeping models, through a viewer's process", async () => {
		await until(() => [...viewer.world.models.values()].filter(model => !model.isStatic).every(model => model.asleep));
		await page.click("#open-look");
		await page.check("#look-contacts");
		await until(() => viewer.touching.points.geometry.attributes.position && viewer.touching.points.geometry.attributes.position.count >= 8);
		check(true, "each crate stands on four points");
	});
	await page.close();
	await viewer_.end();
	await run_.end();
}

// --- who may connect -------------------------------------------------------------------------------------------------------------

const statusOf = (address, headers = {}) => new Promise(resolve => {
	const asked = http.get(address, {headers}, answer => { answer.resume(); resolve(answer.statusCode); });
	asked.on("upgrade", (answer, socket) => { socket.destroy(); resolve(answer.statusCode); });
	asked.on("error", () => resolve(0));
});

async function token(context) {
	const at = file("small.sdf", world("small", FLOOR + still("post", "0 0 1 0 0 0", box("1 1 2"))));
	const run_ = await run(at, "0.0.0.0:0", "--rtf", "1");
	await part("a token", async () => {
		const address = run_.address.replace(/\/\/[^:/]+:/, "//127.0.0.1:"), plain = `http://127.0.0.1:${run_.port}/`;
		check(/\?token=[\w-]{16,}$/.test(address), "the address has a token", address);
		const without = await statusOf(plain), wrong = await statusOf(`${plain}?token=${"a".repeat(32)}`);
		check(without === 401 && wrong === 401, "without it, or with another, there is no page", `${without}, ${wrong}`);
		const page = await open(context, address);
		check((await model("post")).z === 1, "with it there is the world");
		const socket = {Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dHJvdXBlIHRyb3VwZSB0cg==", "Sec-WebSocket-Protocol": "troupe.view.v1"};
		check(await statusOf(`${plain}view`, socket) === 401, "without it there is no data either");
		check(await statusOf(`${plain}view${new URL(address).search}`, socket) === 101, "with it there is");
		await page.close();
	});
	await run_.end();
}

async function tls(context) {
	const cert = path.join(folder, "cert.pem"), key = path.join(folder, "key.pem");
	const made = spawnSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", key, "-out", cert]);
	if (made.status !== 0) {
		check(false, "openssl makes a certificate", made.stderr || made.error);
		return;
	}
	fs.chmodSync(key, 0o600);
	const run_ = await run(path.join(folder, "small.sdf"), 0, "--rtf", "1", "--view-cert", cert, "--view-key", key);
	await part("TLS", async () => {
		check(/^https:/.test(run_.address), "the address is one of https", run_.address);
		const page = await open(context, run_.address);
		check((await model("post")).z === 1, "the world comes through TLS");
		check(await page.evaluate(() => viewer.connection.address.startsWith("wss:")), "its data, too");
		await page.close();
	});
	await run_.end();
}

// --- ten thousand boxes -------------------------------------------------------------------------------------------------------------

async function many(context) {
	let text = FLOOR + SUN;
	for (let i = 0; i < BOXES * BOXES; i++)
		text += `<model name="b${i}"><static>true</static><pose>${i % BOXES} ${Math.floor(i / BOXES)} 0.25 0 0 ${i % 7}</pose><link name="l"><visual name="v"><geometry><box><size>0.5 0.${3 + i % 3} 0.5</size></box></geometry>` +
			`<material><diffuse>0.${1 + i % 8} 0.5 0.${1 + i % 5} 1</diffuse></material></visual></link></model>`;
	const run_ = await run(file("many.sdf", world("many", text)), 0, "--paused");
	const page = await open(context, run_.address);
	await part("ten thousand boxes", async () => {
		await until(count => viewer.world.models.size === count, BOXES * BOXES + 1);
		await page.evaluate(() => viewer.camera.show(viewer.world.extent(), "top"));
		await settled();
		const drawn = await page.evaluate(() => ({...viewer.view.renderer.info.render}));
		check(drawn.triangles >= 12 * BOXES * BOXES, "all of them are drawn", JSON.stringify(drawn));
		check(drawn.calls <= 12, "in a few draw calls", JSON.stringify(drawn));
		await page.focus("#view");
		await page.keyboard.press("/");
		await page.fill("#tree-search", "b7777");
		await page.keyboard.press("Enter");
		await page.waitForSelector("#inspector h1:text-is('b7777')");
		check(await page.$$eval("#tree-list .entry", rows => rows.length) < 100, "the list has few elements");
	});
	await run_.end();
	await page.close();
}

// --- the first look -----------------------------------------------------------------------------------------------------

// The shapes of these models come later than the models
async function firstLook(context) {
	const long = [[0, 0], [9, 0], [9, 1], [0, 1]].map(xy => `<point>${xy.join(" ")}</point>`).join("");
	const parts = ["0 0 0", "0 12 0"].map((at, i) => still(`long_${i}`, `${at} 0 0 0`,
		`<visual name="v"><geometry><polyline><height>2</height>${long}</polyline></geometry></visual>`)).join("");
	const run_ = await run(file("far.sdf", world("far", parts)), 0);
	const page = await open(context, run_.address);
	await part("the whole world is in the first picture", async () => {
		await until(() => viewer.world.extent().max.x > 8);
		await settled();
		const seen = await page.evaluate(() => {
			const {min, max} = viewer.world.extent(), corners = [];
			for (let i = 0; i < 8; i++)
				corners.push(min.clone().set(i & 1 ? max.x : min.x, i & 2 ? max.y : min.y, i & 4 ? max.z : min.z).project(viewer.camera.three));
			return corners.every(({x, y}) => Math.abs(x) < 1 && Math.abs(y) < 1);
		});
		check(seen, "all corners of it are in the picture");
	});
	await run_.end();
	await page.close();
}

// A row that is a thin line when the whole of it is in the picture
async function row(context) {
	let parts = FLOOR + SUN;
	for (let i = 0; i < 900; i++)
		parts += still(`b${i}`, `0 ${1.5 * i - 700} 0.5 0 0 0`, box("1 1 1", RED));
	const run_ = await run(file("row.sdf", world("row", parts)), 0, "--paused");
	const page = await open(context, run_.address);
	const heights = () => page.evaluate(() => [...viewer.world.models.values()].filter(model => model.name !== "floor").map(model => {
		const {min, max} = viewer.world.boxOf(model), low = min.clone().add(max).multiplyScalar(.5), high = low.clone();
		low.z = min.z;
		high.z = max.z;
		const [a, b] = [low, high].map(at => at.project(viewer.camera.three));
		return Math.abs(a.x) < 1 && Math.abs(a.y) < 1 && a.z < 1 ? (b.y - a.y) / 2 * innerHeight : 0;
	}));
	await part("the first picture of a long row", async () => {
		await settled();
		const seen = (await heights()).filter(height => height > 12).length;
		check(seen >= 10 && seen < 500, "shows some of its models large enough", seen);
		await page.setViewportSize({width: WIDTH - 100, height: HEIGHT});
		await settled();
		check((await heights()).filter(height => height > 12).length >= 10, "also when the window changes");
		await page.setViewportSize({width: WIDTH, height: HEIGHT});
		await page.focus("#view");
		await page.keyboard.press("h");
		await settled();
		const whole = await heights();
		check(whole.every(height => height > 0) && whole.every(height => height < 12), "the key H shows the whole of it", Math.max(...whole));
	});
	await run_.end();
	await page.close();
}

main(folder, [firstLook, row, sensors, lights, handling, several, touching, touching_elsewhere, token, tls, many], {hasTouch: true, ignoreHTTPSErrors: true});
