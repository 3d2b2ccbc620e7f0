/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include "tests/support/cfi_builder.h"
#include "unwind/cfa_expr.h"

static const struct {
	const char *what;
	const char *bytes;
	size_t size;
	const char *want;
} cfas[] = {
#define E(literal) literal, sizeof(literal) - 1
	{ "breg7 16", E("\x77\x10"), "r7+16" },
	{ "bregx 10 -8", E("\x92\x0a\x78"), "r10-8" },
	{ "gcc's realigned stack: breg6 -8; deref", E("\x76\x78\x06"), "*(r6-8)+0" },
	{ "breg6 0; deref; plus_uconst 16", E("\x76\x00\x06\x23\x10"), "*(r6+0)+16" },
	{ "deref_size 8", E("\x76\x78\x94\x08"), "*(r6-8)+0" },
	{ "glibc's signal frame: breg7 160; deref", E("\x77\xa0\x01\x06"), "*(r7+160)+0" },
	{ "perlasm: breg7 8; breg9 0; lit8; mul; plus; deref; plus_uconst 8",
	  E("\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08"), "*(r7+8+8*r9)+8" },
	{ "the same by shl, other way round", E("\x79\x00\x33\x24\x77\x08\x22\x06\x38\x22"),
	  "*(r7+8+8*r9)+8" },
	{ "breg9 2; lit3; shl; breg7 0; plus; deref: *(r7 + 16 + 8 * r9)",
	  E("\x79\x02\x33\x24\x77\x00\x22\x06"), "*(r7+16+8*r9)+0" },
	{ "the PLT, literal 11", E("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"), "plt:11" },
	{ "the PLT under IBT, literal 9", E("\x77\x08\x80\x00\x3f\x1a\x39\x2a\x33\x24\x22"),
	  "plt:9" },
	{ "breg7 0; const1u 24; plus", E("\x77\x00\x08\x18\x22"), "r7+24" },
	{ "breg7 0; const2s -256; minus", E("\x77\x00\x0b\x00\xff\x1c"), "r7+256" },
	{ "breg7 8; nop", E("\x77\x08\x96"), "r7+8" },
	{ "empty", E(""), "expr" },
	{ "cut operand", E("\x77"), "expr" },
	{ "a constant alone", E("\x38"), "expr" },
	{ "register 17", E("\x81\x00"), "expr" },
	{ "the pc as base", E("\x80\x08"), "expr" },
	{ "PLT literal out of range", E("\x77\x08\x80\x00\x3f\x1a\x40\x2a\x33\x24\x22"), "expr" },
	{ "PLT with another mask", E("\x77\x08\x80\x00\x37\x1a\x3b\x2a\x33\x24\x22"), "expr" },
	{ "PLT with a distance from the pc", E("\x77\x08\x80\x01\x3f\x1a\x3b\x2a\x33\x24\x22"),
	  "expr" },
	{ "shl by 2", E("\x79\x00\x32\x24\x77\x08\x22\x06"), "expr" },
	{ "two derefs", E("\x76\x00\x06\x06"), "expr" },
	{ "libmvec's aligned frame: breg6 0; const1s -64; and", E("\x76\x00\x09\xc0\x1a"), "expr" },
	{ "deref_size 4", E("\x76\x78\x94\x04"), "expr" },
	{ "stack underflow: plus", E("\x22"), "expr" },
	{ "stack overflow",
	  E("\x77\x00\x77\x00\x77\x00\x77\x00\x77\x00\x77\x00\x77\x00"
	    "\x77\x00\x77\x00"),
	  "expr" },
	{ "sum over 64 bits", E("\x77\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x23\x01"), "expr" },
	{ "unknown operation", E("\x77\x00\xe0"), "expr" },
#undef E
};

static void cfa_equals_the_result_of_its_expression(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cfas); i++) {
		struct cfi_row row = { .cfa_reg = 99,
				       .cfa_off = 99,
				       .start = CFI_BUILDER_TEXT,
				       .end = CFI_BUILDER_TEXT };
		char text[128] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		row.reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = -8 };
		cfa_expr_cfa((const uint8_t *)cfas[i].bytes, cfas[i].size, &row);
		cfi_builder_row_text(&row, out);
		fclose(out);
		text[strcspn(text, "\n")] = '\0';
		if (strcmp(text + strlen("0-0 "), cfas[i].want) != 0)
			fail_msg("%s: got %s", cfas[i].what, text);
	}
}

static void register_expression_gives_place_or_value(void **state)
{
	static const struct {
		const char *what;
		const char *bytes;
		size_t size;
		bool value;
		struct cfi_reg want;
	} cases[] = {
#define E(literal) literal, sizeof(literal) - 1
		{ "at breg6 0", E("\x76\x00"), false, { CFI_AT_REG, 6, 0 } },
		{ "at breg6 -40", E("\x76\x58"), false, { CFI_AT_REG, 6, -40 } },
		{ "at CFA + 24: plus_uconst 24", E("\x23\x18"), false, { CFI_AT_CFA, 0, 24 } },
		{ "at CFA: empty", E(""), false, { CFI_AT_CFA, 0, 0 } },
		{ "value breg7 8", E("\x77\x08"), true, { CFI_VAL_REG, 7, 8 } },
		{ "value CFA - 16: lit16; minus", E("\x40\x1c"), true, { CFI_VAL_CFA, 0, -16 } },
		{ "value *(breg6 -8)", E("\x76\x78\x06"), true, { CFI_AT_REG, 6, -8 } },
		{ "value *(CFA - 8)", E("\x38\x1c\x06"), true, { CFI_AT_CFA, 0, -8 } },
		{ "at *(breg6 -8): two reads", E("\x76\x78\x06"), false, { CFI_EXPR, 0, 0 } },
		{ "value *(breg6 -8) + 8", E("\x76\x78\x06\x23\x08"), true, { CFI_EXPR, 0, 0 } },
		{ "value of the pc", E("\x80\x00"), true, { CFI_VAL_PC, 0, 0 } },
		{ "value of the pc + 19", E("\x80\x13"), true, { CFI_VAL_PC, 0, 19 } },
		{ "glibc's way out of a lock's path: breg16 6; const4s 40; minus; const4s -300; "
		  "plus",
		  E("\x80\x06\x0d\x28\x00\x00\x00\x1c\x0d\xd4\xfe\xff\xff\x22"),
		  true,
		  { CFI_VAL_PC, 0, -334 } },
		{ "at the pc", E("\x80\x13"), false, { CFI_EXPR, 0, 0 } },
		{ "value *(pc + 8)", E("\x80\x08\x06"), true, { CFI_EXPR, 0, 0 } },
		{ "value 8 * pc", E("\x80\x00\x38\x1e"), true, { CFI_EXPR, 0, 0 } },
		{ "cut", E("\x76"), false, { CFI_EXPR, 0, 0 } },
#undef E
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfi_reg got = cfa_expr_reg((const uint8_t *)cases[i].bytes, cases[i].size,
						  cases[i].value);

		if (got.kind != cases[i].want.kind || got.reg != cases[i].want.reg ||
		    got.off != cases[i].want.off)
			fail_msg("%s: got kind %u, reg %u, off %ld", cases[i].what, got.kind,
				 got.reg, (long)got.off);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cfa_equals_the_result_of_its_expression),
		cmocka_unit_test(register_expression_gives_place_or_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
