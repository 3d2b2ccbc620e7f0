/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "base/clock.h"

#define PIECE_BYTES 4096u /* POSIX: a pipe that poll says is writable takes PIPE_BUF at once */
#define POLL_MS	    100
#define PATIENCE_MS 2000

static struct {
	void (*read)(void *ctx, int fd, size_t nr);
	void *ctx;
} watch;

void io_set_watch(void (*read)(void *ctx, int fd, size_t nr), void *ctx)
{
	watch.read = read;
	watch.ctx = ctx;
}

ssize_t io_read(int fd, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (uint8_t *)buf + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
		if (watch.read)
			watch.read(watch.ctx, fd, (size_t)n);
	}
	return (ssize_t)done;
}

int io_write(int fd, const void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(fd, (const uint8_t *)buf + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

int io_write_patiently(int fd, const void *buf, size_t size, bool (*is_closing)(void *ctx),
		       void *ctx)
{
	const uint8_t *at = buf;
	uint64_t last_ms = clock_monotonic_ms();

	while (size) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
		ssize_t n = -1;

		if (poll(&poll_fd, 1, POLL_MS) > 0)
			n = write(fd, at, size < PIECE_BYTES ? size : PIECE_BYTES);
		else
			errno = EAGAIN;
		if (n > 0) {
			at += n;
			size -= (size_t)n;
			last_ms = clock_monotonic_ms();
		} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
			return -errno;
		} else if (is_closing(ctx) && clock_monotonic_ms() - last_ms > PATIENCE_MS) {
			return -ETIMEDOUT;
		}
	}
	return 0;
}
