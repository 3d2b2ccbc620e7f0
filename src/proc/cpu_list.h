/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of CPUs such as "0-3,8", as sysfs writes them and users type them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define CPU_LIST_MAX 8192 /* CONFIG_NR_CPUS of the largest x86-64 kernels */

struct cpu_list {
	int *cpus; /* owned [nr]: ascending, each once */
	size_t nr;
};

/*
 * Read a list: numbers below CPU_LIST_MAX and ranges of them, separated by commas, and a newline at
 * most behind it. Errors: -EINVAL for anything else, an empty list too; -ENOMEM.
 */
FPL_MUST_CHECK int cpu_list_parse(const char *text, struct cpu_list *ret);

/* The CPUs that are online. Errors: -EINVAL sysfs is malformed; -ENOMEM. */
FPL_MUST_CHECK int cpu_list_online(struct cpu_list *ret);

void cpu_list_fini(struct cpu_list *list);

/* Cost: O(log nr). */
bool cpu_list_has(const struct cpu_list *list, int cpu);
