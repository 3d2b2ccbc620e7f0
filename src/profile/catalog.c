/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/catalog.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/mapped_file.h"
#include "proc/proc_maps.h"
#include "symbolize/symbolizer.h"

#define OBJECTS_MAX   65536u
#define REFUSALS_MAX  1024u /* paths remembered as refused, so that each is said once */
#define REFUSALS_SAID 32u   /* lines at warning level; the rest at debug */

/* What a file turned out to be; a stamp that is known saves reading it again. */
struct known_file {
	struct file_stamp stamp;
	struct object *object; /* NULL: not usable */
};

struct catalog {
	struct object **objects; /* owned [nr]: by id - 1 */
	size_t nr, capacity;
	struct known_file *files; /* owned: open addressing by stamp, at most half full */
	size_t nr_files, files_size;
	char **refusals; /* owned [nr_refusals]: paths */
	size_t nr_refusals, nr_refused, nr_without_fd;
	uint32_t nr_slots;
	struct symbolizer *symbolizer; /* borrowed */
	struct object *vdso;	       /* borrowed from objects */
	bool vdso_tried;
	catalog_pause_fn pause; /* may be NULL */
	void *ctx;
};

int catalog_create(uint32_t nr_slots, struct symbolizer *symbolizer, struct catalog **ret,
		   struct fpl_err *err)
{
	struct catalog *catalog = calloc(1, sizeof(*catalog));

	if (catalog) {
		catalog->nr_slots = nr_slots;
		catalog->symbolizer = symbolizer;
		catalog->files_size = 1024;
		catalog->files = calloc(catalog->files_size, sizeof(*catalog->files));
		catalog->refusals = calloc(REFUSALS_MAX, sizeof(*catalog->refusals));
	}
	if (!catalog || !catalog->files || !catalog->refusals) {
		catalog_destroy(catalog);
		return fpl_fail(err, -ENOMEM, "objects: out of memory");
	}
	*ret = catalog;
	return 0;
}

void catalog_on_pause(struct catalog *catalog, catalog_pause_fn pause, void *ctx)
{
	catalog->pause = pause;
	catalog->ctx = ctx;
}

static void object_free(struct object *object)
{
	elf_file_close(object->elf);
	free(object->path);
	free(object);
}

void catalog_destroy(struct catalog *catalog)
{
	if (!catalog)
		return;
	for (size_t i = 0; i < catalog->nr; i++)
		object_free(catalog->objects[i]);
	free(catalog->objects);
	free(catalog->files);
	for (size_t i = 0; catalog->refusals && i < catalog->nr_refusals; i++)
		free(catalog->refusals[i]);
	free(catalog->refusals);
	free(catalog);
}

struct object *catalog_at(const struct catalog *catalog, uint32_t id)
{
	return id >= 1 && id <= catalog->nr ? catalog->objects[id - 1] : NULL;
}

size_t catalog_nr(const struct catalog *catalog)
{
	return catalog->nr;
}

size_t catalog_nr_refused(const struct catalog *catalog)
{
	return catalog->nr_refused;
}

/* Says once per path that what is mapped there has no table and no names. */
static struct object *refuse(struct catalog *catalog, const char *path, const struct fpl_err *why)
{
	if (why->code == -EMFILE || why->code == -ENFILE) {
		/* no fault of the file: one line for all of them */
		if (catalog->nr_without_fd++ == 0)
			fpl_log(FPL_LOG_WARN,
				"%s: raise the limit (ulimit -n): frames of further objects stay "
				"addresses",
				why->msg);
		return NULL;
	}
	for (size_t i = 0; i < catalog->nr_refusals; i++) {
		if (strcmp(catalog->refusals[i], path) == 0)
			return NULL;
	}
	catalog->nr_refused++;
	if (catalog->nr_refusals < REFUSALS_MAX) {
		char *copy = strdup(path);

		if (copy)
			catalog->refusals[catalog->nr_refusals++] = copy;
	}
	fpl_log(catalog->nr_refused <= REFUSALS_SAID ? FPL_LOG_WARN : FPL_LOG_DEBUG,
		"%s: its frames stay addresses", why->msg);
	return NULL;
}

static struct known_file *file_place(struct known_file *files, size_t size,
				     const struct file_stamp *stamp)
{
	static const struct file_stamp none;
	size_t at = (size_t)((stamp->inode * 0x9e3779b97f4a7c15u ^ stamp->dev) >> 7) & (size - 1);

	while (memcmp(&files[at].stamp, &none, sizeof(none)) != 0 &&
	       memcmp(&files[at].stamp, stamp, sizeof(*stamp)) != 0)
		at = (at + 1) & (size - 1);
	return &files[at];
}

static bool file_known(const struct known_file *file)
{
	static const struct file_stamp none;

	return memcmp(&file->stamp, &none, sizeof(none)) != 0;
}

/* Remembers what the file with @stamp is. Without memory it is read again next time. */
static void remember(struct catalog *catalog, const struct file_stamp *stamp, struct object *object)
{
	if (2 * (catalog->nr_files + 1) > catalog->files_size) {
		size_t size = 2 * catalog->files_size;
		struct known_file *bigger = calloc(size, sizeof(*bigger));

		if (!bigger)
			return;
		for (size_t i = 0; i < catalog->files_size; i++) {
			if (file_known(&catalog->files[i]))
				*file_place(bigger, size, &catalog->files[i].stamp) =
					catalog->files[i];
		}
		free(catalog->files);
		catalog->files = bigger;
		catalog->files_size = size;
	}

	struct known_file *file = file_place(catalog->files, catalog->files_size, stamp);

	if (!file_known(file))
		catalog->nr_files++;
	*file = (struct known_file){ *stamp, object };
}

static int grow(struct catalog *catalog, struct fpl_err *err)
{
	if (catalog->nr >= OBJECTS_MAX)
		return fpl_fail(err, -ENOSPC, "more than %u objects", OBJECTS_MAX);
	if (catalog->nr < catalog->capacity)
		return 0;

	size_t capacity = catalog->capacity ? 2 * catalog->capacity : 256;
	struct object **bigger = realloc(catalog->objects, capacity * sizeof(struct object *));

	if (!bigger)
		return fpl_fail(err, -ENOMEM, "objects: out of memory");
	catalog->objects = bigger;
	catalog->capacity = capacity;
	return 0;
}

static uint64_t max_vaddr_of(const struct elf_file *elf)
{
	uint64_t max = 0;

	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *s = &elf->segments[i];
		uint64_t end;

		if (s->type != PT_LOAD)
			continue;
		if (__builtin_add_overflow(s->vaddr, s->mem_size, &end))
			return UINT64_MAX;
		if (end > max)
			max = end;
	}
	return max;
}

/* Makes an object of @elf, which is taken over. */
static int add_object(struct catalog *catalog, struct elf_file *elf,
		      const struct identity *identity, const char *path, struct object **ret,
		      struct fpl_err *err)
{
	struct object *object = calloc(1, sizeof(*object));

	if (!object) {
		elf_file_close(elf);
		return fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	}
	object->elf = elf;
	object->identity = *identity;
	object->max_vaddr = max_vaddr_of(elf);
	object->path = strdup(path);

	int code = object->path ? grow(catalog, err)
				: fpl_fail(err, -ENOMEM, "%s: out of memory", path);

	if (!code && object->max_vaddr > FPL_FRAME_VADDR_MASK)
		code = fpl_fail(err, -ERANGE, "%s: addresses above %#llx", path,
				FPL_FRAME_VADDR_MASK);
	object->id = (uint32_t)catalog->nr + 1;
	object->slot = object->id < catalog->nr_slots ? (uint16_t)object->id : 0;
	if (!code && catalog->symbolizer)
		code = symbolizer_add_object(catalog->symbolizer, object->id, elf->fd, elf->memory,
					     elf->memory ? (size_t)elf->size : 0, path, err);
	if (code) {
		object_free(object);
		return code;
	}
	catalog->objects[catalog->nr++] = object;
	*ret = object;
	return 0;
}

static struct object *find_identity(const struct catalog *catalog, const struct identity *identity)
{
	for (size_t i = 0; i < catalog->nr; i++) {
		if (memcmp(&catalog->objects[i]->identity, identity, sizeof(*identity)) == 0)
			return catalog->objects[i];
	}
	return NULL;
}

static bool same_build_id(const struct elf_file *elf, const struct file_hint *hint)
{
	return hint->build_id && hint->build_id_size && elf->build_id_size >= hint->build_id_size &&
	       memcmp(elf->build_id, hint->build_id, hint->build_id_size) == 0;
}

/*
 * Is @file the one that was mapped? A build-id tells for sure: what map_files opens may have been
 * mapped there since, by exec or dlopen, and what a path leads to may have replaced it. Without
 * one, on overlayfs, the numbers of a mapping are those of the layer below: no path can be trusted.
 */
static bool is_mapped_one(const struct mapped_file *file, const struct elf_file *elf,
			  const struct file_hint *hint)
{
	if (hint->build_id && hint->build_id_size)
		return same_build_id(elf, hint);
	if (file->source == MAPPED_FILE_EXACT)
		return true;
	return hint->inode && hint->inode == file->stat.st_ino &&
	       hint->dev_major == major(file->stat.st_dev) &&
	       hint->dev_minor == minor(file->stat.st_dev);
}

/* The process and the file are gone, but the file may have been met before. */
static struct object *find_by_build_id(const struct catalog *catalog, const struct file_hint *hint)
{
	for (size_t i = 0; hint->build_id_size && i < catalog->nr; i++) {
		struct object *object = catalog->objects[i];

		if (same_build_id(object->elf, hint) && strcmp(object->path, hint->path) == 0)
			return object;
	}
	return NULL;
}

/* Reads the file that has just been opened, unless it was met before. */
static int identify(struct catalog *catalog, const struct file_hint *hint, struct mapped_file *file,
		    const struct file_stamp *stamp, struct object **ret, struct fpl_err *err)
{
	struct elf_file *elf;
	struct identity identity;
	int code = elf_file_open(file->fd, hint->path, &elf, err);

	if (code)
		return code;
	if (!is_mapped_one(file, elf, hint)) {
		elf_file_close(elf);
		return fpl_fail(err, -ESTALE,
				"pid %d: %s: is gone or was replaced, and the file there now "
				"cannot be told to be the same",
				(int)hint->pid, hint->path);
	}
	code = identity_read(elf, &identity, err);
	*ret = code ? NULL : find_identity(catalog, &identity);
	if (code || *ret) {
		elf_file_close(elf);
	} else {
		code = add_object(catalog, elf, &identity, hint->path, ret, err);
		if (!code)
			(*ret)->stamp = *stamp;
	}
	if (!code)
		remember(catalog, stamp, *ret);
	return code;
}

/*
 * Finds or makes the object of a file that was just opened and is closed here.
 * Errors: -ESTALE it is not the one of the hint.
 */
static int take_file(struct catalog *catalog, const struct file_hint *hint,
		     struct mapped_file *file, struct object **ret, struct fpl_err *err)
{
	struct file_stamp stamp;
	int code = file_stamp_read(file->fd, &stamp);

	if (code) {
		close(file->fd);
		return fpl_fail(err, code, "pid %d: %s: %s", (int)hint->pid, hint->path,
				strerror(-code));
	}

	const struct known_file *known = file_place(catalog->files, catalog->files_size, &stamp);

	if (file_known(known) && (known->object ? is_mapped_one(file, known->object->elf, hint)
						: file->source == MAPPED_FILE_EXACT)) {
		close(file->fd);
		*ret = known->object;
		return 0;
	}
	code = identify(catalog, hint, file, &stamp, ret, err);
	if (catalog->pause)
		catalog->pause(catalog->ctx);
	if (code && code != -ESTALE && file->source == MAPPED_FILE_EXACT)
		remember(catalog, &stamp, NULL);
	return code;
}

struct object *catalog_object(struct catalog *catalog, const struct file_hint *hint)
{
	struct mapped_file file;
	struct object *object = NULL;
	struct fpl_err err = { 0 };
	int code = mapped_file_open(hint->pid, hint->start, hint->end, hint->path, &file, &err);

	if (!code) {
		code = take_file(catalog, hint, &file, &object, &err);
		if (code == -ESTALE && file.source == MAPPED_FILE_EXACT) {
			code = mapped_file_open_path(hint->pid, hint->path, &file, &err);
			if (!code)
				code = take_file(catalog, hint, &file, &object, &err);
		}
	}
	if (!code)
		return object;
	object = find_by_build_id(catalog, hint);
	return object ? object : refuse(catalog, hint->path, &err);
}

/* proc_maps_fn: the size of [vdso]. */
static int find_vdso(const struct proc_map *map, void *ctx)
{
	size_t *size = ctx;

	if (strcmp(map->path, "[vdso]") == 0)
		*size = (size_t)(map->end - map->start);
	return 0;
}

struct object *catalog_vdso(struct catalog *catalog)
{
	uintptr_t addr = getauxval(AT_SYSINFO_EHDR);
	size_t size = 0;
	struct elf_file *elf;
	struct identity identity;
	struct fpl_err err = { 0 };

	if (catalog->vdso_tried)
		return catalog->vdso;
	catalog->vdso_tried = true;
	if (!addr || proc_maps_read(getpid(), find_vdso, &size, NULL) || !size)
		return NULL;

	int code = elf_file_from_memory((const void *)addr, size, "[vdso]", &elf, &err);

	if (code)
		return refuse(catalog, "[vdso]", &err);
	code = identity_read(elf, &identity, &err);
	if (code)
		elf_file_close(elf);
	else
		code = add_object(catalog, elf, &identity, "[vdso]", &catalog->vdso, &err);
	return code ? refuse(catalog, "[vdso]", &err) : catalog->vdso;
}

static char *hex_of(const uint8_t *bytes, size_t size)
{
	char *text = malloc(2 * size + 1);

	for (size_t i = 0; text && i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	if (text)
		text[2 * size] = '\0';
	return text;
}

int catalog_export(const struct catalog *catalog, struct profile_object **ret)
{
	struct profile_object *list = calloc(catalog->nr ? catalog->nr : 1, sizeof(*list));
	bool ok = list != NULL;

	for (size_t i = 0; ok && i < catalog->nr; i++) {
		const struct object *object = catalog->objects[i];

		list[i].id = object->id;
		list[i].path = strdup(object->path);
		list[i].build_id = hex_of(object->elf->build_id, object->elf->build_id_size);
		ok = list[i].path && list[i].build_id;
	}
	if (!ok) {
		for (size_t i = 0; list && i < catalog->nr; i++) {
			free(list[i].path);
			free(list[i].build_id);
		}
		free(list);
		return -ENOMEM;
	}
	*ret = list;
	return 0;
}
