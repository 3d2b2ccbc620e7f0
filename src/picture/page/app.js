// SPDX-License-Identifier: Apache-2.0
// The page: what is chosen, in the address too; search, keys, and what is said of the frame under the pointer.

const NOTHING_CHOSEN = { view: "flame", zoom: 0, q: "", process: "", thread: "", stop: "", found: "", class: "", state: "", time: "", color: "object", width: "", theme: "" };
const FILTERS = ["process", "thread", "stop", "found", "class", "state", "time"];
const RUN_FILTERS = { stop: "Walk ended", found: "Frames found" }; // chosen in the tab Run, shown in all
const PROCESSES_LISTED = 300, THREADS_LISTED = 300;

class App {
	constructor(model) {
		this.model = model;
		this.colors = new Colors(model);
		this.ruler = new Ruler(`12px ${getComputedStyle(document.body).fontFamily}`);
		this.matched = null;
		this.tabs = new Tabs(this, byId("main"));
		const modes = COLOR_MODES.filter(([key]) => key !== "state" || model.hasStates);
		this.colorModes = model.diff ? [["change", "by change"], ...modes] : modes;
		this.initial = { ...NOTHING_CHOSEN, ...this.tabs.state, view: model.run.inverted ? "icicle" : this.tabs.list[0].key,
			color: model.diff ? "change" : model.run.by_origin ? "found" : model.hasStates ? "state" : this.colors.usual(), width: model.diff ? SIDES[model.diff.wide_by] : "" };
		this.state = { ...this.initial };
		this.build();
		addEventListener("hashchange", () => this.readAddress());
		addEventListener("popstate", () => this.readAddress());
		addEventListener("keydown", (event) => this.pressed(event));
		let waiting = 0;
		addEventListener("resize", () => {
			cancelAnimationFrame(waiting);
			waiting = requestAnimationFrame(() => {
				if (this.strip)
					this.strip.draw();
				this.view().show();
			});
		});
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.apply({}));
		this.readAddress();
	}

	view() {
		return this.tabs.view(this.state.view);
	}

	filter() {
		return Object.fromEntries(FILTERS.map((key) => [key, this.state[key]]));
	}

	isDark() {
		return this.state.theme ? this.state.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	}

	// The controls.

	build() {
		const { model } = this, { run, books } = model;
		const command = run.title || (model.diff ? model.diff.command() : run.args.join(" "));
		document.title = (command ? shorten(command, 80) + " - " : "") + "fpless";
		const lost = Object.values(books.lost || {}).reduce((sum, value) => sum + value, 0);
		byId("head").replaceChildren(el("h1", {}, "fpless"), el("span", { class: "command", title: command }, shorten(command, 300)),
			el("span", { class: "facts" }, [
				this.counted(), model.diff && model.diff.whole ? points(model.diff.whole.change) + " % a run" : "", run.event, run.hz ? count(run.hz) + " Hz" : "",
				run.duration_ms ? duration(run.duration_ms) : "", lost ? plural(lost, "sample") + " lost" : "",
			].filter(Boolean).join(" · ")),
			...(model.diff ? [el("p", { class: "headline" }, readable(model.diff.headline))] : []),
			el("button", { class: "icon", title: "Light or dark (d)", "aria-label": "Light or dark", onclick: () => this.toggleTheme() }, "◐"),
			el("button", { class: "icon", title: "Keys (?)", "aria-label": "Keys", onclick: () => this.toggleHelp() }, "?"));
		this.selects = {
			process: this.select("process", "Process: all", this.processChoices()),
			thread: this.select("thread", "Thread: all", this.threadChoices()),
			stop: this.select("stop", "Walk ended: any way", this.stopChoices()),
			found: this.select("found", "Frames found: any way", this.foundChoices()),
			class: this.select("class", "Class: all", this.classChoices()),
			state: this.select("state", "All states", this.stateChoices()),
			color: el("select", { "aria-label": "Colours", title: "Colours", onchange: (event) => this.set({ color: event.target.value }) },
				this.colorModes.map(([value, text]) => el("option", { value }, "Colour " + text))),
		};
		if (model.diff)
			this.selects.width = el("select", { "aria-label": "Widths", title: "Frames are as wide as (w)", onchange: (event) => this.set({ width: event.target.value }) },
				SIDES.map((value) => el("option", { value }, "Width " + value)));
		this.chips = el("span", { class: "chips" });
		this.search = el("input", { type: "search", placeholder: "Search (/): a pattern", "aria-label": "Search", title: "A regular expression; lower case finds both cases",
			spellcheck: "false", oninput: () => this.typed() });
		this.searched = el("output", { class: "searched" });
		byId("tools").replaceChildren(this.tabs.element,
			el("div", { class: "filters" }, Object.entries(this.selects).filter(([key]) => !RUN_FILTERS[key]).map(([, select]) => select), this.chips, el("button", { class: "reset", onclick: () => this.resetFilters() }, "All samples")),
			el("div", { class: "find" }, this.search, this.searched));
		byId("loading").remove();
		if (model.times) {
			this.strip = new TimeStrip(this, model.times);
			byId("time").replaceChildren(...this.strip.parts);
		}
	}

	select(key, all, choices) {
		const select = el("select", { "aria-label": all, "data-filter": key, onchange: (event) => this.set({ [key]: event.target.value, zoom: 0 }) },
			el("option", { value: "" }, all), choices.map(([value, text]) => el("option", { value }, text)));
		select.hidden = (choices.length < 2 && key !== "found") || Boolean(this.model.diff);
		return select;
	}

	// All that there is.
	counted() {
		const { model } = this;
		return model.diff ? model.diff.sides.map((side, i) => `${samples(side.samples)} ${SIDES[i]}`).join(", ") : samples(model.samples);
	}

	sums(keyOf) {
		const { groups, groupCounts } = this.model, sums = new Map();
		for (let i = 0; i < groups.nr; i++) {
			const key = keyOf(i);
			if (key !== null)
				sums.set(key, (sums.get(key) || 0) + groupCounts[i]);
		}
		return [...sums].sort((a, b) => b[1] - a[1]);
	}

	processChoices() {
		const { groups } = this.model, all = this.model.samples;
		const names = this.sums((i) => groups.comm[i]), pids = this.sums((i) => groups.pid[i] < 0 ? null : groups.comm[i] + "/" + groups.pid[i]);
		const perName = new Map();
		for (const [key, samples] of pids) {
			const comm = key.slice(0, key.lastIndexOf("/"));
			if (!perName.has(comm))
				perName.set(comm, []);
			perName.get(comm).push([key, samples]);
		}
		const choices = [];
		for (const [comm, samples] of names) {
			const own = perName.get(comm) || [];
			choices.push([comm, `${shorten(comm || "(no name)", 40)} ${percent(samples, all)}`]);
			if (own.length > 1)
				for (const [key, part] of own.slice(0, 50))
					choices.push([key, `\u2003pid ${key.slice(key.lastIndexOf("/") + 1)} ${percent(part, all)}`]);
			if (choices.length > PROCESSES_LISTED)
				break;
		}
		return choices;
	}

	threadChoices() {
		const { threads, samples } = this.model, choices = [];
		for (let i = 0; threads && i < threads.nr && i < THREADS_LISTED; i++)
			choices.push([String(i), `${shorten(threads.name(i), 40)} ${percent(threads.counts[i], samples)}`]);
		return choices;
	}

	stopChoices() {
		const { groups, keys, samples } = this.model;
		return this.sums((i) => groups.stop[i] < 0 ? null : keys.stops[groups.stop[i]][0])
			.map(([key, sum]) => [key, `${key} ${percent(sum, samples)}`]);
	}

	foundChoices() {
		const { groups, groupCounts, keys } = this.model;
		let seen = 0;
		for (let i = 0; i < groups.nr; i++)
			seen |= groupCounts[i] ? groups.origins[i] : 0;
		return [["cfi", "by CFI alone"], ...keys.origins.map(([key], i) => ["has:" + i, "with frames of " + key]).filter((_, i) => seen & 1 << i),
			["none", "no user frames"]];
	}

	classChoices() {
		const { groups, keys, samples } = this.model;
		return this.sums((i) => groups.class[i] < 0 ? null : keys.classes[groups.class[i]][0])
			.map(([key, sum]) => [key, `${key} ${percent(sum, samples)}`]);
	}

	stateChoices() {
		const { groups, keys, samples } = this.model;
		return this.sums((i) => groups.state[i] < 0 ? null : keys.states[groups.state[i]])
			.map(([key, sum]) => [key, `${key} ${percent(sum, samples)}`]);
	}

	// What is chosen.

	// Take over what changes; @remember: so that Back leads here again.
	set(changes, remember = true) {
		if (this.apply(changes))
			this.writeAddress(remember);
	}

	apply(changes) {
		const before = this.state, state = this.state = { ...before, ...changes }, { model } = this;
		if (!this.tabs.has(state.view))
			state.view = this.initial.view;
		if (!this.colorModes.some(([key]) => key === state.color))
			state.color = this.initial.color;
		if (model.diff) {
			if (!SIDES.includes(state.width))
				state.width = this.initial.width;
			model.widen(SIDES.indexOf(state.width));
		}
		if (!model.times || !model.times.during(state.time))
			state.time = "";
		if (!model.threads || !model.threads.has(state.thread))
			state.thread = "";
		if (FILTERS.some((key) => before[key] !== state[key]))
			model.weigh(this.filter());
		if (!(state.zoom > 0 && state.zoom < model.tree.nr && model.tree.total[state.zoom]))
			state.zoom = 0;
		if (before.q !== state.q || !this.searchedFor)
			this.match(state.q);
		const dark = this.isDark();
		document.documentElement.dataset.theme = dark ? "dark" : "light";
		this.colors.use(state.color, dark);
		this.showControls();
		if (this.strip)
			this.strip.show();
		this.view().show();
		this.showSearched();
		return Object.keys(state).some((key) => state[key] !== before[key]);
	}

	showControls() {
		const { state } = this;
		this.tabs.bring(state.view);
		for (const [key, select] of Object.entries(this.selects)) {
			if (state[key] && ![...select.options].some((option) => option.value === state[key]))
				select.append(el("option", { value: state[key] }, key === "thread" ? this.model.threads.name(Number(state[key])) : state[key]));
			select.value = state[key];
			if (key === "class" && !this.model.diff) // there, it is the row of classes
				select.hidden = state.view === "compare" || select.options.length < 3;
			select.classList.toggle("on", FILTERS.includes(key) && Boolean(state[key]));
		}
		this.chips.replaceChildren(...Object.entries(RUN_FILTERS).filter(([key]) => state[key]).map(([key, text]) =>
			el("button", { class: "chip", title: "Take this filter away", onclick: () => this.set({ [key]: "", zoom: 0 }) },
				`${text}: ${this.selects[key].selectedOptions[0].textContent}`)));
		byId("tools").querySelector(".reset").hidden = !this.model.filtered;
		if (this.search !== document.activeElement)
			this.search.value = state.q;
		this.showStatus(null, -1);
		this.hideTip();
	}

	zoom(node) {
		this.set({ zoom: node });
	}

	openSandwich(fn) {
		this.set({ view: "sandwich", fn, up: 0, down: 0 });
	}

	resetFilters() {
		this.set({ ...Object.fromEntries(FILTERS.map((key) => [key, ""])), zoom: 0 });
	}

	toggleTheme() {
		this.set({ theme: this.isDark() ? "light" : "dark" }, false);
	}

	writeAddress(remember) {
		const parts = new URLSearchParams();
		for (const [key, value] of Object.entries(this.state))
			if (value !== this.initial[key])
				parts.set(key, value);
		const address = "#" + parts;
		if (address !== (location.hash || "#"))
			history[remember ? "pushState" : "replaceState"](null, "", address);
	}

	readAddress() {
		const state = { ...this.initial };
		for (const [key, value] of new URLSearchParams(location.hash.slice(1)))
			if (key in state)
				state[key] = typeof state[key] === "number" ? Math.trunc(Number(value)) || 0 : value;
		this.apply(state);
	}

	// Search.

	typed() {
		clearTimeout(this.typing);
		this.typing = setTimeout(() => this.set({ q: this.search.value }, false), 80);
	}

	match(text) {
		const began = performance.now(), { model } = this;
		this.searchedFor = true;
		this.matched = null;
		this.searchError = "";
		if (!text)
			return;
		let pattern;
		try {
			pattern = new RegExp(text, text === text.toLowerCase() ? "i" : "");
		} catch (error) {
			this.searchError = "no regular expression";
			return;
		}
		// a name is matched once, whatever functions have it
		const names = new Uint8Array(model.names.length); // 1: no, 2: yes
		this.matched = new Uint8Array(model.nrFunctions);
		for (let fn = 0; fn < model.nrFunctions; fn++) {
			const name = model.nameOf[fn];
			if (!names[name])
				names[name] = pattern.test(model.names[name]) ? 2 : 1;
			this.matched[fn] = names[name] - 1;
		}
		this.searchTime = performance.now() - began;
	}

	showSearched() {
		const { model, matched } = this;
		if (!matched) {
			this.searched.textContent = this.searchError;
			return;
		}
		const found = model.matchedSamples(model.tree, matched);
		let names = 0;
		for (const one of matched)
			names += one;
		this.searched.textContent = `${percent(found, model.shown)}${model.diff ? " " + this.state.width : ""} (${amount(found)}), ${plural(names, "name")}`;
	}

	// What is said of a frame.

	// The root of a walk is no function: all of them.
	isAll(tree, node) {
		return !node && this.model.trees.includes(tree);
	}

	nameOf(tree, node) {
		return this.isAll(tree, node) ? "all" : this.model.name(tree.fn[node]);
	}

	colorOf(tree, node) {
		if (this.state.color === "change")
			return this.model.diff.colorOf(tree, node, this.colors);
		return this.isAll(tree, node) ? this.colors.shade(0.012, 260, 0.2) : this.colors.of(tree.fn[node], tree.found[node]);
	}

	// The parts of a frame's story: heading, lines.
	describe(tree, node) {
		const { model } = this, fn = tree.fn[node], total = tree.total[node], whole = tree.total[0], lines = [];
		if (model.diff)
			lines.push(...model.diff.describe(tree, node));
		if (this.isAll(tree, node))
			return ["all", lines.length ? lines : [samples(whole)]];
		if (!model.diff)
			lines.push(`${samples(total)}, ${percent(total, whole)}` +
				(tree.parent[node] ? `, ${percent(total, tree.total[tree.parent[node]])} of its ${tree.left ? "caller" : "neighbour"}` : ""));
		if (!model.diff && tree.self[node] && tree.left)
			lines.push(`self ${amount(tree.self[node])}, ${percent(tree.self[node], whole)}`);
		if (tree.left && tree.left[node])
			lines.push(`${samples(tree.left[node])} in frames that are left out`);
		const found = model.keys.origins.filter((_, i) => tree.found[node] & 1 << i).map(([key]) => key);
		const object = model.object(fn);
		if (tree.elided && tree.elided.has(node))
			lines.push(`${plural(tree.elided.get(node), "frame")} at most`);
		else if (model.kindOf[fn] !== KIND_LABEL)
			lines.push([model.kindOf[fn] === KIND_KERNEL && object !== "kernel" ? "kernel " + object : object || "in no object",
				tree.found[node] & OF_WAKER && model.name(fn) !== DELIMITER ? "of who ended the wait" : "", tree.found[node] & FOUND_INLINED ? "inlined" : "", found.length ? "found by " + found.join(", ") : ""].filter(Boolean).join(" · "));
		if (tree.marked)
			MARKS.forEach(([key, text], kind) => {
				if (tree.marked[kind][node])
					lines.push(`${key} in ${samples(tree.marked[kind][node])}: ${text}`);
			});
		return [model.name(fn), lines];
	}

	// @more: a line of what the view knows beside.
	showTip(x, y, tree, node, more = "") {
		const tip = byId("tip");
		if (this.tipOf !== node || this.tipIn !== tree || this.tipMore !== more || tip.hidden) {
			const [heading, lines] = this.describe(tree, node);
			tip.replaceChildren(el("b", {}, shorten(heading, 400)), ...[more, ...lines].filter(Boolean).map((line) => el("div", {}, line)));
			tip.hidden = false;
			this.tipOf = node;
			this.tipIn = tree;
			this.tipMore = more;
		}
		const { offsetWidth, offsetHeight } = tip;
		tip.style.left = Math.max(4, x + 14 + offsetWidth > innerWidth ? x - offsetWidth - 10 : x + 14) + "px";
		tip.style.top = Math.max(4, y + 18 + offsetHeight > innerHeight ? y - offsetHeight - 10 : y + 18) + "px";
	}

	hideTip() {
		byId("tip").hidden = true;
	}

	showStatus(tree, node) {
		const status = byId("status");
		if (!tree || node < 0) {
			status.replaceChildren(el("span", {}, this.model.filtered ? `${samples(this.model.shown)} of ${amount(this.model.samples)} (filtered)` :
				this.counted()), el("span", { class: "hint" }, "click: zoom · s: callers and callees · ?: keys"));
			return;
		}
		const [heading, lines] = this.describe(tree, node);
		status.replaceChildren(el("b", {}, this.ruler.fit(heading, innerWidth * 0.5)), el("span", {}, lines.join(" · ")));
	}

	// Keys.

	keys() {
		return [
			...this.tabs.list.slice(0, 9).map(({ key, title }, i) => [String(i + 1), title, () => this.set({ view: key })]),
			["/", "search", () => { this.search.focus(); this.search.select(); }],
			["Escape", "leave the search, then clear it, then zoom out", () => this.escape()],
			["Backspace", "zoom out by one frame", () => this.set({ zoom: this.model.tree.parent[this.state.zoom] })],
			["0", "zoom out", () => this.zoom(0)],
			["s", "callers and callees of the frame pointed at or selected", () => this.sandwichOfFrame()],
			["c", "next colours", () => this.nextColors()],
			this.model.diff ? ["w", "as wide as before, as wide as after", () => this.set({ width: SIDES[1 - SIDES.indexOf(this.state.width)] })] :
				["a", "all samples: no filter", () => this.resetFilters()],
			["d", "light or dark", () => this.toggleTheme()],
			["?", "these keys", () => this.toggleHelp()],
		];
	}

	pressed(event) {
		const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
		if (event.ctrlKey || event.altKey || event.metaKey || (typing && event.key !== "Escape"))
			return;
		const entry = this.keys().find(([key]) => key === event.key);
		if (byId("help").open && event.key !== "?")
			return; // the dialog closes itself
		if (entry) {
			event.preventDefault();
			entry[2]();
		}
	}

	escape() {
		const view = this.view();
		if (this.search === document.activeElement)
			this.search.blur();
		else if (view.escape && view.escape())
			return;
		else if (this.state.q)
			this.set({ q: "" }, false);
		else
			this.zoom(0);
	}

	sandwichOfFrame() {
		const { flame } = this.view();
		const node = !flame ? -1 : flame.hovered > 0 ? flame.hovered : flame.selected;
		if (node > 0 && this.model.kindOf[flame.tree.fn[node]] !== KIND_LABEL)
			this.openSandwich(flame.tree.fn[node]);
		else
			this.set({ view: "sandwich" });
	}

	nextColors() {
		const modes = this.colorModes, at = modes.findIndex(([key]) => key === this.state.color);
		this.set({ color: modes[(at + 1) % modes.length][0] }, false);
	}

	toggleHelp() {
		const help = byId("help");
		if (help.open) {
			help.close();
			return;
		}
		help.replaceChildren(el("h2", {}, "Keys"), el("dl", {}, [...this.keys(),
			["arrows", "from frame to frame, once one was clicked; Enter zooms to it"],
			...(this.model.threads && this.model.threads.timed ? [["drag", "in the chart: zoom to that time; a click: to the time of a frame"],
				["+ and -", "in a thread of the chart: zoom; with Shift, arrows move"]] : []),
			...(this.strip ? [["drag", "in the strip of time: what was sampled then; a click there: all of it again"]] : [])]
			.map(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)])),
		el("p", {}, "What is chosen is in the address of the page: it can be kept and sent, beside the file."),
		el("button", { onclick: () => help.close() }, "Close"));
		help.showModal();
	}
}

const element = byId("data"), raw = JSON.parse(element.textContent);
element.remove();
useUnit(raw.run);
const app = new App(new Model(raw));
window.fpless = { app, ready: true };
requestAnimationFrame(() => setTimeout(() => { window.fpless.drawn = performance.now(); }));
