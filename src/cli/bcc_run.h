/* SPDX-License-Identifier: Apache-2.0 */
/* The part that tools of bcc share: options that several of them have, the run, and its end. */
#pragma once

#include <argp.h>
#include <stdint.h>

#include "cli/sampling_options.h"
#include "format/bcc.h"

struct names;

/* The input of the argp of a verb that uses bcc_parse() begins with it. */
struct bcc_run {
	struct sampling_options sampling;
	struct bcc_output output;
	/* They write the text, the second as sampling_verb.write, whose ctx is this; NULL: bcc_head
	 * and bcc_write. */
	void (*head)(FILE *to, const struct bcc_output *options);
	int (*write)(void *ctx, struct names *names, const struct recording *recording);
};

/* Keys of options without a letter; those of a verb begin behind them. */
enum {
	BCC_KEY_STACK_STORAGE = 0x100,
	BCC_KEY_EBPF,
	BCC_KEY_OWN,
};

/* The end of the options of tools that weigh waits, but for that of the table. */
#define BCC_WAIT_OPTIONS                                                                               \
	{ "stack-storage-size",                                                                        \
	  BCC_KEY_STACK_STORAGE,                                                                       \
	  "COUNT",                                                                                     \
	  0,                                                                                           \
	  "Room for this many distinct stacks in the kernel (default 65536)",                          \
	  1 },                                                                                         \
		{ "min-block-time",                                                                    \
		  'm',                                                                                 \
		  "US",                                                                                \
		  0,                                                                                   \
		  "Only waits of this many microseconds or more (default 1)",                          \
		  1 },                                                                                 \
		{ "max-block-time", 'M', "US", 0, "Only waits of this many microseconds or less", 1 }, \
		{ "ebpf", BCC_KEY_EBPF, NULL, OPTION_HIDDEN, NULL, 1 },                                \
	{                                                                                              \
		NULL, 'h', NULL, OPTION_HIDDEN, NULL, -1                                               \
	}

/* @arg as a number from @min to @max. Another one ends the process with CLI_EXIT_USAGE. */
uint64_t bcc_number(const char *name, const char *arg, uint64_t min, uint64_t max,
		    struct argp_state *state);

/* Threads by @arg, numbers separated by commas, in the place of those that were given before. */
void bcc_parse_tids(const char *name, const char *arg, struct bcc_run *run,
		    struct argp_state *state);

/* CPUs by @arg, in the place of those that were given before; -1: all. */
void bcc_parse_cpus(const char *name, const char *arg, struct bcc_run *run,
		    struct argp_state *state);

/* Room for as many stacks as @arg says, if that is more than what was asked for before. */
void bcc_parse_storage(const char *name, const char *arg, struct bcc_run *run,
		       struct argp_state *state);

/*
 * Parse -p, -U, -K, -d, -f, -m, -M, -h, --stack-storage-size and the duration, as far as the verb
 * has them; check them at the end.
 * Returns as a parser of argp does; an invalid one ends the process with CLI_EXIT_USAGE.
 */
error_t bcc_parse(int key, char *arg, struct bcc_run *run, struct argp_state *state);

/* Each wait has a stack, as in bcc, if it takes a microsecond or more. */
struct engine_blocks bcc_waits(void);

/* The kernel's states: the bit of those that may run is fpless's own. */
#define BCC_STATES_ALL (UINT32_MAX & ~ENGINE_STATE_R)

/*
 * Flush what was written to stdout, and write how many samples were lost to @nr_lost. Returns
 * CLI_EXIT_OK, or CLI_EXIT_OUTPUT after a line to stderr.
 */
int bcc_end(const struct names *names, uint64_t *nr_lost);

/* Run it, as the verb with @argp, whose input is @run. Frees what @run owns. Returns an enum
 * cli_exit. */
int bcc_run_main(int argc, char **argv, const struct argp *argp, struct bcc_run *run);
