/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from LuaJIT's traces, and from what ends them, to the frame of its interpreter: by the
 * thread that runs, whatever the distance, and not by data that lies. */
#include "cmocka_all.h"

#include "tests/support/walk_scene.h"

#define AREA	  0x7f2000000000ull
#define ID	  9u
#define DISPATCH  (HEAP + 0x800ull) /* r14 */
#define HEAP	  0x7f3000000000ull
#define RUNS	  (DISPATCH - 0x200) /* the thread that runs; behind it, whether a trace does */
#define THREAD	  (HEAP + 0x100ull)
#define OTHER	  (HEAP + 0x400ull)
#define MADE(off) (FPL_FRAME_JIT | (AREA + (off)))

enum {
	FRAME_OFF = 0x50, /* of its innermost frame */
	WORDS = 10,	  /* from the interpreter's rsp to its CFA */
	INTERPRETER = 40, /* the word that its rsp is at in the scene */
	BEFORE = 4,	  /* the word of a frame with the one before */
	EXIT = 0x9000,	  /* the way out of a trace, in the object */
};

static const struct fpl_rule trace = { .cfa = FPL_CFA_LUAJIT,
				       .regs = ARCH_R14 | WORDS << 4,
				       .cfa_off = -0x200,
				       .saved = { -3, -2, -10, -11, -5, -4 },
				       .off2 = FRAME_OFF };

static uint64_t area[512], heap[512];

static void put(uint64_t at, uint64_t value)
{
	heap[(at - HEAP) / 8] = value;
}

static void start(struct scene *s, uint32_t below)
{
	s->walk.reg[ARCH_SP] = AT(INTERPRETER - below);
	s->walk.reg[ARCH_R14] = DISPATCH;
	s->walk.known = ARCH_ALL_REGS;
}

/* A trace runs, @below words below the interpreter's rsp. */
static void make(struct scene *s, uint32_t below)
{
	memset(heap, 0, sizeof(heap));
	memset(area, 0x90, sizeof(area));
	area[0] = 0;
	area[1] = sizeof(area);
	put(RUNS, THREAD);
	put(RUNS + 8, HEAP);
	put(THREAD + FRAME_OFF, AT(INTERPRETER));
	for (uint32_t i = 0; i < INTERPRETER + WORDS; i++)
		s->words[i] = 0x1000 + i;
	s->words[INTERPRETER + BEFORE] = 0;
	s->words[INTERPRETER + WORDS - 1] = PC(0x4010);
	start(s, below);
}

static int trace_setup(void **state)
{
	int code = setup(state);
	struct scene *s = *state;

	world_row(&s->world, EXIT, &trace, NULL, 0);
	world_row(&s->world, EXIT + 0x100, &rule_leaf, NULL, 0);
	world_mapping(&s->world, AREA, AREA + sizeof(area), 0, FPL_MAPPING_ANON);
	for (uint32_t i = 0; i < s->world.nr_mappings; i++)
		if (s->world.mappings[i].start == AREA)
			s->world.mappings[i].bias = fpl_region_ref(ID, 1);
	world_memory(&s->world, AREA, area, sizeof(area));
	world_memory(&s->world, HEAP, heap, sizeof(heap));
	s->world.region = (struct fpl_region){
		.id = ID, .kind = FPL_REGION_LUAJIT, .end = 1ull << 47, .rule = trace
	};
	assert_true(fpl_region_holds(&s->world.region));
	s->code[0x400b] = 0xe8;	  /* a call before PC(0x4010) */
	s->walk.reg[ARCH_FP] = 4; /* no frame pointer */
	return code;
}

static void check_registers(const struct scene *s)
{
	assert_int_equal(s->walk.reg[ARCH_SP], AT(INTERPRETER + WORDS));
	assert_int_equal(s->walk.reg[ARCH_FP], 0x1000 + INTERPRETER + WORDS - 2);
	assert_int_equal(s->walk.reg[ARCH_R12], 0x1000 + INTERPRETER);
	assert_int_equal(s->walk.reg[ARCH_R13], 0x1000 + INTERPRETER - 1);
}

static void a_trace_has_the_frame_of_the_interpreter_at_any_distance(void **state)
{
	static const uint32_t below[] = { 2, 3, 4, 6, 36 };
	struct scene *s = *state;
	__u64 want[] = { MADE(0x200) | EXACT, FRAME(0x4010), 0 };
	__u64 called[] = { FRAME(0x1008) | EXACT, MADE(0x200), FRAME(0x4010), 0 };

	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		make(s, below[i]);
		check_walk(s, AREA + 0x200, FPL_STOP_OUTERMOST, want);
		check_registers(s);
		/* with flags, as of a coroutine */
		put(THREAD + FRAME_OFF, AT(INTERPRETER) | 3);
		start(s, below[i]);
		check_walk(s, AREA + 0x200, FPL_STOP_OUTERMOST, want);
	}
	/* the trace has called a function of the object */
	make(s, 5);
	s->words[INTERPRETER - 5] = AREA + 0x200;
	memset((uint8_t *)area + 0x200 - 5, 0xe8, 1);
	check_walk(s, PC(0x1008), FPL_STOP_OUTERMOST, called);
	check_registers(s);
}

static void the_way_out_has_it_above_the_frames_of_what_it_calls(void **state)
{
	struct scene *s = *state;
	__u64 want[] = { FRAME(EXIT + 0x10) | EXACT, FRAME(0x4010), 0 };
	__u64 lost[] = { FRAME(EXIT + 0x10) | EXACT, 0 };

	make(s, 34);
	put(RUNS + 8, 0); /* no trace runs any more */
	check_walk(s, PC(EXIT + 0x10), FPL_STOP_OUTERMOST, want);
	check_registers(s);
	/* two frames below rsp; the flags of the last are no part of its address */
	make(s, 20);
	put(THREAD + FRAME_OFF, AT(2) | 1);
	s->words[2 + BEFORE] = AT(10);
	s->words[10 + BEFORE] = AT(INTERPRETER) | 2;
	check_walk(s, PC(EXIT + 0x10), FPL_STOP_OUTERMOST, want);
	/* more than that */
	start(s, 20);
	s->words[10 + BEFORE] = AT(12);
	s->words[12 + BEFORE] = AT(14);
	s->words[14 + BEFORE] = AT(INTERPRETER);
	check_walk(s, PC(EXIT + 0x10), FPL_STOP_REG_UNKNOWN, lost);
	/* one that leads to itself, and none */
	s->words[2 + BEFORE] = AT(2);
	check_walk(s, PC(EXIT + 0x10), FPL_STOP_REG_UNKNOWN, lost);
	s->words[2 + BEFORE] = 0;
	check_walk(s, PC(EXIT + 0x10), FPL_STOP_REG_UNKNOWN, lost);
}

static void data_that_lies_leads_nowhere(void **state)
{
	static const struct {
		const char *what;
		uint64_t at, value;
		enum fpl_stop stop;
	} cases[] = {
		{ "no trace runs", RUNS + 8, 0, FPL_STOP_NO_CFI },
		{ "no thread", RUNS, 0, FPL_STOP_READ_FAULT },
		{ "a thread nowhere", RUNS, UINT64_MAX, FPL_STOP_READ_FAULT },
		{ "another thread, without a frame", RUNS, OTHER, FPL_STOP_REG_UNKNOWN },
		{ "a frame that is not aligned", THREAD + FRAME_OFF, AT(INTERPRETER) + 4,
		  FPL_STOP_REG_UNKNOWN },
		{ "a frame at rsp", THREAD + FRAME_OFF, AT(INTERPRETER - 4), FPL_STOP_REG_UNKNOWN },
		{ "far above", THREAD + FRAME_OFF, AT(INTERPRETER + (1u << 14)),
		  FPL_STOP_REG_UNKNOWN },
		{ "the end of memory", THREAD + FRAME_OFF, UINT64_MAX, FPL_STOP_REG_UNKNOWN },
		{ "a place without a return address", THREAD + FRAME_OFF, AT(INTERPRETER - 3),
		  FPL_STOP_BAD_RA },
	};
	struct scene *s = *state;
	__u64 want[] = { MADE(0x200) | EXACT, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		make(s, 4);
		put(cases[i].at, cases[i].value);
		s->words[INTERPRETER - 4 + BEFORE] = 0;
		check_walk(s, AREA + 0x200, cases[i].stop, want);
	}
	make(s, 4);
	s->walk.known &= ~(1u << ARCH_R14);
	check_walk(s, AREA + 0x200, FPL_STOP_NO_CFI, want);
	s->walk.known = ARCH_ALL_REGS;
	s->walk.reg[ARCH_R14] = 0x10;
	check_walk(s, AREA + 0x200, FPL_STOP_NO_CFI, want);
}

/* The page begins with an address, and has a stub of 4 bytes for each function that C may call, but
 * the last of 32 goes on. */
static void code_that_c_calls_back_has_pushed_rbp_or_not(void **state)
{
	static const uint8_t last[] = { 0xb0, 0x1f, 0x55, 0xb4, 0x00, 0x48, 0xbd, 1, 2, 3, 4,
					5,    6,    7,	  8,	0xff, 0x25, 0x80, 0, 0, 0 };
	static const struct {
		uint32_t off, pushed;
	} cases[] = { { 8, 0 },	  { 10, 0 },  { 12, 0 },  { 132, 0 },
		      { 134, 0 }, { 135, 1 }, { 137, 1 }, { 147, 1 } };
	struct scene *s = *state;
	uint8_t *page = (uint8_t *)area;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { MADE(cases[i].off) | EXACT, FRAME(0x4010), 0 };

		make(s, 4);
		for (uint32_t slot = 0; slot < 31; slot++) {
			const uint8_t stub[] = { 0xb0, (uint8_t)slot, 0xeb,
						 (uint8_t)(4 * (31 - slot) - 2) };

			memcpy(page + 8 + sizeof(stub) * slot, stub, sizeof(stub));
		}
		memcpy(page + 132, last, sizeof(last));
		s->walk.reg[ARCH_SP] = AT(INTERPRETER + WORDS - 1 - cases[i].pushed);
		s->walk.reg[ARCH_FP] = 0x77;
		s->walk.reg[ARCH_R14] = 0;
		check_walk(s, AREA + cases[i].off, FPL_STOP_OUTERMOST, want);
		assert_int_equal(s->walk.reg[ARCH_FP],
				 cases[i].pushed ? 0x1000 + INTERPRETER + WORDS - 2 : 0x77);
	}
}

/* push rbx; push r15; push r14; push r13; push rbp; sub rsp, 0x80 */
static const uint8_t prologue[] = { 0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x55,
				    0x48, 0x81, 0xec, 0x80, 0x00, 0x00, 0x00 };

static void memory_of_sljit_has_its_frames(void **state)
{
	struct scene *s = *state;
	__u64 want[] = { MADE(0x200) | EXACT, FRAME(0x4010), 0 };

	make(s, 4);
	area[0] = sizeof(area) - 16;
	area[1] = 0;
	memcpy(area + 2, prologue, sizeof(prologue));
	s->walk.reg[ARCH_SP] = AT(INTERPRETER + WORDS - 22);
	check_walk(s, AREA + 0x200, FPL_STOP_OUTERMOST, want);
	assert_int_equal(s->walk.reg[ARCH_RBX], 0x1000 + INTERPRETER + WORDS - 2);
}

static void no_other_rule_is_taken(void **state)
{
	struct fpl_region region = { .kind = FPL_REGION_LUAJIT, .end = 1, .rule = trace };

	(void)state;
	assert_true(fpl_region_holds(&region));
	region.rule.cfa = FPL_CFA_REG;
	assert_false(fpl_region_holds(&region));
	region.rule = trace;
	region.rule.flags = FPL_RULE_EXT;
	assert_false(fpl_region_holds(&region));
	region.rule = trace;
	region.rule.from_reg = 1;
	assert_false(fpl_region_holds(&region));
	region.rule = trace;
	region.end = 0;
	assert_false(fpl_region_holds(&region));
}

#define TRACE_TEST(name) cmocka_unit_test_setup_teardown(name, trace_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TRACE_TEST(a_trace_has_the_frame_of_the_interpreter_at_any_distance),
		TRACE_TEST(the_way_out_has_it_above_the_frames_of_what_it_calls),
		TRACE_TEST(data_that_lies_leads_nowhere),
		TRACE_TEST(code_that_c_calls_back_has_pushed_rbp_or_not),
		TRACE_TEST(memory_of_sljit_has_its_frames),
		cmocka_unit_test(no_other_rule_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
