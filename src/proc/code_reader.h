/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of another process's memory, read only where that cannot wait: a page that is not resident
 * may be served by the process itself (userfaultfd, FUSE), which could then hang whoever reads it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Copy [@addr, @addr + @size) of process @pid, @size at most a page, to @dst.
 * Errors: -ENODATA a page of it is not resident; -ESRCH; -EACCES; -EIO.
 * Cost: two opens and three reads.
 */
FPL_MUST_CHECK int code_reader_read(pid_t pid, uint64_t addr, void *dst, size_t size);
