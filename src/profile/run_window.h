/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part of a run with books of its own (decision 0032). A run that is not cut is one window. Two
 * are open at most: one is sampled, and one waits for what is late of its samples.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"
#include "bpf/shared.h"
#include "profile/intake.h"
#include "profile/lock_sums.h"
#include "profile/thread_sums.h"
#include "profile/reading.h"

/* The counts of one stack in the map `stacks`. */
struct window_count {
	uint64_t count, weight, objects; /* objects: or squares_high */
	uint32_t id, elided, squares_low;
};

struct run_window {
	struct intake intake;
	struct stack_store *store;  /* owned: the intake's */
	struct timeline timeline;   /* the intake's, where it has one */
	struct script_codes *codes; /* held: the intake's; NULL: script frames are not walked */

	uint64_t number;	   /* 0.. */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; end 0: it is sampled */
	uint64_t start_unix_ns;
	uint64_t ahead_ns; /* start_unix_ns is ahead of the clock, which was set back */
	uint64_t gap_ns;   /* before it, in which none was sampled to cut the run */

	VECTOR(struct window_count) counts; /* of the map, once it has ended */
	uint64_t nr_uncopied;		    /* samples of counts that found no memory */
	struct lock_sums locks;	    /* once it has ended, where waits at locks are sampled */
	struct thread_sums threads; /* once it has ended, where they are kept */
	struct reading at_start, at_end;
	bool has_asked_code; /* its code was asked about */

	/* what the run had come to at its start */
	uint64_t cpu_ns, away_ns, nr_hz_changes;
};

/* Zeroed: nothing is owned. @timeline_memory, @listener, @ctx: as timeline_init; @has_times: it is
 * filled. Errors: -ENOMEM; run_window_fini() is safe then. *window must not move. */
FPL_MUST_CHECK int run_window_init(struct run_window *window, uint64_t store_bytes, unsigned by,
				   uint64_t timeline_memory, bool has_times, timeline_fn listener,
				   void *ctx);
void run_window_fini(struct run_window *window);

/*
 * Begin it anew, at @start_ns (CLOCK_MONOTONIC), which is @unix_ns of the wall clock. @before: the
 * window before; NULL: it is the first. Its start is not before the end of that one by either
 * clock, whatever the wall clock says.
 */
void run_window_begin(struct run_window *window, const struct run_window *before, uint64_t start_ns,
		      uint64_t unix_ns);

/* For kernel_side_take_stacks: @window counts @stack. */
void run_window_count(const struct fpl_stack *stack, void *window);
