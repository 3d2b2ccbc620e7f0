// SPDX-License-Identifier: Apache-2.0
// Threads, and the samples of each: what a filter by thread counts, and what the chart draws.

class Threads {
	// @ends: of the tree, where samples end.
	constructor(raw, names, ends) {
		this.nr = raw.comm.length;
		this.comm = raw.comm.map((name) => names[name]);
		this.pid = raw.pid;
		this.tid = raw.tid;
		this.counts = raw.samples;
		this.parts = raw.parts;
		this.usual = raw.usual_ns;
		this.weights = raw.weights; // what samples are shown by: "time", "other"; undefined: their number
		this.leftOut = raw.left_out;
		this.raw = raw;
		this.ends = ends;
		this.made = [];
		this.first = [0];
		for (const nr of raw.nr_timed)
			this.first.push(this.first[this.first.length - 1] + nr);
		this.timed = this.first[this.nr] > 0;
	}

	has(text) {
		return /^\d+$/.test(text) && Number(text) < this.nr;
	}

	name(thread) {
		const comm = this.comm[thread] || "(no name)", pid = this.pid[thread], tid = this.tid[thread];
		return tid ? `${comm} ${tid}` : pid ? `${comm} ${pid}` : comm;
	}

	// Its samples with a time, ascending: when each was taken, in parts of a slice since the first one of the recording,
	// in which of the ends it is, how many nanoseconds it took, and what is shown of it.
	samples(thread) {
		if (this.made[thread])
			return this.made[thread];
		const { timed } = this.raw, first = this.first[thread], nr = this.first[thread + 1] - first;
		const of = { nr, at: new Int32Array(nr), end: new Int32Array(nr), weight: new Float64Array(nr), shown: new Float64Array(nr) };
		for (let i = 0, at = 0; i < nr; i++) {
			const j = 3 * (first + i);
			of.at[i] = at += timed[j];
			of.end[i] = timed[j + 1];
			of.weight[i] = this.weights !== "other" && timed[j + 2] || this.usual;
			of.shown[i] = this.weights ? timed[j + 2] : 1;
		}
		return this.made[thread] = of;
	}

	// The samples of @thread as Times.moments has those of all; slice -1: they have no time.
	moments(thread) {
		if (this.momentsOf === thread)
			return this.momentsMade;
		const { ends, raw } = this, of = this.samples(thread), node = [], group = [], kind = [], slice = [], count = [];
		const add = (end, when, samples) => {
			node.push(ends.node[end]);
			group.push(ends.group[end]);
			kind.push(ends.kind[end]);
			slice.push(when);
			count.push(samples);
		};
		for (let i = 0; i < of.nr; i++)
			add(of.end[i], Math.floor(of.at[i] / this.parts), of.shown[i]);
		for (let i = 0; i < raw.untimed.length; i += 3)
			if (raw.untimed[i] === thread)
				add(raw.untimed[i + 1], -1, raw.untimed[i + 2]);
		this.momentsOf = thread;
		return this.momentsMade = { nr: node.length, node, group, kind, slice, count };
	}
}
