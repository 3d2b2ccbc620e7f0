/* SPDX-License-Identifier: Apache-2.0 */
/* stat(2) from the kernel's own knowledge, which never asks a file system's server. */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "base/err.h"

#define FILE_NO_MOUNT UINT64_MAX /* a kernel before 5.8 does not say */

/*
 * Attributes of the file open at @fd, with O_PATH or otherwise, as the kernel knows them. No server
 * is asked (AT_STATX_DONT_SYNC): for a file on FUSE or NFS they are those of the last answer.
 * @ret_mount: the number of the mount, as mountinfo has it; NULL is allowed. Errors: those of
 * statx(2).
 */
FPL_MUST_CHECK int file_stat(int fd, struct stat *ret, uint64_t *ret_mount);
