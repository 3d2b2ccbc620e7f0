/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two walks of every sample as two folded files of one folder, cfi.folded and fp.folded: both
 * or neither.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/output_file.h"
#include "format/formats.h"

struct folded_pair {
	struct output_file cfi, fp;
	char *made; /* owned: the folder where it was made for them; NULL: it was there */

	struct privileged_helper *helper; /* borrowed; NULL: none */
	int remove_task, withdraw_task;
};

/*
 * Open both files in folder @path, which is made where it is missing; its parent has to be there.
 * Errors: those of mkdir(2) and open(2); the message names the path, nothing is left behind.
 */
FPL_MUST_CHECK int folded_pair_open(const char *path, struct folded_pair *ret, struct fpl_err *err);

/* As output_file_delegate, for both files and the folder. */
FPL_MUST_CHECK int folded_pair_delegate(struct folded_pair *pair, struct privileged_helper *helper,
					struct fpl_err *err);

/*
 * Write and commit both. Errors: -ENOMEM, and what a write met: neither file is there then, and
 * what was there before either is still there or is gone.
 */
FPL_MUST_CHECK int folded_pair_write(struct folded_pair *pair, const struct recording *recording,
				     const struct format_options *options, struct fpl_err *err);

/* Drop what was not written, a folder made for it too. Safe after write and on a zeroed struct. */
void folded_pair_abort(struct folded_pair *pair);
