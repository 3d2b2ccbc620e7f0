/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of cgroups (version 2) by the ids samples carry. Those there are at the start are read
 * from the mount, new ones are told by the side-band, and one that slipped through is looked up
 * while it exists; what is gone by then has no path.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Cgroups, and bytes of paths; beyond either a new one has no path. */
#define CGROUP_NAMES_MAX 65536u
#define CGROUP_BYTES_MAX (16u << 20)

struct cgroup_names;

struct cgroup_name {
	uint64_t id;
	char *path; /* owned: "/" and below; NULL: unknown */
};

/*
 * Read the hierarchy as it is. Without a mount of it, or a right to read it, the paths are not
 * known: said in one line. Errors: -ENOMEM. Cost: about 10 us per cgroup.
 */
FPL_MUST_CHECK int cgroup_names_create(struct cgroup_names **ret, struct fpl_err *err);
void cgroup_names_destroy(struct cgroup_names *names);

/* A cgroup was made: its path from the top of the hierarchy. */
void cgroup_names_add(struct cgroup_names *names, uint64_t id, const char *path);

/* A sample was taken in cgroup @id: look its path up if it is not known. Cost: once per id two
 * system calls. */
void cgroup_names_see(struct cgroup_names *names, uint64_t id);

/* Hand over the names of all ids that were seen, ascending by id. Errors: -ENOMEM. */
FPL_MUST_CHECK int cgroup_names_take(struct cgroup_names *names, struct cgroup_name **ret,
				     size_t *ret_nr);
