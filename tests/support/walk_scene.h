/* SPDX-License-Identifier: Apache-2.0 */
/* The scene for walks: one object with a row of each kind, a stack and code made at run time. */
#pragma once

#include "tests/unit/cmocka_all.h"

#include "tests/support/walk_world.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define STACK	   0x7ffd00001000ull /* begins a page */
#define NR_WORDS   4096u
#define AT(i)	   (STACK + 8ull * (i))
#define PC(v)	   (WORLD_BIAS + (v))
#define SAME	   FPL_SAVED_SAME
#define ANON_START 0x7f0000000000ull
#define ANON_SIZE  0x1000u
#define EXACT	   FPL_FRAME_EXACT
#define FRAME(v)   ((__u64)WORLD_ID << FPL_FRAME_OBJECT_SHIFT | (v))
#define BY_SYNTH   ((__u64)FPL_ORIGIN_SYNTH << FPL_FRAME_ORIGIN_SHIFT)
#define BY_FP	   ((__u64)FPL_ORIGIN_FP << FPL_FRAME_ORIGIN_SHIFT)

/* A region that is @good but for the value of one field does not hold. */
#define REGION_REFUSED(good, field, value)            \
	do {                                          \
		struct fpl_region bad = (good);       \
                                                      \
		bad.field = (value);                  \
		assert_false(fpl_region_holds(&bad)); \
	} while (0)

/*
 * The functions of the object, by vaddr:
 *   0x1000 leaf: nothing on the stack      0x1800 the same, by a synthesised row
 *   0x2000 frame of two words, rbp saved
 *   0x3000 signal trampoline               0x4000 outermost
 *   0x5000, until 0x6000: no CFI           0x6000 cfa at rbx
 *   0x7000 like 0x2000                     0x8000 no CFI to the end
 */
struct scene {
	struct env world;
	struct fpl_walk walk;
	uint64_t words[NR_WORDS];
	uint8_t code[WORLD_TEXT];    /* the bytes of the object's text */
	uint8_t jit[ANON_SIZE + 64]; /* the last ones are in the next page */
	__u64 frames[FPL_DEPTH_MAX];
	struct fpl_memory memory;
};

#define SAME6                                      \
	{                                          \
		SAME, SAME, SAME, SAME, SAME, SAME \
	}

static const struct fpl_rule rule_leaf = {
	.cfa = FPL_CFA_REG, .regs = 7, .cfa_off = 8, .saved = SAME6
};
static const struct fpl_rule rule_synth = {
	.cfa = FPL_CFA_REG, .flags = FPL_RULE_SYNTH, .regs = 7, .cfa_off = 8, .saved = SAME6
};
static const struct fpl_rule rule_frame = {
	.cfa = FPL_CFA_REG, .regs = 7, .cfa_off = 16, .saved = { SAME, -2, SAME, SAME, SAME, SAME }
};
static const struct fpl_rule rule_signal = { .cfa = FPL_CFA_DEREF,
					     .flags = FPL_RULE_SIGNAL | FPL_RULE_EXT,
					     .regs = 7,
					     .cfa_off = 16,
					     .saved = SAME6 };
static const struct fpl_ext ext_signal[] = {
	{ .dst = 16, .kind = FPL_EXT_AT_REG, .base = 7, .count = 2, .off = 24 },
	{ .dst = 0, .kind = FPL_EXT_AT_REG, .base = 7, .off = 32 },
};
static const struct fpl_rule rule_end = {
	.cfa = FPL_CFA_REG, .flags = FPL_RULE_END, .regs = 7, .cfa_off = 8, .saved = SAME6
};
static const struct fpl_rule rule_none = { .cfa = FPL_CFA_NONE };
static const struct fpl_rule rule_judged = { .cfa = FPL_CFA_NONE, .flags = FPL_RULE_JUDGED };
static const struct fpl_rule rule_rbx = {
	.cfa = FPL_CFA_REG, .regs = 3, .cfa_off = 16, .saved = SAME6
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	world_init(&s->world);
	world_row(&s->world, 0x1000, &rule_leaf, NULL, 0);
	world_row(&s->world, 0x1800, &rule_synth, NULL, 0);
	world_row(&s->world, 0x2000, &rule_frame, NULL, 0);
	world_row(&s->world, 0x3000, &rule_signal, ext_signal, ARRAY_SIZE(ext_signal));
	world_row(&s->world, 0x4000, &rule_end, NULL, 0);
	world_row(&s->world, 0x5000, &rule_none, NULL, 0);
	world_row(&s->world, 0x5800, &rule_judged, NULL, 0);
	world_row(&s->world, 0x6000, &rule_rbx, NULL, 0);
	world_row(&s->world, 0x7000, &rule_frame, NULL, 0);
	world_row(&s->world, 0x8000, &rule_none, NULL, 0);
	world_mapping(&s->world, ANON_START, ANON_START + ANON_SIZE, 0, FPL_MAPPING_ANON);
	world_memory(&s->world, STACK, s->words, sizeof(s->words));
	world_memory(&s->world, WORLD_BIAS, s->code, sizeof(s->code));
	world_memory(&s->world, ANON_START, s->jit, sizeof(s->jit));
	s->walk.reg[7] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
	s->walk.max_depth = 100;
	s->walk.unwind = FPL_UNWIND_AUTO;
	s->walk.by_row = FPL_ORIGIN_CFI;
	s->walk.serial = 1;
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

/* Walk from @pc; the frames must be @want, up to a zero. */
static void check_one_walk(struct scene *s, struct fpl_memory *memory, uint64_t pc,
			   enum fpl_stop stop, const __u64 *want)
{
	struct walker walker = { &s->walk, s->frames, &s->world, memory };
	uint32_t nr = 0;

	s->walk.pc = pc;
	s->walk.nr = s->world.nr_mappings;
	s->walk.exact = 1;
	s->walk.origin = FPL_ORIGIN_CFI;
	s->walk.nr_frames = 0;
	walk_run(&walker);
	for (; want[nr]; nr++) {
		if (nr >= s->walk.nr_frames || s->frames[nr] != want[nr])
			fail_msg("frame %u of %u is %#llx, not %#llx", nr, s->walk.nr_frames,
				 (unsigned long long)s->frames[nr], (unsigned long long)want[nr]);
	}
	assert_int_equal(s->walk.nr_frames, nr);
	assert_int_equal(s->walk.stop, stop);
}

/* The same while frames are remembered, from memory, and without one. */
static void check_walk(struct scene *s, uint64_t pc, enum fpl_stop stop, const __u64 *want)
{
	struct fpl_walk before = s->walk;

	memset(&s->memory, 0, sizeof(s->memory));
	check_one_walk(s, &s->memory, pc, stop, want);
	s->walk = before;
	check_one_walk(s, &s->memory, pc, stop, want);
	s->walk = before;
	check_one_walk(s, NULL, pc, stop, want);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
