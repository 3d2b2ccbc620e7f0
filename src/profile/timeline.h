/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of samples. A sample counted in the kernel sends its time and the id of its stack; one
 * that comes with its frames has both. The timeline joins them to their stacks in the store, tells
 * its listener, and keeps them within a budget.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/profile.h"
#include "profile/stack_store.h"

#define TIMELINE_MEMORY_DEFAULT (128ull << 20) /* 5.6 million samples */

/* Records that wait for their stack at one time: it comes within some milliseconds. */
#define TIMELINE_WAITING_MAX (1u << 20)

/* Told of each sample; @event->stack is the stack's number in the store. */
typedef void (*timeline_fn)(void *ctx, const struct profile_event *event);

struct timeline {
	const struct stack_store *store; /* borrowed */
	timeline_fn listener;		 /* NULL: no listener */
	void *ctx;
	uint64_t start_ns; /* CLOCK_MONOTONIC: what times count from; samples before it count as at
			      it */

	struct profile_event *events; /* owned [nr], in the order they came */
	size_t nr, capacity, max;
	struct fpl_event *waiting; /* owned [nr_waiting]: their stack is not in the store yet */
	size_t nr_waiting, waiting_capacity;
	uint64_t nr_beyond; /* samples that found no room here */
};

/* @max_bytes: of events to keep; 0: none are kept. @listener: told of each sample, with @ctx; NULL:
 * no listener. */
void timeline_init(struct timeline *timeline, const struct stack_store *store, uint64_t max_bytes,
		   timeline_fn listener, void *ctx);
/* A zeroed struct is allowed. */
void timeline_fini(struct timeline *timeline);

/* A record of the ring. */
void timeline_record(struct timeline *timeline, const struct fpl_event *record);

/* A sample that came with its frames (count 1), which have just become @stack of the store. */
void timeline_sample(struct timeline *timeline, const struct fpl_sample *sample, uint32_t stack);

/* Stacks may have come that records wait for. Cost: O(waiting). */
void timeline_retry(struct timeline *timeline);

/*
 * Hand the events over, ascending by time, with the numbers that stacks have in the store. Those
 * that still wait for a stack, which was lost then, are dropped.
 */
void timeline_take(struct timeline *timeline, struct profile_event **ret, size_t *ret_nr);
