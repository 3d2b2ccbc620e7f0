/* SPDX-License-Identifier: Apache-2.0 */
#include "view/terminal_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/style.h"
#include "base/width.h"

#define HOT  20.0
#define WARM 5.0

/* Bytes of the share @line begins with, spaces included; 0: none. */
static size_t share_bytes(const char *line, double *ret)
{
	char *end;

	if (*line != ' ')
		return 0;
	*ret = strtod(line, &end);
	return end > line && *end == '%' ? (size_t)(end - line) + 1 : 0;
}

static void put_line(FILE *to, const struct terminal_text *terminal, const char *line)
{
	const char *end = style_text(terminal->colour, STYLE_END);
	double share = 0;
	size_t bytes = share_bytes(line, &share);

	if (bytes && share >= WARM)
		fprintf(to, "%s%.*s%s%s",
			style_text(terminal->colour, share >= HOT ? STYLE_RED : STYLE_YELLOW),
			(int)bytes, line, end, line + bytes);
	else if (*line && *line != ' ')
		fprintf(to, "%s%s%s", style_text(terminal->colour, STYLE_BOLD), line, end);
	else
		fputs(line, to);
}

void terminal_text_write(FILE *to, const struct terminal_text *terminal, const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		AUTO_FREE char *line = strndup(text, length);
		AUTO_FREE char *cut = malloc(length + 1);

		/* without memory as it is */
		if (line && cut && terminal->columns)
			width_fit(cut, length + 1, line, terminal->columns);
		if (line)
			put_line(to, terminal, cut && terminal->columns ? cut : line);
		else
			fwrite(text, 1, length, to);
		text += length;
		if (*text)
			putc(*text++, to);
	}
}
