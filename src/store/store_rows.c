/* SPDX-License-Identifier: Apache-2.0 */
/* Rows between memory and the store. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "store/store_state.h"

char *store_rows_table(enum rows_table table)
{
	const struct rows_shape *shape = &rows_shapes[table];
	char *text;
	size_t size;
	FILE *to = must_memstream(&text, &size);

	fprintf(to, "CREATE TABLE %s(id INTEGER PRIMARY KEY", shape->name);
	if (table == ROWS_STRING)
		fputs(",text TEXT NOT NULL", to);
	for (size_t i = 0; i < shape->nr_columns; i++)
		fprintf(to, ",%s INTEGER NOT NULL", shape->columns[i].name);
	fputs(",digest INTEGER NOT NULL)", to);
	must_memstream_close(to);
	return text;
}

static int damaged_table(const struct store *store, enum rows_table table, struct fpl_err *err)
{
	char what[64];

	snprintf(what, sizeof(what), "a row of %s", rows_shapes[table].name);
	return store_damaged(store, what, err);
}

static int take_row(struct store *store, enum rows_table table, sqlite3_stmt *statement,
		    struct fpl_err *err)
{
	const struct rows_shape *shape = &rows_shapes[table];
	const char *text = NULL;
	uint64_t cells[ROWS_COLUMNS_MAX], id, digest;
	int column = 1;
	bool ok = sql_column(statement, 0, &id);

	if (table == ROWS_STRING) {
		text = (const char *)sqlite3_column_text(statement, column++);
		ok = ok && text;
	}
	for (size_t i = 0; i < shape->nr_columns; i++)
		ok = sql_column(statement, column++, &cells[i]) && ok;
	ok = sql_column(statement, column, &digest) && ok;
	if (!ok || digest != rows_digest(shape, (uint32_t)id, cells, text) ||
	    rows_place(&store->dictionary, table, id, cells, text))
		return damaged_table(store, table, err);
	return 0;
}

static int load_table(struct store *store, enum rows_table table, struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	char query[64];
	int code;

	snprintf(query, sizeof(query), "SELECT * FROM %s ORDER BY id", rows_shapes[table].name);
	code = sql_prepare(store->db, store->path, query, &statement, err);
	while (!code && (code = sql_step(statement, store->path, err)) == 1)
		code = take_row(store, table, statement, err);
	return code;
}

int store_rows_load(struct store *store, struct fpl_err *err)
{
	const char *wrong;
	int code = 0;

	if (store->is_loaded)
		return 0;
	dictionary_fini(&store->dictionary);
	dictionary_init(&store->dictionary);
	store->dictionary.no_index = store->folder_fd < 0;
	for (unsigned table = 0; !code && table < ROWS_TABLES; table++)
		code = load_table(store, table, err);
	wrong = code ? NULL : rows_check(&store->dictionary);
	if (wrong)
		return fpl_fail(err, -EBADMSG, "%s: damaged: a row of %s refers to nothing",
				store->path, wrong);
	store->is_loaded = !code;
	return code;
}

void store_rows_forget(struct store *store)
{
	store->is_loaded = false;
	rows_marks_fini(&store->marks);
	store->sweep = SWEEP_NONE;
}

static char *insertion(const struct rows_shape *shape, bool has_text)
{
	char *text;
	size_t size;
	FILE *to = must_memstream(&text, &size);

	fprintf(to, "INSERT INTO %s VALUES(?,?", shape->name);
	for (size_t i = 0; i < shape->nr_columns + has_text; i++)
		fputs(",?", to);
	fputc(')', to);
	must_memstream_close(to);
	return text;
}

static void bind_row(sqlite3_stmt *statement, const struct rows *rows, uint32_t id)
{
	const struct rows_shape *shape = rows->shape;
	const uint64_t *cells =
		shape->nr_columns ? &rows->cells.list[id * shape->nr_columns] : NULL;
	const char *text = rows->texts.nr ? rows->texts.list[id] : NULL;
	int column = 1;

	sqlite3_bind_int64(statement, column++, id);
	if (text)
		sqlite3_bind_text(statement, column++, text, -1, SQLITE_STATIC);
	for (size_t i = 0; i < shape->nr_columns; i++)
		sqlite3_bind_int64(statement, column++, (sqlite3_int64)cells[i]);
	sqlite3_bind_int64(statement, column, rows_digest(shape, id, cells, text));
}

static int save_table(struct store *store, enum rows_table table, struct fpl_err *err)
{
	struct rows *rows = &store->dictionary.tables[table];
	AUTO_FREE char *query = insertion(rows->shape, table == ROWS_STRING);
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = rows->fresh.nr ? sql_prepare(store->db, store->path, query, &statement, err) : 0;

	for (size_t i = 0; !code && i < rows->fresh.nr; i++) {
		bind_row(statement, rows, rows->fresh.list[i]);
		code = sql_step(statement, store->path, err);
		sqlite3_reset(statement);
	}
	rows->fresh.nr = 0;
	return code;
}

int store_rows_save(struct store *store, struct fpl_err *err)
{
	int code = 0;

	for (unsigned table = 0; !code && table < ROWS_TABLES; table++)
		code = save_table(store, table, err);
	return code;
}
