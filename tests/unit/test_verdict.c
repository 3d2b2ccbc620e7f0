/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of `compare`, stack by stack: C is the CFI walk, F the frame-pointer walk. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "compare/verdict.h"

#define FP_MAX 127u

#define FRAME(object, vaddr) ((uint64_t)(object) << FPL_FRAME_OBJECT_SHIFT | (vaddr))
#define ORIGIN(name)	     ((uint64_t)FPL_ORIGIN_##name << FPL_FRAME_ORIGIN_SHIFT)
#define RAW(addr)	     (FPL_FRAME_RAW | (addr))

/* Letters stand for code: the same letter is the same pc. */
static uint64_t code_of(char letter, bool leaf, uint64_t origin)
{
	return FRAME(1 + (letter & 1), 0x1000u + (unsigned char)letter) | origin |
	       (leaf ? FPL_FRAME_EXACT : 0);
}

struct stack_of {
	uint64_t frames[3 * FPL_DEPTH_MAX];
	struct profile_stack stack;
};

static struct profile_stack *stack_from(struct stack_of *of, const char *c, const char *f)
{
	size_t nr = 0;

	*of = (struct stack_of){ .stack = { .count = 1, .stop = FPL_STOP_OUTERMOST } };
	for (size_t i = 0; c[i]; i++)
		of->frames[nr++] = code_of(c[i], i == 0, ORIGIN(CFI));
	/* A look behind the end of a walk finds what fits: the other one's next, or the last
	 * again. */
	char behind = strlen(f) > strlen(c) ? f[strlen(c)] : c[strlen(c) - 1];
	of->frames[nr++] = code_of(behind, false, ORIGIN(CFI));
	for (size_t i = 0; f[i]; i++)
		of->frames[nr++] = code_of(f[i], i == 0, ORIGIN(FP));
	for (size_t i = strlen(f); i < strlen(c); i++)
		of->frames[nr++] = code_of(c[i], i == 0, ORIGIN(FP));
	of->stack.nr_user = (uint16_t)strlen(c);
	of->stack.nr_kernel = 1;
	of->stack.nr_fp = (uint16_t)strlen(f);
	of->stack.frames = of->frames;
	return &of->stack;
}

struct walk_case {
	const char *what, *c, *f;
	enum verdict_class class;
	size_t nr_common, parting, nr_followed;
};

static void assert_case(const struct walk_case *want)
{
	static struct stack_of of;
	struct profile_stack *stack = stack_from(&of, want->c, want->f);
	struct verdict verdict = verdict_of(stack, FP_MAX);

	if (verdict.class != want->class)
		fail_msg("%s: %s, expected %s", want->what, verdict_class_key(verdict.class),
			 verdict_class_key(want->class));
	if (verdict.nr_common != want->nr_common)
		fail_msg("%s: %zu frames in common", want->what, verdict.nr_common);
	if (verdict.nr_followed != want->nr_followed)
		fail_msg("%s: %zu frames followed", want->what, verdict.nr_followed);
	if (verdict.class != VERDICT_AGREE && verdict_parting(stack, &verdict) != want->parting)
		fail_msg("%s: part at %zu", want->what, verdict_parting(stack, &verdict));
}

static void the_class_follows_from_the_two_walks(void **state)
{
	static const struct walk_case cases[] = {
		{ "the same", "abcd", "abcd", VERDICT_AGREE, 4, 0, 4 },
		{ "one frame", "a", "a", VERDICT_AGREE, 1, 0, 1 },
		{ "no frame at all", "abcd", "", VERDICT_CUT, 0, 0, 0 },
		{ "the leaf alone", "abcd", "a", VERDICT_CUT, 1, 1, 1 },
		{ "all but the last", "abcd", "abc", VERDICT_CUT, 3, 3, 3 },
		{ "the caller of the leaf", "abcd", "acd", VERDICT_SKIP, 1, 1, 1 },
		{ "the leaf", "abcd", "bcd", VERDICT_SKIP, 0, 0, 0 },
		{ "two in a row", "abcde", "ade", VERDICT_SKIP, 1, 1, 1 },
		{ "two apart", "abcde", "ace", VERDICT_SKIP, 1, 1, 1 },
		{ "the last but one", "abcd", "abd", VERDICT_SKIP, 2, 2, 2 },
		{ "skips, then ends early", "abcde", "ac", VERDICT_SKIP, 1, 1, 1 },
		{ "a foreign frame at the end", "abcd", "abcx", VERDICT_WRONG, 3, 3, 3 },
		{ "a foreign frame in the middle", "abcd", "axcd", VERDICT_WRONG, 1, 1, 1 },
		{ "a foreign frame more", "abcd", "abxcd", VERDICT_WRONG, 2, 2, 2 },
		{ "a foreign leaf", "abcd", "xbcd", VERDICT_WRONG, 0, 0, 0 },
		{ "skips first, then a foreign frame", "abcd", "acx", VERDICT_WRONG, 1, 1, 1 },
		{ "longer than the stack", "abcd", "abcdx", VERDICT_WRONG, 4, 3, 4 },
		{ "longer by one it knows", "abcd", "abcda", VERDICT_WRONG, 4, 3, 4 },
		{ "longer than one frame", "a", "ax", VERDICT_WRONG, 1, 0, 1 },
		{ "the right frames in another order", "abcd", "acbd", VERDICT_WRONG, 1, 1, 1 },
		{ "a frame more often than it is there", "abcd", "abbcd", VERDICT_WRONG, 2, 2, 2 },
		{ "the last frame twice", "abcd", "abcdd", VERDICT_WRONG, 4, 3, 4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_case(&cases[i]);
}

static void in_a_recursion_the_earliest_frame_that_can_be_is_the_one_left_out(void **state)
{
	static const struct walk_case cases[] = {
		{ "the same recursion", "arrrm", "arrrm", VERDICT_AGREE, 5, 0, 5 },
		{ "a recursion cut short", "rrrrm", "rr", VERDICT_CUT, 2, 2, 2 },
		{ "one turn of a recursion", "arrrm", "arrm", VERDICT_SKIP, 3, 3, 1 },
		{ "a whole recursion", "arrrm", "am", VERDICT_SKIP, 1, 1, 1 },
		{ "a turn of a longer recursion", "apqpqpqm", "apqpqm", VERDICT_SKIP, 5, 5, 1 },
		{ "a turn and a half", "apqpqpqm", "aqpqm", VERDICT_SKIP, 1, 1, 1 },
		{ "a turn that began behind another frame", "abrrrm", "abrrm", VERDICT_SKIP, 4, 4,
		  2 },
		{ "a recursion from the leaf on", "rrrm", "rrm", VERDICT_SKIP, 2, 2, 1 },
		{ "a turn left out, then a foreign frame", "arrrmn", "arrmx", VERDICT_WRONG, 3, 3,
		  1 },
		{ "a foreign frame at its end", "arrr", "arrx", VERDICT_WRONG, 3, 3, 3 },
		{ "a foreign frame in a recursion", "arrrm", "arrx", VERDICT_WRONG, 3, 3, 3 },
		{ "a turn of a recursion too many", "arrm", "arrrm", VERDICT_WRONG, 3, 3, 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_case(&cases[i]);
}

static void pcs_are_equal_by_object_and_vaddr_or_by_raw_address(void **state)
{
	static const struct {
		const char *what;
		uint64_t c, f;
		bool same;
	} cases[] = {
		{ "the same", FRAME(1, 0x1000), FRAME(1, 0x1000), true },
		{ "found in another way", FRAME(1, 0x1000) | ORIGIN(CFI_USER),
		  FRAME(1, 0x1000) | ORIGIN(FP), true },
		{ "exact on one side", FRAME(1, 0x1000) | FPL_FRAME_EXACT, FRAME(1, 0x1000), true },
		{ "another object", FRAME(1, 0x1000), FRAME(2, 0x1000), false },
		{ "another vaddr", FRAME(1, 0x1000), FRAME(1, 0x1001), false },
		{ "a vaddr that differs in its highest bit", FRAME(1, 0), FRAME(1, 1ull << 39),
		  false },
		{ "the highest object", FRAME(FPL_FRAME_OBJECT_MAX, 1),
		  FRAME(FPL_FRAME_OBJECT_MAX >> 1, 1), false },
		{ "the same raw address", RAW(0x7f0000001000), RAW(0x7f0000001000) | ORIGIN(FP),
		  true },
		{ "another raw address", RAW(0x7f0000001000), RAW(0x7f0000001008), false },
		{ "raw on one side", RAW(FRAME(1, 0x1000)), FRAME(1, 0x1000), false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t frames[] = { FRAME(9, 1), cases[i].c, FRAME(9, 1), cases[i].f };
		struct profile_stack stack = { .count = 1,
					       .stop = FPL_STOP_OUTERMOST,
					       .nr_user = 2,
					       .nr_fp = 2,
					       .frames = frames };
		enum verdict_class class = verdict_of(&stack, FP_MAX).class;

		if (class != (cases[i].same ? VERDICT_AGREE : VERDICT_WRONG))
			fail_msg("%s: %s", cases[i].what, verdict_class_key(class));
	}
}

/* A walk of @nr frames, all different, without the one at @skipped. */
static void fill(uint64_t *frames, size_t nr, size_t skipped)
{
	for (size_t i = 0; i < nr; i++)
		frames[i] = FRAME(1, 0x1000 + (i >= skipped ? i + 1 : i));
}

static void full_walk_is_not_judged_beyond_its_end(void **state)
{
	static const struct {
		const char *what;
		size_t nr_c, nr_f, skipped;
		uint32_t fp_max;
		enum verdict_class class;
	} cases[] = {
		{ "both at the limit", 127, 127, 999, 127, VERDICT_AGREE },
		{ "one frame beyond", 128, 127, 999, 127, VERDICT_AGREE },
		{ "as deep as it gets", FPL_DEPTH_MAX, 127, 999, 127, VERDICT_AGREE },
		{ "one short of the limit, stack at it", 127, 126, 999, 127, VERDICT_CUT },
		{ "one short of the limit, stack beyond", 200, 126, 999, 127, VERDICT_CUT },
		{ "a machine with a lower limit", 200, 64, 999, 64, VERDICT_AGREE },
		{ "short of a lower limit", 200, 63, 999, 64, VERDICT_CUT },
		{ "leaves one out and is full all the same", 200, 127, 1, 127, VERDICT_SKIP },
		{ "leaves one out within the limit", 200, 100, 50, 127, VERDICT_SKIP },
		{ "longer than the stack", 126, 127, 999, 127, VERDICT_WRONG },
	};
	static uint64_t frames[2 * FPL_DEPTH_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile_stack stack = { .count = 1,
					       .stop = FPL_STOP_OUTERMOST,
					       .nr_user = (uint16_t)cases[i].nr_c,
					       .nr_fp = (uint16_t)cases[i].nr_f,
					       .frames = frames };

		fill(frames, cases[i].nr_c, SIZE_MAX);
		fill(frames + cases[i].nr_c, cases[i].nr_f, cases[i].skipped);
		enum verdict_class class = verdict_of(&stack, cases[i].fp_max).class;
		if (class != cases[i].class)
			fail_msg("%s: %s", cases[i].what, verdict_class_key(class));
	}
}

static void walks_are_compared_up_to_the_gap(void **state)
{
	static const struct {
		const char *what;
		size_t gap, nr_f, skipped;
		enum verdict_class class;
	} cases[] = {
		{ "all of F before it", 127, 127, 999, VERDICT_AGREE },
		{ "all of F before it, one left out", 128, 127, 50, VERDICT_SKIP },
		{ "F may go on in it", 127, 127, 50, VERDICT_UNJUDGED },
		{ "within the reach of F", 126, 127, 999, VERDICT_UNJUDGED },
		{ "F ends before it", 200, 100, 999, VERDICT_CUT },
	};
	static uint64_t frames[2 * FPL_DEPTH_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile_stack stack = { .count = 1,
					       .stop = FPL_STOP_OUTERMOST,
					       .nr_user = 300,
					       .nr_fp = (uint16_t)cases[i].nr_f,
					       .elided = 7,
					       .frames = frames };

		fill(frames, 300, SIZE_MAX);
		frames[cases[i].gap] = FPL_FRAME_GAP;
		fill(frames + 300, cases[i].nr_f, cases[i].skipped);
		struct verdict verdict = verdict_of(&stack, 127);

		if (verdict.class != cases[i].class)
			fail_msg("%s: %s", cases[i].what, verdict_class_key(verdict.class));
		if (verdict.class == VERDICT_UNJUDGED)
			assert_int_equal(verdict.reason, VERDICT_REASON_LEFT_OUT);
	}
}

static void uncertain_walk_is_not_judged(void **state)
{
	static const struct {
		const char *what;
		uint8_t flags, stop;
		uint64_t second, third; /* origins of frames of C */
		uint16_t nr_user;
		unsigned reason;
		const char *key;
	} cases[] = {
		{ "a kernel thread", FPL_SAMPLE_KTHREAD, FPL_STOP_NO_USER_REGS, 0, 0, 0,
		  VERDICT_REASON_NO_USER_PART, "no_user_part" },
		{ "a kernel thread, whatever else it has", FPL_SAMPLE_KTHREAD, FPL_STOP_OUTERMOST,
		  0, 0, 3, VERDICT_REASON_NO_USER_PART, "no_user_part" },
		{ "exiting", 0, FPL_STOP_EXITING, 0, 0, 0, FPL_STOP_EXITING, "exiting" },
		{ "an incomplete stack", 0, FPL_STOP_READ_FAULT, 0, 0, 3, FPL_STOP_READ_FAULT,
		  "read_fault" },
		{ "the last of the stops", 0, FPL_STOP_COUNT - 1, 0, 0, 3, FPL_STOP_COUNT - 1,
		  "not_walked" },
		{ "a chain of frame pointers that ended", 0, FPL_STOP_FP_END, ORIGIN(FP), 0, 3,
		  FPL_STOP_FP_END, "fp_end" },
		{ "a frame-pointer step", 0, FPL_STOP_OUTERMOST, 0, ORIGIN(FP), 3,
		  VERDICT_REASON_FP_FRAME, "fp_frame" },
		{ "a frame-pointer step behind a row from code", 0, FPL_STOP_OUTERMOST,
		  ORIGIN(SYNTH), ORIGIN(FP), 3, VERDICT_REASON_FP_FRAME, "fp_frame" },
		{ "complete without a frame", 0, FPL_STOP_OUTERMOST, 0, 0, 0,
		  VERDICT_REASON_NO_USER_PART, "no_user_part" },
		{ "no stop at all", 0, FPL_STOP_NONE, 0, 0, 3, VERDICT_REASON_NO_USER_PART,
		  "no_user_part" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t frames[] = { FRAME(1, 1), FRAME(1, 2) | cases[i].second,
				      FRAME(1, 3) | cases[i].third };
		struct profile_stack stack = { .count = 1,
					       .flags = cases[i].flags,
					       .stop = cases[i].stop,
					       .nr_user = cases[i].nr_user,
					       .frames = frames };
		struct verdict verdict = verdict_of(&stack, FP_MAX);

		if (verdict.class != VERDICT_UNJUDGED)
			fail_msg("%s: %s", cases[i].what, verdict_class_key(verdict.class));
		if (verdict.reason != cases[i].reason)
			fail_msg("%s: %s", cases[i].what, verdict_reason_key(verdict.reason));
		assert_string_equal(verdict_reason_key(verdict.reason), cases[i].key);
		assert_true(strlen(verdict_reason_text(verdict.reason)) > 5);
	}
}

static void a_leaf_that_was_not_found_by_cfi_is_not_judged(void **state)
{
	uint64_t frame = FRAME(1, 1) | ORIGIN(FP);
	struct profile_stack stack = { .count = 1, .nr_user = 1, .frames = &frame };

	(void)state;
	assert_int_equal(verdict_of(&stack, FP_MAX).reason, VERDICT_REASON_FP_FRAME);
	assert_string_equal(verdict_reason_key(VERDICT_REASON_SYNTH_FRAME), "synth_frame");
	assert_string_equal(verdict_reason_text(VERDICT_REASON_SYNTH_FRAME),
			    "the CFI walk used a row made for code without CFI");
	assert_string_equal(verdict_reason_text(FPL_STOP_COMPAT32), "32-bit code");
}

static void frames_walked_in_userspace_by_the_same_rows_are_judged(void **state)
{
	uint64_t frames[] = { FRAME(1, 1) | ORIGIN(CFI_USER), FRAME(1, 2) | ORIGIN(CFI_USER),
			      FRAME(1, 1) | ORIGIN(FP), FRAME(1, 2) | ORIGIN(FP) };
	struct profile_stack stack = { .count = 1,
				       .flags = FPL_SAMPLE_KERNEL | FPL_SAMPLE_RAW,
				       .stop = FPL_STOP_OUTERMOST,
				       .nr_user = 2,
				       .nr_fp = 2,
				       .frames = frames };

	(void)state;
	assert_int_equal(verdict_of(&stack, FP_MAX).class, VERDICT_AGREE);
	assert_string_equal(verdict_class_key(VERDICT_AGREE), "agree");
	assert_string_equal(verdict_class_key(VERDICT_UNJUDGED), "unjudged");
}

/* By the walk of CFI or by rows from code: F is as right, or as wrong, as it is. */
static void frames_found_by_rows_from_code_are_judged(void **state)
{
	static const struct {
		uint64_t origin[3]; /* of the frames of C */
		uint64_t last;	    /* of F */
		enum verdict_class class;
	} cases[] = {
		{ { ORIGIN(SYNTH), 0, 0 }, 3, VERDICT_AGREE },
		{ { 0, ORIGIN(SYNTH), 0 }, 3, VERDICT_AGREE },
		{ { 0, 0, ORIGIN(SYNTH) }, 3, VERDICT_AGREE },
		{ { ORIGIN(SYNTH), ORIGIN(SYNTH), ORIGIN(CFI_USER) }, 4, VERDICT_WRONG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint64_t *origin = cases[i].origin;
		uint64_t frames[] = {
			FRAME(1, 1) | origin[0],  FRAME(1, 2) | origin[1],
			FRAME(1, 3) | origin[2],  FRAME(1, 1) | ORIGIN(FP),
			FRAME(1, 2) | ORIGIN(FP), FRAME(1, cases[i].last) | ORIGIN(FP)
		};
		struct profile_stack stack = { .count = 1,
					       .stop = FPL_STOP_OUTERMOST,
					       .nr_user = 3,
					       .nr_fp = 3,
					       .frames = frames };

		assert_int_equal(verdict_of(&stack, FP_MAX).class, cases[i].class);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_class_follows_from_the_two_walks),
		cmocka_unit_test(in_a_recursion_the_earliest_frame_that_can_be_is_the_one_left_out),
		cmocka_unit_test(pcs_are_equal_by_object_and_vaddr_or_by_raw_address),
		cmocka_unit_test(full_walk_is_not_judged_beyond_its_end),
		cmocka_unit_test(walks_are_compared_up_to_the_gap),
		cmocka_unit_test(uncertain_walk_is_not_judged),
		cmocka_unit_test(a_leaf_that_was_not_found_by_cfi_is_not_judged),
		cmocka_unit_test(frames_found_by_rows_from_code_are_judged),
		cmocka_unit_test(frames_walked_in_userspace_by_the_same_rows_are_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
