/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/call_names.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "naming/call_tables.h"

void call_names_find(uint64_t call, char *ret, size_t size)
{
	bool is_compat = call >> 32; /* but for the largest one, which is no call */
	uint32_t number = (uint32_t)call;
	const char *const *names = is_compat ? call_names_32 : call_names_64;
	size_t nr = is_compat ? ARRAY_SIZE(call_names_32) : ARRAY_SIZE(call_names_64);
	const char *mark = is_compat ? " (32-bit)" : "";

	if (call == UINT64_MAX)
		snprintf(ret, size, "[no call]");
	else if (number < nr && names[number])
		snprintf(ret, size, "%s%s", names[number], mark);
	else
		snprintf(ret, size, "call %u%s", number, mark);
}
