// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The least any walker must do: read one word of each 64 bytes of the stack, as many as a walk of
 * that depth has frames.
 */
#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "tests/bench/walker/floor.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__u32 nr_words;
__u32 target; /* tgid of the process floor_process reads; others are ignored */
__u64 sum;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct floor_counters);
} floor_counters SEC(".maps");

static long read_one(__u32 idx, void *arg)
{
	__u64 *addr = arg, word = 0;

	bpf_probe_read_user(&word, sizeof(word), (const void *)(*addr + 64ull * idx));
	sum += word;
	return 0;
}

SEC("perf_event")
int floor_sample(struct bpf_perf_event_data *ctx)
{
	__u64 addr = ctx->regs.rsp;

	bpf_loop(nr_words, read_one, &addr, 0);
	return 0;
}

/* The same for one process among others, from user or kernel code, by its own clock. */
SEC("perf_event")
int floor_process(struct bpf_perf_event_data *ctx)
{
	__u64 addr = ctx->regs.rsp, start_ns;
	struct floor_counters *counters;
	__u32 zero = 0;

	counters = bpf_map_lookup_elem(&floor_counters, &zero);
	if (!counters || bpf_get_current_pid_tgid() >> 32 != target)
		return 0;
	start_ns = bpf_ktime_get_ns();
	if (arch_is_kernel(ctx->regs.cs)) {
		__u64 pt = (__u64)bpf_task_pt_regs(bpf_get_current_task_btf());

		bpf_probe_read_kernel(&addr, sizeof(addr), (const void *)(pt + 8 * ARCH_PT_RSP));
	}
	bpf_loop(nr_words, read_one, &addr, 0);
	counters->ns += bpf_ktime_get_ns() - start_ns;
	counters->samples++;
	counters->frames += nr_words;
	return 0;
}
