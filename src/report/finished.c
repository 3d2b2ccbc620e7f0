/* SPDX-License-Identifier: Apache-2.0 */
#include "report/finished.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "compare/verdict.h"
#include "report/tally.h"

void finished_make(struct names *names, struct recording *ret)
{
	const struct profile *profile = names->profile;
	AUTO_FREE uint8_t *classes = profile->fp_max ? verdict_classes(profile) : NULL;

	alloc_check(recorded_make(names, classes, ret, NULL, NULL));
	tally_add_numbers(ret, profile);
}
