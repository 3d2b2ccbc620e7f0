/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <locale.h>
#include <stdbool.h>
#include <string.h>

#include "base/width.h"

static void text_is_cut_by_columns(void **state)
{
	static const struct {
		const char *what, *text;
		size_t columns;
		const char *wanted;
		size_t taken;
	} cases[] = {
		{ "fits", "abc", 3, "abc", 3 },
		{ "too long", "abcd", 3, "abc", 3 },
		{ "no room", "abc", 0, "", 0 },
		{ "nothing", "", 3, "", 0 },
		{ "two columns", "\u6f22\u5b57", 4, "\u6f22\u5b57", 4 },
		{ "half a character", "\u6f22\u5b57", 3, "\u6f22", 2 },
		{ "one column, three bytes", "\u20acx", 2, "\u20acx", 2 },
		{ "none of its own", "a\u0301b", 3, "a?b", 3 },
		{ "writes backwards", "\u202eabc", 4, "?abc", 4 },
		{ "invalid",
		  "\xff"
		  "a",
		  2, "?a", 2 },
	};

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];
		size_t taken = width_fit(text, sizeof(text), cases[i].text, cases[i].columns);

		if (strcmp(text, cases[i].wanted) != 0 || taken != cases[i].taken)
			fail_msg("%s: '%s' takes %zu", cases[i].what, text, taken);
	}
	assert_int_equal(width_of("a\u6f22\u202e"), 4);
}

static void a_small_buffer_holds_whole_characters(void **state)
{
	char text[6];

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	assert_int_equal(width_fit(text, sizeof(text), "\u6f22\u5b57", 10), 2);
	assert_string_equal(text, "\u6f22");
	assert_int_equal(width_fit(text, 1, "abc", 10), 0);
	assert_string_equal(text, "");
	assert_int_equal(width_fit(NULL, 0, "abc", 10), 0);
}

static void characters_unknown_to_the_locale_are_not_shown(void **state)
{
	char text[16];

	(void)state;
	assert_non_null(setlocale(LC_CTYPE, "C"));
	assert_int_equal(width_fit(text, sizeof(text), "a\u20ac\u6f22", 10), 3);
	assert_string_equal(text, "a??");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_by_columns),
		cmocka_unit_test(a_small_buffer_holds_whole_characters),
		cmocka_unit_test(characters_unknown_to_the_locale_are_not_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
