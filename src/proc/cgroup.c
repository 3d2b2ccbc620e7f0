/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define MOUNTINFO_SIZE_MAX (4u << 20) /* some 30,000 mounts */

void cgroup_path_decode(char *text)
{
	char *to = text;

	for (const char *p = text; *p; to++) {
		unsigned value;
		int used = 0;

		if (*p == '\\' && sscanf(p, "\\%3o%n", &value, &used) == 1 && used == 4) {
			*to = (char)value;
			p += used;
		} else {
			*to = *p++;
		}
	}
	*to = '\0';
}

/* One line: "ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER". */
static void parse_line(char *line, struct cgroup_mount *ret, bool *whole)
{
	char *type = strstr(line, " - ");
	char *fields[5] = { NULL }, *rest = line;

	if (!type)
		return;
	*type = '\0';
	type += 3;
	type[strcspn(type, " ")] = '\0';
	if (strcmp(type, "cgroup") == 0)
		ret->has_v1 = true;
	if (strcmp(type, "cgroup2") != 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strsep(&rest, " ");
		if (!fields[i])
			return;
	}

	bool is_whole = strcmp(fields[3], "/") == 0;

	cgroup_path_decode(fields[4]);
	if (fields[4][0] != '/' || strlen(fields[4]) >= sizeof(ret->path) ||
	    (ret->path[0] && (*whole || !is_whole)))
		return;
	memcpy(ret->path, fields[4], strlen(fields[4]) + 1);
	*whole = is_whole;
}

void cgroup_mount_parse(char *mountinfo, struct cgroup_mount *ret)
{
	bool whole = false;

	ret->path[0] = '\0';
	ret->has_v1 = false;
	for (char *line; (line = strsep(&mountinfo, "\n"));)
		parse_line(line, ret, &whole);
}

int cgroup_mount_find(struct cgroup_mount *ret, struct fpl_err *err)
{
	AUTO_FREE char *text = malloc(MOUNTINFO_SIZE_MAX + 1);
	AUTO_FD int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (!text)
		return fpl_fail(err, -ENOMEM, "mountinfo: out of memory");

	ssize_t size = fd < 0 ? -errno : io_read(fd, text, MOUNTINFO_SIZE_MAX);

	if (size < 0)
		return fpl_fail(err, (int)size == -ENOENT ? -EOPNOTSUPP : (int)size,
				"/proc/self/mountinfo: %s", strerror((int)-size));
	text[size] = '\0';
	cgroup_mount_parse(text, ret);
	return 0;
}

/* Open the directory @path. @ret_type: of its file system. Returns a descriptor or -errno. */
static int open_folder(const char *path, long *ret_type)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	struct statfs fs;

	*ret_type = 0;
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	*ret_type = (long)fs.f_type;
	return TAKE_FD(fd);
}

int cgroup_open(const char *path, int *ret, struct fpl_err *err)
{
	struct cgroup_mount mount;
	char below[2 * PATH_MAX];
	long type;
	int fd = open_folder(path, &type);

	if (fd >= 0 && type == CGROUP2_SUPER_MAGIC) {
		*ret = fd;
		return 0;
	}
	cleanup_fd(&fd);

	int code = cgroup_mount_find(&mount, err);

	if (code)
		return code;
	if (!mount.path[0])
		return fpl_fail(
			err, -EOPNOTSUPP,
			"--cgroup %s: cgroup v2 is not mounted: mount -t cgroup2 cgroup2 DIRECTORY",
			path);
	if (type == CGROUP_SUPER_MAGIC)
		return fpl_fail(err, -EOPNOTSUPP,
				"--cgroup %s: a cgroup of v1: expected one of v2, below %s", path,
				mount.path);
	snprintf(below, sizeof(below), "%s/%s", mount.path, path);
	fd = open_folder(below, &type);
	if (fd >= 0 && type == CGROUP2_SUPER_MAGIC) {
		*ret = fd;
		return 0;
	}
	cleanup_fd(&fd);
	if (fd == -EACCES)
		return fpl_fail(err, fd, "--cgroup %s: %s", below, strerror(-fd));
	return fpl_fail(err, -ESRCH, "--cgroup %s: no such cgroup below %s%s", path, mount.path,
			mount.has_v1 ? " (those of v1, which this machine has, too, do not count)"
				     : "");
}
