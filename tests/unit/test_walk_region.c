/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from code in a region, by HotSpot's data about it: the forms of its code, and data that
 * lies. */
#include "cmocka_all.h"

#include <stdbool.h>
#include <stdio.h>

#include "tests/support/walk_scene.h"

#define JIT(off)       (ANON_START + (off))
#define HOPS	       0x7e0000000000ull /* where the segment map is */
#define NAMES	       0x7e0000001000ull
#define ID	       7u
#define BLOCK	       0x100u /* in the region: segment 2 */
#define BLOB	       (BLOCK + 16u)
#define CODE	       0x400u /* its code begins */
#define MIDDLE	       0x500u /* some of it, behind the prologue */
#define COMPLETE       0x20   /* bytes of code until the frame is complete */
#define WORDS	       6      /* of its frame */
#define BACK	       8u     /* in a table of cases: as many segments as it takes */
#define JIT_FRAME(off) (FPL_FRAME_JIT | JIT(off))

static uint8_t hops[32];
static char names[64];

static void put(struct scene *s, uint32_t off, uint64_t value, size_t size)
{
	memcpy(s->jit + off, &value, size);
}

static void name_blob(const char *name)
{
	memset(names, 0, sizeof(names));
	snprintf(names, sizeof(names), "%s", name);
}

static int region_setup(void **state)
{
	int code = setup(state);
	struct scene *s = *state;

	for (uint32_t i = 0; i < s->world.nr_mappings; i++)
		if (s->world.mappings[i].start == ANON_START)
			s->world.mappings[i].bias = fpl_region_ref(ID, 1);
	s->world.region = (struct fpl_region){
		.id = ID,
		.kind = FPL_REGION_NMETHOD,
		.start = ANON_START,
		.end = ANON_START + ANON_SIZE,
		.segmap = HOPS,
		.segmap_bytes = sizeof(hops),
		.call_stub_ra = JIT(0xf00),
		.segment_log2 = 7,
		.block_bytes = 16,
		.name_off = 96,
		.frame_size_off = 28,
		.complete_off = 20,
		.complete_bytes = 4,
		.code_off = 32,
		.code_bytes = 8,
	};
	assert_true(fpl_region_holds(&s->world.region));
	world_memory(&s->world, HOPS, hops, sizeof(hops));
	world_memory(&s->world, NAMES, names, sizeof(names));
	memset(hops, 0xff, sizeof(hops));
	hops[2] = 0;
	for (unsigned i = 3; i < sizeof(hops); i++)
		hops[i] = (uint8_t)(i - 2);
	name_blob("nmethod");
	put(s, BLOB + 20, COMPLETE, 4);
	put(s, BLOB + 28, WORDS, 4);
	put(s, BLOB + 32, JIT(CODE), 8);
	put(s, BLOB + 96, NAMES, 8);
	s->code[0x400b] = 0xe8;	  /* a call before PC(0x4010) */
	s->walk.reg[ARCH_FP] = 4; /* no frame pointer */
	return code;
}

/* The return address is in word @at alone. */
static void return_from(struct scene *s, uint32_t at, uint64_t ra)
{
	memset(s->words, 0, sizeof(s->words));
	s->words[at] = ra;
	s->words[at - 1] = 0x1234;
}

/* Forms of code, and where they keep what. */
static const struct {
	const char *what;
	struct {
		uint8_t nr;
		char bytes[9];
	} before;
	char at[17];
	uint32_t pc;
	uint32_t word; /* of the return address, from rsp on */
	bool saved;    /* rbp is in the word below it */
} forms[] = {
	{ "the body", { 0, "" }, "", MIDDLE, WORDS - 1, true },
	{ "a word pushed by an intrinsic", { 0, "" }, "", MIDDLE, WORDS, true },
	{ "two words pushed", { 0, "" }, "", MIDDLE, WORDS + 1, true },
	{ "pop rbp; poll of 17",
	  { 0, "" },
	  "\x5d\x49\x3b\xa7\x50\x03\0\0\x0f\x87\1\0\0\0\xc3",
	  MIDDLE,
	  1,
	  true },
	{ "poll of 17",
	  { 0, "" },
	  "\x49\x3b\xa7\x50\x03\0\0\x0f\x87\1\0\0\0\xc3",
	  MIDDLE,
	  0,
	  false },
	{ "in that poll", { 0, "" }, "\x0f\x87\1\0\0\0\xc3", MIDDLE, 0, false },
	{ "pop rbp; poll of 25",
	  { 0, "" },
	  "\x5d\x49\x3b\x67\x28\x0f\x87\1\0\0\0\xc3",
	  MIDDLE,
	  1,
	  true },
	{ "poll of 25", { 0, "" }, "\x49\x3b\x67\x28\x0f\x87\1\0\0\0\xc3", MIDDLE, 0, false },
	{ "pop rbp; poll of 11",
	  { 0, "" },
	  "\x5d\x4d\x8b\x97\x08\1\0\0\x41\x85\x02\xc3",
	  MIDDLE,
	  1,
	  true },
	{ "in that poll", { 0, "" }, "\x41\x85\x02\xc3", MIDDLE, 0, false },
	{ "poll of a page", { 0, "" }, "\x85\x05\1\0\0\0\xc3", MIDDLE, 0, false },
	{ "pop rbp; ret", { 0, "" }, "\x5d\xc3", MIDDLE, 1, true },
	{ "ret", { 0, "" }, "\xc3", MIDDLE, 0, false },
	{ "pop rbp; poll of 11 in the next page",
	  { 0, "" },
	  "\x5d\x4d\x8b\x97\x08\1\0\0\x41\x85\x02\xc3",
	  0xff8,
	  1,
	  true },
	{ "pop rbp, and no end", { 0, "" }, "\x5d\x90\xc3", MIDDLE, WORDS - 1, true },
	{ "the first byte", { 0, "" }, "\x89\x84\x24\0\xc0\xfe\xff\x55", CODE, 0, false },
	{ "before push rbp",
	  { 7, "\x89\x84\x24\0\xc0\xfe\xff" },
	  "\x55\x48\x83\xec\x20",
	  CODE + 7,
	  0,
	  false },
	{ "behind push rbp", { 1, "\x55" }, "\x48\x83\xec\x20", CODE + 8, 1, true },
	{ "behind push rbp, large frame",
	  { 1, "\x55" },
	  "\x48\x81\xec\x20\1\0\0",
	  CODE + 8,
	  1,
	  true },
	{ "behind mov rbp, rsp",
	  { 4, "\x55\x48\x8b\xec" },
	  "\x48\x83\xec\x20",
	  CODE + 11,
	  1,
	  true },
	{ "behind sub rsp", { 4, "\x48\x83\xec\x20" }, "\x48\x8b\x06", CODE + 12, WORDS - 1, true },
	{ "behind a large sub rsp",
	  { 7, "\x48\x81\xec\x20\0\0\0" },
	  "\x48\x8b\x06",
	  CODE + 15,
	  WORDS - 1,
	  true },
	{ "before rbp is saved",
	  { 7, "\x48\x81\xec\x28\0\0\0" },
	  "\x48\x89\x6c\x24\x20",
	  CODE + 15,
	  WORDS - 1,
	  false },
	{ "behind mov rbp, rsp of a frame that is there",
	  { 8, "\x48\x89\x6c\x24\x10\x48\x8b\xec" },
	  "\x48\x83\xc5\x10\x90",
	  CODE + 23,
	  WORDS - 1,
	  true },
	{ "behind add rbp", { 4, "\x48\x83\xc5\x10" }, "\x90", CODE + 23, WORDS - 1, true },
	{ "behind a large add rbp",
	  { 7, "\x48\x81\xc5\x10\1\0\0" },
	  "\x90",
	  CODE + 23,
	  WORDS - 1,
	  true },
	{ "behind rbp is saved",
	  { 5, "\x48\x89\x6c\x24\x20" },
	  "\x41\x81\x7f\x20\1\0\0\0",
	  CODE + 20,
	  WORDS - 1,
	  true },
	{ "behind rbp is saved far from rsp",
	  { 8, "\x48\x89\xac\x24\x20\1\0\0" },
	  "\x41\x81\x7f\x20\1\0\0\0",
	  CODE + 22,
	  WORDS - 1,
	  true },
	{ "behind the barrier",
	  { 8, "\x41\x81\x7f\x20\1\0\0\0" },
	  "\x0f\x85\1\0\0\0",
	  CODE + 24,
	  WORDS - 1,
	  true },
};
static void each_form_of_code_says_where_the_return_address_is(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		__u64 want[] = { JIT_FRAME(forms[i].pc) | EXACT, FRAME(0x4010), 0 };

		print_message("%s\n", forms[i].what);
		memset(s->jit + CODE, 0x90, ANON_SIZE - CODE);
		memcpy(s->jit + forms[i].pc - forms[i].before.nr, forms[i].before.bytes,
		       forms[i].before.nr);
		memcpy(s->jit + forms[i].pc, forms[i].at, 16);
		return_from(s, 8 + forms[i].word, PC(0x4010));
		s->walk.reg[ARCH_SP] = AT(8);
		s->walk.reg[ARCH_FP] = 4;
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, JIT(forms[i].pc), FPL_STOP_OUTERMOST, want);
		assert_int_equal(s->walk.reg[ARCH_SP], AT(9 + forms[i].word));
		assert_int_equal(s->walk.reg[ARCH_FP], forms[i].saved ? 0x1234 : 4);
	}
}

/* A native frame called from a method, that from the interpreter, that from the run time's C code.
 */
static void a_stack_of_all_kinds_is_walked_to_its_end(void **state)
{
	struct scene *s = *state;
	__u64 want[] = { FRAME(0x1008) | EXACT, JIT_FRAME(MIDDLE), JIT_FRAME(0xf00), FRAME(0x4010),
			 0 };

	/* the leaf of the object has its return address on top; the method's frame is behind it */
	s->words[8] = JIT(MIDDLE);
	s->words[8 + WORDS] = JIT(0xf00);
	s->words[7 + WORDS] = AT(40);
	/* call_stub's frame: rbp, and the registers below it */
	s->words[41] = PC(0x4010);
	s->words[40] = 0xbb;
	s->words[33] = 0xb0;
	s->words[32] = 0x12;
	s->words[31] = 0x13;
	s->words[30] = 0x14;
	s->words[29] = 0x15;
	s->walk.reg[ARCH_SP] = AT(8);
	check_walk(s, PC(0x1008), FPL_STOP_OUTERMOST, want);
	assert_int_equal(s->walk.reg[ARCH_RBX], 0xb0);
	assert_int_equal(s->walk.reg[ARCH_FP], 0xbb);
	assert_int_equal(s->walk.reg[ARCH_R12], 0x12);
	assert_int_equal(s->walk.reg[ARCH_R13], 0x13);
	assert_int_equal(s->walk.reg[ARCH_R14], 0x14);
	assert_int_equal(s->walk.reg[ARCH_R15], 0x15);
	assert_int_equal(s->walk.reg[ARCH_SP], AT(42));
}

static void an_interpreted_frame_says_where_its_callers_stack_begins(void **state)
{
	static const struct {
		const char *what;
		uint64_t fp, sp;
		bool taken;
	} cases[] = {
		{ "as it is", AT(20), AT(30), true },
		{ "right behind the frame", AT(20), AT(22), true },
		{ "the caller's stack within the frame", AT(20), AT(21), false },
		{ "the caller's stack below", AT(20), AT(3), false },
		{ "not aligned", AT(20), AT(30) + 4, false },
		{ "too far away", AT(20), AT(30) + (2u << 20), false },
		{ "rbp below rsp", AT(7), AT(30), false },
		{ "rbp not aligned", AT(20) + 4, AT(30), false },
	};
	struct scene *s = *state;

	name_blob("Interpreter");
	put(s, BLOB + 28, 0, 4);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { JIT_FRAME(MIDDLE) | EXACT, cases[i].taken ? FRAME(0x4010) : 0, 0 };

		print_message("%s\n", cases[i].what);
		memset(s->words, 0, sizeof(s->words));
		s->words[19] = cases[i].sp;
		s->words[20] = 4;
		s->words[21] = cases[i].taken ? PC(0x4010) : 0;
		s->walk.reg[ARCH_SP] = AT(8);
		s->walk.reg[ARCH_FP] = cases[i].fp;
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, JIT(MIDDLE), cases[i].taken ? FPL_STOP_OUTERMOST : FPL_STOP_NO_CFI,
			   want);
		if (cases[i].taken)
			assert_int_equal(s->walk.reg[ARCH_SP], cases[i].sp);
	}
}

/* The stub pushes a cookie behind the return address, and then rbp, which it changes. */
static void the_barrier_of_a_method_is_known_by_its_cookie(void **state)
{
	static const struct {
		const char *what;
		uint64_t cookie, ra, fp;
		bool taken;
	} cases[] = {
		{ "as it is", UINT64_MAX, PC(0x4010), AT(20), true },
		{ "another word in its place", 4, PC(0x4010), AT(20), false },
		{ "no return address behind it", UINT64_MAX, 4, AT(20), false },
		{ "rbp below rsp", UINT64_MAX, PC(0x4010), AT(6), false },
	};
	struct scene *s = *state;

	name_blob("StubRoutines (final stubs)");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { FRAME(0x1008) | EXACT, JIT_FRAME(MIDDLE), FRAME(0x4010), 0 };

		print_message("%s\n", cases[i].what);
		memset(s->words, 0, sizeof(s->words));
		s->words[8] = JIT(MIDDLE); /* the return address of a native leaf */
		s->words[20] = 0xbb;
		s->words[21] = cases[i].cookie;
		s->words[22] = cases[i].ra;
		s->walk.reg[ARCH_SP] = AT(8);
		s->walk.reg[ARCH_FP] = cases[i].fp;
		s->walk.known = ARCH_ALL_REGS;
		if (!cases[i].taken)
			want[2] = 0;
		check_walk(s, PC(0x1008), cases[i].taken ? FPL_STOP_OUTERMOST : FPL_STOP_NO_CFI,
			   want);
		if (!cases[i].taken)
			continue;
		assert_int_equal(s->walk.reg[ARCH_SP], AT(23));
		assert_int_equal(s->walk.reg[ARCH_FP], 0xbb);
	}
}

/* Stubs that have a frame and say nothing of their prologue. */
static void a_stub_is_left_from_each_of_its_instructions(void **state)
{
	static const struct {
		const char *what, *code; /* at its beginning */
		uint32_t off, word;	 /* of the pc; of the return address, from rsp on */
		bool saved, by_rbp;
	} cases[] = {
		{ "before push rbp", "\x55\x48\x8b\xec", 0, 0, false, false },
		{ "behind it", "\x55\x48\x8b\xec", 1, 1, true, false },
		{ "behind mov rbp, rsp", "\x55\x48\x8b\xec", 4, 12, true, true },
		{ "in its middle", "\x55\x48\x8b\xec", 80, 12, true, true },
		{ "at its ret", "\x55\x48\x8b\xec\xc3", 4, 0, false, false },
		{ "behind push rdx: that is its return address", "\x52\x48\x83\xec\x08", 1, 0,
		  false, false },
		{ "with all of its frame", "\x52\x48\x83\xec\x08", 5, WORDS - 1, true, false },
	};
	struct scene *s = *state;

	put(s, BLOB + 20, UINT32_MAX, 4); /* the frame is never complete */
	name_blob("counter_overflow Runtime1 stub");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t pc = CODE + cases[i].off;
		__u64 want[] = { JIT_FRAME(pc) | EXACT, FRAME(0x4010), 0 };

		print_message("%s\n", cases[i].what);
		memset(s->jit + CODE, 0x90, ANON_SIZE - CODE);
		memcpy(s->jit + CODE, cases[i].code, strlen(cases[i].code));
		return_from(s, 8 + cases[i].word, PC(0x4010));
		s->walk.reg[ARCH_SP] = AT(8);
		s->walk.reg[ARCH_FP] = cases[i].by_rbp ? AT(7 + cases[i].word) : 4;
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, JIT(pc), FPL_STOP_OUTERMOST, want);
		assert_int_equal(s->walk.reg[ARCH_SP], AT(9 + cases[i].word));
		assert_int_equal(s->walk.reg[ARCH_FP], cases[i].saved ? 0x1234 : 4);
	}
}

/* Stubs that say nothing of their frame: followed to their return, if they have called nothing. */
static void a_stub_without_a_frame_is_followed(void **state)
{
	static const struct {
		const char *what, *code; /* at the pc */
		uint32_t word;
		bool is_called, is_known;
	} cases[] = {
		{ "pops and returns", "\x48\x85\xc0\x58\x59\xc3", 2, false, true },
		{ "lea rsp, pop, ret", "\x48\x8d\x64\x24\x20\x58\xc3", 5, false, true },
		{ "a jump by a register behind a pop", "\x5a\xff\xe3", 1, false, false },
		{ "AVX", "\xc5\xf8\x77\xc3", 3, false, false },
		{ "it has called, and pushed nothing", "\x48\x8b\xd8\x90", 0, true, true },
		{ "it has called, and pushed a word", "\x48\x83\xc4\x08", 1, true, true },
	};
	struct scene *s = *state;

	put(s, BLOB + 20, UINT32_MAX, 4);
	put(s, BLOB + 28, UINT32_MAX, 4);
	name_blob("slow_subtype_check Runtime1 stub");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { FRAME(0x1008) | EXACT,
				 JIT_FRAME(MIDDLE) | (cases[i].is_called ? 0 : EXACT),
				 cases[i].is_known ? FRAME(0x4010) : 0, 0 };

		print_message("%s\n", cases[i].what);
		memset(s->jit + CODE, 0x90, ANON_SIZE - CODE);
		memcpy(s->jit + MIDDLE, cases[i].code, strlen(cases[i].code));
		return_from(s, 9 + cases[i].word, PC(0x4010));
		s->words[8] = JIT(MIDDLE); /* the return address of a native leaf */
		s->walk.reg[ARCH_SP] = AT(cases[i].is_called ? 8 : 9);
		s->walk.reg[ARCH_FP] = 4;
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, cases[i].is_called ? PC(0x1008) : JIT(MIDDLE),
			   cases[i].is_known ? FPL_STOP_OUTERMOST : FPL_STOP_NO_CFI,
			   want + !cases[i].is_called);
	}
}

/* C1 pops behind the call of a stub what it has pushed for it. */
static void what_a_method_passes_to_a_leaf_lies_below_its_frame(void **state)
{
	static const struct {
		const char *what, *code; /* behind the call */
		uint32_t pushed;
	} cases[] = {
		{ "nothing", "\x48\x8b\xc6", 0 },
		{ "a word", "\x5e\x48\x8b\xc6", 1 },
		{ "two words", "\x5e\x41\x58\x90", 2 },
		{ "no third one", "\x5e\x5f\x58", 2 },
		{ "pop rbp is an epilogue", "\x5d\x5e", 0 },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { FRAME(0x1008) | EXACT, JIT_FRAME(MIDDLE), FRAME(0x4010), 0 };

		print_message("%s\n", cases[i].what);
		memset(s->jit + CODE, 0x90, ANON_SIZE - CODE);
		memcpy(s->jit + MIDDLE, cases[i].code, strlen(cases[i].code));
		return_from(s, 8 + WORDS + cases[i].pushed, PC(0x4010));
		s->words[8] = JIT(MIDDLE);
		s->walk.reg[ARCH_SP] = AT(8);
		s->walk.reg[ARCH_FP] = 4;
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, PC(0x1008), FPL_STOP_OUTERMOST, want);
	}
}

/* SHA-512 of HotSpot keeps the caller's rsp, less 32, in its frame, which it has aligned. */
static void the_rule_of_a_row_holds_at_each_of_its_instructions(void **state)
{
	const struct fpl_rule rule = { .cfa = FPL_CFA_DEREF,
				       .regs = ARCH_SP,
				       .cfa_off = 24,
				       .off2 = 32,
				       .from_reg = 1u << ARCH_SAVED_RBX,
				       .saved = { [ARCH_SAVED_RBX] = 4, [ARCH_SAVED_RBP] = -2 } };
	struct scene *s = *state;
	struct fpl_region good = { .kind = FPL_REGION_ROW, .end = 1, .rule = rule };
	__u64 want[] = { JIT_FRAME(MIDDLE) | EXACT, FRAME(0x4010), 0 };

	assert_true(fpl_region_holds(&good));
	REGION_REFUSED(good, end, 0);
	REGION_REFUSED(good, rule.cfa, FPL_CFA_INDEX);
	REGION_REFUSED(good, rule.flags, FPL_RULE_SWITCH);
	REGION_REFUSED(good, rule.cfa_off, (1 << 20) + 8);
	s->world.region.kind = FPL_REGION_ROW;
	s->world.region.rule = rule;
	memset(s->words, 0, sizeof(s->words));
	s->words[8 + 3] = AT(20);
	s->words[8 + 4] = 0xb0;
	s->words[22] = 0x1234;
	s->words[23] = PC(0x4010);
	s->walk.reg[ARCH_SP] = AT(8);
	check_walk(s, JIT(MIDDLE), FPL_STOP_OUTERMOST, want);
	assert_int_equal(s->walk.reg[ARCH_RBX], 0xb0);
	assert_int_equal(s->walk.reg[ARCH_FP], 0x1234);
	assert_int_equal(s->walk.reg[ARCH_SP], AT(24));
}

#define METHOD	     0x7e0000002000ull
#define CONST_METHOD 0x7e0000003000ull
#define BYTECODE     (CONST_METHOD + 0x38)

/* A frame of the interpreter is told by its Method. A leaf has a frame of its own only where r13 is
 * in the bytecode of that: as a method begins, and when it has ended, rbp is the caller's. */
static void an_interpreted_frame_is_told_by_its_method(void **state)
{
	static const struct {
		const char *what;
		uint64_t method, bcp;
		bool is_leaf, has_methods, is_told;
	} cases[] = {
		{ "its first bytecode", METHOD, BYTECODE, true, true, true },
		{ "its last one", METHOD, BYTECODE + 9, true, true, true },
		{ "behind it", METHOD, BYTECODE + 10, true, true, false },
		{ "before it", METHOD, BYTECODE - 1, true, true, false },
		{ "a stack pointer in r13", METHOD, AT(30), true, true, false },
		{ "a method that is nowhere", 0x7d0000000000ull, BYTECODE, true, true, false },
		{ "no method", 0, BYTECODE, true, true, false },
		{ "no address", 1ull << 47, BYTECODE, true, true, false },
		{ "a JVM without", METHOD, BYTECODE, true, false, false },
		{ "a caller, whatever r13 is", METHOD, 0, false, true, true },
		{ "a caller without a method", 0, 0, false, true, false },
	};
	static uint64_t method[2], const_method[8];
	struct scene *s = *state;

	method[1] = CONST_METHOD;
	const_method[6] = 10ull << 16; /* bytes of bytecode at 0x32 */
	const_method[5] = 7;	       /* the number of its name at 0x28 */
	world_memory(&s->world, METHOD, method, sizeof(method));
	world_memory(&s->world, CONST_METHOD, const_method, sizeof(const_method));
	s->world.region.const_method_off = 8;
	s->world.region.const_bytes = 0x38;
	s->world.region.code_size_off = 0x32;
	s->world.region.method_name_off = 0x28;
	name_blob("Interpreter");
	put(s, BLOB + 28, 0, 4);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 told = FPL_FRAME_METHOD | EXACT | cases[i].method |
			     fpl_method_tag(CONST_METHOD, 7);
		__u64 pc = JIT_FRAME(MIDDLE) | (cases[i].is_leaf ? EXACT : 0);
		__u64 want[] = { FRAME(0x1008) | EXACT, cases[i].is_told ? told : pc, FRAME(0x4010),
				 0 };

		print_message("%s\n", cases[i].what);
		memset(s->words, 0, sizeof(s->words));
		s->words[8] = JIT(MIDDLE); /* the return address of a native leaf */
		s->words[17] = cases[i].method;
		s->words[19] = AT(30);
		s->words[20] = 4;
		s->words[21] = PC(0x4010);
		s->world.region.has_methods = cases[i].has_methods;
		s->walk.reg[ARCH_SP] = AT(8);
		s->walk.reg[ARCH_FP] = AT(20);
		s->walk.reg[ARCH_R13] = cases[i].bcp;
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, cases[i].is_leaf ? JIT(MIDDLE) : PC(0x1008), FPL_STOP_OUTERMOST,
			   want + cases[i].is_leaf);
	}
}

/* Frames of a compiled method have a tag of its number, those of anything else have none. */
static void a_compiled_method_is_told_from_others_at_its_address(void **state)
{
	static const struct {
		const char *name;
		uint32_t id;
		uint16_t off;
		uint64_t tag;
	} cases[] = {
		{ "nmethod", 5, 304, 6 },
		{ "nmethod", 510 + 511 * 60, 304, 511 },
		{ "nmethod", 511, 304, 1 },
		{ "nmethod", 5, 0, 0 }, /* its place is not known */
		{ "native nmethod", 5, 304, 0 },
		{ "RuntimeStub", 5, 304, 0 },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { JIT_FRAME(MIDDLE) | EXACT | cases[i].tag << FPL_FRAME_TAG_SHIFT,
				 FRAME(0x4010), 0 };

		print_message("%s %u\n", cases[i].name, cases[i].id);
		name_blob(cases[i].name);
		put(s, BLOB + 304, cases[i].id, 4);
		s->world.region.compile_id_off = cases[i].off;
		return_from(s, 8 + WORDS - 1, PC(0x4010));
		s->walk.reg[ARCH_SP] = AT(8);
		s->walk.reg[ARCH_FP] = 4;
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, JIT(MIDDLE), FPL_STOP_OUTERMOST, want);
	}
}

/* Data that lies ends the walk, as code without a method would, and reads little. */
static void data_that_lies_leads_nowhere(void **state)
{
	static const struct {
		const char *what;
		int32_t words;
		uint8_t hop, next; /* of the pc's segment, and of that before it */
		uint32_t id, kind;
		const char *name;
	} cases[] = {
		{ "no words", 0, BACK, 7, ID, FPL_REGION_NMETHOD, "StubRoutines (1)" },
		{ "-1 word", -1, BACK, 7, ID, FPL_REGION_NMETHOD, "nmethod" },
		{ "2^31 bytes", INT32_MIN, BACK, 7, ID, FPL_REGION_NMETHOD, "nmethod" },
		{ "more than 1 MiB", (1 << 17) + 1, BACK, 7, ID, FPL_REGION_NMETHOD, "nmethod" },
		{ "no block", WORDS, 0xff, 7, ID, FPL_REGION_NMETHOD, "nmethod" },
		{ "a hop before the region", WORDS, 200, 7, ID, FPL_REGION_NMETHOD, "nmethod" },
		{ "more hops than there may be", WORDS, 1, 1, ID, FPL_REGION_NMETHOD, "nmethod" },
		{ "another region's slot by now", WORDS, BACK, 7, ID + 1, FPL_REGION_NMETHOD,
		  "nmethod" },
		{ "a slot that is free", WORDS, BACK, 7, 0, FPL_REGION_NMETHOD, "nmethod" },
		{ "no known method", WORDS, BACK, 7, ID, FPL_REGION_NONE, "nmethod" },
	};
	struct scene *s = *state;
	__u64 want[] = { JIT_FRAME(0x1000 - 0x80) | EXACT, 0 };

	/* the pc's segment is the last but one of the region: 31 hops of one lead to the first */
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t pc = 0x1000 - 0x80;

		print_message("%s\n", cases[i].what);
		memset(s->words, 0, sizeof(s->words));
		s->words[8 + WORDS - 1] = PC(0x4010);
		memset(hops, cases[i].next, sizeof(hops));
		hops[2] = 0;
		hops[pc >> 7] = cases[i].hop == BACK ? (uint8_t)((pc >> 7) - 2) : cases[i].hop;
		put(s, BLOB + 28, (uint32_t)cases[i].words, 4);
		name_blob(cases[i].name);
		s->world.region.id = cases[i].id;
		s->world.region.kind = cases[i].kind;
		s->walk.reg[ARCH_SP] = AT(8);
		s->walk.reg[ARCH_FP] = 4;
		s->walk.known = ARCH_ALL_REGS;
		s->world.nr_reads = 0;
		check_walk(s, JIT(pc), FPL_STOP_NO_CFI, want);
		assert_in_range(s->world.nr_reads, 0, 3 * (FPL_SEGMENT_HOPS + 8));
	}
}

static void no_region_that_does_not_hold_is_taken(void **state)
{
	struct fpl_region good = ((struct scene *)*state)->world.region;

	assert_true(fpl_region_holds(&good));
	REGION_REFUSED(good, kind, FPL_REGION_NONE);
	REGION_REFUSED(good, end, good.start);
	REGION_REFUSED(good, end, good.start - 1);
	REGION_REFUSED(good, end, good.start + (1ull << 32) + 1);
	REGION_REFUSED(good, segment_log2, 4);
	REGION_REFUSED(good, segment_log2, 13);
	REGION_REFUSED(good, segmap_bytes, 31);
	REGION_REFUSED(good, block_bytes, 128);
	REGION_REFUSED(good, name_off, 121);
	REGION_REFUSED(good, frame_size_off, 121);
	REGION_REFUSED(good, complete_off, 121);
	REGION_REFUSED(good, code_off, 121);
	REGION_REFUSED(good, complete_bytes, 8);
	REGION_REFUSED(good, code_bytes, 2);
	REGION_REFUSED(good, compile_id_off, (__u16)4096);
}

#define REGION_TEST(name) cmocka_unit_test_setup_teardown(name, region_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		REGION_TEST(each_form_of_code_says_where_the_return_address_is),
		REGION_TEST(a_stack_of_all_kinds_is_walked_to_its_end),
		REGION_TEST(an_interpreted_frame_says_where_its_callers_stack_begins),
		REGION_TEST(the_barrier_of_a_method_is_known_by_its_cookie),
		REGION_TEST(an_interpreted_frame_is_told_by_its_method),
		REGION_TEST(a_compiled_method_is_told_from_others_at_its_address),
		REGION_TEST(a_stub_is_left_from_each_of_its_instructions),
		REGION_TEST(a_stub_without_a_frame_is_followed),
		REGION_TEST(what_a_method_passes_to_a_leaf_lies_below_its_frame),
		REGION_TEST(the_rule_of_a_row_holds_at_each_of_its_instructions),
		REGION_TEST(data_that_lies_leads_nowhere),
		REGION_TEST(no_region_that_does_not_hold_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
