/* SPDX-License-Identifier: Apache-2.0 */
#include "store/sql.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"

static int code_of(int result)
{
	switch (result & 0xff) {
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_MISMATCH:
	case SQLITE_TOOBIG:
		return -EBADMSG;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	default:
		return -EIO;
	}
}

int sql_fail(sqlite3 *db, const char *path, struct fpl_err *err)
{
	int result = sqlite3_extended_errcode(db), code = code_of(result);

	alloc_check((result & 0xff) == SQLITE_NOMEM);
	return fpl_fail(err, code, "%s: %s%s", path, code == -EBADMSG ? "damaged: " : "",
			sqlite3_errmsg(db));
}

int sql_run(sqlite3 *db, const char *path, const char *text, struct fpl_err *err)
{
	return sqlite3_exec(db, text, NULL, NULL, NULL) == SQLITE_OK ? 0 : sql_fail(db, path, err);
}

int sql_prepare(sqlite3 *db, const char *path, const char *text, sqlite3_stmt **ret,
		struct fpl_err *err)
{
	return sqlite3_prepare_v2(db, text, -1, ret, NULL) == SQLITE_OK ? 0
									: sql_fail(db, path, err);
}

int sql_step(sqlite3_stmt *statement, const char *path, struct fpl_err *err)
{
	int result = sqlite3_step(statement);

	if (result == SQLITE_ROW || result == SQLITE_DONE)
		return result == SQLITE_ROW;
	return sql_fail(sqlite3_db_handle(statement), path, err);
}

int sql_number(sqlite3 *db, const char *path, const char *text, int64_t *ret, struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = sql_prepare(db, path, text, &statement, err);

	*ret = 0;
	if (!code)
		code = sql_step(statement, path, err);
	if (code == 1)
		*ret = sqlite3_column_int64(statement, 0);
	return code < 0 ? code : 0;
}

bool sql_column(sqlite3_stmt *statement, int idx, uint64_t *ret)
{
	*ret = (uint64_t)sqlite3_column_int64(statement, idx);
	return sqlite3_column_type(statement, idx) == SQLITE_INTEGER;
}
