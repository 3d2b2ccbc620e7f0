/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks of stacks under return probes: the trampoline stands in place of return addresses, and the
 * true ones are in a list of pending calls.
 */
#include "cmocka_all.h"

#include "tests/support/walk_world.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define STACK	   0x7ffd00000000ull
#define AT(i)	   (STACK + 8ull * (i))
#define PC(vaddr)  (WORLD_BIAS + (vaddr))
#define TRAMPOLINE 0x7fffffffe000ull

#define FRAME(vaddr) ((__u64)WORLD_ID << FPL_FRAME_OBJECT_SHIFT | (vaddr))
#define EXACT	     FPL_FRAME_EXACT
#define BY_FP	     ((__u64)FPL_ORIGIN_FP << FPL_FRAME_ORIGIN_SHIFT)
#define BY_SYNTH     ((__u64)FPL_ORIGIN_SYNTH << FPL_FRAME_ORIGIN_SHIFT)

/* Code without a frame, code with rbp below the return address, the outermost function. */
enum { LEAF = 0x1010, SYNTH = 0x1810, FRAMED = 0x2010, LAST = 0x4010, NO_CFI = 0x5010 };

#define SAME6                                                                                   \
	{                                                                                       \
		FPL_SAVED_SAME, FPL_SAVED_SAME, FPL_SAVED_SAME, FPL_SAVED_SAME, FPL_SAVED_SAME, \
			FPL_SAVED_SAME                                                          \
	}

struct scene {
	struct env world;
	struct fpl_walk walk;
	struct fpl_memory memory;
	uint64_t words[32];
	uint8_t code[0x8000];
	uint8_t trampoline[64];
	__u64 frames[FPL_DEPTH_MAX];
};

static void put_calls(struct scene *s)
{
	static const uint32_t places[] = { LEAF, SYNTH, FRAMED, LAST, NO_CFI };

	for (unsigned i = 0; i < ARRAY_SIZE(places); i++)
		s->code[places[i] - 5] = 0xe8;
}

static int setup(void **state)
{
	static const struct fpl_rule leaf = {
		.cfa = FPL_CFA_REG, .regs = ARCH_SP, .cfa_off = 8, .saved = SAME6
	};
	static const struct fpl_rule framed = { .cfa = FPL_CFA_REG,
						.regs = ARCH_SP,
						.cfa_off = 16,
						.saved = { FPL_SAVED_SAME, -2, FPL_SAVED_SAME,
							   FPL_SAVED_SAME, FPL_SAVED_SAME,
							   FPL_SAVED_SAME } };
	static const struct fpl_rule none = { .cfa = FPL_CFA_NONE };
	struct fpl_rule synth = leaf, last = leaf;
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	synth.flags = FPL_RULE_SYNTH;
	last.flags = FPL_RULE_END;
	world_init(&s->world);
	world_row(&s->world, 0x1000, &leaf, NULL, 0);
	world_row(&s->world, 0x1800, &synth, NULL, 0);
	world_row(&s->world, 0x2000, &framed, NULL, 0);
	world_row(&s->world, 0x4000, &last, NULL, 0);
	world_row(&s->world, 0x5000, &none, NULL, 0);
	world_memory(&s->world, STACK, s->words, sizeof(s->words));
	world_memory(&s->world, WORLD_BIAS, s->code, sizeof(s->code));
	world_memory(&s->world, TRAMPOLINE, s->trampoline, sizeof(s->trampoline));
	put_calls(s);
	s->world.trampoline = TRAMPOLINE;
	s->walk.nr = s->world.nr_mappings;
	s->walk.max_depth = 20;
	s->walk.unwind = FPL_UNWIND_AUTO;
	s->walk.by_row = FPL_ORIGIN_CFI;
	s->walk.serial = 1;
	s->walk.known = ARCH_ALL_REGS;
	s->walk.reg[ARCH_SP] = STACK;
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

static void pend(struct scene *s, uint32_t word, uint64_t ra)
{
	assert_true(s->world.nr_calls < ARRAY_SIZE(s->world.calls));
	s->words[word] = TRAMPOLINE;
	s->world.calls[s->world.nr_calls++] = (struct world_call){ AT(word), ra };
}

/* Walk from @pc; the frames must be @want, up to a zero. */
static void check_once(struct scene *s, struct fpl_memory *memory, uint64_t pc, enum fpl_stop stop,
		       const __u64 *want)
{
	struct walker walker = { &s->walk, s->frames, &s->world, memory };
	uint32_t nr = 0;

	s->walk.pc = pc;
	s->walk.exact = 1;
	s->walk.has_kernel_regs = 1;
	s->walk.origin = FPL_ORIGIN_CFI;
	s->walk.nr_frames = 0;
	s->walk.is_probed = 0;
	s->world.nr_trampoline_asked = 0;
	walk_run(&walker);
	for (; want[nr]; nr++) {
		if (nr >= s->walk.nr_frames || s->frames[nr] != want[nr])
			fail_msg("frame %u of %u is %#llx, not %#llx", nr, s->walk.nr_frames,
				 (unsigned long long)s->frames[nr], (unsigned long long)want[nr]);
	}
	assert_int_equal(s->walk.nr_frames, nr);
	assert_int_equal(s->walk.stop, stop);
	assert_true(s->world.nr_trampoline_asked <= 1);
}

/* The same while frames are remembered, from memory, and without one. */
static void check(struct scene *s, uint64_t pc, enum fpl_stop stop, const __u64 *want)
{
	struct fpl_walk before = s->walk;

	memset(&s->memory, 0, sizeof(s->memory));
	for (int i = 0; i < 3; i++) {
		s->walk = before;
		check_once(s, i < 2 ? &s->memory : NULL, pc, stop, want);
	}
	/* for the next one */
	memcpy(s->walk.reg, before.reg, sizeof(before.reg));
	s->walk.known = before.known;
}

static void stacks_without_a_probe_read_no_list(void **state)
{
	struct scene *s = *state;

	s->words[0] = PC(FRAMED);
	s->words[2] = PC(LAST);
	check(s, PC(LEAF), FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(LEAF) | EXACT, FRAME(FRAMED), FRAME(LAST), 0 });
	assert_int_equal(s->world.nr_trampoline_asked, 0);
	assert_int_equal(s->walk.is_probed, 0);
}

static void probed_recursion_has_its_own_callers(void **state)
{
	struct scene *s = *state;

	pend(s, 0, PC(FRAMED));
	pend(s, 2, PC(FRAMED));
	s->words[4] = PC(FRAMED); /* not probed */
	pend(s, 6, PC(LAST));
	check(s, PC(LEAF), FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(LEAF) | EXACT, FRAME(FRAMED), FRAME(FRAMED), FRAME(FRAMED),
			 FRAME(LAST), 0 });
	assert_int_equal(s->walk.is_probed, 1);
}

/* A tail call between probed functions leaves two entries for one slot; longjmp one below. */
static void entries_are_matched_by_their_slots(void **state)
{
	struct scene *s = *state;

	s->world.calls[s->world.nr_calls++] = (struct world_call){ AT(0) - 8, PC(SYNTH) };
	pend(s, 0, PC(FRAMED));
	pend(s, 0, PC(FRAMED));
	pend(s, 2, PC(LAST));
	check(s, PC(LEAF), FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(LEAF) | EXACT, FRAME(FRAMED), FRAME(LAST), 0 });
}

static void unlisted_trampoline_ends_the_walk(void **state)
{
	struct scene *s = *state;

	s->words[0] = PC(FRAMED);
	s->words[2] = TRAMPOLINE;
	s->world.calls[s->world.nr_calls++] = (struct world_call){ AT(3), PC(LAST) };
	check(s, PC(LEAF), FPL_STOP_BAD_RA, (__u64[]){ FRAME(LEAF) | EXACT, FRAME(FRAMED), 0 });
	assert_true(s->walk.pc == TRAMPOLINE);
}

static void other_addresses_at_the_start_of_a_page_stand(void **state)
{
	struct scene *s = *state;

	s->words[0] = PC(0x3000); /* behind a call at the end of FRAMED's function */
	s->words[2] = PC(LAST);
	s->world.calls[s->world.nr_calls++] = (struct world_call){ AT(0), PC(SYNTH) };
	check(s, PC(LEAF), FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(LEAF) | EXACT, FRAME(0x3000), FRAME(LAST), 0 });
	assert_int_equal(s->walk.is_probed, 0);
	/* nor is there a trampoline in every process */
	s->world.trampoline = 0;
	check(s, PC(LEAF), FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(LEAF) | EXACT, FRAME(0x3000), FRAME(LAST), 0 });
}

static void steps_without_a_row_that_was_written_see_behind_it(void **state)
{
	struct scene *s = *state;

	pend(s, 0, PC(FRAMED));
	pend(s, 2, PC(LAST));
	check(s, PC(SYNTH), FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(SYNTH) | EXACT, FRAME(FRAMED) | BY_SYNTH, FRAME(LAST), 0 });
	/* by rbp */
	s->walk.reg[ARCH_FP] = AT(1);
	s->words[1] = 0;
	check(s, PC(NO_CFI), FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(NO_CFI) | EXACT, FRAME(LAST) | BY_FP, 0 });
	/* by the code around the pc: ret */
	s->code[NO_CFI] = 0xc3;
	check(s, PC(NO_CFI), FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(NO_CFI) | EXACT, FRAME(FRAMED) | BY_FP, FRAME(LAST), 0 });
}

/* The byte before the page would be that of an object's last row. */
static void trampoline_behind_code_is_not_its_frame(void **state)
{
	struct scene *s = *state;
	uint64_t end = WORLD_BIAS + WORLD_TEXT;

	s->world.trampoline = end;
	s->world.memory[2].addr = end;
	s->words[0] = PC(FRAMED);
	s->words[2] = PC(LAST);
	/* remember it first */
	memset(&s->memory, 0, sizeof(s->memory));
	struct fpl_walk before = s->walk;
	static const struct fpl_rule leaf = {
		.cfa = FPL_CFA_REG, .regs = ARCH_SP, .cfa_off = 8, .saved = SAME6
	};

	world_row(&s->world, WORLD_TEXT - 32, &leaf, NULL, 0);
	check_once(s, &s->memory, end - 1, FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(WORLD_TEXT - 1) | EXACT, FRAME(FRAMED), FRAME(LAST), 0 });
	s->walk = before;
	s->world.calls[s->world.nr_calls++] = (struct world_call){ AT(0), PC(LAST) };
	s->words[0] = end;
	check_once(s, &s->memory, PC(LEAF), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(LEAF) | EXACT, FRAME(LAST), 0 });
}

static const uint8_t by_syscall[] = { 0x50, 0x51, 0x41, 0x53, 0x48, 0xc7, 0xc0, 0x4f, 0x01,
				      0x00, 0x00, 0x0f, 0x05, 0x41, 0x5b, 0x59, 0xc3 };
static const uint8_t by_breakpoint[] = { 0xcc };

static void a_function_that_returns_has_left_its_frame(void **state)
{
	static const struct {
		const char *what;
		const uint8_t *code;
		uint32_t off;
		int nr_pushed; /* -1: it cannot be told */
	} cases[] = {
		{ "breakpoint", by_breakpoint, 0, 0 }, { "behind it", by_breakpoint, 1, 0 },
		{ "elsewhere", by_breakpoint, 2, -1 }, { "push rax", by_syscall, 0, 0 },
		{ "push rcx", by_syscall, 1, 1 },      { "push r11", by_syscall, 2, 2 },
		{ "within it", by_syscall, 3, -1 },    { "mov", by_syscall, 4, 3 },
		{ "syscall", by_syscall, 11, 3 },      { "pop r11", by_syscall, 13, 3 },
		{ "pop rcx", by_syscall, 15, 2 },      { "ret", by_syscall, 16, 1 },
		{ "behind all", by_syscall, 17, -1 },
	};
	struct scene *s = *state;

	pend(s, 4, PC(FRAMED)); /* has returned */
	pend(s, 6, PC(LAST));
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t pc = TRAMPOLINE + cases[i].off;

		memset(s->trampoline, 0, sizeof(s->trampoline));
		memcpy(s->trampoline, cases[i].code,
		       cases[i].code == by_syscall ? sizeof(by_syscall) : sizeof(by_breakpoint));
		s->walk.known = ARCH_ALL_REGS;
		s->walk.reg[ARCH_RCX] = pc;
		s->walk.reg[ARCH_SP] = AT(5) - 8 * (uint64_t)(cases[i].nr_pushed & 3);
		print_message("%s\n", cases[i].what);
		if (cases[i].nr_pushed < 0)
			check(s, pc, FPL_STOP_NO_MAPPING,
			      (__u64[]){ FPL_FRAME_RAW | EXACT | pc, 0 });
		else
			check(s, pc, FPL_STOP_OUTERMOST,
			      (__u64[]){ FRAME(FRAMED) | EXACT, FRAME(LAST), 0 });
	}
}

/* The return itself faults: it is sampled before the kernel brings the page. */
static void the_first_return_needs_no_byte_of_the_trampoline(void **state)
{
	struct scene *s = *state;
	uint64_t second = TRAMPOLINE + 1;

	s->world.nr_memory--;	/* the trampoline's, which setup() put last */
	pend(s, 4, PC(FRAMED)); /* has returned */
	pend(s, 6, PC(LAST));
	s->walk.reg[ARCH_SP] = AT(5);
	check(s, TRAMPOLINE, FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(FRAMED) | EXACT, FRAME(LAST), 0 });
	s->walk.known = ARCH_ALL_REGS;
	s->walk.reg[ARCH_SP] = AT(5);
	check(s, second, FPL_STOP_NO_MAPPING, (__u64[]){ FPL_FRAME_RAW | EXACT | second, 0 });
}

static void a_call_that_is_pending_no_longer_is_about_to_return(void **state)
{
	struct scene *s = *state;
	uint64_t pc = TRAMPOLINE + 13;

	memcpy(s->trampoline, by_syscall, sizeof(by_syscall));
	pend(s, 6, PC(LAST));
	s->walk.reg[ARCH_SP] = AT(2);
	s->walk.reg[ARCH_RCX] = pc;
	s->words[4] = PC(FRAMED);
	check(s, pc, FPL_STOP_OUTERMOST, (__u64[]){ FRAME(FRAMED) | EXACT, FRAME(LAST), 0 });
	s->words[4] = PC(FRAMED) + 1; /* no call before it */
	check(s, pc, FPL_STOP_NO_MAPPING, (__u64[]){ FPL_FRAME_RAW | EXACT | pc, 0 });

	/* In the system call: the words are off the stack until the call was served, then on it. */
	s->walk.reg[ARCH_RCX] = 1;
	s->world.returned = (struct world_call){ AT(4), PC(FRAMED) };
	check(s, pc, FPL_STOP_OUTERMOST, (__u64[]){ FRAME(FRAMED) | EXACT, FRAME(LAST), 0 });
	s->world.returned.slot = AT(3);
	check(s, pc, FPL_STOP_NO_MAPPING, (__u64[]){ FPL_FRAME_RAW | EXACT | pc, 0 });
	s->walk.reg[ARCH_SP] = AT(5);
	pend(s, 4, PC(FRAMED));
	check(s, pc, FPL_STOP_OUTERMOST, (__u64[]){ FRAME(FRAMED) | EXACT, FRAME(LAST), 0 });
}

static void registers_are_the_callers_once_a_function_has_returned(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	memcpy(s->trampoline, by_syscall, sizeof(by_syscall));
	pend(s, 4, PC(FRAMED));
	s->walk.reg[ARCH_SP] = AT(5);
	s->walk.known = ARCH_ALL_REGS & ~WALK_BIT(ARCH_R12);
	walk_forget_probes(&s->walk);
	assert_true(walk_leave_probes(&walker, TRAMPOLINE));
	assert_true(s->walk.pc == PC(FRAMED) && s->walk.reg[ARCH_SP] == AT(5));
	assert_int_equal(s->walk.known,
			 (ARCH_CALLEE_SAVED | WALK_BIT(ARCH_SP)) & ~WALK_BIT(ARCH_R12));
	/* no page but its own */
	assert_false(walk_leave_probes(&walker, TRAMPOLINE - 1));
	assert_false(walk_leave_probes(&walker, TRAMPOLINE + FPL_STACK_PAGE));
}

static void an_instruction_that_is_executed_elsewhere_has_its_place(void **state)
{
	struct scene *s = *state;

	s->world.moved_from = PC(LEAF);
	s->world.moved_to = TRAMPOLINE + 0x80;
	s->words[0] = PC(LAST);
	check(s, TRAMPOLINE + 0x80, FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(LEAF) | EXACT, FRAME(LAST), 0 });
	check(s, TRAMPOLINE + 0x84, FPL_STOP_OUTERMOST,
	      (__u64[]){ FRAME(LEAF + 4) | EXACT, FRAME(LAST), 0 });
	assert_int_equal(s->walk.is_probed, 0);
	check(s, TRAMPOLINE + 0x100, FPL_STOP_NO_MAPPING,
	      (__u64[]){ FPL_FRAME_RAW | EXACT | (TRAMPOLINE + 0x100), 0 });
}

static void a_call_that_is_not_in_the_list_yet_is_in_a_register_of_the_kernel(void **state)
{
	struct scene *s = *state;

	s->words[0] = TRAMPOLINE;
	s->world.kernel_slot = AT(0);
	s->world.kernel_regs[0] = 0xffff888000001000ull;
	s->world.kernel_regs[5] = PC(LEAF + 1); /* behind no call */
	s->world.kernel_regs[ARCH_PT_GENERAL - 1] = PC(LAST);
	check(s, PC(LEAF), FPL_STOP_OUTERMOST, (__u64[]){ FRAME(LEAF) | EXACT, FRAME(LAST), 0 });
	s->world.kernel_regs[3] = PC(LAST); /* twice the same */
	check(s, PC(LEAF), FPL_STOP_OUTERMOST, (__u64[]){ FRAME(LEAF) | EXACT, FRAME(LAST), 0 });
	s->world.kernel_regs[4] = PC(FRAMED); /* which of the two? */
	check(s, PC(LEAF), FPL_STOP_BAD_RA, (__u64[]){ FRAME(LEAF) | EXACT, 0 });
	s->world.kernel_regs[4] = 0;
	s->world.kernel_slot = AT(1);
	check(s, PC(LEAF), FPL_STOP_BAD_RA, (__u64[]){ FRAME(LEAF) | EXACT, 0 });
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stacks_without_a_probe_read_no_list),
		TEST(probed_recursion_has_its_own_callers),
		TEST(entries_are_matched_by_their_slots),
		TEST(unlisted_trampoline_ends_the_walk),
		TEST(other_addresses_at_the_start_of_a_page_stand),
		TEST(steps_without_a_row_that_was_written_see_behind_it),
		TEST(trampoline_behind_code_is_not_its_frame),
		TEST(a_function_that_returns_has_left_its_frame),
		TEST(the_first_return_needs_no_byte_of_the_trampoline),
		TEST(a_call_that_is_pending_no_longer_is_about_to_return),
		TEST(registers_are_the_callers_once_a_function_has_returned),
		TEST(an_instruction_that_is_executed_elsewhere_has_its_place),
		TEST(a_call_that_is_not_in_the_list_yet_is_in_a_register_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
