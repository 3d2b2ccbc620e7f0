/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's frame-pointer walk, made again here: the frames bpf_get_stack gives for a user stack
 * of 64-bit code, word for word, at a fraction of its cost for long chains. It follows rbp as
 * perf_callchain_user does (Linux, arch/x86/events/core.c): the only condition is that both words
 * of a frame are readable. tests/root/test_fp_chain compares both on the same samples. (From v6.11
 * on the kernel adds a frame where a sample interrupts the handler of a uprobe at a function's
 * entry; this walk does not.) At the trampoline of return probes it takes the return address of the
 * next pending call, as the kernel does from v6.11 on (commit 4a365eb8a6d9, "perf,uprobes: fix user
 * stack traces in the presence of pending uretprobes"); this walk does so on older kernels, too,
 * because compare judges frame pointers, not the kernel.
 */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/shared.h"
#include "bpf/uprobe.h"
#include "bpf/walk_state.h"

struct fp_chain {
	struct fpl_walk *walk; /* the window may hold bytes of this stack already */
	__u64 *frames;	       /* [FPL_FP_DEPTH_MAX] */
	__u64 fp;
	__u64 last; /* where the frame before was */
	__u32 nr;
};

/* Frames in a row lie close together: read the next ones in the same read. */
static __always_inline int fp_chain_is_near(const struct fp_chain *chain)
{
	return !(chain->fp & 7) && chain->fp - chain->last < FPL_WINDOW_SIZE;
}

/* Make sure that the window holds the frame at chain->fp, alone if need be. Returns 0, or non-zero
 * if the frame is not resident. */
static __noinline int fp_chain_read(struct fp_chain *chain)
{
	struct fpl_walk *walk = chain->walk;

	walk->window_addr = chain->fp;
	walk->window_size = FPL_WINDOW_SIZE;
	if (fp_chain_is_near(chain) &&
	    !bpf_probe_read_user(walk->window, FPL_WINDOW_SIZE, (const void *)chain->fp))
		return 0;
	walk->window_size = 16;
	if (!bpf_probe_read_user(walk->window, 16, (const void *)chain->fp))
		return 0;
	walk->window_size = 0;
	return 1;
}

static long fp_chain_step(__u32 idx, void *arg)
{
	struct fp_chain *chain = arg;
	struct fpl_walk *walk = chain->walk;
	__u64 off = chain->fp - walk->window_addr;

	if (idx + 1 >= FPL_FP_DEPTH_MAX)
		return 1;
	if (off >= walk->window_size || walk->window_size - off < 16 || (off & 7)) {
		if (fp_chain_read(chain))
			return 1;
		off = 0;
	}
	off = (off >> 3) & (FPL_WINDOW_SIZE / 8 - 1);
	chain->frames[idx + 1] = walk->window[(off + 1) & (FPL_WINDOW_SIZE / 8 - 1)];
	chain->last = chain->fp;
	chain->fp = walk->window[off];
	chain->nr = idx + 2;
	return 0;
}

struct fp_unprobe {
	__u64 *frames; /* [FPL_FP_DEPTH_MAX] */
	__u64 trampoline;
	__u64 at; /* in the list of pending calls */
};

static long fp_unprobe_one(__u32 idx, void *arg)
{
	struct fp_unprobe *unprobe = arg;
	struct return_instance *call = (struct return_instance *)unprobe->at;

	if (!call || idx >= FPL_FP_DEPTH_MAX)
		return 1;
	if (unprobe->frames[idx] != unprobe->trampoline)
		return 0;
	unprobe->frames[idx] = BPF_CORE_READ(call, orig_ret_vaddr);
	unprobe->at = (__u64)BPF_CORE_READ(call, next);
	return 0;
}

/*
 * Follow frame pointers from @fp, beginning with the frame at @pc; write at most @max frames, leaf
 * first, to @frames. The window of @walk is empty or holds this stack. Returns how many.
 */
static __noinline __u32 fp_chain_walk(struct fpl_walk *walk, __u64 *frames, __u64 pc, __u64 fp,
				      __u32 max)
{
	struct fp_chain chain = { .walk = walk, .frames = frames, .fp = fp, .last = fp, .nr = 1 };

	if (!max)
		return 0;
	frames[0] = pc;
	bpf_loop(max - 1, fp_chain_step, &chain, 0);

	struct fp_unprobe unprobe = { .frames = frames, .at = uretprobes_pending() };

	if (unprobe.at) {
		unprobe.trampoline = uprobes_page();
		bpf_loop(chain.nr, fp_unprobe_one, &unprobe, 0);
	}
	return chain.nr;
}
