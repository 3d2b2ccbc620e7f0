/* SPDX-License-Identifier: Apache-2.0 */
/* A status line that says how far a run has come, written anew each second, and how many of its
 * unwind tables are made, until all are. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "profile/engine.h"

struct progress;

/* @duration_ms: of the run; 0: unknown. @event: borrowed, as progress_facts has it. @user: stacks
 * have a user part. @beside_command: a command that may write to the same terminal runs. NULL: out
 * of memory. One at a time. */
struct progress *progress_create(uint64_t duration_ms, const char *event, bool user,
				 bool beside_command);

/* To be lent to the run. */
const struct engine_listener *progress_listener(const struct progress *progress);

/* The line goes. NULL is allowed. */
void progress_destroy(struct progress *progress);

/* Numbers of the line: exposed for tests. @judged: samples whose stacks could be complete. */
struct progress_facts {
	uint64_t sampled_ns, duration_ms; /* duration_ms 0: not known */
	const char *event;		  /* NULL: of a clock, which is not said */
	uint64_t samples, complete, judged, lost;
	size_t nr_tables_made, nr_tables; /* of files; equal: all are made */
};

void progress_text(const struct progress_facts *facts, char *buf, size_t size);
