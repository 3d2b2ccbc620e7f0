// SPDX-License-Identifier: Apache-2.0
// Zoom, search and keys of a picture. Each box of .boxes has data-s="FROM COUNT ROW LANE RAN": what it
// spans of data-total, its row, what it adds up with (0 where that is missing), and how much it adds
// (COUNT); the first line of its title is its name. data-all is what all lanes add up to. In time the
// texts of boxes stand in .texts, over .waits, which makes boxes lighter.
(function () {
"use strict";
const SVG = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
const script = document.currentScript || document.querySelector("svg.fpl script");
const svg = script && script.closest("svg.fpl");
if (!svg)
	return;
const alone = document.documentElement === svg;
const number = (name) => Number(svg.dataset[name]);
const total = number("total"), pad = number("pad"), all = number("all");
const up = svg.dataset.up === "1", fluid = svg.dataset.fluid === "1";
const bare = svg.querySelector(".boxes.bare") !== null, small = svg.querySelector(".boxes.small") !== null;
const in_time = svg.dataset.time === "1";
const notes = svg.querySelector(".notes"), notes_top = Number(notes.dataset.y);
let height = svg.viewBox.baseVal.height;
let width = svg.viewBox.baseVal.width;

const boxes = Array.from(svg.querySelectorAll(".boxes > g"), (g) => {
	const [from, count, row, lane = 0, ran = count] = g.dataset.s.split(" ").map(Number);
	const about = g.firstElementChild.textContent.split("\n");
	return { g, from, count, row, lane, ran, name: about[0], about, rect: g.querySelector("rect"),
		 text: g.querySelector("text"), on: true, above: false, thin: g.classList.contains("thin") };
});
const texts = svg.querySelector(".texts"), waits = svg.querySelector(".waits"), axis = svg.querySelector(".axis");
if (texts)
	texts.querySelectorAll("text").forEach((text) => boxes[text.dataset.box].text = text);
const drawn_scale = total ? (width - 2 * pad) / total : 0; // of what is written
const lanes = Array.from(svg.querySelectorAll(".lane"), (element) => (element.querySelector("title") || element).textContent);
const box_of = new Map(boxes.map((box) => [box.g, box]));
const whole = { from: 0, count: total, row: -1 };
let view = whole, at = null, hits = [], searched = "", said = "";

function make(name, attributes, parent, text) {
	const element = document.createElementNS(SVG, name);
	for (const key of Object.keys(attributes))
		element.setAttribute(key, attributes[key]);
	if (text !== undefined)
		element.textContent = text;
	parent.appendChild(element);
	return element;
}

function grouped(value) {
	return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

function percent(part) {
	return (all ? 100 * part / all : 0).toFixed(2) + " %";
}

// Columns that a text takes: characters from U+2000 on may be wide.
function cut(text, columns) {
	let used = 0, kept = "", plain = text.length <= columns;
	if (/^[\x20-\x7e]*$/.test(text))
		return plain ? text : columns > 2 ? text.slice(0, columns - 2) + ".." : "";
	for (const c of text) {
		const wide = c.codePointAt(0) >= 0x2000 ? 2 : 1;
		if (used + wide > columns - 2 && kept.length + c.length < text.length)
			return kept ? kept + ".." : "";
		used += wide;
		kept += c;
	}
	return used <= columns ? kept : "";
}

// The bar: what only a script can do.
const bar = svg.querySelector(".bar");
const bar_top = Number(bar.dataset.y), bar_height = Number(bar.dataset.height);
const bar_paper = make("rect", { class: "paper", x: 0, y: bar_top, height: bar_height }, bar);
const search_room = make("foreignObject", { x: pad, y: bar_top + 1, width: 220, height: 20 }, bar);
const input = document.createElementNS(XHTML, "input");
input.setAttribute("type", "text");
input.setAttribute("placeholder", "Search (regular expression)");
input.setAttribute("aria-label", "Search names by a regular expression");
input.setAttribute("spellcheck", "false");
search_room.appendChild(input);
const matched = make("text", { class: "matched", x: pad + 230, y: bar_top + 15, role: "status" }, bar, "");
const reset = make("text", { class: "button reset off", y: bar_top + 15, "text-anchor": "end", tabindex: 0,
			     role: "button" }, bar, "Reset zoom");
const details = make("text", { class: "details", x: pad, y: bar_top + 35, "aria-live": "polite" }, bar, "");
const probes = ["0", "i", "W"].map((c) => make("text", { x: 0, y: -100, visibility: "hidden" }, bar, c.repeat(100)));
const measure = (i) => probes[i].getComputedTextLength() / 100;
const character = () => measure(0) > 1 ? measure(0) : 7.3;
let even = true; // all of ASCII is as wide

// Show what @room pixels hold of @text in @element, whose characters take @per_character. Those of
// other scripts, or of a font of many widths, take what only the browser can tell.
function fit(element, text, room, per_character) {
	let columns = Math.floor(room / per_character), shown = cut(text, columns);
	if (element.textContent !== shown)
		element.textContent = shown;
	if (!shown || (even && /^[\x20-\x7e]*$/.test(shown)))
		return;
	for (let size = element.getComputedTextLength(); shown && size > room; size = element.getComputedTextLength()) {
		columns = Math.min(columns - 1, Math.floor(columns * room / size));
		shown = cut(text, columns);
		element.textContent = shown;
	}
}

// Heading and names of lanes: the whole text is in the title of one that is cut.
const lines_of_text = Array.from(svg.querySelectorAll(".title, .subtitle, .lane"), (element) => {
	const title = element.querySelector("title");
	return { element, text: title ? title.textContent : element.textContent,
		 scale: element.classList.contains("title") ? 17 / 12 : 1 };
});

function fit_lines() {
	for (const line of lines_of_text) {
		fit(line.element, line.text, width - 2 * pad, character() * line.scale);
		if (line.element.textContent !== line.text)
			make("title", {}, line.element, line.text);
	}
}

// Where a box is in the view: [from, count, is it above what was zoomed to]; null: nowhere.
function span_of(box) {
	const end = box.from + box.count, view_end = view.from + view.count;
	if (in_time) {
		const from = Math.max(box.from, view.from), to = Math.min(end, view_end);
		return to > from || (box.count === 0 && view === whole) ? [from, to - from, false] : null;
	}
	if (box.row < view.row)
		return box.from <= view.from && end >= view_end ? [view.from, view.count, true] : null;
	return box.from >= view.from && end <= view_end ? [box.from, box.count, false] : null;
}

// What is hidden is left alone.
function draw() {
	const scale = view.count ? (width - 2 * pad) / view.count : 0;
	const per_character = character() * (small ? 0.75 : 1);
	for (const box of boxes) {
		const span = span_of(box), on = span !== null && (span[1] * scale >= 0.05 || view === whole);
		const above = on && span[2];
		if (on !== box.on)
			box.g.classList.toggle("off", !on);
		if (above !== box.above)
			box.g.classList.toggle("above", above);
		if (!on && box.on && texts && box.text)
			box.text.textContent = "";
		box.on = on;
		box.above = above;
		if (on)
			place(box, pad + (span[0] - view.from) * scale, span[1] * scale, per_character);
	}
	reset.classList.toggle("off", view === whole);
	if (waits && drawn_scale)
		waits.setAttribute("transform", "matrix(" + scale / drawn_scale + " 0 0 1 " +
				   (pad - view.from * scale - pad * scale / drawn_scale) + " 0)");
	draw_axis();
}

// Times of what is in the view, at round numbers.
function draw_axis() {
	if (!axis || !view.count)
		return;
	const room = width - 2 * pad, wanted = view.count / Math.max(1, room / 120);
	const power = Math.pow(10, Math.floor(Math.log10(wanted)));
	const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted);
	const digits = Math.max(0, 9 - Math.floor(Math.log10(step)));
	const base = Number(axis.dataset.from) + view.from;
	axis.textContent = "";
	for (let at_ns = Math.ceil(base / step) * step; at_ns <= base + view.count; at_ns += step) {
		const x = pad + (at_ns - base) / view.count * room;
		if (x + 14 * character() > width)
			break;
		make("text", { class: "note", x: x.toFixed(1), y: axis.dataset.y }, axis, (at_ns / 1e9).toFixed(digits) + " " + axis.dataset.unit);
	}
}

function place(box, x, size, per_character) {
	box.rect.setAttribute("x", x.toFixed(2));
	box.rect.setAttribute("width", Math.max(size - (size > 1 ? 0.5 : 0), 0.05).toFixed(2));
	const thin = size < 5;
	if (thin !== box.thin)
		box.g.classList.toggle("thin", thin);
	box.thin = thin;
	if (bare || (!box.text && !cut(box.name, Math.floor((size - 6) / per_character))))
		return;
	if (!box.text)
		box.text = make("text", { y: (Number(box.rect.getAttribute("y")) + number("base")).toFixed(1),
					  class: ["i", "f"].filter((word) => box.g.classList.contains(word)).join(" ") }, texts || box.g);
	box.text.setAttribute("x", (x + 3).toFixed(2));
	box.text.removeAttribute("textLength");
	fit(box.text, box.name, size - 6, per_character);
}

function zoom(box) {
	view = box;
	draw();
}

function describe(box) {
	box = box || (view === whole ? null : view);
	const hint = "Click to zoom, Ctrl-F or / to search, arrows to walk, Escape to reset.";
	fit(details, box ? box.about.join("  \u00b7  ") : hint, width - 2 * pad, character());
}

// All there is to say of a box, beside the pointer or below the box that keys led to.
const tip = make("g", { class: "tip off" }, svg);
let pointed = null, filled = null, tip_room = null;

function keep_about(box, name) {
	const element = document.createElementNS(SVG, name);
	element.textContent = box.about.join("\n");
	box.g.replaceChild(element, box.g.firstElementChild);
}

// The title of the box that the pointer is on is no title for as long: the browser would show it, too.
function point_at(box) {
	if (box === pointed)
		return;
	if (pointed)
		keep_about(pointed, "title");
	if (box)
		keep_about(box, "desc");
	pointed = box;
}

function hide_tip() {
	point_at(null);
	tip.classList.add("off");
}

// Pieces of @text of at most @columns, broken at blanks where there are any.
function pieces(text, columns) {
	const list = [];
	for (let rest = text; rest && list.length < 8;) {
		let piece = cut(rest, columns);
		if (piece !== rest) {
			const most = Math.max(1, piece.length - 2), blank = rest.lastIndexOf(" ", most);
			piece = list.length === 7 ? piece : rest.slice(0, blank > most / 2 ? blank + 1 : most);
		}
		list.push(piece);
		rest = list.length === 8 ? "" : rest.slice(piece.length);
	}
	return list;
}

function fill_tip(box) {
	const columns = Math.max(20, Math.min(100, Math.floor((width - 4 * pad) / character())));
	tip.textContent = "";
	const paper = make("rect", { rx: 3 }, tip), text = make("text", {}, tip);
	const lane = box.lane ? [lanes[box.lane - 1]] : [];
	box.about.concat(lane).forEach((line, i) => pieces(line, columns).forEach((piece) =>
		make("tspan", i ? { x: 0, dy: 15 } : { x: 0, dy: 15, class: "name" }, text, piece)));
	const room = text.getBBox();
	for (const [name, value] of Object.entries({ x: room.x - 6, y: room.y - 4, width: room.width + 12, height: room.height + 8 }))
		paper.setAttribute(name, value.toFixed(1));
	return paper.getBBox();
}

// At a place of the window, or with its lower end at @above where it does not fit below.
function show_tip(box, x, y, above) {
	tip.classList.remove("off");
	if (filled !== box)
		tip_room = fill_tip(box);
	filled = box;
	const room = tip_room, to_svg = svg.getScreenCTM().inverse();
	const at_point = new DOMPoint(x, y).matrixTransform(to_svg), over = new DOMPoint(x, above).matrixTransform(to_svg);
	const corner = new DOMPoint(document.documentElement.clientWidth, window.innerHeight).matrixTransform(to_svg);
	const left = Math.max(0, Math.min(at_point.x, Math.min(corner.x, width) - room.width - 2));
	const below = at_point.y + room.height <= Math.min(corner.y, height);
	tip.setAttribute("transform", "translate(" + (left - room.x).toFixed(1) + " " +
			 ((below ? at_point.y : Math.max(0, over.y - room.height)) - room.y).toFixed(1) + ")");
}

function focus(box) {
	if (at)
		at.g.classList.remove("at");
	at = box;
	if (at)
		at.g.classList.add("at");
	describe(at);
	if (at && alone)
		at.rect.scrollIntoView({ block: "nearest" });
	if (!at)
		return hide_tip();
	const room = at.rect.getBoundingClientRect();
	show_tip(at, room.left, room.bottom + 4, room.top - 4);
}

// Of boxes that lie above each other only one counts.
function covered(list) {
	let sum = 0, end = 0, lane = -1;
	for (const box of list.slice().sort((a, b) => a.lane - b.lane || a.from - b.from || b.count - a.count)) {
		if (box.lane !== lane)
			end = 0;
		lane = box.lane;
		if (box.from + box.count <= end)
			continue;
		sum += box.ran;
		end = box.from + box.count;
	}
	return sum;
}

function expression(text) {
	try {
		return new RegExp(text, text === text.toLowerCase() ? "i" : "");
	} catch (error) {
		return null;
	}
}

function search(text) {
	const wanted = text ? expression(text) : null;
	searched = text;
	for (const box of hits)
		box.g.classList.remove("hit");
	hits = wanted ? boxes.filter((box) => box.count && wanted.test(box.name)) : [];
	for (const box of hits)
		box.g.classList.add("hit");
	search_room.classList.toggle("wrong", text !== "" && !wanted);
	said = !text ? "" : !wanted ? "no regular expression"
		: "Matched: " + percent(covered(hits)) + " (" + grouped(hits.length) + (hits.length === 1 ? " box)" : " boxes)");
	fit_bar();
}

function next_hit(step) {
	const shown = hits.filter((box) => box.on);
	if (shown.length)
		focus(shown[(shown.indexOf(at) + step + (at || step > 0 ? 0 : 1) + shown.length) % shown.length]);
}

// Of a chart: the outermost box of the lane above or below, the one nearest in time.
function in_next_lane(step) {
	const ahead = boxes.filter((box) => box.on && (box.lane - at.lane) * step > 0);
	const lane = ahead.reduce((best, box) => step * box.lane < step * best ? box.lane : best, step * Infinity);
	const away = (box) => Math.max(0, box.from - at.from - at.count, at.from - box.from - box.count);
	return ahead.filter((box) => box.lane === lane).reduce((best, box) =>
		!best || box.row < best.row || (box.row === best.row && away(box) < away(best)) ? box : best, null);
}

// The box that an arrow leads to from where the focus is.
function neighbour(key) {
	if (!at)
		return boxes.reduce((best, box) => box.on && (!best || box.row < best.row) ? box : best, null);
	const end = at.from + at.count, shown = boxes.filter((box) => box.on && box !== at);
	const widest = (list) => list.reduce((best, box) => !best || box.count > best.count ? box : best, null);
	if ((key === "ArrowUp") === up && (key === "ArrowUp" || key === "ArrowDown"))
		return widest(shown.filter((box) => box.row === at.row + 1 && box.from >= at.from && box.lane === at.lane &&
					   box.from + box.count <= end)) || (in_time ? in_next_lane(1) : null);
	if (key === "ArrowUp" || key === "ArrowDown")
		return shown.find((box) => box.row === at.row - 1 && box.from <= at.from &&
				  box.from + box.count >= end) || (in_time ? in_next_lane(-1) : null);
	const row = shown.filter((box) => box.row === at.row && (key === "ArrowRight" ? box.from >= end
							       : box.from + box.count <= at.from));
	return (key === "ArrowRight" ? row[0] : row[row.length - 1]) || null;
}

function clear() {
	input.value = "";
	search("");
	input.blur();
}

function in_search(event) {
	if (event.key === "Escape")
		clear();
	else if (event.key === "Enter")
		next_hit(event.shiftKey ? -1 : 1);
	else
		return;
	event.preventDefault();
}

function pressed(event) {
	const find = (event.ctrlKey || event.metaKey) && event.key === "f";
	if (document.activeElement === input)
		return in_search(event);
	if (find || (event.key === "/" && !event.ctrlKey && !event.altKey)) {
		input.focus();
		input.select();
	} else if (event.ctrlKey || event.metaKey || event.altKey) {
		return;
	} else if (event.key.startsWith("Arrow")) {
		const box = neighbour(event.key);
		if (box)
			focus(box);
	} else if ((event.key === "Enter" || event.key === " ") && document.activeElement === reset) {
		zoom(whole);
	} else if (event.key === "Enter" && at) {
		zoom(at);
		focus(at);
	} else if (event.key === "n" || event.key === "N") {
		next_hit(event.key === "n" ? 1 : -1);
	} else if (event.key === "Escape") {
		if (searched)
			clear();
		zoom(whole);
		focus(null);
	} else {
		return;
	}
	event.preventDefault();
}

function fit_bar() {
	const room = Math.max(80, Math.min(260, width - 2 * pad - 24 * character() - 90));
	search_room.setAttribute("width", room.toFixed(0));
	matched.setAttribute("x", (pad + room + 10).toFixed(0));
	const left = width - 3 * pad - room - (view === whole ? 0 : 11 * character()) - 10;
	fit(matched, said, Math.max(3 * character(), left), character());
	reset.setAttribute("x", (width - pad).toFixed(0));
	bar_paper.setAttribute("width", width);
	describe(at);
}

const legend = Array.from(notes.querySelectorAll("g"), (g) => ({ g, text: g.querySelector("text").textContent }));

// What is below the picture, in as many columns and lines as the window has room for.
function fit_notes() {
	const columns = Math.max(1, Math.min(4, Math.floor((width - 2 * pad) / 230)));
	const characters = Math.floor((width - 2 * pad) / character());
	let y = notes_top;
	legend.forEach(({ g, text }, i) => {
		fit(g.querySelector("text"), text, (width - 2 * pad) / columns - 36, character());
		const dx = pad + (i % columns) * (width - 2 * pad) / columns - pad;
		const dy = Math.floor(i / columns) * 17 + notes_top - Number(g.dataset.y);
		g.setAttribute("transform", "translate(" + (dx + pad - Number(g.dataset.x)).toFixed(0) + " " + dy.toFixed(0) + ")");
		y = notes_top + (Math.floor(i / columns) + 1) * 17;
	});
	notes.querySelectorAll(":scope > text").forEach((text) => {
		const lines = wrap(text.textContent, characters);
		text.textContent = "";
		for (const line of lines) {
			make("tspan", { x: pad, y: y + 12 }, text, line + " ");
			y += 17;
		}
	});
	height = Math.ceil(y + pad);
}

function wrap(text, characters) {
	const lines = [""];
	for (const word of text.trim().split(/ +/)) {
		const last = lines[lines.length - 1];
		if (last && last.length + 1 + word.length > characters)
			lines.push(word);
		else
			lines[lines.length - 1] = last ? last + " " + word : word;
	}
	return lines;
}

function resize() {
	even = Math.abs(measure(1) - measure(2)) < 0.1;
	hide_tip();
	filled = null;
	if (fluid) {
		const room = alone ? document.documentElement.clientWidth || window.innerWidth
				   : svg.getBoundingClientRect().width;
		width = Math.max(320, Math.floor(room));
		fit_notes();
		svg.setAttribute("viewBox", "0 0 " + width + " " + height);
		svg.setAttribute("height", height);
		if (alone)
			svg.setAttribute("width", width);
	}
	fit_lines();
	draw();
	fit_bar();
}

// What the bar says is seen beside any frame of a tall picture.
function follow() {
	const away = alone ? Math.max(0, window.scrollY - bar_top) : 0;
	bar.setAttribute("transform", "translate(0 " + Math.min(away, height - bar_top - bar_height).toFixed(0) + ")");
}

// What calls everything is what to begin with: at the lower end, with what is below it if that fits.
function open_at_base() {
	if (!alone || !up)
		return;
	const below = height - notes_top + pad;
	window.scrollTo(0, below < window.innerHeight / 3 ? height : notes_top - window.innerHeight);
}

svg.addEventListener("click", (event) => {
	const g = event.target.closest(".boxes > g");
	if (event.target === reset)
		zoom(whole);
	else if (g)
		zoom(box_of.get(g).row === 0 && box_of.get(g).count === total ? whole : box_of.get(g));
	fit_bar();
});
svg.addEventListener("mouseover", (event) => {
	const g = event.target.closest(".boxes > g");
	describe(g ? box_of.get(g) : at);
});
svg.addEventListener("mousemove", (event) => {
	const g = event.target.closest(".boxes > g");
	if (!g)
		return hide_tip();
	point_at(box_of.get(g));
	show_tip(box_of.get(g), event.clientX + 12, event.clientY + 16, event.clientY - 8);
});
svg.addEventListener("mouseleave", () => {
	describe(at);
	hide_tip();
});
input.addEventListener("input", () => search(input.value));
(alone ? window : svg).addEventListener("keydown", pressed);
window.addEventListener("resize", resize);
window.addEventListener("scroll", follow, { passive: true });
if (!alone) {
	svg.setAttribute("tabindex", "0");
	if (fluid)
		svg.setAttribute("width", "100%");
}
svg.appendChild(bar);
if (axis)
	bar.appendChild(axis);
svg.appendChild(tip);
resize();
open_at_base();
}());
