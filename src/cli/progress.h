/* SPDX-License-Identifier: Apache-2.0 */
/* A status line that says how far a run has come, written anew each second. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/engine.h"

struct progress;

/* @duration_ms: of the run; 0: unknown. @user: stacks have a user part. NULL: out of memory. One at
 * a time. */
struct progress *progress_create(uint64_t duration_ms, bool user);

/* To be lent to the run. */
const struct engine_listener *progress_listener(const struct progress *progress);

/* The line goes. NULL is allowed. */
void progress_destroy(struct progress *progress);

/* Numbers of the line: exposed for tests. @judged: samples whose stacks could be complete. */
struct progress_facts {
	uint64_t sampled_ns, duration_ms; /* duration_ms 0: not known */
	uint64_t samples, complete, judged, lost;
};

void progress_text(const struct progress_facts *facts, char *buf, size_t size);
