/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/query_options.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/diff_options.h"
#include "cli/parse.h"
#include "cli/time_point.h"
#include "cli/verbs.h"

#define HOUR_NS (3600 * NS_PER_S)

/* Keys of options without a letter, none of those of output_options.c. */
enum {
	KEY_STORE = 0x200,
	KEY_FROM,
	KEY_TO,
	KEY_BEFORE,
	KEY_COMM,
	KEY_CGROUP,
	KEY_LIMIT,
	KEY_JSON,
	KEY_LABEL,
};

static const struct argp_option options_list[] = {
	FIRST_HEADING("Which store, which time, which tasks:"),
	{ "store", KEY_STORE, "DIR", 0,
	  "Folder of the store (default: " STORE_USUAL_PATH
	  " as root, of other users $XDG_STATE_HOME/fpless)",
	  0 },
	{ "from", KEY_FROM, "TIME", 0,
	  "Windows that began at TIME or later (default -1h): -90s, -5m, -1h, -7d, 03:12, 2026-11-29, 2026-11-29T03:12, with Z in UTC, or @SECONDS",
	  0 },
	{ "to", KEY_TO, "TIME", 0, "Windows that began before TIME (default now)", 0 },
	{ "before", KEY_BEFORE, "FROM..TO", 0,
	  "With diff: the time to compare with (default: as long as --from to --to, just before it)",
	  0 },
	{ "comm", KEY_COMM, "REGEX", 0, "Only tasks with a matching name", 0 },
	{ "cgroup", KEY_CGROUP, "REGEX", 0,
	  "Only tasks in a cgroup with a matching path: of a unit or container", 0 },
	{ "limit", KEY_LIMIT, "N", 0, "Lines to list (default: list all, top 20, find 10)", 0 },
	{ "json", KEY_JSON, NULL, 0, "JSON on stdout, of list, top, find and diff", 0 },
	{ "label", KEY_LABEL, "NAME=VALUE", 0,
	  "With import: a label of the machine or run, kept with its windows (may be repeated)",
	  0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

static const struct {
	const char *word;
	enum query_what what;
	bool writes;	    /* it has outputs: -o */
	size_t least, most; /* words behind it */
} asked[] = {
	{ "list", QUERY_LIST, false, 0, 0 },
	{ "top", QUERY_TOP, false, 0, 0 },
	{ "find", QUERY_FIND, false, 1, 1 },
	{ "diff", QUERY_DIFF, true, 0, 0 },
	{ "export", QUERY_EXPORT, true, 0, 0 },
	{ "flame", QUERY_FLAME, true, 0, 0 },
	{ "import", QUERY_IMPORT, false, 1, SIZE_MAX },
	{ "check", QUERY_CHECK, false, 0, 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

char *store_usual_path(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (!geteuid() || (!state && !home))
		return must_strdup(STORE_USUAL_PATH);
	return state && *state ? must_asprintf("%s/fpless", state)
			       : must_asprintf("%s/.local/state/fpless", home ? home : "");
}

bool query_label_add(const char *arg, char **labels)
{
	const char *equals = strchr(arg, '=');
	char *before = *labels;

	if (!equals || equals == arg || strpbrk(arg, ",\n"))
		return false;
	*labels = before ? must_asprintf("%s,%s", before, arg) : must_strdup(arg);
	free(before);
	return true;
}

static void parse_time(const char *option, const char *arg, const struct query_options *options,
		       uint64_t *ret, struct argp_state *state)
{
	if (!time_point_parse(arg, options->now_ns, ret))
		refuse(state,
		       "%s %s: expected a time: now, -90s, -5m, -1h, -7d, 03:12, 2026-11-29T03:12 or @SECONDS",
		       option, arg);
}

static void parse_before(const char *arg, struct query_options *options, struct argp_state *state)
{
	if (!time_range_parse(arg, options->now_ns, &options->before.from_ns,
			      &options->before.to_ns))
		refuse(state, "--before %s: expected FROM..TO, two times: -25h..-24h", arg);
}

/* The word that says what is asked. */
static void check_words(struct query_options *options, struct argp_state *state)
{
	size_t i = 0;

	if (!options->nr_words)
		refuse(state,
		       "expected list, top, find, diff, export, flame, import or check: fpless query list");
	while (i < ARRAY_SIZE(asked) && strcmp(asked[i].word, options->words[0]) != 0)
		i++;
	if (i == ARRAY_SIZE(asked)) {
		refuse(state,
		       "'%s': expected list, top, find, diff, export, flame, import or check",
		       options->words[0]);
		return;
	}
	options->what = asked[i].what;
	options->words++;
	options->nr_words--;
	if (options->nr_words < asked[i].least)
		refuse(state, "%s: expected %s", asked[i].word,
		       options->what == QUERY_FIND ? "a time or a function" : "FILE...");
	if (options->nr_words > asked[i].most)
		refuse(state, "%s: '%s': unexpected", asked[i].word, options->words[asked[i].most]);
	if (!asked[i].writes &&
	    (options->output.nr || options->output.open || options->output.folded_stdout ||
	     options->output.nr_given || options->output.stats_path))
		refuse(state, "%s: writes to stdout alone: -o and --format are of export",
		       asked[i].word);
	if (options->json && options->what >= QUERY_EXPORT)
		refuse(state, "--json: of list, top, find and diff");
	if (options->before.to_ns && options->what != QUERY_DIFF)
		refuse(state, "--before: of diff");
	if (options->labels && options->what != QUERY_IMPORT)
		refuse(state, "--label: of import");
}

/* The time just before, as long. */
static void choose_before(struct query_options *options)
{
	uint64_t length = options->range.to_ns - options->range.from_ns;

	if (options->before.to_ns)
		return;
	options->before.to_ns = options->range.from_ns;
	options->before.from_ns =
		length < options->range.from_ns ? options->range.from_ns - length : 0;
}

static void check_all(struct query_options *options, struct argp_state *state)
{
	check_words(options, state);
	if (!options->has_from)
		options->range.from_ns =
			options->range.to_ns < HOUR_NS ? 0 : options->range.to_ns - HOUR_NS;
	if (options->range.from_ns >= options->range.to_ns)
		refuse(state, "--from and --to: the second is not behind the first");
	if (options->what == QUERY_DIFF)
		choose_before(options);
	if (options->what == QUERY_DIFF && options->json)
		output_options_add_format(&options->output, "json", state);
	if (options->what == QUERY_FLAME)
		options->output.usual_path = "fpless.html";
	options->before.comm = options->range.comm;
	options->before.cgroup = options->range.cgroup;
	output_options_check(&options->output, state);
	if (!options->store)
		options->store = store_usual_path();
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct query_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->output;
		return 0;
	case ARGP_KEY_ARGS:
		options->words = state->argv + state->next;
		options->nr_words = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		check_all(options, state);
		return 0;
	case KEY_STORE:
		free(options->store);
		options->store = must_strdup(arg);
		return 0;
	case KEY_FROM:
		options->has_from = true;
		parse_time("--from", arg, options, &options->range.from_ns, state);
		return 0;
	case KEY_TO:
		parse_time("--to", arg, options, &options->range.to_ns, state);
		return 0;
	case KEY_BEFORE:
		parse_before(arg, options, state);
		return 0;
	case KEY_COMM:
		options->range.comm = arg;
		return 0;
	case KEY_CGROUP:
		options->range.cgroup = arg;
		return 0;
	case KEY_LIMIT:
		if (!parse_number(arg, 1, 1000000, &options->limit))
			refuse(state, "--limit %s: expected a number from 1 to 1000000", arg);
		return 0;
	case KEY_JSON:
		options->json = true;
		return 0;
	case KEY_LABEL:
		if (!query_label_add(arg, &options->labels))
			refuse(state, "--label %s: expected NAME=VALUE without commas", arg);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &output_argp }, { 0 } };

const struct argp query_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc = "list|top|find|diff|export|flame|import|check [WORD...]",
	.doc = "Ask the store of fpless agent what was hot, when, and what has changed. list: the windows. top: the hottest functions. find TIME: the window of a time. find FUNCTION: when it was hot. diff: the changes from one time to another, and whether they exceed noise. export: any format. flame: a page or picture. import FILE...: recordings become windows. check: is the store as it was written?\v"
	       "A window belongs to a time if it began in it. The store may be written meanwhile.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 the store could not be read, 3 no samples, 6 an output could not be written.",
};

int query_options_parse(int argc, char **argv, struct query_options *ret)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);

	*ret = (struct query_options){ .now_ns = now_ns, .range = { .to_ns = now_ns } };
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "diff"))
			ret->output.formats = &diff_formats;
	return argp_parse(&query_argp, argc, argv, 0, NULL, ret) ? -EINVAL : 0;
}

void query_options_fini(struct query_options *options)
{
	free(options->store);
	free(options->labels);
	output_options_fini(&options->output);
}
