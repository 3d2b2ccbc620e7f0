/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/ghc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "unwind/arch_x86_64.h"
#include "unwind/pieces.h"
#include "unwind/synth/code.h"

/* DW_CFA_val_expression of rsp, DW_OP_breg7 with an offset of three bytes: StgRun's FDE */
static const uint8_t raised_sp[] = { CFA_VAL_EXPRESSION, ARCH_SP, 4, 0x70 + ARCH_SP };

/* sub rsp, 48; mov rax, rsp; sub rsp, i32 */
static const uint8_t lower_sp[] = { 0x48, 0x83, 0xec, 0x30, 0x48, 0x89, 0xe0, 0x48, 0x81, 0xec };
/* mov [rax], rbx; mov [rax+8], rbp; ... r12 to r15; mov r13, rsi; mov rax, rdi; jmp rax */
static const uint8_t save_all[] = { 0x48, 0x89, 0x18, 0x48, 0x89, 0x68, 0x08, 0x4c,
				    0x89, 0x60, 0x10, 0x4c, 0x89, 0x68, 0x18, 0x4c,
				    0x89, 0x70, 0x20, 0x4c, 0x89, 0x78, 0x28, 0x49,
				    0x89, 0xf5, 0x48, 0x89, 0xf8, 0xff, 0xe0 };
enum { SAVED_BYTES = 6 * 8, SAVE_AT = sizeof(lower_sp) + 4 };
enum { RETURN_AT = SAVE_AT + sizeof(save_all) };
/* StgReturn: mov rax, rbx; add rsp, i32 */
static const uint8_t raise_sp[] = { 0x48, 0x89, 0xd8, 0x48, 0x81, 0xc4 };
enum { RUN_BYTES = RETURN_AT + sizeof(raise_sp) + 4 };

/* stg_stop_thread: add rbp, -8; mov [rbp+8], rbx */
static const uint8_t stop_thread[] = { 0x48, 0x83, 0xc5, 0xf8, 0x48, 0x89, 0x5d, 0x08 };
enum { INFO_BYTES = 16, STOP_BYTES = 128, JUMP = 0xe9, JUMP_BYTES = 5 };
enum { RET_SMALL = 30, STOP_FRAME = 36 };

/*
 * Code that applies functions (stg_ap_p) is entered by a return to its frame, and by a jump of code
 * that has made room for such a frame without filling it (stg_ap_p_fast): add rbp, -8 * words.
 */
static const uint8_t make_room[] = { 0x48, 0x83, 0xc5 };
enum { ROOM_BYTES = 4, JUMP_NEAR = 64, OWN_BYTES = 2048, OWN_WORDS_MAX = 15, OWN_MAX = 16384 };

static const uint8_t jump_back[] = { 0xff, 0x65, 0x00 }; /* jmp [rbp]: how Haskell code returns */

enum { LOOK = 256 << 10, OVERLAP = INFO_BYTES + STOP_BYTES, NEAR = 512 << 10 };

/* Code that may be entered with room for a frame of so many words. */
struct own {
	uint64_t vaddr;
	uint32_t words;
};

struct ghc {
	struct cfi_file *file; /* borrowed */
	const struct elf_file *elf;
	struct synth_codes codes;
	struct cfi_row row;   /* of all Haskell code; cfa NONE: StgRun was not found */
	uint64_t stg_return;  /* vaddr */
	struct cfi_row *rows; /* owned [nr_rows] */
	size_t nr_rows, room_rows;
	struct own *owns; /* owned [nr_owns]: by what jumps there */
	size_t nr_owns, room_owns;
	struct fpl_err *err;
};

static void cleanup_ghc(struct ghc *ghc)
{
	synth_codes_fini(&ghc->codes);
	free(ghc->rows);
	free(ghc->owns);
}

static int32_t number(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static int note_row(const struct cfi_row *row, void *ctx)
{
	*(struct cfi_row *)ctx = *row;
	return 0;
}

/* Is the last row of StgRun's FDE that of a frame of @frame bytes, with the registers at its end?
 */
static bool is_frame(const struct cfi_row *row, int64_t frame)
{
	static const int32_t at[FPL_NR_SAVED] = { 0, 8, 16, 24, 32, 40 };
	const struct cfi_reg *sp = &row->reg[ARCH_SP], *ra = &row->reg[CFI_RA];

	if (row->cfa != FPL_CFA_REG || row->cfa_reg != ARCH_SP || row->cfa_off ||
	    sp->kind != CFI_VAL_REG || sp->reg != ARCH_SP || sp->off != frame ||
	    ra->kind != CFI_AT_CFA || ra->off != frame + ARCH_RA_OFF)
		return false;
	for (unsigned i = 0; i < FPL_NR_SAVED; i++) {
		const struct cfi_reg *reg = &row->reg[arch_saved_regs[i]];

		if (reg->kind != CFI_AT_CFA || reg->off != frame - SAVED_BYTES - 8 + at[i])
			return false;
	}
	return true;
}

static void make_row(struct ghc *ghc, int64_t frame)
{
	struct cfi_row *row = &ghc->row;

	*row = (struct cfi_row){ .cfa = FPL_CFA_HASKELL,
				 .cfa_reg = ARCH_SP,
				 .cfa_off = frame,
				 .source = CFI_SOURCE_SYNTH };
	for (unsigned i = 0; i < FPL_NR_SAVED; i++)
		row->reg[arch_saved_regs[i]] =
			(struct cfi_reg){ .kind = CFI_AT_CFA,
					  .off = 8 * (int32_t)i - SAVED_BYTES - 8 };
	row->reg[CFI_RA] = (struct cfi_reg){ .kind = CFI_AT_CFA, .off = ARCH_RA_OFF };
}

/* The code of @fde: is it StgRun's, as the FDE says? */
static int read_run(struct ghc *ghc, const struct cfi_fde *fde, const uint8_t *code)
{
	struct cfi_file *file = ghc->file;
	struct cfi_row row = { .cfa = FPL_CFA_NONE };
	int64_t room = number(code + sizeof(lower_sp));
	int64_t frame = room + SAVED_BYTES + 8;
	uint64_t end;
	int status;

	if (memcmp(code, lower_sp, sizeof(lower_sp)) ||
	    memcmp(code + SAVE_AT, save_all, sizeof(save_all)) ||
	    memcmp(code + RETURN_AT, raise_sp, sizeof(raise_sp)) ||
	    number(code + RETURN_AT + sizeof(raise_sp)) != room || room <= 0 || (room & 15))
		return 0;
	status = cfa_program_run(&file->machine, &file->list.cies[fde->cie], fde, fde->start,
				 fde->end, note_row, &row, &end, ghc->err);
	if (status < 0)
		return status;
	if (status || row.end != fde->end || !is_frame(&row, frame))
		return 0;
	make_row(ghc, frame);
	ghc->stg_return = fde->start + RETURN_AT;
	return 0;
}

static const struct cfi_fde *fde_at(const struct cfi_file *file, const struct cfi_section *section,
				    size_t off)
{
	for (size_t i = 0; i < file->list.nr_fdes; i++) {
		const struct cfi_fde *fde = &file->list.fdes[i];

		if (file->list.cies[fde->cie].section == section && off >= fde->code_off &&
		    off < fde->code_end)
			return fde;
	}
	return NULL;
}

/* The first bytes of @fde's code; NULL: it is too short, or not there. */
static const uint8_t *run_code(struct ghc *ghc, const struct cfi_fde *fde)
{
	const uint8_t *bytes;

	for (size_t i = 0; i < ghc->codes.nr && fde->end - fde->start >= RUN_BYTES; i++) {
		const struct synth_code *code = &ghc->codes.list[i];
		uint64_t off = fde->start - code->start;

		if (off < code->size && code->size - off >= RUN_BYTES)
			return synth_codes_bytes(&ghc->codes, code, fde->start, RUN_BYTES, &bytes,
						 NULL)
				       ? NULL
				       : bytes;
	}
	return NULL;
}

/* Find StgRun by its FDE, which raises rsp by a constant, as no other function's does. */
static int find_run(struct ghc *ghc, const struct cfi_section *section)
{
	const uint8_t *found = memmem(section->bytes, section->size, raised_sp, sizeof(raised_sp));
	const struct cfi_fde *fde;
	const uint8_t *code;
	int status = 0;

	if (!found)
		return 0;
	fde = fde_at(ghc->file, section, (size_t)(found - section->bytes));
	if (fde && !ghc->codes.elf)
		status = synth_codes_open(&ghc->codes, ghc->elf, &ghc->file->budget, ghc->err);
	if (status)
		return status;
	code = fde ? run_code(ghc, fde) : NULL;
	return code ? read_run(ghc, fde, code) : 0;
}

/* Drop the pieces of FDEs of which the CIE says that rbp is the stack pointer: GHC's own. */
static int drop_pieces(struct ghc *ghc)
{
	struct cfi_file *file = ghc->file;
	size_t nr = 0;

	for (size_t i = 0; i < file->nr_pieces; i++) {
		const struct cfi_piece piece = file->pieces[i];

		if (!(piece.fde & CFI_PIECE_MADE)) {
			struct cfi_cie *cie = &file->list.cies[file->list.fdes[piece.fde].cie];
			const struct cfi_row *row = &cie->initial;
			int status =
				cie->started ? 0 : cfa_program_start(&file->machine, cie, ghc->err);

			if (status)
				return status;
			if (!cie->bad && row->cfa == FPL_CFA_REG &&
			    row->cfa_reg == ARCH_FRAME_POINTER && row->cfa_off == 0 &&
			    row->reg[CFI_RA].kind == CFI_AT_CFA && row->reg[CFI_RA].off == 0)
				continue;
		}
		file->pieces[nr++] = piece;
	}
	file->nr_pieces = nr;
	return 0;
}

/* Is stg_stop_thread at @bytes [size], at @vaddr? */
static bool is_stop(const struct ghc *ghc, const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	static const uint8_t no_words[8];

	if ((vaddr & 7) || memcmp(bytes - INFO_BYTES, no_words, 8) ||
	    number(bytes - 8) != STOP_FRAME || number(bytes - 4))
		return false;
	for (size_t at = sizeof(stop_thread); at + JUMP_BYTES <= size && at < STOP_BYTES; at++) {
		uint64_t behind = vaddr + at + JUMP_BYTES;

		if (bytes[at] == JUMP &&
		    behind + (uint64_t)(int64_t)number(bytes + at + 1) == ghc->stg_return)
			return true;
	}
	return false;
}

static void find_stop(struct ghc *ghc, const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	size_t at = INFO_BYTES;

	while (!ghc->row.cfa_off2 && at < size) {
		const uint8_t *found =
			memmem(bytes + at, size - at, stop_thread, sizeof(stop_thread));

		if (!found)
			return;
		at = (size_t)(found - bytes);
		if (is_stop(ghc, found, size - at, vaddr + at))
			ghc->row.cfa_off2 = STOP_FRAME;
		at++;
	}
}

/* Is the code at @vaddr near that of the run time, which is linked in one piece? */
static bool is_run_time(const struct ghc *ghc, uint64_t vaddr)
{
	return vaddr - (ghc->stg_return - NEAR) < 2 * NEAR;
}

/* Note where the code behind @bytes [size], at @vaddr, jumps to, which makes room for @words. */
static int note_jumps(struct ghc *ghc, const uint8_t *bytes, size_t size, uint64_t vaddr,
		      uint32_t words)
{
	int status = 0;

	for (size_t at = 0; at + JUMP_BYTES <= size && at < JUMP_NEAR && status == 0; at++) {
		uint64_t to = vaddr + at + JUMP_BYTES + (uint64_t)(int64_t)number(bytes + at + 1);

		if (bytes[at] != JUMP || (to & 7) || !is_run_time(ghc, to) ||
		    ghc->nr_owns == OWN_MAX)
			continue;
		status = budget_grow(&ghc->file->budget, &ghc->owns, &ghc->room_owns, ghc->nr_owns,
				     sizeof(*ghc->owns), ghc->err);
		if (status == 0)
			ghc->owns[ghc->nr_owns++] = (struct own){ to, words };
	}
	return status;
}

static int find_owns(struct ghc *ghc, const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	int status = 0;

	for (size_t at = 0; status == 0; at += ROOM_BYTES) {
		const uint8_t *found =
			at < size ? memmem(bytes + at, size - at, make_room, sizeof(make_room))
				  : NULL;
		int room;

		if (!found || (at = (size_t)(found - bytes)) + ROOM_BYTES > size)
			break;
		room = -(int8_t)found[sizeof(make_room)];
		if (room > 0 && room % 8 == 0 && room / 8 <= OWN_WORDS_MAX)
			status = note_jumps(ghc, found + ROOM_BYTES, size - at - ROOM_BYTES,
					    vaddr + at + ROOM_BYTES, (uint32_t)room / 8);
	}
	return status;
}

/* Is the code at @bytes preceded by the words of a frame or a closure? */
static bool has_info(const uint8_t *bytes)
{
	return number(bytes - 8) > 0 && number(bytes - 8) < 64 && !number(bytes - 4) &&
	       !number(bytes - 12);
}

/* Add a row for the code that @own says, if it has a frame of that size: up to the next such words.
 */
static int own_row(struct ghc *ghc, const struct synth_code *code, const struct own *own)
{
	uint64_t start = own->vaddr - INFO_BYTES, left = code->start + code->size - start;
	size_t size = left < OWN_BYTES ? (size_t)left : OWN_BYTES, end = INFO_BYTES + 8;
	const uint8_t *bytes;
	int status = synth_codes_bytes(&ghc->codes, code, start, size, &bytes, ghc->err);

	if (status || size <= INFO_BYTES || !has_info(bytes + INFO_BYTES) ||
	    number(bytes + INFO_BYTES - 8) != RET_SMALL ||
	    1 + ((uint32_t)number(bytes) & 63) != own->words)
		return status;
	while (end + 8 <= size && !(end >= 2 * INFO_BYTES && has_info(bytes + end)))
		end += 8;
	status = budget_grow(&ghc->file->budget, &ghc->rows, &ghc->room_rows, ghc->nr_rows,
			     sizeof(*ghc->rows), ghc->err);
	if (status == 0) {
		ghc->rows[ghc->nr_rows] = ghc->row;
		ghc->rows[ghc->nr_rows].cfa_reg2 = (uint8_t)own->words;
		ghc->rows[ghc->nr_rows].start = own->vaddr;
		ghc->rows[ghc->nr_rows++].end = start + end - INFO_BYTES;
	}
	return status;
}

/* Look at the code without FDE [@start, @end): is it Haskell's, and is stg_stop_thread there? */
static int look_at(struct ghc *ghc, const struct synth_code *code, uint64_t start, uint64_t end)
{
	bool is_haskell = false;

	for (uint64_t at = start; at < end; at += LOOK) {
		size_t size = end - at < LOOK + OVERLAP ? (size_t)(end - at) : LOOK + OVERLAP;
		const uint8_t *bytes;
		int status;

		if (is_haskell && !is_run_time(ghc, at))
			continue;
		status = budget_check(&ghc->file->budget, ghc->err);
		if (status == 0)
			status = synth_codes_bytes(&ghc->codes, code, at, size, &bytes, ghc->err);
		if (status)
			return status;
		is_haskell |= memmem(bytes, size, jump_back, sizeof(jump_back)) != NULL;
		if (!is_run_time(ghc, at))
			continue;
		find_stop(ghc, bytes, size, at);
		status = find_owns(ghc, bytes, size, at);
		if (status)
			return status;
	}
	if (!is_haskell)
		return 0;

	int status = budget_grow(&ghc->file->budget, &ghc->rows, &ghc->room_rows, ghc->nr_rows,
				 sizeof(*ghc->rows), ghc->err);

	if (status == 0) {
		ghc->rows[ghc->nr_rows] = ghc->row;
		ghc->rows[ghc->nr_rows].start = start;
		ghc->rows[ghc->nr_rows++].end = end;
	}
	return status;
}

/* The same for [@start, @end), without the program's entry, which no Haskell code is called by. */
static int look_around(struct ghc *ghc, const struct synth_code *code, uint64_t start, uint64_t end)
{
	uint64_t entry = ghc->elf->entry, behind = entry + WALK_ENTRY_BYTES;
	int status;

	if (start >= end)
		return 0;
	if (entry < start || entry >= end)
		return look_at(ghc, code, start, end);
	status = look_at(ghc, code, start, entry);
	return status || behind >= end ? status : look_at(ghc, code, behind, end);
}

static int look_through(struct ghc *ghc, const struct synth_code *code)
{
	const struct cfi_file *file = ghc->file;
	uint64_t at = code->start, end = code->start + code->size;
	size_t i = SORTED_UP_TO(file->pieces, start, file->nr_pieces, code->start);
	int status = 0;

	for (i -= i > 0; i < file->nr_pieces && file->pieces[i].start < end && status == 0; i++) {
		const struct cfi_piece *piece = &file->pieces[i];

		if (piece->end <= at)
			continue;
		status = look_around(ghc, code, at, piece->start);
		at = piece->end;
	}
	return status ? status : look_around(ghc, code, at, end);
}

static int by_vaddr(const void *a, const void *b)
{
	const struct own *left = a, *right = b;

	return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

/* Add rows for the code in @code that has a frame of its own. Ascending: the file is read once. */
static int add_owns(struct ghc *ghc, const struct synth_code *code)
{
	int status = 0;

	for (size_t i = 0; i < ghc->nr_owns && status == 0; i++) {
		uint64_t off = ghc->owns[i].vaddr - code->start;

		if (off >= INFO_BYTES && off < code->size)
			status = own_row(ghc, code, &ghc->owns[i]);
	}
	return status;
}

/* Add the rows of code with a frame of its own, and in between those of all other Haskell code. */
static int add_rows(struct ghc *ghc)
{
	size_t nr = ghc->nr_rows;
	int status = 0;

	/* they were made before stg_stop_thread was found */
	for (size_t i = 0; i < nr; i++)
		ghc->rows[i].cfa_off2 = ghc->row.cfa_off2;
	if (ghc->nr_owns)
		qsort(ghc->owns, ghc->nr_owns, sizeof(*ghc->owns), by_vaddr);
	for (size_t i = 0; i < ghc->codes.nr && status == 0; i++)
		status = add_owns(ghc, &ghc->codes.list[i]);
	if (status == 0)
		status = pieces_add_rows(ghc->file, ghc->rows + nr, ghc->nr_rows - nr, ghc->err);
	return status ? status : pieces_add_rows(ghc->file, ghc->rows, nr, ghc->err);
}

int synth_fill_haskell(struct cfi_file *file, const struct elf_file *elf, struct fpl_err *err)
{
	CLEANUP(cleanup_ghc) struct ghc ghc = { .file = file, .elf = elf, .err = err };
	int status = 0;

	for (size_t i = 0; i < file->nr_sections && ghc.row.cfa == FPL_CFA_NONE && status == 0; i++)
		if (file->sections[i].source == CFI_SOURCE_EH_FRAME)
			status = find_run(&ghc, &file->sections[i]);
	if (status == 0 && ghc.row.cfa != FPL_CFA_NONE) {
		status = drop_pieces(&ghc);
		for (size_t i = 0; i < ghc.codes.nr && status == 0; i++)
			status = look_through(&ghc, &ghc.codes.list[i]);
		if (status == 0 && ghc.row.cfa_off2)
			status = add_rows(&ghc);
	}
	/* code that cannot be read has no rows */
	return status == -ENOMEM || status == -EFBIG ? status : 0;
}
