/* SPDX-License-Identifier: Apache-2.0 */
/* bpf/script_records.h: script frames that are records among others, in arrays. */
#include "tests/support/walk_scene.h"

#define HEAP  0x600000000000ull
#define LOOP  0x2100u /* vaddrs: in the interpreter's loop, */
#define OTHER 0x2900u /* in another function with the same row, */
#define MAIN  0x4100u /* and in the outermost one */

/* Words of the heap: the interpreter, arrays of ARRAY_WORDS, records, positions, code. */
enum { STEP, ARRAY, POSITION, CHECK, INTERPRETER_WORDS };
enum { BASE, OLDER, LAST, ARRAY_WORDS };
enum { KIND, CALLER, CALLED, CODE, RECORD_WORDS };
#define ARRAYS	  8u
#define RECORDS	  32u /* 16 for each array */
#define POSITIONS 1024u
#define CODES	  2048u
#define NR_HEAP	  4096u

#define WORD_AT(i)     (HEAP + 8ull * (i))
#define ARRAY_AT(i)    WORD_AT(ARRAYS + (i)*ARRAY_WORDS)
#define RECORD_AT(i)   WORD_AT(RECORDS + (i)*RECORD_WORDS)
#define POSITION_AT(i) WORD_AT(POSITIONS + 2 * (i))
#define CODE_AT(i)     WORD_AT(CODES + 8 * (i))

/* Kinds of records. */
enum { NOTHING, SUB, BLOCK, TEXT, NEST };

static const struct fpl_script_rule rule_records = {
	.start = { 0x2000 },
	.end = { 0x2800 },
	.object = WORLD_ID,
	.check_vaddr = 0x900,
	.check_size = 1,
	.check = { .off = { 8 * CHECK }, .nr = 1 },
	.code = { .off = { 8 * CODE }, .nr = 1 },
	.place = { .off = { 4 }, .nr = 1, .bits = 32 },
	.records = {
		.array = { .off = { 8 * ARRAY }, .nr = 1 },
		.position = { .off = { 8 * POSITION }, .nr = 1 },
		.step = { .off = { 8 * STEP }, .nr = 1 },
		.base = { .off = { 8 * BASE }, .nr = 1 },
		.last = { .off = { 8 * LAST }, .nr = 1, .bits = 32 },
		.older = { .off = { 8 * OLDER }, .nr = 1 },
		.kind = { .off = { 8 * KIND }, .nr = 1, .bits = 8 },
		.called = { .off = { 8 * CALLED }, .nr = 1 },
		.caller = { .off = { 8 * CALLER }, .nr = 1 },
		.bytes = 8 * RECORD_WORDS,
		.shares = 1,
		.kinds = { [SUB] = FPL_SCRIPT_KIND_FRAME | FPL_SCRIPT_KIND_CALLED,
			   [TEXT] = FPL_SCRIPT_KIND_FRAME | FPL_SCRIPT_KIND_PLACE,
			   [NEST] = FPL_SCRIPT_KIND_BEGINS | FPL_SCRIPT_KIND_WAITS },
	},
};

struct records_scene {
	struct scene *s;
	uint64_t heap[NR_HEAP];
};

static int setup_records(void **state)
{
	struct records_scene *t = calloc(1, sizeof(*t));
	void *scene;

	assert_non_null(t);
	setup(&scene);
	t->s = scene;
	world_memory(&t->s->world, HEAP, t->heap, sizeof(t->heap));
	t->s->world.script_rules[1] = rule_records;
	t->s->world.objects[WORLD_SLOT].script = 1;
	t->heap[STEP] = 1;
	t->heap[ARRAY] = ARRAY_AT(0);
	t->heap[POSITION] = POSITION_AT(0);
	t->heap[CHECK] = PC(0x900);
	for (uint32_t i = 0; i < 4; i++) {
		t->heap[ARRAYS + i * ARRAY_WORDS + BASE] = RECORD_AT(16 * i);
		t->heap[ARRAYS + i * ARRAY_WORDS + LAST] = UINT32_MAX;
	}
	/* line 100 + i */
	for (uint32_t i = 0; i < 64; i++)
		t->heap[POSITIONS + 2 * i] = (100ull + i) << 32;
	*state = t;
	return 0;
}

static int teardown_records(void **state)
{
	struct records_scene *t = *state;
	void *scene = t->s;

	teardown(&scene);
	free(t);
	return 0;
}

/* A new record on array @array: of @kind, begun at position @caller; with @is_called by the native
 * frame. It runs code @code. */
static void push(struct records_scene *t, uint32_t array, uint32_t kind, uint32_t caller,
		 int is_called, uint32_t code)
{
	uint64_t *last = &t->heap[ARRAYS + array * ARRAY_WORDS + LAST];
	uint64_t *words;

	*last = (uint32_t)(*last + 1);
	words = t->heap + RECORDS + (16 * array + *last) * RECORD_WORDS;
	words[KIND] = kind;
	words[CALLER] = POSITION_AT(caller);
	words[CALLED] = is_called ? 0 : 1;
	words[CODE] = CODE_AT(code);
}

/* Walk native frames at @vaddrs, the innermost first, and the outermost one behind them. All have
 * the interpreter. */
static const struct fpl_walk *walk_frames(struct records_scene *t, const uint32_t *vaddrs,
					  size_t nr)
{
	struct scene *s = t->s;
	struct walker walker = {
		.walk = &s->walk, .frames = s->frames, .env = &s->world, .memory = &s->memory
	};

	for (size_t i = 0; i < nr; i++) {
		s->words[2 * i] = HEAP;
		s->words[2 * i + 1] = PC(i + 1 < nr ? vaddrs[i + 1] : MAIN);
	}
	s->walk.reg[ARCH_FP] = HEAP;
	s->walk.reg[7] = AT(0);
	s->walk.known = 1u << ARCH_FP | 1u << 7;
	s->walk.pc = PC(vaddrs[0]);
	s->walk.exact = 1;
	s->walk.nr_frames = 0;
	s->walk.elided = 0;
	s->walk.nr = s->world.nr_mappings;
	walk_run(&walker);
	assert_int_equal(s->walk.stop, FPL_STOP_OUTERMOST);
	assert_int_equal(s->walk.nr_frames, nr + 1);
	return &s->walk;
}

#define HEAD(index, nr)                                                                \
	(1ull << FPL_SCRIPT_RULE_SHIFT | (uint64_t)(index) << FPL_SCRIPT_INDEX_SHIFT | \
	 (uint64_t)FPL_SCRIPT_END_OUTERMOST << FPL_SCRIPT_END_SHIFT | (nr))
#define MAIN_AT(i) (POSITION_AT(i) | FPL_SCRIPT_IS_PLACE | FPL_SCRIPT_IS_LAST)

/* Walk @vaddrs and compare the script words with @want. */
#define CHECK_WALK(t, vaddrs, want) \
	check_words(walk_frames(t, vaddrs, ARRAY_SIZE(vaddrs)), want, ARRAY_SIZE(want))

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

static void each_record_of_a_kind_is_a_frame_where_the_one_before_was_begun(void **state)
{
	const uint64_t want[] = {
		HEAD(0, 4), CODE_AT(3), 100, POSITION_AT(9) | FPL_SCRIPT_IS_PLACE, 109, CODE_AT(1),
		107,	    MAIN_AT(5), 105,
	};
	static const uint32_t vaddrs[] = { LOOP };

	push(*state, 0, BLOCK, 4, 0, 0);
	push(*state, 0, SUB, 5, 0, 1);
	push(*state, 0, BLOCK, 6, 0, 0);
	push(*state, 0, TEXT, 7, 0, 2);
	push(*state, 0, BLOCK, 8, 0, 0);
	push(*state, 0, SUB, 9, 0, 3);
	/* the second time from the frames remembered */
	for (int i = 0; i < 2; i++)
		CHECK_WALK(*state, vaddrs, want);
}

static void native_frame_ends_at_what_it_has_called(void **state)
{
	static const uint32_t vaddrs[] = { LOOP, OTHER, OTHER, LOOP };
	struct records_scene *t = *state;
	const uint64_t want[] = {
		HEAD(0, 1), CODE_AT(2), 100, HEAD(3, 2), CODE_AT(1), 106, MAIN_AT(5), 105,
	};

	/* in an array of its own, or in the same one */
	t->heap[ARRAY] = ARRAY_AT(1);
	t->heap[ARRAYS + ARRAY_WORDS + OLDER] = ARRAY_AT(0);
	push(t, 0, SUB, 5, 0, 1);
	push(t, 1, SUB, 6, 1, 2);
	CHECK_WALK(t, vaddrs, want);
	t->heap[ARRAY] = ARRAY_AT(0);
	push(t, 0, SUB, 6, 1, 2);
	CHECK_WALK(t, vaddrs, want);
}

static void native_frame_that_goes_on_for_another_shares_its_records(void **state)
{
	static const uint32_t vaddrs[] = { LOOP, OTHER, LOOP, OTHER, OTHER, LOOP };
	const uint64_t want[] = {
		HEAD(0, 1), CODE_AT(2), 100, HEAD(2, 0) | FPL_SCRIPT_SHARES, HEAD(5, 2), CODE_AT(1),
		106,	    MAIN_AT(5), 105,
	};

	push(*state, 0, SUB, 5, 0, 1);
	push(*state, 0, SUB, 6, 1, 2);
	CHECK_WALK(*state, vaddrs, want);
}

static void native_frame_may_begin_with_a_record_that_is_no_frame(void **state)
{
	static const uint32_t vaddrs[] = { LOOP, OTHER, OTHER, LOOP };
	const uint64_t want[] = {
		HEAD(0, 1), CODE_AT(2), 100, HEAD(3, 2), CODE_AT(1), 107, MAIN_AT(5), 105,
	};

	push(*state, 0, SUB, 5, 0, 1);
	push(*state, 0, NEST, 6, 0, 0);
	push(*state, 0, SUB, 7, 0, 2);
	CHECK_WALK(*state, vaddrs, want);
}

static void record_that_waits_has_no_native_frame(void **state)
{
	static const uint32_t vaddrs[] = { OTHER, LOOP };
	struct records_scene *t = *state;
	const uint64_t waiting[] = { HEAD(1, 2), CODE_AT(1), 106, MAIN_AT(5), 105 };
	const uint64_t running[] = { HEAD(1, 0) };

	push(t, 0, SUB, 5, 0, 1);
	push(t, 0, NEST, 6, 0, 0);
	CHECK_WALK(t, vaddrs, running);
	t->heap[STEP] = 0;
	CHECK_WALK(t, vaddrs, waiting);
}

static void native_frames_without_records_say_so(void **state)
{
	static const uint32_t vaddrs[] = { LOOP, OTHER, OTHER, LOOP };
	const uint64_t want[] = {
		HEAD(0, 2), CODE_AT(1), 100, MAIN_AT(5), 105, HEAD(3, 0) | FPL_SCRIPT_BEHIND,
	};

	push(*state, 0, SUB, 5, 0, 1);
	CHECK_WALK(*state, vaddrs, want);
}

static void newest_record_may_be_half_made(void **state)
{
	static const uint32_t vaddrs[] = { LOOP };
	struct records_scene *t = *state;
	const uint64_t want[] = { HEAD(0, 2), CODE_AT(1), 100, MAIN_AT(5), 105 };
	const uint64_t fault[] = {
		(HEAD(0, 1) & ~(0xffull << FPL_SCRIPT_END_SHIFT)) | (uint64_t)FPL_SCRIPT_END_FAULT
									    << FPL_SCRIPT_END_SHIFT,
		CODE_AT(3),
		100,
	};

	push(t, 0, SUB, 5, 0, 1);
	push(t, 0, SUB, 6, 0, 2);
	t->heap[RECORDS + RECORD_WORDS + CODE] = 0;
	CHECK_WALK(t, vaddrs, want);
	/* another one may not */
	push(t, 0, SUB, 7, 0, 3);
	CHECK_WALK(t, vaddrs, fault);
}

static void arrays_in_a_circle_end(void **state)
{
	static const uint32_t vaddrs[] = { LOOP, OTHER, OTHER, LOOP };
	struct records_scene *t = *state;
	const struct fpl_walk *walk;

	t->heap[ARRAYS + OLDER] = ARRAY_AT(0);
	push(t, 0, SUB, 5, 0, 1);
	walk = walk_frames(t, vaddrs, ARRAY_SIZE(vaddrs));
	assert_int_equal(walk->script_words[0] & 0xffff, FPL_SCRIPT_CHAIN_MAX);
	assert_int_equal(walk->script_words[0] >> FPL_SCRIPT_END_SHIFT & 0xff,
			 FPL_SCRIPT_END_DEPTH);
	assert_int_equal(walk->nr_script_frames, FPL_SCRIPT_CHAIN_MAX);
	assert_int_equal(walk->script_words[walk->nr_script - 1],
			 (HEAD(3, 0) & ~(0xffull << FPL_SCRIPT_END_SHIFT)) |
				 (uint64_t)FPL_SCRIPT_END_UNKNOWN << FPL_SCRIPT_END_SHIFT);
	/* also one without any frame */
	t->heap[ARRAYS + LAST] = UINT32_MAX;
	walk = walk_frames(t, vaddrs, ARRAY_SIZE(vaddrs));
	assert_int_equal(walk->nr_script_frames, 0);
	assert_int_equal(walk->script_words[0],
			 (HEAD(0, 0) & ~(0xffull << FPL_SCRIPT_END_SHIFT)) |
				 (uint64_t)FPL_SCRIPT_END_DEPTH << FPL_SCRIPT_END_SHIFT);
}

static void numbers_and_addresses_that_lie_are_faults(void **state)
{
	static const uint32_t vaddrs[] = { LOOP };
	static const struct {
		const char *what;
		uint32_t word;
		uint64_t value;
	} cases[] = {
		{ "last record", ARRAYS + LAST, INT32_MAX },
		{ "records in the kernel", ARRAYS + BASE, 0xffff888000000000ull },
		{ "records at an odd address", ARRAYS + BASE, RECORD_AT(0) + 1 },
		{ "array", ARRAY, 0xffff888000000000ull },
		{ "older array", ARRAYS + OLDER, 0xffff888000000000ull },
		{ "position", POSITION, 0 },
	};

	push(*state, 0, SUB, 5, 0, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct records_scene *t = *state;
		uint64_t saved = t->heap[cases[i].word];
		const struct fpl_walk *walk;

		t->heap[cases[i].word] = cases[i].value;
		walk = walk_frames(t, vaddrs, 1);
		if ((walk->script_words[0] >> FPL_SCRIPT_END_SHIFT & 0xff) != FPL_SCRIPT_END_FAULT)
			fail_msg("%s: %#llx", cases[i].what,
				 (unsigned long long)walk->script_words[0]);
		t->heap[cases[i].word] = saved;
	}
}

static void content_of_a_text_ends_at_its_nul(void **state)
{
	static const uint32_t vaddrs[] = { LOOP };
	struct records_scene *t = *state;
	uint64_t *code = t->heap + CODES + 8;
	uint64_t words[3];

	t->s->world.script_rules[1].content =
		(struct fpl_script_content){ .text = 1, .nr = 2, .is_string = 1 };
	push(t, 0, SUB, 5, 0, 1);
	code[0] = 77;
	code[1] = WORD_AT(CODES + 64);
	memcpy(&t->heap[CODES + 64], "a/long/path.pl\0x", 16);
	for (int i = 0; i < 3; i++) {
		words[i] = walk_frames(t, vaddrs, 1)->script_words[1];
		/* behind the text, then in it */
		if (i == 0)
			t->heap[CODES + 66] = 99;
		else
			memcpy(&t->heap[CODES + 64], "b", 1);
	}
	assert_int_equal(words[0], words[1]);
	assert_int_not_equal(words[1], words[2]);
}

int main(void)
{
	(void)check_walk;
#define T(test) cmocka_unit_test_setup_teardown(test, setup_records, teardown_records)
	const struct CMUnitTest tests[] = {
		T(each_record_of_a_kind_is_a_frame_where_the_one_before_was_begun),
		T(native_frame_ends_at_what_it_has_called),
		T(native_frame_that_goes_on_for_another_shares_its_records),
		T(native_frame_may_begin_with_a_record_that_is_no_frame),
		T(record_that_waits_has_no_native_frame),
		T(native_frames_without_records_say_so),
		T(newest_record_may_be_half_made),
		T(arrays_in_a_circle_end),
		T(numbers_and_addresses_that_lie_are_faults),
		T(content_of_a_text_ends_at_its_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
