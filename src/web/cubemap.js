// The cube map of a sky: an image of six faces, one below the other, as the cameras read it (src/mesh/cube.h).
import {CubeTexture} from "./three/build/three.module.js";

const FACES = 6, SMALL = 16;

function faceOf(image, number, side) {
	const canvas = document.createElement("canvas"), from = image.width;
	canvas.width = canvas.height = side;
	canvas.getContext("2d").drawImage(image, 0, number * from, from, from, 0, 0, side, side);
	return canvas;
}

// The colours are those of the screen. Its directions are those of the world, with z turned round.
export function cubeOf(image) {
	const {width, height} = image;
	if (height !== FACES * width)
		throw new Error(`a cube map of ${width} × ${height} pixels`);
	const texture = new CubeTexture(Array.from({length: FACES}, (_, number) => faceOf(image, number, width)));
	texture.needsUpdate = true;
	return texture;
}

// A function from a direction of the world to a colour there, roughly: [red, green, blue], 0 to 255
export function lookInto(image) {
	const faces = Array.from({length: FACES}, (_, number) => faceOf(image, number, SMALL).getContext("2d").getImageData(0, 0, SMALL, SMALL).data);
	const texel = at => Math.min(SMALL - 1, Math.max(0, Math.floor((at + 1) / 2 * SMALL)));
	return ([x, y, up]) => {
		const z = -up, [a, b, c] = [x, y, z].map(Math.abs);
		const [face, s, t] = a >= b && a >= c ? x > 0 ? [0, -z / a, -y / a] : [1, z / a, -y / a] :
			b >= c ? y > 0 ? [2, x / b, z / b] : [3, x / b, -z / b] : z > 0 ? [4, x / c, -y / c] : [5, -x / c, -y / c];
		const at = 4 * (texel(t) * SMALL + texel(s));
		return [...faces[face].slice(at, at + 3)];
	};
}
