/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from compiled code that nothing describes: it is followed to where it returns. The code is
 * that of CPython 3.14's JIT (LLVM 19), and some that lies. */
#include "cmocka_all.h"

#include <stdbool.h>

#include "tests/support/cpython_trace.h"
#include "tests/support/walk_scene.h"
#include "unwind/synth/op.h"

#define CODE	  0x7f2000000000ull
#define CODE_SIZE 8192u
#define ID	  9u
#define MADE(off) (FPL_FRAME_JIT | (CODE + (off)))
#define RBP	  0x77ull

static uint8_t code[CODE_SIZE];

static int follow_setup(void **state)
{
	int failed = setup(state);
	struct scene *s = *state;

	world_mapping(&s->world, CODE, CODE + CODE_SIZE, 0, FPL_MAPPING_ANON);
	for (uint32_t i = 0; i < s->world.nr_mappings; i++)
		if (s->world.mappings[i].start == CODE)
			s->world.mappings[i].bias = fpl_region_ref(ID, 1);
	world_memory(&s->world, CODE, code, sizeof(code));
	s->world.region = (struct fpl_region){
		.id = ID, .kind = FPL_REGION_FOLLOW, .end = 1ull << 47, .frame_reg = ARCH_R12
	};
	assert_true(fpl_region_holds(&s->world.region));
	s->code[0x400b] = 0xe8; /* a call before PC(0x4010) */
	return failed;
}

/* Code at CODE, the caller in word @ra of the stack, no other word being a return address. */
static void make(struct scene *s, const void *bytes, size_t size, uint32_t ra)
{
	memset(code, 0xcc, sizeof(code));
	memcpy(code, bytes, size);
	for (uint32_t i = 0; i < 64; i++)
		s->words[i] = 0x1000 + i;
	s->words[ra] = PC(0x4010);
	for (uint32_t i = 0; i < FPL_NR_REGS; i++)
		s->walk.reg[i] = RBP;
	s->walk.reg[ARCH_SP] = AT(0);
	s->walk.known = ARCH_ALL_REGS;
}

/* push r15; push r14; push r13; push r12; push rbx; mov r12, rdi; mov r13, rsi; mov r14, rdx;
 * call 0x21; pop rbx; pop r12; pop r13; pop r14; pop r15; ret */
static const uint8_t shim[] = { 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54, 0x53, 0x49, 0x89,
				0xfc, 0x49, 0x89, 0xf5, 0x49, 0x89, 0xd6, 0xe8, 0x0a, 0x00, 0x00,
				0x00, 0x5b, 0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, 0xc3 };

static void each_instruction_of_the_entry_has_its_frame(void **state)
{
	static const struct {
		uint32_t pc, ra;
		int32_t rbx, r15; /* words; below 0: in the register */
	} cases[] = {
		{ 0, 0, -1, -1 },   { 2, 1, -1, 0 },	{ 4, 2, -1, 1 },     { 6, 3, -1, 2 },
		{ 8, 4, -1, 3 },    { 9, 5, 0, 4 },	{ 12, 5, 0, 4 },     { 15, 5, 0, 4 },
		{ 18, 5, 0, 4 },    { 0x17, 5, 0, 4 },	{ 0x18, 4, -1, 3 },  { 0x1a, 3, -1, 2 },
		{ 0x1c, 2, -1, 1 }, { 0x1e, 1, -1, 0 }, { 0x20, 0, -1, -1 },
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { MADE(cases[i].pc) | EXACT, FRAME(0x4010), 0 };

		print_message("pc %#x\n", cases[i].pc);
		make(s, shim, sizeof(shim), cases[i].ra);
		check_walk(s, CODE + cases[i].pc, FPL_STOP_OUTERMOST, want);
		assert_int_equal(s->walk.reg[ARCH_RBX],
				 cases[i].rbx < 0 ? RBP : 0x1000u + (uint32_t)cases[i].rbx);
		assert_int_equal(s->walk.reg[ARCH_R15],
				 cases[i].r15 < 0 ? RBP : 0x1000u + (uint32_t)cases[i].r15);
		assert_int_equal(s->walk.reg[ARCH_FP], RBP);
		assert_int_equal(s->walk.reg[ARCH_SP], AT(cases[i].ra + 1));
	}
}

static void code_is_followed_from_any_place(void **state)
{
	static const struct {
		const char *what;
		const char *code;
		size_t size;
		uint32_t ra; /* the word of the return address */
		int32_t rbp; /* that of the caller's rbp; below 0: it is in rbp */
	} cases[] = {
#define CASE(what, code, ra, rbp) { what, code, sizeof(code) - 1, ra, rbp }
		CASE("ret", "\xc3", 0, -1),
		CASE("rep ret", "\xf3\xc3", 0, -1),
		CASE("a word that aligns: pop rax; ret", "\x58\xc3", 1, -1),
		CASE("lea rsp, [rsp + 8]; ret", "\x48\x8d\x64\x24\x08\xc3", 1, -1),
		CASE("lea rsp, [rsp + 0x100]; ret", "\x48\x8d\xa4\x24\x00\x01\x00\x00\xc3", 32, -1),
		CASE("add rsp, 0x90; pop rbp; ret", "\x48\x81\xc4\x90\0\0\0\x5d\xc3", 19, 18),
		CASE("add rsp, 0x10; pop rbp; jmp rax", "\x48\x83\xc4\x10\x5d\xff\xe0", 3, 2),
		CASE("jmp [rax + 0x78]", "\xff\x60\x78", 0, -1),
		CASE("what is pushed is popped: push rbp; pop rbp; pop rax; ret",
		     "\x55\x5d\x58\xc3", 1, -1),
		CASE("push rbp; sub rsp, 0x90; add rsp, 0x90; pop rbp; ret",
		     "\x55\x48\x81\xec\x90\0\0\0\x48\x81\xc4\x90\0\0\0\x5d\xc3", 0, -1),
		CASE("the next function's push does not hide the caller's: pop rbp; push rbp; pop "
		     "rbp; ret",
		     "\x5d\x55\x5d\xc3", 1, 0),
		CASE("call [rip + n]; test rax, rax; je; mov [r13], rcx; pop rax; jmp to ret",
		     "\xff\x15\x4d\x11\0\0\x48\x85\xc0\x74\x06\x49\x89\x4d\0\x58\xeb\x01\x58\xc3",
		     1, -1),
		CASE("movabs; test [rax], 1; jne; ret",
		     "\x48\xb8\xf2\xcd\xea\x2c\0\0\0\0\xf6\x00\x01\x0f\x85\x05\0\0\0\xc3", 0, -1),
		CASE("lock or [r14 + 0x18], 0x80; mov [r12 + 0x38], rax; ret",
		     "\xf0\x49\x81\x4e\x18\x80\0\0\0\x49\x89\x44\x24\x38\xc3", 0, -1),
		CASE("cmp rax, rsp; mov rdi, rsp; mov ah, 3; ret",
		     "\x48\x39\xe0\x48\x89\xe7\xb4\x03\xc3", 0, -1),
		/* dec r14; add r15, -8; cmp r14, 1; jbe +2; jmp back; pop rax; ret */
		CASE("a loop is left by its branch",
		     "\x49\xff\xce\x49\x83\xc7\xf8\x49\x83\xfe\x01\x76\x02\xeb\xf1\x58\xc3", 1, -1),
		CASE("data16 cs nop [rax + rax]; addsd xmm0, [rcx]; ret",
		     "\x66\x66\x2e\x0f\x1f\x84\0\0\0\0\0\xf2\x0f\x58\x01\xc3", 0, -1),
		CASE("cmp word [rcx], 0x1234; test byte [rdi], 1; test dword [rdi], 1; ret",
		     "\x66\x81\x39\x34\x12\xf6\x07\x01\xf7\x07\x01\0\0\0\xc3", 0, -1),
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { MADE(0) | EXACT, FRAME(0x4010), 0 };

		print_message("%s\n", cases[i].what);
		make(s, cases[i].code, cases[i].size, cases[i].ra);
		check_walk(s, CODE, FPL_STOP_OUTERMOST, want);
		assert_int_equal(s->walk.reg[ARCH_FP],
				 cases[i].rbp < 0 ? RBP : 0x1000u + (uint32_t)cases[i].rbp);
	}
}

/* The ways through the trace have been explored. */
struct explored {
	int32_t depths[sizeof(cpython_trace)]; /* bytes from rsp to the return address; below 0: no
						  instruction is there */
	uint32_t open[256];		       /* [nr] yet to be looked at */
	size_t nr, nr_insns;
};

static void reach(struct explored *to, uint64_t pc, int32_t depth)
{
	uint64_t off = pc - CODE;

	assert_true(off < sizeof(cpython_trace) && depth >= 0);
	if (to->depths[off] >= 0) {
		assert_int_equal(to->depths[off], depth);
		return;
	}
	assert_true(to->nr < ARRAY_SIZE(to->open));
	to->depths[off] = depth;
	to->open[to->nr++] = (uint32_t)off;
	to->nr_insns++;
}

/* Go on behind the instruction at @off. */
static void explore_one(struct explored *to, struct synth_decoder *decoder, uint32_t off)
{
	int32_t depth = to->depths[off];
	struct synth_op op;

	synth_decode(decoder, cpython_trace + off, sizeof(cpython_trace) - off, CODE + off, &op);
	assert_int_not_equal(op.kind, OP_BAD);
	if (op.kind == OP_RETURN || op.kind == OP_JUMP_REGISTER || op.kind == OP_JUMP_MEMORY) {
		assert_int_equal(depth, 0);
		return;
	}
	if (op.kind == OP_JUMP || op.kind == OP_BRANCH)
		reach(to, (uint64_t)op.imm, depth);
	if (op.kind == OP_JUMP)
		return;
	if (op.kind == OP_PUSH || op.kind == OP_PUSH_OTHER)
		depth += 8;
	else if (op.kind == OP_POP || op.kind == OP_POP_OTHER)
		depth -= 8;
	else if ((op.kind == OP_ADD || op.kind == OP_LEA) && op.dst == ARCH_SP)
		depth -= (int32_t)op.imm;
	reach(to, CODE + off + op.size, depth);
}

static void explore(struct explored *ret)
{
	struct synth_decoder *decoder = synth_decoder_create();

	assert_non_null(decoder);
	memset(ret, 0xff, sizeof(*ret));
	ret->nr = ret->nr_insns = 0;
	reach(ret, CODE, 0);
	reach(ret, CODE + CPYTHON_TRACE_ENTRY, 0);
	while (ret->nr)
		explore_one(ret, decoder, ret->open[--ret->nr]);
	synth_decoder_destroy(decoder);
}

static void each_instruction_of_a_trace_has_the_frame_that_all_ways_agree_on(void **state)
{
	static struct explored explored;
	struct scene *s = *state;

	explore(&explored);
	assert_true(explored.nr_insns > 900);
	for (uint32_t off = 0; off < sizeof(cpython_trace); off++) {
		__u64 want[] = { MADE(off) | EXACT, FRAME(0x4010), 0 };

		if (explored.depths[off] < 0)
			continue;
		make(s, cpython_trace, sizeof(cpython_trace), (uint32_t)explored.depths[off] / 8);
		check_walk(s, CODE + off, FPL_STOP_OUTERMOST, want);
	}
}

static void a_call_is_followed_from_behind_it(void **state)
{
	/* push rax; call; pop rax; jmp to ret */
	static const uint8_t bytes[] = { 0x50, 0xe8, 0, 0, 0, 0, 0x58, 0xc3 };
	struct scene *s = *state;
	__u64 want[] = { FRAME(0x1008) | EXACT, MADE(6), MADE(0x417), FRAME(0x4010), 0 };

	make(s, bytes, sizeof(bytes), 2 + 5 + 1);
	memcpy(code + 0x400, shim, sizeof(shim));
	s->words[0] = CODE + 6;
	s->words[2] = CODE + 0x417;
	check_walk(s, PC(0x1008), FPL_STOP_OUTERMOST, want);
	assert_int_equal(s->walk.reg[ARCH_R12], 0x1000 + 4);
}

/* Each ends the walk, as code without a method would. */
static void code_that_cannot_be_followed_has_no_frame(void **state)
{
	static const struct {
		const char *what;
		const char *code;
		size_t size;
	} cases[] = {
#define BAD(what, code) { what, code, sizeof(code) - 1 }
		BAD("a jump to itself", "\xeb\xfe"),
		BAD("two that lead to each other", "\xeb\x00\xe9\xf9\xff\xff\xff"),
		BAD("int3", "\xcc"),
		BAD("ud2", "\x0f\x0b"),
		BAD("leave", "\xc9\xc3"),
		BAD("ret n", "\xc2\x08\x00"),
		BAD("mov rsp, rbp", "\x48\x89\xec\x58\xc3"),
		BAD("mov rsp, [rbp]", "\x48\x8b\x65\x00\x58\xc3"),
		BAD("and rsp, -64", "\x48\x83\xe4\xc0\x58\xc3"),
		BAD("sub rsp, rax", "\x48\x29\xc4\x58\xc3"),
		BAD("lea rsp, [rbp - 8]", "\x48\x8d\x65\xf8\x58\xc3"),
		BAD("VEX", "\xc5\xf8\x77\x58\xc3"),
		BAD("more is pushed than taken off", "\x50\xc3"),
		BAD("a frame of half a word", "\x48\x83\xc4\x04\xc3"),
		BAD("a frame of 2 GiB", "\x48\x81\xc4\xf8\xff\xff\x7f\xc3"),
		BAD("no return address is there", "\x58\x58\xc3"),
	};
	struct scene *s = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__u64 want[] = { MADE(0) | EXACT, 0 };

		print_message("%s\n", cases[i].what);
		make(s, cases[i].code, cases[i].size, 1);
		s->walk.reg[ARCH_FP] = 4; /* no frame pointer */
		s->words[0] = 0x1000;
		check_walk(s, CODE, FPL_STOP_NO_CFI, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_instruction_of_the_entry_has_its_frame,
						follow_setup, teardown),
		cmocka_unit_test_setup_teardown(code_is_followed_from_any_place, follow_setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			each_instruction_of_a_trace_has_the_frame_that_all_ways_agree_on,
			follow_setup, teardown),
		cmocka_unit_test_setup_teardown(a_call_is_followed_from_behind_it, follow_setup,
						teardown),
		cmocka_unit_test_setup_teardown(code_that_cannot_be_followed_has_no_frame,
						follow_setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
