/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The end of a stack, behind its outermost frame. The kernel knows the end of the first thread's
 * stack. Above the stack of any other thread, C libraries put the thread's own variables (TLS, 100
 * KiB and more) and the block that the thread pointer points to. glibc has a table with the place
 * of each object's variables (dtv). A wrong end is too far out and only costs bytes: no stack
 * contains a thread's variables. A Go program uses %fs otherwise, and stores the end of each
 * goroutine's stack.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/go_thread.h"
#include "bpf/maps.h"

/* No stack is larger. */
#define STACK_MAX (16u << 20)
/* Bytes at the end of the first thread's stack: the argument count, and so on. */
#define STACK_ARGUMENTS 128u

/* An entry of glibc's table: the place of the variables, and the pointer to free. The entry before
 * the table holds its length. It is part of the ABI for debuggers: libthread_db reads it. */
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

/* Find the beginning of the variables of the thread with the thread pointer @end; 0: no C library
 * made the thread. @tls is scratch memory for the table. */
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

/* Find the end of the stack that the current thread of a Go program runs on, if @sp lies in it. @g
 * is scratch memory. */
static __always_inline __u64 stack_end_go(struct go_g *g, __u64 sp)
{
	__u64 g0;

	if (!go_running(g, &g0) || sp <= g->lo || sp >= g->hi)
		return 0;
	return g->hi - sp < STACK_MAX ? g->hi : 0;
}

/* Find the end of the current task's stack that contains @sp; 0: unknown. Overwrites @to->bytes. */
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
