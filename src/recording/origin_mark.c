/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/origin_mark.h"

#include <string.h>

#include "bpf/shared.h"

const char *origin_mark(uint8_t origin)
{
	static const char *const marks[FPL_ORIGIN_COUNT] = {
#define X(name, key, suffix) [FPL_ORIGIN_##name] = (suffix),
		FPL_ORIGIN_LIST(X)
#undef X
	};

	return origin < FPL_ORIGIN_COUNT ? marks[origin] : "";
}

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
