/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/demangle.h"

static void mangled_names_become_readable(void **state)
{
	static const struct {
		const char *mangled, *want; /* NULL: as it stands */
	} cases[] = {
		{ "_ZN3foo3barEi", "foo::bar(int)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZN3fooC1Ev", "foo::foo()" },
		{ "_ZN3fooC1Ev@plt", "foo::foo()@plt" },
		{ "_Zonk@plt", NULL },
		{ "_ZN3foo3barEi.part.0", "foo::bar(int) [clone .part.0]" },
		{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const" },
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar" },
		{ "_D3std5stdio__T7writelnTAyaZQnFNfQjZv",
		  "std.stdio.writeln!(immutable(char)[]).writeln(immutable(char)[])" },
		{ "_D8demangle4testFZv", "demangle.test()" },
		{ "_D8demangle4testFZv@plt", "demangle.test()@plt" },
		{ "_Dmain", "D main" },
		{ "_D4main", NULL },
		{ "_D4mai", NULL },
		{ "_Dynamic", NULL },
		{ "_DYNAMIC", NULL },
		{ "main", NULL },
		{ "", NULL },
		{ "_", NULL },
		{ "_Z", NULL },
		{ "_R", NULL },
		{ "_Zonk", NULL },
		{ "__libc_start_main", NULL },
		{ "_Rational", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *got = demangle_name(cases[i].mangled);

		if (!got != !cases[i].want || (got && strcmp(got, cases[i].want) != 0))
			fail_msg("%s: got %s", cases[i].mangled, got ? got : "nothing");
	}
}

static void a_name_that_stands_for_gigabytes_is_given_up(void **state)
{
	/* Each parameter of D is a table of the one before it, by the one before it. */
	char d_name[256] = "_D1fFi";

	size_t at = strlen(d_name);

	for (size_t i = 0; i < 40; i++)
		at += (size_t)snprintf(d_name + at, sizeof(d_name) - at, i ? "HQeQf" : "HiQb");
	snprintf(d_name + at, sizeof(d_name) - at, "Zv");
	assert_null(demangle_name(d_name));

	/* Each template argument is the pair of the one before it: 2^n "int"s. */
	char name[1024] = "_Z1f1AIiiE";
	size_t len = strlen(name);

	(void)state;
	assert_null(demangle_name("_ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ"));
	/* S_ is A, S0_ is A<int,int>, then each S1_.. is A<last,last>. */
	for (unsigned int i = 0; i < 30; i++) {
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

		len += (size_t)snprintf(name + len, sizeof(name) - len, "S_IS%c_S%c_E", digits[i],
					digits[i]);
	}
	AUTO_FREE char *got = demangle_name(name);
	assert_null(got);
}

static void a_name_that_nests_too_deep_is_left_as_it_stands(void **state)
{
	enum { DEPTH = 15000 };
	AUTO_FREE char *name = calloc(1, DEPTH + 16);

	(void)state;
	assert_non_null(name);
	memcpy(name, "_Z1f", 4);
	memset(name + 4, 'P', DEPTH);
	name[4 + DEPTH] = 'i';
	assert_null(demangle_name(name));
	memcpy(name, "_RYYYY", 6);
	memset(name + 6, 'Y', DEPTH);
	assert_null(demangle_name(name));
}

static void a_name_longer_than_the_limit_is_left_as_it_stands(void **state)
{
	size_t size = DEMANGLE_IN_MAX + 100;
	AUTO_FREE char *name = malloc(size);
	int n;

	(void)state;
	assert_non_null(name);
	n = snprintf(name, size, "_Z%u", DEMANGLE_IN_MAX);
	memset(name + n, 'x', size - (size_t)n);
	name[size - 1] = '\0';
	assert_null(demangle_name(name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mangled_names_become_readable),
		cmocka_unit_test(a_name_that_stands_for_gigabytes_is_given_up),
		cmocka_unit_test(a_name_that_nests_too_deep_is_left_as_it_stands),
		cmocka_unit_test(a_name_longer_than_the_limit_is_left_as_it_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
