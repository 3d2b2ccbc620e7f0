/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files of elfutils' debuginfod: those its client has fetched before and, on request,
 * fetching. Only debuginfod_fetch() uses the network.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Write the path at which the client keeps the debug file of @build_id
 * (debuginfod_find_debuginfo(3), "CACHE"): below $DEBUGINFOD_CACHE_PATH, else
 * $XDG_CACHE_HOME/debuginfod_client, else ~/.cache/debuginfod_client. Returns false if no such
 * folder can be named.
 */
bool debuginfod_cached(const uint8_t *build_id, size_t build_id_size, char ret[PATH_MAX]);

struct debuginfod;

/*
 * Load libdebuginfod and begin a client for the servers of $DEBUGINFOD_URLS. Errors: -ENOENT no
 * servers are named; -ENOSYS the library is missing or damaged; -ENOMEM.
 */
FPL_MUST_CHECK int debuginfod_open(struct debuginfod **ret, struct fpl_err *err);
void debuginfod_close(struct debuginfod *debuginfod);

/*
 * Fetch the debug file of @build_id, at least 2 bytes, into the client's cache, where the search
 * for debug files finds it. Blocks up to $DEBUGINFOD_TIMEOUT. Errors: -ENOENT no server has it;
 * else as debuginfod_find_debuginfo(3).
 */
FPL_MUST_CHECK int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id,
				    size_t build_id_size, struct fpl_err *err);
