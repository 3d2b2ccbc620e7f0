/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resident memory of a run's processes (profile/rss_book.h) as weights of stacks. What has no
 * stack is a row of its own for each process, whose key is "[not attributed]": memory from before
 * the run, what a fork copied, and what came with a sample that was lost.
 */
#pragma once

#include "base/err.h"
#include "base/vector.h"
#include "profile/profile.h"
#include "profile/rss_book.h"
#include "profile/stack_store.h"

/* Note in the book what @pid has now. Errors: -ENOMEM; -EIO it cannot be read. */
FPL_MUST_CHECK int rss_rows_start(struct rss_book *book, pid_t pid, struct fpl_err *err);

/* Memory of a process that is of no stack. */
struct rss_row {
	uint32_t tgid;
	uint64_t bytes;
};

/* All 0: empty. */
struct rss_rows {
	VECTOR(struct rss_row) list;
	struct stack_store *store; /* borrowed */
	bool is_short;		   /* of memory */
};

void rss_rows_fini(struct rss_rows *rows);

/* Let what is resident join its stacks in rows->store, or the row of its process. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int rss_rows_count(struct rss_rows *rows, const struct rss_book *book);

/* Let the stacks of @profile weigh what is resident of them, and add the rows, each of which counts
 * as a sample. Errors: -ENOMEM. */
FPL_MUST_CHECK int rss_rows_add(const struct rss_rows *rows, const struct rss_book *book,
				struct profile *profile);
