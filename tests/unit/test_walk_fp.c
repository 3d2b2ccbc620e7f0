// SPDX-License-Identifier: Apache-2.0
/* Steps by the frame pointer: what they are checked by, and what is known behind them. */
#include "cmocka_all.h"

#include <stdbool.h>

#include "tests/support/walk_scene.h"

static void frame_pointer_step_is_taken_only_if_everything_holds_up(void **state)
{
	static const struct {
		const char *what;
		uint64_t fp, ra;
		uint32_t known;
		uint8_t unwind, opcode;
		enum fpl_stop stop; /* OUTERMOST: the step was taken */
	} cases[] = {
		{ "all holds", AT(10), PC(0x4010), 0xffff, 0, 0xe8, FPL_STOP_OUTERMOST },
		{ "at rsp itself", AT(8), PC(0x4010), 0xffff, 0, 0xe8, FPL_STOP_OUTERMOST },
		{ "below rsp", AT(7), PC(0x4010), 0xffff, 0, 0xe8, FPL_STOP_NO_CFI },
		{ "unaligned", AT(10) + 4, PC(0x4010), 0xffff, 0, 0xe8, FPL_STOP_NO_CFI },
		{ "zero: the chain ended", 0, PC(0x4010), 0xffff, 0, 0xe8, FPL_STOP_FP_END },
		{ "not resident", AT(NR_WORDS), PC(0x4010), 0xffff, 0, 0xe8, FPL_STOP_NO_CFI },
		{ "half of it not resident", AT(NR_WORDS - 1), PC(0x4010), 0xffff, 0, 0xe8,
		  FPL_STOP_NO_CFI },
		{ "rbp not known", AT(10), PC(0x4010), 0xffbf, 0, 0xe8, FPL_STOP_NO_CFI },
		{ "rsp not known", AT(10), PC(0x4010), 0xff7f, 0, 0xe8, FPL_STOP_NO_CFI },
		{ "return address in no mapping", AT(10), 0x4010, 0xffff, 0, 0xe8,
		  FPL_STOP_NO_CFI },
		{ "return address on the first page", AT(10), 16, 0xffff, 0, 0xe8,
		  FPL_STOP_NO_CFI },
		{ "not behind a call", AT(10), PC(0x4010), 0xffff, 0, 0xe9, FPL_STOP_NO_CFI },
		{ "code before it not resident", AT(10), PC(3), 0xffff, 0, 0xe8, FPL_STOP_NO_CFI },
		{ "--unwind cfi", AT(10), PC(0x4010), 0xffff, FPL_UNWIND_CFI, 0xe8,
		  FPL_STOP_NO_CFI },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 taken[] = { FRAME(0x5010) | EXACT, FRAME(0x4010) | BY_FP, 0 };

		print_message("%s\n", cases[i].what);
		if (cases[i].stop != FPL_STOP_OUTERMOST)
			taken[1] = 0;
		memset(s->words, 0, sizeof(s->words));
		for (uint32_t w = 1; w < NR_WORDS; w++)
			s->words[w] = cases[i].ra;
		if (cases[i].fp - STACK < sizeof(s->words) - 16)
			memcpy((uint8_t *)s->words + (cases[i].fp - STACK) + 8, &cases[i].ra, 8);
		s->code[0x400b] = cases[i].opcode;
		s->walk.reg[6] = cases[i].fp;
		s->walk.reg[7] = AT(8);
		s->walk.known = cases[i].known;
		s->walk.unwind = cases[i].unwind;
		check_walk(s, PC(0x5010), cases[i].stop, taken);
	}
}

/*
 * The page before the first return address is not present: PC(3) has no 8 bytes before it. Words 10
 * and 11 are the frame pointer's, words 20 and 21 those of the caller.
 */
static void code_that_is_not_present_is_no_evidence_against_a_step(void **state)
{
	static const struct {
		const char *what;
		uint64_t caller, beyond;
		bool taken;
	} cases[] = {
		{ "the next frame holds up", AT(20), PC(0x4010), true },
		{ "its return address is not behind a call", AT(20), PC(0x4020), false },
		{ "its return address is in no mapping", AT(20), 0x4010, false },
		{ "its frame pointer is not aligned", AT(20) + 4, PC(0x4010), false },
		{ "its frame pointer is below", AT(9), PC(0x4010), false },
		{ "its frame pointer is the same", AT(10), PC(0x4010), false },
		{ "its frame pointer is not resident", AT(NR_WORDS), PC(0x4010), false },
		{ "the chain ends", 0, PC(0x4010), false },
	};
	struct scene *s = *state;

	s->code[0x400b] = 0xe8;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 frames[] = { FRAME(0x5010) | EXACT, FRAME(3) | BY_FP, FRAME(0x4010) | BY_FP,
				   0 };

		print_message("%s\n", cases[i].what);
		if (!cases[i].taken)
			frames[1] = 0;
		memset(s->words, 0, sizeof(s->words));
		s->words[9] = s->words[11] = PC(3);
		s->words[10] = cases[i].caller;
		s->words[21] = cases[i].beyond;
		s->walk.reg[6] = AT(10);
		s->walk.reg[7] = AT(8);
		s->walk.known = 0xffff;
		s->walk.unwind = 0;
		check_walk(s, PC(0x5010), cases[i].taken ? FPL_STOP_OUTERMOST : FPL_STOP_NO_CFI,
			   frames);
		assert_int_equal(s->walk.fp_open, !cases[i].taken);
	}
}

/*
 * Words 10 and 11 are the frame pointer's, @caller the frame pointer of the caller, whose return
 * address @beyond is; no call stands before @ra.
 */
static void a_pushed_return_address_needs_a_frame_behind_it(void **state)
{
	static const struct {
		const char *what;
		uint64_t pc, ra, caller, beyond;
		int taken;
	} cases[] = {
		{ "made at run time, as what called it", ANON_START + 8, ANON_START + 16, AT(20),
		  ANON_START + 24, 1 },
		{ "called from a file", ANON_START + 8, ANON_START + 16, AT(20), PC(0x4010), 1 },
		{ "code of a file, though", PC(0x5010), ANON_START + 16, AT(20), ANON_START + 24,
		  0 },
		{ "into code of a file", ANON_START + 8, PC(0x4020), AT(20), PC(0x4010), 0 },
		{ "not mapped behind it", ANON_START + 8, ANON_START + 16, AT(20), 0x123456789, 0 },
		{ "nothing behind it", ANON_START + 8, ANON_START + 16, AT(20), 0, 0 },
		{ "no call behind it", ANON_START + 8, ANON_START + 16, AT(20), PC(0x4020), 0 },
		{ "unaligned behind it", ANON_START + 8, ANON_START + 16, AT(20) + 4,
		  ANON_START + 24, 0 },
		{ "the same frame", ANON_START + 8, ANON_START + 16, AT(10), ANON_START + 24, 0 },
		{ "a frame below", ANON_START + 8, ANON_START + 16, AT(8), ANON_START + 24, 0 },
		{ "not resident", ANON_START + 8, ANON_START + 16, AT(NR_WORDS), ANON_START + 24,
		  0 },
	};
	struct scene *s = *state;

	s->code[0x400b] = 0xe8;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		memset(s->words, 0, sizeof(s->words));
		if (cases[i].caller - STACK < sizeof(s->words) - 16)
			memcpy((uint8_t *)s->words + (cases[i].caller - STACK) + 8,
			       &cases[i].beyond, 8);
		s->words[10] = cases[i].caller;
		s->words[11] = cases[i].ra;
		s->walk.reg[6] = AT(10);
		s->walk.reg[7] = AT(8);
		s->walk.known = ARCH_ALL_REGS;

		int whole = cases[i].taken && cases[i].beyond == PC(0x4010);
		__u64 leaf = cases[i].pc >= ANON_START ? cases[i].pc | FPL_FRAME_RAW
						       : FRAME(cases[i].pc - WORLD_BIAS);

		check_walk(s, cases[i].pc, whole ? FPL_STOP_OUTERMOST : FPL_STOP_NO_CFI,
			   (__u64[]){ leaf | EXACT,
				      cases[i].taken ? cases[i].ra | FPL_FRAME_RAW | BY_FP : 0,
				      whole ? FRAME(0x4010) | BY_FP : 0, 0 });
	}
}

/* A frame as large as the limit, and one larger; both with a whole frame behind them. */
static void a_pushed_return_address_is_near_its_frame(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };
	static uint64_t far[4];

	world_memory(&s->world, AT(10) + WALK_FRAME_MAX - 8, far, sizeof(far));
	for (int more = 0; more < 2; more++) {
		s->words[10] = AT(10) + WALK_FRAME_MAX + (uint64_t)more * 8;
		s->words[11] = ANON_START + 16;
		far[2] = far[3] = ANON_START + 24;
		s->walk.reg[6] = AT(10);
		s->walk.reg[7] = AT(8);
		s->walk.known = ARCH_ALL_REGS;
		s->walk.nr = s->world.nr_mappings;
		assert_int_equal(walk_by_fp(&walker, 1), more ? FPL_STOP_NO_CFI : FPL_STOP_NONE);
	}
}

static void frame_pointer_step_leaves_two_registers_known(void **state)
{
	struct scene *s = *state;

	s->code[0x600b] = s->code[0x200b] = 0xe8;
	s->walk.reg[6] = AT(10);
	s->walk.reg[3] = AT(20);
	s->words[10] = AT(30);
	s->words[11] = PC(0x6010); /* whose cfa is at rbx */
	check_walk(s, PC(0x5010), FPL_STOP_REG_UNKNOWN,
		   (__u64[]){ FRAME(0x5010) | EXACT, FRAME(0x6010) | BY_FP, 0 });
	assert_int_equal(s->walk.known, 1u << 6 | 1u << 7);
	assert_int_equal(s->walk.reg[6], AT(30));
	assert_int_equal(s->walk.reg[7], AT(12));
	/* A row after it is CFI again. */
	s->walk.known = ARCH_ALL_REGS;
	s->walk.reg[6] = AT(10);
	s->walk.reg[7] = AT(0);
	s->words[11] = PC(0x2010);
	s->words[13] = PC(0x4010);
	check_walk(s, PC(0x5010), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x5010) | EXACT, FRAME(0x2010) | BY_FP, FRAME(0x4010), 0 });
}

/*
 * A leaf's caller is code made at run time that returns at once, whatever rbp is: word 0 is the
 * return address into it, its own is at @ra_off bytes.
 */
static void made_code_that_returns_at_once_needs_no_frame_pointer(void **state)
{
	static const struct {
		const char *what;
		uint8_t code[8];
		uint32_t ra_off;
		uint8_t opcode; /* of the call before the caller's pc */
		uint8_t unwind;
		bool taken;
	} cases[] = {
		{ "add rsp, 8; ret", { 0x48, 0x83, 0xc4, 8, 0xc3 }, 16, 0xe8, 0, true },
		{ "add rsp, 24; ret", { 0x48, 0x83, 0xc4, 24, 0xc3 }, 32, 0xe8, 0, true },
		{ "add rsp, 1024; ret",
		  { 0x48, 0x81, 0xc4, 0, 4, 0, 0, 0xc3 },
		  1032,
		  0xe8,
		  0,
		  true },
		{ "add rsp, 12; ret", { 0x48, 0x83, 0xc4, 12, 0xc3 }, 20, 0xe8, 0, false },
		{ "add rsp, -8; ret", { 0x48, 0x83, 0xc4, 0xf8, 0xc3 }, 256, 0xe8, 0, false },
		{ "no ret", { 0x48, 0x83, 0xc4, 8, 0x5b, 0xc3 }, 16, 0xe8, 0, false },
		{ "no frame", { 0xc3 }, 8, 0xe8, 0, false },
		{ "not behind a call", { 0x48, 0x83, 0xc4, 8, 0xc3 }, 16, 0xe9, 0, false },
		{ "not there", { 0x48, 0x83, 0xc4, 8, 0xc3 }, 24, 0xe8, 0, false },
		{ "--unwind cfi", { 0x48, 0x83, 0xc4, 8, 0xc3 }, 16, 0xe8, FPL_UNWIND_CFI, false },
	};
	const uint64_t ra = PC(0x4010);
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 frames[] = { FRAME(0x1010) | EXACT, (ANON_START + 6) | FPL_FRAME_RAW,
				   cases[i].taken ? FRAME(0x4010) | BY_FP : 0, 0 };

		print_message("%s\n", cases[i].what);
		memset(s->words, 0, sizeof(s->words));
		memcpy(s->jit + 6, cases[i].code, sizeof(cases[i].code));
		s->words[0] = ANON_START + 6;
		memcpy((uint8_t *)s->words + cases[i].ra_off, &ra, sizeof(ra));
		s->code[0x400b] = cases[i].opcode;
		s->walk.reg[6] = 0x1234567; /* data */
		s->walk.reg[7] = AT(0);
		s->walk.known = ARCH_ALL_REGS;
		s->walk.unwind = cases[i].unwind;
		check_walk(s, PC(0x1010), cases[i].taken ? FPL_STOP_OUTERMOST : FPL_STOP_NO_CFI,
			   frames);
	}
	/* code of a file has CFI where it means to be walked */
	memset(s->words, 0, sizeof(s->words));
	memcpy(s->code + 0x5010, cases[0].code, sizeof(cases[0].code));
	s->words[0] = PC(0x5010);
	s->words[2] = PC(0x4010);
	s->code[0x400b] = 0xe8;
	s->walk.reg[7] = AT(0);
	s->walk.unwind = FPL_UNWIND_AUTO;
	check_walk(s, PC(0x1010), FPL_STOP_NO_CFI,
		   (__u64[]){ FRAME(0x1010) | EXACT, FRAME(0x5010), 0 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(frame_pointer_step_is_taken_only_if_everything_holds_up),
		TEST(code_that_is_not_present_is_no_evidence_against_a_step),
		TEST(a_pushed_return_address_needs_a_frame_behind_it),
		TEST(a_pushed_return_address_is_near_its_frame),
		TEST(made_code_that_returns_at_once_needs_no_frame_pointer),
		TEST(frame_pointer_step_leaves_two_registers_known),
	};

	return cmocka_run_group_tests_name("walk_fp", tests, NULL, NULL);
}
