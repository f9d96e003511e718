// Opens tests/examples/drive.html in a real browser, beside a run with --serve ws, and drives a robot with its buttons.
// Prints TAP.
//
//   node ws.js PAGE PORT
const {chromium} = require("playwright-core");
const fs = require("fs");
const http = require("http");

const [page, port] = process.argv.slice(2);
const PATIENCE_MS = 60000;
let count = 0, failed = 0;

function check(ok, what) {
	count++;
	failed += ok ? 0 : 1;
	console.log(`${ok ? "ok" : "not ok"} ${count} - ${what}`);
}

// Pages that servers of this machine have sent may connect.
function serve() {
	const server = http.createServer((request, answer) => {
		answer.setHeader("Content-Type", "text/html; charset=utf-8");
		answer.end(fs.readFileSync(page));
	});
	return new Promise(resolve => server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}/`)));
}

async function main() {
	const at = await serve();
	const browser = await chromium.launch({executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"]});
	const tab = await browser.newPage();
	await tab.goto(`${at}?port=${port}`);
	const waits = (what, body) => tab.waitForFunction(body, null, {timeout: PATIENCE_MS}).then(() => check(true, what), error => check(false, `${what}: ${error}`));
	await waits("the page shows the simulated time", () => /^\d+\.\d s$/.test(document.getElementById("time").textContent));
	await waits("and where the cart stands", () => document.getElementById("place").textContent === "x 0.00 m, y 0.00 m");
	await tab.click("button[data-x='0.5']");
	await waits("a button drives it", () => /^x 0\.[1-9]/.test(document.getElementById("place").textContent));
	check(await tab.textContent("#said") === "", "nothing was refused");
	await tab.goto(`${at}?port=${port}&model=nobody`);
	await waits("a model that is not there is told", () => document.getElementById("said").textContent.includes("/model/nobody/cmd_vel"));
	await browser.close();
	console.log(`${count - failed} passed, ${failed} failed`);
	process.exit(failed ? 1 : 0);
}

main().catch(error => {
	console.log(`not ok - ${error.stack}`);
	process.exit(1);
});
