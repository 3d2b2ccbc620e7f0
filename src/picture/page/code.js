// SPDX-License-Identifier: Apache-2.0
// The code of the hottest functions: instructions with their samples, the lines of source they come from, jumps.

const CODE_ROW = 18, CODE_MORE = 60; // the height of a row (page.css); rows that are there beyond those in sight

// By enum jump_part (src/view/jump_lanes.h): itself, and whether it goes on to its right.
const LANE_PARTS = [" ", "│", "┌", "└", "├"], LANE_MEETS = 2, LANE_TARGET = 2 ** 31;

// The lines of jumps beside a row, the column next to the instruction last.
function laneText(parts, columns) {
	let text = "", across = false;
	for (let column = columns - 1; column >= 0; column--) {
		const part = parts >>> 3 * column & 7;
		text += across && !part ? "─" : LANE_PARTS[part];
		across = across || part >= LANE_MEETS;
		text += across ? "─" : " ";
	}
	return columns ? text + (parts >= LANE_TARGET ? ">" : across ? "─" : " ") : "";
}

// A function as the file has it: numbers by row, where those are few in pairs.
class Code {
	constructor(raw) {
		this.name = raw.name;
		this.object = raw.object;
		this.samples = raw.samples;
		this.notes = raw.notes;
		this.lines = raw.lines.map(([file, number, samples, source]) => ({ file, number, samples, source }));
		this.text = raw.text;
		this.lanes = raw.lanes;
		this.jumps = raw.jumps;
		this.at = Code.pairs(raw.samples_at);
		this.targets = Code.pairs(raw.targets);
		this.places = new Map();
		for (let i = 0; i < raw.places.length; i += 4)
			this.places.set(raw.places[i], { line: raw.places[i + 1], samples: raw.places[i + 2], inlined: raw.places[i + 3] });
		this.addresses = [];
		let address = BigInt(raw.start);
		for (const size of raw.size) {
			this.addresses.push(address.toString(16));
			address += BigInt(size);
		}
	}

	static pairs(list) {
		const pairs = new Map();
		for (let i = 0; i < list.length; i += 2)
			pairs.set(list[i], list[i + 1]);
		return pairs;
	}

	// "mix, inlined in work at w.c:15"
	static inlined(sites) {
		let text = sites[0] || "a function";
		for (let i = 3; i < sites.length; i += 3)
			text += `${i > 3 ? ", that in" : ", inlined in"} ${sites[i] || "a function"}` + (sites[i + 1] ? ` at ${lastPart(sites[i + 1])}:${sites[i + 2]}` : "");
		return text;
	}

	hottest(limit) {
		return this.lines.map((line, i) => ({ ...line, i })).filter((line) => line.samples)
			.sort((a, b) => b.samples - a.samples || a.i - b.i).slice(0, limit);
	}
}

class CodeView {
	constructor(app) {
		this.app = app;
		this.all = app.model.code.functions.map((raw) => new Code(raw));
		this.choices = el("div", { class: "choices" });
		this.heading = el("div", { class: "heading" });
		this.rows = el("tbody", {});
		this.heads = ["Share", UNIT.many, "Line or address", "Jumps", "Code"].map((head) => el("th", {}, head));
		this.scroll = el("div", { class: "table", tabindex: 0, "aria-label": "Instructions", onscroll: () => this.fill() },
			el("table", {}, el("thead", {}, el("tr", {}, this.heads)), this.rows));
		const { left_out: out, kernel } = app.model.code;
		this.element = el("section", { class: "sandwich code" },
			el("aside", {}, this.choices, out ? el("p", { class: "note" }, `and ${plural(out, "function")} without code here`) : null,
				kernel ? el("p", { class: "note kernel" }, `Code of the kernel is not here: ${samples(kernel)} ran in it. perf annotate -k VMLINUX shows it.`) : null),
			el("div", { class: "both" }, this.heading, this.scroll));
	}

	source(line) {
		return [el("td", { class: "line" }, line ? `${lastPart(line.file)}:${line.number}` : "no line"), el("td", {}),
			el("td", { class: "source" }, line && line.source !== null ? readable(line.source) : "")];
	}

	row(kind, samples, cells) {
		const { code } = this;
		return el("tr", { class: kind }, el("td", { class: "number" }, samples ? share(samples, code.samples) : ""),
			el("td", { class: "number" }, samples ? amount(samples) : ""), cells);
	}

	instruction(i) {
		const { code } = this, target = code.targets.get(i);
		return this.row("insn", code.at.get(i), [el("td", { class: "address" }, code.addresses[i]),
			el("td", { class: "lanes" }, laneText(code.jumps[i], code.lanes)),
			el("td", {}, readable(code.text[i]), target ? el("span", { class: "target" }, ` <${readable(target)}>`) : "")]);
	}

	// What stands in the table, in order, as functions that make a row.
	list() {
		const { code } = this, rows = [];
		this.first = new Map(); // the number of the row in which each line stands first
		let inlined = "";
		code.text.forEach((_, i) => {
			const place = code.places.get(i);
			if (place) {
				const text = place.inlined.length ? Code.inlined(place.inlined) : "";
				if (text && text !== inlined)
					rows.push(() => el("tr", { class: "inlined" }, el("td", { colspan: 2 }), el("td", { colspan: 3 }, readable(text))));
				inlined = text;
				if (!this.first.has(place.line))
					this.first.set(place.line, rows.length);
				rows.push(() => this.row("place", place.samples, this.source(code.lines[place.line])));
			}
			rows.push(() => this.instruction(i));
		});
		return rows;
	}

	// The rows that are in sight, and some above and below: thousands at once would take seconds.
	fill() {
		const nr = this.making.length, top = Math.floor(this.scroll.scrollTop / CODE_ROW), seen = Math.ceil(this.scroll.clientHeight / CODE_ROW);
		const from = Math.max(0, Math.min(top - CODE_MORE, nr - seen)), to = Math.min(nr, top + seen + CODE_MORE);
		if (from >= this.from && to <= this.to)
			return;
		this.from = Math.max(0, from - CODE_MORE);
		this.to = Math.min(nr, to + CODE_MORE);
		const space = (rows) => {
			const row = el("tr", { "aria-hidden": "true" }, el("td", { colspan: 5 }));
			row.style.height = rows * CODE_ROW + "px";
			return row;
		};
		this.rows.replaceChildren(space(this.from), ...this.making.slice(this.from, this.to).map((make) => make()), space(nr - this.to));
	}

	// Columns are as wide as all their rows need, in sight or not.
	widths() {
		const { code } = this, [, , where, jumps] = this.heads;
		const longest = code.lines.reduce((most, line) => Math.max(most, lastPart(line.file).length + String(line.number).length + 1), 16);
		where.style.minWidth = longest + 2 + "ch";
		jumps.style.minWidth = 2 * code.lanes + 3 + "ch";
	}

	// Have line @i in sight.
	lead(i) {
		this.scroll.scrollTop = this.first.get(i) * CODE_ROW - this.scroll.clientHeight / 2;
	}

	head() {
		const { code } = this, { model } = this.app;
		this.heading.replaceChildren(el("h2", {}, shorten(readable(code.name), 400)),
			el("p", {}, `${readable(code.object)}: self ${samples(code.samples)}, ${percent(code.samples, model.samples)} of all`),
			...(model.filtered ? [el("p", { class: "note filters" }, "Counted here are all samples: filters do not apply to code.")] : []),
			...code.notes.map((note) => el("p", { class: "note" }, readable(note))),
			el("div", { class: "hottest" }, code.hottest(5).map((line) =>
				el("button", { onclick: () => this.lead(line.i) },
					el("b", {}, percent(line.samples, code.samples)), ` ${lastPart(line.file)}:${line.number} `,
					el("code", {}, line.source ? readable(line.source.trim()) : "")))));
	}

	show() {
		const { app } = this, wanted = app.state.code;
		const at = wanted >= 0 && wanted < this.all.length ? wanted : 0, code = this.all[at];
		this.choices.replaceChildren(...this.all.map((each, i) => el("button", { class: i === at ? "here" : "", title: each.name,
			onclick: () => app.set({ code: i }) }, el("b", {}, percent(each.samples, app.model.samples)), shorten(readable(each.name), 200))));
		this.heading.hidden = !code;
		if (!code)
			return;
		if (this.code === code && this.filtered === app.model.filtered) {
			this.fill(); // the window may be larger
			return;
		}
		const same = this.code === code;
		this.code = code;
		this.filtered = app.model.filtered;
		this.head();
		if (same) {
			this.fill();
			return;
		}
		this.making = this.list();
		this.from = this.to = -1;
		this.widths();
		this.scroll.scrollTop = 0;
		this.fill();
	}
}
