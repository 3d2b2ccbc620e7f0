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
		{ "soft hyphen", "a\xc2\xad", "", "a\\xc2\\xad" },
		{ "no-break space", "\xc2\xa0", "", "\xc2\xa0" },
		{ "right-to-left override", "a\xe2\x80\xaetxt.exe", "", "a\\xe2\\x80\\xaetxt.exe" },
		{ "line separator", "\xe2\x80\xa8", "", "\\xe2\\x80\\xa8" },
		{ "dash, quotes and dots", "\xe2\x80\x93\xe2\x80\x9c\xe2\x80\xa6", "",
		  "\xe2\x80\x93\xe2\x80\x9c\xe2\x80\xa6" },
		{ "no character", "\xef\xbf\xbf", "", "\\xef\\xbf\\xbf" },
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

/* The UTF-8 of @code, below 0x10000 and no surrogate. Returns its length. */
static size_t encode(unsigned code, char *to)
{
	if (code < 0x80) {
		*to = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	to[0] = (char)(0xe0 | code >> 12);
	to[1] = (char)(0x80 | (code >> 6 & 0x3f));
	to[2] = (char)(0x80 | (code & 0x3f));
	return 3;
}

static void unseen_characters_turn_break_or_hide_text(void **state)
{
	static const struct {
		unsigned first, last;
	} unseen[] = {
		{ 0, 0x1f },	    { 0x7f, 0x9f },	{ 0xad, 0xad },	    { 0x61c, 0x61c },
		{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff },
		{ 0xfff9, 0xfffb }, { 0xfffe, 0xffff },
	};

	(void)state;
	for (unsigned code = 1; code < 0x10000; code++) {
		char text[4] = "";
		size_t size = encode(code, text);
		bool wanted = false;

		if (code >= 0xd800 && code < 0xe000)
			continue;
		assert_int_equal(text_utf8_length(text), size);
		for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
			wanted |= code >= unseen[i].first && code <= unseen[i].last;
		if (text_is_unseen(text, size) != wanted)
			fail_msg("U+%04X", code);
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
		cmocka_unit_test(unseen_characters_turn_break_or_hide_text),
		cmocka_unit_test(escape_cuts_before_a_character_that_does_not_fit),
		cmocka_unit_test(the_name_of_a_path_is_its_last_part),
		cmocka_unit_test(bytes_and_hexadecimal_digits_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
