/* SPDX-License-Identifier: Apache-2.0 */
#include "view/hex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

int hex_strip_intern(struct strings *strings, const char *text, uint32_t *ret)
{
	AUTO_FREE char *stripped = NULL;

	if (!strstr(text, "0x"))
		return strings_intern(strings, text, ret);
	stripped = malloc(HEX_STRIPPED_SIZE(strlen(text)));
	if (!stripped)
		return -ENOMEM;
	hex_strip(text, stripped);
	return strings_intern(strings, stripped, ret);
}
