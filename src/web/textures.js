// Images of materials, from the run's own web server only. A browser asks once for equal images, because their addresses
// are made of their hashes.
import {LinearEncoding, RGBAFormat, RGBFormat, RepeatWrapping, Texture, sRGBEncoding} from "./three/build/three.module.js";

const ADDRESS = /^images\/[0-9a-f]{16}$/;
const SAMPLE = 64;            // texels along an edge that are looked at for whether an image can be seen through

function isClear(image) {
	const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
	canvas.width = canvas.height = SAMPLE;
	context.drawImage(image, 0, 0, SAMPLE, SAMPLE);
	const {data} = context.getImageData(0, 0, SAMPLE, SAMPLE);
	for (let at = 3; at < data.length; at += 4)
		if (data[at] < 250)
			return true;
	return false;
}

export class Textures {
	// ask(path) -> Promise of the address of the map of a material
	constructor(ask) {
		this.ask = ask;
		this.addresses = new Map();   // path of a map -> Promise of its address
		this.images = new Map();      // address -> Promise of an image
		this.made = new Map();        // address and kind -> Promise of a texture
	}

	once(map, key, make) {
		if (!map.has(key))
			map.set(key, make());
		return map.get(key);
	}

	image(address) {
		return this.once(this.images, address, () => new Promise((resolve, reject) => {
			const image = new Image();
			image.onload = () => resolve(image);
			image.onerror = () => reject(new Error("the browser cannot read the image"));
			image.src = address;
		}));
	}

	// name: of a map as in a material, or an address. Promise of {address, image}
	async imageOf(name) {
		const address = ADDRESS.test(name) ? name : await this.once(this.addresses, name, () => this.ask(name));
		if (!ADDRESS.test(address))
			throw new Error("an address that is not of this run");
		return {address, image: await this.image(address)};
	}

	// kind: colour, opaque (a colour whose alpha does not count) or number.
	// Promise of {texture, clear}
	async want(name, kind) {
		const {address, image} = await this.imageOf(name);
		return this.once(this.made, `${kind} ${address}`, async () => {
			const texture = new Texture(image);
			texture.wrapS = texture.wrapT = RepeatWrapping;
			texture.encoding = kind === "number" ? LinearEncoding : sRGBEncoding;
			texture.format = kind === "opaque" ? RGBFormat : RGBAFormat;
			texture.anisotropy = 4;
			texture.needsUpdate = true;
			return {texture, clear: kind === "colour" && isClear(image)};
		});
	}
}
