/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <string.h>
#include <sys/syscall.h>

#include "naming/call_names.h"

static void calls_have_the_names_of_the_kernel_s_headers(void **state)
{
	static const struct {
		uint64_t call;
		const char *name;
	} cases[] = {
		{ SYS_read, "read" },
		{ SYS_futex, "futex" },
		{ UINT64_C(1) << 32 | 240, "futex (32-bit)" },
		{ 99999, "call 99999" },
		{ UINT64_C(1) << 32 | 99999, "call 99999 (32-bit)" },
		{ UINT32_MAX, "call 4294967295" },
		{ UINT64_MAX, "[no call]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		call_names_find(cases[i].call, text, sizeof(text));
		assert_string_equal(text, cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_have_the_names_of_the_kernel_s_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
