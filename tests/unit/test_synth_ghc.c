/* SPDX-License-Identifier: Apache-2.0 */
/* Code that GHC has compiled, and the two places of its run time by which it is known. */
#include "cmocka_all.h"

#include <stdbool.h>

#include "bpf/arch_x86_64.h"
#include "tests/support/code_table.h"
#include "tests/support/patient_limits.h"

/* Behind 37 bytes CFA = rsp; rbx to r15 and the return address from CFA + 16384 on; the caller's
 * rsp is rsp + 16440. */
#define CFI                                                                \
	"\x65\x0c\x07\x00\x11\x03\x80\x70\x11\x06\xff\x6f\x11\x0c\xfe"     \
	"\x6f\x11\x0d\xfd\x6f\x11\x0e\xfc\x6f\x11\x0f\xfb\x6f\x11\x10\xfa" \
	"\x6f\x16\x07\x04\x77\xb8\x80\x01"
#define RUN                                                                    \
	"\x48\x83\xec\x30\x48\x89\xe0\x48\x81\xec\x00\x40\x00\x00\x48\x89\x18" \
	"\x48\x89\x68\x08\x4c\x89\x60\x10\x4c\x89\x68\x18\x4c\x89\x70\x20\x4c" \
	"\x89\x78\x28\x49\x89\xf5\x48\x89\xf8\xff\xe0"
#define RETURN "\x48\x89\xd8\x48\x81\xc4\x00\x40\x00\x00\xc3"
#define NOPS8  "\x90\x90\x90\x90\x90\x90\x90\x90"
/* words of stg_stop_thread, its code, and a jump by @back */
#define INFO	 "\0\0\0\0\0\0\0\0\x24\0\0\0\0\0\0\0"
#define STOP	 "\x48\x83\xc5\xf8\x48\x89\x5d\x08"
#define HASKELL	 "\x48\x83\xc5\x10\xff\x65\x00\x90" /* add rbp, 16; jmp [rbp] */
#define ASSEMBLY "\x53\x31\xc9\x0f\xa2\x5b\xc3\x90" /* push rbx; xor; cpuid; pop rbx; ret */

enum {
	AT_RUN = 0,
	AT_RETURN = 45,
	RUN_SIZE = 56,
	AT_HASKELL = RUN_SIZE, /* and assembly behind a function with an FDE */
	AT_INFO = AT_HASKELL + 8,
	AT_STOP = AT_INFO + 16,
	AT_JUMP = AT_STOP + 8,
	AT_C = AT_JUMP + 8,
	AT_ASSEMBLY = AT_C + 8,
	SIZE = AT_ASSEMBLY + 8,
};

static const char code_bytes[] =
	RUN RETURN HASKELL INFO STOP "\xe9\0\0\0\0\x90\x90\x90" NOPS8 ASSEMBLY;
_Static_assert(sizeof(code_bytes) - 1 == SIZE, "the offsets are those of the code");

static void make_code(uint8_t *code)
{
	const int32_t back = AT_RETURN - (AT_JUMP + 5);

	memcpy(code, code_bytes, SIZE);
	memcpy(code + AT_JUMP + 1, &back, sizeof(back));
}

/* @is_debug: GHC has written an FDE for the Haskell code, too. */
static struct table *filled(const uint8_t *code, const uint8_t *cfi, size_t cfi_size, bool is_debug,
			    const struct table_limits *limits)
{
	struct cfi_builder b;
	struct table *table;

	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
	if (is_debug) {
		/* CFA = rbp, and the return address is there */
		cfi_builder_cie(&b, "zR", BYTES("\x1b"), BYTES("\x0c\x06\x00\x90\x00"));
		cfi_builder_fde(&b, CFI_BUILDER_TEXT + AT_HASKELL, 4, BYTES("\x00"));
	}
	cfi_builder_usual_cie(&b);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT, RUN_SIZE, cfi, cfi_size);
	cfi_builder_fde(&b, CFI_BUILDER_TEXT + AT_C, 8, BYTES("\x00"));
	table = code_table(code, SIZE, &b, NULL, 0, limits);
	cfi_builder_fini(&b);
	return table;
}

static void haskell_code_has_one_rule(void **state)
{
	static const int8_t places[FPL_NR_SAVED] = { -7, -6, -5, -4, -3, -2 };
	uint8_t code[SIZE];

	(void)state;
	make_code(code);
	for (int is_debug = 0; is_debug < 2; is_debug++) {
		struct table *table = filled(code, BYTES(CFI), is_debug, &patient_limits);

		for (uint64_t off = AT_HASKELL; off < AT_C; off++) {
			const struct fpl_rule *rule = code_table_at(table, off);

			assert_int_equal(rule->cfa, FPL_CFA_HASKELL);
			assert_int_equal(rule->flags, FPL_RULE_SYNTH);
			assert_int_equal(rule->regs, ARCH_SP);
			assert_int_equal(rule->cfa_off, 16440);
			assert_int_equal(rule->off2, 36);
			assert_memory_equal(rule->saved, places, sizeof(places));
		}
		/* other code has its own rows */
		assert_int_equal(code_table_at(table, 0)->cfa_off, 8);
		assert_int_equal(code_table_at(table, AT_C)->cfa_off, 8);
		assert_true(code_table_at(table, AT_ASSEMBLY)->cfa != FPL_CFA_HASKELL);
		table_destroy(table);
	}
}

/* Behind stg_ap_p, in the place of what the other tests have there. */
#define FAST "\x48\x83\xc5\xf0\x4c\x89\x75\x08\xe9\xdb\xff\xff\xff" /* jmp to AT_APPLY */
static const char apply[] = RUN RETURN HASKELL INFO STOP
	"\xe9\0\0\0\0\x90\x90\x90"		   /* as above */
	"\1\0\0\0\0\0\0\0\x1e\0\0\0\0\0\0\0" NOPS8 /* AT_APPLY: its words */
	"\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0" FAST; /* of a function */

static void code_that_has_a_frame_itself_says_so(void **state)
{
	enum { AT_APPLY = AT_C + 16, APPLY_END = AT_APPLY + 8, AT_FAST = APPLY_END + 16 };
	enum { APPLY_SIZE = sizeof(apply) - 1, AT_TO = AT_FAST + 9, AT_ROOM = AT_FAST + 3 };
	static const struct {
		const char *what;
		uint32_t at;
		uint8_t value;
		uint8_t own;
	} cases[] = {
		{ "room for its frame", 0, 0x48, 2 },
		{ "room for another", AT_ROOM, 0xe8, 0 },
		{ "no room", AT_ROOM, 0x10, 0 },
		{ "its frame is larger", AT_APPLY - 16, 2, 0 },
		{ "it is a function", AT_APPLY - 8, 8, 0 },
		{ "the jump goes elsewhere", AT_TO, 0xd3, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t code[APPLY_SIZE];
		struct table *table;

		print_message("%s\n", cases[i].what);
		make_code(code);
		memcpy(code + AT_C, apply + AT_C, APPLY_SIZE - AT_C);
		code[cases[i].at] = cases[i].value;
		table = code_table_of_one(code, APPLY_SIZE, RUN_SIZE, BYTES(CFI), NULL, 0,
					  &patient_limits);
		for (uint64_t off = AT_HASKELL; off < APPLY_SIZE; off++) {
			bool is_own = off >= AT_APPLY && off < APPLY_END;

			assert_int_equal(code_table_at(table, off)->cfa, FPL_CFA_HASKELL);
			assert_int_equal(code_table_at(table, off)->regs >> 4,
					 is_own ? cases[i].own : 0);
		}
		table_destroy(table);
	}
}

static void other_code_has_none(void **state)
{
	static const struct {
		const char *what;
		uint32_t at;
		uint8_t value;
	} cases[] = {
		{ "StgRun saves other registers", 3, 0x38 },
		{ "it makes other room than its FDE says", 11, 0x20 },
		{ "it saves them elsewhere", 20, 0x10 },
		{ "it jumps by another register", 44, 0xe1 },
		{ "StgReturn takes off other room", AT_RETURN + 7, 0x20 },
		{ "the last frame has words", AT_INFO, 1 },
		{ "types are numbered otherwise", AT_INFO + 8, 37 },
		{ "it has a table", AT_INFO + 12, 8 },
		{ "its code takes the frame off", AT_STOP + 3, 8 },
		{ "it goes elsewhere", AT_JUMP + 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t code[SIZE];
		struct fpl_rule rule;
		struct table *table;

		print_message("%s\n", cases[i].what);
		make_code(code);
		code[cases[i].at] = cases[i].value;
		table = filled(code, BYTES(CFI), false, &patient_limits);
		assert_false(table_find_rule(table, FPL_CFA_HASKELL, &rule));
		table_destroy(table);
	}
}

static void other_cfi_has_none(void **state)
{
	struct table_limits limits = patient_limits;
	uint8_t code[SIZE], cfi[sizeof(CFI) - 1];
	struct fpl_rule rule;
	struct table *table;

	(void)state;
	make_code(code);
	memcpy(cfi, CFI, sizeof(cfi));
	for (size_t i = 3; i < sizeof(cfi); i++) {
		/* the code of an instruction, the number of a register, a place */
		cfi[i] ^= 1;
		table = filled(code, cfi, sizeof(cfi), false, &patient_limits);
		if (table_find_rule(table, FPL_CFA_HASKELL, &rule))
			fail_msg("byte %zu", i);
		table_destroy(table);
		cfi[i] ^= 1;
	}
	limits.synth = false;
	table = filled(code, BYTES(CFI), false, &limits);
	assert_false(table_find_rule(table, FPL_CFA_HASKELL, &rule));
	table_destroy(table);
}

/* Rows of other code without FDE are left for later; these are not. */
static void the_rule_comes_first(void **state)
{
	struct table_limits limits = patient_limits;
	uint8_t code[SIZE];
	struct fpl_rule rule;
	struct table *table;

	(void)state;
	make_code(code);
	limits.synth_later = true;
	table = filled(code, BYTES(CFI), false, &limits);
	assert_true(table_find_rule(table, FPL_CFA_HASKELL, &rule));
	table_destroy(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(haskell_code_has_one_rule),
		cmocka_unit_test(code_that_has_a_frame_itself_says_so),
		cmocka_unit_test(other_code_has_none),
		cmocka_unit_test(other_cfi_has_none),
		cmocka_unit_test(the_rule_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
