/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bcc_run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/parse.h"
#include "naming/names.h"

uint64_t bcc_number(const char *name, const char *arg, uint64_t min, struct argp_state *state)
{
	uint64_t value = 0;

	if (!parse_number(arg, min, INT_MAX, &value))
		argp_failure(state, CLI_EXIT_USAGE, 0, "%s %s: expected a number from %u up", name,
			     arg, (unsigned)min);
	return value;
}

int bcc_end(const struct names *names, uint64_t *ret_lost)
{
	const uint64_t *lost = names->profile->books.lost;
	int code = fflush(stdout) ? -errno : ferror(stdout) ? -EIO : 0;

	*ret_lost = 0;
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		*ret_lost += lost[i];
	if (code)
		fprintf(stderr, "fpless: stdout: %s\n", strerror(-code));
	return code ? CLI_EXIT_OUTPUT : CLI_EXIT_OK;
}
