/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/thread_sums.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "profile/kernel_side.h"

struct taking {
	struct thread_sums *sums;
	int code;
};

/* kernel_entries_fn */
static void add(const void *keys, const void *values, uint32_t nr, void *ctx)
{
	const struct fpl_thread_key *key = keys;
	const struct fpl_thread_sum *sum = values;
	struct taking *taking = ctx;

	for (uint32_t i = 0; !taking->code && i < nr; i++)
		taking->code = vector_push(
			taking->sums, { .pid = key[i].tgid, .tid = key[i].tid, .sum = sum[i] });
}

static int compare(const void *left, const void *right)
{
	const struct profile_thread *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

void thread_sums_fini(struct thread_sums *sums)
{
	vector_fini(sums);
	sums->beyond = (struct fpl_thread_sum){ 0 };
}

int thread_sums_take(struct thread_sums *sums, struct kernel_side *kernel)
{
	struct taking taking = { .sums = sums };
	int code;

	sums->nr = 0;
	sums->are_kept = true;
	code = kernel_side_take_threads(kernel, add, &taking, &sums->beyond);
	return code ? code : taking.code;
}

void thread_sums_give(struct thread_sums *sums, struct profile *profile)
{
	if (sums->nr)
		qsort(sums->list, sums->nr, sizeof(*sums->list), compare);
	profile->threads = sums->list;
	profile->nr_threads = sums->nr;
	profile->threads_beyond = sums->beyond;
	profile->has_threads = sums->are_kept;
	*sums = (struct thread_sums){ .nr = 0 };
}
