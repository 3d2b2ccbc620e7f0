/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels known to harm a machine that is sampled by BPF. Versions are those of kernel.org: a
 * distribution may have repaired an older number, so these are warnings.
 */
#pragma once

#include <stddef.h>

#include "proc/host.h"

struct known_bug {
	const char *commit; /* that repairs it, in the mainline kernel */
	const char *title;  /* of that commit */
	const char *effect; /* what happens without */
	const char *fix;
};

/* The first bug that this kernel may have, or NULL, also for an unknown version. */
const struct known_bug *known_bugs_find(const struct host *host);
size_t known_bugs_count(void);
