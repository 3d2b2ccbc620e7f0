/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory the cgroup of this process may have: beyond that the kernel kills, and says
 * nothing. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CGROUP_NO_LIMIT UINT64_MAX

/*
 * Bytes that the process's cgroup and all above it that can be seen allow together: the least
 * memory.max of version 2, or what version 1 says of its hierarchy, whichever of both has the
 * memory controller. CGROUP_NO_LIMIT: there is none, or it cannot be read. @root: "" for this
 * machine, else where its files are. Cost: mountinfo and a file for each level.
 */
uint64_t cgroup_memory_limit(const char *root);

/* Where the memory controller is. */
struct cgroup_memory_place {
	bool v1;
	char *path;		    /* of the process's cgroup: in the text it was found in */
	char mount_root[PATH_MAX];  /* the part of the hierarchy that is mounted */
	char mount_point[PATH_MAX]; /* "": nowhere */
};

/*
 * Find it in the texts of /proc/PID/cgroup and /proc/PID/mountinfo, whose lines are cut apart.
 * Errors: -ENOENT it is nowhere to be seen.
 */
FPL_MUST_CHECK int cgroup_memory_find(char *cgroups, char *mountinfo,
				      struct cgroup_memory_place *ret);

/* The folder of the process's cgroup there, or that of the mount where the cgroup is not below it.
 * The caller frees it; NULL: no memory. */
char *cgroup_memory_folder(const struct cgroup_memory_place *place);
