/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread of a flame chart: its samples as boxes of frames, equal neighbours in one. What is on
 * the stack before and after a time in which the thread did not run was there meanwhile: one box,
 * and a wait beside it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "picture/flame_paths.h"
#include "recording/recording.h"
#include "view/measure.h"
#include "view/threads.h"

/* A frame that stayed on the stack for a while. */
struct chart_box {
	uint64_t from_ns, to_ns; /* since the start of the run, or as CPU time */
	uint64_t ran_ns;	 /* of that: the thread ran */
	uint64_t shown;		 /* of its samples: view/measure.h */
	uint32_t depth;
	uint32_t cell; /* in the paths: of the first sample */
};

/* A while in which a thread did not run, and how many boxes, from the outermost on, span it. */
struct chart_wait {
	uint64_t from_ns, to_ns;
	uint32_t nr_boxes; /* 1 or more */
};

struct chart_lane {
	const struct recording *recording;   /* borrowed */
	const struct flame_paths *paths;     /* borrowed: one path for each stack, without labels */
	const struct thread_sample *samples; /* borrowed [nr], ascending by time */
	size_t nr;
	struct measure measure; /* of the recording */
	uint64_t usual_ns;	/* what a sample stands for that weighs no time */
	bool cpu_time;		/* samples follow each other, as if the thread had always run */
};

struct chart_lane_to {
	void (*box)(void *ctx, const struct chart_box *box);
	void (*wait)(void *ctx, const struct chart_wait *wait); /* NULL: of no interest */
	void *ctx;
};

/* The time that a lane takes: *ret_from_ns to *ret_to_ns; 0 and 0 without samples. */
void chart_lane_span(const struct chart_lane *lane, uint64_t *ret_from_ns, uint64_t *ret_to_ns);

/*
 * Hand each box to @to, those inside another before it, and each wait, in the order of time. A gap
 * of less than half a sample does not count: clocks are not that exact.
 */
void chart_lane_walk(const struct chart_lane *lane, const struct chart_lane_to *to);
