/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of a stack, behind its outermost frame. The kernel knows that of a process's first
 * thread. Behind the stack of any other thread, C libraries put the thread's own variables (TLS,
 * 100 KiB and more) and the block that the thread pointer points to. glibc has a table of where
 * each object's variables are (dtv). An end that is wrong is too far out, and costs bytes only: no
 * stack has variables of a thread in it. A Go program keeps something else at %fs, and says itself
 * where the stack of what runs ends.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/go_thread.h"
#include "bpf/maps.h"

/* No stack is larger. */
#define STACK_MAX (16u << 20)
/* Bytes at the end of the first thread's stack: how many arguments there are, and so on. */
#define STACK_ARGUMENTS 128u

/* An entry of glibc's table: where the variables are, and what to free. The one before it is for
 * how many there are. The library's part of the ABI with debuggers: it is what libthread_db reads.
 */
struct stack_tls {
	__u64 addr;
	__u64 to_free;
};

#define STACK_TLS_MAX 128u /* objects with variables of threads */

/* The block that the thread pointer points to. By the x86-64 TLS ABI it begins with its own
 * address; the other fields are glibc's. */
struct stack_thread {
	__u64 self;
	__u64 dtv;
	__u64 self_again;
};

struct stack_search {
	const struct stack_tls *tls; /* [STACK_TLS_MAX] */
	__u64 sp;
	__u64 end;
};

static long stack_end_one(__u32 idx, void *arg)
{
	struct stack_search *search = arg;
	__u64 addr;

	if (idx >= STACK_TLS_MAX)
		return 1;
	addr = search->tls[idx].addr;
	if (addr > search->sp && addr < search->end)
		search->end = addr;
	return 0;
}

/* Returns where the variables of the thread begin whose thread pointer is @end; 0: no C library
 * made the thread. @tls is memory for the table. */
static __always_inline __u64 stack_end_tls(struct stack_tls *tls, __u64 sp, __u64 end)
{
	struct stack_search search = { .tls = tls, .sp = sp, .end = end };
	struct stack_thread thread;
	__u64 nr;

	if (bpf_probe_read_user(&thread, sizeof(thread), (const void *)end) || thread.self != end)
		return 0;
	if (thread.self_again != end ||
	    bpf_probe_read_user(&nr, sizeof(nr), (const void *)(thread.dtv - sizeof(*tls))))
		return end;
	if (nr > STACK_TLS_MAX)
		nr = STACK_TLS_MAX;
	if (bpf_probe_read_user(tls, nr * sizeof(*tls), (const void *)(thread.dtv + sizeof(*tls))))
		return end;
	bpf_loop((__u32)nr, stack_end_one, &search, 0);
	return search.end;
}

/* Returns where the stack of what the current thread of a Go program runs ends, if @sp is in it.
 * @g is memory. */
static __always_inline __u64 stack_end_go(struct go_g *g, __u64 sp)
{
	__u64 g0;

	if (!go_running(g, &g0) || sp <= g->lo || sp >= g->hi)
		return 0;
	return g->hi - sp < STACK_MAX ? g->hi : 0;
}

/* Where does the stack of the current task that @sp is in end? 0: that is not known. @to->bytes are
 * written. */
static __always_inline __u64 stack_end(struct fpl_snapshot *to, __u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 end = BPF_CORE_READ(task, mm, start_stack) + STACK_ARGUMENTS;

	if (end - sp < STACK_MAX)
		return end & ~7ull;
	end = BPF_CORE_READ(task, thread.fsbase);
	end = end - sp < STACK_MAX ? stack_end_tls((struct stack_tls *)to->bytes, sp, end) : 0;
	return (end ? end : stack_end_go(&to->g, sp)) & ~7ull;
}
