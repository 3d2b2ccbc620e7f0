/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits in kernels that tell nothing where a thread goes on: neither the tracepoint sched_exit_tp
 * nor kprobes. The stack is taken where the wait begins: in sched_switch the thread that leaves its
 * CPU is the current one still, and the user memory is its own. That of the next thread is not: its
 * addresses lead to the memory of the one that leaves.
 *
 * Whether the wait is sampled is known when it is over (blocked.h). So each stack is entered into
 * `stacks` without being counted, and the thread's storage keeps its place there. What is not
 * sampled leaves no trace in the books; it costs the walk, and, where the stack is a new one, its
 * record and its slot in `stacks`, which is as large as in any run.
 *
 * With FPL_CONFIG_PAIRS a sample has a key, which is not known either when the wait begins. The
 * kept stack is then one that links lead to, as that of a waker, and the sample has none: its first
 * link is its own stack, the second that of who ended the wait.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/blocked.h"
#include "bpf/count.h"
#include "bpf/sample.h"
#include "bpf/sleeper.h"
#include "bpf/slot.h"

static __always_inline struct fpl_stack *kept_stack(__u32 kept)
{
	__u32 at = kept - 1, group_idx = at / FPL_STACKS_IN_GROUP;
	struct fpl_stack_group *group = bpf_map_lookup_elem(&stacks, &group_idx);
	struct fpl_stack *stack = group ? &group->stacks[at & (FPL_STACKS_IN_GROUP - 1)] : 0;

	return stack && stack->id && stack->id != FPL_STACK_CLAIMED ? stack : 0;
}

/* Count a sample of @task, which waited in @state, with its key. @id: of the stack that its first
 * link leads to. 0: it began to wait before the run did, and is not the current thread, so its
 * kernel stack is there, and its user stack is not. */
static __noinline void kept_sample(struct task_struct *task, struct fpl_counters *count,
				   __u64 weight, __u32 state, __u32 id)
{
	struct fpl_thread_times *t = times_of(task);
	struct fpl_scratch *s = slot_scratch(SLOT_FIRST_OF_TASKS);

	if (!s || !t) {
		count->lost[FPL_LOST_SCRATCH]++;
		return;
	}
	links_clear(s);
	s->given.links[0] = id;
	s->given.links[1] = t->ended_by;
	task_sample_begin(task, s, weight, wait_flags_hidden(s, t, state), id);
	s->sample.header.time_ns = bpf_ktime_get_ns();
	if (!id && mm_of(task) && (config.flags & FPL_CONFIG_USER))
		s->sample.stop = FPL_STOP_NOT_WALKED;
	if (config.flags & FPL_CONFIG_LOCKS)
		image_note(s, mm_of(task)); /* what the lock is named by */
	count->frames += s->sample.nr_kernel;
	sample_count(s, count);
}

/* Is @task, whose stack was not kept, one that sample_take() filters? */
static __always_inline int kept_is_filtered(struct task_struct *task, __u32 tid)
{
	__u32 wanted = mm_of(task) ? FPL_CONFIG_USER | FPL_CONFIG_KERNEL : FPL_CONFIG_KERNEL;

	return !is_wanted(task, tid) || !is_wanted_mode(1) || !(config.flags & wanted);
}

/* The wait of the task @arg, blocked (@idx 0) or runnable, is over: count its sample, where one is
 * due. */
static long kept_count(__u32 idx, void *arg)
{
	struct task_struct *task = *(struct task_struct **)arg;
	__u32 state = idx ? FPL_THREAD_RUNNABLE : FPL_THREAD_BLOCKED;
	struct fpl_thread_times *t = times_of(task);
	__u32 slot = SLOT_FIRST_OF_TASKS, kept;
	struct fpl_counters *count = bpf_map_lookup_elem(&counters, &slot);
	__u64 weight = t ? waits_take_due(t, state) : 0;
	struct fpl_stack *stack;
	__u32 tid;

	if (!t || !weight || !count)
		return 0;
	tid = tid_of(task);
	kept = state == FPL_THREAD_BLOCKED ? t->kept[0] : t->kept[1];
	count->fired++;
	count->entered++;
	if (kept == FPL_KEPT_FILTERED || (kept == FPL_KEPT_NOT && kept_is_filtered(task, tid))) {
		count->filtered++;
		return 0;
	}
	if (kept == FPL_KEPT_NOT) {
		kept_sample(task, count, weight, state, 0);
		return 0;
	}
	stack = kept == FPL_KEPT_FULL ? 0 : kept_stack(kept);
	if (!stack) {
		count->lost[FPL_LOST_STACK_MAP_FULL]++;
		return 0;
	}
	if (state == FPL_THREAD_BLOCKED && (config.flags & FPL_CONFIG_PAIRS)) {
		count->fired++; /* as a waker's stack, which is taken out of the books */
		stack_add(stack, 0);
		kept_sample(task, count, weight, state, stack->id);
		return 0;
	}
	stack_add(stack, weight);
	event_send(bpf_ktime_get_ns(), weight, tid, stack->id, count);
	return 0;
}

/* The stack of @task has been kept, or not: note its places, and give the slot back. */
static __noinline void kept_note(struct task_struct *task, __u32 slot)
{
	struct fpl_thread_times *t = times_of(task);
	struct fpl_scratch *s = slot_scratch(slot);

	for (__u32 i = 0; t && s && i < FPL_KEPT_COUNT; i++)
		t->kept[i] = s->kept[i];
	slot_give_back(slot);
}

/* Keep the stack of the current thread, whose wait has begun. */
static __always_inline void kept_take(void *ctx, struct task_struct *prev)
{
	struct fpl_thread_times *t = times_of(prev);
	struct moment moment = { .ctx = ctx, .has_weight = 1, .is_kept = 1 };
	int is_blocked = t && t->state == FPL_THREAD_BLOCKED;
	struct fpl_scratch *s;

	if (!t || (!is_blocked && t->state != FPL_THREAD_RUNNABLE))
		return;
	t->kept[0] = t->kept[1] = FPL_KEPT_NOT;
	if (!(config.block_states & ((is_blocked ? t->sleep : 0) | FPL_STATE_RUNNABLE)))
		return; /* no sample of it can be due */
	if (is_blocked && (config.flags & FPL_CONFIG_LOCKS) && !lock_addr(prev))
		return;
	s = wait_begin(&moment, 0, t, t->state);
	if (!s)
		return;
	if (is_blocked && (config.flags & FPL_CONFIG_PAIRS))
		moment.flags = FPL_SAMPLE_WAKER;
	s->kept[0] = s->kept[1] = FPL_KEPT_FILTERED;
	sample_at(&moment);
	kept_note(prev, moment.slot);
}

/* A switch, as on_switch() has it. */
SEC("tp_btf/sched_switch")
int BPF_PROG(sample_switch_out, int preempt, struct task_struct *prev, struct task_struct *next,
	     __u32 prev_state)
{
	if (!gate_is_open()) {
		switched_late(prev);
		return 0;
	}
	if (switch_books(prev, next, state_of(prev, preempt, prev_state)))
		bpf_loop(FPL_KEPT_COUNT, kept_count, &next, 0);
	kept_take(ctx, prev);
	return 0;
}
