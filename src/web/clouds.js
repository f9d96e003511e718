// Clouds of a sky, as the cameras see them (src/sensor/picture.h has the formula): the same noise, from the same numbers, which
// stand in a small texture here.
import {DataTexture, LuminanceFormat, NearestFilter, RepeatWrapping} from "./three/build/three.module.js";

const LATTICE = 256, CELL_M = 200, CELL_MORE_M = 1600, HEIGHT_M = 1000;

export function valueAt(x, y) {
	let hash = Math.imul(x & LATTICE - 1, 374761393) + Math.imul(y & LATTICE - 1, 668265263) | 0;
	hash = Math.imul(hash ^ hash >>> 13, 1274126177);
	return (hash ^ hash >>> 16) & 255;
}

export function latticeOf() {
	const values = new Uint8Array(LATTICE * LATTICE);
	for (let y = 0; y < LATTICE; y++)
		for (let x = 0; x < LATTICE; x++)
			values[y * LATTICE + x] = valueAt(x, y);
	const texture = new DataTexture(values, LATTICE, LATTICE, LuminanceFormat);
	texture.magFilter = texture.minFilter = NearestFilter;
	texture.wrapS = texture.wrapT = RepeatWrapping;
	texture.needsUpdate = true;
	return texture;
}

// For a fragment shader: cloudPart( up, way ) is the part of the sky that is hidden
export const cloudShader = `uniform sampler2D cloudValues;
uniform float cloudCover, cloudScale;
uniform vec2 cloudDrift;
float cloudValue( vec2 at ) { return texture2D( cloudValues, ( at + 0.5 ) / ${LATTICE}.0 ).r; }
float cloudNoise( vec2 at ) {
	vec2 cell = floor( at ), part = at - cell;
	part = part * part * ( 3.0 - 2.0 * part );
	cell = mod( cell, ${LATTICE}.0 );
	return mix( mix( cloudValue( cell ), cloudValue( cell + vec2( 1.0, 0.0 ) ), part.x ),
		mix( cloudValue( cell + vec2( 0.0, 1.0 ) ), cloudValue( cell + vec2( 1.0, 1.0 ) ), part.x ), part.y );
}
float cloudPart( vec3 way ) {
	float seen = smoothstep( 0.02, 0.25, way.z ), sum = 0.0, weight = 0.5;
	vec2 at = way.xy / max( way.z, 0.02 ) * cloudScale - cloudDrift;
	for ( int octave = 0; octave < 5; octave ++ ) {
		sum += weight * cloudNoise( at );
		at = 2.0 * at + 17.0;
		weight *= 0.5;
	}
	return seen * smoothstep( cloudCover - 0.08, cloudCover + 0.12, sum );
}`;

// sky: gz.msgs.Sky as JSON. What the shader needs at a time of the simulation, in s
export function cloudsOf({humidity = 0, meanCloudSize = 0, windSpeed = 0, windDirection = 0}, time = 0) {
	const cell = CELL_M + CELL_MORE_M * meanCloudSize, way = windSpeed * time / cell;
	const within = at => at - LATTICE * Math.floor(at / LATTICE);
	return {cover: .8 - .6 * humidity, scale: HEIGHT_M / cell, drift: [within(way * Math.cos(windDirection)), within(way * Math.sin(windDirection))]};
}
