// Where things stand on a floor it is darker around their feet: what is near hides a part of the sky. This is drawn as one
// soft patch on the floor for each shape, by its footprint and its height above the floor: one draw call for all of them,
// and no second look at the scene, which takes too long without a graphics card. Floors are level planes.
import {DynamicDrawUsage, InstancedBufferAttribute, InstancedMesh, Matrix4, PlaneBufferGeometry, ShaderMaterial, Vector3} from "./three/build/three.module.js";

const FEET_MAX = 2048;
const REACH = .45;            // of the height of a shape, so far around it is darker
const REACH_M = .4;           // at most
const STRENGTH = .38;         // at the edge of a shape that stands on the floor
const ABOVE_M = .002;         // so high above the floor a patch lies
const GROUND = .3;            // a mesh that is flatter than this is ground: its box says nothing about what touches the floor
const ROUND = new Set(["sphere", "cylinder", "cone", "capsule", "ellipsoid"]);

const shader = {
	vertexShader: `attribute vec4 foot; attribute float bend; varying vec2 place; varying vec4 edge; varying float round;
void main() {
	place = position.xy * 2.0 * ( foot.xy + foot.z ); edge = foot; round = bend;
	gl_Position = projectionMatrix * modelViewMatrix * instanceMatrix * vec4( position, 1.0 );
}`,
	// darkness falls off with the square of the distance to the footprint
	fragmentShader: `varying vec2 place; varying vec4 edge; varying float round;
void main() {
	vec2 out2 = max( abs( place ) - edge.xy, 0.0 );
	float flat2 = length( out2 ), bent = ( length( place / edge.xy ) - 1.0 ) * min( edge.x, edge.y );
	float part = 1.0 - clamp( mix( flat2, bent, round ) / edge.z, 0.0, 1.0 );
	gl_FragColor = vec4( 0.0, 0.0, 0.0, edge.w * part * part );
}`,
};

// The footprint of a box that a matrix has put somewhere: {x, y, low, high, a, b}: middle, heights, and the halves of its
// edges along the floor; null: none
export function footprint(box, matrix) {
	const size = new Vector3(), centre = box.getCenter(new Vector3()).applyMatrix4(matrix), axes = [new Vector3(), new Vector3(), new Vector3()];
	box.getSize(size);
	matrix.extractBasis(...axes);
	axes.forEach((axis, i) => axis.multiplyScalar(size.getComponent(i) / 2));
	const high = axes.reduce((sum, axis) => sum + Math.abs(axis.z), 0);
	// the edge that stands most upright spans none of it
	const upright = axes.reduce((most, axis, i) => Math.abs(axis.z) / (axis.length() || 1) > Math.abs(axes[most].z) / (axes[most].length() || 1) ? i : most, 0);
	const [a, b] = axes.filter((axis, i) => i !== upright).map(axis => axis.setZ(0));
	return high > 0 && a.lengthSq() > 0 && b.lengthSq() > 0 ? {x: centre.x, y: centre.y, low: centre.z - high, high: 2 * high, a, b} : null;
}

export class Feet {
	constructor(three, world) {
		this.world = world;
		const geometry = new PlaneBufferGeometry(1, 1);
		this.foot = new InstancedBufferAttribute(new Float32Array(4 * FEET_MAX), 4);
		this.bend = new InstancedBufferAttribute(new Float32Array(FEET_MAX), 1);
		geometry.setAttribute("foot", this.foot);
		geometry.setAttribute("bend", this.bend);
		this.mesh = new InstancedMesh(geometry, new ShaderMaterial({...shader, transparent: true, depthWrite: false, polygonOffset: true, polygonOffsetFactor: -1,
			polygonOffsetUnits: -2}), FEET_MAX);
		for (const attribute of [this.foot, this.bend, this.mesh.instanceMatrix])
			attribute.usage = DynamicDrawUsage;
		this.mesh.frustumCulled = false;
		this.mesh.renderOrder = -1;    // before what can be seen through
		this.mesh.count = 0;
		this.scratch = {matrix: new Matrix4(), whole: new Matrix4(), up: new Vector3(0, 0, 1)};
		three.add(this.mesh);
	}

	// Level planes: [{z, box}]
	floors() {
		const out = [];
		for (const link of this.world.links.values())
			for (const instance of link.instances)
				if (instance.shape.plane && instance.batch && link.model.loaded) {
					const matrix = this.scratch.matrix.multiplyMatrices(link.matrix, instance.local), {boundingBox} = instance.batch.source;
					const box = boundingBox.clone().applyMatrix4(matrix);
					if (box.max.z - box.min.z < .001)
						out.push({z: box.max.z, box});
				}
		return out;
	}

	// The floor under a footprint; undefined: none is near
	floorUnder(floors, {x, y, low, high}) {
		return floors.filter(({z, box}) => low > z - .05 * high - .01 && x > box.min.x && x < box.max.x && y > box.min.y && y < box.max.y)
			.reduce((best, floor) => best && best.z > floor.z ? best : floor, undefined);
	}

	// Where things are now. on: whether there are patches
	lay(on) {
		const floors = on ? this.floors() : [];
		let count = 0;
		for (const link of floors.length ? this.world.links.values() : [])
			for (const instance of link.instances)
				if (count < FEET_MAX && instance.batch && link.model.loaded && instance.batch.look.shadow)
					count += this.layOne(floors, link, instance, count);
		this.mesh.count = count;
		this.mesh.visible = count > 0;
		for (const attribute of [this.foot, this.bend, this.mesh.instanceMatrix])
			attribute.needsUpdate = true;
	}

	// Returns whether there is a patch.
	layOne(floors, link, instance, index) {
		const {matrix, whole} = this.scratch;
		whole.multiplyMatrices(link.matrix, instance.local);
		const print = footprint(instance.batch.source.boundingBox, whole), floor = print && this.floorUnder(floors, print);
		if (!floor)
			return false;
		const reach = Math.min(REACH_M, REACH * print.high), strength = STRENGTH * (1 - Math.max(0, print.low - floor.z) / reach);
		if (!(strength > .01))
			return false;
		const {a, b} = print, wide = a.length(), long = b.length();
		if (instance.shape.ask && print.high < GROUND * 2 * Math.max(wide, long))
			return false;
		matrix.makeBasis(a.clone().multiplyScalar(2 * (wide + reach) / wide), b.clone().multiplyScalar(2 * (long + reach) / long), this.scratch.up);
		matrix.setPosition(print.x, print.y, floor.z + ABOVE_M);
		matrix.toArray(this.mesh.instanceMatrix.array, 16 * index);
		this.foot.array.set([wide, long, reach, strength], 4 * index);
		this.bend.array[index] = Object.keys(instance.from.geometry || {}).some(kind => ROUND.has(kind)) ? 1 : 0;
		return true;
	}
}
