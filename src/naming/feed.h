/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue from the thread of a run to the thread of a viewer (top, --stream): the run never waits.
 * Objects and samples come in order; looks that the other thread is too slow for become one, since
 * counts only grow.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "profile/engine.h"

#define FEED_LOOKS_MAX	 8u  /* that wait; beyond, the last one is replaced */
#define FEED_OBJECTS_MAX 64u /* that wait; of more, those that have gone meanwhile are dropped */

struct feed_object {
	struct feed_object *next;
	struct profile_object object; /* owned, with its file */
};

struct feed_stack {
	struct feed_stack *next;
	uint64_t unix_ns;	    /* when the sample was taken */
	size_t seq;		    /* order of coming, for equal times */
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

struct feed_options {
	/* Each sample is told, as long as those that wait take no more bytes: others are dropped
	 * and counted. 0: stacks and looks are. */
	size_t samples_max;
	const _Atomic uint32_t *look_ms; /* as of engine_listener, with looks */
	uint32_t looks;
	void (*main)(void *ctx); /* the thread: takes what waits until it is closing */
	void *ctx;
};

struct feed {
	struct feed_options options;
	struct engine_listener listener; /* to be lent to the run */
	int wake_fd;			 /* owned: readable when there is something to take */
	atomic_bool closing;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* of all below */
	struct feed_batch waiting;
	size_t held_bytes, seq; /* of samples */
	uint64_t nr_dropped;	/* samples */
	bool is_given_up;
};

/* Bytes of memory that a sample takes on its way. */
size_t feed_stack_bytes(const struct feed_stack *stack);

/* *ret must not move. Errors: eventfd(2). feed_fini() is safe then. */
FPL_MUST_CHECK int feed_init(struct feed *ret, const struct feed_options *options,
			     struct fpl_err *err);
/* The thread must be joined. Safe on a zeroed struct. */
void feed_fini(struct feed *feed);

/* The run is over: nothing will come any more. Waits for the thread. */
void feed_finish(struct feed *feed);
/* io_write_patiently(): @feed is closing. */
bool feed_is_closing(void *feed);

/* For the thread. The viewer has gone: the run may end, and no more samples are taken. */
void feed_give_up(struct feed *feed);
/* Take what waits, which is the caller's then. */
void feed_take(struct feed *feed, struct feed_batch *ret);
/* The same once there is something. */
void feed_await(struct feed *feed, struct feed_batch *ret);
/* Samples that were taken are done with: @bytes, of feed_stack_bytes(). */
void feed_release(struct feed *feed, size_t bytes);
void feed_batch_fini(struct feed_batch *batch);
