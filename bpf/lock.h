/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks: futexes that threads wait at. The registers that a thread entered the kernel with say
 * which one, so nothing has to be noted when it begins to wait. How long a lock made threads wait
 * is added up exactly; who waits there, and who ends it, is sampled (blocked.h, waker.h).
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/arch_x86_64.h"
#include "bpf/env.h"
#include "bpf/event.h"
#include "bpf/maps.h"
#include "bpf/pid_ns.h"

/* Made at the start: nothing may be allocated where a thread is woken up. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FPL_LOCKS_MAX);
	__type(key, struct fpl_lock_key);
	__type(value, struct fpl_lock);
} locks SEC(".maps");

/* The waits at locks for which the map had no room. */
struct fpl_lock locks_beyond;

/* The address of the futex that the task waits at, where it is asleep in a system call; 0: it waits
 * at none. */
static __noinline __u64 lock_addr(struct task_struct *task)
{
	__u64 pt = (__u64)bpf_task_pt_regs(task), base = 0;
	__u64 words[ARCH_PT_CALL_WORDS];

	if ((BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) ||
	    bpf_probe_read_kernel(words, sizeof(words), (const void *)(pt + 8 * ARCH_PT_CALL)))
		return 0;
	bpf_probe_read_kernel(&base, sizeof(base), (const void *)(pt + 8 * ARCH_PT_RBX));
	return arch_futex_addr(words, base);
}

/* The system call that the task is in: arch_call(). */
static __noinline __u64 call_of(struct task_struct *task)
{
	__u64 pt = (__u64)bpf_task_pt_regs(task);
	__u64 words[ARCH_PT_CALL_WORDS];

	if ((BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER)) ||
	    bpf_probe_read_kernel(words, sizeof(words), (const void *)(pt + 8 * ARCH_PT_CALL)))
		return ARCH_NO_CALL;
	return arch_call(words);
}

/* A wait of the task at the lock @addr took @ns. */
static __noinline void lock_add(struct task_struct *task, __u64 addr, __u64 ns)
{
	struct fpl_lock_key key = { .addr = addr, .tgid = tgid_of(task) };
	struct fpl_lock *lock = bpf_map_lookup_elem(&locks, &key);

	if (!lock) {
		struct fpl_lock none = { 0 };

		bpf_map_update_elem(&locks, &key, &none, BPF_NOEXIST);
		lock = bpf_map_lookup_elem(&locks, &key);
	}
	if (!lock)
		lock = &locks_beyond;
	__sync_fetch_and_add(&lock->ns, ns);
	__sync_fetch_and_add(&lock->nr, 1);
}

/* Which memory of the task's process has the address, where no file is mapped there. The memory
 * below its first thread's arguments is that thread's stack; a C library puts the thread's own data
 * behind the stack of another one. */
static __always_inline enum fpl_lock_memory lock_memory(struct task_struct *task, __u64 addr)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u64 start_stack = BPF_CORE_READ(mm, start_stack), sp = 0;
	__u64 regs = (__u64)bpf_task_pt_regs(task);

	if (addr >= BPF_CORE_READ(mm, start_brk) && addr < BPF_CORE_READ(mm, brk))
		return FPL_LOCK_HEAP;
	if (addr < start_stack && start_stack - addr < FPL_LOCK_STACK_REACH)
		return FPL_LOCK_STACK;
	bpf_probe_read_kernel(&sp, sizeof(sp), (const void *)(regs + 8 * ARCH_PT_RSP));
	if (addr >= sp && addr - sp < FPL_LOCK_STACK_REACH &&
	    addr < BPF_CORE_READ(task, thread.fsbase))
		return FPL_LOCK_STACK;
	return FPL_LOCK_ANON;
}
