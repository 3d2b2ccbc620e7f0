/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/mapset.h"

/* A mapping of object @object whose bias is start - vaddr. */
static struct fpl_mapping map_of(uint64_t start, uint64_t end, uint32_t object, uint64_t bias)
{
	return (struct fpl_mapping){
		.start = start, .end = end, .bias = bias, .object = object, .slot = (uint16_t)object
	};
}

static void add_replaces_overlapped_mappings(void **state)
{
	/* object 1 at [10, 20), object 2 at [30, 40), then object 3; as "start-end:object" */
	static const struct {
		const char *what;
		uint64_t start, end;
		const char *want;
	} cases[] = {
		{ "before all", 0, 5, "0-5:3 10-20:1 30-40:2" },
		{ "touching from below", 5, 10, "5-10:3 10-20:1 30-40:2" },
		{ "over the head of one", 5, 15, "5-15:3 15-20:1 30-40:2" },
		{ "the same range", 10, 20, "10-20:3 30-40:2" },
		{ "head, same start", 10, 15, "10-15:3 15-20:1 30-40:2" },
		{ "the middle", 12, 15, "10-12:1 12-15:3 15-20:1 30-40:2" },
		{ "tail", 15, 20, "10-15:1 15-20:3 30-40:2" },
		{ "over the tail", 15, 25, "10-15:1 15-25:3 30-40:2" },
		{ "the gap", 20, 30, "10-20:1 20-30:3 30-40:2" },
		{ "both halves", 15, 35, "10-15:1 15-35:3 35-40:2" },
		{ "the second whole", 25, 45, "10-20:1 25-45:3" },
		{ "all", 0, 100, "0-100:3" },
		{ "behind all", 50, 60, "10-20:1 30-40:2 50-60:3" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mapset *set = mapset_create();
		struct fpl_mapping one = map_of(10, 20, 1, 0), two = map_of(30, 40, 2, 0),
				   three = map_of(cases[i].start, cases[i].end, 3, 0);
		char got[256] = "";

		assert_non_null(set);
		assert_int_equal(mapset_add(&set, &one), 0);
		assert_int_equal(mapset_add(&set, &two), 0);
		assert_int_equal(mapset_add(&set, &three), 0);
		for (uint32_t j = 0; j < set->nr; j++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%llu-%llu:%u",
				 j ? " " : "", (unsigned long long)set->mappings[j].start,
				 (unsigned long long)set->mappings[j].end, set->mappings[j].object);
		if (strcmp(got, cases[i].want) != 0)
			fail_msg("%s: got %s", cases[i].what, got);
		mapset_put(set);
	}
}

static void add_joins_adjacent_mappings(void **state)
{
	static const struct {
		const char *what;
		struct fpl_mapping a, b;
		uint32_t want;
	} cases[] = {
		{ "same object and bias", { 10, 20, 5, 1, 1, 0 }, { 20, 30, 5, 1, 1, 0 }, 1 },
		{ "from below", { 20, 30, 5, 1, 1, 0 }, { 10, 20, 5, 1, 1, 0 }, 1 },
		{ "another bias", { 10, 20, 5, 1, 1, 0 }, { 20, 30, 6, 1, 1, 0 }, 2 },
		{ "another object", { 10, 20, 5, 1, 1, 0 }, { 20, 30, 5, 2, 2, 0 }, 2 },
		{ "a gap", { 10, 20, 5, 1, 1, 0 }, { 21, 30, 5, 1, 1, 0 }, 2 },
		{ "other flags", { 10, 20, 5, 1, 1, 0 }, { 20, 30, 5, 1, 1, 1 }, 2 },
		{ "anonymous", { 10, 20, 0, 0, 0, 4 }, { 20, 30, 0, 0, 0, 4 }, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mapset *set = mapset_create();

		assert_non_null(set);
		assert_int_equal(mapset_add(&set, &cases[i].a), 0);
		assert_int_equal(mapset_add(&set, &cases[i].b), 0);
		if (set->nr != cases[i].want)
			fail_msg("%s: %u mappings", cases[i].what, set->nr);
		mapset_put(set);
	}
}

static void add_fills_a_hole_and_joins_both_sides(void **state)
{
	struct mapset *set = mapset_create();
	struct fpl_mapping a = map_of(10, 20, 1, 0), b = map_of(30, 40, 1, 0),
			   c = map_of(20, 30, 1, 0);

	(void)state;
	assert_non_null(set);
	assert_int_equal(mapset_add(&set, &a), 0);
	assert_int_equal(mapset_add(&set, &b), 0);
	assert_int_equal(mapset_add(&set, &c), 0);
	assert_int_equal(set->nr, 1);
	assert_int_equal(set->mappings[0].start, 10);
	assert_int_equal(set->mappings[0].end, 40);
	mapset_put(set);
}

static void a_shared_set_is_copied_before_it_changes(void **state)
{
	struct mapset *set = mapset_create();
	struct fpl_mapping a = map_of(10, 20, 1, 0), b = map_of(10, 20, 2, 0);

	(void)state;
	assert_non_null(set);
	assert_int_equal(mapset_add(&set, &a), 0);

	struct mapset *held = mapset_get(set);

	assert_int_equal(mapset_add(&set, &b), 0);
	assert_ptr_not_equal(set, held);
	assert_int_equal(held->mappings[0].object, 1);
	assert_int_equal(set->mappings[0].object, 2);
	assert_int_equal(held->refs, 1);
	mapset_put(held);
	mapset_put(set);
}

static void find_knows_the_half_open_range(void **state)
{
	struct mapset *set = mapset_create();
	struct fpl_mapping a = map_of(10, 20, 1, 0), b = map_of(30, 40, 2, 0);

	(void)state;
	assert_non_null(set);
	assert_null(mapset_find(set, 0));
	assert_int_equal(mapset_add(&set, &a), 0);
	assert_int_equal(mapset_add(&set, &b), 0);
	assert_null(mapset_find(set, 9));
	assert_int_equal(mapset_find(set, 10)->object, 1);
	assert_int_equal(mapset_find(set, 19)->object, 1);
	assert_null(mapset_find(set, 20));
	assert_null(mapset_find(set, 29));
	assert_int_equal(mapset_find(set, 39)->object, 2);
	assert_null(mapset_find(set, 40));
	mapset_put(set);
}

static void add_refuses_nonsense_and_too_many(void **state)
{
	struct mapset *set = mapset_create();
	struct fpl_mapping empty = map_of(10, 10, 1, 0), turned = map_of(20, 10, 1, 0);
	int code = 0;

	(void)state;
	assert_non_null(set);
	assert_int_equal(mapset_add(&set, &empty), -EINVAL);
	assert_int_equal(mapset_add(&set, &turned), -EINVAL);
	assert_int_equal(set->nr, 0);
	for (uint64_t i = 0; !code && i < MAPSET_MAX + 10; i++) {
		struct fpl_mapping m = map_of(i * 10, i * 10 + 5, 1, i);

		code = mapset_add(&set, &m);
	}
	assert_int_equal(code, -E2BIG);
	assert_true(set->nr <= MAPSET_MAX);
	mapset_put(set);
}

/* Against the plainest model there is: an array that says per address which object is there. */
static void a_random_history_agrees_with_a_model(void **state)
{
	uint32_t model[256] = { 0 };
	struct mapset *set = mapset_create();
	uint32_t seed = 12345;

	(void)state;
	assert_non_null(set);
	for (unsigned step = 0; step < 3000; step++) {
		seed = seed * 1664525u + 1013904223u;

		uint64_t start = seed >> 8 & 255, len = 1 + (seed >> 16 & 31);
		uint64_t end = start + len < 256 ? start + len : 256;
		uint32_t object = 1 + (seed >> 24 & 7);
		struct fpl_mapping m = map_of(start, end, object, 0);

		assert_int_equal(mapset_add(&set, &m), 0);
		for (uint64_t a = start; a < end; a++)
			model[a] = object;
		for (uint64_t a = 0; a < 256; a++) {
			const struct fpl_mapping *found = mapset_find(set, a);

			if ((found ? found->object : 0) != model[a])
				fail_msg("step %u, address %llu", step, (unsigned long long)a);
		}
		for (uint32_t i = 1; i < set->nr; i++)
			assert_true(set->mappings[i - 1].end <= set->mappings[i].start);
	}
	mapset_put(set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add_replaces_overlapped_mappings),
		cmocka_unit_test(add_joins_adjacent_mappings),
		cmocka_unit_test(add_fills_a_hole_and_joins_both_sides),
		cmocka_unit_test(a_shared_set_is_copied_before_it_changes),
		cmocka_unit_test(find_knows_the_half_open_range),
		cmocka_unit_test(add_refuses_nonsense_and_too_many),
		cmocka_unit_test(a_random_history_agrees_with_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
