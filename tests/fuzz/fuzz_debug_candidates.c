/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for a debug file, as far as hostile files control it: the build-id and the links of an
 * object, the path it is at, and symbolic links on the way. The input is eight fields, each behind
 * its size in a byte: build-id, .gnu_debuglink, .gnu_debugaltlink, the object's path, the texts of
 * three symbolic links, the path to walk. Judged: a candidate is where its number says and is
 * called what the link says, none leads out of the folder of debug files, and a walk that succeeds
 * ends at the file that realpath(3) names.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "obj/debug_file.h"
#include "obj/trusted_path.h"
#include "tests/support/elf_builder.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEBUG_DIR "/debug"

enum { NR_LINKS = 3, TEXT_ROOM = UINT8_MAX + 1 };

static char folder[32];
static const char *const links[NR_LINKS] = { "a", "b", "d/c" };

static const char *in_folder(const char *name)
{
	static char path[sizeof(folder) + 8];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void remove_folder(void)
{
	for (size_t i = 0; i < NR_LINKS; i++)
		unlink(in_folder(links[i]));
	unlink(in_folder("d/f"));
	rmdir(in_folder("d"));
	rmdir(folder);
}

/* A folder with a folder d, and a file f in that. */
static void make_folder(void)
{
	FILE *file;

	snprintf(folder, sizeof(folder), "/tmp/fuzz_debug.XXXXXX");
	REQUIRE(mkdtemp(folder) && !mkdir(in_folder("d"), 0700));
	file = fopen(in_folder("d/f"), "we");
	REQUIRE(file && !fclose(file));
	atexit(remove_folder);
	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("XDG_CACHE_HOME");
	setenv("HOME", "/home/u", 1);
}

/* The next field, as far as it is there. */
static const uint8_t *take_field(struct cursor *input, size_t *ret_size)
{
	size_t size = cursor_u8(input), left = cursor_left(input);

	*ret_size = size < left ? size : left;
	return cursor_skip(input, *ret_size);
}

/* The next field as a text. */
static void take_text(struct cursor *input, char ret[TEXT_ROOM])
{
	size_t size;
	const uint8_t *bytes = take_field(input, &size);

	memcpy(ret, bytes, size);
	ret[size] = '\0';
}

static struct elf_file *make_elf(struct cursor *input)
{
	static const char *const names[] = { ".gnu_debuglink", ".gnu_debugaltlink" };
	uint8_t note[16 + TEXT_ROOM + 4];
	struct elf_builder b;
	struct elf_file *elf;
	size_t size;
	const uint8_t *bytes = take_field(input, &size);

	size = elf_builder_note(note, NT_GNU_BUILD_ID, bytes, size);
	elf_builder_init(&b, ET_DYN);
	elf_builder_section(&b, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0, note, size);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bytes = take_field(input, &size);
		elf_builder_section(&b, names[i], SHT_PROGBITS, 0, 0, bytes, size);
	}
	elf_builder_finish(&b);
	REQUIRE(!elf_file_from_memory(b.bytes, b.size, "fuzz", &elf, NULL));
	elf_builder_fini(&b);
	return elf;
}

static bool begins(const char *path, const char *with)
{
	return !strncmp(path, with, strlen(with));
}

static bool has_component(const char *path, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = path; (at = strstr(at, name)) != NULL; at++)
		if ((at == path || at[-1] == '/') && (at[size] == '/' || !at[size]))
			return true;
	return false;
}

/* @path is @below and then @name. */
static void require_place(const char *path, const char *below, const char *name)
{
	REQUIRE(begins(path, below) && !strcmp(path + strlen(below), name));
}

static void check_candidates(const struct elf_file *elf, const char *path)
{
	static const char *const below[] = { "", ".debug/", "" };
	struct debug_link link;
	const struct debug_search search = { .build_id = elf->build_id,
					     .build_id_size = elf->build_id_size,
					     .link = &link,
					     .path = path,
					     .debug_dir = DEBUG_DIR };
	char candidate[PATH_MAX], place[2 * PATH_MAX];
	const char *slash = strrchr(path, '/');

	debug_link_read(elf, &link);
	REQUIRE(!*link.name || debug_link_name_is_plain(link.name));
	if (debug_file_candidate(&search, 0, candidate))
		REQUIRE(begins(candidate, DEBUG_DIR "/.build-id/") &&
			!has_component(candidate, ".."));
	for (size_t i = 1; i + 1 < DEBUG_FILE_CANDIDATES; i++) {
		if (!debug_file_candidate(&search, i, candidate))
			continue;
		snprintf(place, sizeof(place), "%s%.*s%s", debug_file_is_beside(i) ? "" : DEBUG_DIR,
			 slash ? (int)(slash - path) + 1 : 0, path, below[i - 1]);
		require_place(candidate, place, link.name);
		REQUIRE(debug_file_is_beside(i) || path[0] == '/');
	}
	if (debug_file_candidate(&search, DEBUG_FILE_CANDIDATES - 1, candidate))
		REQUIRE(begins(candidate, "/home/u/.cache/debuginfod_client/") &&
			!has_component(candidate, ".."));
}

static void check_alt_candidates(const struct elf_file *elf)
{
	struct debug_alt_link link;
	char candidate[PATH_MAX];

	debug_alt_link_read(elf, &link);
	for (size_t i = 0; i < DEBUG_ALT_CANDIDATES && link.build_id_size; i++) {
		if (!debug_alt_candidate(&link, DEBUG_DIR, i, candidate))
			continue;
		REQUIRE(!has_component(candidate, ".."));
		REQUIRE(begins(candidate, DEBUG_DIR "/") || i == DEBUG_ALT_CANDIDATES - 1);
		if (i == 1)
			require_place(candidate, DEBUG_DIR "/.dwz/", link.name);
	}
}

static void check_walk(struct cursor *input)
{
	char text[TEXT_ROOM], path[sizeof(folder) + TEXT_ROOM];
	struct stat walked, real;
	int fd;

	for (size_t i = 0; i < NR_LINKS; i++) {
		take_text(input, text);
		(void)!symlink(text, in_folder(links[i])); /* an empty text makes none */
	}
	take_text(input, text);
	snprintf(path, sizeof(path), "%s/%s", folder, text);
	if (!trusted_path_open(path, getuid(), &fd)) {
		AUTO_FREE char *named = realpath(path, NULL);

		REQUIRE(!fstat(fd, &walked));
		REQUIRE(!S_ISLNK(walked.st_mode));
		if (named)
			REQUIRE(!stat(named, &real) && walked.st_dev == real.st_dev &&
				walked.st_ino == real.st_ino);
		close(fd);
	}
	for (size_t i = 0; i < NR_LINKS; i++)
		unlink(in_folder(links[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor input = cursor_make(data, size);
	char path[TEXT_ROOM];
	struct elf_file *elf;

	if (!*folder)
		make_folder();
	elf = make_elf(&input);
	take_text(&input, path);
	check_candidates(elf, path);
	check_alt_candidates(elf);
	elf_file_close(elf);
	check_walk(&input);
	return 0;
}
