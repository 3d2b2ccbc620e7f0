/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/hex.h"

#include <string.h>

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
