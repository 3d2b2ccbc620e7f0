/* SPDX-License-Identifier: Apache-2.0 */
#include "format/gzip_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "format/gzip_members.h"

struct gzip_stream {
	struct gzip_members members;
	FILE *from; /* owned */
};

static ssize_t stream_write(void *cookie, const char *from, size_t size)
{
	struct gzip_stream *stream = cookie;

	if (stream->members.error) {
		errno = -stream->members.error;
		return 0;
	}
	memcpy(gzip_members_reserve(&stream->members, size), from, size);
	gzip_members_commit(&stream->members, size);
	return (ssize_t)size;
}

struct gzip_stream *gzip_stream_open(FILE *to, FILE **ret_from)
{
	static const cookie_io_functions_t functions = { .write = stream_write };
	struct gzip_stream *stream = must_calloc(1, sizeof(*stream));

	gzip_members_init(&stream->members, to);
	stream->from = fopencookie(stream, "w", functions);
	if (!stream->from)
		alloc_fail();
	*ret_from = stream->from;
	return stream;
}

int gzip_stream_close(struct gzip_stream *stream)
{
	/* what it met is the file's, and kept there */
	(void)fclose(stream->from);
	gzip_members_flush(&stream->members);

	int error = stream->members.error;

	gzip_members_fini(&stream->members);
	free(stream);
	return error;
}
