/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The records of processes, kept where they change: at exec, fork and exit, in the task itself, so
 * that a sample never takes one program's tables for another's.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/env.h"
#include "bpf/maps.h"
#include "bpf/pid_ns.h"
#include "bpf/target.h"

__u64 last_gen;

/* Counted up by userspace when it has changed a mapset, and before it reuses a run of mappings:
 * entries noted under another epoch must not be used. */
__u32 epoch;

/*
 * Pointers in the kernel's structures are read as numbers, by a helper: for each direct load the
 * verifier searches all of the kernel's BTF for the type, 1 to 2 ms each. The helper takes 20 ns,
 * so what each sample or each switch needs is loaded.
 */
static __always_inline __u64 mm_of(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, mm);
}

/* Start time of the task's process, CLOCK_BOOTTIME. */
static __always_inline __u64 start_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline __u64 new_gen(void)
{
	return __sync_fetch_and_add(&last_gen, 1) + 1;
}

/* Note that a map had no room for an entry of this process. */
static __always_inline void note_full(enum fpl_full map)
{
	__u32 zero = 0;
	struct fpl_counters *count = bpf_map_lookup_elem(&counters, &zero);

	if (count)
		__sync_fetch_and_add(&count->full[map], 1);
}

/* The mapset of the image @gen. Returns 0 if the image has none, or it is being replaced. */
static __always_inline int mapset_read(__u32 tgid, __u64 gen, struct fpl_mapset *ret)
{
	const volatile struct fpl_mapset *mapset = bpf_map_lookup_elem(&mapsets, &tgid);

	if (!mapset || !gen)
		return 0;
	ret->gen = mapset->gen;
	ret->first = mapset->first;
	ret->nr = mapset->nr;
	ret->version = mapset->version;
	ret->serial = mapset->serial;
	ret->check = mapset->check;
	return ret->gen == gen && ret->check == fpl_mapset_check(ret);
}

static __always_inline struct fpl_target *target_of(__u32 tgid, __u64 start_ns)
{
	struct fpl_target *target = bpf_map_lookup_elem(&targets, &tgid);

	return target && (!target->start_ns || target->start_ns == start_ns) ? target : 0;
}

/* Is the process watched: profiled, or soon to be? */
static __always_inline int is_watched(__u32 tgid, __u64 start_ns)
{
	return (config.flags & FPL_CONFIG_ALL) || target_of(tgid, start_ns);
}

/* Is the process profiled, and has its profiling begun? */
static __always_inline int is_active_target(__u32 tgid, __u64 start_ns)
{
	struct fpl_target *target;

	if (config.flags & FPL_CONFIG_ALL)
		return 1;
	target = target_of(tgid, start_ns);
	return target && (target->flags & FPL_TARGET_ACTIVE);
}

/* Sends @life, whose header has its type. */
static __always_inline void life_send(struct fpl_life *life)
{
	struct fpl_counters *count;
	__u32 zero = 0;

	life->header.size = sizeof(*life);
	life->header.time_ns = bpf_ktime_get_ns();
	if (!bpf_ringbuf_output(&ring, life, sizeof(*life), BPF_RB_NO_WAKEUP)) {
		reader_wake();
		return;
	}
	count = bpf_map_lookup_elem(&counters, &zero);
	if (count)
		__sync_fetch_and_add(&count->life_lost, 1);
}

/*
 * Raw tracepoints without types: typed ones make the loader read all of the kernel's BTF. Such a
 * program gets numbers, which a helper reads; at exec and exit the task is the current one, so the
 * program asks for it and gets a type.
 */

/* A new program in an old process: the known mapset is void. */
SEC("raw_tp/sched_process_exec")
int on_exec(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = tgid_of(task);
	__u64 start_ns = start_of(task);
	struct fpl_target *target = target_of(tgid, start_ns);
	struct fpl_proc proc = {
		.gen = new_gen(),
		.mm = mm_of(task),
		.start_ns = start_ns,
	};
	struct fpl_life life = { .header.type = FPL_RECORD_EXEC,
				 .start_ns = start_ns,
				 .tgid = tgid };

	if (!tgid || (!(config.flags & FPL_CONFIG_ALL) && !target))
		return 0;
	if (target && (target->flags & FPL_TARGET_ON_EXEC))
		target->flags = (target->flags & ~FPL_TARGET_ON_EXEC) | FPL_TARGET_ACTIVE;
	if (bpf_map_update_elem(&procs, &tgid, &proc, BPF_ANY))
		note_full(FPL_FULL_PROCS);
	bpf_map_delete_elem(&mapsets, &tgid);
	life.gen = proc.gen;
	/* whose image it is, so that no one has to read that in /proc */
	life.euid = BPF_CORE_READ(task, cred, euid.val);
	if (bpf_core_field_exists(task->cgroups))
		life.cgroup = bpf_get_current_cgroup_id();
	life_send(&life);
	return 0;
}

/* A new process shares or copies its parent's memory: the parent's tables serve it. */
SEC("raw_tp/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *untyped_parent, struct task_struct *child)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	__u32 parent_tgid = tgid_of(parent), tgid = tgid_of(child);
	__u64 parent_start_ns = start_of(parent);
	struct fpl_target *target = target_of(parent_tgid, parent_start_ns);
	struct fpl_proc *parent_proc;
	struct fpl_mapset mapset;
	struct fpl_proc proc = {
		.start_ns = BPF_CORE_READ(child, start_boottime),
		.mm = mm_of(child),
	};
	struct fpl_life life = { .header.type = FPL_RECORD_FORK,
				 .start_ns = proc.start_ns,
				 .tgid = tgid,
				 .parent = parent_tgid };

	if (parent->tgid == BPF_CORE_READ(child, tgid) || !tgid)
		return 0; /* a thread, or none of ours */
	if (target && (target->flags & FPL_TARGET_INHERIT)) {
		struct fpl_target child_target = {
			.start_ns = proc.start_ns,
			.flags = target->flags,
		};

		if (bpf_map_update_elem(&targets, &tgid, &child_target, BPF_ANY))
			note_full(FPL_FULL_TARGETS);
	} else if (!(config.flags & FPL_CONFIG_ALL)) {
		return 0;
	}
	proc.gen = new_gen();
	parent_proc = bpf_map_lookup_elem(&procs, &parent_tgid);
	if (parent_proc && mapset_read(parent_tgid, parent_proc->gen, &mapset)) {
		mapset.gen = proc.gen;
		mapset.check = fpl_mapset_check(&mapset);
		if (bpf_map_update_elem(&mapsets, &tgid, &mapset, BPF_ANY))
			note_full(FPL_FULL_MAPSETS);
	}
	if (bpf_map_update_elem(&procs, &tgid, &proc, BPF_ANY))
		note_full(FPL_FULL_PROCS);
	life.gen = proc.gen;
	life_send(&life);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = tgid_of(task);
	__u64 start_ns = start_of(task);
	struct fpl_proc *proc;
	struct fpl_life life = { .header.type = FPL_RECORD_EXIT,
				 .start_ns = start_ns,
				 .tgid = tgid };

	if (!tgid)
		return 0;
	leaving_keep(task);
	thread_exit(task);
	if (BPF_CORE_READ(task, signal, live.counter) > 0 || !is_watched(tgid, start_ns))
		return 0;
	proc = bpf_map_lookup_elem(&procs, &tgid);
	if (proc)
		life.gen = proc->gen;
	bpf_map_delete_elem(&procs, &tgid);
	bpf_map_delete_elem(&mapsets, &tgid);
	life_send(&life);
	return 0;
}

/* From here on another process may get the number. Until now the last samples, taken while the
 * memory is being freed, belonged to the target. */
SEC("raw_tp/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	__u32 pid = (__u32)BPF_CORE_READ(task, pid), tgid = (__u32)BPF_CORE_READ(task, tgid);
	__u64 start_ns = BPF_CORE_READ(task, start_boottime);
	__u32 number = leaving_take(pid);

	thread_free(number, start_ns);
	if (pid == tgid && target_of(number, start_ns))
		bpf_map_delete_elem(&targets, &number);
	return 0;
}
