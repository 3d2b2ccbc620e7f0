/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for branches into holes, 16 bytes at a time, against one byte at a time; and code read
 * in stretches against all of its bytes.
 */
#include "cmocka_all.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/synth/code.h"
#include "unwind/synth/leads.h"
#include "tests/support/elf_path.h"
#include "tests/support/patient_limits.h"

enum { CODE_MAX = 100, ROUNDS = 20000, DISTANCE = 4 };

#define CODE_AT UINT64_C(0x401000)

/* Pages of which one without a hole lies between two with one. */
static struct synth_holes make_holes(struct budget *budget)
{
	static const struct synth_hole list[] = {
		{ CODE_AT + 0x800, 0x20, NULL },
		{ CODE_AT + 0x840, 1, NULL },
		{ CODE_AT + 0x2fff, 0x10, NULL },
	};
	struct synth_holes holes = { 0 };
	struct fpl_err err;

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		assert_int_equal(synth_holes_add(&holes, list[i], budget, &err), 0);
	assert_int_equal(synth_holes_index(&holes, budget, &err), 0);
	return holes;
}

static bool is_there(uint64_t vaddr)
{
	uint64_t at = vaddr - CODE_AT;

	return (at >= 0x800 && at < 0x820) || at == 0x840 || (at >= 0x2fff && at < 0x300f);
}

/* The rule as the manual of the processor has it: opcodes with a distance of 32 bits. */
static size_t plainly(const uint8_t *code, size_t size)
{
	size_t end = 0;

	for (size_t at = 1; at + DISTANCE <= size; at++) {
		bool one = code[at - 1] == 0xe8 || code[at - 1] == 0xe9;
		bool two = at > 1 && code[at - 2] == 0x0f && code[at - 1] >= 0x80 &&
			   code[at - 1] <= 0x8f;
		bool lea = at > 1 && code[at - 2] == 0x8d && (code[at - 1] & 0xc7) == 5;
		int32_t distance;

		memcpy(&distance, code + at, sizeof(distance));
		if ((one || two || lea) &&
		    is_there(CODE_AT + at + DISTANCE + (uint64_t)(int64_t)distance))
			end = at + DISTANCE;
	}
	return end;
}

/* An instruction of some kind, from @at on, which leads to the beginning of a hole, or beside it.
 */
static void plant(uint8_t *code, size_t size, size_t at)
{
	static const char *const opcodes[] = { "\xe8", "\xe9",	   "\x0f\x84",	   "\x0f\x8f",
					       "\x0f", "\x8d\x05", "\x48\x8d\x3d", "\x8d\x45",
					       "\x84", "\xea" };
	static const int32_t targets[] = { 0x7ff,  0x800,  0x81f,  0x820,  0x83f, 0x840,
					   0x2ffe, 0x2fff, 0x300e, 0x300f, 0,	  -1 };
	const char *opcode = opcodes[(size_t)random() % ARRAY_SIZE(opcodes)];
	int32_t distance = targets[(size_t)random() % ARRAY_SIZE(targets)];
	size_t next = at + strlen(opcode);

	if (next + DISTANCE > size)
		return;
	distance -= (int32_t)(next + DISTANCE);
	memcpy(code + at, opcode, strlen(opcode));
	memcpy(code + next, &distance, sizeof(distance));
}

static void leads_are_found_wherever_they_are(void **state)
{
	struct table_limits limits = patient_limits;
	struct budget budget;
	struct synth_holes holes;
	unsigned found = 0;

	(void)state;
	budget_init(&budget, "test", &limits);
	holes = make_holes(&budget);
	srandom(1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t size = (size_t)random() % (CODE_MAX + 1);
		uint8_t *code = malloc(size + 1); /* of its own: nothing beside it is read */

		assert_non_null(code);
		for (size_t i = 0; i < size; i++)
			code[i] = (uint8_t)random();
		for (unsigned i = 0; size && i < round % 4; i++)
			plant(code, size, (size_t)random() % size);

		size_t want = plainly(code, size);

		code = realloc(code, size ? size : 1);
		assert_int_equal(synth_leads_size(&holes, code, size, CODE_AT), want);
		found += want != 0;
		free(code);
	}
	assert_true(found > ROUNDS / 10);
	synth_holes_fini(&holes);
}

static void stretches_are_as_the_whole(void **state)
{
	struct table_limits limits = patient_limits;
	struct budget budget;
	struct synth_codes whole, parts;
	struct elf_file *elf;
	struct fpl_err err;
	unsigned looks = 0;
	Dl_info large;

	(void)state;
	budget_init(&budget, "test", &limits);
	assert_true(dladdr((void *)getenv, &large)); /* of the C library, or a sanitizer's */
	assert_int_equal(elf_file_open_path(large.dli_fname, &elf, &err), 0);
	assert_int_equal(synth_codes_open(&whole, elf, &budget, &err), 0);
	assert_int_equal(synth_codes_open(&parts, elf, &budget, &err), 0);
	assert_int_equal(whole.nr, parts.nr);
	srandom(2);
	for (size_t i = 0; i < whole.nr; i++) {
		const struct synth_code *code = &whole.list[i];
		uint64_t at = 0, size;
		const uint8_t *all;

		assert_int_equal(
			synth_codes_keep(&whole, code, code->start, code->size, &all, &err), 0);

		/* onwards, with some steps back and some that overlap */
		for (; at < code->size; at += (uint64_t)random() % 4096, looks++) {
			const uint8_t *a, *b;

			size = (uint64_t)random() % (code->size - at) + 1;
			if (size > 3000 && looks % 8)
				size = 3000;
			a = all + at;
			assert_int_equal(synth_codes_bytes(&parts, &parts.list[i], code->start + at,
							   size, &b, &err),
					 0);
			assert_memory_equal(a, b, size);
			if (size < 3000)
				assert_int_equal(synth_codes_keep(&parts, &parts.list[i],
								  code->start + at, size, &b, &err),
						 0);
			assert_memory_equal(a, b, size);
			if (looks % 5 == 0)
				at -= at > 100 ? 100 : at;
		}
	}
	assert_true(looks > 100);
	synth_codes_fini(&whole);
	synth_codes_fini(&parts);
	elf_file_close(elf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leads_are_found_wherever_they_are),
		cmocka_unit_test(stretches_are_as_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
