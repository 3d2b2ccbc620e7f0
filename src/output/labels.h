/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tells stacks apart beside their frames, as the frames that stand before the others in a
 * folded line: cgroup, CPU, task, each where it was asked for; the task alone where nothing was.
 *
 *   cgroup   its path, or "[cgroup ID]" where it was gone before it could be asked for
 *   CPU      "cpu N"
 *   task     "comm", "comm-pid", "comm-pid/tid", "pid" or "pid/tid": as those of perf's and
 *            inferno's folded lines
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "output/names.h"

#define LABELS_MAX 3u

/* How many each stack of @profile has: 1 to LABELS_MAX. */
size_t labels_nr(const struct profile *profile);

/* The labels of @stack, ids of names->strings. Errors: -ENOMEM. */
FPL_MUST_CHECK int labels_intern(struct names *names, const struct profile_stack *stack,
				 uint32_t ret[static LABELS_MAX]);

/* The path of the cgroup of @stack as it is, or "[cgroup ID]" in @buf of @size bytes. */
const char *labels_cgroup(const struct profile *profile, const struct profile_stack *stack,
			  char *buf, size_t size);
