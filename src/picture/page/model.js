// SPDX-License-Identifier: Apache-2.0
// The profile as the page has it: trees of nodes in arrays, in pre-order, and what to weigh them by.

const KIND_LABEL = 0, KIND_KERNEL = 2;
const FOUND_SCRIPT = 16; // an origin
const FOUND_GUESSED = 12; // origins: fp, synth
const FOUND_INLINED = 64; // beside the bits of the origins
// There, too, but made here:
const OFF_CPU = 128; // the thread had no CPU (Model.markStates)
const OF_WAKER = 256; // of who ended the wait of those below (Model.markWakers)
const DELIMITER = "--"; // the frame between both

// A tree whose node i has children from i + 1 on; the next sibling of a node is at its end.
class Tree {
	constructor(fn, depth, found) {
		const nr = fn.length;
		this.nr = nr;
		this.fn = new Int32Array(fn);
		this.depth = new Int32Array(depth);
		this.found = found ? new Uint16Array(found) : new Uint16Array(nr);
		this.parent = new Int32Array(nr);
		this.end = new Int32Array(nr);
		this.total = new Float64Array(nr);
		this.seen = this.total; // of a difference: of either side
		this.other = null; // of a difference: total of the side that frames are not as wide as
		this.self = new Float64Array(nr);
		const open = []; // the node under way at each depth
		for (let i = 0; i < nr; i++) {
			const depthHere = this.depth[i];
			for (let d = open.length - 1; d >= depthHere; d--)
				this.end[open[d]] = i;
			open.length = depthHere;
			this.parent[i] = depthHere ? open[depthHere - 1] : 0;
			open.push(i);
		}
		for (const node of open)
			this.end[node] = nr;
	}

	childOf(node, fn) {
		for (let i = node + 1; i < this.end[node]; i = this.end[i])
			if (this.fn[i] === fn)
				return i;
		return -1;
	}

	// The functions on the way from the root to @node, which is the last.
	pathOf(node) {
		const path = [];
		for (; node; node = this.parent[node])
			path.push(this.fn[node]);
		return path.reverse();
	}

	// The node as far down @path as there is one.
	follow(path) {
		let node = 0;
		for (const fn of path) {
			const child = this.childOf(node, fn);
			if (child < 0 || !this.seen[child])
				break;
			node = child;
		}
		return node;
	}
}

const MARK_LOST = 0, MARK_WRONG = 1, MARK_GAP = 2, MARK_CUT = 3;

// A tree as the file has it: samples end in nodes group by group, so that it can be weighed by some of the groups.
class WalkTree extends Tree {
	constructor(raw) {
		super(raw.function, raw.depth, raw.found);
		this.leftOut = raw.left_out;
		this.elided = new Map(raw.elided || []); // frames that a node stands for
		this.left = new Float64Array(this.nr); // samples that end in nodes below, which are not in the file
		this.ends = WalkTree.unpack(raw.ends, 2);
		this.marks = WalkTree.unpack(raw.marks || [], 4);
		this.marked = raw.marks ? [0, 1, 2, 3].map(() => new Float64Array(this.nr)) : null;
	}

	// [step to the next node, group * @kinds + kind, count]...
	static unpack(list, kinds) {
		const nr = list.length / 3;
		const of = { nr, node: new Int32Array(nr), group: new Int32Array(nr), kind: new Uint8Array(nr), count: new Float64Array(nr) };
		for (let i = 0, node = 0; i < nr; i++) {
			node += list[3 * i];
			of.node[i] = node;
			of.group[i] = Math.floor(list[3 * i + 1] / kinds);
			of.kind[i] = list[3 * i + 1] % kinds;
			of.count[i] = list[3 * i + 2];
		}
		return of;
	}

	// Count the samples of the groups that @wanted has. @during: of moments alone that are in its slices.
	weigh(wanted, during) {
		this.self.fill(0);
		this.left.fill(0);
		this.inGroup = new Float64Array(wanted.length);
		const ends = during ? during.moments : this.ends;
		for (let i = 0; i < ends.nr; i++)
			if (wanted[ends.group[i]] && (!during || during.has(ends.slice[i]))) {
				(ends.kind[i] ? this.left : this.self)[ends.node[i]] += ends.count[i];
				this.inGroup[ends.group[i]] += ends.count[i];
			}
		this.total.set(this.self);
		for (let i = this.nr - 1; i > 0; i--) {
			this.total[i] += this.left[i];
			this.total[this.parent[i]] += this.total[i];
		}
		this.total[0] += this.left[0];
		if (this.marked) {
			for (const counts of this.marked)
				counts.fill(0);
			const marks = this.marks;
			for (let i = 0; i < marks.nr; i++)
				if (wanted[marks.group[i]])
					this.marked[marks.kind[i]][marks.node[i]] += marks.count[i];
		}
	}

	// Samples in nodes that are not in the file.
	leftSamples() {
		let sum = 0;
		for (let i = 0; i < this.nr; i++)
			sum += this.left[i];
		return sum;
	}
}

// What the groups are told apart by, and which of them are wanted.
class Groups {
	constructor(raw, names) {
		// behind those of the lists, parts of them: [group, row of code]...
		const { rows = [] } = raw, parts = rows.filter((_, i) => i % 2 === 0);
		const all = (list) => parts.length ? list.concat(parts.map((group) => list[group])) : list;
		this.nr = raw.comm.length + parts.length;
		this.comm = all(raw.comm.map((name) => names[name]));
		this.pid = all(raw.pid);
		this.stop = all(raw.stop);
		this.origins = all(raw.origins);
		this.class = all(raw.class);
		this.state = all(raw.state);
		this.row = new Int32Array(this.nr).fill(-1); // of the code, -1: none
		parts.forEach((_, i) => { this.row[raw.comm.length + i] = rows[2 * i + 1]; });
	}

	// @filter: { process: "comm" or "comm/pid", stop, found: "has:N" or "cfi", class, state }, "" everywhere: all of them.
	select(filter, keys) {
		const wanted = new Uint8Array(this.nr);
		const stop = keys.stops.findIndex(([key]) => key === filter.stop);
		const cls = keys.classes.findIndex(([key]) => key === filter.class);
		const state = keys.states.indexOf(filter.state);
		for (let i = 0; i < this.nr; i++) {
			const origins = this.origins[i];
			wanted[i] = (!filter.process || filter.process === this.comm[i] || filter.process === this.comm[i] + "/" + this.pid[i]) &&
				(!filter.stop || this.stop[i] === stop) && (!filter.class || this.class[i] === cls) && (!filter.state || this.state[i] === state) &&
				(!filter.found || (filter.found === "cfi" ? origins && !(origins & FOUND_GUESSED) :
					filter.found === "none" ? !origins : (origins & 1 << Number(filter.found.slice(4))) !== 0));
		}
		return wanted;
	}
}

class Model {
	// Are there samples in which threads had no CPU? Nodes of these are marked: those behind such a label, or all.
	markStates() {
		const states = this.groups.state ? new Set(this.groups.state) : new Set([-1]), off = (state) => state >= 0 && this.keys.states[state] !== "on-cpu";
		this.hasStates = [...states].some(off);
		if (!this.hasStates)
			return;
		const all = [...states].every(off), labels = new Set(this.keys.states.filter((_, i) => off(i)));
		for (const tree of this.trees)
			for (let i = 0; i < tree.nr; i++)
				if (all || (i && tree.found[tree.parent[i]] & OFF_CPU) || (this.kindOf[tree.fn[i]] === KIND_LABEL && labels.has(this.name(tree.fn[i]))))
					tree.found[i] |= OFF_CPU;
	}

	// Nodes from a delimiter on are of who ended the wait.
	markWakers() {
		const delimiters = new Set();
		for (let fn = 0; fn < this.nrFunctions; fn++)
			if (this.name(fn) === DELIMITER && this.kindOf[fn] !== KIND_LABEL && !this.object(fn))
				delimiters.add(fn);
		this.hasWakers = delimiters.size > 0;
		for (const tree of this.hasWakers ? this.trees : [])
			for (let i = 1; i < tree.nr; i++)
				if (tree.found[tree.parent[i]] & OF_WAKER || delimiters.has(tree.fn[i]))
					tree.found[i] |= OF_WAKER;
	}

	constructor(raw) {
		this.run = raw.run;
		this.books = raw.books;
		this.version = raw.fpless;
		this.samples = raw.samples;
		this.keys = raw.keys;
		this.cut = raw.cut;
		this.names = raw.names.map(readable);
		const functions = raw.functions;
		this.nrFunctions = functions.name.length;
		this.nameOf = functions.name;
		this.objectOf = functions.object;
		this.kindOf = new Uint8Array(functions.kind);
		this.exactSelf = new Float64Array(functions.self);
		this.exactTotal = new Float64Array(functions.total);
		this.groups = new Groups(raw.groups, this.names);
		this.diff = raw.diff ? new Changes(raw.diff) : null;
		this.trees = raw.trees.map((tree) => this.diff ? new DiffTree(tree, raw.diff.wide_by) : new WalkTree(tree));
		this.markStates();
		this.markWakers();
		this.times = raw.time ? new Times(raw.time) : null;
		this.threads = raw.threads ? new Threads(raw.threads, this.names, this.tree.ends) : null;
		this.code = raw.code || null;
		this.weigh({});
		this.groupCounts = this.tree.inGroup; // of all samples
	}

	get tree() {
		return this.trees[0];
	}

	name(fn) {
		return this.names[this.nameOf[fn]];
	}

	// "-" of a difference: not known.
	object(fn) {
		const name = this.names[this.objectOf[fn]];
		return this.diff && name === "-" ? "" : name;
	}

	// Of a difference: which side frames are as wide as.
	widen(side) {
		if (this.tree.wide === side)
			return;
		this.tree.use(side);
		this.shown = this.tree.total[0];
		this.functionsOf = null;
	}

	weigh(filter) {
		this.filtered = Object.values(filter).some((value) => value);
		const wanted = this.groups.select(filter, this.keys), during = this.during(filter);
		for (const tree of this.trees)
			tree.weigh(wanted, during);
		this.shown = this.tree.total[0];
		this.functionsOf = null;
	}

	// The moments of the thread that @filter names, else of all; null: these have no times.
	moments(filter) {
		return filter.thread ? this.threads.moments(Number(filter.thread)) : this.times && this.times.moments;
	}

	// The moments to count, and which slices of time are wanted; null: all ends of the tree.
	during(filter) {
		const during = this.times && this.times.during(filter.time);
		if (!during && !filter.thread)
			return null;
		return { moments: this.moments(filter), has: during ? during.has : () => true };
	}

	// Self and total of every function, of what is shown: exact where everything is. Those of who ended a wait have none of it.
	functionCounts() {
		if (!this.filtered && !this.diff)
			return { self: this.exactSelf, total: this.exactTotal, exact: true };
		if (this.functionsOf)
			return this.functionsOf;
		const tree = this.tree, self = selfCounts(tree, this.nrFunctions), total = new Float64Array(this.nrFunctions);
		eachOutermost(tree, (node, outermost) => {
			if (outermost && !(tree.found[node] & OF_WAKER))
				total[tree.fn[node]] += tree.total[node];
		}, this.nrFunctions);
		return this.functionsOf = { self, total, exact: !this.tree.leftSamples() };
	}

	// Samples of what is shown by row of the code, of which there are @nr.
	rowCounts(nr) {
		const counts = new Float64Array(nr), { row } = this.groups, { inGroup } = this.tree;
		for (let i = 0; i < row.length; i++)
			if (row[i] >= 0 && row[i] < nr)
				counts[row[i]] += inGroup[i];
		return counts;
	}

	// Samples in which a function of @matched ran or was on the stack; what is left out is not looked into.
	matchedSamples(tree, matched) {
		let sum = 0;
		for (let i = 0; i < tree.nr;) {
			if (matched[tree.fn[i]] && i) {
				sum += tree.total[i];
				i = tree.end[i];
			} else {
				i++;
			}
		}
		return sum;
	}
}

// What each function has of its own in @tree: of a wait the innermost one of the thread that waited.
function selfCounts(tree, nrFunctions) {
	const self = new Float64Array(nrFunctions);
	for (let i = 1; i < tree.nr; i++)
		if (!(tree.found[i] & OF_WAKER))
			self[tree.fn[i]] += tree.self[i];
		else if (!(tree.found[tree.parent[i]] & OF_WAKER))
			self[tree.fn[tree.parent[i]]] += tree.total[i];
	return self;
}

// Call @visit(node, whether it is not below another node of its function) for each node with samples.
function eachOutermost(tree, visit, nrFunctions) {
	const until = new Int32Array(nrFunctions); // where the outermost node of a function ends
	for (let i = 1; i < tree.nr;) {
		if (!tree.seen[i]) {
			i = tree.end[i];
			continue;
		}
		const fn = tree.fn[i], outermost = i >= until[fn];
		if (outermost)
			until[fn] = tree.end[i];
		visit(i, outermost);
		i++;
	}
}

// Of what is merged, frames of fewer samples than this part of all are not looked into: a screen has no room for them.
const MERGED_SHARE = 1 / 5000;

// Nodes of @tree that become one, with the samples each brings along, and those of the other side.
class Merged {
	constructor(fn, depth) {
		this.fn = fn;
		this.depth = depth;
		this.nodes = [];
		this.samples = [];
		this.others = [];
		this.total = 0;
		this.other = 0;
		this.found = 0;
	}

	add(node, samples, other, found) {
		this.nodes.push(node);
		this.samples.push(samples);
		this.others.push(other);
		this.total += samples;
		this.other += other;
		this.found |= found;
	}
}

// The tree from @root down, where @next(node, samples, other, put) says by put(node, samples, other) what is below a node.
function mergedTree(tree, root, next) {
	const fn = [], depth = [], found = [], total = [], other = [], stack = [root], least = (root.total + root.other) * MERGED_SHARE;
	while (stack.length) {
		const at = stack.pop();
		fn.push(at.fn);
		depth.push(at.depth);
		found.push(at.found);
		total.push(at.total);
		other.push(at.other);
		if (at.total + at.other < least)
			continue;
		const below = new Map();
		for (let i = 0; i < at.nodes.length; i++)
			next(at.nodes[i], at.samples[i], at.others[i], (node, samples, other) => {
				const of = tree.fn[node];
				let child = below.get(of);
				if (!child)
					below.set(of, child = new Merged(of, at.depth + 1));
				child.add(node, samples, other, tree.found[node]);
			});
		// functions are numbered in the order of their names
		stack.push(...[...below.values()].sort((a, b) => b.fn - a.fn));
	}
	const merged = new Tree(fn, depth, found);
	merged.total.set(total);
	if (tree.other) {
		merged.wide = tree.wide;
		merged.other = Float64Array.from(other);
		merged.seen = merged.total.map((samples, i) => samples + other[i]);
	}
	return merged;
}

function otherAt(tree, node) {
	return tree.other ? tree.other[node] : 0;
}

// All of @fn, each sample once; where it ended waits, only if it did nothing else.
function outermostOf(tree, fn, nrFunctions) {
	const own = new Merged(fn, 0), waker = new Merged(fn, 0);
	eachOutermost(tree, (node, outermost) => {
		if (outermost && tree.fn[node] === fn)
			(tree.found[node] & OF_WAKER ? waker : own).add(node, tree.total[node], otherAt(tree, node), tree.found[node]);
	}, nrFunctions);
	return own.nodes.length ? own : waker;
}

function callersOf(tree, fn, nrFunctions) {
	const merged = mergedTree(tree, outermostOf(tree, fn, nrFunctions), (node, samples, other, put) => {
		if (tree.parent[node])
			put(tree.parent[node], samples, other);
	});
	merged.ofCallers = true;
	return merged;
}

function calleesOf(tree, fn, nrFunctions) {
	return mergedTree(tree, outermostOf(tree, fn, nrFunctions), (node, samples, other, put) => {
		for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
			if (tree.seen[i])
				put(i, tree.total[i], otherAt(tree, i));
	});
}
