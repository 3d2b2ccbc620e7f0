// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The least that sampling an event costs: nothing at all, and a stack by frame pointers that is
 * counted by its id, as bpftrace and bcc do.
 */
#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__u32 target; /* tgid; the events of others are left */
__u64 nr_events;

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 4096);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} traces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

SEC("tracepoint")
int nothing(void *ctx)
{
	return 0;
}

SEC("tracepoint")
int count_stack(void *ctx)
{
	__u64 one = 1, *count;
	__u32 id;

	if (bpf_get_current_pid_tgid() >> 32 != target)
		return 0;
	id = (__u32)bpf_get_stackid(ctx, &traces, BPF_F_USER_STACK | BPF_F_REUSE_STACKID);
	count = bpf_map_lookup_elem(&counts, &id);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&counts, &id, &one, BPF_ANY);
	__sync_fetch_and_add(&nr_events, 1);
	return 0;
}
