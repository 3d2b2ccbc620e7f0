/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/file_window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int file_window_init(struct file_window *window, int fd, uint64_t budget)
{
	*window = (struct file_window){ .fd = fd, .budget = budget };
	window->bytes = malloc(FILE_WINDOW_SIZE);
	return window->bytes ? 0 : -ENOMEM;
}

void file_window_fini(struct file_window *window)
{
	free(window->bytes);
	window->bytes = NULL;
}

/* Moves the buffer to @off, keeping what of it is there already. */
static void move_to(struct file_window *window, uint64_t off)
{
	uint64_t end = window->off + window->size;

	if (off >= window->off && off < end) {
		window->size = (size_t)(end - off);
		memmove(window->bytes, window->bytes + (off - window->off), window->size);
	} else {
		window->size = 0;
	}
	window->off = off;
}

long file_window_at(struct file_window *window, uint64_t off, size_t size, const uint8_t **ret)
{
	if (off > INT64_MAX - FILE_WINDOW_SIZE)
		return 0;
	if (off < window->off || off + size > window->off + window->size)
		move_to(window, off);

	size_t at = (size_t)(off - window->off);

	while (window->size - at < size && window->budget) {
		size_t room = FILE_WINDOW_SIZE - window->size;
		size_t wanted = room < window->budget ? room : (size_t)window->budget;
		ssize_t got = pread(window->fd, window->bytes + window->size, wanted,
				    (off_t)(window->off + window->size));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		window->size += (size_t)got;
		window->budget -= (size_t)got;
	}
	*ret = window->bytes + at;
	return (long)(window->size - at < size ? window->size - at : size);
}
