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
#include "base/log.h"
#include "proc/cgroup.h"

#define SLOTS_FIRST   256u
#define DEPTH_MAX     64   /* of the hierarchy: cgroup.max.depth has no default */
#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h: the handle is the id */
#define NR_SLOTS_MAX  (2u * CGROUP_NAMES_MAX)

struct slot {
	uint64_t id; /* 0: free */
	char *path;  /* owned; NULL: not known */
	bool seen;
};

struct cgroup_names {
	struct cgroup_mount mount;
	int mount_fd;	    /* -1: not mounted */
	struct slot *slots; /* owned [nr_slots]: a hash table, at most half full */
	size_t nr_slots, nr;
	size_t bytes; /* of paths */
};

/* The slot of @id, or the one where it belongs. */
static struct slot *slot_of(const struct cgroup_names *names, uint64_t id)
{
	size_t at = (size_t)((id * 0x9e3779b97f4a7c15u) >> 32) & (names->nr_slots - 1);

	while (names->slots[at].id && names->slots[at].id != id)
		at = (at + 1) & (names->nr_slots - 1);
	return &names->slots[at];
}

static int grow(struct cgroup_names *names)
{
	struct cgroup_names bigger = *names;

	bigger.nr_slots = names->nr_slots ? 2 * names->nr_slots : SLOTS_FIRST;
	if (bigger.nr_slots > NR_SLOTS_MAX)
		return -ENOSPC;
	bigger.slots = calloc(bigger.nr_slots, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < names->nr_slots; i++)
		if (names->slots[i].id)
			*slot_of(&bigger, names->slots[i].id) = names->slots[i];
	free(names->slots);
	*names = bigger;
	return 0;
}

/* The slot of @id, made where there is none; NULL without room. */
static struct slot *slot_take(struct cgroup_names *names, uint64_t id)
{
	struct slot *slot = names->nr_slots ? slot_of(names, id) : NULL;

	if (!id || (slot && slot->id))
		return id ? slot : NULL;
	if (2 * (names->nr + 1) > names->nr_slots && grow(names))
		return NULL;
	slot = slot_of(names, id);
	slot->id = id;
	names->nr++;
	return slot;
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
	struct slot *slot = slot_take(names, id);

	/* an id is never given twice, and a cgroup never gets another path */
	if (slot && !slot->path)
		slot->path = keep_path(names, path);
}

/*
 * Take in the cgroup of the directory @fd, which is closed, and those below. @path has room for
 * PATH_MAX bytes; @len of them are the path of @fd, "" for the top. The inode number is the id.
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

	if (!names || grow(names)) {
		free(names);
		return fpl_fail(err, -ENOMEM, "cgroups: out of memory");
	}
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
	for (size_t i = 0; i < names->nr_slots; i++)
		free(names->slots[i].path);
	free(names->slots);
	free(names);
}

/* The path of cgroup @id, which exists; NULL: it does not, or there is no right to ask. */
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
	struct slot *slot = slot_take(names, id);

	if (!slot || slot->seen)
		return;
	slot->seen = true;
	if (!slot->path)
		slot->path = look_up(names, id);
}

static int compare_names(const void *left, const void *right)
{
	const struct cgroup_name *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

int cgroup_names_take(struct cgroup_names *names, struct cgroup_name **ret, size_t *ret_nr)
{
	struct cgroup_name *list = calloc(names->nr + 1, sizeof(*list));
	size_t nr = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < names->nr_slots; i++) {
		struct slot *slot = &names->slots[i];

		if (slot->seen)
			list[nr++] = (struct cgroup_name){ slot->id, TAKE_PTR(slot->path) };
	}
	qsort(list, nr, sizeof(*list), compare_names);
	*ret = list;
	*ret_nr = nr;
	return 0;
}
