// What hides what: lines of sight through the shapes of the world, as they are drawn. Exact for boxes; other shapes are
// tested by their triangles. Only asked when a camera is put somewhere by itself, not for each image.
import {Matrix4, Vector3} from "./three/build/three.module.js";

const CLEAR = .5;             // a shape that lets more light through than this hides nothing
const NEAR_M = .01;

function inverseOf(matrix) {
	const out = new Matrix4();
	return out.invert ? out.copy(matrix).invert() : out.getInverse(matrix);
}

// The part of the ray from + t * way, 0 < t < most, that is in the box: [first, last]; null: none is
function crossing(box, from, way, most) {
	let first = 0, last = most;
	for (const axis of ["x", "y", "z"]) {
		if (Math.abs(way[axis]) < 1e-12) {
			if (from[axis] < box.min[axis] || from[axis] > box.max[axis])
				return null;
			continue;
		}
		const a = (box.min[axis] - from[axis]) / way[axis], b = (box.max[axis] - from[axis]) / way[axis];
		first = Math.max(first, Math.min(a, b));
		last = Math.min(last, Math.max(a, b));
	}
	return first <= last ? [first, last] : null;
}

// Calls found(t) for each triangle that the ray crosses, from either side. Moeller and Trumbore's way.
function eachTriangle(geometry, from, way, found) {
	const points = geometry.attributes.position.array, index = geometry.index ? geometry.index.array : null;
	const count = index ? index.length : points.length / 3;
	for (let i = 0; i + 2 < count; i += 3) {
		const a = 3 * (index ? index[i] : i), b = 3 * (index ? index[i + 1] : i + 1), c = 3 * (index ? index[i + 2] : i + 2);
		const ux = points[b] - points[a], uy = points[b + 1] - points[a + 1], uz = points[b + 2] - points[a + 2];
		const vx = points[c] - points[a], vy = points[c + 1] - points[a + 1], vz = points[c + 2] - points[a + 2];
		const px = way.y * vz - way.z * vy, py = way.z * vx - way.x * vz, pz = way.x * vy - way.y * vx;
		const det = ux * px + uy * py + uz * pz;
		if (Math.abs(det) < 1e-14)
			continue;
		const sx = from.x - points[a], sy = from.y - points[a + 1], sz = from.z - points[a + 2];
		const u = (sx * px + sy * py + sz * pz) / det;
		if (u < 0 || u > 1)
			continue;
		const qx = sy * uz - sz * uy, qy = sz * ux - sx * uz, qz = sx * uy - sy * ux;
		const v = (way.x * qx + way.y * qy + way.z * qz) / det;
		if (v < 0 || u + v > 1)
			continue;
		const t = (vx * qx + vy * qy + vz * qz) / det;
		if (t > 0)
			found(t);
	}
}

export class Sight {
	// world: of scene.js. Its shapes as they are now; planes, and what one can see through, are left out.
	constructor(world) {
		this.shapes = [];
		for (const model of world.models.values())
			for (const link of model.loaded ? model.links : [])
				for (const instance of link.instances)
					if (instance.batch && !instance.shape.plane && instance.batch.look.opacity > CLEAR)
						this.shapes.push({
							model, box: instance.batch.source.boundingBox, geometry: instance.batch.source, isBox: instance.shape.key === "box",
							toShape: inverseOf(new Matrix4().multiplyMatrices(link.matrix, instance.local)),
						});
	}

	// The distance from a point to the first shape on the way to another point, as a part of the way; 1: none is between.
	// except: a model that hides nothing
	free(from, to, except = null) {
		let first = 1;
		for (const shape of this.shapes) {
			if (shape.model === except)
				continue;
			const start = from.clone().applyMatrix4(shape.toShape), way = to.clone().applyMatrix4(shape.toShape).sub(start);
			const part = crossing(shape.box, start, way, first);
			if (!part)
				continue;
			if (shape.isBox)
				first = Math.min(first, part[0]);
			else
				eachTriangle(shape.geometry, start, way, t => { first = Math.min(first, t); });
		}
		return first;
	}

	// Whether the point is inside of a body, or as good as on its surface
	inside(point) {
		const up = new Vector3(.017, .011, 1);
		return this.shapes.some(shape => {
			const at = point.clone().applyMatrix4(shape.toShape), {min, max} = shape.box;
			const scale = Math.max(...shape.toShape.elements.slice(0, 11).map(Math.abs)) * NEAR_M;
			if (["x", "y", "z"].some(axis => at[axis] < min[axis] - scale || at[axis] > max[axis] + scale))
				return false;
			let crossed = 0;
			if (!shape.isBox)
				eachTriangle(shape.geometry, at, up, () => crossed++);
			return shape.isBox || crossed % 2 === 1;
		});
	}
}
