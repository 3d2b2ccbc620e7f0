/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "profile/pool.h"
#include "profile/space.h"
#include "unwind/table.h"

static void alloc_keeps_alignment_and_boundaries(void **state)
{
	/* of 64 units with a boundary every 16, of which @taken are gone at the front */
	static const struct {
		const char *what;
		uint32_t taken, nr, align, boundary;
		int want;
		uint32_t first;
	} cases[] = {
		{ "first fit", 3, 5, 1, 0, 0, 3 },
		{ "aligned", 3, 5, 8, 0, 0, 8 },
		{ "fits before the boundary", 3, 13, 1, 16, 0, 3 },
		{ "would cross it", 3, 14, 1, 16, 0, 16 },
		{ "exactly one boundary long", 3, 16, 1, 16, 0, 16 },
		{ "longer than a boundary", 3, 17, 1, 16, 0, 16 },
		{ "longer, at 0", 0, 40, 1, 16, 0, 0 },
		{ "all", 0, 64, 1, 16, 0, 0 },
		{ "too long", 0, 65, 1, 0, -ENOSPC, 0 },
		{ "too long from the next boundary", 1, 49, 1, 16, -ENOSPC, 0 },
		{ "the rest", 16, 48, 1, 16, 0, 16 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct space space;
		uint32_t first = 0;

		assert_int_equal(space_init(&space, 64), 0);
		if (cases[i].taken)
			assert_int_equal(space_alloc(&space, cases[i].taken, 1, 0, &first), 0);

		int code =
			space_alloc(&space, cases[i].nr, cases[i].align, cases[i].boundary, &first);

		if (code != cases[i].want || (!code && first != cases[i].first))
			fail_msg("%s: code %d, first %u", cases[i].what, code, first);
		space_fini(&space);
	}
}

static void freed_neighbours_become_one_gap(void **state)
{
	/* the order in which three neighbours are given back */
	static const unsigned orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					      { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct space space;
		uint32_t first[3];

		assert_int_equal(space_init(&space, 30), 0);
		for (unsigned j = 0; j < 3; j++)
			assert_int_equal(space_alloc(&space, 10, 1, 0, &first[j]), 0);
		assert_int_equal(space.free.nr, 0);
		assert_int_equal(space.in_use, 30);
		for (unsigned j = 0; j < 3; j++)
			assert_int_equal(space_free(&space, first[orders[i][j]], 10), 0);
		assert_int_equal(space.free.nr, 1);
		assert_int_equal(space.free.list[0].first, 0);
		assert_int_equal(space.free.list[0].nr, 30);
		assert_int_equal(space.in_use, 0);
		space_fini(&space);
	}
}

struct taken {
	uint32_t first, nr;
};

static void a_random_history_never_hands_out_a_unit_twice(void **state)
{
	uint8_t used[1024] = { 0 };
	struct taken taken[64];
	size_t nr_taken = 0;
	uint32_t seed = 99;
	struct space space;

	(void)state;
	assert_int_equal(space_init(&space, 1024), 0);
	for (unsigned step = 0; step < 20000; step++) {
		seed = seed * 1664525u + 1013904223u;

		uint32_t nr = 1 + (seed >> 10) % 90, first;

		if (nr_taken < ARRAY_SIZE(taken) && (seed >> 30) &&
		    !space_alloc(&space, nr, 1, 64, &first)) {
			if (nr > 64)
				assert_int_equal(first % 64, 0);
			else
				assert_int_equal(first / 64, (first + nr - 1) / 64);
			for (uint32_t u = first; u < first + nr; u++)
				assert_int_equal(used[u]++, 0);
			taken[nr_taken++] = (struct taken){ first, nr };
		} else if (nr_taken) {
			size_t victim = (seed >> 5) % nr_taken;
			struct taken t = taken[victim];

			assert_int_equal(space_free(&space, t.first, t.nr), 0);
			memset(used + t.first, 0, t.nr);
			taken[victim] = taken[--nr_taken];
		}

		uint32_t in_use = 0;

		for (size_t u = 0; u < sizeof(used); u++)
			in_use += used[u];
		assert_int_equal(space.in_use, in_use);
	}
	space_fini(&space);
}

/* Chunks in plain memory; makes none from number @limit on. */
struct fake_chunks {
	uint8_t *chunks[8];
	uint32_t limit;
};

static int make_chunk(void *ctx, uint32_t number, void **ret, struct fpl_err *err)
{
	struct fake_chunks *fake = ctx;

	if (number >= fake->limit)
		return fpl_fail(err, -ENOMEM, "no chunk %u", number);
	assert_null(fake->chunks[number]);
	fake->chunks[number] = calloc(1, FPL_CHUNK_SIZE);
	assert_non_null(fake->chunks[number]);
	*ret = fake->chunks[number];
	return 0;
}

/* A table whose image is @size bytes, each of them a function of its place and @salt. */
static struct table fake_table(uint32_t size, uint8_t salt)
{
	struct table table = { .image_bytes = size };

	table.nr_chunks = (size + FPL_CHUNK_SIZE - 1) / FPL_CHUNK_SIZE;
	table.chunks = calloc(table.nr_chunks, sizeof(*table.chunks));
	assert_non_null(table.chunks);
	for (size_t i = 0; i < table.nr_chunks; i++) {
		table.chunks[i] = calloc(1, FPL_CHUNK_SIZE);
		assert_non_null(table.chunks[i]);
	}
	for (uint32_t i = 0; i < size; i++)
		table.chunks[i >> FPL_CHUNK_LOG2][i % FPL_CHUNK_SIZE] =
			(uint8_t)(i * 7 + (i >> 11) + salt);
	return table;
}

static void fake_table_fini(struct table *table)
{
	for (size_t i = 0; i < table->nr_chunks; i++)
		free(table->chunks[i]);
	free(table->chunks);
}

static void check_image(const struct pool *pool, uint32_t first, const struct table *table)
{
	for (uint32_t i = 0; i < table->image_bytes; i++) {
		uint32_t at = first + i;
		const uint8_t *chunk = pool->chunks[at >> FPL_CHUNK_LOG2];

		if (chunk[at % FPL_CHUNK_SIZE] !=
		    table->chunks[i >> FPL_CHUNK_LOG2][i % FPL_CHUNK_SIZE])
			fail_msg("byte %u of the image at %u", i, first);
	}
}

static void pool_holds_images_as_the_lookup_wants_them(void **state)
{
	static const uint32_t sizes[] = { 1,	    100000, (1u << 20) - 64, (2u << 20) + 100, 300,
					  1u << 20, 5000 };
	struct fake_chunks fake = { .limit = 8 };
	struct table tables[ARRAY_SIZE(sizes)];
	uint32_t first[ARRAY_SIZE(sizes)], occupied[ARRAY_SIZE(sizes)];
	struct pool pool;

	(void)state;
	assert_int_equal(pool_init(&pool, 8u << 20, make_chunk, &fake, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		tables[i] = fake_table(sizes[i], (uint8_t)(i + 1));
		assert_int_equal(pool_add(&pool, &tables[i], &first[i], &occupied[i], NULL), 0);
		assert_int_equal(first[i] % POOL_UNIT, 0);
		if (sizes[i] > FPL_CHUNK_SIZE)
			assert_int_equal(first[i] % FPL_CHUNK_SIZE, 0);
		else
			assert_int_equal(first[i] >> FPL_CHUNK_LOG2,
					 (first[i] + sizes[i] - 1) >> FPL_CHUNK_LOG2);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_image(&pool, first[i], &tables[i]);
	assert_true(pool_used_bytes(&pool) <= pool_allocated_bytes(&pool));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		pool_remove(&pool, first[i], occupied[i]);
		fake_table_fini(&tables[i]);
	}
	assert_int_equal(pool_used_bytes(&pool), 0);
	pool_fini(&pool);
	for (size_t i = 0; i < ARRAY_SIZE(fake.chunks); i++)
		free(fake.chunks[i]);
}

static void pool_says_when_it_is_full(void **state)
{
	struct fake_chunks fake = { .limit = 8 };
	struct table big = fake_table((1u << 20) + 1, 1), small = fake_table(900000, 2);
	uint32_t first, size, other;
	struct pool pool;
	struct fpl_err err;

	(void)state;
	/* less than a chunk is a chunk */
	assert_int_equal(pool_init(&pool, 4096, make_chunk, &fake, NULL), 0);
	assert_int_equal(pool_add(&pool, &big, &first, &size, &err), -ENOSPC);
	assert_int_equal(pool_add(&pool, &small, &first, &size, NULL), 0);
	assert_int_equal(pool_add(&pool, &small, &other, &size, &err), -ENOSPC);
	pool_remove(&pool, first, size);
	assert_int_equal(pool_add(&pool, &small, &other, &size, NULL), 0);
	pool_fini(&pool);
	assert_int_equal(pool_init(&pool, 4ull << 30, make_chunk, &fake, &err), -EINVAL);
	fake_table_fini(&big);
	fake_table_fini(&small);
	free(fake.chunks[0]);
}

static void a_chunk_that_cannot_be_made_costs_nothing(void **state)
{
	struct fake_chunks fake = { .limit = 1 };
	struct table big = fake_table((1u << 20) + 1, 1), small = fake_table(100, 2);
	uint32_t first, size;
	struct pool pool;

	(void)state;
	assert_int_equal(pool_init(&pool, 4u << 20, make_chunk, &fake, NULL), 0);
	assert_int_equal(pool_add(&pool, &big, &first, &size, NULL), -ENOMEM);
	assert_int_equal(pool_used_bytes(&pool), 0);
	assert_int_equal(pool_add(&pool, &small, &first, &size, NULL), 0);
	check_image(&pool, first, &small);
	pool_fini(&pool);
	fake_table_fini(&big);
	fake_table_fini(&small);
	free(fake.chunks[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alloc_keeps_alignment_and_boundaries),
		cmocka_unit_test(freed_neighbours_become_one_gap),
		cmocka_unit_test(a_random_history_never_hands_out_a_unit_twice),
		cmocka_unit_test(pool_holds_images_as_the_lookup_wants_them),
		cmocka_unit_test(pool_says_when_it_is_full),
		cmocka_unit_test(a_chunk_that_cannot_be_made_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
