/* SPDX-License-Identifier: Apache-2.0 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/output_file.h"
#include "cli/cli.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/sinks.h"
#include "cli/verbs.h"
#include "compare/compare_json.h"
#include "compare/compare_text.h"
#include "compare/comparison.h"
#include "compare/folded_pair.h"

enum { KEY_OUT_DIR = 0x200, KEY_JSON };

static const struct argp_option options_list[] = {
	{ "out-dir", KEY_OUT_DIR, "DIR", 0,
	  "Write cfi.folded and fp.folded, all samples in both, into DIR", 0 },
	{ "json", KEY_JSON, NULL, 0, "The comparison as JSON on stdout", 0 },
	{ 0 },
};

static const struct argp_child children[] = { { .argp = &sampling_argp }, { 0 } };

/* State of one comparison, from its options to its outputs. */
struct compare {
	struct sampling_options sampling;
	const char *out_dir; /* borrowed from argv; NULL: none */
	bool json;

	struct output_file table; /* stream NULL: none */
	struct folded_pair pair;  /* with out_dir */

	struct comparison comparison;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct compare *compare = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &compare->sampling;
		return 0;
	case KEY_OUT_DIR:
		if (compare->out_dir)
			argp_failure(state, CLI_EXIT_USAGE, 0, "--out-dir: given twice");
		compare->out_dir = arg;
		return 0;
	case KEY_JSON:
		compare->sampling.output.own_stdout = "--json";
		compare->json = true;
		return 0;
	case ARGP_KEY_END: /* after that of sampling_argp: all options are known */
		if (compare->sampling.unwind == ENGINE_UNWIND_FP)
			argp_failure(state, CLI_EXIT_USAGE, 0,
				     "--unwind fp: compare makes both walks: expected auto or cfi");
		if (compare->sampling.script.mode > SCRIPT_MIX || compare->sampling.script.is_lazy)
			argp_failure(state, CLI_EXIT_USAGE, 0,
				     "--script: not with compare: neither walk has script frames");
		if (!compare->sampling.user)
			argp_failure(state, CLI_EXIT_USAGE, 0,
				     "-K: excludes the user stacks that compare needs");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp compare_argp = {
	.options = options_list,
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS] [[--] COMMAND [ARG...]]",
	.doc = "Walk the user stack of every sample twice, by CFI and by frame pointers, and judge the second walk: how many stacks agree, have a wrong frame, skip one or are cut short, by program and by object, and where the walks part.\vWithout -f and -o the comparison is printed as text. Other outputs are as `fpless "
	       "profile' writes them, of the CFI stacks; .jsonl has both walks.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone, no samples or none that could be judged, 4 --strict, 6 output could not be written; otherwise COMMAND's.",
};

static int open_outputs(void *ctx, struct fpl_err *err)
{
	struct compare *compare = ctx;
	int error = 0;

	if (compare->json || output_options_use_text(&compare->sampling.output))
		error = output_file_open("-", &compare->table, err);
	if (!error && compare->out_dir)
		error = folded_pair_open(compare->out_dir, &compare->pair, err);
	return error;
}

static int delegate_outputs(void *ctx, struct privileged_helper *helper, struct fpl_err *err)
{
	struct compare *compare = ctx;

	return compare->out_dir ? folded_pair_delegate(&compare->pair, helper, err) : 0;
}

static void abandon_outputs(void *ctx)
{
	struct compare *compare = ctx;

	output_file_abort(&compare->table);
	folded_pair_abort(&compare->pair);
}

/* For sinks_write_report. */
static int write_text(FILE *to, void *ctx)
{
	compare_text_write(to, &((struct compare *)ctx)->comparison);
	return 0;
}

static int write_table(struct compare *compare, struct fpl_err *err)
{
	struct terminal_text terminal = output_options_terminal(&compare->sampling.output);
	FILE *to = compare->table.stream;

	if (!to)
		return 0;
	if (compare->json)
		compare_json_write(to, &compare->comparison);
	terminal.columns = 0; /* its sentences are better broken than cut */
	if (!compare->json && sinks_write_report(to, &terminal, write_text, compare))
		return fpl_fail(err, -ENOMEM, "out of memory for the comparison");
	return output_file_commit(&compare->table, err);
}

/* A failed output does not keep the other from being written. */
static int write_outputs(void *ctx, struct names *names, const struct recording *recording)
{
	struct compare *compare = ctx;
	const struct format_options options = {
		.delimited = compare->sampling.output.delimited,
		.annotate = compare->sampling.output.annotate,
		.origin = compare->sampling.output.origin,
		.fold_recursion = compare->sampling.output.fold_recursion,
	};
	struct fpl_err err = { 0 };
	int status = CLI_EXIT_OK;

	comparison_make(names, recording, &compare->comparison);
	if (write_table(compare, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		status = CLI_EXIT_OUTPUT;
	}
	if (compare->out_dir && folded_pair_write(&compare->pair, recording, &options, &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		status = CLI_EXIT_OUTPUT;
	}
	return status;
}

static void report(void *ctx, FILE *to)
{
	struct compare *compare = ctx;

	compare_text_report(to, &compare->comparison);
}

/* Advice if most samples are unjudged for @reason. */
static const char *advice_for(unsigned reason)
{
	switch (reason) {
	case FPL_STOP_DEPTH:
		return "lower -F: deep walks may use a tenth of a CPU";
	case FPL_STOP_READ_FAULT:
	case FPL_STOP_NO_TABLE:
		return "sample longer, or again: the cache keeps tables";
	case FPL_STOP_COMPAT32:
		return "only 64-bit programs can be compared";
	case FPL_STOP_NO_CFI:
	case FPL_STOP_FP_END:
	case FPL_STOP_BAD_RA:
	case FPL_STOP_EXPR:
	case FPL_STOP_REG_UNKNOWN:
	case FPL_STOP_NO_PROGRESS:
	case VERDICT_REASON_FP_FRAME:
		return "build it with -fasynchronous-unwind-tables, or look at its stacks with fpless profile";
	default:
		return "sample longer, or a program that runs code of its own";
	}
}

static int judge(void *ctx, const struct profile *profile)
{
	const struct comparison *comparison = &((struct compare *)ctx)->comparison;
	unsigned main_reason = 0;

	(void)profile;
	if (comparison->judged)
		return CLI_EXIT_OK;
	for (unsigned i = 0; i < VERDICT_REASON_COUNT; i++)
		if (comparison->reasons[i] > comparison->reasons[main_reason])
			main_reason = i;
	fpl_log(FPL_LOG_ERROR,
		"no stack could be judged: %" PRIu64 " of %" PRIu64 " samples are %s: %s: %s",
		comparison->reasons[main_reason], comparison->shown,
		verdict_reason_key(main_reason), verdict_reason_text(main_reason),
		advice_for(main_reason));
	return CLI_EXIT_NO_SAMPLES;
}

static void compare_fini(struct compare *compare)
{
	abandon_outputs(compare);
	comparison_fini(&compare->comparison);
	sampling_options_fini(&compare->sampling);
}

int cmd_compare(int argc, char **argv)
{
	CLEANUP(compare_fini) struct compare compare = { .json = false };
	const struct sampling_verb verb = {
		.ctx = &compare,
		.own_text = true,
		.open = open_outputs,
		.delegate = delegate_outputs,
		.abandon = abandon_outputs,
		.write = write_outputs,
		.report = report,
		.judge = judge,
	};

	sampling_options_init(&compare.sampling);
	/* walks are compared without inlined functions; on request, the -o outputs have them */
	compare.sampling.output.no_inlined = true;
	compare.sampling.output.no_lines = true;
	compare.sampling.compare = true;
	return sampling_main(argc, argv, &compare_argp, &compare, &compare.sampling, &verb);
}
