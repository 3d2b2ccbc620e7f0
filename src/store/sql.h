/* SPDX-License-Identifier: Apache-2.0 */
/* SQLite, with errors in words: a thin layer, which knows no table. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Say what @db met: "<path>: damaged: database disk image is malformed". Returns -EBADMSG the file
 * is damaged or none of SQLite; -ENOSPC it is full, or the disk; -EBUSY another process has it;
 * -EACCES it may not be read or written; -EIO anything else.
 */
int sql_fail(sqlite3 *db, const char *path, struct fpl_err *err);

/* Run @text, which has no results that matter. */
FPL_MUST_CHECK int sql_run(sqlite3 *db, const char *path, const char *text, struct fpl_err *err);

/* A statement, to be ended by sqlite3_finalize(). */
FPL_MUST_CHECK int sql_prepare(sqlite3 *db, const char *path, const char *text, sqlite3_stmt **ret,
			       struct fpl_err *err);

/* Take the next row. Returns 1, 0 at the end, or an error. */
FPL_MUST_CHECK int sql_step(sqlite3_stmt *statement, const char *path, struct fpl_err *err);

/* The number that @text gives, 0 where it gives none. */
FPL_MUST_CHECK int sql_number(sqlite3 *db, const char *path, const char *text, int64_t *ret,
			      struct fpl_err *err);

/* Column @idx as a number; false: it is something else. */
bool sql_column(sqlite3_stmt *statement, int idx, uint64_t *ret);

static inline void cleanup_statement(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}
