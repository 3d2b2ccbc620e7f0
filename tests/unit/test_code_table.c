/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/code_table.h"

#define ROOM (1u << 20)

static void add(struct code_table *table, uint64_t start, uint64_t size, uint64_t from_ns,
		const char *name)
{
	assert_int_equal(code_table_add(table, start, size, from_ns, name, name ? strlen(name) : 0),
			 0);
}

/* The name at @addr at @time_ns; NULL: none. */
static const char *name_at(const struct code_table *table, uint64_t addr, uint64_t time_ns)
{
	struct code_match match;

	return code_table_find(table, addr, time_ns, &match) ? match.name : NULL;
}

static void assert_name(const char *what, const char *got, const char *expected)
{
	if (!got != !expected || (got && strcmp(got, expected) != 0))
		fail_msg("%s: got %s, expected %s", what, got ? got : "none",
			 expected ? expected : "none");
}

static void the_later_of_overlapping_functions_wins(void **state)
{
	static const struct {
		uint64_t addr;
		const char *name;
	} cases[] = {
		{ 0x0fff, NULL },	 { 0x1000, "big" },	     { 0x10ff, "big" },
		{ 0x1100, "inner" },	 { 0x11ff, "inner" },	     { 0x1200, "big" },
		{ 0x1fff, "across" },	 { 0x2000, "across" },	     { 0x207f, "across" },
		{ 0x2080, NULL },	 { 0x3000, "twice, later" }, { 0x3fff, "twice, later" },
		{ 0x4000, "last byte" }, { 0x4001, NULL },	     { UINT64_MAX - 1, "top" },
	};
	struct code_table table;

	(void)state;
	code_table_init(&table, ROOM);
	add(&table, 0x3000, 0x1000, 0, "twice, earlier");
	add(&table, 0x1000, 0x1000, 0, "big");
	add(&table, 0x1100, 0x0100, 0, "inner");
	add(&table, 0x3000, 0x1000, 0, "twice, later");
	add(&table, 0x1f80, 0x0100, 0, "across");
	add(&table, 0x4000, 1, 0, "last byte");
	add(&table, UINT64_MAX - 1, 1, 0, "top");
	assert_int_equal(code_table_arrange(&table), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_name("address", name_at(&table, cases[i].addr, 7), cases[i].name);
	code_table_fini(&table);
}

static void code_is_named_as_of_the_time_of_the_sample(void **state)
{
	static const struct {
		const char *what;
		uint64_t addr, time_ns;
		const char *name;
		bool was_replaced;
	} cases[] = {
		{ "before it was written down", 0x1000, 50, "first", true },
		{ "while it was there", 0x1000, 150, "first", true },
		{ "from the very moment on", 0x1000, 200, "second", false },
		{ "the rest of the first is still there", 0x10f0, 900, "first", false },
		{ "moved away", 0x5010, 399, "mover", true },
		{ "no longer there", 0x5010, 400, NULL, false },
		{ "where it went", 0x6010, 400, "mover", false },
	};
	struct code_table table;
	struct code_match match;

	(void)state;
	code_table_init(&table, ROOM);
	add(&table, 0x1000, 0x100, 100, "first");
	add(&table, 0x1000, 0x80, 200, "second");
	add(&table, 0x5000, 0x80, 300, "mover");
	add(&table, 0x5000, 0x80, 400, NULL);
	add(&table, 0x6000, 0x80, 400, "mover");
	assert_int_equal(code_table_arrange(&table), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool found = code_table_find(&table, cases[i].addr, cases[i].time_ns, &match);

		assert_name(cases[i].what, found ? match.name : NULL, cases[i].name);
		if (found && match.was_replaced != cases[i].was_replaced)
			fail_msg("%s: replaced %d", cases[i].what, match.was_replaced);
	}
	assert_true(code_table_find(&table, 0x10f0, 900, &match));
	assert_int_equal(match.start, 0x1000);
	code_table_fini(&table);
}

static void impossible_code_is_refused(void **state)
{
	struct code_table table;

	(void)state;
	code_table_init(&table, ROOM);
	assert_int_equal(code_table_add(&table, 0x1000, 0, 0, "empty", 5), -EINVAL);
	assert_int_equal(code_table_add(&table, UINT64_MAX, 2, 0, "wraps", 5), -EINVAL);
	assert_int_equal(code_table_add(&table, 1, UINT64_MAX, 0, "ends at 0", 9), -EINVAL);
	assert_int_equal(table.nr, 0);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_null(name_at(&table, 0x1000, 0));
	code_table_fini(&table);
}

static void long_names_are_cut(void **state)
{
	char name[CODE_NAME_MAX + 100];
	struct code_table table;

	(void)state;
	memset(name, 'n', sizeof(name));
	code_table_init(&table, ROOM);
	assert_int_equal(code_table_add(&table, 1, 1, 0, name, sizeof(name)), 0);
	assert_int_equal(code_table_add(&table, 2, 1, 0, name, CODE_NAME_MAX), 0);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_int_equal(strlen(name_at(&table, 1, 0)), CODE_NAME_MAX);
	assert_int_equal(strlen(name_at(&table, 2, 0)), CODE_NAME_MAX);
	code_table_fini(&table);
}

static void budget_is_kept_and_entries_stay(void **state)
{
	const size_t budget = 4096;
	struct code_table table;
	uint64_t nr = 0;

	(void)state;
	code_table_init(&table, budget);
	while (code_table_add(&table, 0x1000 + 16 * nr, 24, 0, "name", 4) == 0)
		nr++;
	assert_int_equal(code_table_add(&table, 0x1000, 8, 0, "name", 4), -ENOSPC);
	assert_in_range(nr, budget / 100, budget / 30);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_true(code_table_bytes(&table) <= budget);
	assert_non_null(name_at(&table, 0x1000 + 16 * (nr - 1), 0));
	code_table_fini(&table);
}

static void what_is_inlined_is_known_at_its_address(void **state)
{
	static const struct symbol_line lines[] = { { .name = "inner", .file = "a.c", .line = 7 },
						    { .name = "outer", .line = 3 } };
	struct code_table table;
	struct code_match match;
	struct symbol_line line;

	(void)state;
	code_table_init(&table, ROOM);
	add(&table, 0x1000, 16, 5, "outer");
	assert_int_equal(code_table_add_lines(&table, 0x1004, 0x1000, 5, lines, 2), 0);
	assert_int_equal(code_table_add_lines(&table, 0x1008, 0x1000, 5, lines, 1), 0);
	assert_int_equal(code_table_add_lines(&table, 0x1008, 0x1009, 5, lines, 1), -EINVAL);
	assert_int_equal(code_table_add_lines(&table, 0x1008, 0x1000, 5, lines, 0), -EINVAL);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_int_equal(table.names_size, sizeof("outer") * 2 + sizeof("inner") + sizeof("a.c"));
	assert_true(code_table_check(&table));
	assert_true(code_table_find(&table, 0x1004, 5, &match));
	assert_string_equal(match.name, "outer");
	assert_int_equal(match.start, 0x1000);
	assert_false(match.was_replaced);
	assert_int_equal(match.lines.nr, 2);
	line = code_lines_at(&match.lines, 0);
	assert_string_equal(line.name, "inner");
	assert_string_equal(line.file, "a.c");
	assert_int_equal(line.line, 7);
	line = code_lines_at(&match.lines, 1);
	assert_string_equal(line.name, "outer");
	assert_null(line.file);
	assert_true(code_table_find(&table, 0x1005, 5, &match));
	assert_string_equal(match.name, "outer");
	assert_int_equal(match.lines.nr, 0);
	table.lines[2].name_off = (uint32_t)table.names_size;
	assert_false(code_table_check(&table));
	table.lines[2].name_off = 0;
	table.entries[1].function = 0x1005;
	assert_false(code_table_check(&table));
	table.entries[1].function = 0x1000;
	table.entries[1].first_line = 2;
	assert_false(code_table_check(&table));
	table.entries[1].first_line = 0;
	assert_true(code_table_check(&table));
	code_table_fini(&table);
}

static void lines_keep_the_budget(void **state)
{
	static const struct symbol_line line = { .name = "f", .file = "g" };
	struct code_table table;
	uint64_t nr = 0;

	(void)state;
	code_table_init(&table, 8192);
	while (code_table_add_lines(&table, 0x1000 + nr, 0x1000, 0, &line, 1) == 0)
		nr++;
	assert_int_equal(code_table_add_lines(&table, 1, 1, 0, &line, 1), -ENOSPC);
	assert_in_range(nr, 8192 / 200, 8192 / 60);
	assert_int_equal(code_table_arrange(&table), 0);
	assert_true(code_table_bytes(&table) <= 8192);
	assert_true(code_table_check(&table));
	code_table_fini(&table);
}

static void the_last_function_at_an_address_is_found_within_the_steps_given(void **state)
{
	struct code_table table;
	uint64_t steps = 2;

	(void)state;
	code_table_init(&table, ROOM);
	add(&table, 0x1000, 8, 1, "one");
	add(&table, 0x1000, 8, 2, "two");
	add(&table, 0x2000, 8, 3, "three");
	assert_string_equal(code_table_last_at(&table, 0x1000, &steps), "two");
	assert_int_equal(steps, 0);
	assert_null(code_table_last_at(&table, 0x2000, &steps));
	steps = 9;
	assert_null(code_table_last_at(&table, 0x1001, &steps));
	assert_int_equal(steps, 6);
	add(&table, 0x2000, 8, 4, NULL);
	assert_null(code_table_last_at(&table, 0x2000, &steps));
	code_table_fini(&table);
}

/* Against the definition: the last added of those that cover the address. */
static void a_thousand_overlapping_functions_are_found_as_by_looking_at_each(void **state)
{
	enum { NR = 1000, SPACE = 4096 };
	uint64_t starts[NR], sizes[NR], seed = 1;
	struct code_table table;

	(void)state;
	code_table_init(&table, ROOM);
	for (size_t i = 0; i < NR; i++) {
		char name[16];

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		starts[i] = seed >> 33 & (SPACE - 1);
		sizes[i] = 1 + (seed >> 50 & 63);
		add(&table, starts[i], sizes[i], i + 1,
		    memcpy(name, (char[]){ (char)('a' + i % 26), 0 }, 2));
	}
	assert_int_equal(code_table_arrange(&table), 0);
	for (uint64_t addr = 0; addr < SPACE + 70; addr++) {
		for (uint64_t time_ns = 100; time_ns <= 1100; time_ns += 250) {
			char expected[2] = "";

			/* the last of a time before, else the first there is */
			for (size_t i = 0; i < NR; i++) {
				bool is_early = i + 1 <= time_ns;

				if (addr < starts[i] || addr >= starts[i] + sizes[i] ||
				    (*expected && !is_early))
					continue;
				*expected = (char)('a' + i % 26);
			}

			const char *got = name_at(&table, addr, time_ns);

			assert_name("random", got, *expected ? expected : NULL);
		}
	}
	code_table_fini(&table);
}

/* Changes that a hostile worker may make to a valid table. */
enum change {
	NOTHING,
	ENTRY_EMPTY,
	ENTRY_ORDER,
	NAME_OUTSIDE,
	NAME_ENDLESS,
	NAME_LONG,
	SEGMENT_ENTRY,
	SEGMENT_ORDER,
	SEGMENT_EMPTY,
	SEGMENT_BEFORE,
	SEGMENT_BEHIND,
	TOO_MANY_SEGMENTS,
	OVER_BUDGET,
};

static void apply(struct code_table *table, enum change change)
{
	struct code_segment *last = &table->segments[table->nr_segments - 1];

	switch (change) {
	case NOTHING:
		break;
	case ENTRY_EMPTY:
		table->entries[1].end = table->entries[1].start;
		break;
	case ENTRY_ORDER:
		table->entries[1].start = 0x10;
		break;
	case NAME_OUTSIDE:
		table->entries[0].name_off = (uint32_t)table->names_size;
		break;
	case NAME_ENDLESS:
		table->names[table->names_size - 1] = 'x';
		break;
	case NAME_LONG:
		memset(table->names, 'x', table->names_size - 1);
		break;
	case SEGMENT_ENTRY:
		last->entry = (uint32_t)table->nr;
		break;
	case SEGMENT_ORDER:
		last->start = table->segments[0].end - 1;
		last->entry = 0;
		break;
	case SEGMENT_EMPTY:
		last->end = last->start;
		break;
	case SEGMENT_BEFORE:
		table->segments[0].start--;
		break;
	case SEGMENT_BEHIND:
		last->end++;
		break;
	case TOO_MANY_SEGMENTS:
		table->nr_segments = 2 * table->nr + 1;
		break;
	case OVER_BUDGET:
		table->max_bytes = 100;
		break;
	}
}

static void untrusted_table_is_valid_or_refused(void **state)
{
	char name[CODE_NAME_MAX];

	(void)state;
	memset(name, 'n', sizeof(name));
	for (enum change change = NOTHING; change <= OVER_BUDGET; change++) {
		struct code_table table;

		code_table_init(&table, ROOM);
		add(&table, 0x1000, 0x10, 0, "first");
		assert_int_equal(code_table_add(&table, 0x2000, 0x20, 0, name, sizeof(name)), 0);
		assert_int_equal(code_table_arrange(&table), 0);
		table.longest = 0;
		apply(&table, change);
		if (code_table_check(&table) != (change == NOTHING))
			fail_msg("change %d", change);
		assert_int_equal(table.longest, change == NOTHING ? 0x20 : 0);
		code_table_fini(&table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_later_of_overlapping_functions_wins),
		cmocka_unit_test(code_is_named_as_of_the_time_of_the_sample),
		cmocka_unit_test(impossible_code_is_refused),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(budget_is_kept_and_entries_stay),
		cmocka_unit_test(what_is_inlined_is_known_at_its_address),
		cmocka_unit_test(lines_keep_the_budget),
		cmocka_unit_test(the_last_function_at_an_address_is_found_within_the_steps_given),
		cmocka_unit_test(a_thousand_overlapping_functions_are_found_as_by_looking_at_each),
		cmocka_unit_test(untrusted_table_is_valid_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
