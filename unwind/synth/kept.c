/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/kept.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sorted.h"
#include "unwind/arch_x86_64.h"
#include "unwind/synth/code.h"
#include "unwind/synth/known.h"
#include "unwind/synth/state.h"

enum { ROWS_MAX = 256, CALLS_MAX = 256, FDES_MAX = 64, DECODE_MAX = 1 << 20 };

enum { BREG0 = 0x70 }; /* DW_OP_breg0, the first of 32 */

/* A row of a caller that uses registers that calls may change. */
struct needy_row {
	uint64_t start, end;
	uint16_t regs;
};

struct needy_call {
	uint64_t target;
	uint16_t regs;
};

struct kept_search {
	struct cfi_file *file;		 /* borrowed */
	struct synth_codes codes;	 /* owned */
	struct synth_decoder *decoder;	 /* owned */
	uint64_t nr_decoded;		 /* bytes */
	struct needy_row rows[ROWS_MAX]; /* of one FDE */
	size_t nr_rows;
	struct needy_call calls[CALLS_MAX];
	size_t nr_calls;
	uint32_t fdes[FDES_MAX]; /* that of one callee, and all that it leads to */
	size_t nr_fdes;
};

/* The code of one FDE. */
struct fde_code {
	uint64_t start, size;
	const uint8_t *bytes; /* borrowed from kept_search.codes: until the next request */
};

static void cleanup_search(struct kept_search **search)
{
	if (!*search)
		return;
	synth_codes_fini(&(*search)->codes);
	synth_decoder_destroy((*search)->decoder);
	free(*search);
}

static bool is_volatile(unsigned reg)
{
	return reg < FPL_NR_REGS && (SYNTH_ABI_CLOBBERS >> reg & 1);
}

/*
 * May a program of CFI use a register that calls may change, other than to say where its value is?
 * Most bytes that look like it are operands of other instructions.
 */
static bool may_be_needy(const uint8_t *bytes, size_t size)
{
	/* by instruction: distance to the register, in an expression or as a number */
	static const uint8_t number_at[256] = {
		[CFA_DEF_CFA] = 1,	 [CFA_DEF_CFA_REGISTER] = 1,   [CFA_DEF_CFA_SF] = 1,
		[CFA_REGISTER] = 2,	 [CFA_DEF_CFA_EXPRESSION] = 2, [CFA_EXPRESSION] = 3,
		[CFA_VAL_EXPRESSION] = 3
	};

	for (size_t i = 0; i < size; i++) {
		size_t at = number_at[bytes[i]];

		if (!at || at >= size - i)
			continue;

		bool in_expression =
			bytes[i] >= CFA_DEF_CFA_EXPRESSION && bytes[i] != CFA_DEF_CFA_SF;

		if (is_volatile(bytes[i + at] - (in_expression ? BREG0 : 0u)))
			return true;
	}
	return false;
}

static int note_row(const struct cfi_row *row, void *ctx)
{
	struct kept_search *search = ctx;
	uint16_t regs = synth_row_reads(row);

	if (regs && search->nr_rows < ROWS_MAX)
		search->rows[search->nr_rows++] = (struct needy_row){ row->start, row->end, regs };
	return 0;
}

/* Registers that the row of the current FDE needs at @vaddr. */
static uint16_t needed_at(const struct kept_search *search, uint64_t vaddr)
{
	size_t nr = SORTED_UP_TO(search->rows, start, search->nr_rows, vaddr);

	return nr && vaddr < search->rows[nr - 1].end ? search->rows[nr - 1].regs : 0;
}

/* False: its code is unreadable, or too much was decoded already. */
static bool read_fde(struct kept_search *search, uint32_t number, struct fde_code *ret)
{
	const struct cfi_fde *fde = &search->file->list.fdes[number];
	const struct synth_codes *codes = &search->codes;
	size_t nr = SORTED_UP_TO(codes->list, start, codes->nr, fde->start);
	uint64_t size = fde->end - fde->start;

	if (nr == 0 || size > DECODE_MAX - search->nr_decoded)
		return false;

	const struct synth_code *code = &codes->list[nr - 1];

	if (fde->start - code->start >= code->size ||
	    size > code->size - (fde->start - code->start))
		return false;
	search->nr_decoded += size;
	*ret = (struct fde_code){ .start = fde->start, .size = size };
	return synth_codes_bytes(&search->codes, code, fde->start, size, &ret->bytes, NULL) == 0;
}

static void decode_at(struct kept_search *search, const struct fde_code *code, uint64_t at,
		      struct synth_op *ret)
{
	synth_decode(search->decoder, code->bytes + at, code->size - at, code->start + at, ret);
}

/* Note the calls of @fde during which its frame depends on a register that they may change. */
static int note_calls(struct kept_search *search, uint32_t number, struct fpl_err *err)
{
	struct cfi_file *file = search->file;
	const struct cfi_fde *fde = &file->list.fdes[number];
	struct fde_code code;
	struct synth_op op;
	uint64_t end;
	int status = cfa_program_run(&file->machine, &file->list.cies[fde->cie], fde, fde->start,
				     fde->end, note_row, search, &end, err);

	if (status < 0 || search->nr_rows == 0 || !read_fde(search, number, &code))
		return status < 0 ? status : 0;
	for (uint64_t at = 0; at < code.size && search->nr_calls < CALLS_MAX; at += op.size) {
		decode_at(search, &code, at, &op);

		uint16_t regs = needed_at(search, code.start + at + op.size - 1u);

		if (op.kind == OP_CALL && regs)
			search->calls[search->nr_calls++] =
				(struct needy_call){ (uint64_t)op.imm, regs };
	}
	return 0;
}

/* Look at the code at @vaddr, too. False: it belongs to no FDE, or there is no room. */
static bool look_at(struct kept_search *search, uint64_t vaddr)
{
	const struct cfi_file *file = search->file;
	size_t nr = SORTED_UP_TO(file->pieces, start, file->nr_pieces, vaddr);
	const struct cfi_piece *piece = nr ? &file->pieces[nr - 1] : NULL;

	if (!piece || vaddr >= piece->end || (piece->fde & CFI_PIECE_MADE))
		return false;
	for (size_t i = 0; i < search->nr_fdes; i++)
		if (search->fdes[i] == piece->fde)
			return true;
	if (search->nr_fdes == FDES_MAX)
		return false;
	search->fdes[search->nr_fdes++] = piece->fde;
	return true;
}

/*
 * Follow the targets of @op. False: unknown target. @starts: the positions of instructions in
 * @code.
 */
static bool follow(struct kept_search *search, const struct fde_code *code,
		   const struct synth_op *op, const bool *starts)
{
	uint64_t target = (uint64_t)op->imm;

	switch (op->kind) {
	case OP_CALL:
	case OP_JUMP:
	case OP_BRANCH:
		if (target - code->start < code->size)
			return starts[target - code->start];
		return look_at(search, target);
	case OP_CALL_ANY:
	case OP_CALL_REGISTER:
	case OP_JUMP_MEMORY:
	case OP_JUMP_REGISTER:
	case OP_BAD:
		return false;
	default:
		return true;
	}
}

/*
 * Take what @number's instructions write from @regs. Data between them is decoded as instructions,
 * too, and may hide real ones: then a jump leads into the middle of one.
 */
static int take_written(struct kept_search *search, uint32_t number, uint16_t *regs,
			struct fpl_err *err)
{
	struct fde_code code;
	struct synth_op op;

	if (!read_fde(search, number, &code)) {
		*regs = 0;
		return 0;
	}

	AUTO_FREE bool *starts = calloc(code.size + 1, sizeof(*starts));

	if (!starts)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", search->file->budget.name);
	for (uint64_t at = 0; at < code.size; at += op.size) {
		starts[at] = true;
		decode_at(search, &code, at, &op);
	}
	for (uint64_t at = 0; at < code.size && *regs; at += op.size) {
		decode_at(search, &code, at, &op);
		*regs &= (uint16_t)~synth_written_by(&op);
		if (!follow(search, &code, &op, starts))
			*regs = 0;
	}
	return 0;
}

static int keep(struct kept_search *search, uint32_t number, uint16_t regs, struct fpl_err *err)
{
	struct code_facts *facts = &search->file->facts;

	for (size_t i = 0; i < facts->nr_kept; i++)
		if (facts->kept[i].fde == number) {
			facts->kept[i].regs |= regs;
			return 0;
		}
	if (array_reserve(&facts->kept, sizeof(*facts->kept), &facts->room_kept,
			  facts->nr_kept + 1))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", search->file->budget.name);
	facts->kept[facts->nr_kept++] = (struct kept_fact){ number, regs };
	return 0;
}

static int judge_call(struct kept_search *search, const struct needy_call *call,
		      struct fpl_err *err)
{
	uint16_t regs = call->regs;
	int code = 0;

	search->nr_fdes = 0;
	if (!look_at(search, call->target))
		return 0;
	for (size_t i = 0; i < search->nr_fdes && regs && code == 0; i++)
		code = take_written(search, search->fdes[i], &regs, err);
	for (size_t i = 0; i < search->nr_fdes && regs && code == 0; i++)
		code = keep(search, search->fdes[i], regs, err);
	return code;
}

/* The same callee is called from many places. */
static bool is_judged(const struct kept_search *search, size_t call)
{
	for (size_t i = 0; i < call; i++)
		if (search->calls[i].target == search->calls[call].target &&
		    search->calls[i].regs == search->calls[call].regs)
			return true;
	return false;
}

static int search_create(struct cfi_file *file, const struct elf_file *elf,
			 struct kept_search **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_search) struct kept_search *search = calloc(1, sizeof(*search));

	if (search)
		search->decoder = synth_decoder_create();
	if (!search || !search->decoder)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->budget.name);
	search->file = file;

	int code = synth_codes_open(&search->codes, elf, &file->budget, err);

	if (code)
		return code;
	*ret = TAKE_PTR(search);
	return 0;
}

int synth_find_kept(struct cfi_file *file, const struct elf_file *elf, struct fpl_err *err)
{
	CLEANUP(cleanup_search) struct kept_search *search = NULL;
	const struct cfi_list *list = &file->list;
	int code = 0;

	for (uint32_t i = 0; i < list->nr_fdes && code == 0; i++) {
		const struct cfi_fde *fde = &list->fdes[i];
		const uint8_t *bytes = list->cies[fde->cie].section->bytes + fde->code_off;

		if (!may_be_needy(bytes, fde->code_end - fde->code_off))
			continue;
		if (!search)
			code = search_create(file, elf, &search, err);
		if (code)
			return code == -EINVAL ? 0 : code; /* no code to be read */
		search->nr_rows = 0;
		code = note_calls(search, i, err);
	}
	for (size_t i = 0; search && i < search->nr_calls && code == 0; i++)
		if (!is_judged(search, i))
			code = judge_call(search, &search->calls[i], err);
	return code;
}
