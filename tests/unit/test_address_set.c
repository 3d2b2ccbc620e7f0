// SPDX-License-Identifier: Apache-2.0
/* The set of addresses that the judge counts different instructions by. */
#include "cmocka_all.h"

#include "judge/address_set.h"

static void an_address_counts_once(void **state)
{
	struct address_set set = { .nr = 0 };

	(void)state;
	for (uint64_t i = 1; i <= 5000; i++)
		assert_true(address_set_add(&set, i * 16));
	for (uint64_t i = 1; i <= 5000; i++)
		assert_false(address_set_add(&set, i * 16));
	assert_int_equal(set.nr, 5000);
	assert_int_equal(set.table.nr, set.nr);
	address_set_fini(&set);
	assert_int_equal(set.nr, 0);
	address_set_fini(&set);
}

static void addresses_are_bounded(void **state)
{
	struct address_set set = { .nr = ADDRESS_SET_MAX }, over = { .nr = ADDRESS_SET_MAX + 1 };

	(void)state;
	assert_false(address_set_add(&set, 1));
	assert_false(address_set_add(&over, 1));
	assert_null(set.list);
	assert_null(over.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_counts_once),
		cmocka_unit_test(addresses_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
