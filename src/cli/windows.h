/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outputs of a run that is cut (--window): each window is named, written and told of by a
 * thread while the next is sampled. One that finds no room to wait is dropped whole, and said.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/privileged_helper.h"
#include "cli/sampling_options.h"
#include "profile/engine.h"
#include "profile/profile.h"

struct disk_cache;
struct parser;
struct windows;

/* All windows together. */
struct windows_sums {
	uint64_t nr, nr_dropped; /* written or not; dropped before that */
	uint64_t nr_failed;	 /* with an output that could not be written */
	uint64_t nr_open;	 /* whose books do not close: a bug of fpless */
	uint64_t shown, fired, passed, lost, missed, expected;
	uint64_t gap_ns, gap_max_ns, sampled_ns;
};

/*
 * Open the folders of the outputs in @options, which must outlive the windows. Errors end with
 * CLI_EXIT_OUTPUT: those of output_series_open(); eventfd(2).
 */
FPL_MUST_CHECK int windows_create(const struct sampling_options *options, struct windows **ret,
				  struct fpl_err *err);
/* NULL is allowed. */
void windows_destroy(struct windows *windows);

/* As output_file_delegate(). */
FPL_MUST_CHECK int windows_delegate(struct windows *windows, struct privileged_helper *helper,
				    struct fpl_err *err);

/* Names come from @parser's workers and @cache, both borrowed. *ret is to be lent to the run; the
 * thread begins with its first call, when the run has given up rights. Errors: -ENOMEM. */
FPL_MUST_CHECK int windows_listen(struct windows *windows, struct parser *parser,
				  struct disk_cache *cache, const struct engine_listener **ret,
				  struct fpl_err *err);

/* The run is over: write what waits, and end the thread. */
void windows_finish(struct windows *windows, struct windows_sums *ret);

/* The closing report. */
void windows_report(FILE *to, const struct windows_sums *sums);
