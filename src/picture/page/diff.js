// SPDX-License-Identifier: Apache-2.0
// What changed between two sides: one tree of the frames of either, weighed by each, and what to think of a change.

const BEFORE = 0, AFTER = 1, SIDES = ["before", "after"];
const MORE_HUE = 25, LESS_HUE = 255;

// The sides are groups: of the tree, total, self and left are those of the side that frames are as wide as.
class DiffTree extends WalkTree {
	constructor(raw, wide) {
		super(raw);
		this.sides = [BEFORE, AFTER].map((side) => {
			super.weigh([side === BEFORE, side === AFTER]);
			return { total: this.total.slice(), self: this.self.slice(), left: this.left.slice() };
		});
		this.seen = this.sides[BEFORE].total.map((before, i) => before + this.sides[AFTER].total[i]);
		this.use(wide);
	}

	// There is nothing to choose groups by.
	weigh() {}

	use(wide) {
		Object.assign(this, this.sides[wide]);
		this.other = this.sides[1 - wide].total;
		this.wide = wide;
		this.own = null;
	}
}

function points(value) {
	return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
}

class Changes {
	constructor(raw) {
		Object.assign(this, raw); // as the writer calls them; unit: per cent that one sample after is
		this.runs = this.sides.map((side) => side.runs);
		this.rows = new Map(raw.functions.map(([fn, place, self, total]) =>
			[fn, { fn, place: readable(place), self: this.change(self), total: this.change(total) }]));
		if (raw.whole)
			this.whole = this.change(raw.whole);
	}

	// A change of a function, or of all, in per cent.
	change([before, after, interval, verdict]) {
		return { before, after, change: after - before, interval, verdict: this.verdicts[verdict][0] };
	}

	// The function of @list that changed most by itself: they come in that order.
	most(list) {
		const known = new Set(list);
		return this.functions.map(([fn]) => fn).find((fn) => known.has(fn));
	}

	// What was compared, in a line.
	command() {
		return this.sides.map(({ files }) => files.map((file) => lastPart(readable(file))).join(" ")).join(" → ");
	}

	counts(tree, node) {
		return tree.wide === AFTER ? [tree.other[node], tree.total[node]] : [tree.total[node], tree.other[node]];
	}

	// Of what functions are in per cent of. (Per cent of a sample after: what unit is.)
	percent(side, count) {
		return (this.unit * (side === BEFORE ? this.scale : 1) * count).toFixed(2) + " %";
	}

	unitText() {
		return `in % of the ${this.measure === "weight_ns" ? "CPU time" : UNIT.many} ` +
			(this.normalized ? "of their side" : this.sides[BEFORE].samples ? "before, per run" : "after, per run");
	}

	// In samples after. docs/decisions/0015-diff-noise.md
	judge([before, after]) {
		const scaled = this.scale * before, change = after - scaled;
		const counting = this.scale * (scaled + this.scale) + after + 1;
		const between = scaled * scaled / this.runs[BEFORE] + after * after / this.runs[AFTER];
		const interval = this.quantile * Math.sqrt(this.dispersion * (counting + this.variation ** 2 * between));
		return { change, interval, real: before + after >= this.samples_min && Math.abs(change) > interval };
	}

	// What each node has that no frame above it shows: of either side, in itself and in what is gone from above it. Of callers,
	// all of a node: what is above it there is the same once more.
	ownOf(tree) {
		if (tree.own)
			return tree.own;
		const after = tree.wide === AFTER ? tree.total : tree.other, before = tree.wide === AFTER ? tree.other : tree.total;
		const own = { counts: [before.slice(), after.slice()], most: 0 };
		for (let i = 1; i < tree.nr && !tree.ofCallers; i++)
			if (tree.total[i]) {
				own.counts[BEFORE][tree.parent[i]] -= before[i];
				own.counts[AFTER][tree.parent[i]] -= after[i];
			}
		for (let i = 0; i < tree.nr; i++) {
			const { change, real } = this.judge([own.counts[BEFORE][i], own.counts[AFTER][i]]);
			if (real && tree.total[i])
				own.most = Math.max(own.most, Math.abs(change));
		}
		return tree.own = own;
	}

	colorOf(tree, node, colors) {
		const own = this.ownOf(tree), { change, real } = this.judge(own.counts.map((counts) => counts[node]));
		// the root of the share, so that what is small next to the largest is seen, too
		return real ? this.shade(change > 0, Math.sqrt(Math.min(1, Math.abs(change) / own.most)), colors.dark) : this.quiet(colors.dark);
	}

	quiet(dark) {
		return dark ? oklch(0.38, 0.008, 260) : oklch(0.91, 0.006, 100);
	}

	shade(more, share, dark) {
		const hue = more !== this.negate ? MORE_HUE : LESS_HUE;
		return dark ? oklch(0.36 + 0.16 * share, 0.05 + 0.10 * share, hue) : oklch(0.91 - 0.19 * share, 0.05 + 0.11 * share, hue);
	}

	legend(colors) {
		return [[this.shade(true, 0.8, colors.dark), "more than before"], [this.shade(false, 0.8, colors.dark), "less than before"],
			[this.quiet(colors.dark), "no change beyond noise"]];
	}

	describe(tree, node) {
		const counts = this.counts(tree, node), { change, interval, real } = this.judge(counts), lines = [];
		for (const side of [BEFORE, AFTER]) {
			const self = tree.sides && tree.sides[side].self[node];
			lines.push(`${SIDES[side]} ${this.percent(side, counts[side])}, ${samples(counts[side])}` +
				(self && self !== counts[side] ? `; itself ${this.percent(side, self)}` : ""));
		}
		lines.push(`${points(this.unit * change)} points ± ${(this.unit * interval).toFixed(2)}: ` +
			(!real ? "may be noise" : !counts[BEFORE] ? "new" : !counts[AFTER] ? "gone" : "more than noise"));
		const gone = this.goneBelow(tree, node), from = 1 - tree.wide;
		if (gone)
			lines.push(`below it, and only ${SIDES[from]}: ${this.percent(from, gone)}`);
		return lines;
	}

	// What the other side has in children that have no frame.
	goneBelow(tree, node) {
		let gone = 0;
		for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
			gone += tree.total[i] ? 0 : tree.other[i];
		return gone;
	}

	// What has no frame at all.
	gone(tree) {
		let gone = 0;
		for (let i = 1; i < tree.nr;)
			if (tree.total[i]) {
				i++;
			} else {
				gone += tree.other[i];
				i = tree.end[i];
			}
		return gone;
	}

	notes(tree) {
		const gone = this.gone(tree), other = 1 - tree.wide;
		return gone ? [el("span", { class: "note" }, `${percent(gone, tree.other[0])} of what was ${SIDES[other]} has no frame ${SIDES[tree.wide]}: ` +
			`choose the width of ${SIDES[other]}`)] : [];
	}
}

// "+4.05 ± 2.31 new", coloured where it is real.
function changeCell(changes, { change, interval, verdict }) {
	const more = change > 0 !== changes.negate;
	return el("span", { class: verdict === "noise" ? "change" : more ? "change more-after" : "change less-after" },
		`${points(change)} ± ${interval === null ? "?" : interval.toFixed(2)}`, el("small", {}, verdict));
}

class DiffFunctionsView {
	constructor(app) {
		this.app = app;
		const { model } = app, { diff, kindOf } = model, two = (value) => value.toFixed(2);
		const columns = (of, name) => [
			{ head: name + " before", wide: true, number: true, of: (row) => of(row).before, cell: (row) => two(of(row).before) },
			{ head: "after", wide: true, number: true, of: (row) => of(row).after, cell: (row) => two(of(row).after) },
			// what is more than noise first
			{ head: name + " change", number: true, of: (row) => Math.abs(of(row).change) + (of(row).verdict === "noise" ? 0 : 1e9),
				cell: (row) => changeCell(diff, of(row)) },
		];
		this.table = new SortedTable([...columns((row) => row.self, "Self"), ...columns((row) => row.total, "Total"),
			{ head: "Function", of: (row) => row.fn, cell: (row) => el("span", { class: "name", title: model.name(row.fn) }, shorten(model.name(row.fn), 300)) },
			{ head: "Object", wide: true, of: (row) => row.place,
				cell: (row) => el("span", { class: "object" }, row.place === "-" ? "–" : kindOf[row.fn] === KIND_KERNEL ? `[${row.place}]` : row.place) },
		], 2, (sort) => app.set({ sort }));
		this.note = el("p", { class: "note" });
		this.element = el("section", { class: "functions" }, this.note, this.table.element);
	}

	show() {
		const { app } = this, { model, matched } = app, { diff } = model;
		const rows = [...diff.rows.values()].filter((row) => !matched || matched[row.fn]);
		const real = rows.filter((row) => row.self.verdict !== "noise" || row.total.verdict !== "noise").length;
		this.note.textContent = `${plural(rows.length, "function")}${matched ? " found" : ""}, ${count(real)} changed by more than noise; ` +
			`${diff.unitText()}. Self: it ran; total: it ran or was on the stack. A click shows callers and callees.`;
		this.table.show(rows, (row) => app.set({ view: "sandwich", fn: row.fn,
			up: 0, down: 0, width: row.total.after ? row.total.before ? app.state.width : "after" : "before" }), app.state.sort);
	}
}

// What was compared, and by what measure.
class SidesView {
	constructor(app) {
		this.app = app;
		this.element = el("section", { class: "run", tabindex: 0 });
	}

	side(side) {
		const { sides } = this.app.model.diff, of = sides[side];
		return el("article", {}, el("h2", {}, side === BEFORE ? "Before" : "After"), el("dl", {}, [
			["runs", count(of.runs)], ["counted", samples(of.samples)],
			["CPU time", of.weight_ns ? duration(of.weight_ns / 1e6) : ""], ["lasted", of.duration_ns ? duration(of.duration_ns / 1e6) : ""],
			["files", el("span", {}, of.files.map((file) => el("div", {}, readable(file))))],
		].filter(([, value]) => value).map(([key, value]) => [el("dt", {}, key), el("dd", {}, value)])));
	}

	show() {
		const { model } = this.app, { diff, run } = model;
		const counted = { noise: 0, real: 0, new: 0, gone: 0 };
		for (const row of diff.rows.values())
			counted[row.self.verdict]++;
		this.element.replaceChildren(this.side(BEFORE), this.side(AFTER),
			el("article", {}, el("h2", {}, "What changed"), el("dl", {}, [
				["all", diff.whole ? changeCell(diff, diff.whole) : ""],
				...diff.verdicts.map(([key, text]) => [key, `${plural(counted[key], "function")} by self: ${text}`]),
				["runs vary by", `${(100 * diff.variation).toFixed(2)} %` + (diff.variation_assumed ? ", which is assumed: several a side would tell" : "")],
				["numbers are", diff.unitText()],
				["event", [run.event, run.hz ? count(run.hz) + " Hz" : ""].filter(Boolean).join(", ")],
				["written by", "fpless " + model.version],
			].filter(([, value]) => value).map(([key, value]) => [el("dt", {}, key), el("dd", {}, value)])),
			el("p", {}, "Frames are judged by their samples alone, functions by CPU time where all samples have one. fpless-diff(1) says how.")));
	}
}
