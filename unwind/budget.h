/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of reading one file's CFI so far, and its limits. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "unwind/table.h"

struct budget {
	const char *name; /* borrowed: of the file, for messages */
	const struct table_limits *limits;
	uint64_t start_ns; /* CLOCK_THREAD_CPUTIME_ID */
	uint64_t memory_bytes;
	uint64_t rows;
	uint64_t instructions; /* of CFI programs */
};

void budget_init(struct budget *budget, const char *name, const struct table_limits *limits);

/* CPU time since budget_init(), of the same thread. */
uint64_t budget_spent_ns(const struct budget *budget);

/* Count memory before allocating it. Errors: -EFBIG, the limit named. */
FPL_MUST_CHECK int budget_memory(struct budget *budget, uint64_t bytes, struct fpl_err *err);

/*
 * Make room for @wanted elements of @size bytes in the array at *@list, of which *@room fit;
 * counted. Nothing where they fit. Errors: -ENOMEM, -EFBIG; the array stays then.
 */
FPL_MUST_CHECK int budget_reserve(struct budget *budget, void *list, size_t *room, size_t wanted,
				  size_t size, struct fpl_err *err);

/* The same for one element more than @nr, and as many again as there are. */
FPL_MUST_CHECK int budget_grow(struct budget *budget, void *list, size_t *room, size_t nr,
			       size_t size, struct fpl_err *err);

/* How much memory is left. */
uint64_t budget_memory_left(const struct budget *budget);

/* Compare the time and the rows counted with the limits: call it every few thousand rows or FDEs.
 * Errors: -EFBIG, the limit named. Cost: one clock_gettime(2). */
FPL_MUST_CHECK int budget_check(const struct budget *budget, struct fpl_err *err);
