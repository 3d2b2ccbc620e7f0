// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The entries: the programs that take samples, one for each kind of source. They may interrupt
 * anything, even with interrupts off, so nothing they call allocates or waits. The kernel runs one
 * of them at a time on a CPU (bpf_prog_active), so they share scratch memory and counters; but for
 * that of uprobes, which has its own (slot.h). The programs in process.h run in the task whose life
 * they follow; they share no scratch memory with these, which may interrupt them.
 */
#include "bpf/vmlinux_min.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#include "bpf/blocked.h"
#include "bpf/heap.h"
#include "bpf/kept.h"
#include "bpf/moment.h"
#include "bpf/rss.h"
#include "bpf/sample.h"
#include "bpf/sleeper.h"
#include "bpf/slot.h"
#include "bpf/waker.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Compared by the loader with its own. */
const volatile __u32 shared_version SEC(".rodata") = FPL_SHARED_VERSION;

/* A perf event: it interrupted what @ctx has the registers of. */
SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	struct moment moment = { .ctx = ctx, .interrupted = ctx };

	if (!gate_is_open())
		return 0;
	moment.source = source_of(ctx);
	sample_at(&moment);
	return 0;
}

/* An event with a record, and a source that says what is asked of it. */
static __always_inline void sample_event(struct moment *moment)
{
	__u32 source =
		source_of(moment->ctx); /* apart: what has an address takes the walk's stack */

	moment->source = source;
	moment->event = bpf_map_lookup_elem(&sources, &source);
	if (moment->event)
		sample_at(moment);
}

/* A tracepoint: the kernel's code called it. */
SEC("tracepoint")
int sample_tracepoint(void *ctx)
{
	struct moment moment = { .ctx = ctx };

	if (gate_is_open())
		sample_event(&moment);
	return 0;
}

/* A process's memory has become larger or smaller. */
SEC("tracepoint")
int sample_rss(struct fpl_rss_record *ctx)
{
	struct moment moment = { .ctx = ctx, .has_weight = 1 };
	int change = gate_is_open() ? rss_enter(ctx) : RSS_NOTHING;

	if (change == RSS_SAMPLED)
		sample_event(&moment);
	if (change != RSS_NOTHING)
		rss_tell(ctx);
	return 0;
}

/* A probe in the kernel: it interrupted what @ctx has the registers of. */
SEC("kprobe")
int sample_kprobe(struct bpf_perf_event_data *ctx)
{
	struct moment moment = { .ctx = ctx, .interrupted = ctx };

	if (gate_is_open())
		sample_event(&moment);
	return 0;
}

/* A probe in a program: it interrupted what @ctx has the registers of. Nothing may come before or
 * behind the marks: it could be interrupted by another task's. */
SEC("uprobe")
int sample_uprobe(struct bpf_perf_event_data *ctx)
{
	struct moment moment = { .ctx = ctx, .interrupted = ctx };

	PREEMPTION_OFF;
	if (gate_is_open()) {
		moment.slot = slot_take();
		if (moment.slot) {
			sample_event(&moment);
			slot_give_back(moment.slot);
		}
	}
	PREEMPTION_ON;
	return 0;
}

/* A function that allocates is entered. */
SEC("uprobe")
int on_alloc(struct bpf_perf_event_data *ctx)
{
	__u32 slot;

	PREEMPTION_OFF;
	if (gate_is_open()) {
		slot = slot_take();
		if (slot) {
			alloc_enter(ctx, slot);
			slot_give_back(slot);
		}
	}
	PREEMPTION_ON;
	return 0;
}

/* A function that allocates returns, or a program tells of an allocation. */
SEC("uprobe")
int sample_alloc(struct bpf_perf_event_data *ctx)
{
	struct moment moment = { .ctx = ctx, .interrupted = ctx, .has_weight = 1 };
	struct alloc_call *call = 0;

	PREEMPTION_OFF;
	if (gate_is_open()) {
		const struct fpl_told *told = told_of(ctx);

		call = told ? alloc_told(ctx, told) : alloc_leave(ctx);
	}
	if (call) {
		moment.slot = slot_take();
		if (moment.slot) {
			alloc_sample(&moment, call);
			slot_give_back(moment.slot);
		}
	}
	PREEMPTION_ON;
	return 0;
}

/* A function that frees memory is entered, or a program tells of it. */
SEC("uprobe")
int on_free_memory(struct bpf_perf_event_data *ctx)
{
	PREEMPTION_OFF;
	if (gate_is_open())
		alloc_free(ctx);
	PREEMPTION_ON;
	return 0;
}

/* The end of a switch, in the thread that goes on. */
SEC("raw_tp/sched_exit_tp")
int sample_switch(void *ctx)
{
	sample_switched(ctx);
	return 0;
}

/* The same place in kernels without that tracepoint: finish_task_switch. */
SEC("kprobe")
int sample_switch_kprobe(void *ctx)
{
	sample_switched(ctx);
	return 0;
}
