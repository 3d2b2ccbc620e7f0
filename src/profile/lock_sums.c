/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/lock_sums.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/kernel_side.h"

struct taking {
	struct lock_sums *sums;
	int code;
};

/* kernel_entries_fn */
static void add(const void *keys, const void *values, uint32_t nr, void *ctx)
{
	const struct fpl_lock_key *key = keys;
	const struct fpl_lock *lock = values;
	struct taking *taking = ctx;

	for (uint32_t i = 0; !taking->code && i < nr; i++)
		taking->code = vector_push(taking->sums, {
								 .pid = key[i].tgid,
								 .addr = key[i].addr,
								 .ns = lock[i].ns,
								 .nr = lock[i].nr,
							 });
}

static int compare(const void *left, const void *right)
{
	const struct profile_lock *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->addr > b->addr) - (a->addr < b->addr);
}

void lock_sums_fini(struct lock_sums *sums)
{
	vector_fini(sums);
	sums->beyond = (struct fpl_lock){ 0 };
}

int lock_sums_take(struct lock_sums *sums, struct kernel_side *kernel)
{
	struct taking taking = { .sums = sums };
	int code;

	sums->nr = 0;
	code = kernel_side_take_locks(kernel, add, &taking, &sums->beyond);
	return code ? code : taking.code;
}

void lock_sums_give(struct lock_sums *sums, struct profile *profile)
{
	if (sums->nr)
		qsort(sums->list, sums->nr, sizeof(*sums->list), compare);
	profile->locks = sums->list;
	profile->nr_locks = sums->nr;
	profile->locks_beyond = sums->beyond;
	*sums = (struct lock_sums){ .nr = 0 };
}
