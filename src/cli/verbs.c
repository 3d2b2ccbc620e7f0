/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verbs.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"

const struct cli_verb cli_verbs[] = {
#define X(verb, what) { #verb, what, cmd_##verb, &verb##_argp, false },
	CLI_VERB_LIST(X)
#undef X
		{ "bcc-profile", "sample with the options and the output of bcc's profile",
		  cmd_bcc_profile, &bcc_profile_argp, true },
	{ "bcc-offcputime", "show waits with the options and the output of bcc's offcputime",
	  cmd_bcc_offcputime, &bcc_offcputime_argp, false },
	{ "bcc-offwaketime",
	  "show waits and wakers with the options and the output of bcc's offwaketime",
	  cmd_bcc_offwaketime, &bcc_offwaketime_argp, false },
	{ "bcc-wakeuptime", "show wakeups with the options and the output of bcc's wakeuptime",
	  cmd_bcc_wakeuptime, &bcc_wakeuptime_argp, false },
	{ "bcc-stackcount", "count stacks with the options and the output of bcc's stackcount",
	  cmd_bcc_stackcount, &bcc_stackcount_argp, true },
};
const size_t cli_verbs_nr = ARRAY_SIZE(cli_verbs);

const struct cli_verb *cli_verb_find(const char *name)
{
	for (size_t i = 0; i < cli_verbs_nr; i++)
		if (!strcmp(cli_verbs[i].name, name))
			return &cli_verbs[i];
	return NULL;
}
