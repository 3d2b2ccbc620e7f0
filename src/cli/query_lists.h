/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of `fpless query' that are lists: of windows, and of functions. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "cli/query_options.h"
#include "store/store.h"

/* Write the windows of the range. Errors: those of store_list(). */
FPL_MUST_CHECK int query_list(FILE *to, struct store *store, const struct query_options *options,
			      struct fpl_err *err);

/*
 * Write when a function was hot, or the window of a time and its hottest functions, as the first
 * word of @options says. Errors: those of store_find() and store_read(); -ENODATA no window has
 * it, which is not described.
 */
FPL_MUST_CHECK int query_find(FILE *to, struct store *store, const struct query_options *options,
			      struct fpl_err *err);

/* Write the hottest functions of one window: that of the time in the first word, or the last one.
 * Errors: as query_find(); -EINVAL the word is no time. */
FPL_MUST_CHECK int query_analyze(FILE *to, struct store *store, const struct query_options *options,
				 struct fpl_err *err);

/* Write the hottest functions of the range. Errors: those of store_read(); -ENODATA there are no
 * samples, which is not described. */
FPL_MUST_CHECK int query_top(FILE *to, struct store *store, const struct query_options *options,
			     struct fpl_err *err);

/* Write when the functions that match the first word were hot, their callers and their callees.
 * Errors: those of store_find() and store_read(); -ENODATA no window has one. */
FPL_MUST_CHECK int query_function(FILE *to, struct store *store,
				  const struct query_options *options, struct fpl_err *err);
