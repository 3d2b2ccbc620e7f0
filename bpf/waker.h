/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wakers as a source: a sample is of the thread that ends another one's wait, and weighs that wait.
 * Which waits are sampled is decided as in blocked.h, by the thread that waited and before a frame
 * is walked. An interrupt that ends a wait is named as such: the thread that it interrupted has
 * nothing to do with it.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/blocked.h"
#include "bpf/sample.h"
#include "bpf/sleeper.h"

/* Bits of preempt_count, include/linux/preempt.h. Those of interrupts, and of those that cannot be
 * masked, have other places since 7.x: they lie above 16 in all of them, but for bit 31. */
#define COUNT_SOFTIRQ 0x100u /* one is served */
#define COUNT_IRQ     0x7fff0000u

/* It ends a wait: a thread, an interrupt served late, an interrupt, or one of them. */
enum waker { WAKER_THREAD, WAKER_SOFTIRQ, WAKER_IRQ, WAKER_UNTOLD };

/* The kernel has the count in a variable of the CPU, which no program may name; but each thread's
 * queue is in another one, whose distance is known (profile/source_waker.c). */
static __always_inline enum waker waker_now(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 rq = (__u64)BPF_CORE_READ(task, se.cfs_rq, rq);
	__u32 count;

	if (!rq || bpf_probe_read_kernel(&count, sizeof(count), (void *)(rq + config.preempt_off)))
		return WAKER_UNTOLD;
	return count & COUNT_IRQ ? WAKER_IRQ : count & COUNT_SOFTIRQ ? WAKER_SOFTIRQ : WAKER_THREAD;
}

/* Count a sample without a stack: that of the thread that was interrupted tells nothing. */
static __noinline void waker_name(struct task_struct *wakee, struct fpl_scratch *s, __u32 waker)
{
	static const char names[][16] = { "", "[softirq]", "[irq]", "[untold]" };
	struct fpl_counters *count = bpf_map_lookup_elem(&counters, &s->slot);

	if (!count)
		return;
	count->fired++;
	sample_clear(s, s->slot, 0, 0, 0);
	s->sample.header.time_ns = bpf_ktime_get_ns();
	s->sample.weight = s->given.weight;
	__builtin_memcpy(s->sample.comm, names[waker & 3], sizeof(s->sample.comm));
	s->sample.flags = FPL_SAMPLE_KERNEL | FPL_SAMPLE_KTHREAD;
	if (config.flags & FPL_CONFIG_LOCKS)
		s->sample.flags |= FPL_SAMPLE_WAKER;
	else
		s->sample.nr_key = task_key(wakee, s);
	sample_count(s, count);
}

/* A wait of the other thread is over, and its sample weighs @weight. Returns the id of the record
 * with the stack; 0: it was lost. */
static __always_inline __u32 waker_sample(void *ctx, struct task_struct *wakee, __u64 weight)
{
	struct moment moment = { .ctx = ctx, .has_weight = 1, .wakee = wakee };
	struct fpl_scratch *s = wait_weigh(&moment, weight, 0);
	enum waker waker;

	if (!s)
		return 0;
	if (config.flags & FPL_CONFIG_LOCKS)
		moment.flags = FPL_SAMPLE_WAKER;
	s->counted_id = 0;
	waker = waker_now();
	s->slot = moment.slot;
	if (waker == WAKER_THREAD)
		sample_at(&moment);
	else
		waker_name(wakee, s, waker);
	slot_give_back(moment.slot);
	return s->counted_id;
}

/* Is a wait of this thread one that is asked for? */
static __always_inline int is_wakee_wanted(struct task_struct *task)
{
	return is_sleeper_wanted(task) &&
	       !((config.flags & FPL_CONFIG_USER_WAKEES) && (task->flags & PF_KTHREAD));
}

/*
 * A thread is about to wake another one up, whose lock it holds, with interrupts off. This is where
 * the wait ends: the kernel tells of the wakeup later, maybe on another CPU. One that comes while
 * the other thread is still falling asleep is told of by sched_wakeup alone: its wait, which took
 * no time, is unwanted.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(sample_waking, struct task_struct *task)
{
	struct fpl_thread_times *t;
	__u64 ns = 0, weight;

	if (!gate_is_open())
		return 0;
	t = times_wake(task, &ns);
	if (!t)
		return 0;
	if (!is_wakee_wanted(task) ||
	    ((config.flags & FPL_CONFIG_LOCKS) && !lock_ended(task, t, ns))) {
		wait_unwanted(&t->blocked, ns);
		return 0;
	}
	block_ended(t, ns);
	if (config.flags & FPL_CONFIG_LOCKS) {
		/* the sample of the wait itself is taken when the thread runs */
		if (t->blocked.due_ns)
			t->waker = waker_sample(ctx, task, 0);
		return 0;
	}
	weight = waits_take_due(t, FPL_THREAD_BLOCKED);
	if (weight)
		waker_sample(ctx, task, weight);
	return 0;
}
