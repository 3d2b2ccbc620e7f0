/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files that are made one after the other while a run goes on, by a pattern: each by the
 * rules of base/output_file.h, but that a link of its name is replaced: names are foreseeable, and
 * others may have made one. Their folder is opened at the start. Where this process has lost the
 * right to write there, the privileged helper makes and places them: it is told a time, and makes
 * the name itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/output_file.h"
#include "base/privileged_helper.h"

#define OUTPUT_SERIES_STAMP 24 /* "20261129T041405.123Z" */

struct output_series {
	char *folder;	      /* owned: as the user called it, with a slash; "" */
	char *before, *after; /* owned: of a name, around its time */
	int folder_fd;	      /* owned, by O_PATH */
	bool has_ms;

	struct privileged_helper *helper; /* borrowed; NULL: none */
	int make_task, place_task;
	struct output_file file; /* of the helper: the one that it made last */
};

/* Has @path a place for a time, "%t", in the name behind its last slash? */
bool output_series_is_pattern(const char *path);

/*
 * A series by @pattern, of which output_series_is_pattern(). Times are to the second, or with
 * @has_ms to the millisecond. *ret must not move. Errors: those of open(2), of the folder; -ENOMEM.
 */
FPL_MUST_CHECK int output_series_open(const char *pattern, bool has_ms, struct output_series *ret,
				      struct fpl_err *err);
/* Safe on a zeroed struct. */
void output_series_close(struct output_series *series);

/* As output_file_delegate(). */
FPL_MUST_CHECK int output_series_delegate(struct output_series *series,
					  struct privileged_helper *helper, struct fpl_err *err);

/* The time @unix_ns as it stands in names: UTC. */
void output_series_stamp(uint64_t unix_ns, bool has_ms, char ret[OUTPUT_SERIES_STAMP]);

/* Open the file of the time @unix_ns. One at a time: it is committed or aborted before the next.
 * Errors: as output_file_open(). */
FPL_MUST_CHECK int output_series_next(struct output_series *series, uint64_t unix_ns,
				      struct output_file *ret, struct fpl_err *err);
