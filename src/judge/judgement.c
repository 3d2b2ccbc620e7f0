/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/judgement.h"

#include <stdbool.h>

#include "base/cleanup.h"
#include "unwind/arch_x86_64.h"
#include "verify/rule_eval.h"

/* rbx, rbp, r12 to r15 (psABI 1.0, figure 3.4) */
static const uint8_t callee_saved[] = { 3, 6, 12, 13, 14, 15 };

enum judge_origin judge_origin_of(const struct fpl_rule *rule)
{
	if (rule->flags & FPL_RULE_SYNTH)
		return JUDGE_ORIGIN_SYNTH;
	if (rule->flags & FPL_RULE_SIGNAL)
		return JUDGE_ORIGIN_SIGNAL;
	return rule->cfa == FPL_CFA_PLT ? JUDGE_ORIGIN_PLT : JUDGE_ORIGIN_CFI;
}

static enum judge_skip skip_of_doubt(uint8_t doubt)
{
	switch ((enum shadow_doubt)doubt) {
	case DOUBT_UNWOUND:
		return SKIP_UNWOUND;
	case DOUBT_SWITCHED:
		return SKIP_SWITCHED;
	case DOUBT_STRAY:
		return SKIP_STRAY;
	case DOUBT_NONE:
	case DOUBT_COUNT:
	default:
		return SKIP_NONE;
	}
}

/* Does the frame hold, as far as memory tells? */
static enum judge_skip check_frame(const struct shadow_frame *frame, const struct machine *machine)
{
	if (!frame)
		return SKIP_NO_FRAME;
	if (frame->doubt)
		return skip_of_doubt(frame->doubt);
	if (frame->signal)
		return SKIP_NONE;
	if (machine_read(machine, frame->cfa - 8, 8) == frame->ra)
		return SKIP_NONE;
	return machine->memory && machine->memory->faulted ? SKIP_UNREADABLE : SKIP_RA_CHANGED;
}

static bool is_callee_saved(uint32_t reg)
{
	for (size_t i = 0; i < ARRAY_SIZE(callee_saved); i++)
		if (callee_saved[i] == reg)
			return true;
	return false;
}

/* A row whose caller has a stack pointer of its own does not describe a call: only the kernel's
 * frames, and functions that replace all registers, have one. */
static bool goes_elsewhere(const struct caller *caller)
{
	const struct caller_value *sp = &caller->reg[X86_RSP];

	return !caller->signal && (sp->kind != CALLER_VALUE || sp->value != caller->cfa);
}

/* Is the "caller" of @rule another place of the same code, with a row of its own? */
static bool stays_in_code(const struct fpl_rule *rule)
{
	const struct fpl_ext *ext = (const struct fpl_ext *)(rule + 1);

	for (size_t i = 0; (rule->flags & FPL_RULE_EXT) && i < ext->count && i < FPL_EXT_MAX; i++)
		if (ext[i].dst == MACHINE_RA)
			return ext[i].kind == FPL_EXT_VAL_PC;
	return false;
}

/* Callee-saved registers that the row calls unchanged, and no more. */
static uint32_t unchanged(const struct fpl_rule *rule)
{
	uint32_t regs = 0;

	for (size_t i = 0; i < FPL_NR_SAVED; i++)
		if (rule->saved[i] == FPL_SAVED_SAME)
			regs |= 1u << callee_saved[i];
	return regs;
}

/* Registers that @ext uses, or replaces. */
static void apply_ext(const struct fpl_ext *ext, uint32_t *unneeded, uint32_t *needed)
{
	if (ext->kind == FPL_EXT_SAME)
		*needed |= 1u << ext->dst;
	else
		*unneeded |= 1u << ext->dst;
	if (ext->kind == FPL_EXT_AT_REG || ext->kind == FPL_EXT_VAL_REG)
		*needed |= 1u << ext->base;
}

uint32_t judge_unneeded(const struct fpl_rule *rule)
{
	const struct fpl_ext *ext = (const struct fpl_ext *)(rule + 1);
	uint32_t unneeded = 0, needed = 1u << (rule->regs & 15) | 1u << (rule->regs >> 4);

	if (rule->cfa == FPL_CFA_NONE || rule->cfa == FPL_CFA_EXPR)
		return 0;
	unneeded = (uint32_t)ARCH_CALLEE_SAVED & ~unchanged(rule);
	for (size_t i = 0; (rule->flags & FPL_RULE_EXT) && i < ext->count && i < FPL_EXT_MAX; i++)
		apply_ext(&ext[i], &unneeded, &needed);
	return unneeded & ~needed;
}

static void find_wrong_register(const struct caller *caller, const struct shadow_frame *frame,
				uint64_t sp, uint32_t unneeded, struct judgement *ret)
{
	for (uint32_t reg = 0; reg < FPL_NR_REGS; reg++) {
		const struct caller_value *value = &caller->reg[reg];
		uint64_t truth = reg == X86_RSP ? sp : frame->caller.reg[reg];

		if (value->kind == CALLER_VALUE && value->value != truth && (unneeded >> reg & 1)) {
			ret->unneeded |= 1u << reg;
		} else if (value->kind == CALLER_VALUE && value->value != truth) {
			ret->wrong = reg;
			ret->expected = truth;
			ret->said = value->value;
			return;
		}
		if (value->kind != CALLER_VALUE && is_callee_saved(reg))
			ret->lost |= 1u << reg;
	}
}

/*
 * Is the row right about a return address that the function has moved to another frame, from which
 * it will return (libffi's ffi_call_unix64)? A frame further out is no such copy: a row that leads
 * there skips a caller that called itself.
 */
static bool is_of_copy(const struct caller *caller, const struct shadow *shadow)
{
	const struct shadow_frame *frame = shadow_top(shadow);
	struct judgement registers = { .wrong = WRONG_NOTHING };

	if (caller->reg[MACHINE_RA].value != frame->ra || shadow_has_cfa(shadow, caller->cfa))
		return false;
	find_wrong_register(caller, frame, caller->cfa, 0, &registers);
	return registers.wrong == WRONG_NOTHING;
}

static void find_wrong(const struct caller *caller, const struct shadow *shadow, uint32_t unneeded,
		       struct judgement *ret)
{
	const struct shadow_frame *frame = shadow_top(shadow);
	const struct caller_value *ra = &caller->reg[MACHINE_RA];

	/* a signal's frame is judged by the stack pointer below: its CFA may be anything */
	if (caller->cfa != frame->cfa && !frame->signal) {
		if (is_of_copy(caller, shadow)) {
			ret->skip = SKIP_RA_COPIED;
			return;
		}
		ret->wrong = WRONG_CFA;
		ret->expected = frame->cfa;
		ret->said = caller->cfa;
		return;
	}
	if (ra->value != frame->ra) {
		ret->wrong = WRONG_RA;
		ret->expected = frame->ra;
		ret->said = ra->value;
		return;
	}
	find_wrong_register(caller, frame, frame->cfa, unneeded, ret);
}

void judge_rule(const struct fpl_rule *rule, const struct machine *machine,
		const struct shadow *shadow, uint32_t unneeded, struct judgement *ret)
{
	struct caller caller;

	*ret = (struct judgement){ .skip = check_frame(shadow_top(shadow), machine),
				   .wrong = WRONG_NOTHING };
	if (ret->skip != SKIP_NONE)
		return;
	rule_eval(rule, machine, &caller);
	if (caller.status == CALLER_NONE)
		ret->skip = SKIP_NO_ROW;
	else if (caller.status != CALLER_FOUND || caller.reg[MACHINE_RA].kind == CALLER_EXPR)
		ret->skip = SKIP_EXPR;
	else if (caller.reg[MACHINE_RA].kind != CALLER_VALUE)
		ret->skip = SKIP_OUTERMOST;
	else if (stays_in_code(rule))
		ret->skip = SKIP_SAME_CODE;
	else if (goes_elsewhere(&caller))
		ret->skip = SKIP_ELSEWHERE;
	else /* an unreadable word is 0, which is wrong: the truth is known */
		find_wrong(&caller, shadow, unneeded & unchanged(rule), ret);
}
