// SPDX-License-Identifier: Apache-2.0
/* The walker's facts about x86-64: calls, registers as the kernel stores them. */
#include "cmocka_all.h"

#include <stdbool.h>
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

/*
 * Is this FF /2 a call of @size bytes? By the tables of the SDM (volume 2, 2.1.5) rather than by
 * the masks of the code under test.
 */
static int is_ff_call(const uint8_t *bytes, unsigned size)
{
	unsigned mod = bytes[1] >> 6, op = bytes[1] >> 3 & 7, rm = bytes[1] & 7;
	bool sib = mod != 3 && rm == 4;
	unsigned disp = mod == 1 ? 1 : mod == 2 ? 4 : 0;

	if (mod == 0 && (rm == 5 || (sib && (bytes[2] & 7) == 5)))
		disp = 4;
	return op == 2 && size == 2 + sib + disp;
}

/* May these 8 bytes end in a call? Any number of the last ones can be one. */
static int ends_in_call(const uint8_t *code)
{
	const uint8_t *end = code + 8;

	for (unsigned size = 2; size <= 7; size++)
		if (end[-(int)size] == 0xff && is_ff_call(end - size, size))
			return 1;
	return end[-5] == 0xe8;
}

static void every_opcode_modrm_and_sib_is_told(void **state)
{
	(void)state;
	for (unsigned size = 1; size <= 8; size++)
		for (unsigned i = 0; i < 1u << 16; i++)
			for (unsigned opcode = 0xe8; opcode <= 0xff; opcode += 0x17) {
				/* one more, for the SIB of a call that is not whole */
				uint8_t code[8 + 1] = { 0 };
				const uint8_t bytes[8] = { (uint8_t)opcode, (uint8_t)i,
							   (uint8_t)(i >> 8) };
				uint64_t word = code_before(bytes, size);

				memcpy(code, &word, sizeof(word));
				if (arch_is_call(word) != ends_in_call(code))
					fail_msg("%02x %02x %02x, the first %u bytes", opcode,
						 bytes[1], bytes[2], size);
			}
}

static void no_other_opcode_is_a_call(void **state)
{
	(void)state;
	for (unsigned opcode = 0; opcode < 256; opcode++)
		for (unsigned size = 1; size <= 8; size++) {
			const uint8_t bytes[8] = { (uint8_t)opcode, 0xd0 };
			int want = (opcode == 0xe8 && size == 5) || (opcode == 0xff && size == 2);

			if (arch_is_call(code_before(bytes, size)) != want)
				fail_msg("%02x d0, the first %u bytes", opcode, size);
		}
}

static void user_registers_get_their_dwarf_numbers(void **state)
{
	/* rax rdx rcx rbx rsi rdi rbp rsp r8..r15, as words of pt_regs */
	static const uint8_t word[FPL_NR_REGS] = { 10, 12, 11, 5, 13, 14, 4, 19,
						   9,  8,  7,  6, 3,  2,  1, 0 };
	__u64 pt[ARCH_PT_WORDS];
	__u64 reg[FPL_NR_REGS];

	(void)state;
	for (uint32_t i = 0; i < ARCH_PT_WORDS; i++)
		pt[i] = 0x100 + i;
	pt[ARCH_PT_ORIG_RAX] = ~0ull;
	assert_int_equal(arch_user_regs(reg, pt), 0xffff);
	for (uint32_t i = 0; i < FPL_NR_REGS; i++)
		assert_int_equal(reg[i], 0x100 + word[i]);
}

static void a_system_call_has_overwritten_rcx_and_r11(void **state)
{
	__u64 pt[ARCH_PT_WORDS] = { [ARCH_PT_ORIG_RAX] = 0, [ARCH_PT_RIP] = 5, [ARCH_PT_RCX] = 6 };
	__u64 reg[FPL_NR_REGS];

	(void)state;
	assert_int_equal(arch_user_regs(reg, pt), 0xf7fb);
	pt[ARCH_PT_ORIG_RAX] = ~0ull;
	assert_int_equal(arch_user_regs(reg, pt), 0xffff);
	pt[ARCH_PT_RCX] = 5;
	assert_int_equal(arch_user_regs(reg, pt), 0xf7fb);
	pt[ARCH_PT_RCX] = 4; /* below the pc, and a system call of a high number */
	pt[ARCH_PT_ORIG_RAX] = 450;
	assert_int_equal(arch_user_regs(reg, pt), 0xf7fb);
	pt[ARCH_PT_ORIG_RAX] = 1ull << 63;
	assert_int_equal(arch_user_regs(reg, pt), 0xffff);
}

static void code_segments_say_mode_and_width(void **state)
{
	__u64 pt[ARCH_PT_WORDS] = { [ARCH_PT_CS] = 0x23 };

	(void)state;
	assert_true(arch_is_compat32(pt[ARCH_PT_CS]));
	pt[ARCH_PT_CS] = 0xabcd0023; /* the upper bits are anybody's */
	assert_true(arch_is_compat32(pt[ARCH_PT_CS]));
	pt[ARCH_PT_CS] = 0x33;
	assert_false(arch_is_compat32(pt[ARCH_PT_CS]));
	pt[ARCH_PT_CS] = 0x10;
	assert_false(arch_is_compat32(pt[ARCH_PT_CS]));
	pt[ARCH_PT_CS] = 0x8023;
	assert_false(arch_is_compat32(pt[ARCH_PT_CS]));
	for (uint64_t ring = 1; ring < 4; ring++)
		assert_false(arch_is_kernel(0x30 | ring));
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
	assert_true(arch_regs_half_stored(pt + 8 * ARCH_PT_R11 + 1, pt));
	assert_false(arch_regs_half_stored(pt + 8 * ARCH_PT_WORDS + 1, pt));
	assert_false(arch_regs_half_stored(pt + 8 * ARCH_PT_R11, pt));
	assert_false(arch_regs_half_stored(pt - 100, pt));
	assert_false(arch_regs_half_stored(pt + 8 * ARCH_PT_WORDS + 8, pt));
}

static void plt_entries_push_from_their_literal_on(void **state)
{
	(void)state;
	assert_int_equal(arch_plt_extra(0x100a, 11), 0);
	assert_int_equal(arch_plt_extra(0x100b, 11), 8);
	assert_int_equal(arch_plt_extra(0x100f, 11), 8);
	assert_int_equal(arch_plt_extra(0x1009, 9), 8);
	assert_int_equal(arch_plt_extra(0x1010, 9), 0);
	assert_int_equal(arch_plt_extra(0x100f, 15), 8);
	assert_int_equal(arch_plt_extra(0x100e, 15), 0);
	assert_int_equal(arch_plt_extra(0x1000, 0), 8);
}

static void calls_that_wait_at_a_futex_are_told(void **state)
{
	static const struct {
		const char *what;
		uint64_t call, op, cs, addr;
	} cases[] = {
		{ "FUTEX_WAIT", 202, 0, 0x33, 0x1000 },
		{ "FUTEX_WAIT_PRIVATE", 202, 128, 0x33, 0x1000 },
		{ "FUTEX_WAKE", 202, 129, 0x33, 0 },
		{ "FUTEX_WAIT_BITSET, by the clock of the day", 202, 9 | 128 | 256, 0x33, 0x1000 },
		{ "FUTEX_LOCK_PI", 202, 6, 0x33, 0x1000 },
		{ "FUTEX_UNLOCK_PI", 202, 7, 0x33, 0 },
		{ "FUTEX_WAIT_REQUEUE_PI", 202, 11 | 128, 0x33, 0x1000 },
		{ "FUTEX_LOCK_PI2", 202, 13, 0x33, 0x1000 },
		{ "no operation", 202, 16, 0x33, 0 },
		{ "the upper half of the register is no part of it", 202, 0xffffffff00000080, 0x33,
		  0x1000 },
		{ "of x32", 202 | ARCH_X32_CALL, 128, 0x33, 0x1000 },
		{ "futex_wait", 455, 129, 0x33, 0x1000 },
		{ "futex_waitv", 449, 0, 0x33, FPL_LOCK_SEVERAL },
		{ "another call", 35, 0, 0x33, 0 },
		{ "an interrupt", UINT64_MAX, 0, 0x33, 0 },
		{ "the number that 32-bit code has for it, in 64-bit code", 240, 0, 0x33, 0 },
		{ "the same of 32-bit code", 240, 128, 0x23, 0x2000 },
		{ "with times of 64 bits", 422, 9, 0x23, 0x2000 },
		{ "FUTEX_WAKE of 32-bit code", 240, 1, 0x23, 0 },
		{ "the number that 64-bit code has for it, in 32-bit code", 202, 0, 0x23, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 word[ARCH_PT_CALL_WORDS] = { 0 }, got;
		bool is_32bit = cases[i].cs == 0x23;

		word[ARCH_PT_ORIG_RAX - ARCH_PT_CALL] = cases[i].call;
		word[ARCH_PT_CS - ARCH_PT_CALL] = cases[i].cs;
		word[ARCH_PT_RDI - ARCH_PT_CALL] = 0x1000;
		/* the other register says FUTEX_WAKE */
		word[ARCH_PT_RSI - ARCH_PT_CALL] = is_32bit ? 1 : cases[i].op;
		word[ARCH_PT_RCX - ARCH_PT_CALL] = is_32bit ? cases[i].op : 1;
		got = arch_futex_addr(word, 0x2000);
		if (got != cases[i].addr)
			fail_msg("%s: 0x%llx", cases[i].what, (unsigned long long)got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_every_form_are_recognised),
		cmocka_unit_test(every_opcode_modrm_and_sib_is_told),
		cmocka_unit_test(no_other_opcode_is_a_call),
		cmocka_unit_test(user_registers_get_their_dwarf_numbers),
		cmocka_unit_test(a_system_call_has_overwritten_rcx_and_r11),
		cmocka_unit_test(code_segments_say_mode_and_width),
		cmocka_unit_test(registers_being_stored_are_not_taken),
		cmocka_unit_test(plt_entries_push_from_their_literal_on),
		cmocka_unit_test(calls_that_wait_at_a_futex_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
