/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/picture_args.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/parse.h"

enum {
	KEY_TITLE = 0x700,
	KEY_SUBTITLE,
	KEY_COLORS,
	KEY_WIDTH,
	KEY_HEIGHT,
	KEY_MIN_WIDTH,
	KEY_MIN_SHARE,
	KEY_INVERTED,
	KEY_REVERSE,
	KEY_COUNT_NAME,
	KEY_CHART,
	KEY_NEGATE,
	KEY_AXIS,
};

/* Hidden options are spelt as those of flamegraph.pl. */

static const struct argp_option options_list[] = {
	{ .doc = "Pictures (.svg, .html):", .group = 6 },
	{ "title", KEY_TITLE, "TEXT", 0, "Heading (default: the COMMAND that was sampled)", 6 },
	{ "subtitle", KEY_SUBTITLE, "TEXT", 0,
	  "Line below the heading (default: samples, rate and duration)", 6 },
	{ "colors", KEY_COLORS, "hot|cold|object|origin", 0,
	  "Colours by name, warm (default) or cold, with kernel code apart; by the file of the code; or by the origin of the frame",
	  6 },
	{ "width", KEY_WIDTH, "PIXELS", 0,
	  "Width of the picture (default: the window's, else 1200)", 6 },
	{ "height", KEY_HEIGHT, "PIXELS", 0, "Height of a frame (default 16)", 6 },
	{ "min-width", KEY_MIN_WIDTH, "PIXELS", 0,
	  "Leave out narrower frames (default: a third of a pixel); the picture shows their number",
	  6 },
	{ "minwidth", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 6 },
	{ "min-share", KEY_MIN_SHARE, "PCT", 0,
	  "Leave what has fewer than PCT per cent of all samples out of text and of pictures, which show its number (default of .html: as many frames as a browser cannot hold)",
	  6 },
	{ "inverted", KEY_INVERTED, NULL, 0, "Icicle graph: the root is at the top", 6 },
	{ "reverse", KEY_REVERSE, NULL, 0,
	  "Begin with the function that ran, and go on with its callers", 6 },
	{ "chart", KEY_CHART, NULL, 0,
	  "Flame chart: the stacks of each thread in the order of time (needs --timeline)", 6 },
	{ "flamechart", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 6 },
	{ "axis", KEY_AXIS, "time|cpu", 0,
	  "Axis of a flame chart: time of the clock (default), or the CPU time that each thread has had",
	  6 },
	{ "count-name", KEY_COUNT_NAME, "TEXT", 0, "Name of the unit counted (default: samples)",
	  6 },
	{ "countname", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 6 },
	{ "negate", KEY_NEGATE, NULL, OPTION_HIDDEN, NULL, 6 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static uint32_t parse_pixels(const char *option, const char *arg, uint32_t min, uint32_t max,
			     struct argp_state *state)
{
	uint64_t value = 0;

	if (!parse_number(arg, min, max, &value))
		refuse(state, "%s %s: expected pixels from %u to %u", option, arg, min, max);
	return (uint32_t)value;
}

static void parse_min_width(const char *arg, struct picture_options *options,
			    struct argp_state *state)
{
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end || !isfinite(value) || value < 0 || value > PICTURE_WIDTH_MAX)
		refuse(state, "--min-width %s: expected pixels from 0 to %u, with decimals", arg,
		       PICTURE_WIDTH_MAX);
	options->min_width = value;
}

static void parse_min_share(const char *arg, struct picture_options *options,
			    struct argp_state *state)
{
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end || !(value >= 0 && value <= 100))
		refuse(state, "--min-share %s: expected per cent from 0 to 100", arg);
	options->min_share = value;
}

/* Palettes of flamegraph.pl: the nearest of ours. */
static const struct {
	const char *typed, *meant;
} palettes[] = {
	{ "java", "hot" },   { "js", "hot" },	   { "perl", "hot" },	{ "red", "hot" },
	{ "orange", "hot" }, { "yellow", "hot" },  { "purple", "hot" }, { "chain", "hot" },
	{ "blue", "cold" },  { "aqua", "cold" },   { "green", "cold" }, { "mem", "cold" },
	{ "io", "cold" },    { "wakeup", "cold" },
};

static void parse_colors(const char *arg, struct picture_options *options, struct argp_state *state)
{
	const char *word = arg;

	for (size_t i = 0; i < ARRAY_SIZE(palettes); i++)
		if (!strcmp(arg, palettes[i].typed))
			word = palettes[i].meant;
	if (!picture_options_set_colors(options, word))
		refuse(state, "--colors %s: expected hot, cold, object or origin", arg);
}

static void parse_axis(const char *arg, struct picture_options *options, struct argp_state *state)
{
	options->cpu_time = !strcmp(arg, "cpu");
	if (!options->cpu_time && strcmp(arg, "time") != 0)
		refuse(state, "--axis %s: expected time or cpu", arg);
}

/* Returns false if @key is another option. */
static bool parse_look(int key, char *arg, struct picture_options *options,
		       struct argp_state *state)
{
	switch (key) {
	case KEY_COLORS:
		parse_colors(arg, options, state);
		return true;
	case KEY_WIDTH:
		options->width =
			parse_pixels("--width", arg, PICTURE_WIDTH_MIN, PICTURE_WIDTH_MAX, state);
		return true;
	case KEY_HEIGHT:
		options->frame_height = parse_pixels("--height", arg, PICTURE_FRAME_HEIGHT_MIN,
						     PICTURE_FRAME_HEIGHT_MAX, state);
		return true;
	case KEY_MIN_WIDTH:
		parse_min_width(arg, options, state);
		return true;
	case KEY_MIN_SHARE:
		parse_min_share(arg, options, state);
		return true;
	case KEY_AXIS:
		parse_axis(arg, options, state);
		return true;
	case KEY_INVERTED:
		return options->inverted = true;
	case KEY_CHART:
		return options->chart = true;
	case KEY_REVERSE:
		return options->reverse = true;
	case KEY_NEGATE: /* the colours of differences, which this picture has none of */
		return true;
	default:
		return false;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct picture_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		*options = picture_options_usual;
		return 0;
	case KEY_TITLE:
		options->title = arg;
		break;
	case KEY_SUBTITLE:
		options->subtitle = arg;
		break;
	case KEY_COUNT_NAME:
		options->count_name = arg;
		break;
	default:
		if (!parse_look(key, arg, options, state))
			return ARGP_ERR_UNKNOWN;
	}
	for (const struct argp_option *option = options_list; option->name || option->doc; option++)
		if (option->key == key && option->name && key != KEY_MIN_SHARE)
			options->given = option->name;
	return 0;
}

const struct argp picture_argp = { .options = options_list, .parser = parse_option };
