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
	if (config.nr_links)
		s->sample.flags |= FPL_SAMPLE_WAKER;
	else
		s->sample.nr_key = task_key(wakee, s);
	sample_count(s, count);
}

/* Make the links of a wait that @waker ended: its stack has just been counted. What it waited for
 * itself before is in its own storage. They are kept in @t, that of the thread that waited. */
static __always_inline void links_make(struct fpl_scratch *s, struct fpl_thread_times *t,
				       enum waker waker)
{
	struct task_struct *task = bpf_get_current_task_btf();
	int is_thread = waker == WAKER_THREAD && task->pid;
	struct fpl_thread_times *own = config.nr_links > 1 && is_thread ? times_of(task) : 0;
	__u32 *links = s->given.links;

	links[0] = s->counted_id ? s->counted_id : FPL_LINK_LOST;
	if (config.nr_links > 1)
		links[1] = own ? own->links[0] : is_thread ? FPL_LINK_STRANGER : FPL_LINK_END;
	if (config.nr_links > 2)
		links[2] = own ? own->links[1] : 0;
	if (config.nr_links > 3)
		links[3] = own ? own->links[2] : 0;
	for (__u32 i = 0; i < config.nr_links && i + 1 < FPL_LINKS_MAX; i++)
		t->links[i] = links[i];
}

/* Count the sample of a wait that @wakee is woken up from. It weighs @weight and has no stack: its
 * links lead to it. Its task is that of the sample before, the waker's. */
static __noinline void chain_count(struct task_struct *wakee, struct fpl_scratch *s, __u64 weight)
{
	struct fpl_counters *count = bpf_map_lookup_elem(&counters, &s->slot);

	if (!count)
		return;
	count->fired++;
	s->sample.weight = weight;
	s->sample.flags &= FPL_SAMPLE_KTHREAD | FPL_SAMPLE_KERNEL;
	s->sample.nr_user = s->sample.nr_kernel = s->sample.nr_script = 0;
	s->sample.stop = FPL_STOP_NO_USER_REGS;
	s->sample.elided = 0;
	s->sample.nr_key = task_key(wakee, s);
	sample_count(s, count);
}

/* The stack of who woke @wakee up has been counted: keep links to it, and, unless that is done when
 * @wakee runs, count the sample of its wait. Not inlined, as links_begin(). */
static __noinline void links_count(struct task_struct *wakee, __u32 slot)
{
	struct fpl_thread_times *t = times_of(wakee);
	struct fpl_scratch *s = slot_scratch(slot);
	__u64 weight;

	if (!t || !s)
		return;
	links_make(s, t, waker_now());
	weight = config.flags & FPL_CONFIG_PAIRS ? 0 : waits_take_due(t, FPL_THREAD_BLOCKED);
	if (weight)
		chain_count(wakee, s, weight);
}

/* A wait of the other thread is over: sample who ended it, with @weight; 0: as what links lead to.
 */
static __always_inline void waker_sample(void *ctx, struct task_struct *wakee, __u64 weight)
{
	struct moment moment = { .ctx = ctx, .has_weight = 1, .wakee = wakee };
	struct fpl_scratch *s = wait_weigh(&moment, weight, 0);
	enum waker waker;

	if (!s)
		return;
	if (config.nr_links)
		moment.flags = FPL_SAMPLE_WAKER;
	s->counted_id = 0;
	waker = waker_now();
	s->slot = moment.slot;
	if (waker == WAKER_THREAD)
		sample_at(&moment);
	else
		waker_name(wakee, s, waker);
	if (config.nr_links)
		links_count(moment.wakee, moment.slot);
	slot_give_back(moment.slot);
}

/* Is a wait of this thread one that is asked for? */
static __always_inline int is_wakee_wanted(struct task_struct *task)
{
	return is_wanted(task, tid_of(task)) &&
	       !((config.flags & FPL_CONFIG_USER_WAKEES) && (task->flags & PF_KTHREAD));
}

#define WAIT_NOT_DUE (~0ull)

/* The task is woken up: close its wait in its books. Returns what the sample of who does it weighs,
 * 0: it is what links lead to; or WAIT_NOT_DUE. Not inlined, as links_begin(). */
static __noinline __u64 wait_close(struct task_struct *task)
{
	__u64 ns = 0;
	struct fpl_thread_times *t = times_wake(task, &ns);

	if (!t)
		return WAIT_NOT_DUE;
	if (!is_wakee_wanted(task) ||
	    ((config.flags & FPL_CONFIG_LOCKS) && !lock_ended(task, t, ns))) {
		wait_unwanted(&t->blocked, ns);
		return WAIT_NOT_DUE;
	}
	if (block_ended(t, ns) && config.nr_links) {
		t->links[0] = FPL_LINK_UNSAMPLED;
		if (config.nr_links > 1)
			t->links[1] = t->links[2] = 0;
	}
	if (!t->blocked.due_ns)
		return WAIT_NOT_DUE;
	return config.nr_links ? 0 : waits_take_due(t, FPL_THREAD_BLOCKED);
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
	__u64 weight = gate_is_open() ? wait_close(task) : WAIT_NOT_DUE;

	if (weight != WAIT_NOT_DUE)
		waker_sample(ctx, task, weight);
	return 0;
}
