/* SPDX-License-Identifier: Apache-2.0 */
#include "base/style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum style_mode style_mode_of(const char *word)
{
	static const char *const words[STYLE_MODE_COUNT] = {
#define X(name, word) [STYLE_##name] = (word),
		STYLE_MODE_LIST(X)
#undef X
	};
	unsigned mode = 0;

	while (mode < STYLE_MODE_COUNT && strcmp(words[mode], word) != 0)
		mode++;
	return (enum style_mode)mode;
}

bool style_is_wanted(enum style_mode mode, int fd)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	if (mode != STYLE_AUTO)
		return mode == STYLE_ALWAYS;
	return !(none && *none) && term && *term && strcmp(term, "dumb") != 0 && isatty(fd);
}

const char *style_text(bool wanted, enum style style)
{
	/* ECMA-48, SGR: the same on every terminal that is not dumb */
	static const char *const texts[] = {
		[STYLE_END] = "\033[0m",   [STYLE_BOLD] = "\033[1m",   [STYLE_DIM] = "\033[2m",
		[STYLE_RED] = "\033[31m",  [STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m",
		[STYLE_CYAN] = "\033[36m",
	};

	return wanted ? texts[style] : "";
}
