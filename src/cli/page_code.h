/* SPDX-License-Identifier: Apache-2.0 */
/* --code: the code of the hottest functions, in a page. */
#pragma once

#include <argp.h>
#include <stdbool.h>

#include "annotate/annotator.h"
#include "base/err.h"
#include "cli/output_options.h"
#include "recording/recording.h"

/* Argp of the option alone; its input is the bool that it sets. */
extern const struct argp page_code_argp;

/* End the process with CLI_EXIT_USAGE and one line where @wanted is set and @output has no page. */
void page_code_check(bool wanted, const struct output_options *output, struct argp_state *state);

/* Zeros: no code is wanted. */
struct page_code {
	struct annotator *annotator; /* owned */
	struct hot_code hot;
	struct annotations annotations;
};

/* As annotator_open(): before rights are given up, and before there are threads. */
FPL_MUST_CHECK int page_code_open(const struct annotator_options *options, struct page_code *ret,
				  struct fpl_err *err);

/*
 * Find the code of @recording, which outlives @code. Returns what a page is to show; NULL: no code
 * is wanted. Borrowed from @code. Cost: as annotations_make().
 */
const struct annotations *page_code_make(struct page_code *code, const struct recording *recording);
void page_code_fini(struct page_code *code);
