// SPDX-License-Identifier: Apache-2.0
/* What the judge makes of instructions, entries, rows and functions. */
#include "cmocka_all.h"

#include <string.h>

#include "base/cleanup.h"
#include "judge/entry.h"
#include "judge/findings.h"
#include "judge/insn.h"
#include "judge/judgement.h"
#include "judge/places.h"
#include "tests/support/cfi_builder.h"

#define STACK 0x7ffd00000000ull
#define WORDS 16u
#define AT(i) (STACK + 8ull * (i))

static void kinds_are_told_by_the_opcode(void **state)
{
	static const struct {
		const char *what;
		const uint8_t *code;
		size_t size;
		enum insn_kind want;
	} cases[] = {
		{ "call rel32", BYTES("\xe8\x01\x02\x03\x04"), INSN_CALL },
		{ "call *%r11", BYTES("\x41\xff\xd3"), INSN_CALL },
		{ "notrack call *8(%rax)", BYTES("\x3e\xff\x50\x08"), INSN_CALL },
		{ "jmp *%rax", BYTES("\xff\xe0"), INSN_OTHER },
		{ "ret", BYTES("\xc3"), INSN_RETURN },
		{ "repz ret", BYTES("\xf3\xc3"), INSN_RETURN },
		{ "bnd ret", BYTES("\xf2\xc3"), INSN_RETURN },
		{ "ret $8", BYTES("\xc2\x08\x00"), INSN_RETURN },
		{ "pushf", BYTES("\x9c"), INSN_PUSH_FLAGS },
		{ "pushfw", BYTES("\x66\x9c"), INSN_PUSH_FLAGS },
		{ "popf", BYTES("\x9d"), INSN_POP_FLAGS },
		{ "syscall", BYTES("\x0f\x05"), INSN_SYSCALL },
		{ "ud2", BYTES("\x0f\x0b"), INSN_OTHER },
		{ "sub $8, %rsp", BYTES("\x48\x83\xec\x08"), INSN_MOVES_STACK },
		{ "sub $0x1000, %rsp", BYTES("\x48\x81\xec\x00\x10\x00\x00"), INSN_MOVES_STACK },
		{ "sub %rax, %rsp", BYTES("\x48\x29\xc4"), INSN_MOVES_STACK },
		{ "sub 8(%rdi), %rsp", BYTES("\x48\x2b\x67\x08"), INSN_MOVES_STACK },
		{ "and $-32, %rsp", BYTES("\x48\x83\xe4\xe0"), INSN_MOVES_STACK },
		{ "lea -8(%r10), %rsp", BYTES("\x49\x8d\x62\xf8"), INSN_MOVES_STACK },
		{ "enter", BYTES("\xc8\x10\x00\x00"), INSN_MOVES_STACK },
		{ "cmp $8, %rsp", BYTES("\x48\x83\xfc\x08"), INSN_OTHER },
		{ "sub $8, %r12", BYTES("\x49\x83\xec\x08"), INSN_OTHER },
		{ "lea 8(%rax), %r12", BYTES("\x4c\x8d\x60\x08"), INSN_OTHER },
		{ "mov %rsi, %rsp", BYTES("\x48\x89\xf4"), INSN_OTHER },
		{ "vzeroupper", BYTES("\xc5\xf8\x77"), INSN_OTHER },
		{ "a prefix alone", BYTES("\x66"), INSN_OTHER },
		{ "half a syscall", BYTES("\x0f"), INSN_OTHER },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (insn_kind(cases[i].code, cases[i].size) != cases[i].want)
			fail_msg("%s: %d", cases[i].what,
				 (int)insn_kind(cases[i].code, cases[i].size));
	assert_int_equal(insn_kind(NULL, 0), INSN_OTHER);
	assert_int_equal(insn_prefixes(BYTES("\x66\x9d")), 1);
	assert_int_equal(insn_prefixes(BYTES("\x66\x66")), 2);
}

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

static void an_entry_is_proven_by_the_call_before_the_return_address(void **state)
{
	/* The thread is at TARGET; rax is that, rbx DATA, r12 DATA - 8, rcx 1; rsp + 8 STACK + 8.
	 */
	static const struct {
		const char *what;
		const uint8_t *call;
		size_t size;
		bool want;
	} cases[] = {
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
		{ "call *8(%rbx) by disp32 that is short", BYTES("\xff\x93\x00\x00"), false },
		{ "nops", BYTES("\x90\x90\x90\x90\x90\x90\x90\x90"), false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct process process = { .data = { TARGET },
					   .stack = { CALL_END, 0, 0, TARGET } };
		struct registers now = { .pc = TARGET };
		uint64_t ra = 0;

		memset(process.call, 0x90, sizeof(process.call));
		memcpy(process.call + sizeof(process.call) - cases[i].size, cases[i].call,
		       cases[i].size);
		/* endbr64; bnd jmp *DATA(%rip) */
		memcpy(process.plt, "\xf3\x0f\x1e\xfa\xf2\xff\x25\xf5\x3e\x00\x00", 11);
		now.reg[X86_RAX] = TARGET;
		now.reg[2] = 1;
		now.reg[3] = DATA;
		now.reg[12] = DATA - 8;
		now.reg[X86_RSP] = STACK;
		if (entry_is_proven(&now, read_process, &process, &ra) != cases[i].want)
			fail_msg("%s", cases[i].what);
		if (cases[i].want)
			assert_int_equal(ra, CALL_END);
	}
}

/* A frame of 3 words below the return address, rbx at the CFA - 16. */
struct scene {
	struct process process;
	struct machine_memory memory;
	struct machine machine;
	struct shadow_frame frame;
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
		.frame = { .cfa = AT(8), .ra = CALL_END },
		.row.rule = { .cfa = FPL_CFA_REG, .regs = X86_RSP, .cfa_off = 32 },
	};
	memset(scene->row.rule.saved, (uint8_t)FPL_SAVED_SAME, sizeof(scene->row.rule.saved));
	scene->row.rule.saved[0] = -2;
	for (unsigned int i = 0; i < FPL_NR_REGS; i++)
		scene->machine.reg[i] = scene->frame.caller.reg[i] = 1000 + i;
	scene->machine.reg[X86_RSP] = AT(4);
	scene->machine.reg[3] = 5; /* rbx is in use */
	scene->process.stack[7] = CALL_END;
	scene->process.stack[6] = 1003;
}

static struct judgement judged(struct scene *scene)
{
	struct judgement judgement;

	judge_rule(&scene->row.rule, &scene->machine, &scene->frame, &judgement);
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

static void a_register_that_is_undefined_is_lost_and_not_wrong(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.row.rule.saved[0] = FPL_SAVED_UNDEF;

	struct judgement judgement = judged(&scene);

	assert_int_equal(judgement.wrong, WRONG_NOTHING);
	assert_int_equal(judgement.lost, 1 << 3);
}

static void what_is_not_certain_is_not_judged(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.row.rule.cfa_off = 24; /* wrong, if it were judged */
	scene.frame.doubt = DOUBT_UNWOUND;
	assert_int_equal(judged(&scene).skip, SKIP_UNWOUND);
	scene.frame.doubt = DOUBT_SWITCHED;
	assert_int_equal(judged(&scene).skip, SKIP_SWITCHED);
	scene.frame.doubt = DOUBT_STRAY;
	assert_int_equal(judged(&scene).skip, SKIP_STRAY);
	scene.frame.doubt = DOUBT_NONE;
	scene.process.stack[7] = TARGET;
	assert_int_equal(judged(&scene).skip, SKIP_RA_CHANGED);
	scene.frame.cfa = 0x1000;
	assert_int_equal(judged(&scene).skip, SKIP_UNREADABLE);

	struct judgement judgement;

	judge_rule(&scene.row.rule, &scene.machine, NULL, &judgement);
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
}

/* Of a signal's frame the registers are judged, and the CFA only as its stack pointer. */
static void a_signal_s_frame_is_judged_by_all_registers(void **state)
{
	struct scene scene;

	(void)state;
	scene_init(&scene);
	scene.frame.signal = true;
	scene.row.rule.flags = FPL_RULE_SIGNAL;
	assert_int_equal(judge_origin_of(&scene.row.rule), JUDGE_ORIGIN_SIGNAL);
	assert_int_equal(judged(&scene).wrong, WRONG_NOTHING);
	scene.row.rule.cfa_off = 24;
	scene.process.stack[6] = CALL_END;
	scene.process.stack[5] = 1003;
	assert_wrong(&scene, X86_RSP, AT(8), AT(7));
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
		.frame = &scene->frame,
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
	scene.frame.doubt = DOUBT_SWITCHED;
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

static void an_address_counts_once(void **state)
{
	struct address_set set = { .nr = 0 };

	(void)state;
	for (uint64_t i = 1; i <= 5000; i++)
		assert_true(address_set_add(&set, i * 16));
	for (uint64_t i = 1; i <= 5000; i++)
		assert_false(address_set_add(&set, i * 16));
	assert_int_equal(set.nr, 5000);
	address_set_fini(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_told_by_the_opcode),
		cmocka_unit_test(an_entry_is_proven_by_the_call_before_the_return_address),
		cmocka_unit_test(a_row_that_tells_the_truth_agrees),
		cmocka_unit_test(a_row_that_does_not_is_accused),
		cmocka_unit_test(a_register_that_is_undefined_is_lost_and_not_wrong),
		cmocka_unit_test(what_is_not_certain_is_not_judged),
		cmocka_unit_test(a_signal_s_frame_is_judged_by_all_registers),
		cmocka_unit_test(origins_are_told_by_the_rule),
		cmocka_unit_test(the_books_of_findings_close),
		cmocka_unit_test(findings_are_bounded),
		cmocka_unit_test(an_address_counts_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
