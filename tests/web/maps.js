// Opens the viewer's page in a real browser while troupe runs a world whose walls have maps of normals, roughness, metalness
// and what they emit, and compares pixels with the formulas of light. Prints TAP.
//
//   node maps.js TROUPE FOLDER
//
// Formulas: Lambert; Cook and Torrance with GGX (Walter et al. 2007), Smith's height-correlated masking (Heitz 2014) and
// Schlick's Fresnel, as three.js has them for its MeshStandardMaterial. Light is the sun's alone.
const {check, main, open, part, settled, start, until} = require("./browser.js");
const fs = require("fs");
const path = require("path");
const {png} = require("./painted.js");

const [troupe, folder] = process.argv.slice(2);
const SIDE = 64, GAMMA = 2.2, PI = Math.PI;
const LEVELS = 4;               // of 255: textures have 8 bits, and colours go through tables of the browser
const SUN = [.6, .3, -.74];     // its direction; walls look to -x

// u grows upwards on the walls: the left half of an image is the lower half. It has the
// first value, the right half the second.
const halves = (one, other) => png(SIDE, x => [...(x < SIDE / 2 ? one : other), 255]);
const tilted = degrees => [Math.round(255 * (.5 + .5 * Math.sin(degrees * PI / 180))), 128, Math.round(255 * (.5 + .5 * Math.cos(degrees * PI / 180)))];
const grey = value => [value, value, value];
const TILT = 35;

const images = {
	"normal.png": halves(tilted(0), tilted(TILT)), "rough.png": halves(grey(60), grey(240)), "metal.png": halves(grey(0), grey(255)),
	"glow.png": halves([200, 60, 20], [30, 90, 160]),
};
for (const [name, bytes] of Object.entries(images))
	fs.writeFileSync(path.join(folder, name), bytes);

const COLOUR = [.8, .5, .3], BLACK = [0, 0, 0];
// What a wall has: its maps, and what they say in the two halves
const walls = {
	normal: {colour: COLOUR, inside: "<normal_map>normal.png</normal_map><roughness>0.7</roughness><metalness>0</metalness>",
		halves: [0, TILT].map(tilt => ({tilt, rough: .7, metal: 0}))},
	roughness: {colour: COLOUR, inside: "<roughness_map>rough.png</roughness_map><metalness>0.5</metalness>",
		halves: [60, 240].map(rough => ({tilt: 0, rough: rough / 255, metal: .5}))},
	metalness: {colour: COLOUR, inside: "<metalness_map>metal.png</metalness_map><roughness>0.6</roughness>",
		halves: [0, 1].map(metal => ({tilt: 0, rough: .6, metal}))},
	emissive: {colour: BLACK, inside: "<emissive_map>glow.png</emissive_map><roughness>1</roughness><metalness>0</metalness>",
		halves: [[200, 60, 20], [30, 90, 160]].map(emits => ({tilt: 0, rough: 1, metal: 0, emits}))},
};
// at the distance 3; the sun's light comes back from the middle of each half under another angle
const world = ([name, {colour, inside}]) => `<world name="${name}"><physics type="ode"><max_step_size>0.01</max_step_size></physics>
	<scene><ambient>0 0 0 1</ambient><shadows>0</shadows><grid>false</grid><background>0 0 0 1</background></scene>
	<light type="directional" name="sun"><direction>${SUN.join(" ")}</direction><diffuse>1 1 1 1</diffuse></light>
	<model name="${name}"><static>true</static><pose>3 0 0 0 0 0</pose><link name="l"><visual name="v"><geometry><plane><normal>-1 0 0</normal><size>2 2</size></plane></geometry>
	<material><ambient>${colour.join(" ")} 1</ambient><diffuse>${colour.join(" ")} 1</diffuse><specular>0 0 0 1</specular><pbr><metal>${inside}</metal></pbr></material></visual></link></model></world>`;

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const unit = a => a.map(value => value / Math.sqrt(dot(a, a)));
const linear = value => value <= .04045 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;

// The pixel of a half: tangent: the direction in which u grows on the wall
function formula({colour}, {tilt, rough, metal, emits}, {eye, at, tangent, strength, toLinear}) {
	const angle = tilt * PI / 180, normal = unit([-1, 0, 0].map((value, i) => Math.cos(angle) * value + Math.sin(angle) * tangent[i]));
	const toSun = unit(SUN.map(value => -value)), toEye = unit(eye.map((value, i) => value - at[i])), half = unit(toSun.map((value, i) => value + toEye[i]));
	const nl = Math.max(0, dot(normal, toSun)), nv = Math.max(0, dot(normal, toEye)), nh = Math.max(0, dot(normal, half)), lh = Math.max(0, dot(toSun, half));
	const a2 = (rough * rough) ** 2, spread = a2 / (PI * (nh * nh * (a2 - 1) + 1) ** 2);
	const masked = .5 / (nl * Math.sqrt(a2 + (1 - a2) * nv * nv) + nv * Math.sqrt(a2 + (1 - a2) * nl * nl));
	return colour.map((value, c) => {
		const albedo = toLinear(value), straight = .04 * (1 - metal) + albedo * metal, mirror = straight + (1 - straight) * (1 - lh) ** 5;
		const light = strength * nl * (albedo * (1 - metal) + PI * mirror * spread * masked) + (emits ? linear(emits[c] / 255) : 0);
		return 255 * Math.min(1, light) ** (1 / GAMMA);
	});
}

// Pixels of the middles of both halves, and where they lie
function look(page) {
	return page.evaluate(() => {
		const {view, camera: {three}, world} = viewer, eye = three.clone(), context = view.renderer.getContext(), WIDE = 200;
		world.lights.children.filter(light => light.isAmbientLight || light.isHemisphereLight).forEach(light => { light.intensity = 0; });
		for (const {material} of world.batches.all.values())
			material.envMapIntensity = 0;
		Object.assign(eye, {aspect: 1, fov: 60, near: .1, far: 30});
		eye.clearViewOffset();
		eye.position.set(0, 0, 0);
		eye.up.set(0, 0, 1);
		eye.lookAt(1, 0, 0);
		eye.updateProjectionMatrix();
		eye.updateMatrixWorld();
		view.renderer.setSize(WIDE, WIDE, false);
		view.renderer.render(view.three, eye);
		const out = [-.5, .5].map(z => {
			const at = eye.position.clone().set(3, 0, z).project(eye), pixel = new Uint8Array(4);
			context.readPixels(Math.floor((at.x + 1) / 2 * WIDE), Math.floor((at.y + 1) / 2 * WIDE), 1, 1, context.RGBA, context.UNSIGNED_BYTE, pixel);
			return {at: [3, 0, z], seen: [...pixel].slice(0, 3)};
		});
		view.resize();
		return {out, strength: world.sun.intensity, eye: eye.position.toArray()};
	});
}

async function maps(context) {
	const at = path.join(folder, "maps.sdf");
	fs.writeFileSync(at, `<?xml version="1.0"?><sdf version="1.9">${Object.entries(walls).map(world).join("")}</sdf>`);
	const run = await start(troupe, ["run", at, "--view-address", "0", "--no-gz", "--paused", "--secondaries", "1"]);
	const page = await open(context, run.address);
	for (const [name, wall] of Object.entries(walls))
		await part(`${name} map`, async () => {
			await page.selectOption("#world", `/world/${name}`);
			await until(name => [...viewer.world.models.values()].some(model => model.name === name && model.links[0].instances.length && model.links[0].instances.every(({batch}) => batch &&
				["normalMap", "roughnessMap", "metalnessMap", "emissiveMap"].some(slot => batch.material[slot]))), name);
			await settled();
			const {out, strength, eye} = await look(page);
			const wanted = out.map(({at}, i) => formula(wall, wall.halves[i], {eye, at, tangent: [0, 0, 1], strength, toLinear: linear}));
			const far = Math.max(...out.flatMap(({seen}, i) => seen.map((value, c) => Math.abs(value - wanted[i][c]))));
			check(far <= LEVELS, `${name} map: the pixels of both halves are those of the formula`, JSON.stringify({seen: out.map(({seen}) => seen), wanted}));
			const apart = Math.max(...wanted[0].map((value, c) => Math.abs(value - wanted[1][c])));
			check(apart > 3 * LEVELS, "which differ", apart);
		});
	await run.end();
	await page.close();
}

main(folder, [maps]);
