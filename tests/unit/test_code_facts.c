/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with what the code shows of them; and OCaml's stubs and raises, where it shows something. */
#include "cmocka_all.h"

#include "tests/support/code_table.h"
#include "tests/support/patient_limits.h"
#include "unwind/code_facts.h"

/* The facts of a file with three FDEs and three stubs. */
static struct kept_fact kept[] = { { 3, 1 << 10 }, { 1, 1 << 0 | 1 << 9 } };
static struct mended_fact mended[] = { { .start = 0x150, .end = 0x15a, .cfa_off = 48 },
				       { .start = 0x120, .end = 0x127, .cfa_off = 32 },
				       { .start = 0x127, .end = 0x12c, .cfa_off = 40 } };

static int write_row(const struct cfi_row *row, void *ctx)
{
	fprintf(ctx, "%llx-%llx %+lld%s%s", (unsigned long long)row->start,
		(unsigned long long)row->end, (long long)row->cfa_off, row->mended ? " m" : "",
		row->kept ? "" : "\n");
	if (row->kept)
		fprintf(ctx, " k%x\n", row->kept);
	return 0;
}

static void assert_told(uint32_t fde, uint64_t start, uint64_t end, const char *want)
{
	struct code_facts facts = { .kept = kept,
				    .nr_kept = ARRAY_SIZE(kept),
				    .mended = mended,
				    .nr_mended = ARRAY_SIZE(mended) };
	struct cfi_row row = { .start = start, .end = end, .cfa_off = 8 };
	struct code_teller teller;
	char text[512] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	code_facts_sort(&facts);
	if (code_teller_init(&teller, &facts, fde, start, end)) {
		teller.fn = write_row;
		teller.ctx = out;
		assert_int_equal(code_tell(&row, &teller), 0);
	}
	fclose(out);
	if (strcmp(text, want) != 0)
		fail_msg("got\n%s", text);
}

static void rows_are_cut_where_the_code_knows_better(void **state)
{
	(void)state;
	assert_told(2, 0x100, 0x120, "");
	assert_told(2, 0x15a, 0x200, "");
	assert_told(2, 0x100, 0x160,
		    "100-120 +8\n120-127 +32 m\n127-12c +40 m\n12c-150 +8\n150-15a +48 m\n15a-160 "
		    "+8\n");
	assert_told(2, 0x120, 0x12c, "120-127 +32 m\n127-12c +40 m\n");
	assert_told(2, 0x122, 0x125, "122-125 +32 m\n");
	assert_told(2, 0x155, 0x15c, "155-15a +48 m\n15a-15c +8\n");
}

static void of_facts_that_overlap_the_first_counts(void **state)
{
	struct mended_fact forged[] = { { .start = 0x14, .end = 0x18, .cfa_off = 16 },
					{ .start = 0x10, .end = 0x20, .cfa_off = 24 },
					{ .start = 0x20, .end = 0x28, .cfa_off = 32 },
					{ .start = 0x1f, .end = 0x40, .cfa_off = 40 } };
	struct code_facts facts = { .mended = forged, .nr_mended = ARRAY_SIZE(forged) };

	(void)state;
	code_facts_sort(&facts);
	assert_int_equal(facts.nr_mended, 2);
	assert_int_equal(facts.mended[0].cfa_off, 24);
	assert_int_equal(facts.mended[1].cfa_off, 32);
}

static void registers_are_added_to_all_rows_of_their_fde(void **state)
{
	(void)state;
	assert_told(1, 0x100, 0x110, "100-110 +8 k201\n");
	assert_told(3, 0x11e, 0x122, "11e-120 +8 k400\n120-122 +32 m k400\n");
}

static void register_rule_of_cfi_stays(void **state)
{
	const struct code_facts facts = { .kept = kept, .nr_kept = ARRAY_SIZE(kept) };
	struct cfi_row row = { .end = 16 };
	struct code_teller teller;
	char text[64] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	(void)state;
	row.reg[9] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = -16 };
	assert_true(code_teller_init(&teller, &facts, 1, 0, 16));
	teller.fn = write_row;
	teller.ctx = out;
	assert_int_equal(code_tell(&row, &teller), 0);
	fclose(out);
	assert_string_equal(text, "0-10 +0 k1\n");
}

static int refuse(const struct cfi_row *row, void *ctx)
{
	(void)row;
	return -*(int *)ctx;
}

static void whoever_refuses_a_row_gets_no_more(void **state)
{
	const struct code_facts facts = { .mended = mended, .nr_mended = ARRAY_SIZE(mended) };
	struct cfi_row row = { .start = 0x100, .end = 0x160 };
	struct code_teller teller;
	int error = 7;

	(void)state;
	assert_true(code_teller_init(&teller, &facts, 0, 0x100, 0x160));
	teller.fn = refuse;
	teller.ctx = &error;
	assert_int_equal(code_tell(&row, &teller), -7);
}

/*
 * A function of OCaml. 0: push; 1: push; 2: jb 16; 4: nop; 5: pop; 6: pop; 7: ret; 16: call; jmp 4.
 * The CFI has rsp + 8 from the last pop on, so it says that of the stub, too.
 */
#define FUNCTION "\x50\x50\x72\x0c\x90\x58\x58\xc3\x90\x90\x90\x90\x90\x90\x90\x90"
#define STUB	 "\xe8\x0b\x00\x00\x00\xeb\xed"
/* the same with long branches: 2: jb 32; 8: nop; ... 32: call; jmp 8 */
#define LONG_FUNCTION                                      \
	"\x50\x50\x0f\x82\x18\x00\x00\x00\x90\x58\x58\xc3" \
	"\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
#define LONG_STUB "\xe8\x0b\x00\x00\x00\xe9\xde\xff\xff\xff"
#define CFI	  "\x41\x0e\x10\x41\x0e\x18\x44\x0e\x10\x41\x0e\x08"
#define LONG_CFI  "\x41\x0e\x10\x41\x0e\x18\x48\x0e\x10\x41\x0e\x08"
#define NAMES	  "\0caml_call_gc\0"

/* The CFA's offset at @off of a file of that code, CFI and names. */
static int cfa_off_at(const uint8_t *code, size_t code_size, const uint8_t *cfi, size_t cfi_size,
		      const uint8_t *names, size_t names_size, uint64_t off)
{
	struct cfi_builder b;
	struct table *table;
	int ret;

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, code_size, cfi, cfi_size);
	table = code_table(code, code_size, &b, names, names_size, &patient_limits);
	ret = table_find(table, CFI_BUILDER_TEXT + off)->cfa_off;
	table_destroy(table);
	cfi_builder_fini(&b);
	return ret;
}

static void a_stub_of_ocaml_has_the_stack_of_its_branch(void **state)
{
	(void)state;
	for (uint64_t off = 16; off < 16 + sizeof(STUB) - 1; off++)
		assert_int_equal(cfa_off_at(BYTES(FUNCTION STUB), BYTES(CFI), BYTES(NAMES), off),
				 24);
	assert_int_equal(cfa_off_at(BYTES(FUNCTION STUB "\x90"), BYTES(CFI), BYTES(NAMES), 23), 8);
	assert_int_equal(cfa_off_at(BYTES(FUNCTION STUB), BYTES(CFI), BYTES(NAMES), 15), 8);
	assert_int_equal(
		cfa_off_at(BYTES(LONG_FUNCTION LONG_STUB), BYTES(LONG_CFI), BYTES(NAMES), 37), 24);
}

static void other_code_than_ocaml_stubs_is_left_alone(void **state)
{
	(void)state;
	/* another program */
	assert_int_equal(
		cfa_off_at(BYTES(FUNCTION STUB), BYTES(CFI), BYTES("\0caml_call_gcc\0"), 16), 8);
	/* it goes back to elsewhere than behind its branch */
	assert_int_equal(
		cfa_off_at(BYTES(FUNCTION "\xe8\x0b\0\0\0\xeb\xee"), BYTES(CFI), BYTES(NAMES), 16),
		8);
	/* the jump leaves the function; it is cut; it is missing */
	assert_int_equal(
		cfa_off_at(BYTES(FUNCTION "\xe8\x0b\0\0\0\xeb\x40"), BYTES(CFI), BYTES(NAMES), 16),
		8);
	assert_int_equal(
		cfa_off_at(BYTES(FUNCTION "\xe8\x0b\0\0\0\xe9"), BYTES(CFI), BYTES(NAMES), 16), 8);
	assert_int_equal(
		cfa_off_at(BYTES(FUNCTION "\xe8\x0b\0\0\0\x90\xed"), BYTES(CFI), BYTES(NAMES), 16),
		8);
	/* the rows at the branch and behind it do not agree: 4 says rsp + 32 */
	assert_int_equal(cfa_off_at(BYTES(FUNCTION STUB),
				    BYTES("\x41\x0e\x10\x41\x0e\x18\x42\x0e\x20\x43\x0e\x08"),
				    BYTES(NAMES), 16),
			 8);
}

/* A raise. 0: nop; 1: mov 16(%r14),%rsp; 5: pop 16(%r14); 9: mov 8(%r14),%r15; 13: ret; 14: nop.
 * The CFI follows the pop and not what came before. */
#define CUT	  "\x90\x49\x8b\x66\x10"
#define POP	  "\x41\x8f\x46\x10"
#define RAISE	  CUT POP "\x4d\x8b\x7e\x08\xc3\x90"
#define RAISE_CFI "\x49\x0e\x00\x45\x0e\x08"
#define AWAY	  CUT POP "\x41\x5b\x41\xff\xe3"

static void assert_raises(const uint8_t *code, size_t size, const char *want)
{
	struct cfi_builder b;
	struct table *table;

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, size, BYTES(RAISE_CFI));
	table = code_table(code, size, &b, BYTES(NAMES), &patient_limits);
	for (size_t off = 0; off < size; off++) {
		const struct fpl_rule *rule = table_find(table, CFI_BUILDER_TEXT + off);
		char got = (char)('0' + rule->cfa_off / 8);

		if (rule->flags & FPL_RULE_SIGNAL)
			got = (char)(got - '0' + 'a');
		if (got != want[off])
			fail_msg("+%zu: %c, not %c", off, got, want[off]);
	}
	table_destroy(table);
	cfi_builder_fini(&b);
}

/* want: the CFA's offset in words at each byte, as a letter where the caller's pc is exact. */
static void a_raise_of_ocaml_goes_to_its_handler(void **state)
{
	(void)state;
	assert_raises(BYTES(RAISE), "11111ccccbbbbb1");
	assert_raises(BYTES(AWAY), "11111ccccbb000");
}

static void other_code_than_ocaml_raises_is_left_alone(void **state)
{
	(void)state;
	/* another handler is popped than the stack was cut at */
	assert_raises(BYTES(CUT "\x41\x8f\x46\x18\xc3\x90\x90\x90\x90\x90"), "111111111000001");
	/* it goes on with something else; it is cut short */
	assert_raises(BYTES(CUT POP "\x90\xc3\x90\x90\x90\x90"), "111111111000001");
	assert_raises(BYTES(CUT POP), "111111111");
	assert_raises(BYTES(CUT "\x41\x8f\x46"), "11111111");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_cut_where_the_code_knows_better),
		cmocka_unit_test(of_facts_that_overlap_the_first_counts),
		cmocka_unit_test(registers_are_added_to_all_rows_of_their_fde),
		cmocka_unit_test(register_rule_of_cfi_stays),
		cmocka_unit_test(whoever_refuses_a_row_gets_no_more),
		cmocka_unit_test(a_stub_of_ocaml_has_the_stack_of_its_branch),
		cmocka_unit_test(other_code_than_ocaml_stubs_is_left_alone),
		cmocka_unit_test(a_raise_of_ocaml_goes_to_its_handler),
		cmocka_unit_test(other_code_than_ocaml_raises_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
