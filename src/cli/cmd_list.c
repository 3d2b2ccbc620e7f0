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
#include "profile/events.h"

static const struct {
	const char *name, *what;
	enum engine_event event;
} events[] = {
	{ "cpu-cycles", "cycles of a CPU that is not halted, by its counter",
	  ENGINE_EVENT_CPU_CYCLES },
	{ "cpu-clock", "time of a CPU, by a timer of the kernel", ENGINE_EVENT_CPU_CLOCK },
};

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
	printf("%-11s %-22s %s\n", "EVENT", "SAMPLED HERE", "WHAT");
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		printf("%-11s %-22s %s\n", events[i].name, answer_of(events_try(events[i].event)),
		       events[i].what);

	int error = output_stream_error(stdout);

	if (!error)
		return CLI_EXIT_OK;
	fprintf(stderr, "fpless: stdout: %s\n", strerror(-error));
	return CLI_EXIT_OUTPUT;
}
