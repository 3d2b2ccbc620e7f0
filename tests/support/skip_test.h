/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that cannot run here. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <unistd.h>

/* End a test that cannot run, with what is missing: printf-like. tools/test.sh lists the reasons.
 */
#define skip_test(...)                      \
	do {                                \
		print_message("SKIP: ");    \
		print_message(__VA_ARGS__); \
		print_message("\n");        \
		skip();                     \
	} while (0)

/* The rest of a test is for root alone. */
static inline void need_root(void)
{
	if (geteuid() != 0)
		skip_test("not root");
}
