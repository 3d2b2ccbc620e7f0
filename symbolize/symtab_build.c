/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symtab_build.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SYMBOLS_PER_READ 2048u

/* The code range that holds @vaddr, or NULL. */
static const struct symtab_range *code_range(const struct symtab *tab, uint64_t vaddr)
{
	for (size_t i = 0; i < tab->nr_code; i++) {
		if (vaddr >= tab->code[i].start && vaddr < tab->code[i].end)
			return &tab->code[i];
	}
	return NULL;
}

void symtab_set_code(struct symtab *tab, const struct elf_file *elf)
{
	for (size_t i = 0; i < elf->nr_segments && tab->nr_code < SYMTAB_CODE_RANGES_MAX; i++) {
		const struct elf_segment *seg = &elf->segments[i];

		if (seg->type == PT_LOAD && (seg->flags & PF_X))
			tab->code[tab->nr_code++] = (struct symtab_range){
				.start = seg->vaddr,
				.end = seg->vaddr + seg->mem_size,
			};
	}
}

int symtab_push(struct symtab *tab, const struct symtab_symbol *symbol)
{
	if (tab->nr >= SYMTAB_SYMBOLS_MAX)
		return -EFBIG;
	return vector_push(tab, *symbol);
}

/* Turn @sym into a symbol of ours; false where it names no code. */
static bool convert(const struct symtab *tab, const Elf64_Sym *sym, size_t source,
		    struct symtab_symbol *ret)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
	bool untyped = type == STT_NOTYPE;
	enum name_binding binding = bind == STB_LOCAL  ? NAME_LOCAL
				    : bind == STB_WEAK ? NAME_WEAK
						       : NAME_GLOBAL;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && !untyped)
		return false;
	if (sym->st_shndx == SHN_UNDEF || (untyped && sym->st_shndx == SHN_ABS) ||
	    sym->st_name == 0 || sym->st_value >= SYMBOL_VADDR_END ||
	    !code_range(tab, sym->st_value))
		return false;
	*ret = (struct symtab_symbol){
		.key = sym->st_value << 16 | source << SYMBOL_SOURCE_SHIFT |
		       (untyped ? SYMBOL_UNTYPED : 0) | binding,
		.size = sym->st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)sym->st_size,
		.name_off = sym->st_name,
	};
	return true;
}

static const struct elf_section *find_section(const struct elf_file *elf, uint32_t type)
{
	for (size_t i = 1; i < elf->nr_sections; i++) {
		if (elf->sections[i].type == type)
			return &elf->sections[i];
	}
	return NULL;
}

static int add_symbols(struct symtab *tab, const struct elf_file *from,
		       const struct elf_section *section, size_t source, struct fpl_err *err)
{
	AUTO_FREE Elf64_Sym *chunk = malloc(SYMBOLS_PER_READ * sizeof(*chunk));
	uint64_t nr = section->size / sizeof(*chunk);

	if (!chunk)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", from->name);
	for (uint64_t done = 0; done < nr;) {
		size_t n = nr - done < SYMBOLS_PER_READ ? (size_t)(nr - done) : SYMBOLS_PER_READ;
		int rc = elf_file_read(from, section->off + done * sizeof(*chunk), chunk,
				       n * sizeof(*chunk), err);

		if (rc)
			return rc;
		for (size_t i = 0; i < n; i++) {
			struct symtab_symbol symbol;

			if (!convert(tab, &chunk[i], source, &symbol))
				continue;
			rc = symtab_push(tab, &symbol);
			if (rc)
				return fpl_fail(err, rc, "%s: %s: %s", from->name, section->name,
						rc == -EFBIG ? "more than 4 M code symbols"
							     : "out of memory");
		}
		done += n;
	}
	return 0;
}

int symtab_add_section(struct symtab *tab, const struct elf_file *from, uint32_t type,
		       struct fpl_err *err)
{
	const struct elf_section *section = find_section(from, type), *names;

	if (!section || tab->nr_sources == SYMTAB_SOURCES_MAX)
		return 0;
	if (section->entry_size != sizeof(Elf64_Sym))
		return fpl_fail(err, -EINVAL, "%s: %s: entries of %" PRIu64 " bytes", from->name,
				section->name, section->entry_size);
	if (section->off > from->size || section->size > from->size - section->off)
		return fpl_fail(err, -ENODATA, "%s: %s: reaches behind the end of the file",
				from->name, section->name);
	if (section->link == 0 || section->link >= from->nr_sections)
		return fpl_fail(err, -EINVAL, "%s: %s: names in section %u of %zu", from->name,
				section->name, section->link, from->nr_sections);
	names = &from->sections[section->link];
	if (names->type != SHT_STRTAB || (names->flags & SHF_COMPRESSED))
		return fpl_fail(err, -EINVAL, "%s: %s: names in section %u, no string table",
				from->name, section->name, section->link);
	tab->sources[tab->nr_sources] = (struct symtab_source){
		.elf = from,
		.table = section,
		.names_off = names->off,
		.names_size = names->size,
	};
	return add_symbols(tab, from, section, tab->nr_sources++, err);
}

/* By vaddr, largest first, then by all the rest: the order does not depend on the file's. */
static int compare_symbols(const void *left, const void *right)
{
	const struct symtab_symbol *a = left, *b = right;
	uint64_t vaddr_a = symbol_vaddr(a), vaddr_b = symbol_vaddr(b);

	if (vaddr_a != vaddr_b)
		return vaddr_a < vaddr_b ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->name_off < b->name_off ? -1 : a->name_off > b->name_off;
}

/* Drop what stands inside a sized function and is unsized or untyped; give the others an end. */
static void settle_sizes(struct symtab *tab)
{
	uint64_t function_end = 0; /* of the sized functions so far */
	size_t kept = 0, next = 0; /* next: first symbol with a higher vaddr */

	for (size_t i = 0; i < tab->nr; i++) {
		struct symtab_symbol symbol = tab->list[i];
		uint64_t vaddr = symbol_vaddr(&symbol), end;

		if ((symbol.size == 0 || symbol_is_untyped(&symbol)) && vaddr < function_end)
			continue;
		if (symbol.size == 0) {
			const struct symtab_range *range = code_range(tab, vaddr);

			for (next = next > i ? next : i + 1;
			     next < tab->nr && symbol_vaddr(&tab->list[next]) == vaddr;)
				next++;
			end = range ? range->end : vaddr;
			if (next < tab->nr && symbol_vaddr(&tab->list[next]) < end)
				end = symbol_vaddr(&tab->list[next]);
			symbol.size =
				end - vaddr > UINT32_MAX ? UINT32_MAX : (uint32_t)(end - vaddr);
		} else if (!symbol_is_untyped(&symbol) && vaddr + symbol.size > function_end) {
			function_end = vaddr + symbol.size;
		}
		tab->list[kept++] = symbol;
	}
	tab->nr = kept;
}

/*
 * For each symbol find the last one before it that ends behind its end. While walking up, a stack
 * of candidates is kept; ends on it fall from bottom to top, so what ends no later than the present
 * symbol can never be asked for again. The stack lives in outer[] itself: each candidate's outer is
 * the one below it.
 */
static void settle_nesting(struct symtab *tab)
{
	uint32_t top = SYMTAB_NO_OUTER;

	for (size_t i = 0; i < tab->nr; i++) {
		uint64_t end = symbol_vaddr(&tab->list[i]) + tab->list[i].size;

		while (top != SYMTAB_NO_OUTER &&
		       symbol_vaddr(&tab->list[top]) + tab->list[top].size <= end)
			top = tab->outer[top];
		tab->outer[i] = top;
		top = (uint32_t)i;
	}
}

int symtab_arrange(struct symtab *tab)
{
	free(tab->outer);
	tab->outer = NULL;
	tab->nr_arranged = 0;
	if (tab->nr == 0)
		return 0;
	qsort(tab->list, tab->nr, sizeof(*tab->list), compare_symbols);
	settle_sizes(tab);
	vector_trim(tab);
	tab->outer = calloc(tab->nr, sizeof(*tab->outer));
	if (!tab->outer)
		return -ENOMEM;
	settle_nesting(tab);
	tab->nr_arranged = tab->nr;
	return 0;
}
