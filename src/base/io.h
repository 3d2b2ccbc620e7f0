/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes: a system call may do a part of what it was asked for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Read up to @size bytes, fewer only at the end of the file. Returns their number or -errno. */
FPL_MUST_CHECK ssize_t io_read(int fd, void *buf, size_t size);

/*
 * From this call on, @read is called for the data io_read() reads in this process, @nr bytes of @fd
 * each time; NULL: stop. For a process with one reading thread.
 */
void io_set_watch(void (*read)(void *ctx, int fd, size_t nr), void *ctx);

/* Write all of @buf. Returns 0 or -errno, then with an unknown part written. */
FPL_MUST_CHECK int io_write(int fd, const void *buf, size_t size);

/*
 * The same to a reader that may stop reading: once @is_closing(@ctx), one that takes nothing for
 * two seconds is not waited for (-ETIMEDOUT).
 */
FPL_MUST_CHECK int io_write_patiently(int fd, const void *buf, size_t size,
				      bool (*is_closing)(void *ctx), void *ctx);
