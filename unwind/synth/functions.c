/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/synth/functions.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sorted.h"
#include "unwind/synth/code.h"

enum { CHECK_EVERY = 1024 }; /* FDEs */
enum { PIECE = 64 << 10, NAMES_MAX = 64 << 20 };

struct search {
	struct cfi_file *file; /* borrowed */
	struct synth_codes codes;
	synth_function_fn fn;
	void *ctx;
};

static void cleanup_search(struct search *search)
{
	synth_codes_fini(&search->codes);
}

/* Names are read in pieces that overlap. */
static int has_name(const struct elf_file *elf, const char *name, size_t name_size, bool *ret,
		    struct fpl_err *err)
{
	const struct elf_section *section = elf_file_section(elf, ".dynstr");
	AUTO_FREE uint8_t *bytes = malloc(PIECE);

	*ret = false;
	if (!bytes)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	if (!section)
		section = elf_file_section(elf, ".strtab");
	if (!section || section->type != SHT_STRTAB || (section->flags & SHF_COMPRESSED))
		return 0;
	for (uint64_t at = 0; at < section->size && at < NAMES_MAX && !*ret;
	     at += PIECE - name_size) {
		uint64_t left = section->size - at;
		size_t size = left < PIECE ? (size_t)left : PIECE;

		if (elf_file_read(elf, section->off + at, bytes, size, NULL))
			return 0;
		*ret = memmem(bytes, size, name, name_size) != NULL;
	}
	return 0;
}

static int look_at(struct search *search, const struct synth_code *code,
		   const struct cfi_piece *piece, struct fpl_err *err)
{
	const struct cfi_fde *fde = &search->file->list.fdes[piece->fde];
	uint64_t size = piece->end - piece->start;
	const uint8_t *bytes;
	int status;

	if (fde->start != piece->start || fde->end != piece->end ||
	    piece->end > code->start + code->size)
		return 0;
	status = synth_codes_bytes(&search->codes, code, piece->start, size, &bytes, err);
	if (status)
		return status == -ENOMEM || status == -EFBIG ? status : 0;
	return search->fn(search->ctx, fde, bytes, size, err);
}

static int look_through(struct search *search, const struct synth_code *code, struct fpl_err *err)
{
	struct cfi_file *file = search->file;
	size_t i = SORTED_UP_TO(file->pieces, start, file->nr_pieces, code->start);
	int status = 0;

	for (i -= i > 0; i < file->nr_pieces && status == 0; i++) {
		const struct cfi_piece *piece = &file->pieces[i];

		if (piece->start >= code->start + code->size)
			break;
		if (piece->start >= code->start && !(piece->fde & CFI_PIECE_MADE))
			status = look_at(search, code, piece, err);
		if (status == 0 && i % CHECK_EVERY == 0)
			status = budget_check(&file->budget, err);
	}
	return status;
}

int synth_functions_for_each(struct cfi_file *file, const struct elf_file *elf, const char *name,
			     size_t name_size, synth_function_fn fn, void *ctx, struct fpl_err *err)
{
	CLEANUP(cleanup_search) struct search search = { .file = file, .fn = fn, .ctx = ctx };
	bool wanted;
	int code = has_name(elf, name, name_size, &wanted, err);

	if (code || !wanted)
		return code;
	code = synth_codes_open(&search.codes, elf, &file->budget, err);
	if (code)
		return code == -EINVAL ? 0 : code; /* no code to be read */
	for (size_t i = 0; i < search.codes.nr && code == 0; i++)
		code = look_through(&search, &search.codes.list[i], err);
	return code;
}

int synth_mend(struct cfi_file *file, const struct mended_fact *fact, struct fpl_err *err)
{
	struct code_facts *facts = &file->facts;

	if (array_reserve(&facts->mended, sizeof(*facts->mended), &facts->room_mended,
			  facts->nr_mended + 1))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->budget.name);
	facts->mended[facts->nr_mended++] = *fact;
	return 0;
}
