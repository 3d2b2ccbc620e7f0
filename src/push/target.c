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

enum verdict target_judge_status(const struct http_answer *answer)
{
	switch (answer->status) {
	case 400:
	case 413:
	case 422:
		return http_answer_has(answer, "resource_exhausted") ? VERDICT_LATER
								     : VERDICT_REFUSED;
	default:
		return VERDICT_LATER;
	}
}
