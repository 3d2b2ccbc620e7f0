/* SPDX-License-Identifier: Apache-2.0 */
/* fpless wakeup: who ends the waits of threads. */
#include <argp.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/verbs.h"
#include "cli/wait_options.h"
#include "cli/window_options.h"

enum { KEY_CHAIN = 0x1100 };

static const struct argp_option options_list[] = {
	{ "chain", KEY_CHAIN, "N", 0,
	  "Show above each waker, behind a frame --, who ended its own last wait, and so on: N wakers in all, 2 to 4",
	  0 },
	{ 0 },
};

static const struct argp_child children[] = {
	{ .argp = &wait_argp },		{ .argp = &sampling_waits_argp }, { .argp = &event_argp },
	{ .argp = &stack_filter_argp }, { .argp = &window_argp },	  { 0 }
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void parse_chain(const char *arg, struct sampling_options *options, struct argp_state *state)
{
	uint64_t nr = 0;

	if (!parse_number(arg, 2, FPL_LINKS_MAX, &nr))
		refuse(state, "--chain %s: expected a number from 2 to %u", arg, FPL_LINKS_MAX);
	options->blocks.chain = (uint32_t)nr;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		wait_options_hand_down(children, options, state);
		options->own_source = "wakeups";
		wait_options_of_wakers(options);
		return 0;
	case KEY_CHAIN:
		parse_chain(arg, options, state);
		return 0;
	case ARGP_KEY_END:
		if (options->blocks.chain)
			wait_options_check_joined(options, "--chain", state);
		if (options->blocks.states & ENGINE_STATE_R)
			refuse(state, "--state R: not of wakeups: no thread ends a wait for a CPU");
		wait_options_label(&options->output, WAKEE, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp wakeup_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS] [[--] COMMAND [ARG...]]",
	.doc = "Show who ends the waits of threads: the stack of each waker, weighed by the time that the threads it wakes up have waited.\v"
	       "A wait that an interrupt ends is [irq]'s or [softirq]'s, never that of the thread that was interrupted. Without -f and -o the functions and stacks that ended the longest waits are printed.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone or no samples, 4 --strict, 6 output could not be written; otherwise COMMAND's.",
};

int cmd_wakeup(int argc, char **argv)
{
	CLEANUP(sampling_options_fini) struct sampling_options options;

	sampling_options_init(&options);
	return sampling_main(argc, argv, &wakeup_argp, &options, &options,
			     &(struct sampling_verb){ 0 });
}
