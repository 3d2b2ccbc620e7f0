/* SPDX-License-Identifier: Apache-2.0 */
/* Output files: whole or not there, whatever the path is. */
#include "cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/output_file.h"
#include "tests/support/text_file.h"
#include "tests/support/skip_test.h"

#ifdef TEST_FILE_NAMED
/* As on a file system that has no files without a name: the linker puts this before openat(2). */
int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, mode_t mode);

int __wrap_openat(int folder, const char *path, int flags, mode_t mode)
{
	if ((flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_openat(folder, path, flags, mode);
}

static const bool named_only = true;
#else
static const bool named_only = false;
#endif

static char folder[] = "/tmp/fpless-test-XXXXXX";

static int setup(void **state)
{
	(void)state;
	umask(022);
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static void remove_all(void)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

static int teardown(void **state)
{
	(void)state;
	remove_all();
	return rmdir(folder);
}

static size_t nr_files(void)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t nr = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		nr += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(dir);
	return nr;
}

static void the_target_appears_on_commit_only(void **state)
{
	struct output_file file;

	(void)state;
	remove_all();
	assert_int_equal(output_file_open("new.folded", &file, NULL), 0);
	fputs("whole\n", file.stream);
	assert_int_not_equal(access("new.folded", F_OK), 0);
	assert_int_equal(output_file_commit(&file, NULL), 0);
	assert_content("new.folded", "whole\n");
	assert_int_equal(nr_files(), 1);
}

static void a_file_in_the_making_has_a_name_only_where_it_must(void **state)
{
	struct output_file file;

	(void)state;
	remove_all();
	assert_int_equal(output_file_open("new.folded", &file, NULL), 0);
	assert_int_equal(file.nameless, !named_only);
	assert_int_equal(nr_files(), named_only);
	output_file_abort(&file);
	assert_int_equal(nr_files(), 0);
}

static void file_created_meanwhile_is_replaced(void **state)
{
	struct output_file file;

	(void)state;
	remove_all();
	assert_int_equal(output_file_open("new.folded", &file, NULL), 0);
	write_text("new.folded", "somebody else's\n");
	fputs("ours\n", file.stream);
	assert_int_equal(output_file_close(&file, NULL), 0);
	assert_content("new.folded", "somebody else's\n");
	assert_int_equal(output_file_commit(&file, NULL), 0);
	assert_content("new.folded", "ours\n");
	assert_int_equal(nr_files(), 1);
}

static void a_folder_that_is_gone_is_an_error_that_names_the_file(void **state)
{
	struct output_file file;
	struct fpl_err err = { 0 };

	(void)state;
	remove_all();
	assert_int_equal(mkdir("gone", 0700), 0);
	assert_int_equal(output_file_open("gone/new.folded", &file, NULL), 0);
	if (file.temporary)
		assert_int_equal(unlinkat(file.folder_fd, file.temporary, 0), 0);
	assert_int_equal(rmdir("gone"), 0);
	assert_int_equal(output_file_commit(&file, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "gone/new.folded: "));
}

static int keep_all(void)
{
	return 0;
}

static void helper_places_outputs_without_our_rights(void **state)
{
	struct output_file files[3];
	struct privileged_helper helper = HELPER_NONE;

	(void)state;
	need_root(); /* to be another user */
	remove_all();
	write_text("old.txt", "old\n");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(output_file_open(i == 1 ? "old.txt" : "new.txt", &files[i], NULL),
				 0);
		assert_int_equal(output_file_delegate(&files[i], &helper, NULL), 0);
	}
	assert_int_equal(helper_start(&helper, keep_all, NULL), 0);
	assert_int_equal(seteuid(65534), 0);
	for (size_t i = 0; i < 2; i++) {
		fputs("whole\n", files[i].stream);
		assert_int_equal(output_file_commit(&files[i], NULL), 0);
	}
	output_file_abort(&files[2]);
	assert_int_equal(seteuid(0), 0);
	helper_fini(&helper);
	assert_content("new.txt", "whole\n");
	assert_content("old.txt", "whole\n");
	assert_int_equal(nr_files(), 2);
}

static void lack_of_memory_leaves_the_old_file_and_no_temporary_one(void **state)
{
	struct output_file files[2];
	struct privileged_helper helper = HELPER_NONE;
	int status;

	(void)state;
	remove_all();
	write_text("old.txt", "old\n");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(output_file_open(i ? "old.txt" : "new.txt", &files[i], NULL), 0);
		assert_int_equal(output_file_delegate(&files[i], &helper, NULL), 0);
	}
	assert_int_equal(nr_files(), named_only ? 3 : 1);

	pid_t pid = fork();

	if (!pid) {
		fputs("half\n", files[1].stream);
		close(STDERR_FILENO);
		alloc_fail();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), ALLOC_EXIT);
	assert_int_equal(nr_files(), 1);
	assert_content("old.txt", "old\n");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		output_file_abort(&files[i]);
	helper_fini(&helper);
}

static void an_aborted_file_leaves_the_old_one_and_nothing_else(void **state)
{
	struct output_file file;

	(void)state;
	remove_all();
	write_text("old.txt", "old\n");
	assert_int_equal(output_file_open("old.txt", &file, NULL), 0);
	fputs("half", file.stream);
	output_file_abort(&file);
	output_file_abort(&file);
	assert_content("old.txt", "old\n");
	assert_int_equal(nr_files(), 1);
}

static void assert_written(const char *path)
{
	struct output_file file;

	assert_int_equal(output_file_open(path, &file, NULL), 0);
	fputs("new\n", file.stream);
	assert_int_equal(output_file_commit(&file, NULL), 0);
}

static void a_replaced_file_keeps_its_links_and_not_its_mode(void **state)
{
	struct stat st;

	(void)state;
	remove_all();
	write_text("target", "old\n");
	assert_int_equal(chmod("target", 06755), 0);
	assert_int_equal(mkdir("deeper", 0755), 0);
	assert_int_equal(symlink("../target", "deeper/link"), 0);
	assert_int_equal(symlink("deeper/link", "link.txt"), 0);
	assert_written("link.txt");
	assert_content("target", "new\n");
	assert_int_equal(lstat("link.txt", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(lstat("deeper/link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(stat("target", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(unlink("deeper/link"), 0);
	assert_int_equal(rmdir("deeper"), 0);
}

static void a_link_to_nothing_is_replaced_and_a_circle_refused(void **state)
{
	struct output_file file;
	struct stat st;

	(void)state;
	remove_all();
	assert_int_equal(symlink("nothing", "link.txt"), 0);
	assert_written("link.txt");
	assert_int_equal(lstat("link.txt", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_not_equal(access("nothing", F_OK), 0);
	assert_int_equal(symlink("circle", "circle"), 0);
	assert_int_equal(output_file_open("circle", &file, NULL), -ELOOP);
}

/* Another process replaces the folder that was found by a link to another one. */
static void a_folder_is_found_once(void **state)
{
	struct output_file file;

	(void)state;
	remove_all();
	assert_int_equal(mkdir("mine", 0755), 0);
	assert_int_equal(mkdir("other", 0755), 0);
	assert_int_equal(output_file_open("mine/new.txt", &file, NULL), 0);
	assert_int_equal(rename("mine", "moved"), 0);
	assert_int_equal(symlink("other", "mine"), 0);
	fputs("new\n", file.stream);
	assert_int_equal(output_file_commit(&file, NULL), 0);
	assert_content("moved/new.txt", "new\n");
	assert_int_equal(rmdir("other"), 0);
	assert_int_equal(unlink("moved/new.txt"), 0);
	assert_int_equal(rmdir("moved"), 0);
}

static void a_full_device_is_an_error_that_names_it(void **state)
{
	struct output_file file;
	struct fpl_err err = { 0 };

	(void)state;
	assert_int_equal(output_file_open("/dev/full", &file, &err), 0);
	for (int i = 0; i < 100000; i++)
		fputs("line\n", file.stream);
	assert_true(output_file_commit(&file, &err) < 0);
	assert_non_null(strstr(err.msg, "/dev/full: "));
	assert_null(file.stream);
}

static void paths_that_cannot_be_written_are_refused_when_opened(void **state)
{
	static const struct {
		const char *path;
		int error;
	} cases[] = {
		{ "/nowhere/out.folded", -ENOENT },
		{ "/tmp", -EISDIR },
		{ "", -ENOENT },
		{ "/proc/out.folded", -ENOENT },
		{ "/dev/null/out.folded", -ENOTDIR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct output_file file;
		struct fpl_err err = { 0 };
		int error = output_file_open(cases[i].path, &file, &err);

		if (error != cases[i].error || !strstr(err.msg, cases[i].path))
			fail_msg("%s: %d, \"%s\"", cases[i].path, error, err.msg);
	}
}

static void a_pipe_is_written_in_place(void **state)
{
	struct output_file file;
	char got[16] = "";

	(void)state;
	remove_all();
	assert_int_equal(mkfifo("pipe", 0600), 0);
	AUTO_FD int reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	assert_int_equal(output_file_open("pipe", &file, NULL), 0);
	fputs("through\n", file.stream);
	assert_int_equal(output_file_commit(&file, NULL), 0);
	assert_int_equal(read(reader, got, sizeof(got) - 1), 8);
	assert_string_equal(got, "through\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_target_appears_on_commit_only),
		cmocka_unit_test(a_file_in_the_making_has_a_name_only_where_it_must),
		cmocka_unit_test(file_created_meanwhile_is_replaced),
		cmocka_unit_test(a_folder_that_is_gone_is_an_error_that_names_the_file),
		cmocka_unit_test(helper_places_outputs_without_our_rights),
		cmocka_unit_test(lack_of_memory_leaves_the_old_file_and_no_temporary_one),
		cmocka_unit_test(an_aborted_file_leaves_the_old_one_and_nothing_else),
		cmocka_unit_test(a_replaced_file_keeps_its_links_and_not_its_mode),
		cmocka_unit_test(a_link_to_nothing_is_replaced_and_a_circle_refused),
		cmocka_unit_test(a_folder_is_found_once),
		cmocka_unit_test(a_full_device_is_an_error_that_names_it),
		cmocka_unit_test(paths_that_cannot_be_written_are_refused_when_opened),
		cmocka_unit_test(a_pipe_is_written_in_place),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
