/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Go's run time keeps structures of the current thread and its goroutines. They are read from the
 * program's memory and believed only where they point to each other as Go's do. Their beginnings
 * are the same in all versions since 1.18, the first whose tables unwind/go_pclntab reads.
 */
#pragma once

#include "bpf/vmlinux_min.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Distance from the thread pointer down to the pointer to the running g. */
#define GO_TLS_G 8u

/* The beginning of g: a goroutine, or the scheduler on a thread's system stack. */
struct go_g {
	__u64 lo, hi; /* its stack */
	__u64 guards[2];
	__u64 panics[2];
	__u64 m;  /* the thread's m, which begins with g0, the g of the system stack */
	__u64 sp; /* while it does not run: on its stack */
};

/* Bytes of g and m that the rows of Go's run time read. */
#define GO_G_SIZE 128u
#define GO_M_SIZE 256u

/* Read the g that the current thread runs. Returns its address, or 0 if the thread is not one of
 * Go's. @ret_g0: the g of the thread's system stack. */
static __always_inline __u64 go_running(struct go_g *ret, __u64 *ret_g0)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 at = BPF_CORE_READ(task, thread.fsbase) - GO_TLS_G;
	__u64 g, m;

	if (bpf_probe_read_user(&g, sizeof(g), (const void *)at) ||
	    bpf_probe_read_user(ret, sizeof(*ret), (const void *)g) || !ret->m ||
	    bpf_probe_read_user(ret_g0, sizeof(*ret_g0), (const void *)ret->m) ||
	    bpf_probe_read_user(&m, sizeof(m),
				(const void *)(*ret_g0 + offsetof(struct go_g, m))) ||
	    m != ret->m)
		return 0;
	return g;
}
