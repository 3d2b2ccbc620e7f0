// SPDX-License-Identifier: Apache-2.0
// The colour of a frame: the same function has the same one in every view.

const COLOR_MODES = [
	["object", "by object"],
	["kind", "by kind of code"],
	["found", "by how it was found"],
	["name", "by name"],
];
// Hues that tell objects apart, none near that of kernel code: what ran most has the first.
const HUES = [250, 150, 310, 195, 110, 20, 280, 85, 225, 130, 340, 170];
const KERNEL_HUE = 55;
const FOUND_HUES = [150, 245, 40, 310]; // cfi, cfi_user, fp, synth

class Colors {
	constructor(model) {
		this.model = model;
		this.cache = new Map();
		this.hues = Colors.huesOf(model);
	}

	// A hue for each object, by the last part of its path.
	static huesOf(model) {
		const weights = new Map();
		for (let fn = 0; fn < model.nrFunctions; fn++) {
			const object = lastPart(model.object(fn));
			if (object && model.kindOf[fn] !== KIND_KERNEL)
				weights.set(object, (weights.get(object) || 0) + model.exactSelf[fn]);
		}
		return new Map([...weights].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
			.map(([object], i) => [object, HUES[i % HUES.length]]));
	}

	// Of other tools there may be no objects to tell colours by.
	usual() {
		return this.hues.size ? "object" : "name";
	}

	objectShade(object, vary) {
		return object ? this.shade(0.075, this.hues.get(lastPart(object)), vary) : this.shade(0.03, 100, vary);
	}

	use(mode, dark) {
		if (mode === this.mode && dark === this.dark)
			return;
		this.mode = mode;
		this.dark = dark;
		this.cache.clear();
	}

	shade(chroma, hue, vary) {
		return this.dark ? oklch(0.42 + 0.07 * vary, chroma, hue) : oklch(0.80 + 0.07 * vary, chroma, hue);
	}

	make(fn, found) {
		const model = this.model, kind = model.kindOf[fn];
		const vary = hash(model.name(fn)) % 16 / 15;
		if (kind === KIND_LABEL)
			return this.shade(0.012, 260, vary);
		if (this.mode === "name")
			return this.shade(0.11, 25 + 70 * vary, hash(model.name(fn) + "/") % 16 / 15);
		if (this.mode === "found") {
			if (kind === KIND_KERNEL || !(found & 15))
				return this.shade(0.01, 260, vary);
			// of several, the one to be trusted least
			return this.shade(found & 12 ? 0.13 : 0.07, FOUND_HUES[31 - Math.clz32(found & 15)], vary);
		}
		if (kind === KIND_KERNEL)
			return this.shade(0.10, KERNEL_HUE, vary);
		if (this.mode === "kind")
			return found & FOUND_INLINED ? this.shade(0.07, 150, vary) : this.shade(0.08, 250, vary);
		return this.objectShade(model.object(fn), vary);
	}

	of(fn, found) {
		const key = fn * 32 + (found & 31);
		let color = this.cache.get(key);
		if (color === undefined)
			this.cache.set(key, color = this.make(fn, found));
		return color;
	}

	// What the colours of the mode mean: [colour, text]...
	legend(tree) {
		const model = this.model;
		if (this.mode === "name")
			return [];
		if (this.mode === "kind")
			return [[this.shade(0.08, 250, 0.5), "called"], [this.shade(0.07, 150, 0.5), "inlined"],
				[this.shade(0.10, KERNEL_HUE, 0.5), "kernel"], [this.shade(0.012, 260, 0.5), "task"]];
		if (this.mode === "found")
			return model.keys.origins.map(([, text], i) => [this.shade(i > 1 ? 0.13 : 0.07, FOUND_HUES[i], 0.5), text]);
		// the objects that hold most of what ran
		const weights = new Map();
		for (let i = 1; i < tree.nr; i++)
			if (tree.self[i] && model.kindOf[tree.fn[i]] !== KIND_LABEL) {
				const name = model.kindOf[tree.fn[i]] === KIND_KERNEL ? "kernel" : lastPart(model.object(tree.fn[i])) || "no object";
				const entry = weights.get(name);
				if (entry)
					entry.self += tree.self[i];
				else
					weights.set(name, { self: tree.self[i], fn: tree.fn[i] });
			}
		return [...weights].sort((a, b) => b[1].self - a[1].self).slice(0, 8).map(([name, { fn }]) => {
			if (name === "kernel")
				return [this.shade(0.10, KERNEL_HUE, 0.5), name];
			return [this.objectShade(model.object(fn), 0.5), name];
		});
	}
}
