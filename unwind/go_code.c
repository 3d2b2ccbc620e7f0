/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/go_code.h"

#include <string.h>

static bool is_at(const uint8_t *code, uint64_t size, uint64_t at, const char *bytes, size_t nr)
{
	return at <= size && nr <= size - at && memcmp(code + at, bytes, nr) == 0;
}

static int64_t s32_at(const uint8_t *code)
{
	int32_t value;

	memcpy(&value, code, sizeof(value));
	return value;
}

/* Does `sub $@depth, %rsp` end at @at? */
static bool is_room_made(const uint8_t *code, uint64_t size, uint64_t at, int64_t depth)
{
	enum { SHORT = 4, LONG = 7 };

	if (at >= SHORT && is_at(code, size, at - SHORT, "\x48\x83\xec", 3) &&
	    (int8_t)code[at - 1] == depth)
		return true;
	return at >= LONG && is_at(code, size, at - LONG, "\x48\x81\xec", 3) &&
	       s32_at(code + at - 4) == depth;
}

/* Size of `mov %rbp, disp(%rsp)` (@opcode 0x89) or `lea disp(%rsp), %rbp` (0x8d) at @at; 0: no. */
static uint64_t rbp_and_slot(const uint8_t *code, uint64_t size, uint64_t at, uint8_t opcode,
			     int64_t disp)
{
	enum { SHORTEST = 4, DISP8 = 5, DISP32 = 8 };

	if (at > size || size - at < SHORTEST || code[at] != 0x48 || code[at + 1] != opcode ||
	    code[at + 3] != 0x24)
		return 0;
	if (code[at + 2] == 0x2c)
		return disp == 0 ? SHORTEST : 0;
	if (code[at + 2] == 0x6c && size - at >= DISP8)
		return (int8_t)code[at + 4] == disp ? DISP8 : 0;
	if (code[at + 2] == 0xac && size - at >= DISP32)
		return s32_at(code + at + 4) == disp ? DISP32 : 0;
	return 0;
}

bool go_code_frame(const uint8_t *code, uint64_t size, uint64_t at, int64_t depth,
		   struct go_frame *ret)
{
	static const char move[] = "\x48\x89\xe5"; /* mov %rsp, %rbp */

	*ret = (struct go_frame){ .saved = GO_NOWHERE, .owned = GO_NOWHERE };
	if (depth == 8 && at >= 1 && is_at(code, size, at - 1, "\x55", 1)) {
		ret->saved = at;
		ret->popped = true;
		if (is_at(code, size, at, move, 3))
			ret->owned = at + 3;
		return true;
	}
	if (!is_room_made(code, size, at, depth))
		return false;

	uint64_t store = rbp_and_slot(code, size, at, 0x89, depth - 8);

	if (store == 0)
		return false;
	ret->saved = at + store;

	uint64_t lea = rbp_and_slot(code, size, ret->saved, 0x8d, depth - 8);

	if (lea)
		ret->owned = ret->saved + lea;
	return true;
}

/* Size of an instruction of a REX prefix, an opcode and a ModRM byte, at @code, with its operand.
 */
static uint64_t memory_operand_size(const uint8_t *code)
{
	unsigned mod = code[2] >> 6, rm = code[2] & 7;
	uint64_t size = 3 + (rm == 4);

	if (mod == 1)
		return size + 1;
	return mod == 2 || rm == 5 ? size + 4 : size;
}

/* Does the instruction at @code [3 at least] load rsp from memory? */
static bool loads_sp(const uint8_t *code)
{
	return code[0] >= 0x48 && code[0] <= 0x4b && code[1] == 0x8b && code[2] >> 6 != 3 &&
	       (code[2] >> 3 & 7) == 4;
}

/* Does it write rsp otherwise, by a value that the run time's table does not follow? */
static bool writes_sp(const uint8_t *code)
{
	bool moved = (code[0] == 0x48 || code[0] == 0x4c) && code[1] == 0x89;
	bool aligned = code[0] == 0x48 && (code[1] == 0x83 || code[1] == 0x81);
	bool computed = code[0] >= 0x48 && code[0] <= 0x4b && code[1] == 0x8d;

	if (moved)
		return code[2] >> 6 == 3 && (code[2] & 7) == 4;
	if (computed)
		return (code[2] >> 3 & 7) == 4;
	return aligned && code[2] == 0xe4; /* and $imm, %rsp */
}

void go_code_switch(const uint8_t *code, uint64_t size, struct go_switch *ret)
{
	*ret = (struct go_switch){ GO_NOWHERE, GO_NOWHERE, GO_NOWHERE };
	for (uint64_t at = 0; at + 3 <= size; at++) {
		bool loaded = loads_sp(code + at);

		if (ret->written == GO_NOWHERE && ret->called == GO_NOWHERE &&
		    is_at(code, size, at, "\x0f\x05", 2))
			ret->called = at;
		if (!loaded && !writes_sp(code + at))
			continue;
		if (ret->written == GO_NOWHERE)
			ret->written = at;
		if (!loaded)
			continue;

		uint64_t behind = at + memory_operand_size(code + at);

		if (is_at(code, size, behind, "\x48\xc7\xc5\0\0\0\0", 7))
			ret->ended = behind + 7;
		else if (is_at(code, size, behind, "\x31\xed", 2))
			ret->ended = behind + 2;
		if (ret->ended != GO_NOWHERE)
			return;
	}
}

static bool is_written(const struct synth_op *op, unsigned reg)
{
	switch (op->kind) {
	case OP_SWAP:
		if (op->src == reg)
			return true;
		__attribute__((__fallthrough__));
	case OP_POP:
	case OP_ADD:
	case OP_ALIGN:
	case OP_ADDRESS:
	case OP_LEA:
	case OP_MOVE:
	case OP_LOAD:
	case OP_TABLE:
	case OP_SUM:
		return op->dst == reg || (op->clobbers >> reg & 1);
	case OP_BAD:
		return true;
	default:
		return op->clobbers >> reg & 1;
	}
}

bool go_code_keeps(struct synth_decoder *decoder, const uint8_t *code, uint64_t size, unsigned reg)
{
	for (uint64_t at = 0; at < size;) {
		struct synth_op op;

		synth_decode(decoder, code + at, (size_t)(size - at), at, &op);
		if (is_written(&op, reg))
			return false;
		at += op.size;
	}
	return true;
}

bool go_code_is_interruption(const uint8_t *code, uint64_t size)
{
	/* push %rbp; mov %rsp, %rbp; pushf */
	return is_at(code, size, 0, "\x55\x48\x89\xe5\x9c", 5);
}

int go_code_popped(const uint8_t *code, uint64_t size, uint64_t at)
{
	static const int8_t dwarf[8] = { 0, 2, 1, 3, 7, 6, 4, 5 };
	uint8_t reg;

	if (at == 0 || at > size || (code[at - 1] & 0xf8) != 0x58)
		return -1;
	reg = code[at - 1] & 7;
	return at >= 2 && code[at - 2] == 0x41 ? reg + 8 : dwarf[reg];
}

bool go_code_is_sigreturn(const uint8_t *code, uint64_t size)
{
	/* mov $15, %rax; syscall: gdb knows signal frames by these bytes, so Go keeps them */
	return is_at(code, size, 0, "\x48\xc7\xc0\x0f\0\0\0\x0f\x05", GO_SIGRETURN_SIZE);
}

bool go_code_is_padding(uint8_t byte)
{
	return byte == 0xcc;
}

bool go_code_is_return(uint8_t byte)
{
	return byte == 0xc3;
}
