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

struct known {
	uint64_t id; /* not 0 */
	char *path;  /* owned; NULL: not known */
	bool seen;
};

struct cgroup_names {
	struct cgroup_mount mount;
	int mount_fd; /* -1: not mounted */
	VECTOR(struct known) known;
	struct id_table ids;
	size_t bytes; /* of paths */
};

/* The entry of @id, added where it is missing; NULL without room. */
static struct known *known_of(struct cgroup_names *names, uint64_t id)
{
	uint64_t hash = id_table_hash(0, &id, sizeof(id));
	uint32_t at = ID_TABLE_FIND(&names->ids, hash, i, names->known.list[i].id == id);

	if (at != ID_TABLE_NONE)
		return &names->known.list[at];
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

	/* an id is never given twice, and a cgroup never gets another path */
	if (known && !known->path)
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

int cgroup_names_create(struct cgroup_names **ret, struct fpl_err *err)
{
	struct cgroup_names *names = calloc(1, sizeof(*names));
	struct fpl_err why = { 0 };
	char path[PATH_MAX] = "";

	if (!names)
		return fpl_fail(err, -ENOMEM, "cgroups: out of memory");
	names->mount_fd = -1;
	if (cgroup_mount_find(&names->mount, &why)) {
		fpl_log(FPL_LOG_WARN, "%s: cgroups have numbers for names", why.msg);
	} else if (names->mount.path[0]) {
		names->mount_fd = open(names->mount.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (names->mount_fd < 0)
			fpl_log(FPL_LOG_WARN, "%s: %s: cgroups have numbers for names",
				names->mount.path, strerror(errno));
		else
			read_folder(names, dup(names->mount_fd), path, 0, 0);
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

	if (!known || known->seen)
		return;
	known->seen = true;
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
