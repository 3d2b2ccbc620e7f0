/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files of the tests and benches by their path: the product has descriptors. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "obj/elf_file.h"

/* As elf_file_open() of what it opens, of a file that is no FIFO or else is refused: -errno of
 * open(2), too. */
static inline int elf_file_open_path(const char *path, struct elf_file **ret, struct fpl_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		int rc = -errno;

		return fpl_fail(err, rc, "%s: %s", path, strerror(-rc));
	}
	return elf_file_open(fd, path, ret, err);
}
