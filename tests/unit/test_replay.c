// SPDX-License-Identifier: Apache-2.0
/* The walker over a snapshot: what the copy lacks is a fault, everything else is as in the kernel.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/replay.h"

#define STACK	 0x7ffd00000f80ull /* 128 bytes before a page ends */
#define NR_WORDS 1100u
#define BIAS	 0x10000ull
#define FRAME(v) (1ull << FPL_FRAME_OBJECT_SHIFT | (v))
#define USER	 ((__u64)FPL_ORIGIN_CFI_USER << FPL_FRAME_ORIGIN_SHIFT)

/* An image with one rule for the whole of its 64 KiB: rules at 0, directory at 64, page at 128. */
struct scene {
	uint8_t chunk[FPL_CHUNK_SIZE];
	const uint8_t *chunks[1];
	struct fpl_object objects[2];
	struct fpl_mapping mapping;
	struct fpl_regs regs;
	uint64_t words[NR_WORDS];
	struct replay_input input;
	struct replay_result result;
};

static int setup(void **state)
{
	static const struct fpl_rule rule = { .cfa = FPL_CFA_REG,
					      .regs = 7,
					      .cfa_off = 16,
					      .saved = { -128, -2, -128, -128, -128, -128 } };
	struct scene *s = calloc(1, sizeof(*s));
	uint16_t *first;
	uint32_t row = 1u << 16;

	assert_non_null(s);
	memcpy(s->chunk + sizeof(rule), &rule, sizeof(rule));
	memcpy(s->chunk + 64, &(struct fpl_page){ .off = 128 }, sizeof(struct fpl_page));
	first = (uint16_t *)(s->chunk + 128);
	for (uint32_t span = 1; span <= FPL_NR_SPANS; span++)
		first[span] = 1;
	memcpy(s->chunk + 128 + FPL_PAGE_FIRST_BYTES, &row, sizeof(row));
	s->chunks[0] = s->chunk;
	s->objects[1] = (struct fpl_object){
		.object = 1,
		.images = { { .state = FPL_TABLE_READY, .dir_off = 64 } },
		.nr_pages = 1,
	};
	s->mapping = (struct fpl_mapping){
		.start = BIAS, .end = 2 * BIAS, .bias = BIAS, .object = 1, .slot = 1
	};
	s->regs.reg[7] = STACK + 128;
	s->regs.pc = BIAS + 0x100;
	s->regs.known = 0xffff;
	s->regs.exact = 1;
	s->regs.stack_addr = STACK;
	s->regs.stack_size = sizeof(s->words);
	for (uint32_t i = 0; i < NR_WORDS; i++)
		s->words[i] = BIAS + i;
	s->input = (struct replay_input){
		.mappings = &s->mapping,
		.nr_mappings = 1,
		.objects = s->objects,
		.nr_objects = 2,
		.chunks = s->chunks,
		.nr_chunks = 1,
		.regs = &s->regs,
		.stack = (const uint8_t *)s->words,
		.max_depth = 1000,
		.origin = FPL_ORIGIN_CFI_USER,
	};
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void replay_walks_as_far_as_the_copy_goes(void **state)
{
	static const struct {
		const char *what;
		uint32_t stack_size, missing, max_depth, nr_frames;
		enum fpl_stop stop;
	} cases[] = {
		/* words 16.. are the stack: a frame takes two, its return address is the second */
		{ "all of it", 8 * NR_WORDS, 0, 1000, 543, FPL_STOP_READ_FAULT },
		{ "to the depth", 8 * NR_WORDS, 0, 10, 10, FPL_STOP_DEPTH },
		{ "three frames", 8 * (16 + 4), 0, 1000, 3, FPL_STOP_READ_FAULT },
		{ "half a word more", 8 * (16 + 4) + 12, 0, 1000, 3, FPL_STOP_READ_FAULT },
		{ "nothing", 0, 0, 1000, 1, FPL_STOP_READ_FAULT },
		{ "first page missing, not needed", 8 * (16 + 4), 1, 1000, 3, FPL_STOP_READ_FAULT },
		{ "second page missing", 8 * NR_WORDS, 2, 1000, 1, FPL_STOP_READ_FAULT },
		{ "third page missing", 8 * NR_WORDS, 4, 1000, 257, FPL_STOP_READ_FAULT },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s->regs.stack_size = cases[i].stack_size;
		s->regs.missing = cases[i].missing;
		s->input.max_depth = cases[i].max_depth;
		replay_walk(&s->input, &s->result);
		if (s->result.nr_frames != cases[i].nr_frames || s->result.stop != cases[i].stop)
			fail_msg("%s: %u frames, stop %u", cases[i].what, s->result.nr_frames,
				 s->result.stop);
		assert_int_equal(s->result.frames[0], FRAME(0x100) | USER | FPL_FRAME_EXACT);
		if (s->result.nr_frames > 2)
			assert_int_equal(s->result.frames[2], FRAME(19) | USER);
		assert_int_equal(s->result.flags, 0);
	}
}

/* The place of the stack bytes does not change the walk. */
static void replay_reads_bytes_shared_with_another_snapshot(void **state)
{
	static const struct {
		const char *what;
		uint32_t off, size;
	} cases[] = {
		{ "all", 0, 8 * NR_WORDS },
		{ "all but the red zone", 128, 8 * NR_WORDS - 128 },
		{ "half a word of it not", 4, 8 * NR_WORDS - 8 },
		{ "the middle", 1024, 4096 },
		{ "one word", 8 * 19, 8 },
		{ "nothing, at the end", 8 * NR_WORDS, 0 },
	};
	struct scene *s = *state;
	uint8_t own[8 * NR_WORDS], shared[8 * NR_WORDS];
	const uint8_t *bytes = (const uint8_t *)s->words;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t off = cases[i].off, size = cases[i].size, end = off + size;

		memset(own, 0xee, sizeof(own));
		memset(shared, 0xee, sizeof(shared));
		memcpy(own, bytes, off);
		memcpy(own + off, bytes + end, sizeof(own) - end);
		memcpy(shared, bytes + off, size);
		s->input.stack = own;
		s->input.shared = shared;
		s->input.shared_off = off;
		s->input.shared_size = size;
		replay_walk(&s->input, &s->result);
		if (s->result.nr_frames != 543 || s->result.stop != FPL_STOP_READ_FAULT)
			fail_msg("%s: %u frames, stop %u", cases[i].what, s->result.nr_frames,
				 s->result.stop);
		for (uint32_t k = 1; k < s->result.nr_frames; k++)
			assert_int_equal(s->result.frames[k], FRAME(15 + 2 * k) | USER);
	}
}

/* The stack goes on behind its hole, and nothing is read in it. */
static void replay_walks_across_a_hole(void **state)
{
	enum { HOLE = 0x8000 };
	static const struct {
		const char *what;
		uint32_t cfa_off, nr_frames;
		uint64_t word; /* the return address */
	} cases[] = {
		{ "a return address in it", 16, 1, 0 },
		{ "in its last word", HOLE, 1, 0 },
		{ "half of it behind it", HOLE + 4, 1, 0 },
		{ "just behind it", HOLE + 8, 2, 16 },
		{ "a word further up", HOLE + 16, 2, 17 },
		{ "far behind it", HOLE + 4096, 2, 16 + 4088 / 8 },
		{ "the last word of the copy", HOLE + 8 * (NR_WORDS - 16), 2, NR_WORDS - 1 },
		{ "behind that", HOLE + 8 * (NR_WORDS - 15), 1, 0 },
	};
	struct scene *s = *state;
	struct fpl_rule *rule = (struct fpl_rule *)s->chunk + 1;

	/* from the stack pointer on */
	s->input.hole = (struct fpl_hole){ .off = 128, .size = HOLE };
	for (size_t i = 0; i < 2 * (sizeof(cases) / sizeof(cases[0])); i++) {
		s->input.shared = i % 2 ? (const uint8_t *)s->words : NULL;
		s->input.shared_size = i % 2 ? sizeof(s->words) : 0;
		rule->cfa_off = (__s32)cases[i / 2].cfa_off;
		replay_walk(&s->input, &s->result);
		if (s->result.nr_frames != cases[i / 2].nr_frames ||
		    s->result.stop != FPL_STOP_READ_FAULT)
			fail_msg("%s: %u frames, stop %u", cases[i / 2].what, s->result.nr_frames,
				 s->result.stop);
		if (s->result.nr_frames > 1)
			assert_int_equal(s->result.frames[1], FRAME(cases[i / 2].word) | USER);
	}
}

/* The parts of a hole that were copied are read word by word. */
static void replay_reads_islands(void **state)
{
	static struct fpl_island islands[2];
	static const struct {
		const char *what;
		uint32_t cfa_off, nr_frames;
	} cases[] = {
		{ "the island's first word", 4096 + 8, 2 },
		{ "the word before it", 4096, 1 },
		{ "its last word", 4096 + FPL_ISLAND_SIZE, 2 },
		{ "the word behind it", 4096 + FPL_ISLAND_SIZE + 8, 1 },
		{ "partly behind it", 4096 + FPL_ISLAND_SIZE + 4, 1 },
		{ "one that was not resident", 512, 1 },
	};
	struct scene *s = *state;
	struct fpl_rule *rule = (struct fpl_rule *)s->chunk + 1;

	s->input.hole = (struct fpl_hole){ .off = 128, .size = 0x8000, .nr_islands = 2 };
	s->input.islands = islands;
	islands[1].addr = STACK + 128 + 4096;
	for (uint32_t i = 0; i < FPL_ISLAND_SIZE; i += 8)
		memcpy(islands[1].bytes + i, &(uint64_t){ BIAS + 0x200 }, 8);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rule->cfa_off = (__s32)cases[i].cfa_off;
		replay_walk(&s->input, &s->result);
		if (s->result.nr_frames < cases[i].nr_frames ||
		    (cases[i].nr_frames == 1 && s->result.nr_frames > 1) ||
		    s->result.stop != FPL_STOP_READ_FAULT)
			fail_msg("%s: %u frames, stop %u", cases[i].what, s->result.nr_frames,
				 s->result.stop);
		if (s->result.nr_frames > 1)
			assert_int_equal(s->result.frames[1], FRAME(0x200) | USER);
	}
}

/* An island need not be in a hole: the stack of a goroutine is somewhere else. */
static void replay_reads_islands_outside_of_the_stack(void **state)
{
	static struct fpl_island islands[2];
	struct scene *s = *state;
	struct fpl_rule *rule = (struct fpl_rule *)s->chunk + 1;

	s->input.hole = (struct fpl_hole){ .nr_islands = 2 };
	s->input.islands = islands;
	islands[1].addr = STACK + 128 + (16 << 20);
	memcpy(islands[1].bytes, &(uint64_t){ BIAS + 0x200 }, 8);
	rule->cfa_off = (16 << 20) + 8;
	replay_walk(&s->input, &s->result);
	assert_true(s->result.nr_frames > 1);
	assert_int_equal(s->result.frames[1], FRAME(0x200) | USER);
	/* one that was not resident is at no address: it answers for none, not even the first page
	 */
	s->regs.reg[7] = 8;
	rule->cfa_off = 256;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.nr_frames, 1);
	assert_int_equal(s->result.stop, FPL_STOP_READ_FAULT);
}

static void replay_needs_code_for_a_frame_pointer_step(void **state)
{
	struct scene *s = *state;

	s->objects[1].images[0].state = FPL_TABLE_NONE;
	s->regs.reg[6] = STACK + 256;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.nr_frames, 1);
	assert_int_equal(s->result.stop, FPL_STOP_NO_CFI);
}

static void replay_keeps_the_mark_of_a_frame_that_waited(void **state)
{
	static const struct {
		enum fpl_origin was, is;
	} cases[] = {
		{ FPL_ORIGIN_CFI, FPL_ORIGIN_CFI_USER },
		{ FPL_ORIGIN_CFI_USER, FPL_ORIGIN_CFI_USER },
		{ FPL_ORIGIN_FP, FPL_ORIGIN_FP },
		{ FPL_ORIGIN_SYNTH, FPL_ORIGIN_SYNTH },
	};
	struct scene *s = *state;
	__u64 walked[] = { 11 };

	s->regs.exact = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s->regs.origin = (__u8)cases[i].was;
		s->input.frames = walked;
		s->input.nr_frames = 1;
		replay_walk(&s->input, &s->result);
		assert_int_equal(s->result.frames[1] >> FPL_FRAME_ORIGIN_SHIFT, cases[i].is);
		/* the frames behind it are found here, and so is a leaf */
		assert_int_equal(s->result.frames[2], FRAME(17) | USER);
		s->input.nr_frames = 0;
		replay_walk(&s->input, &s->result);
		assert_int_equal(s->result.frames[0], FRAME(0x100) | USER);
	}
}

/* The same byte everywhere; NULL: none is there. */
static int read_filled(void *arg, uint64_t addr, void *dst, size_t size)
{
	(void)addr;
	if (!arg)
		return -1;
	memset(dst, *(uint8_t *)arg, size);
	return 0;
}

static void replay_asks_for_a_call_where_a_row_from_code_led_to(void **state)
{
	static uint8_t call = 0xe8, nop = 0x90;
	static const struct {
		const char *what;
		uint8_t *code;
		enum fpl_origin origin;
		uint32_t nr_frames;
		enum fpl_stop stop;
	} cases[] = {
		{ "behind a call", &call, FPL_ORIGIN_SYNTH, 1 + 543, FPL_STOP_READ_FAULT },
		{ "behind none", &nop, FPL_ORIGIN_SYNTH, 1, FPL_STOP_NO_CFI },
		{ "behind what cannot be read", NULL, FPL_ORIGIN_SYNTH, 1 + 543,
		  FPL_STOP_READ_FAULT },
		{ "by CFI, behind none", &nop, FPL_ORIGIN_CFI, 1 + 543, FPL_STOP_READ_FAULT },
	};
	struct scene *s = *state;
	__u64 walked[] = { 11 };

	s->regs.exact = 0;
	s->input.frames = walked;
	s->input.nr_frames = 1;
	s->input.read_code = read_filled;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s->input.arg = cases[i].code;
		s->regs.origin = (__u8)cases[i].origin;
		replay_walk(&s->input, &s->result);
		if (s->result.nr_frames != cases[i].nr_frames || s->result.stop != cases[i].stop)
			fail_msg("%s: %u frames, stop %u", cases[i].what, s->result.nr_frames,
				 s->result.stop);
	}
}

static void replay_cuts_an_absurd_depth(void **state)
{
	struct scene *s = *state;

	s->input.max_depth = ~0u;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.nr_frames, 543);
}

static void replay_goes_on_where_the_kernel_stopped(void **state)
{
	struct scene *s = *state;
	__u64 walked[] = { 11, 12, 13 };

	s->input.frames = walked;
	s->input.nr_frames = 3;
	s->regs.exact = 0;
	for (uint8_t origin = FPL_ORIGIN_FP; origin <= FPL_ORIGIN_SYNTH; origin++) {
		s->regs.origin = origin;
		replay_walk(&s->input, &s->result);
		assert_int_equal(s->result.frames[3],
				 FRAME(0x100) | (__u64)origin << FPL_FRAME_ORIGIN_SHIFT);
	}
	assert_int_equal(s->result.nr_frames, 3 + 543);
	assert_memory_equal(s->result.frames, walked, sizeof(walked));
	assert_int_equal(s->result.frames[4], FRAME(17) | USER);
	assert_int_equal(s->result.flags, 0);
	/* No frame past the depth; a raw one among those walked counts. */
	walked[0] |= FPL_FRAME_RAW;
	s->input.max_depth = 2;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.nr_frames, 2);
	assert_int_equal(s->result.stop, FPL_STOP_DEPTH);
	assert_int_equal(s->result.flags, FPL_SAMPLE_RAW);
	/* A bad return address is one, however few frames there are here. */
	s->input.max_depth = 1000;
	s->regs.pc = 5;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.nr_frames, 3);
	assert_int_equal(s->result.stop, FPL_STOP_BAD_RA);
}

/* Keep the frames that the kernel side has of a walk stopped at frame @nr of @all. Returns their
 * number. */
static uint32_t keep(const __u64 *all, uint32_t nr, uint32_t leaf, uint32_t root, __u64 *ret,
		     uint32_t *ret_elided)
{
	uint32_t kept = 0;

	*ret_elided = nr > leaf + root ? nr - leaf - root : 0;
	for (uint32_t i = 0; i + 1 < nr; i++) {
		if (i == leaf && *ret_elided) {
			ret[kept++] = FPL_FRAME_GAP;
			i += *ret_elided;
		}
		if (i + 1 < nr)
			ret[kept++] = all[i];
	}
	return kept;
}

static void replay_goes_on_in_a_deep_stack(void **state)
{
	static const uint32_t kept[][2] = { { 768, 256 }, { 5, 3 },  { 1, 1 },
					    { 64, 2 },	  { 2, 64 }, { 3, 0 } };
	static struct replay_result whole, deep;
	struct scene *s = *state;

	replay_walk(&s->input, &whole);
	assert_int_equal(whole.nr_frames, 543);
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		uint32_t leaf = kept[i][0], root = kept[i][1];

		s->input.max_depth = leaf + root;
		s->input.root_depth = root;
		s->input.nr_frames = 0;
		s->regs.reg[7] = STACK + 128;
		s->regs.pc = BIAS + 0x100;
		s->regs.exact = 1;
		replay_walk(&s->input, &deep);
		assert_int_equal(deep.elided, root && 543 > leaf + root ? 543 - leaf - root : 0);
		for (uint32_t nr = 2; nr < (root ? 300u : 3u); nr++) {
			__u64 frames[600];

			s->input.nr_frames =
				keep(whole.frames, nr, leaf, root, frames, &s->input.elided);
			s->input.frames = frames;
			s->regs.reg[7] = STACK + 128 + 16 * (nr - 1);
			s->regs.pc = s->words[16 + 2 * (nr - 2) + 1];
			s->regs.exact = 0;
			replay_walk(&s->input, &s->result);
			assert_int_equal(s->result.elided, deep.elided);
			assert_int_equal(s->result.stop, deep.stop);
			assert_int_equal(s->result.nr_frames, deep.nr_frames);
			assert_memory_equal(s->result.frames, deep.frames, 8 * deep.nr_frames);
			assert_int_equal(s->result.flags, 0);
		}
	}
}

static void replay_that_finds_nothing_more_keeps_the_gap(void **state)
{
	__u64 frames[] = { FRAME(1), FRAME(2), FPL_FRAME_GAP, FRAME(3) };
	struct scene *s = *state;

	s->input.max_depth = 4;
	s->input.root_depth = 2;
	s->input.frames = frames;
	s->input.nr_frames = 4;
	s->input.elided = 9;
	s->regs.exact = 0;
	s->regs.pc = 5;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.stop, FPL_STOP_BAD_RA);
	assert_int_equal(s->result.nr_frames, 4);
	assert_memory_equal(s->result.frames, frames, sizeof(frames));
	assert_int_equal(s->result.elided, 9);
}

#define HEAP  0x7f1234560000ull
#define CODE  (HEAP + 64)
#define TYPE  0x5a5aull
#define LINES (HEAP + 512)

/* A script frame: its code, its type, its place, the next frame, the mark of the last one. Behind
 * it the code object, with pointers to its name, its name again and its lines. */
static const uint64_t heap[] = {
	CODE,
	TYPE,
	CODE + 5,
	HEAP,
	1,
	[8] = HEAP + 256,
	HEAP + 256,
	LINES,
	[32] = 0x676e6f6c,
	[66] = 8,
	[68] = 0x0102030405060708,
};

/* replay_input.read_memory */
static int read_heap(void *arg, uint64_t addr, void *dst, size_t size)
{
	uint8_t bytes[4096] = { 0 };

	(void)arg;
	memcpy(bytes, heap, sizeof(heap));
	if (addr < HEAP || addr - HEAP > sizeof(bytes) || size > sizeof(bytes) - (addr - HEAP))
		return -1;
	memcpy(dst, bytes + (addr - HEAP), size);
	return 0;
}

static const struct fpl_script_rule script_rule = {
	.end = { 0x10000 },
	.object = 1,
	.cfa_reg = 7,
	.cfa_off = 16,
	.check_vaddr = TYPE,
	.check_size = 1,
	.check_is_value = 1,
	.check = { .off = { 8 }, .nr = 1 },
	.code = { .off = { 0 }, .nr = 1 },
	.place = { .off = { 16 }, .nr = 1 },
	.place_mask = UINT64_MAX,
	.next = { .off = { 24 }, .nr = 1 },
	.stop = { .off = { 32 }, .nr = 1 },
	.stop_mask = 1,
	.stop_value = 1,
	.shows_last = 1,
	.above = 40,
	.texts = { { .off = 0 }, { .off = 8 } },
	.lines_ptr_off = 16,
	.lines_size_off = 16,
	.lines_off = 32,
	.settled = 3 + 1,
};

static void replay_walks_script_frames_in_other_memory(void **state)
{
	static struct fpl_script_rule rules[FPL_SCRIPT_RULES_MAX];
	static struct fpl_script_code record;
	struct scene *s = *state;

	rules[1] = script_rule;
	s->objects[1].script = 1;
	s->regs.stack_size = 8 * (16 + 4); /* three frames */
	s->regs.reg[3] = HEAP;
	s->input.read_memory = read_heap;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.nr_script, 0);
	s->input.script_rules = rules;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.nr_frames, 3);
	assert_int_equal(s->result.nr_script, 9);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(s->result.script[3 * i],
				 1ull << FPL_SCRIPT_RULE_SHIFT | i << FPL_SCRIPT_INDEX_SHIFT | 1);
		assert_int_equal(s->result.script[3 * i + 1], CODE);
		assert_int_equal(s->result.script[3 * i + 2], 5);
	}
	assert_int_equal(
		replay_script_code(&s->input, 1, CODE | 0xabcull << 48, 9ull << 32 | 5, &record),
		offsetof(struct fpl_script_code, lines) + 512);
	assert_int_equal(record.code, CODE | 0xabcull << 48);
	assert_int_equal(record.content, 9);
	assert_memory_equal(record.object, heap + 8, 256);
	assert_string_equal((char *)record.text[0], "long");
	assert_string_equal((char *)record.text[1], "long");
	assert_int_equal(record.nr_lines, 512);
	assert_memory_equal(record.lines, heap + 64, 40);
	assert_int_equal(replay_script_code(&s->input, 2, CODE, 5, &record), 0);
}

static uint64_t name_at = HEAP + 256;

/* replay_input.read_memory: the same, but the code object's name is elsewhere. */
static int read_changed(void *arg, uint64_t addr, void *dst, size_t size)
{
	int code = read_heap(arg, addr, dst, size);

	if (!code && addr <= CODE && addr + size >= CODE + sizeof(name_at))
		memcpy((uint8_t *)dst + (CODE - addr), &name_at, sizeof(name_at));
	return code;
}

static void replay_tells_code_by_its_content(void **state)
{
	static struct fpl_script_rule rules[FPL_SCRIPT_RULES_MAX];
	struct scene *s = *state;
	uint64_t word, place;

	rules[1] = script_rule;
	rules[1].content = (struct fpl_script_content){ .other = 1, .text = 0, .nr = 2 };
	s->objects[1].script = 1;
	s->regs.stack_size = 8 * (16 + 4);
	s->regs.reg[3] = HEAP;
	s->input.read_memory = read_heap;
	s->input.script_rules = rules;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.nr_script, 9);
	word = s->result.script[1];
	place = s->result.script[2];
	assert_int_not_equal(place >> 32, 0);
	assert_true(replay_script_holds(&s->input, &rules[1], word, place));
	assert_true(replay_script_holds(&s->input, &rules[1], word, place | 7));
	assert_false(replay_script_holds(&s->input, &rules[1], word ^ 1ull << 63, place));
	assert_false(replay_script_holds(&s->input, &rules[1], word, place ^ 1ull << 63));
	assert_false(replay_script_holds(&s->input, &rules[1], word + 8, place));
	/* in memory that cannot be read */
	assert_false(replay_script_holds(&s->input, &rules[1], word + (1 << 20), place));
	s->input.read_memory = read_changed;
	assert_true(replay_script_holds(&s->input, &rules[1], word, place));
	name_at = HEAP + 264;
	assert_false(replay_script_holds(&s->input, &rules[1], word, place));
}

static void replay_shows_no_script_frame_that_is_not_at_its_place(void **state)
{
	static struct fpl_script_rule rules[FPL_SCRIPT_RULES_MAX];
	struct scene *s = *state;

	rules[1] = script_rule;
	s->objects[1].script = 1;
	s->regs.stack_size = 8 * (16 + 4);
	s->regs.reg[3] = HEAP + 64;
	s->regs.reg[12] = HEAP; /* it passes the check */
	s->input.read_memory = read_heap;
	s->input.script_rules = rules;
	replay_walk(&s->input, &s->result);
	assert_int_equal(s->result.nr_script, 3);
	assert_int_equal(s->result.script[0],
			 1ull << FPL_SCRIPT_RULE_SHIFT | (uint64_t)FPL_SCRIPT_END_UNKNOWN
								 << FPL_SCRIPT_END_SHIFT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(replay_walks_as_far_as_the_copy_goes),
		TEST(replay_reads_bytes_shared_with_another_snapshot),
		TEST(replay_walks_across_a_hole),
		TEST(replay_reads_islands),
		TEST(replay_reads_islands_outside_of_the_stack),
		TEST(replay_needs_code_for_a_frame_pointer_step),
		TEST(replay_goes_on_where_the_kernel_stopped),
		TEST(replay_keeps_the_mark_of_a_frame_that_waited),
		TEST(replay_asks_for_a_call_where_a_row_from_code_led_to),
		TEST(replay_cuts_an_absurd_depth),
		TEST(replay_goes_on_in_a_deep_stack),
		TEST(replay_that_finds_nothing_more_keeps_the_gap),
		TEST(replay_walks_script_frames_in_other_memory),
		TEST(replay_tells_code_by_its_content),
		TEST(replay_shows_no_script_frame_that_is_not_at_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
