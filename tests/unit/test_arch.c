// SPDX-License-Identifier: Apache-2.0
/* What the walker knows about x86-64: calls, registers as the kernel stores them. */
#include "cmocka_all.h"

#include <string.h>

#include "bpf/arch_x86_64.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* The 8 bytes before a return address, the last ones as in @bytes. */
static uint64_t code_before(const uint8_t *bytes, size_t size)
{
	uint8_t code[8] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 };
	uint64_t ret;

	memcpy(code + 8 - size, bytes, size);
	memcpy(&ret, code, sizeof(ret));
	return ret;
}

static void calls_of_every_form_are_recognised(void **state)
{
	static const struct {
		const char *what;
		uint8_t size;
		uint8_t bytes[8];
		int is_call;
	} cases[] = {
		{ "call rel32", 5, { 0xe8, 1, 2, 3, 4 }, 1 },
		{ "call rax", 2, { 0xff, 0xd0 }, 1 },
		{ "call r15 with its prefix", 3, { 0x41, 0xff, 0xd7 }, 1 },
		{ "notrack call rax", 3, { 0x3e, 0xff, 0xd0 }, 1 },
		{ "call [rax]", 2, { 0xff, 0x10 }, 1 },
		{ "call [rdi]", 2, { 0xff, 0x17 }, 1 },
		{ "call [rax + 8]", 3, { 0xff, 0x50, 8 }, 1 },
		{ "call [rsp]", 3, { 0xff, 0x14, 0x24 }, 1 },
		{ "call [rbx + 8 * rax]", 3, { 0xff, 0x14, 0xc3 }, 1 },
		{ "call [rsp + 8]", 4, { 0xff, 0x54, 0x24, 8 }, 1 },
		{ "call [rip + x]", 6, { 0xff, 0x15, 1, 2, 3, 4 }, 1 },
		{ "call [rbp + x]", 6, { 0xff, 0x95, 1, 2, 3, 4 }, 1 },
		{ "call [rsp + x]", 7, { 0xff, 0x94, 0x24, 1, 2, 3, 4 }, 1 },
		{ "call [8 * rax + x]", 7, { 0xff, 0x14, 0xc5, 1, 2, 3, 4 }, 1 },
		{ "jmp rel32", 5, { 0xe9, 1, 2, 3, 4 }, 0 },
		{ "jmp rax", 2, { 0xff, 0xe0 }, 0 },
		{ "jmp [rax]", 2, { 0xff, 0x20 }, 0 },
		{ "push [rax]", 2, { 0xff, 0x30 }, 0 },
		{ "jmp [rip + x]", 6, { 0xff, 0x25, 1, 2, 3, 4 }, 0 },
		{ "dec eax", 2, { 0xff, 0xc8 }, 0 },
		{ "half of call [rsp]", 2, { 0xff, 0x14 }, 0 },
		{ "half of call [rip + x]", 2, { 0xff, 0x15 }, 0 },
		{ "call [rsp + 8] cut short", 3, { 0xff, 0x54, 0x24 }, 0 },
		{ "call [rbp + x] where 6 bytes must be", 7, { 0xff, 0x95, 0, 1, 2, 3, 4 }, 0 },
		{ "call [rsp + x] cut short", 6, { 0xff, 0x94, 0x24, 1, 2, 3 }, 0 },
		{ "call [rbp + SIB without base] where 3 bytes are", 3, { 0xff, 0x14, 0xc5 }, 0 },
		{ "call [rbx + 8 * rax] where 7 bytes are",
		  7,
		  { 0xff, 0x14, 0xc3, 1, 2, 3, 4 },
		  0 },
		{ "nop", 1, { 0x90 }, 0 },
		{ "call rel32 one byte too early", 6, { 0xe8, 1, 2, 3, 4, 0x90 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (arch_is_call(code_before(cases[i].bytes, cases[i].size)) != cases[i].is_call)
			fail_msg("%s", cases[i].what);
	}
}

static void user_registers_get_their_dwarf_numbers(void **state)
{
	/* rax rdx rcx rbx rsi rdi rbp rsp r8..r15, as words of pt_regs */
	static const uint8_t word[FPL_NR_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19,
						   9,  8,  7,  6, 3,  2,  1, 0 };
	__u64 pt[ARCH_PT_WORDS];
	struct fpl_regs regs;

	(void)state;
	for (uint32_t i = 0; i < ARCH_PT_WORDS; i++)
		pt[i] = 0x100 + i;
	pt[ARCH_PT_ORIG_RAX] = ~0ull;
	arch_user_regs(&regs, pt);
	for (uint32_t i = 0; i < FPL_NR_REGS; i++)
		assert_int_equal(regs.reg[i], 0x100 + word[i]);
	assert_int_equal(regs.pc, 0x110);
	assert_int_equal(regs.known, 0xffff);
}

static void a_system_call_has_overwritten_rcx_and_r11(void **state)
{
	__u64 pt[ARCH_PT_WORDS] = { [ARCH_PT_ORIG_RAX] = 0, [ARCH_PT_RIP] = 5, [ARCH_PT_RCX] = 6 };
	struct fpl_regs regs;

	(void)state;
	arch_user_regs(&regs, pt);
	assert_int_equal(regs.known, 0xf7fb);
	pt[ARCH_PT_ORIG_RAX] = ~0ull;
	arch_user_regs(&regs, pt);
	assert_int_equal(regs.known, 0xffff);
	pt[ARCH_PT_RCX] = 5;
	arch_user_regs(&regs, pt);
	assert_int_equal(regs.known, 0xf7fb);
}

static void code_segments_say_mode_and_width(void **state)
{
	__u64 pt[ARCH_PT_WORDS] = { [ARCH_PT_CS] = 0x23 };

	(void)state;
	assert_true(arch_is_compat32(pt));
	pt[ARCH_PT_CS] = 0x33;
	assert_false(arch_is_compat32(pt));
	assert_false(arch_is_kernel(0x33));
	assert_false(arch_is_kernel(0x23));
	assert_true(arch_is_kernel(0x10));
}

static void registers_being_stored_are_not_taken(void **state)
{
	const uint64_t pt = 0xffffc90000003f58;

	(void)state;
	assert_true(arch_regs_half_stored(pt + 8 * ARCH_PT_WORDS, pt));
	assert_true(arch_regs_half_stored(pt + 8 * ARCH_PT_RAX, pt));
	assert_false(arch_regs_half_stored(pt + 8 * ARCH_PT_R11, pt));
	assert_false(arch_regs_half_stored(pt - 100, pt));
	assert_false(arch_regs_half_stored(pt + 8 * ARCH_PT_WORDS + 8, pt));
}

static void plt_entries_push_from_their_literal_on(void **state)
{
	(void)state;
	assert_int_equal(arch_plt_extra(0x100a, 11), 0);
	assert_int_equal(arch_plt_extra(0x100b, 11), 8);
	assert_int_equal(arch_plt_extra(0x1009, 9), 8);
	assert_int_equal(arch_plt_extra(0x1010, 9), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_every_form_are_recognised),
		cmocka_unit_test(user_registers_get_their_dwarf_numbers),
		cmocka_unit_test(a_system_call_has_overwritten_rcx_and_r11),
		cmocka_unit_test(code_segments_say_mode_and_width),
		cmocka_unit_test(registers_being_stored_are_not_taken),
		cmocka_unit_test(plt_entries_push_from_their_literal_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
