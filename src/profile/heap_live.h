/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampled allocations that were not freed: those of the map `live` at the end of a run join
 * their stacks, if the program that made them has not gone meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vector.h"
#include "bpf/shared.h"
#include "profile/profile.h"
#include "profile/stack_store.h"

/* Execs and ends that are kept: 24 bytes each. */
#define HEAP_LIVES_MAX (1u << 20)

/* A program's end: its process has executed another one, or ended. */
struct heap_end {
	uint64_t start_ns, time_ns;
	uint32_t tgid;
	bool is_exit;
};

/* All 0: empty. */
struct heap_live {
	VECTOR(struct heap_end) ends;
	uint64_t nr_unknown; /* ends that were not kept */
};

void heap_live_fini(struct heap_live *live);

/* Note what a life record says, in any order. */
void heap_live_note(struct heap_live *live, const struct fpl_life *life);

struct heap_live_question {
	uint64_t before_ns; /* count those allocated before (CLOCK_MONOTONIC) */
	/* Was the process named by the user? What such a one has when it ends counts: it is its
	 * memory at exit. */
	bool (*is_named)(void *ctx, uint32_t pid);
	void *ctx;
};

/* Begin to count: no more is noted. Cost: O(n log n) in what was noted. */
void heap_live_begin(struct heap_live *live);

/*
 * Let @entry of the map count in the stack it has in @store, and in @ret, or say there why it does
 * not.
 */
void heap_live_count(const struct heap_live *live, const struct heap_live_question *question,
		     const struct fpl_live *entry, struct stack_store *store,
		     struct profile_heap *ret);
