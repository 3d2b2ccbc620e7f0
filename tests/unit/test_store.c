/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "../support/recording_text.h"
#include "../support/store_folder.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/merge.h"
#include "recording/must_add.h"
#include "store/store.h"

#define S  UINT64_C(1000000000)
#define T0 (UINT64_C(1790000000) / 3600 * 3600 * S)

/* Numbers that follow from @state alone. */
static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static uint32_t function(struct recording *recording, uint32_t idx)
{
	char name[32], file[32];

	snprintf(name, sizeof(name), "f%u", idx);
	snprintf(file, sizeof(file), "f%u.c", idx % 7);
	return must_add_function(
		recording, &(struct recording_function){ .name = must_add_text(recording, name),
							 .file = must_add_text(recording, file),
							 .start_line = 10 * idx });
}

/* A frame; one in five has something inlined, one in seven is without a name. */
static uint32_t frame(struct recording *recording, uint32_t idx, bool kernel)
{
	char object[32];
	struct recording_line lines[2] = { { .function = function(recording, 100 + idx),
					     .line = 3 },
					   { .function = function(recording, idx), .line = idx } };
	struct recording_frame key = {
		.address = 0x1000 * idx + idx % 3,
		.start = 0x1000 * idx,
		.nr_lines = idx % 7 == 0   ? 0
			    : idx % 5 == 0 ? 2
					   : 1,
		.kind = kernel ? RECORDING_KERNEL : RECORDING_USER,
		.origin = idx % 11 == 0 ? FPL_ORIGIN_FP : FPL_ORIGIN_CFI,
	};

	snprintf(object, sizeof(object), kernel ? "[kernel.kallsyms]" : "/usr/lib/lib%u.so",
		 idx % 4);
	key.object = must_add_object(
		recording,
		&(struct recording_object){ .path = must_add_text(recording, object),
					    .build_id = must_add_text(recording, "abcd") });
	if (kernel) {
		key.origin = RECORDING_NO_ORIGIN;
		key.nr_lines = 1;
	}
	return must_add_frame(recording, &key, key.nr_lines == 2 ? lines : lines + 1);
}

static void add_stack(struct recording *recording, uint32_t *random)
{
	uint32_t frames[32], nr = 0, user = 1 + next(random) % 12, kernel = next(random) % 4;
	char comm[16], cgroup[32];
	struct recording_stack key = {
		.nr_user = (uint16_t)user,
		.nr_kernel = (uint16_t)kernel,
		.count = 1 + next(random) % 9,
		.stop = next(random) % 8 ? FPL_STOP_OUTERMOST : FPL_STOP_NO_CFI,
		.has = RECORDING_HAS_COMM | RECORDING_HAS_PID | RECORDING_HAS_CGROUP,
		.pid = next(random) % 50,
	};

	key.weight = key.count * 20408163;
	snprintf(comm, sizeof(comm), "task%u", next(random) % 3);
	snprintf(cgroup, sizeof(cgroup), "/system.slice/u%u.service", next(random) % 2);
	key.comm = must_add_text(recording, comm);
	key.cgroup = must_add_text(recording, cgroup);
	for (uint32_t i = 0; i < user; i++)
		frames[nr++] = frame(recording, 1 + (next(random) % 4) + 5 * (user - i), false);
	for (uint32_t i = 0; i < kernel; i++)
		frames[nr++] = frame(recording, 1 + i + 10 * (kernel - i), true);
	must_add_stack(recording, &key, frames);
}

/* Window number @seed: ten seconds of 49 Hz, with books that close. */
static void make(struct recording *ret, uint32_t seed, uint64_t start_ns)
{
	uint32_t random = seed * 77 + 1;
	uint64_t shown;

	must_recording_init(ret);
	ret->event = must_add_text(ret, "cpu-clock");
	ret->kernel = must_add_text(ret, "6.1");
	ret->hz = 49;
	ret->period = 20408163;
	ret->nr_cpus = 2;
	ret->start_unix_ns = start_ns;
	ret->duration_ns = 10 * S;
	for (size_t i = 0; i < 40; i++)
		add_stack(ret, &random);
	shown = recording_shown(ret);
	must_add_number(ret, "fired", shown + 5);
	must_add_number(ret, "shown", shown);
	must_add_number(ret, "idle", 2);
	must_add_number(ret, "lost.ring_full", 3);
	must_add_number(ret, "user_samples", shown);
	must_add_number(ret, "rss_peak_bytes", 123456);
	must_set_note(ret, "incomplete.most[].0.stop", "no_cfi");
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The folded lines of @recording in order, with all that a store keeps of frames. */
static char *folded(const struct recording *recording)
{
	const struct format_options options = { .annotate = true,
						.origin = true,
						.delimited = true,
						.inlined = FORMAT_INLINED_ALWAYS };
	AUTO_FREE char *text = recording_as(recording, "folded", &options);
	char **lines = must_calloc(strlen(text) + 1, sizeof(*lines)), *rest = NULL, *ret;
	size_t nr = 0, size;
	FILE *to = must_memstream(&ret, &size);

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		lines[nr++] = line;
	qsort(lines, nr, sizeof(*lines), compare_lines);
	for (size_t i = 0; i < nr; i++)
		fprintf(to, "%s\n", lines[i]);
	must_memstream_close(to);
	free(lines);
	return ret;
}

static struct store *open_reader(void)
{
	struct store *store = NULL;
	struct fpl_err err = { 0 };

	if (store_open_to_read(folder, &store, &err))
		fail_msg("%s", err.msg);
	return store;
}

static void insert(struct store *store, const struct recording *recording)
{
	struct fpl_err err = { 0 };

	if (store_insert(store, recording, "host=a", &err))
		fail_msg("%s", err.msg);
}

/* Windows @first .. @first + @nr - 1, one after the other, and their sum in *sum. */
static void fill(struct store *store, uint32_t first, uint32_t nr, struct recording *sum,
		 struct merge_result *result)
{
	for (uint32_t i = first; i < first + nr; i++) {
		CLEANUP(recording_fini) struct recording window = { 0 };

		make(&window, i, T0 + i * 10 * S);
		insert(store, &window);
		if (sum)
			assert_int_equal(recording_merge(sum, &window, NULL, result), 0);
	}
}

static size_t read_range(struct store *store, const struct store_range *range,
			 struct recording *ret)
{
	struct fpl_err err = { 0 };
	size_t nr;

	must_recording_init(ret);
	if (store_read(store, range, ret, &nr, &err))
		fail_msg("%s", err.msg);
	return nr;
}

static void assert_same(const struct recording *a, const struct recording *b)
{
	static const char *const keys[] = { "fired", "shown", "idle", "lost.ring_full",
					    "user_samples" };
	AUTO_FREE char *left = folded(a), *right = folded(b);

	assert_string_equal(left, right);
	assert_int_equal(recording_shown(a), recording_shown(b));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(recording_number(a, keys[i]), recording_number(b, keys[i]));
	assert_int_equal(a->duration_ns, b->duration_ns);
	assert_int_equal(a->start_unix_ns, b->start_unix_ns);
}

static void what_was_put_in_is_read(void **state)
{
	struct store *store = open_store(&unlimited);
	CLEANUP(recording_fini) struct recording window = { 0 }, got = { 0 };

	(void)state;
	make(&window, 1, T0);
	insert(store, &window);
	assert_int_equal(read_range(store, &all, &got), 1);
	assert_same(&window, &got);
	assert_string_equal(recording_string(&got, got.event), "cpu-clock");
	assert_int_equal(got.hz, 49);
	assert_int_equal(got.period, 20408163);
	assert_int_equal(got.nr_cpus, 2);
	assert_int_equal(got.stacks[0].has, RECORDING_HAS_COMM | RECORDING_HAS_CGROUP);
	/* peaks and notes are of one run, no sums */
	assert_int_equal(recording_number(&got, "rss_peak_bytes"), 0);
	store_close(store);
}

static void the_sum_of_windows_is_read(void **state)
{
	struct store *store = open_store(&unlimited);
	CLEANUP(recording_fini) struct recording sum = { 0 }, got = { 0 }, half = { 0 };
	struct merge_result result = { 0 };
	const struct store_range second = { T0 + 100 * S, T0 + 200 * S, NULL, NULL, NULL };

	(void)state;
	must_recording_init(&sum);
	fill(store, 0, 10, NULL, NULL);
	fill(store, 10, 10, &sum, &result);
	assert_int_equal(read_range(store, &second, &half), 10);
	assert_same(&sum, &half);
	store_close(store);

	/* and another process reads it */
	store = open_reader();
	assert_int_equal(read_range(store, &all, &got), 20);
	assert_int_equal(got.duration_ns, 200 * S);
	store_close(store);
}

static void readers_see_the_store_beside_its_writer(void **state)
{
	struct store *writer = open_store(&unlimited), *reader, *later;
	CLEANUP(recording_fini) struct recording before = { 0 }, after = { 0 };

	(void)state;
	fill(writer, 0, 3, NULL, NULL);
	reader = open_reader();
	fill(writer, 3, 2, NULL, NULL);
	later = open_reader();
	assert_int_equal(read_range(reader, &all, &before), 3);
	assert_int_equal(read_range(later, &all, &after), 5);
	store_close(later);
	store_close(reader);
	store_close(writer);
}

static void one_process_alone_writes(void **state)
{
	struct store *first = open_store(&unlimited), *second = NULL;
	struct fpl_err err = { 0 };

	(void)state;
	assert_int_equal(store_open_to_write(folder, &unlimited, &second, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "another fpless writes this store"));
	store_close(first);
	first = open_store(&unlimited);
	store_close(first);
}

static void filters_close_the_books(void **state)
{
	struct store *store = open_store(&unlimited);
	CLEANUP(recording_fini) struct recording got = { 0 }, whole = { 0 };
	const struct store_range some = { 0, INT64_MAX, "^task1$", "u0", NULL };
	uint64_t wanted = 0;

	(void)state;
	fill(store, 0, 5, NULL, NULL);
	read_range(store, &all, &whole);
	for (size_t i = 0; i < whole.nr_stacks; i++)
		if (!strcmp(recording_string(&whole, whole.stacks[i].comm), "task1") &&
		    strstr(recording_string(&whole, whole.stacks[i].cgroup), "u0"))
			wanted += whole.stacks[i].count;
	assert_int_equal(read_range(store, &some, &got), 5);
	assert_true(wanted > 0);
	assert_int_equal(recording_shown(&got), wanted);
	assert_int_equal(recording_number(&got, "shown"), wanted);
	assert_int_equal(recording_number(&got, "fired"),
			 wanted + recording_number(&got, "idle") +
				 recording_number(&got, "filtered") +
				 recording_number(&got, "lost.ring_full"));
	store_close(store);
}

static void a_bad_expression_is_refused(void **state)
{
	struct store *store = open_store(&unlimited);
	CLEANUP(recording_fini) struct recording got = { 0 };
	struct fpl_err err = { 0 };
	size_t nr;

	(void)state;
	must_recording_init(&got);
	assert_int_equal(
		store_read(store, &(struct store_range){ 0, 1, "(", NULL, NULL }, &got, &nr, &err),
		-EINVAL);
	store_close(store);
}

static void tend(struct store *store, uint64_t now_ns)
{
	struct fpl_err err = { 0 };
	int more = 1;

	for (size_t i = 0; more > 0 && i < 100000; i++)
		more = store_tend(store, now_ns, &err);
	if (more)
		fail_msg("%d: %s", more, err.msg);
}

struct listed {
	size_t nr, nr_of[3];
	uint64_t samples, lost, judged, complete, first_ns;
};

static int note_window(void *ctx, const struct store_window *window)
{
	struct listed *listed = ctx;

	listed->first_ns = listed->nr++ ? listed->first_ns : window->t0;
	listed->nr_of[window->level]++;
	listed->samples += window->samples;
	listed->lost += window->lost;
	listed->judged += window->judged;
	listed->complete += window->complete;
	return 0;
}

static struct listed list(struct store *store)
{
	struct listed ret = { 0 };
	struct fpl_err err = { 0 };

	if (store_list(store, &all, note_window, &ret, &err))
		fail_msg("%s", err.msg);
	return ret;
}

static void lists_have_what_windows_have(void **state)
{
	struct store *store = open_store(&unlimited);
	CLEANUP(recording_fini) struct recording got = { 0 };
	struct listed listed;
	uint64_t complete = 0;

	(void)state;
	fill(store, 0, 4, NULL, NULL);
	read_range(store, &all, &got);
	listed = list(store);
	for (size_t i = 0; i < got.nr_stacks; i++)
		complete += got.stacks[i].stop == FPL_STOP_OUTERMOST ? got.stacks[i].count : 0;
	assert_int_equal(listed.nr, 4);
	assert_int_equal(listed.samples, recording_shown(&got));
	assert_int_equal(listed.judged, recording_shown(&got));
	assert_int_equal(listed.complete, complete);
	assert_int_equal(listed.lost, 4 * 3);
	store_close(store);
}

static void old_windows_go(void **state)
{
	const struct store_limits limits = { .keep_ns = 100 * S };
	struct store *store = open_store(&limits);
	CLEANUP(recording_fini) struct recording sum = { 0 }, got = { 0 };
	struct merge_result result = { 0 };

	(void)state;
	must_recording_init(&sum);
	fill(store, 0, 190, NULL, NULL);
	fill(store, 190, 10, &sum, &result);
	/* the last began at 1990 s and ended at 2000 s */
	tend(store, T0 + 2005 * S);
	assert_int_equal(read_range(store, &all, &got), 10);
	assert_same(&sum, &got);
	store_close(store);
}

static void windows_become_one_and_stay_their_sum(void **state)
{
	const struct store_limits limits = { .roll_after_ns = { 600 * S, 7200 * S } };
	struct store *store = open_store(&limits);
	CLEANUP(recording_fini) struct recording before = { 0 }, after = { 0 }, later = { 0 };
	struct listed listed;

	(void)state;
	fill(store, 0, 360, NULL, NULL); /* an hour */
	read_range(store, &all, &before);
	tend(store, T0 + 3600 * S);
	listed = list(store);
	/* the last ten minutes are as they were */
	assert_int_equal(listed.nr_of[0], 60);
	assert_int_equal(listed.nr_of[1], 10);
	read_range(store, &all, &after);
	assert_same(&before, &after);
	tend(store, T0 + 3 * 3600 * S);
	listed = list(store);
	assert_int_equal(listed.nr, 1);
	assert_int_equal(listed.nr_of[2], 1);
	read_range(store, &all, &later);
	assert_same(&before, &later);
	store_close(store);
}

static int64_t count_rows(const char *table)
{
	char query[64];
	sqlite3 *db;
	sqlite3_stmt *statement;
	int64_t ret;

	snprintf(query, sizeof(query), "SELECT count(*) FROM %s", table);
	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	ret = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return ret;
}

/* A recording whose one function is called "gone@nr". */
static void make_passing(struct recording *ret, uint32_t nr)
{
	char name[32];
	struct recording_line line = { 0 };
	uint32_t id;

	make(ret, 1, T0 + nr * 10 * S);
	snprintf(name, sizeof(name), "gone%u", nr);
	line.function = must_add_function(
		ret, &(struct recording_function){ .name = must_add_text(ret, name) });
	id = must_add_frame(ret,
			    &(struct recording_frame){ .address = RECORDING_NO_ADDRESS,
						       .start = RECORDING_NO_ADDRESS,
						       .nr_lines = 1,
						       .origin = FPL_ORIGIN_CFI },
			    &line);
	must_add_stack(ret,
		       &(struct recording_stack){ .count = 1,
						  .nr_user = 1,
						  .has = RECORDING_HAS_COMM,
						  .comm = must_add_text(ret, name) },
		       &id);
}

static void rows_that_nothing_refers_to_go(void **state)
{
	const struct store_limits limits = { .keep_ns = 1000 * S };
	struct store *store = open_store(&limits);
	CLEANUP(recording_fini) struct recording before = { 0 }, after = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 1300; i++) {
		CLEANUP(recording_fini) struct recording window = { 0 };

		make_passing(&window, i);
		insert(store, &window);
	}
	assert_true(count_rows("function") > 1300);
	tend(store, T0 + 13005 * S);
	read_range(store, &all, &before);
	/* a hundred functions of that kind are left, and those of every window */
	assert_int_equal(count_rows("window"), 100);
	assert_int_equal(count_rows("series"), 100 + 6);
	assert_true(count_rows("function") < 300);
	assert_true(count_rows("node") < 1000);
	assert_int_equal(store_check(store, &err), 0);
	/* ids are given again, and nothing is mixed up */
	for (uint32_t i = 1300; i < 1400; i++) {
		CLEANUP(recording_fini) struct recording window = { 0 };

		make_passing(&window, i);
		insert(store, &window);
		assert_true(store_tend(store, T0 + 13005 * S, &err) >= 0);
	}
	assert_int_equal(store_check(store, &err), 0);
	assert_int_equal(read_range(store,
				    &(struct store_range){ 0, T0 + 13000 * S, NULL, NULL, NULL },
				    &after),
			 100);
	assert_same(&before, &after);
	store_close(store);
}

/* Check that of 3000 windows the newest stay, @least or more, within 1 MiB. */
static void check_oldest_go(const struct store_limits *limits, size_t least)
{
	struct store *store = open_store(limits);
	struct fpl_err err = { 0 };
	struct listed listed;
	struct stat st;

	for (uint32_t i = 0; i < 3000; i++) {
		CLEANUP(recording_fini) struct recording window = { 0 };
		int more = 1;

		make_passing(&window, i);
		insert(store, &window);
		for (size_t j = 0; more > 0 && j < 100; j++)
			more = store_tend(store, T0, &err);
		assert_true(more >= 0);
	}
	assert_int_equal(store_check(store, &err), 0);
	listed = list(store);
	assert_true(listed.nr >= least && listed.nr < 3000);
	assert_int_equal(listed.first_ns, T0 + (3000 - listed.nr) * 10 * S);
	store_close(store);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size <= 1 << 20);
}

static void a_full_store_lets_the_oldest_go(void **state)
{
	(void)state;
	check_oldest_go(&(struct store_limits){ .bytes = 1 << 20 }, 100);
}

static void a_store_on_a_low_disk_does_not_grow(void **state)
{
	(void)state;
	/* no disk has so much room */
	check_oldest_go(&(struct store_limits){ .reserve = INT64_MAX }, 1);
}

static void a_store_that_is_too_small_says_so(void **state)
{
	const struct store_limits limits = { .bytes = 100 << 10 };
	struct store *store = open_store(&limits);
	CLEANUP(recording_fini) struct recording got = { 0 };
	struct fpl_err err = { 0 };
	int code = 0;
	size_t kept;

	(void)state;
	for (kept = 0; !code && kept < 3000; kept++) {
		CLEANUP(recording_fini) struct recording window = { 0 };

		make_passing(&window, (uint32_t)kept);
		code = store_insert(store, &window, "", &err);
	}
	assert_int_equal(code, -ENOSPC);
	/* what is in it stays, and is right */
	assert_int_equal(read_range(store, &all, &got), kept - 1);
	assert_int_equal(store_check(store, &err), 0);
	store_close(store);
}

static void recordings_that_are_no_windows_are_refused(void **state)
{
	struct store *store = open_store(&unlimited);
	CLEANUP(recording_fini) struct recording timeless = { 0 }, heap = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	make(&timeless, 1, 0);
	assert_int_equal(store_insert(store, &timeless, "", &err), -EINVAL);
	make(&heap, 1, T0);
	heap.has_heap = true;
	assert_int_equal(store_insert(store, &heap, "", &err), -EINVAL);
	assert_int_equal(list(store).nr, 0);
	store_close(store);
}

static void sql(const char *text)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void changed_stores_are_refused(void **state)
{
	static const struct {
		const char *what, *sql, *message;
		int code;
	} cases[] = {
		{ "newer", "UPDATE meta SET value=2",
		  "schema 2, made by a newer fpless; this one knows 1", -EPROTO },
		{ "older than any", "UPDATE meta SET value=0", "damaged", -EBADMSG },
		{ "no schema", "DELETE FROM meta", "damaged", -EBADMSG },
		{ "another program", "PRAGMA application_id=5", "no store of fpless", -EPROTO },
		{ "a trigger",
		  "CREATE TRIGGER t AFTER DELETE ON node BEGIN DELETE FROM window; END", "damaged",
		  -EBADMSG },
		{ "a view", "DROP TABLE node; CREATE VIEW node AS SELECT 1 AS id", "damaged",
		  -EBADMSG },
		{ "a parent behind its child", "UPDATE node SET parent=id+1 WHERE id=2", "damaged",
		  -EBADMSG },
		{ "another name", "UPDATE string SET text='x' WHERE id=3", "damaged", -EBADMSG },
		{ "a row is missing", "DELETE FROM node WHERE id=2", "damaged", -EBADMSG },
		{ "a text in place of a number", "UPDATE series SET comm='x' WHERE id=1", "damaged",
		  -EBADMSG },
		{ "no function", "DELETE FROM function", "damaged", -EBADMSG },
		{ "another count", "UPDATE window SET samples=samples+1", "damaged", -EBADMSG },
		{ "another time", "UPDATE window SET t1=t1+1", "damaged", -EBADMSG },
		{ "data of another window",
		  "UPDATE window SET data=(SELECT data FROM window WHERE id=2) WHERE id=1",
		  "damaged", -EBADMSG },
		{ "no data", "UPDATE window SET data=x'' WHERE id=1", "damaged", -EBADMSG },
		{ "no zstd", "UPDATE window SET data=x'00112233' WHERE id=1", "damaged", -EBADMSG },
		{ "a huge frame",
		  "UPDATE window SET data=x'28b52ffde000000000010000000000' WHERE id=1", "damaged",
		  -EBADMSG },
		{ "a row far away",
		  "UPDATE node SET id=1000000000 WHERE id=(SELECT max(id) FROM node)", "damaged",
		  -EBADMSG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct store *store = open_store(&unlimited);
		CLEANUP(recording_fini) struct recording got = { 0 };
		struct fpl_err err = { 0 };
		size_t nr;
		int code;

		fill(store, 0, 2, NULL, NULL);
		store_close(store);
		sql(cases[i].sql);
		store = NULL;
		must_recording_init(&got);
		code = store_open_to_read(folder, &store, &err);
		if (!code)
			code = store_read(store, &all, &got, &nr, &err);
		if (code != cases[i].code || !strstr(err.msg, cases[i].message))
			fail_msg("%s: %d: %s", cases[i].what, code, err.msg);
		store_close(store);
		remove_folder(state);
		make_folder(state);
	}
}

static char *load(size_t *ret_size)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	char *bytes;

	assert_true(fd >= 0 && !fstat(fd, &st));
	bytes = must_malloc((size_t)st.st_size);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

static void save(const char *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* Reading a damaged store gives an error or @right; where windows are missing, a look at all
 * of it says that. */
static void judge_damaged(const char *right, const char *what, size_t at)
{
	struct store *store = NULL;
	CLEANUP(recording_fini) struct recording got = { 0 };
	struct fpl_err err = { 0 };
	size_t nr = 0;
	int code = store_open_to_read(folder, &store, &err);

	must_recording_init(&got);
	if (!code)
		code = store_read(store, &all, &got, &nr, &err);
	if (!code) {
		AUTO_FREE char *text = folded(&got);

		if (strcmp(text, right) != 0 && !store_check(store, &err))
			fail_msg("%s at %zu: other data, and nothing says so", what, at);
	} else {
		assert_true(err.msg[0]);
	}
	store_close(store);
}

static void damaged_bytes_are_errors_or_change_nothing(void **state)
{
	struct store *store = open_store(&unlimited);
	CLEANUP(recording_fini) struct recording sum = { 0 };
	AUTO_FREE char *bytes = NULL, *right = NULL;
	struct merge_result result = { 0 };
	uint32_t random = 5;
	size_t size;

	(void)state;
	must_recording_init(&sum);
	fill(store, 0, 3, &sum, &result);
	store_close(store);
	right = folded(&sum);
	bytes = load(&size);
	judge_damaged(right, "nothing", 0);
	for (size_t i = 0; i < 60; i++) {
		size_t length = i < 30 ? i * 37 : next(&random) % size;

		save(bytes, length);
		judge_damaged(right, "cut", length);
	}
	for (size_t i = 0; i < 400; i++) {
		/* many in the first page, which has the schema */
		size_t at = next(&random) % (i % 4 ? size : 4096);
		char bit = (char)(1 << next(&random) % 8);

		bytes[at] ^= bit;
		save(bytes, size);
		judge_damaged(right, "a bit", at);
		bytes[at] ^= bit;
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(what_was_put_in_is_read),
		TEST(the_sum_of_windows_is_read),
		TEST(readers_see_the_store_beside_its_writer),
		TEST(one_process_alone_writes),
		TEST(filters_close_the_books),
		TEST(a_bad_expression_is_refused),
		TEST(lists_have_what_windows_have),
		TEST(old_windows_go),
		TEST(windows_become_one_and_stay_their_sum),
		TEST(rows_that_nothing_refers_to_go),
		TEST(a_full_store_lets_the_oldest_go),
		TEST(a_store_on_a_low_disk_does_not_grow),
		TEST(a_store_that_is_too_small_says_so),
		TEST(recordings_that_are_no_windows_are_refused),
		TEST(changed_stores_are_refused),
		TEST(damaged_bytes_are_errors_or_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
