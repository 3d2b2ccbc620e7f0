/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int fpl_fail(struct fpl_err *err, int code, const char *fmt, ...)
{
	if (err) {
		va_list args;

		va_start(args, fmt);
		vsnprintf(err->msg, sizeof(err->msg), fmt, args);
		va_end(args);
		err->code = code;
	}
	return code;
}

int fpl_fail_in(struct fpl_err *err, int code, const char *fmt, ...)
{
	if (err) {
		char inner[sizeof(err->msg)];
		va_list args;

		memcpy(inner, err->msg, sizeof(inner));
		va_start(args, fmt);
		int n = vsnprintf(err->msg, sizeof(err->msg), fmt, args);
		va_end(args);
		if (n >= 0 && (size_t)n < sizeof(err->msg)) {
			size_t left = sizeof(err->msg) - (size_t)n;
			/* A cut message is still a message: the head names the file. */
			if (snprintf(err->msg + n, left, ": %s", inner) < 0)
				err->msg[n] = '\0';
		}
		err->code = code;
	}
	return code;
}
