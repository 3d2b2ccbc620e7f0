/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/fast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/arch_x86_64.h"

enum {
	/* The only factors compilers write for x86-64: offsets are then words below the CFA. */
	CODE_ALIGN = 1,
	DATA_ALIGN = -8,
	REMEMBER_MAX = 8,	 /* deeper is left to the general interpreter */
	PROGRAM_MAX = 64 * 1024, /* bytes; in longer ones the budget must be looked at in between */
	OFFSET_WORDS_MAX = 126,
};

/* Bits of rule_words.low. */
enum { REG_SHIFT = 16, CFA_OFF_SHIFT = 32 };

struct fast_state {
	struct rule_words words, initial;
	struct rule_words *remembered; /* [REMEMBER_MAX] */
	unsigned nr_remembered;
	const uint8_t *pos, *end;
};

/*
 * Pairs of instructions, as four bytes read at once: "push" is DW_CFA_def_cfa_offset and
 * DW_CFA_offset, each with an operand of one byte. One comparison saves the unpredictable branches,
 * which take most of the time.
 */
enum {
	PUSH_MASK = (int)0x80c080ffu,
	PUSH_BITS = CFA_OFFSET << 16 | CFA_DEF_CFA_OFFSET,
	DEF_OFF_MASK = 0x80ff,
	DEF_OFF_BITS = CFA_DEF_CFA_OFFSET,
};

/* By column: 1 + bit of its byte in rule_words.high; 0: not saved. */
static const uint8_t saved_bit[64] = {
	[3] = 1, [6] = 9, [12] = 17, [13] = 25, [14] = 33, [15] = 41,
};

int fast_init(struct fast *fast, struct cfi_file *file, struct rule_set *rules, struct image *image,
	      struct fpl_err *err)
{
	fast->file = file;
	fast->rules = rules;
	fast->image = image;
	fast->starts = calloc(file->list.nr_cies + 1, sizeof(*fast->starts));
	if (!fast->starts)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->budget.name);
	return 0;
}

void fast_fini(struct fast *fast)
{
	free(fast->starts);
}

static int find_start(struct fast *fast, struct cfi_cie *cie, struct fast_start *start,
		      struct fpl_err *err)
{
	struct compact_rule packed;
	int code = 0;

	start->known = true;
	if (!cie->started)
		code = cfa_program_start(&fast->file->machine, cie, err);
	if (code || cie->bad || cie->code_align != CODE_ALIGN || cie->data_align != DATA_ALIGN ||
	    cie->ra_column != ARCH_RA_COLUMN || cie->initial.cfa_reg >= FPL_NR_REGS)
		return code;

	struct cfi_row initial = cie->initial;

	initial.signal = cie->signal;
	compact_pack(&initial, &packed);
	memcpy(&start->words, &packed.rule, sizeof(start->words));
	start->bytes = cie->section->bytes;
	start->usable = packed.nr_slots == 1 && packed.rule.cfa == FPL_CFA_REG &&
			packed.rule.from_reg == 0 &&
			!(packed.rule.flags & (FPL_RULE_END | FPL_RULE_RA_REG));
	return 0;
}

/* The slot of the rule @words, from the cache if it is there. */
static inline int intern(struct fast *fast, struct rule_words words, struct fpl_err *err)
{
	uint64_t hash = (words.low * 0x9e3779b97f4a7c15ull) ^ (words.high * 0xc2b2ae3d27d4eb4full);
	struct fast_entry *entry = &fast->cache[hash >> (64 - FAST_CACHE_LOG2)];

	if (__builtin_expect(entry->words.low == words.low && entry->words.high == words.high, 1))
		return (int)entry->slot;

	struct fpl_rule rule;

	memcpy(&rule, &words, sizeof(rule));

	int slot = rule_set_add(fast->rules, &rule, 1, err);

	if (slot > 0)
		*entry = (struct fast_entry){ words, (uint32_t)slot };
	return slot;
}

/* A ULEB128 of at most four bytes; -1 if it is longer or cut. */
static inline int64_t read_uleb(struct fast_state *state)
{
	uint32_t value = 0;

	for (unsigned shift = 0; shift < 28 && state->pos < state->end; shift += 7) {
		uint8_t byte = *state->pos++;

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	return -1;
}

static inline void set_cfa_off(struct fast_state *state, uint64_t off)
{
	state->words.low = (uint32_t)state->words.low | off << CFA_OFF_SHIFT;
}

/* Column @column is @words words below the CFA. */
static inline bool set_offset(struct fast_state *state, unsigned column, int64_t words)
{
	int shift = saved_bit[column] - 1;

	if (column == ARCH_RA_COLUMN)
		return words == 1; /* where the ABI has it: nothing to say */
	if (shift < 0 || words < 0 || words > OFFSET_WORDS_MAX)
		return false;
	state->words.high = (state->words.high & ~(0xffull << shift)) | (uint64_t)(uint8_t)-words
										<< shift;
	return true;
}

static inline bool restore_reg(struct fast_state *state, unsigned column)
{
	int shift = saved_bit[column] - 1;

	if (shift < 0)
		return false;

	uint64_t mask = 0xffull << shift;

	state->words.high = (state->words.high & ~mask) | (state->initial.high & mask);
	return true;
}

static inline bool def_cfa_register(struct fast_state *state)
{
	int64_t reg = read_uleb(state);

	if (reg < 0 || reg >= FPL_NR_REGS)
		return false;
	state->words.low = (state->words.low & ~(0xffull << REG_SHIFT)) | (uint64_t)reg
										  << REG_SHIFT;
	return true;
}

static inline bool def_cfa_offset(struct fast_state *state)
{
	int64_t off = read_uleb(state);

	if (off < 0)
		return false;
	set_cfa_off(state, (uint64_t)off);
	return true;
}

/* Execute an instruction that does not move the pc; false: unknown to this interpreter. */
static inline bool execute(struct fast_state *state, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		return true;
	case CFA_DEF_CFA:
		return def_cfa_register(state) && def_cfa_offset(state);
	case CFA_DEF_CFA_REGISTER:
		return def_cfa_register(state);
	case CFA_DEF_CFA_OFFSET:
		return def_cfa_offset(state);
	case CFA_REMEMBER_STATE:
		if (state->nr_remembered == REMEMBER_MAX)
			return false;
		state->remembered[state->nr_remembered++] = state->words;
		return true;
	case CFA_RESTORE_STATE:
		if (state->nr_remembered == 0)
			return false;
		state->words = state->remembered[--state->nr_remembered];
		return true;
	case CFA_GNU_ARGS_SIZE:
		return read_uleb(state) >= 0;
	default:
		return false;
	}
}

/* A move of the pc by @size bytes of operand; false: cut. */
static inline bool read_delta(struct fast_state *state, size_t size, uint32_t *delta)
{
	const uint8_t *bytes = state->pos;

	if ((size_t)(state->end - bytes) < size)
		return false;
	state->pos += size;
	*delta = bytes[0];
	if (size > 1)
		*delta |= (uint32_t)bytes[1] << 8;
	if (size > 2)
		*delta |= (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
	return true;
}

/* Execute one instruction; false: unknown here, or cut. @delta: its move of the pc. */
static inline bool step(struct fast_state *state, uint32_t *delta)
{
	uint8_t op = *state->pos++;

	*delta = 0;
	switch (op & 0xc0) {
	case CFA_ADVANCE_LOC:
		*delta = op & 0x3f;
		return true;
	case CFA_OFFSET:
		return set_offset(state, op & 0x3f, read_uleb(state));
	case CFA_RESTORE:
		return restore_reg(state, op & 0x3f);
	default:
		break;
	}
	switch (op) {
	case CFA_ADVANCE_LOC1:
		return read_delta(state, 1, delta);
	case CFA_ADVANCE_LOC2:
		return read_delta(state, 2, delta);
	case CFA_ADVANCE_LOC4:
		return read_delta(state, 4, delta);
	default:
		return execute(state, op);
	}
}

/* Execute a common pair recognised by its first four bytes; false: none follows. */
static inline bool step_common(struct fast_state *state)
{
	uint32_t next;

	if (state->end - state->pos < (ptrdiff_t)sizeof(next))
		return false;
	memcpy(&next, state->pos, sizeof(next));
	if ((next & (uint32_t)PUSH_MASK) == PUSH_BITS &&
	    set_offset(state, next >> 16 & 0x3f, next >> 24)) {
		set_cfa_off(state, next >> 8 & 0xff);
		state->pos += 4;
		return true;
	}
	if ((next & DEF_OFF_MASK) == DEF_OFF_BITS) {
		set_cfa_off(state, next >> 8 & 0xff);
		state->pos += 2;
		return true;
	}
	return false;
}

/*
 * Run up to the next move of the pc. Returns its size, 0 at the end of the program, -1 at an
 * instruction that this interpreter leaves alone.
 */
static inline int64_t next_advance(struct fast_state *state)
{
	while (state->pos < state->end) {
		uint32_t delta;

		/* A common pair is nearly always followed by a short advance. */
		if (step_common(state)) {
			if (state->pos == state->end || (*state->pos & 0xc0) != CFA_ADVANCE_LOC)
				continue;
			delta = *state->pos++ & 0x3f;
		} else if (!step(state, &delta)) {
			return -1;
		}
		if (delta)
			return delta;
	}
	return 0;
}

int fast_run(struct fast *fast, const struct cfi_piece *piece, uint64_t *ret_pc,
	     struct fpl_err *err)
{
	const struct cfi_fde *fde = &fast->file->list.fdes[piece->fde];
	struct fast_start *start = &fast->starts[fde->cie];
	struct image *image = fast->image;

	*ret_pc = piece->start;
	if (!start->known) {
		int code = find_start(fast, &fast->file->list.cies[fde->cie], start, err);

		if (code)
			return code;
	}
	/* The rest of an FDE that another one interrupts begins in the middle of a program. */
	if (!start->usable || fde->code_end - fde->code_off > PROGRAM_MAX ||
	    piece->start != fde->start)
		return 0;

	struct rule_words remembered[REMEMBER_MAX];
	struct fast_state state = {
		.words = start->words,
		.initial = start->words,
		.remembered = remembered,
		.pos = start->bytes + fde->code_off,
		.end = start->bytes + fde->code_end,
	};
	uint64_t pc = piece->start;
	int code = image_begin(image, pc, err);

	while (code == 0 && pc < piece->end) {
		int64_t delta = next_advance(&state);

		if (delta < 0)
			break;

		int slot = intern(fast, state.words, err);

		code = slot < 0 ? slot : image_row(image, pc, (uint32_t)slot, err);
		pc = delta ? pc + (uint64_t)delta : piece->end;
		fast->rows++;
	}
	*ret_pc = pc < piece->end ? pc : piece->end;
	image->end = *ret_pc;
	fast->covered_bytes += *ret_pc - piece->start;
	return code;
}
