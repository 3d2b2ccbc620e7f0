/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "cli/parse.h"
#include "cli/time_point.h"

static void sizes_take_suffixes_and_refuse_the_rest(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t want;
	} cases[] = {
		{ "0", true, 0 },
		{ "4096", true, 4096 },
		{ "32K", true, 32768 },
		{ "32k", true, 32768 },
		{ "128M", true, 134217728 },
		{ "1G", true, 1073741824 },
		{ "4G", true, 4294967296 },
		{ "5G", false, 0 }, /* above the maximum of this test */
		{ "", false, 0 },
		{ "K", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "1KB", false, 0 },
		{ "1.5M", false, 0 },
		{ "0x10", false, 0 },
		{ "18446744073709551616", false, 0 },
		{ "18446744073709551615G", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t got = 77;
		bool ok = parse_size(cases[i].text, 0, 1ull << 32, &got);

		if (ok != cases[i].ok || got != (ok ? cases[i].want : 77))
			fail_msg("\"%s\": %d, %lu", cases[i].text, ok, (unsigned long)got);
	}
}

static void seconds_are_positive_and_bounded(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t want_ms;
	} cases[] = {
		{ "1", true, 1000 },	 { "0.25", true, 250 },	  { "1.5", true, 1500 },
		{ "0.001", true, 1 },	 { "10.", true, 10000 },  { "8640000", true, 8640000000 },
		{ "0", false, 0 },	 { "0.0", false, 0 },	  { "0.0001", false, 0 },
		{ "8640001", false, 0 }, { "-1", false, 0 },	  { "1e3", false, 0 },
		{ ".5", false, 0 },	 { "", false, 0 },	  { "1x", false, 0 },
		{ "nan", false, 0 },	 { "1.5.5", false, 0 },	  { "10s", true, 10000 },
		{ "500ms", true, 500 },	 { "1m", true, 60000 },	  { "0.5m", true, 30000 },
		{ "1.5s", true, 1500 },	 { "2h", true, 7200000 }, { "2400h", true, 8640000000 },
		{ "2401h", false, 0 },	 { "0ms", false, 0 },	  { "0.5ms", false, 0 },
		{ "1.5ms", false, 0 },	 { "1 s", false, 0 },	  { "1sm", false, 0 },
		{ "s", false, 0 },	 { "-1s", false, 0 },	  { "8640000000h", false, 0 },
		{ "1M", false, 0 },	 { "1.0005", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t got = 77;
		bool ok = parse_seconds(cases[i].text, &got);

		if (ok != cases[i].ok || got != (ok ? cases[i].want_ms : 77))
			fail_msg("\"%s\": %d, %lu", cases[i].text, ok, (unsigned long)got);
	}
}

static void numbers_stay_in_their_range(void **state)
{
	uint64_t got;

	(void)state;
	assert_true(parse_number("1", 1, 5, &got));
	assert_int_equal(got, 1);
	assert_true(parse_number("5", 1, 5, &got));
	assert_int_equal(got, 5);
	assert_false(parse_number("0", 1, 5, &got));
	assert_false(parse_number("6", 1, 5, &got));
	assert_false(parse_number("5x", 1, 5, &got));
	assert_false(parse_number("18446744073709551617", 1, 5, &got));
}

static void addresses_are_decimal_or_hex(void **state)
{
	uint64_t got;

	(void)state;
	assert_true(parse_address("0x1f", &got));
	assert_int_equal(got, 31);
	assert_true(parse_address("31", &got));
	assert_int_equal(got, 31);
	assert_true(parse_address("0xffffffffffffffff", &got));
	assert_true(got == UINT64_MAX);
	assert_false(parse_address("1f", &got));
	assert_false(parse_address("0x", &got));
	assert_false(parse_address("0x-1", &got));
	assert_false(parse_address("main", &got));
}

static void percentages_go_from_0_to_100(void **state)
{
	double got;

	(void)state;
	assert_true(parse_percent("0.5", &got));
	assert_true(got == 0.5);
	assert_true(parse_percent("100%", &got));
	assert_true(got == 100);
	assert_false(parse_percent("100.1", &got));
	assert_false(parse_percent("-1", &got));
	assert_false(parse_percent("", &got));
	assert_false(parse_percent("nan", &got));
	assert_true(parse_growth("+12.5%", &got));
	assert_true(got == 12.5);
	assert_true(parse_growth("300", &got));
	assert_false(parse_growth("-1%", &got));
	assert_false(parse_growth("++1%", &got));
	assert_false(parse_growth("+", &got));
	assert_false(parse_growth("inf", &got));
}

static void pid_lists_hold_each_pid_once(void **state)
{
	static const char *const bad[] = { "",	   ",",	  "1,",	 ",1",	 "1,,2",
					   "0",	   "-1",  "1;2", "1 , ", "2147483648",
					   "self", "1,x", " ",	 "1 x",	 "1\n,\n,2" };
	static const char *const same[] = { "1,20,300", "1 20 300", "1\n20\n300\n",
					    " 1, 20 ,\t300 ", "1,20 300 1" };
	pid_t *pids = NULL;
	size_t nr = 0;

	(void)state;
	assert_true(parse_pids("1,20,1,300", &pids, &nr));
	assert_int_equal(nr, 3);
	assert_int_equal(pids[0], 1);
	assert_int_equal(pids[1], 20);
	assert_int_equal(pids[2], 300);
	free(pids);
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		if (!parse_pids(same[i], &pids, &nr))
			fail_msg("\"%s\" is no list of pids", same[i]);
		if (nr != 3 || pids[0] != 1 || pids[1] != 20 || pids[2] != 300)
			fail_msg("\"%s\": other pids", same[i]);
		free(pids);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse_pids(bad[i], &pids, &nr))
			fail_msg("\"%s\" is a list of pids", bad[i]);
}

static void depths_are_one_number_or_two(void **state)
{
	static const struct {
		const char *text;
		uint32_t all, root; /* all 0: refused */
	} cases[] = {
		{ "1", 1, 0 },	       { "3", 3, 0 },	      { "4", 4, 1 },
		{ "1024", 1024, 256 }, { "2048", 2048, 512 }, { "768,256", 1024, 256 },
		{ "1,0", 1, 0 },       { "2048,0", 2048, 0 }, { "1,2047", 2048, 2047 },
		{ "2049", 0, 0 },      { "0", 0, 0 },	      { "0,5", 0, 0 },
		{ "1,2048", 0, 0 },    { "2048,1", 0, 0 },    { "5,", 0, 0 },
		{ ",5", 0, 0 },	       { "5,6,7", 0, 0 },     { "5, 6", 0, 0 },
		{ "5,-1", 0, 0 },      { "", 0, 0 },	      { "x", 0, 0 },
		{ "5x", 0, 0 },	       { "5,6x", 0, 0 },      { "1,18446744073709551616", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t all = 77, root = 88;
		bool taken = parse_depth(cases[i].text, &all, &root);

		if (taken != (cases[i].all != 0))
			fail_msg("%s", cases[i].text);
		assert_int_equal(all, taken ? cases[i].all : 77);
		assert_int_equal(root, taken ? cases[i].root : 88);
	}
}

/* 2026-07-01 12:00:00 UTC, 14:00 in the middle of Europe. */
#define NOW_S UINT64_C(1782907200)
#define S     UINT64_C(1000000000)

static void moments_are_local_and_the_last_ones(void **state)
{
	static const struct {
		const char *text;
		uint64_t want_s; /* 0: it is no moment */
	} cases[] = {
		{ "now", NOW_S },
		{ "-90s", NOW_S - 90 },
		{ "-5m", NOW_S - 300 },
		{ "-1h", NOW_S - 3600 },
		{ "-7d", NOW_S - 7 * 86400 },
		{ "-30", NOW_S - 30 },
		{ "@1795968762", 1795968762 },
		{ "13:59", NOW_S - 60 },
		{ "13:59:30", NOW_S - 30 },
		{ "14:00", NOW_S },
		{ "14:01", NOW_S + 60 - 86400 },
		{ "03:12", NOW_S - 10 * 3600 - 48 * 60 },
		{ "2026-07-01", NOW_S - 14 * 3600 },
		{ "2026-07-01T14:00", NOW_S },
		{ "2026-07-01 14:00:05", NOW_S + 5 },
		{ "2026-07-01T12:00Z", NOW_S },
		{ "20260701T120000Z", NOW_S },
		{ "2026-01-01T13:00", 1767268800 }, /* in winter */
		{ "", 0 },
		{ "-", 0 },
		{ "-0s", 0 },
		{ "-1w", 0 },
		{ "25:00", 0 },
		{ "2026-13-01", 0 },
		{ "1901-01-01", 0 },
		{ "03:12x", 0 },
		{ "@", 0 },
		{ "@-5", 0 },
		{ "@1.", 0 },
		{ "@1.x", 0 },
		{ "@.5", 0 },
		{ "@1.0000000000", 0 },
		{ "@99999999999999", 0 },
		{ "malloc", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t got = 77;
		bool ok = time_point_parse(cases[i].text, NOW_S * S, &got);

		if (ok != (cases[i].want_s != 0) || got != (ok ? cases[i].want_s * S : 77))
			fail_msg("%s: %llu", cases[i].text, (unsigned long long)got);
	}
}

static void times_have_two_ends_in_order(void **state)
{
	static const char *const wrong[] = { "-1h",	   "..",    "-1h..-2h", "now..now",
					     "-1h..-2h..", "..now", "x..now" };
	uint64_t from = 77, to = 77;

	(void)state;
	assert_true(time_range_parse("-25h..-24h", NOW_S * S, &from, &to));
	assert_int_equal(from, (NOW_S - 25 * 3600) * S);
	assert_int_equal(to, (NOW_S - 24 * 3600) * S);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		if (time_range_parse(wrong[i], NOW_S * S, &from, &to))
			fail_msg("%s", wrong[i]);
}

static void moments_are_written_as_they_are_read(void **state)
{
	char buf[TIME_TEXT_SIZE];
	uint64_t got;

	(void)state;
	assert_string_equal(time_text(NOW_S * S + 5, buf), "2026-07-01 14:00:00");
	assert_true(time_point_parse(buf, 0, &got));
	assert_int_equal(got, NOW_S * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(depths_are_one_number_or_two),
		cmocka_unit_test(sizes_take_suffixes_and_refuse_the_rest),
		cmocka_unit_test(seconds_are_positive_and_bounded),
		cmocka_unit_test(numbers_stay_in_their_range),
		cmocka_unit_test(addresses_are_decimal_or_hex),
		cmocka_unit_test(percentages_go_from_0_to_100),
		cmocka_unit_test(moments_are_local_and_the_last_ones),
		cmocka_unit_test(times_have_two_ends_in_order),
		cmocka_unit_test(moments_are_written_as_they_are_read),
		cmocka_unit_test(pid_lists_hold_each_pid_once),
	};

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
