/* SPDX-License-Identifier: Apache-2.0 */
/* Texts and their ids: equal texts have equal ids, over others too. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

enum { MANY = 100000 };

static uint32_t id_of(struct strings *strings, const char *text)
{
	uint32_t id;

	assert_int_equal(strings_intern(strings, text, &id), 0);
	assert_string_equal(strings_text(strings, id), text);
	return id;
}

static void thousands_have_ids_of_their_own(void **state)
{
	struct strings strings;
	char text[32];

	(void)state;
	strings_init(&strings);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < MANY; i++) {
			snprintf(text, sizeof(text), "text %u", i);
			assert_int_equal(id_of(&strings, text), i);
		}
		assert_int_equal(strings.nr, MANY);
		if (round == 1)
			strings_drop_table(&strings);
	}
	strings_fini(&strings);
}

static void long_texts_stand_among_short_ones(void **state)
{
	char *text = malloc(3 << 20);
	struct strings strings;

	(void)state;
	assert_non_null(text);
	strings_init(&strings);
	for (size_t length = 1; length < 3 << 20; length *= 3) {
		memset(text, 'x', length);
		text[length] = '\0';
		assert_int_equal(id_of(&strings, text), id_of(&strings, text));
		assert_int_equal(id_of(&strings, ""), 1);
	}
	strings_fini(&strings);
	free(text);
}

static void texts_of_the_base_have_their_ids(void **state)
{
	struct strings base, over;
	uint32_t a, b;

	(void)state;
	strings_init(&base);
	a = id_of(&base, "a");
	b = id_of(&base, "b");
	strings_init_over(&over, &base);
	assert_string_equal(strings_text(&over, b), "b");
	assert_int_equal(id_of(&over, "c"), 2);
	assert_int_equal(id_of(&over, "b"), b);
	/* what the base is given later has another id here */
	assert_int_equal(id_of(&base, "d"), 2);
	assert_int_equal(id_of(&over, "d"), 3);
	assert_int_equal(id_of(&over, "a"), a);
	assert_string_equal(strings_text(&over, 2), "c");
	strings_fini(&over);
	assert_int_equal(id_of(&base, "a"), a);
	strings_fini(&base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thousands_have_ids_of_their_own),
		cmocka_unit_test(long_texts_stand_among_short_ones),
		cmocka_unit_test(texts_of_the_base_have_their_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
