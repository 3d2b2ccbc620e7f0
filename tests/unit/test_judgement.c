// SPDX-License-Identifier: Apache-2.0
/* The judge's verdicts on entries, rows and functions. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "judge/entry.h"
#include "judge/findings.h"
#include "judge/judgement.h"
#include "judge/places.h"
#include "tests/support/cfi_builder.h"

#define STACK 0x7ffd00000000ull
#define WORDS 16u
#define AT(i) (STACK + 8ull * (i))

/* Memory: code that ends at CALL_END, PLT entries, pointers, and the stack. */
#define CALL_END 0x401020ull
#define PLT	 0x400100ull
#define DATA	 0x404000ull
#define TARGET	 0x402000ull

struct process {
	uint8_t call[16]; /* ends at CALL_END */
	uint8_t plt[16];
	uint64_t data[4];
	uint64_t stack[WORDS];
};

static bool read_process(void *ctx, uint64_t addr, size_t size, void *dst)
{
	const struct process *process = ctx;
	const struct {
		uint64_t addr;
		const void *bytes;
		size_t size;
	} parts[] = {
		{ CALL_END - sizeof(process->call), process->call, sizeof(process->call) },
		{ PLT, process->plt, sizeof(process->plt) },
		{ DATA, process->data, sizeof(process->data) },
		{ STACK, process->stack, sizeof(process->stack) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		uint64_t off = addr - parts[i].addr;

		if (off <= parts[i].size && parts[i].size - off >= size) {
			memcpy(dst, (const uint8_t *)parts[i].bytes + off, size);
			return true;
		}
	}
	return false;
}

/* The thread is at TARGET; rax and r9 are that, rbx and r13 DATA, r12 DATA - 8, rcx and r14
 * 1, rdx DATA - 0x100, rsi DATA + 24, r8 DATA, rdi DATA + 16, which has PLT; rsp + 8 STACK + 8. */
static const struct {
	const char *what;
	const uint8_t *call;
	size_t size;
	bool want;
} calls[] = {
	{ "call TARGET", BYTES("\xe8\xe0\x0f\x00\x00"), true },
	{ "call elsewhere", BYTES("\xe8\xe1\x0f\x00\x00"), false },
	{ "call its PLT entry", BYTES("\xe8\xe0\xf0\xff\xff"), true },
	{ "call *%rax", BYTES("\xff\xd0"), true },
	{ "call *%rbx", BYTES("\xff\xd3"), false },
	{ "call *%r12", BYTES("\x41\xff\xd4"), false },
	{ "jmp *%rax", BYTES("\xff\xe0"), false },
	{ "call *(%rbx)", BYTES("\xff\x13"), true },
	{ "call *8(%rbx)", BYTES("\xff\x53\x08"), false },
	{ "call *8(%r12)", BYTES("\x41\xff\x54\x24\x08"), true },
	{ "call *-8(%rbx,%rcx,8)", BYTES("\xff\x54\xcb\xf8"), true },
	{ "call *DATA(%rip)", BYTES("\xff\x15\xe0\x2f\x00\x00"), true },
	{ "call *DATA", BYTES("\xff\x14\x25\x00\x40\x40\x00"), true },
	{ "call *16(%rsp)", BYTES("\xff\x54\x24\x10"), true },
	{ "call *%r9", BYTES("\x41\xff\xd1"), true },
	{ "call *%rax behind anything", BYTES("\x95\xff\xd0"), true },
	{ "call *%rax before something", BYTES("\xff\xd0\x90"), false },
	{ "dec %eax", BYTES("\xff\xc8"), false },
	{ "fe /2", BYTES("\xfe\xd0"), false },
	{ "jmp TARGET", BYTES("\xe9\xe0\x0f\x00\x00"), false },
	{ "out %eax; ...", BYTES("\xe7\xe0\x0f\x00\x00"), false },
	{ "a call that is cut", BYTES("\x41\xff"), false },
	{ "a SIB that is cut", BYTES("\xff\x14"), false },
	{ "call *(%rbx) by SIB", BYTES("\xff\x14\x23"), true },
	{ "call *(%rdi) by SIB", BYTES("\xff\x14\x27"), true },
	{ "call *(%r12,%rcx,8) by disp8", BYTES("\x41\xff\x54\xcc\x00"), true },
	{ "call *-24(%rsi)", BYTES("\xff\x56\xe8"), true },
	{ "call *(%rbx) by disp8 before something", BYTES("\xff\x53\x00\x90"), false },
	{ "call *-8(%rbx,%r14,8) by disp32", BYTES("\x42\xff\x94\xf3\xf8\xff\xff\xff"), true },
	{ "call *(%rdi), which has a PLT entry", BYTES("\xff\x17"), true },
	{ "call *(%rdi) of the PLT entry that ends elsewhere", BYTES("\xff\x57\x08"), false },
	{ "call *0x100(%rdx)", BYTES("\xff\x92\x00\x01\x00\x00"), true },
	{ "call *(%r13) by disp8", BYTES("\x41\xff\x55\x00"), true },
	{ "call *(%rbp,%rcx,8) by disp8", BYTES("\xff\x54\xcd\x00"), true },
	{ "call *-8(%rbx,%r14,8)", BYTES("\x42\xff\x54\xf3\xf8"), true },
	{ "call *DATA-8(,%rcx,8)", BYTES("\xff\x14\xcd\xf8\x3f\x40\x00"), true },
	{ "call *-16(%rbx,%rcx,8)", BYTES("\xff\x54\xcb\xf0"), false },
	{ "call *(%rcx)", BYTES("\xff\x11"), false },
	{ "call *8(%rbx) by disp32 that is short", BYTES("\xff\x93\x00\x00"), false },
	{ "nops", BYTES("\x90\x90\x90\x90\x90\x90\x90\x90"), false },
};

static void an_entry_is_proven_by_the_call_before_the_return_address(void **state)
{

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct process process = { .data = { TARGET, TARGET + 1, PLT, PLT + 1 },
					   .stack = { CALL_END, 0, 0, TARGET } };
		struct registers now = { .pc = TARGET };
		uint64_t ra = 0;

		memset(process.call, 0x90, sizeof(process.call));
		memcpy(process.call + sizeof(process.call) - calls[i].size, calls[i].call,
		       calls[i].size);
		/* endbr64; bnd jmp *DATA(%rip) */
		memcpy(process.plt, "\xf3\x0f\x1e\xfa\xf2\xff\x25\xf5\x3e\x00\x00", 11);
		now.reg[X86_RAX] = TARGET;
		now.reg[2] = 1;
		now.reg[1] = DATA - 0x100;
		now.reg[3] = now.reg[13] = DATA;
		now.reg[4] = DATA + 24;
		now.reg[8] = DATA;
		now.reg[5] = DATA + 16;
		now.reg[6] = DATA - 8;
		now.reg[9] = TARGET;
		now.reg[12] = DATA - 8;
		now.reg[14] = 1;
		now.reg[X86_RSP] = STACK;
		if (entry_is_proven(&now, read_process, &process, &ra) != calls[i].want)
			fail_msg("%s", calls[i].what);
		if (calls[i].want)
			assert_int_equal(ra, CALL_END);
	}
}

/* Entries of PLTs in the forms there are, and bytes that are nearly one. */
static void a_plt_entry_is_known_by_its_bytes(void **state)
{
	static const struct {
		const char *what;
		const uint8_t *code;
		size_t size;
		bool want;
	} cases[] = {
		{ "jmp *DATA(%rip)", BYTES("\xff\x25\xfa\x3e\x00\x00"), true },
		{ "bnd jmp", BYTES("\xf2\xff\x25\xf9\x3e\x00\x00"), true },
		{ "endbr64; jmp", BYTES("\xf3\x0f\x1e\xfa\xff\x25\xf6\x3e\x00\x00"), true },
		{ "jmp to what leads elsewhere", BYTES("\xff\x25\x02\x3f\x00\x00"), false },
		{ "jmp to what leads below", BYTES("\xff\x25\x0a\x3f\x00\x00"), false },
		{ "nop; jmp", BYTES("\x90\xff\x25\xf9\x3e\x00\x00"), false },
		{ "jmp by what cannot be read", BYTES("\xff\x25\x02\x3f\x00\x10"), false },
		{ "call *DATA(%rip)", BYTES("\xff\x15\xfa\x3e\x00\x00"), false },
		{ "push DATA(%rip)", BYTES("\xff\x35\xfa\x3e\x00\x00"), false },
		{ "and $DATA, %eax", BYTES("\xfe\x25\xfa\x3e\x00\x00"), false },
		{ "repz jmp", BYTES("\xf3\xff\x25\xf9\x3e\x00\x00"), false },
		{ "xabort", BYTES("\xc6\xf8\xfa\x3e\x00\x00"), false },
		{ "endbr32; jmp", BYTES("\xf3\x0f\x1e\xfb\xff\x25\xf6\x3e\x00\x00"), false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process process = { .data = { TARGET, TARGET + 1, TARGET - 1 },
					   .stack = { CALL_END } };
		struct registers now = { .pc = TARGET };
		uint64_t ra;

		memset(process.call, 0x90, sizeof(process.call));
		memcpy(process.call + sizeof(process.call) - 5, "\xe8\xe0\xf0\xff\xff", 5);
		memcpy(process.plt, cases[i].code, cases[i].size);
		now.reg[X86_RSP] = STACK;
		if (entry_is_proven(&now, read_process, &process, &ra) != cases[i].want)
			fail_msg("%s", cases[i].what);
	}
}

static void unreadable_memory_proves_nothing(void **state)
{
	struct process process = { .stack = { CALL_END - sizeof(process.call) + 1, 0x10 } };
	struct registers now = { .pc = TARGET, .reg[X86_RAX] = TARGET };
	uint64_t ra;

	(void)state;
	memset(process.call, 0x90, sizeof(process.call));
	now.reg[X86_RSP] = STACK - 8; /* no return address */
	assert_false(entry_is_proven(&now, read_process, &process, &ra));
	now.reg[X86_RSP] = STACK; /* no code before it */
	assert_false(entry_is_proven(&now, read_process, &process, &ra));
	now.reg[X86_RSP] = STACK + 8;
	assert_false(entry_is_proven(&now, read_process, &process, &ra));
	/* of five bytes, which are no call by register */
	process.stack[0] = CALL_END - sizeof(process.call) + 5;
	memcpy(process.call, "\xe9\x00\x00\xff\xd0", 5);
	now.reg[X86_RSP] = STACK;
	assert_false(entry_is_proven(&now, read_process, &process, &ra));
}

/* A frame of 3 words below the return address, rbx at the CFA - 16. */
struct scene {
	struct process process;
	struct machine_memory memory;
	struct machine machine;
	struct shadow_frame frames[2]; /* of the caller, and of the function that runs */
	uint32_t unneeded;
	struct {
		struct fpl_rule rule;
		struct fpl_ext ext[2];
	} row;
};

static void scene_init(struct scene *scene)
{
	*scene = (struct scene){
		.memory = { .read = read_process, .ctx = &scene->process },
		.machine = { .pc = TARGET, .memory = &scene->memory },
		.frames = { { .cfa = AT(12), .ra = CALL_END }, { .cfa = AT(8), .ra = CALL_END } },
		.row.rule = { .cfa = FPL_CFA_REG, .regs = X86_RSP, .cfa_off = 32 },
	};
	memset(scene->row.rule.saved, (uint8_t)FPL_SAVED_SAME, sizeof(scene->row.rule.saved));
	scene->row.rule.saved[0] = -2;
	for (unsigned int i = 0; i < FPL_NR_REGS; i++)
		scene->machine.reg[i] = scene->frames[1].caller.reg[i] = 1000 + i;
	scene->machine.reg[X86_RSP] = AT(4);
	scene->machine.reg[3] = 5; /* rbx is in use */
	scene->process.stack[7] = CALL_END;
	scene->process.stack[6] = 1003;
}

static struct judgement judged(struct scene *scene)
{
	struct judgement judgement;

	judge_rule(&scene->row.rule, &scene->machine,
		   &(struct shadow){ .frames = scene->frames, .nr = 2 }, scene->unneeded,
		   &judgement);
	return judgement;
}

static void a_row_that_tells_the_truth_agrees(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);

	struct judgement judgement = judged(&scene);

	assert_int_equal(judgement.skip, SKIP_NONE);
	assert_int_equal(judgement.wrong, WRONG_NOTHING);
	assert_int_equal(judgement.lost, 0);
}

static void assert_wrong(struct scene *scene, uint32_t wrong, uint64_t expected, uint64_t said)
{
	struct judgement judgement = judged(scene);

	assert_int_equal(judgement.skip, SKIP_NONE);
	assert_int_equal(judgement.wrong, wrong);
	assert_int_equal(judgement.expected, expected);
	assert_int_equal(judgement.said, said);
}

static void a_row_that_does_not_is_accused(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.row.rule.cfa_off = 24;
	assert_wrong(&scene, WRONG_CFA, AT(8), AT(7));

	scene.row.rule.cfa_off = 40;
	assert_wrong(&scene, WRONG_CFA, AT(8), AT(9));

	scene_init(&scene); /* the first register by DWARF number is judged, too */
	scene.machine.reg[X86_RAX]++;
	scene.row.rule.flags = FPL_RULE_EXT;
	scene.row.ext[0] = (struct fpl_ext){ .dst = X86_RAX, .kind = FPL_EXT_SAME, .count = 1 };
	assert_wrong(&scene, X86_RAX, 1000, 1001);

	scene_init(&scene); /* of several it is the first, of more kinds the return address */
	scene.machine.reg[12] = scene.machine.reg[13] = 7;
	assert_wrong(&scene, 12, 1012, 7);
	scene.process.stack[5] = CALL_END + 1;
	scene.row.rule.flags = FPL_RULE_EXT;
	scene.row.ext[0] = (struct fpl_ext){
		.dst = MACHINE_RA, .kind = FPL_EXT_AT_CFA, .count = 1, .off = -24
	};
	assert_wrong(&scene, WRONG_RA, CALL_END, CALL_END + 1);

	scene_init(&scene); /* rbx is said to be unchanged, and in the wrong place */
	scene.row.rule.saved[0] = FPL_SAVED_SAME;
	assert_wrong(&scene, 3, 1003, 5);
	scene.row.rule.saved[0] = -3;
	assert_wrong(&scene, 3, 1003, 0);

	scene_init(&scene); /* r15 was changed, and nothing says so */
	scene.machine.reg[15] = 0;
	assert_wrong(&scene, 15, 1015, 0);

	scene_init(&scene); /* a register that is where nothing can be read */
	scene.row.rule.saved[1] = 100;
	assert_wrong(&scene, 6, 1006, 0);

	scene_init(&scene); /* the return address is said to be elsewhere */
	scene.row.rule.flags = FPL_RULE_EXT;
	scene.row.ext[0] = (struct fpl_ext){
		.dst = MACHINE_RA, .kind = FPL_EXT_AT_CFA, .count = 1, .off = -24
	};
	assert_wrong(&scene, WRONG_RA, CALL_END, 0);

	scene_init(&scene); /* a register of the caller's that few rows speak of */
	scene.row.rule.flags = FPL_RULE_EXT;
	scene.row.ext[0] =
		(struct fpl_ext){ .dst = 5, .kind = FPL_EXT_AT_CFA, .count = 1, .off = -24 };
	assert_wrong(&scene, 5, 1005, 0);
}

/* A return address that was taken along to another frame, with what was saved. */
static void a_copy_of_the_return_address_is_not_judged(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.row.rule.cfa_off = 56;
	scene.process.stack[10] = CALL_END;
	scene.process.stack[9] = 1003;
	assert_int_equal(judged(&scene).skip, SKIP_RA_COPIED);

	scene.process.stack[9] = 5;
	assert_wrong(&scene, WRONG_CFA, AT(8), AT(11));

	scene_init(&scene); /* of the function's caller, which is the function itself */
	scene.row.rule.cfa_off = 64;
	scene.process.stack[11] = CALL_END;
	scene.process.stack[10] = 1003;
	assert_wrong(&scene, WRONG_CFA, AT(8), AT(12));
	scene.frames[0].signal = true;
	assert_int_equal(judged(&scene).skip, SKIP_RA_COPIED);
}

static void a_register_that_is_undefined_is_lost_and_not_wrong(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.row.rule.saved[0] = FPL_SAVED_UNDEF;

	struct judgement judgement = judged(&scene);

	assert_int_equal(judgement.wrong, WRONG_NOTHING);
	assert_int_equal(judgement.lost, 1 << 3);
	for (size_t i = 0; i < FPL_NR_SAVED; i++)
		scene.row.rule.saved[i] = FPL_SAVED_UNDEF;
	assert_int_equal(judged(&scene).lost,
			 1 << 3 | 1 << 6 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15);
	/* one that callers do not rely on is not */
	scene_init(&scene);
	scene.row.rule.flags = FPL_RULE_EXT;
	scene.row.ext[0] = (struct fpl_ext){ .dst = 4, .kind = FPL_EXT_UNDEF, .count = 1 };
	assert_int_equal(judged(&scene).lost, 0);
}

static void a_register_that_the_caller_has_saved_is_not_needed(void **state)
{
	const uint32_t rbx = 1 << 3, r12 = 1 << 12, rbp = 1 << 6;
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.row.rule.saved[0] = FPL_SAVED_SAME;
	assert_wrong(&scene, 3, 1003, 5);
	scene.unneeded = rbx;
	assert_int_equal(judged(&scene).wrong, WRONG_NOTHING);
	assert_int_equal(judged(&scene).unneeded, rbx);
	scene.machine.reg[12] = 6; /* the others are judged as ever */
	assert_wrong(&scene, 12, 1012, 6);
	scene_init(&scene); /* and where the row says more than that it is unchanged */
	scene.row.rule.saved[0] = -3;
	scene.unneeded = rbx;
	assert_wrong(&scene, 3, 1003, 0);

	/* of a caller: what is saved, but for what its frame hangs on */
	scene_init(&scene);
	scene.row.rule.saved[1] = -3;
	scene.row.rule.saved[2] = FPL_SAVED_UNDEF;
	assert_int_equal(judge_unneeded(&scene.row.rule), rbx | rbp | r12);
	scene.row.rule.regs = 6;
	assert_int_equal(judge_unneeded(&scene.row.rule), rbx | r12);
	scene.row.rule.flags = FPL_RULE_EXT;
	scene.row.ext[0] = (struct fpl_ext){
		.dst = MACHINE_RA, .kind = FPL_EXT_AT_REG, .base = 3, .count = 2
	};
	scene.row.ext[1] = (struct fpl_ext){ .dst = 12, .kind = FPL_EXT_SAME };
	assert_int_equal(judge_unneeded(&scene.row.rule) & 0xffff, 0);
	scene.row.ext[1] = (struct fpl_ext){ .dst = 13, .kind = FPL_EXT_VAL_CFA };
	assert_int_equal(judge_unneeded(&scene.row.rule) & 0xffff, r12 | 1 << 13);
	scene.row.rule.cfa = FPL_CFA_EXPR;
	assert_int_equal(judge_unneeded(&scene.row.rule), 0);
	scene.row.rule.cfa = FPL_CFA_NONE;
	assert_int_equal(judge_unneeded(&scene.row.rule), 0);
}

static void uncertain_step_is_not_judged(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.row.rule.cfa_off = 24; /* wrong, if it were judged */
	scene.frames[1].doubt = DOUBT_UNWOUND;
	assert_int_equal(judged(&scene).skip, SKIP_UNWOUND);
	scene.frames[1].doubt = DOUBT_SWITCHED;
	assert_int_equal(judged(&scene).skip, SKIP_SWITCHED);
	scene.frames[1].doubt = DOUBT_STRAY;
	assert_int_equal(judged(&scene).skip, SKIP_STRAY);
	scene.frames[1].doubt = DOUBT_NONE;
	scene.process.stack[7] = TARGET;
	assert_int_equal(judged(&scene).skip, SKIP_RA_CHANGED);
	scene.machine.memory = NULL;
	assert_int_equal(judged(&scene).skip, SKIP_RA_CHANGED);
	scene.machine.memory = &scene.memory;
	scene.frames[1].cfa = 0x1000;
	assert_int_equal(judged(&scene).skip, SKIP_UNREADABLE);

	struct judgement judgement;

	judge_rule(&scene.row.rule, &scene.machine, &(struct shadow){ .nr = 0 }, 0, &judgement);
	assert_int_equal(judgement.skip, SKIP_NO_FRAME);

	scene_init(&scene);
	scene.row.rule.cfa = FPL_CFA_NONE;
	assert_int_equal(judged(&scene).skip, SKIP_NO_ROW);
	scene.row.rule.cfa = FPL_CFA_EXPR;
	assert_int_equal(judged(&scene).skip, SKIP_EXPR);
	scene.row.rule.cfa = FPL_CFA_REG;
	scene.row.rule.flags = FPL_RULE_END;
	assert_int_equal(judged(&scene).skip, SKIP_OUTERMOST);
	scene.row.rule.flags = FPL_RULE_EXT;
	scene.row.ext[0] =
		(struct fpl_ext){ .dst = X86_RSP, .kind = FPL_EXT_VAL_REG, .base = 8, .count = 1 };
	assert_int_equal(judged(&scene).skip, SKIP_ELSEWHERE);
	scene.row.ext[0] = (struct fpl_ext){ .dst = X86_RSP, .kind = FPL_EXT_UNDEF, .count = 1 };
	assert_int_equal(judged(&scene).skip, SKIP_ELSEWHERE);
	scene.row.ext[0] = (struct fpl_ext){ .dst = MACHINE_RA, .kind = FPL_EXT_EXPR, .count = 1 };
	assert_int_equal(judged(&scene).skip, SKIP_EXPR);
	scene.row.ext[0] =
		(struct fpl_ext){ .dst = MACHINE_RA, .kind = FPL_EXT_VAL_PC, .count = 1 };
	assert_int_equal(judged(&scene).skip, SKIP_SAME_CODE);
	scene.row.ext[0] = (struct fpl_ext){ .dst = MACHINE_RA, .kind = FPL_EXT_UNDEF, .count = 1 };
	assert_int_equal(judged(&scene).skip, SKIP_OUTERMOST);
}

/* A signal's frame is judged by its registers, and by its CFA only as stack pointer. */
static void a_signal_s_frame_is_judged_by_all_registers(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.frames[1].signal = true;
	scene.row.rule.flags = FPL_RULE_SIGNAL;
	assert_int_equal(judge_origin_of(&scene.row.rule), JUDGE_ORIGIN_SIGNAL);
	assert_int_equal(judged(&scene).wrong, WRONG_NOTHING);
	scene.row.rule.cfa_off = 24;
	scene.process.stack[6] = CALL_END;
	scene.process.stack[5] = 1003;
	assert_wrong(&scene, X86_RSP, AT(8), AT(7));
	/* it is said apart from the CFA, which may then be anything */
	scene.row.rule.flags |= FPL_RULE_EXT;
	scene.row.ext[0] =
		(struct fpl_ext){ .dst = X86_RSP, .kind = FPL_EXT_VAL_CFA, .count = 1, .off = 8 };
	assert_int_equal(judged(&scene).skip, SKIP_NONE);
	assert_int_equal(judged(&scene).wrong, WRONG_NOTHING);
	/* nor is its return address where a call puts it */
	scene.process.stack[7] = 0;
	assert_int_equal(judged(&scene).skip, SKIP_NONE);
}

static void origins_are_told_by_the_rule(void **state)
{
	(void)state;
	assert_int_equal(judge_origin_of(&(struct fpl_rule){ .cfa = FPL_CFA_REG }),
			 JUDGE_ORIGIN_CFI);
	assert_int_equal(judge_origin_of(&(struct fpl_rule){ .cfa = FPL_CFA_PLT }),
			 JUDGE_ORIGIN_PLT);
	assert_int_equal(
		judge_origin_of(&(struct fpl_rule){ .cfa = FPL_CFA_REG, .flags = FPL_RULE_SYNTH }),
		JUDGE_ORIGIN_SYNTH);
}

static void add(struct findings *findings, struct scene *scene, uint32_t object, uint64_t vaddr)
{
	struct finding_step step = {
		.object = object,
		.vaddr = vaddr,
		.rule = &scene->row.rule,
		.machine = &scene->machine,
		.frame = &scene->frames[1],
		.judgement = judged(scene),
	};

	assert_int_equal(findings_add(findings, &step), 0);
}

static void the_books_of_findings_close(void **state)
{
	struct findings findings = { .nr = 0 };
	struct scene scene;

	(void)state;
	scene_init(&scene);
	add(&findings, &scene, 1, 0x10);
	scene.row.rule.flags = FPL_RULE_SYNTH;
	add(&findings, &scene, 2, 0x20);
	add(&findings, &scene, 2, 0x20);
	add(&findings, &scene, 2, 0x24);
	scene.row.rule.saved[0] = FPL_SAVED_UNDEF;
	add(&findings, &scene, 2, 0x28);
	scene.row.rule.cfa_off = 24;
	add(&findings, &scene, 2, 0x30);
	add(&findings, &scene, 2, 0x2c);
	add(&findings, &scene, 2, 0x30);
	scene.row.rule.cfa = FPL_CFA_NONE;
	add(&findings, &scene, 2, 0x34);
	scene.frames[1].doubt = DOUBT_SWITCHED;
	add(&findings, &scene, 2, 0x38);

	assert_int_equal(findings.steps, 10);
	assert_int_equal(findings_judged(&findings), 8);
	assert_int_equal(findings_wrong(&findings), 3);
	assert_int_equal(findings.skipped[SKIP_NO_ROW], 1);
	assert_int_equal(findings.skipped[SKIP_SWITCHED], 1);
	assert_int_equal(findings.by_origin[JUDGE_ORIGIN_CFI].judged, 1);
	assert_int_equal(findings.by_origin[JUDGE_ORIGIN_SYNTH].judged, 7);
	assert_int_equal(findings.by_origin[JUDGE_ORIGIN_SYNTH].lossy, 1);

	const struct finding_object *object = &findings.objects[2];

	assert_int_equal(findings.objects[1].steps, 1);
	assert_int_equal(findings.objects[1].bare_steps, 0);
	assert_int_equal(object->steps, 9);
	assert_int_equal(object->bare_steps, 9);
	assert_int_equal(object->bare_rows, 7);
	assert_int_equal(object->bare.judged, 7);
	assert_int_equal(object->bare.wrong, 3);
	assert_int_equal(object->bare_places, 5);

	findings_sort(&findings);
	assert_int_equal(findings.nr, 2);
	assert_int_equal(findings.list[0].vaddr, 0x2c);
	assert_int_equal(findings.list[1].vaddr, 0x30);
	assert_int_equal(findings.list[1].count, 2);
	assert_int_equal(findings.list[1].expected, AT(8));
	assert_string_equal(finding_subject(findings.list[1].wrong), "CFA");
	assert_string_equal(finding_subject(WRONG_RA), "return address");
	assert_string_equal(finding_subject(3), "rbx");
	findings_fini(&findings);
}

/* Errors at one place are one finding only if all their parts are equal. */
static void findings_are_told_apart_and_sorted(void **state)
{
	static const struct {
		uint32_t object;
		uint64_t vaddr;
	} places[] = {
		{ 7, 0x30 }, { 2, 0x50 }, { 7, 0x10 }, { 5, 0x20 }, { 2, 0x20 }, { 2, 0x20 }
	};
	static const struct {
		uint32_t object, wrong;
		uint64_t vaddr, count;
	} want[] = {
		{ 2, 3, 0x20, 1 },	    { 2, 12, 0x20, 1 },	       { 2, WRONG_CFA, 0x20, 2 },
		{ 2, WRONG_CFA, 0x50, 1 },  { 5, WRONG_CFA, 0x20, 1 }, { 7, WRONG_CFA, 0x10, 1 },
		{ 7, WRONG_CFA, 0x30, 1 },  { 8, 3, 0x10, 1 },	       { 8, 12, 0x10, 1 },
		{ 9, WRONG_CFA, 0x10, 1 },  { 9, WRONG_CFA, 0x10, 2 }, { 10, WRONG_CFA, 0x10, 1 },
		{ 10, WRONG_CFA, 0x10, 1 },
	};
	struct findings findings = { .nr = 0 };
	struct scene scene;

	(void)state;
	findings_sort(&findings);
	scene_init(&scene);
	scene.row.rule.cfa_off = 24;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		add(&findings, &scene, places[i].object, places[i].vaddr);
	add(&findings, &scene, 9, 0x10);
	scene.row.rule.flags = FPL_RULE_SYNTH;
	add(&findings, &scene, 9, 0x10);
	add(&findings, &scene, 9, 0x10);
	add(&findings, &scene, 10, 0x10); /* the other way round */
	scene.row.rule.flags = 0;
	add(&findings, &scene, 10, 0x10);
	scene_init(&scene);
	scene.machine.reg[12] = 1;
	add(&findings, &scene, 2, 0x20);
	scene.row.rule.saved[0] = FPL_SAVED_SAME;
	add(&findings, &scene, 2, 0x20);
	add(&findings, &scene, 8, 0x10);
	scene.row.rule.saved[0] = -2;
	add(&findings, &scene, 8, 0x10);

	findings_sort(&findings);
	assert_int_equal(findings.nr, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(findings.list[i].object, want[i].object);
		assert_int_equal(findings.list[i].vaddr, want[i].vaddr);
		if (want[i].object > 8) /* by origin: in no order */
			continue;
		assert_int_equal(findings.list[i].wrong, want[i].wrong);
		assert_int_equal(findings.list[i].count, want[i].count);
	}
	assert_int_equal(findings.list[9].count + findings.list[10].count, 3);
	assert_int_not_equal(findings.list[9].origin, findings.list[10].origin);
	assert_string_equal(findings.list[1].row, "cfa=rsp+32 rbx=c-16");
	assert_int_equal(findings.list[1].registers.reg[12], 1);
	assert_int_equal(findings.list[1].registers.pc, TARGET);
	findings_fini(&findings);
	assert_null(findings.list);
	findings_fini(&findings);
}

static void any_two_findings_are_put_in_order(void **state)
{
	enum { NR = 27 };
	struct finding all[NR];

	(void)state;
	for (uint32_t i = 0; i < NR; i++)
		all[i] = (struct finding){ .object = i / 9, .vaddr = i / 3 % 3, .wrong = i % 3 };
	for (uint32_t i = 0; i < NR; i++) {
		for (uint32_t j = 0; j < NR; j++) {
			struct finding pair[] = { all[i], all[j] };
			struct findings findings = { .list = pair, .nr = 2 };
			const struct finding *least = &all[i < j ? i : j];

			findings_sort(&findings);
			assert_memory_equal(&pair[0], least, sizeof(*least));
		}
	}
}

static void code_without_a_table_or_a_row_is_counted_as_such(void **state)
{
	const struct fpl_rule none = { .cfa = FPL_CFA_NONE };
	struct finding_step step = { .object = 3, .judgement.skip = SKIP_NO_TABLE };
	struct findings findings = { .nr = 0 };
	struct scene scene;

	(void)state;
	assert_int_equal(findings_add(&findings, &step), 0);
	step.rule = &none;
	assert_int_equal(findings_add(&findings, &step), 0);
	scene_init(&scene);
	add(&findings, &scene, 3, 0x10); /* by CFI */
	assert_int_equal(findings.objects[3].steps, 3);
	assert_int_equal(findings.objects[3].bare_steps, 1);
	assert_int_equal(findings.objects[3].bare_rows, 0);
	assert_int_equal(findings.objects[3].bare.judged, 0);
	assert_int_equal(findings.objects[3].bare_places, 0);

	/* an object between that was never met, and instructions of two at one address */
	scene.row.rule.flags = FPL_RULE_SYNTH;
	add(&findings, &scene, 600, 0);
	add(&findings, &scene, 400, 0);
	for (uint32_t id = 0; id < 600; id++)
		if (id != 3 && id != 400)
			assert_int_equal(findings.objects[id].steps, 0);
	assert_int_equal(findings.nr_objects, 601);
	assert_int_equal(findings.objects[400].bare_places, 1);
	assert_int_equal(findings.objects[600].bare_places, 1);
	findings_fini(&findings);
}

static void keys_are_of_the_lists(void **state)
{
	(void)state;
	assert_string_equal(judge_skip_key(SKIP_NO_FRAME), "no_frame");
	for (unsigned int i = 0; i < SKIP_COUNT; i++) {
		assert_string_not_equal(judge_skip_key(i), "?");
		assert_string_not_equal(judge_skip_text(i), "?");
		if (i != SKIP_NONE)
			assert_string_not_equal(judge_skip_key(i), judge_skip_text(i));
	}
	for (unsigned int i = 0; i < JUDGE_ORIGIN_COUNT; i++)
		assert_string_not_equal(judge_origin_key(i), "?");
	assert_string_equal(judge_origin_key(JUDGE_ORIGIN_SYNTH), "synth");
	assert_string_equal(judge_skip_key(SKIP_COUNT), "?");
	assert_string_equal(judge_skip_text(SKIP_COUNT), "?");
	assert_string_equal(judge_origin_key(JUDGE_ORIGIN_COUNT), "?");
	assert_string_equal(judge_skip_key(SKIP_COUNT + 1), "?");
	assert_string_equal(judge_skip_text(SKIP_COUNT + 1), "?");
	assert_string_equal(judge_origin_key(JUDGE_ORIGIN_COUNT + 1), "?");
}

static void findings_are_bounded(void **state)
{
	struct findings findings = { .nr = 0 };
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.row.rule.cfa_off = 24;
	for (uint64_t i = 0; i < FINDINGS_GROUPS_MAX + 3; i++)
		add(&findings, &scene, 1, i);
	assert_int_equal(findings.nr, FINDINGS_GROUPS_MAX);
	assert_int_equal(findings.left_out, 3);
	assert_int_equal(findings_wrong(&findings), FINDINGS_GROUPS_MAX + 3);
	findings_fini(&findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_proven_by_the_call_before_the_return_address),
		cmocka_unit_test(a_plt_entry_is_known_by_its_bytes),
		cmocka_unit_test(unreadable_memory_proves_nothing),
		cmocka_unit_test(a_row_that_tells_the_truth_agrees),
		cmocka_unit_test(a_row_that_does_not_is_accused),
		cmocka_unit_test(a_copy_of_the_return_address_is_not_judged),
		cmocka_unit_test(a_register_that_is_undefined_is_lost_and_not_wrong),
		cmocka_unit_test(a_register_that_the_caller_has_saved_is_not_needed),
		cmocka_unit_test(uncertain_step_is_not_judged),
		cmocka_unit_test(a_signal_s_frame_is_judged_by_all_registers),
		cmocka_unit_test(origins_are_told_by_the_rule),
		cmocka_unit_test(the_books_of_findings_close),
		cmocka_unit_test(findings_are_told_apart_and_sorted),
		cmocka_unit_test(any_two_findings_are_put_in_order),
		cmocka_unit_test(code_without_a_table_or_a_row_is_counted_as_such),
		cmocka_unit_test(keys_are_of_the_lists),
		cmocka_unit_test(findings_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
