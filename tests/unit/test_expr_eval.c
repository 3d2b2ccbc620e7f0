/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <dwarf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "verify/expr_eval.h"

enum { OPS_MAX = 8 };

#define OP(...)	   ((Dwarf_Op){ __VA_ARGS__ })
#define NUMBER(n)  ((Dwarf_Op){ .atom = DW_OP_consts, .number = (uint64_t)(n) })
#define ATOM(name) ((Dwarf_Op){ .atom = (name) })

static struct expr_result eval(const Dwarf_Op *ops, int want_rc)
{
	static const uint64_t cfa = 1000;
	struct expr_result result = { .kind = EXPR_ADDRESS };
	struct machine machine;
	size_t nr = 0;

	machine_init(&machine, 1, 0x401007);
	machine.reg[7] = 4096;
	while (nr < OPS_MAX && ops[nr].atom != 0)
		nr++;
	assert_int_equal(expr_eval(ops, nr, &machine, &cfa, &result), want_rc);
	return result;
}

static void arithmetic_follows_the_standard(void **state)
{
	static const struct {
		const char *what;
		int64_t a, b;
		uint8_t atom;
		int64_t want;
	} cases[] = {
		{ "plus wraps", -1, 2, DW_OP_plus, 1 },
		{ "minus: second minus top", 7, 9, DW_OP_minus, -2 },
		{ "mul", -3, 5, DW_OP_mul, -15 },
		{ "div is signed", -7, 2, DW_OP_div, -3 },
		{ "div that overflows", INT64_MIN, -1, DW_OP_div, INT64_MIN },
		{ "mod is unsigned", -1, 16, DW_OP_mod, 15 },
		{ "and", 0x6c, 0x0f, DW_OP_and, 0x0c },
		{ "or", 0x60, 0x0f, DW_OP_or, 0x6f },
		{ "xor", 0x6f, 0x0f, DW_OP_xor, 0x60 },
		{ "shl", 1, 3, DW_OP_shl, 8 },
		{ "shl out of the word", 1, 64, DW_OP_shl, 0 },
		{ "shr brings zeros", -1, 60, DW_OP_shr, 15 },
		{ "shra brings the sign", -16, 2, DW_OP_shra, -4 },
		{ "shra by 0", -16, 0, DW_OP_shra, -16 },
		{ "shra out of the word", -16, 99, DW_OP_shra, -1 },
		{ "eq", 4, 4, DW_OP_eq, 1 },
		{ "ne", 4, 4, DW_OP_ne, 0 },
		{ "lt is signed", -1, 1, DW_OP_lt, 1 },
		{ "le", 1, 1, DW_OP_le, 1 },
		{ "gt", 1, -1, DW_OP_gt, 1 },
		{ "ge", 1, 2, DW_OP_ge, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const Dwarf_Op ops[OPS_MAX] = { NUMBER(cases[i].a), NUMBER(cases[i].b),
						ATOM(cases[i].atom) };
		struct expr_result got = eval(ops, 0);

		if (got.number != (uint64_t)cases[i].want)
			fail_msg("%s: got %lld", cases[i].what, (long long)got.number);
	}
}

static void stack_operations_move_what_they_say(void **state)
{
	static const struct {
		const char *what;
		Dwarf_Op op;
		uint64_t want; /* the top three afterwards as decimal digits, top last */
	} cases[] = {
		{ "dup", { .atom = DW_OP_dup }, 233 },
		{ "over", { .atom = DW_OP_over }, 232 },
		{ "pick 2", { .atom = DW_OP_pick, .number = 2 }, 231 },
		{ "swap", { .atom = DW_OP_swap }, 132 },
		{ "rot: the top goes third", { .atom = DW_OP_rot }, 312 },
		{ "nop", { .atom = DW_OP_nop }, 123 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* 1 2 3 op, then top + 10 * second + 100 * third by two folds */
		const Dwarf_Op ops[] = { NUMBER(1),	  NUMBER(2),	    NUMBER(3),
					 cases[i].op,	  ATOM(DW_OP_swap), NUMBER(10),
					 ATOM(DW_OP_mul), ATOM(DW_OP_plus), ATOM(DW_OP_swap),
					 NUMBER(100),	  ATOM(DW_OP_mul),  ATOM(DW_OP_plus) };
		struct expr_result got;
		struct machine machine;

		machine_init(&machine, 1, 0);
		assert_int_equal(expr_eval(ops, ARRAY_SIZE(ops), &machine, NULL, &got), 0);
		if (got.number != cases[i].want)
			fail_msg("%s: got %llu", cases[i].what, (unsigned long long)got.number);
	}
}

static void results_are_places_values_or_registers(void **state)
{
	const Dwarf_Op place[OPS_MAX] = { OP(.atom = DW_OP_breg7, .number = (uint64_t)-8) };
	const Dwarf_Op value[OPS_MAX] = { ATOM(DW_OP_call_frame_cfa), ATOM(DW_OP_stack_value) };
	const Dwarf_Op reg[OPS_MAX] = { OP(.atom = DW_OP_regx, .number = 12) };
	const Dwarf_Op pc[OPS_MAX] = { OP(.atom = DW_OP_bregx, .number = 16, .number2 = 1) };
	struct expr_result got;

	(void)state;
	got = eval(place, 0);
	assert_int_equal(got.kind, EXPR_ADDRESS);
	assert_int_equal(got.number, 4088);
	got = eval(value, 0);
	assert_int_equal(got.kind, EXPR_VALUE);
	assert_int_equal(got.number, 1000);
	got = eval(reg, 0);
	assert_int_equal(got.kind, EXPR_REGISTER);
	assert_int_equal(got.number, 12);
	assert_int_equal(eval(pc, 0).number, 0x401008);
}

static void branches_go_to_operations_and_nowhere_else(void **state)
{
	/* offsets: consts 0, bra 2, lit 5, skip 6, lit 9, nop 10 */
	Dwarf_Op ops[OPS_MAX] = { OP(.atom = DW_OP_consts, .number = 1, .offset = 0),
				  OP(.atom = DW_OP_bra, .number = 4, .offset = 2),
				  OP(.atom = DW_OP_lit5, .offset = 5),
				  OP(.atom = DW_OP_skip, .number = 1, .offset = 6),
				  OP(.atom = DW_OP_lit9, .offset = 9),
				  OP(.atom = DW_OP_nop, .offset = 10) };

	(void)state;
	assert_int_equal(eval(ops, 0).number, 9);
	ops[0].number = 0;
	assert_int_equal(eval(ops, 0).number, 5);
	ops[3].number = 3; /* into the middle of nothing: the end */
	assert_int_equal(eval(ops, 0).number, 5);
	ops[0].number = 1;
	ops[1].number = 2; /* into the middle of DW_OP_skip */
	eval(ops, -EINVAL);
}

static void nonsense_is_refused(void **state)
{
	static const struct {
		const char *what;
		Dwarf_Op ops[OPS_MAX];
		int want;
	} cases[] = {
		{ "nothing", { { 0 } }, -EINVAL },
		{ "too few operands", { NUMBER(1), ATOM(DW_OP_plus) }, -EINVAL },
		{ "division by zero", { NUMBER(1), NUMBER(0), ATOM(DW_OP_div) }, -EINVAL },
		{ "pick too deep", { NUMBER(1), OP(.atom = DW_OP_pick, .number = 1) }, -EINVAL },
		{ "deref of nine bytes",
		  { NUMBER(1), OP(.atom = DW_OP_deref_size, .number = 9) },
		  -EINVAL },
		{ "a vector register", { OP(.atom = DW_OP_breg17) }, -EOPNOTSUPP },
		{ "no operation of CFI", { ATOM(DW_OP_push_object_address) }, -EOPNOTSUPP },
		{ "more after the place", { ATOM(DW_OP_reg3), ATOM(DW_OP_lit1) }, -EOPNOTSUPP },
		{ "an endless loop",
		  { OP(.atom = DW_OP_nop, .offset = 0),
		    OP(.atom = DW_OP_skip, .number = (uint64_t)-4, .offset = 1) },
		  -EOVERFLOW },
		{ "a stack that grows for ever",
		  { OP(.atom = DW_OP_lit1, .offset = 0),
		    OP(.atom = DW_OP_skip, .number = (uint64_t)-4, .offset = 1) },
		  -EOVERFLOW },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		eval(cases[i].ops, cases[i].want);
	}
}

static void memory_has_one_value_per_byte(void **state)
{
	struct machine machine;
	uint64_t bytes = 0;

	(void)state;
	machine_init(&machine, 5, 0);
	for (unsigned int i = 8; i-- > 0;)
		bytes = bytes << 8 | machine_read(&machine, 0x7003 + i, 1);
	assert_int_equal(machine_read(&machine, 0x7003, 8), bytes);
	assert_int_equal(machine_read(&machine, 0x7003, 4), bytes & UINT32_MAX);
	assert_int_not_equal(machine_read(&machine, 0x7008, 8), machine_read(&machine, 0x7010, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic_follows_the_standard),
		cmocka_unit_test(stack_operations_move_what_they_say),
		cmocka_unit_test(results_are_places_values_or_registers),
		cmocka_unit_test(branches_go_to_operations_and_nowhere_else),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(memory_has_one_value_per_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
