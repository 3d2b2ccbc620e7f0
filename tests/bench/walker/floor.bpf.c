// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The least any walker must do: read one word of each 64 bytes of the stack, as many as a walk of
 * that depth has frames.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__u32 nr_words;
__u64 sum;

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
