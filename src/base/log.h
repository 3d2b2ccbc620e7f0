/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talk for the user, always on stderr: stdout is data. Subject first, then the fact, then numbers
 * with units; lower case, no full stop. The level is the one piece of global state of the program.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

enum fpl_log_level {
	FPL_LOG_ERROR, /* the run ends */
	FPL_LOG_WARN,  /* the result is worse than asked */
	FPL_LOG_INFO,  /* once per run: what was chosen (default) */
	FPL_LOG_DEBUG, /* once per object or process: -v */
	FPL_LOG_TRACE, /* -vv */
};

/* Show messages up to and including @level. */
void fpl_log_set_level(enum fpl_log_level level);
bool fpl_log_enabled(enum fpl_log_level level);

/*
 * From this call on, pass every line, newline included, to @write instead of stderr; NULL: stderr
 * again. Any thread calls it, one at a time, and it logs nothing itself.
 */
void fpl_log_set_writer(void (*write)(void *ctx, const char *line, size_t size), void *ctx);

/*
 * Print "fpless: <message>\n" to stderr in one write. Bytes that could break a terminal (control
 * bytes, invalid UTF-8) are printed as \xHH: messages contain names from files and processes of
 * other users.
 */
FPL_PRINTF(2, 3) void fpl_log(enum fpl_log_level level, const char *fmt, ...);
