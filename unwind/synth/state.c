/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/state.h"

#include <string.h>

#include "unwind/arch_x86_64.h"

enum { WORD = 8, RED_ZONE = 128, RBP = ARCH_FRAME_POINTER };

static bool is_place(const struct synth_value *value)
{
	return value->kind == VALUE_CFA || value->kind == VALUE_ALIGNED;
}

static bool is_frame_pointer(const struct synth_value *value)
{
	return value->kind == VALUE_CFA && value->off == ARCH_RA_OFF - WORD;
}

static bool same(const struct synth_value *a, const struct synth_value *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->off == b->off;
}

static struct synth_value moved(struct synth_value value, int64_t by)
{
	int64_t off = value.off + by;

	if (!is_place(&value) || off != (int32_t)off)
		return (struct synth_value){ VALUE_UNKNOWN, 0, 0 };
	value.off = (int32_t)off;
	return value;
}

void synth_state_enter(struct synth_state *state)
{
	memset(state, 0, sizeof(*state));
	for (unsigned reg = 0; reg < FPL_NR_REGS; reg++)
		state->regs[reg] = (struct synth_value){ VALUE_INITIAL, (uint8_t)reg, 0 };
	state->regs[ARCH_SP] = (struct synth_value){ VALUE_CFA, 0, ARCH_RA_OFF };
}

static void slot_drop(struct synth_state *state, size_t i)
{
	state->slots[i] = state->slots[--state->nr_slots];
}

/* Forget what @nr_bytes at @place held. */
static void forget(struct synth_state *state, struct synth_value place, unsigned nr_bytes)
{
	state->ra_overwritten |= place.kind == VALUE_CFA && place.off < ARCH_RA_OFF + WORD &&
				 (int64_t)place.off + nr_bytes > ARCH_RA_OFF;
	for (size_t i = state->nr_slots; i-- > 0;) {
		const struct synth_slot *slot = &state->slots[i];

		if (slot->base == place.kind && slot->off < (int64_t)place.off + nr_bytes &&
		    place.off < slot->off + WORD)
			slot_drop(state, i);
	}
}

/* Forget words more than @keep bytes below the stack pointer: other code writes there. */
static void forget_below(struct synth_state *state, int keep)
{
	struct synth_value sp = state->regs[ARCH_SP];

	for (size_t i = state->nr_slots; i-- > 0;)
		if (state->slots[i].base == sp.kind && state->slots[i].off < (int64_t)sp.off - keep)
			slot_drop(state, i);
}

static void store(struct synth_state *state, struct synth_value place, struct synth_value value)
{
	if (!is_place(&place))
		return;
	forget(state, place, WORD);
	if (value.kind == VALUE_UNKNOWN || state->nr_slots == SYNTH_SLOTS_MAX)
		return;
	state->slots[state->nr_slots++] = (struct synth_slot){ place.off, place.kind, value };
}

static struct synth_value load(const struct synth_state *state, struct synth_value place)
{
	for (size_t i = 0; i < state->nr_slots; i++)
		if (state->slots[i].base == place.kind && state->slots[i].off == place.off)
			return state->slots[i].value;
	return (struct synth_value){ VALUE_UNKNOWN, 0, 0 };
}

static void push(struct synth_state *state, struct synth_value value)
{
	struct synth_value *sp = &state->regs[ARCH_SP];

	*sp = moved(*sp, -WORD);
	store(state, *sp, value);
}

static struct synth_value pop(struct synth_state *state)
{
	struct synth_value *sp = &state->regs[ARCH_SP];
	struct synth_value value = load(state, *sp);

	*sp = moved(*sp, WORD);
	return value;
}

/* Forget all facts relative to an alignment, or to the previous one. */
static void forget_aligned(struct synth_state *state)
{
	for (unsigned reg = 0; reg < FPL_NR_REGS; reg++)
		if (state->regs[reg].kind == VALUE_ALIGNED)
			state->regs[reg].kind = VALUE_UNKNOWN;
	for (size_t i = state->nr_slots; i-- > 0;)
		if (state->slots[i].base == VALUE_ALIGNED ||
		    state->slots[i].value.kind == VALUE_ALIGNED)
			slot_drop(state, i);
	state->aligned_at = 0;
}

static void align(struct synth_state *state, unsigned reg, uint32_t at)
{
	if (reg != ARCH_SP || !is_place(&state->regs[reg])) {
		state->regs[reg].kind = VALUE_UNKNOWN;
		return;
	}
	forget_aligned(state);
	state->regs[reg] = (struct synth_value){ VALUE_ALIGNED, 0, 0 };
	state->aligned_at = at;
}

static void lose(struct synth_state *state, uint16_t clobbers)
{
	for (unsigned left = clobbers; left; left &= left - 1)
		state->regs[__builtin_ctz(left)] = (struct synth_value){ VALUE_UNKNOWN, 0, 0 };
}

static void swap(struct synth_state *state, unsigned a, unsigned b)
{
	struct synth_value value = state->regs[a];

	state->regs[a] = state->regs[b];
	state->regs[b] = value;
}

static void leave(struct synth_state *state)
{
	state->regs[ARCH_SP] = state->regs[RBP];
	state->regs[RBP] = pop(state);
}

static uint16_t with_bit(uint16_t mask, unsigned reg, bool value)
{
	return (uint16_t)((mask & ~(1u << reg)) | (unsigned)value << reg);
}

/*
 * state->computed behind @op. A loaded value may be a saved frame pointer, and a value derived from
 * the stack pointer may be a new one: neither counts as computed.
 */
static uint16_t computed_after(const struct synth_state *state, const struct synth_op *op,
			       uint16_t call_clobbers)
{
	uint16_t mask = (uint16_t)(state->computed | op->clobbers);
	bool src = state->computed >> op->src & 1;

	switch ((enum synth_op_kind)op->kind) {
	case OP_LOAD:
	case OP_POP:
		mask = with_bit(mask, op->dst, false);
		break;
	case OP_LEAVE:
		mask = with_bit(mask, RBP, false);
		break;
	case OP_MOVE:
		mask = with_bit(mask, op->dst, src);
		break;
	case OP_SWAP:
		mask = with_bit(mask, op->src, state->computed >> op->dst & 1);
		mask = with_bit(mask, op->dst, src);
		break;
	case OP_LEA:
		mask = with_bit(mask, op->dst, op->src != ARCH_SP);
		break;
	case OP_ADD:
	case OP_ADDRESS:
	case OP_TABLE:
	case OP_SUM:
		mask = with_bit(mask, op->dst, true);
		break;
	case OP_CALL:
	case OP_CALL_ANY:
	case OP_CALL_REGISTER:
		mask &= (uint16_t)~call_clobbers;
		break;
	default:
		break;
	}
	return with_bit(mask, ARCH_SP, false);
}

void synth_state_step(struct synth_state *state, const struct synth_op *op, uint32_t at,
		      uint16_t call_clobbers)
{
	struct synth_value *dst = &state->regs[op->dst], src = state->regs[op->src];
	struct synth_value sp = state->regs[ARCH_SP];

	state->computed = computed_after(state, op, call_clobbers);
	state->has_called |= op->kind >= OP_CALL && op->kind <= OP_CALL_REGISTER;
	switch ((enum synth_op_kind)op->kind) {
	case OP_PUSH:
	case OP_PUSH_OTHER:
		push(state, op->kind == OP_PUSH ? src : (struct synth_value){ 0, 0, 0 });
		break;
	case OP_POP:
		*dst = pop(state);
		break;
	case OP_POP_OTHER:
		pop(state);
		break;
	case OP_ADD:
		*dst = moved(*dst, op->imm);
		break;
	case OP_ALIGN:
		align(state, op->dst, at);
		break;
	case OP_LEA:
		*dst = op->imm ? moved(src, op->imm) : src;
		break;
	case OP_MOVE:
		*dst = src;
		break;
	case OP_SWAP:
		swap(state, op->dst, op->src);
		break;
	case OP_LOAD:
		*dst = load(state, moved(src, op->imm));
		break;
	case OP_STORE:
		store(state, moved(*dst, op->imm), src);
		break;
	case OP_STORE_OTHER:
		forget(state, moved(*dst, op->imm), op->nr_bytes);
		break;
	case OP_ADDRESS:
	case OP_TABLE:
	case OP_SUM:
		dst->kind = VALUE_UNKNOWN;
		break;
	case OP_LEAVE:
		leave(state);
		break;
	case OP_CALL:
	case OP_CALL_ANY:
	case OP_CALL_REGISTER:
		forget_below(state, 0);
		lose(state, call_clobbers);
		break;
	default:
		break;
	}
	lose(state, op->clobbers);
	if (op->kind == OP_STORE || !same(&state->regs[ARCH_SP], &sp))
		forget_below(state, RED_ZONE);
}

/* Does @op write an unknown value to its dst? True only for some that do. */
static bool makes_unknown(const struct synth_state *state, const struct synth_op *op)
{
	switch ((enum synth_op_kind)op->kind) {
	case OP_ADDRESS:
	case OP_TABLE:
	case OP_SUM:
	case OP_ADD: /* to itself */
		return true;
	case OP_LOAD:
		return !is_place(&state->regs[op->src]);
	case OP_LEA:
	case OP_MOVE:
		return state->regs[op->src].kind == VALUE_UNKNOWN;
	default:
		return false;
	}
}

bool synth_state_stays(const struct synth_state *state, const struct synth_op *op)
{
	unsigned written = op->clobbers;

	if (computed_after(state, op, 0) != state->computed)
		return false;
	if (op->kind != OP_OTHER) {
		if (!makes_unknown(state, op))
			return false;
		written |= 1u << op->dst;
	}
	for (; written; written &= written - 1)
		if (state->regs[__builtin_ctz(written)].kind != VALUE_UNKNOWN)
			return false;
	return true;
}

/* A value that is neither a place nor a register's consists of its kind alone. */
static void tidy(struct synth_value *value)
{
	if (value->kind == VALUE_UNKNOWN)
		*value = (struct synth_value){ VALUE_UNKNOWN, 0, 0 };
}

/* state->computed after a merge with @other: both paths refute the frame pointer, or it is open. */
static uint16_t computed_on_both(const struct synth_state *state, const struct synth_state *other)
{
	return with_bit(state->computed & other->computed, RBP,
			synth_state_refutes_fp(state) && synth_state_refutes_fp(other));
}

bool synth_state_merge(struct synth_state *state, const struct synth_state *other)
{
	uint16_t computed = computed_on_both(state, other);
	bool lost = (state->computed & ~computed) != 0 ||
		    (other->has_called && !state->has_called) ||
		    (other->ra_overwritten && !state->ra_overwritten);

	state->computed = computed;
	state->has_called |= other->has_called;
	state->ra_overwritten |= other->ra_overwritten;
	if (state->aligned_at && state->aligned_at != other->aligned_at) {
		forget_aligned(state);
		lost = true;
	}
	for (unsigned reg = 0; reg < FPL_NR_REGS; reg++) {
		tidy(&state->regs[reg]);
		if (state->regs[reg].kind == VALUE_UNKNOWN ||
		    same(&state->regs[reg], &other->regs[reg]))
			continue;
		state->regs[reg] = (struct synth_value){ VALUE_UNKNOWN, 0, 0 };
		lost = true;
	}
	for (size_t i = state->nr_slots; i-- > 0;) {
		struct synth_slot *slot = &state->slots[i];
		struct synth_value there =
			load(other, (struct synth_value){ slot->base, 0, slot->off });

		if (same(&slot->value, &there))
			continue;
		slot_drop(state, i);
		lost = true;
	}
	return lost;
}

bool synth_state_refutes_fp(const struct synth_state *state)
{
	const struct synth_value *fp = &state->regs[RBP];

	switch ((enum synth_value_kind)fp->kind) {
	case VALUE_INITIAL:
		return true;
	case VALUE_CFA:
		return !is_frame_pointer(fp);
	case VALUE_ALIGNED: /* a copy of the return address may lie behind it */
		return false;
	case VALUE_UNKNOWN:
		break;
	}
	return state->computed >> RBP & 1;
}

uint16_t synth_state_initial(const struct synth_state *state)
{
	unsigned mask = 0;

	for (unsigned reg = 0; reg < FPL_NR_REGS; reg++)
		if (state->regs[reg].kind == VALUE_INITIAL && state->regs[reg].reg == reg)
			mask |= 1u << reg;
	return (uint16_t)mask;
}

bool synth_state_is_entry(const struct synth_state *state)
{
	return synth_state_is_balanced(state) &&
	       (synth_state_initial(state) & ARCH_CALLEE_SAVED) == ARCH_CALLEE_SAVED;
}

bool synth_state_other_depth(const struct synth_state *state, const struct synth_state *other)
{
	const struct synth_value *a = &state->regs[ARCH_SP], *b = &other->regs[ARCH_SP];

	return is_place(a) && is_place(b) && !same(a, b);
}

/* Find a register at a fixed distance from @place, rsp before rbp before others: its number and
 * *ret_off = place - register; FPL_NR_REGS: not found. */
static unsigned find_base(const struct synth_state *state, struct synth_value place,
			  int64_t *ret_off)
{
	static const uint8_t order[FPL_NR_REGS] = { ARCH_SP, RBP, 3, 12, 13, 14, 15, 0,
						    1,	     2,	  4, 5,	 8,  9,	 10, 11 };

	for (unsigned i = 0; i < FPL_NR_REGS; i++) {
		const struct synth_value *value = &state->regs[order[i]];

		if (value->kind != place.kind)
			continue;
		*ret_off = (int64_t)place.off - value->off;
		return order[i];
	}
	return FPL_NR_REGS;
}

/*
 * Prefer a frame pointer to rsp: it is right behind a call whose callee pops arguments from the
 * stack, or jumps on to a function with more of them, as V8's builtins do.
 */
static bool find_cfa(const struct synth_state *state, struct cfi_row *row)
{
	int64_t off;
	unsigned reg = RBP;

	if (is_frame_pointer(&state->regs[RBP]))
		off = -state->regs[RBP].off;
	else
		reg = find_base(state, (struct synth_value){ VALUE_CFA, 0, 0 }, &off);

	if (reg != FPL_NR_REGS) {
		row->cfa = FPL_CFA_REG;
		row->cfa_reg = (uint8_t)reg;
		row->cfa_off = off;
		return true;
	}
	for (size_t i = 0; i < state->nr_slots; i++) {
		const struct synth_slot *slot = &state->slots[i];

		if (slot->value.kind != VALUE_CFA)
			continue;
		reg = find_base(state, (struct synth_value){ slot->base, 0, slot->off }, &off);
		if (reg == FPL_NR_REGS)
			continue;
		row->cfa = FPL_CFA_DEREF;
		row->cfa_reg = (uint8_t)reg;
		row->cfa_off = off;
		row->cfa_off2 = -(int64_t)slot->value.off;
		return true;
	}
	return false;
}

/* Place of the caller's @reg. */
static struct cfi_reg find_saved(const struct synth_state *state, unsigned reg)
{
	struct synth_value wanted = { VALUE_INITIAL, (uint8_t)reg, 0 };
	int64_t off;

	if (same(&state->regs[reg], &wanted))
		return (struct cfi_reg){ .kind = CFI_SAME };
	for (size_t i = 0; i < state->nr_slots; i++) {
		const struct synth_slot *slot = &state->slots[i];

		if (!same(&slot->value, &wanted))
			continue;
		if (slot->base == VALUE_CFA)
			return (struct cfi_reg){ .kind = CFI_AT_CFA, .off = slot->off };
		unsigned base =
			find_base(state, (struct synth_value){ slot->base, 0, slot->off }, &off);

		if (base != FPL_NR_REGS && off == (int32_t)off)
			return (struct cfi_reg){ .kind = CFI_AT_REG,
						 .reg = (uint8_t)base,
						 .off = (int32_t)off };
	}
	for (unsigned other = 0; other < FPL_NR_REGS; other++)
		if (same(&state->regs[other], &wanted))
			return (struct cfi_reg){ .kind = CFI_VAL_REG, .reg = (uint8_t)other };
	return (struct cfi_reg){ .kind = CFI_UNDEF };
}

bool synth_state_row(const struct synth_state *state, struct cfi_row *ret)
{
	if (!find_cfa(state, ret))
		return false;
	ret->source = CFI_SOURCE_SYNTH;
	for (unsigned i = 0; i < FPL_NR_SAVED; i++)
		ret->reg[arch_saved_regs[i]] = find_saved(state, arch_saved_regs[i]);
	ret->reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = ARCH_RA_OFF };
	return true;
}

uint16_t synth_row_reads(const struct cfi_row *row)
{
	unsigned mask = 0;

	if (row->cfa == FPL_CFA_REG || row->cfa == FPL_CFA_DEREF || row->cfa == FPL_CFA_INDEX)
		mask |= 1u << (row->cfa_reg & 15);
	if (row->cfa == FPL_CFA_INDEX)
		mask |= 1u << (row->cfa_reg2 & 15);
	for (unsigned i = 0; i < CFI_NR_REGS; i++) {
		const struct cfi_reg *reg = &row->reg[i];

		if ((reg->kind == CFI_AT_REG || reg->kind == CFI_VAL_REG) && reg->reg != i)
			mask |= 1u << reg->reg;
	}
	return (uint16_t)(mask & SYNTH_ABI_CLOBBERS);
}

/* Compare a row's rule for the caller's @reg with the known facts. */
static enum synth_opinion judge_register(const struct synth_state *state, unsigned reg,
					 const struct cfi_reg *rule)
{
	struct synth_value wanted = { VALUE_INITIAL, (uint8_t)reg, 0 }, found = { 0, 0, 0 };

	switch (rule->kind) {
	case CFI_SAME:
		found = state->regs[reg];
		break;
	case CFI_AT_CFA:
		found = load(state, moved((struct synth_value){ VALUE_CFA, 0, 0 }, rule->off));
		break;
	case CFI_AT_REG:
		found = load(state, moved(state->regs[rule->reg], rule->off));
		break;
	default:
		return OPINION_NONE;
	}
	if (found.kind == VALUE_UNKNOWN)
		return OPINION_NONE;
	return same(&found, &wanted) ? OPINION_AGREE : OPINION_WRONG;
}

enum synth_opinion synth_state_judge(const struct synth_state *state, const struct cfi_row *row)
{
	struct synth_value cfa = { VALUE_UNKNOWN, 0, 0 };

	if (row->reg[CFI_RA].kind == CFI_UNDEF)
		return OPINION_NONE; /* it has no caller, so no CFA */
	if (row->cfa == FPL_CFA_REG)
		cfa = moved(state->regs[row->cfa_reg], row->cfa_off);
	else if (row->cfa == FPL_CFA_DEREF)
		cfa = moved(load(state, moved(state->regs[row->cfa_reg], row->cfa_off)),
			    row->cfa_off2);
	if (cfa.kind == VALUE_CFA && cfa.off != 0)
		return OPINION_WRONG;
	for (unsigned i = 0; i < FPL_NR_SAVED; i++)
		if (judge_register(state, arch_saved_regs[i], &row->reg[arch_saved_regs[i]]) ==
		    OPINION_WRONG)
			return OPINION_WRONG;
	return cfa.kind == VALUE_CFA ? OPINION_AGREE : OPINION_NONE;
}
