/* SPDX-License-Identifier: Apache-2.0 */
/* Processes by their name, as pidof(1) finds them. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vector.h"

struct pid_list {
	pid_t *list; /* owned [nr], of which room fit: a vector */
	size_t nr, room;
};

/*
 * Append the processes called @name to @to, those that it has left out: the name of their main
 * thread is @name, of which the kernel keeps 15 bytes, or their executable's is. This process and
 * what it may not see are left out. Errors: -ENOMEM; those of opendir(3) for /proc. Cost: two
 * reads a process, some 10 us.
 */
FPL_MUST_CHECK int named_processes(const char *name, struct pid_list *to);
