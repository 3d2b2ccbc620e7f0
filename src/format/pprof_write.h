/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as a gzipped pprof: fpless-formats(5), "pprof", says what goes where. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "view/format.h"

/*
 * Write all of @recording to @to, whatever @options show to readers. Nothing is said before what it
 * refers to, and gzip members end between samples: what is on disk at any time, cut behind a
 * member, is a pprof of fewer samples.
 *
 * *ret_shown: the sum of the counts written, also on an error. Errors: that of a write, after
 * which @to ends behind its last whole member and can be closed as it is; the message then
 * says how many samples are in it. Cost: O(frames + stacks x depth + events).
 */
FPL_MUST_CHECK int pprof_write(FILE *to, const struct recording *recording,
			       const struct format_options *options, uint64_t *ret_shown,
			       struct fpl_err *err);

/*
 * The same without what only fpless reads, and what others make series of: labels of samples,
 * comments. *ret_bytes: its size when it is unpacked.
 */
FPL_MUST_CHECK int pprof_write_plain(FILE *to, const struct recording *recording,
				     uint64_t *ret_bytes, struct fpl_err *err);
