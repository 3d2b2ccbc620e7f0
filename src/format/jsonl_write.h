/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines: a meta line, one line per distinct stack, a books line. fpless-formats(5). */
#pragma once

#include <stdio.h>

#include "view/format.h"

/* Write the whole recording, each stack with all its frames: format 1; as format_write_fn. */
FPL_MUST_CHECK int jsonl_write(FILE *to, const struct recording *recording,
			       const struct format_options *options, uint64_t *ret_shown,
			       struct fpl_err *err);

/* The same in format 3: frames and what stacks have in common stand once (jsonl_tree_write.h). */
FPL_MUST_CHECK int jsonl_write_tree(FILE *to, const struct recording *recording,
				    const struct format_options *options, uint64_t *ret_shown,
				    struct fpl_err *err);
