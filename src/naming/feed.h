/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue from the thread of a run to the thread of a viewer (top, --stream): the run never waits.
 * Objects, samples and windows come in order; looks that the other thread is too slow for become
 * one, since counts only grow.
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
#define FEED_WINDOWS_MAX 4u  /* that wait; others are dropped whole */
#define FEED_OBJECTS_MAX 64u /* that wait; of more, those that have gone meanwhile are dropped */

struct feed_object {
	struct feed_object *next;
	size_t order;		      /* of coming, as of all that has one */
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
	struct engine_look look; /* its counts are behind it, then its weights */
	uint64_t numbers[];
};

struct feed_retired {
	size_t order;
	uint32_t id; /* of an object that no later stack or window names */
};

struct feed_window {
	struct feed_window *next;
	size_t order;
	struct profile profile; /* owned, without objects */
};

/* All of it in the order it came. */
struct feed_batch {
	struct feed_object *objects, **last_object;
	struct feed_stack *stacks, **last_stack;
	struct feed_look *looks, **last_look;
	struct feed_window *windows, **last_window;
	size_t nr_objects, nr_stacks, nr_looks, nr_windows;
	struct feed_retired *retired; /* owned [nr_retired]; those before nr_gone are done with */
	size_t nr_retired, retired_room, nr_gone;
	struct script_codes *script_codes; /* borrowed from the feed; NULL: none */
	struct jvm_codes *jvm_codes;	   /* likewise */
	bool broken;  /* something was lost for want of memory: no number of a stack is right */
	bool closing; /* nothing will come any more */
};

struct feed_options {
	bool windows; /* windows are told, and nothing else of these */
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
	struct script_codes *script_codes; /* held; NULL: script frames are not walked */
	struct jvm_codes *jvm_codes;	   /* held; NULL: no JVM is asked */
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* of all below */
	struct feed_batch waiting;
	size_t held_bytes, seq; /* of samples */
	size_t order;		/* of what comes next */
	uint64_t nr_dropped;	/* samples */
	uint64_t nr_windows_dropped;
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
/* Take the first window out of @batch, whose profile is the caller's; *ret_order is its place among
 * objects. False: it has no more. */
bool feed_pop_window(struct feed_batch *batch, struct profile *ret, size_t *ret_order);
/* Take the first object out, whose contents are the caller's. There must be one. */
void feed_pop_object(struct feed_batch *batch, struct profile_object *ret);
/* Samples that were taken are done with: @bytes, of feed_stack_bytes(). */
void feed_release(struct feed *feed, size_t bytes);
void feed_batch_fini(struct feed_batch *batch);
