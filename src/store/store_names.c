/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that were put in without a name get theirs. */
#include <errno.h>

#include "base/cleanup.h"
#include "store/store_state.h"

enum { NAMES_A_STEP = 256 };

/* Mark the functions that windows of @range refer to. */
static int mark_functions(struct store *store, const struct store_range *range,
			  struct rows_marks *marks, struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = store_windows_begin(store, "WHERE t0>=?1 AND t0<?2 ORDER BY t0,id",
				       range->from_ns, range->to_ns, &statement, err);

	while (!code) {
		CLEANUP(window_data_fini) struct window_data data = { 0 };
		struct store_window window;

		code = store_windows_next(store, statement, &window, &data, err);
		if (code != 1)
			break;
		for (size_t i = 0; i < data.entries.nr; i++)
			rows_mark(marks, ROWS_NODE, data.entries.list[i].node);
		code = 0;
	}
	rows_mark_all(marks, &store->dictionary);
	return code;
}

static bool may_be_named(const struct dictionary *dictionary, const uint64_t *function)
{
	const uint64_t *object;

	if (function[FUNCTION_NAME] || function[FUNCTION_KIND] != FUNCTION_OF_USER ||
	    !function[FUNCTION_OBJECT] || function[FUNCTION_START] == RECORDING_NO_ADDRESS)
		return false;
	object = rows_cells(dictionary, ROWS_OBJECT, (uint32_t)function[FUNCTION_OBJECT]);
	/* of objects with offsets no file's addresses are known */
	return object[OBJECT_BUILD_ID] && !object[OBJECT_OFFSETS];
}

static struct store_unnamed describe(const struct dictionary *dictionary, uint32_t id)
{
	const uint64_t *function = rows_cells(dictionary, ROWS_FUNCTION, id);
	const uint64_t *object =
		rows_cells(dictionary, ROWS_OBJECT, (uint32_t)function[FUNCTION_OBJECT]);

	return (struct store_unnamed){
		.id = id,
		.path = rows_text(dictionary, object[OBJECT_PATH]),
		.build_id = rows_text(dictionary, object[OBJECT_BUILD_ID]),
		.start = function[FUNCTION_START],
	};
}

int store_unnamed(struct store *store, const struct store_range *range,
		  void (*each)(void *ctx, const struct store_unnamed *function), void *ctx,
		  struct fpl_err *err)
{
	CLEANUP(rows_marks_fini) struct rows_marks marks = { 0 };
	const struct dictionary *dictionary = &store->dictionary;
	int code = store_rows_load(store, err);

	if (!code)
		code = mark_functions(store, range, &marks, err);
	for (uint32_t id = 1; !code && id < dictionary->tables[ROWS_FUNCTION].used.nr; id++) {
		struct store_unnamed function;

		if (!rows_has(dictionary, ROWS_FUNCTION, id) ||
		    !rows_is_marked(&marks, ROWS_FUNCTION, id) ||
		    !may_be_named(dictionary, rows_cells(dictionary, ROWS_FUNCTION, id)))
			continue;
		function = describe(dictionary, id);
		each(ctx, &function);
	}
	return code;
}

/* Put @name into the row of its function, whose other cells stay: windows refer to it. */
static int name_one(struct store *store, const struct store_name *name, sqlite3_stmt *statement,
		    struct fpl_err *err)
{
	struct dictionary *dictionary = &store->dictionary;
	struct rows *rows = &dictionary->tables[ROWS_FUNCTION];
	uint64_t *cells = &rows->cells.list[(size_t)name->id * FUNCTION_COLUMNS];
	uint32_t text = 0, file = 0;
	int code;

	if (rows_add_text(dictionary, name->name, &text) ||
	    rows_add_text(dictionary, name->file, &file))
		return fpl_fail(err, -E2BIG, "%s: no room for more texts", store->path);
	cells[FUNCTION_NAME] = text;
	cells[FUNCTION_FILE] = file;
	cells[FUNCTION_LINE] = name->line;
	sqlite3_bind_int64(statement, 1, text);
	sqlite3_bind_int64(statement, 2, file);
	sqlite3_bind_int64(statement, 3, name->line);
	sqlite3_bind_int64(statement, 4, rows_digest(rows->shape, name->id, cells, NULL));
	sqlite3_bind_int64(statement, 5, name->id);
	code = sql_step(statement, store->path, err);
	sqlite3_reset(statement);
	return code;
}

static int name_step(struct store *store, const struct store_name *names, size_t nr,
		     struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = sql_prepare(store->db, store->path,
			       "UPDATE function SET name=?1,file=?2,line=?3,digest=?4 WHERE id=?5",
			       &statement, err);

	for (size_t i = 0; !code && i < nr; i++)
		code = name_one(store, &names[i], statement, err);
	return code ? code : store_rows_save(store, err);
}

int store_name(struct store *store, const struct store_name *names, size_t nr, struct fpl_err *err)
{
	int code = 0;

	for (size_t i = 0; !code && i < nr; i += NAMES_A_STEP) {
		size_t step = nr - i < NAMES_A_STEP ? nr - i : NAMES_A_STEP;

		code = store_begin(store, err);
		if (!code)
			code = store_end(store, name_step(store, &names[i], step, err), err);
	}
	/* what finds rows knows them as they were */
	store_rows_forget(store);
	return code;
}
