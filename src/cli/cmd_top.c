/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/verbs.h"
#include "cli/wait_options.h"
#include "top/screen.h"
#include "top/top.h"

#define INTERVAL_MS_DEFAULT 2000u
#define INTERVAL_MS_MIN	    100u

/* Keys of options without a letter, none of those of its children. */
enum {
	KEY_PLAIN = 0x900,
	KEY_INTERVAL,
	KEY_COUNT,
	KEY_WINDOW,
	KEY_SINCE_START,
	KEY_VIEW,
	KEY_SORT,
	KEY_MATCH,
	KEY_ROWS,
	KEY_OFFCPU,
	KEY_WALL,
};

static const struct argp_option options_list[] = {
	FIRST_HEADING("What to show:"),
	{ "offcpu", KEY_OFFCPU, NULL, 0,
	  "Show where threads wait, by the time that their waits took, as fpless offcpu does", 0 },
	{ "wall", KEY_WALL, NULL, 0,
	  "Show where the time of threads goes, on a CPU and off, as fpless wall does: a row is of one state",
	  0 },
	{ "view", KEY_VIEW, "functions|stacks|processes", 0, "Kind of rows (default functions)",
	  0 },
	{ "sort", KEY_SORT, "self|total", 0,
	  "Order by the samples in which it ran itself (default), or those with it anywhere in the stack",
	  0 },
	{ "match", KEY_MATCH, "REGEX", 0,
	  "Only rows that match (POSIX extended): functions by their name or object, stacks by their functions, processes by their name or number",
	  0 },
	{ "interval", KEY_INTERVAL, "SECONDS", 0, "Refresh every SECONDS (default 2)", 0 },
	{ "window", KEY_WINDOW, "SECONDS", 0,
	  "Show the samples of the last SECONDS (default 10; in blocks, those of the interval)",
	  0 },
	{ "since-start", KEY_SINCE_START, NULL, 0, "Show all samples since the start", 0 },
	{ "plain", KEY_PLAIN, NULL, 0,
	  "Print blocks of text (default if stdin or stdout is not a terminal)", 0 },
	{ "count", KEY_COUNT, "N", 0, "Stop after N times", 0 },
	{ "rows", KEY_ROWS, "N", 0, "Print at most this many rows per block (default 20)", 0 },
	{ 0 },
};

struct top_verb {
	struct sampling_options sampling;
	struct top_options options;
	bool has_window, plain, offcpu, wall;
	char events[256]; /* names of what is sampled, where it is no clock alone */
	char what[128];	  /* is sampled, for the head of the screen */
	struct top *top;  /* owned, while the run goes on */
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void parse_view(const char *arg, struct top_verb *verb, struct argp_state *state)
{
	if (!strcmp(arg, "functions"))
		verb->options.query.view = TABLE_VIEW_FUNCTIONS;
	else if (!strcmp(arg, "stacks"))
		verb->options.query.view = TABLE_VIEW_STACKS;
	else if (!strcmp(arg, "processes"))
		verb->options.query.view = TABLE_VIEW_PROCESSES;
	else
		refuse(state, "--view %s: expected functions, stacks or processes", arg);
}

static void parse_sort(const char *arg, struct top_verb *verb, struct argp_state *state)
{
	if (!strcmp(arg, "self"))
		verb->options.query.sort = TABLE_SORT_SELF;
	else if (!strcmp(arg, "total"))
		verb->options.query.sort = TABLE_SORT_TOTAL;
	else
		refuse(state, "--sort %s: expected self or total", arg);
}

static void parse_filter(const char *arg, struct top_verb *verb, struct argp_state *state)
{
	char why[128];
	regex_t regex;
	int code = regcomp(&regex, arg, REG_EXTENDED | REG_NOSUB);

	if (code) {
		regerror(code, &regex, why, sizeof(why));
		refuse(state, "--match %s: %s", arg, why);
		return;
	}
	regfree(&regex);
	verb->options.filter = arg;
}

static void parse_times(int key, const char *arg, struct top_verb *verb, struct argp_state *state)
{
	uint64_t ms = 0;

	if (key == KEY_INTERVAL) {
		if (!parse_seconds(arg, &ms) || ms < INTERVAL_MS_MIN || ms > 86400000)
			refuse(state, "--interval %s: expected seconds from 0.1 to 86400", arg);
		verb->options.interval_ms = (uint32_t)ms;
	} else {
		if (!parse_seconds(arg, &ms) || ms > 86400000)
			refuse(state, "--window %s: expected seconds above 0, at most 86400", arg);
		verb->options.window_ms = ms;
		verb->has_window = true;
	}
}

/* Options about waits say nothing of others. */
static void check_no_waits(const struct engine_blocks *blocks, struct argp_state *state)
{
	const struct engine_blocks usual = sampling_options_waits(ENGINE_STATE_S | ENGINE_STATE_D);

	if (blocks->period_ns != usual.period_ns || blocks->min_ns != usual.min_ns ||
	    blocks->max_ns != usual.max_ns || blocks->states != usual.states)
		refuse(state, "-m, -M, --state, --exact: of waits, which --offcpu and --wall show");
}

/* Sample the time of threads: the frequency is that of its clock. */
static void choose_wall(struct sampling_options *sampling, struct argp_state *state)
{
	if (sampling->words.nr || !sampling->sources[0].or_clock)
		refuse(state, "-e, -c: not with --wall: it shows the time of threads");
	if (sampling->blocks.states != (ENGINE_STATE_S | ENGINE_STATE_D))
		refuse(state, "--state: not with --wall, which shows all states");
	wait_options_of_wall(sampling);
	if (!sampling->output.by)
		sampling->output.by = PROFILE_BY_STATE | PROFILE_BY_COMM;
}

/* Sample waits, and nothing else. */
static void choose_waits(struct sampling_options *sampling, struct argp_state *state)
{
	struct sampling_options unset;

	sampling_options_init(&unset);
	if (sampling->words.nr || !sampling->sources[0].or_clock || sampling->hz != unset.hz ||
	    sampling->max_hz)
		refuse(state, "-e, -F, -c: not with --offcpu: waits are what it shows");
	sampling->sources[0] = source_spec_blocked();
	sampling->nr_sources = 1;
}

static void choose_source(struct top_verb *verb, struct argp_state *state)
{
	struct sampling_options *sampling = &verb->sampling;

	if (verb->offcpu && verb->wall)
		refuse(state, "--offcpu and --wall exclude each other");
	if (verb->wall)
		choose_wall(sampling, state);
	else if (verb->offcpu)
		choose_waits(sampling, state);
	else
		check_no_waits(&sampling->blocks, state);
	verb->options.query.by_state =
		(verb->wall || verb->offcpu) && (sampling->output.by & PROFILE_BY_STATE);
}

/* Checks that need the whole command line. */
static void check_all(struct top_verb *verb, struct argp_state *state)
{
	struct output_options *output = &verb->sampling.output;

	choose_source(verb, state);
	verb->options.screen = !verb->plain && screen_is_possible();
	verb->sampling.command_off_terminal = verb->options.screen;
	verb->options.inlined = output->inlined;
	/* pointless without an output at the end */
	if (!output->nr && !output->inlined)
		output->no_inlined = true;
	if (!output->nr && !output->lines)
		output->no_lines = true;
}

static const struct argp_child children[] = { { .argp = &sampling_argp },
					      { .argp = &stack_filter_argp },
					      { .argp = &bare_wait_argp },
					      { 0 } };

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct top_verb *verb = state->input;
	uint64_t value = 0;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; children[i].argp; i++)
			state->child_inputs[i] = &verb->sampling;
		verb->sampling.output.has_shares = true;
		verb->sampling.output.own_stdout = "what top shows";
		return 0;
	case ARGP_KEY_END:
		check_all(verb, state);
		return 0;
	case KEY_PLAIN:
		verb->plain = true;
		return 0;
	case KEY_INTERVAL:
	case KEY_WINDOW:
		parse_times(key, arg, verb, state);
		return 0;
	case KEY_OFFCPU:
		verb->offcpu = true;
		return 0;
	case KEY_WALL:
		verb->wall = true;
		return 0;
	case KEY_SINCE_START:
		verb->options.since_start = true;
		return 0;
	case KEY_VIEW:
		parse_view(arg, verb, state);
		return 0;
	case KEY_SORT:
		parse_sort(arg, verb, state);
		return 0;
	case KEY_MATCH:
		parse_filter(arg, verb, state);
		return 0;
	case KEY_COUNT:
		if (!parse_number(arg, 1, UINT32_MAX, &value))
			refuse(state, "--count %s: expected a number from 1 up", arg);
		verb->options.count = (uint32_t)value;
		return 0;
	case KEY_ROWS:
		if (!parse_number(arg, 1, 1000000, &value))
			refuse(state, "--rows %s: expected a number from 1 to 1000000", arg);
		verb->options.max_rows = value;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp top_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS] [[--] COMMAND [ARG...]]",
	.doc = "Show the hottest functions, stacks or processes while they run.\vOn a terminal it is a screen: h lists its keys. Elsewhere it prints a block of text per interval. -o writes the whole run at the end, as fpless profile does. The closing report goes to stderr.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone or no samples, 4 --strict, 6 output could not be written; otherwise COMMAND's.",
};

/* Describe the sampled processes in words. */
static void say_what(struct top_verb *verb)
{
	const struct sampling_options *sampling = &verb->sampling;
	const struct target_options *target = &sampling->target;
	const char *event = verb->options.event;
	char text[64], all[sizeof(text) + sizeof(verb->events) + sizeof(" of ")];

	if (target->nr_pids == 1)
		snprintf(text, sizeof(text), "pid %d", target->pids[0]);
	else if (target->nr_tids == 1)
		snprintf(text, sizeof(text), "tid %d", target->tids[0]);
	else if (target->nr_pids || target->nr_tids)
		snprintf(text, sizeof(text), "%zu processes, %zu threads", target->nr_pids,
			 target->nr_tids);
	else if (sampling->command && !target->all)
		snprintf(text, sizeof(text), "%s", text_path_name(sampling->command[0]));
	else
		snprintf(text, sizeof(text), "all processes");
	snprintf(all, sizeof(all), "%s%s%s", event ? event : "", event ? " of " : "", text);
	text_escape(verb->what, sizeof(verb->what), all, "");
}

/* sampling_verb.listen */
static int listen(void *ctx, struct parser *parser, struct disk_cache *cache,
		  const struct engine_listener **ret, struct fpl_err *err)
{
	struct top_verb *verb = ctx;
	struct top_options *options = &verb->options;

	options->parser = parser;
	options->cache = cache;
	options->stacks = &verb->sampling.stacks;
	options->min_share = verb->sampling.output.picture.min_share;
	options->fold_recursion = verb->sampling.output.fold_recursion;
	options->user = verb->sampling.user;
	options->sources = verb->sampling.sources;
	options->nr_sources = verb->sampling.nr_sources;
	options->no_demangle = verb->sampling.output.no_demangle;
	options->query.kernel = verb->sampling.kernel;
	options->what = verb->what;
	options->event =
		sampling_options_events(&verb->sampling, verb->events, sizeof(verb->events));
	options->colour = style_is_wanted(verb->sampling.output.colour, STDOUT_FILENO);
	say_what(verb);
	if (!verb->has_window)
		options->window_ms = options->screen ? 10000 : 0;

	int code = top_create(options, &verb->top, err);

	if (!code)
		*ret = top_listener(verb->top);
	return code;
}

/* sampling_verb.heard */
static int heard(void *ctx)
{
	struct top_verb *verb = ctx;
	int code = verb->top ? top_finish(verb->top) : 0;

	top_destroy(verb->top);
	verb->top = NULL;
	return code;
}

static void cleanup_verb(struct top_verb *verb)
{
	sampling_options_fini(&verb->sampling);
}

int cmd_top(int argc, char **argv)
{
	CLEANUP(cleanup_verb)
	struct top_verb verb = {
		.options = { .fd = STDOUT_FILENO,
			     .interval_ms = INTERVAL_MS_DEFAULT,
			     .max_rows = 20 },
	};

	sampling_options_init(&verb.sampling);
	return sampling_main(
		argc, argv, &top_argp, &verb, &verb.sampling,
		&(struct sampling_verb){ .ctx = &verb, .listen = listen, .heard = heard });
}
