/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decoder that has learned which forms of instructions are idle says the same as one that has
 * seen nothing: of all opcodes of the maps that hold vector instructions, and of random bytes.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/synth/op.h"

enum { BYTES_MAX = 15, RANDOM_ROUNDS = 200000, PASSES = 2 };

#define CODE_AT UINT64_C(0x401000)

static void check(struct synth_decoder *learned, const uint8_t *code)
{
	struct synth_decoder *fresh = synth_decoder_create();
	struct synth_op want, got, lead;

	assert_non_null(fresh);
	synth_decode(fresh, code, BYTES_MAX, CODE_AT, &want);
	synth_decode(learned, code, BYTES_MAX, CODE_AT, &got);
	synth_decode_lead(fresh, code, BYTES_MAX, CODE_AT, &lead);
	synth_decoder_destroy(fresh);
	if (memcmp(&want, &got, sizeof(want)))
		fail_msg("%02x %02x %02x %02x %02x %02x: kind %u for %u, clobbers %x for %x",
			 code[0], code[1], code[2], code[3], code[4], code[5], got.kind, want.kind,
			 got.clobbers, want.clobbers);
	if (want.kind != OP_BAD)
		assert_int_equal(lead.size, want.size);
	if ((want.kind >= OP_CALL && want.kind != OP_END && want.kind != OP_BAD) ||
	    want.kind == OP_ADDRESS)
		assert_memory_equal(&lead, &want, sizeof(want));
}

/* ModRM, SIB, displacement and immediate. */
static void put_operands(uint8_t *code, size_t size)
{
	for (size_t i = 0; i < size; i++)
		code[i] = (uint8_t)random();
}

/* 0f, 0f 38 and 0f 3a, with each prefix that chooses among their instructions. */
static void try_legacy(struct synth_decoder *learned, unsigned opcode)
{
	static const char *const prefixes[] = { "", "\x66", "\xf3", "\xf2" };
	static const char *const maps[] = { "\x0f", "\x0f\x38", "\x0f\x3a" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes) * ARRAY_SIZE(maps) * 2; i++) {
		uint8_t code[BYTES_MAX];
		size_t at = strlen(prefixes[i % 4]), map = i / 4 % ARRAY_SIZE(maps);

		put_operands(code, sizeof(code));
		memcpy(code, prefixes[i % 4], at);
		if (i >= ARRAY_SIZE(prefixes) * ARRAY_SIZE(maps))
			code[at++] = (uint8_t)(0x40 | (random() & 15)); /* REX */
		memcpy(code + at, maps[map], strlen(maps[map]));
		code[at + strlen(maps[map])] = (uint8_t)opcode;
		check(learned, code);
	}
}

/* c4 and 62: the bits of registers at random, map, W, L and prefix in turn. */
static void try_vector(struct synth_decoder *learned, unsigned opcode)
{
	for (unsigned i = 0; i < 6 * 4 * 2; i++) {
		uint8_t vex[BYTES_MAX] = { 0xc4 }, evex[BYTES_MAX] = { 0x62 };
		unsigned map = i % 6 + 1, prefix = i / 6 % 4, wide = i / 24;
		unsigned vvvv = random() & 1 ? 15 : (unsigned)random() & 15;

		put_operands(vex + 1, sizeof(vex) - 1);
		vex[1] = (uint8_t)((vex[1] & 0xe0) | map);
		vex[2] = (uint8_t)(wide << 7 | vvvv << 3 | (vex[2] & 4) | prefix);
		vex[3] = (uint8_t)opcode;
		check(learned, vex);
		put_operands(evex + 1, sizeof(evex) - 1);
		evex[1] = (uint8_t)((evex[1] & 0xf0) | map);
		evex[2] = (uint8_t)(wide << 7 | vvvv << 3 | 4 | prefix);
		evex[3] = (uint8_t)(evex[3] | 8);
		evex[4] = (uint8_t)opcode;
		check(learned, evex);
	}
}

static void learned_forms_change_no_result(void **state)
{
	struct synth_decoder *learned = synth_decoder_create();

	(void)state;
	assert_non_null(learned);
	srandom(1);
	for (unsigned pass = 0; pass < PASSES; pass++)
		for (unsigned opcode = 0; opcode < 256; opcode++) {
			try_legacy(learned, opcode);
			try_vector(learned, opcode);
		}
	for (unsigned round = 0; round < RANDOM_ROUNDS; round++) {
		uint8_t code[BYTES_MAX];

		put_operands(code, sizeof(code));
		check(learned, code);
	}
	synth_decoder_destroy(learned);
}

/* Forms that are alike but for what they write: none makes the other idle. */
static void writing_instruction_is_never_idle(void **state)
{
	static const struct {
		const char *code;
		uint8_t kind;
		uint16_t clobbers;
	} cases[] = {
		{ "\x66\x0f\x6e\xc0", OP_OTHER, 0 },	       /* movd xmm0, eax */
		{ "\x66\x0f\x7e\xc0", OP_OTHER, 1 << 0 },      /* movd eax, xmm0 */
		{ "\x66\x0f\xef\xc0", OP_OTHER, 0 },	       /* pxor xmm0, xmm0 */
		{ "\x66\x0f\xd7\xd8", OP_OTHER, 1 << 3 },      /* pmovmskb ebx, xmm0 */
		{ "\xc5\xf8\x28\xc8", OP_OTHER, 0 },	       /* vmovaps xmm1, xmm0 */
		{ "\xc5\xf8\x29\x04\x24", OP_STORE_OTHER, 0 }, /* vmovaps [rsp], xmm0 */
		{ "\xc5\xf8\x28\x04\x24", OP_OTHER, 0 },       /* vmovaps xmm0, [rsp] */
		{ "\xc5\xf8\x29\xc8", OP_OTHER, 0 },  /* vmovaps xmm0, xmm1: the other way */
		{ "\x0f\x01\xd5", OP_OTHER, 0 },      /* xend */
		{ "\xc6\xf8\xff", OP_OTHER, 1 << 0 }, /* xabort 255 */
		{ "\x48\x39\xc0", OP_OTHER, 0 },      /* cmp rax, rax */
		{ "\x48\x31\xc0", OP_OTHER, 1 << 0 }, /* xor rax, rax */
	};
	struct synth_decoder *learned = synth_decoder_create();

	(void)state;
	assert_non_null(learned);
	for (size_t i = 0; i < 4 * ARRAY_SIZE(cases); i++) {
		size_t number = i % ARRAY_SIZE(cases);
		uint8_t code[BYTES_MAX] = { 0 };
		struct synth_op op;

		memcpy(code, cases[number].code, strlen(cases[number].code));
		synth_decode(learned, code, sizeof(code), CODE_AT, &op);
		assert_int_equal(op.kind, cases[number].kind);
		assert_int_equal(op.clobbers, cases[number].clobbers);
	}
	synth_decoder_destroy(learned);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(learned_forms_change_no_result),
		cmocka_unit_test(writing_instruction_is_never_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
