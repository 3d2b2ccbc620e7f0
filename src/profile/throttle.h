/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keep the cost of profiling below a share of the targets' CPU time, by the frequency:
 * --max-overhead. Pure: usage in, sampling period out.
 *
 * Overhead is the CPU time of fpless, in the sampling program and as a process, over the CPU time
 * of the targets, but at least of one CPU: the cost of watching an idle target cannot be lowered,
 * and does no harm. It is judged over windows of a second. Above the limit the period grows at
 * once, by as much as it takes if all of the cost depends on it, at most eightfold; but not so far
 * that the sampling program itself is less than a tenth of the limit: what is left then does not
 * come from sampling. It shrinks again, at most by half, after three windows below half the limit,
 * and then only so far that the overhead stays below three quarters of the limit: it does not
 * swing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define THROTTLE_WINDOW_NS     1000000000ull
#define THROTTLE_PERIOD_MAX_NS 1000000000ull /* 1 Hz */

/* Sums since the beginning, all ns. */
struct throttle_use {
	uint64_t now_ns;  /* CLOCK_MONOTONIC */
	uint64_t bpf_ns;  /* CPU time of the sampling program */
	uint64_t own_ns;  /* CPU time of fpless as a process */
	uint64_t work_ns; /* CPU time of what is profiled */
};

struct throttle {
	double limit;	    /* of the overhead, 1 is as much as the work; 0: none */
	uint64_t wanted_ns; /* the period that was asked for */
	uint64_t period_ns; /* in force */
	double overhead;    /* of the last window that was judged */
	bool is_stuck;	    /* then it was over the limit, and sampling less would not help */
	uint64_t nr_changes;
	struct throttle_use begin; /* of the window */
	unsigned int nr_windows;   /* that are over */
	unsigned int nr_calm;	   /* windows in a row below half the limit */
};

/* Begin with sampling, every @period_ns. @percent: the limit; 0: none. */
void throttle_init(struct throttle *throttle, double percent, uint64_t period_ns,
		   const struct throttle_use *use);

/*
 * Judge @use, where a window is over. The first one is not judged: it holds what the start of the
 * run costs. Returns true where period_ns was changed.
 */
bool throttle_judge(struct throttle *throttle, const struct throttle_use *use);
