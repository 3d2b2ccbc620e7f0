/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the listener of a run (engine.h) of objects, samples and stacks while it goes on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "profile/catalog.h"
#include "profile/comm_filter.h"
#include "profile/engine.h"
#include "profile/intake.h"
#include "profile/kernel_side.h"
#include "profile/stack_store.h"

/* All pointers are borrowed. */
struct listening_config {
	const struct engine_listener *listener; /* NULL: no listener, and nothing is done */
	const struct catalog *catalog;
	const struct stack_store *store;
	const struct kernel_side *kernel;
	const struct intake *intake;
	struct comm_filter *comm_filter; /* NULL: every name is wanted */
};

/* Zeroed but for its config: the listener was told of nothing. */
struct listening {
	struct listening_config config;
	uint32_t told_id; /* of the last object it was told of */
	/* CLOCK_MONOTONIC: what the times of samples count from, and since when they are taken */
	uint64_t start_ns, enabled_ns;
	int64_t unix_ns; /* the time at start_ns by the clock of now */

	/* by number in the store: the number it was told by, or STACK_STORE_NONE */
	VECTOR(uint32_t) places;
	VECTOR(uint64_t) counts;  /* by the number it was told by */
	VECTOR(uint64_t) weights; /* likewise, where they are wanted */
	uint64_t nr_frameless;	  /* samples whose frames are on their way */
	uint64_t nr_unwanted;	  /* of tasks whose name is not wanted */
	uint32_t nr_looks;
	uint64_t next_look_ns; /* CLOCK_MONOTONIC; UINT64_MAX: never */
};

void listening_fini(struct listening *listening);

/* Sampling has begun at @enabled_ns; the times of samples count from @start_ns, which was @unix_ns
 * by the wall clock. */
void listening_begin(struct listening *listening, uint64_t enabled_ns, uint64_t start_ns,
		     uint64_t unix_ns);

/* timeline_fn: tell it of a sample. Only with listener->sample. */
void listening_sample(void *listening, const struct profile_event *event);

/* retirement_config.before, .after: the listener knows what there is of an object before it goes,
 * and then that it has gone. */
bool listening_before(void *listening);
void listening_after(void *listening, const struct object *object);

/* Tell it of a window's profile, and of what that names before. Takes the profile over. */
void listening_window(struct listening *listening, struct profile *profile);

/* Nothing more is told for the moment. */
void listening_pause(struct listening *listening);

/* Have it look, where it is time. Returns true if the look that is due is the last: that is
 * listening_last()'s. */
bool listening_is_over(struct listening *listening, uint64_t now);
/* Sampling has ended, and tables are waited for: say how many there are, where it is time. */
void listening_tables(struct listening *listening, uint64_t now);
/* All is counted, sampling has ended at @disabled_ns, and the books are about to be closed. */
void listening_last(struct listening *listening, uint64_t disabled_ns);
