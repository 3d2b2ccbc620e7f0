/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Return probes (uretprobes) of other tools. While a function under one runs, its return address on
 * the stack is replaced by that of a trampoline, the first bytes of a page that the kernel has
 * mapped into the process. The task's list of pending calls, the last call first, holds the true
 * address and the stack slot it was taken from. Kernels without uprobes have neither the page nor
 * the list: all of this is dead code there.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define URETPROBES_MAX 64u /* MAX_URETPROBE_DEPTH of the kernel (include/linux/uprobes.h) */

/* Pointers in the kernel's structures are read as numbers: process.h says why. */

/* The current task's pending calls: a struct return_instance; 0: none pending. */
static __always_inline __u64 uretprobes_pending(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask;

	if (!bpf_core_field_exists(task->utask))
		return 0;
	utask = BPF_CORE_READ(task, utask);
	return utask ? (__u64)BPF_CORE_READ(utask, return_instances) : 0;
}

/* The current process's page with the trampoline; 0: it has no such page. */
static __always_inline __u64 uprobes_page(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct xol_area *area;

	if (!mm || !bpf_core_field_exists(mm->uprobes_state.xol_area))
		return 0;
	area = BPF_CORE_READ(mm, uprobes_state.xol_area);
	return area ? BPF_CORE_READ(area, vaddr) : 0;
}

#define UPROBE_INSN_BYTES 128u /* room for one instruction: UPROBE_XOL_SLOT_BYTES of the kernel */

/*
 * The instruction that a breakpoint replaces is executed in the page of the trampoline. Returns the
 * program's pc for @pc, which lies in that page; 0: no instruction of the current task is there.
 */
static __always_inline __u64 uprobe_program_pc(__u64 pc)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask;
	__u64 off;

	if (!bpf_core_field_exists(task->utask))
		return 0;
	utask = BPF_CORE_READ(task, utask);
	if (!utask)
		return 0;
	off = pc - BPF_CORE_READ(utask, xol_vaddr);
	return off < UPROBE_INSN_BYTES ? BPF_CORE_READ(utask, vaddr) + off : 0;
}

/* A search among the pending calls, beginning with @at. */
struct uretprobe_search {
	__u64 at;
	__u64 slot;
	__u64 ra; /* 0: not found */
};

static long uretprobe_search_one(__u32 idx, void *arg)
{
	struct uretprobe_search *search = arg;
	struct return_instance *call = (struct return_instance *)search->at;

	if (!call)
		return 1;
	search->at = (__u64)BPF_CORE_READ(call, next);
	if (BPF_CORE_READ(call, stack) != search->slot)
		return 0;
	/*
	 * after a tail call from one probed function to another, each entry has the first caller's
	 */
	search->ra = BPF_CORE_READ(call, orig_ret_vaddr);
	return 1;
}

/*
 * Find the return address that belongs to @slot. The search begins at *@at, where the previous one
 * ended, and starts over with the last call only if that fails: slots go up the stack in the order
 * of the list. Returns 0 if no pending call has that slot.
 */
static __always_inline __u64 uretprobe_find(__u64 slot, __u64 *at)
{
	struct uretprobe_search search = { .at = *at, .slot = slot };

	if (search.at)
		bpf_loop(URETPROBES_MAX, uretprobe_search_one, &search, 0);
	if (!search.ra) {
		search.at = uretprobes_pending();
		bpf_loop(URETPROBES_MAX, uretprobe_search_one, &search, 0);
	}
	*at = search.at;
	return search.ra;
}

/* The return address of the call whose probes ran last, if its slot was @slot; else 0. */
static __always_inline __u64 uretprobe_served(__u64 slot)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask;
	struct return_instance *call;

	if (!bpf_core_field_exists(task->utask))
		return 0;
	utask = BPF_CORE_READ(task, utask);
	if (!utask || !bpf_core_field_exists(utask->ri_pool))
		return 0;
	call = BPF_CORE_READ(utask, ri_pool);
	return call && BPF_CORE_READ(call, stack) == slot ? BPF_CORE_READ(call, orig_ret_vaddr) : 0;
}
