/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/store_input.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/time_point.h"

#define HOUR_NS (3600 * NS_PER_S)

enum { KEY_STORE = 0x3000, KEY_FROM, KEY_TO, KEY_BEFORE, KEY_SOURCE };

static const struct argp_option options_list[] = {
	{ .doc = "Which time of a store of fpless agent:", .group = 5 },
	{ "store", KEY_STORE, "DIR", 0,
	  "Folder of the store (usually " STORE_USUAL_PATH
	  " as root, of other users $XDG_STATE_HOME/fpless)",
	  5 },
	{ "from", KEY_FROM, "TIME", 0,
	  "Windows that began at TIME or later (default -1h): -90s, -5m, -1h, -7d, 03:12, 2026-11-29, 2026-11-29T03:12, with Z in UTC, or @SECONDS",
	  5 },
	{ "to", KEY_TO, "TIME", 0, "Windows that began before TIME (default now)", 5 },
	{ "source", KEY_SOURCE, "SOURCE", 0,
	  "Of these only samples of SOURCE: cpu (time on a CPU), off-cpu (waits), heap (memory), or the name of an event, such as page-faults",
	  5 },
	{ 0 },
};

static const struct argp_option before_list[] = {
	{ "before", KEY_BEFORE, "FROM..TO", 0,
	  "The time to compare with (default: as long as --from to --to, just before it)", 5 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

char *state_usual_path(const char *name)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (!geteuid() || (!state && !home))
		return must_asprintf("/var/lib/%s", name);
	return state && *state ? must_asprintf("%s/%s", state, name)
			       : must_asprintf("%s/.local/state/%s", home ? home : "", name);
}

char *store_usual_path(void)
{
	return state_usual_path("fpless");
}

void store_input_init(struct store_input *ret, bool is_wanted)
{
	uint64_t now_ns = clock_ns(CLOCK_REALTIME);

	*ret = (struct store_input){ .now_ns = now_ns,
				     .range.to_ns = now_ns,
				     .is_wanted = is_wanted };
}

void store_input_fini(struct store_input *input)
{
	store_close(input->store);
	free(input->folder);
}

static void parse_time(const char *option, const char *arg, const struct store_input *input,
		       uint64_t *ret, struct argp_state *state)
{
	if (!time_point_parse(arg, input->now_ns, ret))
		refuse(state,
		       "%s %s: expected a time: now, -90s, -5m, -1h, -7d, 03:12, 2026-11-29T03:12 or @SECONDS",
		       option, arg);
}

/* The time just before, as long. */
static void choose_before(struct store_input *input)
{
	uint64_t length = input->range.to_ns - input->range.from_ns;

	if (input->before.to_ns)
		return;
	input->before.to_ns = input->range.from_ns;
	input->before.from_ns = length < input->range.from_ns ? input->range.from_ns - length : 0;
}

static void complete(struct store_input *input, struct argp_state *state)
{
	struct store_range *range = &input->range;

	if (!input->folder && !input->is_wanted) {
		if (input->has_from || input->has_to || input->before.to_ns || input->range.source)
			refuse(state, "%s: of --store",
			       input->has_from	     ? "--from"
			       : input->has_to	     ? "--to"
			       : input->before.to_ns ? "--before"
						     : "--source");
		return;
	}
	if (!input->folder)
		input->folder = store_usual_path();
	if (!input->has_from)
		range->from_ns = range->to_ns < HOUR_NS ? 0 : range->to_ns - HOUR_NS;
	if (range->from_ns >= range->to_ns)
		refuse(state, "--from and --to: the second is not behind the first");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct store_input *input = state->input;

	switch (key) {
	case KEY_STORE:
		free(input->folder);
		input->folder = must_strdup(arg);
		return 0;
	case KEY_FROM:
		input->has_from = true;
		parse_time("--from", arg, input, &input->range.from_ns, state);
		return 0;
	case KEY_TO:
		input->has_to = true;
		parse_time("--to", arg, input, &input->range.to_ns, state);
		return 0;
	case KEY_SOURCE:
		input->range.source = arg;
		return 0;
	case ARGP_KEY_END:
		complete(input, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp store_input_argp = { .options = options_list, .parser = parse_option };

static error_t parse_before(int key, char *arg, struct argp_state *state)
{
	struct store_input *input = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = input;
		return 0;
	case KEY_BEFORE:
		if (!time_range_parse(arg, input->now_ns, &input->before.from_ns,
				      &input->before.to_ns))
			refuse(state, "--before %s: expected FROM..TO, two times: -25h..-24h", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &store_input_argp }, { 0 } };

const struct argp store_inputs_argp = { .options = before_list,
					.parser = parse_before,
					.children = children };

bool store_input_is_even(const struct store_input *input)
{
	double before = (double)(input->before.to_ns - input->before.from_ns);
	double after = (double)(input->range.to_ns - input->range.from_ns);

	return fabs(before - after) <= 0.01 * after;
}

int store_input_open(struct store_input *input, struct fpl_err *err)
{
	return store_open_to_read(input->folder, &input->store, err);
}

/* input_source.read */
static int read_one(void *ctx, size_t idx, struct recording *ret, struct fpl_err *err)
{
	const struct store_input *input = ctx;
	size_t nr;

	(void)idx;
	return store_read(input->store, &input->range, ret, &nr, err);
}

const struct input_source *store_input_one(struct store_input *input, char ***ret_names)
{
	input->source = (struct input_source){ input, read_one };
	input->names[0] = input->folder;
	*ret_names = input->names;
	return &input->source;
}

/* The same of two times. */
static int read_two(void *ctx, size_t idx, struct recording *ret, struct fpl_err *err)
{
	const struct store_input *input = ctx;
	size_t nr;

	return store_read(input->store, idx ? &input->range : &input->before, ret, &nr, err);
}

const struct input_source *store_input_two(struct store_input *input, char ***ret_names)
{
	static char before[] = "before", after[] = "after";

	choose_before(input);
	/* the same samples in both */
	input->before.comm = input->range.comm;
	input->before.cgroup = input->range.cgroup;
	input->before.source = input->range.source;
	input->source = (struct input_source){ input, read_two };
	input->names[0] = before;
	input->names[1] = after;
	*ret_names = input->names;
	return &input->source;
}
