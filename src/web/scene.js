// The world as it is drawn: made from gz.msgs.Scene (as JSON), moved by pictures (motion.js).
//
// A scene comes again whenever a model comes or goes; only models whose part of it differs are made anew, so that a
// world in which cartons come and go each second stays cheap. Static models are where the scene has them; the links of
// the others are where the pictures say, which may come before the scene, so poses are kept by id.
import {
	AmbientLight, Box3, Color, DirectionalLight, Euler, Group, HemisphereLight, Matrix4, PointLight, Quaternion, SpotLight,
	Vector3,
} from "./three/build/three.module.js";
import {Batches} from "./batches.js";
import {extentOf, together} from "./framing.js";
import {dress, light, paintOfGround, paintOfMaterial, paintOfMesh} from "./paint.js";
import {isDark, secondaryLight} from "./palette.js";
import {castShadow} from "./shadow.js";
import {shapeOf, shapeOfTriangles} from "./shapes.js";
import {Textures} from "./textures.js";

// Visuals without material: what stands is grey, and so are parts of a model that has materials. Other models that can
// move have soft colours by their names, so that one can tell neighbours apart.
const PLAIN = [
	{r: .80, g: .56, b: .44}, {r: .85, g: .73, b: .47}, {r: .56, g: .69, b: .53}, {r: .48, g: .62, b: .76}, {r: .66, g: .56, b: .73},
	{r: .46, g: .69, b: .68}, {r: .79, g: .61, b: .66},
];
const STATIC = {r: .76, g: .77, b: .80};
const WHITE = {r: 1, g: 1, b: 1};
const PART = {r: .40, g: .42, b: .46};
const FLOORS = {light: {r: .90, g: .915, b: .935}, dark: {r: .24, g: .265, b: .31}};
const ASLEEP = new Color(.42, .44, .48);
const CHOSEN = new Color(1, .93, .55);
const LIGHTS_MAX = 8;
const ONE = new Vector3(1, 1, 1);
const AWAY = new Matrix4().makeScale(1e-9, 1e-9, 1e-9);   // of a model that is not loaded

export function position(pose) {
	const p = pose && pose.position || {};
	return new Vector3(p.x || 0, p.y || 0, p.z || 0);
}

export function rotation(pose) {
	const q = pose && pose.orientation || {};
	const out = new Quaternion(q.x || 0, q.y || 0, q.z || 0, q.w || 0);
	return out.lengthSq() > 0 ? out.normalize() : new Quaternion();
}

export function matrixOf(pose, scale = ONE) {
	return new Matrix4().compose(position(pose), rotation(pose), scale);
}

// Roll, pitch and yaw as in SDF
export function anglesOf(quaternion) {
	const euler = new Euler().setFromQuaternion(quaternion, "ZYX");
	return {roll: euler.x, pitch: euler.y, yaw: euler.z};
}

function plainColour(name) {
	let hash = 0;
	for (let i = 0; i < name.length; i++)
		hash = hash * 31 + name.charCodeAt(i) >>> 0;
	return PLAIN[hash % PLAIN.length];
}

function colourOf(from, otherwise) {
	return light(from || otherwise);
}

export class World {
	// three: the scene of three.js; options: {colour, sleep, collisions}, which the caller may change and then call
	// repaint() or remake(); askMesh(geometry) -> Promise of a mesh frame (frames.js); askImage(path) -> Promise of the address
	// of the image that a material names
	constructor(three, options, askMesh, askImage) {
		this.options = options;
		this.askMesh = askMesh;
		this.root = new Group();
		this.lights = new Group();
		three.add(this.root, this.lights);
		this.textures = new Textures(askImage);
		this.batches = new Batches(this.root, (material, paint) => dress(material, paint, this.textures, () => this.changed(),
			(name, error) => this.tellTexture(name, error)));
		this.models = new Map();      // id -> model
		this.links = new Map();       // id -> link
		this.meshes = new Map();      // key -> Promise of a geometry
		this.poses = new Map();       // id of a link -> its pose in the newest picture: Float32Array(7)
		this.status = new Map();      // id of a model -> word of the newest picture
		this.selected = null;
		this.failed = () => {};       // called with text when a mesh or a texture cannot be had
		this.changed = () => {};      // called when something looks different that is not of a scene or a picture
		this.told = new Set();        // textures that cannot be had
		this.meshed = () => {};       // called when all meshes that were asked for are there
		this.asking = () => {};       // called with how many are not
		this.asked = 0;               // meshes that are not there yet
		this.scratch = {matrix: new Matrix4(), position: new Vector3(), rotation: new Quaternion(), colour: new Color()};
	}

	// environment: a cube texture that metal reflects. Returns {came, went}: names of models, when this is not the first
	// scene.
	setScene(message, environment) {
		const first = this.models.size === 0, came = [], went = [], fresh = [], seen = new Set();
		for (const from of message.model || []) {
			const text = JSON.stringify(from), old = this.models.get(from.id || 0);
			seen.add(from.id || 0);
			if (old && old.text === text)
				continue;
			fresh.push([from, text]);
			if (!old)
				came.push(from.name);
		}
		// what goes, goes first: its ids may be those of links that come
		for (const [from] of fresh)
			if (this.models.has(from.id || 0))
				this.removeModel(this.models.get(from.id || 0));
		for (const [id, model] of this.models)
			if (!seen.has(id)) {
				went.push(model.name);
				this.removeModel(model);   // but its status stays: pictures do not repeat it for a model that comes at its place
			}
		for (const [from, text] of fresh)
			this.addModel(from, text);
		this.setLights(message, environment);
		return first ? {came: [], went: []} : {came, went};
	}

	// environment: as for setScene(), which has come later
	reflect(environment) {
		this.batches.light(this.batches.lamps, environment);
		this.changed();
	}

	tellTexture(name, error) {
		if (!this.told.has(name))
			this.failed(`texture ${name}: ${error.message}`);
		this.told.add(name);
	}

	clear() {
		for (const model of [...this.models.values()])
			this.removeModel(model);
		this.poses.clear();
		this.status.clear();
	}

	// --- models ---------------------------------------------------------------------------------------------------

	addModel(from, text) {
		const model = {
			id: from.id || 0, name: from.name || "", text, from, isStatic: Boolean(from.isStatic),
			links: [], joints: from.joint || [], secondary: 0, asleep: false, loaded: true,
		};
		model.local = matrixOf(from.pose);
		const hasMaterial = (from.link || []).some(link => (link.visual || []).some(visual => visual.material && visual.material.diffuse));
		model.plain = model.isStatic ? STATIC : hasMaterial ? PART : plainColour(model.name);
		for (const part of from.link || [])
			this.addLink(model, part);
		this.models.set(model.id, model);
		this.takeStatus(model);
		for (const link of model.links)
			this.placeLink(link);
		this.paintModel(model);
	}

	removeModel(model) {
		for (const link of model.links) {
			for (const instance of link.instances)
				if (instance.batch)
					instance.batch.remove(instance);
			link.instances = [];
			link.gone = true;
			if (this.links.get(link.id) === link)
				this.links.delete(link.id);
		}
		this.models.delete(model.id);
		if (this.selected === model)
			this.selected = null;
	}

	addLink(model, from) {
		const at = new Matrix4().multiplyMatrices(model.local, matrixOf(from.pose));
		const link = {
			id: from.id || 0, name: from.name || "", model, inModel: matrixOf(from.pose), instances: [],
			position: new Vector3(), rotation: new Quaternion(), matrix: at,
		};
		at.decompose(link.position, link.rotation, new Vector3());
		const pose = this.poses.get(link.id);
		if (pose && !model.isStatic) {
			link.position.fromArray(pose, 0);
			link.rotation.fromArray(pose, 3);
		}
		model.links.push(link);
		this.links.set(link.id, link);
		const visuals = from.visual || [], collisions = from.collision || [];
		const wanted = this.options.collisions ? collisions : visuals.length ? visuals : collisions;
		for (const visual of wanted)
			this.addVisual(link, visual, wanted === collisions);
	}

	addVisual(link, from, collision) {
		const ground = collision ? null : paintOfGround(from.geometry && from.geometry.heightmap);
		const material = collision || ground ? null : from.material, paint = ground || paintOfMaterial(material);
		const shape = shapeOf(from.geometry || {}, Boolean(paint && Object.keys(paint.maps).length));
		if (!shape || from.visible === false && !collision)
			return;
		const plain = shape.plane ? FLOORS[isDark() ? "dark" : "light"] : link.model.plain;
		const alpha = material && material.diffuse ? material.diffuse.a || 0 : 1;
		const opacity = Math.max(.08, (1 - (from.transparency || 0)) * (alpha || 1));
		const instance = {link, from, shape, local: matrixOf(from.pose, shape.scale), batch: null,
			floor: shape.plane && !(material && material.diffuse), colour: colourOf(material && material.diffuse, ground ? WHITE : plain)};
		if (paint && paint.unlit)
			instance.colour.add(light(paint.emissive));
		const look = {opacity: Math.round(opacity * 50) / 50, shadow: !shape.plane && opacity > .5 && from.castShadows !== false,
			double: Boolean(shape.ask || shape.plane || material && material.doubleSided), plane: shape.plane, paint};
		link.instances.push(instance);
		if (!shape.ask) {
			this.batches.add(instance, shape, look);
			return;
		}
		this.asking(++this.asked);
		this.meshOf(shape).then(mesh => {
			if (link.gone || !link.instances.includes(instance))
				return;
			if (material || collision)
				this.batches.add(instance, {key: shape.key, geometry: mesh.whole}, look);
			else
				this.addParts(instance, mesh.parts, look);
			this.placeLink(link);
			this.paintModel(link.model);
		}, error => this.failed(`${link.model.name}: ${error.message}`)).then(() => {
			this.asking(--this.asked);
			return this.asked || this.meshed();
		});
	}

	// The parts of a mesh in the place of the instance, each with the material of the mesh file
	addParts(instance, parts, look) {
		const {link} = instance;
		link.instances.splice(link.instances.indexOf(instance), 1, ...parts.map(({key, geometry, material}) => {
			const part = {...instance};
			if (!material) {
				this.batches.add(part, {key, geometry}, look);
				return part;
			}
			const [r, g, b, a = 1] = material.diffuse, opacity = Math.max(.02, look.opacity * a);
			part.colour = light({r, g, b});
			this.batches.add(part, {key, geometry}, {...look, opacity: Math.round(opacity * 50) / 50, shadow: look.shadow && opacity > .5,
				paint: paintOfMesh(material)});
			return part;
		}));
	}

	meshOf(shape) {
		if (!this.meshes.has(shape.key)) {
			const asked = this.askMesh(shape.ask).then(mesh => shapeOfTriangles(shape.key, mesh));
			asked.catch(() => this.meshes.delete(shape.key));
			this.meshes.set(shape.key, asked);
		}
		return this.meshes.get(shape.key);
	}

	// Makes all models anew: after a change of options.collisions.
	remake() {
		const selected = this.selected && this.selected.id;
		for (const model of [...this.models.values()]) {
			this.removeModel(model);
			this.addModel(model.from, model.text);
		}
		this.select(this.models.get(selected) || null);
	}

	// --- where things are -------------------------------------------------------------------------------------------

	placeLink(link) {
		const {model, matrix, instances} = link;
		matrix.compose(link.position, link.rotation, ONE);
		for (const instance of instances)
			if (instance.batch)
				instance.batch.place(instance, model.loaded ?
					this.scratch.matrix.multiplyMatrices(matrix, instance.local) : AWAY);
	}

	// Of the model's frame, as it is drawn
	poseOf(model) {
		const out = {position: new Vector3(), rotation: new Quaternion()}, link = model.links[0];
		const matrix = link ? new Matrix4().getInverse(link.inModel).premultiply(link.matrix) : model.local;
		matrix.decompose(out.position, out.rotation, this.scratch.position);
		return out;
	}

	boxOfInstance(link, instance, out) {
		return out.copy(instance.batch.source.boundingBox).applyMatrix4(
			this.scratch.matrix.multiplyMatrices(link.matrix, instance.local));
	}

	boxOf(model, box = new Box3()) {
		box.makeEmpty();
		const part = new Box3();
		for (const link of model.links)
			for (const instance of link.instances)
				if (instance.batch)
					box.union(this.boxOfInstance(link, instance, part));
		if (box.isEmpty())
			box.setFromCenterAndSize(this.poseOf(model).position, new Vector3(.3, .3, .3));
		return box;
	}

	// All models, also of levels that are not loaded, but no planes, and nothing static that is not drawn:
	// [{model, box, isStatic}]
	items() {
		const out = [], part = new Box3();
		for (const model of this.models.values()) {
			const box = new Box3();
			for (const link of model.links)
				for (const instance of link.instances)
					if (instance.batch && !instance.shape.plane)
						box.union(this.boxOfInstance(link, instance, part));
			if (box.isEmpty() && !model.isStatic)
				this.boxOf(model, box);
			if (!box.isEmpty())
				out.push({model, box, isStatic: model.isStatic});
		}
		return out;
	}

	// Of all that is there, but what is far astray
	extent() {
		return extentOf(together(this.items()));
	}

	pick(raycaster) {
		return this.batches.pick(raycaster, instance => instance.link.model.loaded);
	}

	// --- colours ----------------------------------------------------------------------------------------------------

	// word: of a picture: secondary, asleep, loaded. Returns true when something has changed.
	setStatus(id, word) {
		this.status.set(id, word);
		const model = this.models.get(id);
		return Boolean(model) && this.takeStatus(model);
	}

	takeStatus(model) {
		const word = this.status.get(model.id);
		if (word === undefined)
			return false;
		const secondary = word & 0x3fffffff, asleep = word >>> 31 === 1, loaded = (word >>> 30 & 1) === 0;
		if (model.secondary === secondary && model.asleep === asleep && model.loaded === loaded)
			return false;
		const appeared = model.loaded !== loaded;
		Object.assign(model, {secondary, asleep, loaded});
		this.paintModel(model);
		if (appeared)
			for (const link of model.links)
				this.placeLink(link);
		return true;
	}

	paintModel(model) {
		const colour = this.scratch.colour;
		for (const link of model.links)
			for (const instance of link.instances)
				if (instance.batch) {
					colour.copy(instance.colour);
					if (!model.isStatic && model.secondary && this.options.colour === "secondary")
						colour.lerp(secondaryLight(model.secondary), .82);
					if (!model.isStatic && model.asleep && this.options.colour === "secondary" && this.options.sleep)
						colour.lerp(ASLEEP, .72);
					if (model === this.selected)
						colour.lerp(CHOSEN, .38);
					instance.batch.paint(instance, colour);
				}
	}

	repaint() {
		for (const model of this.models.values())
			this.paintModel(model);
	}

	// The floor's own colour is that of the theme, if the world gives it none.
	retheme() {
		const colour = colourOf(null, FLOORS[isDark() ? "dark" : "light"]);
		for (const link of this.links.values())
			for (const instance of link.instances)
				if (instance.floor)
					instance.colour.copy(colour);
		this.repaint();
	}

	select(model) {
		const old = this.selected;
		this.selected = model;
		if (old && this.models.get(old.id) === old)
			this.paintModel(old);
		if (model)
			this.paintModel(model);
	}

	// --- lights -----------------------------------------------------------------------------------------------------

	// environment: what metal reflects
	setLights(message, environment) {
		const text = JSON.stringify([message.light, message.ambient]) + environment.uuid;
		if (this.lightText === text)
			return;
		this.lightText = text;
		for (const old of [...this.lights.children]) {
			this.lights.remove(old);
			if (old.shadow && old.shadow.map)
				old.shadow.map.dispose();
		}
		this.sun = null;
		const ambient = colourOf(message.ambient, {r: .4, g: .4, b: .4});
		this.lights.add(new HemisphereLight(0xffffff, 0xa8a49c, .5), new AmbientLight(ambient, .4));
		const lights = (message.light || []).filter(from => !from.isLightOff).slice(0, LIGHTS_MAX);
		for (const from of lights)
			this.addLight(from);
		this.batches.light(lights.some(({type}) => type !== "DIRECTIONAL"), environment);
		if (!this.sun)
			this.addLight({type: "DIRECTIONAL", direction: {x: -.5, y: .35, z: -.9}, castShadows: lights.length === 0});
	}

	addLight(from) {
		const colour = colourOf(from.diffuse, {r: 1, g: 1, b: 1});
		const strength = Math.min(4, from.intensity === undefined ? 1 : from.intensity);
		const at = position(from.pose), direction = new Vector3(from.direction && from.direction.x || 0,
			from.direction && from.direction.y || 0, from.direction && from.direction.z || 0);
		if (direction.lengthSq() === 0)
			direction.set(0, 0, -1);
		direction.applyQuaternion(rotation(from.pose)).normalize();
		if (from.type === "DIRECTIONAL") {
			const sun = new DirectionalLight(colour, this.sun ? .3 * strength : .62 * strength);
			sun.userData.direction = direction;
			sun.position.copy(direction).multiplyScalar(-50);
			if (!this.sun) {
				this.sun = sun;
				castShadow(sun);
			}
			this.lights.add(sun, sun.target);
			return;
		}
		const range = Math.min(1000, from.range || 10);
		const lamp = from.type === "SPOT" ?
			new SpotLight(colour, strength, range, Math.min(1.5, (from.spotOuterAngle || 1) / 2), .4) :
			new PointLight(colour, strength, range);
		lamp.position.copy(at);
		this.lights.add(lamp);
		if (lamp.target) {
			lamp.target.position.copy(at).add(direction);
			this.lights.add(lamp.target);
		}
	}
}
