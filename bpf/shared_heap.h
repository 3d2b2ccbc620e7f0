/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of bpf/shared.h about allocations, which that header includes at its end. */
#pragma once

#include <linux/types.h>

/* Kinds of probed functions: bits 8 to 15 of a link's cookie, whose lower ones are the source. */
enum fpl_alloc {
	FPL_ALLOC_SIZE,	       /* malloc(size) */
	FPL_ALLOC_COUNT,       /* calloc(count, size) */
	FPL_ALLOC_AGAIN,       /* realloc(addr, size) */
	FPL_ALLOC_ALIGNED,     /* aligned_alloc(alignment, size), memalign */
	FPL_ALLOC_STORED,      /* posix_memalign(&addr, alignment, size), which returns an errno */
	FPL_ALLOC_AGAIN_COUNT, /* reallocarray(addr, count, size) */
	FPL_ALLOC_TOLD,	       /* a probe tells of it: bits 16 to 31 are an index in `tolds` */
};

/* Key and value of the hash map `live`: a sampled allocation that was not freed. */
struct fpl_live_key {
	__u64 addr;
	__u32 tgid; /* as the kernel numbers it */
	__u32 _pad;
};

struct fpl_live {
	__u64 time_ns; /* as in fpl_record_header */
	__u64 weight, objects;
	__u32 id; /* of the record with its stack */
	__u32 _pad;
};
_Static_assert(sizeof(struct fpl_live) == 32, "fpl_live is map ABI");

/*
 * Value of the array `tolds`: a probe of a program that samples its own allocations, and tells of
 * those and of their frees. Written before it is attached.
 */
#define FPL_TOLDS_MAX 64u

struct fpl_told {
	struct fpl_field addr;
	struct fpl_field size, weight; /* of an allocation: asked for, and what it stands for */
	/* Nothing but a return address is on its stack, and the stack of the sample begins there.
	 */
	__u32 from_caller;
};
_Static_assert(sizeof(struct fpl_told) == 40, "fpl_told is map ABI");
