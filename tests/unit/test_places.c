// SPDX-License-Identifier: Apache-2.0
/* The places at which the judge waits: functions seen in a table, dealt out in turn. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "judge/places.h"
#include "tests/support/cfi_builder.h"
#include "tests/support/patient_limits.h"
#include "unwind/table_compile.h"
#include "unwind/pieces.h"

enum { TEXT = CFI_BUILDER_TEXT, SP = 7 };

/* A row made from code of [start, end): CFA = rsp + @cfa_off, rbx saved where @saves. */
static struct cfi_row made_row(uint64_t start, uint64_t end, int64_t cfa_off, bool saves)
{
	struct cfi_row row = {
		.start = start,
		.end = end,
		.cfa = FPL_CFA_REG,
		.cfa_reg = SP,
		.source = CFI_SOURCE_SYNTH,
		.cfa_off = cfa_off,
	};

	for (size_t i = 0; i < CFI_NR_REGS; i++)
		row.reg[i].kind = CFI_SAME;
	row.reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = -8 };
	if (saves)
		row.reg[3] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = -16 };
	return row;
}

/* FDEs at TEXT and TEXT + 0x1a0, and rows made from code behind them. */
static struct table *table_of(const struct cfi_row *rows, size_t nr)
{
	const struct cfi_range text = { TEXT, TEXT + 0x40000 };
	struct cfi_section section;
	struct cfi_builder b;
	struct cfi_file *file;
	struct table *table;

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, TEXT, 0x100, BYTES("\x0e\x10"));
	cfi_builder_fde(&b, TEXT + 0x1a0, 0x20, NULL, 0);
	section = (struct cfi_section){ .bytes = b.bytes,
					.size = b.size,
					.vaddr = CFI_BUILDER_VADDR,
					.source = b.source,
					.terminator_off = SIZE_MAX };
	assert_int_equal(
		cfi_file_from_sections("test", &section, 1, &text, 1, &patient_limits, &file, NULL),
		0);
	assert_int_equal(pieces_add_rows(file, rows, nr, NULL), 0);
	assert_int_equal(table_compile_file(file, &table, NULL), 0);
	cfi_file_close(file);
	cfi_builder_fini(&b);
	return table;
}

static bool has(const struct places *places, uint64_t vaddr)
{
	for (size_t i = 0; i < places->nr; i++)
		if (places->list[i].object == 9 && places->list[i].vaddr == vaddr)
			return true;
	return false;
}

static void functions_begin_behind_code_without_such_rows(void **state)
{
	const struct cfi_row rows[] = {
		made_row(TEXT + 0x100, TEXT + 0x101, 8, false),	    /* behind an FDE */
		made_row(TEXT + 0x101, TEXT + 0x120, 16, true),	    /* its body */
		made_row(TEXT + 0x120, TEXT + 0x121, 8, false),	    /* its end */
		made_row(TEXT + 0x130, TEXT + 0x140, 8, false),	    /* behind padding */
		made_row(TEXT + 0x150, TEXT + 0x160, 24, false),    /* a part of a function */
		made_row(TEXT + 0x170, TEXT + 0x180, 8, true),	    /* not its beginning */
		made_row(TEXT + 0x30000, TEXT + 0x30010, 8, false), /* pages further on */
	};
	struct table *table = table_of(rows, ARRAY_SIZE(rows));
	struct places places = { .nr = 0 };

	(void)state;
	assert_int_equal(places_add(&places, 9, table), 0);
	assert_int_equal(places.nr, 3);
	assert_true(has(&places, TEXT + 0x100));
	assert_true(has(&places, TEXT + 0x130));
	assert_true(has(&places, TEXT + 0x30000));
	places_fini(&places);
	table_destroy(table);
}

/* First rows that do not belong to a function just called. */
static void code_without_entry_row_is_no_place(void **state)
{
	struct cfi_row rows[7];
	struct places places = { .nr = 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i] = made_row(TEXT + 0x200 + 0x20 * i, TEXT + 0x210 + 0x20 * i, 8, false);
	rows[0].cfa_reg = 6;
	rows[1].cfa = FPL_CFA_DEREF;
	rows[2].cfa_off = 0;
	rows[3].reg[15] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = -16 };
	rows[4].reg[6] = (struct cfi_reg){ .kind = CFI_UNDEF };
	rows[5].reg[0] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = -16 }; /* an extended rule */

	struct table *table = table_of(rows, ARRAY_SIZE(rows));

	assert_int_equal(places_add(&places, 9, table), 0);
	assert_int_equal(places.nr, 1);
	assert_true(has(&places, rows[6].start));
	places_fini(&places);
	assert_null(places.list);
	assert_int_equal(places.nr, 0);
	table_destroy(table);
}

/* Code that was analysed without a row does not belong to the function behind it. */
static void a_function_begins_behind_code_that_was_judged(void **state)
{
	const struct cfi_row rows[] = {
		made_row(TEXT + 0x200, TEXT + 0x210, 16, false),
		{ .start = TEXT + 0x210,
		  .end = TEXT + 0x220,
		  .cfa = FPL_CFA_NONE,
		  .source = CFI_SOURCE_SYNTH },
		made_row(TEXT + 0x220, TEXT + 0x230, 8, false),
	};
	struct places places = { .nr = 0 };
	struct table *table = table_of(rows, ARRAY_SIZE(rows));

	(void)state;
	assert_int_equal(places_add(&places, 9, table), 0);
	assert_int_equal(places.nr, 1);
	assert_true(has(&places, TEXT + 0x220));
	places_fini(&places);
	table_destroy(table);
}

enum { NR_MIXED = 100 };

static struct table *table_of_functions(uint64_t start)
{
	struct cfi_row rows[NR_MIXED];

	for (size_t i = 0; i < NR_MIXED; i++)
		rows[i] = made_row(start + 0x20 * i, start + 0x20 * i + 0x10, 8, false);
	return table_of(rows, NR_MIXED);
}

/* Each file's for themselves, and all are still there. */
static void places_are_in_no_order(void **state)
{
	struct table *first = table_of_functions(TEXT + 0x200);
	struct table *second = table_of_functions(TEXT + 0x4000);
	struct places places = { .seed = 0 };
	size_t nr_ascending = 0;

	(void)state;
	assert_int_equal(places_add(&places, 9, first), 0);

	struct place before[NR_MIXED];

	memcpy(before, places.list, sizeof(before));
	assert_int_not_equal(places.seed, 0);
	assert_int_equal(places_add(&places, 10, second), 0);
	assert_int_equal(places.nr, 2 * NR_MIXED);
	for (size_t i = 0; i < NR_MIXED; i++) {
		assert_int_equal(places.list[i].object, 9);
		assert_int_equal(places.list[i].vaddr, before[i].vaddr);
		assert_int_equal(places.list[NR_MIXED + i].object, 10);
		assert_true(has(&places, TEXT + 0x200 + 0x20 * i));
		nr_ascending += i && places.list[i].vaddr > places.list[i - 1].vaddr;
	}
	assert_in_range(nr_ascending, NR_MIXED / 4, NR_MIXED - NR_MIXED / 4);
	places_fini(&places);
	table_destroy(first);
	table_destroy(second);
}

static void places_are_bounded(void **state)
{
	struct table *table = table_of_functions(TEXT + 0x200);
	struct places places = { .nr = 0 };

	(void)state;
	for (uint32_t i = 0; i < PLACES_MAX / NR_MIXED + 2; i++)
		assert_int_equal(places_add(&places, i, table), 0);
	assert_int_equal(places.nr, PLACES_MAX);
	places_fini(&places);
	table_destroy(table);
}

static void all_places_have_their_turn(void **state)
{
	struct cfi_row rows[10];
	struct places places = { .seed = 7 };
	unsigned int turns[ARRAY_SIZE(rows)] = { 0 };
	uint32_t chosen[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		rows[i] = made_row(TEXT + 0x200 + 0x20 * i, TEXT + 0x210 + 0x20 * i, 8, false);

	struct table *table = table_of(rows, ARRAY_SIZE(rows));

	assert_int_equal(places_add(&places, 9, table), 0);
	for (int round = 0; round < 5; round++) {
		assert_int_equal(places_choose(&places, chosen, 4), 4);
		for (int i = 0; i < 4; i++)
			turns[chosen[i]]++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(turns); i++)
		assert_int_equal(turns[i], 2);

	/* one that was met is always among them, once */
	places_hit(&places, 3);
	places_hit(&places, 3);
	assert_int_equal(places.nr_hits, 1);
	for (int round = 0; round < 20; round++) {
		size_t nr = places_choose(&places, chosen, 4), of_it = 0;

		assert_int_equal(nr, 4);
		for (size_t i = 0; i < nr; i++)
			of_it += chosen[i] == 3;
		assert_int_equal(of_it, 1);
	}
	/* one of two is left for the others, and where there is one it is theirs */
	for (int round = 0; round < 20; round++) {
		assert_int_equal(places_choose(&places, chosen, 2), 2);
		assert_int_equal(chosen[0], 3);
		assert_int_not_equal(chosen[1], 3);
		turns[chosen[1]]++;
	}
	places.next = 4;
	for (uint32_t i = 4; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(places_choose(&places, chosen, 1), 1);
		assert_int_equal(chosen[0], i);
	}
	/* of those that were met each has its turn, too */
	places_hit(&places, 5);
	places_hit(&places, 8);
	memset(turns, 0, sizeof(turns));
	for (int round = 0; round < 60; round++) {
		assert_int_equal(places_choose(&places, chosen, 2), 2);
		turns[chosen[0]]++;
	}
	assert_true(turns[3] && turns[5] && turns[8]);
	assert_int_equal(turns[3] + turns[5] + turns[8], 60);
	places_fini(&places);
	table_destroy(table);
}

static void few_places_are_all_chosen(void **state)
{
	struct places places = { .nr = 0 };
	uint32_t chosen[4];

	(void)state;
	assert_int_equal(places_choose(&places, chosen, 4), 0);

	const struct cfi_row row = made_row(TEXT + 0x200, TEXT + 0x210, 8, false);
	struct table *table = table_of(&row, 1);

	assert_int_equal(places_add(&places, 9, table), 0);
	assert_int_equal(places_choose(&places, chosen, 4), 1);
	assert_int_equal(chosen[0], 0);
	places_fini(&places);
	table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_begin_behind_code_without_such_rows),
		cmocka_unit_test(code_without_entry_row_is_no_place),
		cmocka_unit_test(a_function_begins_behind_code_that_was_judged),
		cmocka_unit_test(places_are_in_no_order),
		cmocka_unit_test(places_are_bounded),
		cmocka_unit_test(all_places_have_their_turn),
		cmocka_unit_test(few_places_are_all_chosen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
