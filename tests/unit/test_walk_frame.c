/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from code whose frame is that of its entry: the first instructions of a function, blocks of
 * sljit's allocator, and data that lies. */
#include "cmocka_all.h"

#include <stdbool.h>

#include "tests/support/walk_scene.h"

#define CHUNKS	       0x7f1000000000ull
#define CHUNK	       0x10000u
#define ID	       9u
#define FUNCTION       0xf000u /* in a chunk: its block */
#define CODE	       (FUNCTION + 16u)
#define FUNCTION_BYTES 0xe00u
#define FREE_BYTES     FUNCTION
#define MADE(off)      (FPL_FRAME_JIT | (CHUNKS + (off)))
#define WHOLE	       22u /* words of its frame: the return address is in the last */

/* push rbx; push r15; push r14; push r13; push rbp; mov rbx, rdi; sub rsp, 0x80 */
static const uint8_t prologue[] = { 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x55, 0x48,
				    0x89, 0xfb, 0x48, 0x81, 0xec, 0x80, 0x00, 0x00, 0x00 };

/* Two chunks in one mapping, and a word behind them. */
static uint8_t chunks[2 * CHUNK];

static void put(uint32_t off, uint64_t value)
{
	memcpy(chunks + off, &value, sizeof(value));
}

/* A chunk: free memory, the function, and the end. */
static void make_chunk(uint32_t at)
{
	put(at + 32, FREE_BYTES);
	put(at + FUNCTION, FUNCTION_BYTES);
	put(at + FUNCTION + 8, FREE_BYTES);
	put(at + FUNCTION + FUNCTION_BYTES, 0);
	put(at + FUNCTION + FUNCTION_BYTES + 8, FUNCTION_BYTES);
	put(at + FUNCTION + FUNCTION_BYTES + 32, CHUNK - 16 - FUNCTION - FUNCTION_BYTES);
	put(at + CHUNK - 16, 1);
	put(at + CHUNK - 8, CHUNK - 16 - FUNCTION - FUNCTION_BYTES);
	memset(chunks + at + CODE, 0x90, FUNCTION_BYTES - 16);
	memcpy(chunks + at + CODE, prologue, sizeof(prologue));
}

static int chunks_setup(void **state)
{
	int code = setup(state);
	struct scene *s = *state;

	memset(chunks, 0, sizeof(chunks));
	make_chunk(0);
	make_chunk(CHUNK);
	world_mapping(&s->world, CHUNKS, CHUNKS + sizeof(chunks), 0, FPL_MAPPING_ANON);
	for (uint32_t i = 0; i < s->world.nr_mappings; i++)
		if (s->world.mappings[i].start == CHUNKS)
			s->world.mappings[i].bias = fpl_region_ref(ID, 1);
	world_memory(&s->world, CHUNKS, chunks, sizeof(chunks));
	s->world.region =
		(struct fpl_region){ .id = ID, .kind = FPL_REGION_SLJIT, .end = 1ull << 47 };
	assert_true(fpl_region_holds(&s->world.region));
	s->code[0x400b] = 0xe8;	  /* a call before PC(0x4010) */
	s->walk.reg[ARCH_FP] = 4; /* no frame pointer */
	return code;
}

/* A stack without saved registers, and the caller in its word @ra. */
static void fill_stack(struct scene *s, uint32_t ra)
{
	memset(s->words, 0, sizeof(s->words));
	for (uint32_t i = 0; i < ra; i++)
		s->words[i] = 0x1000 + i;
	s->words[ra] = PC(0x4010);
	s->walk.reg[ARCH_SP] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
}

static void each_form_of_code_says_where_the_return_address_is(void **state)
{
	static const struct {
		const char *what;
		uint32_t off; /* of the pc in the code */
		char at[17];
		uint64_t top; /* the word at rsp; 0: any */
		uint32_t ra;  /* the word of the return address */
		int32_t rbx;  /* that of the caller's rbx; -1: it is in rbx */
	} cases[] = {
		{ "the first instruction", 0, "", 0, 0, -1 },
		{ "a register pushed", 1, "", 0, 1, 0 },
		{ "two", 3, "", 0, 2, 1 },
		{ "five", 8, "", 0, 5, 4 },
		{ "behind mov", 11, "", 0, 5, 4 },
		{ "the body", 0x20, "", 0, 21, 20 },
		{ "behind ENTRY_BYTES", 0x400, "", 0, 21, 20 },
		{ "the whole end", 0x400, "\x5d\x41\x5d\x41\x5e\x41\x5f\x5b\xc3", 0, 5, 4 },
		{ "a part of it", 0x400, "\x41\x5f\x5b\xc3", 0, 2, 1 },
		{ "ret", 0x400, "\xc3", 0, 0, -1 },
		{ "a call in the function", 0x400, "\x5b\x90", CHUNKS + CODE + 0x30, 22, 21 },
		{ "a return in it", 0x400, "\xc3", CHUNKS + CODE + 0x30, 22, 21 },
		{ "a pop with a prefix", 0x400, "\x49\x5b\x90", CHUNKS + CODE + 0x30, 22, 21 },
		{ "an end, and a register that was saved points into the code", 0x400,
		  "\x41\x5f\x5b\xc3", CHUNKS + CODE + 0x30, 2, 1 },
		{ "pop in the body", 0x400, "\x5b\x90", 0, 21, 20 },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (uint32_t chunk = 0; chunk <= CHUNK; chunk += CHUNK) {
			uint32_t pc = chunk + CODE + cases[i].off;
			__u64 want[] = { MADE(pc) | EXACT, FRAME(0x4010), 0 };

			print_message("%s\n", cases[i].what);
			make_chunk(chunk);
			memcpy(chunks + pc, cases[i].at, strlen(cases[i].at));
			fill_stack(s, cases[i].ra);
			if (cases[i].top)
				s->words[0] = cases[i].top + chunk;
			s->walk.reg[ARCH_RBX] = 0x77;
			check_walk(s, CHUNKS + pc, FPL_STOP_OUTERMOST, want);
			assert_int_equal(s->walk.reg[ARCH_RBX],
					 cases[i].rbx < 0 ? 0x77 : 0x1000 + cases[i].rbx);
		}
	}
}

static void what_the_function_calls_is_walked_through_its_frame(void **state)
{
	struct scene *s = *state;
	__u64 want[] = { FRAME(0x1008) | EXACT, MADE(CODE + 0x100), FRAME(0x4010), 0 };

	fill_stack(s, WHOLE);
	s->words[0] = CHUNKS + CODE + 0x100;
	memcpy(chunks + CODE + 0x100, "\x5b\xc3", 2); /* is not run yet */
	chunks[CODE + 0x100 - 5] = 0xe8;
	check_walk(s, PC(0x1008), FPL_STOP_OUTERMOST, want);
	assert_int_equal(s->walk.reg[ARCH_RBX], 0x1000 + WHOLE - 1);
}

/* Each ends the walk (check_walk() walks three times), as code without a method would, and reads
 * little. */
static void data_that_lies_leads_nowhere(void **state)
{
	static const struct {
		const char *what;
		uint32_t off;
		uint64_t value;
	} cases[] = {
		{ "a free block of no bytes", 32, 0 },
		{ "a free block of 8 bytes", 32, 8 },
		{ "a free block of all memory", 32, UINT64_MAX },
		{ "an odd block", 32, FREE_BYTES + 4 },
		{ "a block that leads elsewhere", 32, 0x800 },
		{ "the end at once", 0, 1 },
		{ "a block that leads to itself", 0, 16 },
		{ "the pc is in free memory", FUNCTION, 0 },
		{ "the block before has another size", FUNCTION + 8, FREE_BYTES - 8 },
		{ "2^31 bytes", FUNCTION, 1u << 31 },
		{ "the frame of a function is not made", CODE, 0x9090909090909090 },
		{ "it makes two", CODE + 8, 0x90ec8148 },
		{ "0xff", CODE, UINT64_MAX },
		{ "lowered by no bytes", CODE + 8, 0x0000000000ec8148fbull >> 8 },
	};
	struct scene *s = *state;
	uint32_t pc = CODE + 0x400;
	__u64 want[] = { MADE(pc) | EXACT, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		memset(chunks, 0, sizeof(chunks));
		make_chunk(0);
		put(cases[i].off, cases[i].value);
		fill_stack(s, WHOLE - 1);
		s->world.nr_reads = 0;
		check_walk(s, CHUNKS + pc, FPL_STOP_NO_CFI, want);
		assert_in_range(s->world.nr_reads, 0, 3 * (8 + 2 * SLJIT_HOPS));
	}
	/* blocks as small as they may be, from the start of the mapping to its end */
	memset(chunks, 0, sizeof(chunks));
	for (uint32_t at = 0; at < sizeof(chunks); at += 16) {
		put(at, 16);
		put(at + 8, at ? 16 : 0);
	}
	s->world.nr_reads = 0;
	check_walk(s, CHUNKS + pc, FPL_STOP_NO_CFI, want);
	assert_in_range(s->world.nr_reads, 3 * SLJIT_HOPS, 3 * (8 + SLJIT_HOPS));
}

static const struct fpl_rule all_saved = { .cfa = FPL_CFA_REG,
					   .regs = ARCH_SP,
					   .cfa_off = 8 * WHOLE,
					   .saved = { -2, -3, -4, -5, -6, -7 } };

static void a_rule_holds_for_all_code_of_a_region(void **state)
{
	struct scene *s = *state;
	__u64 want[] = { MADE(0x100) | EXACT, FRAME(0x4010), 0 };
	__u64 end[] = { MADE(0x200) | EXACT, FRAME(0x4010), 0 };

	s->world.region.kind = FPL_REGION_FRAME;
	s->world.region.rule = all_saved;
	assert_true(fpl_region_holds(&s->world.region));
	fill_stack(s, WHOLE - 1);
	check_walk(s, CHUNKS + 0x100, FPL_STOP_OUTERMOST, want);
	for (uint32_t i = 0; i < FPL_NR_SAVED; i++)
		assert_int_equal(s->walk.reg[ARCH_SAVED_REG(i)], 0x1000 + WHOLE - 2 - i);
	memcpy(chunks + 0x200, "\x5b\xc3", 2);
	fill_stack(s, 1);
	s->walk.reg[ARCH_R12] = 0x55;
	check_walk(s, CHUNKS + 0x200, FPL_STOP_OUTERMOST, end);
	assert_int_equal(s->walk.reg[ARCH_RBX], 0x1000);
	assert_int_equal(s->walk.reg[ARCH_R12], 0x55);
	/* a part of the code that was called takes its return address off the stack */
	memcpy(chunks + 0x200, "\x49\x5b\x90", 3);
	fill_stack(s, WHOLE);
	s->words[0] = CHUNKS + 0x300;
	s->walk.reg[ARCH_R12] = 0x55;
	check_walk(s, CHUNKS + 0x200, FPL_STOP_OUTERMOST, end);
	assert_int_equal(s->walk.reg[ARCH_RBX], 0x1000 + WHOLE - 1);
	/* no return address is there */
	fill_stack(s, WHOLE + 1);
	end[1] = 0;
	end[0] = want[0];
	check_walk(s, CHUNKS + 0x100, FPL_STOP_BAD_RA, end);
}

static void an_interrupted_trampoline_has_a_part_of_the_frame(void **state)
{
	static const struct {
		uint32_t off; /* of the pc */
		uint32_t ra;  /* the word of the return address */
	} cases[] = { { 0, 0 }, { 1, 1 }, { 8, 5 }, { 11, 5 }, { 18, 21 }, { 30, 5 }, { 33, 5 } };
	struct scene *s = *state;

	s->world.region.kind = FPL_REGION_FRAME;
	s->world.region.start = CHUNKS;
	s->world.region.rule = all_saved;
	memset(chunks, 0x90, 64);
	memcpy(chunks, prologue, sizeof(prologue));
	memcpy(chunks + sizeof(prologue), "\xff\xe6", 2);
	memcpy(chunks + 30, "\xc5\xf8\x77\x5d\x41\x5d\x41\x5e\x41\x5f\x5b\xc3", 12);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { MADE(cases[i].off) | EXACT, FRAME(0x4010), 0 };

		fill_stack(s, cases[i].ra);
		check_walk(s, CHUNKS + cases[i].off, FPL_STOP_OUTERMOST, want);
	}
}

static void no_rule_that_does_not_hold_is_taken(void **state)
{
	struct fpl_region good = { .kind = FPL_REGION_FRAME, .end = 1, .rule = all_saved };

	(void)state;
	assert_true(fpl_region_holds(&good));
	REGION_REFUSED(good, end, 0);
	REGION_REFUSED(good, rule.cfa, FPL_CFA_NONE);
	REGION_REFUSED(good, rule.cfa, FPL_CFA_DEREF);
	REGION_REFUSED(good, rule.flags, FPL_RULE_EXT);
	REGION_REFUSED(good, rule.regs, 0x17);
	REGION_REFUSED(good, rule.from_reg, 1);
	REGION_REFUSED(good, rule.cfa_off, 0);
	REGION_REFUSED(good, rule.cfa_off, -8);
	REGION_REFUSED(good, rule.cfa_off, 8 * (__s32)WHOLE + 4);
	REGION_REFUSED(good, rule.cfa_off, (1 << 20) + 8);
	REGION_REFUSED(good, rule.saved[0], -1);
	REGION_REFUSED(good, rule.saved[5], 1);
	REGION_REFUSED(good, rule.saved[5], -(int)WHOLE - 1);
}

/* The rule behind the first instructions of code: @nr bytes of @code. Returns where they end. */
static uint32_t enter(const char *code, uint32_t nr, struct fpl_rule *rule, bool *is_whole)
{
	uint8_t bytes[ENTRY_BYTES + 8] = { 0 };
	struct entry entry = { .bytes = bytes, .nr = ENTRY_BYTES, .rule = rule };

	memcpy(bytes, code, nr);
	entry_begin(rule);
	for (uint32_t i = 0; i < ENTRY_INSNS && !entry_step(i, &entry); i++)
		;
	*is_whole = entry.is_whole;
	return entry.at;
}

/* Entries, and where they keep what. */
#define S FPL_SAVED_SAME
#define U FPL_SAVED_UNDEF
static const struct {
	const char *what;
	uint32_t nr; /* bytes that are known */
	int32_t cfa_off;
	bool is_whole;
	int8_t saved[FPL_NR_SAVED];
	char code[40];
} entries[] = {
	{ "qemu",
	  20,
	  1216,
	  true,
	  { -3, -2, -4, -5, -6, -7 },
	  "\x55\x53\x41\x54\x41\x55\x41\x56\x41\x57\x48\x89\xfd\x48\x81\xc4\x78\xfb\xff\xff"
	  "\xff\xe6" },
	{ "guile",
	  32,
	  32,
	  true,
	  { -4, S, -3, -2, S, S },
	  "\x48\x83\xec\x18\x48\x89\x1c\x24\x4c\x89\x64\x24\x08\x4c\x89\x6c\x24\x10\x48\x89"
	  "\xfb\x49\x89\xf4\x48\x8b\x43\x10\x48\x8b\x4b\x18\x49\xff\xe4" },
	{ "execute_ex of php",
	  10,
	  160,
	  true,
	  { -5, -4, -3, -2, S, S },
	  "\x41\x55\x41\x54\x55\x53\x48\x83\xec\x78\x64\x48\x8b" },
	{ "endbr64", 5, 16, false, { -2, S, S, S, S, S }, "\xf3\x0f\x1e\xfa\x53\xe8" },
	{ "no entry", 0, 8, false, { S, S, S, S, S, S }, "\xe8" },
	{ "lost before it is pushed", 4, 16, false, { U, S, S, S, S, S }, "\x48\x89\xfb\x53\xe8" },
	{ "too far away",
	  11,
	  8 + 2040,
	  true,
	  { U, S, S, S, S, S },
	  "\x48\x81\xec\xf8\x07\0\0\x48\x89\x1c\x24\xe8" },
	{ "stored above the frame",
	  9,
	  16,
	  true,
	  { S, S, S, S, S, S },
	  "\x48\x83\xec\x08\x48\x89\x5c\x24\x10\xe8" },
	{ "lowered twice", 4, 16, true, { S, S, S, S, S, S }, "\x48\x83\xec\x08\x48\x83\xec\x08" },
	{ "raised", 0, 8, false, { S, S, S, S, S, S }, "\x48\x83\xec\xf8" },
	{ "lowered by no whole word", 0, 8, false, { S, S, S, S, S, S }, "\x48\x83\xec\x04" },
	{ "lowered by too much", 0, 8, false, { S, S, S, S, S, S }, "\x48\x81\xec\0\0\x20\0" },
	{ "rsp is moved", 0, 8, false, { S, S, S, S, S, S }, "\x48\x89\xc4" },
};
#undef S
#undef U

static void an_entry_is_read_off_its_instructions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(entries); i++) {
		struct fpl_rule rule;
		bool is_whole;

		print_message("%s\n", entries[i].what);
		assert_int_equal(enter(entries[i].code, sizeof(entries[i].code), &rule, &is_whole),
				 entries[i].nr);
		assert_int_equal(rule.cfa_off, entries[i].cfa_off);
		assert_int_equal(is_whole, entries[i].is_whole);
		assert_memory_equal(rule.saved, entries[i].saved, sizeof(rule.saved));
	}
}

#define CHUNKS_TEST(name) cmocka_unit_test_setup_teardown(name, chunks_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHUNKS_TEST(each_form_of_code_says_where_the_return_address_is),
		CHUNKS_TEST(what_the_function_calls_is_walked_through_its_frame),
		CHUNKS_TEST(data_that_lies_leads_nowhere),
		CHUNKS_TEST(a_rule_holds_for_all_code_of_a_region),
		CHUNKS_TEST(an_interrupted_trampoline_has_a_part_of_the_frame),
		cmocka_unit_test(no_rule_that_does_not_hold_is_taken),
		cmocka_unit_test(an_entry_is_read_off_its_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
