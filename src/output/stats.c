/* SPDX-License-Identifier: Apache-2.0 */
#include "output/stats.h"

#include "output/tally.h"

void stats_write(FILE *to, const struct profile *profile, uint64_t shown,
		 const struct culprits *culprits)
{
	struct json json = { .to = to };

	json_open(&json, NULL, '{');
	tally_write_json(&json, profile, shown);
	if (culprits)
		culprits_write_json(&json, culprits);
	json_close(&json, '}');
	putc('\n', to);
}
