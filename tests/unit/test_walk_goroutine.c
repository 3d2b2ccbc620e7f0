// SPDX-License-Identifier: Apache-2.0
/* From the system stack of a Go program to its goroutine: what must hold up for that, and what is
 * found. */
#include "cmocka_all.h"

#include <stdbool.h>

#include "tests/support/walk_world.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Words of one piece of memory that holds all there is. */
#define MEMORY 0xc000000000ull
#define AT(i)  (MEMORY + 8ull * (i))
enum {
	M = 0, /* m.g0; m.curg at byte 192 */
	M_CURG = M + 24,
	G0 = 40, /* stack.lo, stack.hi; m at byte 48; sched.sp, sched.pc at 56 */
	G = 60,
	OTHER_G = 80,
	G_STACK = 0,
	G_M = 6,
	G_SP = 7,
	G_PC = 8,
	SYSTEM = 100, /* the stack of the thread: rsp */
	STACK_LO = 150,
	STACK_HI = 200, /* of the goroutine */
	SP = 180,	/* where it left its stack */
	NR_WORDS = 210,
};

#define PC	0x2468ull /* vaddr, in the function that has left the stack, from 0x2400 on */
#define CALLER	0x4010ull
#define RESUMED 0x5008ull
#define SCHED	(AT(SYSTEM))

static const struct fpl_rule call = { .cfa = FPL_CFA_G_CALL,
				      .flags = FPL_RULE_SWITCH,
				      .regs = 14 | 6 << 4,
				      .cfa_off = 56,
				      .off2 = 192,
				      .saved = { -128, -128, -128, -128, -128, -128 } };
static const struct fpl_rule resume = { .cfa = FPL_CFA_G_RESUME,
					.flags = FPL_RULE_SWITCH,
					.regs = 14 | 6 << 4,
					.cfa_off = 56,
					.off2 = 192,
					.saved = { -128, -128, -128, -128, -128, -128 } };
static const struct fpl_rule height = { .cfa = FPL_CFA_HEIGHT,
					.flags = FPL_RULE_SWITCH,
					.regs = 7,
					.cfa_off = 48,
					.off2 = 8,
					.saved = { -128, -128, -128, -128, -128, -128 } };

struct scene {
	struct env world;
	struct fpl_walk walk;
	uint64_t words[NR_WORDS];
	__u64 frames[FPL_DEPTH_MAX];
	uint8_t code[0x10];
};

static void scene_init(struct scene *scene, const struct fpl_rule *rule)
{
	uint64_t *words = scene->words;
	uint8_t jump[8] = { 0x90, 0x90, 0x90, 0xe8 };
	/* call, up to RESUMED, of the function that is at 0x24a0 */
	int32_t distance = 0x24a0 - (int32_t)RESUMED;

	memset(scene, 0, sizeof(*scene));
	world_init(&scene->world);
	world_row(&scene->world, 0x2400, rule, NULL, 0);
	memcpy(jump + 4, &distance, sizeof(distance));
	memcpy(scene->code, jump, sizeof(jump));
	words[M] = AT(G0);
	words[M_CURG] = AT(G);
	words[G0 + G_M] = AT(M);
	words[G0 + G_SP] = SCHED;
	words[G + G_STACK] = AT(STACK_LO);
	words[G + G_STACK + 1] = AT(STACK_HI);
	words[G + G_M] = AT(M);
	words[G + G_SP] = AT(SP);
	words[G + G_PC] = WORLD_BIAS + RESUMED;
	words[OTHER_G + G_M] = AT(M);
	words[SP] = WORLD_BIAS + CALLER;
	words[SYSTEM + 6] = AT(G);
	words[SYSTEM + 5] = 8 * (STACK_HI - SP);
	world_memory(&scene->world, MEMORY, words, sizeof(scene->words));
	world_memory(&scene->world, WORLD_BIAS + RESUMED - 8, scene->code, 8);
	scene->walk.reg[6] = AT(190);
	scene->walk.reg[7] = SCHED;
	scene->walk.reg[14] = AT(G0);
	scene->walk.pc = WORLD_BIAS + PC;
	scene->walk.known = ARCH_ALL_REGS;
	scene->walk.nr = scene->world.nr_mappings;
	scene->walk.max_depth = 10;
	scene->walk.by_row = FPL_ORIGIN_CFI;
}

static int scene_step(struct scene *scene)
{
	struct walker walker = { .walk = &scene->walk,
				 .frames = scene->frames,
				 .env = &scene->world };
	int stop = walk_step(&walker);

	world_fini(&scene->world);
	return stop;
}

static void the_caller_is_on_the_stack_of_the_goroutine(void **state)
{
	static const struct {
		const char *what;
		const struct fpl_rule *rule;
		uint64_t pc, sp;
		unsigned r14;
	} cases[] = {
		{ "where it called", &call, CALLER, AT(SP + 1), G },
		{ "where it will go on", &resume, RESUMED, AT(SP), G },
		{ "by its distance from the end", &height, CALLER, AT(SP + 1), G0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene scene;

		scene_init(&scene, cases[i].rule);
		assert_int_equal(scene_step(&scene), FPL_STOP_NONE);
		assert_int_equal(scene.walk.pc, WORLD_BIAS + cases[i].pc);
		assert_int_equal(scene.walk.reg[7], cases[i].sp);
		assert_int_equal(scene.walk.reg[14], AT(cases[i].r14));
		assert_int_equal(scene.walk.reg[6], AT(190));
		assert_int_equal(scene.walk.exact, 0);
		/* the window is of the stack that was left */
		assert_int_equal(scene.walk.window_size, 0);
	}
}

/* In whichever of them the thread runs, it leads to m. */
static void any_g_of_the_thread_will_do(void **state)
{
	static const unsigned gs[] = { G, OTHER_G };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(gs); i++) {
		struct scene scene;

		scene_init(&scene, &call);
		scene.walk.reg[14] = AT(gs[i]);
		assert_int_equal(scene_step(&scene), FPL_STOP_NONE);
		assert_int_equal(scene.walk.pc, WORLD_BIAS + CALLER);
	}
}

static void implausible_goroutine_ends_the_walk(void **state)
{
	static const struct {
		const char *what;
		const struct fpl_rule *rule;
		unsigned word;
		uint64_t value;
		int stop;
	} cases[] = {
		{ "g is another thread's", &call, G + G_M, AT(OTHER_G), FPL_STOP_REG_UNKNOWN },
		{ "and so for morestack", &resume, G + G_M, AT(OTHER_G), FPL_STOP_REG_UNKNOWN },
		{ "g0's stack in use ends elsewhere", &call, G0 + G_SP, SCHED + 8,
		  FPL_STOP_REG_UNKNOWN },
		{ "sp at the end of the stack", &call, G + G_SP, AT(STACK_HI),
		  FPL_STOP_REG_UNKNOWN },
		{ "sp at its beginning", &call, G + G_SP, AT(STACK_LO), FPL_STOP_REG_UNKNOWN },
		{ "sp is cleared: not on the system stack", &call, G + G_SP, 0,
		  FPL_STOP_REG_UNKNOWN },
		{ "sp is none", &call, G + G_SP, AT(SP) + 4, FPL_STOP_REG_UNKNOWN },
		{ "no memory at m", &call, G0 + G_M, 8, FPL_STOP_READ_FAULT },
		{ "no memory at g0", &call, M, 8, FPL_STOP_READ_FAULT },
		{ "no memory at g", &call, M_CURG, 8, FPL_STOP_READ_FAULT },
		{ "no goroutine: systemstack has one", &call, M_CURG, 0, FPL_STOP_READ_FAULT },
		{ "no goroutine: the scheduler has it", &resume, M_CURG, 0, FPL_STOP_OUTERMOST },
		{ "a goroutine that has not called morestack", &resume, G + G_PC,
		  WORLD_BIAS + CALLER, FPL_STOP_REG_UNKNOWN },
		{ "height: of no stack", &height, SYSTEM + 5, 8 * (STACK_HI - STACK_LO),
		  FPL_STOP_REG_UNKNOWN },
		{ "height: none", &height, SYSTEM + 5, 0, FPL_STOP_REG_UNKNOWN },
		{ "height: not of words", &height, SYSTEM + 5, 12, FPL_STOP_REG_UNKNOWN },
		{ "height: no g", &height, SYSTEM + 6, 0, FPL_STOP_READ_FAULT },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene scene;
		int stop;

		scene_init(&scene, cases[i].rule);
		scene.words[cases[i].word] = cases[i].value;
		stop = scene_step(&scene);
		if (stop != cases[i].stop)
			fail_msg("%s: stop %d, not %d", cases[i].what, stop, cases[i].stop);
	}
}

/* morestack and the function that jumps to it lie together; nothing else is called there. */
static void only_calls_of_morestack_lead_to_it(void **state)
{
	static const struct {
		int32_t to; /* vaddr called */
		uint8_t opcode;
		int stop;
	} cases[] = {
		{ (int32_t)PC - 192, 0xe8, FPL_STOP_NONE },
		{ (int32_t)PC - 193, 0xe8, FPL_STOP_REG_UNKNOWN },
		{ (int32_t)PC + 63, 0xe8, FPL_STOP_NONE },
		{ (int32_t)PC + 64, 0xe8, FPL_STOP_REG_UNKNOWN },
		{ (int32_t)PC, 0xe9, FPL_STOP_REG_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int32_t distance = cases[i].to - (int32_t)RESUMED;
		struct scene scene;

		scene_init(&scene, &resume);
		scene.code[3] = cases[i].opcode;
		memcpy(scene.code + 4, &distance, sizeof(distance));
		assert_int_equal(scene_step(&scene), cases[i].stop);
	}
}

/* A copy of the stack holds none of that. */
static void memory_outside_the_snapshot_ends_the_walk(void **state)
{
	const struct fpl_rule *rules[] = { &call, &resume, &height };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct scene scene;

		scene_init(&scene, rules[i]);
		scene.world.nr_memory = 0;
		world_memory(&scene.world, AT(SYSTEM), scene.words + SYSTEM, 8 * 20);
		assert_int_equal(scene_step(&scene), FPL_STOP_READ_FAULT);
	}
}

static void the_register_must_be_known(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene, &call);
	scene.walk.known &= ~WALK_BIT(14);
	assert_int_equal(scene_step(&scene), FPL_STOP_REG_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_caller_is_on_the_stack_of_the_goroutine),
		cmocka_unit_test(any_g_of_the_thread_will_do),
		cmocka_unit_test(implausible_goroutine_ends_the_walk),
		cmocka_unit_test(only_calls_of_morestack_lead_to_it),
		cmocka_unit_test(memory_outside_the_snapshot_ends_the_walk),
		cmocka_unit_test(the_register_must_be_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
