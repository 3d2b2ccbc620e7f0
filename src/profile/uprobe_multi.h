/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links that set the breakpoints of many places in a file at once, and take them away at once
 * (BPF_TRACE_UPROBE_MULTI, Linux 6.6). With a perf event for each place the kernel waits 0.1 s for
 * each when the run ends. Neither libbpf 1.1 nor the headers of Linux 6.1 know them, so the system
 * call is made here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* enum bpf_attach_type: what a program of such links is loaded with. */
#define UPROBE_MULTI_ATTACH_TYPE 48

/*
 * Does this kernel have such links, and do they call the program in all threads of a process?
 * (Before Linux commit 46ba0e49b642 ("bpf: fix multi-uprobe PID filtering logic") they do so in one
 * thread.) Tried once by this process, with the rights that it has then: a few system calls that
 * set no breakpoint.
 */
bool uprobe_multi_works(void);

/* Places in a file, and the cookie of each: arrays of @nr. */
struct uprobe_multi {
	int file_fd; /* borrowed */
	size_t nr;
	const uint64_t *offs;	      /* in the file */
	const uint64_t *ref_ctr_offs; /* as in struct probe_site */
	const uint64_t *cookies;
	bool is_return; /* when the functions at these places have returned */
	pid_t pid;	/* in all threads of this process; -1: in all processes */
};

/*
 * Have @prog_fd run at the places. Returns the link's descriptor, or a negative errno: -ESRCH there
 * is no such process; others: the kernel lets no breakpoint be set at one of the places.
 */
FPL_MUST_CHECK int uprobe_multi_link(int prog_fd, const struct uprobe_multi *places);
