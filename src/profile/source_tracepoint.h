/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints for other sources. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/*
 * An event that has the tracepoint @id call a program, on every CPU; @cpu: one that is online;
 * @name: of the source. *@ret_fd is the caller's. Errors: -EACCES; -EOPNOTSUPP.
 */
FPL_MUST_CHECK int source_tracepoint_event(uint64_t id, int cpu, const char *name, int *ret_fd,
					   struct fpl_err *err);
