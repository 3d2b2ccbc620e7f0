/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a pprof Profile, one after the other, of a file of hostile bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/gunzip.h"

/* The most bytes of a field. A sample this long has 100,000 frames and more; unpacked it is 40
 * times as long. */
#define PPROF_FIELD_SIZE_MAX ((size_t)1 << 20)

struct pprof_field {
	unsigned number;
	bool is_bytes;	      /* else a number */
	uint64_t value;	      /* of a number */
	const uint8_t *bytes; /* of bytes [size]; until the next call */
	size_t size;
};

struct pprof_input {
	struct gunzip gunzip;
	unsigned char *buffer; /* owned [room] */
	size_t at, filled, room;
	int error; /* met while reading ahead; what is in the buffer is good */
	struct fpl_err why;
	uint64_t offset; /* of buffer[0] in what was unpacked */
};

void pprof_input_init(struct pprof_input *input, const char *name, int fd);
void pprof_input_fini(struct pprof_input *input);

/*
 * The next field; longer ones than PPROF_FIELD_SIZE_MAX that are no part of a Profile are skipped.
 * *ret_end: the file has no more. Errors: as gunzip_read(), and -EBADMSG, -ENODATA of what was
 * unpacked.
 */
FPL_MUST_CHECK int pprof_input_next(struct pprof_input *input, struct pprof_field *ret,
				    bool *ret_end, struct fpl_err *err);

/* Say of the field last returned, which begins there, what is wrong with it: -EBADMSG. */
int pprof_input_fail(const struct pprof_input *input, const char *what, struct fpl_err *err);
