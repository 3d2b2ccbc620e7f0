/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/window_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/output_series.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/output_options.h"

enum { KEY_WINDOW = 0xf00 };

static const struct argp_option options_list[] = {
	{ "window", KEY_WINDOW, "LENGTH[/EVERY]", 0,
	  "Cut the run into windows of LENGTH (10, 500ms), each a finished profile in files of its own: -o 'x-%t.pb.gz', where %t is when it began; with EVERY one begins each so long, and nothing is sampled between them",
	  2 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void parse_window(const char *arg, struct window_options *options, struct argp_state *state)
{
	AUTO_FREE char *length = must_strdup(arg);
	char *slash = strchr(length, '/');

	if (slash)
		*slash = '\0';
	if (!parse_seconds(length, &options->length_ms) || options->length_ms < WINDOW_LEAST_MS)
		refuse(state, "--window %s: expected seconds, from 50ms on, and /EVERY behind them",
		       arg);
	options->every_ms = options->length_ms;
	if (slash && (!parse_seconds(slash + 1, &options->every_ms) ||
		      options->every_ms < options->length_ms))
		refuse(state, "--window %s: expected /EVERY to be as long as a window at least",
		       arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	if (key != KEY_WINDOW)
		return ARGP_ERR_UNKNOWN;
	parse_window(arg, state->input, state);
	return 0;
}

const struct argp window_argp = { .options = options_list, .parser = parse_option };

/* Each window is a file of its own. */
static void check_path(const char *option, const char *path, struct argp_state *state)
{
	if (!output_series_is_pattern(path))
		refuse(state,
		       "%s %s: with --window its name needs %%t, which is when a window began",
		       option, path);
}

void window_options_check(const struct window_options *options, const struct output_options *output,
			  struct argp_state *state)
{
	if (!options->length_ms)
		return;
	if (output->folded_stdout || output->open || output->own_stdout)
		refuse(state, "--window: not with -f, --open and --stream");
	if (!output->nr && !output->stats_path && !options->keeper)
		refuse(state, "--window: needs -o: -o 'x-%%t.pb.gz'");
	for (size_t i = 0; i < output->nr; i++)
		check_path("-o", output->list[i].path, state);
	if (output->stats_path)
		check_path("--stats", output->stats_path, state);
}
