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

#include "base/vector.h"

/* Bytes of content from which on a member is closed. Measured: four times this makes a recording
 * 1 % smaller. */
#define GZIP_MEMBERS_CONTENT ((size_t)512 << 10)

struct gzip_members {
	FILE *to;		       /* borrowed */
	z_stream stream;	       /* owned */
	VECTOR(unsigned char) pending; /* of the member at hand */
	VECTOR(unsigned char) packed;
	long long
		end; /* of the last whole member, from the start of the file; -1: @to is no file */
	uint64_t nr; /* whole members written */
	/* -errno of a write, after which nothing is written any more: @to is as it was behind the
	 * last whole member, and good again. 0: none. */
	int error;
};

void gzip_members_init(struct gzip_members *members, FILE *to);
void gzip_members_fini(struct gzip_members *members);

/*
 * Room for @size bytes that stay together in one member, for the caller to fill; valid until the
 * next call.
 */
unsigned char *gzip_members_reserve(struct gzip_members *members, size_t size);

/* The bytes of the last reservation are there. Writes the member where it is long enough. */
void gzip_members_commit(struct gzip_members *members, size_t size);

/* Write what is pending. */
void gzip_members_flush(struct gzip_members *members);
