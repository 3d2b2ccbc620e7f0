/* SPDX-License-Identifier: Apache-2.0 */
/* How many snapshots a process may send for return addresses in no mapping. */
#include "cmocka_all.h"

#include "bpf/retry.h"

#define MS 1000000ull
#define S  (1000 * MS)

/* The number of @nr tries, one every @step_ns from @now_ns on, that may send. */
static unsigned allowed(struct fpl_proc *proc, __u32 version, __u64 now_ns, __u64 step_ns,
			unsigned nr)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < nr; i++)
		sum += (unsigned)may_retry(proc, version, now_ns + i * step_ns);
	return sum;
}

/* 500 samples at 1 kHz while a libc is looked up: each may be walked on by a snapshot. */
static void none_is_refused_while_a_file_is_looked_up(void **state)
{
	(void)state;
	struct fpl_proc proc = { 0 };

	assert_int_equal(allowed(&proc, 1, 5 * S, MS, 2000), 2000);
}

static void a_burst_is_bounded(void **state)
{
	(void)state;
	struct fpl_proc proc = { 0 };

	assert_int_equal(allowed(&proc, 1, 5 * S, 1000, 100000), RETRIES_AT_FIRST);
	/* still within the time, and one a second apart from the last */
	assert_true(may_retry(&proc, 1, 5 * S + 1000 * RETRIES_AT_FIRST + RETRY_NS));
}

static void a_version_has_its_number_however_slowly(void **state)
{
	(void)state;
	struct fpl_proc proc = { 0 };

	assert_int_equal(allowed(&proc, 1, 5 * S, 500 * MS, RETRIES_PER_VERSION),
			 RETRIES_PER_VERSION);
	/* then one in a second */
	assert_int_equal(allowed(&proc, 1, 100 * S, 10 * MS, 1000), 10);
}

static void a_new_version_begins_anew(void **state)
{
	(void)state;
	struct fpl_proc proc = { 0 };

	allowed(&proc, 1, 5 * S, 1000, 100000);
	assert_int_equal(allowed(&proc, 2, 6 * S, MS, 2000), 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_is_refused_while_a_file_is_looked_up),
		cmocka_unit_test(a_burst_is_bounded),
		cmocka_unit_test(a_version_has_its_number_however_slowly),
		cmocka_unit_test(a_new_version_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
