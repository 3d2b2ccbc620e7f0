// SPDX-License-Identifier: Apache-2.0
// The strip of time, and the report of what is chosen in it. What is chosen is in the address: a link has it.
"use strict";

const byId = (id) => document.getElementById(id);
const DAY_S = 86400;
// What the address holds; times in whole seconds since 1970, 0: not chosen.
const NUMBERS = ["span", "from", "to", "before_from", "before_to"];
// Inputs whose values are parameters of the report.
const FILTERS = ["comm", "unit", "source"];

function clock(seconds) {
	const date = new Date(seconds * 1000), two = (value) => String(value).padStart(2, "0");
	const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
	return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

class Page {
	constructor() {
		this.state = { span: DAY_S, from: 0, to: 0, before_from: 0, before_to: 0, comm: "", unit: "", source: "" };
		this.windows = [];
		this.shown = { from: 0, to: 1 };
		this.drag = null;
		this.strip = byId("strip");
		this.colors = getComputedStyle(document.documentElement);
	}

	// A server that says no says why in a line.
	async fetch(path, headers = {}) {
		const answer = await fetch(path, { headers });
		if (!answer.ok)
			throw new Error((await answer.text()).trim());
		return answer;
	}

	// The token behind the # becomes a cookie, and is not seen any more.
	async login() {
		const parts = new URLSearchParams(location.hash.slice(1)), token = parts.get("token");
		if (!token)
			return;
		parts.delete("token");
		history.replaceState(null, "", "#" + parts);
		await this.fetch("login", { Authorization: "Bearer " + token });
	}

	readAddress() {
		const parts = new URLSearchParams(location.hash.slice(1));
		for (const key of Object.keys(this.state)) {
			const text = parts.get(key) || "";
			this.state[key] = NUMBERS.includes(key) ? Math.max(0, Math.trunc(Number(text)) || 0) : text;
		}
		this.state.span ||= DAY_S;
		byId("span").value = this.state.span;
		for (const key of FILTERS)
			byId(key).value = this.state[key];
	}

	async set(change) {
		const parts = new URLSearchParams();
		Object.assign(this.state, change);
		for (const [key, value] of Object.entries(this.state))
			if (value && !(key === "span" && value === DAY_S))
				parts.set(key, value);
		history.replaceState(null, "", "#" + parts);
		if ("span" in change)
			await this.load();
		this.draw();
		this.report();
	}

	// The last hours, or those around what is chosen where that is longer ago.
	around() {
		const { span, from, to, before_from, before_to } = this.state, now = Math.ceil(Date.now() / 1000) + 1;
		const first = before_to ? Math.min(from, before_from) : from, last = Math.max(to, before_to);
		if (!to || first >= now - span)
			return { from: now - span, to: now };
		return { from: first - Math.round(span / 20), to: Math.max(last, first + span) };
	}

	async load() {
		const { from, to } = this.shown = this.around();
		this.windows = [];
		try {
			const answer = await this.fetch(`api/windows?from=@${from}&to=@${to}`);
			this.windows = (await answer.json()).windows.map((one) => ({ from: one.start_unix_ns / 1e9, to: one.end_unix_ns / 1e9,
				samples: one.samples, judged: one.judged, complete: one.complete, lost: one.lost, rate: one.samples / (one.duration_ns / 1e9 || 1) }));
		} catch (error) {
			this.complain(error.message);
		}
	}

	complain(text) {
		byId("problem").textContent = text;
		byId("problem").hidden = !text;
		byId("report").hidden = Boolean(text);
	}

	range() {
		return this.state.to ? { from: this.state.from, to: this.state.to } : this.shown;
	}

	before() {
		return this.state.before_to ? { from: this.state.before_from, to: this.state.before_to } : null;
	}

	within({ from, to }) {
		return this.windows.filter((one) => one.from >= from && one.from < to);
	}

	sums(list) {
		const sum = (key) => list.reduce((all, one) => all + one[key], 0);
		return { samples: sum("samples"), judged: sum("judged"), complete: sum("complete"), lost: sum("lost") };
	}

	// The report of what is chosen: another document, which replaces the one before in the history.
	report() {
		const range = this.range(), before = this.before(), list = this.within(range), sums = this.sums(list);
		const whole = sums.judged ? `${(100 * sums.complete / sums.judged).toFixed(1)} % complete` : "";
		byId("said").textContent = [`${clock(range.from)} to ${clock(range.to)}`, `${list.length} windows`, `${sums.samples.toLocaleString("en")} samples`,
			whole, `${sums.lost.toLocaleString("en")} lost`, before && `compared with ${clock(before.from)} to ${clock(before.to)}`].filter(Boolean).join(" \u00b7 ");
		if (!sums.samples) {
			if (byId("problem").hidden || this.windows.length)
				this.complain("No samples in this time.");
			return;
		}
		const parts = new URLSearchParams({ from: "@" + range.from, to: "@" + range.to });
		if (before)
			parts.set("before", `@${before.from}..@${before.to}`);
		for (const key of FILTERS)
			if (this.state[key])
				parts.set(key, this.state[key]);
		const address = new URL((before ? "difference?" : "report?") + parts, location.href).href;
		this.complain("");
		if (this.reported === address)
			return;
		this.reported = address;
		byId("report").contentWindow.location.replace(address);
	}

	// Drawing: samples a second as bars, the share of whole stacks as a line, what was lost below.

	x(seconds) {
		const { from, to } = this.shown;
		return (seconds - from) / (to - from) * this.strip.clientWidth;
	}

	seconds(x) {
		const { from, to } = this.shown;
		return from + Math.min(1, Math.max(0, x / this.strip.clientWidth)) * (to - from);
	}

	color(name) {
		return this.colors.getPropertyValue("--" + name).trim();
	}

	draw() {
		const { strip } = this, width = strip.clientWidth, height = strip.clientHeight, scale = devicePixelRatio || 1;
		const context = strip.getContext("2d"), top = Math.max(1e-9, ...this.windows.map((one) => one.rate));
		strip.width = width * scale;
		strip.height = height * scale;
		context.scale(scale, scale);
		for (const one of this.windows) {
			const x = this.x(one.from), wide = Math.max(1, this.x(one.to) - x), bar = one.rate / top * (height - 10);
			context.fillStyle = this.color("bar");
			context.fillRect(x, height - 4 - bar, wide, bar);
			context.fillStyle = this.color("whole");
			if (one.judged)
				context.fillRect(x, (1 - one.complete / one.judged) * (height - 10), wide, 1.5);
			context.fillStyle = this.color("lost");
			if (one.lost)
				context.fillRect(x, height - 3, wide, 3);
		}
		this.mark(context, this.state.to && this.range(), "accent", height);
		this.mark(context, this.before(), "quiet", height);
		this.mark(context, this.drag && this.dragged(), this.drag && this.drag.before ? "quiet" : "accent", height);
		strip.setAttribute("aria-valuetext", `${clock(this.range().from)} to ${clock(this.range().to)}`);
		strip.setAttribute("aria-valuenow", this.range().from);
	}

	mark(context, range, color, height) {
		if (!range)
			return;
		const x = this.x(range.from), wide = Math.max(2, this.x(range.to) - x);
		context.globalAlpha = 0.18;
		context.fillStyle = this.color(color);
		context.fillRect(x, 0, wide, height);
		context.globalAlpha = 1;
		context.strokeStyle = this.color(color);
		context.strokeRect(x + 0.5, 0.5, wide - 1, height - 1);
	}

	// Choosing.

	dragged() {
		const from = Math.min(this.drag.begin, this.drag.end), to = Math.max(this.drag.begin, this.drag.end);
		return { from: Math.floor(from), to: Math.max(Math.floor(from) + 1, Math.ceil(to)) };
	}

	arm(on) {
		byId("compare").setAttribute("aria-pressed", on);
	}

	pressed(event) {
		const at = this.seconds(event.offsetX);
		this.strip.setPointerCapture(event.pointerId);
		this.drag = { begin: at, end: at, x: event.offsetX, before: event.shiftKey || byId("compare").getAttribute("aria-pressed") === "true" };
	}

	moved(event) {
		if (!this.drag)
			return;
		this.drag.end = this.seconds(event.offsetX);
		this.draw();
	}

	released(event) {
		if (!this.drag)
			return;
		const { before } = this.drag, range = this.dragged(), isClick = Math.abs(event.offsetX - this.drag.x) < 3;
		this.drag = null;
		this.arm(false);
		if (isClick)
			this.all();
		else
			this.set(before ? { before_from: range.from, before_to: range.to } : range);
	}

	all() {
		this.arm(false);
		this.set({ from: 0, to: 0, before_from: 0, before_to: 0 });
	}

	// By the keys a tenth of what is chosen is a step; nothing chosen: the last tenth of what is shown.
	step(event, direction) {
		const { shown } = this, tenth = Math.round((shown.to - shown.from) / 10);
		const range = this.state.to ? this.range() : { from: shown.to - tenth, to: shown.to };
		const step = Math.max(1, Math.round((range.to - range.from) / 10)) * (this.state.to ? direction : 0);
		event.preventDefault();
		if (event.shiftKey)
			this.set({ from: range.from, to: Math.max(range.from + 1, range.to + step) });
		else
			this.set({ from: range.from + step, to: range.to + step });
	}

	// What is chosen and the time before it, as long.
	compareWithBefore() {
		const { from, to } = this.range();
		this.set({ from, to, before_from: from - (to - from), before_to: from });
	}

	key(event) {
		if (/^(INPUT|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (event.key === "Escape")
			this.all();
		else if (event.key === "c")
			this.compareWithBefore();
		else if (event.key === "r")
			this.set({ span: this.state.span });
		else if (event.target === this.strip && event.key === "ArrowLeft")
			this.step(event, -1);
		else if (event.target === this.strip && event.key === "ArrowRight")
			this.step(event, 1);
	}

	listen() {
		const { strip } = this;
		strip.addEventListener("pointerdown", (event) => this.pressed(event));
		strip.addEventListener("pointermove", (event) => this.moved(event));
		strip.addEventListener("pointerup", (event) => this.released(event));
		strip.addEventListener("pointercancel", () => { this.drag = null; this.draw(); });
		addEventListener("resize", () => this.draw());
		addEventListener("keydown", (event) => this.key(event));
		addEventListener("hashchange", () => this.begin());
		byId("span").addEventListener("change", () => this.set({ span: Number(byId("span").value), from: 0, to: 0, before_from: 0, before_to: 0 }));
		for (const key of FILTERS)
			byId(key).addEventListener("change", () => this.set({ [key]: byId(key).value }));
		byId("all").addEventListener("click", () => this.all());
		byId("again").addEventListener("click", () => this.set({ span: this.state.span }));
		byId("compare").addEventListener("click", () => this.arm(byId("compare").getAttribute("aria-pressed") !== "true"));
	}

	async begin() {
		try {
			await this.login();
		} catch (error) {
			this.complain(error.message);
			return;
		}
		this.readAddress();
		await this.load();
		this.draw();
		if (this.windows.length || byId("problem").hidden)
			this.report();
		this.ready = true;
	}
}

const page = new Page();
window.fpless = page;
page.listen();
page.begin();
