/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare a rule of the compact table at an instruction with the truth of a shadow frame. Pure:
 * memory is read through the machine.
 */
#pragma once

#include <stdint.h>

#include "bpf/shared.h"
#include "judge/shadow.h"
#include "verify/machine.h"

/* Why an instruction is not judged. X(name, key, text) */
#define JUDGE_SKIP_LIST(X)                                                                      \
	X(NONE, judged, "judged")                                                               \
	X(NO_FRAME, no_frame, "the call of the function was not seen")                          \
	X(UNWOUND, unwound, "in a frame that longjmp or an exception unwound to")               \
	X(SWITCHED, switched, "the thread went to another stack")                               \
	X(STRAY, stray_return, "a return led to a place without a call")                        \
	X(RA_CHANGED, ra_changed, "the code has put another return address onto the stack")     \
	X(RA_COPIED, ra_copied, "the code goes on with a copy of its return address elsewhere") \
	X(REPEATED, repeated, "the same instruction again: it repeats itself, as rep movs")     \
	X(NO_OBJECT, no_object, "code of no file: made at run time")                            \
	X(NO_TABLE, no_table, "its file has no table")                                          \
	X(NO_ROW, no_row, "no row there")                                                       \
	X(EXPR, expr, "an expression without a rule in the table")                              \
	X(ELSEWHERE, elsewhere, "the row describes the function's target, as longjmp's does")   \
	X(SAME_CODE, same_code, "the row leads on within the code, a distance from the pc")     \
	X(OUTERMOST, outermost, "the row says that there is no caller")                         \
	X(UNREADABLE, unreadable, "the stack cannot be read")                                   \
	X(COMPAT32, compat32, "32-bit code")

#define X(name, key, text) SKIP_##name,
enum judge_skip { JUDGE_SKIP_LIST(X) SKIP_COUNT };
#undef X

/* Source of a row. X(name, key) */
#define JUDGE_ORIGIN_LIST(X) \
	X(CFI, cfi)          \
	X(SYNTH, synth)      \
	X(PLT, plt)          \
	X(SIGNAL, signal)

#define X(name, key) JUDGE_ORIGIN_##name,
enum judge_origin { JUDGE_ORIGIN_LIST(X) JUDGE_ORIGIN_COUNT };
#undef X

enum judge_origin judge_origin_of(const struct fpl_rule *rule);

/* The part that is wrong, if any: a register by its DWARF number, or one of these. */
enum { WRONG_RA = MACHINE_RA, WRONG_CFA = MACHINE_RA + 1, WRONG_NOTHING = MACHINE_RA + 2 };

struct judgement {
	enum judge_skip skip;	 /* NONE: what follows holds */
	uint32_t wrong;		 /* WRONG_*, or the register: the first of CFA, RA, registers */
	uint32_t lost;		 /* mask of callee-saved registers that the row calls unknown */
	uint32_t unneeded;	 /* mask of wrong registers that the caller does not need */
	uint64_t expected, said; /* where something is wrong */
};

/*
 * Callee-saved registers whose value a caller at @rule, with its extended rules behind it, does not
 * need from its callees: it saved its own caller's value elsewhere. Assembly calls helpers that
 * change such registers without CFI for that.
 */
uint32_t judge_unneeded(const struct fpl_rule *rule);

/*
 * Judge @rule, with its extended rules behind it, on @machine, which is at an instruction of the
 * function that runs by @shadow. Cost: a few words of memory; O(frames) if the row has the right
 * return address from elsewhere. @unneeded: registers that the caller does not need, from
 * judge_unneeded(): they are not wrong if the row does not mention them.
 */
void judge_rule(const struct fpl_rule *rule, const struct machine *machine,
		const struct shadow *shadow, uint32_t unneeded, struct judgement *ret);
