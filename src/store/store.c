/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "store/store_state.h"

enum {
	APPLICATION = 0x66706c73, /* "fpls" */
	PAGE_BYTES = 4096,
	BUSY_MS = 5000,
	TABLES = ROWS_TABLES + 3, /* and meta, window, its index */
	LENGTH_MAX = 128 << 20,	  /* of a text or blob */
	WAL_BYTES = 4 << 20,	  /* that it keeps when it is empty */
};

const char *store_path(const struct store *store)
{
	return store->path;
}

static uint64_t file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_size;
}

uint64_t store_bytes(const struct store *store)
{
	AUTO_FREE char *wal = must_asprintf("%s-wal", store->path);

	return file_bytes(store->path) + file_bytes(wal);
}

int store_damaged(const struct store *store, const char *what, struct fpl_err *err)
{
	return fpl_fail(err, -EBADMSG, "%s: damaged: %s is not as it was written", store->path,
			what);
}

int store_begin(struct store *store, struct fpl_err *err)
{
	return sql_run(store->db, store->path, "BEGIN IMMEDIATE", err);
}

int store_end(struct store *store, int code, struct fpl_err *err)
{
	struct fpl_err ignored;

	if (!code)
		code = sql_run(store->db, store->path, "COMMIT", err);
	/* SQLite may have rolled it back itself */
	if (code && !sqlite3_get_autocommit(store->db) &&
	    sql_run(store->db, store->path, "ROLLBACK", &ignored))
		return code;
	return code;
}

/* The statements that make the tables [TABLES], each to be freed. */
static void schema_make(char *ret[TABLES])
{
	size_t nr = 0;

	ret[nr++] = must_strdup("CREATE TABLE meta(key TEXT PRIMARY KEY,value INTEGER NOT NULL)");
	for (unsigned i = 0; i < ROWS_TABLES; i++)
		ret[nr++] = store_rows_table(i);
	ret[nr++] = must_strdup(STORE_WINDOW_TABLE);
	ret[nr] = must_strdup(STORE_WINDOW_INDEX);
}

static void schema_free(char *schema[TABLES])
{
	for (size_t i = 0; i < TABLES; i++)
		free(schema[i]);
}

static int create_tables(struct store *store, struct fpl_err *err)
{
	char *schema[TABLES];
	int code = store_begin(store, err);
	AUTO_FREE char *marks =
		must_asprintf("PRAGMA application_id=%d;INSERT INTO meta VALUES('schema',%d)",
			      APPLICATION, STORE_SCHEMA);

	if (code)
		return code;
	schema_make(schema);
	for (size_t i = 0; !code && i < TABLES; i++)
		code = sql_run(store->db, store->path, schema[i], err);
	schema_free(schema);
	if (!code)
		code = sql_run(store->db, store->path, marks, err);
	return store_end(store, code, err);
}

/* Is @text one of @schema? */
static bool is_ours(char *schema[TABLES], const char *text)
{
	for (size_t i = 0; text && i < TABLES; i++)
		if (!strcmp(schema[i], text))
			return true;
	return false;
}

/* Nothing but the tables that this program makes may be there: no view, no trigger. */
static int check_tables(struct store *store, struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	char *schema[TABLES];
	size_t nr = 0;
	bool ours = true;
	int code = sql_prepare(store->db, store->path,
			       "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_auto%'",
			       &statement, err);

	schema_make(schema);
	while (!code && (code = sql_step(statement, store->path, err)) == 1) {
		ours = ours && is_ours(schema, (const char *)sqlite3_column_text(statement, 0));
		nr++;
		code = 0;
	}
	schema_free(schema);
	if (!code && (!ours || nr != TABLES))
		return store_damaged(store, "the list of tables", err);
	return code;
}

static int check_schema(struct store *store, struct fpl_err *err)
{
	int64_t application, schema;
	int code = sql_number(store->db, store->path, "PRAGMA application_id", &application, err);

	if (!code && application != APPLICATION)
		return fpl_fail(err, -EPROTO, "%s: a database, but no store of fpless",
				store->path);
	if (!code)
		code = sql_number(store->db, store->path,
				  "SELECT value FROM meta WHERE key='schema'", &schema, err);
	if (!code && schema > STORE_SCHEMA)
		return fpl_fail(
			err, -EPROTO,
			"%s: schema %" PRId64
			", made by a newer fpless; this one knows %d: use the newer one, or another --store",
			store->path, schema, STORE_SCHEMA);
	if (!code && schema != STORE_SCHEMA)
		return store_damaged(store, "the number of its schema", err);
	return code ? code : check_tables(store, err);
}

/* The file may not make SQLite run code of its own, nor hold texts beyond a limit. */
static void shut_in(sqlite3 *db)
{
	sqlite3_extended_result_codes(db, 1);
	sqlite3_busy_timeout(db, BUSY_MS);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
}

static int open_database(struct store *store, const char *name, int flags, struct fpl_err *err)
{
	int result = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

	alloc_check(!store->db);
	if (result != SQLITE_OK)
		return sql_fail(store->db, store->path, err);
	shut_in(store->db);
	return sql_run(store->db, store->path,
		       "PRAGMA temp_store=MEMORY;PRAGMA mmap_size=0;PRAGMA cell_size_check=ON",
		       err);
}

static int store_make(const char *folder, struct store **ret, struct fpl_err *err)
{
	AUTO_FREE char *real = realpath(folder, NULL);
	struct store *store;

	if (!real)
		return fpl_fail(err, -errno, "%s: %s", folder, strerror(errno));
	*ret = store = must_calloc(1, sizeof(*store));
	store->folder_fd = -1;
	store->path = must_asprintf("%s/" STORE_FILE, real);
	dictionary_init(&store->dictionary);
	return 0;
}

static void cleanup_store(struct store **store)
{
	store_close(*store);
}

/* The folder is the lock of who writes: the file's own locks are SQLite's. */
static int lock_folder(struct store *store, const char *folder, struct fpl_err *err)
{
	store->folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->folder_fd < 0)
		return fpl_fail(err, -errno, "%s: %s", folder, strerror(errno));
	if (!flock(store->folder_fd, LOCK_EX | LOCK_NB))
		return 0;
	return fpl_fail(err, errno == EWOULDBLOCK ? -EBUSY : -errno, "%s: %s", folder,
			errno == EWOULDBLOCK ? "another fpless writes this store"
					     : strerror(errno));
}

/* Make the file with its mode, which SQLite's other files get, too. */
static int make_file(struct store *store, struct fpl_err *err)
{
	int fd = openat(store->folder_fd, STORE_FILE,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0640);

	if (fd < 0)
		return fpl_fail(err, -errno, "%s: %s", store->path, strerror(errno));
	close(fd);
	return 0;
}

static int begin_to_write(struct store *store, struct fpl_err *err)
{
	AUTO_FREE char *size = must_asprintf("PRAGMA max_page_count=%" PRIu64,
					     store->limits.bytes ? store->limits.bytes / PAGE_BYTES
								 : (uint64_t)0xfffffffe);
	int64_t pages;
	int code = sql_number(store->db, store->path, "PRAGMA page_count", &pages, err);

	if (!code && !pages)
		code = sql_run(store->db, store->path,
			       "PRAGMA page_size=4096;PRAGMA auto_vacuum=INCREMENTAL;"
			       "PRAGMA journal_mode=WAL",
			       err);
	if (!code && !pages)
		code = create_tables(store, err);
	if (!code)
		code = check_schema(store, err);
	if (!code)
		code = sql_run(store->db, store->path,
			       "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;"
			       "PRAGMA journal_size_limit=4194304",
			       err);
	return code ? code : sql_run(store->db, store->path, size, err);
}

int store_open_to_write(const char *folder, const struct store_limits *limits, struct store **ret,
			struct fpl_err *err)
{
	CLEANUP(cleanup_store) struct store *store = NULL;
	int code;

	if (mkdir(folder, 0750) && errno != EEXIST)
		return fpl_fail(err, -errno, "%s: %s", folder, strerror(errno));
	code = store_make(folder, &store, err);
	if (code)
		return code;
	store->limits = *limits;
	code = lock_folder(store, folder, err);
	if (!code)
		code = make_file(store, err);
	if (!code)
		code = open_database(store, store->path,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW, err);
	if (!code)
		code = begin_to_write(store, err);
	if (!code)
		code = store_rows_load(store, err);
	if (!code)
		*ret = TAKE_PTR(store);
	return code;
}

/* The path as a URI has it: of a path all bytes but letters and some signs as %XX. */
static char *uri_of(const char *path, const char *options)
{
	char *text;
	size_t size;
	FILE *to = must_memstream(&text, &size);

	fputs("file:", to);
	for (; *path; path++) {
		if ((*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z') ||
		    strchr("/.-_0123456789", *path))
			fputc(*path, to);
		else
			fprintf(to, "%%%02x", (unsigned char)*path);
	}
	fputs(options, to);
	must_memstream_close(to);
	return text;
}

/* Is there nothing beside the file that a writer has still to put into it? */
static bool is_at_rest(const struct store *store)
{
	AUTO_FREE char *wal = must_asprintf("%s-wal", store->path);
	struct stat st;

	return stat(wal, &st) ? errno == ENOENT : !st.st_size;
}

static int try_to_read(struct store *store, const char *options, struct fpl_err *err)
{
	AUTO_FREE char *uri = uri_of(store->path, options);
	int code = open_database(
		store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW, err);

	/* a transaction: what is read is of one moment, and all files are open from here on */
	if (!code)
		code = sql_run(store->db, store->path, "BEGIN", err);
	return code ? code : check_schema(store, err);
}

int store_open_to_read(const char *folder, struct store **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_store) struct store *store = NULL;
	int code = store_make(folder, &store, err);

	if (code)
		return code;
	if (access(store->path, R_OK))
		return fpl_fail(err, -errno, "%s: %s", store->path, strerror(errno));
	code = try_to_read(store, "?mode=ro", err);
	if (code == -EACCES && is_at_rest(store)) {
		sqlite3_close(store->db);
		store->db = NULL;
		code = try_to_read(store, "?mode=ro&immutable=1", err);
	}
	if (code == -EACCES)
		return fpl_fail(
			err, code,
			"%s: cannot be read: no agent runs, the last one did not end well, and this user may not write here",
			store->path);
	if (!code)
		*ret = TAKE_PTR(store);
	return code;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	sqlite3_finalize(store->put_window);
	sqlite3_close(store->db);
	if (store->folder_fd >= 0)
		close(store->folder_fd);
	dictionary_fini(&store->dictionary);
	rows_marks_fini(&store->marks);
	free(store->path);
	free(store);
}

/* SQLite says "ok", or what is wrong in words. */
static int check_pages(struct store *store, struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	const char *said;
	int code =
		sql_prepare(store->db, store->path, "PRAGMA integrity_check(1)", &statement, err);

	if (!code)
		code = sql_step(statement, store->path, err);
	if (code != 1)
		return code;
	said = (const char *)sqlite3_column_text(statement, 0);
	return said && !strcmp(said, "ok")
		       ? 0
		       : fpl_fail(err, -EBADMSG, "%s: damaged: %s", store->path, said ? said : "");
}

int store_check(struct store *store, struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = check_pages(store, err);

	if (!code)
		code = store_rows_load(store, err);
	if (!code)
		code = store_windows_begin(store, "ORDER BY id", 0, 0, &statement, err);
	if (code)
		return code;
	do {
		CLEANUP(window_data_fini) struct window_data data = { 0 };
		struct store_window window;

		code = store_windows_next(store, statement, &window, &data, err);
	} while (code == 1);
	return code;
}
