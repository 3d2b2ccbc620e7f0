/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/proc_maps.h"

#define LINES_MAX 8

struct seen {
	struct proc_map maps[LINES_MAX];
	char paths[LINES_MAX][128];
	size_t nr;
};

static int keep(const struct proc_map *map, void *ctx)
{
	struct seen *seen = ctx;

	if (seen->nr < LINES_MAX) {
		seen->maps[seen->nr] = *map;
		snprintf(seen->paths[seen->nr], 128, "%s", map->path);
	}
	seen->nr++;
	return 0;
}

/* Parses a copy, exactly as large as the text, so that a read behind it is seen by ASan. */
static int parse(const char *text, struct seen *seen, size_t *bad)
{
	size_t size = strlen(text);
	AUTO_FREE char *copy = malloc(size + 1);

	assert_non_null(copy);
	memcpy(copy, text, size + 1);
	*seen = (struct seen){ 0 };
	return proc_maps_parse(copy, size, keep, seen, bad);
}

static void parse_reads_the_kernel_s_format(void **state)
{
	static const struct {
		const char *what, *line;
		struct proc_map want;
	} cases[] = {
		{ "file",
		  "7f1c2a000000-7f1c2a1f5000 r-xp 00026000 fe:01 131103   /usr/lib/libc.so.6\n",
		  { 0x7f1c2a000000, 0x7f1c2a1f5000, 0x26000, 131103, 0xfe, 1, true, false,
		    "/usr/lib/libc.so.6" } },
		{ "data",
		  "1000-2000 rw-p 0000000a 08:10 7 /x\n",
		  { 0x1000, 0x2000, 10, 7, 8, 16, false, false, "/x" } },
		{ "anonymous",
		  "1000-2000 rwxp 00000000 00:00 0 \n",
		  { 0x1000, 0x2000, 0, 0, 0, 0, true, false, "" } },
		{ "vdso",
		  "7ffd00001000-7ffd00003000 r-xp 00000000 00:00 0  [vdso]\n",
		  { 0x7ffd00001000, 0x7ffd00003000, 0, 0, 0, 0, true, false, "[vdso]" } },
		{ "vsyscall at the end of memory",
		  "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n",
		  { 0xffffffffff600000, 0xffffffffff601000, 0, 0, 0, 0, true, false,
		    "[vsyscall]" } },
		{ "deleted",
		  "1000-2000 r-xp 00000000 08:01 9 /a b (deleted)\n",
		  { 0x1000, 0x2000, 0, 9, 8, 1, true, true, "/a b" } },
		{ "no file is never deleted",
		  "1000-2000 r-xp 00000000 00:00 0 /x (deleted)\n",
		  { 0x1000, 0x2000, 0, 0, 0, 0, true, false, "/x (deleted)" } },
		{ "newline in the path",
		  "1000-2000 r-xp 00000000 08:01 9 /a\\012b\\0123\n",
		  { 0x1000, 0x2000, 0, 9, 8, 1, true, false, "/a\nb\n3" } },
		{ "no newline at the end",
		  "1000-2000 r-xs 00000000 08:01 9 /x",
		  { 0x1000, 0x2000, 0, 9, 8, 1, true, false, "/x" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct proc_map *want = &cases[i].want;
		struct seen seen;
		size_t bad;

		assert_int_equal(parse(cases[i].line, &seen, &bad), 0);

		const struct proc_map *got = &seen.maps[0];

		if (seen.nr != 1 || bad != 0 || got->start != want->start ||
		    got->end != want->end || got->file_off != want->file_off ||
		    got->inode != want->inode || got->dev_major != want->dev_major ||
		    got->dev_minor != want->dev_minor || got->executable != want->executable ||
		    got->deleted != want->deleted || strcmp(seen.paths[0], want->path) != 0)
			fail_msg("%s: nr %zu, bad %zu, path \"%s\"", cases[i].what, seen.nr, bad,
				 seen.paths[0]);
	}
}

static void parse_counts_malformed_lines_and_goes_on(void **state)
{
	static const char *const bad_lines[] = {
		"",
		"x",
		"1000",
		"1000-",
		"2000-1000 r-xp 00000000 08:01 9 /x",
		"1000-1000 r-xp 00000000 08:01 9 /x",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 08",
		"1000-2000 r-xp 0 08:01",
		"1000-2000 r-xp 0 08:01 ",
		"1000-2000 r-xp 0 08:01 x",
		"1000-2000 r-xp 0 1ffffffff:01 9 /x",
		"10000000000000000-20000000000000000 r-xp 0 08:01 9 /x",
		"1000-2000 r-xp 0 08:01 99999999999999999999 /x",
		"-2000 r-xp 00000000 08:01 9 /x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad_lines); i++) {
		char text[256];
		struct seen seen;
		size_t bad;

		snprintf(text, sizeof(text), "%s\n1000-2000 r-xp 0 08:01 9 /good\n", bad_lines[i]);
		assert_int_equal(parse(text, &seen, &bad), 0);
		if (bad != 1 || seen.nr != 1 || strcmp(seen.paths[0], "/good") != 0)
			fail_msg("\"%s\": bad %zu, nr %zu", bad_lines[i], bad, seen.nr);
	}
}

static void parse_refuses_a_line_with_a_nul(void **state)
{
	char text[] = "1000-2000 r-xp 0 08:01 9 /a\0b\n";
	struct seen seen = { 0 };
	size_t bad;

	(void)state;
	assert_int_equal(proc_maps_parse(text, sizeof(text) - 1, keep, &seen, &bad), 0);
	assert_int_equal(bad, 1);
	assert_int_equal(seen.nr, 0);
}

static int stop_at_second(const struct proc_map *map, void *ctx)
{
	int *nr = ctx;

	(void)map;
	return ++*nr == 2 ? -E2BIG : 0;
}

static void parse_stops_when_told(void **state)
{
	char text[] = "1000-2000 r-xp 0 0:0 0 \n2000-3000 r-xp 0 0:0 0 \n3000-4000 r-xp 0 0:0 0 \n";
	int nr = 0;

	(void)state;
	assert_int_equal(proc_maps_parse(text, sizeof(text) - 1, stop_at_second, &nr, NULL),
			 -E2BIG);
	assert_int_equal(nr, 2);
}

static int find_self(const struct proc_map *map, void *ctx)
{
	uintptr_t here = (uintptr_t)find_self;

	if (map->executable && here >= map->start && here < map->end)
		*(bool *)ctx = true;
	return 0;
}

static void read_finds_this_code(void **state)
{
	bool found = false;

	(void)state;
	assert_int_equal(proc_maps_read(getpid(), find_self, &found, NULL), 0);
	assert_true(found);
}

static void read_reports_a_missing_process(void **state)
{
	struct fpl_err err;
	bool found;

	(void)state;
	assert_int_equal(proc_maps_read(0x7fffffff, find_self, &found, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "2147483647"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_reads_the_kernel_s_format),
		cmocka_unit_test(parse_counts_malformed_lines_and_goes_on),
		cmocka_unit_test(parse_refuses_a_line_with_a_nul),
		cmocka_unit_test(parse_stops_when_told),
		cmocka_unit_test(read_finds_this_code),
		cmocka_unit_test(read_reports_a_missing_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
