/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/diff_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/picture_args.h"
#include "cli/verbs.h"

/* Keys of options without a letter, none of those of output_options.c and reading_options.c. */
enum {
	KEY_NEGATE = 0x200,
	KEY_TOP,
	KEY_JSON,
	KEY_ANY_OBJECT,
	KEY_FORMAT,
	KEY_OPEN,
	KEY_FAIL_ON,
	KEY_FAIL_ON_FUNCTION
};

static const struct argp_option options_list[] = {
	FIRST_HEADING("What to compare:"),
	{ "normalize", 'n', NULL, 0,
	  "Compare shares of the run in place of counts, for runs of different lengths", 0 },
	{ "strip-hex", 's', NULL, 0,
	  "Ignore addresses in names (0x1f becomes 0x...): code without symbols has other addresses in another build",
	  0 },
	{ "any-object", KEY_ANY_OBJECT, NULL, 0,
	  "Match functions by name alone, whatever their object", 0 },
	{ .doc = "What to write:", .group = 2 },
	{ "folded", 'f', NULL, 0,
	  "Folded stacks with two counts on stdout, as from difffolded.pl, also beside -o", 2 },
	{ "output", 'o', "FILE", 0,
	  "Write FILE (may be repeated), the format by its extension: .svg, .html, .folded, .txt or .json; - is stdout",
	  2 },
	{ "format", KEY_FORMAT, "folded|text|json|svg|html", 0,
	  "Format of stdout, or of each -o with an unknown extension (may be repeated)", 2 },
	{ "json", KEY_JSON, NULL, 0, "All functions and stacks as JSON on stdout", 2 },
	{ "open", KEY_OPEN, NULL, 0,
	  "Show the page that -o FILE.html would write in the browser, or say its address", 2 },
	{ "negate", KEY_NEGATE, NULL, 0,
	  "Blue for more and red for less in pictures: for sides in reverse order, since boxes are as wide as AFTER",
	  2 },
	{ "top", KEY_TOP, "N", 0,
	  "Functions and stacks to list in text (default 20 and 5; 0: all of them)", 2 },
	{ "fail-on", KEY_FAIL_ON, "N", 0,
	  "End with exit status 7 where the whole, or what a function takes of it, grew by N % of the whole before, and by more than noise",
	  2 },
	{ "fail-on-function", KEY_FAIL_ON_FUNCTION, "N", 0,
	  "The same where a function grew by N % of what it took itself: 1 % of the whole that becomes 1.2 % grew by 20 %",
	  2 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

/* Files behind the first `--' belong to the other side. */
static int add_file(struct diff_options *options, char *path, struct argp_state *state)
{
	options->words[options->nr_files++] = path;
	if (!options->parting || state->next <= options->parting)
		options->nr_before = options->nr_files;
	return 0;
}

static void check_files(struct diff_options *options, struct argp_state *state)
{
	size_t nr = options->nr_files;

	if (options->store.folder && nr)
		refuse(state, "--store: not with recordings in files");
	if (options->store.folder)
		return;
	/* two files need nothing that parts them */
	if (!options->parting && nr == 2)
		options->nr_before = 1;
	if (!options->nr_before || options->nr_before == nr)
		refuse(state, "expected recordings of two sides: BEFORE... -- AFTER...");
	reading_options_check_files(options->files, nr, state);
}

static void check_picture(const struct diff_options *options, struct argp_state *state)
{
	bool has_picture = options->output.open;

	for (size_t i = 0; i < options->output.nr; i++)
		has_picture |= options->output.list[i].format->picture;
	if (options->negate && !has_picture)
		refuse(state, "--negate: needs a picture: -o FILE.svg");
	if (options->output.picture.colors != PICTURE_COLORS_HOT)
		refuse(state, "--colors: not supported: changes are red and blue");
	if (options->output.picture.chart)
		refuse(state, "--chart: not supported: changes have no order of time");
}

static void set_limit(double *limit, const char *option, const char *arg, struct argp_state *state)
{
	if (!parse_growth(arg, limit))
		refuse(state, "%s %s: expected a growth in per cent, as +10%%", option, arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct diff_options *options = state->input;
	uint64_t number;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->reading;
		state->child_inputs[1] = &options->output;
		state->child_inputs[2] = &options->output.picture;
		state->child_inputs[3] = &options->store;
		return 0;
	case ARGP_KEY_ARG:
		return add_file(options, arg, state);
	case ARGP_KEY_END:
		check_files(options, state);
		output_options_check(&options->output, state);
		check_picture(options, state);
		return 0;
	case 'n':
		options->normalize = true;
		return 0;
	case 's':
		options->strip_hex = true;
		return 0;
	case KEY_NEGATE:
		options->negate = true;
		return 0;
	case KEY_ANY_OBJECT:
		options->any_object = true;
		return 0;
	case 'f':
		options->output.folded_stdout = true;
		return 0;
	case 'o':
		output_options_add(&options->output, arg, state);
		return 0;
	case KEY_FORMAT:
	case KEY_JSON:
		output_options_add_format(&options->output, key == KEY_JSON ? "json" : arg, state);
		return 0;
	case KEY_OPEN:
		options->output.open = true;
		return 0;
	case KEY_TOP:
		if (!parse_number(arg, 0, 1000000, &number))
			refuse(state, "--top %s: expected a number, 0 for all", arg);
		options->has_top = true;
		options->top = number;
		return 0;
	case KEY_FAIL_ON:
		set_limit(&options->limit.of_whole, "--fail-on", arg, state);
		return 0;
	case KEY_FAIL_ON_FUNCTION:
		set_limit(&options->limit.of_itself, "--fail-on-function", arg, state);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &reading_argp },
					      { .argp = &shown_argp },
					      { .argp = &picture_argp },
					      { .argp = &store_inputs_argp },
					      { 0 } };

const struct argp diff_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc =
		"BEFORE... -- AFTER...\n--store DIR [--from TIME] [--to TIME] [--before FROM..TO]",
	.doc = "Compare the recordings BEFORE with those AFTER: which functions and stacks take more time or less, and whether that is more than chance. Several recordings of a side show how much runs differ. They are read as by `fpless report'.\vWithout -f and -o the changes are printed, those that are more than noise first.\n\n"
	       "Exit status: 0 ok, 1 usage, or sides that count different things, 2 a file could not be read, 3 no samples, 6 an output could not be written, 7 something grew by as much as --fail-on says.",
};

void diff_options_fini(struct diff_options *options)
{
	free(options->words);
	store_input_fini(&options->store);
	reading_options_fini(&options->reading);
	output_options_fini(&options->output);
}

/*
 * Take the first `--' out of @argv, so that options may stand behind it, too. Returns the index of
 * the word before it; 0: not found.
 */
static int take_parting(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof(*argv));
		--*argc;
		return i;
	}
	return 0;
}

int diff_options_parse(int argc, char **argv, struct diff_options *ret)
{
	const struct format_list *list = ret->output.formats;

	*ret = (struct diff_options){ .output.formats = list,
				      .limit = { .of_whole = INFINITY, .of_itself = INFINITY } };
	reading_options_init(&ret->reading);
	store_input_init(&ret->store, false);
	ret->words = calloc((size_t)argc + 1, sizeof(*ret->words));
	if (!ret->words)
		return -ENOMEM;
	ret->files = ret->words;
	ret->parting = take_parting(&argc, argv);
	return argp_parse(&diff_argp, argc, argv, ARGP_IN_ORDER, NULL, ret) ? -EINVAL : 0;
}
