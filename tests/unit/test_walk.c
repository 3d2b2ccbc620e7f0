// SPDX-License-Identifier: Apache-2.0
/* Whole walks: which frames come out, how they are marked, and why the walk ends. */
#include "cmocka_all.h"

#include <stdbool.h>

#include "tests/support/walk_scene.h"

static void walk_ends_complete_where_the_return_address_is_undefined(void **state)
{
	struct scene *s = *state;

	s->words[0] = PC(0x2010); /* leaf's */
	s->words[2] = PC(0x4010); /* the frame's; its rbp in words[1] */
	check_walk(s, PC(0x1008), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x1008) | EXACT, FRAME(0x2010), FRAME(0x4010), 0 });
	assert_int_equal(s->walk.flags, 0);
}

static void walk_marks_frames_found_by_synthesised_rows(void **state)
{
	struct scene *s = *state;

	s->words[0] = PC(0x2010); /* found by the row of 0x1808 */
	s->words[2] = PC(0x4010);
	s->code[0x200b] = 0xe8;
	check_walk(s, PC(0x1808), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x1808) | EXACT, FRAME(0x2010) | BY_SYNTH, FRAME(0x4010), 0 });
}

static void walk_takes_no_frame_pointer_step_where_the_code_was_judged(void **state)
{
	struct scene *s = *state;

	s->walk.reg[6] = AT(10);
	s->words[11] = PC(0x4010);
	s->code[0x400b] = 0xe8;
	check_walk(s, PC(0x5010), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x5010) | EXACT, FRAME(0x4010) | BY_FP, 0 });
	check_walk(s, PC(0x5810), FPL_STOP_NO_CFI, (__u64[]){ FRAME(0x5810) | EXACT, 0 });
}

static void walk_believes_synthesised_rows_that_find_a_call(void **state)
{
	struct scene *s = *state;

	s->words[0] = PC(0x2010);
	s->words[2] = PC(0x4010);
	check_walk(s, PC(0x1808), FPL_STOP_NO_CFI, (__u64[]){ FRAME(0x1808) | EXACT, 0 });
	s->words[1] = 0x700000000000ull; /* the first walk has left sp there */
	check_walk(s, PC(0x1808), FPL_STOP_BAD_RA, (__u64[]){ FRAME(0x1808) | EXACT, 0 });
	/* the caller is there to be gone on with once its mapping is known */
	assert_true(s->walk.pc == 0x700000000000ull && s->walk.origin == FPL_ORIGIN_SYNTH);
}

/* The row made from code behind the system call leads the parent to its caller. */
static void walk_ends_where_a_thread_is_born_though_a_synthesised_row_is_there(void **state)
{
	static const uint8_t birth[] = { 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c,
					 0x18, 0x74, 0x01, 0xc3, 0x31, 0xed };
	struct scene *s = *state;

	memcpy(s->code + 0x1806, birth, sizeof(birth));
	s->words[0] = PC(0x2010);
	s->words[2] = PC(0x4010);
	s->code[0x200b] = 0xe8;
	s->walk.reg[ARCH_RESULT] = 4711;
	check_walk(s, PC(0x1808), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x1808) | EXACT, FRAME(0x2010) | BY_SYNTH, FRAME(0x4010), 0 });
	s->walk.reg[7] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
	s->walk.reg[ARCH_RESULT] = 0;
	check_walk(s, PC(0x1808), FPL_STOP_OUTERMOST, (__u64[]){ FRAME(0x1808) | EXACT, 0 });
	/* who knows which of them it is */
	s->walk.known = ARCH_ALL_REGS & ~(1u << ARCH_RESULT);
	check_walk(s, PC(0x1808), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x1808) | EXACT, FRAME(0x2010) | BY_SYNTH, FRAME(0x4010), 0 });
}

static void walk_finds_popped_return_address_in_the_red_zone(void **state)
{
	struct scene *s = *state;

	s->walk.reg[7] = AT(10);
	s->walk.reg[3] = AT(8); /* CFA = rbx + 16 = rsp */
	s->words[9] = PC(0x4010);
	check_walk(s, PC(0x6010), FPL_STOP_NO_PROGRESS, (__u64[]){ FRAME(0x6010) | EXACT, 0 });
	s->walk.reg[7] = AT(10); /* the walk has been there, and found no call */
	s->code[0x400b] = 0xe8;
	check_walk(s, PC(0x6010), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x6010) | EXACT, FRAME(0x4010), 0 });

	/* a function that waits for a call to return has not popped its own */
	s->walk.reg[7] = AT(9);
	s->words[9] = PC(0x6010);
	s->code[0x600b] = 0xe8;
	check_walk(s, PC(0x1000), FPL_STOP_NO_PROGRESS,
		   (__u64[]){ FRAME(0x1000) | EXACT, FRAME(0x6010), 0 });
}

static void walk_believes_the_signal_restorer(void **state)
{
	static const uint8_t restorer[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	struct scene *s = *state;

	for (size_t i = 0; i <= sizeof(restorer); i++) {
		__u64 frames[] = { FRAME(0x1808) | EXACT, FRAME(0x2010) | BY_SYNTH, FRAME(0x4010),
				   0 };

		memcpy(s->code + 0x2010, restorer, sizeof(restorer));
		if (i < sizeof(restorer)) {
			s->code[0x2010 + i] ^= 1;
			frames[1] = 0;
		}
		s->words[0] = PC(0x2010); /* found by the row of 0x1808 */
		s->words[2] = PC(0x4010);
		s->walk.reg[7] = AT(0);
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, PC(0x1808), frames[1] ? FPL_STOP_OUTERMOST : FPL_STOP_NO_CFI, frames);
	}
}

/* Code interrupted by a signal follows no call. */
static void walk_believes_a_synthesised_signal_frame(void **state)
{
	struct fpl_rule rule = rule_signal;
	struct scene *s = *state;

	rule.flags |= FPL_RULE_SYNTH;
	world_row(&s->world, 0x8800, &rule, ext_signal, ARRAY_SIZE(ext_signal));
	s->words[2] = AT(20);
	s->words[3] = PC(0x2010);
	s->words[21] = PC(0x4010);
	check_walk(s, PC(0x8810), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x8810) | EXACT, FRAME(0x2010) | EXACT | BY_SYNTH,
			      FRAME(0x4010), 0 });
}

static void walk_looks_a_return_address_up_in_the_call_before_it(void **state)
{
	struct scene *s = *state;

	/* The call was the last instruction of 0x2000..0x2fff: 0x3000 is not the caller. */
	s->words[0] = PC(0x3000);
	s->words[2] = PC(0x5000);
	check_walk(s, PC(0x1000), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x1000) | EXACT, FRAME(0x3000), FRAME(0x5000), 0 });
}

static void walk_looks_an_interrupted_pc_up_as_it_is(void **state)
{
	struct scene *s = *state;

	/* leaf <- trampoline <- first instruction of 0x7000, on another stack <- outermost */
	s->words[0] = PC(0x3001);
	s->words[1 + 2] = AT(500); /* rsp */
	s->words[1 + 3] = PC(0x7000);
	s->words[500 + 1] = PC(0x4010);
	check_walk(s, PC(0x1000), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x1000) | EXACT, FRAME(0x3001), FRAME(0x7000) | EXACT,
			      FRAME(0x4010), 0 });
}

static void walk_leaves_an_alternate_stack_downwards(void **state)
{
	struct scene *s = *state;

	s->walk.reg[7] = AT(2000);
	s->words[2000] = PC(0x3001);
	s->words[2001 + 2] = AT(10);
	s->words[2001 + 3] = PC(0x7000);
	for (uint32_t i = 0; i < 40; i++)
		s->words[10 + 2 * i + 1] = PC(i < 39 ? 0x2010 : 0x4010);

	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	s->walk.pc = PC(0x1000);
	s->walk.nr = s->world.nr_mappings;
	s->walk.exact = 1;
	s->walk.origin = FPL_ORIGIN_CFI;
	s->walk.nr_frames = 0;
	walk_run(&walker);
	assert_int_equal(s->walk.stop, FPL_STOP_OUTERMOST);
	assert_int_equal(s->walk.nr_frames, 43);
	assert_in_range(s->world.nr_reads, 2, 4); /* the window follows to the other stack */
}

static void walk_counts_depth_in_frames(void **state)
{
	static const struct {
		uint32_t max_depth, nr_frames;
		enum fpl_stop stop;
	} cases[] = {
		{ 1, 1, FPL_STOP_DEPTH },
		{ 11, 11, FPL_STOP_DEPTH },
		{ 12, 12, FPL_STOP_OUTERMOST }, /* the last frame still says that it is the last */
		{ 13, 12, FPL_STOP_OUTERMOST },
	};
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	for (uint32_t i = 0; i < 11; i++)
		s->words[2 * i + 1] = PC(i < 10 ? 0x2010 : 0x4010);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		s->walk.max_depth = cases[i].max_depth;
		s->walk.reg[7] = AT(0);
		s->walk.known = ARCH_ALL_REGS;
		s->walk.pc = PC(0x2010);
		s->walk.nr = s->world.nr_mappings;
		s->walk.exact = 1;
		s->walk.origin = FPL_ORIGIN_CFI;
		s->walk.nr_frames = 0;
		walk_run(&walker);
		assert_int_equal(s->walk.nr_frames, cases[i].nr_frames);
		assert_int_equal(s->walk.stop, cases[i].stop);
	}
}

static void walk_reaches_the_deepest_stack_with_few_reads(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };
	uint32_t nr = NR_WORDS / 2;

	for (uint32_t i = 0; i < nr; i++)
		s->words[2 * i + 1] = PC(i < nr - 1 ? 0x2010 : 0x4010);
	s->walk.max_depth = FPL_DEPTH_MAX;
	s->walk.pc = PC(0x2010);
	s->walk.nr = s->world.nr_mappings;
	s->walk.exact = 1;
	s->walk.origin = FPL_ORIGIN_CFI;
	s->walk.nr_frames = 0;
	walk_run(&walker);
	assert_int_equal(s->walk.nr_frames, FPL_DEPTH_MAX);
	assert_int_equal(s->walk.stop, FPL_STOP_DEPTH);
	assert_int_equal(s->frames[FPL_DEPTH_MAX - 1], FRAME(0x2010));
	/* 32 KiB of stack in windows of nearly 2 KiB, and a few tries where memory ends */
	assert_in_range(s->world.nr_reads, 16, 22);
}

static void walk_keeps_the_address_of_code_outside_every_object(void **state)
{
	struct scene *s = *state;

	check_walk(s, 0x123456789, FPL_STOP_NO_MAPPING,
		   (__u64[]){ 0x123456789 | FPL_FRAME_RAW | EXACT, 0 });
	assert_int_equal(s->walk.flags, FPL_SAMPLE_RAW);
	/* Anonymous code, with a frame pointer that holds up. */
	s->walk.known = ARCH_ALL_REGS;
	s->walk.reg[7] = AT(0);
	s->walk.reg[6] = AT(2);
	s->words[3] = PC(0x4010);
	s->code[0x400b] = 0xe8;
	check_walk(s, ANON_START + 8, FPL_STOP_OUTERMOST,
		   (__u64[]){ (ANON_START + 8) | FPL_FRAME_RAW | EXACT, FRAME(0x4010) | BY_FP, 0 });
	assert_int_equal(s->walk.flags, FPL_SAMPLE_RAW);
}

static void code_outside_every_object_takes_no_rule_of_another_frame(void **state)
{
	const struct fpl_rule *rules[] = { &rule_leaf, &rule_frame, &rule_end, &rule_rbx };
	struct scene *s = *state;

	s->code[0x400b] = s->code[0x200b] = s->jit[0xb] = 0xe8;
	/* State left by the previous walk. */
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		s->walk.rule = *rules[i];
		s->walk.known = ARCH_ALL_REGS;
		s->walk.reg[7] = AT(0);
		s->walk.reg[6] = AT(10);
		s->words[11] = PC(0x4010);
		check_walk(s, ANON_START + 8, FPL_STOP_OUTERMOST,
			   (__u64[]){ (ANON_START + 8) | FPL_FRAME_RAW | EXACT,
				      FRAME(0x4010) | BY_FP, 0 });
	}
	/* State left by the frame below. */
	s->walk.known = ARCH_ALL_REGS;
	s->walk.reg[7] = AT(0);
	s->words[0] = AT(10);
	s->words[1] = ANON_START + 16;
	check_walk(s, PC(0x2010), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x2010) | EXACT, (ANON_START + 16) | FPL_FRAME_RAW,
			      FRAME(0x4010) | BY_FP, 0 });
}

static void walk_goes_on_behind_a_null_pointer_that_was_called(void **state)
{
	static const struct {
		const char *what;
		uint64_t pc, sp;
		uint32_t known;
		uint8_t unwind, opcode;
		bool taken;
	} cases[] = {
		{ "null", 0, AT(20), 0xffff, FPL_UNWIND_AUTO, 0xe8, true },
		{ "nearly null", 1, AT(20), 0xffff, FPL_UNWIND_AUTO, 0xe8, true },
		{ "the end of the first page", 0xfff, AT(20), 0xffff, FPL_UNWIND_AUTO, 0xe8, true },
		{ "behind it", 0x1000, AT(20), 0xffff, FPL_UNWIND_AUTO, 0xe8, false },
		{ "nowhere else", 0x123456789, AT(20), 0xffff, FPL_UNWIND_AUTO, 0xe8, false },
		{ "not by a call", 0, AT(20), 0xffff, FPL_UNWIND_AUTO, 0xe9, false },
		{ "rsp not aligned", 0, AT(20) + 4, 0xffff, FPL_UNWIND_AUTO, 0xe8, false },
		{ "rsp not known", 0, AT(20), 0xff7f, FPL_UNWIND_AUTO, 0xe8, false },
		{ "not resident", 0, AT(NR_WORDS), 0xffff, FPL_UNWIND_AUTO, 0xe8, false },
		{ "--unwind cfi", 0, AT(20), 0xffff, FPL_UNWIND_CFI, 0xe8, false },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 null = cases[i].pc | FPL_FRAME_RAW | EXACT;
		__u64 frames[] = { null, FRAME(0x2010) | BY_FP, FRAME(0x4010), 0 };

		print_message("%s\n", cases[i].what);
		if (!cases[i].taken)
			frames[1] = 0;
		s->words[20] = s->words[21] = PC(0x2010);
		s->words[22] = PC(0x4010); /* the frame's; its rbp in words[21] */
		s->code[0x200b] = cases[i].opcode;
		s->walk.reg[7] = cases[i].sp;
		s->walk.known = cases[i].known;
		s->walk.unwind = cases[i].unwind;
		check_walk(s, cases[i].pc,
			   cases[i].taken ? FPL_STOP_OUTERMOST : FPL_STOP_NO_MAPPING, frames);
		assert_int_equal(s->walk.flags, FPL_SAMPLE_RAW);
	}
	/* In a signal handler. */
	s->words[2] = AT(20);
	s->words[3] = 1;
	s->code[0x200b] = 0xe8;
	s->walk.reg[7] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
	s->walk.unwind = FPL_UNWIND_AUTO;
	check_walk(s, PC(0x3010), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x3010) | EXACT, 1 | FPL_FRAME_RAW | EXACT,
			      FRAME(0x2010) | BY_FP, FRAME(0x4010), 0 });
	/* Such an address is not a valid return address. */
	s->words[20] = 1;
	s->walk.reg[7] = AT(20);
	s->walk.known = ARCH_ALL_REGS;
	check_walk(s, PC(0x1000), FPL_STOP_BAD_RA, (__u64[]){ FRAME(0x1000) | EXACT, 0 });
}

static void walk_ends_where_a_return_address_is_no_code(void **state)
{
	static const uint64_t bad[] = { 0, 1, 0x7ffd00001000, PC(WORLD_TEXT) + 1, PC(0), ~0ull };
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		s->words[0] = bad[i];
		s->walk.reg[7] = AT(0);
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, PC(0x1000), FPL_STOP_BAD_RA, (__u64[]){ FRAME(0x1000) | EXACT, 0 });
		assert_int_equal(s->walk.pc, bad[i]);
	}
	/* The end of a mapping is a possible return address: of a call that does not return. */
	s->words[0] = PC(WORLD_TEXT);
	s->walk.reg[7] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
	check_walk(s, PC(0x1000), FPL_STOP_FP_END,
		   (__u64[]){ FRAME(0x1000) | EXACT, FRAME(WORLD_TEXT), 0 });
}

static void walk_reports_the_state_of_the_table(void **state)
{
	static const struct {
		const char *what;
		uint32_t object, state, slot, chunk_missing;
		uint16_t flags;
		enum fpl_stop stop;
	} cases[] = {
		{ "pending", WORLD_ID, FPL_TABLE_PENDING, 1, 0, 0, FPL_STOP_NO_TABLE },
		{ "slot of another object", 99, FPL_TABLE_READY, 1, 0, 0, FPL_STOP_NO_TABLE },
		{ "no such slot", WORLD_ID, FPL_TABLE_READY, 9, 0, 0, FPL_STOP_NO_TABLE },
		{ "refused a slot", WORLD_ID, FPL_TABLE_READY, 0, 0, 0, FPL_STOP_NO_TABLE },
		{ "no CFI", WORLD_ID, FPL_TABLE_NONE, 1, 0, 0, FPL_STOP_NO_CFI },
		{ "chunk gone", WORLD_ID, FPL_TABLE_READY, 1, 1, 0, FPL_STOP_TABLE_CHANGED },
		{ "there", WORLD_ID, FPL_TABLE_READY, 1, 0, 0, FPL_STOP_BAD_RA },
		{ "a part, with a row there", WORLD_ID, FPL_TABLE_PARTIAL, 1, 0, 0,
		  FPL_STOP_BAD_RA },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		s->world.objects[WORLD_SLOT].object = cases[i].object;
		s->world.objects[WORLD_SLOT].images[0].state = cases[i].state;
		s->world.mappings[0].slot = (uint16_t)cases[i].slot;
		s->world.chunk_missing = cases[i].chunk_missing;
		s->walk.serial++; /* of another mapset */
		s->walk.reg[7] = AT(0);
		s->walk.reg[6] = 1; /* no frame pointer */
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, PC(0x1000), cases[i].stop, (__u64[]){ FRAME(0x1000) | EXACT, 0 });
	}
}

static void walk_knows_the_entry_of_a_program(void **state)
{
	static const struct {
		const char *what;
		uint64_t vaddr;
		uint16_t flags;
		enum fpl_stop stop;
	} cases[] = {
		{ "entry of the main object", WORLD_ENTRY, FPL_MAPPING_MAIN, FPL_STOP_OUTERMOST },
		{ "entry of the interpreter", WORLD_ENTRY, FPL_MAPPING_INTERP, FPL_STOP_OUTERMOST },
		{ "last byte", WORLD_ENTRY + 63, FPL_MAPPING_MAIN, FPL_STOP_OUTERMOST },
		{ "behind it", WORLD_ENTRY + 64, FPL_MAPPING_MAIN, FPL_STOP_NO_CFI },
		{ "before it", WORLD_ENTRY - 1, FPL_MAPPING_MAIN, FPL_STOP_NO_CFI },
		{ "entry of another object", WORLD_ENTRY, 0, FPL_STOP_NO_CFI },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		s->world.mappings[0].flags = cases[i].flags;
		s->walk.serial++; /* of another mapset */
		s->walk.reg[7] = AT(0);
		s->walk.reg[6] = 1; /* no frame pointer */
		s->walk.known = ARCH_ALL_REGS;
		check_walk(s, PC(cases[i].vaddr), cases[i].stop,
			   (__u64[]){ FRAME(cases[i].vaddr) | EXACT, 0 });
	}
	/* If a row covers the entry, the row decides. */
	s->world.mappings[0].flags = FPL_MAPPING_MAIN;
	s->walk.serial++;
	s->world.objects[WORLD_SLOT].entry_vaddr = 0x1000;
	s->walk.reg[7] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
	check_walk(s, PC(0x1000), FPL_STOP_BAD_RA, (__u64[]){ FRAME(0x1000) | EXACT, 0 });
}

/* The stack in pieces: what a window cannot cover is still read, word by word if need be. */
static void walk_reads_whatever_is_resident(void **state)
{
	static const struct {
		const char *what;
		uint64_t sp, from, size; /* resident: [from, from + size) */
		enum fpl_stop stop;
	} cases[] = {
		{ "page of rsp only, rsp at its start", STACK + 4096, STACK + 4096, 4096, 0 },
		{ "page of rsp only, rsp at its end", STACK + 8192 - 16, STACK + 4096, 4096, 0 },
		{ "two words", STACK + 4096, STACK + 4096, 16, 0 },
		{ "one word", STACK + 4096, STACK + 4096, 8, FPL_STOP_READ_FAULT },
		{ "not the page of rsp", STACK, STACK + 4096, 4096, FPL_STOP_READ_FAULT },
		{ "rsp not aligned", STACK + 4096 + 4, STACK + 4096, 4096, 0 },
		{ "rsp not aligned, at the end", STACK + 8192 - 20, STACK + 4096, 4096, 0 },
		{ "second word on the next page", STACK + 8192 - 8, STACK, 16384, 0 },
		{ "second word on a missing page", STACK + 8192 - 8, STACK, 8192,
		  FPL_STOP_READ_FAULT },
		{ "second word across a page boundary", STACK + 8192 - 12, STACK + 4096, 8192, 0 },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t from = cases[i].from - STACK;
		__u64 want[] = { FRAME(0x2010) | EXACT, FRAME(0x4010), 0 };
		uint64_t ra = PC(0x4010);

		print_message("%s\n", cases[i].what);
		memset(s->words, 0xff, sizeof(s->words));
		memcpy((uint8_t *)s->words + (cases[i].sp - STACK) + 8, &ra, sizeof(ra));
		s->world.memory[0] = (struct world_memory){
			.addr = cases[i].from,
			.size = cases[i].size,
			.bytes = (uint8_t *)s->words + from,
		};
		s->walk.reg[7] = cases[i].sp;
		s->walk.known = ARCH_ALL_REGS;
		if (cases[i].stop)
			want[1] = 0;
		check_walk(s, PC(0x2010), cases[i].stop, want);
	}
}

static void window_edges_are_read_whole(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };
	__u64 value;

	for (uint32_t i = 0; i < NR_WORDS; i++)
		s->words[i] = i;
	s->walk.window_size = 0;
	assert_int_equal(walk_read(&walker, AT(100), &value), 0);
	assert_int_equal(s->walk.window_addr, AT(100) - ARCH_RED_ZONE);
	assert_int_equal(s->walk.window_size, FPL_WINDOW_SIZE);

	uint64_t end = s->walk.window_addr + s->walk.window_size;
	uint32_t reads = s->world.nr_reads;

	assert_int_equal(walk_read(&walker, end - 8, &value), 0);
	assert_int_equal(value, (end - 8 - STACK) / 8);
	assert_int_equal(s->world.nr_reads, reads);
	/* Straddling the end: read alone, and the window stays. */
	assert_int_equal(walk_read(&walker, end - 4, &value), 0);
	assert_int_equal(value, ((end - 8 - STACK) / 8) >> 32 | (end - STACK) / 8 << 32);
	assert_int_equal(s->world.nr_reads, reads + 1);
	/* Below it: alone, too. */
	assert_int_equal(walk_read(&walker, AT(3), &value), 0);
	assert_int_equal(value, 3);
	assert_int_equal(s->walk.window_addr, AT(100) - ARCH_RED_ZONE);
	/* At its end it moves. */
	assert_int_equal(walk_read(&walker, end, &value), 0);
	assert_int_equal(value, (end - STACK) / 8);
	assert_int_equal(s->walk.window_addr, end - ARCH_RED_ZONE);
	/* The highest addresses of all wrap nowhere. */
	assert_int_not_equal(walk_read(&walker, ~0ull - 3, &value), 0);
	assert_int_not_equal(walk_read(&walker, ~7ull, &value), 0);
	assert_int_not_equal(walk_read(&walker, 0, &value), 0);
	assert_int_equal(s->walk.window_size, 0);
}

static void mapping_search_finds_the_one_that_holds_the_address(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	s->world.nr_mappings = 0;
	for (uint32_t nr = 0; nr <= 8; nr++) {
		for (uint64_t addr = 0; addr < 0x9000; addr += 0x400) {
			uint64_t idx = addr / 0x1000;
			int want = idx < nr && addr % 0x1000 < 0xc00;

			s->walk.first = 0;
			s->walk.nr = nr;
			s->walk.last.start = s->walk.last.end = 0;
			assert_int_equal(walk_mapping(&walker, addr), want);
			assert_int_equal(walk_mapping(&walker, addr), want);
			if (want)
				assert_int_equal(s->walk.last.start, idx * 0x1000);
		}
		if (nr < 8)
			world_mapping(&s->world, nr * 0x1000, nr * 0x1000 + 0xc00, 1, 0);
	}
	/* A run in the middle of the array ends where it ends. */
	s->walk.first = 2;
	s->walk.nr = 3;
	s->walk.last.end = 0;
	assert_false(walk_mapping(&walker, 0x1000));
	assert_true(walk_mapping(&walker, 0x2000));
	assert_true(walk_mapping(&walker, 0x4bff));
	assert_false(walk_mapping(&walker, 0x5000));
	/* A mapset that leaves the array ends there. */
	s->walk.first = 7;
	s->walk.nr = 100;
	assert_false(walk_mapping(&walker, 0x6000));
}

static void remembered_frames_are_of_one_mapset_and_address(void **state)
{
	struct scene *s = *state;

	/* The rule of 0x1000 is remembered; the table is gone, and the rule still right. */
	s->words[0] = PC(0x4010);
	check_walk(s, PC(0x1000), FPL_STOP_OUTERMOST,
		   (__u64[]){ FRAME(0x1000) | EXACT, FRAME(0x4010), 0 });
	s->walk.reg[7] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
	s->world.chunk_missing = 1;
	check_one_walk(s, &s->memory, PC(0x1000), FPL_STOP_OUTERMOST,
		       (__u64[]){ FRAME(0x1000) | EXACT, FRAME(0x4010), 0 });
	/* So is that of the other addresses of its row near it. */
	s->walk.reg[7] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
	check_one_walk(s, &s->memory, PC(0x103f), FPL_STOP_OUTERMOST,
		       (__u64[]){ FRAME(0x103f) | EXACT, FRAME(0x4010), 0 });
	/* Those of other rows are not, nor those far away, nor this one in another mapset. */
	s->walk.reg[7] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
	check_one_walk(s, &s->memory, PC(0xfff), FPL_STOP_TABLE_CHANGED,
		       (__u64[]){ FRAME(0xfff) | EXACT, 0 });
	check_one_walk(s, &s->memory, PC(0x1100), FPL_STOP_TABLE_CHANGED,
		       (__u64[]){ FRAME(0x1100) | EXACT, 0 });
	s->world.mappings[0].object = s->world.objects[WORLD_SLOT].object = WORLD_ID + 1;
	s->walk.serial++;
	check_one_walk(s, &s->memory, PC(0x1000), FPL_STOP_TABLE_CHANGED,
		       (__u64[]){ (FRAME(0x1000) + (1ull << FPL_FRAME_OBJECT_SHIFT)) | EXACT, 0 });
}

/* Rows of 1 to 96 bytes, many more than are remembered at a time, on stacks of random addresses. */
static void remembered_frames_change_no_walk(void **state)
{
	const struct fpl_rule *rules[] = { &rule_leaf, &rule_frame, &rule_synth,
					   &rule_rbx,  &rule_none,  &rule_end };
	struct scene *s = *state;
	struct fpl_walk before;
	__u64 frames[FPL_DEPTH_MAX];

	world_fini(&s->world);
	world_init(&s->world);
	srandom(1);
	for (uint32_t vaddr = 0; vaddr < 0xc000; vaddr += 1 + (uint32_t)random() % 96)
		world_row(&s->world, vaddr, rules[random() % (long)ARRAY_SIZE(rules)], NULL, 0);
	world_memory(&s->world, STACK, s->words, 64 * 8);
	s->walk.reg[3] = AT(20);
	for (uint32_t i = 0; i < 60000; i++) {
		for (uint32_t w = 0; w < 8; w++)
			s->words[random() % 64] = PC((uint64_t)random() % 0xd000);
		s->walk.serial = 1 + i / 30000;
		s->walk.reg[7] = AT(0);
		s->walk.known = ARCH_ALL_REGS;
		s->walk.pc = PC((uint64_t)random() % 0xc000);
		s->walk.nr = s->world.nr_mappings;
		s->walk.exact = 1;
		s->walk.origin = FPL_ORIGIN_CFI;
		s->walk.nr_frames = 0;
		before = s->walk;
		walk_run(&(struct walker){ &s->walk, s->frames, &s->world, &s->memory });
		walk_run(&(struct walker){ &before, frames, &s->world, NULL });
		assert_int_equal(s->walk.nr_frames, before.nr_frames);
		assert_int_equal(s->walk.stop, before.stop);
		assert_int_equal(s->walk.pc, before.pc);
		assert_int_equal(s->walk.known, before.known);
		assert_memory_equal(s->frames, frames, before.nr_frames * sizeof(*frames));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(walk_ends_complete_where_the_return_address_is_undefined),
		TEST(walk_marks_frames_found_by_synthesised_rows),
		TEST(walk_takes_no_frame_pointer_step_where_the_code_was_judged),
		TEST(walk_believes_synthesised_rows_that_find_a_call),
		TEST(walk_finds_popped_return_address_in_the_red_zone),
		TEST(walk_believes_the_signal_restorer),
		TEST(walk_believes_a_synthesised_signal_frame),
		TEST(walk_ends_where_a_thread_is_born_though_a_synthesised_row_is_there),
		TEST(walk_looks_a_return_address_up_in_the_call_before_it),
		TEST(walk_looks_an_interrupted_pc_up_as_it_is),
		TEST(walk_leaves_an_alternate_stack_downwards),
		TEST(walk_counts_depth_in_frames),
		TEST(walk_reaches_the_deepest_stack_with_few_reads),
		TEST(walk_keeps_the_address_of_code_outside_every_object),
		TEST(code_outside_every_object_takes_no_rule_of_another_frame),
		TEST(walk_goes_on_behind_a_null_pointer_that_was_called),
		TEST(walk_ends_where_a_return_address_is_no_code),
		TEST(walk_reports_the_state_of_the_table),
		TEST(walk_knows_the_entry_of_a_program),
		TEST(walk_reads_whatever_is_resident),
		TEST(window_edges_are_read_whole),
		TEST(remembered_frames_are_of_one_mapset_and_address),
		TEST(remembered_frames_change_no_walk),
		TEST(mapping_search_finds_the_one_that_holds_the_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
