// SPDX-License-Identifier: Apache-2.0
/* The parts of the library of `fpless heap --preload`: which bytes it samples, and what it keeps.
 */
#include "tests/unit/cmocka_all.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "preload/pace.h"
#include "preload/strata.h"
#include "preload/told_set.h"

#define NR_ADDRS (3 * TOLD_SLOTS)

static uint32_t lcg(uint32_t *seed)
{
	return (*seed = *seed * 1664525u + 1013904223u) >> 8;
}

/* The weight of an allocation, as the library asks. */
static uint64_t weight_of(struct strata *strata, uint64_t size, uint64_t stride)
{
	if (size >= strata->left)
		return strata_take(strata, size, stride);
	strata->left -= size;
	return 0;
}

static void each_stratum_has_one_point(void **state)
{
	static const uint64_t strides[] = { 1, 2, 3, 7, 512, 4096, 524288, 1u << 30 };
	uint32_t random = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
		struct strata strata = { 0 };
		uint64_t bytes = 0, weight = 0, stride = strides[i];

		strata_begin(&strata, i + 1, stride);
		for (unsigned int k = 0; k < 100000; k++) {
			uint64_t size = lcg(&random) % (lcg(&random) % 16 ? 200 : 20 * stride);

			bytes += size;
			weight += weight_of(&strata, size, stride);
			/* the last stratum is open: its point may have come or not */
			assert_in_range(weight, bytes / stride * stride,
					(bytes + stride - 1) / stride * stride);
		}
	}
}

/* Small and large allocations by turns: each gets what its bytes deserve. */
static void no_size_is_preferred(void **state)
{
	enum { NR = 2000000, SMALL = 3, LARGE = 97, STRIDE = 1000 };
	struct strata strata = { 0 };
	uint64_t small = 0, large = 0;
	double sigma = sqrt(NR * (double)SMALL * STRIDE);

	(void)state;
	strata_begin(&strata, 12345, STRIDE);
	for (unsigned int i = 0; i < NR; i++) {
		small += weight_of(&strata, SMALL, STRIDE);
		large += weight_of(&strata, LARGE, STRIDE);
	}
	/* the seed is fixed: it passes or fails for good */
	assert_true(fabs((double)small - NR * (double)SMALL) < 5 * sigma);
	assert_true(fabs((double)large - NR * (double)LARGE) < 5 * sigma);
}

/* The same while strides change, which they do behind a sample. */
static void sums_hold_while_the_stride_changes(void **state)
{
	enum { NR = 4000000, SMALL = 3, LARGE = 97, LEAST = 256, MOST = 4096 };
	struct strata strata = { 0 };
	uint64_t small = 0, large = 0, bytes = 0, stride = LEAST;
	double sigma = sqrt(NR * (double)SMALL * MOST);
	uint32_t random = 1;

	(void)state;
	strata_begin(&strata, 12345, stride);
	for (unsigned int i = 0; i < NR; i++) {
		uint64_t size = i % 2 ? LARGE : SMALL;
		uint64_t weight = weight_of(&strata, size, stride);

		*(i % 2 ? &large : &small) += weight;
		bytes += size;
		assert_in_range(small + large + MOST, bytes, bytes + 2 * (uint64_t)MOST);
		if (weight)
			stride = (uint64_t)LEAST << lcg(&random) % 5;
	}
	assert_true(fabs((double)small - NR / 2 * (double)SMALL) < 5 * sigma);
	assert_true(fabs((double)large - NR / 2 * (double)LARGE) < 5 * sigma);
}

/* @nr looks at the clock, @ms apart, of a thread that may take a thousand samples a second. */
static uint64_t stride_after(struct pace *pace, unsigned int nr, uint64_t ms)
{
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t now_ns = pace->since_ns + ms * 1000000;

		for (unsigned int k = 1; k < PACE_SAMPLES; k++)
			assert_false(pace_count(pace));
		assert_true(pace_count(pace));
		pace_look(pace, 512, 8192, 1000, now_ns);
	}
	return pace->stride;
}

static void fewer_samples_are_taken_of_a_thread_with_many(void **state)
{
	struct pace pace;

	(void)state;
	pace_begin(&pace, 512, 1000);
	/* 16 samples are to take 16 ms, and at most four times as long with a stride that has grown
	 */
	assert_int_equal(stride_after(&pace, 1, 15), 1024);
	assert_int_equal(stride_after(&pace, 5, 16), 1024);
	assert_int_equal(stride_after(&pace, 5, 64), 1024);
	assert_int_equal(stride_after(&pace, 2, 0), 4096);
	assert_int_equal(stride_after(&pace, 9, 0), 8192);
	assert_int_equal(stride_after(&pace, 1, 65), 4096);
	assert_int_equal(stride_after(&pace, 9, 100000), 512);
}

static uintptr_t address(size_t idx)
{
	return 0x7f0000000010 + 16 * idx;
}

static void what_was_added_is_taken_once(void **state)
{
	struct told_set *set = calloc(1, sizeof(*set));
	struct told_slot slot;

	(void)state;
	assert_non_null(set);
	for (size_t i = 0; i < 1000; i++)
		told_set_add(set, address(i), i, 2 * i);
	for (size_t i = 0; i < 1000; i++) {
		assert_true(told_may_have(set, address(i)));
		assert_int_equal(told_set_take(set, address(i), &slot), TOLD_TAKEN);
		assert_int_equal(slot.size, i);
		assert_int_equal(slot.weight, 2 * i);
		assert_int_equal(told_set_take(set, address(i), &slot), TOLD_NOT);
	}
	for (size_t i = 0; i < 1000; i++)
		assert_false(told_may_have(set, address(i)));
	free(set);
}

/* Three times as many as there is room for: each is found, or may be one of those. */
static void none_is_lost_where_there_is_no_room(void **state)
{
	struct told_set *set = calloc(1, sizeof(*set));
	struct told_slot slot;
	size_t nr_taken = 0, nr_unknown = 0;

	(void)state;
	assert_non_null(set);
	for (size_t i = 0; i < NR_ADDRS; i++)
		told_set_add(set, address(i), i, i);
	for (size_t i = 0; i < NR_ADDRS; i++) {
		enum told_answer answer;

		assert_true(told_may_have(set, address(i)));
		answer = told_set_take(set, address(i), &slot);
		assert_int_not_equal(answer, TOLD_NOT);
		nr_taken += answer == TOLD_TAKEN;
		nr_unknown += answer == TOLD_UNKNOWN;
	}
	assert_int_equal(nr_taken + nr_unknown, NR_ADDRS);
	assert_in_range(nr_taken, 1, TOLD_SLOTS);
	free(set);
}

#define NR_THREADS 4u
static struct told_set *shared;

static void *add_and_take(void *arg)
{
	uintptr_t own = (uintptr_t)arg;
	struct told_slot slot;

	for (unsigned int round = 0; round < 200; round++) {
		for (size_t i = own; i < 4000; i += NR_THREADS)
			told_set_add(shared, address(i), i, round);
		for (size_t i = own; i < 4000; i += NR_THREADS)
			if (told_set_take(shared, address(i), &slot) != TOLD_TAKEN ||
			    slot.size != i || slot.weight != round)
				return (void *)1;
	}
	return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
	pthread_t threads[NR_THREADS];
	void *result;

	(void)state;
	shared = calloc(1, sizeof(*shared));
	assert_non_null(shared);
	for (uintptr_t i = 0; i < NR_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_take, (void *)i), 0);
	for (size_t i = 0; i < NR_THREADS; i++) {
		pthread_join(threads[i], &result);
		assert_null(result);
	}
	for (size_t i = 0; i < sizeof(shared->cells); i++)
		assert_int_equal(shared->cells[i], 0);
	for (size_t i = 0; i < TOLD_SLOTS; i++)
		assert_int_equal(shared->slots[i].addr, 0);
	free(shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stratum_has_one_point),
		cmocka_unit_test(no_size_is_preferred),
		cmocka_unit_test(sums_hold_while_the_stride_changes),
		cmocka_unit_test(fewer_samples_are_taken_of_a_thread_with_many),
		cmocka_unit_test(what_was_added_is_taken_once),
		cmocka_unit_test(none_is_lost_where_there_is_no_room),
		cmocka_unit_test(threads_do_not_disturb_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
