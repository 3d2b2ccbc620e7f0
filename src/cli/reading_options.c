/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading_options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/parse.h"
#include "format/read.h"

/* Keys of options without a letter, none of those of output_options.c. */
enum {
	KEY_COMM = 0x400,
	KEY_PID,
	KEY_TIME,
	KEY_FOCUS,
	KEY_IGNORE,
	KEY_MEMORY,
	KEY_SYMFS,
	KEY_DEBUGINFOD,
	KEY_SAMPLE_TYPE,
	KEY_EVENT
};

static const struct argp_option options_list[] = {
	{ .doc = "Which samples:", .group = 1 },
	{ "comm", KEY_COMM, "REGEX", 0, "Only tasks whose name matches (POSIX extended)", 1 },
	{ "pid", KEY_PID, "PID[,PID...]", 0, "Only these processes", 1 },
	{ "time", KEY_TIME, "FROM,TO", 0,
	  "Only this time, in seconds since the start of each recording; either may be missing. Needs recordings with times",
	  1 },
	{ "event", KEY_EVENT, "EVENT", 0,
	  "Of recordings of several events only this one's samples, with their weight", 1 },
	{ "focus", KEY_FOCUS, "REGEX", 0, "Only stacks with a function that matches", 1 },
	{ "ignore", KEY_IGNORE, "REGEX", 0, "No stacks with a function that matches", 1 },
	{ .doc = "Names:", .group = 3 },
	{ "symfs", KEY_SYMFS, "DIR", 0,
	  "Name frames again, from the files below DIR with the objects' build-ids: DIR/PATH, DIR/.build-id, DIR/NAME. / is this machine",
	  3 },
	{ "debuginfod", KEY_DEBUGINFOD, NULL, 0,
	  "The same, with DIR / unless --symfs is given, and ask the servers of $DEBUGINFOD_URLS for debug files",
	  3 },
	{ .doc = "How to read:", .group = 4 },
	{ "memory", KEY_MEMORY, "BYTES", 0,
	  "Limit of all memory allocated, for inputs and outputs (default 1G, at least 16M; suffixes K, M, G)",
	  4 },
	{ "sample-type", KEY_SAMPLE_TYPE, "NAME", 0,
	  "Value of a pprof to show: alloc_space, cpu, ... (default: the one it prefers); samples: counts in place of weights",
	  4 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

/* "1.5,3", "1.5," or ",3" */
static void parse_time(char *arg, struct filter_options *filter, struct argp_state *state)
{
	char *comma = strchr(arg, ',');
	uint64_t from_ms = 0, to_ms = UINT64_MAX / 1000000;
	bool right = comma && (comma > arg || comma[1]);

	if (right) {
		*comma = '\0';
		/* parse_seconds takes nothing that is not above 0 */
		right = (!*arg || !strcmp(arg, "0") || parse_seconds(arg, &from_ms)) &&
			(!comma[1] || parse_seconds(comma + 1, &to_ms)) && from_ms < to_ms;
		*comma = ',';
	}
	if (!right)
		refuse(state, "--time %s: expected two times in seconds, FROM,TO; FROM before TO",
		       arg);
	filter->has_time = true;
	filter->from_ns = from_ms * 1000000;
	filter->to_ns = to_ms * 1000000;
}

static void parse_pid_list(const char *arg, struct reading_options *options,
			   struct argp_state *state)
{
	if (options->pids)
		refuse(state, "--pid: given twice: separate them by commas");
	if (!parse_pids(arg, &options->pids, &options->filter.nr_pids))
		refuse(state, "--pid %s: expected process ids separated by commas", arg);
	options->filter.pids = options->pids;
}

void reading_options_check_files(char **files, size_t nr, struct argp_state *state)
{
	size_t nr_stdin = 0;

	if (!nr)
		refuse(state, "no FILE to read");
	for (size_t i = 0; i < nr; i++)
		nr_stdin += !strcmp(files[i], "-");
	if (nr_stdin > 1)
		refuse(state, "stdin can be read once");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct reading_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->cache;
		return 0;
	case ARGP_KEY_END:
		if (options->debuginfod && !options->symfs)
			options->symfs = "/";
		return 0;
	case KEY_COMM:
		options->filter.comm = arg;
		return 0;
	case KEY_PID:
		parse_pid_list(arg, options, state);
		return 0;
	case KEY_TIME:
		parse_time(arg, &options->filter, state);
		return 0;
	case KEY_EVENT:
		options->filter.event = arg;
		return 0;
	case KEY_FOCUS:
		options->filter.focus = arg;
		return 0;
	case KEY_IGNORE:
		options->filter.ignore = arg;
		return 0;
	case KEY_MEMORY:
		if (!parse_size(arg, 1 << 20, 1ull << 40, &options->memory))
			refuse(state, "--memory %s: expected bytes from 1M to 1024G", arg);
		return 0;
	case KEY_SYMFS:
		options->symfs = arg;
		return 0;
	case KEY_DEBUGINFOD:
		options->debuginfod = true;
		return 0;
	case KEY_SAMPLE_TYPE:
		options->sample_type = options->filter.sample_type = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &cache_argp }, { 0 } };

const struct argp reading_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
};

void reading_options_init(struct reading_options *options)
{
	*options = (struct reading_options){ .memory = READ_MEMORY_BYTES };
}

void reading_options_fini(struct reading_options *options)
{
	free(options->pids);
}
