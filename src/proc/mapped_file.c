/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "obj/regular_file.h"

#define LINK_SIZE 96

static void link_of(pid_t pid, uint64_t start, uint64_t end, char *ret)
{
	snprintf(ret, LINK_SIZE, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, start, end);
}

int mapped_file_stat(pid_t pid, uint64_t start, uint64_t end, struct stat *ret)
{
	char link[LINK_SIZE];

	link_of(pid, start, end, link);
	return stat(link, ret) < 0 ? -errno : 0;
}

static int open_exact(pid_t pid, uint64_t start, uint64_t end, struct mapped_file *ret)
{
	char link[LINK_SIZE];

	link_of(pid, start, end, link);

	AUTO_FD int fd = open(link, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	ret->source = MAPPED_FILE_EXACT;
	return regular_file_reopen(fd, &ret->fd, &ret->stat);
}

static int open_in_root(pid_t pid, const char *path, struct mapped_file *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root[32];

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);

	AUTO_FD int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root_fd < 0)
		return -errno;

	AUTO_FD int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd < 0)
		return -errno;
	ret->source = MAPPED_FILE_ROOT;
	return regular_file_reopen(fd, &ret->fd, &ret->stat);
}

static int open_path(const char *path, struct mapped_file *ret)
{
	ret->source = MAPPED_FILE_PATH;
	return regular_file_open(path, &ret->fd, &ret->stat);
}

int mapped_file_open_path(pid_t pid, const char *path, struct mapped_file *ret, struct fpl_err *err)
{
	struct mapped_file file = { .fd = -1 };
	int code = path[0] == '/' ? open_in_root(pid, path, &file) : -ENOENT;

	if (path[0] == '/' && (code == -ENOENT || code == -ESRCH))
		code = open_path(path, &file);
	if (code == -ENOEXEC)
		return fpl_fail(err, code, "pid %d: %s: not a regular file", (int)pid, path);
	if (code)
		return fpl_fail(err, code, "pid %d: %s: %s", (int)pid, path, strerror(-code));
	*ret = file;
	return 0;
}

int mapped_file_open(pid_t pid, uint64_t start, uint64_t end, const char *path,
		     struct mapped_file *ret, struct fpl_err *err)
{
	struct mapped_file file = { .fd = -1 };
	int code = open_exact(pid, start, end, &file);

	/* what is mapped there has been seen; a path would lead elsewhere */
	if (code == -ENOEXEC)
		return fpl_fail(err, code, "pid %d: %s: not a regular file", (int)pid, path);
	if (code)
		return mapped_file_open_path(pid, path, ret, err);
	*ret = file;
	return 0;
}
