/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups of version 2, the one hierarchy a kernel has. A host may have version 1 hierarchies
 * beside it ("hybrid"), or only those: their cgroups do not count here.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct cgroup_mount {
	char path[PATH_MAX]; /* where version 2 is mounted; "": nowhere */
	bool has_v1;	     /* version 1 is mounted, too */
};

/* Undo \ooo, mountinfo's escape for blanks, newlines and backslashes, in place. */
void cgroup_path_decode(char *text);

/* Read the text of /proc/PID/mountinfo, whose lines are cut apart. The first mount that shows the
 * whole hierarchy counts, else the first of all. */
void cgroup_mount_parse(char *mountinfo, struct cgroup_mount *ret);

/* Find the mount for this process. Errors: those of reading /proc/self/mountinfo. */
FPL_MUST_CHECK int cgroup_mount_find(struct cgroup_mount *ret, struct fpl_err *err);

/*
 * Open the cgroup @path: a directory, or a path below the mount. *ret is a descriptor the caller
 * closes. Errors: -ESRCH no such cgroup; -EOPNOTSUPP version 2 is not mounted, or @path is of
 * version 1; others of open(2).
 */
FPL_MUST_CHECK int cgroup_open(const char *path, int *ret, struct fpl_err *err);
