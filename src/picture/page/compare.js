// SPDX-License-Identifier: Apache-2.0
// Both walks of the same samples side by side, and what the one lacks or gets wrong.

const MARKS = [
	["lost", "the frame-pointer walk lacks it"],
	["wrong", "it was not on the stack, or not there"],
	["gap", "its caller was left out: it stands below the wrong one"],
	["cut", "the walk ended here, before the stack does"],
];

class CompareView {
	constructor(app) {
		this.app = app;
		this.summary = el("div", { class: "classes" });
		this.meaning = el("dl", { class: "meaning" });
		const [cfi, fp] = app.model.trees;
		this.sides = [this.side(fp, "Frame pointers", "what the kernel's own walk gives", [MARK_WRONG, MARK_GAP, MARK_CUT]),
			this.side(cfi, "CFI", "what fpless gives", [MARK_LOST])];
		this.crumbs = el("div", { class: "crumbs" });
		this.element = el("section", { class: "compare" }, this.summary, this.crumbs,
			el("div", { class: "sides" }, this.sides.map((side) => side.element)),
			el("details", {}, el("summary", {}, "What the classes and the marks mean"), this.meaning));
	}

	side(tree, title, text, kinds) {
		const canvas = el("div", { class: "canvas", role: "application", "aria-label": title });
		const side = { tree, kinds, note: el("p", { class: "note" }),
			flame: new Flame(canvas, this.app, {
				inverted: true,
				onZoom: (node) => this.zoom(tree, node),
				onHover: (node) => this.link(side, node),
				marks: (_, node) => this.marksOf(tree, node),
			}),
			legend: el("div", { class: "legend" }) };
		side.element = el("div", { class: "side" }, el("h2", {}, title, el("small", {}, text)), side.legend, side.note, canvas);
		return side;
	}

	// The marks of one frame that make up a hundredth of its samples, the heaviest alone.
	marksOf(tree, node) {
		let best = -1, most = tree.total[node] / 100;
		for (let kind = 0; kind < MARKS.length; kind++)
			if (tree.marked[kind][node] > most) {
				best = kind;
				most = tree.marked[kind][node];
			}
		return best < 0 ? [] : ["mark", MARKS[best][0], most * 2 > tree.total[node] ? "mostly" : "partly"];
	}

	zoom(tree, node) {
		const own = this.app.model.tree;
		this.zoomed = { tree, path: tree.pathOf(node) };
		this.app.zoom(tree === own ? node : own.follow(this.zoomed.path));
	}

	link(from, node) {
		const path = node < 0 ? null : from.tree.pathOf(node);
		for (const side of this.sides) {
			const linked = side.flame.place.querySelector("g.linked");
			if (linked)
				linked.classList.remove("linked");
			if (side === from || !path)
				continue;
			const other = side.tree.follow(path), frame = side.tree.depth[other] === path.length ? side.flame.frameOf(other) : null;
			if (frame)
				frame.classList.add("linked");
		}
	}

	show() {
		const { app } = this, { model } = app, own = model.tree;
		const path = this.zoomed && own.follow(this.zoomed.path) === app.state.zoom ? this.zoomed.path : own.pathOf(app.state.zoom);
		for (const side of this.sides) {
			const node = side.tree.follow(path), missing = path.length - side.tree.depth[node];
			side.note.textContent = missing ? `${plural(missing, "frame")} of what is zoomed to ${missing === 1 ? "is" : "are"} not in this walk: ` +
				"shown is what is above." : "";
			side.legend.replaceChildren(...side.kinds.map((kind) => el("span", { class: "key" },
				el("i", { class: MARKS[kind][0] }), `${MARKS[kind][0]}: ${MARKS[kind][1]}`)), ...leftOut(app, side.tree));
		}
		this.crumbs.replaceChildren(...breadcrumbs(app, own, app.state.zoom, (node) => app.zoom(node)));
		this.showClasses();
		for (const side of this.sides)
			side.flame.show(side.tree, side.tree.follow(path));
	}

	showClasses() {
		const { app } = this, { model } = app, { groups, keys } = model;
		const sums = keys.classes.map(() => 0);
		for (let i = 0; i < groups.nr; i++)
			if (groups.class[i] >= 0)
				sums[groups.class[i]] += model.groupCounts[i];
		const unjudged = keys.classes.findIndex(([key]) => key === "unjudged");
		const judged = sums.reduce((sum, value, i) => i === unjudged ? sum : sum + value, 0);
		this.summary.replaceChildren(...keys.classes.map(([key, text], i) => el("button", {
			class: `class ${key}` + (app.state.class === key ? " here" : ""), title: text, "aria-pressed": String(app.state.class === key),
			onclick: () => app.set({ class: app.state.class === key ? "" : key }),
		}, el("b", {}, key), el("span", {}, i === unjudged ? samples(sums[i]) : percent(sums[i], judged)),
		el("small", {}, i === unjudged ? "of " + amount(model.samples) : samples(sums[i])))));
		this.meaning.replaceChildren(...keys.classes.map(([key, text]) => [el("dt", {}, key), el("dd", {}, text)]).flat(),
			...MARKS.map(([key, text]) => [el("dt", {}, `mark “${key}”`), el("dd", {}, text)]).flat(),
			el("dt", {}, "filled"), el("dd", {}, "of more than half of the samples of the frame; a line around it: of a hundredth at least"));
	}
}
