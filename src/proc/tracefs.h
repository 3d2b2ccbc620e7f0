/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's tracepoints, as tracefs lists them. It need not be mounted: where it is not, it is
 * mounted for this process alone, in no folder, so that the machine's mounts stay as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Bytes of a format file that are read: the largest, of a system call, has some 2,000. */
#define TRACEFS_FORMAT_MAX (64u << 10)

/*
 * A descriptor of the folder that holds the categories; *@ret is the caller's. Errors: -EACCES no
 * right to; -EOPNOTSUPP this kernel has none.
 */
FPL_MUST_CHECK int tracefs_open(int *ret, struct fpl_err *err);

/* May @name be a category's or a tracepoint's? It becomes a part of a path. */
bool tracefs_is_name(const char *name);

/* The number of a tracepoint, for perf_event_attr.config. Errors: -ENOENT no such tracepoint;
 * -EACCES. */
FPL_MUST_CHECK int tracefs_event_id(int fd, const char *category, const char *name, uint64_t *ret,
				    struct fpl_err *err);

/* The text of a tracepoint's format file: its fields. *@ret is the caller's. Errors: as above;
 * -ENOMEM; -E2BIG it is larger than TRACEFS_FORMAT_MAX. */
FPL_MUST_CHECK int tracefs_format(int fd, const char *category, const char *name, char **ret,
				  struct fpl_err *err);

/* Calls @fn for each tracepoint, in no order, until it returns non-zero, which is then returned.
 * Errors: a negative errno. Cost: 10 ms for 2,000. */
FPL_MUST_CHECK int
tracefs_for_each(int fd, int (*fn)(const char *category, const char *name, void *ctx), void *ctx);
