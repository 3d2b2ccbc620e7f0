/* SPDX-License-Identifier: Apache-2.0 */
/* fpless locks: which locks make threads wait, who waits there, and who held them. */
#include <argp.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/verbs.h"
#include "cli/wait_options.h"
#include "cli/window_options.h"

static const struct argp_child children[] = { { .argp = &lock_wait_argp },
					      { .argp = &sampling_waits_argp },
					      { .argp = &stack_filter_argp },
					      { .argp = &window_argp },
					      { 0 } };

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void init(struct sampling_options *options)
{
	options->own_source = "waits at locks";
	wait_options_of_pairs(options);
}

static void check(struct sampling_options *options, struct argp_state *state)
{
	if (options->kernel && !options->user)
		refuse(state,
		       "-K: not of locks: all waits at them have the same stack in the kernel");
	options->blocks.at_locks = true;
	options->user = true;
	options->kernel = false;
	wait_options_label(&options->output, LOCK, state);
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
		check(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp locks_argp = {
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS] [[--] COMMAND [ARG...]]",
	.doc = "Show which locks make threads wait, and for how long: by the name of each lock, who waits there, and whose unlocking ended the wait.\v"
	       "What is summed by lock is exact, each wait at a futex is in it. Without -f and -o a table of locks is printed, and the stacks that waited longest: those of who ended the wait stand above, behind --.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone or no samples, 4 --strict, 6 output could not be written; otherwise COMMAND's.",
};

int cmd_locks(int argc, char **argv)
{
	CLEANUP(sampling_options_fini) struct sampling_options options;

	sampling_options_init(&options);
	return sampling_main(argc, argv, &locks_argp, &options, &options,
			     &(struct sampling_verb){ 0 });
}
