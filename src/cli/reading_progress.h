/* SPDX-License-Identifier: Apache-2.0 */
/* A status line that says how far a verb is with its recordings, where that takes seconds. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/output_options.h"

struct reading_progress;

/* NULL: not wanted, or out of memory. Before rights are given up. */
struct reading_progress *reading_progress_create(const struct output_options *options);

/* The line goes. NULL is allowed. */
void reading_progress_destroy(struct reading_progress *progress);

/* File @idx of @nr, called @name, is read from @fd from now on. NULL is allowed. */
void reading_progress_begin(struct reading_progress *progress, const char *name, int fd, size_t idx,
			    size_t nr);

/* Numbers of the line: exposed for tests. */
struct reading_facts {
	const char *name;
	size_t idx, nr;	     /* of the files */
	uint64_t bytes;	     /* read; a file may be read several times */
	uint64_t size_bytes; /* of the file; 0: not known */
};

void reading_progress_text(const struct reading_facts *facts, char *buf, size_t size);
