/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "view/functions.h"
#include "view/sequences.h"

static void functions_differ_by_what_was_asked_for(void **state)
{
	static const struct shown_function keys[] = {
		{ .text = 7, .place = 1, .kind = FUNCTION_USER, .origin = 0 },
		{ .text = 7, .place = 2, .kind = FUNCTION_USER, .origin = 0 },
		{ .text = 7, .place = 1, .kind = FUNCTION_KERNEL, .origin = 0 },
		{ .text = 7, .place = 1, .kind = FUNCTION_USER, .origin = 3 },
		{ .text = 3, .place = 1, .kind = FUNCTION_USER, .origin = 0 },
		{ .text = 7, .place = 2, .kind = FUNCTION_USER, .origin = 0 },
		{ .text = 7, .place = 1, .kind = FUNCTION_USER, .origin = 0 },
	};
	static const struct {
		const char *what;
		enum functions_by by;
		uint32_t wanted[ARRAY_SIZE(keys)];
	} cases[] = {
		{ "place", FUNCTIONS_BY_PLACE, { 0, 1, 2, 3, 4, 1, 0 } },
		{ "name", FUNCTIONS_BY_NAME, { 0, 0, 1, 2, 3, 0, 0 } },
		{ "text", FUNCTIONS_BY_TEXT, { 0, 0, 0, 0, 1, 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(functions_fini) struct functions functions = { .by = cases[i].by };

		for (size_t j = 0; j < ARRAY_SIZE(keys); j++) {
			uint32_t got = must_functions_add(&functions, &keys[j]);

			if (got != cases[i].wanted[j])
				fail_msg("by %s, key %zu: %u, want %u", cases[i].what, j, got,
					 cases[i].wanted[j]);
		}
		/* the first of equals stays */
		assert_int_equal(functions.list[0].place, 1);
	}
}

static void many_functions_of_one_text_are_found(void **state)
{
	CLEANUP(functions_fini) struct functions functions = { .by = FUNCTIONS_BY_PLACE };

	(void)state;
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < 50000; i++)
			assert_int_equal(must_functions_add(&functions,
							    &(struct shown_function){ .place = i }),
					 i);
	assert_int_equal(functions.nr, 50000);
}

static void equal_sequences_are_one(void **state)
{
	static const uint32_t ids[] = { 1, 2, 3, 1, 2 };
	CLEANUP(sequences_fini) struct sequences sequences = { 0 };

	(void)state;
	assert_int_equal(must_sequences_add(&sequences, ids, 2, 1), 0);
	assert_int_equal(must_sequences_add(&sequences, ids, 3, 0), 1);
	assert_int_equal(must_sequences_add(&sequences, ids + 1, 2, 0), 2);
	assert_int_equal(must_sequences_add(&sequences, NULL, 0, 0), 3);
	assert_int_equal(must_sequences_add(&sequences, ids + 3, 2, 0), 0);
	assert_int_equal(must_sequences_add(&sequences, NULL, 0, 0), 3);
	assert_int_equal(sequences.nr, 4);
	assert_int_equal(sequences.ids.nr, 7);
	assert_memory_equal(sequence_ids(&sequences, 1), ids, sizeof(*ids) * 3);
	assert_int_equal(sequences.list[0].nr_labels, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_differ_by_what_was_asked_for),
		cmocka_unit_test(many_functions_of_one_text_are_found),
		cmocka_unit_test(equal_sequences_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
