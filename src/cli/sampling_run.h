/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common path of every verb that samples: open the outputs, sample, write, close the books, and
 * choose the exit code. A verb adds its own parts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/privileged_helper.h"
#include "base/err.h"
#include "cli/sampling_options.h"
#include "naming/names.h"
#include "profile/engine.h"
#include "profile/profile.h"
#include "recording/recording.h"

/* Parts of a verb. Functions may be NULL; all get @ctx. */
struct sampling_verb {
	void *ctx;
	bool own_text; /* it writes the readable text of stdout itself */

	/* Open the verb's own outputs, before the first sample. Errors end with CLI_EXIT_OUTPUT. */
	int (*open)(void *ctx, struct fpl_err *err);

	/*
	 * Make the only listener of the run, which names what it hears of with @parser and @cache.
	 * Errors: -ENOMEM and others that end before the run.
	 */
	int (*listen)(void *ctx, struct parser *parser, struct disk_cache *cache,
		      const struct engine_listener **ret, struct fpl_err *err);

	/* The run is over, or has failed: with listen. Returns 0 or -errno of its output. */
	int (*heard)(void *ctx);

	/* Delegate its output to the helper, as output_file_delegate. Errors: -ENOMEM. */
	int (*delegate)(void *ctx, struct privileged_helper *helper, struct fpl_err *err);

	/*
	 * Write it: @names, made by_function, and @recording outlive report. Returns an enum
	 * cli_exit; errors are reported.
	 */
	int (*write)(void *ctx, struct names *names, const struct recording *recording);

	/* Drop what was opened and not written. */
	void (*abandon)(void *ctx);

	/* Add lines to the closing report. Only after write. */
	void (*report)(void *ctx, FILE *to);

	/*
	 * Choose the exit code of a run with samples, all written. Returns an enum cli_exit; errors
	 * are reported.
	 */
	int (*judge)(void *ctx, const struct profile *profile);
};

/*
 * Parse @argv with @argp, whose input is @input and whose child, sampling_argp, fills in @options,
 * then run. Returns an enum cli_exit; has said why unless it is CLI_EXIT_OK.
 */
int sampling_main(int argc, char **argv, const struct argp *argp, void *input,
		  struct sampling_options *options, const struct sampling_verb *verb);

/* The same with @options, which are parsed already. @started_ns: CLOCK_MONOTONIC when fpless began.
 */
int sampling_run(char **argv, uint64_t started_ns, struct sampling_options *options,
		 const struct sampling_verb *verb);
