/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "symbolize/kernel_names.h"

struct kernel {
	const char *text; /* what it says; NULL: it cannot be asked */
	size_t nr_asked;
};

static int ask(void *ctx, uint64_t addr, char *ret, size_t size)
{
	struct kernel *kernel = ctx;

	(void)addr;
	kernel->nr_asked++;
	if (!kernel->text)
		return -EPERM;
	snprintf(ret, size, "%s", kernel->text);
	return 0;
}

#define ADDR 0xffffffff81000100

static void what_the_kernel_says_is_read(void **state)
{
	static const struct {
		const char *what, *text;
		const char *name; /* NULL: none */
		const char *module;
		uint64_t start;
	} cases[] = {
		{ "function", "vfs_read+0x20/0x80", "vfs_read", NULL, ADDR - 0x20 },
		{ "its first byte", "vfs_read+0x0/0x1", "vfs_read", NULL, ADDR },
		{ "of a module", "ext4_read+0x4/0x10 [ext4]", "ext4_read", "ext4", ADDR - 4 },
		{ "a part of a function", "f.part.0+0x4/0x10", "f.part.0", NULL, ADDR - 4 },
		{ "a program", "bpf_prog_6deef7357e7b4530_sample+0x8/0x100",
		  "bpf_prog_6deef7357e7b4530_sample", "bpf", ADDR - 8 },
		{ "a program without a name", "bpf_prog_6deef7357e7b4530+0x8/0x100",
		  "bpf_prog_6deef7357e7b4530", "bpf", ADDR - 8 },
		{ "no program", "bpf_prog_add+0x8/0x100", "bpf_prog_add", NULL, ADDR - 8 },
		{ "nearly one", "bpf_prog_6deef7357e7b4530x+0x8/0x100",
		  "bpf_prog_6deef7357e7b4530x", NULL, ADDR - 8 },
		{ "no name", "0xffffffff81000100", NULL, NULL, 0 },
		{ "nothing", "", NULL, NULL, 0 },
		{ "empty name", "+0x1/0x2", NULL, NULL, 0 },
		{ "no size", "f+0x1", NULL, NULL, 0 },
		{ "offset beyond its size", "f+0x2/0x2", NULL, NULL, 0 },
		{ "offset without digits", "f+0x/0x2", NULL, NULL, 0 },
		{ "size without digits", "f+0x1/0x", NULL, NULL, 0 },
		{ "offset above the address", "f+0xffffffff81000101/0xffffffff81000102", NULL, NULL,
		  0 },
		{ "end above all addresses", "f+0x0/0x8000000000000000", NULL, NULL, 0 },
		{ "cannot be asked", NULL, NULL, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kernel kernel = { .text = cases[i].text };
		struct kernel_name_source source = { .ask = ask, .ctx = &kernel };
		struct kernel_names names = { 0 };
		struct kallsyms_match match = { 0 };
		int found = kernel_names_find(&names, &source, ADDR, &match);

		if (found != (cases[i].text ? cases[i].name != NULL : -EPERM))
			fail_msg("%s: found %d", cases[i].what, found);
		if (found > 0 &&
		    (strcmp(match.name, cases[i].name) != 0 || match.start != cases[i].start ||
		     !match.module != !cases[i].module ||
		     (match.module && strcmp(match.module, cases[i].module) != 0)))
			fail_msg("%s: %s [%s] at 0x%llx", cases[i].what, match.name,
				 match.module ? match.module : "", (unsigned long long)match.start);
		kernel_names_fini(&names);
	}
}

static void a_function_is_asked_for_once(void **state)
{
	struct kernel kernel = { .text = "f+0x10/0x20" }; /* [ADDR - 16, ADDR + 16) */
	struct kernel_name_source source = { .ask = ask, .ctx = &kernel };
	struct kernel_names names = { 0 };
	struct kallsyms_match match;

	(void)state;
	assert_int_equal(kernel_names_find(&names, &source, ADDR, &match), 1);
	assert_int_equal(kernel_names_find(&names, &source, ADDR - 16, &match), 1);
	assert_int_equal(kernel_names_find(&names, &source, ADDR + 15, &match), 1);
	assert_int_equal(kernel.nr_asked, 1);
	assert_string_equal(match.name, "f");
	assert_true(match.start == ADDR - 16);
	kernel.text = "before+0xf/0x10"; /* [ADDR - 32, ADDR - 16) */
	assert_int_equal(kernel_names_find(&names, &source, ADDR - 17, &match), 1);
	assert_string_equal(match.name, "before");
	kernel.text = "behind+0x0/0x10";
	assert_int_equal(kernel_names_find(&names, &source, ADDR + 16, &match), 1);
	assert_string_equal(match.name, "behind");
	assert_int_equal(kernel.nr_asked, 3);
	assert_int_equal(kernel_names_find(&names, &source, ADDR - 17, &match), 1);
	assert_int_equal(kernel_names_find(&names, &source, ADDR + 31, &match), 1);
	assert_int_equal(kernel_names_find(&names, &source, ADDR, &match), 1);
	assert_string_equal(match.name, "f");
	assert_int_equal(kernel.nr_asked, 3);
	kernel_names_fini(&names);
}

static void what_was_told_stays_where_code_is_replaced(void **state)
{
	struct kernel kernel = { .text = "old+0x0/0x10" };
	struct kernel_name_source source = { .ask = ask, .ctx = &kernel };
	struct kernel_names names = { 0 };
	struct kallsyms_match match;

	(void)state;
	assert_int_equal(kernel_names_find(&names, &source, ADDR, &match), 1);
	assert_int_equal(kernel_names_find(&names, &source, ADDR + 0x40, &match), 1);
	kernel.text = "new+0x20/0x60"; /* reaches into both */
	assert_int_equal(kernel_names_find(&names, &source, ADDR + 0x20, &match), 1);
	assert_string_equal(match.name, "new");
	assert_true(match.start == ADDR);
	assert_int_equal(kernel_names_find(&names, &source, ADDR + 0x10, &match), 1);
	assert_string_equal(match.name, "new");
	assert_int_equal(kernel_names_find(&names, &source, ADDR + 0x3f, &match), 1);
	assert_string_equal(match.name, "new");
	assert_int_equal(kernel_names_find(&names, &source, ADDR + 0xf, &match), 1);
	assert_string_equal(match.name, "old");
	assert_int_equal(kernel_names_find(&names, &source, ADDR + 0x40, &match), 1);
	assert_string_equal(match.name, "old");
	assert_int_equal(kernel.nr_asked, 3);
	kernel_names_fini(&names);
}

static void without_a_source_there_is_no_name(void **state)
{
	struct kernel_name_source source = { 0 };
	struct kernel_names names = { 0 };
	struct kallsyms_match match;

	(void)state;
	assert_int_equal(kernel_names_find(&names, &source, ADDR, &match), -ENOSYS);
	kernel_names_fini(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_kernel_says_is_read),
		cmocka_unit_test(a_function_is_asked_for_once),
		cmocka_unit_test(what_was_told_stays_where_code_is_replaced),
		cmocka_unit_test(without_a_source_there_is_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
