// What the scripts of this folder share that are clients without a browser: checks that are counted, and waiting.
"use strict";
const PATIENCE_MS = 60000, LIMIT_MS = 600000; // for one event, and for all of a script: what takes longer hangs, on a busy machine, too
const counts = { passed: 0, failed: 0 };
let last = "none";

const check = (good, what) => {
  good ? counts.passed++ : counts.failed++;
  last = what;
  if (!good) console.log(`FAILED: ${what}`);
};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// Calls `done` until it gives something, for at most PATIENCE_MS.
async function until(done) {
  const end_ms = Date.now() + PATIENCE_MS;
  for (;;) {
    const result = await done();
    if (result) return result;
    if (Date.now() > end_ms) return undefined;
    await sleep(20);
  }
}

function end(failure) {
  if (failure) {
    counts.failed++;
    console.log(`FAILED: ${failure}; the last check was: ${last}`);
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  process.exit(counts.failed ? 1 : 0);
}

// Runs all checks, prints the totals, and ends the process.
function finish(main) {
  process.on("unhandledRejection", (error) => end(error.stack || error));
  setTimeout(() => end(`${LIMIT_MS / 1000} s are over`), LIMIT_MS).unref();
  main().then(() => end(), (error) => end(error.stack || error));
}

const roslib = () => import(`${process.env.NODE_PATH}/roslib/dist/RosLib.js`);

// A connection of roslibjs.
async function connected(ROSLIB, url) {
  const ros = new ROSLIB.Ros({ url });
  await new Promise((done) => (ros.on("connection", done), ros.on("error", () => end("no connection"))));
  return ros;
}

module.exports = { PATIENCE_MS, check, connected, finish, roslib, sleep, until };
