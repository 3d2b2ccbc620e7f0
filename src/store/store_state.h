/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a store, for the files store*.c alone. */
#pragma once

#include <regex.h>
#include <sqlite3.h>

#include "store/rows.h"
#include "store/sql.h"
#include "store/store.h"
#include "store/window_data.h"

/* Rows that nothing refers to are looked for in small steps. */
enum store_sweep {
	SWEEP_NONE,
	SWEEP_MARKS,  /* windows are read, and what they refer to is marked */
	SWEEP_DELETES /* what is not marked is deleted */
};

struct store {
	sqlite3 *db;
	char *path;	/* owned */
	int folder_fd;	/* owned: holds the lock of the writer; -1: a reader's */
	bool is_loaded; /* dictionary is as the store has it */
	struct store_limits limits;
	struct dictionary dictionary;

	enum store_sweep sweep;
	struct rows_marks marks;
	uint64_t sweep_at;	     /* the last window read, or row looked at */
	enum rows_table sweep_table; /* of SWEEP_DELETES */
	uint64_t nr_gone;	     /* windows deleted since the last sweep */
	sqlite3_stmt *put_window;    /* owned */
};

/* store_rows.c */

/* "CREATE TABLE ..." of @table, to be freed. */
char *store_rows_table(enum rows_table table);

/* Load all rows, unless they are. */
FPL_MUST_CHECK int store_rows_load(struct store *store, struct fpl_err *err);

/* Put fresh rows into the store, in the transaction that is open. */
FPL_MUST_CHECK int store_rows_save(struct store *store, struct fpl_err *err);

/* A transaction has failed: what is in memory is not what the store has. */
void store_rows_forget(struct store *store);

/* store_windows.c */

#define STORE_WINDOW_TABLE                                                                         \
	"CREATE TABLE window(id INTEGER PRIMARY KEY,level INTEGER NOT NULL,t0 INTEGER NOT NULL,"   \
	"t1 INTEGER NOT NULL,busy INTEGER NOT NULL,run INTEGER NOT NULL,samples INTEGER NOT NULL," \
	"weight INTEGER NOT NULL,judged INTEGER NOT NULL,complete INTEGER NOT NULL,"               \
	"lost INTEGER NOT NULL,digest INTEGER NOT NULL,data BLOB NOT NULL)"
#define STORE_WINDOW_INDEX "CREATE INDEX window_t0 ON window(t0)"

/* A walk over windows, to be ended by sqlite3_finalize(). @where: "WHERE ...", with one or two
 * numbers ?1 and ?2. */
FPL_MUST_CHECK int store_windows_begin(struct store *store, const char *where, uint64_t first,
				       uint64_t second, sqlite3_stmt **ret, struct fpl_err *err);

/* Take the next window. Returns 1, 0 at the end, or an error. @data (may be NULL), zero at first,
 * becomes what it holds, whose rows are there. */
FPL_MUST_CHECK int store_windows_next(struct store *store, sqlite3_stmt *statement,
				      struct store_window *ret, struct window_data *data,
				      struct fpl_err *err);

/* Add an entry to the samples, weight, judged and complete of @window. Errors: -EOVERFLOW. */
FPL_MUST_CHECK int store_windows_count(struct store_window *window,
				       const struct window_entry *entry);

/* Put a window in, in the transaction that is open; its id is new. */
FPL_MUST_CHECK int store_windows_put(struct store *store, const struct store_window *window,
				     const struct window_data *data, struct fpl_err *err);

/* store.c */

/* BEGIN, and COMMIT or ROLLBACK as @code says. Returns the first error. */
FPL_MUST_CHECK int store_begin(struct store *store, struct fpl_err *err);
FPL_MUST_CHECK int store_end(struct store *store, int code, struct fpl_err *err);

/* Damage that SQLite does not see. */
FPL_MUST_CHECK int store_damaged(const struct store *store, const char *what, struct fpl_err *err);

/* store_filter.c */

struct store_filter {
	regex_t comm, cgroup;
	bool has_comm, has_cgroup;
	const char *source; /* NULL: all */

	/* private */
	uint32_t run;				/* of the windows at hand */
	uint32_t events[RECORDING_SOURCES_MAX]; /* texts, by the number of its sources */
	size_t nr_events;
	VECTOR(uint8_t) wanted; /* by series */
};

/* Compile @text, of @option; NULL: *ret_has is false. Errors: -EINVAL. */
FPL_MUST_CHECK int store_regex(const char *option, const char *text, regex_t *ret, bool *ret_has,
			       struct fpl_err *err);
/* @filter: zero at first. Errors: -EINVAL. */
FPL_MUST_CHECK int store_filter_init(struct store_filter *filter, const struct store_range *range,
				     struct fpl_err *err);
void store_filter_fini(struct store_filter *filter);
bool store_filter_is_empty(const struct store_filter *filter);
/* @run: the window's. */
bool store_filter_wants(struct store_filter *filter, const struct store *store, uint64_t run,
			uint32_t series);

/* store_sweep.c: a step. Returns 1 where more is to do. */
FPL_MUST_CHECK int store_sweep_step(struct store *store, struct fpl_err *err);

/* A window has been put in meanwhile: its rows are in use. */
void store_sweep_note(struct store *store, const struct store_window *window,
		      const struct window_data *data);
