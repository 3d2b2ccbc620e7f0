/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The memory the walker (bpf/walk.h) works in. */
#pragma once

#include "bpf/shared.h"

/* Bytes of user stack read at once: one read costs about the same whatever its size, and most
 * stacks then take one or two. */
#define FPL_WINDOW_SIZE 4096u

/* The state of one walk; in scratch memory, because the kernel's stack has 512 bytes. */
struct fpl_walk {
	/* the frame: what is known of its registers */
	__u64 reg[FPL_NR_REGS]; /* by DWARF number */
	__u64 pc;
	__u32 known; /* bit i: reg[i] is the frame's */
	__u32 exact; /* pc is where the frame is, not where it resumes after a call */

	/* the code */
	__u32 first; /* of the mapset, in `mappings` */
	__u32 nr;
	struct fpl_mapping last; /* copy of the mapping found last; end 0: none */

	/* the walk */
	__u32 nr_frames;
	__u32 max_depth; /* 1..FPL_DEPTH_MAX */
	__u8 unwind;	 /* enum fpl_unwind: AUTO or CFI */
	__u8 stop;	 /* enum fpl_stop */
	__u8 flags;	 /* FPL_SAMPLE_RAW */
	__u8 origin;	 /* of the frame at pc */
	__u8 by_row;	 /* origin of a frame found by a row: CFI or CFI_USER */
	__u8 _pad[7];

	struct fpl_rule rule; /* in force */

	/* a row with extended rules: the registers it starts from, and the RA it gives */
	__u64 old[FPL_NR_REGS];
	__u64 ra;
	__u32 old_known;
	__u8 ra_said; /* by an extended rule: ra holds it unless ra_stop says why not */
	__u8 ra_stop; /* enum fpl_stop */
	__u8 _pad2[2];

	/* copy of the stack: window_size bytes from window_addr on, whole words; size 0: none */
	__u64 window_addr;
	__u64 window_size;
	__u64 window[FPL_WINDOW_SIZE / 8];
};

/*
 * Rules found lately, by object and vaddr: the outer frames of a program are the same in every
 * sample, and a hit costs one cache line in place of the six or so of a lookup. Object ids are
 * never reused and a rule is a fact about a file, so what is here stays true. Rules with extended
 * ones are not kept.
 */
#define FPL_CACHED_RULES_LOG2 12

struct fpl_cached_rule {
	__u64 key; /* object id << FPL_FRAME_OBJECT_SHIFT | vaddr; 0: empty */
	struct fpl_rule rule;
	__u64 _pad; /* two to a cache line, none across */
};
_Static_assert(sizeof(struct fpl_cached_rule) == 32, "half a cache line");

struct fpl_rule_cache {
	struct fpl_cached_rule rules[1u << FPL_CACHED_RULES_LOG2];
};
