// What a picture should show, and from where. Pure geometry: boxes and directions in, a box and an eye out.
import {Box3, Vector3} from "./three/build/three.module.js";

const EXTENT_MIN_M = 2;       // from nearer than that a small thing has no surroundings
const TINY = 250;             // a world that is so many times as long as its things shows them as points
const STRAY = {x: 4, y: 4, z: 1};  // what is so many lengths of all else away from it is astray; things fall far
const ROW = 12;               // what is so many times as long as it is wide and high is a row
const ROW_EDGES = 100;        // a row that is longer than so many of its models is a thin line
const PART_EDGES = 30;        // a part of it that shows its models, in models
const WHOLE = 2.5;            // a world that is at most so many times as long as what moves in it is shown whole
const WHOLE_EDGES = 30;       // or as long as so many of the things that move
const POINTS_MAX = 32;        // that a line of sight is asked for
const SEEN = .7;              // a picture that shows so much of its subject is good
const NEARER = .85;           // an eye before a wall stands at this part of the distance to it

export const VIEWS = {
	home: new Vector3(-.55, -1, .72), top: new Vector3(0, -.0001, 1), front: new Vector3(1, 0, .12), side: new Vector3(0, -1, .12),
	alongX: new Vector3(-1, -.45, .5), alongY: new Vector3(-.45, -1, .5),
};

const lengthOf = box => Math.max(...box.getSize(new Vector3()).toArray());
const unionOf = items => items.reduce((all, item) => all.union(item.box), new Box3());
const isSound = box => [...box.min.toArray(), ...box.max.toArray()].every(Number.isFinite);

function middle(numbers) {
	return numbers.length ? [...numbers].sort((a, b) => a - b)[numbers.length >> 1] : 0;
}

// Of two groups the one to which the picture goes: with what stands still, or with more things. null: neither
function major(one, two) {
	const still = [one, two].map(group => group.some(item => item.isStatic));
	if (still[0] !== still[1])
		return still[0] ? one : two;
	return still[0] || one.length === two.length ? null : one.length > two.length ? one : two;
}

// The widest gap along an axis that sets a minor group apart, and the others; null: all stand together
function withoutGroup(items, axis) {
	const sorted = [...items].sort((a, b) => a.box.min[axis] - b.box.min[axis]);
	let end = -Infinity, best = null;
	sorted.forEach((item, index) => {
		const gap = item.box.min[axis] - end;
		if (index > 0 && gap > 0 && (!best || gap > best.gap))
			best = {gap, index};
		end = Math.max(end, item.box.max[axis]);
	});
	const kept = best && major(sorted.slice(0, best.index), sorted.slice(best.index));
	return kept && best.gap > STRAY[axis] * Math.max(EXTENT_MIN_M, lengthOf(unionOf(kept))) ? kept : null;
}

// Leaves out what has fallen or been thrown so far away that a picture of all would show nothing.
// items: [{box, isStatic, ...}]
export function together(items) {
	let kept = items.filter(item => isSound(item.box));
	const edge = Math.max(.1, middle(kept.map(item => lengthOf(item.box))));
	for (let fewer = kept; fewer; ) {
		kept = fewer;
		fewer = null;
		for (const axis of kept.length > 1 && lengthOf(unionOf(kept)) > TINY * edge ? ["z", "x", "y"] : [])
			fewer = fewer || withoutGroup(kept, axis);
	}
	return kept;
}

// The box of the items, at least EXTENT_MIN_M long
export function extentOf(items) {
	const box = unionOf(items);
	if (box.isEmpty())
		box.set(new Vector3(-5, -5, 0), new Vector3(5, 5, 2));
	return box.expandByScalar(Math.max(0, EXTENT_MIN_M - lengthOf(box)) / 2);
}

// The begin of the part of this length in which the most of the places are
function crowdedPart(places, length) {
	const sorted = Float64Array.from(places).sort();
	let best = 0, most = 0;
	for (let from = 0, to = 0; from < sorted.length; from++) {
		while (to < sorted.length && sorted[to] <= sorted[from] + length)
			to++;
		if (to - from > most) {
			most = to - from;
			best = from;
		}
	}
	return sorted[best];
}

// What the first picture shows: {box, view, items}. All that can move, with the whole world around it if that is not much
// larger. If it is a row of which only a line could be seen: the part with the most models, seen along the row.
export function subjectOf(all) {
	const items = together(all), moving = items.filter(item => !item.isStatic), shown = moving.length ? moving : items;
	const whole = extentOf(items), moves = extentOf(shown), edge = middle(shown.map(item => lengthOf(item.box)));
	const box = lengthOf(whole) <= Math.max(WHOLE * lengthOf(moves), WHOLE_EDGES * edge) ? whole : moves;
	const [x, y, z] = box.getSize(new Vector3()).toArray(), along = x > y ? "x" : "y";
	const long = Math.max(x, y), wide = Math.max(Math.min(x, y), z);
	if (!shown.length || long < ROW * wide || long < ROW_EDGES * edge)
		return {box, view: "home", items: shown};
	const length = Math.max(PART_EDGES * edge, ROW / 2 * wide);
	box.min[along] = crowdedPart(shown.map(item => item.box.min[along]), length);
	box.max[along] = Math.min(box.max[along], box.min[along] + length);
	return {box, view: along === "x" ? "alongX" : "alongY", items: shown.filter(item => item.box.intersectsBox(box))};
}

// --- the eye --------------------------------------------------------------------------------------------------------

function turned(direction, angle, rise) {
	const level = Math.hypot(direction.x, direction.y), azimuth = Math.atan2(direction.y, direction.x) + angle;
	const height = rise === null ? Math.atan2(direction.z, level) : rise;
	return new Vector3(Math.cos(azimuth) * Math.cos(height), Math.sin(azimuth) * Math.cos(height), Math.sin(height));
}

// The directions that are tried, the best first: around the subject, from higher up, from above
function directionsFrom(view) {
	const around = [0, Math.PI / 2, Math.PI, -Math.PI / 2];
	return [null, 1.05].flatMap(rise => around.map(angle => turned(VIEWS[view], angle, rise))).concat([VIEWS.top.clone().normalize()]);
}

// The part of the points that one sees from the eye, in the picture
function seen(points, eye, sight, inPicture) {
	const free = points.filter(({at, reach, model}) => inPicture(eye, at) &&
		sight.free(eye, at, model) >= 1 - reach / Math.max(reach, eye.distanceTo(at)));
	return points.length ? free.length / points.length : 1;
}

// Where to look from: {direction, nearer}: nearer: a part of the distance at which all of the subject is in the picture.
//
// subject: of subjectOf(), its items with their models; fit(direction, nearer) -> the eye; inPicture(eye, point);
// sight: of sight.js. The eye is never inside of a body. If things hide the subject from all sides, as in a room, the
// eye stands before them.
export function lookFrom(subject, fit, inPicture, sight) {
	const centre = subject.box.getCenter(new Vector3()), step = Math.ceil(subject.items.length / POINTS_MAX) || 1;
	// by name, because models come and go, and the picture must not depend on their order
	const items = [...subject.items].sort((a, b) => a.model.name < b.model.name ? -1 : 1);
	const points = items.filter((item, index) => index % step === 0).map(({box, model}) =>
		({at: box.getCenter(new Vector3()), reach: box.getSize(new Vector3()).length() / 2, model}));
	let best = {direction: VIEWS[subject.view].clone().normalize(), nearer: 1, part: -1};
	for (const inRoom of [false, true])
		for (const direction of directionsFrom(subject.view)) {
			const far = fit(direction, 1), nearer = inRoom ? NEARER * sight.free(centre, far) : 1, eye = fit(direction, nearer);
			const part = sight.inside(eye) ? -1 : seen(points, eye, sight, inPicture);
			if (part > best.part + .05)
				best = {direction, nearer, part};
			if (part >= SEEN)
				return best;
		}
	return best;
}
