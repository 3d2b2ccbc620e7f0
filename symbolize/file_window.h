/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile file read front to back through a buffer: it is never mapped (a file that is cut
 * is SIGBUS), never read whole, and no more than a given number of its bytes is read at all.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FILE_WINDOW_SIZE 65536u

struct file_window {
	int fd;		 /* borrowed: a regular file */
	uint64_t off;	 /* of bytes[0] in the file */
	size_t size;	 /* bytes there are in the buffer */
	uint64_t budget; /* bytes that may still be read */
	uint8_t *bytes;	 /* owned [FILE_WINDOW_SIZE] */
};

/* @budget: bytes of the file that may be read. Errors: -ENOMEM. */
FPL_MUST_CHECK int file_window_init(struct file_window *window, int fd, uint64_t budget);
void file_window_fini(struct file_window *window);

/*
 * Look at @size bytes (at most FILE_WINDOW_SIZE) at @off. Returns how many there are, fewer only
 * where the file ends or the budget is used up (window->budget is 0 then), or a negative errno;
 * *ret points to them until the next call. Cost: one read where they are not in the buffer.
 */
long file_window_at(struct file_window *window, uint64_t off, size_t size, const uint8_t **ret);
