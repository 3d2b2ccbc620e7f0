/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The numbers of a task in the profiler's PID namespace, which its /proc and its side-band use. In
 * the initial namespace these are the kernel's own numbers, and the translation is dead code. A
 * task outside that namespace has no number there: 0.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/env.h"
#include "bpf/maps.h"

#define PID_NS_LEVELS 33u /* MAX_PID_NS_LEVEL and the first: include/linux/pid_namespace.h */

/*
 * Numbers of exiting targets, keyed by the kernel's own number of the task: when the kernel frees a
 * task, its other numbers are gone.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u32);
} leaving SEC(".maps");

/* The number of @pid, one of the kernel's struct pid, in the namespace of the profiler. */
static __noinline __u32 pid_number(const struct pid *pid)
{
	__u32 level = 0;

	if (!pid || bpf_probe_read_kernel(&level, sizeof(level), &pid->level))
		return 0;
	for (__u32 i = 0; i < PID_NS_LEVELS; i++) {
		struct upid upid;
		__u32 inum = 0;

		if (i > level)
			return 0;
		/* search upwards from the task's own namespace: most tasks are in the profiler's */
		if (bpf_probe_read_kernel(
			    &upid, sizeof(upid),
			    (const void *)((__u64)&pid->numbers + (level - i) * sizeof(upid))) ||
		    bpf_probe_read_kernel(&inum, sizeof(inum), &upid.ns->ns.inum))
			return 0;
		if (inum == config.pid_ns)
			return (__u32)upid.nr;
	}
	return 0;
}

static __always_inline __u32 tgid_of(struct task_struct *task)
{
	return config.pid_ns ? pid_number(BPF_CORE_READ(task, group_leader, thread_pid))
			     : (__u32)BPF_CORE_READ(task, tgid);
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	return config.pid_ns ? pid_number(BPF_CORE_READ(task, thread_pid))
			     : (__u32)BPF_CORE_READ(task, pid);
}

/* Both numbers of the current task, as bpf_get_current_pid_tgid gives them. */
static __always_inline __u64 current_pid_tgid(struct task_struct *task)
{
	if (!config.pid_ns)
		return bpf_get_current_pid_tgid();
	return (__u64)tgid_of(task) << 32 | tid_of(task);
}

/* Keep the number of an exiting task that may be a target, for the moment the task is freed. */
static __always_inline void leaving_keep(struct task_struct *task)
{
	__u32 own = (__u32)task->pid, number;

	if (!config.pid_ns || (config.flags & FPL_CONFIG_ALL) ||
	    (task->pid != task->tgid && !(config.flags & FPL_CONFIG_THREADS)))
		return;
	number = tid_of(task);
	if (number)
		bpf_map_update_elem(&leaving, &own, &number, BPF_ANY);
}

/* The number of a task that is being freed; @own: the kernel's own number. */
static __always_inline __u32 leaving_take(__u32 own)
{
	__u32 number, *kept;

	if (!config.pid_ns)
		return own;
	kept = bpf_map_lookup_elem(&leaving, &own);
	number = kept ? *kept : 0;
	if (kept)
		bpf_map_delete_elem(&leaving, &own);
	return number;
}
