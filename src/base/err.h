/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: a function that can fail returns 0 or a negative errno and, where the caller passed a
 * non-NULL @err, says in words what is wrong and where. The caller owns the storage: reporting an
 * error neither allocates nor leaks, so a file with a million bad FDEs costs no memory.
 */
#pragma once

#include <stdbool.h>

struct fpl_err {
	int code;      /* negative errno; 0 when nothing failed */
	char msg[380]; /* "<file or pid>: <section>+<offset>: <what is wrong>", NUL-terminated */
};

#define FPL_MUST_CHECK	      __attribute__((__warn_unused_result__))
#define FPL_PRINTF(fmt, args) __attribute__((__format__(__printf__, fmt, args)))

/* Record a message in @err (may be NULL) and return @code, for `return fpl_fail(err, -EINVAL,
 * ...)`. */
FPL_PRINTF(3, 4)
__attribute__((__cold__)) int fpl_fail(struct fpl_err *err, int code, const char *fmt, ...);

/* Put "<formatted>: " before the message already in @err; returns @code. */
FPL_PRINTF(3, 4)
__attribute__((__cold__)) int fpl_fail_in(struct fpl_err *err, int code, const char *fmt, ...);
