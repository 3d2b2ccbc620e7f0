/* SPDX-License-Identifier: Apache-2.0 */
#include "report/finished.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "compare/verdict.h"
#include "report/tally.h"

int finished_make(struct names *names, struct recording *ret, struct fpl_err *err)
{
	const struct profile *profile = names->profile;
	AUTO_FREE uint8_t *classes = NULL;
	int code = profile->fp_max ? verdict_classes(profile, &classes) : 0;

	if (!code)
		code = recorded_make(names, classes, ret, NULL, err);
	return code ? code : tally_add_numbers(ret, profile);
}
