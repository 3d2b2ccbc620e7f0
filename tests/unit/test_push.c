/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that fpless push reads, of fpless query and its own, and the names it gives. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "push/cursor.h"
#include "push/labels.h"
#include "push/profiles.h"

#define WHOLE                                                                          \
	"window 10 20 7\nprofile 3 10 20 5 500 cpu nanoseconds - cron.service\na\nb\n" \
	"profile 0 10 20 2 9 blocked count blocked x\n\nwindow 30 30 0\nend\n"

static void profiles_are_read_in_their_order(void **state)
{
	static const char text[] = WHOLE;
	struct profiles profiles = { text, text + sizeof(text) - 1 };
	struct profile item;

	(void)state;
	assert_int_equal(profiles_next(&profiles, &item), PROFILES_WINDOW);
	assert_int_equal(item.t0, 10);
	assert_int_equal(item.t1, 20);
	assert_int_equal(item.samples, 7);
	assert_int_equal(profiles_next(&profiles, &item), PROFILES_PROFILE);
	assert_int_equal(item.samples, 5);
	assert_int_equal(item.weight, 500);
	assert_string_equal(item.type, "cpu");
	assert_string_equal(item.unit, "nanoseconds");
	assert_string_equal(item.state, "-");
	assert_string_equal(item.name, "cron.service");
	assert_int_equal(item.size, 3);
	assert_memory_equal(item.bytes, "a\nb", 3);
	assert_int_equal(profiles_next(&profiles, &item), PROFILES_PROFILE);
	assert_int_equal(item.size, 0);
	assert_string_equal(item.state, "blocked");
	assert_int_equal(profiles_next(&profiles, &item), PROFILES_WINDOW);
	assert_int_equal(profiles_next(&profiles, &item), PROFILES_END);
}

static void what_is_cut_has_no_end(void **state)
{
	static const char text[] = WHOLE;

	(void)state;
	for (size_t size = 0; size < sizeof(text) - 1; size++) {
		/* behind it is nothing: a sanitizer sees what is read there */
		AUTO_FREE char *copy = must_malloc(size);
		struct profiles profiles = { copy, copy + size };
		enum profiles_item item;
		struct profile profile;

		memcpy(copy, text, size);
		while ((item = profiles_next(&profiles, &profile)) != PROFILES_CUT)
			if (item == PROFILES_END)
				fail_msg("an end after %zu bytes", size);
	}
}

static void lines_of_another_form_are_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"\n",
		"window\n",
		"window 1 2\n",
		"window 1 2 3 4\n",
		"window 2 1 3\n",
		"window -1 2 3\n",
		"window 1 2 99999999999999999999\n",
		"window  1 2 3\n",
		"profile 1 1 2 3 4 cpu ns - x\n",
		"profile 1 1 2 3 4 cpu ns - x\na",
		"profile 1 1 2 3 4 cpu ns - x\nab",
		"profile 18446744073709551615 1 2 3 4 cpu ns - x\na\n",
		"profile 1 1 2 3 4 cpu ns -\na\n",
		"end 1\n",
		"something\n",
	};
	char line[8192];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profiles profiles = { cases[i], cases[i] + strlen(cases[i]) };
		struct profile item;

		if (profiles_next(&profiles, &item) != PROFILES_CUT)
			fail_msg("'%s'", cases[i]);
	}
	/* words and lines of any length */
	for (int length = 500; length < 5000; length += 500) {
		struct profiles profiles = { line, line };
		struct profile item;

		profiles.end += snprintf(line, sizeof(line), "profile 1 1 2 3 4 cpu ns - %0*d\na\n",
					 length, 0);
		assert_int_equal(profiles_next(&profiles, &item), length < (int)PROFILES_WORD_SIZE
									  ? PROFILES_PROFILE
									  : PROFILES_CUT);
	}
}

static void cursors_are_read_whole_or_not(void **state)
{
	static const struct {
		const char *text;
		bool ok;
	} cases[] = {
		{ "fpless push 1\nurl http://x\nfrom 1\nto 2\ndone 3\n", true },
		{ "fpless push 1\nurl http://x\nfrom 1\nto 2\ndone all\n", true },
		{ "fpless push 1\nurl http://x\nfrom 1\nto 2\ndone 3\nx", false },
		{ "fpless push 1\nurl http://x\nfrom 1\nto 2\ndone 3", false },
		{ "fpless push 1\nurl http://x\nfrom all\nto 2\ndone 3\n", false },
		{ "fpless push 1\nurl http://x\nfrom -1\nto 2\ndone 3\n", false },
		{ "fpless push 1\nurl http://x\nfrom 1\ndone 3\n", false },
		{ "fpless push 1\nurl http://x\nfrom 111111111111111111111111111111\nto 2\ndone 3\n",
		  false },
		{ "fpless push 1\nurl http://xy\nfrom 1\nto 2\ndone 3\n", false },
		{ "fpless push 2\nurl http://x\nfrom 1\nto 2\ndone 3\n", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cursor cursor = { 7, 7, 7 };

		if (cursor_parse(cases[i].text, "http://x", &cursor) != cases[i].ok)
			fail_msg("%s", cases[i].text);
		assert_int_equal(cursor.t0, cases[i].ok ? 1 : 7);
		assert_int_equal(cursor.done, !cases[i].ok ? 7 : i ? CURSOR_ALL : 3);
	}
}

static void the_first_label_of_a_name_counts(void **state)
{
	const struct profile profile = { .name = "cron.service", .state = "blocked" };
	struct labels_given given;
	struct labels labels;

	(void)state;
	labels_given_init("zone=a=b\nhost=vm\nstate=x", &given);
	labels_of(&profile, &given, &labels);
	assert_int_equal(labels.nr, 4);
	assert_string_equal(labels.list[0].value, "a=b");
	assert_string_equal(labels.list[1].value, "vm");
	assert_string_equal(labels.list[2].value, "x");
	assert_string_equal(labels.list[3].name, "service_name");
	labels_given_fini(&given);
	labels_given_init("", &given);
	labels_of(&profile, &given, &labels);
	assert_string_equal(labels.list[labels.nr - 1].value, "blocked");
	labels_given_fini(&given);
}

static void names_have_letters_digits_and_underscores(void **state)
{
	static const char *const cases[][2] = { { "cpu", "cpu" },
						{ "sched:sched_switch", "sched_sched_switch" },
						{ "page-faults", "page_faults" },
						{ "9p", "_9p" },
						{ "\xc3\xa4", "__" } };
	char name[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		labels_make_name(cases[i][0], name, sizeof(name));
		assert_string_equal(name, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles_are_read_in_their_order),
		cmocka_unit_test(what_is_cut_has_no_end),
		cmocka_unit_test(lines_of_another_form_are_refused),
		cmocka_unit_test(cursors_are_read_whole_or_not),
		cmocka_unit_test(the_first_label_of_a_name_counts),
		cmocka_unit_test(names_have_letters_digits_and_underscores),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
