// Images and meshes that are painted with them, made for the scripts of this folder.
const zlib = require("zlib");

const CELLS = 8, CELL = 16;     // of the chart; texels of a cell

function chunk(type, data) {
	const body = Buffer.concat([Buffer.from(type), data]), out = Buffer.alloc(8 + data.length + 4);
	out.writeUInt32BE(data.length, 0);
	body.copy(out, 4);
	out.writeUInt32BE(zlib.crc32(body), 8 + data.length);
	return out;
}

// colour(x, y) -> [r, g, b, a] of a texel
function png(side, colour) {
	const rows = [];
	for (let y = 0; y < side; y++) {
		rows.push(Buffer.from([0]));
		for (let x = 0; x < side; x++)
			rows.push(Buffer.from(colour(x, y)));
	}
	const head = Buffer.alloc(13);
	head.writeUInt32BE(side, 0);
	head.writeUInt32BE(side, 4);
	head.set([8, 6, 0, 0, 0], 8);
	return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), chunk("IHDR", head), chunk("IDAT", zlib.deflateSync(Buffer.concat(rows))),
		chunk("IEND", Buffer.alloc(0))]);
}

// A checkerboard that has no symmetry: three of its corners are red, green and blue.
function chart(x, y) {
	const column = Math.floor(x / CELL), row = Math.floor(y / CELL), last = CELLS - 1;
	if (row < 2 && column < 2)
		return [255, 0, 0, 255];
	if (row < 2 && column > last - 2)
		return [0, 255, 0, 255];
	if (row > last - 2 && column < 2)
		return [0, 0, 255, 255];
	const shade = (row + column) % 2 ? 255 : 0;
	return [shade, shade, shade, 255];
}

const CHART = png(CELLS * CELL, chart);
// the same with holes
const FENCE = png(CELLS * CELL, (x, y) => (Math.floor(x / CELL) + Math.floor(y / CELL)) % 2 ? [255, 255, 255, 255] : [255, 0, 0, 0]);

// A quad in the plane x = 0, seen from -x; u to its right, v up
const CORNERS = [[0, .5, -.5, 0, 0], [0, -.5, -.5, 1, 0], [0, -.5, .5, 1, 1], [0, .5, .5, 0, 1]];
const OBJ = `mtllib quad.mtl\n${CORNERS.map(([x, y, z]) => `v ${x} ${y} ${z}\n`).join("")}${CORNERS.map(([, , , u, v]) => `vt ${u} ${v}\n`).join("")}` +
	"usemtl paint\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4\n";
const MTL = "newmtl paint\nKa 1 1 1\nKd 1 1 1\nmap_Kd chart.png\n";

function glb(image) {
	const numbers = list => Buffer.from(new Float32Array(list).buffer);
	// glTF has y up and v down
	const points = numbers(CORNERS.flatMap(([x, y, z]) => [x, z, -y])), places = numbers(CORNERS.flatMap(([, , , u, v]) => [u, 1 - v]));
	const corners = Buffer.from(new Uint16Array([0, 1, 2, 0, 2, 3]).buffer), pad = (buffer, fill) => Buffer.concat([buffer, Buffer.alloc(-buffer.length & 3, fill)]);
	const pieces = [points, places, corners, image].map(piece => pad(piece, 0)), views = [];
	let at = 0;
	for (const [i, piece] of pieces.entries()) {
		views.push({buffer: 0, byteOffset: at, byteLength: [points, places, corners, image][i].length});
		at += piece.length;
	}
	const json = pad(Buffer.from(JSON.stringify({
		asset: {version: "2.0"}, scene: 0, scenes: [{nodes: [0]}], nodes: [{mesh: 0}], buffers: [{byteLength: at}], bufferViews: views,
		accessors: [{bufferView: 0, componentType: 5126, count: 4, type: "VEC3", min: [0, -.5, -.5], max: [0, .5, .5]},
			{bufferView: 1, componentType: 5126, count: 4, type: "VEC2"}, {bufferView: 2, componentType: 5123, count: 6, type: "SCALAR"}],
		images: [{bufferView: 3, mimeType: "image/png"}], textures: [{source: 0}],
		materials: [{doubleSided: true, pbrMetallicRoughness: {baseColorTexture: {index: 0}, metallicFactor: 0, roughnessFactor: 1}}],
		meshes: [{primitives: [{attributes: {POSITION: 0, TEXCOORD_0: 1}, indices: 2, material: 0}]}],
	})), 0x20);
	const head = Buffer.alloc(12), piece = (type, data) => {
		const begin = Buffer.alloc(8);
		begin.writeUInt32LE(data.length, 0);
		begin.writeUInt32LE(type, 4);
		return Buffer.concat([begin, data]);
	};
	const body = Buffer.concat([piece(0x4e4f534a, json), piece(0x004e4942, Buffer.concat(pieces))]);
	head.write("glTF", 0);
	head.writeUInt32LE(2, 4);
	head.writeUInt32LE(12 + body.length, 8);
	return Buffer.concat([head, body]);
}

// Names and bytes
const files = [["chart.png", CHART], ["fence.png", FENCE], ["quad.obj", OBJ], ["quad.mtl", MTL], ["quad.glb", glb(CHART)]];

module.exports = {files, png};
