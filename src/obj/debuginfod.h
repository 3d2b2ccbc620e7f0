/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of elfutils' debuginfod: those its client has fetched before and, on request, fetching.
 * Only debuginfod_fetch() and debuginfod_source() use the network.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A file of a build-id. */
enum debuginfod_kind {
	DEBUGINFOD_DEBUG, /* its debug file */
	DEBUGINFOD_CODE,  /* the program or library itself */
};

/*
 * Write the path at which the client keeps the @kind of @build_id
 * (debuginfod_find_debuginfo(3), "CACHE"): below $DEBUGINFOD_CACHE_PATH, else
 * $XDG_CACHE_HOME/debuginfod_client, else ~/.cache/debuginfod_client. Returns false if no such
 * folder can be named.
 */
bool debuginfod_cached(const uint8_t *build_id, size_t build_id_size, enum debuginfod_kind kind,
		       char ret[PATH_MAX]);

struct debuginfod;

/*
 * Load libdebuginfod and begin a client for the servers of $DEBUGINFOD_URLS. Errors: -ENOENT no
 * servers are named; -ENOSYS the library is missing or damaged; -ENOMEM.
 */
FPL_MUST_CHECK int debuginfod_open(struct debuginfod **ret, struct fpl_err *err);
void debuginfod_close(struct debuginfod *debuginfod);

/*
 * Fetch the @kind of @build_id, at least 2 bytes, into the client's cache, where the search for
 * such files finds it. Blocks up to $DEBUGINFOD_TIMEOUT. Errors: -ENOENT no server has it; else as
 * debuginfod_find_debuginfo(3).
 */
FPL_MUST_CHECK int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id,
				    size_t build_id_size, enum debuginfod_kind kind,
				    struct fpl_err *err);

/*
 * Fetch the source @path of @build_id, absolute as debugging information has it. Returns a
 * descriptor, the caller's, or as debuginfod_find_source(3). Blocks as above.
 */
FPL_MUST_CHECK int debuginfod_source(struct debuginfod *debuginfod, const uint8_t *build_id,
				     size_t build_id_size, const char *path);
