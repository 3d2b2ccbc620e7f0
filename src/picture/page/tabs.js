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
	{ key: "sandwich", title: "Callers & callees", view: (app) => new SandwichView(app), state: { fn: -1 } },
	{ key: "functions", title: "Functions", view: (app) => new FunctionsView(app), on: (model) => !model.diff },
	{ key: "functions", title: "Functions", view: (app) => new DiffFunctionsView(app), on: (model) => model.diff },
	{ key: "processes", title: "Processes", view: (app) => new ProcessesView(app), on: (model) => !model.diff, strip: false },
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
		this.buttons = this.list.map(({ key, title }, i) => el("button", { role: "tab", "data-view": key, title: `${title} (${i + 1})`,
			onclick: () => app.set({ view: key }) }, title));
		this.element = el("div", { class: "tabs", role: "tablist" }, this.buttons);
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
		this.list.forEach((tab, i) => this.buttons[i].setAttribute("aria-selected", String(tab.key === key)));
	}
}
