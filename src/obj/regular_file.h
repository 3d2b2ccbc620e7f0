/* SPDX-License-Identifier: Apache-2.0 */
/* Open untrusted paths: opening a device can have effects, a FIFO can block. */
#pragma once

#include <sys/stat.h>

#include "base/err.h"

/*
 * Open the regular file @path for reading; no other kind of file is ever opened. *ret_fd is the
 * caller's to close, *ret_stat its fstat(2). Errors: -ENOEXEC no regular file; else as open(2).
 */
FPL_MUST_CHECK int regular_file_open(const char *path, int *ret_fd, struct stat *ret_stat);

/* The same for the file of @path_fd, opened with O_PATH. */
FPL_MUST_CHECK int regular_file_reopen(int path_fd, int *ret_fd, struct stat *ret_stat);
