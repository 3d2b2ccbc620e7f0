/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Snapshots for return addresses in no mapping: how many a process may send. */
#pragma once

#include "bpf/shared.h"

/*
 * Userspace may have met the mapping and still look its file up, which takes as long as the file
 * system likes; until then the mapset's version stays. So a version has a number of snapshots in
 * any case, and more while such a lookup may last. If that many did not help, more would not
 * either: after that one per second.
 */
#define RETRIES_PER_VERSION 64u
#define RETRIES_AT_FIRST    16384u
#define RETRY_FIRST_NS	    3000000000ull /* longer than an opener is waited for */
#define RETRY_NS	    1000000000ull

/* May the process send one at @now_ns, under @version of its mapset? */
static inline __attribute__((__always_inline__)) int may_retry(struct fpl_proc *proc, __u32 version,
							       __u64 now_ns)
{
	__u32 limit = RETRIES_PER_VERSION;

	if (proc->retry_version != version) {
		proc->retry_version = version;
		proc->retries = 0;
		proc->retry_first_ns = now_ns;
	}
	if (now_ns - proc->retry_first_ns < RETRY_FIRST_NS)
		limit = RETRIES_AT_FIRST;
	if (proc->retries >= limit && now_ns - proc->retry_ns < RETRY_NS)
		return 0;
	proc->retries++;
	proc->retry_ns = now_ns;
	return 1;
}
