/* SPDX-License-Identifier: Apache-2.0 */
/* bpf/script.h: chains of script frames behind the native frames of an interpreter. */
#include <stdbool.h>

#include "tests/support/walk_scene.h"

#define HEAP	    0x600000000000ull /* script frames, of FRAME_BYTES, from here on */
#define CODES	    0x610000000000ull /* code objects, of 64 bytes */
#define TYPE	    0x900u	      /* vaddr: what the check wants */
#define NR_HEAP	    4096u	      /* words */
#define FRAME_AT(i) (HEAP + 64ull * (i))
#define CODE_AT(i)  (CODES + 64ull * (i))

/* A script frame is 64 bytes: code, previous, place, a byte that is 1 in the last one. */
struct script_scene {
	struct scene *s;
	uint64_t heap[NR_HEAP], codes[512];
};

static const struct fpl_script_rule rule_script = {
	.start = { 0x2000 },
	.end = { 0x3000 },
	.object = WORLD_ID,
	.cfa_off = 16,
	.cfa_reg = 7,
	.check_vaddr = TYPE,
	.check_size = 1,
	.stop_mask = 0xff,
	.has_slots = 1,
	.place_mask = UINT64_MAX,
	.stop_value = 1,
	.carries = FPL_SCRIPT_CARRIES_NEXT,
	.check = { .off = { 0, 8 }, .nr = 2 },
	.code = { .off = { 0 }, .nr = 1 },
	.next = { .off = { 8 }, .nr = 1 },
	.place = { .off = { 16 }, .nr = 1 },
	.stop = { .off = { 27 }, .nr = 1, .bits = 8 },
	.shows_last = 1,
	.above = 32,
};

static int setup_script(void **state)
{
	struct script_scene *t = calloc(1, sizeof(*t));
	void *scene;

	assert_non_null(t);
	setup(&scene);
	t->s = scene;
	world_memory(&t->s->world, HEAP, t->heap, sizeof(t->heap));
	world_memory(&t->s->world, CODES, t->codes, sizeof(t->codes));
	t->s->world.script_rules[1] = rule_script;
	t->s->world.objects[WORLD_SLOT].script = 1;
	for (size_t i = 1; i < ARRAY_SIZE(t->codes); i += 8)
		t->codes[i] = PC(TYPE);
	*state = t;
	return 0;
}

static int teardown_script(void **state)
{
	struct script_scene *t = *state;
	void *scene = t->s;

	teardown(&scene);
	free(t);
	return 0;
}

/* Script frame @i has code @code, is @place behind its beginning; @previous: number of the frame
 * behind it. */
static void put_frame(struct script_scene *t, uint32_t i, uint32_t code, uint64_t place,
		      uint32_t previous, int is_last)
{
	uint64_t *words = t->heap + 8 * i;

	words[0] = CODE_AT(code);
	words[1] = FRAME_AT(previous);
	words[2] = CODE_AT(code) + place;
	words[3] = is_last ? 1ull << 24 : 0;
}

/* Walk from the registers of the scene to the outermost of @nr_frames. Returns the walk. */
static const struct fpl_walk *walk_from_here(struct scene *s, uint32_t nr_frames)
{
	struct walker walker = {
		.walk = &s->walk, .frames = s->frames, .env = &s->world, .memory = &s->memory
	};

	s->walk.exact = 1;
	s->walk.nr_frames = 0;
	s->walk.elided = 0;
	s->walk.nr = s->world.nr_mappings;
	walk_run(&walker);
	assert_int_equal(s->walk.stop, FPL_STOP_OUTERMOST);
	assert_int_equal(s->walk.nr_frames, nr_frames);
	return &s->walk;
}

/* Two native frames of the interpreter, called by the outermost one. @rbx: of the inner one;
 * @outer: what it saved for the outer one. Returns the walk. */
static const struct fpl_walk *walk_two(struct script_scene *t, uint64_t rbx, uint64_t outer)
{
	struct scene *s = t->s;

	/* rule_frame saves rbp, two words below the CFA: so the frame is in rbp here */
	s->words[0] = outer;
	s->words[1] = PC(0x2100);
	s->words[2] = 0;
	s->words[3] = PC(0x4100);
	s->walk.reg[ARCH_FP] = rbx;
	s->walk.reg[7] = AT(0);
	s->walk.known = 1u << ARCH_FP | 1u << 7;
	s->walk.pc = PC(0x2050);
	return walk_from_here(s, 3);
}

#define HEAD(index, end, nr)                                                           \
	(1ull << FPL_SCRIPT_RULE_SHIFT | (uint64_t)(index) << FPL_SCRIPT_INDEX_SHIFT | \
	 (uint64_t)(end) << FPL_SCRIPT_END_SHIFT | (nr))

static void check_words(const struct fpl_walk *walk, const uint64_t *want, size_t nr)
{
	assert_int_equal(walk->nr_script, nr);
	for (size_t i = 0; i < nr; i++) {
		if (walk->script_words[i] != want[i])
			fail_msg("word %zu is %#llx, wanted %#llx", i,
				 (unsigned long long)walk->script_words[i],
				 (unsigned long long)want[i]);
	}
}

static void each_native_frame_has_the_script_frames_up_to_its_first(void **state)
{
	struct script_scene *t = *state;
	const uint64_t want[] = {
		HEAD(0, FPL_SCRIPT_END_OUTERMOST, 2), CODE_AT(1), 11, CODE_AT(2), 12,
		HEAD(1, FPL_SCRIPT_END_OUTERMOST, 1), CODE_AT(3), 13,
	};

	put_frame(t, 10, 1, 11, 9, 0);
	put_frame(t, 9, 2, 12, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	/* the second time from the frames remembered */
	for (int i = 0; i < 2; i++)
		check_words(walk_two(t, FRAME_AT(10), FRAME_AT(8)), want, ARRAY_SIZE(want));
}

static void last_frame_may_be_none_of_the_script(void **state)
{
	struct script_scene *t = *state;
	const uint64_t want[] = {
		HEAD(0, FPL_SCRIPT_END_OUTERMOST, 1),
		CODE_AT(1),
		11,
		HEAD(1, FPL_SCRIPT_END_OUTERMOST, 0),
	};

	t->s->world.script_rules[1].shows_last = 0;
	put_frame(t, 10, 1, 11, 9, 0);
	put_frame(t, 9, 2, 12, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(8)), want, ARRAY_SIZE(want));
}

static void register_that_fails_the_check_gives_way_to_the_frame_carried(void **state)
{
	struct script_scene *t = *state;
	const uint64_t want[] = {
		HEAD(0, FPL_SCRIPT_END_OUTERMOST, 1),
		CODE_AT(1),
		11,
		HEAD(1, FPL_SCRIPT_END_OUTERMOST, 1) | FPL_SCRIPT_DIFFER,
		CODE_AT(3),
		13,
	};

	put_frame(t, 10, 1, 11, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	check_words(walk_two(t, FRAME_AT(10), 0x1234567890), want, ARRAY_SIZE(want));
}

/* Code made at run time, which the outer of the two loops has called, calls the inner one by a
 * function without script frames: @outer is in the outer loop's register, @made in the code's.
 * Returns the walk. */
static const struct fpl_walk *walk_made(struct script_scene *t, bool has_inner, uint64_t made,
					uint64_t outer)
{
	static const uint8_t code[] = { 0x58, 0xc3 }; /* pop rax; ret */
	struct scene *s = t->s;
	uint32_t at = has_inner ? 0 : 2;

	memcpy(s->jit + 0x100, code, sizeof(code));
	s->code[0x20fb] = s->code[0x40fb] = 0xe8; /* calls before these addresses */
	s->words[0] = 0;
	s->words[1] = ANON_START + 0x100;
	s->words[3] = PC(0x2100);
	s->words[4] = 0;
	s->words[5] = PC(0x4100);
	s->world.region = (struct fpl_region){
		.id = 9, .kind = FPL_REGION_FOLLOW, .end = 1ull << 47, .frame_reg = ARCH_R12
	};
	for (uint32_t i = 0; i < s->world.nr_mappings; i++)
		if (s->world.mappings[i].start == ANON_START)
			s->world.mappings[i].bias = fpl_region_ref(9, 1);
	s->words[0] = outer; /* saved by the inner loop */
	s->walk.reg[ARCH_FP] = has_inner ? FRAME_AT(20) : outer;
	s->walk.reg[ARCH_R12] = made;
	s->walk.reg[7] = AT(at);
	s->walk.known = 1u << ARCH_FP | 1u << ARCH_R12 | 1u << 7;
	s->walk.pc = has_inner ? PC(0x2050) : ANON_START + 0x100;
	return walk_from_here(s, has_inner ? 4 : 3);
}

static void frame_of_made_code_comes_before_that_of_the_loop(void **state)
{
	struct script_scene *t = *state;
	const uint64_t leaf[] = {
		HEAD(1, FPL_SCRIPT_END_OUTERMOST, 2), CODE_AT(1), 11, CODE_AT(2), 12,
	};
	const uint64_t called[] = {
		HEAD(0, FPL_SCRIPT_END_OUTERMOST, 1),
		CODE_AT(3),
		13,
		HEAD(2, FPL_SCRIPT_END_OUTERMOST, 2),
		CODE_AT(1),
		11,
		CODE_AT(2),
		12,
	};
	const uint64_t unknown[] = { HEAD(1, FPL_SCRIPT_END_UNKNOWN, 0) };

	put_frame(t, 20, 3, 13, 10, 1);
	put_frame(t, 10, 1, 11, 9, 0);
	put_frame(t, 9, 2, 12, 8, 1);
	check_words(walk_made(t, false, FRAME_AT(10), FRAME_AT(9)), leaf, ARRAY_SIZE(leaf));
	/* the chain of the inner loop says more than the register */
	check_words(walk_made(t, true, 0x1234567890, FRAME_AT(9)), called, ARRAY_SIZE(called));
	check_words(walk_made(t, true, FRAME_AT(9), FRAME_AT(9)), called, ARRAY_SIZE(called));
	/* the loop's own register has an outer frame: it is not believed */
	check_words(walk_made(t, false, 0x1234567890, FRAME_AT(9)), unknown, ARRAY_SIZE(unknown));
}

static void place_without_a_frame_is_unknown(void **state)
{
	struct script_scene *t = *state;
	const uint64_t want[] = { HEAD(0, FPL_SCRIPT_END_UNKNOWN, 0),
				  HEAD(1, FPL_SCRIPT_END_OUTERMOST, 1), CODE_AT(3), 13 };

	t->codes[8 * 1 + 1] = PC(TYPE + 8); /* of another type */
	put_frame(t, 10, 1, 11, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(8)), want, ARRAY_SIZE(want));
}

static void chain_in_a_circle_ends(void **state)
{
	struct script_scene *t = *state;
	const struct fpl_walk *walk;

	put_frame(t, 10, 1, 11, 9, 0);
	put_frame(t, 9, 2, 12, 10, 0);
	walk = walk_two(t, FRAME_AT(10), FRAME_AT(10));
	assert_int_equal(walk->script_words[0],
			 HEAD(0, FPL_SCRIPT_END_DEPTH, FPL_SCRIPT_CHAIN_MAX));
	assert_int_equal(walk->nr_script_frames, FPL_SCRIPT_FRAMES_MAX);
	assert_int_equal(walk->nr_script, 2 + 2 * FPL_SCRIPT_FRAMES_MAX);
}

static void words_end_at_their_bound(void **state)
{
	enum { NATIVE = 500 };
	struct script_scene *t = *state;
	struct scene *s = t->s;
	struct walker walker = {
		.walk = &s->walk, .frames = s->frames, .env = &s->world, .memory = &s->memory
	};
	uint32_t last = 0;

	put_frame(t, 10, 1, 11, 9, 0);
	put_frame(t, 9, 2, 12, 10, 1);
	for (size_t i = 0; i < NATIVE; i++) {
		s->words[2 * i] = FRAME_AT(10);
		s->words[2 * i + 1] = i < NATIVE - 1 ? PC(0x2100) : PC(0x4100);
	}
	s->walk.reg[ARCH_FP] = FRAME_AT(10);
	s->walk.max_depth = 2 * NATIVE;
	s->walk.pc = PC(0x2050);
	s->walk.exact = 1;
	s->walk.nr = s->world.nr_mappings;
	walk_run(&walker);
	assert_int_equal(s->walk.nr_frames, NATIVE + 1);
	/* heads of five words, as many as there is room for, and one that is cut */
	assert_in_range(s->walk.nr_script, FPL_SCRIPT_WORDS_MAX - 4, FPL_SCRIPT_WORDS_MAX);
	for (uint32_t at = 0; at < s->walk.nr_script;
	     at += 1 + 2 * (uint32_t)(s->walk.script_words[at] & 0xffff))
		last = at;
	assert_int_equal(s->walk.script_words[last], HEAD(last / 5, FPL_SCRIPT_END_DEPTH, 1));
}

static void chain_that_leaves_memory_is_a_fault(void **state)
{
	struct script_scene *t = *state;
	static const uint64_t bad[] = { 0,     4,	 0xffffffff81000000ull,
					~0ull, HEAP + 3, 0x630000000000ull };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put_frame(t, 10, 1, 11, 9, 0);
		t->heap[8 * 10 + 1] = bad[i];
		assert_int_equal(walk_two(t, FRAME_AT(10), 0)->script_words[0],
				 HEAD(0, FPL_SCRIPT_END_FAULT, 1));
	}
}

static void register_is_settled_by_votes(void **state)
{
	struct script_scene *t = *state;
	const struct fpl_script_rule *rule = &t->s->world.script_rules[1];

	put_frame(t, 10, 1, 11, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	for (uint32_t i = 0; i < FPL_SCRIPT_VOTES / 2; i++) {
		assert_int_equal(rule->settled, 0);
		walk_two(t, FRAME_AT(10), FRAME_AT(8));
	}
	assert_int_equal(rule->settled, ARCH_FP + 1);
	assert_int_equal(rule->looked, FPL_SCRIPT_VOTES);
	assert_int_equal(rule->votes[1], FPL_SCRIPT_VOTES);
	walk_two(t, FRAME_AT(10), FRAME_AT(8));
	assert_int_equal(rule->looked, FPL_SCRIPT_VOTES);
}

static void register_that_often_fails_is_not_settled(void **state)
{
	struct script_scene *t = *state;
	const struct fpl_script_rule *rule = &t->s->world.script_rules[1];

	put_frame(t, 10, 1, 11, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	for (uint32_t i = 0; i < 2 * FPL_SCRIPT_VOTES; i++)
		walk_two(t, FRAME_AT(10), i % 8 ? FRAME_AT(8) : 0);
	assert_int_equal(rule->settled, 0);
}

static void other_content_is_another_word(void **state)
{
	struct script_scene *t = *state;
	uint64_t words[3], places[3];

	t->s->world.script_rules[1].content =
		(struct fpl_script_content){ .other = 1, .text = 8, .nr = 9 };
	t->codes[8 * 2] = CODES + 8 * 200; /* the text: behind 8 words */
	put_frame(t, 10, 1, 11, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	for (uint64_t i = 0; i < 3; i++) {
		t->codes[204] = i / 2;
		const struct fpl_walk *walk = walk_two(t, FRAME_AT(10), FRAME_AT(8));

		words[i] = walk->script_words[1];
		places[i] = walk->script_words[2];
		assert_int_equal(words[i] & FPL_SCRIPT_CODE_MASK, CODE_AT(1));
		assert_int_equal(places[i] & UINT32_MAX, 11);
	}
	assert_int_equal(words[0], words[1]);
	assert_int_equal(places[0], places[1]);
	assert_int_not_equal(words[1], words[2]);
	assert_int_not_equal(places[1], places[2]);
}

/* Frames of functions that the loop does not run lie between those of two native frames. */
static void chain_leads_to_the_next_frame_that_passes(void **state)
{
	struct script_scene *t = *state;
	uint64_t want[] = {
		HEAD(0, FPL_SCRIPT_END_OUTERMOST, 1), CODE_AT(1), 11,
		HEAD(1, FPL_SCRIPT_END_OUTERMOST, 1), CODE_AT(3), 13,
	};

	t->s->world.script_rules[1].carries = FPL_SCRIPT_CARRIES_CHAIN;
	t->codes[8 * 2 + 1] = PC(TYPE + 1);
	put_frame(t, 10, 1, 11, 9, 1);
	put_frame(t, 9, 2, 12, 7, 0);
	put_frame(t, 7, 2, 12, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(8)), want, ARRAY_SIZE(want));
	/* a register that CFI does not restore is that of the callee: a frame, but not this one */
	want[3] |= FPL_SCRIPT_DIFFER;
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(10)), want, ARRAY_SIZE(want));
}

static void chain_that_leads_to_no_frame_is_not_believed(void **state)
{
	struct script_scene *t = *state;
	const uint64_t want[] = {
		HEAD(0, FPL_SCRIPT_END_OUTERMOST, 1), CODE_AT(1), 11,
		HEAD(1, FPL_SCRIPT_END_OUTERMOST, 1), CODE_AT(3), 13,
	};

	t->s->world.script_rules[1].carries = FPL_SCRIPT_CARRIES_CHAIN;
	t->codes[8 * 2 + 1] = PC(TYPE + 1);
	put_frame(t, 10, 1, 11, 9, 1);
	put_frame(t, 9, 2, 12, 9, 0); /* in a circle */
	put_frame(t, 8, 3, 13, 0, 1);
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(8)), want, ARRAY_SIZE(want));
	t->heap[8 * 9 + 1] = 0;
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(8)), want, ARRAY_SIZE(want));
}

static void innermost_place_is_that_of_the_register(void **state)
{
	struct script_scene *t = *state;
	struct fpl_script_rule *rule = &t->s->world.script_rules[1];
	const uint64_t want[] = {
		HEAD(0, FPL_SCRIPT_END_OUTERMOST, 2),
		CODE_AT(1),
		77,
		CODE_AT(2),
		CODE_AT(2) + 12,
		HEAD(1, FPL_SCRIPT_END_OUTERMOST, 1),
		CODE_AT(3),
		CODE_AT(3) + 13,
	};
	uint64_t plain[ARRAY_SIZE(want)];

	rule->place_mask = 0;
	rule->place.bits = 32;
	rule->leaf_reg = ARCH_FP;
	rule->leaf_check = rule->check;
	rule->leaf = (struct fpl_script_load){ .off = { 36 }, .nr = 1, .bits = 32 };
	put_frame(t, 10, 1, 11, 9, 0);
	put_frame(t, 9, 2, 12, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	t->heap[8 * 10 + 4] = 77ull << 32;
	memcpy(plain, want, sizeof(plain));
	for (size_t i = 4; i < ARRAY_SIZE(want); i += 3)
		plain[i] = (uint32_t)plain[i];
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(8)), plain, ARRAY_SIZE(plain));
	/* what does not pass its own check says nothing */
	rule->leaf_check.off[1] = 16;
	plain[2] = (uint32_t)(CODE_AT(1) + 11);
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(8)), plain, ARRAY_SIZE(plain));
}

static void innermost_place_is_the_register_that_leads_into_the_code(void **state)
{
	struct script_scene *t = *state;
	struct fpl_script_rule *rule = &t->s->world.script_rules[1];
	uint64_t *code = t->codes + 8 * 1;
	const struct {
		const char *what;
		uint64_t first, nr;
		uint32_t want;
	} cases[] = {
		{ "in the middle", FRAME_AT(10) - 40, 100, (uint32_t)FRAME_AT(10) },
		{ "behind the first", FRAME_AT(10) - 4, 100, (uint32_t)FRAME_AT(10) },
		{ "behind the last", FRAME_AT(10) - 40, 10, (uint32_t)FRAME_AT(10) },
		{ "before the first", FRAME_AT(10), 100, 11 },
		{ "beyond the last", FRAME_AT(10) - 44, 10, 11 },
		{ "more than there can be", FRAME_AT(10) - 40, UINT32_MAX, (uint32_t)FRAME_AT(10) },
	};

	rule->first_step = (struct fpl_script_load){ .off = { 16 }, .nr = 1 };
	rule->nr_steps = (struct fpl_script_load){ .off = { 24 }, .nr = 1, .bits = 32 };
	rule->step_bytes = 4;
	put_frame(t, 10, 1, 11, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		code[2] = cases[i].first;
		code[3] = cases[i].nr;
		if (walk_two(t, FRAME_AT(10), FRAME_AT(8))->script_words[2] != cases[i].want)
			fail_msg("%s", cases[i].what);
		/* that of an outer frame stays what its frame has */
		assert_int_equal(walk_two(t, FRAME_AT(10), FRAME_AT(8))->script_words[5], 13);
	}
}

static void marks_of_pointers_are_no_part_of_them(void **state)
{
	struct script_scene *t = *state;
	struct fpl_script_rule *rule = &t->s->world.script_rules[1];
	const uint64_t want[] = {
		HEAD(0, FPL_SCRIPT_END_OUTERMOST, 1), CODE_AT(1), 11,
		HEAD(1, FPL_SCRIPT_END_OUTERMOST, 1), CODE_AT(3), 13,
	};

	/* the type of the type, in a range of values */
	rule->check = (struct fpl_script_load){ .off = { 0, 16, 8 }, .nr = 3 };
	rule->check_size = 0x10;
	t->codes[8 * 1 + 2] = CODE_AT(5) + 1;
	t->codes[8 * 3 + 2] = CODE_AT(5) + 2;
	t->codes[8 * 5 + 1] = PC(TYPE + 0xf);
	put_frame(t, 10, 1, 11, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	t->heap[8 * 10] |= 1;
	t->heap[8 * 8] |= 7;
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(8)), want, ARRAY_SIZE(want));
	t->codes[8 * 5 + 1] = PC(TYPE + 0x10);
	assert_int_equal(walk_two(t, FRAME_AT(10), FRAME_AT(8))->script_words[0],
			 HEAD(0, FPL_SCRIPT_END_UNKNOWN, 0));
}

static void frames_may_be_an_array(void **state)
{
	struct script_scene *t = *state;
	struct fpl_script_rule *rule = &t->s->world.script_rules[1];
	const uint64_t want[] = {
		HEAD(0, FPL_SCRIPT_END_OUTERMOST, 3),
		CODE_AT(1),
		11,
		CODE_AT(2),
		12,
		CODE_AT(3),
		13,
		HEAD(1, FPL_SCRIPT_END_OUTERMOST, 1),
		CODE_AT(3),
		13,
	};

	rule->next = (struct fpl_script_load){ .off = { 64 } };
	rule->ahead = 512;
	rule->carries = FPL_SCRIPT_CARRIES_NOTHING;
	put_frame(t, 10, 1, 11, 0, 0);
	put_frame(t, 11, 2, 12, 0, 0);
	put_frame(t, 12, 3, 13, 0, 1);
	check_words(walk_two(t, FRAME_AT(10), FRAME_AT(12)), want, ARRAY_SIZE(want));
}

static void check_may_want_a_value(void **state)
{
	struct script_scene *t = *state;
	struct fpl_script_rule *rule = &t->s->world.script_rules[1];

	put_frame(t, 10, 1, 11, 8, 1);
	put_frame(t, 8, 3, 13, 0, 1);
	rule->check_is_value = 1;
	assert_int_equal(walk_two(t, FRAME_AT(10), FRAME_AT(8))->script_words[0],
			 HEAD(0, FPL_SCRIPT_END_UNKNOWN, 0));
	t->codes[8 * 1 + 1] = TYPE;
	assert_int_equal(walk_two(t, FRAME_AT(10), FRAME_AT(8))->script_words[0],
			 HEAD(0, FPL_SCRIPT_END_OUTERMOST, 1));
}

static void row_of_a_prologue_has_no_script_frame(void **state)
{
	struct script_scene *t = *state;

	t->s->world.script_rules[1].cfa_off = 24;
	put_frame(t, 10, 1, 11, 8, 1);
	assert_int_equal(walk_two(t, FRAME_AT(10), FRAME_AT(10))->nr_script, 0);
}

int main(void)
{
	(void)check_walk;
#define T(test) cmocka_unit_test_setup_teardown(test, setup_script, teardown_script)
	const struct CMUnitTest tests[] = {
		T(each_native_frame_has_the_script_frames_up_to_its_first),
		T(last_frame_may_be_none_of_the_script),
		T(register_that_fails_the_check_gives_way_to_the_frame_carried),
		T(frame_of_made_code_comes_before_that_of_the_loop),
		T(place_without_a_frame_is_unknown),
		T(chain_in_a_circle_ends),
		T(words_end_at_their_bound),
		T(chain_that_leaves_memory_is_a_fault),
		T(register_is_settled_by_votes),
		T(register_that_often_fails_is_not_settled),
		T(other_content_is_another_word),
		T(chain_leads_to_the_next_frame_that_passes),
		T(chain_that_leads_to_no_frame_is_not_believed),
		T(innermost_place_is_that_of_the_register),
		T(innermost_place_is_the_register_that_leads_into_the_code),
		T(frames_may_be_an_array),
		T(check_may_want_a_value),
		T(marks_of_pointers_are_no_part_of_them),
		T(row_of_a_prologue_has_no_script_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
