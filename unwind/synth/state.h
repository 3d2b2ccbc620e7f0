/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts known before an instruction on every path to it: the value of each general register,
 * and the words of the stack with a known value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/shared.h"
#include "unwind/arch_x86_64.h"
#include "unwind/rows.h"
#include "unwind/synth/op.h"

enum synth_value_kind {
	VALUE_UNKNOWN,
	VALUE_INITIAL, /* the value of register reg at the function's entry */
	VALUE_CFA,     /* CFA + off */
	VALUE_ALIGNED, /* the stack pointer after the alignment at `aligned_at`, + off */
};

struct synth_value {
	uint8_t kind; /* enum synth_value_kind */
	uint8_t reg;
	int32_t off;
};

/* A word of the stack: at CFA + off or aligned + off, as its base says. */
struct synth_slot {
	int32_t off;
	uint8_t base; /* VALUE_CFA or VALUE_ALIGNED */
	struct synth_value value;
};

#define SYNTH_SLOTS_MAX 16u

struct synth_state {
	struct synth_value regs[FPL_NR_REGS];
	struct synth_slot slots[SYNTH_SLOTS_MAX];
	uint32_t nr_slots;
	uint32_t aligned_at; /* position of the instruction that aligned the stack; 0: none */
	uint16_t computed;   /* mask: unknown registers whose value the function itself computed, on
				every path */
	bool has_called;     /* on some path: the stack after that call is assumed unchanged */
	bool ra_overwritten; /* on some path: CFA - 8 does not hold the return address */
};

/* The registers that functions may change by the ABI. */
#define SYNTH_ABI_CLOBBERS ((uint16_t) ~(ARCH_CALLEE_SAVED | 1u << ARCH_SP))

/* At the entry of a function: rsp is CFA - 8, everything else the caller's. */
void synth_state_enter(struct synth_state *state);

/*
 * Apply @op, which stands at position @at. For a call, apply its return: registers of
 * @call_clobbers are unknown then. Cost: O(SYNTH_SLOTS_MAX).
 */
void synth_state_step(struct synth_state *state, const struct synth_op *op, uint32_t at,
		      uint16_t call_clobbers);

/* Does @op change nothing of @state? False is possible for one that does not. O(1). */
bool synth_state_stays(const struct synth_state *state, const struct synth_op *op);

/* Keep the facts of @state that hold in @other, too. True: one was lost. */
bool synth_state_merge(struct synth_state *state, const struct synth_state *other);

/* Mask of the registers that hold their value at the entry. */
uint16_t synth_state_initial(const struct synth_state *state);

/* rsp and the callee-saved registers hold their values at the entry. */
bool synth_state_is_entry(const struct synth_state *state);

/* Is rsp where it was at the entry? */
static inline bool synth_state_is_balanced(const struct synth_state *state)
{
	return state->regs[7].kind == VALUE_CFA && state->regs[7].off == -8;
}

/* Both know the place of rsp, and the places differ. */
bool synth_state_other_depth(const struct synth_state *state, const struct synth_state *other);

/*
 * The row for a pc of this state, without its addresses. False: the CFA is unknown. Lost registers
 * are undefined in it.
 */
bool synth_state_row(const struct synth_state *state, struct cfi_row *ret);

/* Registers that @row of a caller reads and that its callees may change, as a mask. */
uint16_t synth_row_reads(const struct cfi_row *row);

/*
 * Do pushes and pops alone determine the frame: no call since the entry, and the return address in
 * its place?
 */
static inline bool synth_state_is_early(const struct synth_state *state)
{
	return !state->has_called && !state->ra_overwritten && state->regs[7].kind == VALUE_CFA &&
	       state->regs[7].off <= -8;
}

/*
 * Is it proven that rbp is not the function's frame pointer, since it is still, or again, the
 * caller's, or a computed value? False if it is one, or paths disagree.
 */
bool synth_state_refutes_fp(const struct synth_state *state);

/* How a row of CFI looks from this state. */
enum synth_opinion {
	OPINION_NONE, /* what the row names is not known here */
	OPINION_AGREE,
	OPINION_WRONG, /* row and state cannot both be right */
};
enum synth_opinion synth_state_judge(const struct synth_state *state, const struct cfi_row *row);
