/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/reading.h"

int reading_take(const struct kernel_side *kernel, const struct source *sources, size_t nr_sources,
		 struct reading *ret)
{
	*ret = (struct reading){
		.due = sources_due(sources, nr_sources),
		.bpf_runs = kernel_side_run_cnt(kernel),
	};
	return kernel_side_counters(kernel, &ret->counters);
}

struct reading reading_since(const struct reading *reading, const struct reading *before)
{
	struct reading ret = *reading;
	const __u64 *less = (const __u64 *)&before->counters;
	__u64 *counts = (__u64 *)&ret.counters;

	_Static_assert(sizeof(ret.counters) % sizeof(*counts) == 0, "counters of 64 bits");
	for (size_t i = 0; i < sizeof(ret.counters) / sizeof(*counts); i++)
		counts[i] -= less[i];
	ret.due.expected -= before->due.expected;
	ret.due.counted -= before->due.counted;
	ret.due.left_out -= before->due.left_out;
	ret.bpf_runs -= before->bpf_runs;
	return ret;
}
