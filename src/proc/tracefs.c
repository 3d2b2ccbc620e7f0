/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/tracefs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "base/io.h"

/* The mount that is there, or -1. */
static int open_mounted(void)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		AUTO_FD int fd = open(places[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == TRACEFS_MAGIC)
			return TAKE_FD(fd);
	}
	return -1;
}

/* A mount of our own, in no folder; negative errno. */
static int mount_nowhere(void)
{
	AUTO_FD int fs = fsopen("tracefs", FSOPEN_CLOEXEC);

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;

	int fd = fsmount(fs, FSMOUNT_CLOEXEC,
			 MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
				 MOUNT_ATTR_NOEXEC);

	return fd < 0 ? -errno : fd;
}

int tracefs_open(int *ret, struct fpl_err *err)
{
	AUTO_FD int root = open_mounted();

	if (root < 0)
		root = mount_nowhere();
	if (root == -EPERM || root == -EACCES)
		return fpl_fail(err, -EACCES,
				"tracefs: not mounted, and no right to mount it: run as root");
	if (root < 0)
		return fpl_fail(err, -EOPNOTSUPP,
				"tracefs: %s: the kernel has no tracepoints to sample",
				strerror(-root));

	int fd = openat(root, "events", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return errno == EACCES || errno == EPERM
			       ? fpl_fail(err, -EACCES, "tracefs: no right to read it: run as root")
			       : fpl_fail(err, -EOPNOTSUPP, "tracefs: events: %s", strerror(errno));
	*ret = fd;
	return 0;
}

bool tracefs_is_name(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	while (isalnum((unsigned char)*name) || *name == '_' || *name == '-' || *name == '.')
		name++;
	return !*name;
}

/* Reads a file of a tracepoint into @text, at most @size - 1 bytes. Returns their number or a
 * negative errno. */
static ssize_t read_file(int fd, const char *category, const char *name, const char *file,
			 char *text, size_t size, struct fpl_err *err)
{
	char path[512];

	if (!tracefs_is_name(category) || !tracefs_is_name(name) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s/%s", category, name, file) >= sizeof(path))
		return fpl_fail(err, -ENOENT, "%s:%s: no such tracepoint", category, name);

	AUTO_FD int at = openat(fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (at < 0 && errno == ENOENT)
		return fpl_fail(err, -ENOENT, "%s:%s: no such tracepoint", category, name);

	ssize_t nr = at < 0 ? -errno : io_read(at, text, size - 1);

	if (nr < 0)
		return fpl_fail(err, nr == -EACCES || nr == -EPERM ? -EACCES : -EOPNOTSUPP,
				"%s:%s: %s: %s", category, name, file, strerror((int)-nr));
	text[nr] = '\0';
	return nr;
}

int tracefs_event_id(int fd, const char *category, const char *name, uint64_t *ret,
		     struct fpl_err *err)
{
	char text[32];
	unsigned long long id;
	ssize_t nr = read_file(fd, category, name, "id", text, sizeof(text), err);

	if (nr < 0)
		return (int)nr;
	if (sscanf(text, "%llu", &id) != 1)
		return fpl_fail(err, -EOPNOTSUPP, "%s:%s: its id is no number", category, name);
	*ret = id;
	return 0;
}

int tracefs_format(int fd, const char *category, const char *name, char **ret, struct fpl_err *err)
{
	AUTO_FREE char *text = malloc(TRACEFS_FORMAT_MAX);

	if (!text)
		return -ENOMEM;

	ssize_t nr = read_file(fd, category, name, "format", text, TRACEFS_FORMAT_MAX, err);

	if (nr < 0)
		return (int)nr;
	if (nr == TRACEFS_FORMAT_MAX - 1)
		return fpl_fail(err, -E2BIG, "%s:%s: its format is larger than %u bytes", category,
				name, TRACEFS_FORMAT_MAX);
	*ret = TAKE_PTR(text);
	return 0;
}

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Open the folder @name in @fd, to list it; NULL: it cannot be. */
static DIR *open_folder(int fd, const char *name)
{
	int at = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = at < 0 ? NULL : fdopendir(at);

	if (!dir && at >= 0)
		close(at);
	return dir;
}

static int each_of_category(int fd, const char *category,
			    int (*fn)(const char *category, const char *name, void *ctx), void *ctx)
{
	CLEANUP(cleanup_dir) DIR *dir = open_folder(fd, category);

	for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
		int code = 0;

		if (entry->d_type == DT_DIR && tracefs_is_name(entry->d_name))
			code = fn(category, entry->d_name, ctx);
		if (code)
			return code;
	}
	return 0;
}

int tracefs_for_each(int fd, int (*fn)(const char *category, const char *name, void *ctx),
		     void *ctx)
{
	CLEANUP(cleanup_dir) DIR *dir = open_folder(fd, ".");

	if (!dir)
		return -errno;
	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
		int code = 0;

		if (entry->d_type == DT_DIR && tracefs_is_name(entry->d_name))
			code = each_of_category(fd, entry->d_name, fn, ctx);
		if (code)
			return code;
	}
	return 0;
}
