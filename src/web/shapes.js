// From a gz.msgs.Geometry to triangles that three.js draws, with z up as in SDF.
//
// Shapes that are drawn alike share one geometry, so that thousands of them are one draw call: a box of any size is the
// unit box, scaled. That is done only where the scale leaves the directions of the normals right, because three.js r111
// does not correct them: boxes, spheres, and cylinders. The others are made for their size.
import {
	BoxBufferGeometry, BufferAttribute, BufferGeometry, CircleBufferGeometry, CylinderBufferGeometry, Matrix4,
	PlaneBufferGeometry, Quaternion, SphereBufferGeometry, Vector3,
} from "./three/build/three.module.js";
import {layTexture} from "./painting.js";

const UNBOUNDED_M = 200;      // edge of a plane that is drawn for one without limits
const UPRIGHT = new Matrix4().makeRotationX(Math.PI / 2); // three's cylinders stand along y

const made = new Map();       // key -> BufferGeometry

function once(key, make) {
	let geometry = made.get(key);
	if (!geometry) {
		geometry = make();
		geometry.computeBoundingBox();
		geometry.computeBoundingSphere();
		made.set(key, geometry);
	}
	return geometry;
}

// Two geometries in one; three's helper for this wants equal attributes, which these have.
function join(parts) {
	const points = [], normals = [], corners = [];
	for (const part of parts) {
		const offset = points.length / 3;
		points.push(...part.attributes.position.array);
		normals.push(...part.attributes.normal.array);
		for (const corner of part.index.array)
			corners.push(corner + offset);
	}
	const geometry = new BufferGeometry();
	geometry.setAttribute("position", new BufferAttribute(new Float32Array(points), 3));
	geometry.setAttribute("normal", new BufferAttribute(new Float32Array(normals), 3));
	geometry.setIndex(corners);
	return geometry;
}

function capsule(radius, length) {
	const sphere = () => new SphereBufferGeometry(radius, 24, 8, 0, 2 * Math.PI, 0, Math.PI / 2);
	const top = sphere().translate(0, length / 2, 0);
	const bottom = sphere().rotateX(Math.PI).translate(0, -length / 2, 0);
	const side = new CylinderBufferGeometry(radius, radius, length, 24, 1, true);
	return join([top, bottom, side]).applyMatrix(UPRIGHT);
}

function vector(from, otherwise) {
	return new Vector3(from && from.x || otherwise, from && from.y || otherwise, from && from.z || otherwise);
}

// A shape that a texture lies on has triangles of its own: they share no corners.
function shape(key, scale, painted, make, kind, half, turned) {
	const name = painted ? `${key} painted` : key;
	return {key: name, scale, geometry: once(name, () => {
		const geometry = painted ? layTexture(make(), kind, half) : make();
		return turned ? geometry.applyMatrix(turned) : geometry;
	})};
}

function planeOf(plane, painted) {
	const size = plane.size || {}, normal = vector(plane.normal, 0);
	if (normal.lengthSq() === 0)
		normal.z = 1;
	const x = size.x || UNBOUNDED_M, y = size.y || UNBOUNDED_M;
	const turned = new Matrix4().makeRotationFromQuaternion(new Quaternion().setFromUnitVectors(new Vector3(0, 0, 1), normal.clone().normalize()));
	return {plane: true, ...shape(`plane ${x} ${y} ${normal.toArray()}`, new Vector3(1, 1, 1), painted,
		() => new PlaneBufferGeometry(x, y), "plane", new Vector3(x / 2, y / 2, 1), turned)};
}

const HALF = new Vector3(.5, .5, .5), UNIT = new Vector3(1, 1, 1), LONG = new Vector3(1, 1, .5);

const makers = {
	box: (from, painted) => shape("box", vector(from.size, 0), painted, () => new BoxBufferGeometry(1, 1, 1), "box", HALF),
	// the poles of a texture are on the y axis
	sphere: ({radius = 0}, painted) => shape("sphere", new Vector3(radius, radius, radius), painted,
		() => painted ? new SphereBufferGeometry(1, 28, 18) : new SphereBufferGeometry(1, 28, 18).applyMatrix(UPRIGHT), "ball", UNIT),
	cylinder: ({radius = 0, length = 0}, painted) => shape("cylinder", new Vector3(radius, radius, length), painted,
		() => new CylinderBufferGeometry(1, 1, 1, 28).applyMatrix(UPRIGHT), "column", LONG),
	cone: ({radius = 0, length = 0}, painted) => shape(`cone ${radius} ${length}`, UNIT, painted,
		() => new CylinderBufferGeometry(0, radius, length, 28).applyMatrix(UPRIGHT), "column", new Vector3(radius, radius, length / 2)),
	capsule: ({radius = 0, length = 0}, painted) => shape(`capsule ${radius} ${length}`, UNIT, painted,
		() => capsule(radius, length), "capsule", new Vector3(radius, radius, length / 2)),
	ellipsoid: (from, painted) => {
		const radii = vector(from.radii, 0);
		return shape(`ellipsoid ${radii.toArray()}`, UNIT, painted, () => new SphereBufferGeometry(1, 28, 18).scale(radii.x, radii.y, radii.z), "ball", radii);
	},
	plane: planeOf,
};

// painted: a texture lies on it. The geometry, its scale, and whether it is a plane (which pictures of the whole world
// leave out). null: nothing to draw. A mesh, heightmap or polyline is not known here: its triangles must be asked for, and
// shape.ask is what to ask.
export function shapeOf(geometry, painted = false) {
	for (const [kind, make] of Object.entries(makers))
		if (geometry[kind])
			return make(geometry[kind], painted);
	if (geometry.mesh || geometry.heightmap || geometry.polyline)
		return {key: JSON.stringify(geometry), scale: new Vector3(1, 1, 1), ask: geometry};
	return null;
}

// What came for shape.ask. Triangles do not share corners, so that edges are sharp where surfaces meet at an angle.
function whole(key, {points, triangles, texcoords}) {
	return once(key, () => {
		const flat = new Float32Array(triangles.length * 3);
		for (let i = 0; i < triangles.length; i++)
			for (let axis = 0; axis < 3; axis++)
				flat[3 * i + axis] = points[3 * triangles[i] + axis];
		const geometry = new BufferGeometry();
		geometry.setAttribute("position", new BufferAttribute(flat, 3));
		geometry.computeVertexNormals();
		smooth(geometry, points, triangles);
		if (texcoords)
			geometry.setAttribute("uv", new BufferAttribute(texcoords, 2));
		return geometry;
	});
}

// The triangles of some parts of a geometry
function some(key, from, parts) {
	return once(key, () => {
		const geometry = new BufferGeometry();
		for (const [name, {array, itemSize}] of Object.entries(from.attributes)) {
			const pieces = parts.map(({first, count}) => array.subarray(3 * itemSize * first, 3 * itemSize * (first + count)));
			const out = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
			pieces.reduce((at, piece) => {
				out.set(piece, at);
				return at + piece.length;
			}, 0);
			geometry.setAttribute(name, new BufferAttribute(out, itemSize));
		}
		return geometry;
	});
}

// mesh: as it came for shape.ask. {whole, parts}: the geometry, and those of its triangles that have a material of the
// mesh file: [{key, geometry, material}], and what is left, whose material is null
export function shapeOfTriangles(key, mesh) {
	const geometry = whole(key, mesh), count = mesh.triangles.length / 3, groups = new Map();
	let end = 0;
	const add = (material, first, number) => number > 0 && groups.set(material, [...groups.get(material) || [], {first, count: number}]);
	for (const {first = 0, count: number = 0, material = 0} of [...mesh.parts].sort((a, b) => (a.first || 0) - (b.first || 0))) {
		if (first < end || first + number > count || !mesh.materials[material])
			continue;
		add(null, end, first - end);
		add(material, first, number);
		end = first + number;
	}
	add(null, end, count - end);
	return {whole: geometry, parts: [...groups].map(([number, parts]) => ({key: `${key}#${number}`,
		geometry: some(`${key}#${number}`, geometry, parts), material: number === null ? null : mesh.materials[number]}))};
}

// Gives a corner the mean of the normals of those triangles at its point that lean less than 40 degrees away.
function smooth(geometry, points, triangles) {
	const flat = geometry.attributes.normal.array, at = new Map(), limit = Math.cos(40 * Math.PI / 180);
	const keys = new Array(triangles.length);
	for (let i = 0; i < triangles.length; i++) {
		const p = 3 * triangles[i];
		keys[i] = `${points[p].toFixed(5)} ${points[p + 1].toFixed(5)} ${points[p + 2].toFixed(5)}`;
		const here = at.get(keys[i]);
		if (here)
			here.push(i);
		else
			at.set(keys[i], [i]);
	}
	const out = new Float32Array(flat.length);
	for (let i = 0; i < triangles.length; i++) {
		let x = 0, y = 0, z = 0;
		for (const j of at.get(keys[i])) {
			const dot = flat[3 * i] * flat[3 * j] + flat[3 * i + 1] * flat[3 * j + 1] + flat[3 * i + 2] * flat[3 * j + 2];
			if (dot >= limit) {
				x += flat[3 * j];
				y += flat[3 * j + 1];
				z += flat[3 * j + 2];
			}
		}
		const length = Math.hypot(x, y, z) || 1;
		out.set([x / length, y / length, z / length], 3 * i);
	}
	geometry.attributes.normal.array.set(out);
}

const COARSE_CELLS = 20;      // along the longest edge of the box
const COARSE_PART = .5;       // of the triangles: if more are left, it is not worth while

// The geometry with fewer triangles, for where it is small: corners go to the middles of cells, and triangles that have no
// area then are left out. null: it would not have much less.
export function coarseOf(key, fine) {
	const {position} = fine.attributes, size = fine.boundingBox.getSize(new Vector3()), cell = Math.max(size.x, size.y, size.z, 1e-9) / COARSE_CELLS;
	const at = (corner, axis) => Math.round(position.array[3 * corner + axis] / cell), same = (one, other) => [0, 1, 2].every(axis => at(one, axis) === at(other, axis));
	const left = [];
	for (let first = 0; first < position.count; first += 3)
		if (!same(first, first + 1) && !same(first + 1, first + 2) && !same(first, first + 2))
			left.push({first: first / 3, count: 1});
	if (left.length > COARSE_PART * position.count / 3)
		return null;
	const coarse = some(`${key} coarse`, fine, left), moved = coarse.attributes.position.array;
	for (let i = 0; i < moved.length; i++)
		moved[i] = Math.round(moved[i] / cell) * cell;
	return {key: `${key} coarse`, geometry: coarse};
}

export const marker = {
	box: () => once("box", () => new BoxBufferGeometry(1, 1, 1)),
	disc: () => once("disc", () => new CircleBufferGeometry(1, 40)),
};
