/* SPDX-License-Identifier: Apache-2.0 */
/* proc_pid_mountinfo(5), cgroups(7); the kernel's cgroup-v2.rst and cgroup-v1/memory.rst. */
#include "proc/cgroup_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "proc/cgroup.h"

#define FILE_SIZE_MAX (4u << 20) /* some 30,000 mounts */
/* Version 1 expresses "no limit" by the largest number of pages. */
#define V1_NO_LIMIT (UINT64_C(1) << 62)

/* The text of a file below @root, owned by the caller; NULL: unreadable. */
static char *read_text(const char *root, const char *path)
{
	AUTO_FREE char *text = malloc(FILE_SIZE_MAX + 1), *full = NULL;
	AUTO_FD int fd = -1;
	ssize_t size;

	if (asprintf(&full, "%s%s", root, path) < 0) {
		full = NULL; /* asprintf leaves it undefined */
		return NULL;
	}
	fd = open(full, O_RDONLY | O_CLOEXEC);
	size = text && fd >= 0 ? io_read(fd, text, FILE_SIZE_MAX) : -1;
	if (size < 0)
		return NULL;
	text[size] = '\0';
	return TAKE_PTR(text);
}

/* Does the comma-separated @list have @word? */
static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, length) && (at[length] == ',' || !at[length]))
			return true;
	}
	return false;
}

/* /proc/self/cgroup: lines "ID:CONTROLLER,...:PATH", of version 2 "0::PATH". */
static void find_path(char *text, struct cgroup_memory_place *ret)
{
	for (char *line; (line = strsep(&text, "\n"));) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		controllers++;
		if (has_word(controllers, "memory")) {
			ret->v1 = true;
			ret->path = path;
		} else if (!*controllers && !ret->v1) {
			ret->path = path;
		}
	}
}

/* A line of mountinfo, as in cgroup.c: the first mount of the hierarchy counts. */
static void find_mount(char *line, struct cgroup_memory_place *ret)
{
	char *type = strstr(line, " - "), *fields[5], *rest = line, *last[3];

	if (!type || ret->mount_point[0])
		return;
	*type = '\0';
	type += 3;
	for (size_t i = 0; i < ARRAY_SIZE(last); i++)
		last[i] = strsep(&type, " ");
	if (!last[0] || !last[2] || strcmp(last[0], ret->v1 ? "cgroup" : "cgroup2") != 0 ||
	    (ret->v1 && !has_word(last[2], "memory")))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		fields[i] = strsep(&rest, " ");
	if (!fields[4] || strlen(fields[3]) >= PATH_MAX || strlen(fields[4]) >= PATH_MAX)
		return;
	cgroup_path_decode(fields[3]);
	cgroup_path_decode(fields[4]);
	snprintf(ret->mount_root, sizeof(ret->mount_root), "%s", fields[3]);
	snprintf(ret->mount_point, sizeof(ret->mount_point), "%s", fields[4]);
}

/* The cgroup's path below the mount; "": it is the mount's own, or not below it. */
static const char *path_below(const struct cgroup_memory_place *place)
{
	size_t length = strcmp(place->mount_root, "/") != 0 ? strlen(place->mount_root) : 0;
	const char *path = place->path;

	if (strncmp(path, place->mount_root, length) != 0 || (path[length] && path[length] != '/'))
		return "";
	path += length;
	/* "/../.." is a cgroup beyond the namespace's own */
	return strcmp(path, "/") != 0 && strncmp(path, "/..", 3) != 0 ? path : "";
}

/* Read the number behind @key, or at the beginning, in the file @name in @folder; missing:
 * CGROUP_NO_LIMIT. */
static uint64_t read_number(const char *root, const char *folder, const char *name, const char *key)
{
	AUTO_FREE char *path = NULL, *text = NULL;
	const char *at;
	unsigned long long value;

	if (asprintf(&path, "%s/%s", folder, name) < 0) {
		path = NULL;
		return CGROUP_NO_LIMIT;
	}
	text = read_text(root, path);
	at = text ? strstr(text, key) : NULL;
	if (!at || sscanf(at + strlen(key), "%llu", &value) != 1)
		return CGROUP_NO_LIMIT;
	return value;
}

/* The least of all levels from @folder, below @mount_length bytes of mount point, up. */
static uint64_t least_max(const char *root, char *folder, size_t mount_length)
{
	uint64_t least = CGROUP_NO_LIMIT;

	for (;;) {
		uint64_t max = read_number(root, folder, "memory.max", "");
		char *slash = strrchr(folder, '/');

		least = max < least ? max : least;
		if (strlen(folder) <= mount_length || !slash)
			return least;
		*slash = '\0';
	}
}

int cgroup_memory_find(char *cgroups, char *mountinfo, struct cgroup_memory_place *ret)
{
	*ret = (struct cgroup_memory_place){ .v1 = false };
	find_path(cgroups, ret);
	for (char *line; ret->path && (line = strsep(&mountinfo, "\n"));)
		find_mount(line, ret);
	return ret->mount_point[0] ? 0 : -ENOENT;
}

char *cgroup_memory_folder(const struct cgroup_memory_place *place)
{
	char *folder;

	return asprintf(&folder, "%s%s", place->mount_point, path_below(place)) < 0 ? NULL : folder;
}

uint64_t cgroup_memory_limit(const char *root)
{
	AUTO_FREE char *cgroups = read_text(root, "/proc/self/cgroup");
	AUTO_FREE char *mounts = read_text(root, "/proc/self/mountinfo");
	AUTO_FREE char *folder = NULL;
	struct cgroup_memory_place place;
	uint64_t limit;

	if (!cgroups || !mounts || cgroup_memory_find(cgroups, mounts, &place))
		return CGROUP_NO_LIMIT;
	folder = cgroup_memory_folder(&place);
	if (!folder)
		return CGROUP_NO_LIMIT;
	limit = place.v1 ? read_number(root, folder, "memory.stat", "hierarchical_memory_limit ")
			 : least_max(root, folder, strlen(place.mount_point));
	return limit < V1_NO_LIMIT ? limit : CGROUP_NO_LIMIT;
}
