/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a path of which a stranger has said a part: a name behind it may be a symbolic link of
 * his, to a file that he may not read and we may.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

#define TRUSTED_PATH_LINKS_MAX 40u /* as the kernel has it */

/*
 * Open what @path names with O_PATH, following symbolic links of root and of user @own alone, in
 * any component. A relative path begins at the working directory. *ret_fd is the caller's to close.
 *
 * Errors: -ELOOP a link of somebody else, or too many; -ENAMETOOLONG; else as open(2). Cost: one
 * system call where nothing is there, else some three per component.
 */
FPL_MUST_CHECK int trusted_path_open(const char *path, uid_t own, int *ret_fd);
