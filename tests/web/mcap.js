// mcap.js WHOLE KILLED EMPTY FRAMED BAG: reads the files of test_mcap.sh.
"use strict";
const fs = require("fs");
const { McapIndexedReader, McapStreamReader } = require("@mcap/core");
const { loadDecompressHandlers } = require("@mcap/support");
const { parse } = require("@foxglove/rosmsg");
const { MessageReader } = require("@foxglove/rosmsg2-serialization");
const protobuf = require("protobufjs");
const { SceneUpdate } = require("@foxglove/schemas/jsonschema");
const { FileDescriptorSet } = require("protobufjs/ext/descriptor");

let failed = 0;
function check(good, text) {
	if (good) return;
	failed++;
	console.log(`FAILED: ${text}`);
}

// Whether a value has what a JSON schema asks for: types, required properties, and no others.
function checkValue(value, schema, at) {
	if (schema.type === "object") {
		for (const name of schema.required ?? [])
			check(value[name] !== undefined, `${at}.${name} is missing`);
		for (const name of Object.keys(value)) {
			check(schema.properties[name] !== undefined, `${at}.${name} is unknown`);
			if (schema.properties[name]) checkValue(value[name], schema.properties[name], `${at}.${name}`);
		}
	} else if (schema.type === "array") {
		check(Array.isArray(value), `${at} is no array`);
		value.forEach((item, i) => checkValue(item, schema.items, `${at}[${i}]`));
	} else if (schema.type === "integer") {
		check(Number.isInteger(value), `${at} is ${value}`);
	} else if (schema.type !== undefined) {
		check(typeof value === schema.type, `${at} is ${value}`);
	}
}

// Whether a schema names only properties that another one has, with their types.
function checkSchema(own, other, at) {
	check(own.type === other.type || other.type === undefined, `${at} is ${own.type}`);
	if (own.items) checkSchema(own.items, other.items, `${at}[]`);
	for (const name of Object.keys(own.properties ?? {})) {
		check(other.properties?.[name] !== undefined, `${at}.${name} is unknown`);
		if (other.properties?.[name]) checkSchema(own.properties[name], other.properties[name], `${at}.${name}`);
	}
}

function readerOf(bytes) {
	return {
		size: async () => BigInt(bytes.length),
		read: async (offset, length) => bytes.subarray(Number(offset), Number(offset + length)),
	};
}

// A function from bytes to the message, by the schema in the file.
function decoderOf(channel, schema) {
	if (channel.messageEncoding === "cdr") {
		check(schema.encoding === "ros2msg", `${channel.topic}: ${schema.encoding}`);
		const types = parse(new TextDecoder().decode(schema.data), { ros2: true });
		const reader = new MessageReader(types);
		return (data) => reader.readMessage(data);
	}
	if (channel.messageEncoding === "json") {
		check(schema.encoding === "jsonschema" && schema.name === "foxglove.SceneUpdate", `${channel.topic}: ${schema.name}`);
		checkSchema(JSON.parse(new TextDecoder().decode(schema.data)), SceneUpdate, "schema");
		return (data) => {
			const update = JSON.parse(new TextDecoder().decode(data));
			checkValue(update, SceneUpdate, "update");
			return update;
		};
	}
	check(channel.messageEncoding === "protobuf" && schema.encoding === "protobuf", `${channel.topic}: ${schema.encoding}`);
	const root = protobuf.Root.fromDescriptor(FileDescriptorSet.decode(schema.data));
	const type = root.lookupType(schema.name);
	return (data) => type.toObject(type.decode(data), { defaults: true });
}

async function readWhole(bytes, decompressHandlers) {
	const reader = await McapIndexedReader.Initialize({ readable: readerOf(bytes), decompressHandlers });
	const counts = new Map();
	const last = {};
	let contacts = 0;
	const decoders = new Map();
	check(reader.header.profile === "ros2", `profile ${reader.header.profile}`);
	check(/^troupe [0-9.]+$/.test(reader.header.library), `library ${reader.header.library}`);
	for (const channel of reader.channelsById.values())
		decoders.set(channel.id, decoderOf(channel, reader.schemasById.get(channel.schemaId)));
	for await (const message of reader.readMessages()) {
		const { topic } = reader.channelsById.get(message.channelId);
		const sequence = counts.get(message.channelId) ?? 0;
		check(message.sequence === sequence, `${topic}: sequence ${message.sequence}`);
		counts.set(message.channelId, sequence + 1);
		last[topic] = { ...decoders.get(message.channelId)(message.data), logTime: message.logTime };
		contacts += last[topic].contacts?.length ?? 0;
		check(message.logTime === message.publishTime, `${topic}: times`);
	}
	for (const [id, count] of reader.statistics.channelMessageCounts)
		check(BigInt(counts.get(id) ?? 0) === count, `channel ${id} has ${counts.get(id)} messages, not ${count}`);
	return { reader, counts, last, contacts };
}

// The messages of a range of time are those of the whole file with these times.
async function readRange(reader, topic, startTime, endTime, expected) {
	let count = 0;
	for await (const message of reader.readMessages({ topics: [topic], startTime, endTime })) {
		count++;
		check(message.logTime >= startTime && message.logTime <= endTime, `${topic} at ${message.logTime}`);
	}
	check(count === expected, `${topic} from ${startTime} to ${endTime}: ${count} messages, not ${expected}`);
}

// Each message of a sensor names a frame that has a place, and the names of the world are where the sensors are.
async function readFrames(bytes, handlers) {
	const { last } = await readWhole(bytes, handlers);
	const transforms = last["/world/f/stage/tf"].transforms;
	const at = new Map(transforms.map((t) => [t.child_frame_id, t]));
	const told = last["/model/bot/odometry"].child_frame_id;
	const used = new Map();
	check(at.size === transforms.length, "a frame has two parents");
	check(told === "bot/base" && !at.has(told), `the frame ${told} of the odometry has another parent`);
	for (const [topic, message] of Object.entries(last)) {
		if (!topic.includes("/sensor/") || !message.header) continue;
		const frame = message.header.frame_id;
		used.set(topic.split("/sensor/")[1], frame);
		for (let up = frame; up !== "f" && up !== told; up = at.get(up)?.header.frame_id)
			if (!at.has(up)) throw new Error(`${topic}: the frame ${frame} has no place: ${up}`);
	}
	const wanted = { "plain/imu": "bot/base/plain", "one/imu": "turned", "two/altimeter": "turned", "told/imu": told,
		"eye/image": "eye_optical", "eye/camera_info": "eye_optical", "depth/depth_image": "depth",
		"depth/depth_image/points": "depth", "look/image": "look" };
	for (const [topic, frame] of Object.entries(wanted))
		check(used.get(topic) === frame, `${topic}: the frame ${used.get(topic)}, not ${frame}`);
	const places = { turned: [2, 1], eye: [5, 1], eye_optical: [5, 0.5], depth: [6, 1], look: [7, 0.5] };
	for (const [frame, [x, w]] of Object.entries(places)) {
		const { translation, rotation } = at.get(frame).transform;
		check(at.get(frame).header.frame_id === "bot::base", `the frame ${frame} stands in ${at.get(frame).header.frame_id}`);
		check(Math.abs(translation.x - x) < 1e-9 && Math.abs(rotation.w - w) < 1e-9, `${frame}: ${translation.x} ${rotation.w}`);
	}
}

// A bag of ROS 2: each message decodes by its definition, topics have ROS 2's names, and each channel the quality of
// service as rosbag2 reads it.
async function readBag(bytes, handlers) {
	const { reader, last } = await readWhole(bytes, handlers);
	for (const { topic, messageEncoding, metadata } of reader.channelsById.values()) {
		const isStatic = topic.endsWith("/tf_static");
		const qos = metadata.get("offered_qos_profiles") ?? "";
		check(messageEncoding === "cdr" && !/^\/(world|model)\//.test(topic), `${topic}: ${messageEncoding}`);
		check(/^RIHS01_[0-9a-f]{64}$/.test(metadata.get("topic_type_hash")), `${topic}: ${metadata.get("topic_type_hash")}`);
		check(qos.startsWith(`- history: 1\n  depth: ${isStatic ? 1 : 10}\n  reliability: 1\n  durability: ${isStatic ? 1 : 2}\n`) &&
			qos.match(/\n    sec: 9223372036\n    nsec: 854775807\n/g).length === 3, `${topic}: ${qos}`);
	}
	const tree = (name) => last[name].transforms.map((t) => `${t.header.frame_id}>${t.child_frame_id}`).sort().join(" ");
	check(tree("/r2/tf") === "odom>base_footprint", `/r2/tf ${tree("/r2/tf")}`);
	check(/base_footprint>base_link .*base_footprint>laser( |$)/.test(tree("/r2/tf_static")),
		`/r2/tf_static ${tree("/r2/tf_static")}`);
	check(last["/tf"].transforms.length === 1 && last["/r1/odom"].header.frame_id === "r1/odom", "the common frames");
	const metadata = new Map();
	for await (const record of reader.readMetadata()) metadata.set(record.name, record.metadata);
	check(metadata.get("rosbag2").get("serialized_metadata").startsWith("version: 8\n"), "metadata of rosbag2");
	check(metadata.get("troupe").get("names") === "ros", "metadata");
}

// As a stream, with all sums; returns the number of messages.
function readStream(bytes, decompressHandlers) {
	const reader = new McapStreamReader({ validateCrcs: true, decompressHandlers });
	let count = 0;
	reader.append(bytes);
	for (let record; (record = reader.nextRecord());) count += record.type === "Message";
	return { count, done: reader.done() };
}

function refuses(bytes, at, handlers) {
	const copy = Buffer.from(bytes);
	copy[at] ^= 1;
	try {
		readStream(copy, handlers);
	} catch (error) {
		return true;
	}
	return false;
}

async function main() {
	const handlers = await loadDecompressHandlers();
	const [whole, killed, empty, framed, bag] = process.argv.slice(2).map((path) => fs.readFileSync(path));
	const { reader, counts, last, contacts } = await readWhole(whole, handlers);
	const stream = readStream(whole, handlers);
	check(stream.done && BigInt(stream.count) === reader.statistics.messageCount, `a stream of ${stream.count} messages`);

	// what is in it
	const info = "/world/w/model/cart/link/base/sensor/imu/imu";
	const imu = last[info];
	check(Math.abs(imu.orientation.w) > 0.9 && imu.header.frame_id === "cart/base/imu", `imu ${imu.header.frame_id}`);
	check(imu.logTime === 2490000000n || imu.logTime === 2491000000n || imu.logTime === 2500000000n, `imu at ${imu.logTime}`);
	const joints = last["/world/w/model/cart/joint_state"];
	check(joints.name[0] === "hinge" && joints.position.length === 1, `joints ${joints.name}`);
	const poses = last["/model/cart/pose"].transforms.map((t) => `${t.header.frame_id}>${t.child_frame_id}`);
	check(poses.join(" ") === "w>cart cart>cart/base cart>cart/arm", `frames ${poses}`);
	const scene = last["/world/w/scene/info"];
	check(scene.model.map((m) => m.name).join(" ") === "cart late floor", `scene ${scene.model.map((m) => m.name)}`);
	check(last["/clock"].clock.sec === 2 && last["/clock"].clock.nanosec === 500000000, "the last clock");
	check(contacts > 0, "no contact");
	check(last["/stats"] !== undefined && last["/world/w/levels"] !== undefined, "topics of the run");
	const { entities, deletions } = last["/world/w/stage"];
	const shown = entities.map((e) => `${e.id}@${e.frame_id}:${e.cubes.length}${e.spheres.length}${e.cylinders.length}`);
	check(shown.join(" ") === "cart::base@cart::base:100 floor::l@w:100", `shapes ${shown}`);
	check(entities[0].cubes[0].size.y === 0.5 && deletions[0].type === 1, "a box of 0.5 m, after all others are deleted");
	const frames = last["/world/w/stage/tf"].transforms;
	const names = frames.map((t) => `${t.header.frame_id}>${t.child_frame_id}`).join(" ");
	check(names === "w>cart cart>cart::base cart>cart::arm w>late late>late::l cart::base>cart/base/imu " +
		"cart::base>cart/base/gauge cart::base>cart/base/touch late::l>late/l/imu", `frames of the stage ${names}`);
	const given = last["/model/cart/pose"].transforms[0].transform.translation;
	check(Math.abs(frames[0].transform.translation.x - given.x) < 0.05, `the cart is at ${given.x}`);
	const metadata = [];
	for await (const record of reader.readMetadata()) metadata.push(record);
	check(metadata[0]?.metadata.get("world") === "w" && metadata[0]?.metadata.get("seed") === "0", "metadata");

	await readFrames(framed, handlers);
	await readBag(bag, handlers);

	// ranges: the clock has a message in each step
	await readRange(reader, "/clock", 0n, 99000000n, 100);
	await readRange(reader, "/clock", 990000000n, 1010000000n, 21);
	await readRange(reader, "/clock", 3000000000n, 4000000000n, 0);
	await readRange(reader, "/world/w/model/late/link/l/sensor/imu/imu", 0n, 699000000n, 0);

	// a byte in a chunk, and one in the summary
	const [chunk] = reader.chunkIndexes;
	check(refuses(whole, Number(chunk.chunkStartOffset) + Math.floor(Number(chunk.chunkLength) / 2), handlers), "a damaged chunk is read");
	const damaged = Buffer.from(whole);
	damaged[whole.length - 60] ^= 1;
	const opened = await McapIndexedReader.Initialize({ readable: readerOf(damaged), decompressHandlers: handlers }).then(
		() => "opened", (error) => error.message);
	check(/summary CRC/.test(opened), `a damaged summary: ${opened}`);
	check(reader.chunkIndexes.length >= 3 && ["", "zstd"].includes(chunk.compression), `${reader.chunkIndexes.length} chunks`);

	// killed: no summary, and the messages of all chunks
	const cut = readStream(killed, handlers);
	check(!cut.done && cut.count > 1000, `of the file of the killed run ${cut.count} messages`);
	const none = await McapIndexedReader.Initialize({ readable: readerOf(empty), decompressHandlers: handlers });
	check(none.statistics.messageCount === 0n && readStream(empty, handlers).done, "the file without messages");
	console.log(`${counts.size} topics, ${reader.statistics.messageCount} messages, ${cut.count} of the killed run`);
	process.exit(failed > 0 ? 1 : 0);
}
main();
