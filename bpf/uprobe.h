/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Return probes (uretprobes) of whoever set them. While a function under one runs, its return
 * address in memory is that of a trampoline, the first bytes of a page the kernel has mapped into
 * the process. The true one is in a list of the task: one entry for each call that is pending, the
 * last call first, with the address of the slot of the stack it was taken from. Kernels without
 * uprobes have neither the page nor the list: all of this is dead code there.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define URETPROBES_MAX 64u /* MAX_URETPROBE_DEPTH of the kernel (include/linux/uprobes.h) */

/* Pointers in the kernel's structures are read as numbers: process.h says why. */

/* The pending calls of the current task: a struct return_instance, 0: none. */
static __always_inline __u64 uretprobes_pending(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask;

	if (!bpf_core_field_exists(task->utask))
		return 0;
	utask = BPF_CORE_READ(task, utask);
	return utask ? (__u64)BPF_CORE_READ(utask, return_instances) : 0;
}

/* The page of the current process in which the trampoline is, 0: it has none. */
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
 * The instruction in whose place a breakpoint stands is executed in the page of the trampoline. The
 * pc in the program that @pc, there, stands for; 0: no instruction of the current task is there.
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

/* A search among the pending calls from @at on. */
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
	/* where a tail call chained one probe to another, each entry has the first caller's */
	search->ra = BPF_CORE_READ(call, orig_ret_vaddr);
	return 1;
}

/*
 * The return address that belongs to @slot. Calls are looked for from *@at on, where the search
 * before ended, and from the last one on only where it is not found there: slots go up the stack,
 * as the list does. Returns 0 where no call is pending whose slot that is.
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

/* The return address of the call whose probes were served last, if its slot was @slot; else 0. */
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
