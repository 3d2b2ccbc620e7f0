// SPDX-License-Identifier: Apache-2.0
// Elements, numbers and names: what every view is made of. Texts of the profile go into textContent alone, never into
// markup.

function el(tag, attributes, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {})) {
		if (name.startsWith("on"))
			element.addEventListener(name.slice(2), value);
		else if (name === "value")
			element.value = value;
		else if (value !== false && value !== null && value !== undefined)
			element.setAttribute(name, value === true ? "" : value);
	}
	element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
	return element;
}

const byId = (id) => document.getElementById(id);

const numbers = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function count(value) {
	return numbers.format(value);
}

function plural(value, word) {
	return count(value) + " " + word + (value === 1 ? "" : "s");
}

// What is shown: samples, what they weigh, or what another tool counted; ns: of one, where it is a time.
const UNIT = { one: "sample", many: "samples", bytes: false, ns: 0 };
const UNITS_NS = { nanoseconds: 1, nanosecond: 1, ns: 1, microseconds: 1e3, us: 1e3, milliseconds: 1e6, ms: 1e6, seconds: 1e9, s: 1e9 };

function useUnit(run) {
	const name = run.count_name || run.sample_type || run.sample_unit;
	if (name)
		UNIT.one = UNIT.many = name;
	UNIT.bytes = run.sample_unit === "bytes";
	UNIT.ns = run.count_name ? 0 : UNITS_NS[run.sample_unit] || 0;
}

// The number alone: "1,234", "12.3 ms", "4.1 MiB".
function amount(value) {
	return UNIT.bytes ? bytes(value) : UNIT.ns ? time(value * UNIT.ns) : count(value);
}

function samples(value) {
	return UNIT.bytes || UNIT.ns ? `${amount(value)} (${UNIT.one})` : `${count(value)} ${value === 1 ? UNIT.one : UNIT.many}`;
}

// 100 % is all of it and 0 % none of it, never nearly.
function percent(part, whole) {
	if (!whole || !part)
		return "0 %";
	const value = 100 * part / whole;
	if (part < whole && value > 99.99)
		return "> 99.99 %";
	if (value < 0.01)
		return "< 0.01 %";
	return value.toFixed(value < 99.995 ? 2 : 0) + " %";
}

function time(ns) {
	let unit = 0;
	for (; ns >= 999.95 && unit < 3; unit++)
		ns /= 1000;
	return (unit ? ns < 10000 ? ns.toFixed(1) : count(ns) : ns) + " " + ["ns", "us", "ms", "s"][unit];
}

function bytes(value) {
	let unit = 0;
	for (; value >= 1024 && unit < 4; unit++)
		value /= 1024;
	return (unit ? value.toFixed(1) : value) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
}

function duration(milliseconds) {
	return milliseconds < 1000 ? count(milliseconds) + " ms" : (milliseconds / 1000).toFixed(milliseconds < 100000 ? 2 : 0) + " s";
}

// What would break a line, turn its direction or not be seen is written out: the list of text_is_unseen (base/text.h).
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]/g;

function readable(text) {
	UNSEEN.lastIndex = 0;
	if (!UNSEEN.test(text))
		return text;
	return text.replace(UNSEEN, (character) => {
		const code = character.charCodeAt(0);
		return code < 256 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0");
	});
}

function lastPart(path) {
	return path.startsWith("[") ? path : path.slice(path.lastIndexOf("/") + 1);
}

// The first and the last characters of @text, @length with the dots between them: what tells names apart is at the end more
// often than at the beginning.
function shorten(text, length) {
	if (text.length <= length)
		return text;
	const head = Math.floor((length - 1) * 0.4), tail = Math.max(0, length - 1 - head);
	// no half of a pair
	return text.slice(0, head).replace(/[\ud800-\udbff]$/, "") + "…" + text.slice(text.length - tail).replace(/^[\udc00-\udfff]/, "");
}

// The widths of texts in one font, in pixels.
class Ruler {
	constructor(font) {
		this.canvas = document.createElement("canvas").getContext("2d");
		this.canvas.font = this.font = font;
		this.widths = new Map();
	}

	width(text) {
		let width = this.widths.get(text);
		if (width === undefined)
			this.widths.set(text, width = this.canvas.measureText(text).width);
		return width;
	}

	// As much of both ends of @text as @room pixels have room for.
	fit(text, room) {
		const width = this.width(text);
		if (width <= room)
			return text;
		let length = Math.max(1, Math.floor(text.length * room / width)), short;
		do
			short = shorten(text, length--);
		while (length > 1 && this.canvas.measureText(short).width > room);
		return short;
	}
}

// 32 bits that spread (FNV-1a).
function hash(text) {
	let value = 0x811c9dc5;
	for (let i = 0; i < text.length; i++)
		value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
	value ^= value >>> 15;
	return (Math.imul(value, 0x2c1b3c6d) ^ value >>> 13) >>> 0;
}

// A colour of even lightness for every hue: OKLCH as sRGB.
function oklch(lightness, chroma, hue) {
	const a = chroma * Math.cos(hue * Math.PI / 180), b = chroma * Math.sin(hue * Math.PI / 180);
	const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
	const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3;
	const channels = [
		4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
		-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
		-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
	].map((c) => {
		const encoded = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;
		return Math.round(255 * Math.min(1, Math.max(0, encoded)));
	});
	return `rgb(${channels.join(",")})`;
}
