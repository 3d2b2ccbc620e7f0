/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of instructions are those that a disassembler finds: of all opcodes with all operands
 * of four prefixes, the rest being random. */
#include "cmocka_all.h"

#include <string.h>

#include "bpf/insn_x86_64.h"
#include "unwind/synth/op.h"

enum { BYTES_MAX = 15 };

#define CODE_AT UINT64_C(0x401000)

struct checked {
	struct synth_decoder *decoder;
	uint64_t random;
	size_t nr_known, nr_unknown;
};

static uint64_t next_random(struct checked *checked)
{
	checked->random = checked->random * 6364136223846793005ull + 1442695040888963407ull;
	return checked->random >> 33;
}

/* @code: prefixes, opcode and ModRM; @nr_prefixes of them are no part of the instruction's size. */
static void check(struct checked *checked, const uint8_t *code, size_t size, size_t nr_prefixes,
		  uint32_t prefixes)
{
	uint8_t bytes[BYTES_MAX + 8] = { 0 };
	struct synth_op op;
	uint64_t word;
	uint32_t got;

	memcpy(bytes, code, size);
	for (size_t i = size; i < BYTES_MAX; i++)
		bytes[i] = (uint8_t)next_random(checked);
	memcpy(&word, bytes + nr_prefixes, sizeof(word));
	got = insn_size(word, prefixes);
	synth_decode_lead(checked->decoder, bytes, BYTES_MAX, CODE_AT, &op);
	if (op.kind == OP_BAD)
		return;
	if (!got)
		checked->nr_unknown++;
	else
		checked->nr_known++;
	if (got && got + nr_prefixes != op.size)
		fail_msg("%02x %02x %02x %02x %02x %02x %02x: %zu bytes instead of %u", bytes[0],
			 bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6],
			 got + nr_prefixes, op.size);
}

static void check_opcode(struct checked *checked, const uint8_t *opcode, size_t size)
{
	static const struct {
		uint8_t byte;
		uint32_t prefixes;
	} prefixes[] = { { 0, 0 },
			 { 0x48, INSN_REX | INSN_REX_W },
			 { 0x41, INSN_REX | INSN_REX_B },
			 { 0x66, INSN_16_BIT } };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		uint8_t code[8] = { prefixes[i].byte };
		size_t nr = prefixes[i].byte != 0;

		memcpy(code + nr, opcode, size);
		for (uint32_t modrm = 0; modrm < 256; modrm++) {
			code[nr + size] = (uint8_t)modrm;
			check(checked, code, nr + size + 1, nr, prefixes[i].prefixes);
		}
	}
}

static void sizes_are_those_of_a_disassembler(void **state)
{
	struct checked checked = { .decoder = synth_decoder_create(), .random = 1 };

	(void)state;
	assert_non_null(checked.decoder);
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		const uint8_t maps[4][3] = { { (uint8_t)opcode },
					     { 0x0f, (uint8_t)opcode },
					     { 0x0f, 0x38, (uint8_t)opcode },
					     { 0x0f, 0x3a, (uint8_t)opcode } };

		if (!insn_is_prefix(opcode) && (opcode & 0xf0) != INSN_REX && opcode != 0x0f)
			check_opcode(&checked, maps[0], 1);
		if (opcode != 0x38 && opcode != 0x3a)
			check_opcode(&checked, maps[1], 2);
		check_opcode(&checked, maps[2], 3);
		check_opcode(&checked, maps[3], 3);
	}
	synth_decoder_destroy(checked.decoder);
	print_message("%zu of %zu have a size\n", checked.nr_known,
		      checked.nr_known + checked.nr_unknown);
	/* those without: VEX, x86's old ones, what moves rsp in another way */
	assert_true(checked.nr_known > 9 * checked.nr_unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_those_of_a_disassembler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
