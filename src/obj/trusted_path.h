/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open a path with an untrusted part: another user may have put a symbolic link there, to a file
 * that only we may read.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

#define TRUSTED_PATH_LINKS_MAX 40u /* as the kernel has it */

/*
 * Open @path with O_PATH, following symbolic links of root and of user @own alone, in any
 * component. A relative path begins at the working directory. *ret_fd is the caller's to close.
 *
 * Errors: -ELOOP a link of another user, or too many; -ENAMETOOLONG; else as open(2). Cost: one
 * system call if the path does not exist, else some three per component.
 */
FPL_MUST_CHECK int trusted_path_open(const char *path, uid_t own, int *ret_fd);
