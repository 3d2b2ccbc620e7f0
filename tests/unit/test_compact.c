/* SPDX-License-Identifier: Apache-2.0 */
/* Exact rows packed into rules, byte for byte, and the set of distinct rules. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/compact.h"

#define REG(k, r, o)                                     \
	{                                                \
		.kind = CFI_##k, .reg = (r), .off = (o), \
	}
#define RA(k, r, o) .reg[CFI_RA] = REG(k, r, o)
#define RA_ABI	    RA(AT_CFA, 0, -8)
/* rsp + 16, the return address where the ABI has it */
#define USUAL .cfa = FPL_CFA_REG, .cfa_reg = 7, .cfa_off = 16
#define KEPT  FPL_SAVED_SAME
#define LOST  FPL_SAVED_UNDEF
#define ALL_KEPT                                   \
	{                                          \
		KEPT, KEPT, KEPT, KEPT, KEPT, KEPT \
	}
#define RBX_LOST                                   \
	{                                          \
		LOST, KEPT, KEPT, KEPT, KEPT, KEPT \
	}

static const struct {
	const char *what;
	struct cfi_row row;
	struct compact_rule want;
} packings[] = {
	{ .what = "registers at their words",
	  .row = { USUAL, .reg[3] = REG(AT_CFA, 0, -16), .reg[6] = REG(AT_CFA, 0, 0),
		   .reg[12] = REG(AT_CFA, 0, 8), .reg[13] = REG(UNDEF, 0, 0),
		   .reg[15] = REG(AT_CFA, 0, -24), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, 0, 7, 0, 16, { -2, 0, 1, LOST, KEPT, -3 }, 0 },
		    .nr_slots = 1 } },
	{ .what = "the farthest words a byte says",
	  .row = { USUAL, .reg[3] = REG(AT_CFA, 0, -127 * 8), .reg[6] = REG(AT_CFA, 0, 126 * 8),
		   RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, 0, 7, 0, 16, { -127, 126, KEPT, KEPT, KEPT, KEPT }, 0 },
		    .nr_slots = 1 } },
	{ .what = "a word farther, either way: not the bytes that mean something else",
	  .row = { USUAL, .reg[3] = REG(AT_CFA, 0, -128 * 8), .reg[6] = REG(AT_CFA, 0, 127 * 8),
		   RA_ABI },
	  .want = { .rule = { FPL_CFA_REG,
			      FPL_RULE_EXT,
			      7,
			      0,
			      16,
			      { LOST, LOST, KEPT, KEPT, KEPT, KEPT },
			      0 },
		    .ext = { { 3, FPL_EXT_AT_CFA, 0, 2, -1024 },
			     { 6, FPL_EXT_AT_CFA, 0, 0, 1016 } },
		    .nr_slots = 2 } },
	{ .what = "no multiple of a word, though it rounds to one",
	  .row = { USUAL, .reg[3] = REG(AT_CFA, 0, -4), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, RBX_LOST, 0 },
		    .ext = { { 3, FPL_EXT_AT_CFA, 0, 1, -4 } },
		    .nr_slots = 2 } },
	{ .what = "at the CFA's register",
	  .row = { USUAL, .reg[3] = REG(AT_REG, 7, 8), .reg[12] = REG(AT_CFA, 0, -16),
		   .reg[15] = REG(AT_REG, 7, 16), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG,
			      0,
			      7,
			      1 | 1 << 5,
			      16,
			      { 1, KEPT, -2, KEPT, KEPT, 2 },
			      0 },
		    .nr_slots = 1 } },
	{ .what = "at another register",
	  .row = { USUAL, .reg[3] = REG(AT_REG, 6, 8), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, RBX_LOST, 0 },
		    .ext = { { 3, FPL_EXT_AT_REG, 6, 1, 8 } },
		    .nr_slots = 2 } },
	{ .what = "at another register, of a higher number",
	  .row = { USUAL, .reg[3] = REG(AT_REG, 9, 8), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, RBX_LOST, 0 },
		    .ext = { { 3, FPL_EXT_AT_REG, 9, 1, 8 } },
		    .nr_slots = 2 } },
	{ .what = "at a register, where the CFA has none",
	  .row = { .cfa = FPL_CFA_EXPR, .reg[3] = REG(AT_REG, 0, 8), RA_ABI },
	  .want = { .rule = { FPL_CFA_EXPR, FPL_RULE_EXT, 0, 0, 0, RBX_LOST, 0 },
		    .ext = { { 3, FPL_EXT_AT_REG, 0, 1, 8 } },
		    .nr_slots = 2 } },
	{ .what = "as values, and by an expression",
	  .row = { USUAL, .reg[3] = REG(VAL_CFA, 0, -16), .reg[6] = REG(VAL_REG, 5, 24),
		   .reg[12] = REG(EXPR, 0, 0), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG,
			      FPL_RULE_EXT,
			      7,
			      0,
			      16,
			      { LOST, LOST, LOST, KEPT, KEPT, KEPT },
			      0 },
		    .ext = { { 3, FPL_EXT_VAL_CFA, 0, 3, -16 },
			     { 6, FPL_EXT_VAL_REG, 5, 0, 24 },
			     { 12, FPL_EXT_EXPR, 0, 0, 0 } },
		    .nr_slots = 3 } },
	{ .what = "the return address a distance from the pc",
	  .row = { USUAL, .reg[CFI_RA] = REG(VAL_PC, 0, -7) },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 16, FPL_EXT_VAL_PC, 0, 1, -7 } },
		    .nr_slots = 2 } },
	{ .what = "offsets of 32 bits",
	  .row = { USUAL, .reg[0] = REG(AT_REG, 9, INT32_MAX), .reg[1] = REG(AT_REG, 9, INT32_MIN),
		   .reg[2] = REG(EXPR, 0, 0), .reg[4] = REG(EXPR, 0, 0), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 0, FPL_EXT_AT_REG, 9, 4, INT32_MAX },
			     { 1, FPL_EXT_AT_REG, 9, 0, INT32_MIN },
			     { 2, FPL_EXT_EXPR, 0, 0, 0 },
			     { 4, FPL_EXT_EXPR, 0, 0, 0 } },
		    .nr_slots = 3 } },
	{ .what = "of a caller-saved register nothing is assumed, of rsp the CFA is",
	  .row = { USUAL, .reg[0] = REG(UNDEF, 0, 0), .reg[2] = REG(VAL_CFA, 0, 0),
		   .reg[7] = REG(VAL_CFA, 0, 0), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 2, FPL_EXT_VAL_CFA, 0, 1, 0 } },
		    .nr_slots = 2 } },
	{ .what = "rsp beside the CFA",
	  .row = { USUAL, .reg[7] = REG(VAL_CFA, 0, 8), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 7, FPL_EXT_VAL_CFA, 0, 1, 8 } },
		    .nr_slots = 2 } },
	{ .what = "rsp below the CFA",
	  .row = { USUAL, .reg[7] = REG(VAL_CFA, 0, -8), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 7, FPL_EXT_VAL_CFA, 0, 1, -8 } },
		    .nr_slots = 2 } },
	{ .what = "the registers behind rsp are as those before it",
	  .row = { USUAL, .reg[8] = REG(VAL_CFA, 0, 0), .reg[9] = REG(UNDEF, 0, 0), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 8, FPL_EXT_VAL_CFA, 0, 1, 0 } },
		    .nr_slots = 2 } },
	{ .what = "rsp at the CFA",
	  .row = { USUAL, .reg[7] = REG(AT_CFA, 0, 0), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 7, FPL_EXT_AT_CFA, 0, 1, 0 } },
		    .nr_slots = 2 } },
	{ .what = "rsp not recoverable",
	  .row = { USUAL, .reg[7] = REG(UNDEF, 0, 0), RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 7, FPL_EXT_UNDEF, 0, 1, 0 } },
		    .nr_slots = 2 } },
	{ .what = "a signal frame",
	  .row = { USUAL, .signal = true, RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_SIGNAL, 7, 0, 16, ALL_KEPT, 0 },
		    .nr_slots = 1 } },
	{ .what = "made up",
	  .row = { USUAL, .source = CFI_SOURCE_SYNTH, RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_SYNTH, 7, 0, 16, ALL_KEPT, 0 },
		    .nr_slots = 1 } },
	{ .what = "of the debug file",
	  .row = { USUAL, .source = CFI_SOURCE_DEBUG_FILE, RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, 0, 7, 0, 16, ALL_KEPT, 0 }, .nr_slots = 1 } },
	{ .what = "the end of the stack",
	  .row = { USUAL, RA(UNDEF, 0, 0) },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_END, 7, 0, 16, ALL_KEPT, 0 }, .nr_slots = 1 } },
	{ .what = "return address in a register",
	  .row = { USUAL, RA(VAL_REG, 5, 0) },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_RA_REG, 7 | 5 << 4, 0, 16, ALL_KEPT, 0 },
		    .nr_slots = 1 } },
	{ .what = "return address beside a register",
	  .row = { USUAL, RA(VAL_REG, 5, 8) },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 16, FPL_EXT_VAL_REG, 5, 1, 8 } },
		    .nr_slots = 2 } },
	{ .what = "return address below a register",
	  .row = { USUAL, RA(VAL_REG, 5, -8) },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 16, FPL_EXT_VAL_REG, 5, 1, -8 } },
		    .nr_slots = 2 } },
	{ .what = "return address in a register, where the CFA takes the place of its number",
	  .row = { .cfa = FPL_CFA_INDEX, .cfa_reg = 6, .cfa_reg2 = 3, RA(VAL_REG, 5, 0) },
	  .want = { .rule = { FPL_CFA_INDEX, FPL_RULE_EXT, 6 | 3 << 4, 0, 0, ALL_KEPT, 0 },
		    .ext = { { 16, FPL_EXT_VAL_REG, 5, 1, 0 } },
		    .nr_slots = 2 } },
	{ .what = "return address as a value at the CFA",
	  .row = { USUAL, RA(VAL_CFA, 0, -8) },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 16, FPL_EXT_VAL_CFA, 0, 1, -8 } },
		    .nr_slots = 2 } },
	{ .what = "return address in memory at a register",
	  .row = { USUAL, RA(AT_REG, 7, -8) },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 16, FPL_EXT_AT_REG, 7, 1, -8 } },
		    .nr_slots = 2 } },
	{ .what = "return address above and below its place",
	  .row = { USUAL, RA(AT_CFA, 0, 0) },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 16, FPL_EXT_AT_CFA, 0, 1, 0 } },
		    .nr_slots = 2 } },
	{ .what = "return address below its place",
	  .row = { USUAL, RA(AT_CFA, 0, -16) },
	  .want = { .rule = { FPL_CFA_REG, FPL_RULE_EXT, 7, 0, 16, ALL_KEPT, 0 },
		    .ext = { { 16, FPL_EXT_AT_CFA, 0, 1, -16 } },
		    .nr_slots = 2 } },
	{ .what = "a CFA in memory",
	  .row = { .cfa = FPL_CFA_DEREF,
		   .cfa_reg = 6,
		   .cfa_off = -8,
		   .cfa_off2 = INT16_MAX,
		   RA_ABI },
	  .want = { .rule = { FPL_CFA_DEREF, 0, 6, 0, -8, ALL_KEPT, INT16_MAX }, .nr_slots = 1 } },
	{ .what = "a CFA of the largest offsets",
	  .row = { .cfa = FPL_CFA_INDEX,
		   .cfa_reg = 15,
		   .cfa_reg2 = 14,
		   .cfa_off = INT32_MAX,
		   .cfa_off2 = INT16_MIN,
		   RA_ABI },
	  .want = { .rule = { FPL_CFA_INDEX, 0, 15 | 14 << 4, 0, INT32_MAX, ALL_KEPT, INT16_MIN },
		    .nr_slots = 1 } },
	{ .what = "a CFA of the smallest offset",
	  .row = { .cfa = FPL_CFA_REG, .cfa_reg = 7, .cfa_off = INT32_MIN, RA_ABI },
	  .want = { .rule = { FPL_CFA_REG, 0, 7, 0, INT32_MIN, ALL_KEPT, 0 }, .nr_slots = 1 } },
	{ .what = "a CFA offset over 32 bits",
	  .row = { .cfa = FPL_CFA_REG, .cfa_reg = 7, .cfa_off = (int64_t)INT32_MAX + 1, RA_ABI },
	  .want = { .rule = { FPL_CFA_EXPR, 0, 0, 0, 0, ALL_KEPT, 0 }, .nr_slots = 1 } },
	{ .what = "a CFA offset under 32 bits",
	  .row = { .cfa = FPL_CFA_REG, .cfa_reg = 7, .cfa_off = (int64_t)INT32_MIN - 1, RA_ABI },
	  .want = { .rule = { FPL_CFA_EXPR, 0, 0, 0, 0, ALL_KEPT, 0 }, .nr_slots = 1 } },
	{ .what = "a second CFA offset over 16 bits",
	  .row = { .cfa = FPL_CFA_DEREF, .cfa_reg = 6, .cfa_off2 = INT16_MAX + 1, RA_ABI },
	  .want = { .rule = { FPL_CFA_EXPR, 0, 0, 0, 0, ALL_KEPT, 0 }, .nr_slots = 1 } },
	{ .what = "a second CFA offset under 16 bits",
	  .row = { .cfa = FPL_CFA_DEREF, .cfa_reg = 6, .cfa_off2 = INT16_MIN - 1, RA_ABI },
	  .want = { .rule = { FPL_CFA_EXPR, 0, 0, 0, 0, ALL_KEPT, 0 }, .nr_slots = 1 } },
	{ .what = "a CFA by an expression; registers at it all the same",
	  .row = { .cfa = FPL_CFA_EXPR, .reg[3] = REG(AT_CFA, 0, -16), RA_ABI },
	  .want = { .rule = { FPL_CFA_EXPR, 0, 0, 0, 0, { -2, KEPT, KEPT, KEPT, KEPT, KEPT }, 0 },
		    .nr_slots = 1 } },
};

static void rows_pack_to_these_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packings); i++) {
		struct compact_rule got;

		memset(&got, 0x5a, sizeof(got));
		compact_pack(&packings[i].row, &got);
		if (memcmp(&got, &packings[i].want, sizeof(got)) != 0)
			fail_msg("%s", packings[i].what);
	}
}

static void a_row_may_say_something_of_every_register(void **state)
{
	struct cfi_row row = { USUAL };
	struct compact_rule got;

	(void)state;
	for (unsigned i = 0; i < CFI_NR_REGS; i++)
		row.reg[i] = (struct cfi_reg)REG(AT_REG, 5, (int32_t)i);
	compact_pack(&row, &got);
	assert_int_equal(got.nr_slots, 10);
	assert_int_equal(got.nr_slots * sizeof(got.rule), FPL_RULE_REACH);
	assert_int_equal(got.ext[0].count, FPL_EXT_MAX);
	for (unsigned i = 0; i < FPL_EXT_MAX; i++)
		assert_int_equal(got.ext[i].dst, got.ext[i].off);
	assert_int_equal(got.ext[FPL_EXT_MAX].kind, 0);
}

/* Another number for each @i, without a pattern that keeps hashes of it apart. */
static int32_t scrambled(uint32_t i)
{
	i = (i ^ i >> 16) * 0x7feb352du;
	i = (i ^ i >> 15) * 0x846ca68bu;
	return (int32_t)(i ^ i >> 16);
}

/* The @i-th of many rules of @nr_slots; those of more than one slot differ in the last alone. */
static struct compact_rule numbered(unsigned i, unsigned nr_slots)
{
	struct compact_rule rule = { .rule = { .cfa = FPL_CFA_REG }, .nr_slots = nr_slots };

	if (nr_slots == 1) {
		rule.rule.cfa_off = scrambled(i);
		rule.rule.from_reg = 7; /* where extended rules have their count */
	} else {
		unsigned count = 2 * nr_slots - 2 - (i & 1);

		rule.rule.flags = FPL_RULE_EXT;
		rule.ext[0].count = (uint8_t)count;
		rule.ext[count - 1].off = scrambled(i);
	}
	return rule;
}

static int add(struct rule_set *set, const struct compact_rule *rule)
{
	struct fpl_err err;

	return rule_set_add(set, (const struct fpl_rule *)(const void *)rule, rule->nr_slots, &err);
}

static void a_rule_is_stored_once_and_found_again(void **state)
{
	static const struct {
		const char *what;
		unsigned nr, nr_slots;
	} cases[] = {
		{ "plain rules", 3000, 1 },
		{ "rules of two slots, the first equal", 3000, 2 },
		{ "rules of three slots, the first two equal", 3000, 3 },
	};

	(void)state;
	for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
		unsigned nr = cases[c].nr, nr_slots = cases[c].nr_slots;
		struct rule_set set;
		struct fpl_err err;

		assert_int_equal(rule_set_init(&set, "test", &err), 0);
		for (unsigned i = 0; i < 2 * nr; i++) {
			const struct compact_rule rule = numbered(i % nr, nr_slots);
			int slot = add(&set, &rule);

			if (slot != (int)(1 + i % nr * nr_slots) ||
			    memcmp(&set.slots[slot], &rule, nr_slots * sizeof(rule.rule)) != 0)
				fail_msg("%s: rule %u in slot %d", cases[c].what, i, slot);
		}
		assert_int_equal(set.nr_rules, nr);
		assert_int_equal(set.nr_ext, nr_slots > 1 ? nr : 0);
		assert_int_equal(set.nr_slots, 1 + nr * nr_slots);
		assert_true(set.nr_hash >= 2 * set.nr_rules);
		rule_set_fini(&set);
	}
}

static void a_rule_is_no_part_of_a_longer_one(void **state)
{
	const struct compact_rule two = numbered(0, 2), three = numbered(0, 3);
	struct compact_rule one = two;
	struct rule_set set;
	struct fpl_err err;

	(void)state;
	one.rule.flags = 0;
	one.nr_slots = 1;
	assert_int_equal(rule_set_init(&set, "test", &err), 0);
	assert_int_equal(add(&set, &three), 1);
	assert_int_equal(add(&set, &two), 4);
	assert_int_equal(add(&set, &one), 6);
	assert_int_equal(add(&set, &one), 6);
	assert_int_equal(add(&set, &two), 4);
	assert_int_equal(add(&set, &three), 1);
	rule_set_fini(&set);
}

static void the_last_slot_can_be_used_and_no_more(void **state)
{
	const struct compact_rule two = numbered(0, 2);
	struct compact_rule rule = { 0 };
	struct rule_set set;
	struct fpl_err err;

	(void)state;
	assert_int_equal(rule_set_init(&set, "test", &err), 0);
	for (unsigned i = 1; i < FPL_RULES_MAX - 1; i++) {
		rule = numbered(i, 1);
		assert_int_equal(add(&set, &rule), i);
	}
	assert_int_equal(add(&set, &two), -EFBIG);
	rule = numbered(FPL_RULES_MAX - 1, 1);
	assert_int_equal(add(&set, &rule), FPL_RULES_MAX - 1);
	assert_int_equal(add(&set, &rule), FPL_RULES_MAX - 1);
	rule = numbered(FPL_RULES_MAX, 1);
	assert_int_equal(add(&set, &rule), -EFBIG);
	assert_int_equal(set.nr_slots, FPL_RULES_MAX);
	rule_set_fini(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_pack_to_these_bytes),
		cmocka_unit_test(a_row_may_say_something_of_every_register),
		cmocka_unit_test(a_rule_is_stored_once_and_found_again),
		cmocka_unit_test(a_rule_is_no_part_of_a_longer_one),
		cmocka_unit_test(the_last_slot_can_be_used_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
