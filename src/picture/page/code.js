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

// A function as the file has it: an instruction is a row, and one more row is of samples that no instruction has.
class Code {
	// @first: the number of its first row among those of all functions.
	constructor(raw, first) {
		this.name = raw.name;
		this.object = raw.object;
		this.notes = raw.notes;
		this.lines = raw.lines.map(([file, number, source]) => ({ file, number, source, samples: 0 }));
		this.text = raw.text;
		this.lanes = raw.lanes;
		this.jumps = raw.jumps;
		this.first = first;
		this.end = first + raw.text.length + 1;
		this.targets = new Map();
		for (let i = 0; i < raw.targets.length; i += 2)
			this.targets.set(raw.targets[i], raw.targets[i + 1]);
		this.places = new Map();
		for (let i = 0; i < raw.places.length; i += 3)
			this.places.set(raw.places[i], { line: raw.places[i + 1], inlined: raw.places[i + 2], samples: 0 });
		this.addresses = [];
		let address = BigInt(raw.start);
		for (const size of raw.size) {
			this.addresses.push(address.toString(16));
			address += BigInt(size);
		}
	}

	// Take the samples of each row from @counts, of all functions; lines and places have those of their instructions.
	weigh(counts) {
		this.at = counts.subarray(this.first, this.end);
		this.samples = this.at.reduce((sum, samples) => sum + samples, 0);
		this.elsewhere = this.at[this.text.length];
		for (const line of this.lines)
			line.samples = 0;
		let place = null;
		this.text.forEach((_, i) => {
			if (this.places.has(i)) {
				place = this.places.get(i);
				place.samples = 0;
			}
			if (!place)
				return;
			place.samples += this.at[i];
			if (place.line >= 0)
				this.lines[place.line].samples += this.at[i];
		});
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
		let row = 0;
		this.all = app.model.code.functions.map((raw) => {
			const code = new Code(raw, row);
			row = code.end;
			return code;
		});
		this.kernelRow = row;
		this.choices = el("div", { class: "choices" });
		this.heading = el("div", { class: "heading" });
		this.rows = el("tbody", {});
		this.heads = ["Share", UNIT.many, "Line or address", "Jumps", "Code"].map((head) => el("th", {}, head));
		this.scroll = el("div", { class: "table", tabindex: 0, "aria-label": "Instructions", onscroll: () => this.fill() },
			el("table", {}, el("thead", {}, el("tr", {}, this.heads)), this.rows));
		const out = app.model.code.left_out;
		this.kernel = el("p", { class: "note kernel" });
		this.element = el("section", { class: "sandwich code" },
			el("aside", {}, this.choices, out ? el("p", { class: "note" }, `and ${plural(out, "function")} without code here`) : null,
				this.kernel),
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
		return this.row("insn", code.at[i], [el("td", { class: "address" }, code.addresses[i]),
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
			el("p", {}, `${readable(code.object)}: self ${samples(code.samples)}, ${percent(code.samples, model.shown)} of ${model.filtered ? "what is chosen" : "all"}`),
			...(code.elsewhere ? [el("p", { class: "note" }, `${amount(code.elsewhere)} of its samples are at addresses that this code has not`)] : []),
			...code.notes.map((note) => el("p", { class: "note" }, readable(note))),
			el("div", { class: "hottest" }, code.hottest(5).map((line) =>
				el("button", { onclick: () => this.lead(line.i) },
					el("b", {}, percent(line.samples, code.samples)), ` ${lastPart(line.file)}:${line.number} `,
					el("code", {}, line.source ? readable(line.source.trim()) : "")))));
	}

	// Count what is shown, anew where that is another choice.
	weigh() {
		const { model } = this.app;
		if (this.weighed === model.tree.inGroup)
			return;
		this.weighed = model.tree.inGroup;
		const counts = model.rowCounts(this.kernelRow + 1), kernel = counts[this.kernelRow];
		for (const code of this.all)
			code.weigh(counts);
		this.kernel.hidden = !kernel;
		this.kernel.textContent = `Code of the kernel is not here: ${samples(kernel)} ran in it. perf annotate -k VMLINUX shows it.`;
		this.code = null; // drawn anew
	}

	show() {
		this.weigh();
		const { app } = this, wanted = app.state.code;
		const at = wanted >= 0 && wanted < this.all.length ? wanted : 0, code = this.all[at];
		this.choices.replaceChildren(...this.all.map((each, i) => el("button", { class: i === at ? "here" : "", title: each.name,
			onclick: () => app.set({ code: i }) }, el("b", {}, percent(each.samples, app.model.shown)), shorten(readable(each.name), 200))));
		this.heading.hidden = !code;
		if (!code)
			return;
		if (this.code === code) {
			this.fill(); // the window may be larger
			return;
		}
		this.code = code;
		this.head();
		this.making = this.list();
		this.from = this.to = -1;
		this.widths();
		if (this.drawn !== code)
			this.scroll.scrollTop = 0;
		this.drawn = code;
		this.fill();
	}
}
