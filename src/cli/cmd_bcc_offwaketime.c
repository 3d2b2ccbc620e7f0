/* SPDX-License-Identifier: Apache-2.0 */
/* The options and the output of bcc's offwaketime tool, for scripts that were written for it. */
#include "cli/bcc_offcpu.h"
#include "cli/cli.h"
#include "cli/verbs.h"
#include "cli/wait_options.h"

const struct argp bcc_offwaketime_argp = {
	.options = bcc_offcpu_options,
	.parser = bcc_offcpu_parse,
	.args_doc = "[SECONDS]",
	.doc = "Show where threads wait and who wakes them up, and for how long, with the options and the output of bcc's offwaketime.",
};

int cmd_bcc_offwaketime(int argc, char **argv)
{
	struct bcc_run run;

	bcc_offcpu_init(&run, BCC_OFFWAKETIME);
	wait_options_of_pairs(&run.sampling);
	return bcc_run_main(argc, argv, &bcc_offwaketime_argp, &run);
}
