/* SPDX-License-Identifier: Apache-2.0 */
/* The options and the output of bcc's profile tool, for scripts that were written for it. */
#include <argp.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "cli/bcc_run.h"
#include "cli/cli.h"
#include "cli/verbs.h"

enum {
	KEY_HASH_STORAGE = BCC_KEY_OWN,
	KEY_CGROUPMAP,
	KEY_MNTNSMAP,
};

static const struct argp_option options_list[] = {
	{ "pid", 'p', "PID[,PID...]", 0, "Profile these processes only", 1 },
	{ "tid", 'L', "TID[,TID...]", 0, "Profile these threads only", 1 },
	{ "user-stacks-only", 'U', NULL, 0, "Show stacks from user space only", 1 },
	{ "kernel-stacks-only", 'K', NULL, 0, "Show stacks from kernel space only", 1 },
	{ "frequency", 'F', "HZ", 0, "Sample frequency (default 49)", 1 },
	{ "count", 'c', "NS", 0, "Sample every NS nanoseconds of the CPU clock", 1 },
	{ "delimited", 'd', NULL, 0, "Insert a delimiter between kernel and user stacks", 1 },
	{ "annotations", 'a', NULL, 0, "Add _[k] to kernel frames", 1 },
	{ "include-idle", 'I', NULL, 0, "Include CPU idle stacks", 1 },
	{ "folded", 'f', NULL, 0, "One line per stack, for flame graphs", 1 },
	{ "stack-storage-size", BCC_KEY_STACK_STORAGE, "COUNT", 0,
	  "Room for this many distinct stacks in the kernel (default 65536)", 1 },
	{ "hash-storage-size", KEY_HASH_STORAGE, "COUNT", 0, "The same", 1 },
	{ "cpu", 'C', "CPU", 0, "Profile this CPU only", 1 },
	{ "cgroupmap", KEY_CGROUPMAP, "PATH", 0, "Not supported", 1 },
	{ "mntnsmap", KEY_MNTNSMAP, "PATH", 0, "Not supported", 1 },
	{ "ebpf", BCC_KEY_EBPF, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "event", 'e', "EVENT", OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

struct bcc {
	struct bcc_run run; /* first, as bcc_run_main has it */
	uint64_t hz, count;
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void parse_cpu(const char *arg, struct bcc *bcc, struct argp_state *state)
{
	bcc->run.output.cpu = -1;
	if (strcmp(arg, "-1") != 0)
		bcc->run.output.cpu = (int)bcc_number("-C", arg, 0, INT_MAX, state);
	bcc_parse_cpus("-C", arg, &bcc->run, state);
}

/* Refuse an option that has no equivalent, and name the alternative; others are not known. */
static error_t refuse_option(int key, const char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_CGROUPMAP:
		refuse(state,
		       "--cgroupmap: pinned maps are not supported: fpless profile --cgroup PATH takes the cgroup itself");
		return 0;
	case KEY_MNTNSMAP:
		refuse(state,
		       "--mntnsmap: pinned maps are not supported: -p takes the processes of a mount namespace");
		return 0;
	case 'e': /* not bcc's; who knows fpless profile may try it */
		refuse(state,
		       "-e %s: bcc's profile samples the CPU's clock alone: fpless profile -e %s",
		       arg, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void check_all(struct bcc *bcc, struct argp_state *state)
{
	struct sampling_options *options = &bcc->run.sampling;
	struct bcc_output *output = &bcc->run.output;

	if (options->target.pids && options->target.tids)
		refuse(state, "-p and -L exclude each other");
	if (bcc->hz && bcc->count)
		refuse(state, "-F and -c exclude each other");
	if (bcc->count > NS_PER_S || (bcc->count && NS_PER_S / bcc->count > ENGINE_HZ_MAX))
		refuse(state, "-c %" PRIu64 ": expected 10000 (100000 Hz) to 1000000000 (1 Hz)",
		       bcc->count);
	if (bcc->hz > ENGINE_HZ_MAX)
		refuse(state, "-F %" PRIu64 ": at most 100000", bcc->hz);
	options->sources[0].period = bcc->count;
	options->hz = bcc->count ? NS_PER_S / bcc->count : bcc->hz ? bcc->hz : 49;
	output->hz = options->hz;
	output->period = bcc->count;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct bcc *bcc = state->input;

	switch (key) {
	case 'L':
		bcc_parse_tids("-L", arg, &bcc->run, state);
		return 0;
	case 'F':
		bcc->hz = bcc_number("-F", arg, 0, INT_MAX, state);
		return 0;
	case 'c':
		bcc->count = bcc_number("-c", arg, 0, INT_MAX, state);
		return 0;
	case 'a':
		bcc->run.output.annotate = true;
		return 0;
	case 'I':
		bcc->run.sampling.idle = true;
		return 0;
	case 'C':
		parse_cpu(arg, bcc, state);
		return 0;
	case KEY_HASH_STORAGE:
		bcc_parse_storage("--hash-storage-size", arg, &bcc->run, state);
		return 0;
	case ARGP_KEY_END:
		check_all(bcc, state);
		return bcc_parse(key, arg, &bcc->run, state);
	default:
		if (refuse_option(key, arg, state) != ARGP_ERR_UNKNOWN)
			return 0;
		return bcc_parse(key, arg, &bcc->run, state);
	}
}

const struct argp bcc_profile_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "[SECONDS]",
	.doc = "Profile CPU stack traces at a timed interval, with the options and the output of bcc's profile.",
};

int cmd_bcc_profile(int argc, char **argv)
{
	struct bcc bcc = { .run.output = { .tool = BCC_PROFILE, .cpu = -1 } };

	sampling_options_init(&bcc.run.sampling);
	bcc.run.sampling.sources[0] = source_spec_cpu_clock();
	return bcc_run_main(argc, argv, &bcc_profile_argp, &bcc.run);
}
