// Opens the viewer's page in a real browser for five worlds that stand still, and compares what is drawn with the kept
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

for (const [name, bytes] of [...files, ["painted.sdf", PAINTED]])
	fs.writeFileSync(path.join(folder, name), bytes);

const shown = {
	shapes: path.join(worlds, "shapes.sdf"), hill: path.join(worlds, "hill.sdf"), mechanisms: path.join(worlds, "mechanisms.sdf"),
	warehouse: path.join(worlds, "warehouse.sdf"), painted: path.join(folder, "painted.sdf"),
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
