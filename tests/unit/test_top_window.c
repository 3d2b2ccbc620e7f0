/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "top/window.h"

#define S 1000000000ull

static void add(struct window *window, uint64_t end_s, const uint64_t *counts, size_t nr)
{
	assert_int_equal(window_add(window, end_s * S, counts, nr), 0);
}

static void a_sample_counts_as_long_as_the_window(void **state)
{
	CLEANUP(window_fini) struct window window;

	(void)state;
	window_init(&window, 2 * S);
	add(&window, 1, (uint64_t[]){ 5 }, 1);
	assert_int_equal(window_count(&window, 0, false), 5);
	add(&window, 2, (uint64_t[]){ 8, 1 }, 2);
	assert_int_equal(window_count(&window, 0, false), 8);
	assert_int_equal(window_count(&window, 1, false), 1);
	assert_int_equal(window_length_ns(&window, false), 2 * S);
	add(&window, 3, (uint64_t[]){ 8, 1 }, 2);
	assert_int_equal(window_count(&window, 0, false), 3);
	add(&window, 4, (uint64_t[]){ 9, 1 }, 2);
	assert_int_equal(window_count(&window, 0, false), 1);
	assert_int_equal(window_count(&window, 1, false), 0);
	assert_int_equal(window_count(&window, 0, true), 9);
	assert_int_equal(window_length_ns(&window, true), 4 * S);
}

static void window_without_span_holds_the_last_look(void **state)
{
	CLEANUP(window_fini) struct window window;

	(void)state;
	window_init(&window, 0);
	add(&window, 1, (uint64_t[]){ 5, 2 }, 2);
	add(&window, 1, (uint64_t[]){ 5, 3 }, 2);
	assert_int_equal(window_count(&window, 0, false), 0);
	assert_int_equal(window_count(&window, 1, false), 1);
	assert_int_equal(window_length_ns(&window, false), 0);
}

static void slices_of_any_look_add_up_to_all_samples(void **state)
{
	CLEANUP(window_fini) struct window window;
	uint64_t counts[700] = { 0 }, shown = 0, counted = 0;
	uint32_t random = 1;

	(void)state;
	window_init(&window, 0);
	for (size_t look = 1; look <= 700; look++) {
		for (size_t i = 0; i < look; i++) {
			random = random * 1664525u + 1013904223u;
			counts[i] += random >> 30;
		}
		add(&window, look, counts, look);
		for (size_t i = 0; i < look; i++)
			shown += window_count(&window, i, false);
	}
	for (size_t i = 0; i < 700; i++) {
		counted += counts[i];
		assert_int_equal(window_count(&window, i, true), counts[i]);
	}
	assert_int_equal(shown, counted);
}

static void reset_forgets_counts(void **state)
{
	CLEANUP(window_fini) struct window window;

	(void)state;
	window_init(&window, 10 * S);
	window_reset(&window);
	add(&window, 1, (uint64_t[]){ 5 }, 1);
	window_reset(&window);
	assert_int_equal(window_count(&window, 0, false), 0);
	assert_int_equal(window_count(&window, 0, true), 0);
	assert_int_equal(window_count(&window, 7, true), 0);
	add(&window, 3, (uint64_t[]){ 6, 4 }, 2);
	assert_int_equal(window_count(&window, 0, false), 1);
	assert_int_equal(window_count(&window, 0, true), 1);
	assert_int_equal(window_count(&window, 1, true), 4);
	assert_int_equal(window_length_ns(&window, true), 2 * S);
	assert_int_equal(window_length_ns(&window, false), 2 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_counts_as_long_as_the_window),
		cmocka_unit_test(window_without_span_holds_the_last_look),
		cmocka_unit_test(slices_of_any_look_add_up_to_all_samples),
		cmocka_unit_test(reset_forgets_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
