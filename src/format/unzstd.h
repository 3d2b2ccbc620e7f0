/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file of zstd frames. Hostile bytes: nothing is held but a window of at most 128 MiB. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <zstd.h>

#include "base/err.h"

#define UNZSTD_BUFFER ((size_t)128 << 10)

struct unzstd {
	const char *name; /* borrowed: for messages */
	int fd;		  /* borrowed */
	ZSTD_DCtx *zstd;  /* owned */
	char *buffer;	  /* owned [UNZSTD_BUFFER] */
	ZSTD_inBuffer in;
	uint64_t in_bytes; /* read */
	size_t wanted;	   /* what zstd wants next; 0: a frame is whole */
};

/* Read from where @fd is on. */
void unzstd_init(struct unzstd *unzstd, const char *name, int fd);
void unzstd_fini(struct unzstd *unzstd);

/*
 * Up to @size bytes to @to; 0 at the end. Errors: -ENODATA the file ends within a frame; -EBADMSG
 * it is corrupt, or wants a larger window; those of read(2).
 */
FPL_MUST_CHECK ssize_t unzstd_read(struct unzstd *unzstd, void *to, size_t size,
				   struct fpl_err *err);
