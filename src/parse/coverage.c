/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/coverage.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/sorted.h"
#include "symbolize/demangle.h"
#include "unwind/filler.h"

/* Padding is looked for in so many bytes of a gap: more than any linker aligns by. */
#define GAP_MAX 65536u

struct range {
	uint64_t start, end;
};

struct ranges {
	struct range *list; /* owned [nr], ascending, disjoint once finished */
	size_t nr, room;
};

struct measuring {
	const struct elf_file *elf;
	struct coverage *coverage;
	struct ranges code, covered;
};

static void cleanup_ranges(struct measuring *m)
{
	free(m->code.list);
	free(m->covered.list);
}

static int ranges_add(struct ranges *ranges, uint64_t start, uint64_t end)
{
	if (start >= end)
		return 0;
	if (ranges->nr && ranges->list[ranges->nr - 1].end == start) {
		ranges->list[ranges->nr - 1].end = end;
		return 0;
	}
	if (array_reserve(&ranges->list, sizeof(*ranges->list), &ranges->room, ranges->nr + 1))
		return -ENOMEM;
	ranges->list[ranges->nr++] = (struct range){ start, end };
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return (left->start > right->start) - (left->start < right->start);
}

/* Sort, and join what overlaps or touches. */
static void ranges_finish(struct ranges *ranges)
{
	size_t nr = 0;

	if (ranges->nr)
		qsort(ranges->list, ranges->nr, sizeof(*ranges->list), by_start);
	for (size_t i = 0; i < ranges->nr; i++) {
		struct range *last = nr ? &ranges->list[nr - 1] : NULL;

		if (last && ranges->list[i].start <= last->end) {
			if (ranges->list[i].end > last->end)
				last->end = ranges->list[i].end;
			continue;
		}
		ranges->list[nr++] = ranges->list[i];
	}
	ranges->nr = nr;
}

/* The first range that ends behind @vaddr. */
static size_t ranges_at(const struct ranges *ranges, uint64_t vaddr)
{
	return SORTED_UP_TO(ranges->list, end, ranges->nr, vaddr);
}

static bool ranges_hold(const struct ranges *ranges, uint64_t vaddr)
{
	size_t i = ranges_at(ranges, vaddr);

	return i < ranges->nr && ranges->list[i].start <= vaddr;
}

/* Bytes of [start, end) that are in @ranges. */
static uint64_t ranges_bytes_in(const struct ranges *ranges, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0;

	for (size_t i = ranges_at(ranges, start); i < ranges->nr && ranges->list[i].start < end;
	     i++) {
		uint64_t from = ranges->list[i].start > start ? ranges->list[i].start : start;
		uint64_t to = ranges->list[i].end < end ? ranges->list[i].end : end;

		bytes += to - from;
	}
	return bytes;
}

/* Add [vaddr, vaddr + size) as far as executable PT_LOADs hold it. */
static int add_code(struct measuring *m, uint64_t vaddr, uint64_t size)
{
	uint64_t end;
	int code = 0;

	if (__builtin_add_overflow(vaddr, size, &end))
		end = UINT64_MAX;
	for (size_t i = 0; i < m->elf->nr_segments && !code; i++) {
		const struct elf_segment *s = &m->elf->segments[i];
		uint64_t last;

		if (s->type != PT_LOAD || !(s->flags & PF_X) ||
		    __builtin_add_overflow(s->vaddr, s->mem_size, &last))
			continue;
		code = ranges_add(&m->code, vaddr > s->vaddr ? vaddr : s->vaddr,
				  end < last ? end : last);
	}
	return code;
}

static int find_code(struct measuring *m)
{
	int code = 0;

	for (size_t i = 0; i < m->elf->nr_sections && !code; i++) {
		const struct elf_section *s = &m->elf->sections[i];

		if ((s->flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR) &&
		    s->type != SHT_NOBITS)
			code = add_code(m, s->vaddr, s->size);
	}
	if (!code && !m->code.nr)
		code = add_code(m, 0, UINT64_MAX);
	ranges_finish(&m->code);
	for (size_t i = 0; i < m->code.nr; i++)
		m->coverage->code_bytes += m->code.list[i].end - m->code.list[i].start;
	return code;
}

static bool is_expr(const struct cfi_row *row)
{
	return row->cfa == FPL_CFA_EXPR || row->reg[CFI_RA].kind == CFI_EXPR;
}

static int take_row(const struct cfi_row *row, void *ctx)
{
	struct measuring *m = ctx;
	uint64_t bytes = ranges_bytes_in(&m->code, row->start, row->end);

	if (!bytes || row->cfa == FPL_CFA_NONE)
		return 0;
	m->coverage->covered_bytes += bytes;
	m->coverage->source_bytes[row->source] += bytes;
	if (is_expr(row))
		m->coverage->expr_bytes += bytes;
	return ranges_add(&m->covered, row->start, row->end);
}

/* [start, end) is code without a row: what of it is padding? */
static int take_gap(struct measuring *m, uint64_t start, uint64_t end)
{
	size_t size = end - start < GAP_MAX ? (size_t)(end - start) : GAP_MAX;
	const struct elf_segment *load = elf_file_load_at(m->elf, start, size);
	size_t padding = 0;

	if (load) {
		AUTO_FREE uint8_t *bytes = malloc(size);

		if (!bytes)
			return -ENOMEM;
		if (!elf_file_read(m->elf, load->off + (start - load->vaddr), bytes, size, NULL))
			padding = filler_size(bytes, size, FILLER_INSTRUCTIONS);
	}
	m->coverage->padding_bytes += padding;
	m->coverage->bare_bytes += end - start - padding;
	return 0;
}

static int find_gaps(struct measuring *m)
{
	int code = 0;

	for (size_t i = 0; i < m->code.nr && !code; i++) {
		uint64_t at = m->code.list[i].start, end = m->code.list[i].end;

		for (size_t c = ranges_at(&m->covered, at);
		     c < m->covered.nr && m->covered.list[c].start < end && !code; c++) {
			if (m->covered.list[c].start > at)
				code = take_gap(m, at, m->covered.list[c].start);
			at = m->covered.list[c].end;
		}
		if (at < end && !code)
			code = take_gap(m, at, end);
	}
	return code;
}

/* Keep the largest few, largest first. */
static void take_bare(struct coverage *coverage, const struct bare_function *bare)
{
	size_t at = coverage->nr_largest;

	while (at > 0 && coverage->largest[at - 1].size < bare->size)
		at--;
	if (at == COVERAGE_LARGEST)
		return;
	if (coverage->nr_largest == COVERAGE_LARGEST)
		coverage->nr_largest--;
	memmove(&coverage->largest[at + 1], &coverage->largest[at],
		(coverage->nr_largest - at) * sizeof(coverage->largest[0]));
	coverage->largest[at] = *bare;
	coverage->nr_largest++;
}

struct functions {
	struct measuring *m;
	const struct symtab *tab;
	uint64_t last; /* start of the function before */
};

static int take_function(const struct symtab_entry *entry, void *ctx)
{
	struct functions *functions = ctx;
	struct coverage *coverage = functions->m->coverage;

	if (entry->is_plt || !ranges_hold(&functions->m->code, entry->match.start) ||
	    (coverage->nr_functions && entry->match.start == functions->last))
		return 0;
	functions->last = entry->match.start;
	coverage->nr_functions++;
	if (ranges_hold(&functions->m->covered, entry->match.start))
		return 0;
	coverage->nr_bare++;
	if (coverage->nr_largest == COVERAGE_LARGEST &&
	    entry->size <= coverage->largest[COVERAGE_LARGEST - 1].size)
		return 0;

	struct bare_function bare = { .vaddr = entry->match.start, .size = entry->size };
	AUTO_FREE char *raw = symtab_name(functions->tab, &entry->match);
	AUTO_FREE char *readable = raw ? demangle_name(raw) : NULL;

	snprintf(bare.name, sizeof(bare.name), "%s", readable ? readable : raw ? raw : "");
	take_bare(coverage, &bare);
	return 0;
}

int coverage_measure(const struct elf_file *elf, const struct elf_file *debug,
		     const struct symtab *tab, struct coverage *ret, struct fpl_err *err)
{
	CLEANUP(cleanup_ranges) struct measuring m = { .elf = elf, .coverage = ret };
	struct functions functions = { .m = &m, .tab = tab };
	int code;

	*ret = (struct coverage){ 0 };
	code = find_code(&m);
	if (!code)
		code = cfi_rows_for_each(elf, debug, &table_limits_default, take_row, &m, err);
	if (code == -ENODATA)
		code = 0;
	ranges_finish(&m.covered);
	if (!code)
		code = find_gaps(&m);
	if (!code && tab)
		code = symtab_for_each(tab, take_function, &functions);
	return code == -ENOMEM ? fpl_fail(err, code, "%s: out of memory", elf->name) : code;
}
