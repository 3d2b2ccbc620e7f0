/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/origin_mark.h"

#include <string.h>

#include "recording/keys.h"

void origin_mark_cut(char *name, uint8_t *ret_origin)
{
	size_t length = strlen(name);

	for (uint8_t i = 0; i < FPL_ORIGIN_COUNT; i++) {
		size_t size = strlen(origin_mark(i));

		if (!size || size >= length || strcmp(name + length - size, origin_mark(i)) != 0)
			continue;
		name[length - size] = '\0';
		*ret_origin = i;
		return;
	}
}
