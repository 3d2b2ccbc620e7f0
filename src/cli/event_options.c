/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/event_options.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"
#include "profile/timeline.h"

/* Keys of options without a letter, none of those of sampling_options.c and target_options.c. */
enum { KEY_TIMELINE = 0x300, KEY_TIMELINE_MEMORY, KEY_STREAM };

static const struct argp_option options_list[] = {
	{ "timeline", KEY_TIMELINE, NULL, 0,
	  "Keep the time of each sample, for formats that show it", 2 },
	{ "timeline-memory", KEY_TIMELINE_MEMORY, "BYTES", 0,
	  "Room for these times, 32 bytes a sample (default 128M)", 2 },
	{ "stream", KEY_STREAM, "blocks|table|json", OPTION_ARG_OPTIONAL,
	  "Print every sample on arrival, on stdout: as blocks (default), table or json", 2 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void parse_stream(const char *arg, struct event_options *options, struct argp_state *state)
{
	static const char *const words[] = {
#define X(name, word) [STREAM_FORMAT_##name] = (word),
		STREAM_FORMAT_LIST(X)
#undef X
	};

	options->stream = true;
	options->stream_format = STREAM_FORMAT_BLOCKS;
	for (size_t i = 0; arg && i < ARRAY_SIZE(words); i++) {
		if (strcmp(arg, words[i]) != 0)
			continue;
		options->stream_format = (enum stream_format)i;
		return;
	}
	if (arg)
		refuse(state, "--stream=%s: expected blocks, table or json", arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *sampling = state->input;
	struct event_options *options = &sampling->events;

	switch (key) {
	case KEY_TIMELINE:
		options->timeline = true;
		return 0;
	case KEY_TIMELINE_MEMORY:
		if (!parse_size(arg, 1 << 16, 1ull << 40, &options->timeline_memory))
			refuse(state, "--timeline-memory %s: expected bytes from 64K to 1024G",
			       arg);
		options->timeline = true;
		return 0;
	case KEY_STREAM:
		parse_stream(arg, options, state);
		sampling->output.own_stdout = "--stream";
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp event_argp = { .options = options_list, .parser = parse_option };

void event_options_to_engine(const struct event_options *options, struct engine_options *ret)
{
	if (options->timeline)
		ret->timeline_memory = options->timeline_memory ? options->timeline_memory
								: TIMELINE_MEMORY_DEFAULT;
}
