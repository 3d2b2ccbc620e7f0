/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symtab_build.h"

#include <errno.h>
#include <stdlib.h>

int symtab_push(struct symtab *tab, const struct symtab_symbol *symbol)
{
	if (tab->nr >= SYMTAB_SYMBOLS_MAX)
		return -EFBIG;
	return vector_push(tab, *symbol);
}

int symtab_add_names(struct symtab *tab, const struct elf_file *elf, uint64_t off, uint64_t size)
{
	if (tab->nr_sources == SYMTAB_SOURCES_MAX)
		return -ENOSPC;
	tab->sources[tab->nr_sources] = (struct symtab_source){
		.elf = elf,
		.names_off = off,
		.names_size = size,
	};
	return (int)tab->nr_sources++;
}

int symtab_add_function(struct symtab *tab, int source, uint64_t vaddr, uint64_t size,
			uint32_t name_off)
{
	if (!size || vaddr >= SYMBOL_VADDR_END || !symtab_code_range(tab, vaddr))
		return 0;
	return symtab_push(tab, &(struct symtab_symbol){
					.key = vaddr << 16 |
					       (uint64_t)source << SYMBOL_SOURCE_SHIFT | NAME_LOCAL,
					.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
					.name_off = name_off,
				});
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
			const struct symtab_range *range = symtab_code_range(tab, vaddr);

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
