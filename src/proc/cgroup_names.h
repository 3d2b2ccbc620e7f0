/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of cgroups (version 2) by the ids in samples. Those present at the start are read from
 * the mount, the side-band reports new ones, and a missed one is looked up while it exists; a
 * cgroup that has gone by then has no path.
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
 * Read the hierarchy as it is. Without its mount, or the right to read it, the paths stay unknown,
 * with one log line. Errors: -ENOMEM. Cost: about 10 us per cgroup.
 */
FPL_MUST_CHECK int cgroup_names_create(struct cgroup_names **ret, struct fpl_err *err);
void cgroup_names_destroy(struct cgroup_names *names);

/* A cgroup was made; @path begins at the top of the hierarchy. */
void cgroup_names_add(struct cgroup_names *names, uint64_t id, const char *path);

/* A sample was taken in cgroup @id: look its path up unless known. Cost: two system calls once per
 * id, and in each part of a run in which it stays unknown. */
void cgroup_names_see(struct cgroup_names *names, uint64_t id);

/* Hand over the names of all ids seen, ascending by id. Errors: -ENOMEM. */
FPL_MUST_CHECK int cgroup_names_take(struct cgroup_names *names, struct cgroup_name **ret,
				     size_t *ret_nr);

/*
 * A part of the run is over (a window, decision 0032): copy the names of all ids seen in it,
 * ascending by id, and of others that were seen meanwhile. After 16,384 new cgroups those that have
 * gone are forgotten, so that a run of weeks has room for those to come. Errors: -ENOMEM: the part
 * goes on. Cost: O(ids known); 10 us per cgroup of the machine where some are forgotten.
 */
FPL_MUST_CHECK int cgroup_names_copy(struct cgroup_names *names, struct cgroup_name **ret,
				     size_t *ret_nr);
