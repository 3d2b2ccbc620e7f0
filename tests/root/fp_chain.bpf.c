// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Both frame-pointer walks of the same samples: the kernel's, and bpf/fp_chain.h. */
#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "bpf/fp_chain.h"
#include "tests/root/fp_chain.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 max_frames = 1;
struct fp_chain_result result;

struct both {
	struct fpl_walk walk;
	__u64 own[FPL_FP_DEPTH_MAX + 1];
	__u64 kernel[FPL_FP_DEPTH_MAX + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct both);
} scratch SEC(".maps");

static long compare_one(__u32 idx, void *arg)
{
	struct both *both = *(struct both **)arg;

	if (idx >= FPL_FP_DEPTH_MAX)
		return 1;
	if (both->own[idx] == both->kernel[idx])
		return 0;
	result.nr_wrong++;
	result.wrong_idx = idx;
	result.own = both->own[idx];
	result.kernel = both->kernel[idx];
	return 1;
}

/* There is one child on one CPU at a time: nothing here is shared. */
SEC("perf_event")
int both_chains(struct bpf_perf_event_data *ctx)
{
	__u64 pc = ctx->regs.rip, fp = ctx->regs.rbp, sp = ctx->regs.rsp, pt[ARCH_PT_WORDS];
	__u32 zero = 0, nr, nr_kernel;
	struct both *both = bpf_map_lookup_elem(&scratch, &zero);
	long size;

	if (!both)
		return 0;
	if (arch_is_kernel(ctx->regs.cs)) {
		__u64 at = (__u64)bpf_task_pt_regs(bpf_get_current_task_btf());

		if (arch_regs_half_stored(sp, at) ||
		    bpf_probe_read_kernel(pt, sizeof(pt), (const void *)at))
			return 0;
		pc = pt[ARCH_PT_RIP];
		fp = pt[ARCH_PT_RBP];
		sp = pt[ARCH_PT_RSP];
	}
	both->walk.window_addr = sp & ~7ull;
	both->walk.window_size = 0;
	/* every other time with a window that a walk has left */
	if ((result.nr_samples++ & 1) &&
	    !bpf_probe_read_user(both->walk.window, FPL_WINDOW_SIZE, (const void *)(sp & ~7ull)))
		both->walk.window_size = FPL_WINDOW_SIZE;
	nr = fp_chain_walk(&both->walk, both->own, pc, fp, max_frames);
	size = bpf_get_stack(ctx, both->kernel, FPL_FP_DEPTH_MAX * 8, BPF_F_USER_STACK);
	nr_kernel = size > 0 ? (__u32)size / 8 : 0;
	result.nr_frames += nr;
	if (nr > result.longest)
		result.longest = nr;
	if (nr != nr_kernel) {
		result.nr_wrong++;
		result.wrong_idx = nr;
		result.own = nr;
		result.kernel = nr_kernel;
		return 0;
	}
	bpf_loop(nr, compare_one, &both, 0);
	return 0;
}
