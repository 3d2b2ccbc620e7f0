/* SPDX-License-Identifier: Apache-2.0 */
/* fpless agent: the whole machine, in windows, into a store, until it is told to end. */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/agent_options.h"
#include "cli/cli.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "cli/stack_options.h"
#include "cli/store_writer.h"
#include "cli/verbs.h"
#include "cli/window_options.h"

enum { HZ = 49, LENGTH_MS = 10000, EVERY_MS = 60000 };

struct agent {
	struct sampling_options sampling;
	struct agent_options options;
	struct store_writer writer;
};

static void agent_fini(struct agent *agent)
{
	store_writer_end(&agent->writer);
	agent_options_fini(&agent->options);
	sampling_options_fini(&agent->sampling);
}

static const struct argp_child children[] = { { .argp = &agent_store_argp },
					      { .argp = &window_argp },
					      { .argp = &sampling_argp },
					      { .argp = &stack_filter_argp },
					      { 0 } };

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct agent *agent = state->input;
	struct sampling_options *sampling = &agent->sampling;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &agent->options;
		state->child_inputs[1] = &sampling->window;
		state->child_inputs[2] = state->child_inputs[3] = sampling;
		return 0;
	case ARGP_KEY_END:
		if (!sampling->output.by)
			sampling->output.by = PROFILE_BY_COMM | PROFILE_BY_CGROUP;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp agent_argp = {
	.parser = parse_option,
	.children = children,
	.args_doc = "[SECONDS]",
	.doc = "Sample the whole machine all the time, in windows, into a store that fpless query answers from: until SIGTERM or Ctrl-C, or for SECONDS. By default 49 times a second, for 10 s of each minute.\v"
	       "A window in which nothing ran is kept, too. What could not be kept is said and counted; the agent goes on.\n\n"
	       "Exit status: 0 ok, 1 usage, 2 cannot run here, 4 --strict, 6 the store or an output could not be written.",
};

/*
 * window_options.take. Without its writer an agent has nothing to do: it ends as if it were told
 * to.
 */
static int take(void *ctx, const struct recording *recording)
{
	struct agent *agent = ctx;
	struct fpl_err err = { 0 };
	int code = store_writer_put(&agent->writer, recording, &err);

	if (code)
		fpl_log(FPL_LOG_ERROR, "%s: this window is not kept", err.msg);
	if (code == -EPIPE)
		kill(getpid(), SIGTERM);
	return code;
}

static void agent_init(struct agent *agent)
{
	struct sampling_options *sampling = &agent->sampling;

	agent->writer = STORE_WRITER_NONE;
	agent_options_init(&agent->options);
	sampling_options_init(sampling);
	sampling->target.all = true;
	sampling->hz = HZ;
	sampling->window = (struct window_options){
		.length_ms = LENGTH_MS, .every_ms = EVERY_MS, .take = take, .take_ctx = agent
	};
	/* debugging information of all programs would be read all day */
	sampling->output.no_inlined = true;
	sampling->output.no_lines = true;
	/* a store keeps no places within functions */
	sampling->script.no_lines = true;
}

int cmd_agent(int argc, char **argv)
{
	uint64_t started_ns = clock_monotonic_ns();
	CLEANUP(agent_fini) struct agent agent;
	struct fpl_err err = { 0 };
	const char *labels;

	agent_init(&agent);
	if (argp_parse(&agent_argp, argc, argv, ARGP_IN_ORDER, NULL, &agent))
		return CLI_EXIT_USAGE;
	labels = agent.options.labels ? agent.options.labels : "";
	if (store_writer_start(agent.options.store, &agent.options.limits, labels, &agent.writer,
			       &err)) {
		fpl_log(FPL_LOG_ERROR, "%s", err.msg);
		return CLI_EXIT_CANNOT_RUN;
	}
	return sampling_run(argv, started_ns, &agent.sampling, &(struct sampling_verb){ 0 });
}
