/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/gzip_members.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gzip_members_init(struct gzip_members *members, FILE *to, struct fpl_err *err)
{
	*members = (struct gzip_members){ .to = to, .end = ftello(to) };
	/* 31: the largest window, and a gzip header */
	if (deflateInit2(&members->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 9,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return fpl_fail(err, -ENOMEM, "out of memory");
	return 0;
}

void gzip_members_fini(struct gzip_members *members)
{
	deflateEnd(&members->stream);
	free(members->pending);
	free(members->packed);
	*members = (struct gzip_members){ 0 };
}

unsigned char *gzip_members_reserve(struct gzip_members *members, size_t size)
{
	if (size > members->room - members->used) {
		size_t room = members->used + size + GZIP_MEMBERS_CONTENT;
		unsigned char *bigger = realloc(members->pending, room);

		if (!bigger)
			return NULL;
		members->pending = bigger;
		members->room = room;
	}
	return members->pending + members->used;
}

int gzip_members_commit(struct gzip_members *members, size_t size, struct fpl_err *err)
{
	members->used += size;
	return members->used < GZIP_MEMBERS_CONTENT ? 0 : gzip_members_flush(members, err);
}

/* Forget what was not written whole, so that what was can be closed like any file. */
static int cut_back(struct gzip_members *members, int error, struct fpl_err *err)
{
	__fpurge(members->to);
	clearerr(members->to);
	if (members->end < 0 || ftruncate(fileno(members->to), members->end) < 0 ||
	    fseeko(members->to, members->end, SEEK_SET) < 0)
		members->nr = 0;
	return fpl_fail(err, error, "%s", strerror(-error));
}

int gzip_members_flush(struct gzip_members *members, struct fpl_err *err)
{
	z_stream *stream = &members->stream;
	size_t bound = deflateBound(stream, members->used);

	if (!members->used)
		return 0;
	if (bound > members->packed_room) {
		unsigned char *bigger = realloc(members->packed, bound);

		if (!bigger)
			return fpl_fail(err, -ENOMEM, "out of memory");
		members->packed = bigger;
		members->packed_room = bound;
	}
	if (deflateReset(stream) != Z_OK || bound > UINT32_MAX)
		return fpl_fail(err, -EINVAL, "deflate refuses %zu bytes", members->used);
	stream->next_in = members->pending;
	stream->avail_in = (unsigned)members->used;
	stream->next_out = members->packed;
	stream->avail_out = (unsigned)bound;
	if (deflate(stream, Z_FINISH) != Z_STREAM_END)
		return fpl_fail(err, -EINVAL, "deflate does not end");

	size_t size = bound - stream->avail_out;

	errno = 0;
	if (fwrite(members->packed, 1, size, members->to) != size || fflush(members->to))
		return cut_back(members, errno ? -errno : -EIO, err);
	if (members->end >= 0)
		members->end += (long long)size;
	members->used = 0;
	members->nr++;
	return 0;
}
