/* SPDX-License-Identifier: Apache-2.0 */
#include "push/target.h"

#include <string.h>

#include "base/cleanup.h"

static const struct target *const targets[] = { &target_pyroscope, &target_otlp, &target_parca };

const struct target *target_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		if (!strcmp(targets[i]->name, name))
			return targets[i];
	return NULL;
}
