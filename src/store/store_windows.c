/* SPDX-License-Identifier: Apache-2.0 */
/* Windows between memory and the store. */
#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/keys.h"
#include "store/store_state.h"

enum { COLUMN_DIGEST = 11, COLUMN_DATA };

/* A digest of all columns, which the data has, too: damage to either shows. */
static uint64_t digest_of(const struct store_window *window)
{
	const uint64_t fields[] = { window->level,   window->t0,     window->t1,
				    window->busy_ns, window->run,    window->samples,
				    window->weight,  window->judged, window->complete,
				    window->lost };

	return id_table_hash(window->id, fields, sizeof(fields)) >> 1;
}

int store_windows_begin(struct store *store, const char *where, uint64_t first, uint64_t second,
			sqlite3_stmt **ret, struct fpl_err *err)
{
	AUTO_FREE char *query = must_asprintf(
		"SELECT id,level,t0,t1,busy,run,samples,weight,judged,complete,lost,digest,data FROM window %s",
		where);
	int code = sql_prepare(store->db, store->path, query, ret, err);

	if (code)
		return code;
	sqlite3_bind_int64(*ret, 1, (sqlite3_int64)first);
	sqlite3_bind_int64(*ret, 2, (sqlite3_int64)second);
	return 0;
}

static bool take_window(sqlite3_stmt *statement, struct store_window *ret)
{
	uint64_t *const fields[] = { &ret->id,	    &ret->level,    &ret->t0,	   &ret->t1,
				     &ret->busy_ns, &ret->run,	    &ret->samples, &ret->weight,
				     &ret->judged,  &ret->complete, &ret->lost };
	uint64_t digest;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (!sql_column(statement, (int)i, fields[i]))
			return false;
	return sql_column(statement, COLUMN_DIGEST, &digest) && digest == digest_of(ret) &&
	       ret->t0 <= ret->t1 && ret->complete <= ret->judged && ret->judged <= ret->samples;
}

/* Is all there that @data refers to, and is it the sum that @window has? */
static bool is_sound(const struct store *store, const struct store_window *window,
		     const struct window_data *data)
{
	const struct dictionary *dictionary = &store->dictionary;
	uint64_t samples = 0;

	for (size_t i = 0; i < data->numbers.nr; i++)
		if (!data->numbers.list[i].key ||
		    !rows_has(dictionary, ROWS_STRING, data->numbers.list[i].key))
			return false;
	for (size_t i = 0; i < data->entries.nr; i++) {
		const struct window_entry *entry = &data->entries.list[i];

		if (!entry->series || !rows_has(dictionary, ROWS_SERIES, entry->series) ||
		    !rows_has(dictionary, ROWS_NODE, entry->node) ||
		    __builtin_add_overflow(samples, entry->count, &samples))
			return false;
	}
	return samples == window->samples && window->run &&
	       rows_has(dictionary, ROWS_RUN, window->run);
}

int store_windows_next(struct store *store, sqlite3_stmt *statement, struct store_window *ret,
		       struct window_data *data, struct fpl_err *err)
{
	int code = sql_step(statement, store->path, err);
	const void *packed;
	size_t size;

	if (code != 1)
		return code;
	if (!take_window(statement, ret))
		return store_damaged(store, "a window", err);
	if (!data)
		return 1;
	packed = sqlite3_column_blob(statement, COLUMN_DATA);
	size = (size_t)sqlite3_column_bytes(statement, COLUMN_DATA);
	if (!packed || window_data_unpack(packed, size, digest_of(ret), data) ||
	    !is_sound(store, ret, data))
		return store_damaged(store, "the data of a window", err);
	return 1;
}

static bool is_judged(const struct window_entry *entry)
{
	return !entry->no_user && entry->stop < FPL_STOP_COUNT && stop_is_judged(entry->stop);
}

int store_windows_count(struct store_window *window, const struct window_entry *entry)
{
	uint64_t count = entry->count;

	if (__builtin_add_overflow(window->samples, count, &window->samples) ||
	    __builtin_add_overflow(window->weight, entry->weight, &window->weight) ||
	    window->samples > INT64_MAX || window->weight > INT64_MAX)
		return -EOVERFLOW;
	if (is_judged(entry)) {
		window->judged += count;
		window->complete += entry->stop == FPL_STOP_OUTERMOST ? count : 0;
	}
	return 0;
}

/* Its id goes into the digest, so it is chosen here. */
static int next_id(struct store *store, uint64_t *ret, struct fpl_err *err)
{
	int64_t last;
	int code = sql_number(store->db, store->path, "SELECT max(id) FROM window", &last, err);

	*ret = (uint64_t)last + 1;
	return code;
}

int store_windows_put(struct store *store, const struct store_window *window,
		      const struct window_data *data, struct fpl_err *err)
{
	struct store_window put = *window;
	AUTO_FREE uint8_t *packed = NULL;
	size_t size;
	int code = next_id(store, &put.id, err);

	if (!code && window_data_pack(data, digest_of(&put), &packed, &size))
		return fpl_fail(err, -E2BIG, "%s: a window is too large", store->path);
	if (!code && !store->put_window)
		code = sql_prepare(store->db, store->path,
				   "INSERT INTO window VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
				   &store->put_window, err);
	if (code)
		return code;

	const uint64_t fields[] = { put.id,	 put.level,    put.t0,	    put.t1,
				    put.busy_ns, put.run,      put.samples, put.weight,
				    put.judged,	 put.complete, put.lost,    digest_of(&put) };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		sqlite3_bind_int64(store->put_window, (int)i + 1, (sqlite3_int64)fields[i]);
	sqlite3_bind_blob64(store->put_window, COLUMN_DATA + 1, packed, size, SQLITE_STATIC);
	code = sql_step(store->put_window, store->path, err);
	sqlite3_reset(store->put_window);
	sqlite3_clear_bindings(store->put_window);
	if (!code)
		store_sweep_note(store, &put, data);
	return code < 0 ? code : 0;
}
