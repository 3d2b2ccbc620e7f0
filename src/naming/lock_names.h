/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of locks that threads waited at: that of the variable, "name" or "name+0x8"; without
 * symbols "[object+0x4028]", where in the object it is; in no object "[heap 0x55...]",
 * "[stack 0x7f...]" or "[anon 0x7f...]"; "[several]": a thread waited at more than one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "naming/names.h"
#include "profile/profile.h"
#include "recording/recording.h"

struct lock_name {
	uint64_t addr, place; /* words of the key: enum fpl_lock_word */
	uint32_t pid;
	uint32_t memory;
	char *text; /* owned */
};

struct lock_names {
	struct lock_name *list; /* owned [nr], ascending by pid and addr */
	size_t nr;
};

/*
 * Name the locks in the keys of the profile's stacks; lock_names_fini() in any case. Each file is
 * read once for all of its locks. Errors: -ENOMEM. Cost: O(stacks log stacks).
 */
FPL_MUST_CHECK int lock_names_make(const struct names *names, struct lock_names *ret);
void lock_names_fini(struct lock_names *names);

/* Borrowed; NULL: no stack has it. Cost: O(log nr). */
const char *lock_names_find(const struct lock_names *names, uint32_t pid, uint64_t addr);

/*
 * Add the exact sums of the profile's locks to the numbers of @to, the longest wait first:
 * "locks[].N.lock", "locks[].N.wait_ns", "locks[].N.waits", and what the others have together as
 * "locks_others.wait_ns", "locks_others.waits": those without a stack, and those beyond 256. Locks
 * of one name are one. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int lock_names_add_numbers(const struct lock_names *names,
					  const struct profile *profile, struct recording *to);
