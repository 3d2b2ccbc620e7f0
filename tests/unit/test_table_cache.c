/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/run_user.h"
#include "profile/table_cache.h"
#include "profile/table_writer.h"
#include "tests/support/table_image.h"
#include "tests/support/tree.h"
#include "tests/support/skip_test.h"

#define MIB (1ull << 20)

/* File systems that cannot make a file without a name. */
static bool without_tmpfile;

int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);

int __wrap_openat(int fd, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = (mode_t)va_arg(args, unsigned int);
	va_end(args);
	if (without_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_openat(fd, path, flags, mode);
}

static int open_at(const char *path, uint64_t max_bytes, struct disk_cache **ret,
		   struct fpl_err *err)
{
	assert_int_equal(disk_cache_create(path, max_bytes, ret, err), 0);

	int code = disk_cache_open(*ret, err);

	if (code) {
		disk_cache_destroy(*ret);
		*ret = NULL;
	}
	return code;
}

static struct disk_cache *open_cache(const struct tree *tree, uint64_t max_bytes)
{
	struct disk_cache *cache = NULL;

	assert_int_equal(open_at(tree_path(tree, "cache"), max_bytes, &cache, NULL), 0);
	return cache;
}

static struct table_key key_of(uint8_t n)
{
	return (struct table_key){ { n } };
}

static void put(struct disk_cache *cache, uint8_t n, uint32_t bytes)
{
	const struct table_key key = key_of(n);
	struct table *table = table_of_rows(bytes, n);

	table_cache_store(cache, &key, table);
	table_destroy(table);
}

/* Is table @n there, and as it was put? */
static bool has(struct disk_cache *cache, uint8_t n, uint32_t bytes)
{
	const struct table_key key = key_of(n);
	struct table *want = table_of_rows(bytes, n);
	struct table *got = table_cache_load(cache, &key);
	bool found = got != NULL;

	if (found)
		assert_true(table_same(got, want));
	table_destroy(want);
	table_destroy(got);
	return found;
}

/* The path of the file of table @n. */
static const char *file_of(const struct tree *tree, uint8_t n)
{
	char name[80];

	snprintf(name, sizeof(name), "cache/%02x%062d", n, 0);
	return tree_path(tree, name);
}

static size_t nr_files(const struct tree *tree)
{
	DIR *dir = opendir(tree_path(tree, "cache"));
	size_t nr = 0;

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		nr += entry->d_name[0] != '.';
	closedir(dir);
	return nr;
}

static void stored_table_is_found_by_the_next_run(void **state)
{
	const struct tree *tree = *state;
	struct disk_cache *cache = open_cache(tree, 64 * MIB);
	struct disk_cache_stats stats;
	struct run_user user;
	bool is_given = run_user_find(&user);
	struct stat st;

	assert_false(has(cache, 1, 5000));
	put(cache, 1, 5000);
	put(cache, 2, 2 * FPL_CHUNK_SIZE + 777);
	disk_cache_stats(cache, DISK_CACHE_TABLES, &stats);
	assert_int_equal(stats.hits, 0);
	assert_int_equal(stats.misses, 1);
	disk_cache_destroy(cache);

	assert_int_equal(stat(file_of(tree, 1), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | (is_given ? 0640 : 0600));
	assert_int_equal(stat(tree_path(tree, "cache"), &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | (is_given ? 02750 : 0700));
	assert_int_equal(st.st_uid, user.uid);
	assert_int_equal(nr_files(tree), 2);

	cache = open_cache(tree, 64 * MIB);
	assert_true(has(cache, 1, 5000));
	assert_true(has(cache, 2, 2 * FPL_CHUNK_SIZE + 777));
	assert_false(has(cache, 3, 5000));
	disk_cache_stats(cache, DISK_CACHE_TABLES, &stats);
	assert_int_equal(stats.hits, 2);
	assert_int_equal(stats.misses, 1);
	assert_in_range(stats.bytes, 2 * FPL_CHUNK_SIZE + 5777, 2 * FPL_CHUNK_SIZE + 7000);
	disk_cache_destroy(cache);
}

static void no_cache_is_a_cache_that_holds_nothing(void **state)
{
	const struct table_key key = key_of(1);
	struct table *table = table_of_rows(5000, 1);
	struct disk_cache_stats stats;

	(void)state;
	table_cache_store(NULL, &key, table);
	assert_null(table_cache_load(NULL, &key));
	disk_cache_stats(NULL, DISK_CACHE_TABLES, &stats);
	assert_int_equal(stats.hits + stats.misses + stats.bytes, 0);
	assert_string_equal(disk_cache_path(NULL), "");
	disk_cache_destroy(NULL);
	table_destroy(table);
}

/* Damages to the file at @path; @other is that of another table. 0: done. */
static int cut_to(const char *path, off_t size)
{
	return truncate(path, size);
}

static int damage_empty(const char *path, const char *other)
{
	(void)other;
	return cut_to(path, 0);
}

static int damage_cut(const char *path, const char *other)
{
	(void)other;
	return cut_to(path, 4000);
}

static int damage_longer(const char *path, const char *other)
{
	(void)other;
	return cut_to(path, 6000);
}

static int damage_zeroes(const char *path, const char *other)
{
	struct stat st;

	(void)other;
	return stat(path, &st) || cut_to(path, 0) || cut_to(path, st.st_size);
}

static int put_byte(const char *path, char byte, off_t off)
{
	AUTO_FD int fd = open(path, O_WRONLY);

	return fd < 0 || pwrite(fd, &byte, 1, off) != 1;
}

static int damage_version(const char *path, const char *other)
{
	(void)other;
	return put_byte(path, '\xff', 8);
}

static int damage_byte(const char *path, const char *other)
{
	(void)other;
	return put_byte(path, 'x', 3000);
}

static int damage_other(const char *path, const char *other)
{
	return unlink(path) || link(other, path);
}

static int damage_link(const char *path, const char *other)
{
	char aside[PATH_MAX];

	/* to what would be a table, had it been named so */
	(void)other;
	snprintf(aside, sizeof(aside), "%.500s.aside", path);
	return rename(path, aside) || symlink(aside, path);
}

static int damage_fifo(const char *path, const char *other)
{
	(void)other;
	return unlink(path) || mkfifo(path, 0600);
}

static int damage_mode(const char *path, const char *other)
{
	(void)other;
	return chmod(path, 0622);
}

static int damage_owner(const char *path, const char *other)
{
	(void)other;
	return geteuid() == 0 ? chown(path, 12345, (gid_t)-1) : chmod(path, 0);
}

static void file_that_does_not_hold_up_is_made_anew(void **state)
{
	const struct tree *tree = *state;
	static const struct {
		const char *what;
		int (*damage)(const char *path, const char *other);
	} cases[] = {
		{ "empty", damage_empty },
		{ "cut", damage_cut },
		{ "longer", damage_longer },
		{ "zeroes", damage_zeroes },
		{ "another version", damage_version },
		{ "a byte", damage_byte },
		{ "another table", damage_other },
		{ "a link", damage_link },
		{ "a FIFO", damage_fifo },
		{ "writable by others", damage_mode },
		{ "another owner", damage_owner },
	};

	disk_cache_destroy(open_cache(tree, MIB)); /* makes the folder */

	AUTO_FREE char *path = strdup(file_of(tree, 1));
	AUTO_FREE char *other = strdup(file_of(tree, 2));

	assert_true(path && other);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct disk_cache *cache = open_cache(tree, 64 * MIB);

		put(cache, 1, 5000);
		put(cache, 2, 6000);
		assert_int_equal(cases[i].damage(path, other), 0);
		if (has(cache, 1, 5000))
			fail_msg("%s: gave a table", cases[i].what);
		put(cache, 1, 5000);
		if (!has(cache, 1, 5000) || !has(cache, 2, 6000))
			fail_msg("%s: is not put right", cases[i].what);
		disk_cache_destroy(cache);
		unlink(path);
		unlink(other);
	}
}

static void folder_must_be_ones_own(void **state)
{
	const struct tree *tree = *state;
	const char *path;
	struct disk_cache *cache = NULL;
	struct fpl_err err = { 0 };
	struct stat st;

	tree_put(tree, "file", "x");
	assert_int_equal(open_at(tree_path(tree, "file"), MIB, &cache, &err), -ENOTDIR);
	assert_int_equal(
		open_at(tree_path(tree, "none/x/y") /* made but for y */, MIB, &cache, &err), 0);
	disk_cache_destroy(cache);
	assert_int_equal(open_at("/proc/nothing/here", MIB, &cache, &err), -ENOENT);

	path = tree_path(tree, "open");
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(open_at(path, MIB, &cache, &err), -EPERM);
	assert_non_null(strstr(err.msg, "mode 755"));
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(open_at(path, MIB, &cache, &err), -EPERM);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(open_at(path, MIB, &cache, &err), 0);
	disk_cache_destroy(cache);

	tree_link(tree, "link", "open");
	assert_int_equal(open_at(tree_path(tree, "link"), MIB, &cache, &err), -ELOOP);
	assert_non_null(strstr(err.msg, "symbolic link"));
	/* nor is anything made through one that leads nowhere yet */
	tree_link(tree, "dangling", "target");
	assert_int_equal(open_at(tree_path(tree, "dangling"), MIB, &cache, &err), -ELOOP);
	assert_int_equal(stat(tree_path(tree, "target"), &st), -1);

	need_root(); /* others can give nothing away */
	assert_int_equal(chown(tree_path(tree, "open"), 12345, (gid_t)-1), 0);
	assert_int_equal(open_at(tree_path(tree, "open"), MIB, &cache, &err), -EPERM);
	assert_non_null(strstr(err.msg, "user 12345"));
}

/* Root's, which the run's user writes and root's group reads. */
static void folder_of_the_runs_user_is_roots_own(void **state)
{
	const struct tree *tree = *state;
	const char *path = tree_path(tree, "given");
	struct disk_cache *cache = NULL;
	struct run_user user;
	struct stat st;

	if (!run_user_find(&user))
		skip_test("no user but the one who runs the tests");
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, user.uid, 0), 0);
	for (mode_t mode = 0; mode <= 077; mode++) {
		assert_int_equal(chmod(path, 0700 | mode), 0);
		assert_int_equal(open_at(path, MIB, &cache, NULL), mode & 027 ? -EPERM : 0);
		if (!(mode & 027))
			disk_cache_destroy(cache);
	}
	assert_int_equal(chmod(path, 0750), 0);
	assert_int_equal(chown(path, user.uid, 12345), 0);
	assert_int_equal(open_at(path, MIB, &cache, NULL), -EPERM);
	/* a folder that holds something else stays whose it is */
	assert_int_equal(mkdir(tree_path(tree, "home"), 0700), 0);
	tree_put(tree, "home/letter", "x");
	assert_int_equal(open_at(tree_path(tree, "home"), MIB, &cache, NULL), 0);
	disk_cache_destroy(cache);
	assert_int_equal(stat(tree_path(tree, "home"), &st), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0700);
	/* as it was made before there was a package */
	assert_int_equal(chown(path, RUN_USER_UID, 0), 0);
	assert_int_equal(open_at(path, MIB, &cache, NULL), 0);
	disk_cache_destroy(cache);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, user.uid);
}

static void set_used(const struct tree *tree, uint8_t n, time_t when)
{
	const struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };

	assert_int_equal(utimensat(AT_FDCWD, file_of(tree, n), times, 0), 0);
}

static void least_recently_used_entry_makes_room(void **state)
{
	const struct tree *tree = *state;
	struct disk_cache *cache = open_cache(tree, 64 * MIB);
	struct disk_cache_stats stats;
	time_t now = time(NULL);

	for (uint8_t n = 1; n <= 9; n++) {
		put(cache, n, 100000);
		set_used(tree, n, now - 1000 - n);
	}
	tree_put(tree, "cache/README", "not a table, however old and large");
	assert_true(has(cache, 9, 100000)); /* the oldest: used again */
	disk_cache_destroy(cache);

	cache = open_cache(tree, MIB); /* nine fit, a tenth does so only beside seven */
	put(cache, 10, 200000);
	assert_true(has(cache, 10, 200000));
	assert_true(has(cache, 9, 100000));
	assert_true(has(cache, 1, 100000));
	assert_false(has(cache, 8, 100000));
	assert_false(has(cache, 7, 100000));
	assert_int_equal(access(tree_path(tree, "cache/README"), F_OK), 0);
	disk_cache_stats(cache, DISK_CACHE_TABLES, &stats);
	assert_in_range(stats.bytes, 500000, MIB);
	/* one that would take half of it is not kept */
	put(cache, 11, 600000);
	assert_false(has(cache, 11, 600000));
	assert_true(has(cache, 10, 200000));
	disk_cache_destroy(cache);

	/* a smaller size holds for what is there already */
	cache = open_cache(tree, 300000);
	disk_cache_stats(cache, DISK_CACHE_TABLES, &stats);
	assert_in_range(stats.bytes, 1, 300000);
	disk_cache_destroy(cache);
}

static void temporary_files_of_killed_processes_are_removed(void **state)
{
	const struct tree *tree = *state;
	struct disk_cache *cache = open_cache(tree, 64 * MIB);
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	tree_put(tree, "cache/writing-1-1", "a part");
	tree_put(tree, "cache/writing-1-2", "a part that is being written");
	assert_int_equal(utimensat(AT_FDCWD, tree_path(tree, "cache/writing-1-1"), old, 0), 0);
	put(cache, 1, 5000);
	assert_int_equal(access(tree_path(tree, "cache/writing-1-1"), F_OK), -1);
	assert_int_equal(access(tree_path(tree, "cache/writing-1-2"), F_OK), 0);
	disk_cache_destroy(cache);
}

static void full_disk_ends_the_storing_and_leaves_nothing_behind(void **state)
{
	const struct tree *tree = *state;
	struct disk_cache *cache = open_cache(tree, 64 * MIB);
	struct rlimit before, limit;

	size_t nr = nr_files(tree);

	put(cache, 4, 5000);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){ 50000, before.rlim_max };
	/* write(2) then fails with EFBIG */
	assert_int_equal(sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = SIG_IGN }, NULL), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	put(cache, 5, 200000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_false(has(cache, 5, 200000));
	assert_int_equal(nr_files(tree), nr + 1);
	/* the disk is not asked again in this run; what is there is still read */
	put(cache, 6, 5000);
	assert_false(has(cache, 6, 5000));
	assert_true(has(cache, 4, 5000));
	disk_cache_destroy(cache);
}

static void file_system_without_nameless_files_does_as_well(void **state)
{
	without_tmpfile = true;
	stored_table_is_found_by_the_next_run(state);
	full_disk_ends_the_storing_and_leaves_nothing_behind(state);
	without_tmpfile = false;
}

static void writer_stores_given_tables(void **state)
{
	const struct tree *tree = *state;
	struct disk_cache *cache = open_cache(tree, 64 * MIB);
	struct table_writer *writer = NULL;
	struct table_key key;

	table_writer_flush(NULL);
	table_writer_destroy(NULL);
	table_writer_keep(NULL, &key, table_of_rows(5000, 1));
	assert_int_equal(table_writer_create(cache, &writer, NULL), 0);
	table_writer_destroy(writer); /* that had nothing to do */
	assert_int_equal(table_writer_create(cache, &writer, NULL), 0);
	for (uint8_t n = 1; n <= 20; n++) {
		key = key_of(n);
		table_writer_keep(writer, &key, table_of_rows(5000u + n, n));
	}
	table_writer_flush(writer);
	for (uint8_t n = 1; n <= 20; n++)
		assert_true(has(cache, n, 5000u + n));
	key = key_of(21); /* more than may wait */
	table_writer_keep(writer, &key, table_of_rows(TABLE_WRITER_BYTES_MAX + 777, 21));
	key = key_of(22);
	table_writer_keep(writer, &key, table_of_rows(5022, 22));
	table_writer_destroy(writer);
	assert_false(has(cache, 21, TABLE_WRITER_BYTES_MAX + 777));
	assert_true(has(cache, 22, 5022));
	disk_cache_destroy(cache);
}

/* Processes that store and read the same tables while the folder is too small for all of them. */
static void several_processes_may_share_a_folder(void **state)
{
	const struct tree *tree = *state;
	pid_t pids[4];
	size_t nr = 0;

	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i])
			continue;

		struct disk_cache *cache = open_cache(tree, 400000);

		for (unsigned int k = 0; k < 100; k++) {
			uint8_t n = (uint8_t)(1 + (k * 7 + i * 3) % 8);

			if (has(cache, n, 60000u + n)) /* dies where it is not as it was put */
				nr++;
			else
				put(cache, n, 60000u + n);
		}
		disk_cache_destroy(cache);
		_exit(nr > 0 ? 0 : 1);
	}
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
#define IN_TREE(name) cmocka_unit_test_setup_teardown(name, tree_setup, tree_teardown)
	const struct CMUnitTest tests[] = {
		IN_TREE(stored_table_is_found_by_the_next_run),
		cmocka_unit_test(no_cache_is_a_cache_that_holds_nothing),
		IN_TREE(file_that_does_not_hold_up_is_made_anew),
		IN_TREE(folder_must_be_ones_own),
		IN_TREE(folder_of_the_runs_user_is_roots_own),
		IN_TREE(least_recently_used_entry_makes_room),
		IN_TREE(temporary_files_of_killed_processes_are_removed),
		IN_TREE(full_disk_ends_the_storing_and_leaves_nothing_behind),
		IN_TREE(file_system_without_nameless_files_does_as_well),
		IN_TREE(writer_stores_given_tables),
		IN_TREE(several_processes_may_share_a_folder),
	};

	fpl_log_set_level(FPL_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
