/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every verb that samples does: open the outputs, sample, write, close the books, and say what
 * the run is worth. A verb adds what is its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/deputy.h"
#include "base/err.h"
#include "cli/sampling_options.h"
#include "naming/names.h"
#include "profile/engine.h"
#include "profile/profile.h"
#include "recording/recording.h"

/* What a verb adds. Functions may be NULL; all get @ctx. */
struct sampling_verb {
	void *ctx;
	bool own_text; /* it writes the readable text of stdout itself */

	/* Open what it writes itself, before the first sample. Errors end with CLI_EXIT_OUTPUT. */
	int (*open)(void *ctx, struct fpl_err *err);

	/*
	 * Who listens while the run goes on (and nobody else does), and names what it hears of with
	 * @parser and @cache. Errors: -ENOMEM and others that end before the run.
	 */
	int (*listen)(void *ctx, struct parser *parser, struct disk_cache *cache,
		      const struct engine_listener **ret, struct fpl_err *err);

	/* The run is over, or has failed: with listen. Returns 0 or what its output met, -errno. */
	int (*heard)(void *ctx);

	/* Have the deputy put it in place, as output_file_delegate. Errors: -ENOMEM. */
	int (*delegate)(void *ctx, struct deputy *deputy, struct fpl_err *err);

	/*
	 * Write it: @names, made by_function, and @recording outlive report. Returns an enum
	 * cli_exit; has said why.
	 */
	int (*write)(void *ctx, struct names *names, const struct recording *recording);

	/* Drop what was opened and not written. */
	void (*abandon)(void *ctx);

	/* Add lines to the closing report. Only after write. */
	void (*report)(void *ctx, FILE *to);

	/* What a run with samples is worth, all written. Returns an enum cli_exit; has said why. */
	int (*judge)(void *ctx, const struct profile *profile);
};

/*
 * Parse @argv with @argp, whose input is @input and whose child, sampling_argp, fills in @options,
 * then run. Returns an enum cli_exit; has said why unless it is CLI_EXIT_OK.
 */
int sampling_main(int argc, char **argv, const struct argp *argp, void *input,
		  struct sampling_options *options, const struct sampling_verb *verb);
