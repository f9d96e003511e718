// The binary frames of src/gateway/view/PROTOCOL.md. Typed arrays are laid over the frame: nothing is copied.

function short(what) {
	return new Error(`a ${what} frame is too short`);
}

function picture(bytes) {
	if (bytes.byteLength < 32)
		throw short("picture");
	const view = new DataView(bytes), links = view.getUint32(24, true), models = view.getUint32(28, true);
	const tail = 32 + 32 * links + 8 * models;
	if (bytes.byteLength < tail + 8)
		throw short("picture");
	return {
		kind: "picture",
		whole: (view.getUint8(1) & 1) === 1,
		world: view.getUint16(2, true),
		realTimeFactor: view.getFloat32(4, true),
		step: view.getFloat64(8, true),
		time: view.getFloat64(16, true),
		real: view.getFloat64(tail, true),
		links: new Uint32Array(bytes, 32, links),
		poses: new Float32Array(bytes, 32 + 4 * links, 7 * links),
		models: new Uint32Array(bytes, 32 + 32 * links, models),
		status: new Uint32Array(bytes, 32 + 32 * links + 4 * models, models),
	};
}

function message(bytes) {
	const length = bytes.byteLength >= 8 ? new DataView(bytes).getUint32(4, true) : 0;
	if (bytes.byteLength < 8 + length || length === 0)
		throw short("message");
	const text = new TextDecoder().decode(new Uint8Array(bytes, 8, length));
	return {kind: "message", json: JSON.parse(text), data: new Uint8Array(bytes, 8 + length)};
}

function mesh(bytes) {
	if (bytes.byteLength < 20)
		throw short("mesh");
	const view = new DataView(bytes), points = view.getUint32(8, true), triangles = view.getUint32(12, true), places = view.getUint32(16, true);
	const tail = 20 + 12 * points + 12 * triangles + 8 * places;
	if (bytes.byteLength < tail)
		throw short("mesh");
	const corners = new Uint32Array(bytes, 20 + 12 * points, 3 * triangles);
	for (const corner of corners)
		if (corner >= points)
			throw new Error("a mesh frame names a point that it does not have");
	const look = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, tail)));
	return {kind: "mesh", id: view.getUint32(4, true), points: new Float32Array(bytes, 20, 3 * points), triangles: corners,
		texcoords: places === 3 * triangles ? new Float32Array(bytes, 20 + 12 * points + 12 * triangles, 2 * places) : null,
		parts: look.parts || [], materials: look.materials || []};
}

const kinds = {1: picture, 2: message, 3: mesh};

// bytes: ArrayBuffer. Throws an Error when the frame is not what the protocol says.
export function decodeFrame(bytes) {
	const kind = bytes.byteLength ? new Uint8Array(bytes)[0] : 0, decode = kinds[kind];
	if (!decode)
		throw new Error(`a frame of unknown kind ${kind}`);
	return decode(bytes);
}
