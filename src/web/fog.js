// Fog: of the world's <scene>, by the formula that its cameras have (src/sensor/picture_air.c); or, without one, what is
// far fades into the horizon. three.js r111 has fog of the second kind only, by depth and not by distance.
import {Color, Fog} from "./three/build/three.module.js";

// Of the world's fog; power 0: there is none. Shared by all materials.
const air = {fogMost: {value: 0}, fogPower: {value: 0}};
const POWERS = {LINEAR: 1, EXPONENTIAL: 1, EXPONENTIAL2: 2};

const after = (source, chunk, more) => source.replace(`#include <${chunk}>`, `#include <${chunk}>\n#ifdef USE_FOG\n${more}\n#endif`);

export function foggy(shader) {
	Object.assign(shader.uniforms, air);
	shader.vertexShader = after(after(shader.vertexShader, "fog_pars_vertex", "varying vec3 fogWay;"), "fog_vertex", "fogWay = mvPosition.xyz;");
	shader.fragmentShader = after(shader.fragmentShader, "fog_pars_fragment", "uniform float fogMost, fogPower;\nvarying vec3 fogWay;")
		.replace("#include <fog_fragment>", `#ifdef USE_FOG
	float fogPart = smoothstep( fogNear, fogFar, fogDepth );
	if ( fogPower > 0.0 )
		fogPart = min( 1.0, fogMost * pow( clamp( ( length( fogWay ) - fogNear ) / ( fogFar - fogNear ), 0.0, 1.0 ), fogPower ) );
	gl_FragColor.rgb = mix( gl_FragColor.rgb, fogColor, fogPart );
#endif`);
}

// Has the material seen through the fog of the world
export function throughFog(material) {
	material.onBeforeCompile = foggy;
}

// from: gz.msgs.Fog, or undefined. null: there is none. As numbers, with what protobuf leaves out.
export function fogOf(from) {
	const power = from && POWERS[from.type];
	if (!power || !(from.density > 0))
		return null;
	const {r = 0, g = 0, b = 0} = from.color || {};
	return {power, most: from.density, colour: {r, g, b}, start: from.start || 0, end: Math.max(from.end || 0, (from.start || 0) + 1e-6)};
}

// What a background without sky is behind the fog
export function behindFog(fog, colour) {
	return fog ? colour.clone().lerp(new Color(fog.colour.r, fog.colour.g, fog.colour.b), Math.min(1, fog.most)) : colour;
}

// The fog of three.js. horizon: what is far fades into this colour, if the world has no fog
export function makeFog(fog, horizon) {
	air.fogMost.value = fog ? fog.most : 0;
	air.fogPower.value = fog ? fog.power : 0;
	return fog ? new Fog(new Color(fog.colour.r, fog.colour.g, fog.colour.b), fog.start, fog.end) : new Fog(horizon, 1, 10);
}
