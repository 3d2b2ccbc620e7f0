/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions the judge takes for calls, returns and what else moves the stack. */
#include "cmocka_all.h"

#include "base/cleanup.h"
#include "judge/insn.h"
#include "tests/support/cfi_builder.h"

static const struct {
	const char *what;
	const uint8_t *code;
	size_t size;
	enum insn_kind want;
} insns[] = {
	{ "call rel32", BYTES("\xe8\x01\x02\x03\x04"), INSN_CALL },
	{ "call *%r11", BYTES("\x41\xff\xd3"), INSN_CALL },
	{ "notrack call *8(%rax)", BYTES("\x3e\xff\x50\x08"), INSN_CALL },
	{ "jmp *%rax", BYTES("\xff\xe0"), INSN_OTHER },
	{ "ret", BYTES("\xc3"), INSN_RETURN },
	{ "repz ret", BYTES("\xf3\xc3"), INSN_RETURN },
	{ "bnd ret", BYTES("\xf2\xc3"), INSN_RETURN },
	{ "ret $8", BYTES("\xc2\x08\x00"), INSN_RETURN },
	{ "pushf", BYTES("\x9c"), INSN_PUSH_FLAGS },
	{ "pushfw", BYTES("\x66\x9c"), INSN_PUSH_FLAGS },
	{ "popf", BYTES("\x9d"), INSN_POP_FLAGS },
	{ "syscall", BYTES("\x0f\x05"), INSN_SYSCALL },
	{ "ud2", BYTES("\x0f\x0b"), INSN_OTHER },
	{ "sub $8, %rsp", BYTES("\x48\x83\xec\x08"), INSN_MOVES_STACK },
	{ "sub $0x1000, %rsp", BYTES("\x48\x81\xec\x00\x10\x00\x00"), INSN_MOVES_STACK },
	{ "sub %rax, %rsp", BYTES("\x48\x29\xc4"), INSN_MOVES_STACK },
	{ "sub 8(%rdi), %rsp", BYTES("\x48\x2b\x67\x08"), INSN_MOVES_STACK },
	{ "and $-32, %rsp", BYTES("\x48\x83\xe4\xe0"), INSN_MOVES_STACK },
	{ "lea -8(%r10), %rsp", BYTES("\x49\x8d\x62\xf8"), INSN_MOVES_STACK },
	{ "enter", BYTES("\xc8\x10\x00\x00"), INSN_MOVES_STACK },
	{ "adc $8, %rsp", BYTES("\x48\x83\xd4\x08"), INSN_OTHER },
	{ "or $8, %rsp", BYTES("\x48\x83\xcc\x08"), INSN_OTHER },
	{ "sbb $8, %rsp", BYTES("\x48\x83\xdc\x08"), INSN_OTHER },
	{ "xor $8, %rsp", BYTES("\x48\x83\xf4\x08"), INSN_OTHER },
	{ "add $8, %rsp", BYTES("\x48\x83\xc4\x08"), INSN_MOVES_STACK },
	{ "add %rax, %rsp", BYTES("\x48\x01\xc4"), INSN_MOVES_STACK },
	{ "and %rax, %rsp", BYTES("\x48\x21\xc4"), INSN_MOVES_STACK },
	{ "add 8(%rdi), %rsp", BYTES("\x48\x03\x67\x08"), INSN_MOVES_STACK },
	{ "and 8(%rdi), %rsp", BYTES("\x48\x23\x67\x08"), INSN_MOVES_STACK },
	{ "sub %esp", BYTES("\x83\xec\x08"), INSN_MOVES_STACK },
	{ "sub %rsp, %rax", BYTES("\x48\x29\xe0"), INSN_OTHER },
	{ "sub %rax, (%rsp)", BYTES("\x48\x29\x04\x24"), INSN_OTHER },
	{ "sub $8, 8(%rsp)", BYTES("\x48\x83\x6c\x24\x08\x08"), INSN_OTHER },
	{ "sub $8, %rbx", BYTES("\x48\x83\xeb\x08"), INSN_OTHER },
	{ "sub 8(%rdi), %rbx", BYTES("\x48\x2b\x5f\x08"), INSN_OTHER },
	{ "lea 8(%rsp), %rax", BYTES("\x48\x8d\x44\x24\x08"), INSN_OTHER },
	{ "lea -8(%r10), %esp by a prefix before", BYTES("\x41\x8d\x62\xf8"), INSN_MOVES_STACK },
	{ "lea -8(%rdx), %sp", BYTES("\x66\x8d\x62\xf8"), INSN_MOVES_STACK },
	{ "lea -8(%ds:rdx), %esp", BYTES("\x3e\x8d\x62\xf8"), INSN_MOVES_STACK },
	{ "leave", BYTES("\xc9"), INSN_OTHER },
	{ "int3", BYTES("\xcc\x00"), INSN_OTHER },
	{ "decl (%rax)", BYTES("\xff\x08"), INSN_OTHER },
	{ "lcall *(%rax)", BYTES("\xff\x18"), INSN_OTHER },
	{ "push (%rax)", BYTES("\xff\x30"), INSN_OTHER },
	{ "incl (%rax)", BYTES("\xff\x00"), INSN_OTHER },
	{ "cmp $8, %rsp", BYTES("\x48\x83\xfc\x08"), INSN_OTHER },
	{ "sub $8, %r12", BYTES("\x49\x83\xec\x08"), INSN_OTHER },
	{ "lea 8(%rax), %r12", BYTES("\x4c\x8d\x60\x08"), INSN_OTHER },
	{ "mov %rsi, %rsp", BYTES("\x48\x89\xf4"), INSN_OTHER },
	{ "vzeroupper", BYTES("\xc5\xf8\x77"), INSN_OTHER },
	{ "a prefix alone", BYTES("\x66"), INSN_OTHER },
	{ "half a syscall", BYTES("\x0f"), INSN_OTHER },
};

static void kinds_are_told_by_the_opcode(void **state)
{
	/* segments, sizes, lock, repeat, the first and the last REX */
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66,
					    0x67, 0xf0, 0xf2, 0xf3, 0x40, 0x4f };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(insns); i++)
		if (insn_kind(insns[i].code, insns[i].size) != insns[i].want)
			fail_msg("%s: %d", insns[i].what,
				 (int)insn_kind(insns[i].code, insns[i].size));
	assert_int_equal(insn_kind(NULL, 0), INSN_OTHER);
	/* what is behind the bytes that could be read tells nothing */
	assert_int_equal(insn_kind((const uint8_t *)"\x0f\x05", 1), INSN_OTHER);
	assert_int_equal(insn_kind((const uint8_t *)"\xff\xd0", 1), INSN_OTHER);
	assert_int_equal(insn_kind((const uint8_t *)"\xc8\x10", 1), INSN_OTHER);
	assert_int_equal(insn_kind((const uint8_t *)"\x48\x83\xec", 2), INSN_OTHER);
	assert_int_equal(insn_kind((const uint8_t *)"\x48\xc3", 1), INSN_OTHER);
	assert_int_equal(insn_prefixes((const uint8_t *)"\x66\x66", 1), 1);
	assert_int_equal(insn_prefixes(BYTES("\x66\x9d")), 1);
	for (size_t i = 0; i < sizeof(prefixes); i++) {
		const uint8_t code[] = { prefixes[i], 0xc3 };

		assert_int_equal(insn_kind(code, sizeof(code)), INSN_RETURN);
	}
	assert_int_equal(insn_prefixes(BYTES("\x66\x66")), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_by_the_opcode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
