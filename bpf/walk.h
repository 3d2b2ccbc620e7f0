/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

#include "bpf/shared.h"

/* Bytes of user stack read at once. */
#define FPL_WINDOW_SIZE 4096u

/* The state of one walk; in scratch memory, because the kernel's stack has 512 bytes. */
struct fpl_walk {
	__u64 reg[FPL_NR_REGS]; /* by DWARF number */
	__u64 pc;
	__u32 known; /* bit i: reg[i] is the frame's */
	__u32 exact; /* pc is where the frame is, not where it will resume after a call */

	/* what describes the code */
	__u32 first; /* of the mapset, in `mappings` */
	__u32 nr;
	struct fpl_mapping last; /* copy of the mapping found last */

	/* what was found */
	__u32 nr_frames;
	__u32 max_depth;
	__u8 unwind; /* enum fpl_unwind */
	__u8 stop;   /* enum fpl_stop */
	__u8 flags;  /* FPL_SAMPLE_RAW */
	__u8 origin; /* of the frame at pc, enum fpl_origin */
	__u8 cfi;    /* what a step by a row is called: CFI or CFI_USER */
	__u8 _pad[7];
	__u64 scratch[FPL_NR_REGS +
		      1]; /* registers of the caller while a row with extended rules is applied */

	/* copy of the stack: the window_size bytes from window_addr on */
	__u64 window_addr;
	__u64 window_size;
	__u64 window[FPL_WINDOW_SIZE / 8];
};
