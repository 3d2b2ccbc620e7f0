/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "base/text.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static enum fpl_log_level max_level = FPL_LOG_INFO;
static pthread_mutex_t writer_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*writer)(void *ctx, const char *line, size_t size);
static void *writer_ctx;

void fpl_log_set_level(enum fpl_log_level level)
{
	max_level = level;
}

void fpl_log_set_writer(void (*write)(void *ctx, const char *line, size_t size), void *ctx)
{
	pthread_mutex_lock(&writer_lock);
	writer = write;
	writer_ctx = ctx;
	pthread_mutex_unlock(&writer_lock);
}

bool fpl_log_enabled(enum fpl_log_level level)
{
	return level <= max_level;
}

void fpl_log(enum fpl_log_level level, const char *fmt, ...)
{
	char raw[1024];
	char safe[2048];
	char line[2064];
	va_list args;

	if (!fpl_log_enabled(level))
		return;
	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	text_escape(safe, sizeof(safe), raw, "");

	int size = snprintf(line, sizeof(line), "fpless: %s\n", safe);

	pthread_mutex_lock(&writer_lock);
	if (writer)
		writer(writer_ctx, line, (size_t)size);
	else
		fputs(line, stderr);
	pthread_mutex_unlock(&writer_lock);
}
