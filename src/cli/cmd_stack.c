/* SPDX-License-Identifier: Apache-2.0 */
/* fpless stack: what each thread does now, without stopping it. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/verbs.h"
#include "format/stream_format.h"

static const struct argp_option options_list[] = {
	{ "all", 'a', NULL, 0, "Every process", 1 },
	{ "tid", 't', "TID[,TID...]", 0, "These threads alone", 1 },
	{ "user-only", 'U', NULL, 0, "User stacks only (with -K: both)", 1 },
	{ "kernel-only", 'K', NULL, 0, "Kernel stacks only (with -U: both)", 1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

/* Add the process ids in @arg. */
static void parse_pids_arg(const char *arg, struct target_options *target, struct argp_state *state)
{
	size_t nr = 0;
	AUTO_FREE pid_t *list = NULL;

	if (!parse_pids(arg, &list, &nr))
		refuse(state, "'%s': expected process ids", arg);
	target->pids = must_reallocarray(target->pids, target->nr_pids + nr, sizeof(*list));
	memcpy(target->pids + target->nr_pids, list, nr * sizeof(*list));
	target->nr_pids += nr;
}

static void check_all(struct sampling_options *options, struct argp_state *state)
{
	struct target_options *target = &options->target;

	if (!target->all && !target->nr_pids && !target->nr_tids)
		refuse(state, "whose stacks: a PID, -t TID, or -a");
	if (target->all && (target->nr_pids || target->nr_tids))
		refuse(state, "-a excludes PID and -t");
	/* neither is both, as for profile */
	if (!options->user && !options->kernel)
		options->user = options->kernel = true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *options = state->input;
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
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		parse_pids_arg(arg, target, state);
		return 0;
	case ARGP_KEY_END:
		check_all(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp stack_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "[PID...]",
	.doc = "Print the stack of each thread as it is now, user and kernel, without stopping it. Threads of a process with equal stacks are printed once.\v"
	       "A thread that is on a CPU at that moment has no stack here: fpless profile shows where such threads are.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone, or all of its threads were running, 6 output could not be written.",
};

/* By process, those of most threads first. */
static int compare_stacks(const void *a, const void *b)
{
	const struct recording_stack *one = *(const struct recording_stack *const *)a;
	const struct recording_stack *other = *(const struct recording_stack *const *)b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	if (one->count != other->count)
		return one->count > other->count ? -1 : 1;
	return one < other ? -1 : one > other;
}

static void write_stack(FILE *to, const struct recording *recording,
			const struct recording_stack *stack)
{
	char comm[4 * FPL_COMM_SIZE + 1];

	text_escape(comm, sizeof(comm), recording_string(recording, stack->comm), "");
	fprintf(to, "%s (pid %u): ", comm, stack->pid);
	if (stack->count == 1)
		fputs("1 thread\n", to);
	else
		fprintf(to, "%" PRIu64 " threads\n", stack->count);
	stream_format_frames(to, recording, stack);
	putc('\n', to);
}

/* sampling_verb.write */
static int write_stacks(void *ctx, struct names *names, const struct recording *recording)
{
	const struct profile *profile = names->profile;
	size_t nr = recording->nr_stacks;
	AUTO_FREE const struct recording_stack **sorted =
		must_calloc(nr, sizeof(struct recording_stack *));
	uint64_t shown = 0;

	(void)ctx;
	for (size_t i = 0; i < nr; i++) {
		sorted[i] = &recording->stacks[i];
		shown += sorted[i]->count;
	}
	qsort(sorted, nr, sizeof(struct recording_stack *), compare_stacks);
	for (size_t i = 0; i < nr; i++)
		write_stack(stdout, recording, sorted[i]);
	if (fflush(stdout)) {
		fprintf(stderr, "fpless: stdout: %s\n", strerror(errno));
		return CLI_EXIT_OUTPUT;
	}
	if (profile->times.threads > shown)
		fprintf(stderr,
			"fpless: %llu of %llu threads were on a CPU: fpless profile shows where\n",
			profile->times.threads - shown, profile->times.threads);
	return CLI_EXIT_OK;
}

int cmd_stack(int argc, char **argv)
{
	CLEANUP(sampling_options_fini) struct sampling_options options;

	sampling_options_init(&options);
	options.sources[0] = source_spec_blocked();
	options.blocks = (struct engine_blocks){ .all_at_end = true };
	options.duration_ms = 1;
	options.output.quiet = true;
	options.output.own_stdout = argv[0];
	return sampling_main(argc, argv, &stack_argp, &options, &options,
			     &(struct sampling_verb){ .own_text = true, .write = write_stacks });
}
