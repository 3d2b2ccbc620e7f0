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

/* Keys of options without a letter, none of those of output_options.c. */
enum {
	KEY_COMM = 0x200,
	KEY_CGROUP,
	KEY_LIMIT,
	KEY_JSON,
	KEY_LABEL,
};

static const struct argp_option options_list[] = {
	FIRST_HEADING("Which tasks, and what to list:"),
	{ "comm", KEY_COMM, "REGEX", 0, "Only tasks with a matching name", 0 },
	{ "cgroup", KEY_CGROUP, "REGEX", 0,
	  "Only tasks in a cgroup with a matching path: of a unit or container (also --unit)", 0 },
	{ "unit", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "limit", KEY_LIMIT, "N", 0,
	  "Lines to list (default: list all, top 20, find, analyze and function 10); windows of profiles",
	  0 },
	{ "json", KEY_JSON, NULL, 0,
	  "JSON on stdout, of list, top, find, analyze, function, advice and diff", 0 },
	{ "label", KEY_LABEL, "NAME=VALUE", 0,
	  "With import: a label of the machine or run, kept with its windows; with profiles otlp: an attribute of the resource (may be repeated)",
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
	{ "analyze", QUERY_ANALYZE, false, 0, 1 },
	{ "function", QUERY_FUNCTION, false, 1, 1 },
	{ "advice", QUERY_ADVICE, false, 0, 0 },
	{ "metrics", QUERY_METRICS, false, 0, 0 },
	{ "profiles", QUERY_PROFILES, false, 0, 1 },
	{ "diff", QUERY_DIFF, true, 0, 0 },
	{ "export", QUERY_EXPORT, true, 0, 0 },
	{ "flame", QUERY_FLAME, true, 0, 0 },
	{ "import", QUERY_IMPORT, false, 1, SIZE_MAX },
	{ "check", QUERY_CHECK, false, 0, 0 },
	{ "resymbolize", QUERY_RESYMBOLIZE, false, 0, 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

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

static bool is_otlp(const struct query_options *options)
{
	return options->what == QUERY_PROFILES && options->nr_words &&
	       !strcmp(options->words[0], "otlp");
}

/* The word that says what is asked. */
static void check_words(struct query_options *options, struct argp_state *state)
{
	size_t i = 0;

	if (!options->nr_words)
		refuse(state,
		       "expected list, top, find, analyze, function, advice, diff, export, flame, import, check, resymbolize, metrics or profiles: fpless query list");
	while (i < ARRAY_SIZE(asked) && strcmp(asked[i].word, options->words[0]) != 0)
		i++;
	if (i == ARRAY_SIZE(asked)) {
		refuse(state,
		       "'%s': expected list, top, find, analyze, function, advice, diff, export, flame, import, check, resymbolize, metrics or profiles",
		       options->words[0]);
		return;
	}
	options->what = asked[i].what;
	options->words++;
	options->nr_words--;
	if (options->nr_words < asked[i].least)
		refuse(state, "%s: expected %s", asked[i].word,
		       options->what == QUERY_FIND	 ? "a time or a function"
		       : options->what == QUERY_FUNCTION ? "a function"
							 : "FILE...");
	if (options->nr_words > asked[i].most)
		refuse(state, "%s: '%s': unexpected", asked[i].word, options->words[asked[i].most]);
	if (!asked[i].writes &&
	    (options->output.nr || options->output.open || options->output.folded_stdout ||
	     options->output.nr_given || options->output.stats_path))
		refuse(state, "%s: writes to stdout alone: -o and --format are of export",
		       asked[i].word);
	if (options->json && (options->what >= QUERY_EXPORT || options->what == QUERY_PROFILES ||
			      options->what == QUERY_METRICS))
		refuse(state, "--json: of list, top, find, analyze, function, advice and diff");
	if (options->input.before.to_ns && options->what != QUERY_DIFF)
		refuse(state, "--before: of diff");
	if (options->labels && options->what != QUERY_IMPORT && !is_otlp(options))
		refuse(state, "--label: of import and profiles otlp");
	if (options->what == QUERY_PROFILES && options->nr_words && !is_otlp(options) &&
	    strcmp(options->words[0], "pprof") != 0)
		refuse(state, "profiles %s: expected pprof or otlp", options->words[0]);
}

static void check_all(struct query_options *options, struct argp_state *state)
{
	check_words(options, state);
	if (options->what == QUERY_DIFF && options->json)
		output_options_add_format(&options->output, "json", state);
	if (options->what == QUERY_FLAME)
		options->output.usual_path = "fpless.html";
	if (options->what == QUERY_RESYMBOLIZE && !options->input.has_from)
		options->input.range.from_ns = 0;
	output_options_check(&options->output, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct query_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->input;
		state->child_inputs[1] = &options->output;
		return 0;
	case ARGP_KEY_ARGS:
		options->words = state->argv + state->next;
		options->nr_words = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		check_all(options, state);
		return 0;
	case KEY_COMM:
		options->input.range.comm = arg;
		return 0;
	case KEY_CGROUP:
		options->input.range.cgroup = arg;
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

static const struct argp_child children[] = { { .argp = &store_inputs_argp },
					      { .argp = &output_argp },
					      { 0 } };

const struct argp query_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc =
		"list|top|find|analyze|function|advice|diff|export|flame|import|check|resymbolize|metrics|profiles [WORD...]",
	.doc = "Ask the store of fpless agent what was hot, when, and what has changed. list: the windows. top: the hottest functions. find TIME: the window of a time. find FUNCTION: when it was hot. analyze [TIME]: the window of a time, its stacks and hottest functions. function NAME: when it was hot, its callers and callees. advice: samples lost, stacks cut short, names missing, and what helps. diff: the changes from one time to another, and whether they exceed noise. export: any format. flame: a page or picture. import FILE...: recordings become windows. check: is the store as it was written? resymbolize: functions without a name get theirs, by debug files that have come since. metrics: numbers of the store for Prometheus. profiles [otlp]: each window as pprofs or OTLP, one for each unit and source, as fpless push sends them.\v"
	       "A window belongs to a time if it began in it. The store may be written meanwhile.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 the store could not be read, 3 no samples, 6 an output could not be written.",
};

int query_options_parse(int argc, char **argv, struct query_options *ret)
{
	*ret = (struct query_options){ 0 };
	store_input_init(&ret->input, true);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "diff"))
			ret->output.formats = &diff_formats;
	return argp_parse(&query_argp, argc, argv, 0, NULL, ret) ? -EINVAL : 0;
}

void query_options_fini(struct query_options *options)
{
	store_input_fini(&options->input);
	free(options->labels);
	output_options_fini(&options->output);
}
