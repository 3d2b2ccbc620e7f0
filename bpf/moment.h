/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A moment: what an entry (perf event, tracepoint, probe) knows when it takes a sample. The rest of
 * a sample is the same for all of them. Entries build it in the code they are inlined into, so that
 * what is the same in all moments of an entry costs nothing.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "bpf/env.h"

struct moment {
	void *ctx; /* of the program */
	/* Registers of the code that was interrupted, = ctx; NULL: kernel code called the program,
	 * and the user's registers are those stored when the task entered the kernel. */
	struct bpf_perf_event_data *interrupted;
	const struct fpl_source *event; /* what is asked of the record that ctx is; NULL: nothing */
	__u32 source;			/* which of the run's sources, 0.. */
	__u32 slot;			/* memory and counters that are its own: slot.h */
	__u32 has_weight; /* its weight and its objects are in the slot: fpl_scratch.given */
	/* The code that was interrupted has nothing but a return address on its stack, and is not
	 * of interest: the walk begins there. */
	__u32 from_caller;
	__u32 flags;   /* FPL_SAMPLE_* of a wait */
	__u32 is_kept; /* its wait begins: the stack is kept, and it is no sample yet (kept.h) */
	/* The thread that the current one wakes up: the name of it is the sample's key, and the
	 * current one need not be of the targets; NULL: it wakes none up. */
	struct task_struct *wakee;
	__u64 now_ns; /* 0: the clock has not been read */
};

/* Weight of a sample of each source: written by userspace while the gate is closed. */
__u64 source_weights[FPL_SOURCES_MAX];

/*
 * Programs run while this is not 0. Not every source has a switch of its own, so all entries read
 * it first: userspace closes it, waits for the programs that run, and then the books hold still.
 */
__u32 gate;

static __always_inline int gate_is_open(void)
{
	return *(volatile __u32 *)&gate != 0;
}

/* The source whose event runs the program: its link's cookie, where there are several. */
static __always_inline __u32 source_of(void *ctx)
{
	return config.nr_sources > 1 ? (__u32)bpf_get_attach_cookie(ctx) & (FPL_SOURCES_MAX - 1)
				     : 0;
}

static __always_inline __u64 source_weight(__u32 source)
{
	return *(volatile __u64 *)&source_weights[source & (FPL_SOURCES_MAX - 1)];
}
