// ros.js CASES [NEW]: reads from standard input what "test_ros --print CASES" prints, decodes each message by its schema
// alone, and compares bytes and values with those in CASES; or writes them to NEW, with the comments and lines of CASES.
"use strict";
const fs = require("fs");
const { parse } = require("@foxglove/rosmsg");
const { MessageReader, MessageWriter } = require("@foxglove/rosmsg2-serialization");
const known = require("@foxglove/rosmsg-msgs-common").ros2humble;

let passed = 0;
let failed = 0;
function check(good, text) {
	if (good) passed++;
	else {
		failed++;
		console.log(`FAILED: ${text}`);
	}
}

// JSON has neither integers of 64 bits nor infinity.
function plain(key, value) {
	if (typeof value === "bigint") return value.toString();
	if (ArrayBuffer.isView(value)) return Array.from(value);
	if (typeof value === "number" && !Number.isFinite(value)) return String(value);
	return value;
}

// Without what the wire form does not depend on.
function shape(definition) {
	return JSON.stringify(definition.definitions.map((field) => [
		field.name, field.type, !!field.isArray, field.arrayLength ?? null, !!field.isConstant, field.value ?? null,
		!!field.isComplex,
	]), plain);
}

// The definitions of ROS 2, where that package has them: vision_msgs, actuator_msgs and ros_gz_interfaces it has not.
function checkDefinitions(schema, types) {
	for (const type of types) {
		const name = (type.name ?? "").replace("/msg/", "/");
		if (known[name]) check(shape(known[name]) === shape(type), `${name} is not as ROS 2 has it: ${shape(type)}`);
	}
}

const found = new Map();
let last;
for (const line of fs.readFileSync(0, "utf8").split("\n")) {
	const [word] = line.split(" ", 1);
	const rest = line.slice(word.length + 1);
	if (/^(gz|troupe)[.]/.test(line)) last = { line };
	else if (word === "name") last.name = rest;
	else if (word === "schema") last.schema = JSON.parse(rest);
	else if (word === "cdr") {
		last.cdr = rest;
		const types = parse(last.schema, { ros2: true });
		const root = types.find((type) => type.name === undefined);
		if (root) root.name = last.name;
		checkDefinitions(last.schema, types);
		const bytes = Buffer.from(rest, "hex");
		const message = new MessageReader(types).readMessage(bytes);
		last.json = JSON.stringify(message, plain);
		// The decoder ignores bytes behind the message: a writer that knows the same schema must give the same bytes.
		// It counts characters instead of bytes of a string.
		if (/^[ -~]*$/.test(last.line)) {
			const again = Buffer.from(new MessageWriter(types).writeMessage(message)).toString("hex");
			check(again === rest, `${last.line}: ${last.name} written again: ${again}, expected ${rest}`);
		}
		found.set(last.line, last);
	}
}

const out = [];
let asked;
for (const line of fs.readFileSync(process.argv[2], "utf8").split("\n")) {
	const [word] = line.split(" ", 1);
	if (/^(gz|troupe)[.]/.test(line)) {
		asked = found.get(line);
		check(asked !== undefined, `${line}: not converted`);
		out.push(line);
		if (asked) out.push(`cdr ${asked.cdr}`, `json ${asked.name} ${asked.json}`);
	} else if (word === "cdr") check(asked?.cdr === line.slice(4), `${asked?.line}: other bytes`);
	else if (word === "json") check(line === `json ${asked?.name} ${asked?.json}`, `${asked?.line}: ${asked?.json}`);
	else out.push(line);
}
if (process.argv[3]) fs.writeFileSync(process.argv[3], out.join("\n"));
check(found.size > 30, `${found.size} messages`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
