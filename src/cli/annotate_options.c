/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate_options.h"

#include <argp.h>
#include <errno.h>
#include <string.h>

#include "base/style.h"
#include "cli/cli.h"
#include "cli/report_options.h"
#include "cli/verbs.h"

/* Keys of options without a letter, none of those of reading_options.c. */
enum { KEY_OBJECT = 0x200, KEY_SOURCE, KEY_NO_SOURCE, KEY_JSON, KEY_NO_DEMANGLE, KEY_COLOR };

static const struct argp_option options_list[] = {
	{ .doc = "What to show:", .group = 2 },
	{ "object", KEY_OBJECT, "NAME", 0,
	  "Only the function in the program or library NAME, a path or the last part of one", 2 },
	{ "json", KEY_JSON, NULL, 0, "Print JSON", 2 },
	{ "source", KEY_SOURCE, "DIR", 0,
	  "Look for sources below DIR first: by their path, then without its first parts", 2 },
	{ "no-source", KEY_NO_SOURCE, NULL, 0, "Read no source: show where each line is", 2 },
	{ "disassembler-style", 'M', "att|intel", 0, "Syntax of instructions (default att)", 2 },
	{ "no-demangle", KEY_NO_DEMANGLE, NULL, 0, "Do not demangle names", 2 },
	{ "color", KEY_COLOR, "auto|always|never", 0,
	  "Colours on stdout (default auto: on a terminal, unless $NO_COLOR is set)", 2 },
	{ "quiet", 'q', NULL, 0, "No progress", 2 },
	{ "verbose", 'v', NULL, 0, "Log more (-vv: even more)", 2 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void take_arguments(struct annotate_options *options, struct argp_state *state)
{
	char **args = state->argv + state->next;
	int nr = state->argc - state->next;

	if (nr > 2)
		refuse(state, "'%s': unexpected behind FUNCTION and FILE", args[2]);
	options->function = args[0];
	options->file = nr > 1 ? args[1] : NULL;
}

static void check(struct annotate_options *options, struct argp_state *state)
{
	if (!options->function)
		refuse(state, "no FUNCTION: fpless report lists the hottest");
	if (options->file)
		return;
	options->file = report_usual_file();
	options->is_usual_file = true;
	if (!options->file)
		refuse(state, "no FILE to read, and no " REPORT_USUAL_PATH
			      " here, which fpless record writes");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct annotate_options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->reading;
		return 0;
	case ARGP_KEY_ARGS:
		take_arguments(options, state);
		return 0;
	case ARGP_KEY_END:
		check(options, state);
		return 0;
	case KEY_OBJECT:
		options->object = arg;
		return 0;
	case KEY_JSON:
		options->json = true;
		return 0;
	case KEY_SOURCE:
		options->source_folder = arg;
		return 0;
	case KEY_NO_SOURCE:
		options->no_source = true;
		return 0;
	case 'M':
		if (strcmp(arg, "att") != 0 && strcmp(arg, "intel") != 0)
			refuse(state, "-M %s: expected att or intel", arg);
		options->intel = !strcmp(arg, "intel");
		return 0;
	case KEY_NO_DEMANGLE:
		options->output.no_demangle = true;
		return 0;
	case KEY_COLOR:
		options->output.colour = style_mode_of(arg);
		if (options->output.colour == STYLE_MODE_COUNT)
			refuse(state, "--color %s: expected auto, always or never", arg);
		return 0;
	case 'q':
		options->output.quiet = true;
		return 0;
	case 'v':
		options->output.verbosity++;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &reading_argp }, { 0 } };

const struct argp annotate_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc = "FUNCTION [FILE]",
	.doc = "Show the instructions of a function with the samples beside each, the lines of source they come from, what is inlined there, and the jumps. FILE is a recording as of fpless report that keeps addresses: .jsonl or a pprof. Without FILE it is " REPORT_USUAL_PATH
	       " of fpless record.\vFUNCTION is a name as fpless report shows it, with or without parameters and what it is a member of. Samples are those whose pc lies in the function itself. Its code comes from the file of the recording's build-id, lines from debugging information.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 the recording, or the code, could not be read, 3 no such function with samples, 6 an output could not be written.",
};

void annotate_options_fini(struct annotate_options *options)
{
	reading_options_fini(&options->reading);
}

int annotate_options_parse(int argc, char **argv, struct annotate_options *ret)
{
	*ret = (struct annotate_options){ .function = NULL };
	reading_options_init(&ret->reading);
	return argp_parse(&annotate_argp, argc, argv, 0, NULL, ret) ? -EINVAL : 0;
}
