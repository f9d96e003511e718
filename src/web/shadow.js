// The shadow of the sun: its map covers what the picture shows, and no more. A point is compared with the map a little off
// its surface, by the size of a cell of the map: without that a surface has stripes of its own shadow; with a shift in
// depth instead, shadows would begin beside the bodies that cast them.
import {Box3, ShaderChunk, Vector3} from "./three/build/three.module.js";

const MAP = 2048;             // cells along an edge
const OFF = 1.6;              // in cells
const RAYS = 8;               // along an edge of the picture: what they hit is what it shows
const STEP = 2 ** .25;        // the map grows in such steps, so that shadows do not shimmer when the camera moves a little

// three.js r111 has no shift along the normal; later versions have one.
const shift = `vec4 offSurface( mat4 toMap, vec4 at, vec3 normal ) {
	vec3 across = vec3( toMap[0][0], toMap[1][0], toMap[2][0] ), up = vec3( toMap[0][1], toMap[1][1], toMap[2][1] );
	vec3 deeper = vec3( toMap[0][2], toMap[1][2], toMap[2][2] );
	float cell = 1.0 / ( ${MAP}.0 * min( length( across ), length( up ) ) );
	return toMap * ( at + vec4( normal * ( dot( normal, deeper ) > 0.0 ? -1.0 : 1.0 ) * cell * ${OFF}, 0.0 ) );
}
`;
const plain = "directionalShadowMatrix[ i ] * worldPosition;";
if (ShaderChunk.shadowmap_vertex.includes(plain)) {
	ShaderChunk.shadowmap_pars_vertex = `#ifdef USE_SHADOWMAP\n${shift}#endif\n${ShaderChunk.shadowmap_pars_vertex}`;
	ShaderChunk.shadowmap_vertex = ShaderChunk.shadowmap_vertex.replace(plain,
		"offSurface( directionalShadowMatrix[ i ], worldPosition, inverseTransformDirection( transformedNormal, viewMatrix ) );");
}

export function castShadow(sun) {
	sun.castShadow = true;
	sun.shadow.mapSize.set(MAP, MAP);
}

// The points where rays through the picture enter and leave the box
function shown(camera, box) {
	const out = [], from = camera.position, at = new Vector3();
	for (let x = 0; x <= RAYS; x++)
		for (let y = 0; y <= RAYS; y++) {
			const way = at.set(2 * x / RAYS - 1, 2 * y / RAYS - 1, .5).unproject(camera).sub(from).normalize();
			let first = 0, last = Infinity;
			for (const axis of ["x", "y", "z"]) {
				const a = (box.min[axis] - from[axis]) / way[axis], b = (box.max[axis] - from[axis]) / way[axis];
				first = Math.max(first, Math.min(a, b));
				last = Math.min(last, Math.max(a, b));
			}
			if (first < last)
				out.push(from.clone().addScaledVector(way, first), from.clone().addScaledVector(way, last));
		}
	return out;
}

function corners(box) {
	return [0, 1, 2, 3, 4, 5, 6, 7].map(i => new Vector3(i & 1 ? box.max.x : box.min.x, i & 2 ? box.max.y : box.min.y, i & 4 ? box.max.z : box.min.z));
}

// sun: with userData.direction; camera: of the picture; extent: the box of what casts shadows
export function aimShadow(sun, camera, extent) {
	const away = sun.userData.direction, box = extent.clone(), high = box.max.z - box.min.z;
	// a shadow is longer than what casts it; one that is very long shows nothing
	const long = Math.min(3, Math.hypot(away.x, away.y) / Math.max(.05, Math.abs(away.z))) * high;
	box.expandByVector(new Vector3(long, long, .1));
	const right = new Vector3().crossVectors(Math.abs(away.z) > .99 ? new Vector3(0, 1, 0) : new Vector3(0, 0, 1), away).negate().normalize();
	const up = new Vector3().crossVectors(away, right).negate().normalize();
	const seen = shown(camera, box), all = corners(box), view = new Box3(), whole = new Box3();
	const inLight = at => new Vector3(at.dot(right), at.dot(up), at.dot(away));
	for (const at of all)
		whole.expandByPoint(inLight(at));
	for (const at of seen.length ? seen : all)
		view.expandByPoint(inLight(at));
	view.intersect(whole);
	const size = view.getSize(new Vector3()), edges = [size.x, size.y].map(edge => STEP ** Math.ceil(Math.log(Math.max(1, 1.05 * edge)) / Math.log(STEP)));
	const centre = view.getCenter(new Vector3()), cells = edges.map(edge => edge / MAP);
	const x = Math.round(centre.x / cells[0]) * cells[0], y = Math.round(centre.y / cells[1]) * cells[1];
	const deep = whole.max.z - whole.min.z, margin = .02 * deep + .1;
	sun.target.position.set(0, 0, 0).addScaledVector(right, x).addScaledVector(up, y).addScaledVector(away, whole.max.z);
	sun.position.copy(sun.target.position).addScaledVector(away, -deep - margin);
	const map = sun.shadow.camera;
	map.up.copy(up);
	Object.assign(map, {left: -edges[0] / 2, right: edges[0] / 2, top: edges[1] / 2, bottom: -edges[1] / 2, near: margin / 2, far: deep + 2 * margin});
	map.updateProjectionMatrix();
	sun.shadow.bias = -.5 * Math.min(...cells) / (map.far - map.near);
	if ("normalBias" in sun.shadow)
		sun.shadow.normalBias = OFF * Math.max(...cells);
}
