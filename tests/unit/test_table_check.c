/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/table.h"
#include "unwind/table_check.h"
#include "tests/support/elf_path.h"
#include "tests/support/patient_limits.h"

/* The table of the test program itself: pages of many rows, extended rules maybe. */
static int compile_self(void **state)
{
	struct elf_file *elf;
	struct table *table;

	if (elf_file_open_path("/proc/self/exe", &elf, NULL))
		return -1;
	if (table_compile(elf, NULL, &patient_limits, &table, NULL))
		return -1;
	elf_file_close(elf);
	*state = table;
	return 0;
}

static int drop(void **state)
{
	table_destroy(*state);
	return 0;
}

static void compiled_table_passes_the_check(void **state)
{
	struct fpl_err err = { 0 };

	assert_int_equal(table_check(*state, &err), 0);
}

static struct fpl_page *first_page(struct table *table)
{
	struct fpl_page *dir = (void *)(table->chunks[0] + table->dir_off);

	for (uint32_t i = 0; i < table->nr_pages; i++) {
		if (dir[i].off)
			return &dir[i];
	}
	fail();
	return NULL;
}

static uint16_t *first_bytes(struct table *table)
{
	return (void *)(table->chunks[0] + first_page(table)->off);
}

static void dir_outside(struct table *table)
{
	table->dir_off = table->image_bytes & ~7u;
}

static void dir_unaligned(struct table *table)
{
	table->dir_off |= 4;
}

static void more_pages(struct table *table)
{
	table->nr_pages = UINT32_MAX;
}

static void rules_outside(struct table *table)
{
	table->rules_off = UINT32_MAX & ~15u;
}

static void rules_without_reach(struct table *table)
{
	table->rules_off = (table->image_bytes - 32) & ~15u;
}

static void first_inside_page(struct table *table)
{
	table->first_vaddr++;
}

static void longer_than_chunks(struct table *table)
{
	table->image_bytes = (uint32_t)table->nr_chunks * FPL_CHUNK_SIZE + 1;
}

static void page_outside(struct table *table)
{
	first_page(table)->off = table->image_bytes & ~7u;
}

static void page_far_outside(struct table *table)
{
	first_page(table)->off = UINT32_MAX & ~7u;
}

static void page_unaligned(struct table *table)
{
	first_page(table)->off |= 1;
}

static void dict_too_long(struct table *table)
{
	first_page(table)->nr_dict = 257;
}

static void spans_not_ascending(struct table *table)
{
	first_bytes(table)[3] = 0xffff;
}

static void first_span_not_at_row_0(struct table *table)
{
	first_bytes(table)[0] = 1;
}

static void dict_leads_outside(struct table *table)
{
	first_bytes(table)[FPL_NR_SPANS + 2] = 0xffff;
}

static void row_leads_outside_dict(struct table *table)
{
	first_bytes(table)[FPL_NR_SPANS + 2 + first_page(table)->nr_dict] = 0xff00;
	assert_true(first_page(table)->nr_dict < 256);
}

static struct fpl_rule *used_rule(struct table *table)
{
	struct fpl_rule *rules = (void *)(table->chunks[0] + table->rules_off);
	const uint16_t *dict = first_bytes(table) + FPL_NR_SPANS + 2;

	return &rules[dict[0] ? dict[0] : dict[1]];
}

static void rule_of_unknown_kind(struct table *table)
{
	used_rule(table)->cfa = FPL_CFA_COUNT;
}

static void rule_with_endless_extension(struct table *table)
{
	struct fpl_rule *rule = used_rule(table);

	rule->flags |= FPL_RULE_EXT;
	((struct fpl_ext *)(void *)(rule + 1))->count = FPL_EXT_MAX + 1;
}

static void rule_0_says_something(struct table *table)
{
	((struct fpl_rule *)(void *)(table->chunks[0] + table->rules_off))->cfa = FPL_CFA_REG;
}

static void pages_that_are_one(struct table *table)
{
	struct fpl_page *page = first_page(table);

	table->dir_off = table->image_bytes & ~7u;
	for (int i = 0; i < 8; i++)
		memcpy(table->chunks[0] + table->dir_off + 8 * i, page, sizeof(*page));
	table->nr_pages = 8;
	table->image_bytes = table->dir_off + 64;
	/* the rules come last */
	table->rules_off = 0;
}

static void malformed_table_is_refused(void **state)
{
	static const struct {
		const char *what;
		void (*spoil)(struct table *table);
	} cases[] = {
		{ "directory outside", dir_outside },
		{ "directory unaligned", dir_unaligned },
		{ "more pages than bytes", more_pages },
		{ "rules outside", rules_outside },
		{ "rules without room for their reach", rules_without_reach },
		{ "first address inside a page", first_inside_page },
		{ "image longer than its chunks", longer_than_chunks },
		{ "page at the end", page_outside },
		{ "page far outside", page_far_outside },
		{ "page unaligned", page_unaligned },
		{ "dictionary too long", dict_too_long },
		{ "spans that do not ascend", spans_not_ascending },
		{ "first span does not begin with row 0", first_span_not_at_row_0 },
		{ "dictionary leads outside the rules", dict_leads_outside },
		{ "row leads outside the dictionary", row_leads_outside_dict },
		{ "rule of an unknown kind", rule_of_unknown_kind },
		{ "rule with more extensions than registers", rule_with_endless_extension },
		{ "rule 0 says something", rule_0_says_something },
		{ "a large page eight times", pages_that_are_one },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fpl_err err = { 0 };
		void *table = NULL;

		print_message("%s\n", cases[i].what);
		assert_int_equal(compile_self(&table), 0);
		cases[i].spoil(table);
		assert_int_equal(table_check(table, &err), -EINVAL);
		assert_string_not_equal(err.msg, "");
		table_destroy(table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(compiled_table_passes_the_check, compile_self,
						drop),
		cmocka_unit_test(malformed_table_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
