/* SPDX-License-Identifier: Apache-2.0 */
#include "format/packed_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "format/gzip_members.h"

/*
 * Stacks repeat frames that are megabytes away. Measured on 600 MB of .jsonl: 32.6 MB by gzip, 14.2
 * by zstd with its usual window, 8.6 with this one.
 */
enum { ZSTD_WINDOW_LOG2 = 24, ZSTD_LEVEL = 3, PACKED_SIZE = 128 << 10 };

struct packed_stream {
	enum packing packing;
	FILE *to;   /* borrowed */
	FILE *from; /* owned */
	struct gzip_members members;
	ZSTD_CCtx *zstd; /* owned */
	char *packed;	 /* owned [PACKED_SIZE] */
	int error;	 /* -errno of a write of PACKING_ZSTD; 0: none */
};

static int write_gzip(struct packed_stream *stream, const char *from, size_t size)
{
	if (stream->members.error)
		return stream->members.error;
	memcpy(gzip_members_reserve(&stream->members, size), from, size);
	gzip_members_commit(&stream->members, size);
	return 0;
}

/* Pack @from [@size]; with ZSTD_e_end the frame ends behind it. */
static int write_zstd(struct packed_stream *stream, const char *from, size_t size,
		      ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { from, size, 0 };
	size_t left = 1;

	while (!stream->error && (in.pos < in.size || (end == ZSTD_e_end && left))) {
		ZSTD_outBuffer out = { stream->packed, PACKED_SIZE, 0 };

		left = ZSTD_compressStream2(stream->zstd, &out, &in, end);
		alloc_check(ZSTD_isError(left) != 0); /* nothing else can fail */
		errno = 0;
		if (fwrite(stream->packed, 1, out.pos, stream->to) != out.pos)
			stream->error = errno ? -errno : -EIO;
	}
	return stream->error;
}

static ssize_t stream_write(void *cookie, const char *from, size_t size)
{
	struct packed_stream *stream = cookie;
	int error = stream->packing == PACKING_GZIP
			    ? write_gzip(stream, from, size)
			    : write_zstd(stream, from, size, ZSTD_e_continue);

	if (!error)
		return (ssize_t)size;
	errno = -error;
	return 0;
}

static void zstd_init(struct packed_stream *stream, int level)
{
	stream->zstd = ZSTD_createCCtx();
	stream->packed = must_malloc(PACKED_SIZE);
	alloc_check(!stream->zstd);
	ZSTD_CCtx_setParameter(stream->zstd, ZSTD_c_compressionLevel, level ? level : ZSTD_LEVEL);
	ZSTD_CCtx_setParameter(stream->zstd, ZSTD_c_enableLongDistanceMatching, 1);
	ZSTD_CCtx_setParameter(stream->zstd, ZSTD_c_windowLog, ZSTD_WINDOW_LOG2);
	ZSTD_CCtx_setParameter(stream->zstd, ZSTD_c_checksumFlag, 1);
}

struct packed_stream *packed_stream_open(FILE *to, enum packing packing, int zstd_level,
					 FILE **ret_from)
{
	static const cookie_io_functions_t functions = { .write = stream_write };
	struct packed_stream *stream = must_calloc(1, sizeof(*stream));

	stream->packing = packing;
	stream->to = to;
	if (packing == PACKING_GZIP)
		gzip_members_init(&stream->members, to);
	else
		zstd_init(stream, zstd_level);
	stream->from = fopencookie(stream, "w", functions);
	if (!stream->from)
		alloc_fail();
	*ret_from = stream->from;
	return stream;
}

int packed_stream_close(struct packed_stream *stream)
{
	int error;

	/* what it met is the file's, and kept there */
	(void)fclose(stream->from);
	if (stream->packing == PACKING_GZIP) {
		gzip_members_flush(&stream->members);
		error = stream->members.error;
		gzip_members_fini(&stream->members);
	} else {
		error = write_zstd(stream, NULL, 0, ZSTD_e_end);
		ZSTD_freeCCtx(stream->zstd);
		free(stream->packed);
	}
	free(stream);
	return error;
}
