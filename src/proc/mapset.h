/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of one process: sorted, without overlap, counted references. A set with
 * one reference is changed in place; a shared one is copied first, so each holder of a reference (a
 * child after fork, a snapshot that waits for a table) keeps the state it saw.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"

/* Mappings of one process, as many as the kernel side can search and vm.max_map_count allows by
 * default; more are refused. */
#define MAPSET_MAX 65536u

struct mapset {
	uint32_t refs;
	uint32_t nr, capacity;
	struct fpl_mapping *mappings; /* owned [nr], ascending start, no overlap */
};

/* An empty set with one reference, or NULL. */
struct mapset *mapset_create(void);
struct mapset *mapset_get(struct mapset *set);
void mapset_put(struct mapset *set);

/*
 * Put @map into *@set: where it overlaps others, it replaces them (mmap over a mapping, and
 * mappings that went away without notice); neighbours that continue each other are joined. *@set
 * becomes a copy if others hold it.
 *
 * Errors: -EINVAL empty range; -E2BIG over MAPSET_MAX; -ENOMEM. The set is as before then.
 * Cost: O(nr).
 */
FPL_MUST_CHECK int mapset_add(struct mapset **set, const struct fpl_mapping *map);

/* Does anything of @map's addresses belong to another object (or to none)? Cost: O(log nr). */
bool mapset_has_other(const struct mapset *set, const struct fpl_mapping *map);

/* The mapping that contains @addr, or NULL. Cost: O(log nr). */
const struct fpl_mapping *mapset_find(const struct mapset *set, uint64_t addr);
/* The last mapping that begins at or below @addr, or NULL. Cost: O(log nr). */
const struct fpl_mapping *mapset_find_below(const struct mapset *set, uint64_t addr);
