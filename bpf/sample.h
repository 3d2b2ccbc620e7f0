/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A sample, from the moment to the count: whose it is, its stacks, and where it goes. */
#pragma once

#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "bpf/count.h"
#include "bpf/env.h"
#include "bpf/event.h"
#include "bpf/maps.h"
#include "bpf/moment.h"
#include "bpf/pid_ns.h"
#include "bpf/process.h"
#include "bpf/slot.h"
#include "bpf/snapshot.h"
#include "bpf/target.h"
#include "bpf/user_stack.h"
#include "bpf/wait_key.h"

/* Append the kernel stack to the user frames. */
static __always_inline void kernel_stack(const struct moment *moment, struct fpl_scratch *s)
{
	__u32 at = s->sample.nr_user;

	if (at > FPL_USER_FRAMES_MAX)
		return;

	long size = bpf_get_stack(moment->ctx, s->frames + at, FPL_KERNEL_DEPTH_MAX * 8, 0);

	s->sample.nr_kernel = size > 0 ? (__u16)(size / 8) : 0;
}

/* Without any stack yet. */
static __always_inline void sample_clear(struct fpl_scratch *s, __u32 slot, __u32 source,
					 __u64 start_ns, __u64 pid_tgid)
{
	struct fpl_sample *sample = &s->sample;

	sample->gen = 0;
	sample->start_ns = start_ns;
	sample->objects = 0;
	sample->tgid = pid_tgid >> 32;
	sample->tid = (__u32)pid_tgid;
	sample->cpu = bpf_get_smp_processor_id();
	sample->version = 0;
	sample->nr_user = 0;
	sample->nr_kernel = 0;
	sample->stop = FPL_STOP_NO_USER_REGS;
	sample->flags = 0;
	sample->nr_fp = 0;
	sample->elided = 0;
	sample->source = (__u16)source;
	sample->nr_key = 0;
	sample->nr_script = 0;
	s->slot = slot;
}

static __always_inline void sample_begin(struct fpl_scratch *s, const struct moment *moment,
					 __u64 start_ns, __u64 pid_tgid)
{
	struct fpl_sample *sample = &s->sample;

	sample_clear(s, moment->slot, moment->source, start_ns, pid_tgid);
	sample->header.time_ns = moment->now_ns;
	sample->weight = moment->has_weight ? s->given.weight
			 : moment->event    ? event_weight(moment)
					    : source_weight(moment->source);
	if (moment->has_weight)
		sample->objects = s->given.objects;
	bpf_get_current_comm(sample->comm, sizeof(sample->comm));
	if (config.flags & FPL_CONFIG_BY_CGROUP)
		sample->cgroup = bpf_get_current_cgroup_id();
}

/* Is it time to have a walk judged? */
static __always_inline int is_recorded(const struct fpl_counters *count)
{
	return config.record_every && count->fired % config.record_every == 0;
}

/* Send the walk to be judged. */
static __always_inline void record_send(const struct moment *moment, struct task_struct *task,
					struct fpl_scratch *s)
{
	if (user_regs(moment, task, s)) {
		keep_regs(s);
		snapshot_send(s, FPL_RECORD_WALK, s->sample.nr_user, 0);
	}
}

/* Is the process to be profiled, and has its profiling begun? */
static __always_inline int is_active(struct task_struct *task, __u32 tgid, __u64 start_ns)
{
	if (config.pid_ns && !tgid && task->pid)
		return 0; /* not visible in the profiler's PID namespace */
	return is_active_target(tgid, start_ns);
}

/* The sample lacked room, not a table: a snapshot would have found the table. */
static __always_inline void sample_no_room(struct fpl_sample *sample)
{
	if (sample->stop == FPL_STOP_NO_TABLE || sample->stop == FPL_STOP_NO_MAPPING)
		sample->stop = FPL_STOP_BURST;
}

/* Note the fate of frames beyond max_depth. */
static __always_inline void deep_note(const struct fpl_walk *walk, struct fpl_counters *count)
{
	if (walk->deep == WALK_DEEP_REFUSED) {
		count->deep_refused++;
		return;
	}
	count->deep_ns += walk->deep_ns;
	count->deep_walked++;
	if (walk->deep == WALK_DEEP_CUT)
		count->deep_cut++;
}

/* Note in the sample and the counters what the walk has found. */
static __always_inline void user_stack_note(struct fpl_scratch *s, struct fpl_counters *count,
					    int result)
{
	/* a snapshot is walked again where the interpreter's memory is not at hand */
	if (result == USER_STACK_WALKED && s->walk.nr_script <= FPL_SCRIPT_WORDS_MAX)
		s->sample.nr_script = (__u16)s->walk.nr_script;
	s->sample.nr_user = (__u16)s->walk.nr_frames;
	s->sample.stop = s->walk.stop;
	s->sample.elided = s->walk.elided;
	count->frames += s->walk.elided;
	if (s->walk.deep != WALK_DEEP_NONE)
		deep_note(&s->walk, count);
}

/* Keep the sample's stack, or a snapshot of it. Returns its place: FPL_KEPT_*. */
static __noinline __u32 stack_keep(struct fpl_scratch *s, struct fpl_counters *count, int result)
{
	if (result == USER_STACK_LACKING && config.snapshot_bytes) {
		if (!snapshot_send(s, FPL_RECORD_SNAPSHOT, s->nr_kept, 0)) {
			count->snapshots++;
			return stack_reserve(&s->sample, s->counted_id);
		}
		sample_no_room(&s->sample);
	}
	return (__u32)sample_keep(s);
}

/* Keep the stack of a wait that begins, whose walk had @result. Behind a wait that is blocked comes
 * one for a CPU, which has the same stack in another state. A stack that samples lead to has the
 * flag FPL_SAMPLE_WAKER in place of a state. Returns 0. */
WALK_GLOBAL int sample_end_kept(struct fpl_scratch *s, struct fpl_counters *count, int result)
{
	if (!s || !count)
		return 0;
	s->kept[0] = s->kept[1] = stack_keep(s, count, result);
	if (!(s->sample.flags & (FPL_SAMPLE_BLOCKED | FPL_SAMPLE_WAKER)) ||
	    !(config.block_states & FPL_STATE_RUNNABLE))
		return 0;
	s->sample.flags &= (__u8) ~(FPL_SAMPLE_STATE | FPL_SAMPLE_WAKER);
	s->sample.flags |= FPL_SAMPLE_RUNNABLE | FPL_SAMPLE_WOKEN;
	s->sample.nr_key = 0;
	s->kept[1] = stack_keep(s, count, result);
	return 0;
}

/* Send the sample as a snapshot, to be walked on in userspace, or count it. */
static __always_inline void sample_end(const struct moment *moment, struct task_struct *task,
				       struct fpl_scratch *s, struct fpl_counters *count,
				       int result)
{
	if (moment->is_kept) {
		sample_end_kept(s, count, result);
		return;
	}
	if (result == USER_STACK_LACKING && config.snapshot_bytes &&
	    !snapshot_send(s, FPL_RECORD_SNAPSHOT, s->nr_kept, 1)) {
		count->snapshots++;
		return;
	}
	if (result == USER_STACK_LACKING && config.snapshot_bytes)
		sample_no_room(&s->sample);
	sample_count(s, count);
	if (result == USER_STACK_WALKED && is_recorded(count))
		record_send(moment, task, s);
}

static __always_inline int is_wanted_mode(int in_kernel)
{
	__u32 unwanted = in_kernel ? FPL_CONFIG_NO_KERNEL_MODE : FPL_CONFIG_NO_USER_MODE;

	return !(config.flags & unwanted);
}

/* Append the key that the moment asks for. Returns the number of its words. */
static __always_inline __u32 sample_key(const struct moment *moment, struct fpl_scratch *s,
					struct fpl_counters *count)
{
	if (moment->wakee)
		return config.nr_links ? 0 : task_key(moment->wakee, s);
	if (moment->flags & FPL_SAMPLE_BLOCKED)
		return wait_key(bpf_get_current_task_btf(), s);
	if (moment->event && moment->event->key.kind != FPL_FIELD_NONE)
		return event_key(moment->ctx, moment->event, s, count);
	return 0;
}

/* Returns whether it was one of the targets. */
static __always_inline int sample_take(struct moment *moment, struct fpl_counters *count)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pid_tgid = current_pid_tgid(task);
	struct fpl_scratch *s;

	if (!pid_tgid && !task->pid && !(config.flags & FPL_CONFIG_IDLE)) {
		count->idle++;
		return 0;
	}
	s = slot_scratch(moment->slot);
	if (!s) {
		count->lost[FPL_LOST_SCRATCH]++;
		return 1;
	}

	__u64 start_ns = task->group_leader->start_boottime; /* start_of() takes 40 ns more */
	struct fpl_recent *recent = recent_find(s, task, pid_tgid >> 32, start_ns);

	int is_target = recent || is_active(task, pid_tgid >> 32, start_ns);

	if (!moment->wakee && (!is_target || !is_wanted(task, (__u32)pid_tgid))) {
		count->filtered++;
		return 0;
	}

	int in_kernel = !moment->interrupted || arch_is_kernel(moment->interrupted->regs.cs);
	int has_user = !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
	int want_user = has_user && is_target && (config.flags & FPL_CONFIG_USER);
	int want_kernel = in_kernel && (config.flags & FPL_CONFIG_KERNEL);

	if (!moment->wakee && (!is_wanted_mode(in_kernel) || (!want_user && !want_kernel))) {
		count->filtered++;
		return 0;
	}
	if (moment->event && !event_is_sampled(moment, s, count))
		return 0;
	if (moment->event && !moment->now_ns)
		moment->now_ns = bpf_ktime_get_ns();
	sample_begin(s, moment, start_ns, pid_tgid);

	__u32 flags = (has_user ? 0 : FPL_SAMPLE_KTHREAD) | (in_kernel ? FPL_SAMPLE_KERNEL : 0);
	int result = USER_STACK_DONE;

	if (want_user) {
		result = user_stack(moment, task, s, recent);
		user_stack_note(s, count, result);
	}
	if (want_kernel)
		kernel_stack(moment, s);
	if (want_user) {
		if (config.flags & FPL_CONFIG_COMPARE)
			fp_append(moment, s);
		flags |= s->walk.flags;
	}
	s->sample.flags = (__u8)(flags | moment->flags);
	s->sample.nr_key = sample_key(moment, s, count);
	count->frames += (__u32)s->sample.nr_user + s->sample.nr_kernel;
	sample_end(moment, task, s, count, result);
	if (want_user)
		count->uretprobes += s->walk.is_probed;
	return 1;
}

/* Reading the clock costs an event that is refused as much as the refusal: one in so many is timed,
 * and stands for the others. */
#define EVENTS_PER_TIMED 16u

static __always_inline int is_timed(const struct moment *moment, struct fpl_counters *count)
{
	if (moment->flags) { /* a wait: no clock's */
		count->entered++;
		return 1;
	}
	return !moment->event || ++count->entered % EVENTS_PER_TIMED == 0;
}

/* Take a sample, and count it and its cost. */
static __always_inline void sample_at(struct moment *moment)
{
	/* a stack that is kept is in no books: what it costs has counters of its own */
	__u32 slot = moment->is_kept ? COUNTERS_OF_KEPT : moment->slot;
	struct fpl_counters *count = bpf_map_lookup_elem(&counters, &slot);
	__u64 ns;
	int taken;

	if (!count)
		return;
	count->fired++;
	moment->now_ns = is_timed(moment, count) ? bpf_ktime_get_ns() : 0;
	taken = sample_take(moment, count);
	if (!moment->now_ns)
		return;
	ns = bpf_ktime_get_ns() - moment->now_ns;
	if (taken)
		count->sample_ns += ns;
	count->bpf_ns += taken || !moment->event ? ns : EVENTS_PER_TIMED * ns;
}
