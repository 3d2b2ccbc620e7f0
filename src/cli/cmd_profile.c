/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/page_code.h"
#include "cli/rss_options.h"
#include "cli/verbs.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/window_options.h"

static const struct argp_child children[] = { { .argp = &sampling_argp },
					      { .argp = &event_argp },
					      { .argp = &stack_filter_argp },
					      { .argp = &page_code_argp },
					      { .argp = &window_argp },
					      { .argp = &rss_argp },
					      { 0 } };

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *options = state->input;

	(void)arg;
	if (key == ARGP_KEY_END) /* after that of sampling_argp: all options are known */
		rss_options_check(options, state);
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->child_inputs[1] = state->child_inputs[2] = options;
	state->child_inputs[3] = &options->code;
	state->child_inputs[4] = &options->window;
	state->child_inputs[5] = options;
	return 0;
}

const struct argp profile_argp = {
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS] [[--] COMMAND [ARG...]]",
	.doc = "Sample on-CPU stacks, user and kernel, of programs built with or without frame pointers.\v"
	       "Without -f and -o the hottest functions and stacks are printed. The closing report goes to stderr. While data goes to stdout, COMMAND's stdout is connected to "
	       "stderr.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone or no samples, 4 --strict, 6 output could not be written; otherwise COMMAND's.",
};

int cmd_profile(int argc, char **argv)
{
	CLEANUP(sampling_options_fini) struct sampling_options options;

	sampling_options_init(&options);
	return sampling_main(argc, argv, &profile_argp, &options, &options,
			     &(struct sampling_verb){ 0 });
}
