/* SPDX-License-Identifier: Apache-2.0 */
#include "core/core_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "obj/opener.h"
#include "parse/client.h"
#include "proc/vdso.h"
#include "profile/catalog.h"
#include "profile/object_table.h"
#include "profile/pool.h"
#include "profile/scan.h"

enum { OBJECTS_MAX = 65536 }; /* as profile has */

#define TABLES_MAX_BYTES (1ull << 30) /* of all tables; beyond it code has none */
#define HEADERS_BYTES	 4096u	      /* of a mapped file: as much as the kernel keeps */
#define VDSO_MAX_BYTES	 (1u << 20)
#define ROOT_DEPTH	 256 /* outermost frames of a stack that is deeper than FPL_DEPTH_MAX */
#define NEIGHBOURS	 16  /* mappings of a file that are looked at for its first page */
#define REFUSALS_SAID	 32u /* lines at warning level; the rest at debug */

struct core_code {
	const struct core_file *core; /* borrowed */
	struct parse_client *client;  /* owned */
	struct catalog *catalog;      /* owned */
	struct mapset *set;	      /* owned reference */
	struct pool pool;	      /* of the tables; its chunks are owned */
	struct fpl_object
		*objects;    /* owned [OBJECTS_MAX], by slot: zeroes until its table was tried */
	size_t nr_unchecked; /* files of which the core file has no header */
	size_t nr_refused;   /* that are not used */
};

/* A file that was met. */
struct met_path {
	const char *path;
	struct object *object; /* NULL: not to be used */
};

struct met_paths {
	struct met_path *list; /* owned [nr] */
	size_t nr, room;
};

/* pool_chunk_fn */
static int make_chunk(void *ctx, uint32_t number, void **ret, struct fpl_err *err)
{
	(void)ctx;
	(void)number;
	(void)err;
	*ret = must_calloc(1, FPL_CHUNK_SIZE);
	return 0;
}

/* The build-id of the file that @map is of, in hex, as the core file has it from the file's first
 * page. False: it is not there. */
static bool build_id_there(const struct core_file *core, const struct core_mapping *map,
			   char ret[static 2 * ELF_FILE_BUILD_ID_MAX + 1])
{
	uint8_t headers[HEADERS_BYTES];

	/* code comes behind the beginning, mostly in the next mapping */
	for (const struct core_mapping *begin = map;
	     begin >= core->mappings.list && map - begin < NEIGHBOURS; begin--) {
		CLEANUP(elf_file_cleanup) struct elf_file *elf = NULL;

		if (begin->file_off || strcmp(begin->path, map->path) != 0 ||
		    core_file_memory(core, begin->start, headers, sizeof(headers)) ||
		    elf_file_from_memory(headers, sizeof(headers), map->path, &elf, NULL))
			continue;
		text_hex(elf->build_id, elf->build_id_size, ret);
		return elf->build_id_size > 0;
	}
	return false;
}

/* Is @elf, which is at @path now, the file that was mapped there? */
static int check_build_id(struct core_code *code, const struct core_mapping *map,
			  const struct elf_file *elf, struct fpl_err *err)
{
	char here[2 * ELF_FILE_BUILD_ID_MAX + 1], there[2 * ELF_FILE_BUILD_ID_MAX + 1];

	if (!build_id_there(code->core, map, there)) {
		code->nr_unchecked++;
		return 0;
	}
	text_hex(elf->build_id, elf->build_id_size, here);
	if (strcmp(here, there) == 0)
		return 0;
	return fpl_fail(
		err, -EINVAL,
		"%s: another file by now: its build-id is %.16s..., the core file has %.16s...",
		map->path, *here ? here : "none", there);
}

/* Make an object of the file open at @fd. Errors: as client_facts(). */
static int meet(struct core_code *code, int fd, const char *path, struct object **ret,
		struct fpl_err *err)
{
	struct object *object = must_calloc(1, sizeof(*object));
	struct client_file file;
	struct met_file met = { .fd = -1 };
	int error = client_file_init(&file, fd, path);

	if (error)
		fpl_fail(err, error, "%s: %s", path, strerror(-error));
	else
		error = client_facts(code->client, &file, &object->elf, &object->identity,
				     &object->link, err);
	if (!error)
		error = met_file_read(object->elf->fd, &met);
	if (error) {
		object_free(object);
		return error;
	}
	object->path = must_strdup(path);
	object->stamp = met.stamp;
	object->trust = met.trust;
	*ret = object;
	return 0;
}

/* Open the file of @map. Errors: -EINVAL another file is there by now; of open(2). */
static int open_mapped(struct core_code *code, const struct core_mapping *map, struct object **ret,
		       struct fpl_err *err)
{
	const struct opener_path where = { .folder_fd = -1, .path = map->path };
	struct opener *opener = client_opener(code->client);
	AUTO_FD int place = -1;
	AUTO_FD int fd = -1;
	struct stat st;
	int error = opener_walk(opener, &where, NULL, &place);

	if (!error)
		error = opener_take(opener, 0, place, &fd, &st);
	if (error)
		return fpl_fail(err, error, "%s: %s", map->path, strerror(-error));
	error = meet(code, fd, map->path, ret, err);
	if (!error)
		error = check_build_id(code, map, (*ret)->elf, err);
	return error;
}

/* The object of the file that @map is of; NULL: it is not to be used, which is said unless it is no
 * ELF file. */
static struct object *object_of_file(struct core_code *code, const struct core_mapping *map)
{
	struct object *object = NULL;
	struct fpl_err err = { 0 };
	bool said;

	if (!scan_is_file(map->path) || !open_mapped(code, map, &object, &err))
		return object;
	said = err.code != -ENOEXEC && code->nr_refused++ < REFUSALS_SAID;
	fpl_log(said ? FPL_LOG_WARN : FPL_LOG_DEBUG, "%s: its frames stay addresses", err.msg);
	object_free(object);
	return NULL;
}

/* The kernel's own image, which the core file has. */
static struct object *object_of_vdso(struct core_code *code, const struct core_segment *segment)
{
	AUTO_FREE uint8_t *image = NULL;
	AUTO_FD int fd = -1;
	struct object *object = NULL;
	struct fpl_err err;

	if (segment->size > VDSO_MAX_BYTES)
		return NULL;
	image = must_malloc(segment->size);
	if (core_file_memory(code->core, segment->vaddr, image, segment->size) ||
	    vdso_copy(image, segment->size, &fd, &err) || meet(code, fd, "[vdso]", &object, &err))
		return NULL;
	return object;
}

/* The file of @map, which is met once where its mappings are beside each other. */
static struct object *object_of(struct core_code *code, struct met_paths *met,
				const struct core_mapping *map)
{
	if (!met->nr || strcmp(met->list[met->nr - 1].path, map->path) != 0)
		must_push(met, (struct met_path){ map->path, object_of_file(code, map) });
	return met->list[met->nr - 1].object;
}

/* Executable memory, as the core file has it. */
static void sight_segment(struct core_code *code, const struct core_segment *segment,
			  struct met_paths *met, struct sighting *sighting)
{
	const struct core_mapping *map = core_file_mapping(code->core, segment->vaddr);
	struct sighted_map seen = { .start = segment->vaddr,
				    .end = segment->vaddr + segment->size };

	if (code->core->vdso - segment->vaddr < segment->size) {
		must_push(met, (struct met_path){ "[vdso]", object_of_vdso(code, segment) });
		seen.object = met->list[met->nr - 1].object;
	} else if (map) {
		seen.object = object_of(code, met, map);
		seen.file_off = map->file_off + (segment->vaddr - map->start);
	}
	must_push(&sighting->maps, seen);
}

/* gcore leaves out memory that is as it is in its file: then the file tells what is code. */
static void sight_mapping(struct core_code *code, const struct core_mapping *map,
			  struct met_paths *met, struct sighting *sighting)
{
	const struct object *object;
	uint64_t bias;

	if (core_file_segment(code->core, map->start))
		return;
	object = object_of(code, met, map);
	if (object && !elf_file_bias(object->elf, map->start, map->file_off, &bias))
		must_push(&sighting->maps,
			  (struct sighted_map){ .start = map->start,
						.end = map->end,
						.file_off = map->file_off,
						.object = met->list[met->nr - 1].object });
}

/* The executable memory of the process as mappings of objects. */
static void read_mappings(struct core_code *code)
{
	const struct core_file *core = code->core;
	struct sighting sighting = { .entry = core->entry, .interp_base = core->interp_base };
	struct met_paths met = { 0 };
	struct scan scan;

	for (size_t i = 0; i < core->segments.nr && sighting.maps.nr < MAPSET_MAX; i++) {
		if (core->segments.list[i].executable)
			sight_segment(code, &core->segments.list[i], &met, &sighting);
	}
	for (size_t i = 0; i < core->mappings.nr && sighting.maps.nr < MAPSET_MAX; i++)
		sight_mapping(code, &core->mappings.list[i], &met, &sighting);
	alloc_check(scan_take(&sighting, code->catalog, &scan));
	sighting_fini(&sighting);
	for (size_t i = 0; i < met.nr; i++) {
		/* no code of it is mapped */
		if (met.list[i].object && !met.list[i].object->id)
			object_free(met.list[i].object);
	}
	vector_fini(&met);
	code->set = scan.set;
	if (code->nr_unchecked)
		fpl_log(FPL_LOG_WARN,
			"%s: it has no build-id of %zu mapped files: stacks are right only where these files are still the same",
			core->name, code->nr_unchecked);
}

int core_code_open(const struct core_file *core, struct parser *parser, struct core_code **ret,
		   struct fpl_err *err)
{
	struct core_code *code = must_calloc(1, sizeof(*code));
	int error = client_open(parser, &code->client, err);

	code->core = core;
	code->objects = must_calloc(OBJECTS_MAX, sizeof(*code->objects));
	if (!error)
		error = catalog_create(OBJECTS_MAX, parser, &code->catalog, err);
	if (!error)
		error = pool_init(&code->pool, TABLES_MAX_BYTES, make_chunk, NULL, err);
	if (error) {
		core_code_close(code);
		return error;
	}
	read_mappings(code);
	*ret = code;
	return 0;
}

void core_code_close(struct core_code *code)
{
	if (!code)
		return;
	for (uint32_t i = 0; i < code->pool.nr_chunks; i++)
		free(code->pool.chunks[i]);
	pool_fini(&code->pool);
	if (code->set)
		mapset_put(code->set);
	client_close(code->client);
	catalog_destroy(code->catalog);
	free(code->objects);
	free(code);
}

/* Put the table of @object where walks find it, or the news that it has none. */
static void make_table(struct core_code *code, const struct object *object)
{
	struct fpl_object *slot = &code->objects[object->slot];
	struct table *table = object_table_make(code->client, object);
	struct fpl_err err = { 0 };
	uint32_t first, size;

	*slot = (struct fpl_object){ .object = object->id,
				     .images = { { .state = FPL_TABLE_NONE } },
				     .entry_vaddr = object->elf->entry };
	if (table && pool_add(&code->pool, table, &first, &size, &err))
		fpl_log(FPL_LOG_WARN, "%s: no unwind table", err.msg);
	else if (table)
		*slot = (struct fpl_object){ .object = object->id,
					     .images = { { .state = FPL_TABLE_READY,
							   .base = first,
							   .rules_off = table->rules_off,
							   .dir_off = table->dir_off } },
					     .nr_pages = table->nr_pages,
					     .first_vaddr = table->first_vaddr,
					     .entry_vaddr = table->entry_vaddr };
	table_destroy(table);
}

/* replay_input.read_memory */
static int read_memory(void *arg, uint64_t addr, void *dst, size_t size)
{
	const struct core_code *code = arg;

	return core_file_memory(code->core, addr, dst, size);
}

/* replay_input.read_code: from the file, since core files lack what is in files; else from memory.
 */
static int read_code(void *arg, uint64_t addr, void *dst, size_t size)
{
	const struct core_code *code = arg;
	const struct fpl_mapping *map = mapset_find(code->set, addr);
	const struct object *object = map ? catalog_at(code->catalog, map->object) : NULL;

	if (!map)
		return -ENOENT;
	if (!object)
		return core_file_memory(code->core, addr, dst, size);
	return elf_file_read_vaddr(object->elf, addr - map->bias, dst, size, NULL);
}

/* The object whose table the walk lacked, which was not tried yet; NULL: it did not end so. */
static const struct object *lacked(const struct core_code *code, const struct replay_result *result)
{
	uint64_t frame = result->nr_frames ? result->frames[result->nr_frames - 1] : FPL_FRAME_RAW;
	uint32_t id = (frame >> FPL_FRAME_OBJECT_SHIFT) & FPL_FRAME_OBJECT_MAX;
	const struct object *object = frame & FPL_FRAME_RAW ? NULL : catalog_at(code->catalog, id);

	if (result->stop != FPL_STOP_NO_TABLE || !object || code->objects[object->slot].object)
		return NULL;
	return object;
}

void core_code_walk(struct core_code *code, const struct core_thread *thread,
		    struct replay_result *ret)
{
	struct fpl_regs regs = { .pc = thread->pc, .known = (1u << FPL_NR_REGS) - 1, .exact = 1 };
	const struct replay_input input = {
		.mappings = code->set->mappings,
		.nr_mappings = code->set->nr,
		.objects = code->objects,
		.nr_objects = OBJECTS_MAX,
		.chunks = (const uint8_t *const *)code->pool.chunks,
		.nr_chunks = code->pool.nr_chunks,
		.regs = &regs,
		.read_memory = read_memory,
		.read_code = read_code,
		.arg = code,
		.max_depth = FPL_DEPTH_MAX,
		.root_depth = ROOT_DEPTH,
		.unwind = FPL_UNWIND_AUTO,
		.origin = FPL_ORIGIN_CFI, /* all frames are of one copy: no mark has to say so */
	};
	const struct object *object;

	memcpy(regs.reg, thread->reg, sizeof(regs.reg));
	/* each table is tried once, so this ends */
	for (replay_walk(&input, ret); (object = lacked(code, ret)); replay_walk(&input, ret))
		make_table(code, object);
}

void core_code_export(struct core_code *code, struct profile *profile)
{
	profile->nr_objects = catalog_nr(code->catalog);
	alloc_check(catalog_export(code->catalog, &profile->objects));
}
