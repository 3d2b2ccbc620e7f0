/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An untrusted file, line by line: the input of the readers of text. It says where it is, so that
 * an error names its line; a line is at most LINE_INPUT_MAX bytes long.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define LINE_INPUT_MAX (16u << 20)

struct line_input {
	const char *name;	 /* borrowed: of the file, for messages */
	int fd;			 /* borrowed */
	char *buf;		 /* owned [room] */
	size_t room, begin, end; /* [begin, end) is read and not yet taken */
	bool at_end;		 /* of the file */
	bool is_open;		 /* the line taken last ends with the file, without a newline */
	uint64_t line;		 /* number of the line taken last; from 1 */
	uint64_t line_off;	 /* of its first byte in the file */
	uint64_t next_off;	 /* of the next line */
};

/* Read @fd from its position on; a pipe will do. Nothing is read yet. */
void line_input_init(struct line_input *ret, const char *name, int fd);
void line_input_fini(struct line_input *input);

/*
 * The first bytes, as many as there are up to @wanted, without taking them. Before the first line.
 * Errors: those of read(2).
 */
FPL_MUST_CHECK int line_input_peek(struct line_input *input, size_t wanted, const char **ret,
				   size_t *ret_size, struct fpl_err *err);

/*
 * Take the next line: *ret, without its end ("\n" or "\r\n"), NUL-terminated, may be changed and is
 * valid until the next call. Returns 1, or 0 at the end of the file.
 *
 * Errors: those of read(2); -EBADMSG it is too long, or holds a NUL byte.
 */
FPL_MUST_CHECK int line_input_next(struct line_input *input, char **ret, size_t *ret_length,
				   struct fpl_err *err);

/* Say what is wrong with the line taken last; returns -EBADMSG. */
FPL_PRINTF(3, 4)
__attribute__((__cold__)) int line_input_fail(const struct line_input *input, struct fpl_err *err,
					      const char *fmt, ...);
