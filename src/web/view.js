// The canvas: renderer, grid, frame around the selected model, and the turn of each image. An image is only drawn when
// something has changed, so that a paused world costs no power.
import {
	AxesHelper, BasicShadowMap, Box3, BoxBufferGeometry, BufferGeometry, Color, EdgesGeometry, Float32BufferAttribute, LineBasicMaterial,
	LineSegments, PCFSoftShadowMap, Raycaster, Scene, Vector2, Vector3, WebGLRenderer,
} from "./three/build/three.module.js";
import {behindFog, fogOf, makeFog} from "./fog.js";
import {style} from "./page.js";
import {isDark} from "./palette.js";
import {aimShadow} from "./shadow.js";
import {Sky} from "./sky.js";

const EXTENT_MS = 500;

// Without a graphics card each pixel costs time: soft shadows would take two thirds of it, and blurred panels a tenth.
function isSoftware(context) {
	const info = context.getExtension("WEBGL_debug_renderer_info");
	return Boolean(info) && /swiftshader|llvmpipe|softpipe|software/i.test(context.getParameter(info.UNMASKED_RENDERER_WEBGL));
}

export class View {
	constructor(canvas) {
		this.canvas = canvas;
		this.three = new Scene();
		// three.js r111 takes the older version of WebGL by itself
		const options = {antialias: true, powerPreference: "high-performance"};
		const context = canvas.getContext("webgl2", options) || canvas.getContext("webgl", options);
		if (!context)
			throw new Error("this browser gives no WebGL, which the picture of the world needs");
		this.renderer = new WebGLRenderer({canvas, context, antialias: true});
		this.renderer.gammaOutput = true;
		this.renderer.gammaFactor = 2.2;
		this.renderer.shadowMap.enabled = true;
		const slow = isSoftware(context);
		this.renderer.shadowMap.type = slow ? BasicShadowMap : PCFSoftShadowMap;
		this.renderer.setPixelRatio(slow ? 1 : Math.min(devicePixelRatio || 1, 2));
		document.documentElement.classList.toggle("slow", slow);
		this.raycaster = new Raycaster();
		this.frame = new LineSegments(new EdgesGeometry(new BoxBufferGeometry(1, 1, 1)), new LineBasicMaterial());
		// seen through what hides the model: a person who chose it in the list must see where it is
		this.frame.renderOrder = 9;
		Object.assign(this.frame.material, {depthTest: false, transparent: true, opacity: .9});
		this.frame.visible = false;
		this.axes = new AxesHelper(1);
		this.axes.material.linewidth = 2;
		this.axes.visible = false;
		this.grid = null;
		this.gridSize = 0;
		this.gridOn = true;
		this.shadowsOn = true;
		this.scene = {grid: true, shadows: true, background: null, fog: null};   // what the world wants
		this.three.add(this.frame, this.axes);
		this.sky = new Sky(this.three);
		this.time = 0;        // of the simulation: clouds drift
		this.box = new Box3();
		this.dirty = true;
	}

	resize() {
		this.renderer.setSize(this.canvas.clientWidth, this.canvas.clientHeight, false);
		this.dirty = true;
	}

	theme() {
		const dark = isDark();
		const {background, fog} = this.scene;
		// three.js r111 converts neither of the two from linear light
		const plain = background ? new Color(background.r || 0, background.g || 0, background.b || 0) : new Color(dark ? "#171b22" : "#e9edf3");
		this.three.background = behindFog(fog, plain);
		this.three.fog = makeFog(fog, this.sky.low ? new Color(this.sky.low) : plain.getHex());
		this.frame.material.color.set(style("--accent")).convertSRGBToLinear();
		this.gridSize = 0;
		this.dirty = true;
	}

	// colour: of <gui>, in place of the scene's; null: none
	setBackground(colour) {
		this.wanted = colour;
		this.scene.background = colour;
		this.theme();
	}

	// message: gz.msgs.Scene. A background that is not SDF's default is the world's; otherwise it is the theme's.
	setScene({background: from = {}, grid, shadows, sky, fog: fogFrom}) {
		const usual = ["r", "g", "b"].every(part => Math.abs((from[part] || 0) - .7) < 1e-3);
		const background = this.wanted || (usual ? null : {r: from.r || 0, g: from.g || 0, b: from.b || 0});
		const other = this.sky.set(sky);
		const fog = fogOf(fogFrom);
		const same = !other && JSON.stringify([background, fog]) === JSON.stringify([this.scene.background, this.scene.fog]);
		this.scene = {grid: Boolean(grid), shadows: Boolean(shadows), background, fog};
		if (!same)
			this.theme();
		this.showGrid(this.gridOn);
	}

	showShadows(on) {
		this.shadowsOn = on;
		this.dirty = true;
	}

	// A line each metre, or each ten where the world is large; around the target, as far as one can see
	layGrid(extent) {
		const size = Math.max(extent.max.x - extent.min.x, extent.max.y - extent.min.y, 10);
		const apart = size > 400 ? 100 : size > 60 ? 10 : 1, half = Math.ceil(Math.max(size * 1.5, 20) / (10 * apart)) * 10 * apart;
		if (this.gridSize === half * 1000 + apart)
			return;
		this.gridSize = half * 1000 + apart;
		if (this.grid) {
			this.three.remove(this.grid);
			this.grid.geometry.dispose();
		}
		const points = [], colours = [], dark = isDark();
		// dark lines, or on a dark floor light ones: on a shadow they must not shine
		const faint = new Color(dark ? "#3a4250" : "#7d8896").convertSRGBToLinear(), strong = new Color(dark ? "#525d6e" : "#4c5766").convertSRGBToLinear();
		for (let at = -half; at <= half; at += apart) {
			const colour = Math.round(at / apart) % 10 === 0 ? strong : faint;
			points.push(-half, at, 0, half, at, 0, at, -half, 0, at, half, 0);
			for (let i = 0; i < 4; i++)
				colours.push(colour.r, colour.g, colour.b);
		}
		const geometry = new BufferGeometry();
		geometry.setAttribute("position", new Float32BufferAttribute(points, 3));
		geometry.setAttribute("color", new Float32BufferAttribute(colours, 3));
		this.grid = new LineSegments(geometry, new LineBasicMaterial({vertexColors: true, transparent: true, opacity: .16, depthWrite: false}));
		const centre = extent.getCenter(new Vector3());
		this.grid.position.set(Math.round(centre.x / (10 * apart)) * 10 * apart, Math.round(centre.y / (10 * apart)) * 10 * apart, .004);
		this.grid.visible = this.gridOn && this.scene.grid;
		this.three.add(this.grid);
		this.dirty = true;
	}

	showGrid(on) {
		this.gridOn = on;
		if (this.grid)
			this.grid.visible = on && this.scene.grid;
		this.dirty = true;
	}

	frameModel(world) {
		const model = world.selected;
		this.frame.visible = this.axes.visible = Boolean(model && model.loaded);
		if (!this.frame.visible)
			return;
		world.boxOf(model, this.box);
		this.box.getCenter(this.frame.position);
		this.box.getSize(this.frame.scale).addScalar(.06);
		const {position, rotation} = world.poseOf(model);
		this.axes.position.copy(position);
		this.axes.quaternion.copy(rotation);
		const size = Math.max(this.frame.scale.x, this.frame.scale.y, this.frame.scale.z);
		this.axes.scale.setScalar(Math.min(2, .7 * size));
	}

	// x, y: of a pointer event
	aim(camera, event) {
		const bounds = this.canvas.getBoundingClientRect();
		const at = new Vector2((event.clientX - bounds.left) / bounds.width * 2 - 1, 1 - (event.clientY - bounds.top) / bounds.height * 2);
		this.raycaster.setFromCamera(at, camera);
		return this.raycaster;
	}

	// What casts shadows. Found anew now and then: it takes longer than an image in a world of many models.
	extentOf(world) {
		const now_ms = performance.now();
		if (!this.extent || now_ms - this.extent_ms > EXTENT_MS) {
			this.extent = world.extent();
			this.extent_ms = now_ms;
		}
		return this.extent;
	}

	draw(camera, world) {
		const distance = camera.distance;
		if (!this.scene.fog) {
			this.three.fog.near = Math.max(60, 3.5 * distance);
			this.three.fog.far = Math.max(240, 11 * distance);
		}
		if (world.sun)
			world.sun.castShadow = this.shadowsOn && this.scene.shadows;
		if (world.sun && world.sun.castShadow)
			aimShadow(world.sun, camera.three, this.extentOf(world));
		world.batches.refine(camera.three, this.canvas.clientHeight);
		this.sky.follow(camera.three, this.time);
		this.renderer.render(this.three, camera.three);
	}
}
