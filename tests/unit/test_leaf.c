// SPDX-License-Identifier: Apache-2.0
/* The return address by the code around a pc, and walks that begin there. */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/walk_world.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define STACK	    0x7ffd00000000ull
#define NR_WORDS    64u
#define AT(word)    (STACK + 8ull * (word))
#define PC(vaddr)   (WORLD_BIAS + (vaddr))
#define FRAME(addr) ((__u64)WORLD_ID << FPL_FRAME_OBJECT_SHIFT | (addr))
#define BY_FP	    ((__u64)FPL_ORIGIN_FP << FPL_FRAME_ORIGIN_SHIFT)
#define EXACT	    FPL_FRAME_EXACT

struct bytes {
	uint8_t nr;
	uint8_t of[16];
};

/* The code around a pc: @before ends there, @at begins there; what lies around them is nops. */
static struct leaf_code code_around(const struct bytes *before, const struct bytes *at)
{
	uint8_t bytes[24];
	struct leaf_code code;

	memset(bytes, 0x90, sizeof(bytes));
	memcpy(bytes + 8 - before->nr, before->of, before->nr);
	memcpy(bytes + 8, at->of, at->nr);
	memcpy(&code, bytes, sizeof(code));
	return code;
}

#define B(...)                                      \
	{                                           \
		sizeof((uint8_t[]){ __VA_ARGS__ }), \
		{                                   \
			__VA_ARGS__                 \
		}                                   \
	}
#define NOTHING           \
	{                 \
		0,        \
		{         \
			0 \
		}         \
	}
#define NO -1

struct place_case {
	const char *what;
	struct bytes before, at;
	int ra_off; /* NO: the code says nothing */
	uint32_t fp_saved;
};

static void check_places(const struct place_case *cases, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct leaf_code code = code_around(&cases[i].before, &cases[i].at);
		struct leaf_place place = { 1, 1 };
		int found = leaf_find(&code, &place);

		if (found != (cases[i].ra_off != NO))
			fail_msg("%s: %sfound", cases[i].what, found ? "" : "not ");
		if (place.ra_off != (uint32_t)(found ? cases[i].ra_off : 0) ||
		    place.fp_saved != cases[i].fp_saved)
			fail_msg("%s: at %u, saved %u", cases[i].what, place.ra_off,
				 place.fp_saved);
	}
}

/* A form of code as short as it is recognised. */
struct form {
	const char *what;
	struct bytes before, at;
	uint32_t free; /* bit i: byte i of @before and @at together may be anything */
};

static void form_is_recognised_by_every_byte(void **state)
{
	static const struct form forms[] = {
		{ "push rbp; mov rbp, rsp", NOTHING, B(0x55, 0x48, 0x89, 0xe5), 0 },
		{ "the other encoding", NOTHING, B(0x55, 0x48, 0x8b, 0xec), 0 },
		{ "endbr64; push rbp; mov rbp, rsp", NOTHING,
		  B(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5), 0 },
		{ "endbr64; push rbp; lea rax, [rip]; mov rbp, rsp", NOTHING,
		  B(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x48, 0x89, 0xe5),
		  0xfe0 },
		{ "behind push rbp", B(0x55), B(0x48, 0x89, 0xe5), 0 },
		{ "behind push rbp, 7 bytes", B(0x55, 1, 2, 3, 4, 5, 6, 7), B(0x48, 0x8b, 0xec),
		  0xfe },
		{ "vzeroupper; ret", NOTHING, B(0xc5, 0xf8, 0x77, 0xc3), 0 },
		{ "behind mov rsp, rbp; pop rbp", B(0x48, 0x89, 0xec, 0x5d), NOTHING, 0 },
		{ "the other encoding", B(0x48, 0x8b, 0xe5, 0x5d), NOTHING, 0 },
		{ "cmp rsp, [r14 + 16]", NOTHING, B(0x49, 0x3b, 0x66, 0x10), 0 },
		{ "cmp r12, [r14 + 16]", NOTHING, B(0x4d, 0x3b, 0x66, 0x10), 0 },
		{ "lea r12, [rsp - 8]; cmp r12, [r14 + 16]", NOTHING,
		  B(0x4c, 0x8d, 0x64, 0x24, 0xf8, 0x4d, 0x3b, 0x66, 0x10), 0x10 },
		{ "lea r12, [rsp - 1024]; cmp r12, [r14 + 16]", NOTHING,
		  B(0x4c, 0x8d, 0xa4, 0x24, 0, 0xfc, 0xff, 0xff, 0x4d, 0x3b, 0x66, 0x10), 0xf0 },
		{ "jbe behind cmp rsp", B(0x49, 0x3b, 0x66, 0x10), B(0x76), 0 },
		{ "jbe behind cmp r12", B(0x4d, 0x3b, 0x66, 0x10), B(0x76), 0 },
		{ "long jbe behind it", B(0x4d, 0x3b, 0x66, 0x10), B(0x0f, 0x86), 0 },
		{ "sub rsp, 24; mov [rsp + 16], rbp", NOTHING,
		  B(0x48, 0x83, 0xec, 24, 0x48, 0x89, 0x6c, 0x24, 16), 0 },
		{ "sub rsp, 1024; mov [rsp + 1016], rbp", NOTHING,
		  B(0x48, 0x81, 0xec, 0, 4, 0, 0, 0x48, 0x89, 0xac, 0x24, 0xf8, 3, 0, 0), 0 },
		{ "at the mov", B(0x48, 0x83, 0xec, 24), B(0x48, 0x89, 0x6c, 0x24, 16), 0 },
		{ "at the long mov", B(0x48, 0x81, 0xec, 0, 4, 0, 0),
		  B(0x48, 0x89, 0xac, 0x24, 0xf8, 3, 0, 0), 0 },
		{ "at lea rbp, [rsp + 16]", B(0x48, 0x89, 0x6c, 0x24, 16),
		  B(0x48, 0x8d, 0x6c, 0x24, 16), 0 },
		{ "at the long lea", B(0x48, 0x89, 0xac, 0x24, 0xf8, 3, 0, 0),
		  B(0x48, 0x8d, 0xac, 0x24, 0xf8, 3, 0, 0), 0 },
		{ "add rsp, 24; ret", NOTHING, B(0x48, 0x83, 0xc4, 24, 0xc3), 0 },
		{ "add rsp, 1024; ret", NOTHING, B(0x48, 0x81, 0xc4, 0, 4, 0, 0, 0xc3), 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct leaf_code code = code_around(&forms[i].before, &forms[i].at);
		uint32_t nr_before = forms[i].before.nr, nr = nr_before + forms[i].at.nr;
		struct leaf_place place, other;

		if (!leaf_find(&code, &place))
			fail_msg("%s: not found", forms[i].what);
		for (uint32_t change = 0; change < 2 * nr; change++) {
			struct bytes before = forms[i].before, at = forms[i].at;
			uint32_t idx = change / 2;
			uint8_t *byte = idx < nr_before ? &before.of[idx] : &at.of[idx - nr_before];

			if (forms[i].free >> idx & 1)
				continue;
			*byte = (uint8_t)(change & 1 ? *byte + 1 : *byte - 1);
			code = code_around(&before, &at);
			if (leaf_find(&code, &other) && other.ra_off == place.ra_off &&
			    other.fp_saved == place.fp_saved)
				fail_msg("%s: found with byte %u %#x", forms[i].what, idx, *byte);
		}
	}
}

/* Without the system call or the end of the chain behind it, it is another branch. */
static void birth_is_recognised_by_every_byte(void **state)
{
	enum { DISTANCE = 6 }; /* of the jump to where errors are handled: any */
	static const struct form forms[] = {
		{ "at test rax, rax", B(0x0f, 0x05),
		  B(0x48, 0x85, 0xc0, 0x7c, 0x18, 0x74, 0x01, 0xc3, 0x31, 0xed), 0 },
		{ "at jl", B(0x0f, 0x05, 0x48, 0x85, 0xc0),
		  B(0x7c, 0x18, 0x74, 0x01, 0xc3, 0x31, 0xed), 0 },
		{ "at je", B(0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x18),
		  B(0x74, 0x01, 0xc3, 0x31, 0xed), 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		uint32_t nr_before = forms[i].before.nr;

		for (uint32_t idx = 0; idx < nr_before + forms[i].at.nr; idx++) {
			struct bytes before = forms[i].before, at = forms[i].at;
			struct leaf_code code = code_around(&before, &at);

			if (!leaf_is_birth(&code))
				fail_msg("%s: not found", forms[i].what);
			++*(idx < nr_before ? &before.of[idx] : &at.of[idx - nr_before]);
			code = code_around(&before, &at);
			if (leaf_is_birth(&code) != (idx == DISTANCE))
				fail_msg("%s: byte %u", forms[i].what, idx);
		}
	}
}

static void the_code_around_a_pc_is_of_its_page_alone(void **state)
{
	enum { PAGE_BYTES = 4096, READ_BYTES = 32 };
	static uint8_t page[PAGE_BYTES];
	struct fpl_walk walk = { 0 };
	struct env world;

	(void)state;
	world_init(&world);
	world_memory(&world, WORLD_BIAS, page, sizeof(page));
	for (uint32_t i = 0; i < PAGE_BYTES; i++)
		page[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	for (uint32_t pc = 0; pc < PAGE_BYTES; pc++) {
		uint32_t start = pc < 8 ? 0 : pc - 8;
		uint8_t want[24] = { 0 };
		struct leaf_code code;

		if (start > PAGE_BYTES - READ_BYTES)
			start = PAGE_BYTES - READ_BYTES;
		memset(walk.code, 0xff, sizeof(walk.code));
		assert_int_equal(walk_code(&world, &walk, WORLD_BIAS + pc, &code), 0);
		for (uint32_t i = 0; i < sizeof(want); i++)
			if (pc + i >= start + 8 && pc + i < start + READ_BYTES + 8)
				want[i] = page[pc + i - 8];
		assert_memory_equal(&code, want, sizeof(want));
	}
	world.nr_memory = 0;
	assert_int_not_equal(walk_code(&world, &walk, WORLD_BIAS, &(struct leaf_code){ 0 }), 0);
	world_fini(&world);
}

static void prologue_says_where_the_return_address_is(void **state)
{
	static const struct place_case cases[] = {
		{ "push rbp; mov rbp, rsp", NOTHING, B(0x55, 0x48, 0x89, 0xe5), 0, 0 },
		{ "the other encoding", NOTHING, B(0x55, 0x48, 0x8b, 0xec), 0, 0 },
		{ "endbr64 before it", NOTHING, B(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5),
		  0, 0 },
		{ "endbr64 alone", NOTHING, B(0xf3, 0x0f, 0x1e, 0xfa, 0x53), NO, 0 },
		{ "endbr32", NOTHING, B(0xf3, 0x0f, 0x1e, 0xfb, 0x55, 0x48, 0x89, 0xe5), NO, 0 },
		{ "xor eax, eax between them", NOTHING, B(0x55, 0x31, 0xc0, 0x48, 0x89, 0xe5), 0,
		  0 },
		{ "7 bytes between them", NOTHING,
		  B(0x55, 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x48, 0x89, 0xe5), 0, 0 },
		{ "8 bytes between them", NOTHING,
		  B(0x55, 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x90, 0x48, 0x89, 0xe5), NO, 0 },
		{ "endbr64; push rbp; 7 bytes between", NOTHING,
		  B(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 1, 2, 3, 4, 5, 6, 7, 0x48, 0x89, 0xe5), 0, 0 },
		{ "endbr64; push rbp; 8 bytes between", NOTHING,
		  B(0xf3, 0x0f, 0x1e, 0xfa, 0x55, 1, 2, 3, 4, 5, 6, 7, 8, 0x48, 0x89, 0xe5), NO,
		  0 },
		{ "push rbp and no mov", NOTHING, B(0x55, 0x53, 0x48, 0x83, 0xec, 8), NO, 0 },
		{ "mov rbp, rsp behind another push", NOTHING, B(0x53, 0x48, 0x89, 0xe5), NO, 0 },
		{ "mov rbp, rdi", NOTHING, B(0x55, 0x48, 0x89, 0xfd), NO, 0 },
		{ "behind push rbp", B(0x55), B(0x48, 0x89, 0xe5), 8, 1 },
		{ "the other encoding", B(0x55), B(0x48, 0x8b, 0xec), 8, 1 },
		{ "between push and mov", B(0x55), B(0x31, 0xc0, 0x48, 0x89, 0xe5), 8, 1 },
		{ "at the mov, others before", B(0x55, 0x31, 0xc0), B(0x48, 0x89, 0xe5), 8, 1 },
		{ "at the mov, 7 bytes before", B(0x55, 1, 2, 3, 4, 5, 6, 7), B(0x48, 0x89, 0xe5),
		  8, 1 },
		{ "mov rbp, rsp and no push", B(0x53), B(0x48, 0x89, 0xe5), NO, 0 },
		{ "behind both", B(0x55, 0x48, 0x89, 0xe5), B(0x53), NO, 0 },
	};

	(void)state;
	check_places(cases, ARRAY_SIZE(cases));
}

static void epilogue_says_where_the_return_address_is(void **state)
{
	static const struct place_case cases[] = {
		{ "ret", NOTHING, B(0xc3), 0, 0 },
		{ "ret 16", NOTHING, B(0xc2, 16, 0), 0, 0 },
		{ "rep ret", NOTHING, B(0xf3, 0xc3), 0, 0 },
		{ "bnd ret", NOTHING, B(0xf2, 0xc3), 0, 0 },
		{ "vzeroupper; ret", NOTHING, B(0xc5, 0xf8, 0x77, 0xc3), 0, 0 },
		{ "vzeroupper alone", NOTHING, B(0xc5, 0xf8, 0x77), NO, 0 },
		{ "far ret", NOTHING, B(0xcb), NO, 0 },
		{ "rep movsb", NOTHING, B(0xf3, 0xa4), NO, 0 },
		{ "pop rbp: rbp still points to the frame", NOTHING, B(0x5d, 0xc3), NO, 0 },
		{ "leave: likewise", NOTHING, B(0xc9, 0xc3), NO, 0 },
		{ "behind mov rsp, rbp; pop rbp", B(0x48, 0x89, 0xec, 0x5d), B(0x59), 0, 0 },
		{ "the other encoding", B(0x48, 0x8b, 0xe5, 0x5d), B(0x59), 0, 0 },
		{ "behind pop rbp alone", B(0x5d), B(0x59), NO, 0 },
		{ "add rsp, 24; ret", NOTHING, B(0x48, 0x83, 0xc4, 24, 0xc3), 24, 0 },
		{ "add rsp, 1024; ret", NOTHING, B(0x48, 0x81, 0xc4, 0, 4, 0, 0, 0xc3), 1024, 0 },
		{ "add rsp, 24; pop rbx; ret", NOTHING, B(0x48, 0x83, 0xc4, 24, 0x5b, 0xc3), NO,
		  0 },
		{ "add rsp, 1024; pop rbx", NOTHING, B(0x48, 0x81, 0xc4, 0, 4, 0, 0, 0x5b), NO, 0 },
		{ "add rsp, 120; ret", NOTHING, B(0x48, 0x83, 0xc4, 120, 0xc3), 120, 0 },
		{ "add rsp, -128; ret", NOTHING, B(0x48, 0x83, 0xc4, 0x80, 0xc3), NO, 0 },
		{ "add rsp, -8; ret", NOTHING, B(0x48, 0x83, 0xc4, 0xf8, 0xc3), NO, 0 },
		{ "add rsp, 12; ret", NOTHING, B(0x48, 0x83, 0xc4, 12, 0xc3), NO, 0 },
		{ "add rsp, 65536; ret", NOTHING, B(0x48, 0x81, 0xc4, 0, 0, 1, 0, 0xc3), NO, 0 },
		{ "add rsp, 65544; ret", NOTHING, B(0x48, 0x81, 0xc4, 8, 0, 1, 0, 0xc3), NO, 0 },
		{ "add rsp, 65528; ret", NOTHING, B(0x48, 0x81, 0xc4, 0xf8, 0xff, 0, 0, 0xc3),
		  65528, 0 },
		{ "sub rsp, 24; ret", NOTHING, B(0x48, 0x83, 0xec, 24, 0xc3), NO, 0 },
	};

	(void)state;
	check_places(cases, ARRAY_SIZE(cases));
}

static void prologue_of_go_says_where_the_return_address_is(void **state)
{
	static const struct place_case cases[] = {
		{ "cmp rsp, [r14 + 16]", NOTHING, B(0x49, 0x3b, 0x66, 0x10, 0x76, 5), 0, 0 },
		{ "jbe behind it", B(0x49, 0x3b, 0x66, 0x10), B(0x76, 5), 0, 0 },
		{ "long jbe behind it", B(0x49, 0x3b, 0x66, 0x10), B(0x0f, 0x86, 1, 2, 3, 4), 0,
		  0 },
		{ "jae behind it", B(0x49, 0x3b, 0x66, 0x10), B(0x73, 5), NO, 0 },
		{ "jbe behind something else", B(0x49, 0x3b, 0x66, 0x18), B(0x76, 5), NO, 0 },
		{ "lea r12, [rsp - 8]; cmp r12, [r14 + 16]", NOTHING,
		  B(0x4c, 0x8d, 0x64, 0x24, 0xf8, 0x4d, 0x3b, 0x66, 0x10), 0, 0 },
		{ "lea r12, [rsp - 1024]; cmp r12, [r14 + 16]", NOTHING,
		  B(0x4c, 0x8d, 0xa4, 0x24, 0, 0xfc, 0xff, 0xff, 0x4d, 0x3b, 0x66, 0x10), 0, 0 },
		{ "that lea alone", NOTHING, B(0x4c, 0x8d, 0x64, 0x24, 0xf8), NO, 0 },
		{ "the long lea alone", NOTHING, B(0x4c, 0x8d, 0xa4, 0x24, 0, 0xfc, 0xff, 0xff), NO,
		  0 },
		{ "cmp r12, [r14 + 16]", NOTHING, B(0x4d, 0x3b, 0x66, 0x10, 0x76, 5), 0, 0 },
		{ "jbe behind it", B(0x4d, 0x3b, 0x66, 0x10), B(0x76, 5), 0, 0 },
		{ "sub rsp, 24; mov [rsp + 16], rbp", NOTHING,
		  B(0x48, 0x83, 0xec, 24, 0x48, 0x89, 0x6c, 0x24, 16), 0, 0 },
		{ "sub rsp, 24; mov [rsp + 8], rbp", NOTHING,
		  B(0x48, 0x83, 0xec, 24, 0x48, 0x89, 0x6c, 0x24, 8), NO, 0 },
		{ "sub rsp, 24; mov [rsp + 16], rdi", NOTHING,
		  B(0x48, 0x83, 0xec, 24, 0x48, 0x89, 0x7c, 0x24, 16), NO, 0 },
		{ "sub rsp, 1024; mov [rsp + 1016], rbp", NOTHING,
		  B(0x48, 0x81, 0xec, 0, 4, 0, 0, 0x48, 0x89, 0xac, 0x24, 0xf8, 3, 0, 0), 0, 0 },
		{ "sub rsp, 1024; mov [rsp + 1008], rbp", NOTHING,
		  B(0x48, 0x81, 0xec, 0, 4, 0, 0, 0x48, 0x89, 0xac, 0x24, 0xf0, 3, 0, 0), NO, 0 },
		{ "at the mov", B(0x48, 0x83, 0xec, 24), B(0x48, 0x89, 0x6c, 0x24, 16), 24, 0 },
		{ "at the mov of the largest short one", B(0x48, 0x83, 0xec, 120),
		  B(0x48, 0x89, 0x6c, 0x24, 112), 120, 0 },
		{ "at a mov behind sub rsp, -128", B(0x48, 0x83, 0xec, 0x80),
		  B(0x48, 0x89, 0x6c, 0x24, 120), NO, 0 },
		{ "at a mov of another size", B(0x48, 0x83, 0xec, 32),
		  B(0x48, 0x89, 0x6c, 0x24, 16), NO, 0 },
		{ "at the long mov", B(0x48, 0x81, 0xec, 0, 4, 0, 0),
		  B(0x48, 0x89, 0xac, 0x24, 0xf8, 3, 0, 0), 1024, 0 },
		{ "at a long mov of another size", B(0x48, 0x81, 0xec, 8, 4, 0, 0),
		  B(0x48, 0x89, 0xac, 0x24, 0xf8, 3, 0, 0), NO, 0 },
		{ "at lea rbp, [rsp + 16]", B(0x48, 0x89, 0x6c, 0x24, 16),
		  B(0x48, 0x8d, 0x6c, 0x24, 16), 24, 1 },
		{ "at lea rbp, [rsp + 120]", B(0x48, 0x89, 0x6c, 0x24, 120),
		  B(0x48, 0x8d, 0x6c, 0x24, 120), 128, 1 },
		{ "at lea rbp, [rsp - 8]", B(0x48, 0x89, 0x6c, 0x24, 0xf8),
		  B(0x48, 0x8d, 0x6c, 0x24, 0xf8), NO, 0 },
		{ "at lea rbp, [rsp - 128]", B(0x48, 0x89, 0x6c, 0x24, 0x80),
		  B(0x48, 0x8d, 0x6c, 0x24, 0x80), NO, 0 },
		{ "at lea rbp, [rsp + 8]", B(0x48, 0x89, 0x6c, 0x24, 16),
		  B(0x48, 0x8d, 0x6c, 0x24, 8), NO, 0 },
		{ "at the long lea", B(0x48, 0x89, 0xac, 0x24, 0xf8, 3, 0, 0),
		  B(0x48, 0x8d, 0xac, 0x24, 0xf8, 3, 0, 0), 1024, 1 },
		{ "at a long lea of another size", B(0x48, 0x89, 0xac, 0x24, 0xf0, 3, 0, 0),
		  B(0x48, 0x8d, 0xac, 0x24, 0xf8, 3, 0, 0), NO, 0 },
		{ "unaligned", B(0x48, 0x83, 0xec, 20), B(0x48, 0x89, 0x6c, 0x24, 12), NO, 0 },
		{ "below rsp", B(0x48, 0x83, 0xec, 0xf8), B(0x48, 0x89, 0x6c, 0x24, 0xf0), NO, 0 },
		{ "behind all of it", B(0x48, 0x8d, 0x6c, 0x24, 16), B(0x48, 0x89, 0xc3), NO, 0 },
	};

	(void)state;
	check_places(cases, ARRAY_SIZE(cases));
}

static void moves_of_the_stack_pointer_are_recognised(void **state)
{
	static const struct {
		const char *what;
		uint32_t bytes; /* the first in the high byte of three */
		int moves;
	} cases[] = {
		{ "sub rsp, imm8", 0x4883ec, 1 },
		{ "sub rsp, imm32", 0x4881ec, 1 },
		{ "add rsp, imm8", 0x4883c4, 1 },
		{ "and rsp, imm8", 0x4883e4, 1 },
		{ "sub rbp, imm8", 0x4883ed, 0 },
		{ "add [rsp], imm8", 0x488304, 0 },
		{ "lea rsp, [rsp + x]", 0x488d64, 1 },
		{ "lea rsp, [rbp + x]", 0x488d65, 1 },
		{ "lea rbp, [rsp + x]", 0x488d6c, 0 },
		{ "mov rsp, rbp", 0x4889ec, 1 },
		{ "mov rsp, r8", 0x4c89c4, 1 },
		{ "mov rbp, rsp", 0x4889e5, 0 },
		{ "mov rsp, rax, reversed", 0x488be0, 1 },
		{ "mov rsp, r9, reversed", 0x498be1, 1 },
		{ "mov rax, rsp, reversed", 0x488bc4, 0 },
		{ "sub esp, imm8", 0x0083ec, 0 },
		{ "sub esp, imm8, behind push rax", 0x5083ec, 0 },
		{ "cmp rsp, rax", 0x4839c4, 0 },
		{ "cmp rax, rsp", 0x4839e0, 0 },
		{ "test rsp, rax", 0x4885c4, 0 },
		{ "test rsp, imm32", 0x48f7c4, 0 },
		{ "mul rax", 0x48f7e0, 0 },
		{ "sub rbx, imm8", 0x4883eb, 0 },
		{ "sub rbx, imm32", 0x4881eb, 0 },
		{ "lea rbx, [rsp + x]", 0x488d5c, 0 },
		{ "mov rax, rsp", 0x4889e0, 0 },
		{ "mov rbp, rax, reversed", 0x488be8, 0 },
		{ "nops", 0x909090, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t bytes = cases[i].bytes >> 16 | (cases[i].bytes & 0xff00) |
				 (cases[i].bytes & 0xff) << 16;

		if (leaf_moves_sp(bytes) != cases[i].moves)
			fail_msg("%s", cases[i].what);
	}
}

static void target_of_a_direct_call_is_found(void **state)
{
	(void)state;
	assert_int_equal(leaf_call_target(0x1000, 0x00000010e8000000ull), 0x1010);
	assert_int_equal(leaf_call_target(0x1000, 0xfffffff0e8ffffffull), 0xff0);
	assert_int_equal(leaf_call_target(0x1000, 0x00000010e9000000ull), 0);
	assert_int_equal(leaf_call_target(0x1000, 0xd0ff9090e7909090ull), 0);
}

/*
 * Functions without CFI, one after another, all with frame pointers: 0x2000 calls 0x1000, 0x3000
 * calls 0x2000, 0x4000 is outermost by a row. The stack as it is in the body of 0x1000, whose frame
 * is at word 10; above it, at words 20 and 30, the frames of the callers.
 */
struct scene {
	struct env world;
	struct fpl_walk walk;
	uint64_t words[NR_WORDS];
	uint8_t code[WORLD_TEXT];
	__u64 frames[FPL_DEPTH_MAX];
};

/* call rel32 to @target, ending at @ra. */
static void put_call(struct scene *s, uint32_t ra, uint32_t target)
{
	int32_t rel = (int32_t)target - (int32_t)ra;

	s->code[ra - 5] = 0xe8;
	memcpy(s->code + ra - 4, &rel, sizeof(rel));
}

static int setup(void **state)
{
	static const struct fpl_rule none = { .cfa = FPL_CFA_NONE };
	static const struct fpl_rule end = {
		.cfa = FPL_CFA_REG, .flags = FPL_RULE_END, .regs = 7, .cfa_off = 8
	};
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	world_init(&s->world);
	world_row(&s->world, 0x4000, &end, NULL, 0);
	world_row(&s->world, 0x5000, &none, NULL, 0);
	world_memory(&s->world, STACK, s->words, sizeof(s->words));
	world_memory(&s->world, WORLD_BIAS, s->code, sizeof(s->code));
	memset(s->code, 0x90, sizeof(s->code));
	put_call(s, 0x2010, 0x1000);
	put_call(s, 0x3010, 0x2000);
	put_call(s, 0x4010, 0x3000);
	s->words[20] = AT(30);
	s->words[21] = PC(0x3010);
	s->words[30] = 0;
	s->words[31] = PC(0x4010);
	s->walk.max_depth = 100;
	s->walk.unwind = FPL_UNWIND_AUTO;
	s->walk.by_row = FPL_ORIGIN_CFI;
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	world_fini(&s->world);
	free(s);
	return 0;
}

/* Walk from @pc with rsp at word @sp, rbp at word @fp. Returns whether all callers were found; else
 * the one of 0x1000 must have been passed over. */
static int finds_caller(struct scene *s, uint32_t pc, uint32_t sp, uint32_t fp)
{
	const __u64 all[] = { FRAME(pc) | EXACT, FRAME(0x2010) | BY_FP, FRAME(0x3010) | BY_FP,
			      FRAME(0x4010) | BY_FP };
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };
	uint32_t skipped;

	s->walk.pc = PC(pc);
	s->walk.nr = s->world.nr_mappings;
	s->walk.exact = 1;
	s->walk.origin = FPL_ORIGIN_CFI;
	s->walk.nr_frames = 0;
	s->walk.known = ARCH_ALL_REGS;
	s->walk.reg[6] = AT(fp);
	s->walk.reg[7] = AT(sp);
	walk_run(&walker);
	assert_int_equal(s->walk.stop, FPL_STOP_OUTERMOST);
	skipped = 4 - s->walk.nr_frames;
	assert_in_range(skipped, 0, 1);
	assert_true(s->frames[0] == all[0]);
	for (uint32_t i = 1; i < s->walk.nr_frames; i++) {
		if (s->frames[i] != all[i + skipped])
			fail_msg("frame %u is %#llx", i, (unsigned long long)s->frames[i]);
	}
	return !skipped;
}

static void put(struct scene *s, uint32_t vaddr, struct bytes bytes)
{
	memcpy(s->code + vaddr, bytes.of, bytes.nr);
}

static void caller_is_found_before_and_behind_a_frame(void **state)
{
	struct scene *s = *state;

	put(s, 0x1000, (struct bytes)B(0x55, 0x48, 0x89, 0xe5, 0x53));
	put(s, 0x1030, (struct bytes)B(0x5b, 0x5d, 0xc3));
	s->words[11] = PC(0x2010);
	assert_true(finds_caller(s, 0x1000, 11, 20));
	assert_int_equal(s->walk.reg[7], AT(32));
	s->words[10] = AT(20);
	assert_true(finds_caller(s, 0x1001, 10, 20));
	assert_true(finds_caller(s, 0x1004, 10, 10));
	assert_true(finds_caller(s, 0x1020, 10, 10));
	assert_true(finds_caller(s, 0x1031, 10, 10));
	assert_true(finds_caller(s, 0x1032, 11, 20));
	/* what was pushed is not rbp */
	s->words[10] = AT(21);
	assert_false(finds_caller(s, 0x1001, 10, 20));
	s->words[10] = AT(19);
	assert_false(finds_caller(s, 0x1001, 10, 20));
}

/* Take one step from @pc with rsp at @sp, rbp at word 20, the registers of @known known. */
static int leaf_steps_with(struct scene *s, uint64_t pc, uint64_t sp, uint32_t known)
{
	s->walk.nr = s->world.nr_mappings;
	s->walk.last = (struct fpl_mapping){ 0 };
	s->walk.window_size = 0;
	s->walk.known = known;
	s->walk.exact = 1;
	s->walk.origin = FPL_ORIGIN_CFI;
	s->walk.pc = pc;
	s->walk.reg[6] = AT(20);
	s->walk.reg[7] = sp;
	return walk_leaf_step(&s->world, &s->walk, pc);
}

static int leaf_steps(struct scene *s, uint64_t pc, uint64_t sp)
{
	return leaf_steps_with(s, pc, sp, ARCH_ALL_REGS);
}

static void a_child_behind_its_system_call_has_no_caller(void **state)
{
	static const struct {
		const char *what;
		uint64_t result;
		uint32_t known;
		int leaf;
	} cases[] = {
		{ "child", 0, ARCH_ALL_REGS, WALK_LEAF_BIRTH },
		{ "parent", 4711, ARCH_ALL_REGS, WALK_LEAF_NOTHING },
		{ "parent, in the system call", (uint64_t)-38, ARCH_ALL_REGS, WALK_LEAF_NOTHING },
		{ "who knows", 0, ARCH_ALL_REGS & ~1u, WALK_LEAF_NOTHING },
	};
	struct scene *s = *state;

	put(s, 0x1000,
	    (struct bytes)B(0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x18, 0x74, 0x01, 0xc3, 0x31,
			    0xed));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		s->walk.reg[0] = cases[i].result;
		if (leaf_steps_with(s, PC(0x1002), AT(11), cases[i].known) != cases[i].leaf)
			fail_msg("%s", cases[i].what);
	}
	s->walk.reg[0] = 0;
	s->walk.reg[7] = AT(11);
	s->walk.nr_frames = 0;
	s->walk.pc = PC(0x1002);
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	s->walk.known = ARCH_ALL_REGS;
	s->walk.exact = 1;
	walk_run(&walker);
	assert_int_equal(s->walk.stop, FPL_STOP_OUTERMOST);
	assert_int_equal(s->walk.nr_frames, 1);
}

static void step_out_of_a_leaf_finds_the_registers_of_the_caller(void **state)
{
	struct scene *s = *state;
	uint64_t ra = PC(0x2010);

	s->code[0x1000] = 0xc3;
	s->words[11] = ra;
	assert_int_equal(leaf_steps(s, PC(0x1000), AT(11)), 1);
	assert_true(s->walk.pc == PC(0x2010));
	assert_int_equal(s->walk.exact, 0);
	assert_int_equal(s->walk.origin, FPL_ORIGIN_FP);
	assert_int_equal(s->walk.known, 1 << 6 | 1 << 7);
	assert_true(s->walk.reg[6] == AT(20));
	assert_true(s->walk.reg[7] == AT(12));
	put(s, 0x1000, (struct bytes)B(0x48, 0x83, 0xc4, 24, 0xc3));
	s->words[14] = ra;
	assert_int_equal(leaf_steps(s, PC(0x1000), AT(11)), 1);
	assert_true(s->walk.reg[7] == AT(15));
	/* no stack pointer */
	s->code[0x1000] = 0xc3;
	memcpy((uint8_t *)s->words + 44, &ra, sizeof(ra));
	assert_int_equal(leaf_steps(s, PC(0x1000), AT(5) + 4), 0);
	assert_int_equal(s->walk.known, ARCH_ALL_REGS);
	assert_true(s->walk.pc == PC(0x1000));
}

static void call_by_a_register_names_no_leaf_at_the_lowest_addresses(void **state)
{
	static const uint8_t low[64] = { 0x90 };
	struct scene *s = *state;

	world_memory(&s->world, 0, low, sizeof(low));
	put(s, 0x200b, (struct bytes)B(0x90, 0x90, 0x90, 0xff, 0xd0));
	s->words[11] = PC(0x2010);
	assert_int_equal(leaf_steps(s, 8, AT(11)), 0);
}

static void return_address_is_checked_whatever_the_code_says(void **state)
{
	struct scene *s = *state;

	s->code[0x1000] = 0xc3;
	s->words[11] = PC(0x2010);
	assert_true(finds_caller(s, 0x1000, 11, 20));
	s->words[11] = PC(0x2011); /* behind no call */
	assert_false(finds_caller(s, 0x1000, 11, 20));
	s->words[11] = 0x2010; /* in no mapping */
	assert_false(finds_caller(s, 0x1000, 11, 20));
	s->words[11] = PC(0x2010);
	s->walk.unwind = FPL_UNWIND_CFI;
	s->walk.nr_frames = 0;

	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	s->walk.pc = PC(0x1000);
	s->walk.exact = 1;
	walk_run(&walker);
	assert_int_equal(s->walk.nr_frames, 1);
	assert_int_equal(s->walk.stop, FPL_STOP_NO_CFI);
}

static void frame_that_waits_for_a_return_is_in_its_body(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	/* a ret behind the call in 0x2000: where it will be, not where it is */
	s->code[0x2010] = 0xc3;
	s->code[0x1000] = 0xc3;
	s->words[11] = PC(0x2010);
	s->words[12] = PC(0x4010);
	assert_true(finds_caller(s, 0x1000, 11, 20));
	s->walk.pc = PC(0x2010);
	s->walk.exact = 0;
	s->walk.nr_frames = 0;
	s->walk.reg[6] = AT(20);
	s->walk.reg[7] = AT(12);
	s->walk.known = ARCH_ALL_REGS;
	walk_run(&walker);
	assert_int_equal(s->walk.nr_frames, 3);
	assert_true(s->frames[1] == (FRAME(0x3010) | BY_FP));
}

static void leaf_without_a_frame_needs_a_call_to_it(void **state)
{
	static const struct {
		const char *what;
		uint32_t pc, target;
		struct bytes code; /* at 0x1000 */
		int found;
	} cases[] = {
		{ "on its first instruction", 0x1000, 0x1000, B(0x90), 1 },
		{ "in the middle", 0x1020, 0x1000, B(0x90), 1 },
		{ "as far as is looked", 0x1100, 0x1000, B(0x90), 1 },
		{ "farther", 0x1101, 0x1000, B(0x90), 0 },
		{ "a call of what is behind it", 0x1000, 0x1001, B(0x90), 0 },
		{ "it made room on the stack", 0x1004, 0x1000, B(0x48, 0x83, 0xec, 8), 0 },
		{ "it is about to", 0x1000, 0x1000, B(0x48, 0x83, 0xec, 8), 1 },
		{ "in the last bytes before the pc", 0x1007, 0x1000,
		  B(0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0xec), 0 },
		{ "not all of it before the pc", 0x1006, 0x1000,
		  B(0x90, 0x90, 0x90, 0x90, 0x48, 0x89, 0xec), 1 },
	};
	struct scene *s = *state;

	s->words[11] = PC(0x2010);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(s->code + 0x1000, 0x90, 0x200);
		put(s, 0x1000, cases[i].code);
		put_call(s, 0x2010, cases[i].target);
		if (finds_caller(s, cases[i].pc, 11, 20) != cases[i].found)
			fail_msg("%s", cases[i].what);
	}
	/* the last two bytes before the pc and the one there are no instruction, though they look
	 * it */
	memset(s->code + 0x1000, 0x90, 0x200);
	put_call(s, 0x2010, 0x1000);
	put(s, 0x100e, (struct bytes)B(0x48, 0x8d, 0x64));
	assert_true(finds_caller(s, 0x1010, 11, 20));
	assert_false(finds_caller(s, 0x1011, 11, 20));
	/* a call by a register has no known target */
	memset(s->code + 0x1000, 0x90, 0x200);
	put(s, 0x200b, (struct bytes)B(0x90, 0x90, 0x90, 0xff, 0xd0));
	assert_false(finds_caller(s, 0x1000, 11, 20));
}

static void code_at_the_edges_of_a_page_is_read(void **state)
{
	static const struct {
		uint32_t pc;
		struct bytes code; /* ends in this page's last byte or begins with its first */
	} cases[] = {
		{ 0x1000, B(0x49, 0x3b, 0x66, 0x10) },
		{ 0x1ffc, B(0x49, 0x3b, 0x66, 0x10) },
		{ 0x1fe0, B(0xc3) },
		{ 0x1fe7, B(0xc3) },
		{ 0x1fe8, B(0xc3) },
		{ 0x1fe9, B(0xc3) },
		{ 0x1fff, B(0xc3) },
		{ 0x1007, B(0xc3) },
		{ 0x1ff0, B(0x49, 0x3b, 0x66, 0x10) },
	};
	struct scene *s = *state;

	/* the neighbours are not resident; the caller is in one of its own */
	s->world.nr_memory = 1;
	world_memory(&s->world, PC(0x1000), s->code + 0x1000, 0x1000);
	world_memory(&s->world, PC(0x2008), s->code + 0x2008, 8);
	world_memory(&s->world, PC(0x3000), s->code + 0x3000, 0x2000);
	s->words[11] = PC(0x2010);
	put_call(s, 0x2010, 0x1000);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memset(s->code + 0x1000, 0x90, 0x1000);
		put_call(s, 0x2010, 0x500); /* no leaf */
		put(s, cases[i].pc, cases[i].code);
		if (!finds_caller(s, cases[i].pc, 11, 20))
			fail_msg("%#x", cases[i].pc);
	}
}

static void frame_pointer_that_leads_to_no_known_mapping_is_noted(void **state)
{
	static const struct {
		const char *what;
		uint64_t ra;
		uint8_t noted;
	} cases[] = {
		{ "in no mapping", 0x700000000000ull, 1 },
		{ "not behind a call", PC(0x3011), 0 },
		{ "no address of user code", 16, 0 },
		{ "the first byte of a mapping", PC(0), 1 },
		{ "behind that, and no code to read", PC(1), 1 },
		{ "behind the last of one, and no call there", PC(WORLD_TEXT), 0 },
	};
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		s->walk.pc = PC(0x1000);
		s->walk.nr = s->world.nr_mappings;
		s->walk.exact = 1;
		s->walk.nr_frames = 0;
		s->walk.known = ARCH_ALL_REGS;
		s->walk.reg[6] = AT(20);
		s->walk.reg[7] = AT(11);
		s->words[20] = 0;
		s->words[21] = cases[i].ra;
		walk_run(&walker);
		assert_int_equal(s->walk.stop, FPL_STOP_NO_CFI);
		if (s->walk.fp_open != cases[i].noted)
			fail_msg("%s", cases[i].what);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(form_is_recognised_by_every_byte),
		cmocka_unit_test(birth_is_recognised_by_every_byte),
		cmocka_unit_test(the_code_around_a_pc_is_of_its_page_alone),
		cmocka_unit_test(prologue_says_where_the_return_address_is),
		cmocka_unit_test(epilogue_says_where_the_return_address_is),
		cmocka_unit_test(prologue_of_go_says_where_the_return_address_is),
		cmocka_unit_test(moves_of_the_stack_pointer_are_recognised),
		cmocka_unit_test(target_of_a_direct_call_is_found),
		cmocka_unit_test_setup_teardown(caller_is_found_before_and_behind_a_frame, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_child_behind_its_system_call_has_no_caller, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			step_out_of_a_leaf_finds_the_registers_of_the_caller, setup, teardown),
		cmocka_unit_test_setup_teardown(
			call_by_a_register_names_no_leaf_at_the_lowest_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(return_address_is_checked_whatever_the_code_says,
						setup, teardown),
		cmocka_unit_test_setup_teardown(frame_that_waits_for_a_return_is_in_its_body, setup,
						teardown),
		cmocka_unit_test_setup_teardown(leaf_without_a_frame_needs_a_call_to_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			frame_pointer_that_leads_to_no_known_mapping_is_noted, setup, teardown),
		cmocka_unit_test_setup_teardown(code_at_the_edges_of_a_page_is_read, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
