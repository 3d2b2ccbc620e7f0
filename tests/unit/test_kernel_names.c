/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "naming/kernel_names.h"
#include "naming/kernel_text.h"

#define ADDR 0xffffffff81000100

/* The kernel's answer; NULL: it cannot be asked. */
static const char *kernel_says;
static size_t nr_asked;

/* In place of the one that has a BPF program run. */
int kernel_text_ask(struct kernel_text *text, uint64_t addr, char *ret, size_t size)
{
	(void)text, (void)addr;
	nr_asked++;
	if (!kernel_says)
		return -EPERM;
	snprintf(ret, size, "%s", kernel_says);
	return 0;
}

/* Likewise: the first symbol is at ADDR, the second one 16 bytes behind it. */
int kernel_text_find(struct kernel_text *text, const char *name, uint64_t *ret)
{
	(void)text, (void)name;
	*ret = ADDR + 16 * nr_asked++;
	return kernel_says ? 0 : -EPERM;
}

static struct kernel_text kernel_text;

/* A symbol file that does not exist. */
#define NOTHING "/nonexistent"

static struct kernel_names names_of(const char *says, const char *path)
{
	kernel_says = says;
	nr_asked = 0;
	return (struct kernel_names){ .text = &kernel_text, .path = path };
}

static void kernel_answers_are_parsed(void **state)
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
		struct kernel_names names = names_of(cases[i].text, NOTHING);
		struct kallsyms_match match = { 0 };
		bool found = kernel_names_find(&names, ADDR, &match);

		if (found != (cases[i].name != NULL))
			fail_msg("%s: found %d", cases[i].what, found);
		if (found && (strcmp(match.name, cases[i].name) != 0 ||
			      match.start != cases[i].start || !match.module != !cases[i].module ||
			      (match.module && strcmp(match.module, cases[i].module) != 0)))
			fail_msg("%s: %s [%s] at 0x%llx", cases[i].what, match.name,
				 match.module ? match.module : "", (unsigned long long)match.start);
		kernel_names_fini(&names);
	}
}

static void a_function_is_asked_for_once(void **state)
{
	struct kernel_names names = names_of("f+0x10/0x20", NOTHING); /* [ADDR - 16, ADDR + 16) */
	struct kallsyms_match match;

	(void)state;
	assert_true(kernel_names_find(&names, ADDR, &match));
	assert_true(kernel_names_find(&names, ADDR - 16, &match));
	assert_true(kernel_names_find(&names, ADDR + 15, &match));
	assert_int_equal(nr_asked, 1);
	assert_string_equal(match.name, "f");
	assert_true(match.start == ADDR - 16);
	kernel_says = "before+0xf/0x10"; /* [ADDR - 32, ADDR - 16) */
	assert_true(kernel_names_find(&names, ADDR - 17, &match));
	assert_string_equal(match.name, "before");
	kernel_says = "behind+0x0/0x10";
	assert_true(kernel_names_find(&names, ADDR + 16, &match));
	assert_string_equal(match.name, "behind");
	assert_int_equal(nr_asked, 3);
	assert_true(kernel_names_find(&names, ADDR - 17, &match));
	assert_true(kernel_names_find(&names, ADDR + 31, &match));
	assert_true(kernel_names_find(&names, ADDR, &match));
	assert_string_equal(match.name, "f");
	assert_int_equal(nr_asked, 3);
	kernel_names_fini(&names);
}

static void old_names_stay_around_replaced_code(void **state)
{
	struct kernel_names names = names_of("old+0x0/0x10", NOTHING);
	struct kallsyms_match match;

	(void)state;
	assert_true(kernel_names_find(&names, ADDR, &match));
	assert_true(kernel_names_find(&names, ADDR + 0x40, &match));
	kernel_says = "new+0x20/0x60"; /* reaches into both */
	assert_true(kernel_names_find(&names, ADDR + 0x20, &match));
	assert_string_equal(match.name, "new");
	assert_true(match.start == ADDR);
	assert_true(kernel_names_find(&names, ADDR + 0x10, &match));
	assert_string_equal(match.name, "new");
	assert_true(kernel_names_find(&names, ADDR + 0x3f, &match));
	assert_string_equal(match.name, "new");
	assert_true(kernel_names_find(&names, ADDR + 0xf, &match));
	assert_string_equal(match.name, "old");
	assert_true(kernel_names_find(&names, ADDR + 0x40, &match));
	assert_string_equal(match.name, "old");
	assert_int_equal(nr_asked, 3);
	kernel_names_fini(&names);
}

static void what_has_no_name_is_asked_for_once(void **state)
{
	struct kernel_names names = names_of("0xffffffff81000100", NOTHING);
	struct kallsyms_match match;

	(void)state;
	assert_false(kernel_names_find(&names, ADDR, &match));
	assert_false(kernel_names_find(&names, ADDR, &match));
	assert_int_equal(nr_asked, 1);
	kernel_says = "f+0x1/0x10";
	assert_true(kernel_names_find(&names, ADDR + 1, &match));
	assert_false(kernel_names_find(&names, ADDR, &match));
	kernel_names_fini(&names);
}

static void without_an_answer_symbols_are_read(void **state)
{
	static const char text[] = "ffffffff81000000 T before\n"
				   "ffffffff81000100 t _RNvC3abc3def\n"
				   "ffffffff81000200 t beyond\t[ext4]\n";
	char path[] = "/tmp/test_kernel_names.XXXXXX";
	AUTO_FD int fd = mkstemp(path);
	struct kallsyms_match match;

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
	for (int mangled = 0; mangled < 2; mangled++) {
		struct kernel_names names = names_of(NULL, path);

		names.no_demangle = mangled;
		assert_true(kernel_names_find(&names, ADDR + 0xff, &match));
		assert_string_equal(match.name, mangled ? "_RNvC3abc3def" : "abc::def");
		assert_true(match.start == ADDR && match.end == ADDR + 0x100);
		assert_true(kernel_names_find(&names, ADDR - 1, &match));
		assert_string_equal(match.name, "before");
		assert_null(match.module);
		assert_true(kernel_names_find(&names, ADDR + 0x101, &match));
		assert_string_equal(match.module, "ext4");
		assert_false(kernel_names_find(&names, ADDR - 0x101, &match));
		assert_int_equal(nr_asked, 4);
		kernel_names_fini(&names);
	}
	unlink(path);
}

static void the_scheduler_is_asked_for_once(void **state)
{
	struct kernel_names names = names_of("told", NOTHING);

	(void)state;
	assert_false(kernel_names_is_scheduler(&names, ADDR - 1));
	assert_true(kernel_names_is_scheduler(&names, ADDR));
	assert_true(kernel_names_is_scheduler(&names, ADDR + 15));
	assert_false(kernel_names_is_scheduler(&names, ADDR + 16));
	assert_int_equal(nr_asked, 2);
	names = names_of(NULL, NOTHING);
	assert_false(kernel_names_is_scheduler(&names, ADDR));
	assert_false(kernel_names_is_scheduler(&names, 0));
	assert_int_equal(nr_asked, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_answers_are_parsed),
		cmocka_unit_test(a_function_is_asked_for_once),
		cmocka_unit_test(old_names_stay_around_replaced_code),
		cmocka_unit_test(what_has_no_name_is_asked_for_once),
		cmocka_unit_test(without_an_answer_symbols_are_read),
		cmocka_unit_test(the_scheduler_is_asked_for_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
