// The sky of a world with <sky>: a gradient by the time of day, without clouds; and what metal reflects: the same sky, or a
// plain bright one, above a darker ground.
import {BackSide, Color, CubeTexture, Mesh, ShaderMaterial, SphereBufferGeometry, sRGBEncoding} from "./three/build/three.module.js";

const FACE = 16;              // texels along an edge of what is reflected
const GROUND = "#6f6a62";
const PLAIN = {high: "#f2f5fa", low: "#c3ccd8"};
const NIGHT = {high: "#070b18", low: "#1d2740"}, DUSK = {high: "#34507f", low: "#e3a878"}, DAY = {high: "#3d79c9", low: "#cfe1f2"};
const TWILIGHT = .2;          // height of the sun, as a part of its greatest, at which it is day

const shader = {
	vertexShader: "varying vec3 way; void main() { way = position; gl_Position = projectionMatrix * modelViewMatrix * vec4( position, 1.0 ); }",
	// the colours are those of the screen: nothing is converted
	fragmentShader: "uniform vec3 high, low; varying vec3 way; void main() { float up = max( normalize( way ).z, 0.0 ); gl_FragColor = vec4( mix( low, high, pow( up, 0.55 ) ), 1.0 ); }",
};

const mixed = (one, other, part) => ({high: `#${new Color(one.high).lerp(new Color(other.high), part).getHexString()}`,
	low: `#${new Color(one.low).lerp(new Color(other.low), part).getHexString()}`});

// sky: gz.msgs.Sky as JSON. The colours above and at the horizon
export function coloursOf({time = 0, sunrise = 0, sunset = 0}) {
	const height = sunset > sunrise && time > sunrise && time < sunset ? Math.sin(Math.PI * (time - sunrise) / (sunset - sunrise)) : 0;
	if (height === 0)
		return NIGHT;
	return height < TWILIGHT ? mixed(DUSK, DAY, height / TWILIGHT) : DAY;
}

// The direction of a texel of a face of a cube map; s and t from -1 to 1, right and down
const faces = [(s, t) => [1, -t, -s], (s, t) => [-1, -t, s], (s, t) => [s, 1, t], (s, t) => [s, -1, -t], (s, t) => [s, -t, 1], (s, t) => [-s, -t, -1]];

// What surfaces reflect
export function environmentOf({high, low}) {
	const sky = new Color(high), horizon = new Color(low), ground = new Color(GROUND), texel = new Color();
	const texture = new CubeTexture(faces.map(way => {
		const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
		canvas.width = canvas.height = FACE;
		const image = context.createImageData(FACE, FACE);
		for (let y = 0; y < FACE; y++)
			for (let x = 0; x < FACE; x++) {
				const at = way(2 * (x + .5) / FACE - 1, 2 * (y + .5) / FACE - 1), up = at[2] / Math.hypot(...at);
				texel.copy(horizon).lerp(up > 0 ? sky : ground, up > 0 ? up ** .55 : Math.min(1, -4 * up));
				image.data.set([255 * texel.r, 255 * texel.g, 255 * texel.b, 255], 4 * (y * FACE + x));
			}
		context.putImageData(image, 0, 0);
		return canvas;
	}));
	texture.encoding = sRGBEncoding;
	texture.needsUpdate = true;
	return texture;
}

export class Sky {
	constructor(three) {
		this.material = new ShaderMaterial({...shader, uniforms: {high: {value: new Color()}, low: {value: new Color()}},
			side: BackSide, depthTest: false, depthWrite: false, fog: false});
		this.mesh = new Mesh(new SphereBufferGeometry(1, 24, 16), this.material);
		this.mesh.frustumCulled = false;
		this.mesh.renderOrder = -1e6;
		this.mesh.visible = false;
		three.add(this.mesh);
		this.key = "";
		this.environment = environmentOf(PLAIN);
	}

	// sky: gz.msgs.Sky, or undefined. Returns whether it is another one.
	set(sky) {
		const key = JSON.stringify(sky || null);
		if (key === this.key)
			return false;
		this.key = key;
		this.mesh.visible = Boolean(sky);
		const colours = sky ? coloursOf(sky) : PLAIN;
		this.low = sky ? colours.low : null;
		this.material.uniforms.high.value.set(colours.high);
		this.material.uniforms.low.value.set(colours.low);
		this.environment.dispose();
		this.environment = environmentOf(colours);
		return true;
	}

	// It is around the eye, and nearer than what it hides behind.
	follow(camera) {
		this.mesh.position.copy(camera.position);
		this.mesh.scale.setScalar(.5 * camera.far);
	}
}
