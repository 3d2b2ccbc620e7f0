/* SPDX-License-Identifier: Apache-2.0 */
/* Windows go or become one as time goes by, in short steps. */
#include <errno.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "store/store_state.h"

enum {
	WINDOWS_A_STEP = 64, /* deleted */
	PAGES_A_STEP = 512,  /* given back */
	PAGES_FREE = 256,    /* kept: the next windows need them */
	SWEEP_AFTER = 1000,  /* windows that went, and an eighth of what is there */
	RESERVE_PARTS = 8,   /* of the limit an eighth is kept free: deleting needs room, too */
	PARTS_MAX = 4096,    /* windows that become one */
	ENTRIES_MAX = 1 << 20,
};

/* Delete some windows by @where, in one transaction. Returns 1 where there were any. */
static int delete_windows(struct store *store, const char *query, uint64_t before,
			  struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = sql_prepare(store->db, store->path, query, &statement, err), nr;

	if (code)
		return code;
	sqlite3_bind_int64(statement, 1, WINDOWS_A_STEP);
	sqlite3_bind_int64(statement, 2, (sqlite3_int64)before);
	code = sql_step(statement, store->path, err);
	nr = code ? 0 : sqlite3_changes(store->db);
	store->nr_gone += (uint64_t)nr;
	return code ? code : nr > 0;
}

static int expire(struct store *store, uint64_t now_ns, struct fpl_err *err)
{
	uint64_t keep_ns = store->limits.keep_ns;

	if (!keep_ns || now_ns < keep_ns)
		return 0;
	return delete_windows(
		store,
		"DELETE FROM window WHERE id IN(SELECT id FROM window WHERE t0<?2 AND t1<?2 ORDER BY t0 LIMIT ?1)",
		now_ns - keep_ns, err);
}

struct fill {
	int64_t pages, free, windows;
};

static int fill_of(struct store *store, struct fill *ret, struct fpl_err *err)
{
	int code = sql_number(store->db, store->path, "PRAGMA page_count", &ret->pages, err);

	if (!code)
		code = sql_number(store->db, store->path, "PRAGMA freelist_count", &ret->free, err);
	if (!code)
		code = sql_number(store->db, store->path, "SELECT count(*) FROM window",
				  &ret->windows, err);
	return code;
}

/* Has the disk less room than it is to keep? False where it does not say. */
static bool is_disk_low(const struct store *store)
{
	struct statvfs disk;

	return store->limits.reserve && !fstatvfs(store->folder_fd, &disk) &&
	       disk.f_bavail * (uint64_t)disk.f_frsize < store->limits.reserve;
}

/*
 * Is there too little room for windows to come: within the limit, or, on a disk that is low, in the
 * file as it is? There the oldest windows make room for new ones.
 */
static bool is_pressed(const struct store *store, const struct fill *fill)
{
	uint64_t bytes = store->limits.bytes;
	int64_t enough = fill->pages / RESERVE_PARTS;

	if (bytes && (uint64_t)(fill->pages - fill->free) * 4096 > bytes - bytes / RESERVE_PARTS)
		return true;
	if (enough > PAGES_FREE)
		enough = PAGES_FREE;
	return fill->free < enough && is_disk_low(store);
}

/* Windows go, and then the rows that only they had. */
static int shrink(struct store *store, const struct fill *fill, struct fpl_err *err)
{
	int code;

	if (store->sweep == SWEEP_NONE && store->nr_gone < WINDOWS_A_STEP && fill->windows > 1) {
		code = delete_windows(
			store,
			"DELETE FROM window WHERE id IN(SELECT id FROM window ORDER BY t0 LIMIT min(?1,(SELECT count(*) FROM window)-1))",
			0, err);
		return code;
	}
	return store->nr_gone || store->sweep != SWEEP_NONE ? store_sweep_step(store, err) : 0;
}

static int give_back(struct store *store, const struct fill *fill, struct fpl_err *err)
{
	int code;

	if (fill->free <= PAGES_FREE)
		return 0;
	code = sql_run(store->db, store->path, "PRAGMA incremental_vacuum(512)", err);
	return code ? code : fill->free > PAGES_FREE + PAGES_A_STEP;
}

/* Windows that become one: their ids, and their sum. */
struct rolling {
	struct store_window one;
	struct window_data data;
	VECTOR(uint64_t) ids; /* of the parts */
};

static void rolling_fini(struct rolling *rolling)
{
	window_data_fini(&rolling->data);
	vector_fini(&rolling->ids);
}

static int delete_parts(struct store *store, const struct rolling *rolling, struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = sql_prepare(store->db, store->path, "DELETE FROM window WHERE id=?1", &statement,
			       err);

	for (size_t i = 0; !code && i < rolling->ids.nr; i++) {
		sqlite3_bind_int64(statement, 1, (sqlite3_int64)rolling->ids.list[i]);
		code = sql_step(statement, store->path, err);
		sqlite3_reset(statement);
	}
	return code;
}

static int add_part(struct store_window *one, const struct store_window *part)
{
	one->t0 = part->t0 < one->t0 ? part->t0 : one->t0;
	one->t1 = part->t1 > one->t1 ? part->t1 : one->t1;
	if (__builtin_add_overflow(one->busy_ns, part->busy_ns, &one->busy_ns) ||
	    __builtin_add_overflow(one->samples, part->samples, &one->samples) ||
	    __builtin_add_overflow(one->weight, part->weight, &one->weight) ||
	    __builtin_add_overflow(one->lost, part->lost, &one->lost) || one->busy_ns > INT64_MAX ||
	    one->samples > INT64_MAX || one->weight > INT64_MAX || one->lost > INT64_MAX)
		return -EOVERFLOW;
	/* each is at most the samples */
	one->judged += part->judged;
	one->complete += part->complete;
	return 0;
}

/* Is there room for another part? What finds none becomes another window. */
static bool has_room(const struct rolling *rolling)
{
	return rolling->ids.nr < PARTS_MAX && rolling->data.entries.nr < ENTRIES_MAX;
}

/* Add up the parts, which are of the same run and of lower levels, and begin in [from, until). */
static int add_parts(struct store *store, struct rolling *rolling, uint64_t from, uint64_t until,
		     struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	struct store_window *one = &rolling->one;
	int code = store_windows_begin(store, "WHERE t0>=?1 AND t0<?2 ORDER BY t0,id", from, until,
				       &statement, err);

	while (!code && has_room(rolling)) {
		CLEANUP(window_data_fini) struct window_data data = { 0 };
		struct store_window part;

		code = store_windows_next(store, statement, &part, &data, err);
		if (code != 1)
			return code;
		code = 0;
		if (part.run != one->run || part.level >= one->level)
			continue;
		for (size_t i = 0; i < data.entries.nr; i++)
			must_push(&rolling->data.entries, data.entries.list[i]);
		for (size_t i = 0; i < data.numbers.nr; i++)
			must_push(&rolling->data.numbers, data.numbers.list[i]);
		must_push(&rolling->ids, part.id);
		code = add_part(one, &part);
	}
	return code;
}

static int put_one(struct store *store, struct rolling *rolling, uint64_t from, uint64_t until,
		   struct fpl_err *err)
{
	int code = add_parts(store, rolling, from, until, err);

	if (code == -EOVERFLOW || (!code && window_data_settle(&rolling->data)))
		return fpl_fail(err, -EOVERFLOW, "%s: counts add up to more than 2^63",
				store->path);
	if (!code)
		code = delete_parts(store, rolling, err);
	return code ? code : store_windows_put(store, &rolling->one, &rolling->data, err);
}

/* The first window that is to become a part of one of @level; 0: all are done. */
static int find_part(struct store *store, uint64_t level, uint64_t before, struct store_window *ret,
		     struct fpl_err *err)
{
	CLEANUP(cleanup_statement) sqlite3_stmt *statement = NULL;
	int code = store_windows_begin(store, "WHERE t0<?1 AND level<?2 ORDER BY t0 LIMIT 1",
				       before, level, &statement, err);

	return code ? code : store_windows_next(store, statement, ret, NULL, err);
}

/* Let the windows of one stretch of time become one of @level. Returns 1 where they did. */
static int roll(struct store *store, uint64_t level, uint64_t now_ns, struct fpl_err *err)
{
	static const uint64_t lengths[] = STORE_ROLL_NS;
	uint64_t after = store->limits.roll_after_ns[level - 1], length = lengths[level - 1];
	CLEANUP(rolling_fini) struct rolling rolling = { .one = { 0 } };
	struct store_window *one = &rolling.one;
	uint64_t from, until;
	int code;

	if (!after || now_ns < after + length)
		return 0;
	/* whole stretches alone: no part comes later */
	until = (now_ns - after) / length * length;
	code = find_part(store, level, until, one, err);
	if (code != 1)
		return code;
	from = one->t0 / length * length;
	*one = (struct store_window){
		.level = level, .run = one->run, .t0 = one->t0, .t1 = one->t1
	};
	code = store_rows_load(store, err);
	if (!code)
		code = store_begin(store, err);
	if (code)
		return code;
	code = store_end(store, put_one(store, &rolling, from, from + length, err), err);
	return code ? code : 1;
}

int store_tend(struct store *store, uint64_t now_ns, struct fpl_err *err)
{
	struct fill fill;
	int more = expire(store, now_ns, err), code;

	if (more)
		return more;
	code = fill_of(store, &fill, err);
	if (code)
		return code;
	if (is_pressed(store, &fill))
		return shrink(store, &fill, err);
	more = roll(store, 1, now_ns, err);
	if (!more)
		more = roll(store, 2, now_ns, err);
	if (more)
		return more;
	if (store->sweep != SWEEP_NONE ||
	    (store->nr_gone >= SWEEP_AFTER && store->nr_gone >= (uint64_t)fill.windows / 8))
		return store_sweep_step(store, err);
	return give_back(store, &fill, err);
}
