/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/wait_options.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"
#include "cli/verbs.h"
#include "cli/window_options.h"

enum { KEY_STATE = 0x500, KEY_EXACT, KEY_WAY };

/* All that a thread can be in but on a CPU. */
#define WALL_STATES (ENGINE_STATE_S | ENGINE_STATE_D | ENGINE_STATE_STOPPED | ENGINE_STATE_R)

#define HEADING FIRST_HEADING("Which waits:"),
#define LENGTHS                                                                                   \
	{ "min-block-time", 'm', "US", 0, "Only waits of this many microseconds or more", 0 },    \
	{                                                                                         \
		"max-block-time", 'M', "US", 0, "Only waits of this many microseconds or less", 0 \
	}
#define EXACT                                                                                                                             \
	{                                                                                                                                 \
		"exact", KEY_EXACT, NULL, 0,                                                                                              \
			"Take a stack of every wait (default: of each of 10 ms or more; of shorter ones a stack for each 10 ms of them)", \
			0                                                                                                                 \
	}
/* For tests: a way that another kernel would take. */
#define WAY                                                                              \
	{                                                                                \
		"stacks-at", KEY_WAY, "tracepoint|kprobe|switch", OPTION_HIDDEN, NULL, 0 \
	}
#define ALL                                                                                                                                                                                        \
	LENGTHS,                                                                                                                                                                                   \
		{ "state",                                                                                                                                                                         \
		  KEY_STATE,                                                                                                                                                                       \
		  "S|D|T|R|all",                                                                                                                                                                   \
		  0,                                                                                                                                                                               \
		  "Only waits in these states, separated by commas: S, that a signal ends; D, that none does, as for a disk; T, stopped; all: these three; R, runnable: for a CPU (default: S,D)", \
		  0 },                                                                                                                                                                             \
		EXACT, WAY

static const struct argp_option options_list[] = { HEADING ALL, { 0 } };
static const struct argp_option bare_list[] = { ALL, { 0 } };
static const struct argp_option length_list[] = { HEADING LENGTHS, EXACT, WAY, { 0 } };

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void parse_us(char key, const char *arg, uint64_t *ret_ns, struct argp_state *state)
{
	uint64_t us = 0;

	if (!parse_number(arg, 0, 86400000000, &us))
		refuse(state, "-%c %s: expected microseconds, at most a day", key, arg);
	*ret_ns = us * 1000;
}

/* Add the states of the word @word [@len]. Returns whether it is one. */
static bool add_states(const char *word, size_t len, uint32_t *states)
{
	static const struct {
		const char *word;
		uint32_t states;
	} words[] = {
		{ "S", ENGINE_STATE_S },
		{ "D", ENGINE_STATE_D },
		{ "T", ENGINE_STATE_STOPPED },
		{ "R", ENGINE_STATE_R },
		{ "all", ENGINE_STATE_S | ENGINE_STATE_D | ENGINE_STATE_STOPPED },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) != len || strncmp(word, words[i].word, len) != 0)
			continue;
		*states |= words[i].states;
		return true;
	}
	return false;
}

static void parse_states(const char *arg, struct engine_blocks *blocks, struct argp_state *state)
{
	const char *word = arg;

	blocks->states = 0;
	for (;;) {
		size_t len = strcspn(word, ",");

		if (!add_states(word, len, &blocks->states))
			refuse(state, "--state %s: expected S, D, T, R or all, separated by commas",
			       arg);
		if (!word[len])
			return;
		word += len + 1;
	}
}

static void parse_way(const char *arg, struct engine_blocks *blocks, struct argp_state *state)
{
	static const char *const words[] = {
		[BLOCKED_WAY_TRACEPOINT] = "tracepoint",
		[BLOCKED_WAY_KPROBE] = "kprobe",
		[BLOCKED_WAY_SWITCH_OUT] = "switch",
	};

	for (size_t i = BLOCKED_WAY_TRACEPOINT; i < ARRAY_SIZE(words); i++) {
		if (strcmp(arg, words[i]) != 0)
			continue;
		blocks->way = (enum blocked_way)i;
		return;
	}
	refuse(state, "--stacks-at %s: expected tracepoint, kprobe or switch", arg);
}

void wait_options_hand_down(const struct argp_child *children, struct sampling_options *options,
			    struct argp_state *state)
{
	for (size_t i = 0; children[i].argp; i++)
		state->child_inputs[i] = children[i].argp == &window_argp ? (void *)&options->window
									  : (void *)options;
}

void wait_options_of_wakers(struct sampling_options *options)
{
	options->sources[0] = source_spec_waker();
	options->idle = true; /* a CPU's idle thread wakes up others, too */
}

void wait_options_of_wall(struct sampling_options *options)
{
	options->sources[0] = source_spec_cpu_clock();
	options->sources[1] = source_spec_blocked();
	options->nr_sources = 2;
	options->blocks.states = WALL_STATES;
}

void wait_options_of_pairs(struct sampling_options *options)
{
	options->sources[0] = source_spec_blocked();
	options->sources[1] = source_spec_waker();
	options->nr_sources = 2;
	options->idle = true; /* an interrupt of an idle CPU may end a wait */
}

void wait_options_check_joined(const struct sampling_options *options, const char *name,
			       struct argp_state *state)
{
	const char *other = options->events.timeline ? "--timeline"
			    : options->events.stream ? "--stream"
						     : NULL;

	if (other)
		refuse(state,
		       "%s: not with %s: who ended waits is known at the end of the run, or of a window",
		       name, other);
}

void wait_options_label(struct output_options *output, const char *label, struct argp_state *state)
{
	if (output->by_field && strcmp(output->by_field, label) != 0)
		output_options_refuse_fields(output, state);
	if (!output->by_field)
		output->by_field = must_strdup(label);
	if (!output->by)
		output->by = PROFILE_BY_COMM | PROFILE_BY_KEY;
}

void wait_options_check(const struct engine_blocks *blocks, struct argp_state *state)
{
	if (blocks->max_ns < blocks->min_ns)
		refuse(state, "-M: below -m: no wait is both");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		options->blocks = sampling_options_waits(ENGINE_STATE_S | ENGINE_STATE_D);
		return 0;
	case 'm':
		parse_us('m', arg, &options->blocks.min_ns, state);
		return 0;
	case 'M':
		parse_us('M', arg, &options->blocks.max_ns, state);
		return 0;
	case KEY_STATE:
		parse_states(arg, &options->blocks, state);
		return 0;
	case KEY_EXACT:
		options->blocks.period_ns = 0;
		return 0;
	case KEY_WAY:
		parse_way(arg, &options->blocks, state);
		return 0;
	case ARGP_KEY_END:
		wait_options_check(&options->blocks, state);
		if (options->max_overhead > 0 && !options->blocks.period_ns)
			refuse(state, "--max-overhead: not with --exact: it samples fewer waits");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp wait_argp = { .options = options_list, .parser = parse_option };
const struct argp bare_wait_argp = { .options = bare_list, .parser = parse_option };

/* Waits in @states, which are not to be chosen. */
static error_t parse_in_states(int key, char *arg, struct argp_state *state, uint32_t states)
{
	struct sampling_options *options = state->input;
	error_t error = key == KEY_STATE ? ARGP_ERR_UNKNOWN : parse_option(key, arg, state);

	if (key == ARGP_KEY_INIT)
		options->blocks.states = states;
	return error;
}

/* At a lock threads wait in one state. */
static error_t parse_lock_option(int key, char *arg, struct argp_state *state)
{
	return parse_in_states(key, arg, state, ENGINE_STATE_S);
}

static error_t parse_wall_option(int key, char *arg, struct argp_state *state)
{
	return parse_in_states(key, arg, state, WALL_STATES);
}

const struct argp lock_wait_argp = { .options = length_list, .parser = parse_lock_option };
const struct argp wall_wait_argp = { .options = length_list, .parser = parse_wall_option };
