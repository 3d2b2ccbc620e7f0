/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a file of CFI: from its sections to pieces. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sorted.h"
#include "unwind/arch_x86_64.h"
#include "unwind/cfi_file.h"
#include "unwind/eh_frame_hdr.h"
#include "unwind/pieces.h"
#include "unwind/synth/fill.h"
#include "unwind/synth/ghc.h"
#include "unwind/synth/kept.h"
#include "unwind/synth/luajit.h"
#include "unwind/synth/ocaml.h"

/* The directory of a table has an entry per 64 KiB: 4 GiB of vaddr are half a MiB of directory. */
#define TEXT_SPAN_MAX (1ull << 32)

static int range_compare(const void *a, const void *b)
{
	const struct cfi_range *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

/* Sort and join the ranges, and check that a table can address them. */
static int text_finish(struct cfi_file *file, struct fpl_err *err)
{
	size_t nr = 0;

	if (file->nr_text == 0)
		return fpl_fail(err, -ENODATA, "%s: no executable segment", file->budget.name);
	qsort(file->text, file->nr_text, sizeof(*file->text), range_compare);
	for (size_t i = 0; i < file->nr_text; i++) {
		struct cfi_range *last = nr ? &file->text[nr - 1] : NULL;

		if (last && file->text[i].start <= last->end) {
			if (file->text[i].end > last->end)
				last->end = file->text[i].end;
			continue;
		}
		file->text[nr++] = file->text[i];
	}
	file->nr_text = nr;
	for (size_t i = 0; i < nr; i++)
		file->text_bytes += file->text[i].end - file->text[i].start;
	if (file->text[nr - 1].end > FPL_FRAME_VADDR_MASK ||
	    file->text[nr - 1].end - file->text[0].start > TEXT_SPAN_MAX)
		return fpl_fail(err, -EFBIG,
				"%s: executable segments from %#" PRIx64 " to %#" PRIx64
				": a table covers 4 GiB, below 2^40",
				file->budget.name, file->text[0].start, file->text[nr - 1].end);
	return 0;
}

static int text_read(struct cfi_file *file, const struct elf_file *elf, struct fpl_err *err)
{
	file->text = calloc(elf->nr_segments + 1, sizeof(*file->text));
	if (!file->text)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *segment = &elf->segments[i];
		uint64_t end;

		if (segment->type != PT_LOAD || !(segment->flags & PF_X) || segment->mem_size == 0)
			continue;
		if (__builtin_add_overflow(segment->vaddr, segment->mem_size, &end))
			return fpl_fail(err, -EINVAL, "%s: segment %zu wraps around", elf->name, i);
		file->text[file->nr_text++] = (struct cfi_range){ segment->vaddr, end };
	}
	return text_finish(file, err);
}

/* Take only FDEs that start in executable segments, and cut them at the segment's end. */
static void fdes_clip(struct cfi_file *file, size_t first)
{
	struct cfi_list *list = &file->list;
	size_t nr = first;
	size_t t = 0;

	for (size_t i = first; i < list->nr_fdes; i++) {
		struct cfi_fde fde = list->fdes[i];

		/*
		 * Most files have one range; in the others a neighbour's range is usually the same.
		 */
		if (fde.start < file->text[t].start || fde.start >= file->text[t].end)
			for (t = 0; t < file->nr_text - 1 && fde.start >= file->text[t].end; t++)
				;
		if (fde.start < file->text[t].start || fde.start >= file->text[t].end)
			continue;
		if (fde.end > file->text[t].end)
			fde.end = file->text[t].end;
		list->fdes[nr++] = fde;
	}
	list->nr_bad += list->nr_fdes - nr;
	list->nr_fdes = nr;
}

/* Count the FDEs without a piece of their own. */
static int count_shadowed(struct cfi_file *file, struct fpl_err *err)
{
	size_t nr_fdes = file->list.nr_fdes;
	AUTO_FREE bool *owns = NULL;

	if (!file->overlaps)
		return 0;
	owns = calloc(nr_fdes + 1, sizeof(*owns));
	if (!owns)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->budget.name);
	for (size_t i = 0; i < file->nr_pieces; i++)
		if (!(file->pieces[i].fde & CFI_PIECE_MADE))
			owns[file->pieces[i].fde] = true;
	for (size_t i = 0; i < nr_fdes; i++)
		file->nr_shadowed += !owns[i];
	return 0;
}

/* Is [start, end) in one executable range and outside all pieces? Callers pass ascending ranges. */
static bool is_free(const struct cfi_file *file, uint64_t start, uint64_t end, size_t *text,
		    size_t *piece)
{
	while (*text < file->nr_text && file->text[*text].end <= start)
		(*text)++;
	while (*piece < file->nr_pieces && file->pieces[*piece].end <= start)
		(*piece)++;
	return *text < file->nr_text && file->text[*text].start <= start &&
	       end <= file->text[*text].end &&
	       (*piece == file->nr_pieces || end <= file->pieces[*piece].start);
}

/*
 * Add the functions of Go in the gaps between pieces: whole functions, so that each is decoded
 * once.
 */
static int go_place(struct cfi_file *file, struct fpl_err *err)
{
	const struct go_functions *go = &file->go;
	size_t nr = go->nr < CFI_PIECE_GO ? go->nr : 0;
	size_t nr_pieces = 0, text = 0, piece = 0;

	if (nr == 0)
		return 0;

	int code = budget_memory(&file->budget, nr * sizeof(struct cfi_piece), err);

	if (code)
		return code;

	AUTO_FREE struct cfi_piece *pieces = calloc(nr, sizeof(*pieces));

	if (!pieces)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", file->budget.name);
	for (size_t i = 0; i < nr; i++) {
		const struct go_function *function = &go->list[i];

		if ((function->depths || function->kind != GO_PLAIN) &&
		    is_free(file, function->start, function->end, &text, &piece))
			pieces[nr_pieces++] = (struct cfi_piece){ function->start, function->end,
								  (uint32_t)i | CFI_PIECE_GO };
	}
	file->list.nr_bad += go->nr_bad;
	return pieces_add(file, pieces, nr_pieces, err);
}

/* From sections to pieces. */
static int file_list(struct cfi_file *file, struct fpl_err *err)
{
	size_t s = 0;
	int code = 0;

	file->machine.budget = &file->budget;
	for (unsigned source = 0; source < CFI_SOURCE_COUNT && code == 0; source++) {
		size_t first = file->list.nr_fdes;

		for (; s < file->nr_sections && file->sections[s].source == source && code == 0;
		     s++)
			code = cfi_list_add(&file->list, &file->sections[s], &file->budget, err);
		if (code)
			break;
		fdes_clip(file, first);
		code = pieces_sort_fdes(file, first, file->list.nr_fdes, err);
		if (code == 0)
			code = pieces_add_fdes(file, first, file->list.nr_fdes, err);
		if (code == 0 && source == CFI_SOURCE_GO)
			code = go_place(file, err);
	}
	return code;
}

static int file_create(const char *name, size_t nr_sections, const struct table_limits *limits,
		       struct cfi_file **ret, struct fpl_err *err)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *file = calloc(1, sizeof(*file));

	if (!file)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	budget_init(&file->budget, name, limits);
	file->sections = calloc(nr_sections + 1, sizeof(*file->sections));
	if (!file->sections)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	*ret = TAKE_PTR(file);
	return 0;
}

/* Add the contents of @section of @from as CFI. */
static int read_section(struct cfi_file *file, const struct elf_file *from,
			const struct elf_section *section, enum cfi_source source,
			struct fpl_err *err)
{
	const struct elf_section *text = elf_file_section(from, ".text");
	const struct elf_section *got = elf_file_section(from, ".got");
	struct cfi_section cfi = {
		.vaddr = section->vaddr,
		.text_vaddr = text ? text->vaddr : 0,
		.data_vaddr = got ? got->vaddr : 0,
		.elf = from,
		.source = (uint8_t)source,
		.terminator_off = SIZE_MAX,
	};
	int code = elf_file_section_bytes(from, section, (size_t)budget_memory_left(&file->budget),
					  &cfi.bytes, &cfi.size, err);

	if (code)
		return code;
	file->sections[file->nr_sections++] = cfi;
	return budget_memory(&file->budget, cfi.size, err);
}

/* Add all sections called @name. An unreadable one is an error only over the budget. */
static int read_sections(struct cfi_file *file, const struct elf_file *from, const char *name,
			 enum cfi_source source, struct fpl_err *err)
{
	for (size_t i = 0; i < from->nr_sections; i++) {
		const struct elf_section *section = &from->sections[i];

		if (section->type == SHT_NOBITS || section->size == 0 ||
		    strcmp(section->name, name) != 0)
			continue;

		int code = read_section(file, from, section, source, err);

		if (code == -EFBIG || code == -ENOMEM)
			return code;
	}
	return 0;
}

static int read_all(struct cfi_file *file, const struct elf_file *elf, const struct elf_file *debug,
		    struct fpl_err *err)
{
	int code = read_sections(file, elf, ".eh_frame", CFI_SOURCE_EH_FRAME, err);

	if (code == 0 && file->nr_sections == 0) {
		struct cfi_section section;

		code = eh_frame_hdr_find(elf, &file->budget, &section, err);
		if (code == 0)
			file->sections[file->nr_sections++] = section;
		else if (code == -ENODATA || code == -EINVAL)
			code = 0;
	}
	if (code == 0)
		code = read_sections(file, elf, ".debug_frame", CFI_SOURCE_DEBUG_FRAME, err);
	if (code == 0 && debug)
		code = read_sections(file, debug, ".debug_frame", CFI_SOURCE_DEBUG_FILE, err);
	return code;
}

/*
 * Code without FDE that is recognised by its instructions: the maker of its rows, and their limit.
 */
static const struct synth {
	const char *section;
	size_t (*make_rows)(const uint8_t *bytes, size_t size, uint64_t vaddr,
			    struct cfi_row *rows);
} synths[] = {
	{ ".plt", arch_plt_rows },   { ".plt.sec", arch_plt_rows }, { ".plt.got", arch_plt_rows },
	{ ".init", arch_init_rows }, { ".fini", arch_init_rows },
};

/* Does one FDE cover the whole of @section? Then no synthesised row would be used. */
static bool is_covered(const struct cfi_file *file, const struct elf_section *section)
{
	size_t lo = SORTED_UP_TO(file->pieces, start, file->nr_pieces, section->vaddr);

	return lo > 0 && section->vaddr < file->pieces[lo - 1].end &&
	       section->size <= file->pieces[lo - 1].end - section->vaddr;
}

/* Make the rows of one section. */
static int synth_add(struct cfi_file *file, const struct elf_file *elf,
		     const struct elf_section *section, const struct synth *synth,
		     struct fpl_err *err)
{
	AUTO_FREE uint8_t *bytes = NULL;
	size_t size;
	int code = elf_file_section_bytes(elf, section, (size_t)budget_memory_left(&file->budget),
					  &bytes, &size, err);

	if (code)
		return code == -ENOMEM ? code : 0;

	size_t cap = size / ARCH_PLT_ENTRY_SIZE * ARCH_PLT_ROWS + ARCH_INIT_ROWS;

	code = pieces_room_for_rows(file, cap, err);
	if (code)
		return code;
	file->nr_synth_rows += synth->make_rows(bytes, size, section->vaddr,
						file->synth_rows + file->nr_synth_rows);
	return 0;
}

static bool in_text(const struct cfi_file *file, const struct elf_section *section)
{
	for (size_t i = 0; i < file->nr_text; i++)
		if (section->vaddr >= file->text[i].start && section->vaddr < file->text[i].end &&
		    section->size <= file->text[i].end - section->vaddr)
			return true;
	return false;
}

static int synth_add_all(struct cfi_file *file, const struct elf_file *elf, struct fpl_err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(synths); i++) {
		const struct elf_section *section = elf_file_section(elf, synths[i].section);

		if (!section || section->type == SHT_NOBITS || !in_text(file, section) ||
		    is_covered(file, section))
			continue;

		int code = synth_add(file, elf, section, &synths[i], err);

		if (code)
			return code;
	}
	return pieces_place_rows(file, 0, err);
}

/* Is there anything to decode? If not, say why. */
static int file_check(const struct cfi_file *file, struct fpl_err *err)
{
	if (file->nr_pieces > 0 || file->synth_left)
		return 0;
	if (file->list.nr_bad > 0)
		return fpl_fail(err, -EINVAL, "%s: all of its %" PRIu64 " FDEs are malformed",
				file->budget.name, file->list.nr_bad);
	return fpl_fail(err, -ENODATA, "%s: no CFI", file->budget.name);
}

/* Read facts from the code itself. */
static int read_code(struct cfi_file *file, const struct elf_file *elf, struct fpl_err *err)
{
	int code = synth_find_kept(file, elf, err);

	if (code == 0)
		code = synth_mend_ocaml(file, elf, err);
	if (code == 0)
		code = synth_mend_luajit(file, elf, err);
	code_facts_sort(&file->facts);
	if (code == 0)
		code = synth_fill_haskell(file, elf, err);
	return code ? code : synth_fill(file, elf, err);
}

int cfi_file_open(const struct elf_file *elf, const struct elf_file *debug,
		  const struct table_limits *limits, struct cfi_file **ret, struct fpl_err *err)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *file = NULL;
	int code;

	if (elf->machine != ARCH_MACHINE)
		return fpl_fail(err, -ENOTSUP, "%s: code of another architecture (ELF machine %u)",
				elf->name, elf->machine);
	code = file_create(elf->name, elf->nr_sections + (debug ? debug->nr_sections : 0) + 1,
			   limits, &file, err);
	if (code == 0)
		code = text_read(file, elf, err);
	if (code == 0)
		code = read_all(file, elf, debug, err);
	if (code == 0)
		code = go_functions_read(elf, &file->budget, &file->go, err);
	if (code == 0)
		code = file_list(file, err);
	if (code == 0)
		code = synth_add_all(file, elf, err);
	if (code == 0 && limits->synth && file->go.nr == 0)
		code = read_code(file, elf, err);
	if (code == 0)
		code = count_shadowed(file, err);
	if (code == 0)
		code = file_check(file, err);
	if (code)
		return code;
	*ret = TAKE_PTR(file);
	return 0;
}

int cfi_file_from_sections(const char *name, const struct cfi_section *sections, size_t nr_sections,
			   const struct cfi_range *text, size_t nr_text,
			   const struct table_limits *limits, struct cfi_file **ret,
			   struct fpl_err *err)
{
	CLEANUP(cfi_file_cleanup) struct cfi_file *file = NULL;
	int code = file_create(name, nr_sections, limits, &file, err);

	if (code)
		return code;
	file->text = calloc(nr_text + 1, sizeof(*text));
	if (!file->text)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", name);
	memcpy(file->text, text, nr_text * sizeof(*text));
	file->nr_text = nr_text;
	memcpy(file->sections, sections, nr_sections * sizeof(*sections));
	file->nr_sections = nr_sections;
	file->borrowed = true;
	code = text_finish(file, err);
	if (code == 0)
		code = file_list(file, err);
	if (code == 0)
		code = count_shadowed(file, err);
	if (code == 0)
		code = file_check(file, err);
	if (code)
		return code;
	*ret = TAKE_PTR(file);
	return 0;
}
