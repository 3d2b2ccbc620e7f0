/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the cgroup of this process may have: beyond that the kernel kills, and says
 * nothing. */
#pragma once

#include <stdint.h>

#define CGROUP_NO_LIMIT UINT64_MAX

/*
 * Bytes that the process's cgroup and all above it that can be seen allow together: the least
 * memory.max of version 2, or what version 1 says of its hierarchy, whichever of both has the
 * memory controller. CGROUP_NO_LIMIT: there is none, or it cannot be read. @root: "" for this
 * machine, else where its files are. Cost: mountinfo and a file for each level.
 */
uint64_t cgroup_memory_limit(const char *root);
