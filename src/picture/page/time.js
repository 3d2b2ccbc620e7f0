// SPDX-License-Identifier: Apache-2.0
// When the samples were taken: a strip of how many there are in each slice of time, in which the reader chooses some.

class Times {
	constructor(raw) {
		this.from = raw.from_ns;
		this.slice = raw.slice_ns;
		this.slices = raw.slices;
		this.samples = raw.samples;
		// [step to the next node, 2 * group + kind, slice, count]...
		const nr = raw.moments.length / 4;
		const of = this.moments = { nr, node: new Int32Array(nr), group: new Int32Array(nr), kind: new Uint8Array(nr),
			slice: new Uint16Array(nr), count: new Float64Array(nr) };
		for (let i = 0, node = 0; i < nr; i++) {
			of.node[i] = node += raw.moments[4 * i];
			of.group[i] = raw.moments[4 * i + 1] >>> 1;
			of.kind[i] = raw.moments[4 * i + 1] & 1;
			of.slice[i] = raw.moments[4 * i + 2];
			of.count[i] = raw.moments[4 * i + 3];
		}
	}

	// What "3-17" means, both slices included; null: all of the time.
	during(text) {
		const match = /^(\d+)-(\d+)$/.exec(text || "");
		if (!match)
			return null;
		const from = Number(match[1]), to = Number(match[2]);
		if (from > to || to >= this.slices)
			return null;
		return { from, to, has: (slice) => slice >= from && slice <= to };
	}

	// Samples of @moments of the groups @wanted in each slice, and those with a function of @matched on the stack.
	densities(tree, wanted, matched, moments) {
		const all = new Float64Array(this.slices), found = new Float64Array(this.slices);
		const on = matched && new Uint8Array(tree.nr);
		for (let i = 1; on && i < tree.nr; i++)
			on[i] = on[tree.parent[i]] | matched[tree.fn[i]];
		for (let i = 0; i < moments.nr; i++)
			if (wanted[moments.group[i]] && moments.slice[i] >= 0) {
				all[moments.slice[i]] += moments.count[i];
				if (on && on[moments.node[i]])
					found[moments.slice[i]] += moments.count[i];
			}
		return { all, found };
	}

	// Seconds since the recording began, as fine as slices are.
	text(slice) {
		const digits = Math.min(6, Math.max(0, Math.ceil(9 - Math.log10(this.slice))));
		return ((this.from + slice * this.slice) / 1e9).toFixed(digits);
	}
}

class TimeStrip {
	constructor(app, times) {
		this.app = app;
		this.times = times;
		this.canvas = el("canvas", { tabindex: 0, role: "slider", "aria-label": "Time: arrows move, with Shift they widen what is chosen",
			"aria-valuemin": 0, "aria-valuemax": times.slices - 1,
			onpointerdown: (event) => this.begin(event), onpointermove: (event) => this.move(event), onpointerup: (event) => this.end(event),
			onpointercancel: () => this.drop(), onpointerleave: () => this.point(-1), onkeydown: (event) => this.pressed(event) });
		this.said = el("output", {});
		this.all = el("button", { onclick: () => app.set({ time: "" }) }, "All times");
		this.parts = [this.canvas, el("div", { class: "when" }, this.said, this.all)];
		this.pointed = -1;
		this.dragged = null;
	}

	get chosen() {
		return this.dragged || this.times.during(this.app.state.time);
	}

	sliceAt(event) {
		const box = this.canvas.getBoundingClientRect(), share = (event.clientX - box.left) / box.width;
		return Math.max(0, Math.min(this.times.slices - 1, Math.floor(share * this.times.slices)));
	}

	begin(event) {
		if (event.button)
			return;
		this.canvas.setPointerCapture(event.pointerId);
		this.anchor = this.sliceAt(event);
		this.dragged = { from: this.anchor, to: this.anchor };
		this.draw();
	}

	move(event) {
		const slice = this.sliceAt(event);
		if (this.dragged)
			this.dragged = { from: Math.min(this.anchor, slice), to: Math.max(this.anchor, slice) };
		this.point(slice);
	}

	// A click where something was chosen gives it up.
	end() {
		const { dragged, app } = this;
		if (!dragged)
			return;
		this.dragged = null;
		this.choose(dragged.from === dragged.to && app.state.time ? null : dragged);
	}

	drop() {
		this.dragged = null;
		this.point(-1);
	}

	point(slice) {
		this.pointed = slice;
		this.draw();
	}

	choose(range) {
		this.app.set({ time: range ? `${range.from}-${range.to}` : "" });
	}

	pressed(event) {
		const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0, { chosen, times } = this;
		if (!way && event.key !== "Escape" || event.ctrlKey || event.altKey || event.metaKey)
			return;
		event.preventDefault();
		event.stopPropagation();
		if (!way)
			this.choose(null);
		else if (!chosen)
			this.choose(way > 0 ? { from: 0, to: 0 } : { from: times.slices - 1, to: times.slices - 1 });
		else if (event.shiftKey)
			this.choose({ from: chosen.from, to: Math.max(chosen.from, Math.min(times.slices - 1, chosen.to + way)) });
		else if (chosen.from + way >= 0 && chosen.to + way < times.slices)
			this.choose({ from: chosen.from + way, to: chosen.to + way });
	}

	show() {
		const { app, times } = this, { model } = app;
		byId("time").hidden = app.tabs.find(app.state.view).strip === false;
		this.density = times.densities(model.tree, model.groups.select(app.filter(), model.keys), app.matched, model.moments(app.filter()));
		this.draw();
	}

	say() {
		const { times, chosen, density } = this, range = chosen || (this.pointed < 0 ? { from: 0, to: times.slices - 1 } : { from: this.pointed, to: this.pointed });
		let sum = 0;
		for (let i = range.from; i <= range.to; i++)
			sum += density.all[i];
		this.said.textContent = `${times.text(range.from)} to ${times.text(range.to + 1)} s: ${samples(sum)}`;
		this.all.hidden = !this.app.state.time || Boolean(this.dragged);
		this.canvas.setAttribute("aria-valuenow", range.from);
		this.canvas.setAttribute("aria-valuetext", this.said.textContent);
	}

	draw() {
		const { canvas, times, density, chosen } = this, { clientWidth: width, clientHeight: height } = canvas;
		if (!width || !density)
			return;
		this.say();
		const scale = devicePixelRatio || 1, style = getComputedStyle(document.documentElement), color = (name) => style.getPropertyValue(name);
		canvas.width = width * scale;
		canvas.height = height * scale;
		const to = canvas.getContext("2d"), step = width / times.slices;
		to.scale(scale, scale);
		const most = density.all.reduce((a, b) => Math.max(a, b), 1);
		for (let i = 0; i < times.slices; i++) {
			const inside = !chosen || (i >= chosen.from && i <= chosen.to), x = Math.round(i * step), wide = Math.max(1, Math.round((i + 1) * step) - x);
			const bar = (count, name) => {
				to.fillStyle = color(name);
				to.globalAlpha = inside ? 1 : 0.3;
				to.fillRect(x, height - height * count / most, wide, height * count / most);
			};
			bar(density.all[i], "--accent");
			if (density.found[i])
				bar(density.found[i], "--match");
		}
		to.globalAlpha = 1;
		to.fillStyle = color("--text");
		if (chosen)
			for (const at of [chosen.from, chosen.to + 1])
				to.fillRect(Math.min(width - 1, Math.round(at * step)), 0, 1, height);
		else if (this.pointed >= 0)
			to.fillRect(Math.round((this.pointed + 0.5) * step), 0, 1, height);
	}
}
