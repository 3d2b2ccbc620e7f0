/* SPDX-License-Identifier: Apache-2.0 */
/* stat(2) that never asks the server of a file system: what the kernel knows of the file is enough.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

#define FILE_NO_MOUNT UINT64_MAX /* a kernel before 5.8 does not say */

/*
 * What the kernel knows of the file open at @fd, with O_PATH or otherwise. It asks nobody
 * (AT_STATX_DONT_SYNC): of a file on FUSE or NFS this is what it was last told. @ret_mount: the
 * number of the mount, as mountinfo has it; NULL is allowed. Errors: those of statx(2).
 */
FPL_MUST_CHECK int file_stat(int fd, struct stat *ret, uint64_t *ret_mount);

/* The same of what @path, a magic link of /proc, leads to: any other path could ask on the way. */
FPL_MUST_CHECK int file_stat_link(const char *path, struct stat *ret);
