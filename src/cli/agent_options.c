/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent_options.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/agent_metrics.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/query_options.h"
#include "cli/store_input.h"
#include "cli/time_point.h"
#include "cli/verbs.h"

enum { KEY_STORE = 0xf40, KEY_KEEP, KEY_MAX_SIZE, KEY_RESERVE, KEY_LABEL, KEY_METRICS, KEY_TOP };

#define SIZE_LEAST (1ull << 20)
#define SIZE_MOST  (1ull << 40)

static const struct argp_option options_list[] = {
	FIRST_HEADING("Where to keep the windows:"),
	{ "store", KEY_STORE, "DIR", 0,
	  "Folder of the store, made where it is missing (default: " STORE_USUAL_PATH
	  " as root, of other users $XDG_STATE_HOME/fpless)",
	  0 },
	{ "keep", KEY_KEEP, "TIME", 0, "Windows go when they are older (default 7d): 12h, 30d", 0 },
	{ "max-size", KEY_MAX_SIZE, "SIZE", 0,
	  "The oldest windows go when the store has seven eighths of it (default 1G)", 0 },
	{ "reserve", KEY_RESERVE, "SIZE", 0,
	  "Where the disk has less room than that (default 64M) the store grows no more: its oldest windows make room",
	  0 },
	{ "label", KEY_LABEL, "NAME=VALUE", 0,
	  "A label of the machine, kept with its windows (may be repeated)", 0 },
	{ "metrics", KEY_METRICS, "FILE", 0,
	  "Replace FILE by metrics for Prometheus after each window, for node_exporter's textfile collector: x.prom",
	  0 },
	{ "top", KEY_TOP, "N", 0,
	  "With --metrics: also the shares of the N hottest functions, at most 10 (default 0)", 0 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

void agent_options_init(struct agent_options *options)
{
	*options = (struct agent_options){
		.limits = { .bytes = 1ull << 30,
			    .reserve = 64 << 20,
			    .keep_ns = 7 * 86400 * NS_PER_S,
			    /* after a day five minutes are one window, after three days an hour */
			    .roll_after_ns = { 86400 * NS_PER_S, 3 * 86400 * NS_PER_S } },
	};
}

void agent_options_fini(struct agent_options *options)
{
	free(options->store);
	free(options->labels);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct agent_options *options = state->input;

	switch (key) {
	case ARGP_KEY_END:
		if (options->top && !options->metrics)
			refuse(state, "--top: of --metrics");
		if (!options->store)
			options->store = store_usual_path();
		return 0;
	case KEY_STORE:
		free(options->store);
		options->store = must_strdup(arg);
		return 0;
	case KEY_KEEP:
		if (!time_length_parse(arg, &options->limits.keep_ns))
			refuse(state, "--keep %s: expected a time: 12h, 7d", arg);
		return 0;
	case KEY_MAX_SIZE:
		if (!parse_size(arg, SIZE_LEAST, SIZE_MOST, &options->limits.bytes))
			refuse(state, "--max-size %s: expected a size from 1M to 1024G", arg);
		return 0;
	case KEY_RESERVE:
		if (!parse_size(arg, 0, SIZE_MOST, &options->limits.reserve))
			refuse(state, "--reserve %s: expected a size up to 1024G", arg);
		return 0;
	case KEY_METRICS:
		options->metrics = arg;
		return 0;
	case KEY_TOP:
		if (!parse_number(arg, 0, AGENT_TOP_MAX, &options->top))
			refuse(state, "--top %s: expected a number from 0 to %u", arg,
			       AGENT_TOP_MAX);
		return 0;
	case KEY_LABEL:
		if (!query_label_add(arg, &options->labels))
			refuse(state, "--label %s: expected NAME=VALUE without commas", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp agent_store_argp = { .options = options_list, .parser = parse_option };
