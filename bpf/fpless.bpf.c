// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The sampler. It runs on a perf event of every CPU and may interrupt anything, even with
 * interrupts off, so nothing it calls allocates or waits. The programs in process.h run in the task
 * whose life they follow; they share no scratch memory with this one, which may interrupt them.
 */
#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "bpf/count.h"
#include "bpf/env.h"
#include "bpf/maps.h"
#include "bpf/pid_ns.h"
#include "bpf/process.h"
#include "bpf/snapshot.h"
#include "bpf/target.h"
#include "bpf/user_stack.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Compared by the loader with its own. */
const volatile __u32 shared_version SEC(".rodata") = FPL_SHARED_VERSION;

/* Append the kernel stack to the user frames. */
static __always_inline void kernel_stack(struct bpf_perf_event_data *ctx, struct fpl_scratch *s)
{
	__u32 at = s->sample.nr_user;

	if (at > FPL_USER_FRAMES_MAX)
		return;

	long size = bpf_get_stack(ctx, s->frames + at, FPL_KERNEL_DEPTH_MAX * 8, 0);

	s->sample.nr_kernel = size > 0 ? (__u16)(size / 8) : 0;
}

static __always_inline void sample_begin(struct fpl_scratch *s, __u64 start_ns, __u64 pid_tgid,
					 __u64 now_ns)
{
	struct fpl_sample *sample = &s->sample;

	sample->header.time_ns = now_ns;
	sample->gen = 0;
	sample->start_ns = start_ns;
	sample->weight = *(volatile __u64 *)&sample_weight;
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
	sample->_pad = 0;
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
static __always_inline void record_send(struct bpf_perf_event_data *ctx, struct task_struct *task,
					struct fpl_scratch *s)
{
	if (user_regs(ctx, task, s)) {
		keep_regs(s);
		snapshot_send(s, FPL_RECORD_WALK, s->sample.nr_user, 0);
	}
}

/* Is the process to be profiled, and has its profiling begun? */
static __always_inline int is_active(struct task_struct *task, __u32 tgid, __u64 start_ns)
{
	struct fpl_target *target;

	if (config.pid_ns && !tgid && task->pid)
		return 0; /* not visible in the profiler's PID namespace */
	if (config.flags & FPL_CONFIG_ALL)
		return 1;
	target = target_of(tgid, start_ns);
	return target && (target->flags & FPL_TARGET_ACTIVE);
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

/* Send the sample as a snapshot, to be walked on in userspace, or count it. */
static __always_inline void sample_end(struct bpf_perf_event_data *ctx, struct task_struct *task,
				       struct fpl_scratch *s, struct fpl_counters *count,
				       int result)
{
	if (result == USER_STACK_LACKING && config.snapshot_bytes &&
	    !snapshot_send(s, FPL_RECORD_SNAPSHOT, s->nr_kept, 1)) {
		count->snapshots++;
		return;
	}
	if (result == USER_STACK_LACKING && config.snapshot_bytes)
		sample_no_room(&s->sample);
	sample_count(s, count);
	if (result == USER_STACK_WALKED && is_recorded(count))
		record_send(ctx, task, s);
}

static __always_inline int is_wanted_mode(int in_kernel)
{
	__u32 unwanted = in_kernel ? FPL_CONFIG_NO_KERNEL_MODE : FPL_CONFIG_NO_USER_MODE;

	return !(config.flags & unwanted);
}

/* Returns whether it was one of the targets. */
static __always_inline int sample_take(struct bpf_perf_event_data *ctx, struct fpl_counters *count,
				       __u64 now_ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pid_tgid = current_pid_tgid(task);
	__u32 cpu = bpf_get_smp_processor_id();
	struct fpl_scratch *s;

	if (!pid_tgid && !task->pid && !(config.flags & FPL_CONFIG_IDLE)) {
		count->idle++;
		return 0;
	}
	s = bpf_map_lookup_elem(&scratch, &cpu);
	if (!s) {
		count->lost[FPL_LOST_SCRATCH]++;
		return 1;
	}

	__u64 start_ns = start_of(task);
	struct fpl_recent *recent = recent_find(s, task, pid_tgid >> 32, start_ns);

	if ((!recent && !is_active(task, pid_tgid >> 32, start_ns)) ||
	    !is_wanted(task, (__u32)pid_tgid)) {
		count->filtered++;
		return 0;
	}

	int in_kernel = arch_is_kernel(ctx->regs.cs);
	int has_user = !(task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER));
	int want_user = has_user && (config.flags & FPL_CONFIG_USER);
	int want_kernel = in_kernel && (config.flags & FPL_CONFIG_KERNEL);

	if (!is_wanted_mode(in_kernel) || (!want_user && !want_kernel)) {
		count->filtered++;
		return 0;
	}
	sample_begin(s, start_ns, pid_tgid, now_ns);

	__u32 flags = (has_user ? 0 : FPL_SAMPLE_KTHREAD) | (in_kernel ? FPL_SAMPLE_KERNEL : 0);
	int result = USER_STACK_DONE;

	if (want_user) {
		result = user_stack(ctx, task, s, recent);
		s->sample.nr_user = (__u16)s->walk.nr_frames;
		s->sample.stop = s->walk.stop;
		s->sample.elided = s->walk.elided;
		count->frames += s->walk.elided;
		if (s->walk.deep != WALK_DEEP_NONE)
			deep_note(&s->walk, count);
	}
	if (want_kernel)
		kernel_stack(ctx, s);
	if (want_user) {
		if (config.flags & FPL_CONFIG_COMPARE)
			fp_append(ctx, s);
		flags |= s->walk.flags;
	}
	s->sample.flags = (__u8)flags;
	count->frames += (__u32)s->sample.nr_user + s->sample.nr_kernel;
	sample_end(ctx, task, s, count, result);
	if (want_user)
		count->uretprobes += s->walk.is_probed;
	return 1;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0;
	struct fpl_counters *count = bpf_map_lookup_elem(&counters, &zero);

	if (!count)
		return 0;
	count->fired++;

	__u64 start_ns = bpf_ktime_get_ns();

	int taken = sample_take(ctx, count, start_ns);
	__u64 ns = bpf_ktime_get_ns() - start_ns;

	count->bpf_ns += ns;
	if (taken)
		count->sample_ns += ns;
	return 0;
}
