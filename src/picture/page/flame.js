// SPDX-License-Identifier: Apache-2.0
// A tree as a flame graph or an icicle, drawn by d3-flame-graph. It gets the frames that can be seen, and gets others when
// the reader zooms: a tree may have a hundred times as many.

const FRAMES_MAX = 2500, FRAME_HEIGHT = 20, MIN_PX = 1, LABEL_PADDING = 8;
const LABELLED_PX = 35; // d3-flame-graph shows no label of a narrower frame

// Nodes as d3-flame-graph has them, but with our ids: so it moves the frames that stay.
function Node() {}
Node.prototype = Object.create(d3.hierarchy.prototype);
Node.prototype.constructor = Node;

class Flame {
	// @place: the element to be drawn in. @app: names and colours. @options: inverted (the root on top), onZoom(node),
	// onHover(node or -1), marks(tree, node): classes of a frame.
	constructor(place, app, options) {
		this.place = place;
		this.app = app;
		this.options = options;
		this.tree = null;
		this.focus = 0;
		this.selected = -1;
		place.classList.add("flame");
		place.classList.toggle("down", Boolean(options.inverted));
		place.tabIndex = 0;
		place.addEventListener("click", (event) => this.clicked(event), true);
		place.addEventListener("mousemove", (event) => this.moved(event));
		place.addEventListener("mouseleave", () => this.hover(-1));
		place.addEventListener("keydown", (event) => this.pressed(event));
		const flame = this;
		// for a label d3-flame-graph calls it with the element of the label, else of no element
		function nameOrLabel(node) {
			return this instanceof HTMLElement ? flame.label(node) : app.nameOf(flame.tree, node.data.i);
		}
		this.chart = flamegraph().cellHeight(FRAME_HEIGHT).inverted(Boolean(options.inverted)).resetHeightOnZoom(true)
			.transitionDuration(motionIsReduced() ? 0 : 200)
			.tooltip(Object.assign(() => 0, { show: () => 0, hide: () => 0 }))
			.getName(nameOrLabel)
			.setColorMapper((d) => app.colorOf(this.tree, d.data.i));
	}

	// As much of the name of @node as its frame has room for.
	label(node) {
		const width = (node.x1 - node.x0) * this.chart.width(), name = this.app.nameOf(this.tree, node.data.i);
		return width < LABELLED_PX ? name : this.app.ruler.fit(name, width - LABEL_PADDING);
	}

	node(event) {
		const frame = event.target.closest && event.target.closest("g.frame");
		return frame ? frame.__data__.data.i : -1;
	}

	clicked(event) {
		const node = this.node(event);
		if (node < 0)
			return;
		event.stopPropagation();
		this.place.focus({ preventScroll: true });
		this.select(node);
		this.options.onZoom(node);
	}

	moved(event) {
		const node = this.node(event);
		this.hover(node);
		if (node >= 0)
			this.app.showTip(event.clientX, event.clientY, this.tree, node);
	}

	hover(node) {
		if (node < 0)
			this.app.hideTip();
		if (node === this.hovered)
			return;
		this.hovered = node;
		this.app.showStatus(this.tree, node);
		if (this.options.onHover)
			this.options.onHover(node);
	}

	// From frame to frame with the arrows.
	pressed(event) {
		const tree = this.tree, at = this.selected < 0 ? this.focus : this.selected;
		const up = this.options.inverted ? "ArrowDown" : "ArrowUp", down = this.options.inverted ? "ArrowUp" : "ArrowDown";
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		let to = -1;
		if (event.key === up)
			to = this.largestChild(at);
		else if (event.key === down)
			to = at ? tree.parent[at] : 0;
		else if (event.key === "ArrowRight" || event.key === "ArrowLeft")
			to = this.sibling(at, event.key === "ArrowRight");
		else if (event.key === "Enter" && this.selected >= 0)
			this.options.onZoom(this.selected);
		else
			return;
		event.preventDefault();
		if (to >= 0) {
			this.select(to);
			this.app.showStatus(tree, to);
		}
	}

	largestChild(node) {
		const tree = this.tree;
		let best = -1;
		for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
			if (this.drawn.has(i) && (best < 0 || tree.total[i] > tree.total[best]))
				best = i;
		return best;
	}

	sibling(node, next) {
		const tree = this.tree, parent = tree.parent[node];
		let before = -1;
		for (let i = parent + 1; node && i < tree.end[parent]; i = tree.end[i]) {
			if (!this.drawn.has(i))
				continue;
			if (next ? before === node : i === node)
				return next ? i : before;
			before = i;
		}
		return -1;
	}

	select(node) {
		this.selected = node;
		this.mark();
		const frame = this.place.querySelector("g.selected");
		if (frame)
			frame.scrollIntoView({ block: "nearest" });
	}

	// Which nodes below the focus can be seen at @px or more, each with what is above it.
	visible(width, px) {
		const tree = this.tree, focus = this.focus, scale = width / tree.total[focus], list = [];
		for (let i = focus; i < tree.end[focus];) {
			if (tree.total[i] * scale < px && i !== focus) {
				i = tree.end[i];
				continue;
			}
			list.push(i++);
			if (list.length > FRAMES_MAX)
				return null;
		}
		return list;
	}

	hierarchy(width) {
		const tree = this.tree;
		let px = MIN_PX, list;
		while (!(list = this.visible(width, px)))
			px *= 1.4;
		this.thinnest = px;
		const above = [];
		for (let i = this.focus; i;)
			above.push(i = tree.parent[i]);
		const nodes = new Map();
		let root = null, deepest = 0;
		for (const i of [...above.reverse(), ...list]) {
			const node = new Node(), parent = i ? nodes.get(tree.parent[i]) : null;
			node.data = { i, v: tree.total[i], fade: nodes.size < above.length };
			node.id = i;
			node.depth = tree.depth[i];
			node.height = 0;
			node.parent = parent;
			if (!parent)
				root = node;
			else if (parent.children)
				parent.children.push(node);
			else
				parent.children = [node];
			nodes.set(i, node);
			deepest = Math.max(deepest, node.depth);
		}
		root.height = deepest;
		this.drawn = nodes;
		return root;
	}

	// Draw @tree zoomed to @focus.
	show(tree, focus) {
		const another = tree !== this.tree;
		this.tree = tree;
		this.focus = focus;
		if (another)
			this.selected = -1;
		this.hovered = -2;
		this.draw(another);
	}

	draw(another) {
		const width = this.place.clientWidth;
		if (!this.tree || !width)
			return;
		if (!this.tree.total[0]) {
			this.clear("No samples here.");
			return;
		}
		if (!this.tree.total[this.focus])
			this.focus = 0;
		if (this.place.firstChild && this.place.firstChild.tagName !== "svg")
			this.place.replaceChildren();
		if (another && this.place.firstChild)
			this.place.replaceChildren();
		const atEnd = another || this.place.scrollTop + this.place.clientHeight >= this.place.scrollHeight - 4;
		this.chart.width(width);
		const root = this.hierarchy(width);
		if (!this.place.firstChild) // once, for its frame: it would number nodes of its own making
			d3.select(this.place).datum({ i: 0, v: 1 }).call(this.chart);
		this.place.__data__ = root;
		this.chart.update();
		this.finish();
		this.mark();
		if (!this.options.inverted && atEnd) // the root is what to begin with
			this.place.scrollTop = this.place.scrollHeight;
		if (this.options.inverted && another)
			this.place.scrollTop = 0;
	}

	// Frames that were not there get their width and their name at once, not when those that move have arrived.
	finish() {
		for (const frame of this.place.querySelectorAll("g.frame")) {
			const rect = frame.firstChild, object = frame.lastChild;
			if (!rect.hasAttribute("width")) {
				rect.setAttribute("width", object.getAttribute("width"));
				object.firstChild.textContent = this.label(frame.__data__);
			}
		}
	}

	clear(text) {
		this.place.replaceChildren(el("p", { class: "empty" }, text));
	}

	// Classes of the frames, and colours again: what was found, what is selected, what the view marks.
	mark() {
		const matched = this.app.matched, tree = this.tree;
		this.place.classList.toggle("has-matches", Boolean(matched));
		for (const frame of this.place.querySelectorAll("g.frame")) {
			const i = frame.__data__.data.i, classes = ["frame"];
			if (i !== this.focus && frame.__data__.data.fade)
				classes.push("fade");
			if (i === this.selected)
				classes.push("selected");
			if (tree.found[i] & FOUND_INLINED)
				classes.push("inlined");
			if (matched && matched[tree.fn[i]])
				classes.push("matched");
			if (this.options.marks)
				classes.push(...this.options.marks(tree, i));
			frame.setAttribute("class", classes.join(" "));
		}
	}

	frameOf(node) {
		for (const frame of this.place.querySelectorAll("g.frame"))
			if (frame.__data__.data.i === node)
				return frame;
		return null;
	}
}

function motionIsReduced() {
	return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
