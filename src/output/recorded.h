/* SPDX-License-Identifier: Apache-2.0 */
/* A finished profile as a recording: every frame named, once. */
#pragma once

#include "output/names.h"
#include "recording/recording.h"

/*
 * Fill @ret, which the caller has from recording_init(), with the run, its stacks, their frames,
 * its events and its numbers. @names: by_function. Stack i of the profile is *ret_stacks[i] of the
 * recording (stacks of one process that differ in what names their code become one where the names
 * are the same); the caller frees it. NULL: not wanted. Errors: -ENOMEM. Cost: O(stacks x depth),
 * and what naming costs.
 */
FPL_MUST_CHECK int recorded_make(struct names *names, struct recording *ret, uint32_t **ret_stacks,
				 struct fpl_err *err);
