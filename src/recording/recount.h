/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of the books that are sums over stacks, for a recording that is not whole any more.
 */
#pragma once

#include <stdbool.h>

#include "recording/recording.h"

/*
 * Set those of these numbers that @recording has to what its stacks add up to: user_samples,
 * complete, stop.*, frames, frames_by_origin.*, samples_by_origin.*, weight, shown. With @parted
 * samples have been left out: then what is said of single places and of code made at run time
 * (incomplete.*, run_time_code.*, script_*) is taken out, which stacks alone do not tell. Cost:
 * O(frames + numbers squared).
 */
void recording_recount(struct recording *recording, bool parted);
