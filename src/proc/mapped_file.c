/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/proc_files.h"

#define LINK_SIZE 64

int mapped_file_place(pid_t pid, uint64_t start, uint64_t end)
{
	char link[LINK_SIZE];

	snprintf(link, sizeof(link), "map_files/%" PRIx64 "-%" PRIx64, start, end);
	return proc_file_open(pid, link, O_PATH);
}

static int open_in_root(struct opener *opener, pid_t pid, const char *path, struct mapped_file *ret)
{
	struct opener_path where = {
		.pid = pid,
		.path = path,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	AUTO_FD int fd = -1;
	AUTO_FD int root_fd = proc_file_open(pid, "root", O_PATH | O_DIRECTORY);
	int code;

	if (root_fd < 0)
		return root_fd;
	where.folder_fd = root_fd;
	code = opener_walk(opener, &where, NULL, &fd);
	if (code)
		return code;
	ret->source = MAPPED_FILE_ROOT;
	return opener_take(opener, pid, fd, &ret->fd, &ret->stat);
}

static int open_path(struct opener *opener, const char *path, struct mapped_file *ret)
{
	const struct opener_path where = { .folder_fd = -1, .path = path };
	AUTO_FD int fd = -1;
	int code = opener_walk(opener, &where, NULL, &fd);

	if (code)
		return code;
	ret->source = MAPPED_FILE_PATH;
	return opener_take(opener, 0, fd, &ret->fd, &ret->stat);
}

int mapped_file_open_path(struct opener *opener, pid_t pid, const char *path,
			  struct mapped_file *ret, struct fpl_err *err)
{
	struct mapped_file file = { .fd = -1 };
	int code = path[0] == '/' ? open_in_root(opener, pid, path, &file) : -ENOENT;

	if (path[0] == '/' && (code == -ENOENT || code == -ESRCH))
		code = open_path(opener, path, &file);
	if (code == -ENOEXEC)
		return fpl_fail(err, code, "pid %d: %s: not a regular file", (int)pid, path);
	if (code == -ETIMEDOUT)
		return fpl_fail(err, code, "pid %d: %s: file did not answer", (int)pid, path);
	if (code)
		return fpl_fail(err, code, "pid %d: %s: %s", (int)pid, path, strerror(-code));
	*ret = file;
	return 0;
}

int mapped_file_take(struct opener *opener, pid_t pid, int place_fd, const char *path,
		     struct mapped_file *ret, struct fpl_err *err)
{
	struct mapped_file file = { .fd = -1, .source = MAPPED_FILE_EXACT };
	int code =
		place_fd < 0 ? place_fd : opener_take(opener, pid, place_fd, &file.fd, &file.stat);

	/* the mapped file was found; a path could lead elsewhere */
	if (code == -ENOEXEC)
		return fpl_fail(err, code, "pid %d: %s: not a regular file", (int)pid, path);
	if (code == -ETIMEDOUT)
		return fpl_fail(err, code, "pid %d: %s: file did not answer", (int)pid, path);
	if (code)
		return mapped_file_open_path(opener, pid, path, ret, err);
	*ret = file;
	return 0;
}

int mapped_file_open(struct opener *opener, pid_t pid, uint64_t start, uint64_t end,
		     const char *path, struct mapped_file *ret, struct fpl_err *err)
{
	AUTO_FD int place = mapped_file_place(pid, start, end);

	return mapped_file_take(opener, pid, place, path, ret, err);
}
