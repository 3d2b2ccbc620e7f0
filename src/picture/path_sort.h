/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of numbers in order, and how far neighbours go together: all that a tree of them needs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sort_path {
	const uint32_t *steps; /* borrowed [nr] */
	uint32_t nr;
	/* How many of its first steps have the ranks of those of the path before it; 0 of the
	 * first. */
	uint32_t shared;
	uint32_t idx; /* the caller's: which path it is */
};

/*
 * Sort @paths [nr] by the ranks of their steps, a path before those it is the beginning of; equal
 * ones keep their order. Step s has the rank @ranks[s]. Fills in shared. Cost:
 * O(nr log nr), and what neighbours share is compared once in a merge.
 */
void path_sort(struct sort_path *paths, size_t nr, const uint32_t *ranks);
