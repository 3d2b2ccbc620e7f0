/* SPDX-License-Identifier: Apache-2.0 */
/* The library that a command loads to sample its own allocations (src/preload). */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "base/err.h"

struct heap_preload {
	char path[PATH_MAX];
	char *words[3];		    /* owned */
	const char *environment[4]; /* what the command's has besides ours, up to a NULL */
};

/*
 * Find the library: beside this program, or where its package has it. @stride: bytes to a sampled
 * one, 1..PRELOAD_STRIDE_MAX; @rate: samples a second of a thread, with more bytes to one beyond
 * it, 1..PRELOAD_RATE_MAX, or 0: without a bound. Libraries that the environment has preloaded
 * stay, behind it. @ret: ended by heap_preload_fini() in any case. Errors: -ENOENT it is not there;
 * -EINVAL ld.so cannot be told its path; -ENOMEM.
 */
FPL_MUST_CHECK int heap_preload_find(uint64_t stride, uint32_t rate, struct heap_preload *ret,
				     struct fpl_err *err);
void heap_preload_fini(struct heap_preload *preload);
