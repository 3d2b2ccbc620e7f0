/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the books that are sums over stacks, for a recording that is not whole any more.
 */
#pragma once

#include "recording/recording.h"

/*
 * Set those of these numbers that @recording has to what its stacks add up to: user_samples,
 * complete, stop.*, frames, frames_by_origin.*, weight_ns, shown. What is said of single places and
 * of code made at run time (incomplete.*, run_time_code.*) is taken out: stacks alone do not tell
 * it. Cost: O(frames + numbers squared).
 */
void recording_recount(struct recording *recording);
