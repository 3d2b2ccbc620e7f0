/* SPDX-License-Identifier: Apache-2.0 */
/* The options and the output of bcc's offcputime tool, for scripts that were written for it. */
#include "cli/bcc_offcpu.h"
#include "cli/cli.h"
#include "cli/verbs.h"

const struct argp bcc_offcputime_argp = {
	.options = bcc_offcpu_options,
	.parser = bcc_offcpu_parse,
	.args_doc = "[SECONDS]",
	.doc = "Show where threads wait, and for how long, with the options and the output of bcc's offcputime.",
};

int cmd_bcc_offcputime(int argc, char **argv)
{
	struct bcc_run run;

	bcc_offcpu_init(&run, BCC_OFFCPUTIME);
	return bcc_run_main(argc, argv, &bcc_offcputime_argp, &run);
}
