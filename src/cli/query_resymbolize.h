/* SPDX-License-Identifier: Apache-2.0 */
/* `fpless query resymbolize': names that were missing when a window was stored. */
#pragma once

#include "base/err.h"
#include "cli/query_options.h"

/*
 * Name the functions of the range that have no name by the files of this machine, and say on stdout
 * what has changed. Errors: those of store_open_to_write(), store_name() and report_names_init().
 */
FPL_MUST_CHECK int query_resymbolize(const struct query_options *options, struct fpl_err *err);
