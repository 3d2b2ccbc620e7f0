/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the cache on disk: the same for every verb that uses it. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/disk_cache.h"
#include "base/err.h"

struct cache_options {
	const char *path;   /* borrowed; NULL: the default place */
	uint64_t max_bytes; /* 0: the default */
	bool off;
};

/*
 * Its input is a zeroed struct cache_options. An invalid option ends the process with
 * CLI_EXIT_USAGE.
 */
extern const struct argp cache_argp;

/*
 * Create the cache that the options ask for, not open yet; @read_only: for reading only; NULL if
 * they ask for no cache. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int cache_options_create(const struct cache_options *options, bool read_only,
					struct disk_cache **ret, struct fpl_err *err);
