/* SPDX-License-Identifier: Apache-2.0 */
/* Steps along the stack of Haskell code, from C code that it has called, to the caller of StgRun,
 * and data that lies. */
#include "cmocka_all.h"

#include <stdbool.h>

#include "tests/support/walk_scene.h"

#define HEAP	0x7f2000000000ull /* with the chunks of the Haskell stack */
#define ROOM	16384u
#define K	(ROOM + 56)
#define TOP	8u	/* the word that rsp points to in Haskell code */
#define RUN	0x7200u /* StgRun */
#define BEHIND	0x4010u /* behind a call of it, in a function that is outermost */
#define HASKELL 0x9000u /* Haskell code */
#define LEAF	(HASKELL + 0x808)
/* code of frames */
#define UPDATE	(HASKELL + 0x100)
#define SMALL	(HASKELL + 0x140)
#define BIG	(HASKELL + 0x180)
#define FUN	(HASKELL + 0x1c0)
#define CATCH	(HASKELL + 0x200)
#define RETRY	(HASKELL + 0x240)
#define CHUNK	(HASKELL + 0x280)
#define STOP	(HASKELL + 0x2c0)
#define BCO	(HASKELL + 0x300)
#define OTHER	0x7100u /* the same words before C code */
#define BITMAP	(HASKELL + 0x400)
#define HS(v)	(FRAME(v) | EXACT | BY_SYNTH)
#define CALLER	(FRAME(BEHIND) | BY_SYNTH)
#define CLOSURE (HEAP + 0x3000)

static uint64_t heap[4096];

static const struct fpl_rule rule_haskell = { .cfa = FPL_CFA_HASKELL,
					      .flags = FPL_RULE_SYNTH,
					      .regs = 7,
					      .cfa_off = K,
					      .saved = { -7, -6, -5, -4, -3, -2 },
					      .off2 = 36 };

/* Code with a frame of two words itself. */
#define APPLY (HASKELL + 0xc00)
static const struct fpl_rule rule_apply = { .cfa = FPL_CFA_HASKELL,
					    .flags = FPL_RULE_SYNTH,
					    .regs = 7 | 2 << 4,
					    .cfa_off = K,
					    .saved = { -7, -6, -5, -4, -3, -2 },
					    .off2 = 36 };

static void put_call(struct scene *s, uint32_t behind, uint32_t to)
{
	int32_t distance = (int32_t)(to - behind);

	s->code[behind - 5] = 0xe8;
	memcpy(s->code + behind - 4, &distance, sizeof(distance));
}

static void put_info(struct scene *s, uint32_t at, uint64_t layout, uint32_t type)
{
	memcpy(s->code + at - 16, &layout, sizeof(layout));
	memcpy(s->code + at - 8, &type, sizeof(type));
}

static int haskell_setup(void **state)
{
	static const uint8_t run[] = { 0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0xe0,
				       0x48, 0x81, 0xec, 0,    0x40, 0,	   0 };
	const uint64_t nr_big = 80;
	int code = setup(state);
	struct scene *s = *state;

	memset(heap, 0, sizeof(heap));
	world_row(&s->world, HASKELL, &rule_haskell, NULL, 0);
	world_row(&s->world, APPLY, &rule_apply, NULL, 0);
	world_row(&s->world, 0xa000, &rule_none, NULL, 0);
	world_memory(&s->world, HEAP, heap, sizeof(heap));
	memcpy(s->code + RUN, run, sizeof(run));
	put_call(s, BEHIND, RUN);
	put_call(s, LEAF, 0x1000);
	put_info(s, UPDATE, 1, 33);
	put_info(s, SMALL, 3 | 5 << 6, 30);
	put_info(s, BIG, BITMAP - BIG, 31);
	memcpy(s->code + BITMAP, &nr_big, sizeof(nr_big));
	put_info(s, FUN, 0, 32);
	put_info(s, CATCH, 2 | 1 << 6, 34);
	put_info(s, RETRY, 3 | 1 << 6, 56);
	put_info(s, CHUNK, 1, 35);
	put_info(s, STOP, 0, 36);
	put_info(s, BCO, 0, 29);
	put_info(s, OTHER, 0, 30);
	/* StgRun's frame, with the registers of its caller */
	for (uint32_t i = 0; i < 6; i++)
		s->words[TOP + K / 8 - 7 + i] = 0x100 + i;
	s->words[TOP + K / 8 - 1] = PC(BEHIND);
	return code;
}

#define HASKELL_TEST(name) cmocka_unit_test_setup_teardown(name, haskell_setup, teardown)

/* Walk from @pc, with @sp and rbp at word @at of the heap. */
static void check_haskell(struct scene *s, uint32_t pc, uint64_t sp, uint32_t at,
			  enum fpl_stop stop, const __u64 *want)
{
	s->walk.reg[ARCH_SP] = sp;
	s->walk.reg[ARCH_FP] = HEAP + 8ull * at;
	s->walk.known = ARCH_ALL_REGS;
	check_walk(s, PC(pc), stop, want);
}

/* Frames of each size, from word 8 on. */
static uint32_t put_frames(void)
{
	uint32_t at = 8;

	heap[at] = PC(UPDATE), heap[at + 1] = CLOSURE, at += 2;
	heap[at] = PC(SMALL), heap[at + 1] = CLOSURE, at += 4;
	heap[at] = PC(BIG), at += 81;
	heap[at] = PC(FUN), heap[at + 1] = 5, at += 8;
	heap[at] = PC(CATCH), at += 3;
	heap[at] = PC(RETRY), at += 4;
	heap[at] = PC(STOP);
	return at;
}

static void frames_are_as_large_as_they_say(void **state)
{
	struct scene *s = *state;
	const __u64 want[] = { FRAME(LEAF) | EXACT, HS(UPDATE), HS(SMALL), HS(BIG), HS(FUN),
			       HS(CATCH),	    HS(RETRY),	HS(STOP),  CALLER,  0 };

	put_frames();
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_OUTERMOST, want);
	/* the C code has its own registers again */
	assert_int_equal(s->walk.reg[ARCH_SP], AT(TOP) + K);
	assert_int_equal(s->walk.reg[ARCH_RBX], 0x100);
	assert_int_equal(s->walk.reg[ARCH_FP], 0x101);
	assert_int_equal(s->walk.reg[ARCH_R12], 0x102);
	assert_int_equal(s->walk.reg[ARCH_R15], 0x105);
}

/* Words of arguments are addresses in the heap, and numbers. */
static void arguments_lie_below_the_first_frame(void **state)
{
	struct scene *s = *state;
	const __u64 want[] = { FRAME(LEAF) | EXACT, HS(SMALL), HS(STOP), CALLER, 0 };
	const __u64 none[] = { FRAME(LEAF) | EXACT, 0 };

	heap[20] = PC(SMALL);
	heap[24] = PC(STOP);
	heap[19] = CLOSURE;
	heap[18] = 42;
	check_haskell(s, LEAF, AT(TOP), 18, FPL_STOP_OUTERMOST, want);
	check_haskell(s, LEAF, AT(TOP), 20 - (HASKELL_ARGS_MAX - 1), FPL_STOP_OUTERMOST, want);
	check_haskell(s, LEAF, AT(TOP), 20 - HASKELL_ARGS_MAX, FPL_STOP_NO_CFI, none);
	/* arguments follow no frame */
	heap[25] = PC(STOP);
	heap[24] = CLOSURE;
	check_haskell(s, LEAF, AT(TOP), 20, FPL_STOP_NO_CFI,
		      (const __u64[]){ FRAME(LEAF) | EXACT, HS(SMALL), 0 });
}

/* It may have room for the frame that is not filled yet, or have left it already. */
static void the_frame_of_the_code_itself_is_passed_over(void **state)
{
	static const struct {
		const char *what, *code; /* before the pc */
		size_t size;
		bool is_left;
	} cases[] = {
		{ "nothing", "\x90\x90\x90\x90", 4, false },
		{ "add rbp, 16", "\x48\x83\xc5\x10", 4, true },
		{ "and inc rbx behind it", "\x48\x83\xc5\x10\x48\xff\xc3", 7, true },
		{ "and mov rax, rbx", "\x48\x83\xc5\x10\x48\x89\xd8", 7, true },
		{ "and a jump", "\x48\x83\xc5\x10\xff\x65\x00", 7, false },
		{ "and a direct one", "\x48\x83\xc5\x10\xe9\x10\x20\x30\x40", 9, false },
		{ "add rbp, -16", "\x48\x83\xc5\xf0", 4, false },
		{ "too far before",
		  "\x48\x83\xc5\x10\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90", 17,
		  false },
	};
	struct scene *s = *state;
	const uint32_t pc = APPLY + 0x40;
	const __u64 behind[] = { FRAME(pc) | EXACT, HS(SMALL), HS(STOP), CALLER, 0 };
	const __u64 at[] = { FRAME(pc) | EXACT, HS(UPDATE), HS(SMALL), HS(STOP), CALLER, 0 };

	heap[8] = PC(UPDATE); /* is old, or the caller's */
	heap[10] = PC(SMALL);
	heap[14] = PC(STOP);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		memset(s->code + APPLY, 0x90, 0x80);
		memcpy(s->code + pc - cases[i].size, cases[i].code, cases[i].size);
		check_haskell(s, pc, AT(TOP), 8, FPL_STOP_OUTERMOST,
			      cases[i].is_left ? at : behind);
	}
	/* between frames such code is as any other: its frame is there */
	put_info(s, APPLY, 1, 30);
	heap[14] = PC(APPLY);
	heap[16] = PC(STOP);
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_OUTERMOST,
		      (const __u64[]){ FRAME(LEAF) | EXACT, HS(UPDATE), HS(SMALL), HS(APPLY),
				       HS(STOP), CALLER, 0 });
}

static void a_stack_of_chunks_is_one_stack(void **state)
{
	struct scene *s = *state;
	const __u64 want[] = {
		FRAME(LEAF) | EXACT, HS(SMALL), HS(CHUNK), HS(UPDATE), HS(STOP), CALLER, 0
	};
	const __u64 cut[] = { FRAME(LEAF) | EXACT, HS(SMALL), 0 };
	const uint32_t at = 1000, next = 40; /* the next chunk may be below */

	heap[at] = PC(SMALL);
	heap[at + 4] = PC(CHUNK);
	heap[at + 5] = HEAP + 8ull * next;
	heap[next + 1] = 100 | 1ull << 32;
	heap[next + 2] = HEAP + 8ull * (next + 3 + 96);
	heap[next + 3 + 96] = PC(UPDATE);
	heap[next + 3 + 98] = PC(STOP);
	check_haskell(s, LEAF, AT(TOP), at, FPL_STOP_OUTERMOST, want);
	/* its stack pointer is outside */
	heap[next + 1] = 96;
	check_haskell(s, LEAF, AT(TOP), at, FPL_STOP_NO_CFI, cut);
	heap[next + 1] = 100;
	heap[next + 2] = HEAP + 8ull * (next + 2);
	check_haskell(s, LEAF, AT(TOP), at, FPL_STOP_NO_CFI, cut);
	/* nothing is there */
	heap[at + 5] = 0x1000;
	check_haskell(s, LEAF, AT(TOP), at, FPL_STOP_NO_CFI, cut);
}

/* Before Haskell code calls C code it may push a word for the alignment, and arguments. */
static void c_code_leads_back_to_the_haskell_stack(void **state)
{
	struct scene *s = *state;
	const __u64 want[] = { FRAME(0x1008) | EXACT, FRAME(LEAF), HS(SMALL), HS(STOP), CALLER, 0 };
	const __u64 cut[] = { FRAME(0x1008) | EXACT, FRAME(LEAF), 0 };

	heap[8] = PC(SMALL);
	heap[12] = PC(STOP);
	for (uint32_t pushed = 0; pushed < 8; pushed++) {
		s->words[TOP - pushed - 1] = PC(LEAF);
		check_haskell(s, 0x1008, AT(TOP - pushed - 1), 8, FPL_STOP_OUTERMOST, want);
		assert_int_equal(s->walk.reg[ARCH_SP], AT(TOP) + K);
	}
	/* words above StgRun's frame are not looked at */
	s->words[TOP + 1] = PC(LEAF);
	check_haskell(s, 0x1008, AT(TOP + 1), 8, FPL_STOP_NO_CFI, cut);
}

/* rsp proves itself: there the code that called StgRun goes on, which made room for that frame. */
static void the_frame_is_that_of_stgrun(void **state)
{
	struct scene *s = *state;
	const __u64 leaf[] = { FRAME(LEAF) | EXACT, 0 };
	const uint32_t last = TOP + K / 8 - 1;

	heap[8] = PC(STOP);
	s->words[last] = PC(0x4810);
	put_call(s, 0x4810, 0x7300);
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_NO_CFI, leaf);
	s->words[last] = 0x1234;
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_NO_CFI, leaf);
	s->words[last] = PC(BEHIND);
	s->code[RUN + 11] = 0x20; /* other room */
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_NO_CFI, leaf);
	s->code[RUN + 11] = 0x40;
	s->code[RUN + 3] = 0x40; /* and another frame */
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_NO_CFI, leaf);
	s->code[RUN + 3] = 0x30;
	check_haskell(s, LEAF, AT(NR_WORDS - 8), 8, FPL_STOP_READ_FAULT, leaf);
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_OUTERMOST,
		      (const __u64[]){ FRAME(LEAF) | EXACT, HS(STOP), CALLER, 0 });
	s->walk.reg[ARCH_SP] = AT(TOP);
	s->walk.known = ARCH_ALL_REGS & ~WALK_BIT(ARCH_FP);
	check_walk(s, PC(LEAF), FPL_STOP_NO_CFI, leaf);
}

static void data_that_lies_leads_nowhere(void **state)
{
	static const struct {
		const char *what;
		uint32_t info;
		uint64_t word; /* behind it */
	} cases[] = {
		{ "code of no frame", LEAF, 0 },
		{ "a frame of an interpreter", BCO, 0 },
		{ "unaligned code", SMALL + 4, 0 },
		{ "a frame of more words than memory has", FUN, 1ull << 61 },
		{ "one that is too large", FUN, HASKELL_FRAME_WORDS + 1 },
	};
	struct scene *s = *state;
	const __u64 cut[] = { FRAME(LEAF) | EXACT, HS(UPDATE), 0 };

	heap[8] = PC(UPDATE);
	for (uint32_t i = 11; i < 64; i++)
		heap[i] = PC(STOP);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		heap[10] = PC(cases[i].info);
		heap[11] = cases[i].word;
		check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_NO_CFI, cut);
	}
	/* pointers behind the frame's last word */
	heap[10] = PC(SMALL);
	put_info(s, SMALL, 3 | 8 << 6, 30);
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_NO_CFI, cut);
	/* the large bitmap is not there, or too large */
	heap[10] = PC(BIG);
	put_info(s, BIG, 0x7fffffff, 31);
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_NO_CFI, cut);
	/* an odd stack, and none */
	s->walk.reg[ARCH_SP] = AT(TOP);
	s->walk.reg[ARCH_FP] = HEAP + 1;
	s->walk.known = ARCH_ALL_REGS;
	check_walk(s, PC(LEAF), FPL_STOP_NO_CFI, (const __u64[]){ FRAME(LEAF) | EXACT, 0 });
	check_haskell(s, LEAF, AT(TOP), 1u << 20, FPL_STOP_READ_FAULT,
		      (const __u64[]){ FRAME(LEAF) | EXACT, 0 });
	/* the stack ends with the memory */
	heap[ARRAY_SIZE(heap) - 2] = PC(UPDATE);
	check_haskell(s, LEAF, AT(TOP), ARRAY_SIZE(heap) - 2, FPL_STOP_READ_FAULT, cut);
}

/* Between the frames no register is known: C code with the right words before it has no caller. */
static void frames_of_other_code_have_no_caller(void **state)
{
	struct scene *s = *state;

	heap[8] = PC(OTHER);
	heap[9] = PC(STOP);
	check_haskell(s, LEAF, AT(TOP), 8, FPL_STOP_REG_UNKNOWN,
		      (const __u64[]){ FRAME(LEAF) | EXACT, HS(OTHER), 0 });
}

/* A chunk that is its own next one ends with the frames that a walk may have. */
static void deep_stacks_keep_both_ends(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	for (uint32_t i = 8; i < 8 + 600; i += 2)
		heap[i] = PC(UPDATE);
	heap[608] = PC(STOP);
	s->walk.root_depth = 4;
	s->walk.max_depth = 20;
	s->walk.nr = s->world.nr_mappings;
	s->walk.reg[ARCH_SP] = AT(TOP);
	s->walk.reg[ARCH_FP] = HEAP + 64;
	s->walk.exact = 1;
	s->walk.pc = PC(LEAF);
	walk_run(&walker);
	walk_end(&walker);
	assert_int_equal(s->walk.stop, FPL_STOP_OUTERMOST);
	assert_int_equal(s->walk.nr_frames, 21);
	assert_int_equal(s->walk.elided, 1 + 300 + 2 - 20);
	assert_int_equal(s->frames[0], FRAME(LEAF) | EXACT);
	assert_int_equal(s->frames[15], HS(UPDATE));
	assert_true(s->frames[16] == FPL_FRAME_GAP);
	assert_int_equal(s->frames[18], HS(UPDATE));
	assert_int_equal(s->frames[19], HS(STOP));
	assert_int_equal(s->frames[20], CALLER);

	heap[608] = PC(CHUNK);
	heap[609] = HEAP + 8 * 4;
	heap[5] = 700;
	heap[6] = HEAP + 64;
	s->walk.nr_frames = s->walk.elided = 0;
	s->walk.reg[ARCH_SP] = AT(TOP);
	s->walk.reg[ARCH_FP] = HEAP + 64;
	s->walk.known = ARCH_ALL_REGS;
	s->walk.exact = 1;
	s->walk.pc = PC(LEAF);
	walk_run(&walker);
	assert_int_equal(s->walk.stop, FPL_STOP_DEPTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HASKELL_TEST(frames_are_as_large_as_they_say),
		HASKELL_TEST(arguments_lie_below_the_first_frame),
		HASKELL_TEST(the_frame_of_the_code_itself_is_passed_over),
		HASKELL_TEST(a_stack_of_chunks_is_one_stack),
		HASKELL_TEST(c_code_leads_back_to_the_haskell_stack),
		HASKELL_TEST(the_frame_is_that_of_stgrun),
		HASKELL_TEST(data_that_lies_leads_nowhere),
		HASKELL_TEST(frames_of_other_code_have_no_caller),
		HASKELL_TEST(deep_stacks_keep_both_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
