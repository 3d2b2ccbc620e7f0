/* SPDX-License-Identifier: Apache-2.0 */
/* One thread of a flame chart: its samples as boxes of frames, equal neighbours in one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "picture/flame_paths.h"
#include "recording/recording.h"
#include "view/threads.h"

/* A frame that stayed on the stack for a while. */
struct chart_box {
	uint64_t from_ns, to_ns; /* since the start of the run */
	uint64_t samples;
	uint32_t depth;
	uint32_t cell; /* in the paths: of the first sample */
};

struct chart_lane {
	const struct recording *recording;   /* borrowed */
	const struct flame_paths *paths;     /* borrowed: one path for each stack, without labels */
	const struct thread_sample *samples; /* borrowed [nr], ascending by time */
	size_t nr;
	uint64_t usual_ns; /* what a sample stands for that weighs nothing */
};

/* When a sample that has a time begins: what it weighs before it was taken. */
uint64_t chart_lane_begin(const struct chart_lane *lane, const struct thread_sample *sample);

/*
 * Hand each box to @put, those inside another before it. A gap of less than half a sample does not
 * count: clocks are not that exact.
 */
void chart_lane_walk(const struct chart_lane *lane,
		     void (*put)(void *ctx, const struct chart_box *box), void *ctx);
