// From a gz.msgs.Geometry to triangles that three.js draws, with z up as in SDF.
//
// Shapes that are drawn alike share one geometry, so that thousands of them are one draw call: a box of any size is the
// unit box, scaled. That is done only where the scale leaves the directions of the normals right, because three.js r111
// does not correct them: boxes, spheres, and cylinders. The others are made for their size.
import {
	BoxBufferGeometry, BufferAttribute, BufferGeometry, CircleBufferGeometry, CylinderBufferGeometry, Matrix4,
	PlaneBufferGeometry, SphereBufferGeometry, Vector3,
} from "./three/build/three.module.js";

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

// The geometry, its scale, and whether it is a plane (which pictures of the whole world leave out). null: nothing to
// draw. A mesh, heightmap or polyline is not known here: its triangles must be asked for, and shape.ask is what to ask.
export function shapeOf(geometry) {
	const one = new Vector3(1, 1, 1);
	if (geometry.box)
		return {key: "box", scale: vector(geometry.box.size, 0),
			geometry: once("box", () => new BoxBufferGeometry(1, 1, 1))};
	if (geometry.sphere) {
		const radius = geometry.sphere.radius || 0;
		return {key: "sphere", scale: new Vector3(radius, radius, radius),
			geometry: once("sphere", () => new SphereBufferGeometry(1, 28, 18).applyMatrix(UPRIGHT))};
	}
	if (geometry.cylinder) {
		const {radius = 0, length = 0} = geometry.cylinder;
		return {key: "cylinder", scale: new Vector3(radius, radius, length),
			geometry: once("cylinder", () => new CylinderBufferGeometry(1, 1, 1, 28).applyMatrix(UPRIGHT))};
	}
	if (geometry.cone) {
		const {radius = 0, length = 0} = geometry.cone, key = `cone ${radius} ${length}`;
		return {key, scale: one,
			geometry: once(key, () => new CylinderBufferGeometry(0, radius, length, 28).applyMatrix(UPRIGHT))};
	}
	if (geometry.capsule) {
		const {radius = 0, length = 0} = geometry.capsule, key = `capsule ${radius} ${length}`;
		return {key, scale: one, geometry: once(key, () => capsule(radius, length))};
	}
	if (geometry.ellipsoid) {
		const radii = vector(geometry.ellipsoid.radii, 0), key = `ellipsoid ${radii.toArray()}`;
		return {key, scale: one, geometry: once(key, () => new SphereBufferGeometry(1, 28, 18).scale(radii.x, radii.y, radii.z))};
	}
	if (geometry.plane) {
		const size = geometry.plane.size || {}, normal = vector(geometry.plane.normal, 0);
		if (normal.lengthSq() === 0)
			normal.z = 1;
		const x = size.x || UNBOUNDED_M, y = size.y || UNBOUNDED_M, key = `plane ${x} ${y} ${normal.toArray()}`;
		return {key, scale: one, plane: true, geometry: once(key, () => {
			const flat = new PlaneBufferGeometry(x, y);
			flat.lookAt(normal.normalize());
			return flat;
		})};
	}
	if (geometry.mesh || geometry.heightmap || geometry.polyline)
		return {key: JSON.stringify(geometry), scale: one, ask: geometry};
	return null;
}

// What came for shape.ask. Triangles do not share corners, so that edges are sharp where surfaces meet at an angle.
export function shapeOfTriangles(key, points, triangles) {
	return once(key, () => {
		const flat = new Float32Array(triangles.length * 3);
		for (let i = 0; i < triangles.length; i++)
			for (let axis = 0; axis < 3; axis++)
				flat[3 * i + axis] = points[3 * triangles[i] + axis];
		const geometry = new BufferGeometry();
		geometry.setAttribute("position", new BufferAttribute(flat, 3));
		geometry.computeVertexNormals();
		smooth(geometry, points, triangles);
		return geometry;
	});
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

export const marker = {
	box: () => once("box", () => new BoxBufferGeometry(1, 1, 1)),
	disc: () => once("disc", () => new CircleBufferGeometry(1, 40)),
};
