/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/table.h"

#define UNITS_PER_CHUNK (FPL_CHUNK_SIZE / POOL_UNIT)
#define CHUNKS_MAX	3072u /* pool addresses are 32 bits wide */

int pool_init(struct pool *pool, uint64_t max_bytes, pool_chunk_fn make, void *ctx,
	      struct fpl_err *err)
{
	uint64_t nr = max_bytes >> FPL_CHUNK_LOG2;

	if (nr > CHUNKS_MAX)
		return fpl_fail(err, -EINVAL, "table memory: more than %u MiB", CHUNKS_MAX);
	if (nr == 0)
		nr = 1;
	*pool = (struct pool){ .nr_chunks = (uint32_t)nr, .make = make, .ctx = ctx };
	pool->chunks = calloc(nr, sizeof(void *));
	if (!pool->chunks || space_init(&pool->space, pool->nr_chunks * UNITS_PER_CHUNK)) {
		free(pool->chunks);
		return fpl_fail(err, -ENOMEM, "table pool: out of memory");
	}
	return 0;
}

void pool_fini(struct pool *pool)
{
	free(pool->chunks);
	space_fini(&pool->space);
	*pool = (struct pool){ 0 };
}

/* Makes the chunks that [first, first + size) touches. */
static int make_chunks(struct pool *pool, uint64_t first, uint64_t size, struct fpl_err *err)
{
	for (uint64_t n = first >> FPL_CHUNK_LOG2; n <= (first + size - 1) >> FPL_CHUNK_LOG2; n++) {
		if (pool->chunks[n])
			continue;

		int code = pool->make(pool->ctx, (uint32_t)n, &pool->chunks[n], err);

		if (code)
			return code;
		pool->nr_made++;
	}
	return 0;
}

int pool_add(struct pool *pool, const struct table *table, uint32_t *ret_first, uint32_t *ret_size,
	     struct fpl_err *err)
{
	uint32_t size = table->image_bytes;
	uint32_t units = size / POOL_UNIT + (size % POOL_UNIT != 0), unit;

	if (!units)
		return fpl_fail(err, -EINVAL, "empty table");

	int code = space_alloc(&pool->space, units, 1, UNITS_PER_CHUNK, &unit);

	if (code)
		return fpl_fail(err, code, "no room for a table of %u bytes within --table-memory",
				size);

	uint32_t first = unit * POOL_UNIT;

	code = make_chunks(pool, first, size, err);
	if (code) {
		space_free(&pool->space, unit, units);
		return code;
	}
	/* a first chunk that is shared holds the whole image; else chunk n goes to chunk n */
	for (uint32_t done = 0, n = 0; done < size; n++) {
		uint32_t part = (uint32_t)table_chunk_bytes(table, n);
		uint32_t to = first + done;

		memcpy((uint8_t *)pool->chunks[to >> FPL_CHUNK_LOG2] + to % FPL_CHUNK_SIZE,
		       table->chunks[n], part);
		done += part;
	}
	*ret_first = first;
	*ret_size = units * POOL_UNIT;
	return 0;
}

void pool_remove(struct pool *pool, uint32_t first, uint32_t size)
{
	space_free(&pool->space, first / POOL_UNIT, size / POOL_UNIT);
}

uint64_t pool_max_bytes(const struct pool *pool)
{
	return (uint64_t)pool->nr_chunks << FPL_CHUNK_LOG2;
}

uint64_t pool_used_bytes(const struct pool *pool)
{
	return (uint64_t)pool->space.in_use * POOL_UNIT;
}

uint64_t pool_allocated_bytes(const struct pool *pool)
{
	return (uint64_t)pool->nr_made << FPL_CHUNK_LOG2;
}
