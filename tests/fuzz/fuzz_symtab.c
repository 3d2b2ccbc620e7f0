/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables, PLT and relocations of a hostile ELF file, taken as the object and as its own
 * debug file. Judged: the table keeps its order, a match covers the address asked for and starts at
 * a symbol, names are bounded and carry no version, and asking twice gives the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize/demangle.h"
#include "symbolize/symtab_read.h"
#include "symbolize/symtab_table.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAMES_CHECKED_MAX 200u

static void check_order(const struct symtab *tab)
{
	REQUIRE(tab->nr == tab->nr_arranged && tab->nr <= SYMTAB_SYMBOLS_MAX);
	for (size_t i = 1; i < tab->nr; i++) {
		uint32_t outer = tab->outer[i];

		REQUIRE(symbol_vaddr(&tab->list[i - 1]) <= symbol_vaddr(&tab->list[i]));
		if (outer == SYMTAB_NO_OUTER)
			continue;
		REQUIRE(outer < i);
		REQUIRE(symbol_vaddr(&tab->list[outer]) + tab->list[outer].size >
			symbol_vaddr(&tab->list[i]) + tab->list[i].size);
	}
}

static void check_name(const struct symtab *tab, const struct symtab_match *match)
{
	char *name = symtab_name(tab, match), *again = symtab_name(tab, match);
	char *demangled = NULL;

	REQUIRE(!name == !again && (!name || strcmp(name, again) == 0));
	if (name) {
		const char *at = strchr(name + 1, '@');

		REQUIRE(name[0] && strlen(name) < SYMTAB_NAME_MAX);
		REQUIRE(!at || strcmp(at, "@plt") == 0);
		demangled = demangle_name(name);
	}
	free(demangled);
	free(again);
	free(name);
}

static void check_address(const struct symtab *tab, uint64_t vaddr, bool named)
{
	struct symtab_match match;

	if (!symtab_find(tab, vaddr, &match))
		return;
	REQUIRE(match.idx < tab->nr && match.start <= vaddr);
	REQUIRE(vaddr - match.start < tab->list[match.idx].size);
	REQUIRE(symbol_vaddr(&tab->list[match.idx]) == match.start);
	if (named)
		check_name(tab, &match);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *elf = NULL;
	struct symtab *tab = NULL;

	if (elf_file_from_memory(data, size, "fuzz", &elf, NULL))
		return 0;
	if (symtab_create(elf, (const struct elf_file *[]){ elf }, 1, &tab, NULL) == 0) {
		check_order(tab);
		check_address(tab, 0, true);
		check_address(tab, UINT64_MAX, true);
		for (size_t i = 0; i < tab->nr; i++) {
			uint64_t vaddr = symbol_vaddr(&tab->list[i]);

			check_address(tab, vaddr, i < NAMES_CHECKED_MAX);
			check_address(tab, vaddr + tab->list[i].size, i < NAMES_CHECKED_MAX);
		}
	}
	symtab_destroy(tab);
	elf_file_close(elf);
	return 0;
}
