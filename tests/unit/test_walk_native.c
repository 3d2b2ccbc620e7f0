/* SPDX-License-Identifier: Apache-2.0 */
/* Native frames that are script frames themselves (is_native of bpf/shared_script.h): code made at
 * run time with frame pointers, its beginning and its end, and memory that lies. */
#include <stdbool.h>

#include "tests/support/walk_scene.h"

#define HEAP	    0x600000000000ull /* functions, their maps and what their code is */
#define JIT(off)    (ANON_START + (off))
#define ID	    7u
#define TYPE	    2066u
#define FUNCTION    (HEAP + 0x100) /* its map is the first word */
#define MAP	    (HEAP + 0x200)
#define SHARED	    (HEAP + 0x300)
#define TAGGED(a)   ((a) + 1)
#define FRAME_WORD  20 /* where in the stack the frame pointer leads */
#define CONTEXT	    TAGGED(HEAP + 0x400)
#define MARKER	    0x20 /* of a frame that is V8's own */
#define BODY	    0x800u
#define JIT_AT(off) (FPL_FRAME_JIT | JIT(off))

struct native_scene {
	struct scene *s;
	uint64_t heap[512];
};

static const struct fpl_script_rule rule_native = {
	.start = { 0x5000 },
	.end = { 0x5800 },
	.object = WORLD_ID,
	.check_vaddr = TYPE,
	.check_size = 16,
	.check = { .off = { -16, 0, 12 }, .nr = 3, .bits = 16 },
	.code = { .off = { -16, 24 }, .nr = 2 },
	.stop = { .off = { -8 }, .nr = 1 },
	.stop_mask = 1,
	.is_native = 1,
	.check_is_value = 1,
	.leaf_reg = 5,
	.leaf_check = { .off = { 0, 12 }, .nr = 2, .bits = 16 },
	.leaf = { .off = { 24 }, .nr = 1 },
};

static uint64_t *heap_at(struct native_scene *t, uint64_t addr)
{
	return &t->heap[(addr - HEAP) / 8];
}

static void set_type(struct native_scene *t, uint64_t type)
{
	*heap_at(t, MAP + 8) = type << 32;
}

static int setup_native(void **state)
{
	struct native_scene *t = calloc(1, sizeof(*t));
	void *scene;

	assert_non_null(t);
	setup(&scene);
	t->s = scene;
	world_memory(&t->s->world, HEAP, t->heap, sizeof(t->heap));
	t->s->world.script_rules[1] = rule_native;
	t->s->world.objects[WORLD_SLOT].script = 1;
	t->s->world.region = (struct fpl_region){
		.id = ID, .kind = FPL_REGION_SCRIPT, .end = 1ull << 47, .script_rule = 1
	};
	assert_true(fpl_region_holds(&t->s->world.region));
	for (uint32_t i = 0; i < t->s->world.nr_mappings; i++)
		if (t->s->world.mappings[i].start == ANON_START)
			t->s->world.mappings[i].bias = fpl_region_ref(ID, 1);
	*heap_at(t, FUNCTION) = TAGGED(MAP);
	*heap_at(t, FUNCTION + 24) = TAGGED(SHARED);
	set_type(t, TYPE);
	t->s->words[FRAME_WORD] = 4; /* no caller's frame */
	t->s->words[FRAME_WORD + 1] = PC(0x4010);
	t->s->words[FRAME_WORD - 1] = CONTEXT;
	t->s->words[FRAME_WORD - 2] = TAGGED(FUNCTION);
	t->s->walk.reg[ARCH_FP] = AT(FRAME_WORD);
	t->s->code[0x400b] = 0xe8; /* a call before PC(0x4010) */
	memset(t->s->jit, 0x90, sizeof(t->s->jit));
	*state = t;
	return 0;
}

static int teardown_native(void **state)
{
	struct native_scene *t = *state;
	void *scene = t->s;

	teardown(&scene);
	free(t);
	return 0;
}

/* Walk from @pc, whose caller is at PC(0x4010), and judge the words: the head, and @code if it is
 * not 0. */
static void check_words(struct native_scene *t, uint64_t pc, __u64 frame, __u64 code,
			enum fpl_script_end end)
{
	const __u64 want[] = { frame | EXACT, FRAME(0x4010) | BY_FP, 0 };
	struct fpl_walk *walk = &t->s->walk;

	walk->reg[ARCH_SP] = AT(0);
	walk->reg[ARCH_FP] = AT(FRAME_WORD);
	walk->reg[5] = TAGGED(FUNCTION);
	walk->known = ARCH_ALL_REGS;
	check_walk(t->s, pc, FPL_STOP_OUTERMOST, want);
	assert_int_equal(walk->nr_script, code ? 3 : 1);
	assert_int_equal(walk->script_words[0], 1ull << FPL_SCRIPT_RULE_SHIFT |
							(__u64)end << FPL_SCRIPT_END_SHIFT |
							(code != 0));
	if (!code)
		return;
	assert_int_equal(walk->script_words[1] & FPL_SCRIPT_CODE_MASK, code);
	assert_int_equal((__u32)walk->script_words[2], FPL_SCRIPT_NO_PLACE);
}

static void frame_in_a_region_has_its_function(void **state)
{
	check_words(*state, JIT(BODY), JIT_AT(BODY), SHARED, FPL_SCRIPT_END_OUTERMOST);
}

static void frame_in_code_of_the_object_has_its_function(void **state)
{
	check_words(*state, PC(0x5100), FRAME(0x5100), SHARED, FPL_SCRIPT_END_OUTERMOST);
}

static void frames_of_v8_s_own_and_what_is_no_function_have_none(void **state)
{
	static const uint64_t types[] = { 0, TYPE - 1, TYPE + 16, 0xffff };
	struct native_scene *t = *state;

	t->s->words[FRAME_WORD - 1] = MARKER;
	check_words(t, JIT(BODY), JIT_AT(BODY), 0, FPL_SCRIPT_END_UNKNOWN);
	t->s->words[FRAME_WORD - 1] = CONTEXT;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		set_type(t, types[i]);
		check_words(t, JIT(BODY), JIT_AT(BODY), 0, FPL_SCRIPT_END_UNKNOWN);
	}
}

static void words_that_lead_nowhere_are_no_function(void **state)
{
	static const uint64_t words[] = { 0, 1, 7, HEAP + 0x2001, 1ull << 62 | 1, UINT64_MAX };
	struct native_scene *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		t->s->words[FRAME_WORD - 2] = words[i];
		check_words(t, JIT(BODY), JIT_AT(BODY), 0, FPL_SCRIPT_END_UNKNOWN);
	}
	t->s->words[FRAME_WORD - 2] = TAGGED(FUNCTION);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		*heap_at(t, FUNCTION) = words[i];
		check_words(t, JIT(BODY), JIT_AT(BODY), 0, FPL_SCRIPT_END_UNKNOWN);
	}
	*heap_at(t, FUNCTION) = TAGGED(MAP);
	*heap_at(t, FUNCTION + 24) = 1ull << 62;
	check_words(t, JIT(BODY), JIT_AT(BODY), 0, FPL_SCRIPT_END_UNKNOWN);
}

/* The frame of the caller is not that of code that has not made its own yet. */
static void code_without_its_frame_has_the_function_in_a_register(void **state)
{
	static const struct {
		const char *what;
		char at[9];
		bool is_prologue, is_in_register; /* the return address */
	} cases[] = {
		{ "push rbp; mov rbp, rsp", "\x55\x48\x89\xe5\x56\x57", true, false },
		{ "ret", "\xc3", false, false },
		{ "ret n", "\xc2\x08\0", false, false },
		{ "lea rsp, [rsp + rcx * 8]", "\x48\x8d\x24\xcc\x41\x52\xc3", false, true },
		{ "lea rsp, [rsp + r11 * 8 + 8]", "\x4a\x8d\x64\xdc\x08\x51\xc3", false, true },
		{ "push r10; ret", "\x41\x52\xc3", false, true },
		{ "push rcx; ret", "\x51\xc3", false, true },
	};
	struct native_scene *t = *state;
	const __u64 want[] = { JIT_AT(BODY) | EXACT, FRAME(0x4010) | BY_FP, 0 };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		t->s->words[0] = cases[i].is_in_register ? 0 : PC(0x4010);
		memcpy(t->s->jit + BODY, cases[i].at, 8);
		if (cases[i].is_prologue) {
			check_words(t, JIT(BODY), JIT_AT(BODY), SHARED, FPL_SCRIPT_END_OUTERMOST);
			continue;
		}
		t->s->walk.reg[ARCH_SP] = AT(0);
		t->s->walk.reg[ARCH_FP] = AT(FRAME_WORD);
		t->s->walk.known = ARCH_ALL_REGS;
		check_walk(t->s, JIT(BODY), FPL_STOP_OUTERMOST, want);
		assert_int_equal(t->s->walk.nr_script, 0);
	}
}

static void stale_region_and_rule_of_another_kind_lead_nowhere(void **state)
{
	struct native_scene *t = *state;
	const __u64 want[] = { JIT_AT(BODY) | EXACT, FRAME(0x4010) | BY_FP, 0 };

	t->s->world.region.id = ID + 1;
	check_one_walk(t->s, NULL, JIT(BODY), FPL_STOP_OUTERMOST, want);
	assert_int_equal(t->s->walk.nr_script, 0);
}

static void region_without_a_rule_does_not_hold(void **state)
{
	struct fpl_region region = { .kind = FPL_REGION_SCRIPT, .end = 1 };

	(void)state;
	assert_false(fpl_region_holds(&region));
	region.script_rule = FPL_SCRIPT_RULES_MAX;
	assert_false(fpl_region_holds(&region));
	region.script_rule = 1;
	assert_true(fpl_region_holds(&region));
	region.end = 0;
	assert_false(fpl_region_holds(&region));
}

#define NATIVE_TEST(f) cmocka_unit_test_setup_teardown(f, setup_native, teardown_native)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NATIVE_TEST(frame_in_a_region_has_its_function),
		NATIVE_TEST(frame_in_code_of_the_object_has_its_function),
		NATIVE_TEST(frames_of_v8_s_own_and_what_is_no_function_have_none),
		NATIVE_TEST(words_that_lead_nowhere_are_no_function),
		NATIVE_TEST(code_without_its_frame_has_the_function_in_a_register),
		NATIVE_TEST(stale_region_and_rule_of_another_kind_lead_nowhere),
		cmocka_unit_test(region_without_a_rule_does_not_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
