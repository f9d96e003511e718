// The sky of a world with <sky>: a gradient by the time of day with its <clouds>, or a cube map; and what metal reflects: the
// same sky without clouds, or a plain bright one, above a darker ground.
import {cloudsOf, cloudShader, latticeOf} from "./clouds.js";
import {cubeOf, lookInto} from "./cubemap.js";
import {BackSide, Color, CubeTexture, Mesh, ShaderMaterial, SphereBufferGeometry, Vector2, sRGBEncoding} from "./three/build/three.module.js";

const FACE = 16;              // texels along an edge of what is reflected
const GROUND = "#6f6a62";
const PLAIN = {high: "#f2f5fa", low: "#c3ccd8"};
const NIGHT = {high: "#070b18", low: "#1d2740"}, DUSK = {high: "#34507f", low: "#e3a878"}, DAY = {high: "#3d79c9", low: "#cfe1f2"};
const TWILIGHT = .2;          // height of the sun, as a part of its greatest, at which it is day

const shader = {
	vertexShader: "varying vec3 way; void main() { way = position; gl_Position = projectionMatrix * modelViewMatrix * vec4( position, 1.0 ); }",
	// the colours are those of the screen: nothing is converted
	fragmentShader: `uniform vec3 high, low;
varying vec3 way;
#ifdef CUBE
uniform samplerCube cube;
#endif
#ifdef CLOUDS
uniform vec3 cloudColour;
${cloudShader}
#endif
void main() {
	vec3 ahead = normalize( way ), colour = mix( low, high, pow( max( ahead.z, 0.0 ), 0.55 ) );
	#ifdef CLOUDS
	colour = mix( colour, cloudColour, cloudPart( ahead ) );
	#endif
	#ifdef CUBE
	colour = textureCube( cube, vec3( ahead.xy, - ahead.z ) ).rgb;
	#endif
	gl_FragColor = vec4( colour, 1.0 );
}`,
};

const mixed = (one, other, part) => ({high: `#${new Color(one.high).lerp(new Color(other.high), part).getHexString()}`,
	low: `#${new Color(one.low).lerp(new Color(other.low), part).getHexString()}`});

// sky: gz.msgs.Sky as JSON. The height of the sun, as a part of its greatest
function heightOf({time = 0, sunrise = 0, sunset = 0}) {
	return sunset > sunrise && time > sunrise && time < sunset ? Math.sin(Math.PI * (time - sunrise) / (sunset - sunrise)) : 0;
}

const saysOf = (sky, key) => ((sky && sky.header && sky.header.data || []).find(from => from.key === key) || {value: []}).value[0];

// The colours above and at the horizon
export function coloursOf(sky) {
	const height = heightOf(sky);
	if (height === 0)
		return NIGHT;
	return height < TWILIGHT ? mixed(DUSK, DAY, height / TWILIGHT) : DAY;
}

// The direction of a texel of a face of a cube map; s and t from -1 to 1, right and down
const faces = [(s, t) => [1, -t, -s], (s, t) => [-1, -t, s], (s, t) => [s, 1, t], (s, t) => [s, -1, -t], (s, t) => [s, -t, 1], (s, t) => [-s, -t, -1]];

// What surfaces reflect. colourAt(direction): of the world, [red, green, blue], 0 to 255
function environmentOf(colourAt) {
	const texture = new CubeTexture(faces.map(way => {
		const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
		canvas.width = canvas.height = FACE;
		const image = context.createImageData(FACE, FACE);
		for (let y = 0; y < FACE; y++)
			for (let x = 0; x < FACE; x++)
				image.data.set([...colourAt(way(2 * (x + .5) / FACE - 1, 2 * (y + .5) / FACE - 1)), 255], 4 * (y * FACE + x));
		context.putImageData(image, 0, 0);
		return canvas;
	}));
	texture.encoding = sRGBEncoding;
	texture.needsUpdate = true;
	return texture;
}

function gradient({high, low}) {
	const sky = new Color(high), horizon = new Color(low), ground = new Color(GROUND), texel = new Color();
	return at => {
		const up = at[2] / Math.hypot(...at);
		texel.copy(horizon).lerp(up > 0 ? sky : ground, up > 0 ? up ** .55 : Math.min(1, -4 * up));
		return [255 * texel.r, 255 * texel.g, 255 * texel.b];
	};
}

export class Sky {
	constructor(three) {
		this.ask = null;              // (path) -> Promise of the image of a cube map
		this.changed = () => {};      // called when it is there
		this.failed = () => {};       // (name, error)
		this.uniforms = {high: {value: new Color()}, low: {value: new Color()}, cube: {value: null}, cloudColour: {value: new Color()},
			cloudValues: {value: null}, cloudCover: {value: 0}, cloudScale: {value: 1}, cloudDrift: {value: new Vector2()}};
		this.material = new ShaderMaterial({...shader, uniforms: this.uniforms, side: BackSide, depthTest: false, depthWrite: false, fog: false});
		this.mesh = new Mesh(new SphereBufferGeometry(1, 24, 16), this.material);
		this.mesh.frustumCulled = false;
		this.mesh.renderOrder = -1e6;
		this.mesh.visible = false;
		three.add(this.mesh);
		this.key = "";
		this.clouds = null;
		this.environment = environmentOf(gradient(PLAIN));
	}

	// sky: gz.msgs.Sky, or undefined. Returns whether it is another one.
	set(sky) {
		const key = JSON.stringify(sky || null);
		if (key === this.key)
			return false;
		this.key = key;
		this.mesh.visible = Boolean(sky);
		const colours = sky ? coloursOf(sky) : PLAIN, cube = saysOf(sky, "cubemap_uri");
		this.low = sky ? colours.low : null;
		this.uniforms.high.value.set(colours.high);
		this.uniforms.low.value.set(colours.low);
		this.clouds = !cube && saysOf(sky, "clouds") ? sky : null;
		if (this.clouds)
			this.setClouds();
		this.show(this.clouds ? {CLOUDS: 1} : {}, gradient(colours));
		if (cube && this.ask)
			this.askCube(cube, key);
		return true;
	}

	show(defines, colourAt) {
		this.material.defines = defines;
		this.material.needsUpdate = true;
		this.environment.dispose();
		this.environment = environmentOf(colourAt);
	}

	setClouds() {
		const {r = 0, g = 0, b = 0} = this.clouds.cloudAmbient || {}, light = .05 + .95 * Math.min(1, 4 * heightOf(this.clouds));
		const {cover, scale} = cloudsOf(this.clouds);
		this.uniforms.cloudColour.value.setRGB(light * r, light * g, light * b);
		this.uniforms.cloudCover.value = cover;
		this.uniforms.cloudScale.value = scale;
		this.uniforms.cloudValues.value = this.uniforms.cloudValues.value || latticeOf();
	}

	askCube(path, key) {
		this.ask(path).then(image => {
			if (this.key !== key)
				return;
			if (this.uniforms.cube.value)
				this.uniforms.cube.value.dispose();
			this.uniforms.cube.value = cubeOf(image);
			const at = lookInto(image);
			this.show({CUBE: 1}, ([x, y, z]) => at([-x, y, z]));    // three.js turns x round
			this.changed();
		}).catch(error => this.failed(path, error));
	}

	// It is around the eye, and nearer than what it hides behind. time: of the simulation
	follow(camera, time) {
		this.mesh.position.copy(camera.position);
		this.mesh.scale.setScalar(.5 * camera.far);
		if (this.clouds)
			this.uniforms.cloudDrift.value.fromArray(cloudsOf(this.clouds, time).drift);
	}
}
