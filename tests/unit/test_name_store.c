/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "naming/name_store.h"
#include "tests/support/tree.h"
#include "tests/support/skip_test.h"

#define WAIT_MS 30000

/* A program, what keeps its names, and who asks. */
struct shop {
	struct tree tree;
	char program[PATH_MAX], cache_path[PATH_MAX], debug[PATH_MAX];
	int fd;
	struct disk_cache *cache;
	struct name_store store;
};

/* Until times of change are told apart from those of a change to come. */
static void wait_until_settled(struct shop *shop)
{
	struct name_key key;
	int code = -ENODATA;

	for (int ms = 0; code == -ENODATA && ms < WAIT_MS; ms += 10) {
		code = name_key_read(shop->fd, shop->program, false, &key);
		if (code == -ENODATA)
			nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
	if (code == -ENODATA)
		skip_test("the times of this file system tell no change");
	assert_int_equal(code, 0);
}

static void open_store(struct shop *shop, bool mangled)
{
	assert_int_equal(disk_cache_create(shop->cache_path, 1 << 20, &shop->cache, NULL), 0);
	assert_int_equal(disk_cache_open(shop->cache, NULL), 0);
	shop->store = (struct name_store){ .cache = shop->cache, .mangled = mangled };
}

static void close_store(struct shop *shop)
{
	name_store_fini(&shop->store);
	disk_cache_destroy(shop->cache);
	shop->cache = NULL;
}

/* As another run does. */
static void reopen(struct shop *shop)
{
	close_store(shop);
	open_store(shop, false);
}

static int setup(void **state)
{
	static struct shop shop;

	shop = (struct shop){ .fd = -1 };
	tree_init(&shop.tree);
	tree_put(&shop.tree, "bin/program", "what it does");
	snprintf(shop.program, sizeof(shop.program), "%s", tree_path(&shop.tree, "bin/program"));
	snprintf(shop.debug, sizeof(shop.debug), "%s", tree_path(&shop.tree, "bin/x.debug"));
	snprintf(shop.cache_path, sizeof(shop.cache_path), "%s", tree_path(&shop.tree, "cache"));
	shop.fd = open(shop.program, O_RDWR | O_CLOEXEC);
	open_store(&shop, false);
	*state = &shop;
	return shop.fd < 0;
}

static int teardown(void **state)
{
	struct shop *shop = *state;

	close_store(shop);
	close(shop->fd);
	tree_fini(&shop->tree);
	return 0;
}

static struct name_file *find(struct shop *shop)
{
	return name_store_find(&shop->store, shop->fd, shop->program);
}

static struct name_search search_now(const struct shop *shop)
{
	const struct elf_file elf = { .build_id_size = 0 };
	const struct debug_link link = { .name = "x.debug", .crc = 1 };
	struct name_search search;

	name_search_make(NULL, &elf, &link, shop->program, &search);
	return search;
}

/* Learn that there is "main" at 0x1000 up to 0x1040. */
static void learn(struct shop *shop)
{
	const struct name_search search = search_now(shop);
	const struct symbol_place place = { "main", 0x1000, { 0x1000, 0x1040 } };
	const uint64_t vaddr = 0x1008;
	struct name_file *file = find(shop);

	assert_non_null(file);
	name_store_add(&shop->store, file, shop->fd, shop->program, &search, &vaddr, &place, 1,
		       false);
}

static bool knows_main(struct shop *shop)
{
	struct name_file *file = find(shop);
	const struct name_range *range = file ? name_entry_find(&file->entry, 0x103f) : NULL;

	assert_true(!file || file->is_known || !file->entry.nr);
	if (range)
		assert_string_equal(name_entry_text(&file->entry, range), "main");
	return range;
}

static uint64_t nr_hits(struct shop *shop)
{
	struct disk_cache_stats stats;

	disk_cache_stats(shop->cache, DISK_CACHE_NAMES, &stats);
	return stats.hits;
}

static void names_are_kept_for_the_next_run(void **state)
{
	struct shop *shop = *state;

	wait_until_settled(shop);
	assert_false(knows_main(shop));
	learn(shop);
	assert_true(knows_main(shop));
	reopen(shop);
	assert_true(knows_main(shop));
	assert_true(knows_main(shop));
	assert_int_equal(nr_hits(shop), 1); /* then it is in memory */
	assert_false(find(shop)->is_new);

	/* names as the file has them are others */
	close_store(shop);
	open_store(shop, true);
	assert_false(knows_main(shop));
}

static void that_there_are_no_lines_is_known_too(void **state)
{
	struct shop *shop = *state;
	const struct name_search search = search_now(shop);

	wait_until_settled(shop);
	learn(shop);
	name_store_add(&shop->store, find(shop), shop->fd, shop->program, &search, NULL, NULL, 0,
		       true);
	reopen(shop);
	assert_true(find(shop)->entry.has_no_lines);
	assert_true(knows_main(shop));
}

static void a_debug_file_that_comes_goes_or_changes_makes_names_void(void **state)
{
	struct shop *shop = *state;

	wait_until_settled(shop);
	learn(shop);
	reopen(shop);
	assert_true(knows_main(shop));
	tree_put(&shop->tree, "bin/x.debug", "comes");
	reopen(shop);
	assert_false(knows_main(shop));
	learn(shop);
	reopen(shop);
	assert_true(knows_main(shop));
	tree_put(&shop->tree, "bin/x.debug", "changes size");
	reopen(shop);
	assert_false(knows_main(shop));
	learn(shop);
	assert_int_equal(unlink(shop->debug), 0);
	reopen(shop);
	assert_false(knows_main(shop));
}

static void file_changed_during_reading_is_not_kept(void **state)
{
	struct shop *shop = *state;
	const struct name_search before = search_now(shop);
	const struct symbol_place place = { "main", 0x1000, { 0x1000, 0x1040 } };
	const uint64_t vaddr = 0x1000;

	wait_until_settled(shop);
	tree_put(&shop->tree, "bin/x.debug", "comes meanwhile");
	name_store_add(&shop->store, find(shop), shop->fd, shop->program, &before, &vaddr, &place,
		       1, false);
	assert_false(knows_main(shop));

	const struct name_search search = search_now(shop);
	struct name_file *file = find(shop);

	assert_int_equal(ftruncate(shop->fd, 3), 0);
	name_store_add(&shop->store, file, shop->fd, shop->program, &search, &vaddr, &place, 1,
		       false);
	reopen(shop);
	assert_false(knows_main(shop));
	wait_until_settled(shop);
	assert_false(knows_main(shop));
	assert_int_equal(nr_hits(shop), 0);
}

static void a_file_that_was_changed_is_another(void **state)
{
	static const struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 6 } };
	struct shop *shop = *state;

	wait_until_settled(shop);
	learn(shop);
	reopen(shop);
	assert_true(knows_main(shop));
	assert_int_equal(futimens(shop->fd, times), 0);
	/* changed this moment, it could be once more: nothing is known or kept of it */
	assert_false(knows_main(shop));
	wait_until_settled(shop);
	assert_false(knows_main(shop));

	/* one that forges its time has another time of change, and another owner another key */
	learn(shop);
	assert_true(knows_main(shop));
	if (geteuid() == 0) {
		assert_int_equal(fchown(shop->fd, 12345, (gid_t)-1), 0);
		wait_until_settled(shop);
		assert_false(knows_main(shop));
	}
}

static void file_without_name_is_not_kept(void **state)
{
	struct shop *shop = *state;
	AUTO_FD int memory = memfd_create("m", MFD_CLOEXEC);
	AUTO_FD int folder = open("/", O_RDONLY | O_CLOEXEC);
	struct name_key key;

	assert_true(memory >= 0 && folder >= 0);
	assert_int_equal(name_key_read(memory, "/m", false, &key), -ENODATA);
	assert_int_equal(name_key_read(folder, "/", false, &key), -ENODATA);
	assert_int_equal(name_key_read(-1, "/", false, &key), -EBADF);
	wait_until_settled(shop);
	shop->store.cache = NULL;
	assert_null(find(shop));
	shop->store.cache = shop->cache;
	assert_non_null(find(shop));
	assert_int_equal(unlink(shop->program), 0);
	assert_null(find(shop));
}

static void an_image_is_known_by_its_bytes(void **state)
{
	AUTO_FD int one = memfd_create("1", MFD_CLOEXEC), two = memfd_create("2", MFD_CLOEXEC);
	struct name_key key, other;

	(void)state;
	assert_int_equal(name_key_read(one, "[vdso]", false, &key), -ENODATA);
	assert_int_equal(write(one, "bytes", 5), 5);
	assert_int_equal(write(two, "bytes", 5), 5);
	assert_int_equal(name_key_read(one, "[vdso]", false, &key), 0);
	assert_int_equal(name_key_read(two, "[vdso]", false, &other), 0);
	assert_memory_equal(&key, &other, sizeof(key));
	assert_int_equal(name_key_read(two, "[vdso]", true, &other), 0);
	assert_memory_not_equal(&key, &other, sizeof(key));
	assert_int_equal(write(two, "x", 1), 1);
	assert_int_equal(name_key_read(two, "[vdso]", false, &other), 0);
	assert_memory_not_equal(&key, &other, sizeof(key));
	assert_int_equal(ftruncate(two, NAME_KEY_IMAGE_MAX), 0);
	assert_int_equal(name_key_read(two, "[vdso]", false, &other), 0);
	assert_int_equal(ftruncate(two, NAME_KEY_IMAGE_MAX + 1), 0);
	assert_int_equal(name_key_read(two, "[vdso]", false, &other), -ENODATA);
}

/* The path of the only file of the cache. */
static const char *only_file(struct shop *shop)
{
	struct name_key key;
	char name[80] = "cache/";

	assert_int_equal(name_key_read(shop->fd, shop->program, false, &key), 0);
	for (size_t i = 0; i < sizeof(key); i++)
		snprintf(name + 6 + 2 * i, 3, "%02x", key.bytes[i]);
	return tree_path(&shop->tree, name);
}

static void invalid_entry_is_asked_again(void **state)
{
	struct shop *shop = *state;
	struct stat st;

	wait_until_settled(shop);
	for (int i = 0; i < 4; i++) {
		learn(shop);
		name_store_write(&shop->store);

		const char *path = only_file(shop);

		assert_int_equal(stat(path, &st), 0);
		if (i == 0)
			assert_int_equal(truncate(path, st.st_size - 1), 0);
		else if (i == 1)
			assert_int_equal(truncate(path, 0), 0);
		else if (i == 2)
			assert_int_equal(truncate(path, 1 << 30), 0);
		else
			assert_int_equal(chmod(path, 0622), 0);
		reopen(shop);
		if (knows_main(shop))
			fail_msg("way %d gave names", i);
	}
	learn(shop);
	reopen(shop);
	assert_true(knows_main(shop));
}

static void entries_beyond_the_memory_are_written_and_dropped(void **state)
{
	struct shop *shop = *state;
	const char *other = tree_path(&shop->tree, "bin/other");
	AUTO_FD int fd = -1;

	wait_until_settled(shop);
	learn(shop);
	shop->store.bytes += NAME_STORE_BYTES_MAX;
	tree_put(&shop->tree, "bin/other", "another");
	fd = open(other, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);

	struct shop another = { .fd = fd, .program = "/other" };

	wait_until_settled(&another);
	assert_non_null(name_store_find(&shop->store, fd, "/bin/other"));
	assert_int_equal(shop->store.nr, 1);
	assert_true(knows_main(shop));
	assert_int_equal(nr_hits(shop), 1);
}

int main(void)
{
#define IN_SHOP(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		IN_SHOP(names_are_kept_for_the_next_run),
		IN_SHOP(that_there_are_no_lines_is_known_too),
		IN_SHOP(a_debug_file_that_comes_goes_or_changes_makes_names_void),
		IN_SHOP(file_changed_during_reading_is_not_kept),
		IN_SHOP(a_file_that_was_changed_is_another),
		IN_SHOP(file_without_name_is_not_kept),
		cmocka_unit_test(an_image_is_known_by_its_bytes),
		IN_SHOP(invalid_entry_is_asked_again),
		IN_SHOP(entries_beyond_the_memory_are_written_and_dropped),
	};

	fpl_log_set_level(FPL_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
