/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file that may be gzipped, in members one behind the other, or plain. Hostile bytes: what
 * comes out is bounded by what went in, and never held as a whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <zlib.h>

#include "base/err.h"

/*
 * A bomb: more than GUNZIP_FREE_BYTES came out, and more than GUNZIP_RATIO_MAX bytes of each that
 * went in. Deflate's most is 1,032; profiles of one sample many times over reach 300. What is free
 * is what the worst of it, 2 bytes a field, is read of within half a second.
 */
#define GUNZIP_FREE_BYTES (UINT64_C(16) << 20)
#define GUNZIP_RATIO_MAX  UINT64_C(500)

#define GUNZIP_BUFFER ((size_t)64 << 10)

struct gunzip {
	const char *name;      /* borrowed: for messages */
	int fd;		       /* borrowed */
	unsigned char *buffer; /* owned [GUNZIP_BUFFER] */
	z_stream stream;
	uint64_t in, out;		   /* bytes read, and made of them */
	bool started, plain, between, end; /* between: two members */
};

/* Read from where @fd is on. */
void gunzip_init(struct gunzip *gunzip, const char *name, int fd);
void gunzip_fini(struct gunzip *gunzip);

/*
 * Up to @size bytes to @to; 0 at the end. Errors: -ENODATA the file ends within a member; -EBADMSG
 * it is corrupt, or a bomb; those of read(2). All with the offset in the file.
 */
FPL_MUST_CHECK ssize_t gunzip_read(struct gunzip *gunzip, void *to, size_t size,
				   struct fpl_err *err);
