/* SPDX-License-Identifier: Apache-2.0 */
/* Resident memory as a source: the kernel's tracepoint kmem:rss_stat. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* The number of the tracepoint. Errors: -EOPNOTSUPP this kernel has none, or one with another
 * record; -EACCES no right to look; -ENOMEM. */
FPL_MUST_CHECK int source_rss_find(uint64_t *ret_id, struct fpl_err *err);
