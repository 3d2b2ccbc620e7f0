/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Resident memory as a source: the kernel's tracepoint kmem:rss_stat says at each change how large
 * one kind of a process's memory is now. Where it has grown, a sample is taken, which weighs the
 * growth. Userspace is told of each change, and takes off what was given back.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/count.h"
#include "bpf/env.h"
#include "bpf/heap.h"
#include "bpf/maps.h"
#include "bpf/moment.h"
#include "bpf/sample.h"
#include "bpf/shared.h"
#include "bpf/slot.h"

struct rss_key {
	__u32 mm_id;
	__u32 kind; /* enum fpl_rss_kind */
};

/* One kind of memory, as it is known. */
struct rss_known {
	__u64 size; /* bytes */
	__u64 mm;   /* the process's mm_struct; 0: it has not changed it by itself yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct rss_key);
	__type(value, struct rss_known);
} rss_sizes SEC(".maps");

/* Has the last user of the memory gone, so that all of it is being given back? */
static __always_inline int rss_is_over(const struct rss_known *known)
{
	const struct mm_struct *mm = (const struct mm_struct *)known->mm;

	return mm && BPF_CORE_READ(mm, mm_users.counter) == 0;
}

/* Enter a size that nothing was known of. Returns 0 where another CPU was first. */
static __always_inline int rss_begin(const struct rss_key *key, const struct fpl_rss_record *record,
				     __u64 mm)
{
	struct rss_known known = { .size = (__u64)record->size, .mm = mm };

	return !bpf_map_update_elem(&rss_sizes, key, &known, BPF_NOEXIST);
}

/*
 * The number of the memory, which the kernel makes of its address. Until it has random bytes, soon
 * after it has begun, that is 0 for all: then those are told apart which the current process is of,
 * and for the others this is 0, too.
 */
static __always_inline __u32 rss_number(const struct fpl_rss_record *record, __u64 mm)
{
	if (record->mm_id || !record->is_own)
		return record->mm_id;
	return (__u32)(mm >> 6);
}

/*
 * Take in the change: s->given has the size before, the growth, its pages, and FPL_RSS_* in
 * waker. Returns whether it concerns the processes that are profiled.
 */
static __always_inline int rss_take(const struct fpl_rss_record *record, struct task_struct *task,
				    struct fpl_scratch *s)
{
	__u64 size = (__u64)record->size, mm = mm_of(task);
	struct rss_key key = { .mm_id = rss_number(record, mm), .kind = (__u32)record->kind };
	struct rss_known *known = bpf_map_lookup_elem(&rss_sizes, &key);
	int is_wanted = is_process_wanted(task, s), is_own = is_wanted && record->is_own;

	s->given.rss = is_own ? FPL_RSS_OWN : 0;
	s->given.addr = 0;
	s->given.mm_id = key.mm_id;
	if (!key.mm_id || (!known && !is_wanted))
		return 0;
	if (!known && rss_begin(&key, record, is_own ? mm : 0)) {
		s->given.rss |= FPL_RSS_FIRST;
		return 1;
	}
	if (!known)
		known = bpf_map_lookup_elem(&rss_sizes, &key);
	if (!known)
		return 0;
	if (is_own) {
		known->mm = mm;
	} else if (!known->mm && !is_wanted) { /* a child's that is not profiled */
		bpf_map_delete_elem(&rss_sizes, &key);
		return 0;
	} else if (rss_is_over(known)) {
		s->given.rss |= FPL_RSS_OVER;
		bpf_map_delete_elem(&rss_sizes, &key);
		return 1;
	}
	s->given.addr = __sync_lock_test_and_set(&known->size, size);
	return 1;
}

/* Results of rss_enter(). */
enum rss_change {
	RSS_NOTHING,
	RSS_TOLD,    /* userspace is told */
	RSS_SAMPLED, /* it is told, and a sample is taken before */
};

static __noinline int rss_enter(const struct fpl_rss_record *record)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fpl_scratch *s = slot_scratch(0);

	if (!s || (__u32)record->kind >= FPL_RSS_KINDS || record->kind == FPL_RSS_SWAP ||
	    record->size < 0 || !rss_take(record, task, s))
		return RSS_NOTHING;
	s->counted_id = 0;
	s->given.weight = 0;
	if (!(s->given.rss & FPL_RSS_OWN) || (__u64)record->size <= s->given.addr)
		return RSS_TOLD;
	s->given.weight = (__u64)record->size - s->given.addr;
	s->given.objects = FPL_OBJECT;
	return RSS_SAMPLED;
}

/* Tell userspace of the change, and of the stack that was sampled. */
static __noinline int rss_tell(const struct fpl_rss_record *record)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fpl_scratch *s = slot_scratch(0);
	struct fpl_rss *rss;

	if (!s)
		return 0;
	rss = bpf_ringbuf_reserve(&ring, sizeof(*rss), 0);
	if (!rss)
		return 0; /* the next one says how large it was before */
	rss->header.type = FPL_RECORD_RSS;
	rss->header.size = sizeof(*rss);
	rss->header.time_ns = bpf_ktime_get_ns();
	rss->before = s->given.addr;
	rss->size = (__u64)record->size;
	rss->mm_id = s->given.mm_id;
	rss->id = s->counted_id;
	rss->tgid = current_pid_tgid(task) >> 32;
	rss->kind = (__u16)record->kind;
	rss->flags = (__u16)s->given.rss;
	bpf_ringbuf_submit(rss, ring_wakeup());
	return 0;
}
