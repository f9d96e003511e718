// Opens the viewer's page in a real browser for seven worlds that stand still, and compares what is drawn with the kept
// pictures. Prints TAP.
//
//   node kept.js TROUPE WORLDS FOLDER
//
// WORLDS: the folder of the worlds; FOLDER: for a world, for what the browser writes, and for pictures that differ.
const {check, compare, main, open, part, settled, start, until} = require("./browser.js");
const {files} = require("./painted.js");
const fs = require("fs");
const path = require("path");

const [troupe, worlds, folder] = process.argv.slice(2);
const WIDTH = 800, HEIGHT = 500;
const DIFFER_MAX = .02;         // of the pixels: browsers draw edges in slightly different ways
const COLOURS_MIN = 20;
const update = process.env.TROUPE_UPDATE === "1";

let visuals = 0;
const visual = (pose, geometry, look) => `<visual name="v${visuals++}"><pose>${pose} 0 0 0</pose><geometry>${geometry}</geometry>${look}</visual>`;
const material = inside => `<material>${inside}</material>`;
const chart = material("<pbr><metal><albedo_map>chart.png</albedo_map><roughness>1</roughness><metalness>0</metalness></metal></pbr>");
const PAINTED = `<?xml version="1.0"?><sdf version="1.9"><world name="painted"><scene><sky><time>9</time></sky></scene>
	<light type="directional" name="sun"><cast_shadows>true</cast_shadows><direction>-0.5 0.3 -0.9</direction></light>
	<gui><camera name="user"><pose>-6 -3 3.5 0 0.42 0.46</pose></camera></gui>
	<model name="things"><static>true</static><link name="l">` +
	visual("0 0 0", "<plane><normal>0 0 1</normal><size>20 20</size></plane>", material("<diffuse>0.5 0.5 0.48 1</diffuse>")) +
	visual("0 0 0.5", "<box><size>1 1 1</size></box>", chart) +
	visual("0 2 0.7", "<sphere><radius>0.7</radius></sphere>", material("<diffuse>0.9 0.9 0.9 1</diffuse><pbr><metal><roughness>0.1</roughness><metalness>1</metalness></metal></pbr>")) +
	visual("0 -2 0.6", "<cylinder><radius>0.5</radius><length>1.2</length></cylinder>", chart) +
	visual("-1.5 1 0.4", "<box><size>0.8 0.8 0.8</size></box>", material("<diffuse>0.1 0.6 0.9 0.4</diffuse>")) +
	visual("-1.5 -1 0.4", "<sphere><radius>0.4</radius></sphere>", material("<diffuse>0.9 0.2 0.1 1</diffuse><specular>0.6 0.6 0.6 1</specular>")) +
	visual("1.5 0 1.2", "<mesh><uri>quad.glb</uri><scale>1 2 2</scale></mesh>", "") +
	visual("1 -2.5 0.9", "<mesh><uri>quad.obj</uri><scale>1 1.4 1.4</scale></mesh>", "") + "</link></model></world></sdf>";

// A hall as a warehouse has it: racks with cartons, pallets, marked lanes, lamps below the roof
const plain = (r, g, b, more = "") => material(`<ambient>${r} ${g} ${b} 1</ambient><diffuse>${r} ${g} ${b} 1</diffuse>${more}`);
const metal = (r, g, b, roughness) => plain(r, g, b, `<pbr><metal><roughness>${roughness}</roughness><metalness>0.9</metalness></metal></pbr>`);
const cuboid = (x, y, z, size, look) => visual(`${x} ${y} ${z}`, `<box><size>${size}</size></box>`, look);
const CARTON = plain(.72, .53, .33), BEAM = metal(.85, .38, .1, .5), POST = plain(.12, .25, .5), WOOD = plain(.6, .47, .3), LINE = plain(.95, .8, .1);
function rack(x, y) {
	const posts = [-1.5, 1.5].flatMap(dx => [-.5, .5].map(dy => cuboid(x + dx, y + dy, 1.5, "0.1 0.1 3", POST)));
	const boards = [.6, 1.6, 2.6].map(z => cuboid(x, y, z, "3 1 0.08", BEAM));
	const cartons = [.6, 1.6].flatMap(z => [-1, 0, 1].filter(dx => (dx + z * 10 + y) % 3 !== 0).map(dx => cuboid(x + dx, y, z + .34, "0.7 0.7 0.6", CARTON)));
	return [...posts, ...boards, ...cartons].join("");
}
const pallet = (x, y) => cuboid(x, y, .07, "1.2 0.8 0.14", WOOD) + cuboid(x - .25, y, .44, "0.6 0.7 0.6", CARTON) + cuboid(x + .35, y, .34, "0.5 0.7 0.4", CARTON);
const HALL = `<?xml version="1.0"?><sdf version="1.9"><world name="hall"><scene><ambient>0.5 0.5 0.5 1</ambient><grid>false</grid><background>0.85 0.88 0.9 1</background>
	<fog><type>linear</type><color>0.85 0.88 0.9 1</color><start>12</start><end>45</end><density>0.7</density></fog></scene>
	<light type="directional" name="sun"><cast_shadows>true</cast_shadows><direction>-0.4 0.3 -0.9</direction></light>
	<light type="point" name="lamp"><pose>0 0 5 0 0 0</pose><diffuse>0.5 0.45 0.35 1</diffuse><attenuation><range>14</range></attenuation></light>
	<gui><camera name="user"><pose>-11 -6 4.5 0 0.3 0.42</pose></camera></gui><model name="hall"><static>true</static><link name="l">` +
	visual("0 0 0", "<plane><normal>0 0 1</normal><size>40 30</size></plane>", plain(.55, .56, .57)) + [-4, -1, 2, 5].map(y => rack(-4, y) + rack(0, y) + rack(4, y)).join("") +
	[-5.6, 0.5].map(y => cuboid(-1, y, .005, "14 0.12 0.01", LINE)).join("") + pallet(-6.6, -2.5) + pallet(-7.5, 1) + pallet(-6.8, 3.8) +
	cuboid(8, 0, 2.5, "0.2 24 5", plain(.8, .8, .78)) + visual("7.85 -2 3", "<box><size>0.1 2 2</size></box>", chart) + cuboid(-4, -2.5, 4.8, "6 0.2 0.1", plain(0, 0, 0, "<emissive>1 1 0.9 1</emissive>")) +
	"</link></model></world></sdf>";

// A small robot with two wheels: plates on pillars, a lidar on the top one, a castor, and a camera
const disc = (x, y, z, radius, length, look) => visual(`${x} ${y} ${z}`, `<cylinder><radius>${radius}</radius><length>${length}</length></cylinder>`, look);
const BLACK = plain(.06, .06, .07), GREY = plain(.3, .31, .33);
const wheel = y => `<visual name="v${visuals++}"><pose>0 ${y} 0.033 1.5708 0 0</pose><geometry><cylinder><radius>0.033</radius><length>0.018</length></cylinder></geometry>${BLACK}</visual>`;
const TURTLE = `<?xml version="1.0"?><sdf version="1.9"><world name="turtle"><scene><sky><time>10</time></sky><grid>false</grid></scene>
	<light type="directional" name="sun"><cast_shadows>true</cast_shadows><direction>-0.3 0.5 -0.8</direction></light><gui><camera name="user"><pose>-0.42 -0.3 0.3 0 0.5 0.62</pose></camera></gui>
	<model name="floor"><static>true</static><link name="l">${visual("0 0 0", "<plane><normal>0 0 1</normal><size>4 4</size></plane>", plain(.62, .6, .56))}</link></model>
	<model name="turtle"><static>true</static><link name="l">` + wheel(.08) + wheel(-.08) + [.03, .07, .11].map(z => disc(-.02, 0, z, .07, .006, GREY)).join("") +
	[[.03, .04], [.03, -.04], [-.07, .04], [-.07, -.04]].map(([x, y]) => disc(x, y, .075, .005, .09, metal(.8, .6, .2, .3))).join("") + disc(-.03, 0, .135, .035, .04, BLACK) +
	visual("-0.08 0 0.012", "<sphere><radius>0.012</radius></sphere>", metal(.9, .9, .9, .15)) + cuboid(.035, 0, .09, "0.02 0.05 0.025", plain(.1, .35, .2)) +
	visual("-0.02 0 0.05", "<box><size>0.09 0.06 0.03</size></box>", chart) + "</link></model></world></sdf>";

for (const [name, bytes] of [...files, ["painted.sdf", PAINTED], ["hall.sdf", HALL], ["turtle.sdf", TURTLE]])
	fs.writeFileSync(path.join(folder, name), bytes);

const shown = {
	shapes: path.join(worlds, "shapes.sdf"), hill: path.join(worlds, "hill.sdf"), mechanisms: path.join(worlds, "mechanisms.sdf"),
	warehouse: path.join(worlds, "warehouse.sdf"), painted: path.join(folder, "painted.sdf"),
	hall: path.join(folder, "hall.sdf"), turtle: path.join(folder, "turtle.sdf"),
};

async function kept(context) {
	for (const [name, world] of Object.entries(shown)) {
		const run = await start(troupe, ["run", world, "--view-address", "0", "--no-gz", "--paused", "--secondaries", "1"]);
		const page = await open(context, run.address), at = path.join(__dirname, "kept", `${name}.png`);
		await part(`${name} is drawn as it was`, async () => {
			await page.$$eval("body > :not(#view)", all => all.forEach(one => one.style.setProperty("display", "none", "important")));
			await page.setViewportSize({width: WIDTH, height: HEIGHT});
			await page.evaluate(() => dispatchEvent(new Event("resize")));
			await until(() => viewer.world.asked === 0 && viewer.camera.keeps === "first" && (!viewer.gui.camera || Math.abs(viewer.camera.three.position.x - viewer.gui.camera.eye.x) < .01));
			await until(() => [...viewer.world.batches.all.values()].every(({look, material}) => !look.paint || !look.paint.maps.albedo || material.map));
			await settled();
			const taken = await page.screenshot();
			if (update)
				fs.writeFileSync(at, taken);
			const {differ, colours, why} = await compare(context, taken, fs.readFileSync(at), [0, HEIGHT]);
			if (!(differ < DIFFER_MAX))
				fs.writeFileSync(path.join(folder, `taken-${name}.png`), taken);
			check(differ < DIFFER_MAX && colours > COLOURS_MIN, `${name} is drawn as it was`, why || `${(100 * differ).toFixed(2)} % of the pixels differ; ${colours} colours`);
		});
		await run.end();
		await page.close();
	}
}

main(folder, [kept]);
