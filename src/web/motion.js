// Smooth motion. Pictures come at most 30 times a second, and fewer on a slow connection; a screen shows 60 and more.
// Each link that a picture names glides from where it is drawn to where the picture has it, in as long as pictures have
// lately been apart. A link that would have to glide far jumps: it has been put there.
import {Quaternion, Vector3} from "./three/build/three.module.js";

const APART_MS = [12, 200];   // bounds of the time between pictures
const JUMP_M = 1.5;

export class Motion {
	constructor(world) {
		this.world = world;
		this.gliding = new Set();     // links; a link's glide: {from, to, turnFrom, turnTo, start}
		this.taken = [];              // links of the picture that is being taken
		this.apart_ms = 40;
		this.last_ms = 0;
	}

	clear() {
		this.gliding.clear();
	}

	// picture: of frames.js. Returns true when the state of a model has changed: secondary, asleep, loaded.
	take(picture, now_ms) {
		const gap = now_ms - this.last_ms;
		this.last_ms = now_ms;
		if (gap < 1000)
			this.apart_ms += .15 * (Math.min(Math.max(gap, APART_MS[0]), APART_MS[1]) - this.apart_ms);
		const {links, poses, models, status} = picture;
		if (picture.whole) {
			this.world.poses.clear();
			this.world.status.clear();
		}
		const taken = this.taken;
		taken.length = 0;
		for (let i = 0; i < links.length; i++)
			this.takePose(links[i], poses.subarray(7 * i, 7 * i + 7));
		for (const link of taken)
			this.begin(link, now_ms);
		for (const link of taken)
			link.model.jumps = false;
		let changed = false;
		for (let i = 0; i < models.length; i++)
			changed = this.world.setStatus(models[i], status[i]) || changed;
		return changed;
	}

	takePose(id, pose) {
		const kept = this.world.poses.get(id);   // a copy: the pose lies in a frame, which would stay for its sake
		if (kept)
			kept.set(pose);
		else
			this.world.poses.set(id, pose.slice());
		const link = this.world.links.get(id);
		if (!link || link.model.isStatic)
			return;
		if (!link.glide)
			link.glide = {from: new Vector3(), to: new Vector3(), turnFrom: new Quaternion(), turnTo: new Quaternion(), start: 0};
		link.glide.to.fromArray(pose, 0);
		link.glide.turnTo.fromArray(pose, 3);
		// all links of a model jump together, or it would come apart for a moment
		if (link.position.distanceToSquared(link.glide.to) > JUMP_M * JUMP_M)
			link.model.jumps = true;
		this.taken.push(link);
	}

	begin(link, now_ms) {
		const glide = link.glide;
		if (link.model.jumps || !link.model.loaded || document.hidden) {
			link.position.copy(glide.to);
			link.rotation.copy(glide.turnTo);
			this.gliding.delete(link);
			this.world.placeLink(link);
			return;
		}
		glide.from.copy(link.position);
		glide.turnFrom.copy(link.rotation);
		glide.start = now_ms;
		this.gliding.add(link);
	}

	// Once for each image. Returns true when something has moved.
	glide(now_ms) {
		const moved = this.gliding.size > 0;
		for (const link of this.gliding) {
			// the image may have begun before the picture came
			const glide = link.glide, part = Math.min(1, Math.max(0, (now_ms - glide.start) / this.apart_ms));
			link.position.lerpVectors(glide.from, glide.to, part);
			Quaternion.slerp(glide.turnFrom, glide.turnTo, link.rotation, part);
			if (!link.gone)
				this.world.placeLink(link);
			if (part >= 1 || link.gone)
				this.gliding.delete(link);
		}
		return moved;
	}
}
