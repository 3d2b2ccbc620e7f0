/* SPDX-License-Identifier: Apache-2.0 */
/* What a pprof says of the run as a whole: what its samples are, when they were taken, the books.
 */
#pragma once

#include "base/err.h"
#include "recording/pprof_fields.h"

/* Errors: as gzip_members_commit(). */
FPL_MUST_CHECK int pprof_run_write(struct pprof_fields *fields, struct fpl_err *err);
