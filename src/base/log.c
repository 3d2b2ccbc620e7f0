/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

static enum fpl_log_level max_level = FPL_LOG_INFO;

void fpl_log_set_level(enum fpl_log_level level)
{
	max_level = level;
}

bool fpl_log_enabled(enum fpl_log_level level)
{
	return level <= max_level;
}

void fpl_log(enum fpl_log_level level, const char *fmt, ...)
{
	char raw[1024];
	char safe[2048];
	va_list args;

	if (!fpl_log_enabled(level))
		return;
	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	text_escape(safe, sizeof(safe), raw, "");
	fprintf(stderr, "fpless: %s\n", safe);
}
