/* SPDX-License-Identifier: Apache-2.0 */
/* fpless stack: what each thread does now, without stopping it, or did when it left a core file. */
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_core.h"
#include "cli/stack_text.h"
#include "cli/verbs.h"
#include "cli/walk_options.h"
#include "profile/script_codes.h"

struct stack_input {
	struct sampling_options sampling;
	const char *core; /* borrowed: path of the core file; NULL: stacks of what runs */
};

static void stack_input_fini(struct stack_input *input)
{
	sampling_options_fini(&input->sampling);
}

enum { KEY_SCRIPT = 256, KEY_NO_SCRIPT, KEY_SCRIPT_LINES };

static const struct argp_option options_list[] = {
	{ "all", 'a', NULL, 0, "Every process", 1 },
	{ "tid", 't', "TID[,TID...]", 0, "These threads alone", 1 },
	{ "user-only", 'U', NULL, 0, "User stacks only (with -K: both)", 1 },
	{ "kernel-only", 'K', NULL, 0, "Kernel stacks only (with -U: both)", 1 },
	{ "script", KEY_SCRIPT, "mix|only|all", 0,
	  "Show functions of Python, PHP, Ruby, Perl, Lua and node with file and line, as fpless profile does. mix: in place of the interpreter's own frames (default); only: also without the native frames between them; all: beside all native frames",
	  1 },
	{ "no-script", KEY_NO_SCRIPT, NULL, 0, "Show native frames alone", 1 },
	{ "script-lines", KEY_SCRIPT_LINES, "yes|no", 0,
	  "no: a function of a script has the line that it begins at, wherever it is: more threads have equal stacks (default yes)",
	  1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void add_pids(struct target_options *target, const pid_t *list, size_t nr)
{
	target->pids = must_reallocarray(target->pids, target->nr_pids + nr, sizeof(*list));
	memcpy(target->pids + target->nr_pids, list, nr * sizeof(*list));
	target->nr_pids += nr;
}

/* Process ids, or the path of a core file. */
static void parse_argument(const char *arg, struct stack_input *input, struct argp_state *state)
{
	size_t nr = 0;
	AUTO_FREE pid_t *list = NULL;

	if (parse_pids(arg, &list, &nr))
		add_pids(&input->sampling.target, list, nr);
	else if (input->core)
		refuse(state, "%s: one core file at a time", arg);
	else if (strspn(arg, "0123456789,-") == strlen(arg))
		refuse(state, "'%s': expected process ids, or the path of a core file", arg);
	else
		input->core = arg;
}

static void check_all(struct stack_input *input, struct argp_state *state)
{
	struct sampling_options *options = &input->sampling;
	struct target_options *target = &options->target;

	if (input->core && (target->all || target->nr_pids))
		refuse(state, "a core file excludes -a and PID");
	if (input->core && options->kernel && !options->user)
		refuse(state, "-K: a core file has no kernel stacks");
	if (!input->core && !target->all && !target->nr_pids && !target->nr_tids)
		refuse(state, "whose stacks: a PID, -t TID, a core file, or -a");
	if (target->all && (target->nr_pids || target->nr_tids))
		refuse(state, "-a excludes PID and -t");
	/* neither is both, as for profile */
	if (!options->user && !options->kernel)
		options->user = options->kernel = true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct stack_input *input = state->input;
	struct sampling_options *options = &input->sampling;
	struct target_options *target = &options->target;

	switch (key) {
	case 'a':
		target->all = true;
		return 0;
	case 't':
		if (target->tids)
			refuse(state, "-t: given twice: separate the tids by commas");
		if (!parse_pids(arg, &target->tids, &target->nr_tids))
			refuse(state, "-t %s: expected thread ids separated by commas", arg);
		return 0;
	case 'U':
		options->user = true;
		return 0;
	case 'K':
		options->kernel = true;
		return 0;
	case KEY_SCRIPT:
		walk_options_script(arg, &options->script, state);
		if (options->script.is_lazy)
			refuse(state,
			       "--script %s: lazy is for samples: stack reads the memory of each thread once",
			       arg);
		return 0;
	case KEY_NO_SCRIPT:
		options->script.mode = SCRIPT_OFF;
		return 0;
	case KEY_SCRIPT_LINES:
		options->script.no_lines = !walk_options_yes("--script-lines", arg, state);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		parse_argument(arg, input, state);
		return 0;
	case ARGP_KEY_END:
		check_all(input, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp stack_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "[PID... | CORE]",
	.doc = "Print the stack of each thread as it is now, user and kernel, without stopping it; or that of each thread in a core file. Threads of a process with equal stacks and states are printed once, with how long they have been in that state.\v"
	       "A thread that is on a CPU at that moment has no stack here: fpless profile shows where such threads are.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone, or all of its threads were running, 6 output could not be written.",
};

/* Say of the native frames of interpreters that have no script frames why that is. */
static void say_missing(struct script_codes *codes)
{
	struct script_stats stats = { 0 };

	if (codes)
		script_codes_stats(codes, &stats);
	if (stats.ends[FPL_SCRIPT_END_LATE])
		fprintf(stderr,
			"fpless: %" PRIu64
			" frames of interpreters are native alone: their threads ran before the scripts' functions were read: look once more, or use fpless profile\n",
			stats.ends[FPL_SCRIPT_END_LATE]);
	if (stats.ends[FPL_SCRIPT_END_UNKNOWN])
		fprintf(stderr,
			"fpless: %" PRIu64
			" frames of interpreters are native alone: their scripts' functions are not where these interpreters mostly have them\n",
			stats.ends[FPL_SCRIPT_END_UNKNOWN]);
}

/* sampling_verb.write */
static int write_stacks(void *ctx, struct names *names, const struct recording *recording)
{
	const struct profile *profile = names->profile;
	uint64_t shown;
	int status = stack_text_write(recording, 0, &shown);

	(void)ctx;
	if (status)
		return status;
	say_missing(profile->script_codes);
	if (profile->times.threads > shown)
		fprintf(stderr,
			"fpless: %llu of %llu threads were on a CPU: fpless profile shows where\n",
			profile->times.threads - shown, profile->times.threads);
	return CLI_EXIT_OK;
}

int cmd_stack(int argc, char **argv)
{
	CLEANUP(stack_input_fini) struct stack_input input = { .core = NULL };
	struct sampling_options *options = &input.sampling;
	uint64_t started_ns = clock_monotonic_ns();

	sampling_options_init(options);
	options->sources[0] = source_spec_blocked();
	options->blocks = (struct engine_blocks){ .all_at_end = true };
	options->duration_ms = 1;
	options->output.quiet = true;
	options->output.own_stdout = argv[0];
	options->output.by = PROFILE_BY_TID; /* each thread has a time of its own */
	if (argp_parse(&stack_argp, argc, argv, ARGP_IN_ORDER, NULL, &input))
		return CLI_EXIT_USAGE;
	if (input.core)
		return stack_core(input.core, options->target.tids, options->target.nr_tids);
	return sampling_run(argv, started_ns, options,
			    &(struct sampling_verb){ .own_text = true, .write = write_stacks });
}
