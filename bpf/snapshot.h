/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Snapshots: registers and a copy of the stack, sent to be walked in userspace, where the data the
 * walk lacked will be; or, with the frames, to have the walk judged.
 */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "bpf/count.h"
#include "bpf/env.h"
#include "bpf/lookup.h"
#include "bpf/maps.h"
#include "bpf/walk_read.h"

struct stack_copy {
	struct fpl_snapshot *to;
	__u32 off;   /* in to->bytes, of the stack's first byte */
	__u32 limit; /* bytes of stack wanted, at most FPL_SNAPSHOT_MAX */
	__u32 first; /* bytes up to the end of the first page */
	__u32 size;  /* copied, up to the end of the last page that is resident */
	__u32 missing;
	__u64 addr;
};

/* Copy the part of the stack that lies in its @idx-th page. */
static long stack_copy_page(__u32 idx, void *arg)
{
	struct stack_copy *copy = arg;
	__u32 done = idx ? copy->first + (idx - 1) * FPL_STACK_PAGE : 0;
	__u32 size = idx ? FPL_STACK_PAGE : copy->first;
	__u32 limit = copy->limit;

	if (done >= limit || limit > FPL_SNAPSHOT_MAX)
		return 1;
	if (size > limit - done)
		size = limit - done;

	__u64 to = copy->off + done;

	if (size > FPL_STACK_PAGE || to > sizeof(copy->to->bytes) - FPL_STACK_PAGE)
		return 1;
	if (bpf_probe_read_user(copy->to->bytes + to, size, (const void *)(copy->addr + done)))
		copy->missing |= 1u << (idx & 31);
	else
		copy->size = done + size;
	return 0;
}

/* Copy the stack of the registers at @regs to @to + @off, as far as it is resident; completes
 * @regs. */
static __always_inline void stack_copy(struct fpl_snapshot *to, __u32 off, struct fpl_regs *regs)
{
	__u64 sp = regs->reg[ARCH_SP];
	struct stack_copy copy = {
		.to = to,
		.off = off,
		.limit = config.snapshot_bytes & ~7u,
		.addr = (sp & ~7ull) - ARCH_RED_ZONE,
	};
	__u64 word;

	/* The page below sp may never have been touched. */
	if (bpf_probe_read_user(&word, sizeof(word), (const void *)copy.addr))
		copy.addr = sp & ~7ull;
	copy.first = FPL_STACK_PAGE - (__u32)(copy.addr & (FPL_STACK_PAGE - 1));
	bpf_loop(FPL_SNAPSHOT_MAX / FPL_STACK_PAGE + 1, stack_copy_page, &copy, 0);
	regs->stack_addr = copy.addr;
	regs->stack_size = copy.size;
	regs->missing = copy.missing;
	regs->_pad[0] = regs->_pad[1] = 0;
}

/*
 * Copy @nr frames, at most @max, from the @first on. The bounds are made certain right where they
 * are used, and the compiler kept from using an earlier check in their place: kernels before 6.3
 * forget bounds of what is kept on the stack meanwhile.
 */
static __always_inline void frames_copy(struct fpl_snapshot *to, __u64 off, struct fpl_scratch *s,
					__u64 first, __u64 nr, __u64 max)
{
	LOOKUP_OPAQUE(off);
	LOOKUP_OPAQUE(first);
	LOOKUP_OPAQUE(nr);
	if (off > sizeof(struct fpl_sample) + 8 * FPL_DEPTH_MAX || first > FPL_DEPTH_MAX ||
	    nr > max)
		return;
	bpf_probe_read_kernel(to->bytes + off, nr * 8, s->frames + first);
}

/*
 * Send a record of @type with the first @nr_user user frames of the sample, its other frames,
 * registers and stack. Returns 0, or non-zero where the ring has no room for it.
 */
WALK_GLOBAL int snapshot_send(struct fpl_scratch *s, __u32 type, __u32 nr_user, __u32 count)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct fpl_snapshot *to = bpf_map_lookup_elem(&snapshots, &cpu);
	struct fpl_sample *sample;

	if (!s || !to)
		return -1;

	__u32 rest_at = s->sample.nr_user; /* kernel frames, fp frames */
	__u32 nr_rest = (__u32)s->sample.nr_kernel + s->sample.nr_fp;

	if (nr_user > FPL_DEPTH_MAX || rest_at > FPL_DEPTH_MAX || nr_rest > FPL_REST_MAX ||
	    !ring_has_room(config.snapshot_bytes, 4))
		return -1;

	__u64 rest_off = sizeof(*sample) + nr_user * 8;
	__u64 regs_off = rest_off + nr_rest * 8;

	stack_copy(to, (__u32)(regs_off + sizeof(s->regs)), &s->regs);
	bpf_probe_read_kernel(to->bytes, sizeof(*sample), &s->sample);
	frames_copy(to, sizeof(*sample), s, 0, nr_user, FPL_DEPTH_MAX);
	frames_copy(to, rest_off, s, rest_at, nr_rest, FPL_REST_MAX);
	LOOKUP_OPAQUE(regs_off);
	if (regs_off > sizeof(*sample) + 8 * FPL_FRAMES_MAX)
		return -1;
	bpf_probe_read_kernel(to->bytes + regs_off, sizeof(s->regs), &s->regs);

	__u64 size = regs_off + sizeof(s->regs) + s->regs.stack_size;

	if (size > sizeof(to->bytes))
		return -1;
	sample = (struct fpl_sample *)to->bytes;
	sample->header.type = type;
	sample->header.size = (__u32)size;
	sample->id = new_stack_id();
	sample->count = count;
	sample->nr_user = (__u16)nr_user;
	return (int)bpf_ringbuf_output(&ring, to->bytes, size, BPF_RB_FORCE_WAKEUP);
}
