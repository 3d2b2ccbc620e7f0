/* SPDX-License-Identifier: Apache-2.0 */
#include "format/unzstd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd_errors.h>

#include "base/alloc.h"
#include "base/io.h"

enum { WINDOW_LOG2_MAX = 27 };

void unzstd_init(struct unzstd *unzstd, const char *name, int fd)
{
	*unzstd = (struct unzstd){ .name = name, .fd = fd };
	unzstd->buffer = must_malloc(UNZSTD_BUFFER);
	unzstd->in.src = unzstd->buffer;
	unzstd->zstd = ZSTD_createDCtx();
	alloc_check(!unzstd->zstd);
	ZSTD_DCtx_setParameter(unzstd->zstd, ZSTD_d_windowLogMax, WINDOW_LOG2_MAX);
}

void unzstd_fini(struct unzstd *unzstd)
{
	ZSTD_freeDCtx(unzstd->zstd);
	free(unzstd->buffer);
}

static int fail(const struct unzstd *unzstd, int code, const char *what, struct fpl_err *err)
{
	return fpl_fail(err, code, "%s: offset %" PRIu64 ": %s", unzstd->name,
			unzstd->in_bytes - (unzstd->in.size - unzstd->in.pos), what);
}

/* Read on where all is used. Returns 1, 0 at the end of the file, or an error. */
static int fill(struct unzstd *unzstd, struct fpl_err *err)
{
	ssize_t nr;

	if (unzstd->in.pos < unzstd->in.size)
		return 1;
	nr = io_read(unzstd->fd, unzstd->buffer, UNZSTD_BUFFER);
	if (nr < 0)
		return fail(unzstd, (int)nr, strerror((int)-nr), err);
	unzstd->in.size = (size_t)nr;
	unzstd->in.pos = 0;
	unzstd->in_bytes += (uint64_t)nr;
	return nr > 0;
}

ssize_t unzstd_read(struct unzstd *unzstd, void *to, size_t size, struct fpl_err *err)
{
	ZSTD_outBuffer out = { to, size, 0 };

	while (!out.pos && size) {
		int more = fill(unzstd, err);

		if (more < 0)
			return more;
		/* at the end of the file zstd may hold bytes that had no room before */
		size_t before = unzstd->in.pos, left;

		if (!more && !unzstd->wanted)
			return 0;
		left = ZSTD_decompressStream(unzstd->zstd, &out, &unzstd->in);
		if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation)
			alloc_fail();
		if (ZSTD_isError(left))
			return fail(unzstd, -EBADMSG, ZSTD_getErrorName(left), err);
		unzstd->wanted = left;
		if (!more && !out.pos && unzstd->in.pos == before && left)
			return fail(unzstd, -ENODATA, "the file ends within its zstd data", err);
	}
	return (ssize_t)out.pos;
}
