/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sorted.h"
#include "unwind/arch_x86_64.h"
#include "unwind/filler.h"
#include "unwind/synth/code.h"
#include "unwind/synth/graph.h"
#include "unwind/synth/leads.h"
#include "unwind/synth/words.h"

enum { NEAR_BYTES = 4 * SYNTH_NEAR_BYTES }; /* so far around a vaddr its code is followed */
enum { WINDOW = 4096, LOOK_BYTES = 4096, HIDE_EVERY = 10, HIDE_AT = 3 };

struct synth_file {
	const struct elf_file *elf;
	struct cfi_file *cfi;
	struct budget *budget;
	enum synth_scope scope;
	struct synth_codes codes;
	struct synth_holes holes;
	struct synth_words words;    /* that lead into holes */
	struct synth_entry *entries; /* owned [nr_entries] */
	size_t nr_entries, room_entries;
	struct synth_decoder *decoder; /* owned */
	uint64_t window_at;	       /* what of the file was read last */
	size_t window_size;
	uint8_t window[WINDOW];
	size_t piece;	      /* number + 1 of the piece whose rows these are */
	struct cfi_row *rows; /* owned [nr_rows] */
	size_t nr_rows, room_rows;
	synth_visit_fn *visit;
	void *ctx;
};

/* Add [start, end) of @code as a hole, without filler at its beginning. */
static int hole_take(struct synth_file *file, uint64_t start, uint64_t end,
		     const struct synth_code *code, struct fpl_err *err)
{
	uint64_t look = end - start < LOOK_BYTES ? end - start : LOOK_BYTES;
	struct synth_hole hole = { start, end - start, NULL };
	const uint8_t *bytes;
	int status = synth_codes_bytes(&file->codes, code, start, look, &bytes, err);

	if (status)
		return status;
	/* most code without FDE is a few bytes between functions */
	if (file->scope != SYNTH_ALL && filler_size(bytes, look, FILLER_ZEROES) == end - start)
		return 0;
	status = synth_codes_keep(&file->codes, code, start, hole.size, &hole.bytes, err);
	if (status)
		return status;
	if (file->scope != SYNTH_ALL) {
		size_t padding = filler_size(hole.bytes, hole.size, FILLER_ZEROES);

		hole.start += padding;
		hole.size -= padding;
		hole.bytes += padding;
	}
	return hole.size ? synth_holes_add(&file->holes, hole, file->budget, err) : 0;
}

/*
 * Add the parts of [start, end) around the vaddrs that the limits name. Entries from elsewhere and
 * ways to elsewhere are invisible: rows near the edges must not be used, and nothing is guessed.
 */
static int near_add(struct synth_file *file, uint64_t start, uint64_t end,
		    const struct synth_code *code, struct fpl_err *err)
{
	const struct table_limits *limits = file->budget->limits;
	size_t i = SORTED_NUMBERS(limits->synth_near, limits->nr_synth_near, start - (start > 0));
	int status = 0;

	while (i < limits->nr_synth_near && limits->synth_near[i] < end && status == 0) {
		uint64_t near = limits->synth_near[i], last = near;

		while (++i < limits->nr_synth_near && limits->synth_near[i] < end &&
		       limits->synth_near[i] - last <= 2 * NEAR_BYTES)
			last = limits->synth_near[i];

		uint64_t from = near - start > NEAR_BYTES ? near - NEAR_BYTES : start;
		uint64_t to = end - last > NEAR_BYTES ? last + NEAR_BYTES : end;

		status = hole_take(file, from, to, code, err);
	}
	return status;
}

static int hole_add(struct synth_file *file, uint64_t start, uint64_t end,
		    const struct synth_code *code, struct fpl_err *err)
{
	if (file->budget->limits->nr_synth_near)
		return near_add(file, start, end, code, err);
	return hole_take(file, start, end, code, err);
}

/*
 * As hole_add(), without the program's entry: no function called it, and the walker knows it by its
 * address.
 */
static int gap_add(struct synth_file *file, uint64_t start, uint64_t end,
		   const struct synth_code *code, struct fpl_err *err)
{
	uint64_t entry = file->elf->entry;
	int status;

	if (entry < start || entry >= end)
		return hole_add(file, start, end, code, err);
	status = entry > start ? hole_add(file, start, entry, code, err) : 0;
	if (status == 0 && end - entry > WALK_ENTRY_BYTES)
		status = hole_add(file, entry + WALK_ENTRY_BYTES, end, code, err);
	return status;
}

static int entry_add(struct synth_file *file, uint64_t vaddr, enum synth_evidence evidence,
		     struct fpl_err *err)
{
	int code = budget_grow(file->budget, &file->entries, &file->room_entries, file->nr_entries,
			       sizeof(*file->entries), err);

	if (code == 0)
		file->entries[file->nr_entries++] =
			(struct synth_entry){ vaddr, (uint8_t)evidence };
	return code;
}

/* Is the FDE of @piece to be treated as missing? */
static bool is_hidden(const struct synth_file *file, const struct cfi_piece *piece)
{
	if (file->scope == SYNTH_HOLES || (piece->fde & CFI_PIECE_MADE))
		return false;
	return file->scope == SYNTH_ALL || piece->fde % HIDE_EVERY == HIDE_AT;
}

/* Find the parts of @code without a piece, and hidden pieces. */
static int find_holes(struct synth_file *file, const struct synth_code *code, struct fpl_err *err)
{
	const struct cfi_file *cfi = file->cfi;
	uint64_t at = code->start, end = code->start + code->size;
	size_t i = SORTED_UP_TO(cfi->pieces, start, cfi->nr_pieces, code->start);
	int status = 0;

	for (i -= i > 0; i < cfi->nr_pieces && cfi->pieces[i].start < end && status == 0; i++) {
		const struct cfi_piece *piece = &cfi->pieces[i];
		uint64_t first = piece->start > at ? piece->start : at;
		uint64_t last = piece->end < end ? piece->end : end;

		if (last <= at)
			continue;
		if (at < first && file->scope != SYNTH_ALL)
			status = gap_add(file, at, first, code, err);
		if (status == 0 && first < last && is_hidden(file, piece))
			status = hole_add(file, first, last, code, err);
		at = last;
	}
	if (at < end && status == 0 && file->scope != SYNTH_ALL)
		status = gap_add(file, at, end, code, err);
	return status;
}

static int keep_row(const struct cfi_row *row, void *ctx)
{
	struct synth_file *file = ctx;

	if (array_reserve(&file->rows, sizeof(*file->rows), &file->room_rows, file->nr_rows + 1))
		return -ENOMEM;
	file->rows[file->nr_rows++] = *row;
	return 0;
}

const struct cfi_row *synth_file_cfi(struct synth_file *file, uint64_t vaddr)
{
	struct cfi_file *cfi = file->cfi;
	size_t nr = SORTED_UP_TO(cfi->pieces, start, cfi->nr_pieces, vaddr);

	if (nr == 0 || vaddr >= cfi->pieces[nr - 1].end)
		return NULL;
	if (file->piece != nr) {
		struct fpl_err err;
		uint64_t end;

		file->piece = nr;
		file->nr_rows = 0;
		if (cfi_file_run(cfi, &cfi->pieces[nr - 1], keep_row, file, &end, &err) == -ENOMEM)
			file->nr_rows = 0;
	}
	nr = SORTED_UP_TO(file->rows, start, file->nr_rows, vaddr);
	return nr > 0 && vaddr < file->rows[nr - 1].end ? &file->rows[nr - 1] : NULL;
}

/* Does the CFI at @vaddr say that only the return address is on the stack? */
static bool is_entry_like(struct synth_file *file, uint64_t vaddr)
{
	const struct cfi_row *row = synth_file_cfi(file, vaddr);

	return row && row->cfa == FPL_CFA_REG && row->cfa_reg == ARCH_SP && row->cfa_off == 8 &&
	       !row->signal && row->reg[CFI_RA].kind == CFI_AT_CFA &&
	       row->reg[CFI_RA].off == ARCH_RA_OFF;
}

/* Does the name at @at of @names [size] mark a part of a function, which is no entry? */
static bool is_part(const char *names, size_t size, size_t at)
{
	size_t end = at < size ? at + strnlen(names + at, size - at) : at;

	return end < size && strstr(names + at, ".cold") != NULL;
}

static bool is_function(const Elf64_Sym *symbol, uint32_t type)
{
	unsigned kind = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && (kind == STT_FUNC || kind == STT_GNU_IFUNC ||
						 (kind == STT_NOTYPE && type == SHT_DYNSYM));
}

/* The contents of a section; empty, without error, if unreadable. */
static int section_bytes(struct synth_file *file, const struct elf_file *elf,
			 const struct elf_section *section, uint8_t **ret, size_t *ret_size)
{
	size_t max = (size_t)budget_memory_left(file->budget);
	int code = elf_file_section_bytes(elf, section, max, ret, ret_size, NULL);

	if (code)
		*ret_size = 0;
	return code == -ENOMEM ? code : 0;
}

static int add_symbols_of(struct synth_file *file, const struct elf_file *elf,
			  const struct elf_section *section, struct fpl_err *err)
{
	AUTO_FREE uint8_t *bytes = NULL, *names = NULL;
	size_t size = 0, names_size = 0;
	int code = section_bytes(file, elf, section, &bytes, &size);

	if (code == 0 && section->link < elf->nr_sections)
		code = section_bytes(file, elf, &elf->sections[section->link], &names, &names_size);
	if (code)
		return fpl_fail(err, code, "%s: out of memory", elf->name);
	for (size_t at = 0; code == 0 && size - at >= sizeof(Elf64_Sym); at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, bytes + at, sizeof(symbol));
		if (is_function(&symbol, section->type) &&
		    synth_holes_have(&file->holes, symbol.st_value) &&
		    !is_part((const char *)names, names_size, symbol.st_name))
			code = entry_add(file, symbol.st_value, EVIDENCE_SYMBOL, err);
	}
	return code;
}

static int add_symbols(struct synth_file *file, const struct elf_file *elf, uint32_t type,
		       struct fpl_err *err)
{
	int code = 0;

	for (size_t i = 0; i < elf->nr_sections && code == 0; i++)
		if (elf->sections[i].type == type)
			code = add_symbols_of(file, elf, &elf->sections[i], err);
	return code;
}

/* Through a window: tables lie together. */
static bool read_vaddr(void *ctx, uint64_t vaddr, void *to, size_t size)
{
	struct synth_file *file = ctx;

	if (vaddr - file->window_at >= file->window_size ||
	    file->window_size - (vaddr - file->window_at) < size) {
		const struct elf_segment *segment = elf_file_load_at(file->elf, vaddr, size);

		if (!segment)
			return false;

		uint64_t left = segment->file_size - (vaddr - segment->vaddr);
		size_t wanted = left < WINDOW ? (size_t)left : WINDOW;

		file->window_size = 0;
		if (elf_file_read(file->elf, segment->off + (vaddr - segment->vaddr), file->window,
				  wanted, NULL))
			return false;
		file->window_at = vaddr;
		file->window_size = wanted;
	}
	memcpy(to, file->window + (vaddr - file->window_at), size);
	return true;
}

static bool wants_word(void *ctx, uint64_t value)
{
	const struct synth_file *file = ctx;

	return synth_holes_have(&file->holes, value);
}

static int add_relocations(struct synth_file *file, struct fpl_err *err)
{
	struct synth_words_source source = {
		.elf = file->elf,
		.budget = file->budget,
		.read = read_vaddr,
		.is_wanted = wants_word,
		.ctx = file,
	};
	int code = synth_words_read(&source, &file->words, err);

	for (size_t i = 0; i < file->words.nr && code == 0; i++)
		code = entry_add(file, file->words.list[i].value, EVIDENCE_DATA, err);
	return code;
}

static int note_target(struct synth_file *file, const struct synth_op *op, uint64_t vaddr,
		       struct fpl_err *err)
{
	enum synth_evidence evidence;

	switch (op->kind) {
	case OP_CALL:
		evidence = EVIDENCE_CALL;
		break;
	case OP_ADDRESS:
		evidence = EVIDENCE_ADDRESS;
		break;
	case OP_JUMP:
	case OP_BRANCH:
		evidence = EVIDENCE_JUMP;
		break;
	default:
		return 0;
	}
	if (!synth_holes_have(&file->holes, (uint64_t)op->imm) ||
	    (evidence == EVIDENCE_JUMP && !is_entry_like(file, vaddr)))
		return 0;
	return entry_add(file, (uint64_t)op->imm, evidence, err);
}

/* Find the places in holes that the covered code @bytes [size] at @vaddr leads to. */
static int search_piece(struct synth_file *file, const uint8_t *bytes, size_t size, uint64_t vaddr,
			struct fpl_err *err)
{
	size_t end = synth_leads_size(&file->holes, bytes, size, vaddr);
	int code = 0;

	for (size_t at = 0; at < end && code == 0;) {
		struct synth_op op;

		synth_decode_lead(file->decoder, bytes + at, size - at, vaddr + at, &op);
		code = note_target(file, &op, vaddr + at, err);
		at += op.size;
	}
	return code;
}

static int search_code(struct synth_file *file, const struct synth_code *code, struct fpl_err *err)
{
	const struct cfi_file *cfi = file->cfi;
	uint64_t end = code->start + code->size;
	size_t i = SORTED_UP_TO(cfi->pieces, start, cfi->nr_pieces, code->start);
	const uint8_t *bytes;
	int status = 0;

	for (i -= i > 0; i < cfi->nr_pieces && cfi->pieces[i].start < end && status == 0; i++) {
		const struct cfi_piece *piece = &cfi->pieces[i];

		if (piece->start < code->start || piece->end > end || is_hidden(file, piece))
			continue;
		status = synth_codes_bytes(&file->codes, code, piece->start,
					   piece->end - piece->start, &bytes, err);
		if (status == 0)
			status = search_piece(file, bytes, piece->end - piece->start, piece->start,
					      err);
		if (status == 0 && i % 1024 == 0)
			status = budget_check(file->budget, err);
	}
	return status;
}

/* A part of a function that only exceptions reach begins with a nop, because offset 0 of its FDE as
 * landing pad would mean that it has none. */
static bool is_landing(const struct synth_file *file, uint64_t vaddr)
{
	const struct synth_holes *holes = &file->holes;
	size_t nr = SORTED_UP_TO(holes->list, start, holes->nr, vaddr);

	return nr > 0 && vaddr == holes->list[nr - 1].start && holes->list[nr - 1].bytes[0] == 0x90;
}

/* Add the entries among code with CFI: FDEs that begin as functions do. */
static int add_fdes(struct synth_file *file, struct fpl_err *err)
{
	int code = 0;

	for (size_t i = 0; i < file->cfi->nr_pieces && code == 0; i++) {
		const struct cfi_piece *piece = &file->cfi->pieces[i];

		if (is_hidden(file, piece) && is_entry_like(file, piece->start) &&
		    !is_landing(file, piece->start))
			code = entry_add(file, piece->start, EVIDENCE_SYMBOL, err);
	}
	return code;
}

/* Is a search of all code for branches into the holes worth its time? */
static bool is_worth_it(const struct synth_file *file)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < file->holes.nr; i++)
		bytes += file->holes.list[i].size;
	return file->scope != SYNTH_ALL && bytes >= SYNTH_SEARCH_MIN;
}

static int gather(struct synth_file *file, const struct elf_file *symbols, struct fpl_err *err)
{
	int code = synth_holes_index(&file->holes, file->budget, err);

	if (code == 0)
		code = add_symbols(file, file->elf, SHT_DYNSYM, err);
	if (code == 0)
		code = add_symbols(file, file->elf, SHT_SYMTAB, err);
	if (code == 0 && symbols)
		code = add_symbols(file, symbols, SHT_SYMTAB, err);
	if (code == 0)
		code = add_relocations(file, err);
	for (size_t i = 0; i < file->codes.nr && code == 0 && is_worth_it(file); i++)
		code = search_code(file, &file->codes.list[i], err);
	if (code == 0 && file->scope == SYNTH_ALL)
		code = add_fdes(file, err);
	return code;
}

int synth_file_open(const struct elf_file *elf, const struct elf_file *symbols,
		    struct cfi_file *cfi, enum synth_scope scope, struct budget *budget,
		    struct synth_file **ret, struct fpl_err *err)
{
	CLEANUP(synth_file_cleanup) struct synth_file *file = calloc(1, sizeof(*file));

	if (!file)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	file->elf = elf;
	file->cfi = cfi;
	file->budget = budget;
	file->scope = scope;
	file->decoder = synth_decoder_create();
	if (!file->decoder)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);

	int code = synth_codes_open(&file->codes, elf, budget, err);

	for (size_t i = 0; i < file->codes.nr && code == 0; i++)
		code = find_holes(file, &file->codes.list[i], err);
	if (code == 0 && file->holes.nr)
		code = gather(file, symbols, err);
	if (code)
		return code;
	*ret = TAKE_PTR(file);
	return 0;
}

void synth_file_close(struct synth_file *file)
{
	if (!file)
		return;
	synth_codes_fini(&file->codes);
	synth_holes_fini(&file->holes);
	free(file->entries);
	free(file->rows);
	synth_words_fini(&file->words);
	synth_decoder_destroy(file->decoder);
	free(file);
}

/* A word of a program that is loaded at its own addresses is as in the file. */
static bool word_at(void *ctx, uint64_t vaddr, uint64_t *ret)
{
	struct synth_file *file = ctx;
	const struct synth_word *word = synth_words_find(&file->words, vaddr);

	if (word)
		*ret = word->value;
	return word || (file->elf->type == ET_EXEC && read_vaddr(file, vaddr, ret, sizeof(*ret)));
}

static const struct cfi_row *cfi_at(void *ctx, uint64_t vaddr)
{
	return synth_file_cfi(ctx, vaddr);
}

/* Behind a call that returns the stack is as before it. */
static bool returns(void *ctx, uint64_t vaddr, unsigned size)
{
	const struct cfi_row *row = synth_file_cfi(ctx, vaddr);
	struct cfi_row before;

	if (!row)
		return true;
	before = *row;
	row = synth_file_cfi(ctx, vaddr + size);
	return row && row->cfa == before.cfa && row->cfa_reg == before.cfa_reg &&
	       row->cfa_off == before.cfa_off;
}

size_t synth_file_known(const struct synth_file *file, struct cfi_row *rows, size_t cap)
{
	size_t nr = 0;

	for (size_t i = 0; i < file->holes.nr; i++) {
		const struct synth_hole *hole = &file->holes.list[i];

		nr += arch_known_rows(hole->bytes, hole->size, hole->start, rows + nr, cap - nr);
	}
	return nr;
}

static void pass_visit(void *ctx, uint64_t vaddr, unsigned size, const struct synth_state *state,
		       enum synth_reason reason)
{
	struct synth_file *file = ctx;

	file->visit(file->ctx, vaddr, size, state, reason);
}

int synth_file_analyse(struct synth_file *file, synth_visit_fn *visit, void *ctx,
		       struct synth_result *ret, struct fpl_err *err)
{
	struct synth_input input = {
		.holes = file->holes.list,
		.nr_holes = file->holes.nr,
		.entries = file->entries,
		.nr_entries = file->nr_entries,
		.guesses = file->scope != SYNTH_ALL && !file->budget->limits->nr_synth_near,
		.read = read_vaddr,
		.word = word_at,
		.cfi = cfi_at,
		.returns = file->scope == SYNTH_ALL ? returns : NULL,
		.visit = visit ? pass_visit : NULL,
		.ctx = file,
	};

	file->visit = visit;
	file->ctx = ctx;
	return synth_analyse(&input, file->budget, ret, err);
}
