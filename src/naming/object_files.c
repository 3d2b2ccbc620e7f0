/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/object_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "obj/code_segments.h"

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

/* Does the untrusted path stay below the folder it is appended to? */
static bool is_below(const char *path)
{
	return path[0] == '/' && !strstr(path, "/../") &&
	       (strlen(path) < 3 || strcmp(path + strlen(path) - 3, "/..") != 0);
}

/* The same of one that is a name alone. */
static bool is_name(const char *path)
{
	return *path && !strchr(path, '/') && strcmp(path, ".") != 0 && strcmp(path, "..") != 0;
}

/*
 * Search order. For another machine's files prefer the debug file: nothing else will look for it
 * beside the file. On this machine the search for debug files does, so prefer the file.
 */
enum place { BY_ID_DEBUG, BY_ID_SYSTEM, BY_ID, BY_PATH, BY_NAME, FETCHED, FETCHED_CODE, PLACES };

static const enum place order_here[] = {
	BY_PATH, BY_ID, BY_ID_DEBUG, BY_ID_SYSTEM, FETCHED, BY_NAME
};
static const enum place order_below[] = { BY_ID_DEBUG, BY_ID_SYSTEM, BY_ID,
					  BY_PATH,     BY_NAME,	     FETCHED };
/* Places of code, which debug files lack. */
static const enum place order_code[] = { BY_PATH, BY_ID, FETCHED_CODE, BY_NAME };

/* Is what is there a file's debug information alone, as good as always? */
static bool is_debug(enum place place)
{
	return place == BY_ID_DEBUG || place == BY_ID_SYSTEM || place == FETCHED;
}

/* Write where @place is to @ret; false: nowhere. @root: "" is this machine. */
static bool candidate(const char *root, const char *path, const char *build_id, enum place place,
		      char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	uint8_t bytes[ELF_FILE_BUILD_ID_MAX];
	int length = -1;

	switch (place) {
	case BY_ID_DEBUG:
		length = snprintf(ret, PATH_MAX, "%s/.build-id/%.2s/%s.debug", root, build_id,
				  build_id + 2);
		break;
	case BY_ID_SYSTEM:
		length = snprintf(ret, PATH_MAX, "%s" DEBUG_FILE_DIR "/.build-id/%.2s/%s.debug",
				  root, build_id, build_id + 2);
		break;
	case BY_ID:
		length = snprintf(ret, PATH_MAX, "%s/.build-id/%.2s/%s", root, build_id,
				  build_id + 2);
		break;
	case BY_PATH:
		if (is_below(path))
			length = snprintf(ret, PATH_MAX, "%s%s", root, path);
		break;
	case BY_NAME:
		if (*root && is_below(path) && slash[1])
			length = snprintf(ret, PATH_MAX, "%s%s", root, slash);
		else if (*root && is_name(path))
			length = snprintf(ret, PATH_MAX, "%s/%s", root, path);
		break;
	default:
		return debuginfod_cached(bytes, bytes_of(build_id, bytes),
					 place == FETCHED_CODE ? DEBUGINFOD_CODE : DEBUGINFOD_DEBUG,
					 ret);
	}
	return length > 0 && length < PATH_MAX;
}

/* Open what is at @path if it has @build_id. Returns 1, 0 where there is no ELF file, -EINVAL for
 * one of another build-id. @segments: of its code, where that is in it; NULL: not asked for. */
static int open_if_equal(struct parse_client *client, const char *path, const char *build_id,
			 int *ret, struct code_segments *segments)
{
	char hex[2 * ELF_FILE_BUILD_ID_MAX + 1], shown[256];
	CLEANUP(elf_file_cleanup) struct elf_file *elf = NULL;
	AUTO_FD int fd = -1;
	struct client_file file;
	struct debug_link link;
	struct fpl_err err;
	const struct opener_path where = { .folder_fd = -1, .path = path };
	AUTO_FD int place = -1;
	struct stat st;

	/* the recording has said where */
	if (opener_walk(client_opener(client), &where, NULL, &place) ||
	    opener_take(client_opener(client), 0, place, &fd, &st) ||
	    client_file_init(&file, fd, path) ||
	    client_facts(client, &file, &elf, NULL, &link, &err))
		return 0;
	text_hex(elf->build_id, elf->build_id_size, hex);
	if (!strcmp(hex, build_id)) {
		if (segments && code_segments_read(elf, segments))
			segments->nr = 0; /* it has none; without memory as well */
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

	if (debuginfod_fetch(fetcher, bytes, bytes_of(build_id, bytes), DEBUGINFOD_DEBUG, &err))
		fpl_log(FPL_LOG_DEBUG, "%s", err.msg);
	else
		ret->fetched++;
}

/* The files found for an object so far. */
struct found {
	int fd; /* owned; -1: no file yet */
	char path[PATH_MAX];
	struct code_segments segments, of_debug; /* owned */
	bool refused;
};

static void found_fini(struct found *found)
{
	cleanup_fd(&found->fd);
	code_segments_fini(&found->segments);
	code_segments_fini(&found->of_debug);
}

/*
 * Look at the places in their order: for the file, and with @offsets for one that tells where code
 * goes, which a debug file mostly does not.
 */
static void find_file(struct parse_client *client, const char *root, const char *path,
		      const char *build_id, bool offsets, struct found *ret)
{
	bool here = !strcmp(root, "/");
	char file[PATH_MAX];

	for (size_t i = 0;
	     i < ARRAY_SIZE(order_here) && (ret->fd < 0 || (offsets && !ret->segments.nr)); i++) {
		enum place place = here ? order_here[i] : order_below[i];
		struct code_segments *segments = is_debug(place) ? &ret->of_debug : &ret->segments;
		AUTO_FD int fd = -1;
		int opened;

		if (!candidate(here ? "" : root, path, build_id, place, file))
			continue;
		opened = open_if_equal(client, file, build_id, &fd,
				       offsets && !segments->nr ? segments : NULL);
		ret->refused = ret->refused || opened < 0;
		if (opened <= 0 || ret->fd >= 0)
			continue;
		ret->fd = TAKE_FD(fd);
		memcpy(ret->path, file, sizeof(file));
	}
}

static int register_object(const struct recording *recording, uint32_t idx, const char *root,
			   struct parse_client *client, struct namer *namer,
			   struct object_files *ret, struct fpl_err *err)
{
	const struct recording_object *object = &recording->objects[idx];
	const char *path = recording_string(recording, object->path);
	const char *build_id = recording_string(recording, object->build_id);
	CLEANUP(found_fini) struct found found = { .fd = -1 };
	struct met_file met;
	int code;

	if (!is_hex(build_id)) {
		ret->anonymous++;
		return 0;
	}
	find_file(client, root, path, build_id, object->offsets, &found);
	if (found.fd < 0) {
		*(found.refused ? &ret->refused : &ret->absent) += 1;
		return 0;
	}
	ret->found++;
	if (object->offsets) {
		struct code_segments *segments =
			found.segments.nr ? &found.segments : &found.of_debug;

		ret->unplaced += !segments->nr;
		ret->objects[idx].segments = *segments;
		*segments = (struct code_segments){ 0 };
	}
	code = met_file_read(found.fd, &met);
	if (code)
		return fpl_fail(err, code, "%s: %s", found.path, strerror(-code));
	ret->objects[idx].fd = TAKE_FD(found.fd);
	return namer_add_object(namer, idx, found.path, &met, err);
}

static void close_objects(struct object_files *files)
{
	for (size_t i = 0; i < files->nr_objects; i++) {
		code_segments_fini(&files->objects[i].segments);
		cleanup_fd(&files->objects[i].fd);
	}
	free(files->objects);
	files->objects = NULL;
	files->nr_objects = 0;
}

void object_files_fini(struct object_files *files)
{
	close_objects(files);
	*files = (struct object_files){ 0 };
}

/* Flags of an object: a frame uses it; a frame lacks its name or line. */
enum { USED = 1, LACKING = 2 };

int object_files_register(const struct recording *recording, const char *root,
			  struct parse_client *client, struct debuginfod *fetcher,
			  struct namer *namer, struct object_files *ret, struct fpl_err *err)
{
	AUTO_FREE uint8_t *used = calloc(recording->nr_objects + 1, sizeof(*used));
	int error = 0;

	for (uint32_t i = 1; i < ret->nr_objects; i++)
		namer_remove_object(namer, i);
	close_objects(ret);
	ret->objects = calloc(recording->nr_objects + 1, sizeof(*ret->objects));
	if (ret->objects)
		ret->nr_objects = recording->nr_objects;
	for (size_t i = 0; i < ret->nr_objects; i++)
		ret->objects[i].fd = -1;
	if (!used || !ret->objects)
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
			error = register_object(recording, i, root, client, namer, ret, err);
	}
	return error;
}

int object_files_open_code(const struct recording *recording, uint32_t idx, const char *root,
			   struct parse_client *client, struct debuginfod *fetcher, int *ret_fd,
			   char ret_path[PATH_MAX])
{
	const struct recording_object *object = &recording->objects[idx];
	const char *path = recording_string(recording, object->path);
	const char *build_id = recording_string(recording, object->build_id);
	const char *below = strcmp(root, "/") ? root : "";
	uint8_t bytes[ELF_FILE_BUILD_ID_MAX];
	bool refused = false;

	if (!is_hex(build_id))
		return -ENODATA;
	for (size_t i = 0; i < ARRAY_SIZE(order_code); i++) {
		int opened;

		/* a server is asked for what is not here */
		if (order_code[i] == FETCHED_CODE && fetcher)
			(void)!debuginfod_fetch(fetcher, bytes, bytes_of(build_id, bytes),
						DEBUGINFOD_CODE, NULL);
		if (!candidate(below, path, build_id, order_code[i], ret_path))
			continue;
		opened = open_if_equal(client, ret_path, build_id, ret_fd, NULL);
		if (opened > 0)
			return 0;
		refused = refused || opened < 0;
	}
	return refused ? -EINVAL : -ENOENT;
}
