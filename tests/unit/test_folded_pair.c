/* SPDX-License-Identifier: Apache-2.0 */
/* cfi.folded and fp.folded: both or neither, and a folder that is not there is found early. */
#include "cmocka_all.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "compare/folded_pair.h"
#include "tests/support/text_file.h"
#include "tests/support/written.h"

#define FRAME(vaddr) ((uint64_t)1 << FPL_FRAME_OBJECT_SHIFT | (vaddr))

static char folder[] = "/tmp/fpless-test-XXXXXX";
static struct namer *namer;

static uint64_t walks[] = { FRAME(0x10), FRAME(0x20), 0x123456789abc, FRAME(0x10), FRAME(0x30) };
static uint64_t thread[] = { 0x123456789abc };
static struct profile_stack stacks[] = {
	{ .count = 3, .comm = "app", .nr_user = 2, .nr_kernel = 1, .nr_fp = 2, .frames = walks },
	{ .count = 4, .comm = "app", .nr_user = 1, .frames = walks },
	{ .count = 5,
	  .comm = "kworker",
	  .nr_kernel = 1,
	  .frames = thread,
	  .flags = FPL_SAMPLE_KTHREAD },
};
static struct profile_object object = { .id = 1, .path = "/app", .build_id = "" };
static struct profile profile = {
	.fp_max = 127,
	.objects = &object,
	.nr_objects = 1,
	.stacks = stacks,
	.nr_stacks = ARRAY_SIZE(stacks),
};

static int setup(void **state)
{
	(void)state;
	if (namer_create(&(struct namer_options){ .parser = NULL }, &namer, NULL))
		return -1;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	return where->level ? remove(path) : 0;
}

static void remove_all(void)
{
	assert_int_equal(nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static int teardown(void **state)
{
	(void)state;
	namer_destroy(namer);
	remove_all();
	return rmdir(folder);
}

static int write_pair(struct folded_pair *pair, struct fpl_err *err)
{
	struct recording recording;

	record_profile(&profile, namer, &recording);
	int error = folded_pair_write(pair, &recording, &(struct format_options){ 0 }, err);
	recording_fini(&recording);
	return error;
}

static size_t nr_found;

static int count_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)path;
	(void)st;
	(void)kind;
	nr_found += where->level > 0;
	return 0;
}

/* Files and folders below the test's own. */
static size_t nr_entries(void)
{
	nr_found = 0;
	assert_int_equal(nftw(folder, count_one, 8, FTW_PHYS), 0);
	return nr_found;
}

#define CFI_TEXT                                         \
	"app;[app+0x20];[app+0x10];[0x123456789abc] 3\n" \
	"app;[app+0x10] 4\n"                             \
	"kworker;[0x123456789abc] 5\n"
#define FP_TEXT                                          \
	"app;[app+0x30];[app+0x10];[0x123456789abc] 3\n" \
	"app 4\n"                                        \
	"kworker;[0x123456789abc] 5\n"

static void both_files_hold_every_sample(void **state)
{
	static const char *const folders[] = { "there", "new", "new2/" };

	(void)state;
	remove_all();
	assert_int_equal(mkdir("there", 0700), 0);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		AUTO_FREE char *cfi = NULL;
		AUTO_FREE char *fp = NULL;
		struct folded_pair pair;

		assert_true(asprintf(&cfi, "%s/cfi.folded", folders[i]) > 0);
		assert_true(asprintf(&fp, "%s/fp.folded", folders[i]) > 0);
		assert_int_equal(folded_pair_open(folders[i], &pair, NULL), 0);
		assert_int_not_equal(access(cfi, F_OK), 0);
		assert_int_equal(write_pair(&pair, NULL), 0);
		folded_pair_abort(&pair);
		assert_content(cfi, CFI_TEXT);
		assert_content(fp, FP_TEXT);
	}
	assert_int_equal(nr_entries(), 9);
}

static void unwritten_output_leaves_no_file(void **state)
{
	struct folded_pair pair;

	(void)state;
	remove_all();
	assert_int_equal(folded_pair_open("new", &pair, NULL), 0);
	folded_pair_abort(&pair);
	folded_pair_abort(&pair);
	assert_int_equal(nr_entries(), 0);

	assert_int_equal(mkdir("there", 0700), 0);
	write_text("there/cfi.folded", "old\n");
	assert_int_equal(folded_pair_open("there", &pair, NULL), 0);
	folded_pair_abort(&pair);
	assert_content("there/cfi.folded", "old\n");
	assert_int_equal(nr_entries(), 2);
}

static void folders_that_cannot_be_written_are_refused_when_opened(void **state)
{
	static const struct {
		const char *path, *says;
		int error;
	} cases[] = {
		{ "no/parent", "no/parent: No such file", -ENOENT },
		{ "", "No such file", -ENOENT },
		{ "file", "file: Not a directory", -ENOTDIR },
		{ "file/below", "file/below: Not a directory", -ENOTDIR },
		{ "dangling", "dangling: ", -EEXIST },
		{ "taken", "taken/fp.folded: Is a directory", -EISDIR },
		{ "/proc/self", "/proc/self/cfi.folded: ", -ENOENT },
		{ "/proc/new", "/proc/new: ", -ENOENT },
	};

	(void)state;
	remove_all();
	write_text("file", "text\n");
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_int_equal(mkdir("taken", 0700), 0);
	assert_int_equal(mkdir("taken/fp.folded", 0700), 0);
	size_t before = nr_entries();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct folded_pair pair;
		struct fpl_err err = { 0 };
		int error = folded_pair_open(cases[i].path, &pair, &err);

		if (error != cases[i].error || !strstr(err.msg, cases[i].says))
			fail_msg("%s: %d, \"%s\"", cases[i].path, error, err.msg);
		if (nr_entries() != before)
			fail_msg("%s: something is left behind", cases[i].path);
	}
}

/* @taken becomes a folder between opening and writing: the rename to it fails. */
static void failure_of_one_file_drops_both(void **state)
{
	static const char *const taken[] = { "new/cfi.folded", "new/fp.folded" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		struct folded_pair pair;
		struct fpl_err err = { 0 };

		remove_all();
		assert_int_equal(folded_pair_open("new", &pair, NULL), 0);
		assert_int_equal(mkdir(taken[i], 0700), 0);
		assert_int_equal(write_pair(&pair, &err), -EISDIR);
		assert_non_null(strstr(err.msg, taken[i]));
		folded_pair_abort(&pair);
		assert_int_equal(nr_entries(), 2); /* the two folders */
	}
}

static void a_full_device_leaves_the_other_file_alone(void **state)
{
	struct folded_pair pair;
	struct fpl_err err = { 0 };

	(void)state;
	remove_all();
	assert_int_equal(mkdir("there", 0700), 0);
	assert_int_equal(symlink("/dev/full", "there/fp.folded"), 0);
	assert_int_equal(folded_pair_open("there", &pair, NULL), 0);
	assert_int_equal(write_pair(&pair, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "there/fp.folded: No space"));
	assert_int_not_equal(access("there/cfi.folded", F_OK), 0);
	assert_int_equal(nr_entries(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_files_hold_every_sample),
		cmocka_unit_test(unwritten_output_leaves_no_file),
		cmocka_unit_test(folders_that_cannot_be_written_are_refused_when_opened),
		cmocka_unit_test(failure_of_one_file_drops_both),
		cmocka_unit_test(a_full_device_leaves_the_other_file_alone),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
