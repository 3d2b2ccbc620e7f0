/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/cleanup.h"

int regular_file_reopen(int path_fd, int *ret_fd, struct stat *ret_stat)
{
	char link[32];
	int fd;

	if (fstat(path_fd, ret_stat) < 0)
		return -errno;
	if (!S_ISREG(ret_stat->st_mode))
		return -ENOEXEC;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int regular_file_open(const char *path, int *ret_fd, struct stat *ret_stat)
{
	AUTO_FD int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : regular_file_reopen(fd, ret_fd, ret_stat);
}
