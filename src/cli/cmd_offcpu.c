/* SPDX-License-Identifier: Apache-2.0 */
/* fpless offcpu: where threads wait, and for how long. */
#include <argp.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/verbs.h"
#include "cli/wait_options.h"
#include "cli/window_options.h"

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

enum { KEY_WAKERS = 0x1100, KEY_TOTALS };

static const struct argp_option options_list[] = {
	{ "wakers", KEY_WAKERS, NULL, 0,
	  "Show above each stack, behind a frame --, the stack of who ended the wait", 0 },
	{ "totals", KEY_TOTALS, NULL, 0,
	  "Only how long each thread was on a CPU, waited for one, and was blocked: no stacks are taken, at the least cost",
	  0 },
	{ 0 },
};

static const struct argp_child children[] = {
	{ .argp = &wait_argp },		{ .argp = &sampling_waits_argp }, { .argp = &event_argp },
	{ .argp = &stack_filter_argp }, { .argp = &window_argp },	  { 0 }
};

static void init(struct sampling_options *options, struct argp_state *state)
{
	wait_options_hand_down(children, options, state);
	options->own_source = "waits";
	options->sources[0] = source_spec_blocked();
}

/* Take a label of waits behind --by, and refuse any other field. */
static void check_label(struct sampling_options *options, struct argp_state *state)
{
	const char *label = options->output.by_field;

	if (!label)
		return;
	if (!strcmp(label, WAKER))
		wait_options_of_pairs(options);
	else if (!strcmp(label, SYSCALL))
		options->blocks.by_call = true;
	else
		output_options_refuse_fields(&options->output, state);
}

/* Refuse what is about stacks. */
static void check_totals(struct sampling_options *options, struct argp_state *state)
{
	const struct engine_blocks *blocks = &options->blocks;
	const struct engine_blocks defaults = sampling_options_waits(blocks->states);
	const char *other = options->nr_sources > 1			    ? "--wakers"
			    : blocks->by_call				    ? "--by syscall"
			    : options->events.timeline			    ? "--timeline"
			    : options->events.stream			    ? "--stream"
			    : blocks->period_ns != defaults.period_ns	    ? "--exact"
			    : blocks->min_ns || blocks->max_ns < UINT64_MAX ? "-m or -M"
									    : NULL;

	if (other)
		refuse(state, "--totals and %s exclude each other: no stacks are taken", other);
	options->output.by |= PROFILE_BY_TID;
	options->blocks.min_ns = UINT64_MAX; /* no wait is as long */
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *options = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		init(options, state);
		return 0;
	case KEY_WAKERS:
		wait_options_of_pairs(options);
		return 0;
	case KEY_TOTALS:
		options->blocks.way = BLOCKED_WAY_TIMES;
		return 0;
	case ARGP_KEY_END:
		check_label(options, state);
		if (options->blocks.by_call && options->nr_sources > 1)
			refuse(state, "--by syscall and --wakers exclude each other");
		if (options->nr_sources > 1)
			wait_options_check_joined(options, "--wakers", state);
		if (options->blocks.way == BLOCKED_WAY_TIMES)
			check_totals(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp offcpu_argp = {
	.options = options_list,
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
