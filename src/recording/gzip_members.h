/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes bytes as gzip members, each a whole one: RFC 1952 lets them stand one behind the other,
 * and a file that ends behind any of them is whole. Where a write fails (a full disk) the file is
 * cut back to the last whole member.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <zlib.h>

#include "base/err.h"

/* Bytes of content from which on a member is closed. Measured: four times this makes a recording
 * 1 % smaller. */
#define GZIP_MEMBERS_CONTENT ((size_t)512 << 10)

struct gzip_members {
	FILE *to;		/* borrowed */
	z_stream stream;	/* owned */
	unsigned char *pending; /* owned [room]: of the member at hand */
	size_t used, room;
	unsigned char *packed; /* owned [packed_room] */
	size_t packed_room;
	long long
		end; /* of the last whole member, from the start of the file; -1: @to is no file */
	uint64_t nr; /* whole members written */
};

/* Errors: -ENOMEM; gzip_members_fini is safe then. */
FPL_MUST_CHECK int gzip_members_init(struct gzip_members *members, FILE *to, struct fpl_err *err);
void gzip_members_fini(struct gzip_members *members);

/*
 * Room for @size bytes that stay together in one member, for the caller to fill; valid until the
 * next call. NULL: out of memory.
 */
unsigned char *gzip_members_reserve(struct gzip_members *members, size_t size);

/*
 * The bytes of the last reservation are there. Writes the member where it is long enough. Errors:
 * -errno of the write, with @to as it was behind the last whole member and good again; -ENOMEM.
 */
FPL_MUST_CHECK int gzip_members_commit(struct gzip_members *members, size_t size,
				       struct fpl_err *err);

/* Write what is pending. Errors: as gzip_members_commit(). */
FPL_MUST_CHECK int gzip_members_flush(struct gzip_members *members, struct fpl_err *err);
