// SPDX-License-Identifier: Apache-2.0
// The colour of a frame: the same function has the same one in every view.

const COLOR_MODES = [
	["object", "by object"],
	["kind", "by kind of code"],
	["found", "by how it was found"],
	["name", "by name"],
	["package", "by package"],
	["state", "by state"],
];
// Hues that tell objects apart, none near that of kernel code: what ran most has the first.
const HUES = [250, 150, 310, 195, 110, 20, 280, 85, 225, 130, 340, 170];
const KERNEL_HUE = 55;
const WAKER_HUE = 130; // of who ended a wait, by state and by name
// An object with more than this of all frames has a colour that tells nothing.
const ONE_OBJECT = 0.8;
const FOUND_HUES = [150, 245, 40, 310, 100, 65]; // cfi, cfi_user, fp, synth, script, jit
const ORIGINS = 63; // the bits of all of them

// Compilers put these behind names of languages that have no dots in theirs.
const VARIANT = /\.(?:constprop|isra|part|cold|lto_priv|llvm|clone)\b.*$/;

// "std" of std::sort, "core" of <core::str::Chars as X>::next, "net/http" of net/http.(*conn).serve, "java.util" of
// java.util.HashMap.get; "": of names that say no package.
function packageOf(name) {
	const scope = /^[<&*]*(?:(?:dyn|mut) )?([A-Za-z_]\w*)::/.exec(name);
	if (scope)
		return scope[1];
	const folders = /^[\w.~%@-]+(?:\/[\w.~%@-]+)*\//.exec(name), rest = name.slice(folders ? folders[0].length : 0).replace(VARIANT, "");
	const own = folders ? /^[\w~-]+(?=\.)/.exec(rest) : /^[A-Za-z_]\w*(?:\.[a-z_]\w*)*(?=\.[A-Z])|^[A-Za-z_]\w*(?=\.[\w(])/.exec(rest);
	if (!own)
		return "";
	if (!folders)
		return own[0];
	return /^[A-Z]/.test(own[0]) ? folders[0].slice(0, -1) : folders[0] + own[0]; // a class of Java, or the last part of Go's
}

class Colors {
	constructor(model) {
		this.model = model;
		this.cache = new Map();
		this.packages = [];
		this.hues = Colors.huesOf(model, (fn) => lastPart(model.object(fn)));
	}

	// A hue for each thing that @of(function) names, an object by the last part of its path.
	static huesOf(model, of) {
		const weights = new Map();
		for (let fn = 0; fn < model.nrFunctions; fn++) {
			const thing = model.kindOf[fn] === KIND_KERNEL ? "" : of(fn);
			if (thing)
				weights.set(thing, (weights.get(thing) || 0) + model.exactSelf[fn]);
		}
		return new Map([...weights].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
			.map(([thing], i) => [thing, HUES[i % HUES.length]]));
	}

	// The share of all frames that the most frequent thing that @of(function) names has, and the share without one.
	shares(of) {
		const { model } = this, weights = new Map();
		let all = 0;
		for (let fn = 0; fn < model.nrFunctions; fn++)
			if (model.kindOf[fn] !== KIND_LABEL && model.exactTotal[fn] * 2000 >= model.samples) {
				const thing = of(fn);
				weights.set(thing, (weights.get(thing) || 0) + model.exactTotal[fn]);
				all += model.exactTotal[fn];
			}
		const none = weights.get("") || 0;
		weights.delete("");
		return { most: all ? Math.max(0, ...weights.values()) / all : 0, none: all ? none / all : 1 };
	}

	// By object, if there are objects that colours tell apart; else by package, if names say their packages; else by name.
	usual() {
		const { model } = this, kernel = (fn) => model.kindOf[fn] === KIND_KERNEL;
		const objects = this.shares((fn) => kernel(fn) ? "kernel" : model.object(fn));
		if (this.hues.size && objects.most <= ONE_OBJECT)
			return "object";
		const packages = this.shares((fn) => kernel(fn) ? "kernel" : this.packageOf(fn));
		return packages.most <= ONE_OBJECT && packages.none <= 0.5 ? "package" : "name";
	}

	packageOf(fn) {
		return this.packages[fn] ??= packageOf(this.model.name(fn));
	}

	// The hues of packages are made when they are asked for: thousands of names are read for it.
	get packageHues() {
		const { model } = this;
		return this.huesOfPackages ||= Colors.huesOf(model, (fn) => model.kindOf[fn] === KIND_LABEL ? "" : this.packageOf(fn));
	}

	// The object of a function, or its package, as the mode has it.
	thingOf(fn) {
		return this.mode === "package" ? this.packageOf(fn) : lastPart(this.model.object(fn));
	}

	thingShade(thing, vary) {
		return thing ? this.shade(0.075, (this.mode === "package" ? this.packageHues : this.hues).get(thing), vary) : this.shade(0.03, 100, vary);
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
		if (this.mode === "name" || this.mode === "state") {
			const light = hash(model.name(fn) + "/") % 16 / 15;
			if (found & OF_WAKER)
				return this.shade(0.05, WAKER_HUE, light);
			if (this.mode === "state" && found & OFF_CPU) // as flamegraph.pl draws time off the CPU
				return this.shade(0.09, kind === KIND_KERNEL ? 195 : 225 + 40 * vary, light);
			return this.shade(0.11, 25 + 70 * vary, light);
		}
		if (this.mode === "found") {
			if (kind === KIND_KERNEL || !(found & ORIGINS))
				return this.shade(0.01, 260, vary);
			// of several, the one to be trusted least
			return this.shade(found & FOUND_GUESSED ? 0.13 : 0.07, FOUND_HUES[31 - Math.clz32(found & ORIGINS)], vary);
		}
		if (kind === KIND_KERNEL)
			return this.shade(0.10, KERNEL_HUE, vary);
		if (this.mode === "kind")
			return found & FOUND_SCRIPT ? this.shade(0.08, 110, vary) : found & FOUND_INLINED ? this.shade(0.07, 150, vary) : this.shade(0.08, 250, vary);
		return this.thingShade(this.thingOf(fn), vary);
	}

	of(fn, found) {
		const key = fn * 512 + found;
		let color = this.cache.get(key);
		if (color === undefined)
			this.cache.set(key, color = this.make(fn, found));
		return color;
	}

	// What the colours of the mode mean: [colour, text]...
	legend(tree) {
		const model = this.model;
		if (this.mode === "name")
			return model.hasWakers ? [[this.shade(0.05, WAKER_HUE, 0.5), "who ended the wait"]] : [];
		if (this.mode === "state")
			return [[this.shade(0.11, 60, 0.5), "on a CPU"], [this.shade(0.09, 245, 0.5), "not on a CPU"], [this.shade(0.09, 195, 0.5), "there, in the kernel"],
				...(model.hasWakers ? [[this.shade(0.05, WAKER_HUE, 0.5), "who ended the wait"]] : [])];
		if (this.mode === "kind")
			return [[this.shade(0.08, 250, 0.5), "called"], [this.shade(0.07, 150, 0.5), "inlined"], [this.shade(0.08, 110, 0.5), "script"],
				[this.shade(0.10, KERNEL_HUE, 0.5), "kernel"], [this.shade(0.012, 260, 0.5), "task"]];
		if (this.mode === "found")
			return model.keys.origins.map(([, text], i) => [this.shade(FOUND_GUESSED & 1 << i ? 0.13 : 0.07, FOUND_HUES[i], 0.5), text]);
		// the objects, or packages, that hold most of what ran
		const weights = new Map(), self = selfCounts(tree, model.nrFunctions);
		for (let fn = 0; fn < model.nrFunctions; fn++)
			if (self[fn] && model.kindOf[fn] !== KIND_LABEL) {
				const kernel = model.kindOf[fn] === KIND_KERNEL, thing = kernel ? "kernel" : this.thingOf(fn), key = (kernel ? "k" : "u") + thing;
				const entry = weights.get(key);
				if (entry)
					entry.self += self[fn];
				else
					weights.set(key, { self: self[fn], kernel, thing });
			}
		return [...weights.values()].sort((a, b) => b.self - a.self).slice(0, 8).map(({ kernel, thing }) =>
			[kernel ? this.shade(0.10, KERNEL_HUE, 0.5) : this.thingShade(thing, 0.5), thing || "no " + this.mode]);
	}
}
