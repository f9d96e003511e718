// How a surface is drawn: what a material of the scene (gz.msgs.Material) and one of a mesh file (PROTOCOL.md, frame 3) say,
// in one form, and the material of three.js that it becomes.
//
// A paint is {maps: {albedo, normal, roughness, metalness, emissive}, metallic, roughness, metalness, emissive, specular,
// shininess, unlit, alpha, cutoff}; its colour and opacity are those of each instance (batches.js). null: plain.
import {
	Color, DoubleSide, FrontSide, MeshBasicMaterial, MeshLambertMaterial, MeshPhongMaterial, MeshStandardMaterial, VertexColors,
} from "./three/build/three.module.js";
import {throughFog} from "./fog.js";
import {groundOf, layGround, setGround} from "./ground.js";

const SHININESS = 30;         // of gz.msgs.Material, which has none
const ENVIRONMENT = .6;       // beside the light that comes from everywhere
const KINDS = {normal: "number", roughness: "number", metalness: "number", emissive: "opaque"};
const SLOTS = {albedo: "map", normal: "normalMap", roughness: "roughnessMap", metalness: "metalnessMap", emissive: "emissiveMap"};

export function light(from) {
	return new Color(from && from.r || 0, from && from.g || 0, from && from.b || 0).convertSRGBToLinear();
}

const named = maps => Object.fromEntries(Object.entries(maps).filter(([, name]) => name));
const listed = numbers => ({r: numbers[0] || 0, g: numbers[1] || 0, b: numbers[2] || 0});

// What has no more to say than a colour is null, so that it is drawn together with other shapes.
function plainIsNull(paint) {
	const black = colour => !colour.r && !colour.g && !colour.b;
	const says = Object.keys(paint.maps).length || paint.metallic || paint.unlit || !black(paint.emissive) || !black(paint.specular);
	return says ? paint : null;
}

// from: gz.msgs.Material as JSON
export function paintOfMaterial(from) {
	if (!from)
		return null;
	const pbr = from.pbr || {}, metallic = pbr.type === "METAL";
	const maps = named({albedo: pbr.albedoMap, normal: pbr.normalMap, roughness: metallic && pbr.roughnessMap,
		metalness: metallic && pbr.metalnessMap, emissive: pbr.emissiveMap});
	const emissive = {r: 0, g: 0, b: 0, ...from.emissive};
	return plainIsNull({
		maps, metallic, unlit: !from.lighting, alpha: "blended", cutoff: 0, shininess: SHININESS,
		// a map takes the place of the number
		roughness: maps.roughness ? 1 : pbr.roughness || 0, metalness: maps.metalness ? 1 : pbr.metalness || 0,
		emissive: maps.emissive && !emissive.r && !emissive.g && !emissive.b ? {r: 1, g: 1, b: 1} : emissive,
		specular: {r: 0, g: 0, b: 0, ...from.specular},
	});
}

// from: gz.msgs.HeightmapGeom, or undefined. null: it has no textures of its own
export function paintOfGround(from) {
	const ground = from ? groundOf(from) : null;
	return ground && {ground, maps: {}, metallic: false, unlit: false, alpha: "opaque", cutoff: 0, shininess: 0, roughness: 1, metalness: 0,
		emissive: listed([]), specular: listed([])};
}

// from: of the materials of a mesh frame
export function paintOfMesh(from) {
	const maps = named({albedo: from.albedoMap, normal: from.normalMap, roughness: from.metallic && from.roughnessMap,
		metalness: from.metallic && from.metalnessMap, emissive: from.emissiveMap});
	return plainIsNull({
		maps, metallic: Boolean(from.metallic), unlit: false, alpha: from.alpha, cutoff: from.cutoff || 0,
		shininess: Math.min(1000, from.shininess || 0), roughness: from.roughness || 0, metalness: from.metalness || 0,
		emissive: listed(from.emissive || []), specular: listed(from.specular || []),
	});
}

function settingsOf(look) {
	return {
		vertexColors: VertexColors,
		side: look.double ? DoubleSide : FrontSide,
		transparent: look.opacity < 1, opacity: look.opacity, depthWrite: look.opacity >= 1,
		polygonOffset: Boolean(look.plane), polygonOffsetFactor: look.plane ? 1 : 0, polygonOffsetUnits: look.plane ? 2 : 0,
	};
}

function paintedMaterial(paint, settings, environment) {
	if (paint.unlit)
		return new MeshBasicMaterial(settings);
	const emissive = light(paint.emissive);
	if (paint.metallic || paint.maps.normal)
		return new MeshStandardMaterial({...settings, emissive, roughness: paint.metallic ? Math.max(.03, paint.roughness) : .8,
			metalness: paint.metallic ? paint.metalness : 0, envMap: environment, envMapIntensity: ENVIRONMENT});
	const {r, g, b} = paint.specular;
	return r || g || b ? new MeshPhongMaterial({...settings, emissive, specular: light(paint.specular), shininess: Math.max(1, paint.shininess)}) :
		new MeshLambertMaterial({...settings, emissive});
}

// look: {opacity, double, plane, paint}. lamps: light is computed for each pixel and not for each corner: a lamp near a large
// face lights none of its corners. That takes longer, and the sun alone does not need it. environment: what metal reflects
export function materialOf(look, lamps, environment) {
	const settings = settingsOf(look);
	let material = look.paint ? paintedMaterial(look.paint, settings, environment) : new MeshLambertMaterial(settings);
	if (lamps && material.isMeshLambertMaterial)
		material = new MeshPhongMaterial({...settings, emissive: material.emissive, specular: 0, shininess: 0});
	if (look.paint && look.paint.ground)
		layGround(material, look.paint.ground);
	else
		throughFog(material);
	material.shadowSide = settings.side;    // a shadow begins where the body that casts it stands
	return material;
}

// Lays the textures of the paint on the material, each when it is there. changed(): the picture is another one;
// failed(name, error)
export function dress(material, paint, textures, changed, failed) {
	(paint && paint.ground ? paint.ground.layers : []).forEach(({name}, number) => name && textures.want(name, "opaque").then(({texture}) => {
		setGround(material, number, texture);
		changed();
	}, error => failed(name, error)));
	for (const [use, name] of Object.entries(paint ? paint.maps : {})) {
		const kind = use === "albedo" ? paint.alpha === "opaque" ? "opaque" : "colour" : KINDS[use];
		textures.want(name, kind).then(({texture, clear}) => {
			material[SLOTS[use]] = texture;
			if (clear && paint.alpha === "cut") {
				material.alphaTest = Math.max(.01, paint.cutoff);
			} else if (clear) {
				material.transparent = true;
				material.alphaTest = .01;
			}
			material.needsUpdate = true;
			changed();
		}, error => failed(name, error));
	}
}
