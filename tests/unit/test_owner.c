/* SPDX-License-Identifier: Apache-2.0 */
/* Whom programs are charged to: users, and cgroups where a user is not limited. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "proc/cgroup.h"
#include "proc/owner.h"

#define V1 "9:name=systemd:/\n4:memory:/0::/wrong\n"

static void a_cgroup_is_the_first_parts_of_its_path(void **state)
{
	static const struct {
		const char *what, *text, *path; /* NULL: none */
	} cases[] = {
		{ "nothing", "", NULL },
		{ "version 1 alone", V1, NULL },
		{ "the root", "0::/\n", "/" },
		{ "behind version 1", V1 "0::/a.slice\n", "/a.slice" },
		{ "a service", "0::/system.slice/ssh.service\n", "/system.slice/ssh.service" },
		{ "a pod", "0::/kubepods.slice/kubepods-burstable.slice/pod1/x\n",
		  "/kubepods.slice/kubepods-burstable.slice/pod1" },
		{ "a pod, without systemd", "0::/kubepods/burstable/pod1/x/y\n",
		  "/kubepods/burstable/pod1" },
		{ "a name that looks like it", "0::/kubepods1/a/b\n", "/kubepods1/a" },
		{ "without an end", "0::/docker/0123", "/docker/0123" },
		{ "outside of our namespace", "0::/../../a/b/c\n", "/../../a/b" },
		{ "above it", "0::/../..\n", "/../.." },
		{ "a pod outside of it", "0::/../../kubepods/a/b/c\n", "/../../kubepods/a/b" },
		{ "two dots are not all of a part", "0::/..a/b/c\n", "/..a/b" },
		{ "no path", "0::\n", NULL },
		{ "a number that ends in 0", "10::/a/b\n", NULL },
	};
	char path[OWNER_PATH_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool found = owner_parse_cgroup(cases[i].text, path);

		if (found != !!cases[i].path || (found && strcmp(path, cases[i].path) != 0))
			fail_msg("%s: \"%s\"", cases[i].what, found ? path : "none");
	}
}

static void a_path_is_cut_where_there_is_no_room(void **state)
{
	char text[2 * OWNER_PATH_SIZE] = "0::/", path[OWNER_PATH_SIZE];

	(void)state;
	memset(text + 4, 'a', sizeof(text) - 5);
	assert_true(owner_parse_cgroup(text, path));
	assert_int_equal(strlen(path), OWNER_PATH_SIZE - 1);
	/* the same where all of it leads up */
	for (size_t i = 3; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, "/..", 4);
	assert_true(owner_parse_cgroup(text, path));
	assert_int_equal(strlen(path), OWNER_PATH_SIZE - 1);
}

static void a_cgroup_has_one_number_and_is_limited(void **state)
{
	const uint64_t a = owner_of_cgroup("/a/b", 0), b = owner_of_cgroup("/a/c", 0);
	char text[OWNER_TEXT_SIZE];

	(void)state;
	assert_int_not_equal(a, b);
	assert_int_equal(owner_of_cgroup("/a/b", geteuid()), a);
	assert_true(owner_is_cgroup(a) && owner_is_limited(a));
	assert_string_equal(owner_cgroup(a), "/a/b");
	assert_string_equal(owner_text(b, text), "cgroup /a/c");
	assert_string_equal(owner_text(owner_of_cgroup("/\x1b", 0), text), "cgroup /\\x1b");
}

/* Root's processes outside of all cgroups, or beside fpless, are charged to root. */
static void the_root_and_our_own_cgroup_are_no_owners(void **state)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	AUTO_FREE char *line = NULL;
	char own[OWNER_PATH_SIZE];
	size_t size = 0;
	bool found = false;

	(void)state;
	assert_int_equal(owner_of_cgroup("/", 0), 0);
	while (file && !found && getline(&line, &size, file) > 0)
		found = owner_parse_cgroup(line, own);
	if (file)
		(void)fclose(file);
	if (found)
		assert_int_equal(owner_of_cgroup(own, 1000), 1000);
}

static void a_user_is_no_cgroup(void **state)
{
	char text[OWNER_TEXT_SIZE];

	(void)state;
	assert_false(owner_is_cgroup(0) || owner_is_cgroup(1000) || owner_is_cgroup(UINT32_MAX) ||
		     owner_is_cgroup(OWNER_UNKNOWN));
	assert_false(owner_is_limited(0) || owner_is_limited(geteuid()));
	assert_true(owner_is_limited(4242) && owner_is_limited(OWNER_UNKNOWN));
	assert_null(owner_cgroup(1000));
	assert_string_equal(owner_text(1000, text), "user 1000");
}

/* The pid of a process that has gone. */
static pid_t gone_pid(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void this_process_is_our_own_and_one_that_has_gone_is_unknown(void **state)
{
	pid_t pid = gone_pid();

	(void)state;
	assert_int_equal(owner_of_process(getpid()), geteuid());
	assert_int_equal(owner_of_process(pid), OWNER_UNKNOWN);
}

/* The id of the cgroup of this process; 0: version 2 is not mounted. */
static uint64_t own_id(void)
{
	struct cgroup_mount mount;
	AUTO_FREE char *line = NULL, *path = NULL;
	FILE *file = fopen("/proc/self/cgroup", "re");
	struct stat st = { 0 };
	size_t size = 0;

	if (!cgroup_mount_find(&mount, NULL) && mount.path[0])
		while (file && getline(&line, &size, file) > 0)
			if (strncmp(line, "0::/", 4) == 0 &&
			    asprintf(&path, "%s%.*s", mount.path, (int)strcspn(line + 3, "\n"),
				     line + 3) > 0)
				(void)!stat(path, &st);
	if (file)
		(void)fclose(file);
	return st.st_ino;
}

static void an_exec_that_was_told_is_charged_without_its_process(void **state)
{
	uint64_t id = own_id();
	pid_t pid = gone_pid();

	(void)state;
	assert_int_equal(owner_of_exec(pid, 4242, 0), 4242);
	assert_int_equal(owner_of_exec(pid, geteuid(), 0), OWNER_UNKNOWN);
	/* a cgroup is known once a process in it was asked, and by no other id */
	assert_int_equal(owner_of_exec(pid, geteuid(), id), OWNER_UNKNOWN);
	assert_int_equal(owner_of_exec(getpid(), geteuid(), id + 1), geteuid());
	assert_int_equal(owner_of_exec(pid, geteuid(), id + 1), OWNER_UNKNOWN);
	assert_int_equal(owner_of_exec(getpid(), geteuid(), id), geteuid());
	assert_int_equal(owner_of_exec(pid, geteuid(), id), id ? geteuid() : OWNER_UNKNOWN);
}

static void a_file_is_charged_to_a_limited_user_before_a_cgroup(void **state)
{
	const uint64_t cgroup = owner_of_cgroup("/a/b", 0);
	const struct {
		const char *what;
		uid_t uid;
		uint64_t process, owner;
	} cases[] = {
		{ "a user's, mapped by root in a cgroup", 4242, cgroup, 4242 },
		{ "root's, mapped by root in a cgroup", 0, cgroup, cgroup },
		{ "root's, mapped by a user", 0, 4242, 0 },
		{ "root's, mapped by root", 0, 0, 0 },
		{ "root's, mapped by us, who are to be asked", 0, OWNER_UNKNOWN, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (owner_of_file(cases[i].uid, getpid(), cases[i].process) != cases[i].owner)
			fail_msg("%s", cases[i].what);
	}
}

/* The last test: it uses up the numbers. */
static void too_many_cgroups_are_one(void **state)
{
	uint64_t last = 0, before = 0;
	char path[32];

	(void)state;
	for (unsigned int i = 0; i < OWNER_CGROUPS_MAX + 2; i++) {
		snprintf(path, sizeof(path), "/many/%u", i);
		before = last;
		last = owner_of_cgroup(path, 0);
		assert_true(owner_is_cgroup(last));
	}
	assert_int_equal(before, last);
	assert_string_equal(owner_cgroup(last), "(others)");
	assert_int_equal(owner_of_cgroup("/many/7", 0), owner_of_cgroup("/many/8", 0) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cgroup_is_the_first_parts_of_its_path),
		cmocka_unit_test(a_path_is_cut_where_there_is_no_room),
		cmocka_unit_test(a_cgroup_has_one_number_and_is_limited),
		cmocka_unit_test(the_root_and_our_own_cgroup_are_no_owners),
		cmocka_unit_test(a_user_is_no_cgroup),
		cmocka_unit_test(this_process_is_our_own_and_one_that_has_gone_is_unknown),
		cmocka_unit_test(an_exec_that_was_told_is_charged_without_its_process),
		cmocka_unit_test(a_file_is_charged_to_a_limited_user_before_a_cgroup),
		cmocka_unit_test(too_many_cgroups_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
