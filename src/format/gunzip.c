/* SPDX-License-Identifier: Apache-2.0 */
#include "format/gunzip.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/io.h"

void gunzip_init(struct gunzip *gunzip, const char *name, int fd)
{
	*gunzip = (struct gunzip){ .name = name, .fd = fd, .between = true };
	/* 31: the largest window, and a gzip header */
	alloc_check(inflateInit2(&gunzip->stream, 31));
	gunzip->buffer = must_malloc(GUNZIP_BUFFER);
}

void gunzip_fini(struct gunzip *gunzip)
{
	inflateEnd(&gunzip->stream);
	free(gunzip->buffer);
	*gunzip = (struct gunzip){ .fd = -1 };
}

/* The file offset of the next byte to look at. */
static uint64_t offset_of(const struct gunzip *gunzip)
{
	return gunzip->in - gunzip->stream.avail_in;
}

static int fail(const struct gunzip *gunzip, int error, const char *what, struct fpl_err *err)
{
	return fpl_fail(err, error, "%s: offset %" PRIu64 ": %s", gunzip->name, offset_of(gunzip),
			what);
}

/* Have something to look at, unless the file ends. */
static int fill(struct gunzip *gunzip, struct fpl_err *err)
{
	z_stream *stream = &gunzip->stream;

	if (stream->avail_in || gunzip->end)
		return 0;

	ssize_t size = io_read(gunzip->fd, gunzip->buffer, GUNZIP_BUFFER);

	if (size < 0)
		return fail(gunzip, (int)size, strerror((int)-size), err);
	gunzip->in += (uint64_t)size;
	gunzip->end = !size;
	stream->next_in = gunzip->buffer;
	stream->avail_in = (unsigned)size;
	if (!gunzip->started) {
		gunzip->started = true;
		gunzip->plain = size < 2 || gunzip->buffer[0] != 0x1f || gunzip->buffer[1] != 0x8b;
	}
	return 0;
}

static ssize_t read_plain(struct gunzip *gunzip, void *to, size_t size)
{
	z_stream *stream = &gunzip->stream;

	if (size > stream->avail_in)
		size = stream->avail_in;
	memcpy(to, stream->next_in, size);
	stream->next_in += size;
	stream->avail_in -= (unsigned)size;
	return (ssize_t)size;
}

/* One step of inflate. Returns whether to go on, or an error. */
static int step(struct gunzip *gunzip, struct fpl_err *err)
{
	z_stream *stream = &gunzip->stream;

	if (gunzip->between) {
		/* tapes fill up with zeros, and gzip(1) takes no offence either */
		while (stream->avail_in && !*stream->next_in && gunzip->out) {
			stream->next_in++;
			stream->avail_in--;
		}
		if (!stream->avail_in)
			return 1;
		gunzip->between = false;
		inflateReset(stream);
	}

	int status = inflate(stream, Z_NO_FLUSH);

	if (status == Z_STREAM_END)
		gunzip->between = true;
	else if (status == Z_MEM_ERROR)
		alloc_fail();
	else if (status != Z_OK && status != Z_BUF_ERROR)
		return fail(gunzip, -EBADMSG, stream->msg ? stream->msg : "not gzip", err);
	return 1;
}

ssize_t gunzip_read(struct gunzip *gunzip, void *to, size_t size, struct fpl_err *err)
{
	z_stream *stream = &gunzip->stream;
	int error = fill(gunzip, err);

	if (error)
		return error;
	if (gunzip->plain)
		return read_plain(gunzip, to, size);
	stream->next_out = to;
	stream->avail_out = size > UINT32_MAX ? UINT32_MAX : (unsigned)size;

	unsigned room = stream->avail_out;

	while (stream->avail_out == room) {
		error = fill(gunzip, err);
		if (error)
			return error;
		if (gunzip->end && !stream->avail_in) {
			if (gunzip->between)
				break;
			return fail(gunzip, -ENODATA, "the file ends within its gzip data", err);
		}
		error = step(gunzip, err);
		/* what came out before is good, and the error comes again */
		if (error < 0 && stream->avail_out == room)
			return error;
	}
	gunzip->out += room - stream->avail_out;
	if (gunzip->out > GUNZIP_FREE_BYTES && gunzip->out / GUNZIP_RATIO_MAX > gunzip->in)
		return fail(gunzip, -EBADMSG, "more than 500 times its size when unpacked: refused",
			    err);
	return room - stream->avail_out;
}
