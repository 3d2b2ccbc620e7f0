/* SPDX-License-Identifier: Apache-2.0 */
/* Registers that calls may change, kept by callees whose code does not: in the rows of these. */
#include "cmocka_all.h"

#include "tests/support/code_table.h"
#include "tests/support/patient_limits.h"

enum { R9 = 9, R10 = 10, R11 = 11, RAX = 0 };
enum { CALLEE = 0x40, OTHER = 0x80, BARE = 0xc0, TEXT_SIZE = 0x100 };

/* mov %rsp, REG; and $-64, %rsp; call callee; mov REG, %rsp; ret. REG is the CFA in between. */
#define ON_R10	"\x49\x89\xe2\x48\x83\xe4\xc0\xe8\x34\0\0\0\x4c\x89\xd4\xc3"
#define ON_RAX	"\x48\x89\xe0\x48\x83\xe4\xc0\xe8\x34\0\0\0\x48\x89\xc4\xc3"
#define ON_R11	"\x49\x89\xe3\x48\x83\xe4\xc0\xe8\x34\0\0\0\x4c\x89\xdc\xc3"
#define CFA_R10 "\x43\x0d\x0a\x4c\x0d\x07"
#define CFA_RAX "\x43\x0d\x00\x4c\x0d\x07"
#define CFA_R11 "\x43\x0d\x0b\x4c\x0d\x07"

#define RET	 "\xc3"
#define XOR_ECX	 "\x31\xc9"
#define XOR_R10D "\x45\x31\xd2"
#define SYSCALL	 "\x0f\x05"
/* As the first instruction of the callee. */
#define CALL_OTHER  "\xe8\x3b\0\0\0"
#define JUMP_OTHER  "\xe9\x3b\0\0\0"
#define CALL_BARE   "\xe8\x7b\0\0\0"
#define CALL_ITSELF "\xe8\xfb\xff\xff\xff"

struct code {
	const uint8_t *bytes;
	size_t size;
};

/* A caller, what it calls, and what that may lead to; each has an FDE, but for what is at BARE. */
struct scene {
	struct code caller, caller_cfi, callee, other;
};

static void put(uint8_t *text, size_t at, struct code code)
{
	if (code.bytes)
		memcpy(text + at, code.bytes, code.size);
}

static struct table *table_of(const struct scene *scene, const struct table_limits *limits)
{
	uint8_t text[TEXT_SIZE];
	struct cfi_builder b;
	struct table *table;

	memset(text, 0xc3, sizeof(text));
	put(text, 0, scene->caller);
	put(text, CALLEE, scene->callee);
	put(text, OTHER, scene->other);
	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, 0x10, scene->caller_cfi.bytes,
			scene->caller_cfi.size);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + CALLEE, 0x20, NULL, 0);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + OTHER, 0x20, NULL, 0);
	table = code_table(text, sizeof(text), &b, NULL, 0, limits);
	cfi_builder_fini(&b);
	return table;
}

/* Does the row at @off say that @reg is unchanged? */
static bool keeps(const struct table *table, uint64_t off, unsigned reg)
{
	const struct fpl_rule *rule = table_find(table, CFI_BUILDER_TEXT + off);
	const struct fpl_ext *ext = (const struct fpl_ext *)(const void *)(rule + 1);

	if (!(rule->flags & FPL_RULE_EXT))
		return false;
	assert_int_equal(ext->count, 1);
	return ext->dst == reg && ext->kind == FPL_EXT_VAL_REG && ext->base == reg && ext->off == 0;
}

static void a_register_is_kept_where_no_code_below_writes_it(void **state)
{
	static const struct {
		const char *what;
		struct code callee, other;
		bool kept;
	} cases[] = {
		{ "another register is written", { BYTES(XOR_ECX RET) }, {}, true },
		{ "it is written", { BYTES(XOR_R10D RET) }, {}, false },
		{ "a byte of it is", { BYTES("\x41\xb2\x01" RET) }, {}, false },
		{ "it is saved and restored", { BYTES("\x41\x52\x41\x5a" RET) }, {}, false },
		{ "it is read", { BYTES("\x4c\x89\xd1" RET) }, {}, true },
		{ "the kernel is called", { BYTES(SYSCALL RET) }, {}, true },
		{ "a call", { BYTES(CALL_OTHER RET) }, { BYTES(XOR_ECX RET) }, true },
		{ "a call that writes it",
		  { BYTES(CALL_OTHER RET) },
		  { BYTES(XOR_R10D RET) },
		  false },
		{ "a jump to another function",
		  { BYTES(JUMP_OTHER) },
		  { BYTES(XOR_ECX RET) },
		  true },
		{ "to one that writes it", { BYTES(JUMP_OTHER) }, { BYTES(XOR_R10D RET) }, false },
		{ "recursion", { BYTES(CALL_ITSELF RET) }, {}, true },
		{ "a call of code without FDE", { BYTES(CALL_BARE RET) }, {}, false },
		{ "a call by register", { BYTES("\x41\xff\xd3" RET) }, {}, false },
		{ "a call by memory", { BYTES("\xff\x15\0\0\0\0" RET) }, {}, false },
		{ "a jump by register", { BYTES("\xff\xe0") }, {}, false },
		{ "no instruction", { BYTES("\x06" RET) }, {}, false },
		{ "a jump into an instruction", { BYTES("\xeb\x01\xb8" RET) }, {}, false },
		{ "a jump over one", { BYTES("\xeb\x05\xb8\0\0\0\0" RET) }, {}, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scene scene = { .caller = { BYTES(ON_R10) },
				       .caller_cfi = { BYTES(CFA_R10) },
				       .callee = cases[i].callee,
				       .other = cases[i].other };
		struct table *table = table_of(&scene, &patient_limits);
		bool leads_on = cases[i].other.bytes != NULL;

		if (keeps(table, CALLEE, R10) != cases[i].kept ||
		    keeps(table, OTHER, R10) != (cases[i].kept && leads_on))
			fail_msg("%s", cases[i].what);
		assert_false(keeps(table, 0, R10));
		table_destroy(table);
	}
}

static const struct {
	const char *what;
	struct code caller, cfi, callee;
	unsigned reg;
	bool kept;
} needs[] = {
	{ "rax", { BYTES(ON_RAX) }, { BYTES(CFA_RAX) }, { BYTES(RET) }, RAX, true },
	/* the kernel's answer, and what the instruction itself writes */
	{ "rax", { BYTES(ON_RAX) }, { BYTES(CFA_RAX) }, { BYTES(SYSCALL RET) }, RAX, false },
	{ "r11", { BYTES(ON_R11) }, { BYTES(CFA_R11) }, { BYTES(RET) }, R11, true },
	{ "r11", { BYTES(ON_R11) }, { BYTES(CFA_R11) }, { BYTES(SYSCALL RET) }, R11, false },
	/* DW_CFA_def_cfa_expression: breg10 0, deref */
	{ "through memory",
	  { BYTES(ON_R10) },
	  { BYTES("\x43\x0f\x03\x7a\x00\x06") },
	  { BYTES(RET) },
	  R10,
	  true },
	/* DW_CFA_expression of rbx: breg9 16 */
	{ "a saved register",
	  { BYTES(ON_R10) },
	  { BYTES("\x43\x10\x03\x02\x79\x10") },
	  { BYTES(RET) },
	  R9,
	  true },
	/* DW_CFA_register: the return address is in r10 */
	{ "the return address",
	  { BYTES(ON_R10) },
	  { BYTES("\x43\x09\x10\x0a") },
	  { BYTES(RET) },
	  R10,
	  true },
	{ "before the call",
	  { BYTES(ON_R10) },
	  { BYTES("\x43\x0d\x0a\x44\x0d\x07") },
	  { BYTES(RET) },
	  R10,
	  false },
	{ "behind the call",
	  { BYTES(ON_R10) },
	  { BYTES("\x4c\x0d\x0a\x43\x0d\x07") },
	  { BYTES(RET) },
	  R10,
	  false },
	{ "callee-saved",
	  { BYTES(ON_R10) },
	  { BYTES("\x43\x0d\x0c\x4c\x0d\x07") },
	  { BYTES(RET) },
	  12,
	  false },
};

static void only_registers_needed_at_the_call_are_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		struct scene scene = { .caller = needs[i].caller,
				       .caller_cfi = needs[i].cfi,
				       .callee = needs[i].callee };
		struct table *table = table_of(&scene, &patient_limits);

		if (keeps(table, CALLEE, needs[i].reg) != needs[i].kept)
			fail_msg("%zu: %s", i, needs[i].what);
		table_destroy(table);
	}
}

static void without_rows_from_code_the_cfi_stands_alone(void **state)
{
	struct scene scene = { .caller = { BYTES(ON_R10) },
			       .caller_cfi = { BYTES(CFA_R10) },
			       .callee = { BYTES(RET) } };
	struct table_limits limits = patient_limits;
	struct table *table;

	(void)state;
	limits.synth = false;
	table = table_of(&scene, &limits);
	assert_false(keeps(table, CALLEE, R10));
	table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_register_is_kept_where_no_code_below_writes_it),
		cmocka_unit_test(only_registers_needed_at_the_call_are_kept),
		cmocka_unit_test(without_rows_from_code_the_cfi_stands_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
