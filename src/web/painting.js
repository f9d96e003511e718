// Where a texture lies on a shape: as the cameras see it (src/sensor/rays_texture.c), so the same formulas stand here, at
// the corners of triangles. v runs up from the lower edge of the texture.
import {BufferAttribute, Vector3} from "./three/build/three.module.js";

const ROUND = 2 * Math.PI;

// From 0 to 1 about an axis
function turn(x, y) {
	const part = Math.atan2(x, y) / ROUND;
	return part < 0 ? part + 1 : part;
}

// The same, beside the turn of the triangle's middle: triangles may lie across the seam
function turnBeside(x, y, middle) {
	if (Math.hypot(x, y) < 1e-9)
		return middle;
	const part = turn(x, y);
	return part - Math.round(part - middle);
}

// half: of the box; side: of +x -x +y -y +z -z
const boxSides = [
	(x, y, z) => [.5 + y, .5 - z], (x, y, z) => [.5 - y, .5 - z], (x, y, z) => [.5 - x, .5 - z],
	(x, y, z) => [.5 + x, .5 - z], (x, y) => [.5 - y, .5 - x], (x, y) => [.5 - y, .5 + x],
];

function boxSide(p, half) {
	const x = Math.abs(p.x) - half.x, y = Math.abs(p.y) - half.y, z = Math.abs(p.z) - half.z;
	return x >= y && x >= z ? (p.x > 0 ? 0 : 1) : y >= z ? (p.y > 0 ? 2 : 3) : p.z > 0 ? 4 : 5;
}

// 0: the curved side, 1: the top, 2: the bottom
function roundSide(normal) {
	return normal.z > .999 ? 1 : normal.z < -.999 ? 2 : 0;
}

function ball(p, radii, middle) {
	const d = new Vector3(p.x / radii.x, p.y / radii.y, p.z / radii.z).normalize();
	const m = new Vector3(middle.x / radii.x, middle.y / radii.y, middle.z / radii.z);
	return [turnBeside(d.x, d.z, turn(m.x, m.z)), Math.acos(Math.min(1, Math.max(-1, d.y))) * 2 / ROUND];
}

function cap(p, radius, side, middle) {
	const part = Math.hypot(p.x, p.y) / radius;
	return [turnBeside(p.x, p.y, turn(middle.x, middle.y)) * part, side === 1 ? part : 0];
}

function column(p, half, side, middle) {
	return side ? cap(p, half.x, side, middle) : [turnBeside(p.x, p.y, turn(middle.x, middle.y)), .5 + p.z / half.z / 2];
}

function capsule(p, half, middle) {
	const up = p.z > half.z ? p.z - half.z : p.z < -half.z ? p.z + half.z : 0;
	const round = Math.asin(Math.min(1, Math.max(-1, up / half.x))) * 4 / ROUND;
	const between = half.z > 0 ? Math.min(1, Math.max(0, (half.z - p.z) / (2 * half.z))) : .5;
	return [turnBeside(p.x, p.y, turn(middle.x, middle.y)), (1 - Math.max(round, 0) + between - Math.min(round, 0)) / 3];
}

const places = {
	box: (p, half, middle) => boxSides[boxSide(middle, half)](p.x / half.x / 2, p.y / half.y / 2, p.z / half.z / 2),
	plane: (p, half) => [.5 + p.x / half.x / 2, .5 - p.y / half.y / 2],
	ball: (p, half, middle) => ball(p, half, middle),
	column: (p, half, middle, normal) => column(p, half, roundSide(normal), middle),
	capsule: (p, half, middle) => capsule(p, half, middle),
};

// kind: of places; half: the halves of its edges, or its radii, as in the geometry. Gives another geometry, whose triangles
// share no corners.
export function layTexture(geometry, kind, half) {
	const flat = geometry.index ? geometry.toNonIndexed() : geometry, at = flat.attributes.position;
	const uv = new Float32Array(2 * at.count), corners = [new Vector3(), new Vector3(), new Vector3()];
	for (let first = 0; first < at.count; first += 3) {
		corners.forEach((corner, i) => corner.fromBufferAttribute(at, first + i));
		const middle = new Vector3().add(corners[0]).add(corners[1]).add(corners[2]).divideScalar(3);
		const normal = corners[1].clone().sub(corners[0]).cross(corners[2].clone().sub(corners[0])).normalize();
		corners.forEach((corner, i) => {
			const [u, v] = places[kind](corner, half, middle, normal);
			uv.set([u, 1 - v], 2 * (first + i));
		});
	}
	flat.setAttribute("uv", new BufferAttribute(uv, 2));
	return flat;
}
