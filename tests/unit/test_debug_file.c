/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "obj/debug_file.h"
#include "obj/debuginfod.h"
#include "obj/mini_debug.h"
#include "tests/support/debug_open.h"
#include "tests/support/elf_builder.h"
#include "tests/support/tree.h"
#include "tests/support/skip_test.h"
#include "tests/support/elf_path.h"

/* A directory of its own for each test, removed with all it holds. */
struct scratch {
	char dir[64];
	char made[32][PATH_MAX]; /* in order of creation */
	size_t nr_made;
};

static void scratch_note(struct scratch *scratch, const char *path)
{
	assert_true(scratch->nr_made < ARRAY_SIZE(scratch->made));
	assert_true(strlen(path) < PATH_MAX);
	memcpy(scratch->made[scratch->nr_made++], path, strlen(path) + 1);
}

static int scratch_setup(void **state)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));

	assert_non_null(scratch);
	snprintf(scratch->dir, sizeof(scratch->dir), "/tmp/fpless-test-XXXXXX");
	assert_non_null(mkdtemp(scratch->dir));
	*state = scratch;
	return 0;
}

static int scratch_teardown(void **state)
{
	struct scratch *scratch = *state;

	while (scratch->nr_made)
		remove(scratch->made[--scratch->nr_made]);
	rmdir(scratch->dir);
	free(scratch);
	return 0;
}

/* Write @bytes to @name below the scratch directory, making the directories on the way. */
static void scratch_write(struct scratch *scratch, const char *name, const void *bytes, size_t size)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", scratch->dir, name);
	for (char *slash = path + strlen(scratch->dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(path, 0700) == 0)
			scratch_note(scratch, path);
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), (ssize_t)size);
	close(fd);
	scratch_note(scratch, path);
}

/* @id 0: no build-id. @link NULL: no debuglink. @mark tells files apart. */
static void build(struct elf_builder *b, uint8_t id, const char *link, size_t link_size,
		  uint32_t crc, const char *mark)
{
	const uint8_t desc[4] = { 0xab, 0xcd, 0xef, id };
	uint8_t note[64], bytes[512] = { 0 };

	elf_builder_init(b, ET_DYN);
	if (id)
		elf_builder_section(b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note,
				    elf_builder_note(note, NT_GNU_BUILD_ID, desc, sizeof(desc)));
	if (link) {
		size_t crc_off = (link_size + 3) & ~(size_t)3;

		memcpy(bytes, link, link_size);
		memcpy(bytes + crc_off, &crc, sizeof(crc));
		elf_builder_section(b, ".gnu_debuglink", SHT_PROGBITS, 0, 0, bytes, crc_off + 4);
	}
	elf_builder_section(b, mark, SHT_PROGBITS, 0, 0, "", 1);
	elf_builder_finish(b);
}

static void debug_file_is_found_where_gdb_looks(void **state)
{
	static const struct {
		const char *what, *where;
		uint8_t id, debug_id;
		bool right_crc;
		int want;
	} cases[] = {
		{ "by build-id", "debug/.build-id/ab/cdef01.debug", 1, 1, false, 0 },
		{ "build-id of another", "debug/.build-id/ab/cdef01.debug", 1, 2, false, -ENOENT },
		{ "by build-id, has none", "debug/.build-id/ab/cdef01.debug", 1, 0, true, -ENOENT },
		{ "beside, CRC", "bin/prog.dbg", 0, 0, true, 0 },
		{ "beside, wrong CRC", "bin/prog.dbg", 0, 0, false, -ENOENT },
		{ "beside, build-id in place of CRC", "bin/prog.dbg", 1, 1, false, 0 },
		{ "beside, build-ids differ", "bin/prog.dbg", 1, 2, true, -ENOENT },
		{ "beside, one build-id, CRC", "bin/prog.dbg", 1, 0, true, 0 },
		{ "beside, one build-id, wrong CRC", "bin/prog.dbg", 1, 0, false, -ENOENT },
		{ ".debug below", "bin/.debug/prog.dbg", 0, 0, true, 0 },
		{ "elsewhere", "other/prog.dbg", 0, 0, true, -ENOENT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_builder b, d;
		struct elf_file *elf = NULL, *debug = NULL;
		char path[PATH_MAX], dir[PATH_MAX];
		uint32_t crc;
		int rc;

		assert_int_equal(scratch_setup(state), 0);
		struct scratch *scratch = *state;
		build(&d, cases[i].debug_id, NULL, 0, 0, ".is_debug");
		scratch_write(scratch, cases[i].where, d.bytes, d.size);
		crc = (uint32_t)crc32_z(0, d.bytes, d.size);
		build(&b, cases[i].id, "prog.dbg", 9, crc + !cases[i].right_crc, ".is_main");
		scratch_write(scratch, "bin/prog", b.bytes, b.size);
		snprintf(path, sizeof(path), "%s/bin/prog", scratch->dir);
		snprintf(dir, sizeof(dir), "%s/debug", scratch->dir);
		assert_int_equal(elf_file_open_path(path, &elf, NULL), 0);
		rc = debug_file_open(elf, path, dir, &debug, NULL);
		if (rc != cases[i].want)
			fail_msg("%s: %d", cases[i].what, rc);
		if (!rc && !elf_file_section(debug, ".is_debug"))
			fail_msg("%s: another file", cases[i].what);
		elf_file_close(debug);
		elf_file_close(elf);
		elf_builder_fini(&b);
		elf_builder_fini(&d);
		scratch_teardown(state);
	}
}

static void debug_file_below_the_global_directory_follows_the_path(void **state)
{
	struct scratch *scratch = *state;
	struct elf_builder b, d;
	struct elf_file *elf = NULL, *debug = NULL;

	build(&d, 0, NULL, 0, 0, ".is_debug");
	scratch_write(scratch, "usr/lib/prog.dbg", d.bytes, d.size);
	build(&b, 0, "prog.dbg", 9, (uint32_t)crc32_z(0, d.bytes, d.size), ".is_main");
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "prog", &elf, NULL), 0);
	assert_int_equal(debug_file_open(elf, "/usr/lib/prog", scratch->dir, &debug, NULL), 0);
	assert_non_null(elf_file_section(debug, ".is_debug"));
	elf_file_close(debug);
	debug = NULL;
	assert_int_equal(debug_file_open(elf, "usr/lib/prog", scratch->dir, &debug, NULL), -ENOENT);
	assert_int_equal(debug_file_open(elf, NULL, scratch->dir, &debug, NULL), -ENOENT);
	elf_file_close(elf);
	elf_builder_fini(&b);
	elf_builder_fini(&d);
}

static void a_file_with_its_symbols_and_no_link_is_not_stripped(void **state)
{
	static const struct {
		const char *sections[2], *link;
		bool is_stripped;
	} cases[] = {
		{ { ".symtab" }, NULL, false },
		{ { ".symtab" }, "x.debug", true },
		{ { ".symtab", ".gnu_debuglink" }, NULL, true }, /* a damaged one */
		{ { ".text" }, NULL, true },
		{ { ".text" }, "x.debug", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *name = cases[i].link;
		uint8_t bytes[12] = { 0 };
		struct elf_builder b;
		struct elf_file *elf = NULL;
		struct debug_link link;

		elf_builder_init(&b, ET_DYN);
		for (size_t s = 0; s < 2 && cases[i].sections[s]; s++)
			elf_builder_section(&b, cases[i].sections[s], SHT_PROGBITS, 0, 0, "", 1);
		if (name) {
			memcpy(bytes, name, strlen(name) + 1);
			elf_builder_section(&b, ".gnu_debuglink", SHT_PROGBITS, 0, 0, bytes,
					    sizeof(bytes));
		}
		elf_builder_finish(&b);
		assert_int_equal(elf_file_from_memory(b.bytes, b.size, "x", &elf, NULL), 0);
		debug_link_read(elf, &link);
		assert_int_equal(link.is_stripped, cases[i].is_stripped);
		assert_string_equal(link.name, name ? name : "");
		elf_file_close(elf);
		elf_builder_fini(&b);
	}
}

static void debuglink_to_the_file_itself_is_not_followed(void **state)
{
	struct scratch *scratch = *state;
	struct elf_builder b;
	struct elf_file *elf = NULL, *debug = NULL;
	char path[PATH_MAX];

	build(&b, 5, "prog", 5, 0, ".is_main");
	scratch_write(scratch, "prog", b.bytes, b.size);
	snprintf(path, sizeof(path), "%s/prog", scratch->dir);
	assert_int_equal(elf_file_open_path(path, &elf, NULL), 0);
	assert_int_equal(debug_file_open(elf, path, scratch->dir, &debug, NULL), -ENOENT);
	elf_file_close(elf);
	elf_builder_fini(&b);
}

static void hostile_debuglinks_lead_nowhere(void **state)
{
	struct scratch *scratch = *state;
	static const struct {
		const char *what, *link;
		size_t size;
	} cases[] = {
		{ "path upwards", "../prog.dbg", 12 },
		{ "absolute", "/etc/passwd", 12 },
		{ "dot", ".", 2 },
		{ "dot dot", "..", 3 },
		{ "empty", "", 1 },
		{ "no NUL", "prog.dbgXXXX", 12 },
		{ "a FIFO", "fifo", 5 },
		{ "a directory", "dir", 4 },
	};
	struct elf_builder d;
	char path[PATH_MAX], fifo[PATH_MAX];

	build(&d, 0, NULL, 0, 0, ".is_debug");
	scratch_write(scratch, "prog.dbg", d.bytes, d.size);
	scratch_write(scratch, "bin/dir/x", d.bytes, d.size);
	snprintf(path, sizeof(path), "%s/bin/prog", scratch->dir);
	snprintf(fifo, sizeof(fifo), "%s/bin/fifo", scratch->dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	scratch_note(scratch, fifo);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_file *elf = NULL, *debug = NULL;
		struct elf_builder b;

		build(&b, 0, cases[i].link, cases[i].size, (uint32_t)crc32_z(0, d.bytes, d.size),
		      ".is_main");
		assert_int_equal(elf_file_from_memory(b.bytes, b.size, "prog", &elf, NULL), 0);
		if (debug_file_open(elf, path, scratch->dir, &debug, NULL) != -ENOENT)
			fail_msg("%s", cases[i].what);
		elf_file_close(elf);
		elf_builder_fini(&b);
	}
	elf_builder_fini(&d);
}

/* The bytes of @plain as xz packs them; the caller frees them. */
static uint8_t *pack(const uint8_t *plain, size_t size, size_t *ret_size)
{
	size_t room = lzma_stream_buffer_bound(size), used = 0;
	uint8_t *packed = malloc(room);

	assert_non_null(packed);
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, plain, size, packed,
						 &used, room),
			 LZMA_OK);
	*ret_size = used;
	return packed;
}

static int open_mini(const void *packed, size_t size, struct elf_file **ret)
{
	struct elf_builder b;
	struct elf_file *elf = NULL;
	int rc;

	elf_builder_init(&b, ET_DYN);
	if (packed)
		elf_builder_section(&b, ".gnu_debugdata", SHT_PROGBITS, 0, 0, packed, size);
	elf_builder_finish(&b);
	assert_int_equal(elf_file_from_memory(b.bytes, b.size, "prog", &elf, NULL), 0);
	elf_builder_fini(&b);
	rc = mini_debug_open(elf, ret, NULL);
	elf_file_close(elf);
	return rc;
}

static void mini_debug_is_inflated_or_refused(void **state)
{
	struct elf_file *mini = NULL;
	struct elf_builder d;
	AUTO_FREE uint8_t *packed = NULL, *zeroes = calloc(1, MINI_DEBUG_MAX + 1), *bomb = NULL;
	size_t size, bomb_size;

	(void)state;
	assert_non_null(zeroes);
	build(&d, 0, NULL, 0, 0, ".is_debug");
	packed = pack(d.bytes, d.size, &size);
	assert_int_equal(open_mini(packed, size, &mini), 0);
	assert_int_equal(mini->size, d.size);
	assert_non_null(elf_file_section(mini, ".is_debug"));
	elf_file_close(mini);
	mini = NULL;
	elf_builder_fini(&d);

	assert_int_equal(open_mini(NULL, 0, &mini), -ENOENT);
	assert_int_equal(open_mini(packed, size - 1, &mini), -EINVAL);
	assert_int_equal(open_mini(packed, 0, &mini), -EINVAL);
	packed[size / 2] ^= 0x55;
	assert_int_equal(open_mini(packed, size, &mini), -EINVAL);
	bomb = pack(zeroes, MINI_DEBUG_MAX + 1, &bomb_size);
	assert_int_equal(open_mini(bomb, bomb_size, &mini), -EFBIG);
	assert_null(mini);
}

static void supplements_are_found_below_the_debug_folder_alone(void **state)
{
	static const struct {
		const char *what, *path, *name;
	} cases[] = {
		{ "absolute", "/usr/lib/debug/.dwz/x86_64-linux-gnu/a.debug",
		  "x86_64-linux-gnu/a.debug" },
		{ "relative", "../../../.dwz/b-1.2", "b-1.2" },
		{ "elsewhere", "/home/eve/.dwz/c", "c" },
		{ "of no such tree", "/etc/shadow", "" },
		{ "up again", "/usr/lib/debug/.dwz/../../../../etc/shadow", "" },
		{ "up at the end", "/usr/lib/debug/.dwz/a/..", "" },
		{ "dots in a name", ".dwz/a..b", "a..b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char bytes[128] = "", path[PATH_MAX], want[PATH_MAX];
		size_t path_size = strlen(cases[i].path) + 1;
		struct debug_alt_link link;
		struct elf_builder b;
		struct elf_file *elf;

		memcpy(bytes, cases[i].path, path_size);
		memset(bytes + path_size, 0xab, 20);
		elf_builder_init(&b, ET_DYN);
		elf_builder_section(&b, ".gnu_debugaltlink", SHT_PROGBITS, 0, 0, bytes,
				    path_size + 20);
		elf_builder_finish(&b);
		assert_int_equal(elf_file_from_memory(b.bytes, b.size, "memory", &elf, NULL), 0);
		debug_alt_link_read(elf, &link);
		print_message("%s\n", cases[i].what);
		assert_int_equal(link.build_id_size, 20);
		assert_string_equal(link.name, cases[i].name);
		assert_true(debug_alt_candidate(&link, "/d", 0, path));
		assert_string_equal(path,
				    "/d/.build-id/ab/ababababababababababababababababababab.debug");
		assert_int_equal(debug_alt_candidate(&link, "/d", 1, path), !!cases[i].name[0]);
		snprintf(want, sizeof(want), "/d/.dwz/%s", cases[i].name);
		if (cases[i].name[0])
			assert_string_equal(path, want);
		assert_false(debug_alt_candidate(&link, "/d", DEBUG_ALT_CANDIDATES, path));
		elf_file_close(elf);
		elf_builder_fini(&b);
	}
}

/* NULL takes it away. */
static void set_variable(const char *name, const char *value)
{
	assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void debuginfod_files_are_found_in_its_cache(void **state)
{
	static const struct {
		const char *what, *own, *xdg, *home, *want;
	} cases[] = {
		{ "the client's variable", "/own", "/xdg", "/home/u", "/own/abcd/debuginfo" },
		{ "XDG", NULL, "/xdg", "/home/u", "/xdg/debuginfod_client/abcd/debuginfo" },
		{ "at home", NULL, NULL, "/home/u",
		  "/home/u/.cache/debuginfod_client/abcd/debuginfo" },
		{ "relative paths do not count", "own", "", "/h",
		  "/h/.cache/debuginfod_client/abcd/debuginfo" },
		{ "nowhere", NULL, NULL, NULL, NULL },
	};
	static const uint8_t build_id[] = { 0xab, 0xcd };
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		set_variable("DEBUGINFOD_CACHE_PATH", cases[i].own);
		set_variable("XDG_CACHE_HOME", cases[i].xdg);
		set_variable("HOME", cases[i].home);
		assert_int_equal(debuginfod_cached(build_id, 2, DEBUGINFOD_DEBUG, path),
				 cases[i].want != NULL);
		if (cases[i].want)
			assert_string_equal(path, cases[i].want);
	}
	set_variable("HOME", "/home/u");
	assert_false(debuginfod_cached(build_id, 1, DEBUGINFOD_DEBUG, path));
	assert_false(
		debuginfod_cached(build_id, ELF_FILE_BUILD_ID_MAX + 1, DEBUGINFOD_DEBUG, path));
}

/* A server may be a folder: the client of elfutils takes file:// for one. */
static void files_are_fetched_into_the_cache(void **state)
{
	static const uint8_t build_id[] = { 0xab, 0xcd, 0xef, 0x01 }, other[] = { 1, 2, 3, 4 };
	struct debuginfod *debuginfod = NULL;
	struct fpl_err err = { 0 };
	struct tree tree;
	char text[PATH_MAX], path[PATH_MAX];
	int code, fd;

	(void)state;
	set_variable("DEBUGINFOD_URLS", NULL);
	assert_int_equal(debuginfod_open(&debuginfod, &err), -ENOENT);
	tree_init(&tree);
	tree_put(&tree, "server/buildid/abcdef01/debuginfo", "debug");
	tree_put(&tree, "server/buildid/abcdef01/executable", "code");
	tree_put(&tree, "server/buildid/abcdef01/source/src/a.c", "source");
	snprintf(text, sizeof(text), "file://%s/server", tree.root);
	set_variable("DEBUGINFOD_URLS", text);
	snprintf(text, sizeof(text), "%s/cache", tree.root);
	set_variable("DEBUGINFOD_CACHE_PATH", text);
	code = debuginfod_open(&debuginfod, &err);
	if (!code) {
		assert_int_equal(debuginfod_fetch(debuginfod, build_id, 4, DEBUGINFOD_DEBUG, &err),
				 0);
		assert_true(debuginfod_cached(build_id, 4, DEBUGINFOD_DEBUG, path));
		assert_int_equal(access(path, R_OK), 0);
		assert_int_equal(debuginfod_fetch(debuginfod, build_id, 4, DEBUGINFOD_CODE, &err),
				 0);
		assert_true(debuginfod_cached(build_id, 4, DEBUGINFOD_CODE, path));
		assert_int_equal(access(path, R_OK), 0);
		fd = debuginfod_source(debuginfod, build_id, 4, "/src/a.c");
		assert_true(fd >= 0);
		assert_int_equal(pread(fd, text, sizeof(text), 0), 6);
		close(fd);
		assert_true(debuginfod_source(debuginfod, build_id, 4, "/src/b.c") < 0);
		assert_int_equal(debuginfod_source(debuginfod, other, 1, "/src/a.c"), -EINVAL);
		assert_true(debuginfod_fetch(debuginfod, other, 4, DEBUGINFOD_DEBUG, &err) < 0);
		assert_int_equal(debuginfod_fetch(debuginfod, other, 1, DEBUGINFOD_DEBUG, &err),
				 -EINVAL);
		debuginfod_close(debuginfod);
	}
	tree_fini(&tree);
	if (code == -ENOSYS)
		skip_test("%s", err.msg);
	assert_int_equal(code, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(debug_file_is_found_where_gdb_looks),
		cmocka_unit_test_setup_teardown(
			debug_file_below_the_global_directory_follows_the_path, scratch_setup,
			scratch_teardown),
		cmocka_unit_test(a_file_with_its_symbols_and_no_link_is_not_stripped),
		cmocka_unit_test_setup_teardown(debuglink_to_the_file_itself_is_not_followed,
						scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(hostile_debuglinks_lead_nowhere, scratch_setup,
						scratch_teardown),
		cmocka_unit_test(supplements_are_found_below_the_debug_folder_alone),
		cmocka_unit_test(debuginfod_files_are_found_in_its_cache),
		cmocka_unit_test(files_are_fetched_into_the_cache),
		cmocka_unit_test(mini_debug_is_inflated_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
