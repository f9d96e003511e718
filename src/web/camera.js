// The camera: orbit, shift and zoom with OrbitControls of three.js, keys, views of the whole world, and following a model.
import {PerspectiveCamera, Vector3} from "./three/build/three.module.js";
import {OrbitControls} from "./three/examples/jsm/controls/OrbitControls.js";
import {VIEWS} from "./framing.js";

export class Camera {
	// free(): the parts of the canvas that panels cover, in pixels: {left, right, top, bottom}
	constructor(canvas, free) {
		this.canvas = canvas;
		this.free = free;
		this.three = new PerspectiveCamera(45, 1, .05, 5000);
		this.three.up.set(0, 0, 1);
		this.three.position.set(-8, -14, 10);
		this.controls = new OrbitControls(this.three, canvas);
		Object.assign(this.controls, {
			enableDamping: true, dampingFactor: .12, rotateSpeed: .7, panSpeed: .9, zoomSpeed: .9,
			screenSpacePanning: false, maxPolarAngle: Math.PI * .995, minDistance: .1, maxDistance: 3000, enableKeys: false,
		});
		this.following = null;         // function that gives the position to follow
		this.how = {};                 // of follow()
		this.last = {position: new Vector3(), yaw: 0};
		this.moved = true;
		this.keeps = null;             // the view of main.js that is shown, if nobody has turned it since
		this.controls.addEventListener("start", () => { this.keeps = null; });
		this.controls.addEventListener("change", () => { this.moved = true; });
	}

	resize(width, height) {
		this.three.aspect = width / Math.max(1, height);
		const {left, right, top, bottom} = this.free();
		// the middle of the picture is the middle of what no panel covers
		this.three.setViewOffset(width, height, (right - left) / 2, (bottom - top) / 2, width, height);
		this.three.updateProjectionMatrix();
		this.moved = true;
	}

	get target() {
		return this.controls.target;
	}

	get distance() {
		return this.three.position.distanceTo(this.controls.target);
	}

	// Tangents of half the angles of what no panel covers: across and up
	opening() {
		const {left, right, top, bottom} = this.free();
		const width = this.canvas.clientWidth || 1, height = this.canvas.clientHeight || 1, up = Math.tan(this.three.fov * Math.PI / 360);
		return {across: up * width / height * Math.max(.3, 1 - (left + right) / width), up: up * Math.max(.3, 1 - (top + bottom) / height)};
	}

	// The directions right and up in a picture that is taken from this direction
	axes(direction) {
		const eye = this.three.clone();
		eye.position.copy(direction);
		eye.up.set(0, 0, 1);
		eye.lookAt(0, 0, 0);
		return [new Vector3(1, 0, 0).applyQuaternion(eye.quaternion), new Vector3(0, 1, 0).applyQuaternion(eye.quaternion)];
	}

	// Where the camera must be to have the whole of a box in the picture, and fill it: {eye, target, distance}.
	// direction: from the target to the eye, of length 1
	fit(box, direction) {
		const centre = box.getCenter(new Vector3()), target = centre.clone(), {across, up} = this.opening(), axes = this.axes(direction);
		let distance = .5;
		// a corner is in the picture if it is within tangent * (distance - near) of the target, to either side
		[across, up].forEach((tangent, axis) => {
			let right = -Infinity, left = -Infinity;
			for (let corner = 0; corner < 8; corner++) {
				const at = new Vector3(corner & 1 ? box.max.x : box.min.x, corner & 2 ? box.max.y : box.min.y,
					corner & 4 ? box.max.z : box.min.z).sub(centre);
				const near = tangent * at.dot(direction), aside = at.dot(axes[axis]);
				right = Math.max(right, near + aside);
				left = Math.max(left, near - aside);
				distance = Math.max(distance, near / tangent);
			}
			target.addScaledVector(axes[axis], (right - left) / 2);
			distance = Math.max(distance, (right + left) / 2 / tangent);
		});
		distance *= 1.04;
		return {eye: direction.clone().multiplyScalar(distance).add(target), target, distance};
	}

	// Looks at a box from one of VIEWS of framing.js, so that the whole of it is in the picture.
	show(box, view) {
		this.keeps = null;
		this.place(box, VIEWS[view].clone().normalize());
	}

	// Whether the point is in the picture, beside the panels
	sees(point) {
		const {across, up} = this.opening(), at = point.clone().sub(this.three.position).applyQuaternion(this.three.quaternion.clone().conjugate());
		return at.z < 0 && Math.abs(at.x) <= across * -at.z && Math.abs(at.y) <= up * -at.z;
	}

	// nearer: the eye is at this part of the distance
	place(box, direction, nearer = 1) {
		const {target, distance} = this.fit(box, direction);
		this.controls.target.copy(target);
		this.three.position.copy(direction).multiplyScalar(nearer * distance).add(target);
		this.three.near = Math.max(.02, nearer * distance / 2000);
		this.three.far = Math.max(500, 20 * distance);
		this.three.updateProjectionMatrix();
		this.controls.update();
	}

	// Looks at a point from where the camera is now, but nearer.
	lookAt(point, size) {
		const offset = this.three.position.clone().sub(this.controls.target);
		this.keeps = null;
		offset.setLength(Math.min(offset.length(), Math.max(2.5, 5 * size)));
		this.controls.target.copy(point);
		this.three.position.copy(point).add(offset);
		this.controls.update();
	}

	turn(left, up) {
		const offset = this.three.position.clone().sub(this.controls.target);
		const level = Math.hypot(offset.x, offset.y), radius = offset.length();
		const azimuth = Math.atan2(offset.y, offset.x) + left;
		const height = Math.min(1.55, Math.max(-1.5, Math.atan2(offset.z, level) + up));
		offset.set(Math.cos(azimuth) * Math.cos(height), Math.sin(azimuth) * Math.cos(height), Math.sin(height)).multiplyScalar(radius);
		this.keeps = null;
		this.three.position.copy(this.controls.target).add(offset);
		this.controls.update();
	}

	// Along the floor, by a part of the distance; the directions are those of the picture
	shift(right, up) {
		const [x, y] = this.alongFloor(right, up), offset = new Vector3(x, y, 0).multiplyScalar(.06 * this.distance);
		this.keeps = null;
		this.controls.target.add(offset);
		this.three.position.add(offset);
		this.controls.update();
	}

	// The direction on the floor that points right and up in the picture
	alongFloor(right, up) {
		const azimuth = Math.atan2(this.controls.target.y - this.three.position.y, this.controls.target.x - this.three.position.x);
		return [right * Math.sin(azimuth) + up * Math.cos(azimuth), up * Math.sin(azimuth) - right * Math.cos(azimuth)];
	}

	zoom(factor) {
		this.keeps = null;
		this.three.position.sub(this.controls.target).multiplyScalar(factor).add(this.controls.target);
		this.controls.update();
	}

	// Where the eye is and what it looks at
	view(eye, target) {
		this.keeps = null;
		const distance = eye.distanceTo(target);
		this.controls.target.copy(target);
		this.three.position.copy(eye);
		this.three.near = Math.max(.02, distance / 2000);
		this.three.far = Math.max(500, 20 * distance);
		this.three.updateProjectionMatrix();
		this.controls.update();
	}

	// position(): what the camera follows; null: nothing. how: {still: the eye stays where it is; yaw(): it turns with the
	// model; least, most: bounds of its distance, m; 0: none}
	follow(position, how = {}) {
		this.following = position;
		this.how = how;
		this.keeps = position ? null : this.keeps;
		if (position)
			this.last = {position: position().clone(), yaw: how.yaw ? how.yaw() : 0};
	}

	// What follows from where the model is now. Returns whether it has moved.
	chase() {
		const {still, yaw, least, most} = this.how, now = this.following(), turn = yaw ? yaw() - this.last.yaw : 0;
		const shift = now.clone().sub(this.last.position), offset = this.three.position.clone().sub(this.controls.target);
		if (shift.lengthSq() === 0 && turn === 0)
			return false;
		this.controls.target.add(shift);
		offset.applyAxisAngle(this.three.up, turn);
		if (still)
			offset.copy(this.three.position).sub(this.controls.target);
		else if (least || most)
			offset.clampLength(least || 0, most || Infinity);
		this.three.position.copy(this.controls.target).add(offset);
		this.last = {position: now.clone(), yaw: yaw ? yaw() : 0};
		return true;
	}

	// Once for each image. Returns true when the picture changes.
	update() {
		if (this.following)
			this.moved = this.chase() || this.moved;
		this.controls.update();
		const moved = this.moved;
		this.moved = false;
		return moved;
	}
}
