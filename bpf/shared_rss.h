/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of bpf/shared.h about resident memory. */
#pragma once

#include <linux/types.h>

/* The counters of a process's memory, as the kernel numbers them. */
enum fpl_rss_kind {
	FPL_RSS_FILE,	/* pages of files */
	FPL_RSS_ANON,	/* pages of no file */
	FPL_RSS_SWAP,	/* what was swapped out: it is not resident */
	FPL_RSS_SHARED, /* shared memory, and files of tmpfs */
	FPL_RSS_KINDS
};

/* The record of the tracepoint kmem:rss_stat. Userspace checks that the kernel has it so. */
struct fpl_rss_record {
	__u64 common;
	__u32 mm_id;  /* the same for all of a process's memory, until it has gone */
	__u32 is_own; /* it is the current process's */
	__s32 kind;   /* enum fpl_rss_kind */
	__u32 _pad;
	__s64 size; /* bytes that are resident now */
};
_Static_assert(sizeof(struct fpl_rss_record) == 32, "fpl_rss_record is the kernel's ABI");

#define FPL_RSS_OWN   1u /* it is the current process's memory */
#define FPL_RSS_FIRST 2u /* nothing was known of it: before is 0 */
#define FPL_RSS_OVER  4u /* its last user has gone, and it is given back: before is 0 */

/* A change of one kind of a process's memory. Records come in the order of the changes, but for
 * changes that CPUs make at the same time. */
struct fpl_rss {
	struct fpl_record_header header;
	__u64 before, size; /* bytes */
	__u32 mm_id;
	__u32 id;   /* of the record with the stack that made it larger; 0: none was sampled */
	__u32 tgid; /* of the current process */
	__u16 kind; /* enum fpl_rss_kind */
	__u16 flags;
};
_Static_assert(sizeof(struct fpl_rss) == 48, "fpl_rss is ring ABI");
