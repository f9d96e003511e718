// Small helpers for the elements of the page. Names in a world are hostile: text is only ever set as text.

export const $ = id => document.getElementById(id);

// element("td", {class: "x", title: "y"}, "text", child, ...)
export function element(tag, attributes = {}, ...children) {
	const out = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes))
		if (typeof value === "function")
			out.addEventListener(name, value);
		else if (value !== null && value !== undefined && value !== false)
			out.setAttribute(name, value === true ? "" : value);
	out.append(...children.filter(child => child !== null && child !== undefined));
	return out;
}

// A name of a world may have any length and any characters: those that change the direction or break lines are shown as
// escapes. The same characters as in src/base/shown.c.
const HIDDEN = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff" +
	"\\ufff9-\\ufffb\\ufffe\\uffff\\u{e0000}-\\u{e007f}]", "gu");

function escape(character)
{
	const code = character.codePointAt(0), hex = code.toString(16);
	return {"\n" : "\\n", "\t" : "\\t", "\r" : "\\r"}[character] ||
	       (code < 0x80 ? `\\x${hex.padStart(2, "0")}`
		       : code < 0x10000 ? `\\u${hex.padStart(4, "0")}`
					: `\\U${hex.padStart(8, "0")}`);
}

export function name(text) {
	const plain = String(text).replace(HIDDEN, escape);
	return plain.length > 120 ? `${plain.slice(0, 119)}…` : plain;
}

export function number(value, digits = 3) {
	if (!Number.isFinite(value))
		return "–";
	const text = value.toFixed(digits);
	return Number(text) === 0 ? (0).toFixed(digits) : text;
}

export function clockText(seconds) {
	if (!Number.isFinite(seconds))
		return "–";
	const hours = Math.floor(seconds / 3600), minutes = Math.floor(seconds / 60) % 60, rest = seconds % 60;
	return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest.toFixed(0).padStart(2, "0")}` :
		minutes ? `${minutes}:${rest.toFixed(1).padStart(4, "0")}` : `${rest.toFixed(2)} s`;
}

export function countText(value) {
	return Math.round(value).toLocaleString("en").replace(/,/g, "\u202f");
}

// A real-time factor
export function factorText(factor) {
	return Number.isFinite(factor) ? `${number(factor, factor < 10 ? 2 : 1)}×` : "–";
}

// One of the symbols of index.html
export function icon(which) {
	const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), use = document.createElementNS("http://www.w3.org/2000/svg", "use");
	svg.setAttribute("class", "symbol");
	svg.setAttribute("aria-hidden", "true");
	use.setAttribute("href", `#icon-${which}`);
	svg.append(use);
	return svg;
}

const NOTICES_MAX = 4;

// kind: "bad" for an error, which stays longer and is read out at once
export function notice(text, kind = "") {
	const list = $("notices"), line = name(text).trim();
	for (const old of list.children)
		if (old.dataset.text === line)
			old.remove();
	const out = element("div", {class: `panel notice ${kind}`, role: kind === "bad" ? "alert" : "status", "data-text": line}, element("span", {}, line),
		element("button", {class: "icon", "aria-label": "Close", click: () => out.remove()}, icon("close")));
	list.append(out);
	while (list.children.length > NOTICES_MAX)
		list.firstChild.remove();
	setTimeout(() => out.remove(), kind === "bad" ? 12000 : 5000);
}

// Sizes a canvas for the screen's pixels and gives its context, in CSS pixels.
export function canvas2d(canvas) {
	const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	const context = canvas.getContext("2d");
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	return {context, width, height};
}

export function style(property) {
	return getComputedStyle(document.documentElement).getPropertyValue(property).trim();
}
