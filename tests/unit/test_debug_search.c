/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates for the debug file of an untrusted object. */
#include "cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "obj/trusted_path.h"
#include "parse/client.h"
#include "tests/support/elf_builder.h"
#include "tests/support/skip_test.h"
#include "tests/support/elf_path.h"

enum { USER = 12345, OTHER = 12346 };

static uint32_t link_crc; /* that the files have which are put */

struct place {
	char folder[64];
	struct parser *parser;
	struct parse_client *client;
};

/* Into a buffer that the next call uses again. */
static const char *in(const struct place *place, const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", place->folder, name);
	return path;
}

static int make_place(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	*state = place;
	if (!place || geteuid())
		return 0;
	snprintf(place->folder, sizeof(place->folder), "/tmp/test_debug_search.XXXXXX");
	umask(022);
	if (!mkdtemp(place->folder) || mkdir(in(place, "hers"), 0755) ||
	    chown(in(place, "hers"), USER, USER) || mkdir(in(place, "roots"), 0700))
		return -1;
	return parser_create(PARSER_FORK, &place->parser, NULL) ||
	       client_open(place->parser, &place->client, NULL);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int drop_place(void **state)
{
	struct place *place = *state;

	if (place->folder[0]) {
		client_close(place->client);
		parser_destroy(place->parser);
		if (nftw(place->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS))
			return -1;
	}
	free(place);
	return 0;
}

/* An ELF file of @owner with a build-id that ends in @id and a debuglink to "it.debug"; @id 0: of
 * no build-id. */
static void put(const char *path, uint8_t id, uid_t owner)
{
	uint8_t note[64], build_id[20] = { 1, 2, 3, [19] = id };
	char link[16] = "it.debug";
	size_t size = elf_builder_note(note, NT_GNU_BUILD_ID, build_id, sizeof(build_id));
	struct elf_builder b;
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	memcpy(link + 12, &link_crc, sizeof(link_crc));
	elf_builder_init(&b, ET_DYN);
	if (id)
		elf_builder_section(&b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note, size);
	elf_builder_section(&b, ".gnu_debuglink", SHT_PROGBITS, 0, 0, link, sizeof(link));
	elf_builder_finish(&b);
	assert_true(fd >= 0);
	assert_int_equal(io_write(fd, b.bytes, b.size), 0);
	assert_int_equal(fchown(fd, owner, owner), 0);
	elf_builder_fini(&b);
}

static void put_link(const char *text, const char *path, uid_t owner)
{
	assert_int_equal(symlink(text, path), 0);
	assert_int_equal(lchown(path, owner, owner), 0);
}

/* Does the search for the debug file of hers/it find one? */
static bool finds(struct place *place, char ret_path[PATH_MAX])
{
	char path[PATH_MAX];
	struct client_file file;
	struct elf_file *elf;
	struct debug_link link;

	snprintf(path, sizeof(path), "%s", in(place, "hers/it"));

	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(client_file_init(&file, fd, path), 0);
	assert_int_equal(client_facts(place->client, &file, &elf, NULL, &link, NULL), 0);
	client_find_debug(place->client, &file, elf, &link, ret_path);
	elf_file_close(elf);

	AUTO_FD int debug_fd = file.debug_fd;

	return debug_fd >= 0;
}

static void put_own(struct place *place)
{
	put(in(place, "hers/it.debug"), 7, USER);
}

static void put_own_below(struct place *place)
{
	assert_int_equal(mkdir(in(place, "hers/.debug"), 0755), 0);
	put(in(place, "hers/.debug/it.debug"), 7, USER);
}

static void put_other_build(struct place *place)
{
	put(in(place, "hers/it.debug"), 8, USER);
}

static void put_roots(struct place *place)
{
	put(in(place, "hers/it.debug"), 7, 0);
}

static void put_strangers(struct place *place)
{
	put(in(place, "hers/it.debug"), 7, OTHER);
}

static void put_writable(struct place *place)
{
	put_own(place);
	assert_int_equal(chmod(in(place, "hers/it.debug"), 0666), 0);
}

static void link_to_own(struct place *place)
{
	put(in(place, "hers/elsewhere"), 7, USER);
	put_link("elsewhere", in(place, "hers/it.debug"), USER);
}

static void link_to_roots(struct place *place)
{
	put(in(place, "roots/secret"), 7, 0);
	put_link("../roots/secret", in(place, "hers/it.debug"), USER);
}

static void link_of_a_folder(struct place *place)
{
	put(in(place, "roots/it.debug"), 7, USER);
	put_link("../roots", in(place, "hers/.debug"), USER);
}

static void roots_link(struct place *place)
{
	put(in(place, "hers/elsewhere"), 7, USER);
	put_link("elsewhere", in(place, "hers/it.debug"), 0);
}

static void roots_link_of_a_folder(struct place *place)
{
	char target[PATH_MAX];

	put(in(place, "roots/it.debug"), 7, USER);
	snprintf(target, sizeof(target), "%s", in(place, "roots"));
	put_link(target, in(place, "hers/.debug"), 0);
}

static void links_in_a_circle(struct place *place)
{
	put_link("it.debug", in(place, "hers/it.debug"), 0);
}

static void hard_link_to_roots(struct place *place)
{
	char from[PATH_MAX];

	put(in(place, "roots/secret"), 7, 0);
	snprintf(from, sizeof(from), "%s", in(place, "roots/secret"));
	assert_int_equal(link(from, in(place, "hers/it.debug")), 0);
}

static void put_fifo(struct place *place)
{
	assert_int_equal(mkfifo(in(place, "hers/it.debug"), 0666), 0);
}

static void put_cached(struct place *place, uint8_t id, uid_t owner)
{
	assert_int_equal(mkdir(in(place, "cache"), 0755), 0);
	assert_int_equal(mkdir(in(place, "cache/0102030000000000000000000000000000000007"), 0755),
			 0);
	put(in(place, "cache/0102030000000000000000000000000000000007/debuginfo"), id, owner);
}

static void put_fetched(struct place *place)
{
	put_cached(place, 7, 0);
}

static void put_fetched_other_build(struct place *place)
{
	put_cached(place, 8, 0);
}

static void put_fetched_without_build_id(struct place *place)
{
	put_cached(place, 0, 0);
}

static void put_fetched_of_the_crc(struct place *place)
{
	struct elf_file *elf;

	put_cached(place, 0, 0);
	assert_int_equal(
		elf_file_open_path(
			in(place, "cache/0102030000000000000000000000000000000007/debuginfo"), &elf,
			NULL),
		0);
	assert_int_equal(debug_file_crc(elf, &link_crc), 0);
	elf_file_close(elf);
	unlink(in(place, "hers/it"));
	put(in(place, "hers/it"), 7, USER);
}

static void put_fetched_by_a_stranger(struct place *place)
{
	put_cached(place, 7, OTHER);
}

static void debug_files_are_of_whom_they_may_be(void **state)
{
	static const struct {
		const char *what;
		void (*put)(struct place *place);
		bool found;
	} cases[] = {
		{ "her own", put_own, true },
		{ "her own, in .debug", put_own_below, true },
		{ "of another build", put_other_build, false },
		{ "root's, where she says that her object is", put_roots, false },
		{ "a stranger's", put_strangers, false },
		{ "one that all may write", put_writable, false },
		{ "her link to her own", link_to_own, false },
		{ "her link to root's", link_to_roots, false },
		{ "her link in place of a folder", link_of_a_folder, false },
		{ "root's link to hers", roots_link, true },
		{ "root's link in place of a folder", roots_link_of_a_folder, true },
		{ "links in a circle", links_in_a_circle, false },
		{ "a hard link to root's", hard_link_to_roots, false },
		{ "a FIFO", put_fifo, false },
		{ "root's, fetched", put_fetched, true },
		{ "root's, fetched, of another build", put_fetched_other_build, false },
		{ "root's, fetched, without a build-id", put_fetched_without_build_id, false },
		{ "root's, fetched, of the CRC-32", put_fetched_of_the_crc, true },
		{ "a stranger's, fetched", put_fetched_by_a_stranger, false },
	};

	need_root();
	drop_place(state);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char path[PATH_MAX];
		struct place *place;

		assert_int_equal(make_place(state), 0);
		place = *state;
		put(in(place, "hers/it"), 7, USER);
		assert_int_equal(setenv("DEBUGINFOD_CACHE_PATH", in(place, "cache"), 1), 0);
		cases[i].put(place);
		if (finds(place, path) != cases[i].found)
			fail_msg("%s: %sfound", cases[i].what, cases[i].found ? "not " : "");
		assert_int_equal(path[0] != '\0', cases[i].found);
		if (i + 1 < ARRAY_SIZE(cases))
			drop_place(state);
	}
}

static void paths_lead_where_open_leads(void **state)
{
	static const char *const names[] = {
		"hers",		 "hers/",	    "//hers///it",
		"hers/./it",	 "hers/../hers/it", "to-hers/it",
		"to-hers/to-it", "absolute/it",	    "to-hers/../roots/x",
		"roots/x",	 "hers/none",	    "hers/it/below",
		"none/it",	 "to-none",	    "circle",
		"chain0",
	};
	struct place *place;
	char long_path[PATH_MAX];
	int fd;

	need_root();
	place = *state;
	put(in(place, "hers/it"), 7, USER);
	put(in(place, "roots/x"), 7, 0);
	put_link("hers", in(place, "to-hers"), 0);
	put_link("it", in(place, "hers/to-it"), OTHER);
	put_link("none", in(place, "to-none"), 0);
	put_link("circle", in(place, "circle"), 0);
	snprintf(long_path, sizeof(long_path), "%s", in(place, "hers"));
	put_link(long_path, in(place, "absolute"), 0);
	for (int i = 0; i < 39; i++) {
		char name[16], target[16];

		snprintf(name, sizeof(name), "chain%d", i);
		snprintf(target, sizeof(target), i < 38 ? "chain%d" : "hers", i + 1);
		put_link(target, in(place, name), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct stat want, got;
		int code;

		fd = -1;
		code = trusted_path_open(in(place, names[i]), OTHER, &fd);
		if (stat(in(place, names[i]), &want) < 0) {
			if (code != -errno)
				fail_msg("%s: %d, not %d", names[i], code, -errno);
			continue;
		}
		if (code || fstat(fd, &got) < 0 || got.st_ino != want.st_ino)
			fail_msg("%s: %d", names[i], code);
		close(fd);
	}
	assert_int_equal(trusted_path_open(in(place, "hers/to-it"), USER, &fd), -ELOOP);
	assert_int_equal(trusted_path_open("", USER, &fd), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(debug_files_are_of_whom_they_may_be, make_place,
						drop_place),
		cmocka_unit_test_setup_teardown(paths_lead_where_open_leads, make_place,
						drop_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
