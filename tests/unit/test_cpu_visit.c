/* SPDX-License-Identifier: Apache-2.0 */
/* A visit of all CPUs leaves the thread where it was allowed to run. */
#include "cmocka_all.h"

#include <sched.h>

#include "profile/cpu_visit.h"

static void a_visit_ends_where_the_thread_may_run(void **state)
{
	cpu_set_t before, one, after;
	size_t cpu = 0;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	/* false where it may not run on each CPU: then, too, it is back */
	(void)cpu_visit_all();
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));

	while (!CPU_ISSET(cpu, &before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	(void)cpu_visit_all();
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&one, &after));
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_visit_ends_where_the_thread_may_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
