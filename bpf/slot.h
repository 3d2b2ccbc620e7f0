/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Slots: each CPU has memory and counters for as many samples as can be in the making on it.
 *
 * Slot 0 serves the programs that the kernel runs one at a time on a CPU: perf events, tracepoints,
 * kprobes. A uprobe's program is not among them: a perf event may interrupt it, and so may another
 * task on the same CPU. Uprobes therefore have slots of their own, in one of two ways:
 *
 * - Kernels that give such a program a stack for each CPU (6.13 and later) must never let another
 *   one interrupt it, so it switches preemption off from its first instruction to its last: slot 1.
 *   The loader puts the calls in (src/profile/preemption.h), as a build knows no kernel's
 * functions.
 * - On others the program claims slot 1 or 2. Where both are taken the sample is lost by name.
 *
 * Programs of switches and of wakeups use slot 1, too. Where both are sampled they claim one as
 * well: an interrupt may wake a thread up while the program of a switch runs.
 */
#pragma once

#include <bpf/bpf_helpers.h>

#include "bpf/env.h"
#include "bpf/maps.h"

#define SLOT_FIRST_OF_TASKS 1u

/* Key in `counters` of stacks that are kept: behind that of samples without a slot. */
#define COUNTERS_OF_KEPT (config.nr_slots + 1)

/* The loader replaces each by a call and a no-op; else they do nothing. */
#define PREEMPTION_MARK(n) \
	asm volatile("r0 = " #n " ll" ::: "r0", "r1", "r2", "r3", "r4", "r5", "memory")
#define PREEMPTION_OFF PREEMPTION_MARK(0x66706c5f6f6666) /* FPL_PREEMPTION_OFF */
#define PREEMPTION_ON  PREEMPTION_MARK(0x66706c5f6f6e)	 /* FPL_PREEMPTION_ON */

/* Key of the slot in `scratch`. */
static __always_inline __u32 slot_key(__u32 slot)
{
	return bpf_get_smp_processor_id() * config.nr_slots + slot;
}

static __always_inline struct fpl_scratch *slot_scratch(__u32 slot)
{
	__u32 key = slot_key(slot);

	return bpf_map_lookup_elem(&scratch, &key);
}

/* Claim @slot. Returns it, by way of memory: the verifier would follow the walk for each slot. 0:
 * it is not free. */
static __always_inline __u32 slot_claim(__u32 slot)
{
	struct fpl_scratch *s = slot_scratch(slot);

	if (!s || __sync_val_compare_and_swap(&s->is_claimed, 0, 1))
		return 0;
	s->slot = slot;
	return *(volatile __u32 *)&s->slot;
}

/* Count a sample for which no slot is free: any number of programs may do that at a time. */
static __always_inline void slot_refuse(void)
{
	__u32 key = config.nr_slots;
	struct fpl_counters *count = bpf_map_lookup_elem(&counters, &key);

	if (!count)
		return;
	__sync_fetch_and_add(&count->fired, 1);
	__sync_fetch_and_add(&count->lost[FPL_LOST_SCRATCH], 1);
}

/* A slot for the program of a uprobe; 0: none is free, and the sample is counted. */
static __noinline __u32 slot_take(void)
{
	__u32 slot;

	if (config.nr_slots <= SLOT_FIRST_OF_TASKS + 1)
		return SLOT_FIRST_OF_TASKS;
	slot = slot_claim(SLOT_FIRST_OF_TASKS);
	if (!slot)
		slot = slot_claim(SLOT_FIRST_OF_TASKS + 1);
	if (!slot)
		slot_refuse();
	return slot;
}

static __always_inline void slot_give_back(__u32 slot)
{
	struct fpl_scratch *s;

	if (config.nr_slots <= SLOT_FIRST_OF_TASKS + 1)
		return;
	s = slot_scratch(slot);
	if (s)
		__sync_val_compare_and_swap(&s->is_claimed, 1, 0);
}
