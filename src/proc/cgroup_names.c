/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroup_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/id_table.h"
#include "base/log.h"
#include "base/vector.h"
#include "proc/cgroup.h"

#define DEPTH_MAX     64   /* of the hierarchy: cgroup.max.depth has no default */
#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h: the handle is the id */

/* This many new ones later it is time to look which have gone. */
#define FORGET_AFTER (CGROUP_NAMES_MAX / 4)
/* The same for the bytes of their paths. */
#define FORGET_AFTER_BYTES (CGROUP_BYTES_MAX / 4)

struct known {
	uint64_t id;   /* not 0 */
	char *path;    /* owned; NULL: not known */
	uint64_t seen; /* the part of the run in which a sample was in it last; 0: none was */
	uint64_t met;  /* the walk in or after which it was there last */
};

struct cgroup_names {
	struct cgroup_mount mount;
	int mount_fd; /* -1: not mounted */
	VECTOR(struct known) known;
	struct id_table ids;
	size_t bytes;	   /* of paths */
	uint64_t part;	   /* of the run, 1..: cgroup_names_copy() ends one */
	uint64_t walk;	   /* of the hierarchy, 1.. */
	size_t nr_new;	   /* ids since that walk, also those without room */
	size_t bytes_then; /* when those that had gone were forgotten */
};

/* The entry of @id, added where it is missing; NULL without room. */
static struct known *known_of(struct cgroup_names *names, uint64_t id)
{
	uint64_t hash = id_table_hash(0, &id, sizeof(id));
	uint32_t at = ID_TABLE_FIND(&names->ids, hash, i, names->known.list[i].id == id);

	if (at != ID_TABLE_NONE)
		return &names->known.list[at];
	names->nr_new++;
	at = (uint32_t)names->known.nr;
	if (!id || at == CGROUP_NAMES_MAX || vector_reserve(&names->known, at + 1u) ||
	    id_table_add(&names->ids, hash, at))
		return NULL;
	names->known.list[names->known.nr++] = (struct known){ .id = id };
	return &names->known.list[at];
}

/* A copy of @path; NULL without room. */
static char *keep_path(struct cgroup_names *names, const char *path)
{
	size_t size = strlen(path) + 1;
	char *copy = names->bytes + size <= CGROUP_BYTES_MAX ? strdup(path) : NULL;

	names->bytes += copy ? size : 0;
	return copy;
}

void cgroup_names_add(struct cgroup_names *names, uint64_t id, const char *path)
{
	struct known *known = known_of(names, id);

	if (!known)
		return;
	known->met = names->walk;
	/* an id is never given twice, and a cgroup never gets another path */
	if (!known->path)
		known->path = keep_path(names, path);
}

/*
 * Add the cgroup of the directory @fd, which is closed, and those below. @path has room for
 * PATH_MAX bytes; its first @len bytes are the path of @fd, "" for the top. The inode number is the
 * id.
 */
static void read_folder(struct cgroup_names *names, int fd, char *path, size_t len, int depth)
{
	DIR *folder = fdopendir(fd);
	struct stat st;

	if (!folder) {
		close(fd);
		return;
	}
	if (fstat(fd, &st) == 0)
		cgroup_names_add(names, st.st_ino, len ? path : "/");
	for (struct dirent *entry; depth < DEPTH_MAX && (entry = readdir(folder));) {
		size_t name_len = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    len + name_len + 2 > PATH_MAX)
			continue;

		int below =
			openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (below < 0)
			continue; /* removed just now */
		path[len] = '/';
		memcpy(path + len + 1, entry->d_name, name_len + 1);
		read_folder(names, below, path, len + 1 + name_len, depth + 1);
		path[len] = '\0';
	}
	closedir(folder);
}

/* Read the hierarchy as it is. */
static void walk(struct cgroup_names *names)
{
	char path[PATH_MAX] = "";
	int top = openat(names->mount_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	names->walk++;
	names->nr_new = 0;
	if (top >= 0)
		read_folder(names, top, path, 0, 0);
}

int cgroup_names_create(struct cgroup_names **ret, struct fpl_err *err)
{
	struct cgroup_names *names = calloc(1, sizeof(*names));
	struct fpl_err why = { 0 };

	if (!names)
		return fpl_fail(err, -ENOMEM, "cgroups: out of memory");
	names->mount_fd = -1;
	names->part = 1;
	if (cgroup_mount_find(&names->mount, &why)) {
		fpl_log(FPL_LOG_WARN, "%s: cgroups have numbers for names", why.msg);
	} else if (names->mount.path[0]) {
		names->mount_fd = open(names->mount.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (names->mount_fd < 0)
			fpl_log(FPL_LOG_WARN, "%s: %s: cgroups have numbers for names",
				names->mount.path, strerror(errno));
		else
			walk(names);
	} else {
		fpl_log(FPL_LOG_WARN, "cgroup v2 is not mounted: cgroups have numbers for names");
	}
	*ret = names;
	return 0;
}

void cgroup_names_destroy(struct cgroup_names *names)
{
	if (!names)
		return;
	cleanup_fd(&names->mount_fd);
	for (size_t i = 0; i < names->known.nr; i++)
		free(names->known.list[i].path);
	vector_fini(&names->known);
	id_table_fini(&names->ids);
	free(names);
}

/* The path of cgroup @id, which exists; NULL: it does not, or permission is missing. */
static char *look_up(struct cgroup_names *names, uint64_t id)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(id)];
	} u = { .handle = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	char link[64], path[PATH_MAX];
	size_t mount_len = strlen(names->mount.path);

	memcpy(u.handle.f_handle, &id, sizeof(id));

	AUTO_FD int fd = names->mount_fd < 0
				 ? -1
				 : open_by_handle_at(names->mount_fd, &u.handle,
						     O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);

	ssize_t len = readlink(link, path, sizeof(path) - 1);

	if (len < 0 || (size_t)len < mount_len || strncmp(path, names->mount.path, mount_len) != 0)
		return NULL;
	path[len] = '\0';
	return keep_path(names, path[mount_len] ? path + mount_len : "/");
}

void cgroup_names_see(struct cgroup_names *names, uint64_t id)
{
	struct known *known = known_of(names, id);

	if (!known || known->seen == names->part)
		return;
	known->seen = names->part;
	if (!known->path)
		known->path = look_up(names, id);
}

static int compare_names(const void *left, const void *right)
{
	const struct cgroup_name *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

int cgroup_names_take(struct cgroup_names *names, struct cgroup_name **ret, size_t *ret_nr)
{
	struct cgroup_name *list = calloc(names->known.nr + 1, sizeof(*list));
	size_t nr = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < names->known.nr; i++) {
		struct known *known = &names->known.list[i];

		if (known->seen)
			list[nr++] = (struct cgroup_name){ known->id, TAKE_PTR(known->path) };
	}
	qsort(list, nr, sizeof(*list), compare_names);
	*ret = list;
	*ret_nr = nr;
	return 0;
}

/* Samples of the part at hand may be older than the end of the part before. */
static bool is_seen(const struct cgroup_names *names, const struct known *known)
{
	return known->seen && known->seen + 1 >= names->part;
}

/* Forget those that have gone, and that no sample of late was in. */
static void forget(struct cgroup_names *names)
{
	size_t nr;

	walk(names);
	id_table_fini(&names->ids);
	names->ids = (struct id_table){ 0 };
	nr = names->known.nr;
	names->known.nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct known *known = &names->known.list[i];
		uint64_t hash = id_table_hash(0, &known->id, sizeof(known->id));
		bool stays = is_seen(names, known) || known->met == names->walk;

		/* without memory it is looked up again */
		if (stays && !id_table_add(&names->ids, hash, (uint32_t)names->known.nr)) {
			names->known.list[names->known.nr++] = *known;
			continue;
		}
		names->bytes -= known->path ? strlen(known->path) + 1 : 0;
		free(known->path);
	}
	names->bytes_then = names->bytes;
}

int cgroup_names_copy(struct cgroup_names *names, struct cgroup_name **ret, size_t *ret_nr)
{
	struct cgroup_name *list = calloc(names->known.nr + 1, sizeof(*list));
	size_t nr = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < names->known.nr; i++) {
		const struct known *known = &names->known.list[i];

		/* without memory it has a number for a name */
		if (is_seen(names, known))
			list[nr++] =
				(struct cgroup_name){ known->id,
						      known->path ? strdup(known->path) : NULL };
	}
	qsort(list, nr, sizeof(*list), compare_names);
	*ret = list;
	*ret_nr = nr;
	if (names->nr_new >= FORGET_AFTER || names->bytes >= names->bytes_then + FORGET_AFTER_BYTES)
		forget(names);
	names->part++;
	return 0;
}
