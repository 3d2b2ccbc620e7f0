/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_options.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/page_code.h"
#include "cli/verbs.h"

/* Keys of options without a letter, none of those of output_options.c and reading_options.c. */
enum { KEY_MISSING = 0x200 };

static const struct argp_option options_list[] = {
	{ "missing", KEY_MISSING, NULL, 0,
	  "List on stdout the objects without names or lines, the samples that costs, and the packages to install",
	  3 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

char *report_usual_file(void)
{
	static char packed[] = REPORT_USUAL_PATH, unpacked[] = "fpless.jsonl";
	static char *const usual[] = { packed, unpacked };

	for (size_t i = 0; i < ARRAY_SIZE(usual); i++) {
		if (!access(usual[i], F_OK))
			return usual[i];
	}
	return NULL;
}

static void take_usual_file(struct report_options *options, struct argp_state *state)
{
	options->usual_file = report_usual_file();
	if (!options->usual_file)
		argp_failure(state, CLI_EXIT_USAGE, 0,
			     "no FILE to read, and no " REPORT_USUAL_PATH
			     " here, which fpless record writes");
	options->files = &options->usual_file;
	options->nr_files = 1;
}

static void choose_files(struct report_options *options, struct argp_state *state)
{
	if (options->store.folder && options->nr_files)
		argp_failure(state, CLI_EXIT_USAGE, 0, "--store: not with FILE");
	if (options->store.folder)
		return;
	if (!options->nr_files)
		take_usual_file(options, state);
	reading_options_check_files(options->files, options->nr_files, state);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct report_options *options = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->reading;
		state->child_inputs[1] = &options->output;
		state->child_inputs[2] = &options->code;
		state->child_inputs[3] = &options->store;
		return 0;
	case ARGP_KEY_ARGS:
		options->files = state->argv + state->next;
		options->nr_files = (size_t)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		choose_files(options, state);
		output_options_check(&options->output, state);
		page_code_check(options->code, &options->output, state);
		return 0;
	case KEY_MISSING:
		options->missing = true;
		options->output.own_stdout = "--missing";
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { { .argp = &reading_argp },
					      { .argp = &output_argp },
					      { .argp = &page_code_argp },
					      { .argp = &store_input_argp },
					      { 0 } };

const struct argp report_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc = "[FILE...]",
	.doc = "Read recordings, add them up, and write them in any format. FILE is a pprof, folded stacks (of fpless, stackcollapse-perf, inferno or bcc), .jsonl of fpless, a perf.data or the text of `perf script', recognised by its contents. - is stdin. No FILE: " REPORT_USUAL_PATH
	       " of fpless record.\vWithout -f and -o the hottest functions and stacks are printed. The closing report goes to stderr, with -v "
	       "with the books of all files together. Samples filtered out are counted there.\n\n"
	       "Exit status: 0 ok, 1 usage, or files that count different things, 2 a file could not be read, 3 no samples, 6 an output could not be written.",
};

const struct argp script_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc = "[FILE...]",
	.doc = "Print recordings as perf script prints its own: a block of lines for each sample, or stack. FILE is as of fpless report. Without FILE it is " REPORT_USUAL_PATH
	       " of fpless record.\vWith -f or -o it is fpless report.\n\n"
	       "Exit status: 0 ok, 1 usage, or files that count different things, 2 a file could not be read, 3 no samples, 6 an output could not be written.",
};

void report_options_fini(struct report_options *options)
{
	store_input_fini(&options->store);
	reading_options_fini(&options->reading);
	output_options_fini(&options->output);
}

int report_options_parse(int argc, char **argv, const struct argp *argp, const char *usual_format,
			 struct report_options *ret)
{
	*ret = (struct report_options){ .output.usual_format = usual_format };
	reading_options_init(&ret->reading);
	store_input_init(&ret->store, false);
	return argp_parse(argp, argc, argv, 0, NULL, ret) ? -EINVAL : 0;
}
