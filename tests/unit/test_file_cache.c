/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdlib.h>

#include "base/clock.h"
#include "parse/file_cache.h"
#include "tests/support/skip_test.h"
#include "tests/support/skipped_clock.h"

static struct parse_key key_of(uint8_t name)
{
	return (struct parse_key){ .bytes = { { name } } };
}

/* Something of @bytes. */
static struct reading *make(uint8_t name, size_t bytes)
{
	struct reading *reading = calloc(1, sizeof(*reading));

	assert_non_null(reading);
	reading->key = key_of(name);
	reading->functions.ranges = malloc(bytes + 1);
	assert_non_null(reading->functions.ranges);
	return reading;
}

static struct reading *take(struct file_cache *cache, uint8_t name)
{
	const struct parse_key key = key_of(name);

	return file_cache_take(cache, &key);
}

static void empty(struct file_cache *cache)
{
	for (size_t i = 0; i < FILE_CACHE_FILES; i++)
		reading_destroy(cache->readings[i]);
}

static void stored_file_is_taken_once(void **state)
{
	struct file_cache cache = { .nr_files = FILE_CACHE_FILES };
	struct reading *one = make(1, 0), *two = make(2, 0);

	(void)state;
	assert_null(take(&cache, 1));
	file_cache_put(&cache, one, 0);
	file_cache_put(&cache, two, 0);
	assert_ptr_equal(take(&cache, 1), one);
	assert_null(take(&cache, 1));
	assert_ptr_equal(take(&cache, 2), two);
	reading_destroy(one);
	reading_destroy(two);
}

static void a_key_is_of_all_three_files(void **state)
{
	struct file_cache cache = { .nr_files = FILE_CACHE_FILES };
	struct parse_key other = key_of(1);

	(void)state;
	file_cache_put(&cache, make(1, 0), 0);
	other.bytes[2][NAME_KEY_SIZE - 1] = 1;
	assert_null(file_cache_take(&cache, &other));
	empty(&cache);
}

static void least_recently_used_file_is_dropped_over_the_count(void **state)
{
	struct file_cache cache = { .nr_files = FILE_CACHE_FILES };
	struct reading *first;

	(void)state;
	for (unsigned int i = 0; i < FILE_CACHE_FILES; i++)
		file_cache_put(&cache, make((uint8_t)i, 0), 0);
	first = take(&cache, 0);
	assert_non_null(first);
	file_cache_put(&cache, first, 0);
	file_cache_put(&cache, make(FILE_CACHE_FILES, 0), 0);
	assert_null(take(&cache, 1));
	first = take(&cache, 0);
	assert_non_null(first);
	reading_destroy(first);
	empty(&cache);
}

static void it_holds_no_more_than_it_may(void **state)
{
	static const size_t few[] = { 0, 1, 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
		struct file_cache cache = { .nr_files = few[i] };
		size_t nr = 0;

		for (uint8_t name = 0; name < 8; name++)
			file_cache_put(&cache, make(name, 0), 0);
		for (uint8_t name = 0; name < 8; name++) {
			struct reading *reading = take(&cache, name);

			nr += reading != NULL;
			reading_destroy(reading);
		}
		assert_int_equal(nr, few[i]);
	}
}

static void largest_file_is_dropped_over_the_memory(void **state)
{
	static const size_t small = FILE_CACHE_BYTES / 4, large = FILE_CACHE_BYTES / 2;
	struct file_cache cache = { .nr_files = FILE_CACHE_FILES };
	struct reading *found;

	(void)state;
	if (!file_cache_heap_bytes())
		skip_test("with sanitizers the heap does not say how large it is");
	file_cache_put(&cache, make(1, small), small);
	file_cache_put(&cache, make(2, large), large);
	file_cache_put(&cache, make(3, small), small);
	assert_null(take(&cache, 2));
	found = take(&cache, 1);
	assert_non_null(found);
	reading_destroy(found);
	/* one that is too much alone */
	file_cache_put(&cache, make(4, 2 * FILE_CACHE_BYTES), 2 * FILE_CACHE_BYTES);
	assert_null(take(&cache, 4));
	found = take(&cache, 3);
	assert_non_null(found);
	reading_destroy(found);
}

static void old_file_is_dropped_and_a_used_one_stays(void **state)
{
	struct file_cache cache = { .nr_files = FILE_CACHE_FILES };
	struct reading *used;

	(void)state;
	file_cache_put(&cache, make(1, 0), 0);
	file_cache_put(&cache, make(2, 0), 0);
	skipped_ns = FILE_CACHE_AGE_S / 2 * NS_PER_S;
	file_cache_put(&cache, take(&cache, 2), 0);
	file_cache_age(&cache);
	used = take(&cache, 1);
	assert_non_null(used);
	reading_destroy(used);
	file_cache_put(&cache, make(1, 0), 0);
	skipped_ns = FILE_CACHE_AGE_S * NS_PER_S;
	file_cache_put(&cache, take(&cache, 1), 0);
	skipped_ns = (FILE_CACHE_AGE_S + FILE_CACHE_AGE_S / 2 + 1) * NS_PER_S;
	file_cache_age(&cache);
	assert_null(take(&cache, 2));
	assert_false(file_cache_is_empty(&cache));
	used = take(&cache, 1);
	assert_non_null(used);
	assert_true(file_cache_is_empty(&cache));
	reading_destroy(used);
}

static void resting_worker_keeps_its_small_files(void **state)
{
	static const size_t small = FILE_CACHE_REST_BYTES / 8, large = FILE_CACHE_REST_BYTES;
	struct file_cache cache = { .nr_files = FILE_CACHE_FILES };
	struct reading *found;

	(void)state;
	if (!file_cache_heap_bytes())
		skip_test("with sanitizers the heap does not say how large it is");
	skipped_ns = 0;
	file_cache_put(&cache, make(1, small), small);
	file_cache_put(&cache, make(2, large), large);
	file_cache_age(&cache);
	found = take(&cache, 2);
	assert_non_null(found);
	file_cache_put(&cache, found, 0);
	file_cache_rest(&cache);
	assert_null(take(&cache, 2));
	found = take(&cache, 1);
	assert_non_null(found);
	reading_destroy(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_file_is_taken_once),
		cmocka_unit_test(a_key_is_of_all_three_files),
		cmocka_unit_test(least_recently_used_file_is_dropped_over_the_count),
		cmocka_unit_test(it_holds_no_more_than_it_may),
		cmocka_unit_test(largest_file_is_dropped_over_the_memory),
		cmocka_unit_test(old_file_is_dropped_and_a_used_one_stays),
		cmocka_unit_test(resting_worker_keeps_its_small_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
