// SPDX-License-Identifier: Apache-2.0
// The chart: what each thread ran when. A track for each, how busy it was; opened, its stacks in time. Equal frames of
// samples that follow each other are one box, drawn lighter where the thread was not seen in between.

const TRACK_HEIGHT = 24, ROW_HEIGHT = 17, LANES_AT_ONCE = 50, LANES_OPEN = 4, ROWS_OPEN = 80, ROWS_MAX = 1000, DRAG_PX = 4, BAR_PX = 3;

class ChartView {
	constructor(app) {
		this.app = app;
		this.axis = el("canvas", { class: "axis", "aria-hidden": "true" });
		this.said = el("output", {});
		this.out = el("button", { onclick: () => app.set({ span: "" }) }, "Zoom out");
		this.note = el("p", { class: "note" });
		this.more = el("button", { class: "more", onclick: () => { this.limit += LANES_AT_ONCE; this.show(); } });
		this.list = el("div", { class: "lanes", onscroll: () => this.drawSeen() });
		this.legend = el("div", { class: "legend" });
		this.element = el("section", { class: "chart" }, el("div", { class: "span" }, this.said, this.out, this.note), this.list, this.legend);
		this.ticks = el("div", { class: "ticks" }, this.axis);
		this.limit = LANES_AT_ONCE;
		this.lanes = new Map();
	}

	// The time that is shown, in parts: of the zoom, else of the time that is chosen, else all.
	range() {
		const { app } = this, { times, threads } = app.model, match = /^(\d+)-(\d+)$/.exec(app.state.span);
		const most = times.slices * threads.parts, chosen = times.during(app.state.time);
		if (match && Number(match[1]) < Number(match[2]) && Number(match[2]) <= most)
			return { from: Number(match[1]), to: Number(match[2]) };
		return chosen ? { from: chosen.from * threads.parts, to: (chosen.to + 1) * threads.parts } : { from: 0, to: most };
	}

	get nsOfPart() {
		return this.app.model.times.slice / this.app.model.threads.parts;
	}

	seconds(part, digits) {
		return ((this.app.model.times.from + part * this.nsOfPart) / 1e9).toFixed(digits);
	}

	// As fine as a hundredth of what is shown.
	text(part) {
		const { from, to } = this.shown;
		return this.seconds(part, Math.min(9, Math.max(2, Math.ceil(11 - Math.log10((to - from) * this.nsOfPart)))));
	}

	show() {
		const { app } = this, { model, state } = app, { threads } = model;
		this.shown = this.range();
		this.wanted = model.groups.select(app.filter(), model.keys);
		const wanted = [];
		for (let i = 0; i < threads.nr; i++)
			if (!state.thread ? this.ran(i) : Number(state.thread) === i)
				wanted.push(i);
		const shown = wanted.slice(0, this.limit), open = this.opened(shown);
		for (const thread of shown)
			if (!this.lanes.has(thread))
				this.lanes.set(thread, new Lane(this, thread));
		const lanes = shown.map((thread) => this.lanes.get(thread));
		this.more.hidden = wanted.length <= this.limit;
		this.more.textContent = `Show more of ${plural(wanted.length, "thread")}`;
		this.list.replaceChildren(this.ticks, ...lanes.map((lane) => lane.element), this.more);
		for (const lane of lanes)
			lane.use(open.has(lane.thread));
		this.current = lanes;
		const { from, to } = this.shown, { leftOut } = threads;
		this.said.textContent = `${this.text(from)} to ${this.text(to)} s`;
		this.out.hidden = !state.span;
		this.note.textContent = !wanted.length ? "No samples here." : leftOut.threads ?
			`${plural(leftOut.threads, "thread")} with ${samples(leftOut.samples)} ${leftOut.threads === 1 ? "is" : "are"} left out` : "";
		this.legend.replaceChildren(...legend(app, model.tree));
		this.drawAxis();
		this.drawSeen();
	}

	ran(thread) {
		const of = this.app.model.threads.samples(thread), { ends } = this.app.model.threads;
		for (let i = 0; i < of.nr; i++)
			if (this.wanted[ends.group[of.end[i]]])
				return true;
		return false;
	}

	// Which threads have their stacks shown: those of the address, else the first few.
	opened(shown) {
		const { lanes } = this.app.state;
		if (lanes)
			return new Set(lanes.split(".").map(Number));
		const open = new Set();
		let rows = 0;
		for (const thread of shown.slice(0, LANES_OPEN)) {
			rows += this.rowsOf(thread);
			if (open.size && rows > ROWS_OPEN)
				break;
			open.add(thread);
		}
		return open;
	}

	rowsOf(thread) {
		if (!this.rows)
			this.rows = new Map();
		if (!this.rows.has(thread)) {
			const { threads } = this.app.model, of = threads.samples(thread), rowsTo = this.rowsTo();
			let rows = 0;
			for (let i = 0; i < of.nr; i++)
				rows = Math.max(rows, rowsTo[threads.ends.node[of.end[i]]]);
			this.rows.set(thread, Math.min(rows, ROWS_MAX));
		}
		return this.rows.get(thread);
	}

	// Frames from the root to each node, labels not among them.
	rowsTo() {
		const { tree, kindOf } = this.app.model;
		if (!this.rowsOfNodes) {
			const rows = this.rowsOfNodes = new Int32Array(tree.nr);
			for (let i = 1; i < tree.nr; i++)
				rows[i] = rows[tree.parent[i]] + (kindOf[tree.fn[i]] !== KIND_LABEL);
		}
		return this.rowsOfNodes;
	}

	toggle(thread) {
		const open = this.opened(this.current.map((lane) => lane.thread));
		if (!open.delete(thread))
			open.add(thread);
		this.app.set({ lanes: [...open].sort((a, b) => a - b).join(".") || "-" }, false);
	}

	zoom(from, to) {
		const { times, threads } = this.app.model, most = times.slices * threads.parts;
		from = Math.max(0, Math.floor(from));
		to = Math.min(most, Math.ceil(to));
		if (to > from)
			this.app.set({ span: from === 0 && to === most ? "" : `${from}-${to}` });
	}

	// By a share of what is shown.
	pan(share) {
		const { times, threads } = this.app.model, { from, to } = this.shown, most = times.slices * threads.parts;
		const by = Math.max(-from, Math.min(most - to, Math.round(share * (to - from))));
		this.zoom(from + by, to + by);
	}

	scale(factor) {
		const { from, to } = this.shown, middle = (from + to) / 2, half = Math.max(1, (to - from) * factor / 2);
		this.zoom(middle - half, middle + half);
	}

	escape() {
		if (!this.app.state.span || this.app.state.q)
			return false;
		this.app.set({ span: "" });
		return true;
	}

	drawAxis() {
		const to = fitCanvas(this.axis), { from, to: until } = this.shown, width = this.axis.clientWidth;
		if (!to)
			return;
		const seconds = (until - from) * this.nsOfPart / 1e9, begin = (this.app.model.times.from + from * this.nsOfPart) / 1e9;
		let step = 10 ** Math.floor(Math.log10(seconds / Math.max(1, width / 90)));
		step *= [1, 2, 5, 10].find((times) => seconds / (step * times) <= width / 90) || 10;
		to.fillStyle = colorOf("--quiet");
		to.font = this.app.ruler.font;
		to.textBaseline = "middle";
		for (let i = Math.ceil(begin / step); i * step <= begin + seconds; i++) {
			const x = Math.round((i * step - begin) / seconds * width);
			to.fillRect(x, 0, 1, 18);
			to.fillText((i * step).toFixed(Math.max(0, Math.ceil(-Math.log10(step) - 1e-9))) + " s", x + 4, 9);
		}
	}

	// Which nodes have a function that was searched for on their stacks; kept while the search is the same.
	matchedNodes() {
		const { matched, model } = this.app, { tree } = model;
		if (this.matchedFor !== matched) {
			const on = this.matchedOn = new Uint8Array(tree.nr);
			for (let i = 1; i < tree.nr; i++)
				on[i] = on[tree.parent[i]] | matched[tree.fn[i]];
			this.matchedFor = matched;
		}
		return this.matchedOn;
	}

	drawSeen() {
		const seen = this.list.getBoundingClientRect();
		for (const lane of this.current || []) {
			const box = lane.canvas.getBoundingClientRect();
			if (box.bottom >= seen.top && box.top <= seen.bottom)
				lane.draw();
		}
	}
}

// A context of @canvas, whose pixels are those of the screen; null: it has no room.
function fitCanvas(canvas) {
	const { clientWidth: width, clientHeight: height } = canvas, scale = devicePixelRatio || 1;
	if (!width || !height)
		return null;
	canvas.width = width * scale;
	canvas.height = height * scale;
	const to = canvas.getContext("2d");
	to.scale(scale, scale);
	return to;
}

function colorOf(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name);
}

// One thread: its name and its track; its stacks below, if it is open.
class Lane {
	constructor(view, thread) {
		const { threads, samples: all } = view.app.model, name = threads.name(thread);
		this.view = view;
		this.thread = thread;
		this.button = el("button", { class: "thread", "aria-expanded": "false", title: name + ": a click shows its stacks, or hides them",
			onclick: () => view.toggle(thread) }, el("span", {}, view.app.ruler.fit(name, 130)), el("small", {}, percent(threads.counts[thread], all)));
		this.canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": `${name} in time: arrows go from frame to frame, Enter zooms, + and - zoom, with Shift arrows move`,
			onpointerdown: (event) => this.begin(event), onpointermove: (event) => this.move(event), onpointerup: (event) => this.end(event),
			onpointercancel: () => this.drop(), onpointerleave: () => this.leave(), onkeydown: (event) => this.pressed(event) });
		this.element = el("div", { class: "lane" }, this.button, this.canvas);
		this.boxes = [];
		this.selected = null;
	}

	use(open) {
		const rows = open ? this.view.rowsOf(this.thread) : 0;
		this.open = open;
		this.canvas.style.height = TRACK_HEIGHT + rows * ROW_HEIGHT + (open ? 6 : 0) + "px";
		this.button.setAttribute("aria-expanded", String(open));
	}

	get scale() {
		const { from, to } = this.view.shown;
		return this.canvas.clientWidth / (to - from);
	}

	// The samples that are seen, as [from, to, index], in pixels; of those that share a pixel one.
	seen() {
		const { view, scale } = this, { threads } = view.app.model, of = threads.samples(this.thread), { from, to } = view.shown, list = [];
		let low = 0, high = of.nr;
		while (low < high) {
			const middle = low + high >> 1;
			if (of.at[middle] < from)
				low = middle + 1;
			else
				high = middle;
		}
		let last = -Infinity;
		for (let i = low; i < of.nr; i++) {
			const begin = of.at[i] - of.weight[i] / view.nsOfPart;
			if (begin > to)
				break;
			if (!view.wanted[threads.ends.group[of.end[i]]])
				continue;
			const x = (of.at[i] - from) * scale;
			if (x - last < 0.7)
				continue;
			list.push([Math.max((begin - from) * scale, last), x, i]);
			last = x;
		}
		return list;
	}

	draw() {
		const { canvas, view } = this, to = fitCanvas(canvas);
		if (!to)
			return;
		const seen = this.seen();
		this.drawTrack(to);
		this.boxes = [];
		if (!this.open)
			return;
		this.makeBoxes(seen);
		const { tree } = view.app.model, { app } = view, matched = app.matched, text = colorOf("--frame-text"), matchText = colorOf("--match-text"), match = colorOf("--match"), width = canvas.clientWidth;
		to.textBaseline = "middle";
		to.font = app.ruler.font;
		for (const row of this.boxes)
			for (const box of row || []) {
				const y = TRACK_HEIGHT + box.row * ROW_HEIGHT, hit = matched && matched[tree.fn[box.node]];
				to.fillStyle = hit ? match : app.colorOf(tree, box.node);
				to.globalAlpha = (matched && !hit ? 0.4 : 1) * 0.35;
				to.fillRect(box.x0, y, Math.max(0.5, box.x1 - box.x0), ROW_HEIGHT - 1);
				to.globalAlpha = matched && !hit ? 0.4 : 1;
				for (const [x0, x1] of box.ran)
					to.fillRect(x0, y, Math.max(0.5, x1 - x0 - (x1 === box.x1 && x1 - x0 > 3 ? 1 : 0)), ROW_HEIGHT - 1);
				to.globalAlpha = 1;
				const left = Math.max(0, box.x0), room = Math.min(width, box.x1) - left - 6;
				if (room > 24) {
					to.fillStyle = hit ? matchText : text;
					to.fillText(app.ruler.fit(app.model.name(tree.fn[box.node]), room), left + 3, y + ROW_HEIGHT / 2);
				}
			}
		if (this.selected)
			this.outline(to, this.boxAt(this.selected));
		if (this.dragged) {
			to.fillStyle = colorOf("--accent");
			to.globalAlpha = 0.25;
			to.fillRect(Math.min(this.anchor, this.dragged), 0, Math.abs(this.dragged - this.anchor), canvas.clientHeight);
			to.globalAlpha = 1;
		}
	}

	outline(to, box) {
		if (!box)
			return;
		to.strokeStyle = colorOf("--accent");
		to.lineWidth = 2;
		to.strokeRect(box.x0 + 1, TRACK_HEIGHT + box.row * ROW_HEIGHT + 1, Math.max(2, box.x1 - box.x0 - 2), ROW_HEIGHT - 3);
	}

	// How much of the time of each few pixels it ran.
	drawTrack(to) {
		const { view, scale, canvas } = this, { model, matched } = view.app, { threads, tree } = model, of = threads.samples(this.thread);
		const width = Math.ceil(canvas.clientWidth / BAR_PX), busy = new Float64Array(width), found = new Float64Array(width), { from } = view.shown;
		const on = matched && view.matchedNodes();
		for (let i = 0; i < of.nr; i++) {
			const end = of.end[i];
			if (!view.wanted[threads.ends.group[end]])
				continue;
			const x1 = Math.min(width, (of.at[i] - from) * scale / BAR_PX), x0 = Math.max(0, (of.at[i] - of.weight[i] / view.nsOfPart - from) * scale / BAR_PX);
			for (let x = Math.floor(x0); x < x1; x++) {
				const part = Math.min(x1, x + 1) - Math.max(x0, x);
				busy[x] += part;
				if (on && on[threads.ends.node[end]])
					found[x] += part;
			}
		}
		const high = TRACK_HEIGHT - 4, bar = (values, name) => {
			to.fillStyle = colorOf(name);
			for (let x = 0; x < width; x++)
				if (values[x] > 0) {
					const height = Math.max(1, high * Math.min(1, values[x]));
					to.fillRect(x * BAR_PX, 2 + high - height, BAR_PX, height);
				}
		};
		to.fillStyle = colorOf("--hover");
		to.fillRect(0, 2, canvas.clientWidth, high);
		bar(busy, "--accent");
		bar(found, "--match");
	}

	// Boxes of the frames of @seen, by row: { row, node, x0, x1, ran: [[x0, x1]...], samples }.
	makeBoxes(seen) {
		const { view } = this, { tree, threads, kindOf } = view.app.model, of = threads.samples(this.thread), open = [];
		for (const [x0, x1, i] of seen) {
			const path = [];
			for (let node = threads.ends.node[of.end[i]]; node; node = tree.parent[node])
				if (kindOf[tree.fn[node]] !== KIND_LABEL)
					path.push(node);
			path.reverse();
			path.length = Math.min(path.length, ROWS_MAX);
			let shared = 0;
			while (shared < open.length && shared < path.length && open[shared].node === path[shared])
				shared++;
			open.length = shared;
			for (let row = shared; row < path.length; row++) {
				const box = { row, node: path[row], x0, x1, ran: [], samples: 0 };
				open.push(box);
				(this.boxes[row] ||= []).push(box);
			}
			for (const box of open) {
				const last = box.ran[box.ran.length - 1];
				// a gap of less than half a sample does not count: clocks are not that exact
				if (last && x0 - last[1] <= Math.max(0.5, (x1 - x0) / 2))
					last[1] = x1;
				else
					box.ran.push([x0, x1]);
				box.x1 = x1;
				box.samples++;
			}
		}
	}

	boxAt({ row, x }) {
		return (this.boxes[row] || []).find((box) => box.x0 - 0.5 <= x && x <= box.x1 + 0.5) || null;
	}

	find(event) {
		const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top - TRACK_HEIGHT;
		return { x, box: y < 0 ? null : this.boxAt({ row: Math.floor(y / ROW_HEIGHT), x }) };
	}

	partAt(x) {
		return this.view.shown.from + x / this.scale;
	}

	say(box) {
		const { view } = this, text = `${view.text(this.partAt(box.x0))} to ${view.text(this.partAt(box.x1))} s`;
		return text + (box.ran.length > 1 ? `, seen in ${box.ran.length} parts of it` : "");
	}

	begin(event) {
		if (event.button)
			return;
		this.canvas.setPointerCapture(event.pointerId);
		this.anchor = this.find(event).x;
		this.dragged = null;
	}

	move(event) {
		const { app } = this.view, { x, box } = this.find(event);
		if (this.anchor !== undefined && event.buttons & 1 && Math.abs(x - this.anchor) >= DRAG_PX) {
			this.dragged = x;
			app.hideTip();
			this.draw();
		} else if (box) {
			app.showTip(event.clientX, event.clientY, app.model.tree, box.node, this.say(box));
			app.showStatus(app.model.tree, box.node);
		} else {
			app.hideTip();
		}
	}

	// A drag zooms to what was dragged over, a click to the box that is there.
	end(event) {
		const { anchor, dragged, view } = this, { box } = this.find(event);
		this.drop();
		this.canvas.focus({ preventScroll: true });
		if (dragged)
			view.zoom(this.partAt(Math.min(anchor, dragged)), this.partAt(Math.max(anchor, dragged)));
		else if (box)
			view.zoom(this.partAt(box.x0), this.partAt(box.x1));
	}

	drop() {
		this.anchor = this.dragged = undefined;
	}

	leave() {
		this.view.app.hideTip();
	}

	pressed(event) {
		const { view } = this, way = { ArrowLeft: -1, ArrowRight: 1 }[event.key] || 0, down = { ArrowUp: -1, ArrowDown: 1 }[event.key] || 0;
		const at = this.selected && this.boxAt(this.selected);
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (event.key === "+" || event.key === "-")
			view.scale(event.key === "+" ? 0.5 : 2);
		else if (way && event.shiftKey)
			view.pan(way / 4);
		else if (event.key === "Enter" && at)
			view.zoom(this.partAt(at.x0), this.partAt(at.x1));
		else if ((way || down) && this.open)
			this.select(this.next(at, way, down));
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	// The box beside @at, or in the row above or below where it is.
	next(at, way, down) {
		if (!at)
			return (this.boxes[0] || [])[0];
		if (down)
			return (this.boxes[at.row + down] || []).find((box) => box.x1 > at.x0 && box.x0 < at.x1) || at;
		const row = this.boxes[at.row];
		return row[row.indexOf(at) + way] || at;
	}

	select(box) {
		if (!box)
			return;
		const { app } = this.view;
		this.selected = { row: box.row, x: (box.x0 + box.x1) / 2 };
		this.draw();
		app.showStatus(app.model.tree, box.node);
	}
}
