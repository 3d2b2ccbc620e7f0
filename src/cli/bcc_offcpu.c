/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bcc_offcpu.h"

#include "cli/cli.h"

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

enum { KEY_STATE = BCC_KEY_OWN };

const struct argp_option bcc_offcpu_options[] = {
	{ "pid", 'p', "PID[,PID...]", 0, "Trace these processes only", 1 },
	{ "tid", 't', "TID[,TID...]", 0, "Trace these threads only", 1 },
	{ "user-threads-only", 'u', NULL, 0, "Show user threads only, no kernel threads", 1 },
	{ "kernel-threads-only", 'k', NULL, 0, "Show kernel threads only, no user threads", 1 },
	{ "user-stacks-only", 'U', NULL, 0, "Show stacks from user space only", 1 },
	{ "kernel-stacks-only", 'K', NULL, 0, "Show stacks from kernel space only", 1 },
	{ "delimited", 'd', NULL, 0, "Insert a delimiter between kernel and user stacks", 1 },
	{ "folded", 'f', NULL, 0, "One line per stack, for flame graphs", 1 },
	{ "state", KEY_STATE, "MASK", 0,
	  "Only waits in one of these states, as the kernel numbers them: 1 is S, 2 is D", 1 },
	BCC_WAIT_OPTIONS,
	{ 0 },
};

static void parse_state(const char *arg, struct engine_blocks *blocks, struct argp_state *state)
{
	blocks->states = (uint32_t)bcc_number("--state", arg, 0, BCC_STATES_ALL, state);
	if (!blocks->states)
		refuse(state, "--state 0: not supported: a thread that may run does not wait");
}

static void check_all(const struct bcc_run *run, struct argp_state *state)
{
	const struct target_options *target = &run->sampling.target;
	int given = !!target->pids + !!target->tids + run->output.user_threads +
		    run->output.kernel_threads;

	if (given > 1)
		refuse(state, "-p, -t, -u and -k exclude each other");
}

error_t bcc_offcpu_parse(int key, char *arg, struct argp_state *state)
{
	struct bcc_run *run = state->input;

	switch (key) {
	case 't':
		bcc_parse_tids("-t", arg, run, state);
		return 0;
	case 'u':
		run->output.user_threads = true;
		return 0;
	case 'k':
		run->output.kernel_threads = true;
		return 0;
	case KEY_STATE:
		parse_state(arg, &run->sampling.blocks, state);
		return 0;
	case ARGP_KEY_END:
		check_all(run, state);
		return bcc_parse(key, arg, run, state);
	default:
		return bcc_parse(key, arg, run, state);
	}
}

void bcc_offcpu_init(struct bcc_run *run, enum bcc_tool tool)
{
	*run = (struct bcc_run){ .output = { .tool = tool, .cpu = -1 } };
	sampling_options_init(&run->sampling);
	run->sampling.sources[0] = source_spec_blocked();
	run->sampling.blocks = bcc_waits();
	/* as bcc tells them apart */
	run->sampling.output.by = PROFILE_BY_COMM | PROFILE_BY_TID;
}
