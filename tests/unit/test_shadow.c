// SPDX-License-Identifier: Apache-2.0
/* The shadow call stack: what calls and returns do to it, and what it does not believe. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "judge/shadow.h"

#define STACK  0x7ffd00000000ull
#define WORDS  64u
#define AT(i)  (STACK + 8ull * (i))
#define MAIN   0x401000ull
#define CALLEE 0x402000ull
#define OTHER  0x403000ull

/* A thread with a little stack: what it executes is said by the test. */
struct thread {
	struct shadow shadow;
	struct registers now;
	uint64_t words[WORDS];
};

static bool read_word(void *ctx, uint64_t addr, uint64_t *ret)
{
	struct thread *thread = ctx;

	if (addr < STACK || addr >= AT(WORDS) || (addr & 7))
		return false;
	*ret = thread->words[(addr - STACK) / 8];
	return true;
}

static int set_up(void **state)
{
	struct thread *thread = test_calloc(1, sizeof(*thread));

	thread->now.pc = MAIN;
	thread->now.reg[X86_RSP] = AT(40);
	for (unsigned int i = 0; i < FPL_NR_REGS; i++)
		if (i != X86_RSP)
			thread->now.reg[i] = 100 + i;
	*state = thread;
	return 0;
}

static int tear_down(void **state)
{
	struct thread *thread = *state;

	shadow_fini(&thread->shadow);
	test_free(thread);
	return 0;
}

/* It executes an instruction of @kind, which leaves the stack pointer at @sp and goes on at @pc. */
static void execute(struct thread *thread, enum insn_kind kind, uint64_t sp, uint64_t pc)
{
	struct registers before = thread->now;

	thread->now.reg[X86_RSP] = sp;
	thread->now.pc = pc;
	assert_int_equal(
		shadow_step(&thread->shadow, kind, &before, &thread->now, read_word, thread), 0);
}

static void call(struct thread *thread, uint64_t target)
{
	uint64_t sp = thread->now.reg[X86_RSP] - 8;

	thread->words[(sp - STACK) / 8] = thread->now.pc + 5;
	execute(thread, INSN_CALL, sp, target);
}

static void move(struct thread *thread, enum insn_kind kind, int64_t words)
{
	execute(thread, kind, thread->now.reg[X86_RSP] + (uint64_t)(words * 8), thread->now.pc + 4);
}

static void ret(struct thread *thread)
{
	uint64_t sp = thread->now.reg[X86_RSP];

	execute(thread, INSN_RETURN, sp + 8, thread->words[(sp - STACK) / 8]);
}

static void assert_top(const struct thread *thread, uint64_t cfa, uint64_t ra,
		       enum shadow_doubt doubt)
{
	const struct shadow_frame *top = shadow_top(&thread->shadow);

	assert_non_null(top);
	assert_int_equal(top->cfa, cfa);
	assert_int_equal(top->ra, ra);
	assert_int_equal(top->doubt, doubt);
}

static void assert_books(const struct shadow *shadow)
{
	uint64_t sum = shadow->nr;

	for (size_t i = 0; i < SHADOW_END_COUNT; i++)
		sum += shadow->ended[i];
	assert_int_equal(shadow->entered, sum);
}

static void a_call_makes_a_frame_and_its_return_ends_it(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
	assert_int_equal(shadow_top(&thread->shadow)->caller.reg[3], 103);
	/* what it does to its registers and its stack is its own business */
	thread->now.reg[3] = 7;
	move(thread, INSN_OTHER, -1);
	move(thread, INSN_MOVES_STACK, -8);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
	assert_int_equal(shadow_top(&thread->shadow)->caller.reg[3], 103);
	move(thread, INSN_MOVES_STACK, 8);
	move(thread, INSN_OTHER, 1);
	ret(thread);
	assert_null(shadow_top(&thread->shadow));
	assert_int_equal(thread->shadow.ended[SHADOW_END_RETURNED], 1);
	assert_books(&thread->shadow);
}

static void a_tail_jump_keeps_the_frame(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	execute(thread, INSN_OTHER, AT(39), OTHER);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
	ret(thread);
	assert_null(shadow_top(&thread->shadow));
}

static void call_of_the_next_instruction_makes_no_frame(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	call(thread, thread->now.pc + 5);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
	assert_int_equal(thread->shadow.entered, 1);
}

/* call 1f; ...; 1: mov %rax, (%rsp); ret */
static void a_retpoline_is_a_jump(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	call(thread, CALLEE + 0x20);
	thread->words[38] = OTHER;
	ret(thread);
	assert_int_equal(thread->now.pc, OTHER);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
	assert_int_equal(thread->shadow.ended[SHADOW_END_REPLACED], 1);
	ret(thread);
	assert_null(shadow_top(&thread->shadow));
	assert_books(&thread->shadow);
}

/* push $target; ret */
static void a_return_may_be_a_tail_jump(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	move(thread, INSN_OTHER, -1);
	thread->words[38] = OTHER;
	ret(thread);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
}

static void a_return_into_the_middle_of_nowhere_is_doubted(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	move(thread, INSN_MOVES_STACK, -4);
	thread->words[35] = OTHER;
	ret(thread);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_STRAY);
	/* but it ends as it would have */
	move(thread, INSN_MOVES_STACK, 3);
	ret(thread);
	assert_null(shadow_top(&thread->shadow));
	assert_int_equal(thread->shadow.ended[SHADOW_END_RETURNED], 1);
}

static void a_frame_that_longjmp_went_back_to_is_doubted_until_it_returns(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE); /* the caller of what follows: certain again in the end */
	call(thread, OTHER);  /* calls setjmp */
	move(thread, INSN_MOVES_STACK, -2);
	call(thread, CALLEE);
	call(thread, CALLEE);
	execute(thread, INSN_OTHER, AT(36), OTHER + 0x40);
	assert_top(thread, AT(39), CALLEE + 5, DOUBT_UNWOUND);
	assert_int_equal(thread->shadow.ended[SHADOW_END_UNWOUND], 2);
	/* what it calls is certain */
	call(thread, MAIN);
	assert_top(thread, AT(36), OTHER + 0x45, DOUBT_NONE);
	ret(thread);
	assert_top(thread, AT(39), CALLEE + 5, DOUBT_UNWOUND);
	move(thread, INSN_MOVES_STACK, 2);
	ret(thread);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
	assert_books(&thread->shadow);
}

static void a_stack_from_elsewhere_is_doubted(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	execute(thread, INSN_OTHER, AT(10), CALLEE + 4); /* mov %rsi, %rsp */
	assert_top(thread, AT(40), MAIN + 5, DOUBT_SWITCHED);
	/* back again, it returns */
	execute(thread, INSN_OTHER, AT(39), CALLEE + 8);
	ret(thread);
	assert_null(shadow_top(&thread->shadow));
	assert_int_equal(thread->shadow.ended[SHADOW_END_RETURNED], 1);
}

/* add $8, %rsp; ret: a function returns for its caller */
static void a_return_may_go_through_frames(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	call(thread, OTHER);
	move(thread, INSN_MOVES_STACK, 1);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_UNWOUND);
	ret(thread);
	assert_null(shadow_top(&thread->shadow));
	assert_int_equal(thread->shadow.ended[SHADOW_END_RETURNED], 1);
	assert_books(&thread->shadow);
}

static void signal_comes(struct thread *thread, uint64_t sp)
{
	struct registers before = thread->now;

	thread->words[(sp - STACK) / 8] = 0x700000; /* the restorer */
	thread->now.reg[X86_RSP] = sp;
	thread->now.pc = OTHER;
	assert_int_equal(shadow_signal(&thread->shadow, &before, &thread->now, read_word, thread),
			 0);
}

static void handler_returns_to_the_interrupted_code(void **state)
{
	struct thread *thread = *state;
	struct registers interrupted;

	call(thread, CALLEE);
	interrupted = thread->now;
	signal_comes(thread, AT(5));
	assert_top(thread, AT(6), 0x700000, DOUBT_NONE);
	ret(thread);

	const struct shadow_frame *top = shadow_top(&thread->shadow);

	assert_true(top->signal);
	assert_int_equal(top->ra, CALLEE);
	assert_int_equal(top->cfa, AT(39));
	assert_memory_equal(&top->caller, &interrupted, sizeof(interrupted));
	thread->now.reg[X86_RAX] = 15;
	execute(thread, INSN_SYSCALL, AT(39), CALLEE);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
	assert_int_equal(thread->shadow.ended[SHADOW_END_RETURNED], 2);
	assert_books(&thread->shadow);
}

static void a_handler_on_a_higher_stack_ends_no_frame(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	signal_comes(thread, AT(60));
	assert_top(thread, AT(61), 0x700000, DOUBT_NONE);
	ret(thread);
	thread->now.reg[X86_RAX] = 15;
	execute(thread, INSN_SYSCALL, AT(39), CALLEE);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
}

static void a_handler_that_chooses_another_place_is_doubted(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	signal_comes(thread, AT(5));
	ret(thread);
	thread->now.reg[X86_RAX] = 15;
	execute(thread, INSN_SYSCALL, AT(39), MAIN + 0x100);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_UNWOUND);
}

static void longjmp_out_of_a_handler_ends_the_signal_s_frame(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	move(thread, INSN_MOVES_STACK, -2);
	call(thread, OTHER);
	signal_comes(thread, AT(5));
	execute(thread, INSN_OTHER, AT(37), CALLEE + 0x40);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_UNWOUND);
	assert_int_equal(thread->shadow.ended[SHADOW_END_UNWOUND], 3);
	assert_books(&thread->shadow);
}

static void false_call_makes_no_frame(void **state)
{
	struct thread *thread = *state;
	uint64_t sp = thread->now.reg[X86_RSP];

	call(thread, CALLEE);
	/* push of the address behind it: the same word, and no call */
	thread->words[38] = CALLEE + 5;
	execute(thread, INSN_OTHER, sp - 16, CALLEE + 3);
	assert_int_equal(thread->shadow.entered, 1);
	/* calls whose return address is not where they end: 1 to 15 bytes long */
	for (uint64_t size = 0; size <= 17; size++) {
		uint64_t entered = thread->shadow.entered;

		thread->words[37] = thread->now.pc + size;
		execute(thread, INSN_CALL, sp - 24, OTHER);
		assert_int_equal(thread->shadow.entered - entered, size >= 1 && size <= 15);
		execute(thread, INSN_RETURN, sp - 16, CALLEE + 5);
	}
	assert_top(thread, AT(40), MAIN + 5, DOUBT_STRAY);
	assert_books(&thread->shadow);
}

/* A far call, and one into a page of its stack that cannot be read. */
static void a_call_that_leaves_no_return_address_is_no_frame(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	thread->words[37] = CALLEE + 5;
	execute(thread, INSN_CALL, AT(37), OTHER);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_SWITCHED);
	assert_int_equal(thread->shadow.entered, 1);
	thread->now.reg[X86_RSP] = STACK;
	execute(thread, INSN_CALL, STACK - 8, OTHER);
	assert_int_equal(thread->shadow.entered, 1);
}

static void the_first_doubt_stays(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	execute(thread, INSN_OTHER, AT(10), CALLEE + 4);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_SWITCHED);
	thread->words[10] = OTHER;
	ret(thread);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_SWITCHED);
}

static void without_frames_nothing_is_doubted(void **state)
{
	struct thread *thread = *state;

	execute(thread, INSN_OTHER, AT(10), MAIN + 4);
	ret(thread);
	thread->now.reg[X86_RAX] = 15;
	execute(thread, INSN_SYSCALL, AT(20), MAIN);
	move(thread, INSN_OTHER, 10);
	assert_null(shadow_top(&thread->shadow));
	assert_int_equal(thread->shadow.entered, 0);
}

/* pop %rax; push $target; ret: of the caller's frame nothing is left, either */
static void a_return_whose_address_was_replaced_ends_its_frame_alone(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	move(thread, INSN_MOVES_STACK, -2);
	call(thread, OTHER);
	thread->words[36] = MAIN + 0x100;
	ret(thread);
	/* on top of the stack is data, so no function begins there */
	assert_top(thread, AT(40), MAIN + 5, DOUBT_STRAY);
	assert_int_equal(thread->shadow.ended[SHADOW_END_REPLACED], 1);
	assert_books(&thread->shadow);
}

/* Frames above the returning one end without a return of their own. */
static void a_return_goes_through_so_many_frames_at_most(void **state)
{
	static const struct {
		unsigned int nr;
		bool found;
	} cases[] = { { 64, true }, { 65, false } };
	struct thread *thread = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		shadow_clear(&thread->shadow);
		for (unsigned int nr = 0; nr < cases[i].nr; nr++) {
			thread->now.reg[X86_RSP] = nr ? AT(5) : AT(39);
			assert_int_equal(shadow_enter(&thread->shadow, &thread->now,
						      nr ? OTHER : CALLEE + nr),
					 0);
		}
		thread->now.reg[X86_RSP] = AT(39);
		thread->words[39] = CALLEE;

		uint64_t before = thread->shadow.ended[SHADOW_END_RETURNED];

		ret(thread);
		assert_int_equal(thread->shadow.ended[SHADOW_END_RETURNED] - before,
				 cases[i].found);
		assert_null(shadow_top(&thread->shadow));
	}
	assert_int_equal(thread->shadow.ended[SHADOW_END_REPLACED], 63);
	assert_books(&thread->shadow);
}

static void the_signal_s_frame_stays_until_sigreturn(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	signal_comes(thread, AT(60));
	ret(thread);
	/* mov $15, %eax, on a stack above that of the frame */
	move(thread, INSN_OTHER, 0);
	assert_true(shadow_top(&thread->shadow)->signal);
	/* another system call, and one like it by other code */
	thread->now.reg[X86_RAX] = 14;
	move(thread, INSN_SYSCALL, 0);
	assert_true(shadow_top(&thread->shadow)->signal);
	thread->now.reg[X86_RAX] = 15;
	move(thread, INSN_OTHER, 0);
	assert_true(shadow_top(&thread->shadow)->signal);
	thread->now.reg[X86_RAX] = 15;
	execute(thread, INSN_SYSCALL, AT(39), CALLEE);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
	/* without a signal's frame it is nothing */
	move(thread, INSN_SYSCALL, 0);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_NONE);
}

static void a_sigreturn_to_another_stack_is_doubted(void **state)
{
	/* CALLEE + 4 and AT(35) were interrupted */
	static const struct {
		uint64_t sp, pc;
	} cases[] = { { AT(36), CALLEE + 4 },
		      { AT(34), CALLEE + 4 },
		      { AT(35), CALLEE + 3 },
		      { AT(35), CALLEE + 5 } };
	struct thread *thread = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		shadow_clear(&thread->shadow);
		thread->now.reg[X86_RSP] = AT(40);
		thread->now.pc = MAIN;
		call(thread, CALLEE);
		move(thread, INSN_MOVES_STACK, -4);
		signal_comes(thread, AT(5));
		ret(thread);
		thread->now.reg[X86_RAX] = 15;
		execute(thread, INSN_SYSCALL, cases[i].sp, cases[i].pc);
		assert_top(thread, AT(40), MAIN + 5, DOUBT_UNWOUND);
	}
	assert_int_equal(thread->shadow.ended[SHADOW_END_REPLACED], ARRAY_SIZE(cases));
	assert_books(&thread->shadow);
}

/* A handler jumps to the restorer instead of returning to it. */
static void a_handler_that_went_leaves_the_signal_s_frame(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	signal_comes(thread, AT(5));
	execute(thread, INSN_OTHER, AT(6), 0x700000);

	const struct shadow_frame *top = shadow_top(&thread->shadow);

	assert_true(top->signal);
	assert_int_equal(top->doubt, DOUBT_UNWOUND);
	/* and both where it goes on at what was interrupted */
	signal_comes(thread, AT(4));
	execute(thread, INSN_OTHER, AT(39), CALLEE);
	assert_top(thread, AT(40), MAIN + 5, DOUBT_UNWOUND);
	assert_books(&thread->shadow);
}

/* A ret in the restorer's place, to where a return would lead. */
static void a_return_does_not_end_a_signal_s_frame(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	signal_comes(thread, AT(5));
	ret(thread);
	thread->now.reg[X86_RSP] = AT(38);
	thread->words[38] = CALLEE;
	ret(thread);

	const struct shadow_frame *top = shadow_top(&thread->shadow);

	assert_true(top->signal);
	assert_int_equal(top->doubt, DOUBT_STRAY);
}

/* Nor does a function begin there, though the stack pointer is one word below the frame. */
static void a_return_below_a_signal_s_frame_is_stray(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	signal_comes(thread, AT(5));
	ret(thread);
	thread->now.reg[X86_RSP] = AT(37);
	thread->words[37] = CALLEE;
	ret(thread);
	assert_true(shadow_top(&thread->shadow)->signal);
	assert_int_equal(shadow_top(&thread->shadow)->doubt, DOUBT_STRAY);
}

/* A return through a frame, to an address that was replaced. */
static void return_elsewhere_unwinds_the_frames_between(void **state)
{
	struct thread *thread = *state;

	call(thread, CALLEE);
	thread->now.reg[X86_RSP] = AT(5);
	assert_int_equal(shadow_enter(&thread->shadow, &thread->now, OTHER), 0);
	thread->now.reg[X86_RSP] = AT(39);
	thread->words[39] = OTHER;
	ret(thread);
	assert_null(shadow_top(&thread->shadow));
	assert_int_equal(thread->shadow.ended[SHADOW_END_REPLACED], 0);
	assert_int_equal(thread->shadow.ended[SHADOW_END_UNWOUND], 2);
	assert_books(&thread->shadow);
}

static void a_handler_without_a_return_address_is_doubted(void **state)
{
	struct thread *thread = *state;
	struct registers before;

	call(thread, CALLEE);
	before = thread->now;
	thread->now.reg[X86_RSP] = STACK - 8;
	assert_int_equal(shadow_signal(&thread->shadow, &before, &thread->now, read_word, thread),
			 0);
	assert_true(shadow_top(&thread->shadow)->signal);
	assert_int_equal(shadow_top(&thread->shadow)->doubt, DOUBT_STRAY);
}

static void too_deep_a_stack_loses_its_outermost_frames(void **state)
{
	struct thread *thread = *state;

	for (unsigned int i = 0; i < SHADOW_DEPTH_MAX + 1; i++)
		assert_int_equal(shadow_enter(&thread->shadow, &thread->now, MAIN + i), 0);
	assert_int_equal(thread->shadow.nr, SHADOW_DEPTH_MAX / 2 + 1);
	assert_int_equal(shadow_top(&thread->shadow)->ra, MAIN + SHADOW_DEPTH_MAX);
	for (unsigned int i = 0; i < thread->shadow.nr; i++)
		assert_int_equal(thread->shadow.frames[i].ra, MAIN + SHADOW_DEPTH_MAX / 2 + i);
	shadow_clear(&thread->shadow);
	assert_null(shadow_top(&thread->shadow));
	assert_books(&thread->shadow);
	shadow_fini(&thread->shadow);
	assert_null(thread->shadow.frames);
	assert_int_equal(thread->shadow.nr, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_makes_a_frame_and_its_return_ends_it),
		TEST(a_tail_jump_keeps_the_frame),
		TEST(call_of_the_next_instruction_makes_no_frame),
		TEST(a_retpoline_is_a_jump),
		TEST(a_return_may_be_a_tail_jump),
		TEST(a_return_into_the_middle_of_nowhere_is_doubted),
		TEST(a_frame_that_longjmp_went_back_to_is_doubted_until_it_returns),
		TEST(a_stack_from_elsewhere_is_doubted),
		TEST(a_return_may_go_through_frames),
		TEST(handler_returns_to_the_interrupted_code),
		TEST(a_handler_on_a_higher_stack_ends_no_frame),
		TEST(a_handler_that_chooses_another_place_is_doubted),
		TEST(longjmp_out_of_a_handler_ends_the_signal_s_frame),
		TEST(false_call_makes_no_frame),
		TEST(a_call_that_leaves_no_return_address_is_no_frame),
		TEST(the_first_doubt_stays),
		TEST(without_frames_nothing_is_doubted),
		TEST(a_return_whose_address_was_replaced_ends_its_frame_alone),
		TEST(a_return_goes_through_so_many_frames_at_most),
		TEST(the_signal_s_frame_stays_until_sigreturn),
		TEST(a_sigreturn_to_another_stack_is_doubted),
		TEST(a_handler_that_went_leaves_the_signal_s_frame),
		TEST(a_return_does_not_end_a_signal_s_frame),
		TEST(a_return_below_a_signal_s_frame_is_stray),
		TEST(return_elsewhere_unwinds_the_frames_between),
		TEST(a_handler_without_a_return_address_is_doubted),
		TEST(too_deep_a_stack_loses_its_outermost_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
