/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbolize/kallsyms.h"

/* Reads @text as if it were /proc/kallsyms. */
static int read_text(const char *text, struct kallsyms **ret, struct fpl_err *err)
{
	AUTO_FD int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	char path[64];

	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return kallsyms_read(path, ret, err);
}

static const char kernel_text[] = "ffffffff81000000 T _text\n"
				  "ffffffff81000000 T startup_64\n"
				  "ffffffff81000200 t __local_one\n"
				  "ffffffff81000200 T __global_one\n"
				  "ffffffff81000300 D data_is_no_code\n"
				  "ffffffff81000400 t local_one\n"
				  "ffffffff81000400 W weak_one\n"
				  "ffffffff81000400 t local_two\n"
				  "ffffffff81000480 t local_three\n"
				  "ffffffff81000480 w weak_two\n"
				  "ffffffff81000490 T first_wins\n"
				  "ffffffff81000490 T __second_loses\n"
				  "no line of ours\n"
				  "\n"
				  "ffffffff81000500 t\n"
				  "ffffffffc0001010 t module_end\t[ext4]\n"
				  "ffffffffc0000000 t module_start\t[ext4]\n"
				  "ffffffffc0100000 t other_start\t[xfs]\n"
				  "ffffffffc0200000 t bpf_prog_1\t[bpf]";

static void addresses_get_the_name_of_the_symbol_before_them(void **state)
{
	static const struct {
		const char *what;
		uint64_t addr;
		const char *name, *module;
		uint64_t offset;
	} cases[] = {
		{ "below all", 0xffffffff80ffffff, NULL, NULL, 0 },
		{ "aliases by rule", 0xffffffff81000000, "startup_64", NULL, 0 },
		{ "inside", 0xffffffff810001ff, "startup_64", NULL, 0x1ff },
		{ "global before local", 0xffffffff81000200, "__global_one", NULL, 0 },
		{ "data ends nothing", 0xffffffff81000310, "__global_one", NULL, 0x110 },
		{ "weak before local", 0xffffffff81000401, "weak_one", NULL, 1 },
		{ "weak object before local", 0xffffffff81000480, "weak_two", NULL, 0 },
		{ "last of the kernel, same page", 0xffffffff81000fff, "first_wins", NULL, 0xb6f },
		{ "last of the kernel, next page", 0xffffffff81001fff, "first_wins", NULL, 0x1b6f },
		{ "behind the kernel", 0xffffffff81002000, NULL, NULL, 0 },
		{ "module", 0xffffffffc0000800, "module_start", "ext4", 0x800 },
		{ "end of a module", 0xffffffffc0001011, "module_end", "ext4", 1 },
		{ "between modules", 0xffffffffc0080000, NULL, NULL, 0 },
		{ "another module", 0xffffffffc0100004, "other_start", "xfs", 4 },
		{ "last line without newline", 0xffffffffc0200001, "bpf_prog_1", "bpf", 1 },
		{ "far above", UINT64_MAX, NULL, NULL, 0 },
	};
	struct kallsyms *syms = NULL;

	(void)state;
	assert_int_equal(read_text(kernel_text, &syms, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct kallsyms_match match = { 0 };
		bool found = kallsyms_find(syms, cases[i].addr, &match);

		if (found != (cases[i].name != NULL))
			fail_msg("%s: %s", cases[i].what, found ? match.name : "nothing");
		if (!found)
			continue;
		if (strcmp(match.name, cases[i].name) != 0 ||
		    cases[i].addr - match.start != cases[i].offset)
			fail_msg("%s: got %s", cases[i].what, match.name);
		if (!match.module != !cases[i].module ||
		    (match.module && strcmp(match.module, cases[i].module) != 0))
			fail_msg("%s: module %s", cases[i].what, match.module);
	}
	kallsyms_destroy(syms);
}

static void hidden_addresses_are_one_error_that_says_what_to_do(void **state)
{
	struct kallsyms *syms = NULL;
	struct fpl_err err = { 0 };

	(void)state;
	assert_int_equal(
		read_text("0000000000000000 T _text\n0000000000000000 t x\t[m]\n", &syms, &err),
		-EPERM);
	assert_non_null(strstr(err.msg, "kernel.kptr_restrict"));
	assert_non_null(strstr(err.msg, "CAP_SYSLOG"));
	assert_null(syms);
}

static void files_without_symbols_are_refused(void **state)
{
	struct kallsyms *syms = NULL;

	(void)state;
	assert_int_equal(read_text("", &syms, NULL), -EINVAL);
	assert_int_equal(read_text("garbage\n\n \n", &syms, NULL), -EINVAL);
	assert_int_equal(kallsyms_read("/nonexistent/kallsyms", &syms, NULL), -ENOENT);
}

static void lines_of_any_length_are_survived(void **state)
{
	enum { SIZE = 8000 };
	AUTO_FREE char *text = malloc(SIZE + 64);
	struct kallsyms *syms = NULL;
	struct kallsyms_match match;

	(void)state;
	assert_non_null(text);
	memset(text, 'a', SIZE);
	memcpy(text, "ffffffff81000000 T ", 19);
	memcpy(text + SIZE, "\nffffffff82000000 T next\n", 26);
	assert_int_equal(read_text(text, &syms, NULL), 0);
	assert_true(kallsyms_find(syms, 0xffffffff82000000, &match));
	assert_string_equal(match.name, "next");
	kallsyms_destroy(syms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_get_the_name_of_the_symbol_before_them),
		cmocka_unit_test(hidden_addresses_are_one_error_that_says_what_to_do),
		cmocka_unit_test(files_without_symbols_are_refused),
		cmocka_unit_test(lines_of_any_length_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
