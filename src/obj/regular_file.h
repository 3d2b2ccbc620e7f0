/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a path that strangers chose: opening a device can have effects, a FIFO can block. */
#pragma once

#include <sys/stat.h>

#include "base/err.h"

/*
 * Open for reading what @path names, if it is a regular file; nothing else is ever opened. *ret_fd
 * is the caller's to close, *ret_stat its fstat(2). Errors: -ENOEXEC no regular file; else as
 * open(2).
 */
FPL_MUST_CHECK int regular_file_open(const char *path, int *ret_fd, struct stat *ret_stat);

/* The same for what @path_fd, opened with O_PATH, stands for. */
FPL_MUST_CHECK int regular_file_reopen(int path_fd, int *ret_fd, struct stat *ret_stat);
