/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted text in pictures: never markup, never unseen, never endless. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "picture/xml.h"
#include "view/measure.h"

static char *written(const char *text, size_t max_bytes, size_t columns)
{
	char *ret = NULL;
	size_t size;
	FILE *to = open_memstream(&ret, &size);

	assert_non_null(to);
	if (max_bytes)
		xml_put(to, text, max_bytes);
	else
		xml_put_columns(to, text, columns);
	assert_int_equal(fclose(to), 0);
	return ret;
}

static void invalid_text_is_escaped(void **state)
{
	static const struct {
		const char *text, *wanted;
	} cases[] = {
		{ "", "" },
		{ "main", "main" },
		{ "<script>alert(\"1\")</script> & 'x'",
		  "&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; 'x'" },
		{ "]]>", "]]&gt;" },
		{ "a;b", "a;b" },
		{ "a\\x", "a\\x5cx" },
		{ "\x1b[31m\n\t\x7f", "\\x1b[31m\\x0a\\x09\\x7f" },
		{ "\xff\xc0\x80\xed\xa0\x80", "\\xff\\xc0\\x80\\xed\\xa0\\x80" },
		{ "\xc2\x9b", "\\xc2\\x9b" }, /* CSI */
		{ "\xe2\x80\xae"
		  "evil",
		  "\\xe2\\x80\\xaeevil" }, /* right-to-left override */
		{ "\xe2\x81\xa6\xe2\x80\xa8\xef\xbb\xbf",
		  "\\xe2\\x81\\xa6\\xe2\\x80\\xa8\\xef\\xbb\\xbf" },
		{ "\xef\xbf\xbe\xef\xbf\xbf",
		  "\\xef\\xbf\\xbe\\xef\\xbf\\xbf" }, /* no characters */
		{ "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x94\xa5", "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x94\xa5" },
		{ "\xe6\xbc", "\\xe6\\xbc" }, /* cut off */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = written(cases[i].text, 1000, 0);

		assert_string_equal(text, cases[i].wanted);
	}
}

static void names_are_bounded(void **state)
{
	AUTO_FREE char *name = calloc(1, (1 << 20) + 1);
	AUTO_FREE char *text = NULL, *wide = NULL;

	(void)state;
	assert_non_null(name);
	memset(name, 'x', 1 << 20);
	text = written(name, 512, 0);
	assert_int_equal(strlen(text), 512 + strlen("[... 1,048,064 more bytes]"));
	assert_string_equal(text + 512, "[... 1,048,064 more bytes]");
	/* a character is never cut */
	memcpy(name, "a\xe6\xbc\xa2 b", 7);
	wide = written(name, 2, 0);
	assert_string_equal(wide, "a\xe6\xbc\xa2[... 2 more bytes]");
}

static void long_text_ends_in_dots(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *wanted;
	} cases[] = {
		{ "main", 4, "main" },
		{ "main", 3, "m.." },
		{ "main", 2, ".." },
		{ "a<b>c", 5, "a&lt;b&gt;c" },
		{ "a<b>c", 4, "a&lt;.." },
		{ "\n", 4, "\\x0a" },
		{ "a\nb", 5, "a.." }, /* an escape is not cut */
		{ "\xe6\xbc\xa2\xe6\xbc\xa2", 4, "\xe6\xbc\xa2\xe6\xbc\xa2" },
		{ "\xe6\xbc\xa2\xe6\xbc\xa2", 3, ".." },
		{ "", 3, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *text = written(cases[i].text, 0, cases[i].columns);

		assert_string_equal(text, cases[i].wanted);
	}
	assert_int_equal(xml_columns("a\n\xe6\xbc\xa2", 100), 7);
	assert_int_equal(xml_columns("main", 3), 3);
	assert_true(xml_is_ascii("a\n\xff", 100)); /* both are escaped */
	assert_false(xml_is_ascii("a\xe6\xbc\xa2", 2));
	assert_true(xml_is_ascii("ab\xe6\xbc\xa2", 2));
}

static void numbers_have_separators(void **state)
{
	static const struct {
		uint64_t value;
		const char *wanted;
	} cases[] = {
		{ 0, "0" },
		{ 12, "12" },
		{ 999, "999" },
		{ 1000, "1,000" },
		{ 123456, "123,456" },
		{ 1234567, "1,234,567" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};
	char buf[NUMBER_GROUPED_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(number_grouped(cases[i].value, buf), cases[i].wanted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(invalid_text_is_escaped),
		cmocka_unit_test(names_are_bounded),
		cmocka_unit_test(long_text_ends_in_dots),
		cmocka_unit_test(numbers_have_separators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
