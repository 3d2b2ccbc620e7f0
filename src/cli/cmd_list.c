/* SPDX-License-Identifier: Apache-2.0 */
/* fpless list: the events that can be sampled, and which of them this machine has. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/output_file.h"
#include "cli/cli.h"
#include "cli/verbs.h"
#include "profile/source.h"

static const struct argp_option options_list[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		argp_failure(state, CLI_EXIT_USAGE, 0, "'%s': unexpected: all events are listed",
			     arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp list_argp = {
	.options = options_list,
	.parser = parse_option,
	.doc = "List the events that -e takes, and whether they can be sampled here, with the rights of this process.\v"
	       "Exit status: 0 ok, 1 usage, 6 output could not be written.",
};

static const char *answer_of(int code)
{
	switch (code) {
	case 0:
		return "yes";
	case -EACCES:
	case -EPERM:
		return "not with these rights";
	default:
		return "not on this machine";
	}
}

int cmd_list(int argc, char **argv)
{
	if (argp_parse(&list_argp, argc, argv, 0, NULL, NULL))
		return CLI_EXIT_USAGE;
	printf("%-23s %-22s %s\n", "EVENT", "SAMPLED HERE", "WHAT");
	for (size_t i = 0; i < source_words_nr; i++) {
		const struct source_word *word = &source_words[i];
		const struct source_spec spec = source_spec_of(word);

		printf("%-23s %-22s %s%s%s\n", word->name, answer_of(source_try(&spec)), word->what,
		       word->alias ? "; or " : "", word->alias ? word->alias : "");
	}

	int error = output_stream_error(stdout);

	if (!error)
		return CLI_EXIT_OK;
	fprintf(stderr, "fpless: stdout: %s\n", strerror(-error));
	return CLI_EXIT_OUTPUT;
}
