/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that no window refers to any more are found and deleted, a step at a time. */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "store/store_state.h"

enum { WINDOWS_A_STEP = 16, ROWS_A_STEP = 1000 };

static void mark_window(struct store *store, const struct store_window *window,
			const struct window_data *data)
{
	struct rows_marks *marks = &store->marks;

	rows_mark(marks, ROWS_RUN, (uint32_t)window->run);
	for (size_t i = 0; i < data->numbers.nr; i++)
		rows_mark(marks, ROWS_STRING, data->numbers.list[i].key);
	for (size_t i = 0; i < data->entries.nr; i++) {
		rows_mark(marks, ROWS_SERIES, data->entries.list[i].series);
		rows_mark(marks, ROWS_NODE, data->entries.list[i].node);
	}
}

void store_sweep_note(struct store *store, const struct store_window *window,
		      const struct window_data *data)
{
	if (store->sweep == SWEEP_NONE)
		return;
	mark_window(store, window, data);
	if (store->sweep == SWEEP_DELETES)
		rows_mark_all(&store->marks, &store->dictionary);
}

/* Those that refer to others go before them: a store whose writer is killed refers to nothing that
 * has gone. */
static void begin_deletes(struct store *store)
{
	rows_mark_all(&store->marks, &store->dictionary);
	store->sweep = SWEEP_DELETES;
	store->sweep_table = ROWS_TABLES - 1;
	store->sweep_at = store->dictionary.tables[store->sweep_table].used.nr;
}

static int mark_step(struct store *store, struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = store_windows_begin(store, "WHERE id>?1 ORDER BY id LIMIT ?2", store->sweep_at,
				       WINDOWS_A_STEP, &statement, err);
	size_t nr = 0;

	for (; !code; nr++) {
		CLEANUP(window_data_fini) struct window_data data = { 0 };
		struct store_window window;

		code = store_windows_next(store, statement, &window, &data, err);
		if (code != 1)
			break;
		mark_window(store, &window, &data);
		store->sweep_at = window.id;
		code = 0;
	}
	if (!code && nr < WINDOWS_A_STEP)
		begin_deletes(store);
	return code;
}

/* The next unmarked row of the table, from the last one down; 0: all are marked. */
static uint32_t next_unmarked(struct store *store)
{
	while (store->sweep_at > 1) {
		uint32_t id = (uint32_t)--store->sweep_at;

		if (rows_has(&store->dictionary, store->sweep_table, id) &&
		    !rows_is_marked(&store->marks, store->sweep_table, id))
			return id;
	}
	return 0;
}

static int delete_rows(struct store *store, struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	enum rows_table table = store->sweep_table;
	char query[64];
	uint32_t id = 1;
	int code;

	snprintf(query, sizeof(query), "DELETE FROM %s WHERE id=?1", rows_shapes[table].name);
	code = sql_prepare(store->db, store->path, query, &statement, err);
	for (size_t i = 0; !code && i < ROWS_A_STEP && (id = next_unmarked(store)); i++) {
		sqlite3_bind_int64(statement, 1, id);
		code = sql_step(statement, store->path, err);
		sqlite3_reset(statement);
		if (!code)
			rows_remove(&store->dictionary, table, id);
	}
	return code;
}

static int delete_step(struct store *store, struct fpl_err *err)
{
	int code = store_begin(store, err);

	if (code)
		return code;
	code = store_end(store, delete_rows(store, err), err);
	if (code || store->sweep_at > 1)
		return code;
	if (store->sweep_table) {
		store->sweep_table--;
		store->sweep_at = store->dictionary.tables[store->sweep_table].used.nr;
		return 0;
	}
	/* what finds rows is made anew, without those that have gone */
	store_rows_forget(store);
	return 0;
}

int store_sweep_step(struct store *store, struct fpl_err *err)
{
	int code = store_rows_load(store, err);

	if (!code && store->sweep == SWEEP_NONE) {
		store->sweep = SWEEP_MARKS;
		store->sweep_at = 0;
		store->nr_gone = 0;
	}
	if (!code)
		code = store->sweep == SWEEP_MARKS ? mark_step(store, err)
						   : delete_step(store, err);
	if (code)
		store_rows_forget(store);
	return code ? code : store->sweep != SWEEP_NONE;
}
