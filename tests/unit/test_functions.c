/* SPDX-License-Identifier: Apache-2.0 */
/* Code without a symbol is grouped by its FDE; judged on this very program. */
#include "cmocka_all.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/function_list.h"
#include "tests/support/elf_path.h"

__attribute__((noinline)) static int some_function(int a)
{
	char text[32];

	/* Long enough for an inside that is not its entry. */
	snprintf(text, sizeof(text), "%d", a);
	return text[0] + a;
}

static int first_base(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

static uint64_t vaddr_of(int (*function)(int))
{
	uint64_t base = 0;

	dl_iterate_phdr(first_base, &base);
	return (uint64_t)(uintptr_t)function - base;
}

static void read_this_program(struct function_list *ret)
{
	struct elf_file *elf;

	assert_int_equal(elf_file_open_path("/proc/self/exe", &elf, NULL), 0);
	assert_int_equal(function_list_read(elf, NULL, ret, NULL), 0);
	elf_file_close(elf);
}

static void an_address_inside_a_function_finds_its_start(void **state)
{
	struct function_list list = { .nr = 0 };
	uint64_t vaddr = vaddr_of(some_function);
	struct vaddr_range found;

	(void)state;
	assert_int_equal(some_function(7), '7' + 7);
	read_this_program(&list);
	assert_true(function_list_find(&list, vaddr, &found));
	assert_true(found.start == vaddr && found.end > vaddr + 5);
	assert_true(function_list_find(&list, vaddr + 5, &found));
	assert_true(found.start == vaddr && found.end > vaddr + 5);
	assert_true(!function_list_find(&list, vaddr - 1, &found) || found.start < vaddr);
	function_list_fini(&list);
}

static void uncovered_address_has_no_start(void **state)
{
	struct function_list list = { .nr = 0 };
	struct vaddr_range found = { .start = 77 };

	(void)state;
	read_this_program(&list);
	assert_false(function_list_find(&list, 0, &found));
	assert_false(function_list_find(&list, UINT64_MAX, &found));
	assert_int_equal(found.start, 77);
	function_list_fini(&list);
}

static void a_range_holds_one_answer(void **state)
{
	struct vaddr_range ranges[] = {
		{ 10, 20 }, { 20, 22 }, { 25, 60 }, { 30, 40 }, { 30, 35 }, { 50, 70 }, { 80, 80 },
	};
	const struct function_list list = { .ranges = ranges, .nr = ARRAY_SIZE(ranges) };

	(void)state;
	for (uint64_t vaddr = 0; vaddr < 90; vaddr++) {
		struct vaddr_range same = { 3, 85 }, found = { 0, 0 }, other;
		bool is_found = function_list_find(&list, vaddr, &found);

		if (vaddr < same.start || vaddr >= same.end)
			continue;
		function_list_narrow(&list, vaddr, &same);
		assert_true(3 <= same.start && same.start <= vaddr);
		assert_true(vaddr < same.end && same.end <= 85);
		for (uint64_t near = same.start; near < same.end; near++) {
			other = (struct vaddr_range){ 0, 0 };
			assert_int_equal(function_list_find(&list, near, &other), is_found);
			assert_memory_equal(&other, &found, sizeof(found));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_inside_a_function_finds_its_start),
		cmocka_unit_test(uncovered_address_has_no_start),
		cmocka_unit_test(a_range_holds_one_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
