// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The entries: the programs that take samples, one for each kind of source. They may interrupt
 * anything, even with interrupts off, so nothing they call allocates or waits. The kernel runs one
 * of them at a time on a CPU (bpf_prog_active), so they share scratch memory and counters. The
 * programs in process.h run in the task whose life they follow; they share no scratch memory with
 * these, which may interrupt them.
 */
#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "bpf/moment.h"
#include "bpf/sample.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Compared by the loader with its own. */
const volatile __u32 shared_version SEC(".rodata") = FPL_SHARED_VERSION;

/* A perf event: it interrupted what @ctx has the registers of. */
SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct moment moment = { .ctx = ctx, .interrupted = ctx };

	if (!gate_is_open())
		return 0;
	moment.source = source_of(ctx);
	sample_at(&moment);
	return 0;
}

/* A tracepoint: the kernel's code called it. */
SEC("tracepoint")
int sample_tracepoint(void *ctx)
{
	struct moment moment = { .ctx = ctx };
	__u32 source; /* apart: what has an address takes the stack of the walk */

	if (!gate_is_open())
		return 0;
	source = source_of(ctx);
	moment.source = source;
	moment.event = bpf_map_lookup_elem(&sources, &source);
	if (moment.event)
		sample_at(&moment);
	return 0;
}
