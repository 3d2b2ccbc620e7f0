/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk that remembers gives what a walk without a memory gives: over rules, stacks, registers and
 * windows that are made up, the same in every run.
 */
#include "cmocka_all.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "tests/support/walk_world.h"

#define STACK	 0x7ffd00000000ull
#define NR_WORDS 1024u
#define AT(i)	 (STACK + 8ull * (i))
#define PC	 0x2468ull
#define SAME	 FPL_SAVED_SAME

struct scene {
	struct env world;
	struct fpl_walk walk;
	struct fpl_memory memory;
	uint64_t words[NR_WORDS];
	uint64_t code[8192];
	__u64 frames[FPL_DEPTH_MAX];
	uint64_t random;
};

static uint32_t draw(struct scene *s, uint32_t nr)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(s->random >> 33) % nr;
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	world_init(&s->world);
	world_memory(&s->world, STACK, s->words, sizeof(s->words));
	world_memory(&s->world, WORLD_BIAS, s->code, sizeof(s->code));
	memset(s->code, 0xe8, sizeof(s->code)); /* a call before every address */
	s->random = 1;
	s->walk.nr = s->world.nr_mappings;
	s->walk.max_depth = 40;
	s->walk.unwind = FPL_UNWIND_AUTO;
	s->walk.by_row = FPL_ORIGIN_CFI;
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

/* A rule compilers write, more or less. */
static struct fpl_rule make_rule(struct scene *s)
{
	static const uint8_t regs[] = { 7, 7, 7, 6, 6, 3, 10, 12 };
	static const uint8_t flags[] = { FPL_RULE_SYNTH, FPL_RULE_END, FPL_RULE_SIGNAL,
					 FPL_RULE_RA_REG };
	static const uint8_t kinds[] = { FPL_CFA_NONE, FPL_CFA_DEREF, FPL_CFA_INDEX, FPL_CFA_PLT,
					 FPL_CFA_EXPR };
	struct fpl_rule rule = {
		.cfa = draw(s, 8) ? FPL_CFA_REG : kinds[draw(s, ARRAY_SIZE(kinds))],
		.flags = draw(s, 4) ? 0 : flags[draw(s, ARRAY_SIZE(flags))],
		.regs = (uint8_t)(regs[draw(s, ARRAY_SIZE(regs))] | draw(s, 16) << 4),
		.from_reg = draw(s, 8) ? 0 : (uint8_t)draw(s, 64),
		.cfa_off = 8 * (int32_t)draw(s, 24) - 16,
		.off2 = 8,
	};

	if (!draw(s, 16))
		rule.cfa_off += 4;

	bool near = draw(s, 2);

	for (uint32_t i = 0; i < FPL_NR_SAVED; i++)
		rule.saved[i] = (int8_t)(draw(s, 2) ? SAME
					 : near	    ? (int)draw(s, 8) - 8
						    : (int)draw(s, 14) - 11);
	if (!draw(s, 8))
		rule.saved[draw(s, FPL_NR_SAVED)] = FPL_SAVED_UNDEF;
	return rule;
}

static void make_registers(struct scene *s)
{
	for (uint32_t i = 0; i < FPL_NR_REGS; i++)
		s->walk.reg[i] = draw(s, 2) ? AT(draw(s, NR_WORDS + 8)) : 0xb000u + draw(s, 99);
	s->walk.reg[7] = AT(draw(s, NR_WORDS));
	s->walk.reg[6] = AT(draw(s, NR_WORDS));
	s->walk.known = draw(s, 4) ? ARCH_ALL_REGS : (draw(s, 1u << 16) | 1u << 7);
	s->walk.origin = (uint8_t)draw(s, FPL_ORIGIN_COUNT);
}

/* Words of the stack that are in memory, and a window over some of them. */
static void make_window(struct scene *s)
{
	uint32_t size = 8 * draw(s, FPL_WINDOW_SIZE / 8 + 1);
	uint32_t first = draw(s, NR_WORDS - size / 8 + 1);

	s->walk.window_addr = AT(first);
	s->walk.window_size = draw(s, 3) ? size : 0;
	s->walk.window_near =
		s->walk.window_size < FPL_NEAR_BYTES ? 0 : s->walk.window_size - FPL_NEAR_BYTES + 1;
	memcpy(s->walk.window, &s->words[first], size);
}

static void check_same(const char *what, unsigned nr, const struct scene *s,
		       const struct fpl_walk *a, const __u64 *a_frames)
{
	const struct fpl_walk *b = &s->walk;

	if (a->stop != b->stop || a->nr_frames != b->nr_frames || a->flags != b->flags)
		fail_msg("%s %u: stop %u and %u, frames %u and %u", what, nr, a->stop, b->stop,
			 a->nr_frames, b->nr_frames);
	for (uint32_t i = 0; i < a->nr_frames; i++)
		if (a_frames[i] != s->frames[i])
			fail_msg("%s %u: frame %u is %#llx and %#llx", what, nr, i,
				 (unsigned long long)a_frames[i], (unsigned long long)s->frames[i]);
	if (a->stop != FPL_STOP_NONE)
		return;
	if (a->pc != b->pc || a->exact != b->exact || a->origin != b->origin ||
	    a->known != b->known)
		fail_msg("%s %u: another caller", what, nr);
	for (uint32_t i = 0; i < FPL_NR_REGS; i++)
		if ((a->known >> i & 1) && a->reg[i] != b->reg[i])
			fail_msg("%s %u: register %u", what, nr, i);
}

static void step(struct scene *s, struct fpl_memory *memory, const struct fpl_walk *from)
{
	struct walker walker = { &s->walk, s->frames, &s->world, memory };

	s->walk = *from;
	walk_enter(&s->walk);
	s->walk.stop = (uint8_t)walk_step(&walker);
}

static void a_remembered_step_is_the_step(void **state)
{
	static const struct fpl_rule any = { .cfa = FPL_CFA_REG, .regs = 7 };
	struct scene *s = *state;
	unsigned nr_near = 0;

	world_row(&s->world, 0x2400, &any, NULL, 0);
	for (unsigned i = 0; i < 60000; i++) {
		struct fpl_rule rule = make_rule(s);
		struct fpl_walk from, without;
		__u64 frame;

		memcpy(s->world.chunk + WORLD_RULES + sizeof(rule), &rule, sizeof(rule));
		for (uint32_t w = 0; w < 64; w++)
			s->words[draw(s, NR_WORDS)] = AT(draw(s, NR_WORDS));
		s->world.memory[0].size = 8 * (draw(s, 2) ? NR_WORDS : draw(s, NR_WORDS));
		make_registers(s);
		s->walk.pc = WORLD_BIAS + PC + draw(s, 16);
		s->walk.exact = draw(s, 2);
		s->walk.nr_frames = 0;
		s->walk.flags = 0;
		s->walk.serial = i + 1; /* nothing is remembered from the rule before */
		s->walk.next = draw(s, 1u << FPL_MEMORY_LOG2);
		s->walk.window_size = s->walk.window_near = 0;
		from = s->walk;
		step(s, NULL, &from);
		without = s->walk;
		frame = s->frames[0];
		step(s, &s->memory, &from);
		check_same("cold", i, s, &without, &frame);
		if (s->world.memory[0].size == sizeof(s->words)) {
			s->walk = from;
			make_window(s);
			from = s->walk;
		}
		step(s, &s->memory, &from);
		check_same("warm", i, s, &without, &frame);
		nr_near += walk_is_near(&rule) != 0;
	}
	assert_true(nr_near > 10000);
}

/* The stack as calls would leave it: most words are addresses of code. */
static void make_stack(struct scene *s)
{
	for (uint32_t i = 0; i < NR_WORDS; i++) {
		s->words[i] = draw(s, 8) ? WORLD_BIAS + draw(s, WORLD_TEXT)
					 : AT(i + draw(s, NR_WORDS - i));
		if (!draw(s, 50))
			s->words[i] = draw(s, 1000);
	}
}

static void walk_it(struct scene *s, struct fpl_memory *memory, const struct fpl_walk *from)
{
	struct walker walker = { &s->walk, s->frames, &s->world, memory };

	s->walk = *from;
	walk_run(&walker);
}

static void remembered_walks_are_the_walks(void **state)
{
	static __u64 frames[FPL_DEPTH_MAX];
	struct scene *s = *state;
	uint64_t nr_frames = 0;

	/* Rows of 5 to 36 bytes: more than the memory holds. */
	for (uint32_t vaddr = 16; vaddr < WORLD_TEXT - 40; vaddr += 5 + draw(s, 32)) {
		struct fpl_rule rule = make_rule(s);

		if (draw(s, 4)) { /* so that walks go on */
			rule.cfa = FPL_CFA_REG;
			rule.regs = draw(s, 4) ? 7 : 6;
			rule.flags = 0;
			rule.cfa_off = 8 + 8 * (int32_t)draw(s, 12);
		}
		world_row(&s->world, vaddr, &rule, NULL, 0);
	}
	assert_true(s->world.nr_slots < FPL_RULES_MAX);
	for (unsigned i = 0; i < 20000; i++) {
		struct fpl_walk from, without;

		if (i % 100 == 0)
			make_stack(s);
		s->world.memory[0].size = 8 * (draw(s, 4) ? NR_WORDS : draw(s, NR_WORDS));
		make_registers(s);
		s->walk.pc = WORLD_BIAS + draw(s, i % 3 ? 0x2000 : WORLD_TEXT);
		s->walk.exact = 1;
		s->walk.nr_frames = 0;
		/* Three mapsets: one is empty, two differ in the place and kind of their code. */
		s->walk.serial = draw(s, 3);
		s->world.mappings[0].object = WORLD_ID + (s->walk.serial == 2);
		s->world.objects[WORLD_SLOT].object = s->world.mappings[0].object;
		s->walk.last_serial = 0;
		from = s->walk;
		walk_it(s, NULL, &from);
		without = s->walk;
		memcpy(frames, s->frames, without.nr_frames * sizeof(*frames));
		nr_frames += without.nr_frames;
		walk_it(s, &s->memory, &from);
		check_same("walk", i, s, &without, frames);
	}
	assert_true(nr_frames > 40000);
}

static void remembered_row_ends_with_its_mapping(void **state)
{
	static const struct fpl_rule any = { .cfa = FPL_CFA_REG,
					     .regs = 7,
					     .cfa_off = 8,
					     .saved = { SAME, SAME, SAME, SAME, SAME, SAME } };
	/* Lookup pcs in the row [0x2400, 0x2500), and where its mapping begins and ends in it. */
	static const struct {
		uint64_t first, then;
		bool known;
	} cases[] = {
		/* but for its last byte */
		{ 0x2418, 0x2410, true },  { 0x2418, 0x241e, true },  { 0x2418, 0x240f, false },
		{ 0x2418, 0x241f, false }, { 0x2410, 0x241e, true },  { 0x241f, 0x2410, true },
		{ 0x2410, 0x2400, false }, { 0x241f, 0x24ff, false }, { 0x2418, 0x2420, false },
	};
	struct scene *s = *state;

	world_row(&s->world, 0x2400, &any, NULL, 0);
	s->world.mappings[0].start = WORLD_BIAS + 0x2410;
	s->world.mappings[0].end = WORLD_BIAS + 0x2420;
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct walker walker = { &s->walk, s->frames, &s->world, &s->memory };

		s->walk.serial = i + 1;
		s->walk.known = ARCH_ALL_REGS;
		s->walk.reg[7] = AT(0);
		s->walk.exact = 1;
		s->walk.nr_frames = 0;
		s->walk.window_size = s->walk.window_near = 0;
		walk_enter(&s->walk);
		s->walk.pc = WORLD_BIAS + cases[i].first;
		assert_int_equal(walk_step(&walker), FPL_STOP_NONE);
		s->walk.next = 0;
		assert_int_equal(walk_recall(&walker, WORLD_BIAS + cases[i].then) != NULL,
				 cases[i].known);
	}
}

static void nothing_is_remembered_that_has_no_name(void **state)
{
	static const struct fpl_rule any = { .cfa = FPL_CFA_REG,
					     .regs = 7,
					     .cfa_off = 8,
					     .saved = { SAME, SAME, SAME, SAME, SAME, SAME } };
	static const struct fpl_ext ext = { .dst = 1, .kind = FPL_EXT_SAME, .count = 1 };
	static const struct {
		const char *what;
		uint32_t serial, object;
		uint64_t vaddr;
		uint8_t flags;
		bool remembered;
	} cases[] = {
		{ "all is there", 5, WORLD_ID, 0x2400, 0, true },
		{ "no mapset", 0, WORLD_ID, 0x2400, 0, false },
		{ "no object", 5, 0, 0x2400, 0, false },
		{ "more rules than one", 5, WORLD_ID, 0x2400, FPL_RULE_EXT, false },
		{ "a row up to where vaddrs of frames end", 5, WORLD_ID,
		  FPL_FRAME_VADDR_MASK - 0x10, 0, true },
		{ "a row beyond it", 5, WORLD_ID, FPL_FRAME_VADDR_MASK, 0, false },
	};
	struct scene *s = *state;

	world_row(&s->world, 0x2400, &any, &ext, 1);
	world_row(&s->world, 0xff00, &any, NULL, 0);
	world_row(&s->world, 0xffff, &any, NULL, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct walker walker = { &s->walk, s->frames, &s->world, &s->memory };
		struct fpl_object *object = &s->world.objects[WORLD_SLOT];
		uint64_t page = cases[i].vaddr & ~(uint64_t)(WORLD_TEXT - 1);

		object->object = s->world.mappings[0].object = cases[i].object;
		object->first_vaddr = page;
		s->world.mappings[0].bias = WORLD_BIAS - page;
		s->world.chunk[WORLD_RULES + sizeof(any) + offsetof(struct fpl_rule, flags)] =
			cases[i].flags;
		memset(&s->memory, 0, sizeof(s->memory));
		s->walk.serial = cases[i].serial;
		s->walk.last_serial = 0;
		s->walk.known = ARCH_ALL_REGS;
		s->walk.reg[7] = AT(0);
		s->walk.exact = 1;
		s->walk.nr_frames = 0;
		walk_enter(&s->walk);
		s->walk.pc = WORLD_BIAS + (cases[i].vaddr - page);
		assert_int_equal(walk_step(&walker), FPL_STOP_NONE);
		if ((s->memory.head != 0) != cases[i].remembered)
			fail_msg("%s", cases[i].what);
	}
}

/* While rows from code are being made, a row is found as soon as it is there. */
static void missing_row_is_awaited_and_not_remembered(void **state)
{
	static const struct fpl_rule end = { .flags = FPL_RULE_END }, none = { 0 };
	static const struct {
		const char *what;
		uint64_t vaddr;
		enum fpl_table_state state;
		enum fpl_stop stop;
		uint32_t remembered;
		enum walk_open open;
		uint64_t fp; /* 0: an end, if it is a frame pointer */
	} cases[] = {
		{ "no row", 0x100, FPL_TABLE_PARTIAL, FPL_STOP_NO_TABLE, 0, WALK_OPEN_NOT, 1 },
		{ "the entry", WORLD_ENTRY, FPL_TABLE_PARTIAL, FPL_STOP_OUTERMOST, 0, WALK_OPEN_NOT,
		  1 },
		{ "no row, which takes long", 0x100, FPL_TABLE_LATE, FPL_STOP_NO_CFI, 0,
		  WALK_OPEN_LATE, 1 },
		{ "likewise, rbp being 0", 0x100, FPL_TABLE_LATE, FPL_STOP_NO_CFI, 0,
		  WALK_OPEN_LATE, 0 },
		{ "the entry, likewise", WORLD_ENTRY, FPL_TABLE_LATE, FPL_STOP_OUTERMOST, 0,
		  WALK_OPEN_NOT, 1 },
		{ "a row that is an end", 0x3000, FPL_TABLE_PARTIAL, FPL_STOP_OUTERMOST, 1,
		  WALK_OPEN_NOT, 1 },
		{ "no row, rbp being 0", 0x100, FPL_TABLE_READY, FPL_STOP_FP_END, 2, WALK_OPEN_NOT,
		  0 },
		{ "no row in the table that took its place", 0x100, FPL_TABLE_READY,
		  FPL_STOP_NO_CFI, 2, WALK_OPEN_NOT, 1 },
	};
	struct scene *s = *state;
	struct fpl_object *object = &s->world.objects[WORLD_SLOT];
	struct walker walker = { &s->walk, s->frames, &s->world, &s->memory };

	world_row(&s->world, 0x3000, &end, NULL, 0);
	world_row(&s->world, 0x3010, &none, NULL, 0);
	s->walk.serial = 5;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		object->images[0].state = cases[i].state;
		s->walk.fp_open = WALK_OPEN_NOT;
		s->walk.known = ARCH_ALL_REGS;
		s->walk.reg[7] = AT(0);
		s->walk.reg[6] = cases[i].fp;
		s->walk.exact = 1;
		s->walk.nr_frames = 0;
		walk_enter(&s->walk);
		s->walk.pc = WORLD_BIAS + cases[i].vaddr;
		if (walk_step(&walker) != (int)cases[i].stop ||
		    s->memory.head != cases[i].remembered || s->walk.nr_frames != 1 ||
		    s->walk.fp_open != cases[i].open)
			fail_msg("%s", cases[i].what);
	}
}

/* The frames of one walk lie one behind the other, and are found there without the index. */
static void previous_successor_is_tried_first(void **state)
{
	static const uint32_t heads[] = { 0, 5, (1u << FPL_MEMORY_LOG2) - 2,
					  (1u << FPL_MEMORY_LOG2) - 1 };
	static const struct fpl_rule any = { .cfa = FPL_CFA_REG,
					     .regs = 7,
					     .cfa_off = 8,
					     .saved = { SAME, SAME, SAME, SAME, SAME, SAME } };
	const struct lookup_reach reaches[] = { { 0x2400, 0x2410 },
						{ 0x3400, 0x3410 },
						{ 0x4400, 0x4410 } };
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, &s->memory };

	s->walk.serial = 1;
	s->walk.last = s->world.mappings[0];
	s->walk.rule = any;
	for (unsigned i = 0; i < ARRAY_SIZE(heads); i++) {
		memset(&s->memory, 0, sizeof(s->memory));
		s->memory.head = heads[i];
		for (unsigned k = 0; k < ARRAY_SIZE(reaches); k++) {
			walk_remember(&s->memory, &s->walk, WORLD_BIAS + reaches[k].start,
				      reaches[k].start, reaches[k].end);
			assert_int_equal(s->walk.next, s->memory.head);
		}
		memset(s->memory.index, 0x7f, sizeof(s->memory.index));
		s->walk.next = heads[i];
		for (unsigned k = 0; k < ARRAY_SIZE(reaches); k++) {
			const struct fpl_known_frame *known =
				walk_recall(&walker, WORLD_BIAS + reaches[k].start + 3);

			assert_non_null(known);
			assert_int_equal(known->pc, WORLD_BIAS + reaches[k].start);
			assert_int_equal(known->size, 0x10);
			assert_int_equal(known->near, 1);
		}
		assert_null(walk_recall(&walker, WORLD_BIAS + reaches[0].start));
	}
}

static const struct {
	const char *what;
	struct fpl_rule rule;
	bool near;
} near_rules[] = {
	{ "all in place",
	  { FPL_CFA_REG, 0, 7, 0, 8, { SAME, SAME, SAME, SAME, SAME, SAME }, 0 },
	  true },
	{ "the next and the farthest",
	  { FPL_CFA_REG, 0, 7, 0, 8, { -1, SAME, SAME, SAME, SAME, -8 }, 0 },
	  true },
	{ "a word farther",
	  { FPL_CFA_REG, 0, 7, 0, 8, { -9, SAME, SAME, SAME, SAME, SAME }, 0 },
	  false },
	{ "the same of the last",
	  { FPL_CFA_REG, 0, 7, 0, 8, { SAME, SAME, SAME, SAME, SAME, -9 }, 0 },
	  false },
	{ "at the CFA",
	  { FPL_CFA_REG, 0, 7, 0, 8, { SAME, 0, SAME, SAME, SAME, SAME }, 0 },
	  false },
	{ "undefined",
	  { FPL_CFA_REG, 0, 7, 0, 8, { SAME, SAME, FPL_SAVED_UNDEF, SAME, SAME, SAME }, 0 },
	  false },
	{ "made up",
	  { FPL_CFA_REG, FPL_RULE_SYNTH, 7, 0, 8, { SAME, SAME, SAME, SAME, SAME, SAME }, 0 },
	  false },
	{ "the end",
	  { FPL_CFA_REG, FPL_RULE_END, 7, 0, 8, { SAME, SAME, SAME, SAME, SAME, SAME }, 0 },
	  false },
	{ "a signal frame",
	  { FPL_CFA_REG, FPL_RULE_SIGNAL, 7, 0, 8, { SAME, SAME, SAME, SAME, SAME, SAME }, 0 },
	  false },
	{ "return address in a register",
	  { FPL_CFA_REG, FPL_RULE_RA_REG, 7, 0, 8, { SAME, SAME, SAME, SAME, SAME, SAME }, 0 },
	  false },
	{ "from a register",
	  { FPL_CFA_REG, 0, 7, 1, 8, { -1, SAME, SAME, SAME, SAME, SAME }, 0 },
	  false },
	{ "a CFA in memory",
	  { FPL_CFA_DEREF, 0, 7, 0, 8, { SAME, SAME, SAME, SAME, SAME, SAME }, 0 },
	  false },
	{ "no CFI",
	  { FPL_CFA_NONE, 0, 0, 0, 0, { SAME, SAME, SAME, SAME, SAME, SAME }, 0 },
	  false },
};

static void near_rules_need_eight_words_below_the_cfa(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(near_rules); i++)
		if ((walk_is_near(&near_rules[i].rule) != 0) != near_rules[i].near)
			fail_msg("%s", near_rules[i].what);
}

/* Pages of the stack: P(n) is the n-th. */
#define P(n) (STACK + (n) * (uint64_t)FPL_STACK_PAGE)
#define W    FPL_WINDOW_SIZE

static const struct {
	const char *what;
	uint64_t resident, resident_end;
	uint64_t window;
	uint32_t size; /* of the window before */
	uint64_t addr;
	uint64_t want;
	uint32_t want_size, want_reads;
} moves[] = {
	{ "all is there", P(0), P(9), 0, 0, P(2) + 0x400, P(2) + 0x380, W, 1 },
	{ "not aligned", P(0), P(9), 0, 0, P(2) + 0x407, P(2) + 0x380, W, 1 },
	{ "the next page is not", P(0), P(3), 0, 0, P(2) + 0xf00, P(2) + 0xe80, 0x180, 2 },
	{ "nor for the last word", P(0), P(3), 0, 0, P(2) + 0xff8, P(2) + 0xf78, 0x88, 2 },
	{ "the page before is not", P(2), P(9), 0, 0, P(2) + 0x40, P(2), W, 2 },
	{ "nor for an odd address", P(2), P(9), 0, 0, P(2) + 0x41, P(2), W, 2 },
	{ "nor for the first word", P(2), P(9), 0, 0, P(2), P(2), W, 2 },
	{ "nor for the second", P(2), P(9), 0, 0, P(2) + 8, P(2), W, 2 },
	{ "where the red zone just fits", P(2), P(9), 0, 0, P(2) + 0x80, P(2), W, 1 },
	{ "nothing is there", P(5), P(9), 0, 0, P(2) + 0x400, P(2), 0, 3 },
	{ "nothing, for the first word", P(5), P(9), 0, 0, P(2), P(2), 0, 2 },
	{ "inside the window", P(0), P(9), P(2), 64, P(2) + 63, P(2), 64, 0 },
	{ "below the window", P(0), P(9), P(2), 64, P(2) - 8, P(2), 64, 0 },
	{ "right above the window", P(0), P(9), P(2), 64, P(2) + 64, P(2) - 64, W, 1 },
	{ "below a window that is none", P(0), P(9), P(3), 0, P(2), P(2) - 0x80, W, 1 },
};

static void the_window_goes_where_memory_is(void **state)
{
	static const uint8_t bytes[9 * FPL_STACK_PAGE];
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, &s->memory };

	for (unsigned i = 0; i < ARRAY_SIZE(moves); i++) {
		uint32_t near = moves[i].want_size - FPL_NEAR_BYTES + 1;

		s->world.memory[0] =
			(struct world_memory){ moves[i].resident,
					       moves[i].resident_end - moves[i].resident, bytes };
		s->world.nr_reads = 0;
		s->walk.window_addr = moves[i].window;
		s->walk.window_size = moves[i].size;
		s->walk.window_near = 1;
		walk_move(&walker, moves[i].addr);
		if (s->walk.window_size != moves[i].want_size ||
		    s->world.nr_reads != moves[i].want_reads ||
		    (s->walk.window_size && s->walk.window_addr != moves[i].want))
			fail_msg("%s: %#llx, %llu bytes, %u reads", moves[i].what,
				 (unsigned long long)s->walk.window_addr,
				 (unsigned long long)s->walk.window_size, s->world.nr_reads);
		if (s->walk.window_near != (moves[i].want_reads == 0 ? 1
					    : moves[i].want_size     ? near
								     : 0))
			fail_msg("%s: near %llu", moves[i].what,
				 (unsigned long long)s->walk.window_near);
	}
}

/* Words in the window are not read again, by either way to step. */
static void a_word_in_the_window_costs_no_read(void **state)
{
	static const struct fpl_rule rule = { .cfa = FPL_CFA_REG,
					      .regs = 7,
					      .cfa_off = 64,
					      .saved = { -8, SAME, SAME, SAME, SAME, -2 } };
	struct scene *s = *state;

	world_row(&s->world, 0x2400, &rule, NULL, 0);
	for (unsigned i = 0; i < NR_WORDS; i++)
		s->words[i] = 0xa000 + i;
	for (int words = -2; words <= 2; words++) {
		struct walker walker = { &s->walk, s->frames, &s->world, &s->memory };
		uint32_t reads;

		/* Eight words below the CFA, in a window that begins or ends some words off. */
		s->walk.reg[7] = AT(100);
		s->walk.known = ARCH_ALL_REGS;
		s->walk.pc = WORLD_BIAS + PC;
		s->walk.exact = 1;
		s->walk.nr_frames = 0;
		s->walk.serial = 1;
		walk_enter(&s->walk);
		s->walk.window_addr = words < 0 ? AT(100 + (unsigned)-words) : AT(100);
		s->walk.window_size = words < 0 ? 64 : 64 + 8 * (uint32_t)words;
		if (words == -1) { /* ends one word short */
			s->walk.window_addr = AT(100);
			s->walk.window_size = 56;
		}
		s->walk.window_near = s->walk.window_size < FPL_NEAR_BYTES
					      ? 0
					      : s->walk.window_size - FPL_NEAR_BYTES + 1;
		memcpy(s->walk.window, (const char *)s->words + (s->walk.window_addr - STACK),
		       s->walk.window_size);
		reads = s->world.nr_reads;
		assert_int_equal(walk_step(&walker), FPL_STOP_NONE);
		assert_int_equal(s->walk.pc, 0xa000 + 107);
		assert_int_equal(s->walk.reg[3], 0xa000 + 100);
		assert_int_equal(s->walk.reg[15], 0xa000 + 106);
		assert_int_equal(s->walk.reg[7], AT(108));
		if ((s->world.nr_reads == reads) != (words >= 0))
			fail_msg("window %d: %u reads", words, s->world.nr_reads - reads);
	}
}

static void a_near_step_is_taken_where_its_words_can_be_had(void **state)
{
	static const struct fpl_rule rule = { .cfa = FPL_CFA_REG,
					      .regs = 7,
					      .cfa_off = 64,
					      .saved = { -8, SAME, SAME, SAME, SAME, SAME } };
	static const struct {
		const char *what;
		uint64_t sp;
		uint32_t window_words, reads; /* of a window from AT(100) on; to step */
		int stop;
	} cases[] = {
		{ "in the window", AT(100), 8, 0, FPL_STOP_NONE },
		{ "a window is made", AT(100), 0, 1, FPL_STOP_NONE },
		{ "the window is moved up", AT(101), 1, 1, FPL_STOP_NONE },
		{ "reaching out of the window, which does not move down", AT(99), 8, 0,
		  FPL_STOP_COUNT },
		{ "not aligned", AT(100) + 4, 16, 0, FPL_STOP_COUNT },
		{ "not resident", AT(2 * NR_WORDS), 0, 2, FPL_STOP_COUNT },
	};
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, &s->memory };

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t size = 8 * cases[i].window_words;
		uint32_t reads = s->world.nr_reads;

		s->walk.known = ARCH_ALL_REGS;
		s->walk.reg[7] = cases[i].sp;
		s->walk.window_addr = AT(100);
		s->walk.window_size = size;
		s->walk.window_near = size < FPL_NEAR_BYTES ? 0 : size - FPL_NEAR_BYTES + 1;
		if (walk_near(&walker, &rule) != cases[i].stop ||
		    s->world.nr_reads - reads != cases[i].reads)
			fail_msg("%s: %u reads", cases[i].what, s->world.nr_reads - reads);
		if (cases[i].stop == FPL_STOP_COUNT) {
			assert_int_equal(s->walk.known, ARCH_ALL_REGS);
			assert_int_equal(s->walk.reg[7], cases[i].sp);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static void every_place_of_the_index_is_used_and_none_beyond(void **state)
{
	enum { NR = 1 << FPL_MEMORY_INDEX_LOG2 };
	struct scene *s = *state;
	AUTO_FREE bool *used = calloc(NR, sizeof(*used));
	unsigned nr_used = 0;

	assert_non_null(used);
	for (uint64_t pc = 0; pc < 64ull * 16 * NR; pc += 64) {
		uint64_t at = walk_index(&s->walk, WORLD_BIAS + pc);

		assert_true(at < NR);
		nr_used += !used[at];
		used[at] = true;
	}
	assert_int_equal(nr_used, NR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_remembered_step_is_the_step),
		TEST(remembered_walks_are_the_walks),
		TEST(remembered_row_ends_with_its_mapping),
		TEST(nothing_is_remembered_that_has_no_name),
		TEST(missing_row_is_awaited_and_not_remembered),
		TEST(previous_successor_is_tried_first),
		TEST(the_window_goes_where_memory_is),
		TEST(a_word_in_the_window_costs_no_read),
		TEST(a_near_step_is_taken_where_its_words_can_be_had),
		TEST(every_place_of_the_index_is_used_and_none_beyond),
		cmocka_unit_test(near_rules_need_eight_words_below_the_cfa),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
