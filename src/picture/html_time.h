/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When samples were taken, for a page whose reader chooses a time: which of them ended where in the
 * tree in each of some hundred slices of time, all of one length.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "picture/call_tree.h"
#include "recording/recording.h"
#include "view/json.h"
#include "view/measure.h"

/* As many as a window has columns to spare. */
#define HTML_TIME_SLICES 400u

/* Samples of one group that end in one node (or, @what odd, below it) in one slice. */
struct html_moment {
	uint32_t node, what; /* what: 2 * group + left */
	uint32_t slice;
	uint64_t shown; /* of them: view/measure.h */
};

struct html_time {
	struct html_moment *list; /* owned [nr], by node, what and slice */
	size_t nr;
	uint64_t from_ns, slice_ns; /* since the recording began */
	uint32_t nr_slices;	    /* 0: there are no times */
	uint64_t shown;		    /* of the samples that have a time */
};

/*
 * @groups: of each stack; @tree knows where each ends. Slices are whole periods, so that there are
 * HTML_TIME_SLICES at most, and fewer where there would be more than @nr_max moments. Cost:
 * O(n log n) in events.
 */
void html_time_make(const struct recording *recording, const uint32_t *groups,
		    const struct call_tree *tree, size_t nr_max, struct html_time *ret);
void html_time_fini(struct html_time *time);

/* Write "time"; nothing without times. */
void html_time_write(struct json *json, const struct html_time *time);
