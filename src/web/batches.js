// Thousands of equal shapes as few draw calls: a batch is one InstancedMesh for one geometry and one way to draw it,
// which grows when needed. Each instance has a matrix and a colour; three.js r111 has no colours of instances, but takes
// a vertex colour from any attribute, also from one that steps with the instances.
import {Color, DynamicDrawUsage, InstancedBufferAttribute, InstancedMesh, Matrix4, Vector3} from "./three/build/three.module.js";
import {materialOf} from "./paint.js";
import {coarseOf} from "./shapes.js";

const FIRST_CAPACITY = 4;
const DETAILED_TRIANGLES = 1500;   // a geometry with more has a coarse one, too
const COARSE_PX = 24;              // radius on the screen below which it is drawn
const SLACK = 1.25;                // and above so many times of which it is not drawn any more

class Batch {
	constructor(parent, geometry, look, dressed) {
		this.parent = parent;
		this.look = look;
		this.source = geometry;
		this.instances = [];
		this.material = dressed(look);
		this.grow(FIRST_CAPACITY);
	}

	dress(dressed) {
		this.material.dispose();
		this.material = this.mesh.material = dressed(this.look);
	}

	grow(capacity) {
		const old = this.mesh, geometry = this.source.clone();
		const mesh = new InstancedMesh(geometry, this.material, capacity);
		mesh.frustumCulled = false; // three would only look at the first instance
		mesh.castShadow = this.look.shadow;
		mesh.receiveShadow = true;
		mesh.instanceMatrix.usage = DynamicDrawUsage;
		const colours = new InstancedBufferAttribute(new Float32Array(3 * capacity), 3);
		colours.usage = DynamicDrawUsage;
		geometry.setAttribute("color", colours);
		if (old) {
			mesh.instanceMatrix.array.set(old.instanceMatrix.array);
			colours.array.set(this.colours.array);
			this.parent.remove(old);
			old.geometry.dispose();
		}
		this.mesh = mesh;
		this.colours = colours;
		this.matrices = mesh.instanceMatrix;
		this.capacity = capacity;
		mesh.userData.batch = this;
		this.parent.add(mesh);
		this.changed();
	}

	changed() {
		this.mesh.count = this.instances.length;
		this.mesh.visible = this.instances.length > 0;
		this.matrices.needsUpdate = true;
		this.colours.needsUpdate = true;
	}

	add(instance) {
		if (this.instances.length === this.capacity)
			this.grow(2 * this.capacity);
		instance.batch = this;
		instance.index = this.instances.length;
		this.instances.push(instance);
		this.changed();
	}

	remove(instance) {
		const last = this.instances.pop();
		if (last !== instance) {
			last.index = instance.index;
			this.instances[last.index] = last;
			this.matrices.array.copyWithin(16 * last.index, 16 * this.instances.length, 16 * this.instances.length + 16);
			this.colours.array.copyWithin(3 * last.index, 3 * this.instances.length, 3 * this.instances.length + 3);
		}
		instance.batch = null;
		this.changed();
	}

	place(instance, matrix) {
		matrix.toArray(this.matrices.array, 16 * instance.index);
		this.matrices.needsUpdate = true;
	}

	paint(instance, colour) {
		colour.toArray(this.colours.array, 3 * instance.index);
		this.colours.needsUpdate = true;
	}
}

export class Batches {
	// dress(material, paint): has its textures laid on it
	constructor(parent, dress) {
		this.parent = parent;
		this.all = new Map();
		this.lamps = false;
		this.environment = null;
		this.detailed = new Set();    // instances that have a coarse geometry
		this.dressed = look => {
			const material = materialOf(look, this.lamps, this.environment);
			dress(material, look.paint);
			return material;
		};
	}

	// lamps: whether the world has lights other than suns; environment: a cube texture that metal reflects, or null
	light(lamps, environment) {
		const changed = lamps !== this.lamps || environment !== this.environment;
		Object.assign(this, {lamps, environment});
		if (changed)
			for (const batch of this.all.values())
				batch.dress(this.dressed);
	}

	// shape: of shapes.js, with its geometry known; look: {opacity, shadow, double, plane, paint}, paint of paint.js
	add(instance, shape, look) {
		this.batchOf(shape, look).add(instance);
		instance.detail = this.detailOf(shape, look);
		if (instance.detail)
			this.detailed.add(instance);
	}

	batchOf(shape, look) {
		const key = `${shape.key}|${look.opacity}|${look.shadow}|${look.double}|${look.paint ? JSON.stringify(look.paint) : ""}`;
		let batch = this.all.get(key);
		if (!batch) {
			batch = new Batch(this.parent, shape.geometry, look, this.dressed);
			this.all.set(key, batch);
		}
		return batch;
	}

	// The batches of a geometry with many triangles, {fine, coarse}; null: it has few
	detailOf(shape, look) {
		const fine = this.batchOf(shape, look), {index, attributes} = shape.geometry;
		if (index || attributes.position.count < 3 * DETAILED_TRIANGLES)
			return null;
		if (fine.coarse === undefined) {
			const coarse = coarseOf(shape.key, shape.geometry);
			fine.coarse = coarse && this.batchOf(coarse, look);
		}
		return fine.coarse && {fine, coarse: fine.coarse};
	}

	// Draws what is small on the screen with fewer triangles. camera: of three.js; height: of the picture, pixels
	refine(camera, height) {
		const matrix = new Matrix4(), at = new Vector3(), colour = new Color(), pixels = height / 2 / Math.tan(camera.fov * Math.PI / 360);
		for (const instance of this.detailed) {
			const {batch, index, detail} = instance;
			if (!batch) {
				this.detailed.delete(instance);
				continue;
			}
			const {center, radius} = detail.fine.source.boundingSphere;
			matrix.fromArray(batch.matrices.array, 16 * index);
			const far = at.copy(center).applyMatrix4(matrix).distanceTo(camera.position), seen = pixels * radius * matrix.getMaxScaleOnAxis() / Math.max(1e-6, far);
			const wanted = seen < COARSE_PX ? detail.coarse : seen > SLACK * COARSE_PX ? detail.fine : batch;
			if (wanted === batch)
				continue;
			colour.fromArray(batch.colours.array, 3 * index);
			batch.remove(instance);
			wanted.add(instance);
			wanted.place(instance, matrix);
			wanted.paint(instance, colour);
		}
	}

	// The instance that the ray hits first, and where; null: none
	pick(raycaster, accept) {
		let best = null;
		for (const {mesh, instances} of this.all.values())
			if (mesh.visible)
				for (const hit of raycaster.intersectObject(mesh)) {
					const instance = instances[hit.instanceId];
					if (instance && accept(instance) && (!best || hit.distance < best.distance))
						best = {instance, distance: hit.distance, point: hit.point};
				}
		return best;
	}
}
