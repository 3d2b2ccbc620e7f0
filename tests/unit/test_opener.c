/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "obj/opener.h"
#include "tests/support/children.h"
#include "tests/support/skip_test.h"
#include "tests/support/skipped_clock.h"

#define MS 1000000ull

struct world {
	struct opener *opener;
	char folder[32], file[64], link[64], fifo[64];
};

static int make_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	return !file || fputs(text, file) < 0 || fclose(file);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	*state = world;
	if (!world || opener_create(true, &world->opener, NULL))
		return -1;
	fpl_log_set_level(FPL_LOG_ERROR);
	snprintf(world->folder, sizeof(world->folder), "/tmp/fpless-opener-XXXXXX");
	if (!mkdtemp(world->folder))
		return -1;
	snprintf(world->file, sizeof(world->file), "%s/file", world->folder);
	snprintf(world->link, sizeof(world->link), "%s/link", world->folder);
	snprintf(world->fifo, sizeof(world->fifo), "%s/fifo", world->folder);
	return make_file(world->file, "text") || symlink("file", world->link) < 0 ||
	       mkfifo(world->fifo, 0600) < 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	opener_destroy(world->opener);
	unlink(world->file);
	unlink(world->link);
	unlink(world->fifo);
	rmdir(world->folder);
	free(world);
	return 0;
}

static void a_file_of_a_local_file_system_is_opened_here(void **state)
{
	const struct world *world = *state;
	AUTO_FD int place = open(world->file, O_PATH | O_CLOEXEC);
	AUTO_FD int fd = -1;
	struct stat st, same;
	char text[8];

	assert_int_equal(opener_take(world->opener, 0, place, &fd, &st), 0);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	assert_false(opener_holds_place(fd));
	assert_true(opener_holds_place(place));
	assert_int_equal(fstat(fd, &same), 0);
	assert_true(same.st_ino == st.st_ino && same.st_dev == st.st_dev &&
		    same.st_size == st.st_size && same.st_uid == st.st_uid &&
		    same.st_mode == st.st_mode && same.st_nlink == st.st_nlink &&
		    memcmp(&same.st_mtim, &st.st_mtim, sizeof(st.st_mtim)) == 0 &&
		    memcmp(&same.st_ctim, &st.st_ctim, sizeof(st.st_ctim)) == 0);
}

static void a_path_is_local_where_the_kernel_knows_each_step(void **state)
{
	const struct world *world = *state;
	AUTO_FD int fd = open(world->link, O_PATH | O_CLOEXEC); /* it does now */

	assert_true(fd >= 0);
	assert_true(opener_path_is_local(world->link));
	assert_true(opener_path_is_local(world->folder));
	assert_false(opener_path_is_local("/proc/version"));
	assert_false(opener_path_is_local("/proc/self/exe/.."));
}

static void memory_with_a_name_is_local(void **state)
{
	const struct world *world = *state;
	AUTO_FD int memory = memfd_create("x", MFD_CLOEXEC);
	AUTO_FD int place = -1, fd = -1;
	char link[32];
	struct stat st;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", memory);
	place = open(link, O_PATH | O_CLOEXEC);
	assert_int_equal(opener_take(world->opener, getpid(), place, &fd, &st), 0);
	assert_false(opener_holds_place(fd));
}

static void other_file_systems_are_held_as_places(void **state)
{
	const struct world *world = *state;
	AUTO_FD int place = open("/proc/self/status", O_PATH | O_CLOEXEC);
	AUTO_FD int fd = -1, sock = -1, file = -1;
	char text[8];
	struct stat st;

	/* proc is on no list of local ones */
	assert_int_equal(opener_take(world->opener, getpid(), place, &fd, &st), 0);
	assert_true(opener_holds_place(fd));
	assert_int_equal(read(fd, text, 1), -1);
	assert_int_equal(opener_envelope(world->opener, fd, NULL, &sock), 0);
	assert_int_equal(envelope_open(sock, &file), 0);
	assert_int_equal(read(file, text, 5), 5);
	assert_memory_equal(text, "Name:", 5);
}

static void only_regular_files_are_taken(void **state)
{
	const struct world *world = *state;
	const char *const paths[] = { world->fifo, world->folder, "/dev/null" };

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO_FD int place = open(paths[i], O_PATH | O_CLOEXEC);
		struct stat st;
		int fd;

		assert_int_equal(opener_take(world->opener, 0, place, &fd, &st), -ENOEXEC);
	}
}

static void walk_gives_the_result_of_openat2(void **state)
{
	const struct world *world = *state;
	AUTO_FD int folder = open(world->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct {
		const char *what;
		struct opener_path path;
		int code;
	} cases[] = {
		{ "a file", { .folder_fd = -1, .path = world->file }, 0 },
		{ "through a link", { .folder_fd = -1, .path = world->link }, 0 },
		{ "a trusted link",
		  { .folder_fd = -1, .path = world->link, .is_trusted = true },
		  0 },
		{ "nothing", { .folder_fd = -1, .path = "/no/such/thing" }, -ENOENT },
		{ "nothing, trusted",
		  { .folder_fd = -1, .path = "/no/such/thing", .is_trusted = true },
		  -ENOENT },
		{ "below a file", { .folder_fd = -1, .path = "/etc/passwd/x" }, -ENOTDIR },
		{ "in another file system", { .folder_fd = -1, .path = "/proc/version" }, 0 },
		{ "from a folder", { .folder_fd = folder, .path = "file" }, 0 },
		{ "in a root of its own",
		  { .folder_fd = folder, .path = "/link", .resolve = RESOLVE_IN_ROOT },
		  0 },
		{ "out of it",
		  { .folder_fd = folder, .path = "../../etc/passwd", .resolve = RESOLVE_IN_ROOT },
		  -ENOENT },
		{ "the root itself", { .folder_fd = -1, .path = "/" }, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FD int fd = -1;
		int code = opener_walk(world->opener, &cases[i].path, NULL, &fd);

		if (code != cases[i].code || (fd >= 0) != !code)
			fail_msg("%s: %d", cases[i].what, code);
		if (!code && !opener_holds_place(fd))
			fail_msg("%s: more than a place", cases[i].what);
	}
}

static void local_path_is_walked_by_the_caller(void **state)
{
	const struct world *world = *state;
	const struct opener_path here = { .folder_fd = -1, .path = world->file };
	const struct opener_path away = { .folder_fd = -1, .path = world->link };
	AUTO_FD int fd = -1;

	assert_int_equal(opener_walk_here(world->opener, &here, &fd), 0);
	assert_int_equal(opener_walk_here(world->opener, &away, &fd), -EXDEV);
}

static void who_does_not_answer_is_not_asked_again(void **state)
{
	struct world *world = *state;
	struct opener *opener = world->opener;
	const uint64_t first = 1, second = 2, third = 3;

	assert_int_equal(opener_patience_ns(opener, first), OPENER_FIRST_MS * MS);
	/* what takes a moment is no waiting */
	opener_waited(opener, first, 5 * MS, true);
	assert_int_equal(opener_patience_ns(opener, first), OPENER_FIRST_MS * MS);
	opener_waited(opener, second, 2000 * MS, false);
	assert_int_equal(opener_patience_ns(opener, second), 0);
	assert_int_equal(opener_patience_ns(opener, first), OPENER_KNOWN_MS * MS);
	assert_int_equal(opener_patience_ns(opener, third), OPENER_NEXT_MS * MS);
	/* nor for longer than they may all take together; a second that passes gives back 250 ms */
	opener_waited(opener, third, 2900 * MS, false);
	assert_int_equal(opener_patience_ns(opener, first), 0);
	assert_int_equal(opener_patience_ns(opener, third), 0);
}

static void who_was_silent_is_asked_again_when_no_opener_waits_for_it(void **state)
{
	struct world *world = *state;

	skipped_ns = 0;
	opener_waited(world->opener, 5, 2000 * MS, false);
	skipped_ns = 590 * NS_PER_S;
	assert_int_equal(opener_patience_ns(world->opener, 5), 0);
	skipped_ns = 610 * NS_PER_S;
	assert_int_equal(opener_patience_ns(world->opener, 5), OPENER_FIRST_MS * MS);
}

static void a_new_file_system_takes_the_place_of_one_that_was_silent(void **state)
{
	struct world *world = *state;

	skipped_ns = 0;
	for (uint64_t dev = 1; dev <= 256; dev++)
		opener_waited(world->opener, dev, 2000 * MS, false);
	skipped_ns = 590 * NS_PER_S;
	assert_int_equal(opener_patience_ns(world->opener, 1000), 0);
	skipped_ns = 3600 * NS_PER_S;
	assert_int_equal(opener_patience_ns(world->opener, 1000), OPENER_NEXT_MS * MS);
	assert_int_equal(opener_patience_ns(world->opener, 256), OPENER_NEXT_MS * MS);
}

/* Openers are children of the only child of this process. */
static size_t nr_openers(void)
{
	pid_t maker, first;

	return children_of(getpid(), &maker) == 1 ? children_of(maker, &first) : 0;
}

/* Each mount of proc is a file system of its own. */
static void sixteen_openers_live_at_most(void **state)
{
	struct world *world = *state;

	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		skip_test("no mount namespace of its own: %s", strerror(errno));
	for (int i = 0; i < 40; i++) {
		AUTO_FD int sock = -1, place = -1;
		char path[64];

		assert_int_equal(mount("proc", world->folder, "proc", 0, NULL), 0);
		snprintf(path, sizeof(path), "%s/version", world->folder);
		place = open(path, O_PATH | O_CLOEXEC);
		assert_int_equal(opener_envelope(world->opener, place, NULL, &sock), 0);
	}
	for (int i = 0; i < 1000 && nr_openers() > 16; i++)
		poll(NULL, 0, 10);
	assert_int_equal(nr_openers(), 16);
	while (umount2(world->folder, MNT_DETACH) == 0)
		;
}

static void who_is_always_slow_is_given_up(void **state)
{
	struct world *world = *state;

	for (int i = 0; i < 4; i++) {
		assert_true(opener_patience_ns(world->opener, 7) > 0);
		opener_waited(world->opener, 7, (i < 3 ? 600 : 1900) * MS, true);
	}
	assert_int_equal(opener_patience_ns(world->opener, 7), 0);
}

static void without_an_opener_all_is_done_here(void **state)
{
	const struct world *world = *state;
	const struct opener_path path = { .folder_fd = -1, .path = world->link };
	AUTO_FD int place = -1, fd = -1;
	struct stat st;

	assert_int_equal(opener_walk(NULL, &path, NULL, &place), 0);
	assert_int_equal(opener_take(NULL, 0, place, &fd, &st), 0);
	assert_false(opener_holds_place(fd));
	assert_int_equal(opener_envelope(NULL, place, NULL, &fd), -EPIPE);
}

int main(void)
{
#define OPENER_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		OPENER_TEST(a_file_of_a_local_file_system_is_opened_here),
		OPENER_TEST(a_path_is_local_where_the_kernel_knows_each_step),
		OPENER_TEST(memory_with_a_name_is_local),
		OPENER_TEST(other_file_systems_are_held_as_places),
		OPENER_TEST(only_regular_files_are_taken),
		OPENER_TEST(walk_gives_the_result_of_openat2),
		OPENER_TEST(local_path_is_walked_by_the_caller),
		OPENER_TEST(who_does_not_answer_is_not_asked_again),
		OPENER_TEST(who_was_silent_is_asked_again_when_no_opener_waits_for_it),
		OPENER_TEST(a_new_file_system_takes_the_place_of_one_that_was_silent),
		OPENER_TEST(who_is_always_slow_is_given_up),
		OPENER_TEST(without_an_opener_all_is_done_here),
		OPENER_TEST(sixteen_openers_live_at_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
