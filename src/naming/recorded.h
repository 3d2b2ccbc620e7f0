/* SPDX-License-Identifier: Apache-2.0 */
/* A finished profile as a recording: every frame named, once. */
#pragma once

#include "naming/names.h"
#include "recording/recording.h"

/*
 * Fill @ret, which the caller has from recording_init(), with the run, its stacks, their frames and
 * its events. @names: by_function. @classes [nr_stacks]: enum verdict_class of each stack, where
 * the profile has a second walk of each (fp_max); else NULL. Stack i of the profile is
 * *ret_stacks[i] of the recording (stacks of one process that differ in what names their code
 * become one where the names are the same); the caller frees it. NULL: not wanted. Errors: -ENOMEM.
 * Cost: O(stacks x depth), and what naming costs.
 */
FPL_MUST_CHECK int recorded_make(struct names *names, const uint8_t *classes, struct recording *ret,
				 uint32_t **ret_stacks, struct fpl_err *err);
