/* SPDX-License-Identifier: Apache-2.0 */
/* fpless record: what is sampled goes into a recording, as users of perf expect it. */
#include <argp.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/page_code.h"
#include "cli/report_options.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/verbs.h"

static const struct argp_child children[] = { { .argp = &sampling_argp },
					      { .argp = &stack_filter_argp },
					      { .argp = &page_code_argp },
					      { 0 } };

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct sampling_options *options = state->input;

	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->child_inputs[1] = options;
	state->child_inputs[2] = &options->code;
	options->output.usual_path = REPORT_USUAL_PATH;
	options->events.timeline = true;
	return 0;
}

const struct argp record_argp = {
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS] [[--] COMMAND [ARG...]]",
	.doc = "Sample on-CPU stacks into the recording " REPORT_USUAL_PATH
	       " in this folder, which fpless report, script and diff read.\v"
	       "With -f or -o it is fpless profile --timeline.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 3 target gone or no samples, 4 --strict, 6 output could not be written; otherwise COMMAND's.",
};

int cmd_record(int argc, char **argv)
{
	CLEANUP(sampling_options_fini) struct sampling_options options;

	sampling_options_init(&options);
	return sampling_main(argc, argv, &record_argp, &options, &options,
			     &(struct sampling_verb){ 0 });
}
