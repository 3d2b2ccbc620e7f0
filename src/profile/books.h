/* SPDX-License-Identifier: Apache-2.0 */
/* Closing the books: what fired, and what became of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/profile.h"
#include "profile/stack_store.h"
#include "profile/run_window.h"

/* The counts of the map `stacks` meet their frames. */
struct books_join {
	struct stack_store *store;  /* borrowed */
	bool has_squares;	    /* as kernel_side_has_squares */
	uint64_t nr_without_frames; /* samples */
};

/* @stack is one of the map's. */
void books_count(const struct window_count *stack, struct books_join *join);

/*
 * Put together the books from the kernel side's counters and userspace's losses: @user_memory
 * samples because memory ran out here, @without_frames with missing frames (because memory ran out
 * as well, if @stack_dropped).
 */
void books_close(const struct fpl_counters *counters, uint64_t user_memory, uint64_t without_frames,
		 bool stack_dropped, struct profile_books *ret);

/* fired - shown - idle - filtered - sum(lost): 0, or fpless has a bug. */
int64_t books_gap(const struct profile_books *books, uint64_t shown);
