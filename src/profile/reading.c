/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/reading.h"

int reading_take(const struct kernel_side *kernel, const struct source *sources, size_t nr_sources,
		 struct reading *ret)
{
	*ret = (struct reading){
		.due = sources_due(sources, nr_sources),
		.bpf_runs = kernel_side_run_cnt(kernel),
		.times = kernel_side_times(kernel),
	};
	return kernel_side_counters(kernel, &ret->counters);
}

/* Both are words of 64 bits, of @size bytes together. */
static void subtract(void *counts, const void *less, size_t size)
{
	for (size_t i = 0; i < size / sizeof(__u64); i++)
		((__u64 *)counts)[i] -= ((const __u64 *)less)[i];
}

struct reading reading_since(const struct reading *reading, const struct reading *before)
{
	struct reading ret = *reading;

	_Static_assert(sizeof(ret.counters) % sizeof(__u64) == 0, "counters of 64 bits");
	_Static_assert(sizeof(ret.times) % sizeof(__u64) == 0, "sums of 64 bits");
	subtract(&ret.counters, &before->counters, sizeof(ret.counters));
	subtract(&ret.times, &before->times, sizeof(ret.times));
	ret.due.expected -= before->due.expected;
	ret.due.counted -= before->due.counted;
	ret.due.left_out -= before->due.left_out;
	ret.bpf_runs -= before->bpf_runs;
	return ret;
}
