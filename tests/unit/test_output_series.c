/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are made while a run goes on, here and by a helper. */
#include "cmocka_all.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/output_series.h"

static char folder[] = "/tmp/fpless-series-XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

/* nftw_fn */
static int drop_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static int drop_folder(void **state)
{
	(void)state;
	return nftw(folder, drop_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void times_are_utc_and_sort(void **state)
{
	char stamp[OUTPUT_SERIES_STAMP];

	(void)state;
	output_series_stamp(1700000000 * NS_PER_S + 7 * NS_PER_MS + 999, true, stamp);
	assert_string_equal(stamp, "20231114T221320.007Z");
	output_series_stamp(1700000000 * NS_PER_S + 999 * NS_PER_MS, false, stamp);
	assert_string_equal(stamp, "20231114T221320Z");
	output_series_stamp(UINT64_MAX, true, stamp); /* whatever a parent asks for */
	assert_true(strlen(stamp) < OUTPUT_SERIES_STAMP);
}

static void patterns_have_a_place_in_the_name(void **state)
{
	(void)state;
	assert_true(output_series_is_pattern("a/x-%t.folded"));
	assert_true(output_series_is_pattern("%t"));
	assert_false(output_series_is_pattern("%t/x.folded"));
	assert_false(output_series_is_pattern("x.folded"));
}

static int no_reduction(void)
{
	return 0;
}

static bool has_file(const char *name, const char *text)
{
	AUTO_FREE char *path = NULL;
	char read[64] = "";
	FILE *file;

	if (asprintf(&path, "%s/moved/%s", folder, name) < 0)
		return false;
	file = fopen(path, "r");
	if (!file)
		return false;
	if (!fgets(read, sizeof(read), file))
		*read = '\0';
	fclose(file);
	return !strcmp(read, text);
}

/* The link of another user, who has foreseen the name. */
static void plant_link(void)
{
	AUTO_FREE char *victim = NULL, *link = NULL;
	FILE *file;

	assert_true(asprintf(&victim, "%s/moved/victim", folder) > 0);
	assert_true(asprintf(&link, "%s/moved/x-19700101T000001Z.txt", folder) > 0);
	file = fopen(victim, "w");
	assert_non_null(file);
	fputs("mine", file);
	fclose(file);
	(void)unlink(link);
	assert_int_equal(symlink("victim", link), 0);
}

/* One file is committed, one aborted, one replaced; the folder is moved meanwhile. */
static void make_some(struct output_series *series)
{
	struct output_file file;
	struct fpl_err err;

	plant_link();
	assert_int_equal(output_series_next(series, NS_PER_S, &file, &err), 0);
	fputs("one", file.stream);
	assert_false(has_file("x-19700101T000001Z.txt", "one"));
	assert_int_equal(output_file_commit(&file, &err), 0);
	assert_true(has_file("x-19700101T000001Z.txt", "one"));
	assert_int_equal(output_series_next(series, 2 * NS_PER_S, &file, &err), 0);
	fputs("two", file.stream);
	output_file_abort(&file);
	assert_int_equal(output_series_next(series, NS_PER_S, &file, &err), 0);
	fputs("three", file.stream);
	assert_int_equal(output_file_commit(&file, &err), 0);
	assert_true(has_file("x-19700101T000001Z.txt", "three"));
	assert_true(has_file("victim", "mine"));
	assert_false(has_file("x-19700101T000002Z.txt", "two"));
}

static void files_go_where_the_folder_was(void **state)
{
	(void)state;
	for (int with_helper = 0; with_helper < 2; with_helper++) {
		struct privileged_helper helper = HELPER_NONE;
		struct output_series series = { 0 };
		AUTO_FREE char *first = NULL, *moved = NULL, *pattern = NULL;
		struct fpl_err err = { 0 };

		assert_true(asprintf(&first, "%s/first", folder) > 0);
		assert_true(asprintf(&moved, "%s/moved", folder) > 0);
		assert_true(asprintf(&pattern, "%s/x-%%t.txt", first) > 0);
		if (!with_helper)
			assert_int_equal(mkdir(first, 0700), 0);
		else
			assert_int_equal(rename(moved, first), 0);
		if (output_series_open(pattern, false, &series, &err))
			fail_msg("%s", err.msg);
		if (with_helper) {
			assert_int_equal(output_series_delegate(&series, &helper, &err), 0);
			assert_int_equal(helper_start(&helper, no_reduction, &err), 0);
		}
		assert_int_equal(rename(first, moved), 0);
		make_some(&series);
		helper_fini(&helper);
		output_series_close(&series);
	}
}

static void a_folder_that_is_not_there_is_told_at_once(void **state)
{
	struct output_series series = { 0 };
	struct fpl_err err = { 0 };

	(void)state;
	assert_int_equal(output_series_open("/nonexistent/x-%t", false, &series, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/nonexistent/x-%t"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_utc_and_sort),
		cmocka_unit_test(patterns_have_a_place_in_the_name),
		cmocka_unit_test(files_go_where_the_folder_was),
		cmocka_unit_test(a_folder_that_is_not_there_is_told_at_once),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
