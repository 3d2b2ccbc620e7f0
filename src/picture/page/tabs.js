// SPDX-License-Identifier: Apache-2.0
// The tabs of the page, in their order. Each is
//   key       its name in the address of the page ("view=key") and in App.state.view
//   title     what its button says
//   view      (app) => an object with an element, a section, and show(); made when the tab comes to the front first
//   on        (model) => whether this profile has the tab; without it, every profile has
//   strip     false: nothing in it depends on the time that is chosen
//   state     what the address holds of it: { name: value at first }, texts and numbers, set by App.set()
// Keys 1 to 9 choose them.
const TABS = [
	{ key: "compare", title: "Compare", view: (app) => new CompareView(app), on: (model) => model.trees.length > 1 },
	{ key: "flame", title: "Flame graph", view: (app) => new GraphView(app, false) },
	{ key: "icicle", title: "Icicle", view: (app) => new GraphView(app, true) },
	{ key: "sandwich", title: "Callers & callees", view: (app) => new SandwichView(app), state: { fn: -1, up: 0, down: 0 } },
	{ key: "functions", title: "Functions", view: (app) => new FunctionsView(app), on: (model) => !model.diff, state: { sort: "" } },
	{ key: "functions", title: "Functions", view: (app) => new DiffFunctionsView(app), on: (model) => model.diff, state: { sort: "" } },
	{ key: "code", title: "Code", view: (app) => new CodeView(app), on: (model) => model.code, state: { code: 0 } },
	{ key: "processes", title: "Processes", view: (app) => new ProcessesView(app), on: (model) => !model.diff, strip: false, state: { psort: "" } },
	{ key: "chart", title: "Chart", view: (app) => new ChartView(app), on: (model) => model.threads && model.threads.timed, state: { span: "", lanes: "" } },
	{ key: "run", title: "Run", view: (app) => new RunView(app), on: (model) => !model.diff, strip: false },
	{ key: "run", title: "Sides", view: (app) => new SidesView(app), on: (model) => model.diff, strip: false },
];

// The tabs of one profile, of which one is in front.
class Tabs {
	constructor(app, place) {
		this.app = app;
		this.place = place;
		this.list = TABS.filter(({ on }) => !on || on(app.model));
		this.views = new Map();
		this.buttons = this.list.map(({ key, title }, i) => el("button", { role: "tab", id: "tab-" + key, "data-view": key, title: `${title} (${i + 1})`,
			onclick: () => app.set({ view: key }) }, title));
		this.element = el("div", { class: "tabs", role: "tablist", "aria-label": "Views", onkeydown: (event) => this.pressed(event) }, this.buttons);
	}

	// Arrows go from tab to tab; the one in front is where the Tab key leads.
	pressed(event) {
		const way = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0, { list, app } = this;
		if (!way || event.ctrlKey || event.altKey || event.metaKey)
			return;
		const to = (list.findIndex(({ key }) => key === app.state.view) + way + list.length) % list.length;
		event.preventDefault();
		app.set({ view: list[to].key });
		this.buttons[to].focus();
	}

	// All that the address holds of them, as it is at first.
	get state() {
		return Object.assign({}, ...this.list.map(({ state }) => state));
	}

	has(key) {
		return this.list.some((tab) => tab.key === key);
	}

	find(key) {
		return this.list.find((tab) => tab.key === key);
	}

	view(key) {
		if (!this.views.has(key)) {
			const view = this.find(key).view(this.app);
			view.element.id = "view-" + key;
			view.element.setAttribute("role", "tabpanel");
			view.element.setAttribute("aria-labelledby", "tab-" + key);
			this.views.set(key, view);
			this.place.append(view.element);
		}
		return this.views.get(key);
	}

	// Have the tab @key in front.
	bring(key) {
		this.view(key);
		for (const [each, view] of this.views)
			view.element.hidden = each !== key;
		this.list.forEach((tab, i) => {
			const button = this.buttons[i], front = tab.key === key;
			button.setAttribute("aria-selected", String(front));
			button.tabIndex = front ? 0 : -1;
			if (front)
				button.setAttribute("aria-controls", "view-" + key);
			else
				button.removeAttribute("aria-controls");
		});
	}
}
