/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/bpf_log.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

/* Lines shown of a long text such as the verifier's: the reason stands at its end. */
#define FIRST_LINES 2u
#define LAST_LINES  12u

static size_t count_lines(const char *text)
{
	size_t nr = 0;

	for (const char *end = text; *end; nr++) {
		end += strcspn(end, "\n");
		end += *end == '\n';
	}
	return nr;
}

static void log_lines(enum fpl_log_level level, char *text)
{
	size_t nr = count_lines(text), i = 0;
	char *rest = text, *line;

	for (; (line = strsep(&rest, "\n")) && (rest || *line); i++) {
		if (i == FIRST_LINES && nr > FIRST_LINES + LAST_LINES)
			fpl_log(level, "libbpf: (%zu lines)", nr - FIRST_LINES - LAST_LINES);
		if (i < FIRST_LINES || i + LAST_LINES >= nr)
			fpl_log(level, "%s", line);
	}
}

__attribute__((__format__(__printf__, 2, 0))) static int
log_libbpf(enum libbpf_print_level libbpf_level, const char *format, va_list args)
{
	enum fpl_log_level level = libbpf_level == LIBBPF_DEBUG ? FPL_LOG_TRACE : FPL_LOG_DEBUG;
	AUTO_FREE char *text = NULL;

	if (!fpl_log_enabled(level))
		return 0;

	int length = vasprintf(&text, format, args);

	if (length < 0) {
		text = NULL; /* undefined by then */
		return 0;
	}
	log_lines(level, text);
	return length;
}

void bpf_log_init(void)
{
	libbpf_set_print(log_libbpf);
}
