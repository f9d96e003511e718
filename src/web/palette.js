// Colours that mean something. A secondary has the same colour in the world, in the charts and in the lists.
import {Color} from "./three/build/three.module.js";

const SECONDARIES = ["#3d7bf0", "#f08a24", "#22a878", "#d94f70", "#8f63e0", "#12a5bd", "#c2a009", "#e870c0"];
const NONE = "#8b94a3";

// number: from 1; 0: none, or the single runner
export function secondaryColour(number) {
	if (!number)
		return NONE;
	if (number <= SECONDARIES.length)
		return SECONDARIES[number - 1];
	return `hsl(${Math.round((number * 137.508) % 360)}, 62%, 55%)`;
}

const linear = new Map();

// The same for materials, which reckon in linear light
export function secondaryLight(number) {
	if (!linear.has(number))
		linear.set(number, new Color(secondaryColour(number)).convertSRGBToLinear());
	return linear.get(number);
}

export function isDark() {
	const theme = document.documentElement.dataset.theme;
	return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
