// Opens Foxglove Studio's page in a real browser while troupe runs a world that this script makes. Prints TAP.
//
//   node studio.js TROUPE MODULES FOLDER
//
// MODULES: with the packages of studio/package.json; FOLDER: for the world and its recording, for what the browser writes,
// and for pictures of what failed.
const {check, complaints, main, part, start, trouble} = require("./browser.js");
const {Client, until} = require("./foxglove_client.js");
const {spawnSync} = require("child_process");
const fs = require("fs");
const http = require("http");
const path = require("path");

const [troupe, modules, folder] = process.argv.slice(2);
const PATIENCE_MS = 120000;     // the page is 56 MB of script, and a machine without a graphics card draws an image in a second

// Seen from above: a red cart left of the middle, whose shape is in a frame of its own, and a blue post that stands. The eye
// sees nothing but a green wall; both are beside what is seen from above.
const visual = (shape, colour) => `<visual name="v"><geometry>${shape}</geometry><material><ambient>${colour}</ambient>` +
	`<diffuse>${colour}</diffuse><emissive>${colour}</emissive></material></visual>`;
const still = (name, pose, parts) => `<model name="${name}"><static>true</static><pose>${pose}</pose><link name="l">${parts}</link></model>`;
const WORLD = `<sdf version="1.9"><world name="w">
	<physics type="ode"><max_step_size>0.01</max_step_size><real_time_factor>1</real_time_factor></physics>
	<model name="cart"><pose>-2 0 0.25 0 0 0</pose><link name="base"><gravity>false</gravity>
		${visual("<box><size>1 1 0.5</size></box>", "1 0 0 1")}</link>
		<plugin name="gz::sim::systems::VelocityControl" filename="x"/>
		<plugin name="gz::sim::systems::PosePublisher" filename="x"><publish_model_pose>true</publish_model_pose>
			<publish_link_pose>false</publish_link_pose><update_frequency>20</update_frequency></plugin></model>
	${still("post", "0 3 0.5 0 0 0", visual("<cylinder><radius>0.5</radius><length>1</length></cylinder>", "0 0 1 1"))}
	${still("wall", "44 0 1 0 0 0", visual("<box><size>1 20 20</size></box>", "0 1 0 1"))}
	${still("eye", "40 0 1 0 0 0", `<sensor name="eye" type="camera"><update_rate>5</update_rate><topic>/eye</topic>
		<camera><image><width>160</width><height>120</height></image></camera></sensor>`)}
</world></sdf>`;

// The page and the packages: as a person's own server has them, which is another one than troupe's.
const TYPES = {".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm"};
function serve() {
	const server = http.createServer((request, answer) => {
		const wanted = decodeURIComponent(new URL(request.url, "http://host").pathname);
		const at = wanted === "/" ? path.join(__dirname, "studio/index.html") : path.join(modules, path.normalize(wanted));
		if (!fs.existsSync(at))
			return answer.writeHead(wanted === "/favicon.ico" ? 204 : 404).end();
		answer.writeHead(200, {"Content-Type": TYPES[path.extname(at)] || "application/octet-stream"});
		fs.createReadStream(at).pipe(answer);
	});
	return new Promise(resolve => server.listen(0, "127.0.0.1", () => resolve(server)));
}

// Of the pixels of a panel that are nearly of a colour, [red, green, blue] of 0 or 1: their number and the mean of their
// places, in pixels from the left upper corner of the panel.
async function seen(page, panel, colour) {
	const shot = (await page.screenshot({clip: await panel.boundingBox()})).toString("base64");
	return page.evaluate(async ({shot, colour}) => {
		const image = await createImageBitmap(new Blob([Uint8Array.from(atob(shot), c => c.charCodeAt(0))]));
		const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
		context.drawImage(image, 0, 0);
		const {data} = context.getImageData(0, 0, image.width, image.height);
		const found = {count: 0, x: 0, y: 0, all: image.width * image.height};
		for (let i = 0; i < found.all; i++)
			if (colour.every((wanted, k) => wanted ? data[4 * i + k] > 160 : data[4 * i + k] < 60)) {
				found.count++;
				found.x += i % image.width;
				found.y += Math.floor(i / image.width);
			}
		found.x /= found.count;
		found.y /= found.count;
		return found;
	}, {shot, colour});
}

// Looks until what is seen is good, and gives it; what is seen last, if it does not become good.
async function sees(page, panel, colour, good) {
	const end_ms = Date.now() + PATIENCE_MS;
	for (;;) {
		const found = await seen(page, panel, colour);
		if (good(found) || Date.now() > end_ms)
			return found;
	}
}

async function studio(context) {
	const file = path.join(folder, "w.sdf"), recording = path.join(folder, "w.rec");
	fs.writeFileSync(file, WORLD);
	const server = await serve();
	const run = await start(troupe, ["run", file, "--foxglove", "0", "--no-gz", "--record", recording]);
	const other = new Client(run.address), poses = await other.subscribe("/model/cart/pose");
	const cart = () => poses.read(poses.length - 1).pose.position;
	const page = await context.newPage();
	page.setDefaultTimeout(PATIENCE_MS);
	page.on("pageerror", error => complaints.push(error.message));
	page.on("console", message => message.type() === "error" && complaints.push(message.text()));
	trouble(page);
	await page.goto(`http://127.0.0.1:${server.address().port}/?ds=foxglove-websocket&ds.url=${run.address}`);
	const world = page.locator("canvas").first(), picture = page.locator("canvas").nth(1), pad = page.locator("svg[viewBox='0 0 256 256']");
	let first;

	await part("the page connects", async () => {
		await page.getByText("/eye").first().waitFor();
		await pad.waitFor();
		await world.waitFor();
		check(true, "the page connects, and lists the topics");
	});
	await part("the world in 3D", async () => {
		first = await sees(page, world, [1, 0, 0], red => red.count > 1000);
		const post = await seen(page, world, [0, 0, 1]);
		check(first.count > 1000 && post.count > 1000, "the 3D panel shows the cart and the post in their colours", JSON.stringify([first, post]));
		check(first.x < post.x - 30 && first.y > post.y + 30, "the cart is left of and below the post", JSON.stringify([first, post]));
	});
	await part("a camera", async () => {
		const green = await sees(page, picture, [0, 1, 0], green => green.count > green.all / 2);
		check(green.count > green.all / 2, "the image panel shows what the camera sees", JSON.stringify(green));
	});
	await part("driving", async () => {
		const begin = cart().x, box = await pad.boundingBox();
		await page.mouse.move(box.x + box.width / 2, box.y + box.height / 8);
		await page.mouse.down();
		const drives = await until(() => cart().x > begin + .5);
		await page.mouse.up();
		check(drives, "the Teleop panel drives the cart", `${begin} ${cart().x}`);
		// the panel does not say when the button is let go: the cart goes on
		const red = await sees(page, world, [1, 0, 0], red => red.x > first.x + 20);
		check(red.x > first.x + 20 && Math.abs(red.y - first.y) < 10, "the 3D panel shows it driven along x", JSON.stringify([first, red]));
	});
	await part("the end", async () => {
		other.client.close();
		await page.close();
		const status = await run.end();
		check(status === 0, "the run ends well", run.said());
		const replay = spawnSync(troupe, ["replay", recording, "--secondaries", "0", "-v", "0"], {encoding: "utf8", timeout: PATIENCE_MS});
		check(replay.status === 0, "a recording of the run that was driven has the same bits", replay.stdout + replay.stderr);
		server.close();
	});
}

main(folder, [studio]);
