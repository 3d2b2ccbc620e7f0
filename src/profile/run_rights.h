/* SPDX-License-Identifier: Apache-2.0 */
/* The rights of a run: what lacks is said, what is more than needed is given up. */
#pragma once

#include "base/err.h"
#include "proc/host.h"
#include "profile/engine.h"

/*
 * To be called once the perf events are open, which may need CAP_SYS_ADMIN, and before any thread
 * is made: say what each missing capability costs this run, start the helper of @options if its
 * tasks need what is about to go, keep the capabilities of proc/rights.h alone, and filter system
 * calls (parse/sandbox.h). @host is this machine as it was before. A kernel that refuses to take
 * rights away, or to filter, costs a line, not the run.
 * Errors: those of helper_start.
 */
FPL_MUST_CHECK int run_rights_settle(const struct engine_options *options, const struct host *host,
				     struct fpl_err *err);
