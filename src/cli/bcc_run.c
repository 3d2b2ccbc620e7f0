/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bcc_run.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/sampling_run.h"
#include "cli/wait_options.h"

#define STACK_BYTES_LEAST (64u << 10)

/* More is no time that a wait can take. */
#define US_MAX (UINT64_MAX / NS_PER_US)

/* End the process with one line and CLI_EXIT_USAGE. */
#define refuse(state, ...) argp_failure(state, CLI_EXIT_USAGE, 0, __VA_ARGS__)

uint64_t bcc_number(const char *name, const char *arg, uint64_t min, uint64_t max,
		    struct argp_state *state)
{
	uint64_t value = 0;

	if (!parse_number(arg, min, max, &value))
		refuse(state, "%s %s: expected a number from %u up", name, arg, (unsigned)min);
	return value;
}

static void parse_list(const char *name, const char *arg, pid_t **list, size_t *nr,
		       struct argp_state *state)
{
	free(*list);
	*list = NULL;
	if (!parse_pids(arg, list, nr))
		refuse(state, "%s %s: expected numbers separated by commas", name, arg);
}

void bcc_parse_tids(const char *name, const char *arg, struct bcc_run *run,
		    struct argp_state *state)
{
	struct target_options *target = &run->sampling.target;

	parse_list(name, arg, &target->tids, &target->nr_tids, state);
}

void bcc_parse_cpus(const char *name, const char *arg, struct bcc_run *run,
		    struct argp_state *state)
{
	struct cpu_list *cpus = &run->sampling.target.cpus;

	cpu_list_fini(cpus);
	*cpus = (struct cpu_list){ 0 };
	if (strcmp(arg, "-1") != 0 && cpu_list_parse(arg, cpus))
		refuse(state, "%s %s: no CPU", name, arg);
}

void bcc_parse_storage(const char *name, const char *arg, struct bcc_run *run,
		       struct argp_state *state)
{
	uint64_t bytes = bcc_number(name, arg, 1, INT_MAX, state) * sizeof(struct fpl_stack);

	/* the larger of the two names it has in bcc, and a power of two, as maps are made */
	if (bytes < STACK_BYTES_LEAST)
		bytes = STACK_BYTES_LEAST;
	bytes = 1ull << (64 - __builtin_clzll(bytes - 1));
	if (bytes > run->sampling.stack_memory)
		run->sampling.stack_memory = bytes > 1ull << 32 ? 1ull << 32 : bytes;
}

static void parse_word(const char *arg, struct bcc_run *run, struct argp_state *state)
{
	if (run->output.seconds)
		refuse(state, "'%s': unexpected: the duration is given twice", arg);
	run->output.seconds = bcc_number("duration", arg, 1, INT_MAX, state);
}

static void check(struct bcc_run *run, struct argp_state *state)
{
	struct sampling_options *options = &run->sampling;
	struct bcc_output *output = &run->output;

	if (output->user_only && output->kernel_only)
		refuse(state, "-U and -K exclude each other");
	wait_options_check(&options->blocks, state);
	options->user = !output->kernel_only;
	options->kernel = !output->user_only;
	options->duration_ms = output->seconds * 1000;
	output->pids = options->target.pids;
	output->nr_pids = options->target.nr_pids;
	output->tids = options->target.tids;
	output->nr_tids = options->target.nr_tids;
}

error_t bcc_parse(int key, char *arg, struct bcc_run *run, struct argp_state *state)
{
	struct target_options *target = &run->sampling.target;

	switch (key) {
	case 'p':
		parse_list("-p", arg, &target->pids, &target->nr_pids, state);
		return 0;
	case 'U':
		run->output.user_only = true;
		return 0;
	case 'K':
		run->output.kernel_only = true;
		return 0;
	case 'd':
		run->output.delimited = true;
		return 0;
	case 'f':
		run->output.folded = true;
		return 0;
	case 'm':
		run->sampling.blocks.min_ns = bcc_number("-m", arg, 1, US_MAX, state) * NS_PER_US;
		return 0;
	case 'M':
		run->sampling.blocks.max_ns = bcc_number("-M", arg, 1, US_MAX, state) * NS_PER_US;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case BCC_KEY_STACK_STORAGE:
		bcc_parse_storage("--stack-storage-size", arg, run, state);
		return 0;
	case BCC_KEY_EBPF:
		refuse(state, "--ebpf: not supported: fpless has no program text");
		return 0;
	case ARGP_KEY_ARG:
		parse_word(arg, run, state);
		return 0;
	case ARGP_KEY_END:
		check(run, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct engine_blocks bcc_waits(void)
{
	return (struct engine_blocks){
		.period_ns = 0,
		.min_ns = NS_PER_US,
		.max_ns = UINT64_MAX,
		.states = BCC_STATES_ALL,
	};
}

/* sampling_verb.open */
static int begin(void *ctx, struct fpl_err *err)
{
	const struct bcc_run *run = ctx;

	if (run->head)
		run->head(stdout, &run->output);
	else
		bcc_head(stdout, &run->output);
	return fflush(stdout) ? fpl_fail(err, -errno, "stdout: %s", strerror(errno)) : 0;
}

int bcc_end(const struct names *names, uint64_t *nr_lost)
{
	const uint64_t *lost = names->profile->books.lost;
	int code = 0;

	if (fflush(stdout))
		code = -errno;
	if (!code && ferror(stdout))
		code = -EIO;
	*nr_lost = 0;
	for (size_t i = 0; i < FPL_LOST_COUNT; i++)
		*nr_lost += lost[i];
	if (code)
		fprintf(stderr, "fpless: stdout: %s\n", strerror(-code));
	return code ? CLI_EXIT_OUTPUT : CLI_EXIT_OK;
}

/* sampling_verb.write */
static int write_stacks(void *ctx, struct names *names, const struct recording *recording)
{
	const struct bcc_run *run = ctx;
	const uint64_t *lost = names->profile->books.lost;
	uint64_t nr_lost;
	int status;

	bcc_write(stdout, &run->output, recording);
	status = bcc_end(names, &nr_lost);
	if (nr_lost)
		fprintf(stderr, "WARNING: %" PRIu64 " stack traces could not be displayed.%s\n",
			nr_lost,
			lost[FPL_LOST_STACK_MAP_FULL] ? " Consider increasing --stack-storage-size."
						      : "");
	return status;
}

int bcc_run_main(int argc, char **argv, const struct argp *argp, struct bcc_run *run)
{
	/* bcc's stacks are native, and it has no option that says otherwise */
	run->sampling.script.mode = SCRIPT_OFF;
	run->sampling.output.quiet = true;
	run->sampling.output.own_stdout = argv[0];

	int status = sampling_main(
		argc, argv, argp, run, &run->sampling,
		&(struct sampling_verb){ .ctx = run,
					 .own_text = true,
					 .open = begin,
					 .write = run->write ? run->write : write_stacks });

	sampling_options_fini(&run->sampling);
	return status;
}
