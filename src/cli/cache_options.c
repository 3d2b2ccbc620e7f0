/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cache_options.h"

#include "cli/cli.h"
#include "cli/parse.h"

/* Keys of options without a letter, none of those of the other tables. */
enum { KEY_CACHE = 0x700, KEY_CACHE_SIZE, KEY_NO_CACHE };

/* Older names, from when only tables were cached. */
static const struct argp_option options_list[] = {
	{ "cache", KEY_CACHE, "DIR", 0,
	  "Keep tables and names there from run to run (default: /var/cache/fpless for root, else $XDG_CACHE_HOME/fpless or ~/.cache/fpless)",
	  3 },
	{ "table-cache", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 3 },
	{ "cache-size", KEY_CACHE_SIZE, "BYTES", 0, "Limit of the cache's size (default 256M)", 3 },
	{ "table-cache-size", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 3 },
	{ "no-cache", KEY_NO_CACHE, NULL, 0, "Neither read nor write the cache", 3 },
	{ "no-table-cache", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 3 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct cache_options *options = state->input;

	switch (key) {
	case KEY_CACHE:
		options->path = arg;
		return 0;
	case KEY_CACHE_SIZE:
		if (!parse_size(arg, 64 << 10, 1ull << 40, &options->max_bytes))
			refuse(state, "--cache-size %s: expected bytes from 64K to 1024G", arg);
		return 0;
	case KEY_NO_CACHE:
		options->off = true;
		return 0;
	case ARGP_KEY_END:
		if (options->off && options->path)
			refuse(state, "--cache and --no-cache exclude each other");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cache_argp = { .options = options_list, .parser = parse_option };

int cache_options_create(const struct cache_options *options, bool read_only,
			 struct disk_cache **ret, struct fpl_err *err)
{
	uint64_t max_bytes = options->max_bytes ? options->max_bytes : DISK_CACHE_BYTES_DEFAULT;

	*ret = NULL;
	return options->off ? 0
			    : disk_cache_create(options->path, read_only ? 0 : max_bytes, ret, err);
}
