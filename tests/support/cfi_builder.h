/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds .eh_frame and .debug_frame bytes by hand, and turns them into rows as text and into
 * tables.
 *
 *	struct cfi_builder b;
 *	cfi_builder_init(&b, CFI_SOURCE_EH_FRAME);
 *	cfi_builder_cie(&b, "zR", BYTES("\x1b"), BYTES("\x0c\x07\x08\x90\x01"));
 *	cfi_builder_fde(&b, 0x1000, 0x20, BYTES("\x41\x0e\x10\x86\x02"));
 *	cfi_builder_rows(&b, text, sizeof(text), &err);
 */
#pragma once

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/table_compile.h"

/* Bytes of a string literal, without its NUL, as the two arguments that take them. */
#define BYTES(literal) (const uint8_t *)(literal), sizeof(literal) - 1

/* Addresses of the section and the code. */
enum {
	CFI_BUILDER_VADDR = 0x800000,
	CFI_BUILDER_TEXT = 0x1000,
	CFI_BUILDER_TEXT_END = 0x200000,
};

/* The start of most CIEs: CFA = rsp + 8, return address below it. */
#define CFI_BUILDER_START BYTES("\x0c\x07\x08\x90\x01")

struct cfi_builder {
	uint8_t *bytes; /* owned */
	size_t size, cap;
	uint8_t source;	   /* enum cfi_source */
	uint8_t encoding;  /* of the pointers of FDEs: DW_EH_PE_* */
	bool sized;	   /* FDEs carry augmentation data */
	bool wide;	   /* entries begun from now on are 64-bit DWARF */
	size_t cie;	   /* offset of the CIE FDEs point to */
	size_t length_off; /* of the entry begun last */
	size_t terminator_off;
	/* of CIEs: both alignments and the return address column, as the byte that says them */
	uint8_t code_align, data_align, ra_column;
};

static inline void cfi_builder_init(struct cfi_builder *b, enum cfi_source source)
{
	*b = (struct cfi_builder){ .source = (uint8_t)source,
				   .terminator_off = SIZE_MAX,
				   .code_align = 1,
				   .data_align = 0x78,
				   .ra_column = 16 };
}

static inline void cfi_builder_fini(struct cfi_builder *b)
{
	free(b->bytes);
}

static inline void cfi_builder_put(struct cfi_builder *b, const void *bytes, size_t size)
{
	if (b->size + size > b->cap) {
		b->cap = 2 * (b->size + size);
		b->bytes = realloc(b->bytes, b->cap);
		if (!b->bytes)
			abort();
	}
	if (size)
		memcpy(b->bytes + b->size, bytes, size);
	b->size += size;
}

/* A little-endian number of @size bytes. */
static inline void cfi_builder_uint(struct cfi_builder *b, uint64_t value, size_t size)
{
	cfi_builder_put(b, &value, size);
}

static inline void cfi_builder_uleb(struct cfi_builder *b, uint64_t value)
{
	do {
		uint8_t byte = value & 0x7f;

		value >>= 7;
		cfi_builder_uint(b, byte | (value ? 0x80u : 0), 1);
	} while (value);
}

/* Begin an entry: the length, filled in by cfi_builder_end(), and the id. */
static inline void cfi_builder_begin(struct cfi_builder *b, uint64_t id)
{
	b->length_off = b->size;
	if (b->wide)
		cfi_builder_uint(b, UINT32_MAX, 4);
	cfi_builder_uint(b, 0, b->wide ? 8 : 4);
	cfi_builder_uint(b, id, b->wide ? 8 : 4);
}

static inline void cfi_builder_end(struct cfi_builder *b)
{
	size_t at = b->length_off + (b->wide ? 4 : 0);
	size_t size = b->wide ? 8 : 4;
	uint64_t length = b->size - at - size;

	memcpy(b->bytes + at, &length, size);
}

/*
 * A CIE of version 1, data alignment -8 and return address column 16 unless @b says others, which
 * the FDEs that follow are of. @data: what follows the letters' size ('z'), or the letters' own
 * bytes.
 */
static inline void cfi_builder_cie(struct cfi_builder *b, const char *letters, const uint8_t *data,
				   size_t data_size, const uint8_t *code, size_t code_size)
{
	bool eh = b->source == CFI_SOURCE_EH_FRAME;

	b->cie = b->size;
	b->sized = letters[0] == 'z';
	b->encoding = strchr(letters, 'R') ? data[data_size - 1] : 0;
	cfi_builder_begin(b, eh ? 0 : UINT64_MAX);
	cfi_builder_uint(b, 1, 1);
	cfi_builder_put(b, letters, strlen(letters) + 1);
	cfi_builder_uint(b, b->code_align, 1);
	cfi_builder_uint(b, b->data_align, 1);
	cfi_builder_uint(b, b->ra_column, 1);
	if (b->sized)
		cfi_builder_uleb(b, data_size);
	cfi_builder_put(b, data, data_size);
	cfi_builder_put(b, code, code_size);
	cfi_builder_end(b);
}

/* The usual CIE. */
static inline void cfi_builder_usual_cie(struct cfi_builder *b)
{
	if (b->source == CFI_SOURCE_EH_FRAME)
		cfi_builder_cie(b, "zR", BYTES("\x1b"), CFI_BUILDER_START);
	else
		cfi_builder_cie(b, "", BYTES(""), CFI_BUILDER_START);
}

/* Begin an FDE up to its pointers. */
static inline void cfi_builder_fde_begin(struct cfi_builder *b)
{
	size_t id_off = b->size + (b->wide ? 12 : 4);

	cfi_builder_begin(b, b->source == CFI_SOURCE_EH_FRAME ? id_off - b->cie : b->cie);
}

/* An FDE of the last CIE: pc-relative in four bytes (0x1b) or absolute in eight (0). */
static inline void cfi_builder_fde(struct cfi_builder *b, uint64_t start, uint64_t size,
				   const uint8_t *code, size_t code_size)
{
	cfi_builder_fde_begin(b);
	if (b->encoding == 0x1b)
		cfi_builder_uint(b, start - (CFI_BUILDER_VADDR + b->size), 4);
	else
		cfi_builder_uint(b, start, 8);
	cfi_builder_uint(b, size, b->encoding == 0x1b ? 4 : 8);
	if (b->sized)
		cfi_builder_uleb(b, 0);
	cfi_builder_put(b, code, code_size);
	cfi_builder_end(b);
}

/* Open the file that the builders [nr] make, in order of their sources. */
static inline int cfi_builder_open(const struct cfi_builder *const *builders, size_t nr,
				   const struct table_limits *limits, struct cfi_file **ret,
				   struct fpl_err *err)
{
	const struct cfi_range text = { CFI_BUILDER_TEXT, CFI_BUILDER_TEXT_END };
	struct cfi_section sections[4] = { 0 };

	for (size_t i = 0; i < nr; i++)
		sections[i] = (struct cfi_section){
			.bytes = builders[i]->bytes,
			.size = builders[i]->size,
			.vaddr = builders[i]->source == CFI_SOURCE_EH_FRAME ? CFI_BUILDER_VADDR : 0,
			.text_vaddr = CFI_BUILDER_TEXT,
			.data_vaddr = CFI_BUILDER_TEXT + 0x100,
			.source = builders[i]->source,
			.terminator_off = builders[i]->terminator_off,
		};
	return cfi_file_from_sections("test", sections, nr, &text, 1, limits, ret, err);
}

/* "!" where a field is set that the kind does not use. */
static inline const char *cfi_builder_stray(const struct cfi_row *row, const struct cfi_reg *reg)
{
	bool at_reg = reg && (reg->kind == CFI_AT_REG || reg->kind == CFI_VAL_REG);
	bool has_off = at_reg || (reg && (reg->kind == CFI_AT_CFA || reg->kind == CFI_VAL_CFA));
	bool has_cfa = row->cfa != FPL_CFA_EXPR;
	bool goroutine = row->cfa == FPL_CFA_G_CALL || row->cfa == FPL_CFA_G_RESUME;
	bool luajit = row->cfa == FPL_CFA_LUAJIT;
	bool haskell = row->cfa == FPL_CFA_HASKELL;
	bool second = row->cfa == FPL_CFA_INDEX || row->cfa == FPL_CFA_PLT || goroutine || luajit ||
		      haskell;

	if (reg)
		return (!at_reg && reg->reg) || (!has_off && reg->off) ? "!" : "";
	return (!has_cfa && (row->cfa_reg || row->cfa_off)) || (!second && row->cfa_reg2) ||
			       (row->cfa != FPL_CFA_INDEX && row->cfa != FPL_CFA_DEREF &&
				row->cfa != FPL_CFA_HEIGHT && !goroutine && !luajit && !haskell &&
				row->cfa_off2)
		       ? "!"
		       : "";
}

/* Text of one register of a row: "" where it is what a program that says nothing has. */
static inline void cfi_builder_reg_text(FILE *out, unsigned i, const struct cfi_row *row)
{
	const struct cfi_reg *reg = &row->reg[i];

	if (!*cfi_builder_stray(row, reg) &&
	    (i == CFI_RA ? reg->kind == CFI_AT_CFA && reg->off == -8 : reg->kind == CFI_SAME))
		return;
	fprintf(out, i == CFI_RA ? " ra=" : " r%u=", i);
	if (reg->kind == CFI_AT_REG)
		fprintf(out, "*(r%u%+" PRId32 ")", reg->reg, reg->off);
	else if (reg->kind == CFI_VAL_REG)
		fprintf(out, "v:r%u%+" PRId32, reg->reg, reg->off);
	else if (reg->kind == CFI_AT_CFA)
		fprintf(out, "c%+" PRId32, reg->off);
	else if (reg->kind == CFI_VAL_CFA)
		fprintf(out, "v:c%+" PRId32, reg->off);
	else
		fputs(reg->kind == CFI_SAME ? "s" : reg->kind == CFI_UNDEF ? "u" : "expr", out);
	fputs(cfi_builder_stray(row, reg), out);
}

/* "START-END CFA[ rN=...][ ra=...][ signal]\n", addresses in hex from the start of the text. */
static inline int cfi_builder_row_text(const struct cfi_row *row, void *ctx)
{
	FILE *out = ctx;

	fprintf(out, "%" PRIx64 "-%" PRIx64 " ", row->start - CFI_BUILDER_TEXT,
		row->end - CFI_BUILDER_TEXT);
	switch (row->cfa) {
	case FPL_CFA_REG:
		fprintf(out, "r%u%+" PRId64, row->cfa_reg, row->cfa_off);
		break;
	case FPL_CFA_DEREF:
		fprintf(out, "*(r%u%+" PRId64 ")%+" PRId64, row->cfa_reg, row->cfa_off,
			row->cfa_off2);
		break;
	case FPL_CFA_INDEX:
		fprintf(out, "*(r%u%+" PRId64 "+8*r%u)%+" PRId64, row->cfa_reg, row->cfa_off,
			row->cfa_reg2, row->cfa_off2);
		break;
	case FPL_CFA_PLT:
		fprintf(out, "plt:%u", row->cfa_reg2);
		break;
	case FPL_CFA_G_CALL:
	case FPL_CFA_G_RESUME:
		fprintf(out, "%s:r%u:%u,%" PRId64 ",%" PRId64,
			row->cfa == FPL_CFA_G_CALL ? "call" : "resume", row->cfa_reg,
			8u * row->cfa_reg2, row->cfa_off2, row->cfa_off);
		break;
	case FPL_CFA_HEIGHT:
		fprintf(out, "height:r%u%+" PRId64 "%+" PRId64, row->cfa_reg, row->cfa_off,
			row->cfa_off2);
		break;
	case FPL_CFA_LUAJIT:
		fprintf(out, "luajit:r%u%+" PRId64 "%+" PRId64 "+%u", row->cfa_reg, row->cfa_off,
			row->cfa_off2, 8u * row->cfa_reg2);
		break;
	case FPL_CFA_HASKELL:
		fprintf(out, "haskell:r%u%+" PRId64 ",%" PRId64 ",%u", row->cfa_reg, row->cfa_off,
			row->cfa_off2, row->cfa_reg2);
		break;
	default:
		fputs(row->cfa == FPL_CFA_EXPR ? "expr" : "none", out);
	}
	fputs(cfi_builder_stray(row, NULL), out);
	for (unsigned i = 0; i < CFI_NR_REGS; i++)
		cfi_builder_reg_text(out, i, row);
	fputs(row->signal ? " signal\n" : "\n", out);
	return 0;
}

/* The rows of @file as text in @text. Returns 0 or the first error. */
static inline int cfi_builder_rows(struct cfi_file *file, char *text, size_t size,
				   struct fpl_err *err)
{
	FILE *out = fmemopen(text, size, "w");
	int code = 0;

	for (size_t i = 0; i < file->nr_pieces && code >= 0; i++) {
		uint64_t end;

		code = cfi_file_run(file, &file->pieces[i], cfi_builder_row_text, out, &end, err);
	}
	fclose(out);
	return code < 0 ? code : 0;
}
