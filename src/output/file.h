/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An output file: written beside its target under a temporary name and renamed when whole, so that
 * no reader sees half a profile. Opened before sampling, so that a bad path costs no sample.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"

struct output_file {
	FILE *stream;	 /* owned; NULL: not open. Borrowed where it is stdout */
	char *path;	 /* owned: what the user called it */
	char *target;	 /* owned: what to rename to; NULL: written in place */
	char *temporary; /* owned; NULL: written in place */
};

/*
 * Open @path for writing; "-" is stdout. What exists and is no regular file (a pipe, a device) is
 * written in place. A symbolic link keeps being one: its target is replaced, with its mode.
 *
 * Errors: those of open(2); the message names the path.
 */
FPL_MUST_CHECK int output_file_open(const char *path, struct output_file *ret, struct fpl_err *err);

/*
 * Flush and close, but leave the target alone: for outputs that are committed together. Errors as
 * output_file_commit().
 */
FPL_MUST_CHECK int output_file_close(struct output_file *file, struct fpl_err *err);

/*
 * Flush, sync nothing, close (unless it is closed) and rename. Errors: what any write met; the
 * target is untouched and the temporary gone then.
 */
FPL_MUST_CHECK int output_file_commit(struct output_file *file, struct fpl_err *err);

/* Drop what was not committed. Safe after commit and on a zeroed struct. */
void output_file_abort(struct output_file *file);
