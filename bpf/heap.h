/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocations as a source: probes at the entry of the functions that allocate, at their return, and
 * at those that free. A sample is taken at the return, where the address is known and the caller is
 * the leaf. `live` has the sampled allocations that were not freed.
 *
 * The allocated bytes of a CPU's slot are cut into strata of fpl_source.stride bytes. Each has one
 * point that is chosen at random, and an allocation is sampled for the points that its bytes hold.
 * So each byte has the same chance, however large its allocation is: a sample weighs a stride for
 * each of its points, and the sum has no bias. With a stride of 1 each allocation weighs its size.
 *
 * A program may sample its allocations itself, and tell of them and of their frees by probes of its
 * own: `tolds` has where their arguments are. So does the library of --preload (src/preload).
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "bpf/env.h"
#include "bpf/event.h"
#include "bpf/maps.h"
#include "bpf/moment.h"
#include "bpf/sample.h"
#include "bpf/slot.h"

/* By thread: the call of an allocating function that it is in. */
struct alloc_call {
	__u64 sp;	/* at its entry; 0: it is in none */
	__u64 size;	/* bytes that it asks for */
	__u64 weight;	/* of its sample */
	__u64 result;	/* where the function stores the address; 0: it returns it */
	__u64 addr;	/* that it gave */
	__u64 old_addr; /* that realloc is to free */
	struct fpl_live old;
	__u32 has_old; /* it was sampled */
	__u32 is_sampled;
	__u32 from_caller; /* as in struct fpl_told */
	__u32 _pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64); /* tgid and tid, as the kernel numbers them */
	__type(value, struct alloc_call);
} alloc_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 262144);
	__type(key, struct fpl_live_key);
	__type(value, struct fpl_live);
} live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FPL_TOLDS_MAX);
	__type(key, __u32);
	__type(value, struct fpl_told);
} tolds SEC(".maps");

/* The probe that tells of allocations, by the cookie of the link; NULL: it is no such probe. */
static __always_inline const struct fpl_told *told_of(void *ctx)
{
	__u64 cookie;
	__u32 idx;

	if (!(config.flags & FPL_CONFIG_TOLD))
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	if ((cookie >> 8 & 0xff) != FPL_ALLOC_TOLD)
		return 0;
	idx = (__u32)(cookie >> 16) & 0xffff;
	return bpf_map_lookup_elem(&tolds, &idx);
}

/* The number of sampled points among the next @size bytes of the slot. */
static __always_inline __u64 stride_points(struct fpl_counters *count, __u64 size, __u64 stride)
{
	__u64 from = count->stratum_at, end = from + size;
	__u64 nr = from <= count->stratum_point && count->stratum_point < end;

	if (end < from || !stride)
		return 0; /* no allocation is that large */
	if (end < stride) {
		count->stratum_at = end;
		return nr;
	}
	nr += end / stride - 1;
	count->stratum_at = end % stride;
	count->stratum_point = random_below(stride);
	return nr + (count->stratum_point < count->stratum_at);
}

static __always_inline void live_key(struct fpl_live_key *key, __u64 addr)
{
	key->addr = addr;
	key->tgid = bpf_get_current_pid_tgid() >> 32;
	key->_pad = 0;
}

/* Forget the allocation at @addr. Returns whether it was a sampled one, then *@ret. */
static __always_inline int live_take(__u64 addr, struct fpl_live *ret)
{
	struct fpl_live_key key;
	struct fpl_live *entry;

	live_key(&key, addr);
	entry = bpf_map_lookup_elem(&live, &key);
	if (!entry)
		return 0;
	*ret = *entry;
	return !bpf_map_delete_elem(&live, &key);
}

static __always_inline void live_put(__u64 addr, const struct fpl_live *entry)
{
	struct fpl_live_key key;

	live_key(&key, addr);
	if (bpf_map_update_elem(&live, &key, entry, BPF_ANY))
		note_full(FPL_FULL_LIVE);
}

/* Is the current process one of those that are profiled? */
static __always_inline int is_process_wanted(struct task_struct *task, struct fpl_scratch *s)
{
	__u32 tgid = current_pid_tgid(task) >> 32;
	__u64 start_ns = start_of(task);

	return recent_find(s, task, tgid, start_ns) || is_active(task, tgid, start_ns);
}

/* Read what the call asks for. */
static __always_inline void alloc_read(struct alloc_call *call, struct bpf_perf_event_data *ctx,
				       __u32 kind)
{
	call->result = 0;
	switch (kind) {
	case FPL_ALLOC_COUNT:
		call->size = ctx->regs.rdi * ctx->regs.rsi;
		break;
	case FPL_ALLOC_AGAIN:
	case FPL_ALLOC_ALIGNED:
		call->size = ctx->regs.rsi;
		break;
	case FPL_ALLOC_AGAIN_COUNT:
		call->size = ctx->regs.rsi * ctx->regs.rdx;
		break;
	case FPL_ALLOC_STORED:
		call->result = ctx->regs.rdi;
		call->size = ctx->regs.rdx;
		break;
	default:
		call->size = ctx->regs.rdi;
	}
}

/* The thread's entry; NULL: no room. */
static __always_inline struct alloc_call *alloc_call_of(__u64 thread)
{
	struct alloc_call *call = bpf_map_lookup_elem(&alloc_calls, &thread);

	if (call)
		return call;

	struct alloc_call none = { 0 };

	bpf_map_update_elem(&alloc_calls, &thread, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&alloc_calls, &thread);
}

/*
 * A thread has entered a function that allocates. One that is called by another one, or that the
 * other one jumped to, belongs to it: it allocates nothing more.
 */
static __noinline int alloc_enter(struct bpf_perf_event_data *ctx, __u32 slot)
{
	__u32 source = source_of(ctx), kind = (__u32)(bpf_get_attach_cookie(ctx) >> 8) & 0xff;
	struct task_struct *task = bpf_get_current_task_btf();
	struct fpl_counters *count = bpf_map_lookup_elem(&counters, &slot);
	const struct fpl_source *asked = bpf_map_lookup_elem(&sources, &source);
	struct fpl_scratch *s = slot_scratch(slot);
	struct alloc_call *call;

	if (!count || !asked || !s || !is_process_wanted(task, s))
		return 0;
	call = alloc_call_of(bpf_get_current_pid_tgid());
	if (!call || (call->sp && ctx->regs.rsp <= call->sp))
		return 0;
	call->sp = ctx->regs.rsp;
	alloc_read(call, ctx, kind);
	call->weight = stride_points(count, call->size, asked->stride) * asked->stride;
	/* one without bytes has no points; it is sampled where all others are */
	call->is_sampled = call->weight || (!call->size && asked->stride == 1);
	call->has_old = 0;
	call->from_caller = 0;
	/* before the function frees it: another thread may have the address before it returns */
	if (kind == FPL_ALLOC_AGAIN || kind == FPL_ALLOC_AGAIN_COUNT) {
		call->old_addr = ctx->regs.rdi;
		call->has_old = live_take(call->old_addr, &call->old);
	}
	return 0;
}

/* The address that a call which has @returned gave; 0: none. */
static __always_inline __u64 alloc_result(const struct alloc_call *call, __u64 returned)
{
	__u64 addr = 0;

	if (!call->result)
		return returned;
	if (!(__u32)returned) /* it is an errno */
		bpf_probe_read_user(&addr, sizeof(addr), (const void *)call->result);
	return addr;
}

/* A program tells of an allocation. Returns it as a call that is to be sampled. */
static __noinline struct alloc_call *alloc_told(void *ctx, const struct fpl_told *told)
{
	struct alloc_call *call = alloc_call_of(bpf_get_current_pid_tgid());

	if (!call || !told)
		return 0;
	call->sp = 0;
	call->addr = field_number(ctx, &told->addr);
	call->size = field_number(ctx, &told->size);
	call->weight = field_number(ctx, &told->weight);
	call->has_old = 0;
	call->is_sampled = 1;
	call->from_caller = told->from_caller;
	return call->addr ? call : 0;
}

/*
 * A thread returns from a function that allocates. Returns its call if that is to be sampled, else
 * NULL. A function, like those behind it: their stacks are not in use while the walk runs.
 */
static __noinline struct alloc_call *alloc_leave(struct bpf_perf_event_data *ctx)
{
	__u64 thread = bpf_get_current_pid_tgid();
	struct alloc_call *call = bpf_map_lookup_elem(&alloc_calls, &thread);
	__u64 returned = ctx->regs.rax;

	LOOKUP_OPAQUE(returned); /* the verifier takes no load from a moved ctx */
	if (!call || !call->sp || call->sp + ARCH_RA_BYTES != ctx->regs.rsp)
		return 0; /* from an inner one */
	call->sp = 0;
	call->addr = alloc_result(call, returned);
	if (!call->addr && call->has_old && call->size) {
		/* it has failed, so the old memory is still there */
		live_put(call->old_addr, &call->old);
		return 0;
	}
	return call->addr && call->is_sampled ? call : 0;
}

/* Describe the sample of the allocation in its slot. Returns the source; FPL_SOURCES_MAX: it is not
 * to be taken. */
static __noinline __u32 alloc_prepare(void *ctx, const struct alloc_call *call, __u32 slot)
{
	__u32 source = source_of(ctx);
	struct fpl_scratch *s = slot_scratch(slot);

	if (!s || !call)
		return FPL_SOURCES_MAX;
	s->given.addr = call->addr;
	s->given.weight = call->weight;
	/* as many of its size weigh so much */
	s->given.objects = call->size ? s->given.weight * FPL_OBJECT / call->size : FPL_OBJECT;
	s->counted_id = 0;
	return source;
}

/* Remember the allocation whose sample was taken in the slot until it is freed. */
static __noinline int alloc_remember(__u32 slot)
{
	struct fpl_scratch *s = slot_scratch(slot);
	struct fpl_live entry;

	if (!s || !s->counted_id)
		return 0;
	entry.time_ns = s->sample.header.time_ns;
	entry.weight = s->sample.weight;
	entry.objects = s->sample.objects;
	entry.id = s->counted_id;
	entry._pad = 0;
	live_put(s->given.addr, &entry);
	return 0;
}

/* Take the sample of an allocation, and remember it. */
static __always_inline void alloc_sample(struct moment *moment, const struct alloc_call *call)
{
	moment->source = alloc_prepare(moment->ctx, call, moment->slot);
	if (moment->source == FPL_SOURCES_MAX)
		return;
	moment->from_caller = call->from_caller;
	sample_at(moment);
	alloc_remember(moment->slot);
}

/* A thread has entered a function that frees memory, or tells of it. */
static __always_inline void alloc_free(struct bpf_perf_event_data *ctx)
{
	const struct fpl_told *told = told_of(ctx);
	__u64 addr = told ? field_number(ctx, &told->addr) : ctx->regs.rdi;
	struct fpl_live entry;

	live_take(addr, &entry);
}
