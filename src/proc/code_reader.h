/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read another process's memory without waiting: the process itself may serve a page that is not
 * resident (userfaultfd, FUSE), and could then block its reader for ever.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Did process @pid start at @start_ns (CLOCK_BOOTTIME)? Else the number is another process's by
 * now. False where /proc does not tell, too. Cost: one open and one read.
 */
bool code_reader_is_of(pid_t pid, uint64_t start_ns);

/*
 * Copy [@addr, @addr + @size) of process @pid, @size at most a page, to @dst.
 * Errors: -ENODATA a page of it is not resident; -ESRCH; -EACCES; -EIO.
 * Cost: two opens and three reads.
 */
FPL_MUST_CHECK int code_reader_read(pid_t pid, uint64_t addr, void *dst, size_t size);
