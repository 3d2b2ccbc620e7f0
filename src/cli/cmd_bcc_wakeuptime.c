/* SPDX-License-Identifier: Apache-2.0 */
/* The options and the output of bcc's wakeuptime tool, for scripts that were written for it. */
#include <argp.h>

#include "base/alloc.h"
#include "cli/bcc_run.h"
#include "cli/cli.h"
#include "cli/verbs.h"
#include "cli/wait_options.h"

static const struct argp_option options_list[] = {
	{ "pid", 'p', "PID[,PID...]", 0, "Only waits of the threads of these processes", 1 },
	{ "useronly", 'u', NULL, 0, "Only waits of user threads, not of kernel threads", 1 },
	{ "folded", 'f', NULL, 0, "One line per stack, for flame graphs", 1 },
	{ "verbose", 'v', NULL, 0, "Without effect, as in bcc: only -f leaves addresses out", 1 },
	BCC_WAIT_OPTIONS,
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct bcc_run *run = state->input;

	switch (key) {
	case 'u':
		run->sampling.blocks.user_wakees = true;
		return 0;
	case 'v':
		return 0;
	case ARGP_KEY_END:
		if (run->sampling.blocks.user_wakees && run->sampling.target.pids)
			argp_failure(state, CLI_EXIT_USAGE, 0, "-p and -u exclude each other");
		return bcc_parse(key, arg, run, state);
	default:
		return bcc_parse(key, arg, run, state);
	}
}

const struct argp bcc_wakeuptime_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "[SECONDS]",
	.doc = "Show who wakes threads up, and how long those had waited, with the options and the output of bcc's wakeuptime.",
};

int cmd_bcc_wakeuptime(int argc, char **argv)
{
	struct bcc_run run = { .output = {
				       .tool = BCC_WAKEUPTIME, .kernel_only = true, .cpu = -1 } };

	sampling_options_init(&run.sampling);
	wait_options_of_wakers(&run.sampling);
	run.sampling.blocks = bcc_waits();
	run.sampling.output.by_field = must_strdup(WAKEE);
	run.sampling.output.by = PROFILE_BY_COMM | PROFILE_BY_KEY;
	return bcc_run_main(argc, argv, &bcc_wakeuptime_argp, &run);
}
