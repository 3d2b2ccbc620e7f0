/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/cpu_list.h"

/* The CPUs of @list with blanks between them. */
static const char *text_of(const struct cpu_list *list)
{
	static char text[128];
	int len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < list->nr; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len, i ? " %d" : "%d",
				list->cpus[i]);
	return text;
}

static void lists_are_read_in_order_and_nonsense_is_refused(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: -EINVAL */
	} cases[] = {
		{ "0", "0" },
		{ "0\n", "0" },
		{ "0-3\n", "0 1 2 3" },
		{ "3,0", "0 3" },
		{ "0,2-3", "0 2 3" },
		{ "2-3,0-2", "0 1 2 3" },
		{ "5-5", "5" },
		{ "8191", "8191" },
		{ "007", "7" },
		{ "", NULL },
		{ "\n", NULL },
		{ "0\n\n", NULL },
		{ "0\n1", NULL },
		{ ",", NULL },
		{ "0,", NULL },
		{ ",0", NULL },
		{ "0,,1", NULL },
		{ "-1", NULL },
		{ "1-", NULL },
		{ "3-2", NULL },
		{ "1-2-3", NULL },
		{ " 1", NULL },
		{ "1 ", NULL },
		{ "+1", NULL },
		{ "0x1", NULL },
		{ "8192", NULL },
		{ "0-8192", NULL },
		{ "4294967296", NULL },
		{ "99999999999999999999", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cpu_list list = { 0 };
		int code = cpu_list_parse(cases[i].text, &list);

		if (code != (cases[i].want ? 0 : -EINVAL) ||
		    strcmp(text_of(&list), cases[i].want ? cases[i].want : "") != 0)
			fail_msg("\"%s\": %d, \"%s\"", cases[i].text, code, text_of(&list));
		cpu_list_fini(&list);
	}
}

static void membership_is_that_of_the_list(void **state)
{
	struct cpu_list list, none = { 0 };

	(void)state;
	assert_int_equal(cpu_list_parse("0,2-4,9", &list), 0);
	for (int cpu = -1; cpu < 12; cpu++) {
		bool want = cpu == 0 || (cpu >= 2 && cpu <= 4) || cpu == 9;

		assert_int_equal(cpu_list_has(&list, cpu), want);
		assert_false(cpu_list_has(&none, cpu));
	}
	cpu_list_fini(&list);
	assert_int_equal(list.nr, 0);
}

static void this_machine_has_a_cpu_online(void **state)
{
	struct cpu_list list;

	(void)state;
	assert_int_equal(cpu_list_online(&list), 0);
	assert_in_range(list.nr, 1, CPU_LIST_MAX);
	cpu_list_fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read_in_order_and_nonsense_is_refused),
		cmocka_unit_test(membership_is_that_of_the_list),
		cmocka_unit_test(this_machine_has_a_cpu_online),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
