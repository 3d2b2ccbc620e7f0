/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Filters beyond the process: thread, user, cgroup, name. Each is dead code, and its map is not
 * made, unless the user asked for it.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/env.h"
#include "bpf/maps.h"
#include "bpf/pid_ns.h"

/* By thread id: the profiled threads of the processes in `targets`; written by userspace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct fpl_target);
} threads SEC(".maps");

/* The id of the cgroup that is profiled, with all below it. Written by userspace while the gate is
 * closed. */
__u64 wanted_cgroup;

/* Levels between a task's cgroup and that one, at most. */
#define CGROUP_LEVELS_MAX 32u

/* Userspace's verdicts on names. A name without a verdict is sampled, and judged when its stack
 * arrives. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct fpl_comm);
	__type(value, __u32);
} comms SEC(".maps");

static __always_inline struct fpl_target *thread_of(__u32 tid, __u64 start_ns)
{
	struct fpl_target *thread = bpf_map_lookup_elem(&threads, &tid);

	return thread && (!thread->start_ns || thread->start_ns == start_ns) ? thread : 0;
}

/* Is the task in the cgroup that is profiled, or below it? A helper tells that of the current task
 * alone. */
static __noinline int is_under_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (__u32 i = 0; cgroup && i < CGROUP_LEVELS_MAX; i++) {
		if (BPF_CORE_READ(cgroup, kn, id) == wanted_cgroup)
			return 1;
		cgroup = (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
	}
	return 0;
}

static __always_inline int has_wanted_comm(struct task_struct *task)
{
	struct fpl_comm comm = { 0 };
	__u32 *verdict;

	bpf_probe_read_kernel(&comm, sizeof(comm), &task->comm);
	verdict = bpf_map_lookup_elem(&comms, &comm);
	return !verdict || *verdict == FPL_COMM_WANTED;
}

/* Does the task, whose number is @tid, pass all filters other than that of its process? */
static __always_inline int is_wanted(struct task_struct *task, __u32 tid)
{
	if ((config.flags & FPL_CONFIG_THREADS) && !thread_of(tid, task->start_boottime))
		return 0;
	if ((config.flags & FPL_CONFIG_UID) && task->cred->euid.val != config.uid)
		return 0;
	if ((config.flags & FPL_CONFIG_CGROUP) && !is_under_cgroup(task))
		return 0;
	return !(config.flags & FPL_CONFIG_COMM) || has_wanted_comm(task);
}

/* The thread has begun to exit; samples until its end belong to the target. */
static __always_inline void thread_exit(struct task_struct *task)
{
	struct fpl_target *thread;

	if (!(config.flags & FPL_CONFIG_THREADS))
		return;
	thread = thread_of(tid_of(task), task->start_boottime);
	if (thread)
		thread->flags |= FPL_TARGET_GONE;
}

/* Another thread may get the number @tid from here on. */
static __always_inline void thread_free(__u32 tid, __u64 start_ns)
{
	if ((config.flags & FPL_CONFIG_THREADS) && thread_of(tid, start_ns))
		bpf_map_delete_elem(&threads, &tid);
}
