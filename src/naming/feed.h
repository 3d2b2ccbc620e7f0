/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run tells a live view, on its way from the thread of the run to that of the view: the run
 * never waits. Looks that the view is too slow for become one, since counts only grow.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/engine.h"

#define FEED_LOOKS_MAX	 8u  /* that wait; beyond, the last one is replaced */
#define FEED_OBJECTS_MAX 64u /* that wait; of more, those that have gone meanwhile are dropped */

struct feed_object {
	struct feed_object *next;
	struct profile_object object; /* owned */
	int fd;			      /* owned */
};

struct feed_stack {
	struct feed_stack *next;
	struct profile_stack stack; /* its frames are behind it */
	uint64_t frames[];
};

struct feed_look {
	struct feed_look *next;
	struct engine_look look; /* its counts are behind it */
	uint64_t counts[];
};

/* All of it in the order it came. */
struct feed_batch {
	struct feed_object *objects, **last_object;
	struct feed_stack *stacks, **last_stack;
	struct feed_look *looks, **last_look;
	size_t nr_objects, nr_stacks, nr_looks;
	uint32_t *retired; /* owned [nr_retired]: ids of objects that no later stack names */
	size_t nr_retired, retired_room;
	bool broken;  /* something was lost for want of memory: no number of a stack is right */
	bool closing; /* nothing will come any more */
};

struct feed {
	pthread_mutex_t lock;
	struct feed_batch waiting;
	int wake_fd; /* owned: readable when there is something to take */
};

/* Errors: eventfd(2). */
FPL_MUST_CHECK int feed_init(struct feed *feed, struct fpl_err *err);
void feed_fini(struct feed *feed);

/* As of engine_listener. */
void feed_object(struct feed *feed, const struct profile_object *object, int fd);
void feed_retired(struct feed *feed, uint32_t id);
void feed_stack(struct feed *feed, const struct profile_stack *stack);
void feed_look(struct feed *feed, const struct engine_look *look);
/* Nothing will come any more. */
void feed_close(struct feed *feed);

/* Take what waits, which is the caller's then. */
void feed_take(struct feed *feed, struct feed_batch *ret);
void feed_batch_fini(struct feed_batch *batch);
