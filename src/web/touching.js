// What touches, and what must be on one secondary: the contacts of the present state as points with their normals, and the
// components as lines from the middle of each to its models. Both come from /world/W/touching, which is asked for only
// while one of the two is shown, because a run notes contacts only while somebody asks for them.
import {BufferGeometry, Color, Float32BufferAttribute, Group, LineBasicMaterial, LineSegments, Points, PointsMaterial, Vector3, VertexColors} from "./three/build/three.module.js";
import {secondaryColour} from "./palette.js";

const RATE_HZ = 15;
const NUMBERS = 7;            // of a contact: place, normal, depth
const NORMAL_M = .25;

function always(part) {
	part.frustumCulled = false;
	part.renderOrder = 10;
	Object.assign(part.material, {depthTest: false, transparent: true});
	return part;
}

function fill(part, points, colours) {
	part.geometry.dispose();
	part.geometry = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(points, 3));
	if (colours)
		part.geometry.setAttribute("color", new Float32BufferAttribute(colours, 3));
}

export class Touching {
	// subscribe(rate, listener) -> function that ends it
	constructor(three, world, subscribe, redraw) {
		Object.assign(this, {world, subscribe, redraw, wants: {contacts: false, components: false}, end: null, groups: []});
		this.contacts = new Group();
		this.points = always(new Points(new BufferGeometry(), new PointsMaterial({color: 0xff2d55, size: 6, sizeAttenuation: false})));
		this.normals = always(new LineSegments(new BufferGeometry(), new LineBasicMaterial({color: 0xff2d55})));
		this.contacts.add(this.points, this.normals);
		this.components = always(new LineSegments(new BufferGeometry(), new LineBasicMaterial({vertexColors: VertexColors})));
		three.add(this.contacts, this.components);
		this.clear();
	}

	// which: "contacts" or "components"
	want(which, on) {
		this.wants[which] = on;
		this[which].visible = on;
		const wanted = this.wants.contacts || this.wants.components;
		if (wanted && !this.end)
			this.end = this.subscribe(RATE_HZ, message => this.take(message));
		else if (!wanted)
			this.clear();
	}

	// Another world is shown: what is wanted stays wanted.
	restart() {
		this.clear();
		for (const which of ["contacts", "components"])
			this.want(which, this.wants[which]);
	}

	clear() {
		if (this.end)
			this.end();
		this.end = null;
		this.groups = [];
		fill(this.points, []);
		fill(this.normals, []);
		fill(this.components, [], []);
		this.contacts.visible = this.wants.contacts;
		this.components.visible = this.wants.components;
		this.redraw();
	}

	take(message) {
		const numbers = (message.contact || []).map(Number), points = [], normals = [];
		for (let i = 0; i + NUMBERS <= numbers.length; i += NUMBERS) {
			const [x, y, z, nx, ny, nz] = numbers.slice(i, i + 6);
			points.push(x, y, z);
			normals.push(x, y, z, x + NORMAL_M * nx, y + NORMAL_M * ny, z + NORMAL_M * nz);
		}
		fill(this.points, points);
		fill(this.normals, normals);
		const groups = new Map();
		(message.model || []).forEach((id, index) => {
			const number = (message.component || [])[index] || 0;
			if (!groups.has(number))
				groups.set(number, []);
			groups.get(number).push(id);
		});
		this.groups = [...groups.values()];
		this.move();
		this.redraw();
	}

	// Models have moved.
	move() {
		if (!this.wants.components)
			return;
		const points = [], colours = [], colour = new Color();
		this.groups.forEach((ids, number) => {
			const places = ids.map(id => this.world.models.get(id)).filter(model => model && model.loaded).map(model => this.world.poseOf(model).position);
			const middle = places.reduce((sum, place) => sum.add(place), new Vector3()).divideScalar(places.length || 1);
			colour.set(secondaryColour(number + 1));
			for (const place of places) {
				points.push(...middle.toArray(), ...place.toArray());
				colours.push(...colour.toArray(), ...colour.toArray());
			}
		});
		fill(this.components, points, colours);
	}
}
