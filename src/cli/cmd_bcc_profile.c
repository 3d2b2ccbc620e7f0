/* SPDX-License-Identifier: Apache-2.0 */
/* The options and the output of bcc's profile tool, for scripts that were written for it. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/bcc_run.h"
#include "cli/cli.h"
#include "cli/verbs.h"
#include "cli/parse.h"
#include "cli/sampling_options.h"
#include "cli/sampling_run.h"
#include "format/bcc_profile.h"

#define STACK_BYTES_LEAST (64u << 10)

enum {
	KEY_STACK_STORAGE = 0x100,
	KEY_HASH_STORAGE,
	KEY_CGROUPMAP,
	KEY_MNTNSMAP,
	KEY_EBPF,
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
	{ "stack-storage-size", KEY_STACK_STORAGE, "COUNT", 0,
	  "Room for this many distinct stacks in the kernel (default 65536)", 1 },
	{ "hash-storage-size", KEY_HASH_STORAGE, "COUNT", 0, "The same", 1 },
	{ "cpu", 'C', "CPU", 0, "Profile this CPU only", 1 },
	{ "cgroupmap", KEY_CGROUPMAP, "PATH", 0, "Not supported", 1 },
	{ "mntnsmap", KEY_MNTNSMAP, "PATH", 0, "Not supported", 1 },
	{ "ebpf", KEY_EBPF, NULL, OPTION_HIDDEN, NULL, 1 },
	{ "event", 'e', "EVENT", OPTION_HIDDEN, NULL, 1 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1 },
	{ 0 },
};

struct bcc {
	struct sampling_options sampling;
	struct bcc_profile output;
	uint64_t hz, count;
};

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

static void parse_list(const char *name, const char *arg, pid_t **list, size_t *nr,
		       struct argp_state *state)
{
	free(*list);
	*list = NULL;
	if (!parse_pids(arg, list, nr))
		refuse(state, "%s %s: expected numbers separated by commas", name, arg);
}

static void parse_cpu(const char *arg, struct bcc *bcc, struct argp_state *state)
{
	struct target_options *target = &bcc->sampling.target;

	cpu_list_fini(&target->cpus);
	target->cpus = (struct cpu_list){ 0 };
	bcc->output.cpu = -1;
	if (!strcmp(arg, "-1")) /* every CPU, as bcc has it */
		return;
	bcc->output.cpu = (int)bcc_number("-C", arg, 0, state);
	if (cpu_list_parse(arg, &target->cpus))
		refuse(state, "-C %s: no CPU", arg);
}

/* Refuse an option that has no equivalent, and name the alternative; others are not known. */
static error_t refuse_option(int key, const char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_EBPF:
		refuse(state, "--ebpf: not supported: fpless has no program text");
		return 0;
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

static void parse_word(const char *arg, struct bcc *bcc, struct argp_state *state)
{
	if (bcc->output.seconds)
		refuse(state, "'%s': unexpected: the duration is given twice", arg);
	bcc->output.seconds = bcc_number("duration", arg, 1, state);
}

static void parse_storage(const char *name, const char *arg, struct bcc *bcc,
			  struct argp_state *state)
{
	uint64_t bytes = bcc_number(name, arg, 1, state) * sizeof(struct fpl_stack);

	/* the larger of the two names it has in bcc, and a power of two, as maps are made */
	if (bytes < STACK_BYTES_LEAST)
		bytes = STACK_BYTES_LEAST;
	bytes = 1ull << (64 - __builtin_clzll(bytes - 1));
	if (bytes > bcc->sampling.stack_memory)
		bcc->sampling.stack_memory = bytes > 1ull << 32 ? 1ull << 32 : bytes;
}

static void check_all(struct bcc *bcc, struct argp_state *state)
{
	struct sampling_options *options = &bcc->sampling;
	struct bcc_profile *output = &bcc->output;

	if (options->target.pids && options->target.tids)
		refuse(state, "-p and -L exclude each other");
	if (output->user_only && output->kernel_only)
		refuse(state, "-U and -K exclude each other");
	if (bcc->hz && bcc->count)
		refuse(state, "-F and -c exclude each other");
	if (bcc->count > NS_PER_S || (bcc->count && NS_PER_S / bcc->count > ENGINE_HZ_MAX))
		refuse(state, "-c %" PRIu64 ": expected 10000 (100000 Hz) to 1000000000 (1 Hz)",
		       bcc->count);
	if (bcc->hz > ENGINE_HZ_MAX)
		refuse(state, "-F %" PRIu64 ": at most 100000", bcc->hz);
	options->sources[0].period = bcc->count;
	options->hz = bcc->count ? NS_PER_S / bcc->count : bcc->hz ? bcc->hz : 49;
	options->user = !output->kernel_only;
	options->kernel = !output->user_only;
	options->duration_ms = output->seconds * 1000;
	output->hz = options->hz;
	output->period = bcc->count;
	output->pids = options->target.pids;
	output->nr_pids = options->target.nr_pids;
	output->tids = options->target.tids;
	output->nr_tids = options->target.nr_tids;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct bcc *bcc = state->input;
	struct target_options *target = &bcc->sampling.target;

	switch (key) {
	case 'p':
		parse_list("-p", arg, &target->pids, &target->nr_pids, state);
		return 0;
	case 'L':
		parse_list("-L", arg, &target->tids, &target->nr_tids, state);
		return 0;
	case 'U':
		bcc->output.user_only = true;
		return 0;
	case 'K':
		bcc->output.kernel_only = true;
		return 0;
	case 'F':
		bcc->hz = bcc_number("-F", arg, 0, state);
		return 0;
	case 'c':
		bcc->count = bcc_number("-c", arg, 0, state);
		return 0;
	case 'd':
		bcc->output.delimited = true;
		return 0;
	case 'a':
		bcc->output.annotate = true;
		return 0;
	case 'I':
		bcc->sampling.idle = true;
		return 0;
	case 'f':
		bcc->output.folded = true;
		return 0;
	case 'C':
		parse_cpu(arg, bcc, state);
		return 0;
	case KEY_STACK_STORAGE:
		parse_storage("--stack-storage-size", arg, bcc, state);
		return 0;
	case KEY_HASH_STORAGE:
		parse_storage("--hash-storage-size", arg, bcc, state);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		parse_word(arg, bcc, state);
		return 0;
	case ARGP_KEY_END:
		check_all(bcc, state);
		return 0;
	default:
		return refuse_option(key, arg, state);
	}
}

const struct argp bcc_profile_argp = {
	.options = options_list,
	.parser = parse_option,
	.args_doc = "[SECONDS]",
	.doc = "Profile CPU stack traces at a timed interval, with the options and the output of bcc's profile.",
};

/* sampling_verb.open */
static int begin(void *ctx, struct fpl_err *err)
{
	const struct bcc *bcc = ctx;

	bcc_profile_head(stdout, &bcc->output);
	return fflush(stdout) ? fpl_fail(err, -errno, "stdout: %s", strerror(errno)) : 0;
}

/* sampling_verb.write */
static int write_stacks(void *ctx, struct names *names, const struct recording *recording)
{
	const struct bcc *bcc = ctx;
	const uint64_t *lost = names->profile->books.lost;
	uint64_t nr_lost;
	int status;

	bcc_profile_write(stdout, &bcc->output, recording);
	status = bcc_end(names, &nr_lost);
	if (nr_lost)
		fprintf(stderr, "WARNING: %" PRIu64 " stack traces could not be displayed.%s\n",
			nr_lost,
			lost[FPL_LOST_STACK_MAP_FULL] ? " Consider increasing --stack-storage-size."
						      : "");
	return status;
}

static void cleanup_bcc(struct bcc *bcc)
{
	sampling_options_fini(&bcc->sampling);
}

int cmd_bcc_profile(int argc, char **argv)
{
	CLEANUP(cleanup_bcc) struct bcc bcc = { .output = { .cpu = -1 } };

	sampling_options_init(&bcc.sampling);
	bcc.sampling.sources[0] = source_spec_cpu_clock();
	bcc.sampling.output.quiet = true;
	bcc.sampling.output.own_stdout = argv[0];
	return sampling_main(
		argc, argv, &bcc_profile_argp, &bcc, &bcc.sampling,
		&(struct sampling_verb){
			.ctx = &bcc, .own_text = true, .open = begin, .write = write_stacks });
}
