/* SPDX-License-Identifier: Apache-2.0 */
/* The assembly of LuaJIT's interpreter, with one FDE: its rows are mended where its code says so.
 */
#include "cmocka_all.h"

#include "bpf/arch_x86_64.h"
#include "tests/support/code_table.h"
#include "tests/support/patient_limits.h"

/* CFA = rsp + 80; rbp at -16, rbx at -24, r15 at -32, r14 at -40 */
#define CFI   "\x0e\x50\x86\x02\x83\x03\x8f\x04\x8e\x05"
#define NAMES "\0lua_call\0luaJIT_setmode\0"

/* The pieces of the code, in their order; the offset of each is below. */
#define TRACE "\x48\x83\xec\x10\x4c\x89\x64\x24\x10\x4c\x89\x6c\x24\x08\xff\xe0"
#define LEAVE "\x48\x83\xc4\x28\x41\x5e\x41\x5f\x5b\x5d\xc3"
#define ENTER "\x55\x53\x41\x57\x41\x56\x48\x83\xec\x28"
#define CHAIN "\x4c\x8b\x7d\x50\x4c\x89\x7c\x24\x20"
#define HANDLER                                                    \
	"\x41\x55\x41\x54\x41\x53\x41\x52\x41\x51\x41\x50\x57\x56" \
	"\x55\x48\x8d\x6c\x24\x58\x55\x53\x52\x51\x50"
#define LOAD	"\x49\x8b\xae\xf0\xf1\xff\xff\x49\x8b\x96\xf8\xf1\xff\xff"
#define FRAME	"\x48\x8b\x4d\x50\x48\x83\xe1\xfc"
#define BACK	"\x4c\x8b\x69\xf8\x4c\x8b\x21\x48\x89\xcc"
#define RETHROW "\xf7\xde\xe8\x10\x00\x00\x00"
#define ROUND	"\x0f\x28\xc1\xc3"	       /* movaps xmm0, xmm1; ret */
#define CPUID	"\x53\x31\xc9\x0f\xa2\x5b\xc3" /* push rbx; xor ecx, ecx; cpuid; pop rbx; ret */
#define CALLED	"\x53\x41\x57\x41\x56\x48\x83\xec\x28\x90"
#define CODE	TRACE LEAVE ENTER CHAIN HANDLER LOAD FRAME BACK RETHROW ROUND CPUID CALLED

enum {
	AT_TRACE = 0,
	AT_LEAVE = AT_TRACE + 16,
	AT_ENTER = AT_LEAVE + 11,
	AT_CHAIN = AT_ENTER + 10,
	AT_HANDLER = AT_CHAIN + 9,
	AT_LOAD = AT_HANDLER + 25,
	AT_FRAME = AT_LOAD + 14,
	AT_BACK = AT_FRAME + 8,
	AT_RETHROW = AT_BACK + 10,
	AT_ROUND = AT_RETHROW + 7,
	AT_CPUID = AT_ROUND + 4,
	AT_CALLED = AT_CPUID + 7,
	SIZE = AT_CALLED + 10,
};
_Static_assert(sizeof(CODE) - 1 == SIZE, "the offsets are those of the code");

static struct table *mended(const uint8_t *code, const uint8_t *cfi, size_t cfi_size,
			    const uint8_t *names, size_t names_size)
{
	return code_table_of_one(code, SIZE, SIZE, cfi, cfi_size, names, names_size,
				 &patient_limits);
}

/* [@start, @end) has CFA = rsp + @cfa_off, and registers that are in the frame above rsp alone. */
static void check(const struct table *table, uint64_t start, uint64_t end, int cfa_off)
{
	static const int8_t places[FPL_NR_SAVED] = { -3, -2, 0, 0, -5, -4 };

	for (uint64_t off = start; off < end; off++) {
		const struct fpl_rule *rule = code_table_at(table, off);

		assert_int_equal(rule->cfa, FPL_CFA_REG);
		assert_int_equal(rule->regs & 15, ARCH_SP);
		if (rule->cfa_off != cfa_off)
			fail_msg("+%d: %d, not %d", (int)off, rule->cfa_off, cfa_off);
		for (unsigned i = 0; i < FPL_NR_SAVED; i++)
			assert_int_equal(rule->saved[i], places[i] && -8 * places[i] <= cfa_off
								 ? places[i]
								 : FPL_SAVED_SAME);
	}
}

static void each_place_has_its_rule(void **state)
{
	struct table *table = mended((const uint8_t *)CODE, BYTES(CFI), BYTES(NAMES));
	struct fpl_rule rule;

	(void)state;
	check(table, AT_TRACE, AT_TRACE + 4, 80);
	check(table, AT_TRACE + 4, AT_LEAVE, 96);
	check(table, AT_LEAVE, AT_LEAVE + 4, 80);
	check(table, AT_LEAVE + 4, AT_LEAVE + 6, 40);
	check(table, AT_LEAVE + 6, AT_LEAVE + 8, 32);
	check(table, AT_LEAVE + 8, AT_LEAVE + 9, 24);
	check(table, AT_LEAVE + 9, AT_LEAVE + 10, 16);
	check(table, AT_LEAVE + 10, AT_ENTER, 8);
	check(table, AT_ENTER, AT_ENTER + 1, 8);
	check(table, AT_ENTER + 1, AT_ENTER + 2, 16);
	check(table, AT_ENTER + 2, AT_ENTER + 4, 24);
	check(table, AT_ENTER + 4, AT_ENTER + 6, 32);
	check(table, AT_ENTER + 6, AT_ENTER + 10, 40);
	check(table, AT_CHAIN, AT_HANDLER, 80);
	check(table, AT_RETHROW, AT_ROUND, 80);
	check(table, AT_ROUND, AT_CPUID + 1, 8);
	check(table, AT_CPUID + 1, AT_CPUID + 6, 16);
	check(table, AT_CPUID + 6, AT_CALLED, 8);
	check(table, AT_CALLED, AT_CALLED + 1, 16);
	check(table, AT_CALLED + 5, AT_CALLED + 9, 40);
	check(table, AT_CALLED + 9, SIZE, 80);
	for (uint64_t off = AT_HANDLER; off < AT_RETHROW; off++) {
		static const int8_t places[FPL_NR_SAVED] = { -3, -2, -10, -11, -5, -4 };

		rule = *code_table_at(table, off);
		assert_int_equal(rule.cfa, FPL_CFA_LUAJIT);
		assert_int_equal(rule.regs, ARCH_R14 | 10 << 4);
		assert_int_equal(rule.cfa_off, -0xe10);
		assert_int_equal(rule.off2, 0x50);
		assert_memory_equal(rule.saved, places, sizeof(places));
	}
	assert_true(table_find_rule(table, FPL_CFA_LUAJIT, &rule));
	assert_memory_equal(&rule, code_table_at(table, AT_HANDLER), sizeof(rule));
	assert_false(table_find_rule(table, FPL_CFA_HEIGHT, &rule));
	table_destroy(table);
}

static void the_way_out_of_another_form_has_no_rule(void **state)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t value;
	} cases[] = {
		{ "it saves other registers", AT_HANDLER + 1, 0x56 },
		{ "the thread is at another register", AT_LOAD + 2, 0xad },
		{ "the base of the stack is elsewhere", AT_LOAD + 10, 0xf0 },
		{ "the frame is at another register", AT_FRAME + 2, 0x4e },
		{ "the place of the frame is odd", AT_FRAME + 3, 0x51 },
		{ "it is below the thread", AT_FRAME + 3, 0x90 },
		{ "it is another one than entries use", AT_CHAIN + 3, 0x58 },
		{ "the frame before is elsewhere", AT_CHAIN + 8, 0x28 },
		{ "other flags", AT_FRAME + 7, 0xf8 },
		{ "r12 is elsewhere", AT_BACK + 3, 0xf0 },
	};
	struct fpl_rule rule;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t code[SIZE];
		struct table *table;

		print_message("%s\n", cases[i].what);
		memcpy(code, CODE, SIZE);
		code[cases[i].at] = cases[i].value;
		table = mended(code, BYTES(CFI), BYTES(NAMES));
		assert_false(table_find_rule(table, FPL_CFA_LUAJIT, &rule));
		assert_int_equal(code_table_at(table, AT_HANDLER)->cfa_off, 80);
		table_destroy(table);
	}
}

static void other_programs_are_left_alone(void **state)
{
	static const char no_name[] = "\0lua_call\0luaJIU_setmode\0";
	/* a frame of 88 bytes, and one that a register has */
	static const char other_frame[] = "\x0e\x58\x86\x02", by_rbp[] = "\x0c\x06\x50\x86\x02";
	struct table *table = mended((const uint8_t *)CODE, BYTES(CFI), BYTES(no_name));

	(void)state;
	assert_int_equal(code_table_at(table, AT_HANDLER)->cfa, FPL_CFA_REG);
	check(table, 0, SIZE, 80);
	table_destroy(table);
	table = mended((const uint8_t *)CODE, BYTES(other_frame), BYTES(NAMES));
	assert_int_equal(code_table_at(table, AT_ENTER)->cfa_off, 88);
	assert_int_equal(code_table_at(table, AT_LEAVE + 10)->cfa_off, 88);
	table_destroy(table);
	table = mended((const uint8_t *)CODE, BYTES(by_rbp), BYTES(NAMES));
	assert_int_equal(code_table_at(table, AT_HANDLER)->cfa, FPL_CFA_REG);
	assert_int_equal(code_table_at(table, AT_ENTER)->cfa_off, 80);
	table_destroy(table);
}

static void functions_are_mended_up_to_what_moves_rsp_otherwise(void **state)
{
	uint8_t code[SIZE];
	struct table *table;

	(void)state;
	memcpy(code, CODE, SIZE);
	memcpy(code + AT_CPUID + 1, "\x48\x89\xcc", 3); /* mov rsp, rcx */
	table = mended(code, BYTES(CFI), BYTES(NAMES));
	check(table, AT_ROUND, AT_CPUID + 1, 8);
	check(table, AT_CPUID + 1, AT_CALLED, 80);
	table_destroy(table);
	/* a word too many is taken off */
	memcpy(code + AT_ROUND, "\x58\x90\x90", 3);
	table = mended(code, BYTES(CFI), BYTES(NAMES));
	check(table, AT_ROUND, AT_CALLED, 80);
	table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_has_its_rule),
		cmocka_unit_test(the_way_out_of_another_form_has_no_rule),
		cmocka_unit_test(other_programs_are_left_alone),
		cmocka_unit_test(functions_are_mended_up_to_what_moves_rsp_otherwise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
