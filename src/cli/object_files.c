/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/object_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "obj/regular_file.h"

/* The last one is what debuginfod's client keeps. */
enum { CANDIDATES = 5 };

/* A build-id is a part of a path only where it is hex. */
static bool is_hex(const char *build_id)
{
	size_t length = strlen(build_id);

	return length >= 4 && length <= 2 * ELF_FILE_BUILD_ID_MAX && length % 2 == 0 &&
	       build_id[strspn(build_id, "0123456789abcdef")] == '\0';
}

/* @build_id, which is_hex(), as bytes; returns how many. */
static size_t bytes_of(const char *build_id, uint8_t ret[static ELF_FILE_BUILD_ID_MAX])
{
	size_t nr = strlen(build_id) / 2;

	for (size_t i = 0; i < nr; i++) {
		const char digits[] = { build_id[2 * i], build_id[2 * i + 1], '\0' };

		ret[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return nr;
}

/* A path of strangers that stays below the folder it is put behind. */
static bool is_below(const char *path)
{
	return path[0] == '/' && !strstr(path, "/../") &&
	       (strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

/* Write candidate @idx to @ret; false: it has none. Of another machine's files debug files come
 * first, since here nobody looks for them beside the file. */
static bool candidate(const char *root, const char *path, const char *build_id, size_t idx,
		      char ret[PATH_MAX])
{
	bool here = !strcmp(root, "/");
	const char *slash = strrchr(path, '/');
	uint8_t bytes[ELF_FILE_BUILD_ID_MAX];
	int length = -1;

	if (idx == CANDIDATES - 1)
		return debuginfod_cached(bytes, bytes_of(build_id, bytes), ret);
	root = here ? "" : root;
	switch (here ? (idx + 2) % (CANDIDATES - 1) : idx) {
	case 0:
		length = snprintf(ret, PATH_MAX, "%s/.build-id/%.2s/%s.debug", root, build_id,
				  build_id + 2);
		break;
	case 1:
		length = snprintf(ret, PATH_MAX, "%s" DEBUG_FILE_DIR "/.build-id/%.2s/%s.debug",
				  root, build_id, build_id + 2);
		break;
	case 2:
		if (is_below(path))
			length = snprintf(ret, PATH_MAX, "%s%s", root, path);
		break;
	default:
		if (is_below(path) && slash[1] && !here)
			length = snprintf(ret, PATH_MAX, "%s%s", root, slash);
		break;
	}
	return length > 0 && length < PATH_MAX;
}

/* Open what is at @path if it has @build_id. Returns 1, 0 where there is no ELF file, -EINVAL for
 * one of another build-id. */
static int open_if_equal(struct desk *desk, const char *path, const char *build_id, int *ret)
{
	char hex[2 * ELF_FILE_BUILD_ID_MAX + 1], shown[256];
	AUTO_FD int fd = -1;
	struct desk_file file;
	struct debug_link link;
	struct elf_file *elf;
	struct fpl_err err;
	struct stat st;

	if (regular_file_open(path, &fd, &st) || desk_file_init(&file, fd, path) ||
	    desk_facts(desk, &file, &elf, NULL, &link, &err))
		return 0;
	text_hex(elf->build_id, elf->build_id_size, hex);
	elf_file_close(elf);
	if (!strcmp(hex, build_id)) {
		*ret = TAKE_FD(fd);
		return 1;
	}
	text_escape(shown, sizeof(shown), path, "");
	fpl_log(FPL_LOG_WARN, "%s: not used: its build-id is %s, the recording has %.16s...", shown,
		*hex ? hex : "none", build_id);
	return -EINVAL;
}

static bool lacks_lines(const struct recording *recording, const struct recording_frame *frame)
{
	return !frame->nr_lines || !recording->lines[frame->first_line + frame->nr_lines - 1u].line;
}

/* Have a server's debug file in the place where it is looked for. */
static void fetch(struct debuginfod *fetcher, const char *build_id, struct object_files *ret)
{
	uint8_t bytes[ELF_FILE_BUILD_ID_MAX];
	struct fpl_err err;

	if (debuginfod_fetch(fetcher, bytes, bytes_of(build_id, bytes), &err))
		fpl_log(FPL_LOG_DEBUG, "%s", err.msg);
	else
		ret->fetched++;
}

static int register_object(const struct recording *recording, uint32_t idx, const char *root,
			   struct desk *desk, struct symbolizer *symbolizer,
			   struct object_files *ret, struct fpl_err *err)
{
	const struct recording_object *object = &recording->objects[idx];
	const char *path = recording_string(recording, object->path);
	const char *build_id = recording_string(recording, object->build_id);
	bool refused = false;
	char file[PATH_MAX];

	if (!is_hex(build_id)) {
		ret->anonymous++;
		return 0;
	}
	for (size_t i = 0; i < CANDIDATES; i++) {
		AUTO_FD int fd = -1;
		int opened = candidate(root, path, build_id, i, file)
				     ? open_if_equal(desk, file, build_id, &fd)
				     : 0;

		refused = refused || opened < 0;
		if (opened <= 0)
			continue;
		ret->found++;
		return symbolizer_add_object(symbolizer, idx, fd, NULL, 0, file, err);
	}
	*(refused ? &ret->refused : &ret->absent) += 1;
	return 0;
}

/* Of an object: some frame is of it; some lacks its name or line. */
enum { USED = 1, LACKING = 2 };

int object_files_register(const struct recording *recording, const char *root, struct desk *desk,
			  struct debuginfod *fetcher, struct symbolizer *symbolizer,
			  struct object_files *ret, struct fpl_err *err)
{
	AUTO_FREE uint8_t *used = calloc(recording->nr_objects + 1, sizeof(*used));
	int error = 0;

	*ret = (struct object_files){ 0 };
	if (!used)
		return fpl_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < recording->nr_frames; i++) {
		const struct recording_frame *frame = &recording->frames[i];

		if (frame->kind == RECORDING_USER && frame->address != RECORDING_NO_ADDRESS)
			used[frame->object] |= lacks_lines(recording, frame) ? LACKING : USED;
	}
	for (uint32_t i = 1; !error && i < recording->nr_objects; i++) {
		const char *build_id = recording_string(recording, recording->objects[i].build_id);

		if (fetcher && used[i] & LACKING && is_hex(build_id))
			fetch(fetcher, build_id, ret);
		if (used[i])
			error = register_object(recording, i, root, desk, symbolizer, ret, err);
	}
	return error;
}
