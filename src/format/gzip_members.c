/* SPDX-License-Identifier: Apache-2.0 */
#include "format/gzip_members.h"

#include <errno.h>
#include <stdio_ext.h>
#include <unistd.h>

#include "base/alloc.h"

void gzip_members_init(struct gzip_members *members, FILE *to)
{
	*members = (struct gzip_members){ .to = to, .end = ftello(to) };
	/* 31: the largest window, and a gzip header */
	alloc_check(deflateInit2(&members->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 31, 9,
				 Z_DEFAULT_STRATEGY));
}

void gzip_members_fini(struct gzip_members *members)
{
	deflateEnd(&members->stream);
	vector_fini(&members->pending);
	vector_fini(&members->packed);
}

unsigned char *gzip_members_reserve(struct gzip_members *members, size_t size)
{
	must_reserve(&members->pending, members->pending.nr + size);
	return members->pending.list + members->pending.nr;
}

void gzip_members_commit(struct gzip_members *members, size_t size)
{
	members->pending.nr += size;
	if (members->pending.nr >= GZIP_MEMBERS_CONTENT)
		gzip_members_flush(members);
}

/* Forget what was not written whole, so that what was can be closed like any file. */
static void cut_back(struct gzip_members *members, int error)
{
	members->error = error;
	__fpurge(members->to);
	clearerr(members->to);
	if (members->end < 0 || ftruncate(fileno(members->to), members->end) < 0 ||
	    fseeko(members->to, members->end, SEEK_SET) < 0)
		members->nr = 0;
}

/* Pack what is pending: packed.nr bytes. */
static int pack(struct gzip_members *members)
{
	z_stream *stream = &members->stream;
	size_t bound = deflateBound(stream, members->pending.nr);

	must_reserve(&members->packed, bound);
	if (deflateReset(stream) != Z_OK || bound > UINT32_MAX)
		return -EINVAL;
	stream->next_in = members->pending.list;
	stream->avail_in = (unsigned)members->pending.nr;
	stream->next_out = members->packed.list;
	stream->avail_out = (unsigned)bound;
	if (deflate(stream, Z_FINISH) != Z_STREAM_END)
		return -EINVAL;
	members->packed.nr = bound - stream->avail_out;
	return 0;
}

void gzip_members_flush(struct gzip_members *members)
{
	size_t size;
	int error;

	if (!members->pending.nr || members->error)
		return;
	error = pack(members);
	size = members->packed.nr;
	errno = 0;
	if (!error &&
	    (fwrite(members->packed.list, 1, size, members->to) != size || fflush(members->to)))
		error = errno ? -errno : -EIO;
	if (error) {
		cut_back(members, error);
		return;
	}
	if (members->end >= 0)
		members->end += (long long)size;
	members->pending.nr = 0;
	members->nr++;
}
