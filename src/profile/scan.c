/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/scan.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "proc/code_place.h"
#include "proc/owner.h"
#include "proc/proc_files.h"
#include "proc/proc_maps.h"

#define CACHE_SIZE 4096u /* a power of two; a machine maps about 1,000 files executable */

struct cached_file {
	uint64_t dev, inode, path_hash;
	struct object *object;
	bool valid;
};

struct scan_cache {
	struct cached_file files[CACHE_SIZE]; /* by hash; a later one takes the place */
};

struct reading {
	struct finder *finder;
	struct scan_cache *cache;
	uint32_t pid;
	char root[PATH_MAX]; /* of the process, as seen from here; "": the same */
	struct sighting *sighting;
	struct cached_file last; /* without a cache: one file may be mapped thousands of times */
};

struct scan_cache *scan_cache_create(void)
{
	return calloc(1, sizeof(struct scan_cache));
}

void scan_cache_destroy(struct scan_cache *cache)
{
	free(cache);
}

bool scan_is_shared(const char *path)
{
	/* it goes by the name of a device that holds no code */
	static const char shared[] = "/dev/zero";

	return strncmp(path, shared, sizeof(shared) - 1) == 0;
}

bool scan_is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/' && !scan_is_shared(path);
}

bool scan_is_of_kernel(const char *path)
{
	return strcmp(path, "[uprobes]") == 0 || strcmp(path, "[vsyscall]") == 0;
}

void scan_describe(const struct object *object, uint64_t start, uint64_t end, uint64_t file_off,
		   struct fpl_mapping *ret)
{
	uint64_t bias;

	*ret = (struct fpl_mapping){ .start = start, .end = end, .flags = FPL_MAPPING_ANON };
	if (!object || elf_file_bias(object->elf, start, file_off, &bias))
		return;
	/* a frame has room for 40 bits: a mapping of other addresses is not this object's code */
	if (end - bias > FPL_FRAME_VADDR_MASK || start - bias > end - bias)
		return;
	ret->bias = bias;
	ret->object = object->id;
	ret->slot = object->slot;
	ret->flags = 0;
}

/* FNV-1a, 64 bits. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	return hash;
}

/*
 * /proc shows paths as seen from here, the side-band as the process sees them: below its root, of
 * chroot(2) and the like.
 */
static const char *path_there(const struct reading *reading, const char *path)
{
	size_t length = strlen(reading->root);
	bool below = strncmp(path, reading->root, length) == 0 && path[length] == '/';

	return below ? path + length : path;
}

static struct object *find_object(struct reading *reading, const struct proc_map *map)
{
	const char *path = path_there(reading, map->path);
	struct file_hint hint = {
		.pid = (pid_t)reading->pid,
		.start = map->start,
		.end = map->end,
		.path = path,
		.dev_major = map->dev_major,
		.dev_minor = map->dev_minor,
		.inode = map->inode,
		.owner = OWNER_UNKNOWN,
	};
	struct cached_file file = {
		.dev = (uint64_t)map->dev_major << 32 | map->dev_minor,
		.inode = map->inode,
		.path_hash = hash_text(path),
		.valid = true,
	};

	/* the file of a path that was unlinked may have the number of another by now */
	if (map->deleted)
		return finder_object(reading->finder, &hint);

	struct cached_file *known =
		reading->cache ? &reading->cache->files[(file.inode ^ file.path_hash) % CACHE_SIZE]
			       : &reading->last;

	if (known->valid && known->dev == file.dev && known->inode == file.inode &&
	    known->path_hash == file.path_hash)
		return known->object;
	file.object = finder_object(reading->finder, &hint);
	*known = file;
	return file.object;
}

/* proc_maps_fn */
static int read_map(const struct proc_map *map, void *ctx)
{
	struct reading *reading = ctx;
	struct sighting *sighting = reading->sighting;
	struct object *object = NULL;
	bool vdso = strcmp(map->path, "[vdso]") == 0;

	if (!map->executable || scan_is_of_kernel(map->path) || sighting->maps.nr >= MAPSET_MAX)
		return 0;
	if (vector_reserve(&sighting->maps, sighting->maps.nr + 1))
		return -ENOMEM;
	if (vdso)
		object = finder_vdso(reading->finder);
	else if (map->inode && scan_is_file(map->path) && !code_place_is_dump(map->path))
		object = find_object(reading, map);
	sighting->maps.list[sighting->maps.nr++] =
		(struct sighted_map){ .start = map->start,
				      .end = map->end,
				      .file_off = vdso ? 0 : map->file_off,
				      .is_shared = scan_is_shared(map->path),
				      .object = object };
	return 0;
}

/* AT_ENTRY and AT_BASE of /proc/PID/auxv, 0 where they cannot be had. */
static void read_auxv(struct reading *reading, int fd)
{
	Elf64_auxv_t aux[64];
	ssize_t size = fd < 0 ? 0 : read(fd, aux, sizeof(aux));

	for (size_t i = 0; size > 0 && i < (size_t)size / sizeof(aux[0]); i++) {
		if (aux[i].a_type == AT_ENTRY)
			reading->sighting->entry = aux[i].a_un.a_val;
		else if (aux[i].a_type == AT_BASE)
			reading->sighting->interp_base = aux[i].a_un.a_val;
	}
}

static void read_root(struct reading *reading, int fd)
{
	char link[64];
	ssize_t n = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		n = readlink(link, reading->root, sizeof(reading->root));

	/* "/": the one of this process, or of another mount namespace, as its own paths are */
	if (n <= 1 || (size_t)n == sizeof(reading->root))
		n = 0;
	reading->root[n] = '\0';
}

static void close_files(struct proc_file (*files)[3])
{
	for (size_t i = 0; i < ARRAY_SIZE(*files); i++)
		cleanup_fd(&(*files)[i].fd);
}

static int read_all(struct reading *reading, uint32_t pid, struct fpl_err *err)
{
	CLEANUP(close_files)
	struct proc_file files[] = {
		{ .name = "maps", .flags = O_RDONLY, .fd = -1 },
		{ .name = "auxv", .flags = O_RDONLY, .fd = -1 },
		{ .name = "root", .flags = O_PATH | O_DIRECTORY, .fd = -1 },
	};
	int code = proc_files_open((pid_t)pid, files, ARRAY_SIZE(files));

	if (code)
		return fpl_fail(err, code, "pid %u: %s", pid, strerror(-code));
	reading->pid = pid;
	read_auxv(reading, files[1].fd);
	read_root(reading, files[2].fd);
	return proc_maps_read_from((pid_t)pid, files[0].fd, read_map, reading, err);
}

int sighting_make(struct finder *finder, uint32_t pid, uint32_t tid, struct scan_cache *cache,
		  struct sighting *ret, struct fpl_err *err)
{
	struct sighting sighting = { .time_ns = clock_monotonic_ns() };
	struct reading reading = { .finder = finder, .cache = cache, .sighting = &sighting };
	int code = read_all(&reading, pid, err);

	if (code == -ENODATA && tid != pid)
		code = read_all(&reading, tid, err);
	if (code)
		sighting_fini(&sighting);
	else
		*ret = sighting;
	return code;
}

void sighting_fini(struct sighting *sighting)
{
	vector_fini(&sighting->maps);
	*sighting = (struct sighting){ 0 };
}

static void flag_mappings(const struct scan *scan)
{
	for (uint32_t i = 0; i < scan->set->nr; i++) {
		struct fpl_mapping *map = &scan->set->mappings[i];

		if (map->object && map->object == scan->main_object)
			map->flags |= FPL_MAPPING_MAIN;
		if (map->object && map->object == scan->interp_object)
			map->flags |= FPL_MAPPING_INTERP;
	}
}

int scan_take(const struct sighting *sighting, struct catalog *catalog, struct scan *ret)
{
	struct scan scan = { .set = mapset_create(), .time_ns = sighting->time_ns };
	int code = scan.set ? 0 : -ENOMEM;

	for (size_t i = 0; !code && i < sighting->maps.nr; i++) {
		const struct sighted_map *map = &sighting->maps.list[i];
		struct object *object = catalog_admit(catalog, map->object);
		struct fpl_mapping mapping;

		scan_describe(object, map->start, map->end, map->file_off, &mapping);
		if (map->is_shared)
			mapping.flags |= FPL_MAPPING_SHARED;
		if (mapping.object && sighting->entry >= map->start && sighting->entry < map->end)
			scan.main_object = mapping.object;
		/* the interpreter's first PT_LOAD is at vaddr 0, so its base is its bias */
		if (mapping.object && sighting->interp_base &&
		    mapping.bias == sighting->interp_base)
			scan.interp_object = mapping.object;
		code = mapset_add(&scan.set, &mapping);
		if (code == -E2BIG)
			code = 0;
	}
	if (code) {
		mapset_put(scan.set);
		return code;
	}
	flag_mappings(&scan);
	*ret = scan;
	return 0;
}

int scan_process(struct catalog *catalog, uint32_t pid, uint32_t tid, struct scan_cache *cache,
		 struct scan *ret, struct fpl_err *err)
{
	struct sighting sighting;
	int code = sighting_make(catalog_finder(catalog), pid, tid, cache, &sighting, err);

	if (code)
		return code;
	code = scan_take(&sighting, catalog, ret);
	if (code)
		fpl_fail(err, code, "pid %u: out of memory", pid);
	sighting_fini(&sighting);
	return code;
}
