// The textures of a heightmap, one over the other by its height: as the cameras see them (src/sensor/picture_surface.c), but
// for normal maps.
import {DataTexture, RGBFormat, Vector2} from "./three/build/three.module.js";
import {foggy} from "./fog.js";

const LAYERS_MAX = 8;         // a graphics card need have no more than 16 textures, and shadows take some
const WHITE = new DataTexture(new Uint8Array([255, 255, 255]), 1, 1, RGBFormat);

const numbers = Array.from({length: LAYERS_MAX}, (_, number) => number);

const declarations = `uniform vec2 groundCorner;
uniform float groundLowest;
uniform vec3 groundWay[ GROUND_LAYERS ];
varying vec3 groundAt;
${numbers.map(number => `#if GROUND_LAYERS > ${number}\nuniform sampler2D groundMap${number};\n#endif`).join("\n")}
float groundShare( vec3 way, float height ) {
	return way.z > 0.0 ? clamp( ( height - way.y ) / way.z, 0.0, 1.0 ) : step( way.y, height );
}`;

const layer = number => `#if GROUND_LAYERS > ${number}
	ground = mix( ground, sRGBToLinear( texture2D( groundMap${number}, groundPlace / groundWay[ ${number} ].x ) ).rgb, ${number ? `groundShare( groundWay[ ${number} ], groundHeight )` : "1.0"} );
#endif`;

const painting = `vec2 groundPlace = groundAt.xy - groundCorner;
float groundHeight = groundAt.z - groundLowest;
vec3 ground = vec3( 1.0 );
${numbers.map(layer).join("\n")}
diffuseColor.rgb *= ground;`;

// from: gz.msgs.HeightmapGeom as JSON. null: it has no textures
export function groundOf({size = {}, origin = {}, texture = [], blend = []}) {
	const layers = texture.slice(0, LAYERS_MAX).map((from, i) => {
		const {minHeight = 0, fadeDist = 0} = i && blend[i - 1] || {};
		return {name: from.diffuse || "", size: from.size || 10, from: minHeight, fade: fadeDist};
	});
	if (!layers.some(({name}) => name))
		return null;
	return {left: (origin.x || 0) - Math.abs(size.x || 0) / 2, top: (origin.y || 0) + Math.abs(size.y || 0) / 2, lowest: origin.z || 0, layers};
}

// ground: of groundOf()
export function layGround(material, ground) {
	const uniforms = {
		groundCorner: {value: new Vector2(ground.left, ground.top)}, groundLowest: {value: ground.lowest},
		groundWay: {value: ground.layers.flatMap(({size, from, fade}) => [size, from, fade])},
	};
	ground.layers.forEach((_, number) => {
		uniforms[`groundMap${number}`] = {value: WHITE};
	});
	WHITE.needsUpdate = true;
	material.userData.ground = uniforms;
	material.defines = {...material.defines, GROUND_LAYERS: ground.layers.length};
	material.onBeforeCompile = shader => {
		foggy(shader);
		Object.assign(shader.uniforms, uniforms);
		shader.vertexShader = `varying vec3 groundAt;\n${shader.vertexShader}`.replace("#include <begin_vertex>", "#include <begin_vertex>\ngroundAt = position;");
		shader.fragmentShader = `${declarations}\n${shader.fragmentShader}`.replace("#include <map_fragment>", painting);
	};
}

// number: of the layer
export function setGround(material, number, texture) {
	material.userData.ground[`groundMap${number}`].value = texture;
}
