/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples find their window (profile/run_window.h) by their time: an intake keeps those of one. A
 * run that is not cut has one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/script_codes.h"
#include "profile/stack_store.h"
#include "profile/timeline.h"

struct intake {
	struct stack_store *store;  /* borrowed */
	struct timeline *timeline;  /* borrowed; NULL: the times of samples are not needed */
	struct script_codes *codes; /* borrowed; NULL: script frames are not walked */

	uint64_t nr_uncounted;	 /* samples the map of counts had no room for: sent one by one */
	uint64_t nr_filtered;	 /* samples of tasks whose name is not wanted */
	uint64_t nr_user_memory; /* samples lost because memory ran out here */
	bool stack_dropped;	 /* frames of a counted stack were lost because memory ran out */
};

/* Memory ran out for the frames of @sample. */
static inline void intake_lose(struct intake *intake, const struct fpl_sample *sample)
{
	intake->nr_user_memory += sample->count;
	if (!sample->count)
		intake->stack_dropped = true;
}

struct intakes {
	struct intake *now;    /* borrowed: of the window that is sampled */
	struct intake *before; /* borrowed: of the one before, whose samples still come; NULL */
	uint64_t since_ns;     /* CLOCK_MONOTONIC: that one's samples were taken before */
};

/* That of samples taken at @time_ns. */
static inline struct intake *intake_of(const struct intakes *intakes, uint64_t time_ns)
{
	return intakes->before && time_ns < intakes->since_ns ? intakes->before : intakes->now;
}

/* May a user frame of a stack lie in the object with this id? */
static inline bool intakes_name(const struct intakes *intakes, uint32_t object)
{
	return stack_store_names(intakes->now->store, object) ||
	       (intakes->before && stack_store_names(intakes->before->store, object));
}
