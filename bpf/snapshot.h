/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Snapshots: registers and a copy of the stack. Userspace walks them, once it has the data that the
 * kernel's walk lacked, or judges a walk by them.
 */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "bpf/count.h"
#include "bpf/env.h"
#include "bpf/islands.h"
#include "bpf/lookup.h"
#include "bpf/maps.h"
#include "bpf/slot.h"
#include "bpf/stack_end.h"
#include "bpf/uprobe.h"
#include "bpf/walk_read.h"

/* Copy the part of the stack that lies in its page @idx. What the copy is of is in the snapshot: on
 * the stack the verifier would follow each value that it may have. */
static long stack_copy_page(__u32 idx, void *arg)
{
	struct fpl_snapshot *to = *(struct fpl_snapshot **)arg;
	__u32 first = FPL_STACK_PAGE - (__u32)(to->stack_addr & (FPL_STACK_PAGE - 1));
	__u32 done = idx ? first + (idx - 1) * FPL_STACK_PAGE : 0;
	__u32 size = idx ? FPL_STACK_PAGE : first;
	__u32 limit = to->limit;

	if (done >= limit || limit > FPL_SNAPSHOT_MAX)
		return 1;
	if (size > limit - done)
		size = limit - done;

	__u64 at = (__u64)to->stack_off + done;
	__u64 from = to->stack_addr + done + (done >= to->hole.off ? to->hole.size : 0);

	LOOKUP_OPAQUE(size);
	LOOKUP_OPAQUE(at);
	if (size > FPL_STACK_PAGE || at > sizeof(to->bytes) - FPL_STACK_PAGE)
		return 1;
	if (bpf_probe_read_user(to->bytes + at, size, (const void *)from))
		to->missing |= 1u << (idx & 31);
	else
		to->stack_size = done + size;
	return 0;
}

/* The part next to the stack pointer ends at a multiple of this, so that the next copy mostly has
 * its hole in the same place and can share. */
#define HOLE_STEP 16384u

/*
 * Choose the parts of the stack [to->stack_addr, @end) to copy; @end 0: unknown. Copy it whole if
 * to->limit allows. Otherwise, if it @may_lack its middle, the outer end gets a third of the limit
 * and the inner end the rest.
 */
static __always_inline void stack_divide(struct fpl_snapshot *to, __u64 end, int may_lack)
{
	__u64 addr = to->stack_addr, limit = to->limit;
	__u64 third = limit / 3 & ~(__u64)(FPL_STACK_PAGE - 1);
	__u64 root = (end & ~(__u64)(FPL_STACK_PAGE - 1)) - third;
	__u64 near = addr + limit - third - FPL_STACK_PAGE;

	if (end && end - addr <= limit) {
		to->limit = (__u32)(end - addr);
	} else if (may_lack && !end && limit > FPL_SNAPSHOT_BLIND) {
		to->limit = FPL_SNAPSHOT_BLIND;
	} else if (may_lack && end && third >= HOLE_STEP) {
		near = root - ((root - near + HOLE_STEP - 1) & ~(__u64)(HOLE_STEP - 1));
		to->hole.off = (__u32)(near - addr);
		to->hole.size = (__u32)(root - near);
		to->limit = (__u32)(end - root) + to->hole.off;
	}
}

/* Copy the stack of the registers at @regs to @to + @off, as far as it is resident, in one piece
 * unless it @may_lack its middle; complete @regs. */
static __always_inline void stack_copy(struct fpl_snapshot *to, __u32 off, struct fpl_regs *regs,
				       int may_lack)
{
	__u64 sp = regs->reg[ARCH_SP];
	__u64 word;

	to->stack_addr = (sp & ~7ull) - ARCH_RED_ZONE;
	/* The page below sp may be untouched. */
	if (bpf_probe_read_user(&word, sizeof(word), (const void *)to->stack_addr))
		to->stack_addr = sp & ~7ull;
	to->stack_off = off;
	to->stack_size = to->missing = 0;
	to->limit = config.snapshot_bytes & ~7u;
	__builtin_memset(&to->hole, 0, sizeof(to->hole));
	stack_divide(to, stack_end(to, sp), may_lack);
	bpf_loop(FPL_SNAPSHOT_MAX / FPL_STACK_PAGE + 1, stack_copy_page, &to, 0);
	regs->stack_addr = to->stack_addr;
	regs->stack_size = to->stack_size;
	regs->missing = to->missing;
	regs->_pad[0] = regs->_pad[1] = 0;
	/* nothing of what is behind it was there */
	if (to->stack_size <= to->hole.off)
		to->hole.off = to->hole.size = 0;
	to->hole_addr = to->stack_addr + to->hole.off;
}

/* Return addresses that are put back into a copy of the stack. */
struct stack_patch {
	struct fpl_snapshot *to;
	struct fpl_walk *walk; /* is_probed */
	__u64 at;	       /* in the list of pending calls */
	__u64 trampoline;
	__u64 addr; /* address of the stack bytes copied to to->bytes + off */
	__u32 off;
	__u32 size;
};

static long stack_patch_one(__u32 idx, void *arg)
{
	struct stack_patch *patch = arg;
	struct return_instance *call = (struct return_instance *)patch->at;
	__u64 at, word;

	if (!call)
		return 1;
	patch->at = (__u64)BPF_CORE_READ(call, next);
	at = BPF_CORE_READ(call, stack) - patch->addr;
	if (at >= patch->to->hole.off && patch->to->hole.size) {
		if (at - patch->to->hole.off < patch->to->hole.size)
			return 0;
		at -= patch->to->hole.size;
	}
	if (patch->size < 8 || at > patch->size - 8)
		return 0;
	at += patch->off;
	if (at > sizeof(patch->to->bytes) - 8)
		return 0;
	bpf_probe_read_kernel(&word, sizeof(word), patch->to->bytes + at);
	/* a later call may have put its own there: longjmp leaves entries in the list */
	if (word != patch->trampoline)
		return 0;
	word = BPF_CORE_READ(call, orig_ret_vaddr);
	bpf_probe_read_kernel(patch->to->bytes + at, sizeof(word), &word);
	patch->walk->is_probed = 1;
	return 0;
}

/* Put return addresses back into the copy of the sample's stack at @to + @off, in place of the
 * trampoline of return probes. Returns 0. */
WALK_GLOBAL int stack_unprobe(struct fpl_snapshot *to, struct fpl_scratch *s, __u32 off)
{
	struct stack_patch patch = { .to = to, .at = uretprobes_pending(), .off = off };

	if (!to || !s || !patch.at)
		return 0;
	patch.walk = &s->walk;
	patch.addr = s->regs.stack_addr;
	patch.size = s->regs.stack_size;
	patch.trampoline = uprobes_page();
	bpf_loop(URETPROBES_MAX, stack_patch_one, &patch, 0);
	return 0;
}

/*
 * Copy @nr frames, at most @max, beginning with @first. The bounds are checked right before their
 * use, and the compiler is kept from using an earlier check instead: kernels before 6.3 forget the
 * bounds of values spilled to the stack.
 */
static __always_inline void frames_copy(struct fpl_snapshot *to, __u64 off, struct fpl_scratch *s,
					__u64 first, __u64 nr, __u64 max)
{
	LOOKUP_OPAQUE(off);
	LOOKUP_OPAQUE(first);
	LOOKUP_OPAQUE(nr);
	if (off > sizeof(struct fpl_sample) + 8 * FPL_USER_FRAMES_MAX ||
	    first > FPL_USER_FRAMES_MAX || nr > max)
		return;
	bpf_probe_read_kernel(to->bytes + off, nr * 8, s->frames + first);
}

/* Unit in which two copies of a stack are compared. */
#define SHARE_BLOCK 64u
/* Less in common is sent anew. */
#define SHARE_LEAST 1024u
/* Limit of the bytes above the shared part. They are sent, and moved down to close the gap: bytes
 * that the other copy lacks, or that differ, in the outermost frames. */
#define SHARE_BEYOND FPL_STACK_PAGE
#define SHARE_ROOT   8192u
#define SHARE_ABOVE  (SHARE_BEYOND + SHARE_ROOT)

struct stack_share {
	const struct fpl_snapshot *to, *last;
	__u64 to_end, last_end; /* in bytes, of what both have */
	__u32 skip;		/* skip bytes below that: those that differ and those above them */
	__u32 size;		/* found to be the same, up to there */
};

/* Do both have the same hole, or none, and the same end address? */
static __always_inline int stack_is_alike(const struct fpl_snapshot *to,
					  const struct fpl_snapshot *last)
{
	__u64 to_hole = to->stack_addr + to->hole.off;
	__u64 last_hole = last->stack_addr + last->hole.off;

	if (!to->hole.size && !last->hole.size)
		return 1;
	return to->hole.size == last->hole.size && to_hole == last_hole &&
	       to->stack_addr + to->stack_size == last->stack_addr + last->stack_size;
}

static long stack_share_block(__u32 idx, void *arg)
{
	struct stack_share *share = arg;
	__u64 below = ((__u64)idx + 1) * SHARE_BLOCK;
	__u64 to_off = share->to_end - below, last_off = share->last_end - below;
	const __u64 *a, *b;
	__u64 differ = 0;

	LOOKUP_OPAQUE(to_off);
	LOOKUP_OPAQUE(last_off);
	if (to_off > sizeof(share->to->bytes) - SHARE_BLOCK ||
	    last_off > sizeof(share->last->bytes) - SHARE_BLOCK)
		return 1;
	a = (const __u64 *)(share->to->bytes + to_off);
	b = (const __u64 *)(share->last->bytes + last_off);
#pragma GCC unroll 8
	for (__u32 i = 0; i < SHARE_BLOCK / 8; i++)
		differ |= a[i] ^ b[i];
	if (differ && below > SHARE_ROOT)
		return 1;
	if (differ)
		share->skip = (__u32)below;
	share->size = (__u32)below - share->skip;
	return 0;
}

/*
 * The callers change little from one sample to the next: find the outer part of the stack copied to
 * @to that @last has, too, byte by byte; write it to to->shared. Returns 0.
 */
WALK_GLOBAL int stack_share(struct fpl_snapshot *to, const struct fpl_snapshot *last)
{
	__u64 start, end, to_end, last_end;

	if (!to || !last || !last->id || !stack_is_alike(to, last))
		return 0;
	/* as if there were no hole */
	to_end = to->stack_addr + to->stack_size;
	last_end = last->stack_addr + last->stack_size;
	start = to->stack_addr > last->stack_addr ? to->stack_addr : last->stack_addr;
	end = to_end < last_end ? to_end : last_end;
	if (end <= start || end - start > FPL_SNAPSHOT_MAX || to_end - end > SHARE_BEYOND)
		return 0;

	struct stack_share share = { .to = to, .last = last };

	share.to_end = to->stack_off + (end - to->stack_addr);
	share.last_end = last->stack_off + (end - last->stack_addr);
	bpf_loop((__u32)(end - start) / SHARE_BLOCK, stack_share_block, &share, 0);
	if (share.size < SHARE_LEAST || share.size < to->stack_size / 2)
		return 0;
	to->shared.id = last->id;
	to->shared.off = (__u32)(end - to->stack_addr) - share.skip - share.size;
	to->shared.size = share.size;
	return 0;
}

/* Take the shared part out of the stack at @to->stack_off. Returns the number of bytes left. */
static __always_inline __u32 stack_close_up(struct fpl_snapshot *to)
{
	__u64 at = (__u64)to->stack_off + to->shared.off;
	__u64 above = (__u64)to->stack_size - to->shared.off - to->shared.size;

	LOOKUP_OPAQUE(at);
	LOOKUP_OPAQUE(above);
	if (to->shared.size && above <= SHARE_ABOVE && at <= sizeof(to->bytes) - SHARE_ABOVE)
		bpf_probe_read_kernel(to->bytes + at, above, to->bytes + at + to->shared.size);
	return to->stack_size - to->shared.size;
}

/* One of the slot's two snapshots; NULL on a CPU that came online after loading. */
static __always_inline struct fpl_snapshot *snapshot_of(__u32 slot, __u32 idx)
{
	__u32 key = slot_key(slot) * FPL_SNAPSHOTS_PER_SLOT + idx;

	return bpf_map_lookup_elem(&snapshots, &key);
}

static __always_inline void snapshot_find_islands(struct fpl_scratch *s, struct fpl_snapshot *to)
{
	for (__u32 i = 0; i < FPL_ISLANDS_MAX; i++)
		to->islands[i] = 0;
	if (to->hole.size)
		islands_find(to, &s->regs);
	else
		islands_find_go(to);
}

/*
 * Put the registers at @to + @off and, of a FPL_RECORD_SNAPSHOT, what describes the copy of the
 * stack behind them. Returns 0 on failure.
 */
static __always_inline int snapshot_put_regs(struct fpl_scratch *s, struct fpl_snapshot *to,
					     __u32 type, __u64 off)
{
	LOOKUP_OPAQUE(off);
	if (off > sizeof(s->sample) + 8 * FPL_FRAMES_MAX)
		return 0;
	bpf_probe_read_kernel(to->bytes + off, sizeof(s->regs), &s->regs);
	if (type != FPL_RECORD_SNAPSHOT)
		return 1;
	off += sizeof(s->regs);
	bpf_probe_read_kernel(to->bytes + off, sizeof(to->hole), &to->hole);
	off += sizeof(to->hole);
	bpf_probe_read_kernel(to->bytes + off, sizeof(to->shared), &to->shared);
	return 1;
}

/* Put the frames, @nr_user of them the sample's first user frames, the registers and the stack
 * together in @to. Returns the size of the record, or 0 on failure. */
static __always_inline __u64 snapshot_fill(struct fpl_scratch *s, struct fpl_snapshot *to,
					   const struct fpl_snapshot *last, __u32 type,
					   __u32 nr_user)
{
	__u32 rest_at = s->sample.nr_user; /* kernel frames, fp frames, key */
	__u32 nr_rest = (__u32)s->sample.nr_kernel + s->sample.nr_fp + s->sample.nr_key;

	if (nr_user > FPL_USER_FRAMES_MAX || rest_at > FPL_USER_FRAMES_MAX ||
	    nr_rest > FPL_REST_MAX)
		return 0;

	__u64 rest_off = sizeof(s->sample) + nr_user * 8;
	__u64 regs_off = rest_off + nr_rest * 8;
	__u64 size = regs_off + sizeof(s->regs);

	if (type == FPL_RECORD_SNAPSHOT)
		size += sizeof(to->hole) + sizeof(to->shared);
	stack_copy(to, (__u32)size, &s->regs, type == FPL_RECORD_SNAPSHOT);
	to->id = 0;
	stack_unprobe(to, s, to->stack_off);
	to->shared.id = to->shared.off = to->shared.size = 0;
	to->shared.slot = s->slot;
	if (type == FPL_RECORD_SNAPSHOT) {
		snapshot_find_islands(s, to);
		stack_share(to, last);
	}
	bpf_probe_read_kernel(to->bytes, sizeof(s->sample), &s->sample);
	frames_copy(to, sizeof(s->sample), s, 0, nr_user, FPL_USER_FRAMES_MAX);
	frames_copy(to, rest_off, s, rest_at, nr_rest, FPL_REST_MAX);
	size += stack_close_up(to);
	if (type == FPL_RECORD_SNAPSHOT && to->hole.nr_islands)
		size += (__u32)islands_copy(to, (__u32)size);
	return snapshot_put_regs(s, to, type, regs_off) ? size : 0;
}

/*
 * Send a record of @type with the first @nr_user user frames of the sample, its other frames,
 * registers and stack. Returns 0, or non-zero where the ring has no room for it.
 */
WALK_GLOBAL int snapshot_send(struct fpl_scratch *s, __u32 type, __u32 nr_user, __u32 count)
{
	struct fpl_snapshot *to, *last;
	struct fpl_sample *sample;
	__u64 size;

	if (!s)
		return -1;
	to = snapshot_of(s->slot, 0);
	last = snapshot_of(s->slot, 1);
	if (!to || !last)
		return -1;
	if (to->id) {
		struct fpl_snapshot *other = to;

		to = last;
		last = other;
	}
	size = snapshot_fill(s, to, last, type, nr_user);
	LOOKUP_OPAQUE(size);
	if (!size || size > sizeof(to->bytes) || !ring_has_room((__u32)size, 4))
		return -1;
	sample = (struct fpl_sample *)to->bytes;
	sample->header.type = type;
	sample->header.size = (__u32)size;
	sample->id = new_stack_id();
	sample->count = count;
	sample->nr_user = (__u16)nr_user;
	sample->nr_script = 0;

	__u32 id = sample->id;

	if (bpf_ringbuf_output(&ring, to->bytes, size, ring_wakeup()))
		return -1;
	reader_wake();
	s->counted_id = id;
	if (type == FPL_RECORD_SNAPSHOT && !to->shared.size) {
		to->id = id;
		last->id = 0;
	}
	return 0;
}
