/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits as a source. Each thread of a target is on a CPU, runnable or blocked, and its storage adds
 * up how long: exactly, whatever is done with stacks. A stack is taken when the thread runs again,
 * in its own context, so what no sample is taken of costs no walk.
 *
 * Which waits are sampled: one of block_ns or more always, and it weighs its length. Shorter ones
 * are carried in the thread's storage; when the carry passes block_ns, the wait that did it is
 * sampled and weighs block_ns. The carry begins at a random number, so each ns has the same chance:
 * the sum of weights has no bias. Blocked and runnable time have a carry each.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/env.h"
#include "bpf/maps.h"
#include "bpf/moment.h"
#include "bpf/process.h"
#include "bpf/sample.h"
#include "bpf/slot.h"

/* Values of task_struct.__state, include/linux/sched.h: they have not changed since 6.1. */
#define STATE_INTERRUPTIBLE   0x1u
#define STATE_UNINTERRUPTIBLE 0x2u
#define STATE_DEAD	      0x80u
#define STATE_WAKING	      0x200u  /* it is about to be woken up */
#define STATE_NOLOAD	      0x400u  /* of an idle kernel thread, beside UNINTERRUPTIBLE */
#define STATE_NEW	      0x800u  /* it has not run yet */
#define STATE_FROZEN	      0x8000u /* by the freezer of its cgroup (v1), or of the machine */

/* Bit of task_struct.jobctl, include/linux/sched/jobctl.h: its cgroup is frozen. */
#define JOBCTL_TRAP_FREEZE 0x800000ul

/* By thread; made for those of targets only (each_thread, on_thread, on_times_exec), and looked up
 * elsewhere. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fpl_thread_times);
} thread_times SEC(".maps");

/* By CPU: the thread that was switched to last, as far as the kernel has told. */
struct switched {
	__u32 tid;    /* 0: an idle one */
	__u32 is_due; /* is a sample of it due? */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switched);
} switched SEC(".maps");

/* CLOCK_MONOTONIC, when the gate was closed. */
__u64 times_end_ns;

/*
 * A wait of so many ns is sampled; of shorter ones one for so many ns, below 2^30. 0: each is.
 * Written by userspace, before the gate is opened, and later to make it greater, unless it is 0
 * (profile/overhead.c).
 */
__u64 block_ns;

/* The books of threads that have ended, and, once sleeper.h has closed them, of all others. */
struct fpl_times times;

/* The same by thread. Made at the start: nothing may be allocated where a thread is switched. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FPL_THREAD_SUMS_MAX);
	__type(key, struct fpl_thread_key);
	__type(value, struct fpl_thread_sum);
} thread_sums SEC(".maps");

/* The threads that the map has no room for. */
struct fpl_thread_sum thread_sums_beyond;

static __always_inline struct fpl_thread_times *times_of(struct task_struct *task)
{
	return bpf_task_storage_get(&thread_times, task, 0, 0);
}

static __always_inline __u32 block_ns_now(void)
{
	return (__u32)(*(volatile __u64 *)&block_ns);
}

static __always_inline void waits_begin(struct fpl_waits *waits, __u32 period_ns)
{
	if (period_ns)
		waits->carry_ns = (__u32)random_below(period_ns);
	waits->first_carry_ns = waits->carry_ns;
}

/* The books of a thread that is in @state from now on; runnable: it is new. */
static __always_inline void times_clear(struct fpl_thread_times *t, __u32 state)
{
	*t = (struct fpl_thread_times){
		.since_ns = bpf_ktime_get_ns(),
		.state = state,
		.period_ns = block_ns_now(),
	};
	if (state == FPL_THREAD_RUNNABLE)
		t->sleep = STATE_NEW;
	waits_begin(&t->blocked, t->period_ns);
	waits_begin(&t->runnable, t->period_ns);
}

/* Begin the books of @task. @state: what it does now. Returns whether they were begun: not where
 * they are there, or where the kernel has no memory. */
static __always_inline int times_make(struct task_struct *task, __u32 state)
{
	struct fpl_thread_times fresh, *t;

	if (times_of(task))
		return 0;
	times_clear(&fresh, state);
	t = bpf_task_storage_get(&thread_times, task, &fresh, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		__sync_fetch_and_add(&times.begun, 1);
	else if (!times_of(task)) /* the iterator may visit a thread while it is being born */
		__sync_fetch_and_add(&times.threads_without, 1);
	return t != NULL;
}

/* Begin the books anew that were closed at the end of a window. The iterator alone does, so none
 * are begun twice; programs leave them alone until the state is there. */
static __always_inline void times_begin_anew(struct fpl_thread_times *t)
{
	times_clear(t, FPL_THREAD_OVER);
	__sync_fetch_and_add(&times.begun, 1);
	__sync_val_compare_and_swap(&t->state, FPL_THREAD_OVER, FPL_THREAD_UNKNOWN);
}

/* The thread has been in a state until @now_ns: add that to @kind. */
static __always_inline __u64 times_add(struct fpl_thread_times *t, __u32 kind, __u64 now_ns)
{
	__u64 ns = now_ns > t->since_ns ? now_ns - t->since_ns : 0;

	t->ns[kind & (FPL_TIME_COUNT - 1)] += ns;
	t->since_ns = now_ns;
	return ns;
}

/* The run is over while the thread was in @state: add what is left. */
static __always_inline __u64 times_end(struct fpl_thread_times *t, __u32 state)
{
	return times_end_ns > t->since_ns ? times_add(t, state - FPL_THREAD_RUNNING, times_end_ns)
					  : 0;
}

/* May the books of the thread, which is in @state, be closed here? One of two that ask may. */
static __always_inline int times_may_close(struct fpl_thread_times *t, __u32 state)
{
	return state != FPL_THREAD_OVER &&
	       __sync_val_compare_and_swap(&t->state, state, FPL_THREAD_OVER) == state;
}

static __always_inline void waits_close(struct fpl_waits *waits, struct fpl_wait_sums *sums)
{
	__sync_fetch_and_add(&sums->unwanted_ns, waits->unwanted_ns);
	__sync_fetch_and_add(&sums->carried_ns, waits->carry_ns + waits->due_ns);
	waits->due_ns = 0; /* or a sample of it could be taken in the next window */
	__sync_fetch_and_add(&sums->first_carry_ns, waits->first_carry_ns);
	__sync_fetch_and_add(&sums->nr, waits->nr);
}

/* Add the books to those of the thread's number. */
static __noinline int thread_sum_add(struct task_struct *task, const struct fpl_thread_times *t)
{
	struct fpl_thread_key key = { .tgid = tgid_of(task), .tid = tid_of(task) };
	struct fpl_thread_sum *sum = bpf_map_lookup_elem(&thread_sums, &key);

	if (!sum) {
		static const struct fpl_thread_sum none;

		bpf_map_update_elem(&thread_sums, &key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&thread_sums, &key);
	}
	if (!sum)
		sum = &thread_sums_beyond;
	for (__u32 i = 0; i < FPL_TIME_COUNT; i++)
		__sync_fetch_and_add(&sum->ns[i], t->ns[i]);
	__sync_fetch_and_add(&sum->blocks, t->blocked.nr);
	__sync_fetch_and_add(&sum->waits, t->runnable.nr);
	__sync_fetch_and_add(&sum->threads, 1);
	bpf_probe_read_kernel(sum->comm, sizeof(sum->comm), &task->comm);
	return 0;
}

/* The books of @task are closed: add them to those of the run. */
static __always_inline void times_close(struct task_struct *task, struct fpl_thread_times *t)
{
	if (config.flags & FPL_CONFIG_THREAD_SUMS)
		thread_sum_add(task, t);
#pragma GCC unroll 4
	for (__u32 i = 0; i < FPL_TIME_COUNT; i++)
		__sync_fetch_and_add(&times.ns[i], t->ns[i]);
	waits_close(&t->blocked, &times.blocked);
	waits_close(&t->runnable, &times.runnable);
	/* they lead to stacks of the window that ends */
#pragma GCC unroll 4
	for (__u32 i = 0; i + 1 < FPL_LINKS_MAX; i++)
		t->links[i] = 0;
	__sync_fetch_and_add(&times.threads, 1);
}

/* A wait of @ns is over of which no sample is to be taken. */
static __always_inline void wait_unwanted(struct fpl_waits *waits, __u64 ns)
{
	waits->nr++;
	waits->unwanted_ns += ns;
}

/* Is a wait as long as those that are asked for? */
static __always_inline int is_wanted_length(__u64 ns)
{
	return ns >= config.block_min_ns && ns <= config.block_max_ns;
}

/* The carry is as far below @to_ns as it was below @from_ns: as likely to be anywhere. What it
 * grows by is told as if it had begun with that. */
static __always_inline void waits_stretch(struct fpl_waits *waits, __u32 from_ns, __u32 to_ns)
{
	__u32 carry_ns = (__u32)((__u64)waits->carry_ns * to_ns / from_ns);

	waits->first_carry_ns += carry_ns - waits->carry_ns;
	waits->carry_ns = carry_ns;
}

/* The period of the thread's carries, which are fitted to it where it has grown. */
static __always_inline __u32 times_period(struct fpl_thread_times *t)
{
	__u32 from_ns = t->period_ns, to_ns = block_ns_now();

	if (to_ns > from_ns && from_ns) {
		waits_stretch(&t->blocked, from_ns, to_ns);
		waits_stretch(&t->runnable, from_ns, to_ns);
		t->period_ns = to_ns;
	}
	return t->period_ns;
}

/* A wait of @ns is over: is a sample due when the thread runs? Returns whether it is one of those
 * that are asked for. */
static __always_inline int wait_ended(struct fpl_waits *waits, __u64 ns, int is_wanted,
				      __u32 period_ns)
{
	if (!is_wanted || !is_wanted_length(ns)) {
		wait_unwanted(waits, ns);
		return 0;
	}
	waits->nr++;
	if (ns >= period_ns) {
		waits->due_ns += ns;
		return 1;
	}
	waits->carry_ns += (__u32)ns;
	if (waits->carry_ns < period_ns)
		return 1;
	waits->carry_ns -= period_ns;
	waits->due_ns += period_ns;
	return 1;
}

static __always_inline int block_ended(struct fpl_thread_times *t, __u64 ns)
{
	return wait_ended(&t->blocked, ns,
			  (t->sleep & config.block_states) && !(t->sleep & STATE_NOLOAD),
			  times_period(t));
}

/* A wait of @ns is over: was it at a lock, and is it wanted? Then it is added to the lock's sum. */
static __noinline int lock_ended(struct task_struct *task, const struct fpl_thread_times *t,
				 __u64 ns)
{
	__u64 addr;

	if (!(t->sleep & STATE_INTERRUPTIBLE) || !is_wanted_length(ns))
		return 0;
	addr = lock_addr(task);
	if (addr)
		lock_add(task, addr, ns);
	return addr != 0;
}

/* The thread has a CPU, or is to be sampled as if it had, after @ns of waiting for one. */
static __always_inline void runnable_ended(struct fpl_thread_times *t, __u64 ns)
{
	if (t->sleep == STATE_NEW)
		__sync_fetch_and_add(&times.runnable.unborn_ns, ns);
	else
		wait_ended(&t->runnable, ns, config.block_states & FPL_STATE_RUNNABLE,
			   times_period(t));
}

/* Has the task's cgroup, or one above it, used up its CPU time? Since 6.18 each task is told so. */
static __always_inline int is_throttled(struct task_struct *task)
{
	struct cfs_rq *rq;

	if (bpf_core_field_exists(task->throttled))
		return BPF_CORE_READ(task, throttled);
	rq = BPF_CORE_READ(task, se.cfs_rq);
	return bpf_core_field_exists(rq->throttle_count) && BPF_CORE_READ(rq, throttle_count) > 0;
}

/* The task leaves its CPU in the kernel's state @state. Returns an enum fpl_held: why it has none.
 */
static __always_inline __u32 held_of(struct task_struct *prev, __u32 state)
{
	if (!state)
		return is_throttled(prev) ? FPL_HELD_THROTTLED : FPL_HELD_NOT;
	if (state & STATE_FROZEN)
		return FPL_HELD_FROZEN;
	/* one that waits for vfork(2) counts as frozen, whether its cgroup is or not */
	return (prev->jobctl & JOBCTL_TRAP_FREEZE) && BPF_CORE_READ_BITFIELD(prev, frozen)
		       ? FPL_HELD_FROZEN
		       : FPL_HELD_NOT;
}

/* The thread was runnable for @ns more. */
static __always_inline void held_add(const struct fpl_thread_times *t, __u64 ns)
{
	if (t->held == FPL_HELD_THROTTLED)
		__sync_fetch_and_add(&times.throttled_ns, ns);
	if (t->held == FPL_HELD_FROZEN)
		__sync_fetch_and_add(&times.frozen_ns, ns);
}

/* The thread leaves its CPU, in the kernel's state @state; 0: it would run on. */
static __always_inline void switched_out(struct fpl_thread_times *t, struct task_struct *prev,
					 __u32 state, __u64 now_ns)
{
	__u32 was = t->state;

	times_add(t,
		  was == FPL_THREAD_RUNNING || was == FPL_THREAD_UNKNOWN ? FPL_TIME_ON_CPU
									 : FPL_TIME_UNSEEN,
		  now_ns);
	if (state & STATE_DEAD) {
		if (times_may_close(t, was))
			times_close(prev, t);
		return;
	}
	/* a frozen thread would run on, if it were let */
	t->held = held_of(prev, state);
	t->sleep = t->held ? 0 : state;
	t->state = t->sleep ? FPL_THREAD_BLOCKED : FPL_THREAD_RUNNABLE;
}

static __always_inline void switched_in(struct fpl_thread_times *t, __u64 now_ns)
{
	if (t->state == FPL_THREAD_RUNNABLE || t->state == FPL_THREAD_UNKNOWN) {
		__u64 ns = times_add(t, FPL_TIME_RUNNABLE, now_ns);

		held_add(t, ns);
		runnable_ended(t, ns);
	} else
		times_add(t, FPL_TIME_UNSEEN, now_ns);
	t->state = FPL_THREAD_RUNNING;
}

/* The thread's last wait, in @state, of @ns until the run was over, is not sampled. */
static __always_inline void times_unended(__u32 state, __u64 ns)
{
	if (state == FPL_THREAD_BLOCKED)
		__sync_fetch_and_add(&times.blocked.unended_ns, ns);
	if (state == FPL_THREAD_RUNNABLE)
		__sync_fetch_and_add(&times.runnable.unended_ns, ns);
}

/* The run is over. A thread that was exiting then is in no list of threads any more: its last
 * switch closes its books. */
static __always_inline void switched_late(struct task_struct *prev)
{
	struct fpl_thread_times *t = times_of(prev);
	__u64 ns;
	__u32 was;

	if (!t || !(BPF_CORE_READ(prev, __state) & STATE_DEAD))
		return;
	was = t->state;
	if (!times_may_close(t, was))
		return;
	ns = times_end(t, was == FPL_THREAD_UNKNOWN ? FPL_THREAD_RUNNING : was);
	times_unended(was, ns);
	times_close(prev, t);
}

/* The kernel's state of a thread that leaves its CPU; 0: it would run on. @told: as the kernel
 * tells it, which is not to be believed where a signal is pending. */
static __always_inline __u32 state_of(struct task_struct *prev, int preempt, __u32 told)
{
	__u32 state = preempt ? 0 : prev->__state;

	return state == STATE_WAKING ? told : state;
}

/* Is a sample of the thread due? */
static __always_inline int times_are_due(const struct fpl_thread_times *t)
{
	return (t->blocked.due_ns | t->runnable.due_ns) != 0;
}

/* Move the books of both threads on. Returns whether a sample of @next is due. */
static __always_inline int switch_books(struct task_struct *prev, struct task_struct *next,
					__u32 state)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct fpl_thread_times *t = times_of(prev);

	if (t && t->state != FPL_THREAD_OVER)
		switched_out(t, prev, state, now_ns);
	t = times_of(next);
	if (!t || t->state == FPL_THREAD_OVER)
		return 0;
	switched_in(t, now_ns);
	return times_are_due(t);
}

/*
 * A switch from @prev to @next. A thread is blocked where it left by itself and its state says so:
 * the state is read here, because a thread with a pending signal is set running again after the
 * kernel has read the state that it tells.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, int preempt, struct task_struct *prev, struct task_struct *next,
	     __u32 prev_state)
{
	__u32 zero = 0;
	struct switched *last = bpf_map_lookup_elem(&switched, &zero);

	if (!gate_is_open()) {
		switched_late(prev);
		return 0;
	}
	if (!last)
		return 0;
	last->tid = (__u32)next->pid;
	last->is_due = (__u32)switch_books(prev, next, state_of(prev, preempt, prev_state));
	return 0;
}

/* The thread is runnable from now on. Returns its books, and how long it has been blocked to
 * @ret_ns; NULL: it has none, or was not asleep, which the kernel tells of, too. */
static __always_inline struct fpl_thread_times *times_wake(struct task_struct *task, __u64 *ret_ns)
{
	struct fpl_thread_times *t = times_of(task);

	if (!t || (t->state != FPL_THREAD_BLOCKED &&
		   (t->state != FPL_THREAD_UNKNOWN || BPF_CORE_READ(task, on_cpu))))
		return NULL;
	if (t->state == FPL_THREAD_UNKNOWN)
		t->sleep = STATE_INTERRUPTIBLE; /* it slept when the run began, nothing tells how */
	*ret_ns = times_add(t, FPL_TIME_BLOCKED, bpf_ktime_get_ns());
	t->state = FPL_THREAD_RUNNABLE;
	/* since 6.18 a thread that wakes up runs until it leaves the kernel */
	t->held = !bpf_core_field_exists(task->throttled) && is_throttled(task) ? FPL_HELD_THROTTLED
										: FPL_HELD_NOT;
	return t;
}

/* A thread may run again. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct fpl_thread_times *t;
	__u64 ns = 0;

	if (!gate_is_open())
		return 0;
	t = times_wake(task, &ns);
	if (!t)
		return 0;
	if (config.flags & FPL_CONFIG_WAKERS)
		wait_unwanted(&t->blocked, ns);
	else
		block_ended(t, ns);
	return 0;
}

/* A thread of a target, or a child that is to be a target. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_thread, struct task_struct *parent, struct task_struct *child)
{
	struct fpl_target *target;

	if (!gate_is_open() || !times_of(parent))
		return 0;
	if (!(config.flags & FPL_CONFIG_ALL) &&
	    BPF_CORE_READ(parent, tgid) != BPF_CORE_READ(child, tgid)) {
		target = target_of(tgid_of(parent),
				   BPF_CORE_READ(parent, group_leader, start_boottime));
		if (!target || !(target->flags & FPL_TARGET_INHERIT))
			return 0;
	}
	times_make(child, FPL_THREAD_RUNNABLE);
	return 0;
}

/* A program begins in a process that is or becomes a target: its one thread may be new to us. */
SEC("raw_tp/sched_process_exec")
int on_times_exec(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fpl_target *target = target_of(tgid_of(task), start_of(task));

	if (gate_is_open() &&
	    ((config.flags & FPL_CONFIG_ALL) ||
	     (target && (target->flags & (FPL_TARGET_ACTIVE | FPL_TARGET_ON_EXEC)))))
		times_make(task, FPL_THREAD_RUNNING);
	return 0;
}

/* @ns more of waits in @state were sampled. */
static __always_inline void times_add_sampled(__u32 state, __u64 ns)
{
	if (state == FPL_THREAD_BLOCKED)
		__sync_fetch_and_add(&times.blocked.sampled_ns, ns);
	else
		__sync_fetch_and_add(&times.runnable.sampled_ns, ns);
}

/* The weight of the sample that is due of waits in @state, which is to be taken now. 0: none. */
static __always_inline __u64 waits_take_due(struct fpl_thread_times *t, __u32 state)
{
	struct fpl_waits *waits = state == FPL_THREAD_BLOCKED ? &t->blocked : &t->runnable;
	__u64 due_ns = waits->due_ns;

	waits->due_ns = 0;
	if (due_ns)
		times_add_sampled(state, due_ns);
	return due_ns;
}

/* FPL_SAMPLE_* of a wait in @state. */
static __always_inline __u32 wait_flags(const struct fpl_thread_times *t, __u32 state)
{
	/* what a lock is named by depends on the mappings, as raw frames do */
	if (state == FPL_THREAD_BLOCKED)
		return config.flags & FPL_CONFIG_LOCKS ? FPL_SAMPLE_BLOCKED | FPL_SAMPLE_RAW
						       : FPL_SAMPLE_BLOCKED;
	if (t->held)
		return t->held == FPL_HELD_FROZEN ? FPL_SAMPLE_FROZEN : FPL_SAMPLE_THROTTLED;
	return t->sleep ? FPL_SAMPLE_RUNNABLE | FPL_SAMPLE_WOKEN : FPL_SAMPLE_RUNNABLE;
}

/* The same, by way of memory, as in wait_weigh(). */
static __always_inline __u32 wait_flags_hidden(struct fpl_scratch *s,
					       const struct fpl_thread_times *t, __u32 state)
{
	s->sample.flags = (__u8)wait_flags(t, state);
	return *(volatile __u8 *)&s->sample.flags;
}

/* Give the sample the links of @t, or, where that is NULL, none. Not inlined: kernel 6.1 allows 512
 * bytes of stack, and a sample needs most of it. */
static __noinline void links_begin(struct fpl_scratch *s, const struct fpl_thread_times *t)
{
	links_clear(s);
	for (__u32 i = 0; t && i < config.nr_links && i + 1 < FPL_LINKS_MAX; i++)
		s->given.links[i] = t->links[i];
}

/* Take a slot for the moment, whose sample weighs @weight ns of a wait, with the links of @t (NULL:
 * none). Returns its scratch; NULL: no slot is free. */
static __always_inline struct fpl_scratch *wait_weigh(struct moment *moment, __u64 weight,
						      const struct fpl_thread_times *t)
{
	struct fpl_scratch *s;

	moment->slot = slot_take();
	s = moment->slot ? slot_scratch(moment->slot) : 0;
	if (s) {
		s->given.weight = weight;
		s->given.objects = 0; /* it is no allocation */
		links_begin(s, t);
	}
	return s;
}

/* The same for a wait of the current thread, in @state, whose storage is @t. */
static __always_inline struct fpl_scratch *wait_begin(struct moment *moment, __u64 weight,
						      const struct fpl_thread_times *t, __u32 state)
{
	struct fpl_scratch *s = wait_weigh(moment, weight, t);

	if (s)
		moment->flags = wait_flags_hidden(s, t, state);
	return s;
}

/* Sample the wait of the current thread in @state, where one is due. Nothing is kept on the stack
 * from one state to the next: kernel 6.1 allows 512 bytes of it. */
static __always_inline void sample_wait(void *ctx, __u32 state)
{
	struct fpl_thread_times *t = times_of(bpf_get_current_task_btf());
	struct moment moment = { .ctx = ctx, .has_weight = 1 };
	__u64 weight = t ? waits_take_due(t, state) : 0;

	if (!t || !weight)
		return;
	if (!wait_begin(&moment, weight, t, state))
		return;
	sample_at(&moment);
	slot_give_back(moment.slot);
}

/* The switch to the current thread was told to no program, which happens in some virtual machines:
 * move the books of the thread on now. Returns whether a sample of it is due. Not inlined, as
 * links_begin(). */
static __noinline __u32 switch_untold(void)
{
	struct fpl_thread_times *t = times_of(bpf_get_current_task_btf());

	if (!t || (t->state != FPL_THREAD_RUNNABLE && t->state != FPL_THREAD_BLOCKED))
		return 0;
	switched_in(t, bpf_ktime_get_ns());
	return (__u32)times_are_due(t);
}

/* The thread that was switched to goes on: sample the waits that it comes from. */
static __always_inline void sample_switched(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 zero = 0;
	struct switched *last = bpf_map_lookup_elem(&switched, &zero);

	if (!last || !gate_is_open())
		return;
	if (last->tid != (__u32)task->pid) {
		last->tid = (__u32)task->pid;
		last->is_due = switch_untold();
	}
	if (!last->is_due)
		return;
	last->is_due = 0;
	/* one piece of code for both: a sample is most of a program */
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 2; i++) {
		if (i && !(config.block_states & FPL_STATE_RUNNABLE))
			break;
		sample_wait(ctx, i ? FPL_THREAD_RUNNABLE : FPL_THREAD_BLOCKED);
	}
}
