/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from code of Erlang's JIT: on the stack of an Erlang process, from C code that it has
 * called, to the thread, and data that lies. */
#include "cmocka_all.h"

#include <stdbool.h>

#include "tests/support/walk_scene.h"

#define JIT	    0x7f1000000000ull
#define HEAP	    0x7f2000000000ull /* with the Erlang stack */
#define PROCESS	    0x7f3000000000ull
#define ID	    9u
#define ENTRY	    0x400u /* offsets in the JIT's code */
#define NORMAL_EXIT 0x800u
#define F	    0x1000u /* a function, */
#define G	    0x1100u /* and its callers */
#define H	    0x1200u
#define FRAGMENT    0x1801u
#define MADE(off)   (FPL_FRAME_JIT | (JIT + (off)))
#define REGISTERS   AT(200)
#define RUNTIME_OFF 0x80u
#define CALLER_OFF  0x238u
#define STACK_OFF   0x58u
#define SMALL	    0x1fu /* the term 1 */
#define LIST	    (HEAP + 0x11)

static uint8_t jit[0x2000];
static uint64_t heap[2048], process[32];

static int beam_setup(void **state)
{
	const int32_t to_main = 0x3000 - 0x4010;
	int code = setup(state);
	struct scene *s = *state;

	memset(jit, 0x90, sizeof(jit));
	memset(heap, 0, sizeof(heap));
	memset(process, 0, sizeof(process));
	world_mapping(&s->world, JIT, JIT + sizeof(jit), 0, FPL_MAPPING_ANON);
	for (uint32_t i = 0; i < s->world.nr_mappings; i++)
		if (s->world.mappings[i].start == JIT)
			s->world.mappings[i].bias = fpl_region_ref(ID, 1);
	world_memory(&s->world, JIT, jit, sizeof(jit));
	world_memory(&s->world, HEAP, heap, sizeof(heap));
	world_memory(&s->world, PROCESS, process, sizeof(process));
	s->world.region = (struct fpl_region){ .id = ID,
					       .kind = FPL_REGION_BEAM,
					       .end = FPL_REGION_END_MAX,
					       .beam = { .normal_exit = JIT + NORMAL_EXIT,
							 .process_main = PC(0x3000),
							 .entry = JIT + ENTRY,
							 .entry_bytes = 0x100,
							 .stack_off = STACK_OFF,
							 .runtime_off = RUNTIME_OFF,
							 .caller_off = CALLER_OFF } };
	assert_true(fpl_region_holds(&s->world.region));
	/* the thread has called process_main(); below that, an older call has left its own */
	s->code[0x400b] = 0xe8;
	memcpy(s->code + 0x400c, &to_main, sizeof(to_main));
	s->code[0x411b] = 0xe8;
	s->words[200 + CALLER_OFF / 8 - 1] = PC(0x4010);
	s->words[200 + CALLER_OFF / 8 - 3] = PC(0x4120);
	return code;
}

/* Walk from code at @pc that runs with @sp; in rbp is @fp. */
static void check_beam(struct scene *s, uint64_t pc, uint64_t sp, uint64_t fp, enum fpl_stop stop,
		       const __u64 *want)
{
	s->walk.reg[ARCH_RBX] = REGISTERS;
	s->walk.reg[ARCH_R13] = PROCESS;
	s->walk.reg[ARCH_FP] = fp;
	s->walk.reg[ARCH_SP] = sp;
	s->walk.known = ARCH_ALL_REGS;
	check_walk(s, pc, stop, want);
}

#define BEAM(name) cmocka_unit_test_setup_teardown(name, beam_setup, teardown)

/* The Erlang stack is @words up to a zero, which is left out, and the end. */
static void put_stack(uint32_t at, const uint64_t *words)
{
	while (*words)
		heap[at++] = *words++;
	heap[at] = JIT + NORMAL_EXIT;
}

static void put_code(uint32_t off, const char *bytes, size_t size)
{
	memcpy(jit + off, bytes, size);
}
#define PUT(off, text) put_code(off, text, sizeof(text) - 1)

static const uint64_t two_callers[] = { SMALL, LIST, JIT + G, SMALL, JIT + H, LIST, 0 };

static void frames_end_with_return_addresses(void **state)
{
	struct scene *s = *state;
	const __u64 want[] = { MADE(F) | EXACT, MADE(G), MADE(H), FRAME(0x4010), 0 };

	put_stack(8, two_callers);
	check_beam(s, JIT + F, HEAP + 64, 4, FPL_STOP_OUTERMOST, want);
	/* where the thread goes on its registers are its own again */
	assert_int_equal(s->walk.reg[ARCH_SP], REGISTERS + CALLER_OFF);
	assert_int_equal(s->walk.known, WALK_BIT(ARCH_SP));
	/* saved frame pointers are no code */
	heap[9] = HEAP + 0x100;
	check_beam(s, JIT + F, HEAP + 64, 4, FPL_STOP_OUTERMOST, want);
}

/* A frame that was made has what was there before, until it is filled. */
static void a_new_frame_is_passed_over(void **state)
{
	static const struct {
		const char *what;
		char code[24];
		uint32_t size;
		bool is_new;
	} cases[] = {
		{ "sub rsp, 16", "\x48\x83\xec\x10", 4, true },
		{ "a word filled", "\x48\x83\xec\x10\x48\x8b\x7b\x10\x48\x89\x3c\x24", 12, true },
		{ "sub rsp, i32", "\x48\x81\xec\x10\x00\x00\x00", 7, true },
		{ "behind a call", "\x48\x83\xec\x10\xe8\x01\x02\x03\x04", 9, false },
		{ "behind an indirect one", "\x48\x83\xec\x10\x42\xff\x14\xe0", 8, false },
		{ "another frame", "\x48\x83\xec\x10\x48\x83\xc4\x10", 8, false },
		{ "behind ret", "\x48\x83\xec\x10\xc3", 5, false },
		{ "a frame of all memory", "\x48\x81\xec\xf8\xff\xff\x7f", 7, false },
		{ "the next instruction makes it", "\x90", 1, false },
	};
	struct scene *s = *state;

	put_stack(8, (const uint64_t[]){ JIT + H, SMALL, JIT + G, 0 });
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t pc = F + cases[i].size;
		const __u64 new[] = { MADE(pc) | EXACT, MADE(G), FRAME(0x4010), 0 };
		const __u64 old[] = { MADE(pc) | EXACT, MADE(H), MADE(G), FRAME(0x4010), 0 };

		print_message("%s\n", cases[i].what);
		memset(jit + F, 0x90, 64);
		put_code(F, cases[i].code, cases[i].size);
		put_code(pc, "\x48\x83\xec\x10", 4);
		check_beam(s, JIT + pc, HEAP + 64, 4, FPL_STOP_OUTERMOST,
			   cases[i].is_new ? new : old);
	}
}

static void shared_code_is_called_from_anywhere(void **state)
{
	struct scene *s = *state;
	const __u64 want[] = { MADE(0x1900) | EXACT, MADE(FRAGMENT), MADE(G), FRAME(0x4010), 0 };
	const __u64 no_call[] = { MADE(0x1900) | EXACT, MADE(G), FRAME(0x4010), 0 };

	put_stack(8, (const uint64_t[]){ JIT + FRAGMENT, SMALL, JIT + G, 0 });
	PUT(FRAGMENT - 5, "\xe8");
	check_beam(s, JIT + 0x1900, HEAP + 64, 4, FPL_STOP_OUTERMOST, want);
	/* elsewhere such a word is a term */
	PUT(FRAGMENT - 5, "\x90");
	check_beam(s, JIT + 0x1900, HEAP + 64, 4, FPL_STOP_OUTERMOST, no_call);
}

/* C code that @call has called leads to the Erlang stack by what the code behind it says. */
static void c_code_leads_back_to_the_erlang_stack(void **state)
{
	static const struct {
		const char *what, *code;
		size_t size;
		bool in_process;
	} cases[] = {
		{ "mov rsp, rbp", "\x90\x48\x89\xec", 4, false },
		{ "the other encoding", "\x48\x8b\xec\x48\x8b\xe5", 6, false },
		{ "mov rsp, [r13 + 0x58]", "\x49\x8b\x65\x50\x49\x8b\x65\x58", 8, true },
	};
	struct scene *s = *state;
	const __u64 want[] = {
		FRAME(0x1008) | EXACT, MADE(F + 8), MADE(G), MADE(H), FRAME(0x4010), 0
	};
	const __u64 leaf[] = { MADE(F + 8) | EXACT, MADE(G), MADE(H), FRAME(0x4010), 0 };
	uint64_t fp;

	put_stack(8, two_callers);
	s->words[200 - RUNTIME_OFF / 8 - 1] = JIT + F + 8;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		print_message("%s\n", cases[i].what);
		memset(jit + F, 0x90, 64);
		put_code(F + 2, "\xff\x15", 2);
		put_code(F + 8, cases[i].code, cases[i].size);
		process[STACK_OFF / 8] = HEAP + (cases[i].in_process ? 64 : 8);
		fp = HEAP + (cases[i].in_process ? 8 : 64);
		check_beam(s, PC(0x1008), REGISTERS - RUNTIME_OFF - 8, fp, FPL_STOP_OUTERMOST,
			   want);
		/* whose frame is new, and has what was there before */
		put_code(F - 8, "\x48\x83\xec\x10", 4);
		heap[9] = JIT + H;
		check_beam(s, PC(0x1008), REGISTERS - RUNTIME_OFF - 8, fp, FPL_STOP_OUTERMOST,
			   want);
		heap[9] = LIST;
		put_code(F - 8, "\x90\x90\x90\x90", 4);
		/* the code itself, before it goes back */
		check_beam(s, JIT + F + 8, REGISTERS - RUNTIME_OFF, fp, FPL_STOP_OUTERMOST, leaf);
	}
}

static void no_erlang_process_runs_in_the_entry(void **state)
{
	struct scene *s = *state;
	const __u64 want[] = { MADE(ENTRY + 0x20) | EXACT, FRAME(0x4010), 0 };
	const __u64 resumed[] = { MADE(ENTRY + 0x20) | EXACT, MADE(G), MADE(H), FRAME(0x4010), 0 };

	check_beam(s, JIT + ENTRY + 0x20, REGISTERS - RUNTIME_OFF, 4, FPL_STOP_OUTERMOST, want);
	/* but one is about to */
	put_stack(8, two_callers);
	check_beam(s, JIT + ENTRY + 0x20, HEAP + 64, 4, FPL_STOP_OUTERMOST, resumed);
}

/* A stack that does not end as Erlang's do is never complete. */
static void data_that_lies_leads_nowhere(void **state)
{
	struct scene *s = *state;
	const __u64 leaf[] = { MADE(F) | EXACT, 0 };
	const __u64 want[] = { MADE(F) | EXACT, MADE(G), MADE(H), 0 };

	put_stack(8, two_callers);
	heap[14] = SMALL; /* no end */
	s->world.nr_reads = 0;
	check_beam(s, JIT + F, HEAP + 64, 4, FPL_STOP_NO_CFI, want);
	assert_in_range(s->world.nr_reads, 3, 3 * 16);
	/* nothing has called process_main() */
	put_stack(8, two_callers);
	s->words[200 + CALLER_OFF / 8 - 1] = PC(0x4120);
	check_beam(s, JIT + F, HEAP + 64, 4, FPL_STOP_NO_CFI, want);
	/* no stack: an odd one, one that is not there, code that does not go back to it */
	check_beam(s, JIT + F, HEAP + 63, 4, FPL_STOP_NO_CFI, leaf);
	check_beam(s, JIT + F, HEAP + 0x10000000, 4, FPL_STOP_READ_FAULT, leaf);
	check_beam(s, JIT + F, REGISTERS - RUNTIME_OFF, HEAP + 64, FPL_STOP_NO_CFI, leaf);
	PUT(F + 4, "\x48\x8d\x63\x80\x48\x89\xec"); /* other code does */
	check_beam(s, JIT + F, REGISTERS - RUNTIME_OFF, HEAP + 64, FPL_STOP_NO_CFI, leaf);
	/* no registers */
	s->walk.reg[ARCH_SP] = HEAP + 64;
	s->walk.reg[ARCH_RBX] = 8;
	s->walk.known = ARCH_ALL_REGS;
	check_walk(s, JIT + F, FPL_STOP_READ_FAULT, want);
	s->walk.reg[ARCH_SP] = HEAP + 64;
	s->walk.known = ARCH_ALL_REGS & ~WALK_BIT(ARCH_RBX);
	check_walk(s, JIT + F, FPL_STOP_NO_CFI, leaf);
}

/* Large frames use up what a walk may read. */
static void the_words_of_a_walk_are_bounded(void **state)
{
	struct scene *s = *state;
	struct walker walker = { &s->walk, s->frames, &s->world, NULL };

	for (uint32_t i = 0; i < ARRAY_SIZE(heap); i++)
		heap[i] = i % 1000 == 999 ? JIT + G : SMALL;
	s->walk.nr = s->world.nr_mappings;
	s->walk.reg[ARCH_SP] = HEAP;
	s->walk.reg[ARCH_RBX] = REGISTERS;
	s->walk.exact = 1;
	s->walk.pc = JIT + F;
	walk_run(&walker);
	assert_int_equal(s->walk.nr_frames, 3);
	assert_int_equal(s->walk.stack_words, 2 * (1000 - BEAM_FREE_WORDS));
	/* the heap as its own caller, again and again */
	for (uint32_t i = 0; i < ARRAY_SIZE(heap); i++)
		heap[i] = i % 64 == 63 ? JIT + G : SMALL;
	s->walk.stack_words = 0;
	s->walk.reg[ARCH_SP] = HEAP;
	s->walk.known = ARCH_ALL_REGS;
	s->walk.nr_frames = 0;
	s->walk.exact = 1;
	s->walk.pc = JIT + F;
	walk_run(&walker);
	assert_int_equal(s->walk.nr_frames, 33);
	assert_int_equal(s->walk.stack_words, 32 * (64 - BEAM_FREE_WORDS));
}

static void no_region_that_does_not_hold_is_taken(void **state)
{
	struct scene *s = *state;
	const struct fpl_region good = s->world.region;

	assert_true(fpl_region_holds(&good));
	REGION_REFUSED(good, end, 0);
	REGION_REFUSED(good, beam.normal_exit, 0);
	REGION_REFUSED(good, beam.process_main, 0);
	REGION_REFUSED(good, beam.entry, 0);
	REGION_REFUSED(good, beam.entry_bytes, 0);
	REGION_REFUSED(good, beam.stack_off, 128);
	REGION_REFUSED(good, beam.stack_off, 0x59);
	REGION_REFUSED(good, beam.runtime_off, 0);
	REGION_REFUSED(good, beam.runtime_off, 0x81);
	REGION_REFUSED(good, beam.caller_off, 56);
	REGION_REFUSED(good, beam.caller_off, 0x239);
	REGION_REFUSED(good, beam.caller_off, (1u << 20) + 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BEAM(frames_end_with_return_addresses),
		BEAM(a_new_frame_is_passed_over),
		BEAM(shared_code_is_called_from_anywhere),
		BEAM(c_code_leads_back_to_the_erlang_stack),
		BEAM(no_erlang_process_runs_in_the_entry),
		BEAM(data_that_lies_leads_nowhere),
		BEAM(the_words_of_a_walk_are_bounded),
		BEAM(no_region_that_does_not_hold_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
