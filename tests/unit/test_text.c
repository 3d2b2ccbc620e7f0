/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static void escape_keeps_safe_text_and_hexes_the_rest(void **state)
{
	static const struct {
		const char *what;
		const char *src;
		const char *also;
		const char *want;
	} cases[] = {
		{ "empty", "", "", "" },
		{ "plain ASCII", "operator new(unsigned long)", "", "operator new(unsigned long)" },
		{ "semicolon only where asked", "a;b", "", "a;b" },
		{ "semicolon asked", "a;b", ";", "a\\x3bb" },
		{ "backslash", "a\\b", "", "a\\x5cb" },
		{ "newline and escape", "a\n\033[31m", "", "a\\x0a\\x1b[31m" },
		{ "DEL", "\x7f", "", "\\x7f" },
		{ "two-byte UTF-8", "\xc3\xa9", ";", "\xc3\xa9" },
		{ "four-byte UTF-8", "\xf0\x9f\x94\xa5", "", "\xf0\x9f\x94\xa5" },
		{ "C1 control", "\xc2\x9b", "", "\\xc2\\x9b" },
		{ "overlong slash", "\xc0\xaf", "", "\\xc0\\xaf" },
		{ "surrogate", "\xed\xa0\x80", "", "\\xed\\xa0\\x80" },
		{ "beyond U+10FFFF", "\xf4\x90\x80\x80", "", "\\xf4\\x90\\x80\\x80" },
		{ "cut sequence", "\xe2\x82", "", "\\xe2\\x82" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char got[128];
		size_t len = text_escape(got, sizeof(got), cases[i].src, cases[i].also);

		if (strcmp(got, cases[i].want) != 0 || len != strlen(cases[i].want))
			fail_msg("%s: got \"%s\", length %zu", cases[i].what, got, len);
	}
}

static void escape_cuts_before_a_character_that_does_not_fit(void **state)
{
	char got[6];

	(void)state;
	assert_int_equal(text_escape(got, sizeof(got), "ab\ncd", ""), 8);
	assert_string_equal(got, "ab");
	assert_int_equal(text_escape(NULL, 0, "ab\ncd", ""), 8);
}

static void the_name_of_a_path_is_its_last_part(void **state)
{
	(void)state;
	assert_string_equal(text_path_name("/usr/bin/app"), "app");
	assert_string_equal(text_path_name("app"), "app");
	assert_string_equal(text_path_name("/folder/"), "/folder/");
	assert_string_equal(text_path_name(""), "");
}

static void bytes_and_hexadecimal_digits_agree(void **state)
{
	(void)state;
	const uint8_t bytes[] = { 0x00, 0x9f, 0xa0, 0xff };
	char hex[2 * sizeof(bytes) + 1];

	text_hex(bytes, sizeof(bytes), hex);
	assert_string_equal(hex, "009fa0ff");
	text_hex(bytes, 0, hex);
	assert_string_equal(hex, "");
	assert_int_equal(text_hex_digit('9'), 9);
	assert_int_equal(text_hex_digit('f'), 15);
	assert_int_equal(text_hex_digit('F'), -1);
	assert_int_equal(text_hex_digit('g'), -1);
	assert_int_equal(text_hex_digit('\0'), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escape_keeps_safe_text_and_hexes_the_rest),
		cmocka_unit_test(escape_cuts_before_a_character_that_does_not_fit),
		cmocka_unit_test(the_name_of_a_path_is_its_last_part),
		cmocka_unit_test(bytes_and_hexadecimal_digits_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
