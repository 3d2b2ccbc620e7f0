// SPDX-License-Identifier: Apache-2.0
// The views of one profile. Each has show(), called when it comes to the front or what it depends on has changed.

// Flame graph and icicle: the tree of all stacks.
class GraphView {
	constructor(app, inverted) {
		this.app = app;
		this.crumbs = el("div", { class: "crumbs" });
		this.canvas = el("div", { class: "canvas", role: "application", "aria-label": "Frames: arrow keys move, Enter zooms" });
		this.legend = el("div", { class: "legend" });
		this.element = el("section", { class: "graph" }, this.crumbs, this.canvas, this.legend);
		this.flame = new Flame(this.canvas, app, { inverted, onZoom: (node) => app.zoom(node) });
	}

	show() {
		const { app } = this, tree = app.model.tree;
		this.crumbs.replaceChildren(...breadcrumbs(app, tree, app.state.zoom, (node) => app.zoom(node)));
		this.legend.replaceChildren(...legend(app, tree), ...(app.model.diff ? app.model.diff.notes(tree) : []), ...leftOut(app, tree));
		this.flame.show(tree, app.state.zoom); // in what these leave of the window
	}
}

// The way to what is zoomed to: a click leads back.
function breadcrumbs(app, tree, node, onZoom) {
	const path = [];
	for (let i = node; i; i = tree.parent[i])
		path.push(i);
	path.push(0);
	path.reverse();
	const shown = path.length > 7 ? [path[0], -1, ...path.slice(-5)] : path;
	return shown.map((i) => i < 0 ? el("span", { class: "dots" }, "…") :
		el("button", { class: i === node ? "here" : "", onclick: () => onZoom(i), title: i ? app.model.name(tree.fn[i]) : "" },
			i ? shorten(app.model.name(tree.fn[i]), 40) : "all " + samples(tree.total[0])));
}

function legend(app, tree) {
	const keys = (app.state.color === "change" ? app.model.diff.legend(app.colors) : app.colors.legend(tree)).map(([color, text]) => {
		const swatch = el("i", {});
		swatch.style.background = color;
		return el("span", { class: "key" }, swatch, text);
	});
	if (tree.found.some((found) => found & FOUND_INLINED))
		keys.push(el("span", { class: "key" }, el("i", { class: "inlined" }), el("em", {}, "inlined")));
	return keys;
}

// What the file does not show, said where it is missing.
function leftOut(app, tree) {
	const out = tree.leftOut, texts = [];
	if (out && out.nodes) {
		const left = tree.leftSamples();
		texts.push(`${plural(out.nodes, "frame")} of fewer than ${samples(out.min_samples)} each ` +
			`${out.nodes === 1 ? "is" : "are"} left out: ${samples(left)} ` +
			`(${percent(left, tree.total[0])}) end in those and count for their callers`);
	}
	if (app.model.cut)
		texts.push(`${samples(app.model.cut)} have stacks too deep to be shown to their leaf`);
	return texts.map((text) => el("span", { class: "note" }, text));
}

// Callers and callees of one function.
class SandwichView {
	constructor(app) {
		this.app = app;
		this.find = el("input", { type: "search", placeholder: "Find a function", "aria-label": "Find a function",
			oninput: () => this.list() });
		this.choices = el("div", { class: "choices" });
		this.heading = el("div", { class: "heading" });
		const canvas = (label) => el("div", { class: "canvas", role: "application", "aria-label": label + ": arrow keys move, Enter zooms" });
		this.above = canvas("Callers");
		this.below = canvas("Callees");
		this.element = el("section", { class: "sandwich" },
			el("aside", {}, this.find, this.choices),
			el("div", { class: "both" }, el("h2", {}, "Callers"), this.above, this.heading, el("h2", {}, "Callees"), this.below));
		this.callers = new Flame(this.above, app, { onZoom: (node) => app.set({ up: node }) });
		this.callees = new Flame(this.below, app, { inverted: true, onZoom: (node) => app.set({ down: node }) });
	}

	list() {
		const { app } = this, { total } = app.model.functionCounts(), wanted = this.find.value.toLowerCase(), found = [];
		for (let fn = 0; fn < app.model.nrFunctions; fn++)
			if (total[fn] && app.model.kindOf[fn] !== KIND_LABEL &&
				(!wanted || app.model.name(fn).toLowerCase().includes(wanted)))
				found.push(fn);
		found.sort((a, b) => total[b] - total[a] || a - b);
		const room = this.choices.clientWidth - 100; // beside the share
		this.choices.replaceChildren(...found.slice(0, 200).map((fn) =>
			el("button", { class: fn === app.state.fn ? "here" : "", onclick: () => app.openSandwich(fn), title: app.model.name(fn) },
				el("b", {}, percent(total[fn], app.model.shown)), app.ruler.fit(app.model.name(fn), room))));
		if (found.length > 200)
			this.choices.append(el("p", { class: "note" }, `and ${plural(found.length - 200, "function")} of fewer samples`));
		return found;
	}

	show() {
		const { app } = this, { model, state } = app, found = this.list();
		let fn = state.fn;
		if (!(fn >= 0 && fn < model.nrFunctions)) {
			fn = found.length ? found[0] : -1;
			const { self } = model.functionCounts();
			for (const each of found)
				if (self[each] > self[fn])
					fn = each;
			if (model.diff && fn >= 0)
				fn = model.diff.most(found);
		}
		if (fn < 0) {
			this.heading.replaceChildren("No function here.");
			this.callers.clear("");
			this.callees.clear("");
			return;
		}
		const key = fn + state.width + JSON.stringify(app.filter());
		if (this.key !== key) {
			this.key = key;
			this.callerTree = callersOf(model.tree, fn, model.nrFunctions);
			this.calleeTree = calleesOf(model.tree, fn, model.nrFunctions);
		}
		const { self, total } = model.functionCounts(), seen = this.calleeTree.total[0];
		const changes = model.diff && model.diff.rows.get(fn);
		this.heading.replaceChildren(el("h2", {}, shorten(model.name(fn), 400)), changes ? el("p", {}, `${model.object(fn) || "no object"}: self `,
			changeCell(model.diff, changes.self), ", total ", changeCell(model.diff, changes.total), ` ${model.diff.unitText()}`) : el("p", {},
			`${model.object(fn) || "no object"}: self ${percent(self[fn], model.shown)} (${amount(self[fn])}), ` +
			`total ${percent(total[fn], model.shown)} (${amount(total[fn])})`,
			seen < total[fn] ? ` · ${amount(total[fn] - seen)} of them in frames that are left out` : ""));
		const within = (tree, node) => node > 0 && node < tree.nr && tree.total[node] ? node : 0;
		this.callers.show(this.callerTree, within(this.callerTree, state.up));
		this.callees.show(this.calleeTree, within(this.calleeTree, state.down));
	}
}

// A table whose heads sort it. @columns: { head, number: true, wide: true, of(row), cell(row) }; a narrow window has no room
// for what is wide.
class SortedTable {
	constructor(columns, sort, onSort) {
		this.columns = columns;
		this.usual = this.sort = sort;
		this.descending = true;
		this.limit = 300;
		this.onSort = onSort;
		this.body = el("tbody", {});
		this.heads = columns.map((column, i) => el("th", { class: classOf(column), "aria-sort": "none" },
			el("button", { onclick: () => this.by(i) }, column.head)));
		this.more = el("button", { class: "more", onclick: () => { this.limit *= 4; this.fill(); } });
		this.element = el("div", { class: "table" },
			el("table", {}, el("thead", {}, el("tr", {}, ...this.heads)), this.body), this.more);
	}

	by(column) {
		this.descending = this.sort === column ? !this.descending : Boolean(this.columns[column].number);
		this.sort = column;
		this.onSort(this.order);
	}

	// The order of the rows, for the address: the column, and "-" where it ascends.
	get order() {
		return this.sort + (this.descending ? "" : "-");
	}

	// @order: as above; another text: as the table was made.
	show(rows, onClick, order = "") {
		const match = /^(\d+)(-?)$/.exec(order);
		if (match && this.columns[match[1]]) {
			this.sort = Number(match[1]);
			this.descending = !match[2];
		} else {
			this.sort = this.usual;
			this.descending = true;
		}
		this.rows = rows;
		this.onClick = onClick;
		this.fill();
	}

	fill() {
		const { of } = this.columns[this.sort], way = this.descending ? -1 : 1;
		this.rows.sort((a, b) => {
			const x = of(a), y = of(b);
			return way * (x < y ? -1 : x > y ? 1 : 0);
		});
		this.heads.forEach((head, i) => head.setAttribute("aria-sort",
			i !== this.sort ? "none" : this.descending ? "descending" : "ascending"));
		this.body.replaceChildren(...this.rows.slice(0, this.limit).map((row) =>
			el("tr", { tabindex: 0, onclick: () => this.onClick(row), onkeydown: (event) => event.key === "Enter" && this.onClick(row) },
				this.columns.map((column) => el("td", { class: classOf(column) }, column.cell(row))))));
		this.more.hidden = this.rows.length <= this.limit;
		this.more.textContent = `Show more of ${count(this.rows.length)}`;
	}
}

function classOf(column) {
	return (column.number ? "number" : "") + (column.wide ? " wide" : "");
}

// A share with a bar behind it.
function share(part, whole) {
	const bar = el("i", { class: "bar" });
	bar.style.width = whole ? 100 * part / whole + "%" : "0";
	return el("span", { class: "share" }, bar, el("span", {}, percent(part, whole)));
}

class FunctionsView {
	constructor(app) {
		this.app = app;
		const counts = () => this.counts, { model } = app;
		this.table = new SortedTable([
			{ head: "Self", number: true, of: (fn) => counts().self[fn], cell: (fn) => share(counts().self[fn], model.shown) },
			{ head: UNIT.many, wide: true, number: true, of: (fn) => counts().self[fn], cell: (fn) => amount(counts().self[fn]) },
			{ head: "Total", number: true, of: (fn) => counts().total[fn], cell: (fn) => share(counts().total[fn], model.shown) },
			{ head: UNIT.many, wide: true, number: true, of: (fn) => counts().total[fn], cell: (fn) => amount(counts().total[fn]) },
			{ head: "Function", of: (fn) => fn, cell: (fn) => el("span", { class: "name", title: model.name(fn) }, shorten(model.name(fn), 300)) },
			{ head: "Object", of: (fn) => lastPart(model.object(fn)),
				cell: (fn) => el("span", { class: "object", title: model.object(fn) }, lastPart(model.object(fn)) || "–") },
		], 0, (sort) => app.set({ sort }));
		this.note = el("p", { class: "note" });
		this.element = el("section", { class: "functions" }, this.note, this.table.element);
	}

	show() {
		const { app } = this, { model, matched } = app, rows = [];
		this.counts = model.functionCounts();
		for (let fn = 0; fn < model.nrFunctions; fn++)
			if (this.counts.total[fn] && model.kindOf[fn] !== KIND_LABEL && (!matched || matched[fn]))
				rows.push(fn);
		this.note.textContent = plural(rows.length, "function") + (matched ? " found" : "") +
			". Self: it ran; total: it ran or was on the stack. A click shows callers and callees." +
			(this.counts.exact ? "" : " Of the filtered samples, without frames that are left out.");
		this.table.show(rows, (fn) => app.openSandwich(fn), app.state.sort);
	}
}

class ProcessesView {
	constructor(app) {
		this.app = app;
		const { model } = app;
		this.table = new SortedTable([
			{ head: "Share", number: true, of: (row) => row.samples, cell: (row) => share(row.samples, model.samples) },
			{ head: UNIT.many, wide: true, number: true, of: (row) => row.samples, cell: (row) => amount(row.samples) },
			{ head: "Process", of: (row) => row.comm, cell: (row) => el("span", { class: "name" }, row.comm || "(no name)") },
			{ head: "pid", number: true, of: (row) => row.pid, cell: (row) => row.pid < 0 ? "–" : String(row.pid) },
			{ head: "Complete", number: true, of: (row) => row.judged ? row.complete / row.judged : -1,
				cell: (row) => row.judged ? percent(row.complete, row.judged) : "–" },
			{ head: "Most frequent other end", of: (row) => row.other, cell: (row) => row.other },
		], 0, (psort) => app.set({ psort }));
		this.element = el("section", { class: "functions" }, el("p", { class: "note" },
			"A click shows the samples of one process. Complete: walked to the outermost frame."), this.table.element);
	}

	rows() {
		const { model } = this.app, { groups, keys } = model, rows = new Map();
		const outermost = keys.stops.findIndex(([key]) => key === "outermost");
		const ignored = ["exiting", "execing"].map((name) => keys.stops.findIndex(([key]) => key === name));
		for (let i = 0; i < groups.nr; i++) {
			const key = groups.comm[i] + "/" + groups.pid[i], samples = model.groupCounts[i], stop = groups.stop[i];
			let row = rows.get(key);
			if (!row)
				rows.set(key, row = { key, comm: groups.comm[i], pid: groups.pid[i], samples: 0, judged: 0, complete: 0, stops: new Map() });
			row.samples += samples;
			if (stop >= 0 && !ignored.includes(stop)) {
				row.judged += samples;
				if (stop === outermost)
					row.complete += samples;
				else
					row.stops.set(stop, (row.stops.get(stop) || 0) + samples);
			}
		}
		for (const row of rows.values()) {
			const most = [...row.stops].sort((a, b) => b[1] - a[1])[0];
			row.other = most ? `${keys.stops[most[0]][0]} (${amount(most[1])})` : "";
		}
		return [...rows.values()];
	}

	show() {
		const { app } = this;
		this.table.show(this.rows(), (row) => app.set({ process: row.pid < 0 ? row.comm : row.key, view: "flame", zoom: 0 }), app.state.psort);
	}
}

// The books, how walks ended, where and how it was sampled: the numbers of the recording.
class RunView {
	constructor(app) {
		this.app = app;
		this.element = el("section", { class: "run", tabindex: 0 }); // it scrolls, and may hold nothing else to go to
	}

	card(title, ...content) {
		return el("article", {}, el("h2", {}, title), ...content);
	}

	list(entries) {
		return el("dl", {}, entries.filter(([, value]) => value !== undefined && value !== null && value !== "")
			.map(([key, value]) => [el("dt", {}, key), el("dd", {}, value)]));
	}

	books() {
		const { books } = this.app.model;
		if (books.fired === undefined)
			return this.card("The books", el("p", {}, "This recording came without books: it is from another tool, or was filtered."));
		const lost = Object.values(books.lost || {}).reduce((sum, value) => sum + value, 0);
		const closed = books.fired === books.shown + (books.idle || 0) + (books.filtered || 0) + lost;
		return this.card("The books", el("p", { class: "books" },
			`fired ${count(books.fired)} = shown ${count(books.shown)} + idle ${count(books.idle || 0)} + ` +
			`filtered ${count(books.filtered || 0)} + lost ${count(lost)}: `,
			el("b", { class: closed ? "good" : "bad" }, closed ? "closed" : "not closed")),
		this.list([
			["shown", percent(books.shown, books.fired) + " of what fired"],
			["complete", books.user_samples ? `${percent(books.complete, books.user_samples -
				((books.stop || {}).exiting || 0) - ((books.stop || {}).execing || 0))} of ${count(books.user_samples)} user stacks` : ""],
			["expected", books.expected === undefined ? "" : `${count(books.expected)}, missed ${count(books.missed || 0)}`],
			...Object.entries(books.lost || {}).filter(([, value]) => value).map(([key, value]) => ["lost: " + key, count(value)]),
		]));
	}

	environment() {
		const { run, version } = this.app.model;
		return this.card("The run", this.list([
			["command", run.args.length ? el("code", {}, run.args.join(" ")) : ""],
			["event", run.event], ["frequency", run.hz ? count(run.hz) + " Hz" : ""],
			["duration", run.duration_ms ? duration(run.duration_ms) : ""],
			["began", run.start_ms ? new Date(run.start_ms).toISOString().replace("T", " ").slice(0, 19) + " UTC" : ""],
			["CPUs", run.cpus ? count(run.cpus) : ""], ["kernel", run.kernel], ["written by", "fpless " + version],
		]));
	}

	// How often each of @keys was met, as filters. @select: the same as a choice of one, with those that are no key.
	tally(title, text, keys, countsOf, filter, select) {
		const { app } = this;
		const rows = keys.map(([key, meaning], i) => [key, meaning, countsOf(i)]).filter(([, , samples]) => samples)
			.sort((a, b) => b[2] - a[2]);
		return this.card(title, el("p", { class: "note" }, text), rows.length ? el("table", { class: "tally" }, el("tbody", {}, rows.map(([key, meaning, samples]) =>
			el("tr", { tabindex: 0, onclick: () => app.set({ ...filter(key), view: "flame", zoom: 0 }) },
				el("td", { class: "number" }, share(samples, app.model.samples)), el("td", { class: "number" }, amount(samples)),
				el("td", {}, el("b", {}, key)), el("td", {}, meaning))))) : el("p", {}, "None."), select);
	}

	groupsWith(test) {
		const { groups, groupCounts } = this.app.model;
		let sum = 0;
		for (let i = 0; i < groups.nr; i++)
			sum += test(i) ? groupCounts[i] : 0;
		return sum;
	}

	show() {
		const { app } = this, { model } = app, { groups, keys } = model, { books } = model;
		const tables = books.tables || {};
		this.element.replaceChildren(
			this.books(), this.environment(),
			this.tally("How walks ended", "Samples by the reason their user stack ends. A click shows them.",
				keys.stops, (i) => this.groupsWith((g) => groups.stop[g] === i), (key) => ({ stop: key }), app.selects.stop),
			this.tally("How frames were found", "Samples with at least one frame found that way; of several, each counts. A click shows them.",
				keys.origins, (i) => this.groupsWith((g) => groups.origins[g] & 1 << i),
				(key) => ({ found: "has:" + keys.origins.findIndex(([name]) => name === key) }), app.selects.found),
			keys.classes.length && groups.class.some((value) => value >= 0) ?
				this.tally("What frame pointers are worth", "Samples by the class of their frame-pointer walk.", keys.classes,
					(i) => this.groupsWith((g) => groups.class[g] === i), (key) => ({ class: key })) : "",
			this.card("What it cost", this.list([
				["in the kernel, per sample", books.bpf_runs ? count(books.bpf_ns / books.bpf_runs) + " ns" : ""],
				["CPU time of fpless", books.user_cpu_ms === undefined ? "" : duration(books.user_cpu_ms)],
				["peak memory", books.rss_peak_bytes ? bytes(books.rss_peak_bytes) : ""],
				["unwind tables", tables.objects ? `${plural(tables.objects, "object")}, ${bytes(tables.bytes)}` : ""],
				["BPF maps", books.maps_bytes ? bytes(books.maps_bytes) : ""],
				["start", books.startup_ms === undefined ? "" : duration(books.startup_ms)],
			])),
			el("article", { class: "wide" }, el("details", {}, el("summary", {}, "All closing numbers"),
				el("pre", {}, readable2(JSON.stringify(books, null, 2))))));
	}
}

// Lines stay lines.
function readable2(text) {
	return text.split("\n").map(readable).join("\n");
}
