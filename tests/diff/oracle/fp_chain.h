/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain of frame pointers of a recorded walk, followed word by word in its stack copy: the
 * judge of the kernel's own walk (x86's perf_callchain_user) of the same sample.
 */
#pragma once

#include "diff/oracle/walk_reader.h"

struct fp_chain {
	uint64_t pc[FPL_FP_DEPTH_MAX]; /* [nr], leaf first */
	size_t nr;
	bool left_copy; /* the chain leaves what was copied: the kernel may have followed it */
};

/* Follow rbp from the registers of @walk for at most @max frames, FPL_FP_DEPTH_MAX or less. */
void fp_chain_follow(const struct walk *walk, size_t max, struct fp_chain *ret);
