/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which FDE owns which address. Each FDE of a case has a CFA offset of its own, so the rows say
 * whose they are.
 */
#include "cmocka_all.h"

#include "tests/support/cfi_builder.h"
#include "tests/support/patient_limits.h"

enum { TEXT_SIZE = 4096, FDES_MAX = 8 };

struct fde {
	uint64_t start, end; /* from the start of the text; the end 0: no more FDEs */
};

/* Add FDE number @number: its CFA is rsp + 8 * @number. */
static void add_fde(struct cfi_builder *b, struct fde fde, unsigned number)
{
	const uint8_t code[] = { 0x0e, (uint8_t)(8 * number) };

	cfi_builder_fde(b, CFI_BUILDER_TEXT + fde.start, fde.end - fde.start, code, sizeof(code));
}

static void check(const char *what, const struct cfi_builder *const *builders, size_t nr,
		  const char *want, uint64_t want_shadowed)
{
	char text[TEXT_SIZE] = "";
	struct fpl_err err = { 0 };
	struct cfi_file *file;
	struct table *table = NULL;

	if (cfi_builder_open(builders, nr, &patient_limits, &file, &err) ||
	    cfi_builder_rows(file, text, sizeof(text), &err) ||
	    table_compile_file(file, &table, &err))
		fail_msg("%s: %s", what, err.msg);
	if (strcmp(text, want) != 0)
		fail_msg("%s: got\n%s", what, text);
	if (table->stats.fdes_shadowed != want_shadowed)
		fail_msg("%s: %lu shadowed", what, (unsigned long)table->stats.fdes_shadowed);
	for (size_t i = 0; i < file->nr_pieces; i++) {
		const struct cfi_piece *piece = &file->pieces[i];
		const struct fpl_rule *first = table_find(table, piece->start);
		const struct fpl_rule *last = table_find(table, piece->end - 1);
		size_t number = file->list.fdes[piece->fde].code_off;

		/* The FDE's own instruction: its operand is the offset. */
		number =
			file->list.cies[file->list.fdes[piece->fde].cie].section->bytes[number + 1];
		if (first->cfa_off != (int)number || last->cfa_off != (int)number)
			fail_msg("%s: the table differs at piece %zu", what, i);
	}
	table_destroy(table);
	cfi_file_close(file);
}

static void the_highest_start_owns_an_address(void **state)
{
	static const struct {
		const char *what;
		struct fde fdes[FDES_MAX];
		const char *want;
		uint64_t shadowed;
	} cases[] = {
		{ "disjoint, any order",
		  { { 0x20, 0x30 }, { 0, 0x10 }, { 0x10, 0x20 } },
		  "0-10 r7+16\n10-20 r7+24\n20-30 r7+8\n",
		  0 },
		{ "one inside another",
		  { { 0, 0x30 }, { 0x10, 0x20 } },
		  "0-10 r7+8\n10-20 r7+16\n20-30 r7+8\n",
		  0 },
		{ "one over the end of another",
		  { { 0, 0x20 }, { 0x10, 0x30 } },
		  "0-10 r7+8\n10-30 r7+16\n",
		  0 },
		{ "the same range: the first", { { 0, 0x10 }, { 0, 0x10 } }, "0-10 r7+8\n", 1 },
		{ "the same start, the second longer",
		  { { 0, 0x10 }, { 0, 0x20 } },
		  "0-10 r7+8\n10-20 r7+16\n",
		  0 },
		{ "the same start, the first longer",
		  { { 0, 0x20 }, { 0, 0x10 } },
		  "0-20 r7+8\n",
		  1 },
		{ "three deep",
		  { { 0x20, 0x30 }, { 0x10, 0x40 }, { 0, 0x50 } },
		  "0-10 r7+24\n10-20 r7+16\n20-30 r7+8\n30-40 r7+16\n40-50 r7+24\n",
		  0 },
		{ "the inner one ends with the outer",
		  { { 0, 0x20 }, { 0x10, 0x20 }, { 0x20, 0x30 } },
		  "0-10 r7+8\n10-20 r7+16\n20-30 r7+24\n",
		  0 },
		{ "two inner ones and a gap behind",
		  { { 0, 0x40 }, { 0x10, 0x20 }, { 0x28, 0x30 }, { 0x80, 0x90 } },
		  "0-10 r7+8\n10-20 r7+16\n20-28 r7+8\n28-30 r7+24\n30-40 r7+8\n80-90 r7+32\n",
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_builder b;
		const struct cfi_builder *const builders[] = { &b };

		cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
		cfi_builder_usual_cie(&b);
		for (unsigned n = 0; n < FDES_MAX && cases[i].fdes[n].end; n++)
			add_fde(&b, cases[i].fdes[n], n + 1);
		check(cases[i].what, builders, 1, cases[i].want, cases[i].shadowed);
		cfi_builder_fini(&b);
	}
}

static void better_sources_win_whatever_their_starts(void **state)
{
	static const struct {
		const char *what;
		struct fde eh[2], debug[2], file[2];
		const char *want;
		uint64_t shadowed;
	} cases[] = {
		{ "the debug FDE starts higher",
		  { { 0, 0x20 } },
		  { { 0x10, 0x30 } },
		  { { 0, 0 } },
		  "0-20 r7+8\n20-30 r7+24\n",
		  0 },
		{ "the debug FDE around it",
		  { { 0x10, 0x20 } },
		  { { 0, 0x30 } },
		  { { 0, 0 } },
		  "0-10 r7+24\n10-20 r7+8\n20-30 r7+24\n",
		  0 },
		{ "the debug FDE is the same",
		  { { 0, 0x20 } },
		  { { 0, 0x20 } },
		  { { 0, 0 } },
		  "0-20 r7+8\n",
		  1 },
		{ "one .eh_frame FDE over two of .debug_frame",
		  { { 0x8, 0x28 } },
		  { { 0, 0x18 }, { 0x18, 0x30 } },
		  { { 0, 0 } },
		  "0-8 r7+24\n8-28 r7+8\n28-30 r7+32\n",
		  0 },
		{ "the debug file fills what both leave",
		  { { 0x10, 0x20 } },
		  { { 0x20, 0x30 } },
		  { { 0, 0x40 } },
		  "0-10 r7+40\n10-20 r7+8\n20-30 r7+24\n30-40 r7+40\n",
		  0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct fde *const fdes[] = { cases[i].eh, cases[i].debug, cases[i].file };
		struct cfi_builder b[3];
		const struct cfi_builder *const builders[] = { &b[0], &b[1], &b[2] };

		for (unsigned source = 0; source < ARRAY_SIZE(b); source++) {
			cfi_builder_init(&b[source], source);
			cfi_builder_usual_cie(&b[source]);
			for (unsigned n = 0; n < 2 && fdes[source][n].end; n++)
				add_fde(&b[source], fdes[source][n], 2 * source + n + 1);
		}
		check(cases[i].what, builders, ARRAY_SIZE(b), cases[i].want, cases[i].shadowed);
		for (unsigned source = 0; source < ARRAY_SIZE(b); source++)
			cfi_builder_fini(&b[source]);
	}
}

static void an_interrupted_program_goes_on_where_it_is(void **state)
{
	struct cfi_builder b;
	const struct cfi_builder *const builders[] = { &b };
	char text[TEXT_SIZE] = "";
	struct fpl_err err = { 0 };
	struct cfi_file *file;
	struct table *table;

	(void)state;
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x40, BYTES("\x48\x0e\x10\x50\x0e\x18\x58\x0e\x20"));
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + 0x10, 0x10, BYTES("\x0e\x78"));
	assert_int_equal(cfi_builder_open(builders, 1, &patient_limits, &file, &err), 0);
	assert_int_equal(cfi_builder_rows(file, text, sizeof(text), &err), 0);
	assert_string_equal(text, "0-8 r7+8\n8-10 r7+16\n10-20 r7+120\n20-30 r7+24\n30-40 r7+32\n");
	assert_int_equal(table_compile_file(file, &table, &err), 0);
	assert_int_equal(table_find(table, CFI_BUILDER_TEXT + 0xf)->cfa_off, 16);
	assert_int_equal(table_find(table, CFI_BUILDER_TEXT + 0x10)->cfa_off, 120);
	assert_int_equal(table_find(table, CFI_BUILDER_TEXT + 0x20)->cfa_off, 24);
	assert_int_equal(table_find(table, CFI_BUILDER_TEXT + 0x3f)->cfa_off, 32);
	table_destroy(table);
	cfi_file_close(file);
	cfi_builder_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_highest_start_owns_an_address),
		cmocka_unit_test(better_sources_win_whatever_their_starts),
		cmocka_unit_test(an_interrupted_program_goes_on_where_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
