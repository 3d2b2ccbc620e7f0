/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the walker one by one, at the edges whole walks seldom come to. */
#include "cmocka_all.h"

#include "tests/support/walk_world.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define STACK 0x7ffd00000000ull

static void frames_name_an_object_or_keep_their_address(void **state)
{
	static const struct fpl_mapping none = { .flags = FPL_MAPPING_ANON };
	static const struct fpl_mapping region = { .bias = 1 << 16 | 1, .flags = FPL_MAPPING_ANON };
	static const struct fpl_mapping first = { .bias = 0, .object = 1 };
	static const struct fpl_mapping last = { .bias = 0x1000, .object = FPL_FRAME_OBJECT_MAX };
	static const struct fpl_mapping beyond = { .bias = 0, .object = FPL_FRAME_OBJECT_MAX + 2 };
	static const uint64_t raw = FPL_FRAME_RAW, object_1 = 1ull << FPL_FRAME_OBJECT_SHIFT;
	static const struct {
		const char *what;
		const struct fpl_mapping *mapping;
		uint64_t pc;
		int exact;
		uint64_t origin, want;
	} cases[] = {
		{ "in no mapping", NULL, 0x1234, 0, FPL_ORIGIN_CFI, raw | 0x1234 },
		{ "of no object", &none, 0x1234, 0, FPL_ORIGIN_CFI, raw | 0x1234 },
		{ "of no object, in a region", &region, 0x1234, 0, FPL_ORIGIN_CFI,
		  FPL_FRAME_JIT | 0x1234 },
		{ "exact", NULL, 0x1234, 1, FPL_ORIGIN_CFI, raw | FPL_FRAME_EXACT | 0x1234 },
		{ "with an origin", NULL, 0x1234, 0, FPL_ORIGIN_SYNTH,
		  raw | (uint64_t)FPL_ORIGIN_SYNTH << FPL_FRAME_ORIGIN_SHIFT | 0x1234 },
		{ "an address cut to the frame", NULL, UINT64_MAX, 0, FPL_ORIGIN_CFI,
		  raw | FPL_FRAME_ADDR_MASK },
		{ "of an object", &first, 0x1234, 0, FPL_ORIGIN_CFI, object_1 | 0x1234 },
		{ "of an object, exact, by rbp", &first, 0x1234, 1, FPL_ORIGIN_FP,
		  object_1 | FPL_FRAME_EXACT | (uint64_t)FPL_ORIGIN_FP << FPL_FRAME_ORIGIN_SHIFT |
			  0x1234 },
		{ "the last object, moved", &last, 0x1234, 0, FPL_ORIGIN_CFI,
		  (uint64_t)FPL_FRAME_OBJECT_MAX << FPL_FRAME_OBJECT_SHIFT | 0x234 },
		{ "an id cut to the frame", &beyond, 0x1234, 0, FPL_ORIGIN_CFI, object_1 | 0x1234 },
		{ "the last vaddr", &first, FPL_FRAME_VADDR_MASK, 0, FPL_ORIGIN_CFI,
		  object_1 | FPL_FRAME_VADDR_MASK },
		{ "one more", &first, FPL_FRAME_VADDR_MASK + 1, 0, FPL_ORIGIN_CFI,
		  raw | (FPL_FRAME_VADDR_MASK + 1) },
	};

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t frame =
			walk_frame(cases[i].mapping, cases[i].pc, cases[i].exact, cases[i].origin);

		if (frame != cases[i].want)
			fail_msg("%s: %#lx", cases[i].what, (unsigned long)frame);
	}
}

struct scene {
	struct env world;
	struct fpl_walk walk;
	__u64 frames[FPL_DEPTH_MAX];
	uint64_t words[64];
	uint64_t code[64];
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	world_init(&s->world);
	world_memory(&s->world, STACK, s->words, sizeof(s->words));
	s->walk.nr = s->world.nr_mappings;
	s->walk.max_depth = 10;
	s->walk.by_row = FPL_ORIGIN_CFI;
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

static const struct {
	const char *what;
	struct fpl_ext ext;
	uint32_t unknown;
	int stop;
	uint64_t want;
} ext_values[] = {
	{ "undefined", { 1, FPL_EXT_UNDEF, 0, 0, 0 }, 0, FPL_STOP_OUTERMOST, 0 },
	{ "unchanged", { 1, FPL_EXT_SAME, 0, 0, 0 }, 0, FPL_STOP_NONE, 0x101 },
	{ "unchanged, whatever else it says",
	  { 1, FPL_EXT_SAME, 2, 0, 8 },
	  0,
	  FPL_STOP_NONE,
	  0x101 },
	{ "unchanged, not known", { 1, FPL_EXT_SAME, 0, 0, 0 }, 1 << 1, FPL_STOP_REG_UNKNOWN, 0 },
	{ "at the CFA", { 1, FPL_EXT_AT_CFA, 0, 0, 16 }, 0xffff, FPL_STOP_NONE, 0xa012 },
	{ "at the CFA, out of reach",
	  { 1, FPL_EXT_AT_CFA, 0, 0, -4096 },
	  0,
	  FPL_STOP_READ_FAULT,
	  0 },
	{ "at a register", { 1, FPL_EXT_AT_REG, 7, 0, 8 }, 0, FPL_STOP_NONE, 0xa001 },
	{ "at an unknown register",
	  { 1, FPL_EXT_AT_REG, 7, 0, 8 },
	  1 << 7,
	  FPL_STOP_REG_UNKNOWN,
	  0 },
	{ "the CFA", { 1, FPL_EXT_VAL_CFA, 0, 0, -8 }, 0xffff, FPL_STOP_NONE, STACK + 128 - 8 },
	{ "a register", { 1, FPL_EXT_VAL_REG, 2, 0, -2 }, 0, FPL_STOP_NONE, 0x100 },
	{ "the last register", { 1, FPL_EXT_VAL_REG, 15, 0, 1 }, 0x7fff, FPL_STOP_NONE, 0x110 },
	{ "a register of too high a number is another",
	  { 1, FPL_EXT_VAL_REG, 18, 0, 0 },
	  0,
	  FPL_STOP_NONE,
	  0x102 },
	{ "the pc", { 1, FPL_EXT_VAL_PC, 0, 0, -3 }, 0xffff, FPL_STOP_NONE, 0x4242 - 3 },
	{ "an expression", { 1, FPL_EXT_EXPR, 0, 0, 0 }, 0, FPL_STOP_EXPR, 0 },
	{ "a kind that does not exist", { 1, FPL_EXT_EXPR + 1, 0, 0, 0 }, 0, FPL_STOP_EXPR, 0 },
};

static void extended_rules_give_each_kind_its_value(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };
	struct walk_ext args = { .walker = &walker, .cfa = STACK + 128 };

	for (unsigned i = 0; i < ARRAY_SIZE(s->words); i++)
		s->words[i] = 0xa000 + i;
	for (unsigned i = 0; i < FPL_NR_REGS; i++)
		s->walk.old[i] = 0x100 + i;
	s->walk.old[7] = STACK;
	s->walk.pc = 0x4242;
	for (unsigned i = 0; i < ARRAY_SIZE(ext_values); i++) {
		__u64 value = 0;

		s->walk.old_known = ARCH_ALL_REGS & ~ext_values[i].unknown;

		int stop = walk_ext_value(&args, &ext_values[i].ext, &value);

		if (stop != ext_values[i].stop ||
		    (stop == FPL_STOP_NONE && value != ext_values[i].want))
			fail_msg("%s: %d, %#lx", ext_values[i].what, stop, (unsigned long)value);
	}
}

static void extended_rules_end_where_they_must(void **state)
{
	struct fpl_ext ext[FPL_EXT_MAX + 1] = { 0 };
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };
	struct walk_ext args = { .walker = &walker, .ext = ext };

	for (unsigned i = 0; i <= FPL_EXT_MAX; i++)
		ext[i] = (struct fpl_ext){ .dst = 2, .kind = FPL_EXT_VAL_CFA, .off = (int)i };
	assert_int_equal(walk_ext_one(FPL_EXT_MAX - 1, &args), 0);
	assert_int_equal(s->walk.reg[2], FPL_EXT_MAX - 1);
	assert_int_not_equal(walk_ext_one(FPL_EXT_MAX, &args), 0);
	assert_int_equal(s->walk.reg[2], FPL_EXT_MAX - 1);
	assert_int_equal(s->walk.ra_said, 0);
	/* 16 and above: the return address; 15 is a register. */
	ext[0].dst = 15;
	assert_int_equal(walk_ext_one(0, &args), 0);
	assert_int_equal(s->walk.ra_said, 0);
	ext[1].dst = 17;
	assert_int_equal(walk_ext_one(1, &args), 0);
	assert_int_equal(s->walk.ra_said, 1);
	assert_int_equal(s->walk.ra, 1);
	assert_int_equal(s->walk.ra_stop, FPL_STOP_NONE);
	assert_int_equal(s->walk.reg[1], 0);
}

/* As many as a mapset can have: no search may end before it has found. */
static void every_one_of_65536_mappings_is_found(void **state)
{
	enum { NR = 1 << 16, SIZE = 0x1000 };
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };
	struct fpl_mapping *many = calloc(NR, sizeof(*many));

	assert_non_null(many);
	for (uint64_t i = 0; i < NR; i++)
		many[i] = (struct fpl_mapping){ .start = i * SIZE, .end = i * SIZE + SIZE / 2 };
	s->world.many = many;
	s->world.nr_mappings = s->walk.nr = NR;
	for (uint64_t i = 0; i < NR; i++) {
		if (!walk_find_mapping(&walker, i * SIZE) || s->walk.last.start != i * SIZE ||
		    walk_find_mapping(&walker, i * SIZE + SIZE / 2))
			fail_msg("%lu", (unsigned long)i);
	}
	free(many);
}

static void an_address_is_not_in_the_window_of_its_negative(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };
	__u64 value;

	s->walk.window_addr = STACK;
	s->walk.window_size = sizeof(s->words);
	assert_int_equal(walk_read(&walker, STACK, &value), 0);
	assert_int_not_equal(walk_read(&walker, -STACK, &value), 0);
}

/* A frame-pointer step to @ra, which a mapping holds, as all around it. */
static int step_to(struct scene *s, uint64_t ra)
{
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	s->world.nr_mappings = 0;
	world_mapping(&s->world, 0, UINT64_MAX, 0, 0);
	s->world.nr_memory = 1;
	memset(s->code, 0xe8, sizeof(s->code));
	world_memory(&s->world, ra - sizeof(s->code) / 2, s->code, sizeof(s->code));
	s->words[10] = STACK + 8 * 30;
	s->words[11] = ra;
	s->walk.nr = 1;
	s->walk.known = ARCH_ALL_REGS;
	s->walk.reg[ARCH_SP] = STACK;
	s->walk.reg[ARCH_FP] = STACK + 8 * 10;
	s->walk.window_size = 0;
	s->walk.last.end = 0;
	return walk_by_fp(&walker, 0);
}

static void a_frame_pointer_leads_to_user_code_only(void **state)
{
	static const struct {
		uint64_t ra;
		int stop;
	} cases[] = {
		{ ARCH_USER_START - 1, FPL_STOP_NO_CFI }, { ARCH_USER_START, FPL_STOP_NONE },
		{ ARCH_USER_START + 1, FPL_STOP_NONE },	  { ARCH_USER_END - 1, FPL_STOP_NONE },
		{ ARCH_USER_END, FPL_STOP_NO_CFI },	  { ARCH_USER_END + 1, FPL_STOP_NO_CFI },
	};
	struct scene *s = *state;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		if (step_to(s, cases[i].ra) != cases[i].stop)
			fail_msg("%#lx", (unsigned long)cases[i].ra);
		if (cases[i].stop != FPL_STOP_NONE)
			continue;
		assert_int_equal(s->walk.pc, cases[i].ra);
		assert_int_equal(s->walk.reg[ARCH_SP], STACK + 8 * 12);
		assert_int_equal(s->walk.reg[ARCH_FP], STACK + 8 * 30);
		assert_int_equal(s->walk.known, 1u << ARCH_SP | 1u << ARCH_FP);
		assert_int_equal(s->walk.origin, FPL_ORIGIN_FP);
		assert_int_equal(s->walk.exact, 0);
	}
}

/* Wherever its code can be read: the call before it must lie in a mapping. */
static void a_frame_pointer_leads_into_a_mapping_only(void **state)
{
	enum { RA = 0x10000 };
	static const struct {
		uint64_t start, end;
		int stop;
	} cases[] = {
		{ 0, UINT64_MAX, FPL_STOP_NONE }, { 0, 0, FPL_STOP_NO_CFI },
		{ RA - 1, RA, FPL_STOP_NONE },	  { RA, UINT64_MAX, FPL_STOP_NO_CFI },
		{ 0, RA - 1, FPL_STOP_NO_CFI },
	};
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(step_to(s, RA), FPL_STOP_NONE);
		s->world.mappings[0].start = cases[i].start;
		s->world.mappings[0].end = cases[i].end;
		s->walk.known = ARCH_ALL_REGS;
		s->walk.reg[ARCH_SP] = STACK;
		s->walk.reg[ARCH_FP] = STACK + 8 * 10;
		s->walk.last.start = s->walk.last.end = 0;
		if (walk_by_fp(&walker, 0) != cases[i].stop)
			fail_msg("[%#lx, %#lx)", (unsigned long)cases[i].start,
				 (unsigned long)cases[i].end);
	}
}

static void a_table_is_that_of_the_object_of_the_mapping(void **state)
{
	static const struct {
		uint16_t slot;
		uint32_t object;
		int found;
	} cases[] = {
		{ WORLD_SLOT, WORLD_ID, 1 },
		{ WORLD_SLOT, WORLD_ID - 1, 0 },
		{ WORLD_SLOT, WORLD_ID + 1, 0 },
		{ WORLD_SLOT, 0, 0 },
		{ WORLD_SLOT + 1, WORLD_ID, 0 },
		{ 0, WORLD_ID, 0 },
		{ 0, 0, 0 },
	};
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		s->walk.last.slot = cases[i].slot;
		s->walk.last.object = cases[i].object;
		assert_int_equal(walk_object(&walker) != NULL, cases[i].found);
	}
}

static void a_missing_table_is_named_where_nothing_else_leads_on(void **state)
{
	static const struct {
		uint32_t object;
		uint64_t fp;
		int stop;
	} cases[] = {
		{ WORLD_ID, STACK + 8 * 10, FPL_STOP_NONE },
		{ WORLD_ID, 0, FPL_STOP_FP_END },
		{ WORLD_ID, 1, FPL_STOP_NO_TABLE },
		{ 0, 1, FPL_STOP_NO_CFI },
	};
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(step_to(s, 0x10000), FPL_STOP_NONE);
		s->walk.known = ARCH_ALL_REGS;
		s->walk.reg[ARCH_SP] = STACK;
		s->walk.reg[ARCH_FP] = cases[i].fp;
		s->walk.last.object = cases[i].object;
		assert_int_equal(walk_without_cfi(&walker, 0x2468), cases[i].stop);
	}
}

static void a_walk_begins_anew_in_another_mapset(void **state)
{
	/* serial before and now; is the mapping found last kept? */
	static const struct {
		uint32_t before, now;
		int kept;
	} cases[] = {
		{ 3, 3, 1 }, { 3, 4, 0 }, { 4, 3, 0 }, { 0, 0, 0 }, { 3, 0, 0 }, { 0, 3, 0 }
	};
	struct fpl_walk *walk = &((struct scene *)*state)->walk;

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		walk->last = (struct fpl_mapping){ .start = 1, .end = 2, .slot = 3 };
		walk->last_serial = cases[i].before;
		walk->serial = cases[i].now;
		walk_enter(walk);
		assert_int_equal(walk->last.start, cases[i].kept ? 1 : 0);
		assert_int_equal(walk->last.end, cases[i].kept ? 2 : 0);
		assert_int_equal(walk->last.slot, cases[i].kept ? 3 : 0);
		assert_int_equal(walk->last_serial, cases[i].now);
	}
}

static void a_walk_says_nothing_of_the_one_before(void **state)
{
	static const struct fpl_rule end = { .cfa = FPL_CFA_REG, .flags = FPL_RULE_END, .regs = 7 };
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	world_row(&s->world, 0x2400, &end, NULL, 0);
	s->walk.pc = WORLD_BIAS + 0x2400;
	s->walk.exact = 1;
	s->walk.flags = FPL_SAMPLE_RAW;
	s->walk.window_size = s->walk.window_near = 8;
	walk_run(&walker);
	assert_int_equal(s->walk.stop, FPL_STOP_OUTERMOST);
	assert_int_equal(s->walk.nr_frames, 1);
	assert_int_equal(s->walk.flags, 0);
	assert_int_equal(s->walk.window_size, 0);
	assert_int_equal(s->walk.window_near, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_name_an_object_or_keep_their_address),
		TEST(extended_rules_give_each_kind_its_value),
		TEST(extended_rules_end_where_they_must),
		TEST(every_one_of_65536_mappings_is_found),
		TEST(an_address_is_not_in_the_window_of_its_negative),
		TEST(a_frame_pointer_leads_to_user_code_only),
		TEST(a_frame_pointer_leads_into_a_mapping_only),
		TEST(a_table_is_that_of_the_object_of_the_mapping),
		TEST(a_missing_table_is_named_where_nothing_else_leads_on),
		TEST(a_walk_says_nothing_of_the_one_before),
		TEST(a_walk_begins_anew_in_another_mapset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
