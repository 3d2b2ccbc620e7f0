/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of the last seconds, and since the start, made of counts that only grow. Sums are exact:
 * each sample is in one slice, the time between two looks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"

struct window_stack {
	uint64_t seen; /* samples at the last look */
	uint64_t base; /* those at the last reset */
	uint64_t sum;  /* those in the window */
};

struct window {
	uint64_t span_ns;
	VECTOR(struct window_stack) stacks; /* by number of the stack */
	struct window_slice *first, **last; /* owned, the oldest first */
	uint64_t begin_ns, end_ns;	    /* the last reset; the last look */
};

/* @span_ns: how long a sample counts; 0: until the next look. */
void window_init(struct window *window, uint64_t span_ns);
void window_fini(struct window *window);

/*
 * The look at @end_ns, which is never less than the one before, found @counts [@nr]; @nr does not
 * become less, either. Errors: -ENOMEM, then nothing has changed and the next look makes up for it.
 * Cost: O(nr).
 */
FPL_MUST_CHECK int window_add(struct window *window, uint64_t end_ns, const uint64_t *counts,
			      size_t nr);

/* Forget all that was counted so far. */
void window_reset(struct window *window);

/* The samples of stack @idx in the window, or, @since_start, since the start or the last reset. */
uint64_t window_count(const struct window *window, size_t idx, bool since_start);

/* How long the time is that these are of. */
uint64_t window_length_ns(const struct window *window, bool since_start);
