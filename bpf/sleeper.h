/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that are there when a run begins or ends: an iterator visits them all. At the end those
 * that still sleep are sampled, too: registers, kernel stack and a copy of the user stack are read
 * from outside, without stopping the thread, and userspace walks the copy. The gate is closed then,
 * and the iterator runs in one thread, so it has the memory of all slots to itself.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/blocked.h"
#include "bpf/env.h"
#include "bpf/sample.h"
#include "bpf/snapshot.h"

/* The iterator does this, an enum fpl_times_pass. Written by userspace before it reads it. */
__u32 times_pass;
/* times.threads_without when the window before ended. Written by userspace. */
__u64 times_without;
/* Pages of stack that are copied: nothing tells where the stack ends. */
#define SLEEPER_PAGES (FPL_SNAPSHOT_MAX / FPL_STACK_PAGE)

/* Copy the stack from @addr on to @to + @off, until a page is not mapped. Returns the bytes. */
static __noinline __u32 sleeper_copy(struct task_struct *task, struct fpl_snapshot *to, __u64 off,
				     __u64 addr)
{
	__u32 size = 0;

	for (__u32 i = 0; i < SLEEPER_PAGES; i++) {
		__u64 at = off + size;
		__u64 part = i ? FPL_STACK_PAGE : FPL_STACK_PAGE - (addr & (FPL_STACK_PAGE - 1));

		LOOKUP_OPAQUE(at);
		LOOKUP_OPAQUE(part);
		if (at > sizeof(to->bytes) - FPL_STACK_PAGE || part > FPL_STACK_PAGE ||
		    bpf_copy_from_user_task(to->bytes + at, (__u32)part,
					    (const void *)(addr + size), task, 0))
			break;
		size += (__u32)part;
	}
	return size;
}

/* How often the thread has been given a CPU; 0: not known. */
static __always_inline __u32 arrivals_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.pcount)
		       ? (__u32)BPF_CORE_READ(task, sched_info.pcount)
		       : 0;
}

/* Put the sample, which has kernel frames and a key, registers and stack together in @to. Returns
 * the size of the record; 0: no byte of the stack could be read. */
static __noinline __u64 sleeper_fill(struct task_struct *task, struct fpl_scratch *s,
				     struct fpl_snapshot *to)
{
	__u32 nr = (__u32)s->sample.nr_kernel + s->sample.nr_key;
	__u64 regs_off = sizeof(s->sample) + 8ull * nr;
	__u64 off = regs_off + sizeof(s->regs) + sizeof(to->hole) + sizeof(to->shared);
	__u64 addr = (s->walk.reg[ARCH_SP] & ~7ull) - ARCH_RED_ZONE;
	__u32 size;

	keep_regs(s);
	size = sleeper_copy(task, to, off, addr);
	if (!size)
		return 0;
	s->regs.stack_addr = addr;
	s->regs.stack_size = size;
	s->regs.missing = 0;
	s->regs._pad[0] = s->regs._pad[1] = 0;
	to->hole = (struct fpl_hole){ .arrivals = arrivals_of(task) };
	to->shared = (struct fpl_shared){ .slot = s->slot };
	to->id = 0; /* no other one may share bytes with it */
	bpf_probe_read_kernel(to->bytes, sizeof(s->sample), &s->sample);
	frames_copy(to, sizeof(s->sample), s, 0, nr, FPL_KERNEL_DEPTH_MAX + FPL_KEY_MAX);
	return snapshot_put_regs(s, to, FPL_RECORD_SNAPSHOT, regs_off) ? off + size : 0;
}

/* How often the thread has left a CPU; -1: it is on one. */
static __always_inline __u64 switches_of(struct task_struct *task)
{
	if (BPF_CORE_READ(task, on_cpu))
		return -1ull;
	return BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

/* Send the sample with a copy of the stack. Returns 0, or non-zero: count it as it is. */
static __noinline long sleeper_send(struct task_struct *task, struct fpl_scratch *s, __u64 switches)
{
	struct fpl_snapshot *to = snapshot_of(s->slot, 0);
	struct fpl_sample *sample;
	__u64 size = to ? sleeper_fill(task, s, to) : 0;

	LOOKUP_OPAQUE(size);
	if (!to || !size || size > sizeof(to->bytes))
		return -1;
	sample = (struct fpl_sample *)to->bytes;
	sample->header.type = FPL_RECORD_SNAPSHOT;
	sample->header.size = (__u32)size;
	sample->id = new_stack_id();
	sample->count = 1;
	/* it has run meanwhile: registers and stack may be of different moments */
	if (switches_of(task) != switches)
		return -1;
	return bpf_ringbuf_output(&ring, to->bytes, size, BPF_RB_FORCE_WAKEUP);
}

/* Note the image of the sample's process, whose memory is @mm. Returns 0: another one is made. */
static __noinline int image_note(struct fpl_scratch *s, __u64 mm)
{
	__u32 tgid = s->sample.tgid;
	struct fpl_proc *proc = bpf_map_lookup_elem(&procs, &tgid);

	if (!proc)
		proc = proc_make(s, mm);
	if (proc && proc->mm != mm)
		return 0;
	s->sample.gen = proc ? proc->gen : 0;
	return 1;
}

/* Find the image of the process and the registers of its thread. Returns 0 where there is no user
 * stack to copy: the sample's stop says why. */
static __always_inline int sleeper_regs(struct task_struct *task, struct fpl_scratch *s)
{
	__u64 mm = mm_of(task), cs;

	if (!mm || !(config.flags & FPL_CONFIG_USER))
		return 0;
	s->sample.stop = FPL_STOP_EXECING;
	if (!image_note(s, mm))
		return 0;
	s->sample.stop = FPL_STOP_NO_USER_REGS;
	s->walk.exact = 1;
	s->walk.origin = FPL_ORIGIN_CFI;
	cs = stored_regs(task, s, 0);
	if (!cs)
		return 0;
	s->sample.stop = arch_is_compat32(cs) ? FPL_STOP_COMPAT32 : FPL_STOP_NO_TABLE;
	return s->sample.stop == FPL_STOP_NO_TABLE;
}

/* Priorities below belong to the classes real time and deadline, include/linux/sched/prio.h. */
#define PRIO_FAIR_LEAST 100
/* The scheduler's clock stands still between two ticks: a time that it has not reached yet by less
 * than this is now. */
#define CLOCK_TICK_MAX_NS 20000000ull

/*
 * How long the thread, which is not on a CPU, has been asleep, or has waited for a CPU if it may
 * run. 0: not known. By the scheduler's clock, whose time now is that of this CPU's last tick: the
 * thread left its CPU as long after it had come there as it then ran.
 */
static __noinline __u64 off_cpu_ns(struct task_struct *task)
{
	__u64 now_ns, since_ns;

	if (!bpf_core_field_exists(task->sched_info) ||
	    !bpf_core_field_exists(task->se.prev_sum_exec_runtime))
		return 0;
	now_ns = BPF_CORE_READ((struct task_struct *)bpf_get_current_task_btf(), se.cfs_rq, rq,
			       clock);
	if (!BPF_CORE_READ(task, __state)) {
		since_ns = BPF_CORE_READ(task, sched_info.last_queued);
	} else {
		since_ns = BPF_CORE_READ(task, sched_info.last_arrival);
		if (!since_ns || BPF_CORE_READ(task, prio) < PRIO_FAIR_LEAST)
			return 0;
		since_ns += BPF_CORE_READ(task, se.sum_exec_runtime) -
			    BPF_CORE_READ(task, se.prev_sum_exec_runtime);
	}
	if (!since_ns || !now_ns || since_ns > now_ns + CLOCK_TICK_MAX_NS)
		return 0;
	return now_ns > since_ns ? now_ns - since_ns : 1;
}

/* Append the kernel's state of the thread as the sample's key. Returns the number of its words. */
static __noinline __u32 state_key(struct task_struct *task, struct fpl_scratch *s)
{
	__u64 *key = key_words(s);

	if (!key)
		return 0;
	key[0] = BPF_CORE_READ(task, __state);
	return 1;
}

/* Begin the sample of @task, which is not the current thread: who it is, its kernel stack, unless
 * it @has_stack already, and its key, whose links are in the slot. @flags: FPL_SAMPLE_* of its
 * state. */
static __noinline void task_sample_begin(struct task_struct *task, struct fpl_scratch *s,
					 __u64 weight, __u32 flags, __u32 has_stack)
{
	long size;

	sample_clear(s, SLOT_FIRST_OF_TASKS, 0, BPF_CORE_READ(task, group_leader, start_boottime),
		     (__u64)tgid_of(task) << 32 | tid_of(task));
	s->sample.weight = weight;
	if (config.flags & FPL_CONFIG_BY_CGROUP)
		s->sample.cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	bpf_probe_read_kernel(s->sample.comm, sizeof(s->sample.comm), &task->comm);
	s->sample.flags =
		(__u8)(FPL_SAMPLE_KERNEL | (mm_of(task) ? 0 : FPL_SAMPLE_KTHREAD) | flags);
	if ((config.flags & FPL_CONFIG_KERNEL) && !has_stack) {
		size = bpf_get_task_stack(task, s->frames, FPL_KERNEL_DEPTH_MAX * 8, 0);
		s->sample.nr_kernel = size > 0 ? (__u16)(size / 8) : 0;
	}
	if (s->sample.nr_kernel > FPL_KERNEL_DEPTH_MAX)
		s->sample.nr_kernel = 0;
	if (flags & FPL_SAMPLE_BLOCKED)
		s->sample.nr_key = (__u16)wait_key(task, s);
}

/*
 * Sample the wait that the thread is in. @flags: FPL_SAMPLE_* of its state. Returns 0; or non-zero:
 * it has run meanwhile, so what was read is not the stack of its wait, and no sample is taken.
 */
static __noinline long sleeper_sample(struct task_struct *task, __u64 weight, __u32 flags)
{
	__u32 slot = SLOT_FIRST_OF_TASKS;
	struct fpl_scratch *s = slot_scratch(slot);
	struct fpl_counters *count = bpf_map_lookup_elem(&counters, &slot);
	__u64 switches = switches_of(task);
	long sent;

	if (!s || !count)
		return -1;
	links_clear(s);
	task_sample_begin(task, s, weight, flags, 0);
	s->sample.header.time_ns = times_end_ns;
	if (config.flags & FPL_CONFIG_STACKS) {
		s->sample.weight = off_cpu_ns(task);
		s->sample.nr_key = (__u16)state_key(task, s);
	}
	sent = switches != -1ull && sleeper_regs(task, s) && !sleeper_send(task, s, switches);
	if (!sent && (switches == -1ull || switches_of(task) != switches)) {
		if (!(config.flags & FPL_CONFIG_STACKS))
			return -1;
		/* each thread is shown, if without a stack */
		s->sample.nr_kernel = 0;
		s->sample.nr_key = (__u16)state_key(task, s);
	}
	count->fired++;
	count->entered += flags != 0;
	count->frames += s->sample.nr_kernel;
	if (sent) {
		count->snapshots++;
		return 0;
	}
	if (s->sample.stop == FPL_STOP_NO_TABLE)
		s->sample.stop = FPL_STOP_NO_USER_REGS;
	sample_count(s, count);
	return 0;
}

/* The run is over while the thread waited in @state, for @ns until then. Returns the weight of the
 * sample to take of that; 0: none. */
static __noinline __u64 times_last(struct task_struct *task, struct fpl_thread_times *t,
				   __u32 state, __u64 ns)
{
	int is_blocked = state == FPL_THREAD_BLOCKED;

	/* one that has a CPU by now is not where it waited; one that sleeps has no waker yet */
	if (!is_wanted(task, tid_of(task)) || BPF_CORE_READ(task, on_cpu) ||
	    (is_blocked && (config.flags & FPL_CONFIG_WAKERS) &&
	     !(config.flags & FPL_CONFIG_PAIRS)) ||
	    (is_blocked && (config.flags & FPL_CONFIG_LOCKS) && !lock_ended(task, t, ns))) {
		times_unended(state, ns);
		return 0;
	}
	if (is_blocked)
		block_ended(t, ns);
	else
		runnable_ended(t, ns);
	return waits_take_due(t, state);
}

/* Close the books of a thread that lives on. Returns whether it was sampled. */
static __always_inline int times_take(struct task_struct *task, struct fpl_thread_times *t)
{
	__u32 state = t->state, sleep = BPF_CORE_READ(task, __state), flags = 0;
	__u64 ns, due_ns = 0;

	if (!times_may_close(t, state))
		return 0;
	if (state == FPL_THREAD_UNKNOWN) { /* in the whole run it has neither slept nor woken up */
		state = sleep			      ? FPL_THREAD_BLOCKED
			: BPF_CORE_READ(task, on_cpu) ? FPL_THREAD_RUNNING
						      : FPL_THREAD_RUNNABLE;
		t->sleep = sleep;
	}
	ns = times_end(t, state);
	if (state == FPL_THREAD_RUNNABLE)
		held_add(t, ns);
	if (config.flags & FPL_CONFIG_STACKS) {
		due_ns = state != FPL_THREAD_RUNNING && is_wanted(task, tid_of(task));
	} else if (state == FPL_THREAD_BLOCKED || state == FPL_THREAD_RUNNABLE) {
		due_ns = times_last(task, t, state, ns);
		flags = wait_flags(t, state);
	}
	times_close(task, t);
	if (due_ns && sleeper_sample(task, due_ns, flags)) {
		times_add_sampled(state, -due_ns);
		times_unended(state, due_ns);
		due_ns = 0;
	}
	return due_ns != 0;
}

/* Begin, or close, the books of a thread that is there. Each sampled one is told to the reader, so
 * that a short read hands back control before the ring is full. */
SEC("iter.s/task")
int each_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct fpl_thread_times *t;
	__u64 one = 1;

	if (!task)
		return 0;
	t = times_of(task);
	if (times_pass == FPL_TIMES_CLOSE) {
		if (t && times_take(task, t))
			bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
		return 0;
	}
	/* one that has ended, and waits for its parent, may have made its last switch */
	if (!BPF_CORE_READ(task, pid) || BPF_CORE_READ(task, exit_state) ||
	    !is_active_target(tgid_of(task), BPF_CORE_READ(task, group_leader, start_boottime)))
		return 0;
	if (t && t->state == FPL_THREAD_OVER)
		times_begin_anew(t);
	else if (!t && times_make(task, FPL_THREAD_UNKNOWN) &&
		 times_pass == FPL_TIMES_BEGIN_AGAIN && times.threads_without > times_without)
		__sync_fetch_and_add(&times.threads_without, -1);
	return 0;
}
