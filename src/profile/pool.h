/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool the table images stand in: chunks of 1 MiB, each a BPF array mapped into this process,
 * made when first needed. The pool has one address space; images over a chunk begin at a chunk,
 * smaller ones do not cross one, as bpf/shared.h promises to the lookup.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/space.h"

struct table;

/* Make chunk @number, visible to the kernel side, and map it: FPL_CHUNK_SIZE writable bytes. */
typedef int (*pool_chunk_fn)(void *ctx, uint32_t number, void **ret, struct fpl_err *err);

struct pool {
	struct space space; /* in units of POOL_UNIT bytes */
	void **chunks;	    /* owned array [nr_chunks]; NULL: not made; stay mapped with the maps */
	uint32_t nr_chunks, nr_made;
	pool_chunk_fn make;
	void *ctx;
};

#define POOL_UNIT 64u /* a cache line: images begin at one */

/* @max_bytes is rounded down to whole chunks, at least one. Errors: -ENOMEM; -EINVAL over 3 GiB. */
FPL_MUST_CHECK int pool_init(struct pool *pool, uint64_t max_bytes, pool_chunk_fn make, void *ctx,
			     struct fpl_err *err);
void pool_fini(struct pool *pool);

/*
 * Copy the image of @table into the pool. *ret_first is its pool address, *ret_size what it
 * occupies, bytes. Errors: -ENOSPC no room (evict something); what make() returned.
 */
FPL_MUST_CHECK int pool_add(struct pool *pool, const struct table *table, uint32_t *ret_first,
			    uint32_t *ret_size, struct fpl_err *err);

/* Give the space back. No running BPF program may still read it. */
void pool_remove(struct pool *pool, uint32_t first, uint32_t size);

/* Capacity, of chunks made or not. */
uint64_t pool_max_bytes(const struct pool *pool);
uint64_t pool_used_bytes(const struct pool *pool);
uint64_t pool_allocated_bytes(const struct pool *pool);
