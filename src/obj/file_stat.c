/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/file_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/sysmacros.h>

static struct timespec time_of(struct statx_timestamp stamp)
{
	return (struct timespec){ .tv_sec = stamp.tv_sec, .tv_nsec = stamp.tv_nsec };
}

int file_stat(int fd, struct stat *ret, uint64_t *ret_mount)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_MNT_ID, &x) < 0)
		return -errno;
	*ret = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
		.st_size = (off_t)x.stx_size,
		.st_blksize = (blksize_t)x.stx_blksize,
		.st_blocks = (blkcnt_t)x.stx_blocks,
		.st_atim = time_of(x.stx_atime),
		.st_mtim = time_of(x.stx_mtime),
		.st_ctim = time_of(x.stx_ctime),
	};
	if (ret_mount)
		*ret_mount = x.stx_mask & STATX_MNT_ID ? x.stx_mnt_id : FILE_NO_MOUNT;
	return 0;
}
