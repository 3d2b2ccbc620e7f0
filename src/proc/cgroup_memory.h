/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit of this process's cgroup: above it the kernel kills, without a message. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CGROUP_NO_LIMIT UINT64_MAX

/*
 * The limit in bytes of the process's cgroup and all visible ones above it: the least memory.max of
 * version 2, or the limit of version 1's hierarchy, whichever has the memory controller.
 * CGROUP_NO_LIMIT: no limit, or unreadable. @root: "" for this machine, else the root of its files.
 * Cost: mountinfo and a file for each level.
 */
uint64_t cgroup_memory_limit(const char *root);

/* Place of the memory controller. */
struct cgroup_memory_place {
	bool v1;
	char *path; /* of the process's cgroup; points into the text it was found in */
	char mount_root[PATH_MAX];  /* the part of the hierarchy that is mounted */
	char mount_point[PATH_MAX]; /* "": nowhere */
};

/*
 * Find it in the texts of /proc/PID/cgroup and /proc/PID/mountinfo, whose lines are cut apart.
 * Errors: -ENOENT not found.
 */
FPL_MUST_CHECK int cgroup_memory_find(char *cgroups, char *mountinfo,
				      struct cgroup_memory_place *ret);

/* The folder of the process's cgroup there, or the mount's if the cgroup is not below it. The
 * caller frees it; NULL: no memory. */
char *cgroup_memory_folder(const struct cgroup_memory_place *place);
