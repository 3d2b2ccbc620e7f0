/* SPDX-License-Identifier: Apache-2.0 */
/* The files in which this very process would describe its code. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proc/code_place.h"
#include "tests/support/skip_test.h"

static char map_name[64], other_name[64];

static void remove_files(void)
{
	unlink(map_name);
	rmdir(map_name);
	unlink(other_name);
}

static int setup(void **state)
{
	(void)state;
	snprintf(map_name, sizeof(map_name), "/tmp/perf-%d.map", (int)getpid());
	snprintf(other_name, sizeof(other_name), "/tmp/other-%d.map", (int)getpid());
	remove_files();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	remove_files();
	return 0;
}

static void write_file(const char *path)
{
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1000 10 x\n", 10), 10);
}

static void a_process_is_known_by_number_user_and_start(void **state)
{
	struct code_place place;
	struct fpl_err err = { 0 };
	char name[64];

	(void)state;
	assert_int_equal(code_place_open(NULL, getpid(), 0, &place, &err), 0);
	assert_int_equal(place.own_pid, getpid());
	assert_int_equal(place.uids[1], geteuid());
	assert_true(place.tmp_fd >= 0);
	code_place_map_name(&place, name, sizeof(name));
	assert_string_equal(name, map_name);
	code_place_close(&place);
	assert_int_equal(place.tmp_fd, -1);

	/* one tick after the machine was started this process was not */
	assert_int_equal(code_place_open(NULL, getpid(), 10000000, &place, &err), -ESRCH);

	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	assert_int_equal(waitpid(gone, NULL, 0), gone);
	assert_int_equal(code_place_open(NULL, gone, 0, &place, &err), -ESRCH);
	assert_non_null(strstr(err.msg, "pid "));
}

static void only_an_own_plain_file_is_opened(void **state)
{
	enum { NONE, PLAIN, LINK, DANGLING, FIFO, FOLDER, TWO_NAMES };
	static const struct {
		const char *what;
		int kind, code;
		const char *why;
	} cases[] = {
		{ "nothing there", NONE, -ENOENT, NULL },
		{ "a file", PLAIN, 0, NULL },
		{ "a link to a file", LINK, -ELOOP, "a symbolic link: not followed" },
		{ "a link to nothing", DANGLING, -ELOOP, "a symbolic link: not followed" },
		{ "a FIFO", FIFO, -ENOEXEC, "not a regular file" },
		{ "a folder", FOLDER, -ENOEXEC, "not a regular file" },
		{ "a file with another name", TWO_NAMES, -EPERM, "has 2 hard links: not trusted" },
	};
	struct code_place place;

	(void)state;
	assert_int_equal(code_place_open(NULL, getpid(), 0, &place, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FD int fd = -1;
		struct fpl_err err = { 0 };

		remove_files();
		if (cases[i].kind == PLAIN)
			write_file(map_name);
		if (cases[i].kind == LINK || cases[i].kind == TWO_NAMES)
			write_file(other_name);
		if (cases[i].kind == LINK || cases[i].kind == DANGLING)
			assert_int_equal(symlink(other_name, map_name), 0);
		if (cases[i].kind == TWO_NAMES)
			assert_int_equal(link(other_name, map_name), 0);
		if (cases[i].kind == FIFO)
			assert_int_equal(mkfifo(map_name, 0600), 0);
		if (cases[i].kind == FOLDER)
			assert_int_equal(mkdir(map_name, 0700), 0);

		int code = code_place_open_map(&place, &fd, &err);

		if (code != cases[i].code)
			fail_msg("%s: %d (%s)", cases[i].what, code, err.msg);
		if (cases[i].why && !strstr(err.msg, cases[i].why))
			fail_msg("%s: %s", cases[i].what, err.msg);
		assert_int_equal(fd >= 0, code == 0);
	}
	code_place_close(&place);
}

static void file_of_another_user_is_refused(void **state)
{
	struct code_place place;
	struct fpl_err err = { 0 };
	int fd = -1;

	(void)state;
	need_root(); /* to change a file's owner */
	remove_files();
	write_file(map_name);
	assert_int_equal(chown(map_name, 65534, 65534), 0);
	assert_int_equal(code_place_open(NULL, getpid(), 0, &place, NULL), 0);
	assert_int_equal(code_place_open_map(&place, &fd, &err), -EPERM);
	assert_non_null(strstr(err.msg, "owned by user 65534, not by the process's (0) or root"));
	place.uids[3] = 65534; /* its user of files */
	assert_int_equal(code_place_open_map(&place, &fd, &err), 0);
	close(fd);
	code_place_close(&place);
}

static void a_jitdump_is_found_among_the_mappings(void **state)
{
	struct code_place place;
	char name[64];
	int found = -1;

	(void)state;
	assert_int_equal(code_place_open(NULL, getpid(), 0, &place, NULL), 0);
	assert_int_equal(code_place_open_dump(&place, &found, NULL), -ENOENT);
	snprintf(name, sizeof(name), "/tmp/jit-%d.dump", (int)getpid());

	AUTO_FD int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, 4096), 0);

	void *plain = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	assert_int_equal(code_place_open_dump(&place, &found, NULL), -ENOENT);

	void *marker = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_true(plain != MAP_FAILED && marker != MAP_FAILED);

	int code = code_place_open_dump(&place, &found, NULL);

	unlink(name);
	assert_int_equal(code, 0);
	assert_true(found >= 0);
	close(found);
	munmap(plain, 4096);
	munmap(marker, 4096);
	code_place_close(&place);
}

static void jitdumps_are_known_by_their_names(void **state)
{
	static const struct {
		const char *path;
		bool is_dump;
	} cases[] = {
		{ "/tmp/jit-1.dump", true },
		{ "/a/b/.debug/jit/jit-4194304.dump", true },
		{ "/jit-7.dump", true },
		{ "jit-7.dump", false },
		{ "/tmp/jit-.dump", false },
		{ "/tmp/jit-7.dumps", false },
		{ "/tmp/xjit-7.dump", false },
		{ "/tmp/jit-7a.dump", false },
		{ "/jit-7.dump/libx.so", false },
		{ "", false },
		{ "//anon", false },
		{ "[vdso]", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (code_place_is_dump(cases[i].path) != cases[i].is_dump)
			fail_msg("%s", cases[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_known_by_number_user_and_start),
		cmocka_unit_test(only_an_own_plain_file_is_opened),
		cmocka_unit_test(file_of_another_user_is_refused),
		cmocka_unit_test(a_jitdump_is_found_among_the_mappings),
		cmocka_unit_test(jitdumps_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
