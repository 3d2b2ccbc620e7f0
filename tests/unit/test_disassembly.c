/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "symbolize/disassembly.h"

#define NO LISTING_NO_TARGET

static const struct {
	const char *what;
	uint8_t code[16];
	size_t size;
	const char *att, *intel;
	uint8_t kind;
	uint64_t target;
} cases[] = {
	{ "a move", { 0x48, 0x89, 0xe5 }, 3, "mov %rsp, %rbp", "mov rbp, rsp", LISTING_PLAIN, NO },
	{ "memory beside rip",
	  { 0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0 },
	  7,
	  "mov 0x2000, %rax",
	  "mov rax, [0x2000]",
	  LISTING_PLAIN,
	  NO },
	{ "a branch back", { 0x7e, 0xfe }, 2, "jle 0x1000", "jle 0x1000", LISTING_BRANCH, 0x1000 },
	{ "a jump",
	  { 0xe9, 0xfb, 0x00, 0, 0 },
	  5,
	  "jmp 0x1100",
	  "jmp 0x1100",
	  LISTING_JUMP,
	  0x1100 },
	{ "equal", { 0x74, 0x0e }, 2, "je 0x1010", "je 0x1010", LISTING_BRANCH, 0x1010 },
	{ "not equal", { 0x75, 0x0e }, 2, "jne 0x1010", "jne 0x1010", LISTING_BRANCH, 0x1010 },
	{ "above", { 0x77, 0x0e }, 2, "ja 0x1010", "ja 0x1010", LISTING_BRANCH, 0x1010 },
	{ "above or equal", { 0x73, 0x0e }, 2, "jae 0x1010", "jae 0x1010", LISTING_BRANCH, 0x1010 },
	{ "below", { 0x72, 0x0e }, 2, "jb 0x1010", "jb 0x1010", LISTING_BRANCH, 0x1010 },
	{ "greater", { 0x0f, 0x9f, 0xc0 }, 3, "setg %al", "setg al", LISTING_PLAIN, NO },
	{ "greater or equal",
	  { 0x48, 0x0f, 0x4d, 0x03 },
	  4,
	  "cmovge (%rbx), %rax",
	  "cmovge rax, [rbx]",
	  LISTING_PLAIN,
	  NO },
	{ "of memory", { 0x0f, 0x95, 0x03 }, 3, "setne (%rbx)", "setne [rbx]", LISTING_PLAIN, NO },
	{ "a loop", { 0xe2, 0x0e }, 2, "loop 0x1010", "loop 0x1010", LISTING_BRANCH, 0x1010 },
	{ "a call",
	  { 0xe8, 0xfb, 0x0f, 0, 0 },
	  5,
	  "call 0x2000",
	  "call 0x2000",
	  LISTING_CALL,
	  0x2000 },
	{ "a call through memory",
	  { 0xff, 0x15, 0xfa, 0x0f, 0, 0 },
	  6,
	  "call *0x2000",
	  "call [0x2000]",
	  LISTING_CALL,
	  NO },
	{ "a jump through a register", { 0xff, 0xe0 }, 2, "jmp %rax", "jmp rax", LISTING_JUMP, NO },
	{ "a return", { 0xc3 }, 1, "ret", "ret", LISTING_RETURN, NO },
	{ "no instruction", { 0x06 }, 1, ".byte 0x06", ".byte 0x06", LISTING_BAD, NO },
	{ "a part of one", { 0x48 }, 1, ".byte 0x48", ".byte 0x48", LISTING_BAD, NO },
};

static void instructions_are_texts_with_their_targets(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int intel = 0; intel < 2; intel++) {
			struct disassembler *disassembler = disassembler_create(intel);
			struct disassembled insn;

			print_message("%s\n", cases[i].what);
			assert_non_null(disassembler);
			disassemble(disassembler, cases[i].code, cases[i].size, 0x1000, &insn);
			assert_string_equal(insn.text, intel ? cases[i].intel : cases[i].att);
			assert_int_equal(insn.size, cases[i].size);
			assert_int_equal(insn.kind, cases[i].kind);
			assert_int_equal(insn.target, cases[i].target);
			disassembler_destroy(disassembler);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_are_texts_with_their_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
