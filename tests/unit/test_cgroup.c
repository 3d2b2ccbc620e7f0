/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "proc/cgroup.h"
#include "proc/cgroup_names.h"

#define V1     "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu\n"
#define OTHERS "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:5 / /proc rw shared:1 - proc proc rw\n"

static void the_mount_is_found_among_others(void **state)
{
	static const struct {
		const char *what, *text, *path;
		bool has_v1;
	} cases[] = {
		{ "nothing", "", "", false },
		{ "no cgroups", OTHERS, "", false },
		{ "v2", OTHERS "30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
		  "/sys/fs/cgroup", false },
		{ "no newline", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
		  "/sys/fs/cgroup", false },
		{ "v1", OTHERS V1, "", true },
		{ "hybrid", V1 "38 31 0:35 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" V1,
		  "/sys/fs/cgroup/unified", true },
		{ "the first of two",
		  "1 2 0:26 / /a rw - cgroup2 x rw\n1 2 0:26 / /b rw - cgroup2 x rw\n", "/a",
		  false },
		{ "a part of it before the whole",
		  "1 2 0:26 /sub /a rw - cgroup2 x rw\n1 2 0:26 / /b rw - cgroup2 x rw\n"
		  "1 2 0:26 /sub /c rw - cgroup2 x rw\n",
		  "/b", false },
		{ "a part alone", "1 2 0:26 /sub /a rw - cgroup2 x rw\n", "/a", false },
		{ "blanks in the path", "1 2 0:26 / /a\\040b\\134c rw - cgroup2 x rw\n", "/a b\\c",
		  false },
		{ "no path, behind a part of it",
		  "1 2 0:26 /sub /a rw - cgroup2 x rw\n1 2 0:26 /  - cgroup2 x rw\n", "/a", false },
		{ "a name that looks like one", "1 2 0:26 / /cgroup2 rw - ext4 cgroup2 rw\n", "",
		  false },
		{ "a line cut short", "1 2 0:26 / - cgroup2\n - cgroup2\n-\n\n", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cgroup_mount mount;
		AUTO_FREE char *text = strdup(cases[i].text);

		assert_non_null(text);
		cgroup_mount_parse(text, &mount);
		if (strcmp(mount.path, cases[i].path) != 0 || mount.has_v1 != cases[i].has_v1)
			fail_msg("%s: \"%s\", %d", cases[i].what, mount.path, mount.has_v1);
	}
}

static void a_path_too_long_is_no_mount(void **state)
{
	struct cgroup_mount mount;
	AUTO_FREE char *text = malloc(3 * PATH_MAX);

	(void)state;
	assert_non_null(text);
	snprintf(text, 3 * PATH_MAX, "1 2 0:26 / %0*d rw - cgroup2 x rw\n", PATH_MAX, 0);
	cgroup_mount_parse(text, &mount);
	assert_string_equal(mount.path, "");
}

static void non_cgroup_is_refused(void **state)
{
	struct fpl_err err;
	int fd = -1, code = cgroup_open("/no/such/cgroup/anywhere", &fd, &err);

	(void)state;
	assert_int_equal(fd, -1);
	assert_true(code == -ESRCH || code == -EOPNOTSUPP);
	assert_non_null(strstr(err.msg, "/no/such/cgroup/anywhere"));
	code = cgroup_open("/tmp", &fd, &err); /* a directory, but not that kind */
	assert_true(code == -ESRCH || code == -EOPNOTSUPP);
	code = cgroup_open("/dev/null", &fd, &err);
	assert_true(code == -ESRCH || code == -EOPNOTSUPP);
}

static void names_of_seen_ids_are_handed_over_in_order(void **state)
{
	const uint64_t far = 1ull << 62; /* unused ids */
	struct cgroup_names *names;
	struct cgroup_name *list;
	struct fpl_err err;
	size_t nr;

	(void)state;
	assert_int_equal(cgroup_names_create(&names, &err), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/c%d", (int)i);
		cgroup_names_add(names, far + i, path);
		cgroup_names_add(names, far + i, "/another");
	}
	cgroup_names_see(names, far + 7);
	cgroup_names_see(names, far + 7);
	cgroup_names_see(names, far + 999);
	cgroup_names_see(names, far + 3);
	cgroup_names_see(names, far + 5000); /* gone, whoever it was */
	cgroup_names_see(names, 0);
	assert_int_equal(cgroup_names_take(names, &list, &nr), 0);
	assert_int_equal(nr, 4);
	assert_string_equal(list[0].path, "/c3");
	assert_string_equal(list[1].path, "/c7");
	assert_string_equal(list[2].path, "/c999");
	assert_true(list[3].id == far + 5000 && !list[3].path);
	for (size_t i = 0; i < nr; i++)
		free(list[i].path);
	free(list);
	cgroup_names_destroy(names);
}

static void more_names_than_there_is_room_for_are_left_out(void **state)
{
	const uint64_t far = 1ull << 62;
	struct cgroup_names *names;
	struct cgroup_name *list;
	struct fpl_err err;
	size_t nr;

	(void)state;
	assert_int_equal(cgroup_names_create(&names, &err), 0);
	for (uint64_t i = 0; i < 2 * CGROUP_NAMES_MAX; i++)
		cgroup_names_add(names, far + i, "/x");
	cgroup_names_see(names, far);
	cgroup_names_see(names, far + 2 * CGROUP_NAMES_MAX - 1);
	assert_int_equal(cgroup_names_take(names, &list, &nr), 0);
	assert_int_equal(nr, 1);
	free(list[0].path);
	free(list);
	cgroup_names_destroy(names);
}

static void paths_have_a_bound_together(void **state)
{
	const uint64_t far = 1ull << 62;
	struct cgroup_names *names;
	struct cgroup_name *list;
	struct fpl_err err;
	size_t nr, nr_paths = 0;
	char path[PATH_MAX];

	(void)state;
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(cgroup_names_create(&names, &err), 0);
	for (uint64_t i = 0; i < 5000; i++) {
		cgroup_names_add(names, far + i, path);
		cgroup_names_see(names, far + i);
	}
	assert_int_equal(cgroup_names_take(names, &list, &nr), 0);
	assert_int_equal(nr, 5000);
	for (size_t i = 0; i < nr; i++) {
		nr_paths += list[i].path != NULL;
		free(list[i].path);
	}
	assert_in_range(nr_paths, CGROUP_BYTES_MAX / PATH_MAX - 64, CGROUP_BYTES_MAX / PATH_MAX);
	free(list);
	cgroup_names_destroy(names);
}

static void free_names(struct cgroup_name *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(list[i].path);
	free(list);
}

static void a_part_of_a_run_has_what_was_seen_in_it_or_just_before(void **state)
{
	static const size_t nr_in_part[] = { 2, 2, 0, 1 };
	const uint64_t far = 1ull << 62;
	struct cgroup_names *names;
	struct cgroup_name *list;
	struct fpl_err err;
	size_t nr;

	(void)state;
	assert_int_equal(cgroup_names_create(&names, &err), 0);
	cgroup_names_add(names, far + 2, "/b");
	cgroup_names_add(names, far + 1, "/a");
	cgroup_names_see(names, far + 2);
	cgroup_names_see(names, far + 1);
	for (size_t i = 0; i < ARRAY_SIZE(nr_in_part); i++) {
		if (i == 3)
			cgroup_names_see(names, far + 1);
		assert_int_equal(cgroup_names_copy(names, &list, &nr), 0);
		assert_int_equal(nr, nr_in_part[i]);
		if (nr)
			assert_string_equal(list[0].path, "/a");
		if (nr > 1)
			assert_string_equal(list[1].path, "/b");
		free_names(list, nr);
	}
	cgroup_names_destroy(names);
}

/* For weeks: each part has @nr_each new ones with paths of @path_len, of which the last is seen. */
static void run_for_long(size_t nr_parts, size_t nr_each, size_t path_len)
{
	const uint64_t far = 1ull << 62;
	struct cgroup_names *names;
	struct cgroup_name *list;
	struct fpl_err err;
	char path[PATH_MAX] = "";
	uint64_t id = far;
	size_t nr;

	memset(path, 'p', path_len);
	assert_int_equal(cgroup_names_create(&names, &err), 0);
	for (size_t part = 0; part < nr_parts; part++) {
		for (size_t i = 0; i < nr_each; i++)
			cgroup_names_add(names, ++id, path);
		/* the first one is in use all the time, and is not forgotten */
		cgroup_names_see(names, far + 1);
		cgroup_names_see(names, id);
		assert_int_equal(cgroup_names_copy(names, &list, &nr), 0);
		assert_in_range(nr, 2, 3);
		assert_int_equal(list[0].id, far + 1);
		assert_int_equal(list[nr - 1].id, id);
		if (!list[0].path || !list[nr - 1].path)
			fail_msg("part %zu of %zu has lost a path", part, nr_parts);
		free_names(list, nr);
	}
	cgroup_names_destroy(names);
}

static void those_that_have_gone_make_room(void **state)
{
	(void)state;
	run_for_long(100, 5000, 2);
	run_for_long(100, 1000, PATH_MAX - 1);
}

static void those_that_are_there_are_not_forgotten(void **state)
{
	const uint64_t far = 1ull << 62;
	struct cgroup_names *names;
	struct cgroup_name *list;
	struct cgroup_mount mount = { 0 };
	struct fpl_err err;
	struct stat st;
	size_t nr;

	(void)state;
	if (cgroup_mount_find(&mount, &err) || !mount.path[0] || stat(mount.path, &st)) {
		print_message("no cgroups of version 2 here\n");
		return;
	}
	assert_int_equal(cgroup_names_create(&names, &err), 0);
	for (uint64_t part = 0; part < 4; part++) {
		for (uint64_t i = 0; i < CGROUP_NAMES_MAX / 2; i++)
			cgroup_names_add(names, far + part * CGROUP_NAMES_MAX + i, "/x");
		assert_int_equal(cgroup_names_copy(names, &list, &nr), 0);
		assert_int_equal(nr, 0);
		free_names(list, nr);
	}
	cgroup_names_see(names, st.st_ino);
	assert_int_equal(cgroup_names_copy(names, &list, &nr), 0);
	assert_int_equal(nr, 1);
	assert_string_equal(list[0].path, "/");
	free_names(list, nr);
	cgroup_names_destroy(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mount_is_found_among_others),
		cmocka_unit_test(a_path_too_long_is_no_mount),
		cmocka_unit_test(non_cgroup_is_refused),
		cmocka_unit_test(names_of_seen_ids_are_handed_over_in_order),
		cmocka_unit_test(more_names_than_there_is_room_for_are_left_out),
		cmocka_unit_test(paths_have_a_bound_together),
		cmocka_unit_test(a_part_of_a_run_has_what_was_seen_in_it_or_just_before),
		cmocka_unit_test(those_that_have_gone_make_room),
		cmocka_unit_test(those_that_are_there_are_not_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
