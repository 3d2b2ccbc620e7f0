/* SPDX-License-Identifier: Apache-2.0 */
#include "view/hex.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

void hex_strip(const char *from, char *to)
{
	while (*from) {
		size_t digits;

		if (strncmp(from, "0x", 2) != 0) {
			*to++ = *from++;
			continue;
		}
		digits = strspn(from + 2, "0123456789abcdefABCDEF");
		memcpy(to, "0x...", 5);
		to += digits ? 5 : 2;
		from += 2 + digits;
	}
	*to = '\0';
}

uint32_t hex_strip_intern(struct strings *strings, const char *text)
{
	AUTO_FREE char *stripped = NULL;

	if (!strstr(text, "0x"))
		return must_strings_intern(strings, text);
	stripped = must_malloc(HEX_STRIPPED_SIZE(strlen(text)));
	hex_strip(text, stripped);
	return must_strings_intern(strings, stripped);
}
