/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "unwind/row_text.h"

/* A row as gcc begins a function: nothing saved yet. */
#define ENTRY                                                 \
	.cfa = FPL_CFA_REG, .cfa_reg = 7, .cfa_off = 8,       \
	.reg = {                                              \
		[CFI_RA] = { .kind = CFI_AT_CFA, .off = -8 }, \
	}

static const struct {
	const char *what;
	struct cfi_row row;
	const char *want;
} cases[] = {
	{ "function entry", { ENTRY }, "cfa=rsp+8 ra=c-8 rbx=s rbp=s r12=s r13=s r14=s r15=s" },
	{ "outermost frame",
	  { .cfa = FPL_CFA_REG,
	    .cfa_reg = 7,
	    .cfa_off = 0,
	    .reg = { [CFI_RA] = { .kind = CFI_UNDEF }, [6] = { .kind = CFI_UNDEF } } },
	  "cfa=rsp+0 ra=end rbx=s rbp=u r12=s r13=s r14=s r15=s" },
	{ "stack realigned: CFA in memory, registers beside rbp",
	  { .cfa = FPL_CFA_DEREF,
	    .cfa_reg = 6,
	    .cfa_off = -16,
	    .cfa_off2 = 0,
	    .reg = { [CFI_RA] = { .kind = CFI_AT_CFA, .off = -8 },
		     [3] = { .kind = CFI_AT_REG, .reg = 6, .off = -24 },
		     [6] = { .kind = CFI_AT_REG, .reg = 6, .off = 0 } } },
	  "cfa=*(rbp-16)+0 ra=c-8 rbx=*(rbp-24) rbp=*(rbp+0) r12=s r13=s r14=s r15=s" },
	{ "CFA by an index, as in libcrypto",
	  { .cfa = FPL_CFA_INDEX,
	    .cfa_reg = 7,
	    .cfa_off = 8,
	    .cfa_reg2 = 9,
	    .cfa_off2 = 8,
	    .reg = { [CFI_RA] = { .kind = CFI_AT_CFA, .off = -8 } } },
	  "cfa=*(rsp+8+8*r9)+8 ra=c-8 rbx=s rbp=s r12=s r13=s r14=s r15=s" },
	{ "PLT under IBT, values instead of places, expressions",
	  { .cfa = FPL_CFA_PLT,
	    .cfa_reg = 7,
	    .cfa_reg2 = 10,
	    .cfa_off = 8,
	    .reg = { [CFI_RA] = { .kind = CFI_VAL_REG, .reg = 1, .off = 0 },
		     [3] = { .kind = CFI_EXPR },
		     [12] = { .kind = CFI_VAL_CFA, .off = -5 },
		     [15] = { .kind = CFI_AT_CFA, .off = 2147483647 } } },
	  "cfa=plt:10 ra=v:rdx+0 rbx=expr rbp=s r12=v:c-5 r13=s r14=s "
	  "r15=c+2147483647" },
	{ "the return address a distance from the pc",
	  { .cfa = FPL_CFA_REG,
	    .cfa_reg = 7,
	    .cfa_off = -128,
	    .reg = { [CFI_RA] = { .kind = CFI_VAL_PC, .off = 19 } } },
	  "cfa=rsp-128 ra=v:pc+19 rbx=s rbp=s r12=s r13=s r14=s r15=s" },
	{ "an expression that has no rule",
	  { .cfa = FPL_CFA_EXPR, .reg = { [CFI_RA] = { .kind = CFI_AT_CFA, .off = -8 } } },
	  "cfa=expr ra=c-8 rbx=s rbp=s r12=s r13=s r14=s r15=s" },
};

static void rows_read_as_the_grammar_says(void **state)
{
	char got[ROW_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		row_text(&cases[i].row, got);
		if (strcmp(got, cases[i].want) != 0)
			fail_msg("%s: \"%s\"", cases[i].what, got);
	}
	row_text(NULL, got);
	assert_string_equal(got, "none");
}

static void the_longest_row_fits_whole(void **state)
{
	struct cfi_row row = { .cfa = FPL_CFA_INDEX,
			       .cfa_reg = 15,
			       .cfa_off = INT64_MIN,
			       .cfa_reg2 = 15,
			       .cfa_off2 = INT64_MIN };
	char got[ROW_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; i < CFI_NR_REGS; i++)
		row.reg[i] = (struct cfi_reg){ .kind = CFI_VAL_REG, .reg = 15, .off = INT32_MIN };
	row_text(&row, got);
	assert_non_null(strstr(got, " r15=v:r15-2147483648"));
	assert_int_equal(got[strlen(got) - 1], '8');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_read_as_the_grammar_says),
		cmocka_unit_test(the_longest_row_fits_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
