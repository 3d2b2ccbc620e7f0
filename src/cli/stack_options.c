/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stack_options.h"

#include "cli/cli.h"
#include "cli/sampling_options.h"
#include "recording/filter.h"

/* Keys of options without a letter, none of those of the other tables. */
enum { KEY_FOCUS = 0xa00, KEY_IGNORE };

static const struct argp_option options_list[] = {
	{ "focus", KEY_FOCUS, "REGEX", 0,
	  "Show only stacks with a function that matches (POSIX extended)", 2 },
	{ "ignore", KEY_IGNORE, "REGEX", 0, "Show no stacks with a function that matches", 2 },
	{ 0 },
};

/* The expressions are tried before the run, not after it. */
static void check(const struct filter_options *options, struct argp_state *state)
{
	struct filter *filter = NULL;
	struct fpl_err err;

	if (filter_create(options, &filter, &err))
		argp_failure(state, CLI_EXIT_USAGE, 0, "%s", err.msg);
	filter_destroy(filter);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *sampling = state->input;

	switch (key) {
	case KEY_FOCUS:
		sampling->stacks.focus = arg;
		break;
	case KEY_IGNORE:
		sampling->stacks.ignore = arg;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	check(&sampling->stacks, state);
	return 0;
}

const struct argp stack_filter_argp = { .options = options_list, .parser = parse_option };
