/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "base/cursor.h"

static void uleb_reads_what_fits_64_bits(void **state)
{
	static const struct {
		const char *what;
		const char *bytes;
		size_t size;
		uint64_t want;
		bool bad;
	} cases[] = {
		{ "one byte", "\x7f", 1, 127, false },
		{ "two bytes", "\xe5\x0e", 2, 1893, false },
		{ "padded with zeros", "\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 12, 1,
		  false },
		{ "the largest", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX,
		  false },
		{ "65 bits", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x03", 10, 0, true },
		{ "a bit beyond the padding", "\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, 0,
		  true },
		{ "cut", "\x80", 1, 0, true },
		{ "empty", "", 0, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cursor c = cursor_make((const uint8_t *)cases[i].bytes, cases[i].size);
		uint64_t got = cursor_uleb(&c);

		if (got != cases[i].want || c.bad != cases[i].bad || cursor_left(&c) != 0)
			fail_msg("%s: got %#lx, bad %d", cases[i].what, (unsigned long)got, c.bad);
	}
}

static void sleb_extends_the_sign(void **state)
{
	static const struct {
		const char *what;
		const char *bytes;
		size_t size;
		int64_t want;
		bool bad;
	} cases[] = {
		{ "-1", "\x7f", 1, -1, false },
		{ "63", "\x3f", 1, 63, false },
		{ "-64", "\x40", 1, -64, false },
		{ "64", "\xc0\x00", 2, 64, false },
		{ "-123456", "\xc0\xbb\x78", 3, -123456, false },
		{ "the smallest", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, INT64_MIN,
		  false },
		{ "the largest", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", 10, INT64_MAX, false },
		{ "-2, padded", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11, -2, false },
		{ "65 bits", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 10, 0, true },
		{ "cut", "\xff\xff", 2, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cursor c = cursor_make((const uint8_t *)cases[i].bytes, cases[i].size);
		int64_t got = cursor_sleb(&c);

		if (got != cases[i].want || c.bad != cases[i].bad)
			fail_msg("%s: got %ld, bad %d", cases[i].what, (long)got, c.bad);
	}
}

static void a_failure_is_sticky(void **state)
{
	const uint8_t bytes[] = { 1, 2, 3, 4, 5 };
	struct cursor c = cursor_make(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_u16(&c), 0x0201);
	assert_int_equal(cursor_u32(&c), 0); /* three bytes are left */
	assert_true(c.bad);
	assert_int_equal(cursor_u8(&c), 0);
	assert_null(cursor_skip(&c, 1));
	assert_true(c.bad);
}

static void text_needs_its_nul_within_the_limit(void **state)
{
	const uint8_t bytes[] = { 'z', 'R', 0, 'x' };
	struct cursor c = cursor_make(bytes, sizeof(bytes));

	(void)state;
	assert_string_equal(cursor_text(&c, 3), "zR");
	assert_int_equal(cursor_left(&c), 1);
	assert_null(cursor_text(&c, 64));
	assert_true(c.bad);
	c = cursor_make(bytes, sizeof(bytes));
	assert_null(cursor_text(&c, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uleb_reads_what_fits_64_bits),
		cmocka_unit_test(sleb_extends_the_sign),
		cmocka_unit_test(a_failure_is_sticky),
		cmocka_unit_test(text_needs_its_nul_within_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
