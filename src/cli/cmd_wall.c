/* SPDX-License-Identifier: Apache-2.0 */
/* fpless wall: where the time of threads goes, on a CPU and off. */
#include <argp.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/verbs.h"
#include "cli/wait_options.h"
#include "cli/window_options.h"

static const struct argp_child children[] = {
	{ .argp = &wall_wait_argp },	{ .argp = &sampling_clock_argp }, { .argp = &event_argp },
	{ .argp = &stack_filter_argp }, { .argp = &window_argp },	  { 0 }
};

static void init(struct sampling_options *options)
{
	options->own_source = "the time of threads";
	wait_options_of_wall(options);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *options = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		wait_options_hand_down(children, options, state);
		init(options);
		return 0;
	case ARGP_KEY_END:
		if (!options->output.by)
			options->output.by = PROFILE_BY_STATE | PROFILE_BY_COMM;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp wall_argp = {
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS] [[--] COMMAND [ARG...]]",
	.doc = "Show where the time of threads goes: on a CPU, waiting for one, and blocked, in one profile of whole stacks, user and kernel.\v"
	       "Without -f and -o the functions and stacks that took the most time are printed. The label `state` tells on-cpu, runnable and blocked apart.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone or no samples, 4 --strict, 6 output could not be written; otherwise COMMAND's.",
};

int cmd_wall(int argc, char **argv)
{
	CLEANUP(sampling_options_fini) struct sampling_options options;

	sampling_options_init(&options);
	return sampling_main(argc, argv, &wall_argp, &options, &options,
			     &(struct sampling_verb){ 0 });
}
