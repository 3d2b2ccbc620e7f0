// SPDX-License-Identifier: Apache-2.0
/* One step of the walker: from rule and registers to the caller's registers, or the stop. */
#include "cmocka_all.h"

#include <stdbool.h>

#include "tests/support/walk_world.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define STACK	 0x7ffd00000000ull
#define NR_WORDS 160u		      /* as many as a rule may reach above a CFA, and some */
#define AT(i)	 (STACK + 8ull * (i)) /* address of a word of the stack */
#define WORD(i)	 (0xa000ull + (i))    /* its value, unless a case needs another */
#define SP	 AT(20)
#define FP	 AT(40) /* rbp */
#define R10	 AT(60)
#define OTHER(r) (0xb000ull + (r)) /* value of every other register */
#define PC	 0x2468ull	   /* vaddr; its low four bits are 8 */

#define SAME  FPL_SAVED_SAME
#define UNDEF FPL_SAVED_UNDEF
/* clang-format off */
#define ALL_SAME { SAME, SAME, SAME, SAME, SAME, SAME }
/* clang-format on */
#define REGS(r, s) ((r) | (s) << 4)
#define BIT(r)	   (1u << (r))
#define SAVED_REGS (BIT(3) | BIT(6) | BIT(12) | BIT(13) | BIT(14) | BIT(15))
#define AFTER_CALL (SAVED_REGS | BIT(7))

struct want {
	uint32_t reg;
	uint64_t value;
};

struct step_case {
	const char *what;
	struct fpl_rule rule;
	struct fpl_ext ext[4];
	uint32_t unknown; /* registers not known before */
	struct want word; /* one stack word with a value of its own: index, value */
	int stop;	  /* and if none, the caller: */
	uint64_t pc;
	uint64_t sp;
	uint32_t known; /* 0: AFTER_CALL */
	struct want want[4];
	uint32_t exact;
	bool low_fp;	 /* rbp points below rsp, to the first word */
	bool after_call; /* the pc is where a call comes back to */
};

static const struct step_case cases[] = {
	{ .what = "cfa at rsp: ra just below it, registers stay",
	  .rule = { .cfa = FPL_CFA_REG, .regs = 7, .cfa_off = 16, .saved = ALL_SAME },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = AT(22),
	  .want = { { 3, OTHER(3) }, { 6, FP }, { 15, OTHER(15) } } },
	{ .what = "every callee-saved register below the cfa",
	  .rule = { .cfa = FPL_CFA_REG,
		    .regs = 7,
		    .cfa_off = 64,
		    .saved = { -7, -2, -6, -5, -4, -3 } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(27),
	  .sp = AT(28),
	  .want = { { 3, WORD(21) }, { 6, WORD(26) }, { 12, WORD(22) }, { 15, WORD(25) } } },
	{ .what = "registers saved above the cfa",
	  .rule = { .cfa = FPL_CFA_REG,
		    .regs = 7,
		    .cfa_off = 8,
		    .saved = { 3, 126, SAME, SAME, SAME, SAME } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(20),
	  .sp = AT(21),
	  .want = { { 3, WORD(24) }, { 6, WORD(147) } } },
	{ .what = "a register saved out of reach is unknown, and the walk goes on",
	  .rule = { .cfa = FPL_CFA_REG,
		    .regs = 7,
		    .cfa_off = 8,
		    .saved = { SAME, SAME, -127, SAME, SAME, SAME } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(20),
	  .sp = AT(21),
	  .known = AFTER_CALL & ~BIT(12) },
	{ .what = "an undefined register is unknown",
	  .rule = { .cfa = FPL_CFA_REG,
		    .regs = 7,
		    .cfa_off = 8,
		    .saved = { UNDEF, SAME, SAME, SAME, SAME, UNDEF } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(20),
	  .sp = AT(21),
	  .known = AFTER_CALL & ~(BIT(3) | BIT(15)) },
	{ .what = "same value of an unknown register stays unknown",
	  .rule = { .cfa = FPL_CFA_REG, .regs = 7, .cfa_off = 8, .saved = ALL_SAME },
	  .unknown = BIT(13),
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(20),
	  .sp = AT(21),
	  .known = AFTER_CALL & ~BIT(13) },
	{ .what = "a restored register becomes known",
	  .rule = { .cfa = FPL_CFA_REG,
		    .regs = 7,
		    .cfa_off = 24,
		    .saved = { SAME, -2, SAME, SAME, SAME, SAME } },
	  .unknown = BIT(6),
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(22),
	  .sp = AT(23),
	  .want = { { 6, WORD(21) } } },
	{ .what = "epilogue: a register was popped to below rsp",
	  .rule = { .cfa = FPL_CFA_REG,
		    .regs = 7,
		    .cfa_off = 8,
		    .saved = { SAME, -2, SAME, SAME, SAME, SAME } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(20),
	  .sp = AT(21),
	  .want = { { 6, WORD(19) } } },
	{ .what = "cfa at rbp",
	  .rule = { .cfa = FPL_CFA_REG,
		    .regs = 6,
		    .cfa_off = 16,
		    .saved = { SAME, -2, SAME, SAME, SAME, SAME } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(41),
	  .sp = AT(42),
	  .want = { { 6, WORD(40) } } },
	{ .what = "cfa at r10",
	  .rule = { .cfa = FPL_CFA_REG, .regs = 10, .cfa_off = 0, .saved = ALL_SAME },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(59),
	  .sp = AT(60) },
	{ .what = "cfa at a register that is not known",
	  .rule = { .cfa = FPL_CFA_REG, .regs = 10, .saved = ALL_SAME },
	  .unknown = BIT(10),
	  .stop = FPL_STOP_REG_UNKNOWN },
	{ .what = "a negative offset",
	  .rule = { .cfa = FPL_CFA_REG, .regs = 10, .cfa_off = -80, .saved = ALL_SAME },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(49),
	  .sp = AT(50) },
	{ .what = "an offset beyond the stack",
	  .rule = { .cfa = FPL_CFA_REG, .regs = 7, .cfa_off = 40000, .saved = ALL_SAME },
	  .stop = FPL_STOP_READ_FAULT },
	{ .what = "cfa in memory, registers saved from rbp",
	  .rule = { .cfa = FPL_CFA_DEREF,
		    .regs = 6,
		    .from_reg = 0x3f,
		    .cfa_off = -8,
		    .saved = { -5, 0, -4, -3, -2, -9 } },
	  .word = { 39, AT(50) },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(49),
	  .sp = AT(50),
	  .want = { { 3, WORD(35) }, { 6, WORD(40) }, { 14, WORD(38) }, { 15, WORD(31) } } },
	{ .what = "from_reg is by register",
	  .rule = { .cfa = FPL_CFA_DEREF,
		    .regs = 6,
		    .from_reg = 2,
		    .cfa_off = -8,
		    .saved = { -5, 0, SAME, SAME, SAME, SAME } },
	  .word = { 39, AT(50) },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(49),
	  .sp = AT(50),
	  .want = { { 3, WORD(45) }, { 6, WORD(40) } } },
	{ .what = "cfa in memory plus a second offset",
	  .rule = { .cfa = FPL_CFA_DEREF, .regs = 7, .cfa_off = 32, .off2 = 8, .saved = ALL_SAME },
	  .word = { 24, AT(50) },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(50),
	  .sp = AT(51) },
	{ .what = "cfa in memory, second offset negative",
	  .rule = { .cfa = FPL_CFA_DEREF,
		    .regs = 7,
		    .cfa_off = 32,
		    .off2 = -16,
		    .saved = ALL_SAME },
	  .word = { 24, AT(50) },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(47),
	  .sp = AT(48) },
	{ .what = "cfa in memory that is not resident",
	  .rule = { .cfa = FPL_CFA_DEREF, .regs = 0, .saved = ALL_SAME },
	  .stop = FPL_STOP_READ_FAULT },
	{ .what = "cfa in memory at an index: *(rsp + 8 * r9 + 8) + 8",
	  .rule = { .cfa = FPL_CFA_INDEX,
		    .regs = REGS(7, 9),
		    .cfa_off = 8,
		    .off2 = 8,
		    .saved = ALL_SAME },
	  .word = { 24, AT(70) },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(70),
	  .sp = AT(71) },
	{ .what = "an index that is not known",
	  .rule = { .cfa = FPL_CFA_INDEX,
		    .regs = REGS(7, 9),
		    .cfa_off = 8,
		    .off2 = 8,
		    .saved = ALL_SAME },
	  .unknown = BIT(9),
	  .stop = FPL_STOP_REG_UNKNOWN },
	{ .what = "plt entry before its push: pc & 15 is 8",
	  .rule = { .cfa = FPL_CFA_PLT, .regs = REGS(7, 9), .cfa_off = 8, .saved = ALL_SAME },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(20),
	  .sp = AT(21) },
	{ .what = "plt entry after its push: pc & 15 is 8",
	  .rule = { .cfa = FPL_CFA_PLT, .regs = REGS(7, 8), .cfa_off = 8, .saved = ALL_SAME },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = AT(22) },
	{ .what = "an expression the table does not express",
	  .rule = { .cfa = FPL_CFA_EXPR, .regs = 7, .saved = ALL_SAME },
	  .stop = FPL_STOP_EXPR },
	{ .what = "an expression the table does not express, whatever is known",
	  .rule = { .cfa = FPL_CFA_EXPR, .saved = ALL_SAME },
	  .unknown = BIT(0),
	  .stop = FPL_STOP_EXPR },
	{ .what = "a kind of cfa that does not exist",
	  .rule = { .cfa = 200, .regs = 7, .saved = ALL_SAME },
	  .stop = FPL_STOP_EXPR },
	{ .what = "return address undefined",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_END,
		    .regs = 7,
		    .cfa_off = 8,
		    .saved = ALL_SAME },
	  .stop = FPL_STOP_OUTERMOST },
	{ .what = "return address undefined, and no cfa",
	  .rule = { .cfa = FPL_CFA_NONE, .flags = FPL_RULE_END, .saved = ALL_SAME },
	  .stop = FPL_STOP_OUTERMOST },
	{ .what = "cfa at rsp itself: no progress",
	  .rule = { .cfa = FPL_CFA_REG, .regs = 7, .cfa_off = 0, .saved = ALL_SAME },
	  .stop = FPL_STOP_NO_PROGRESS },
	{ .what = "cfa below rsp: no progress",
	  .rule = { .cfa = FPL_CFA_REG, .regs = 7, .cfa_off = -8, .saved = ALL_SAME },
	  .stop = FPL_STOP_NO_PROGRESS },
	{ .what = "return address in a register, as in vfork: cfa at rsp is progress",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_RA_REG,
		    .regs = REGS(7, 5),
		    .cfa_off = 0,
		    .saved = ALL_SAME },
	  .stop = FPL_STOP_NONE,
	  .pc = OTHER(5),
	  .sp = AT(20) },
	{ .what = "the same behind a call",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_RA_REG,
		    .regs = REGS(7, 5),
		    .cfa_off = 0,
		    .saved = ALL_SAME },
	  .after_call = true,
	  .stop = FPL_STOP_NONE,
	  .pc = OTHER(5),
	  .sp = AT(20) },
	{ .what = "return address in a register that the row restores: the old value",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_RA_REG,
		    .regs = REGS(7, 12),
		    .cfa_off = 16,
		    .saved = { SAME, SAME, -1, SAME, SAME, SAME } },
	  .stop = FPL_STOP_NONE,
	  .pc = OTHER(12),
	  .sp = AT(22),
	  .want = { { 12, WORD(21) } } },
	{ .what = "return address in a register that is not known",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_RA_REG,
		    .regs = REGS(7, 5),
		    .cfa_off = 0,
		    .saved = ALL_SAME },
	  .unknown = BIT(5),
	  .stop = FPL_STOP_REG_UNKNOWN },
	{ .what = "return address in a register and cfa below rsp: no progress",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_RA_REG,
		    .regs = REGS(7, 5),
		    .cfa_off = -8,
		    .saved = ALL_SAME },
	  .stop = FPL_STOP_NO_PROGRESS },
	{ .what = "extended: places and values from cfa and registers",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 0, .kind = FPL_EXT_AT_CFA, .count = 4, .off = 24 },
		   { .dst = 3, .kind = FPL_EXT_AT_REG, .base = 10, .off = -8 },
		   { .dst = 12, .kind = FPL_EXT_VAL_CFA, .off = -48 },
		   { .dst = 13, .kind = FPL_EXT_VAL_REG, .base = 9, .off = 5 } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = AT(22),
	  .known = AFTER_CALL | BIT(0),
	  .want = { { 0, WORD(25) }, { 3, WORD(59) }, { 12, AT(16) }, { 13, 3 + 5 } } },
	{ .what = "extended: from the first register and the last",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 3, .kind = FPL_EXT_VAL_REG, .base = 0, .count = 2 },
		   { .dst = 12, .kind = FPL_EXT_VAL_REG, .base = 15 } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = AT(22),
	  .want = { { 3, OTHER(0) }, { 12, OTHER(15) } } },
	{ .what = "extended rules win over saved[]",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = { -2, -2, SAME, SAME, SAME, SAME } },
	  .ext = { { .dst = 3, .kind = FPL_EXT_SAME, .count = 2 },
		   { .dst = 6, .kind = FPL_EXT_UNDEF } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = AT(22),
	  .known = AFTER_CALL & ~BIT(6),
	  .want = { { 3, OTHER(3) } } },
	{ .what = "extended rules swap registers: both from the old values",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = { -2, SAME, SAME, SAME, SAME, SAME } },
	  .ext = { { .dst = 3, .kind = FPL_EXT_VAL_REG, .base = 12, .count = 2 },
		   { .dst = 12, .kind = FPL_EXT_VAL_REG, .base = 3 } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = AT(22),
	  .want = { { 3, OTHER(12) }, { 12, OTHER(3) } } },
	{ .what = "extended: same value of a caller-saved register keeps it",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 1, .kind = FPL_EXT_SAME, .count = 1 } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = AT(22),
	  .known = AFTER_CALL | BIT(1),
	  .want = { { 1, OTHER(1) } } },
	{ .what = "extended: only count rules are read",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 1, .kind = FPL_EXT_SAME, .count = 1 },
		   { .dst = 3, .kind = FPL_EXT_UNDEF } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = AT(22),
	  .known = AFTER_CALL | BIT(1) },
	{ .what = "extended rules from unknown registers, expressions and faults give unknown ones",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 3, .kind = FPL_EXT_VAL_REG, .base = 9, .count = 4 },
		   { .dst = 12, .kind = FPL_EXT_EXPR },
		   { .dst = 13, .kind = FPL_EXT_AT_CFA, .off = 1 << 20 },
		   { .dst = 14, .kind = FPL_EXT_AT_REG, .base = 9 } },
	  .unknown = BIT(9),
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = AT(22),
	  .known = AFTER_CALL & ~(BIT(3) | BIT(12) | BIT(13) | BIT(14)) },
	{ .what = "extended: return address elsewhere in memory",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_AT_CFA, .count = 1, .off = 80 } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(32),
	  .sp = AT(22) },
	{ .what = "extended: return address undefined",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_UNDEF, .count = 1 } },
	  .stop = FPL_STOP_OUTERMOST },
	{ .what = "extended: return address in a register, cfa at rsp is progress",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 0,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_VAL_REG, .base = 5, .count = 1 } },
	  .stop = FPL_STOP_NONE,
	  .pc = OTHER(5),
	  .sp = AT(20) },
	{ .what = "extended: return address by an expression",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_EXPR, .count = 1 } },
	  .stop = FPL_STOP_EXPR },
	{ .what = "extended: return address from an unknown register",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_VAL_REG, .base = 11, .count = 1 } },
	  .unknown = BIT(11),
	  .stop = FPL_STOP_REG_UNKNOWN },
	{ .what = "extended: return address not resident",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_AT_REG, .base = 0, .count = 1 } },
	  .stop = FPL_STOP_READ_FAULT },
	{ .what = "extended: the caller's rsp is not the cfa",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 7, .kind = FPL_EXT_VAL_REG, .base = 10, .count = 1 } },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(21),
	  .sp = R10 },
	{ .what = "extended: the caller's rsp below this one: no progress",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 7, .kind = FPL_EXT_VAL_CFA, .count = 1, .off = -80 } },
	  .stop = FPL_STOP_NO_PROGRESS },
	{ .what = "return address a distance from the pc, cfa a red zone below rsp",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = -128,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_VAL_PC, .count = 1, .off = 19 } },
	  .pc = WORLD_BIAS + PC + 19,
	  .sp = SP - 128,
	  .stop = FPL_STOP_NONE },
	{ .what = "the same, cfa lower still: no progress",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = -136,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_VAL_PC, .count = 1, .off = 19 } },
	  .stop = FPL_STOP_NO_PROGRESS },
	{ .what = "the same, at the pc itself: no progress",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = -128,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_VAL_PC, .count = 1, .off = 0 } },
	  .stop = FPL_STOP_NO_PROGRESS },
	{ .what = "the same behind a call: no progress",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = -128,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_VAL_PC, .count = 1, .off = 19 } },
	  .after_call = true,
	  .stop = FPL_STOP_NO_PROGRESS },
	{ .what = "return address a distance from where a call comes back, cfa above",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 128,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_VAL_PC, .count = 1, .off = -40 } },
	  .pc = WORLD_BIAS + PC - 40,
	  .sp = SP + 128,
	  .after_call = true,
	  .stop = FPL_STOP_NONE },
	{ .what = "return address a distance from where a call comes back, cfa at rsp",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_EXT,
		    .regs = 7,
		    .cfa_off = 0,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_VAL_PC, .count = 1, .off = -40 } },
	  .pc = WORLD_BIAS + PC - 40,
	  .sp = SP,
	  .after_call = true,
	  .stop = FPL_STOP_NONE },
	{ .what = "no change of stacks: the caller's rsp below this one: no progress",
	  .rule = { .cfa = FPL_CFA_REG, .regs = 6, .cfa_off = 16, .saved = ALL_SAME },
	  .low_fp = true,
	  .stop = FPL_STOP_NO_PROGRESS },
	{ .what = "a change of stacks: the caller's may be lower",
	  .rule = { .cfa = FPL_CFA_REG,
		    .flags = FPL_RULE_SWITCH,
		    .regs = 6,
		    .cfa_off = 16,
		    .saved = ALL_SAME },
	  .low_fp = true,
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(1),
	  .sp = AT(2) },
	{ .what = "signal frame: the caller is exact, and its stack may be lower",
	  .rule = { .cfa = FPL_CFA_DEREF,
		    .flags = FPL_RULE_EXT | FPL_RULE_SIGNAL,
		    .regs = 7,
		    .cfa_off = 160,
		    .saved = ALL_SAME },
	  .ext = { { .dst = 16, .kind = FPL_EXT_AT_REG, .base = 7, .count = 3, .off = 168 },
		   { .dst = 2, .kind = FPL_EXT_AT_REG, .base = 7, .off = 152 },
		   { .dst = 3, .kind = FPL_EXT_AT_REG, .base = 7, .off = 128 } },
	  .word = { 40, AT(5) },
	  .stop = FPL_STOP_NONE,
	  .pc = WORD(41),
	  .sp = AT(5),
	  .known = AFTER_CALL | BIT(2),
	  .want = { { 2, WORD(39) }, { 3, WORD(36) }, { 6, FP } },
	  .exact = 1 },
};

static void step_init(struct env *world, struct fpl_walk *walk, uint64_t *words,
		      const struct step_case *test)
{
	world_init(world);
	world_row(world, 0x2400, &test->rule, test->ext, ARRAY_SIZE(test->ext));
	for (uint32_t i = 0; i < NR_WORDS; i++)
		words[i] = WORD(i);
	words[test->word.reg] = test->word.reg ? test->word.value : WORD(0);
	world_memory(world, STACK, words, NR_WORDS * sizeof(*words));
	memset(walk, 0, sizeof(*walk));
	for (uint32_t i = 0; i < FPL_NR_REGS; i++)
		walk->reg[i] = OTHER(i);
	walk->reg[7] = SP;
	walk->reg[6] = test->low_fp ? AT(0) : FP;
	walk->reg[9] = 3;
	walk->reg[10] = R10;
	walk->pc = WORLD_BIAS + PC;
	walk->exact = !test->after_call;
	walk->known = ARCH_ALL_REGS & ~test->unknown;
	walk->nr = world->nr_mappings;
	walk->max_depth = 10;
	walk->by_row = FPL_ORIGIN_CFI;
}

static void check_caller(const struct step_case *test, const struct fpl_walk *walk)
{
	uint32_t known = test->known ? test->known : AFTER_CALL;

	if (walk->pc != test->pc)
		fail_msg("%s: pc %#llx", test->what, (unsigned long long)walk->pc);
	if (walk->reg[7] != test->sp)
		fail_msg("%s: sp %#llx", test->what, (unsigned long long)walk->reg[7]);
	if (walk->known != known)
		fail_msg("%s: known %#x, not %#x", test->what, walk->known, known);
	if (walk->exact != test->exact)
		fail_msg("%s: exact %u", test->what, walk->exact);
	for (uint32_t i = 0; i < ARRAY_SIZE(test->want); i++) {
		const struct want *want = &test->want[i];

		if (want->value && walk->reg[want->reg] != want->value)
			fail_msg("%s: register %u is %#llx", test->what, want->reg,
				 (unsigned long long)walk->reg[want->reg]);
	}
}

static void step_gives_the_caller_each_rule_describes(void **state)
{
	uint64_t words[NR_WORDS], frames[FPL_DEPTH_MAX];
	struct fpl_walk walk;
	struct env world;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct step_case *test = &cases[i];
		struct walker walker = { &walk, (__u64 *)frames, &world, NULL };

		step_init(&world, &walk, words, test);
		int stop = walk_step(&walker);

		if (stop != test->stop)
			fail_msg("%s: stop %d, not %d", test->what, stop, test->stop);
		if (stop == FPL_STOP_NONE)
			check_caller(test, &walk);
		assert_int_equal(walk.nr_frames, 1);
		world_fini(&world);
	}
}

/* With any register unknown a step ends by name, or does without it: it never uses it. */
static void step_never_uses_an_unknown_register(void **state)
{
	uint64_t words[NR_WORDS], frames[FPL_DEPTH_MAX];
	struct fpl_walk walk, other;
	struct env world;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases) * FPL_NR_REGS; i++) {
		struct step_case test = cases[i / FPL_NR_REGS];
		uint32_t reg = (uint32_t)(i % FPL_NR_REGS);
		struct walker walker = { &walk, (__u64 *)frames, &world, NULL };

		if (reg == 7)
			continue; /* rsp is always known */
		test.unknown |= BIT(reg);
		step_init(&world, &walk, words, &test);
		other = walk;
		other.reg[reg] ^= 0x5555;
		int stop = walk_step(&walker);

		walker.walk = &other;
		assert_int_equal(walk_step(&walker), stop);
		assert_int_equal(other.known, walk.known);
		assert_int_equal(other.pc, walk.pc);
		for (uint32_t r = 0; r < FPL_NR_REGS && stop == FPL_STOP_NONE; r++) {
			if (walk.known & BIT(r))
				assert_int_equal(other.reg[r], walk.reg[r]);
		}
		world_fini(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(step_gives_the_caller_each_rule_describes),
		cmocka_unit_test(step_never_uses_an_unknown_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
