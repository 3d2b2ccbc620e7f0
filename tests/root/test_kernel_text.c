/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's names for its code, asked address by address, equal those of /proc/kallsyms. */
#include "tests/unit/cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "naming/kernel_names.h"
#include "naming/kernel_text.h"
#include "symbolize/kallsyms.h"
#include "tests/support/skip_test.h"

#define PROBES 5000u

/* Addresses of code, a few bytes behind symbols spread over all of them. */
static size_t read_addrs(uint64_t *addrs, size_t nr_max)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[1024];
	size_t nr = 0, nr_lines = 0;

	assert_non_null(file);
	while (nr < nr_max && fgets(line, sizeof(line), file)) {
		char *pos;
		uint64_t addr = strtoull(line, &pos, 16);

		if (addr && *pos == ' ' && strchr("tTwW", pos[1]) && nr_lines++ % 16 == 0)
			addrs[nr++] = addr + nr_lines % 3;
	}
	fclose(file);
	return nr;
}

static void names_are_those_of_kallsyms(void **state)
{
	static uint64_t addrs[PROBES];
	struct kernel_text text = { 0 };
	struct kernel_names names = { .text = &text, .path = "/nonexistent" };
	struct kallsyms *syms = NULL;
	size_t nr = read_addrs(addrs, PROBES), nr_known = 0, nr_aliases = 0;

	(void)state;
	if (kallsyms_read("/proc/kallsyms", &syms, NULL))
		skip_test("/proc/kallsyms shows no addresses");
	assert_true(nr > 1000);
	for (size_t i = 0; i < nr; i++) {
		struct kallsyms_match told, want;

		if (!kallsyms_find(syms, addrs[i], &want) ||
		    !kernel_names_find(&names, addrs[i], &told))
			continue;
		nr_known++;
		nr_aliases += strcmp(told.name, want.name) != 0;
		if (told.start != want.start)
			fail_msg("0x%llx: %s at 0x%llx, wanted %s at 0x%llx",
				 (unsigned long long)addrs[i], told.name,
				 (unsigned long long)told.start, want.name,
				 (unsigned long long)want.start);
		assert_int_equal(!told.module, !want.module);
		if (told.module)
			assert_string_equal(told.module, want.module);
	}
	print_message("%zu of %zu known, %zu by another of their names\n", nr_known, nr,
		      nr_aliases);
	/* code that is discarded after the boot has lines of its own, but no names any more */
	assert_true(nr_known > nr * 8 / 10);
	assert_true(nr_aliases < nr / 20);
	kernel_names_fini(&names);
	kernel_text_fini(&text);
	kallsyms_destroy(syms);
}

/* A symbol's name gives its address, and the other way round. */
static void symbols_are_where_their_names_say(void **state)
{
	struct kernel_text text = { 0 };
	struct kernel_names names = { .text = &text, .path = "/nonexistent" };
	struct kallsyms_match match;
	uint64_t addr, start, end;

	(void)state;
	assert_int_equal(kernel_text_find(&text, "schedule", &addr), 0);
	assert_true(kernel_names_find(&names, addr, &match));
	assert_string_equal(match.name, "schedule");
	assert_int_equal(match.start, addr);
	assert_int_equal(kernel_text_find(&text, "no_such_symbol", &start), -ENOENT);
	assert_true(kernel_names_is_scheduler(&names, addr));
	assert_int_equal(kernel_text_find(&text, "__sched_text_start", &start), 0);
	assert_int_equal(kernel_text_find(&text, "__sched_text_end", &end), 0);
	assert_true(kernel_names_is_scheduler(&names, start));
	assert_false(kernel_names_is_scheduler(&names, start - 1));
	assert_false(kernel_names_is_scheduler(&names, end));
	kernel_names_fini(&names);
	kernel_text_fini(&text);
	/* where the kernel cannot be asked */
	assert_false(kernel_names_is_scheduler(&(struct kernel_names){ .nr = 0 }, addr));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_kallsyms),
		cmocka_unit_test(symbols_are_where_their_names_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
