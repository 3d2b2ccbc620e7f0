// SPDX-License-Identifier: Apache-2.0
/* Stacks deeper than what is kept of them: which frames are there, and what ends such a walk. */
#include "cmocka_all.h"

#include "tests/support/walk_world.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define STACK	  0x7ffd00001000ull
#define NR_FRAMES 70000u
#define NR_RAS	  0x9000u /* addresses that frames take turns in */
#define PC(v)	  (WORLD_BIAS + (v))
#define FRAME(v)  ((__u64)WORLD_ID << FPL_FRAME_OBJECT_SHIFT | (v))

/* All of the object is one function, with frames of two words, but for 0xe000: outermost. */
struct scene {
	struct env world;
	struct fpl_walk walk;
	struct fpl_memory memory;
	uint64_t words[2 * NR_FRAMES];
	__u64 frames[FPL_USER_FRAMES_MAX];
};

static int setup(void **state)
{
	static const struct fpl_rule frame = { .cfa = FPL_CFA_REG,
					       .regs = 7,
					       .cfa_off = 16,
					       .saved = { -128, -2, -128, -128, -128, -128 } };
	static const struct fpl_rule end = {
		.cfa = FPL_CFA_REG, .flags = FPL_RULE_END, .regs = 7, .cfa_off = 8
	};
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	world_init(&s->world);
	world_row(&s->world, 0x1000, &frame, NULL, 0);
	world_row(&s->world, 0xe000, &end, NULL, 0);
	world_memory(&s->world, STACK, s->words, sizeof(s->words));
	s->walk.unwind = FPL_UNWIND_AUTO;
	s->walk.by_row = FPL_ORIGIN_CFI;
	s->walk.serial = 1;
	world_now_ns = 0;
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

/* The return address, or pc, of the @idx-th of @nr frames. */
static uint64_t vaddr_of(uint32_t idx, uint32_t nr)
{
	return idx + 1 == nr ? 0xe010 : 0x1010 + idx % NR_RAS;
}

static __u64 frame_of(uint32_t idx, uint32_t nr)
{
	return FRAME(vaddr_of(idx, nr)) | (idx ? 0 : FPL_FRAME_EXACT);
}

/* Walk a stack of @nr frames and keep @leaf and @root of them. */
static void walk_stack(struct scene *s, struct fpl_memory *memory, uint32_t nr, uint32_t leaf,
		       uint32_t root)
{
	struct walker walker = { &s->walk, s->frames, &s->world, memory };

	for (uint32_t i = 0; i + 1 < nr; i++)
		s->words[2 * i + 1] = PC(vaddr_of(i + 1, nr));
	s->walk.reg[7] = STACK;
	s->walk.known = ARCH_ALL_REGS;
	s->walk.pc = PC(vaddr_of(0, nr));
	s->walk.nr = s->world.nr_mappings;
	s->walk.exact = 1;
	s->walk.origin = FPL_ORIGIN_CFI;
	s->walk.max_depth = leaf + root;
	s->walk.root_depth = root;
	s->walk.nr_frames = 0;
	s->walk.elided = 0;
	walk_run(&walker);
	walk_end(&walker);
}

/* The stack must have @walked of @nr frames, @leaf and @root of them. */
static void check_stack(struct scene *s, uint32_t walked, uint32_t nr, uint32_t leaf, uint32_t root)
{
	uint32_t gap = walked > leaf + root ? walked - leaf - root : 0;
	uint32_t at = 0;

	assert_int_equal(s->walk.elided, gap);
	assert_int_equal(s->walk.nr_frames, gap ? leaf + 1 + root : walked);
	for (uint32_t i = 0; i < walked; i++) {
		if (gap && i >= leaf && i < leaf + gap) {
			if (i == leaf)
				assert_true(s->frames[at++] == FPL_FRAME_GAP);
			continue;
		}
		if (s->frames[at++] != frame_of(i, nr))
			fail_msg("%u frames, %u and %u kept: %u is %#llx", walked, leaf, root, i,
				 (unsigned long long)s->frames[at - 1]);
	}
	assert_int_equal(at, s->walk.nr_frames);
}

static void the_innermost_and_the_outermost_frames_are_kept(void **state)
{
	static const struct {
		uint32_t leaf, root;
	} kept[] = { { 1, 1 },	   { 1, 7 },	  { 7, 1 },    { 5, 3 },   { 64, 64 },
		     { 768, 256 }, { 1536, 512 }, { 1, 2047 }, { 2047, 1 } };
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		uint32_t leaf = kept[i].leaf, root = kept[i].root, all = leaf + root;
		const uint32_t depths[] = {
			1,	    leaf,	    leaf + 1,	    all - 1,
			all,	    all + 1,	    all + 2,	    all + root - 1,
			all + root, all + root + 1, all + 2 * root, 9 * all + 4
		};

		for (size_t j = 0; j < ARRAY_SIZE(depths); j++) {
			/* found, from memory, and without one */
			for (unsigned pass = 0; pass < 3; pass++) {
				walk_stack(s, pass < 2 ? &s->memory : NULL, depths[j], leaf, root);
				assert_int_equal(s->walk.stop, FPL_STOP_OUTERMOST);
				check_stack(s, depths[j], depths[j], leaf, root);
			}
		}
	}
}

static void without_outermost_frames_a_walk_ends_where_it_did(void **state)
{
	struct scene *s = *state;

	for (uint32_t leaf = 1; leaf < 5; leaf++) {
		walk_stack(s, NULL, 4, leaf, 0);
		assert_int_equal(s->walk.stop, leaf < 4 ? FPL_STOP_DEPTH : FPL_STOP_OUTERMOST);
		assert_int_equal(s->walk.deep, WALK_DEEP_NONE);
		check_stack(s, leaf, 4, leaf, 0);
	}
}

static void a_walk_ends_after_a_number_of_frames(void **state)
{
	struct scene *s = *state;

	walk_stack(s, &s->memory, FPL_WALK_MAX, 768, 256);
	assert_int_equal(s->walk.stop, FPL_STOP_OUTERMOST);
	check_stack(s, FPL_WALK_MAX, FPL_WALK_MAX, 768, 256);
	walk_stack(s, &s->memory, NR_FRAMES, 768, 256);
	assert_int_equal(s->walk.stop, FPL_STOP_DEPTH);
	check_stack(s, FPL_WALK_MAX, NR_FRAMES, 768, 256);
	walk_stack(s, &s->memory, NR_FRAMES, 1, 1);
	assert_int_equal(s->walk.stop, FPL_STOP_DEPTH);
	check_stack(s, FPL_WALK_MAX, NR_FRAMES, 1, 1);
}

/* As the kernel side keeps it, for userspace to go on from: all but the frame it stopped at. */
static void stopped_walk_keeps_its_frames(void **state)
{
	enum { LEAF = 5, ROOT = 3 };
	struct scene *s = *state;

	for (uint32_t walked = 1; walked < 30; walked++) {
		walk_stack(s, NULL, 40, LEAF, ROOT);
		/* the code of the frame after these is in no known mapping */
		s->words[2 * walked - 1] = 0x700000000000;
		s->walk.reg[7] = STACK;
		s->walk.pc = PC(vaddr_of(0, 40));
		s->walk.known = ARCH_ALL_REGS;
		s->walk.exact = 1;
		s->walk.nr_frames = s->walk.elided = 0;

		struct walker walker = { &s->walk, s->frames, &s->world, NULL };

		walk_run(&walker);
		walk_end(&walker);
		assert_int_equal(s->walk.stop, FPL_STOP_BAD_RA);
		check_stack(s, walked, 40, LEAF, ROOT);
	}
}

static void moved_clock_ends_walks(struct scene *s, uint64_t now, uint32_t nr, enum walk_deep want)
{
	world_now_ns = now;
	walk_stack(s, &s->memory, nr, 768, 256);
	assert_int_equal(s->walk.deep, want);
	assert_int_equal(s->walk.stop, want == WALK_DEEP_WALKED || want == WALK_DEEP_NONE
					       ? FPL_STOP_OUTERMOST
					       : FPL_STOP_DEPTH);
}

static void a_stack_that_fits_needs_no_time(void **state)
{
	struct scene *s = *state;

	s->walk.credited_ns = 5;
	moved_clock_ends_walks(s, 5, 1024, WALK_DEEP_NONE);
	moved_clock_ends_walks(s, 5, 1025, WALK_DEEP_REFUSED);
	check_stack(s, 1024, 1025, 768, 256);
}

static void time_comes_in_and_is_saved_up_to_a_bound(void **state)
{
	struct scene *s = *state;
	struct fpl_walk *walk = &s->walk;

	walk->credited_ns = 1000;
	moved_clock_ends_walks(s, 1000 + DEEP_WALK_NS * DEEP_SHARE - 1, 3000, WALK_DEEP_REFUSED);
	walk->credit_ns = 0;
	walk->credited_ns = 1000;
	moved_clock_ends_walks(s, 1000 + DEEP_WALK_NS * DEEP_SHARE, 3000, WALK_DEEP_WALKED);
	check_stack(s, 3000, 3000, 768, 256);
	moved_clock_ends_walks(s, 1ull << 50, 3000, WALK_DEEP_WALKED);
	assert_int_equal(walk->credit_ns, DEEP_CREDIT_NS);
}

static void time_of_a_walk_is_taken_off_the_budget(void **state)
{
	struct scene *s = *state;
	struct fpl_walk *walk = &s->walk;

	walk->deep = WALK_DEEP_WALKED;
	walk->root_depth = 1;
	walk->deep_ns = 50;
	walk->deep_looked_ns = 100;
	walk->credit_ns = 1000;
	world_now_ns = 700;
	deep_pay(walk);
	assert_int_equal(walk->credit_ns, 350);
	assert_int_equal(walk->deep_ns, 650);
	deep_pay(walk);
	assert_int_equal(walk->credit_ns, 0);
	walk->deep_ns = 0; /* no more than the frames can have taken */
	walk->unlooked = 2;
	walk->credit_ns = 5000;
	world_now_ns = 1ull << 40;
	deep_pay(walk);
	assert_int_equal(walk->credit_ns, 5000 - 3 * DEEP_FRAME_NS);
	walk->deep = WALK_DEEP_REFUSED;
	walk->credit_ns = 9;
	deep_pay(walk);
	assert_int_equal(walk->credit_ns, 9);
}

/* How many turns of 16 frames a walk gets, of which each takes @turn_ns. */
static unsigned turns_of(struct scene *s, uint64_t turn_ns)
{
	struct fpl_walk *walk = &s->walk;
	unsigned turns = 0;

	walk->max_depth = 80;
	walk->root_depth = 16;
	walk->deep = WALK_DEEP_NONE;
	walk->elided = walk->is_ring = 0;
	walk->credit_ns = DEEP_CREDIT_NS;
	walk->credited_ns = world_now_ns = 1000;
	for (;; turns++) {
		walk->nr_frames = 80;
		if (walk_deeper(walk) != FPL_STOP_NONE)
			break;
		assert_int_equal(walk->deep, WALK_DEEP_WALKED);
		assert_int_equal(walk->nr_frames, 64);
		world_now_ns += turn_ns;
	}
	assert_int_equal(walk->nr_frames, 80);
	return turns;
}

static void a_walk_that_takes_too_long_is_cut(void **state)
{
	struct scene *s = *state;

	/* the clock is looked at in each fourth turn, in which three or four have passed */
	assert_int_equal(turns_of(s, DEEP_WALK_NS / 100), 103);
	assert_int_equal(s->walk.deep, WALK_DEEP_CUT);
	assert_int_equal(s->walk.elided, 102 * 16);
	assert_int_equal(turns_of(s, DEEP_WALK_NS / 1000), 1003);
	assert_int_equal(s->walk.deep, WALK_DEEP_CUT);
}

static void time_that_frames_cannot_take_is_not_the_walk_s(void **state)
{
	struct scene *s = *state;

	assert_int_equal(turns_of(s, 1ull << 40),
			 4 * (DEEP_WALK_NS / (DEEP_LOOK * DEEP_FRAME_NS)) + 3);
	assert_int_equal(s->walk.deep, WALK_DEEP_CUT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_innermost_and_the_outermost_frames_are_kept),
		TEST(without_outermost_frames_a_walk_ends_where_it_did),
		TEST(a_walk_ends_after_a_number_of_frames),
		TEST(stopped_walk_keeps_its_frames),
		TEST(a_stack_that_fits_needs_no_time),
		TEST(time_comes_in_and_is_saved_up_to_a_bound),
		TEST(time_of_a_walk_is_taken_off_the_budget),
		TEST(a_walk_that_takes_too_long_is_cut),
		TEST(time_that_frames_cannot_take_is_not_the_walk_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
