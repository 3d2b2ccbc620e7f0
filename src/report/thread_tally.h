/* SPDX-License-Identifier: Apache-2.0 */
/* The times of threads by thread, as numbers of --stats and of .jsonl. */
#pragma once

#include "profile/profile.h"
#include "recording/recording.h"

/*
 * Add "threads[].N.*", those that had a CPU or waited for one longest first, and what the others
 * have together as "threads_others.*": those beyond 256, and those that there was no room for. So
 * the sums are those of "times.*". Nothing where they were not kept. A lack of memory ends the
 * process.
 */
void thread_tally_add(struct recording *to, const struct profile *profile);
