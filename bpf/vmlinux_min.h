/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types the programs look into, by name: the loader finds the offsets in the running
 * kernel's BTF, so a build needs no kernel headers and gives the same bytes everywhere.
 */
#pragma once

#include <linux/types.h>

#define KERNEL_TYPE __attribute__((preserve_access_index))

typedef struct {
	int counter;
} atomic_t;

/* Return probes; absent in a kernel without them. */
struct return_instance {
	__u64 stack; /* where the return address was */
	__u64 orig_ret_vaddr;
	struct return_instance *next; /* called before */
} KERNEL_TYPE;

struct uprobe_task {
	struct return_instance *return_instances;
	struct return_instance
		*ri_pool; /* entries to be used again, the last one first; since v6.14 */
	__u64 vaddr;	  /* address of the instruction that is executed out of line */
	__u64 xol_vaddr;  /* there */
} KERNEL_TYPE;

struct xol_area {
	__u64 vaddr;
} KERNEL_TYPE;

struct uprobes_state {
	struct xol_area *xol_area;
} KERNEL_TYPE;

struct mm_struct {
	__u64 start_brk, brk; /* the heap */
	__u64 start_stack;    /* of its first thread: where the arguments are */
	struct uprobes_state uprobes_state;
	atomic_t mm_users; /* threads, and who looks into it: 0 once it is given back */
} KERNEL_TYPE;

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
} KERNEL_TYPE;

typedef struct {
	unsigned int val;
} KERNEL_TYPE kuid_t;

struct cred {
	kuid_t euid;
} KERNEL_TYPE;

struct ns_common {
	unsigned int inum;
} KERNEL_TYPE;

struct pid_namespace {
	struct ns_common ns;
} KERNEL_TYPE;

struct upid {
	int nr;
	struct pid_namespace *ns;
} KERNEL_TYPE;

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* [level + 1]: from the first namespace to the task's own */
} KERNEL_TYPE;

struct thread_struct {
	__u64 fsbase;
} KERNEL_TYPE;

struct rq {
	__u64 clock; /* ns: the scheduler's, as of the last tick or switch of the CPU */
} KERNEL_TYPE;

struct cfs_rq {
	union {
		struct rq *rq;
	};
	int throttle_count; /* of it and those above it */
} KERNEL_TYPE;

struct sched_entity {
	union {
		struct cfs_rq *cfs_rq;
	};
	__u64 sum_exec_runtime;	     /* ns of CPU time */
	__u64 prev_sum_exec_runtime; /* when it was last given a CPU */
} KERNEL_TYPE;

struct sched_info {
	unsigned long pcount; /* how often it was given a CPU */
	__u64 last_arrival;   /* when it was last given a CPU, by rq.clock; 0: never */
	__u64 last_queued;    /* since when it waits for one; 0: it does not */
} KERNEL_TYPE;

struct kernfs_node {
	__u64 id;
} KERNEL_TYPE;

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
} KERNEL_TYPE;

struct cgroup {
	struct cgroup_subsys_state self; /* its first member: that of a parent is the parent's */
	struct kernfs_node *kn;
} KERNEL_TYPE;

struct css_set {
	struct cgroup *dfl_cgrp; /* in the v2 hierarchy */
} KERNEL_TYPE;

struct task_struct {
	struct thread_struct thread;
	struct sched_entity se;
	struct sched_info sched_info;
	int prio; /* below 100: of a class that keeps no prev_sum_exec_runtime */
	unsigned int __state;
	unsigned int flags;
	int exit_state; /* 0: it has not ended */
	__u8 on_cpu;	/* 0 or 1; an int before 7.x, of which this is the lowest byte */
	int pid;
	int tgid;
	struct mm_struct *mm;
	struct signal_struct *signal;
	const struct cred *cred;
	struct css_set *cgroups;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct uprobe_task *utask;
	__u64 start_boottime; /* ns, CLOCK_BOOTTIME */
	char comm[16];
	unsigned long nvcsw, nivcsw; /* switches away from it: by itself, and others */
	unsigned int frozen : 1;     /* counts as frozen in its cgroup (v2) */
	unsigned long jobctl;
	_Bool throttled;    /* since 6.18: its cgroup has used up its CPU time */
	__u64 self_exec_id; /* counts the programs the process has executed */
} KERNEL_TYPE;

/* The context of an iterator over tasks. */
struct seq_file;

struct bpf_iter_meta {
	union {
		struct seq_file *seq;
	};
} KERNEL_TYPE;

struct bpf_iter__task {
	union {
		struct bpf_iter_meta *meta;
	};
	union {
		struct task_struct *task; /* NULL: there are no more */
	};
} KERNEL_TYPE;

/* task_struct.flags, include/linux/sched.h */
#define PF_EXITING     0x00000004
#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000 /* unused before v6.4 */
#define PF_KTHREAD     0x00200000
