/* SPDX-License-Identifier: Apache-2.0 */
/* fpless offcpu: where threads wait, and for how long. */
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
	{ .argp = &wait_argp },		{ .argp = &sampling_waits_argp }, { .argp = &event_argp },
	{ .argp = &stack_filter_argp }, { .argp = &window_argp },	  { 0 }
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *options = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	for (size_t i = 0; children[i].argp; i++)
		state->child_inputs[i] = children[i].argp == &window_argp ? (void *)&options->window
									  : (void *)options;
	options->own_source = "waits";
	options->sources[0] = source_spec_blocked();
	return 0;
}

const struct argp offcpu_argp = {
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS] [[--] COMMAND [ARG...]]",
	.doc = "Show where threads wait, and for how long: whole stacks, user and kernel, weighed by the time that each wait took.\v"
	       "Threads that sleep throughout the run are there, too. Without -f and -o the functions and stacks that waited longest are printed.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone or no samples, 4 --strict, 6 output could not be written; otherwise COMMAND's.",
};

int cmd_offcpu(int argc, char **argv)
{
	CLEANUP(sampling_options_fini) struct sampling_options options;

	sampling_options_init(&options);
	return sampling_main(argc, argv, &offcpu_argp, &options, &options,
			     &(struct sampling_verb){ 0 });
}
