// Thousands of equal shapes as few draw calls: a batch is one InstancedMesh for one geometry and one way to draw it,
// which grows when needed. Each instance has a matrix and a colour; three.js r111 has no colours of instances, but takes
// a vertex colour from any attribute, also from one that steps with the instances.
import {DynamicDrawUsage, InstancedBufferAttribute, InstancedMesh} from "./three/build/three.module.js";
import {materialOf} from "./paint.js";

const FIRST_CAPACITY = 4;

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
		const key = `${shape.key}|${look.opacity}|${look.shadow}|${look.double}|${look.paint ? JSON.stringify(look.paint) : ""}`;
		let batch = this.all.get(key);
		if (!batch) {
			batch = new Batch(this.parent, shape.geometry, look, this.dressed);
			this.all.set(key, batch);
		}
		batch.add(instance);
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
