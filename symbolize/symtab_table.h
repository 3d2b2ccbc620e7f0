/* SPDX-License-Identifier: Apache-2.0 */
/* How a symbol table is held: for symtab*.c and plt.c. */
#pragma once

#include "base/vector.h"
#include "symbolize/name_rule.h"
#include "symbolize/symtab.h"

#define SYMTAB_SOURCES_MAX     4u
#define SYMTAB_CODE_RANGES_MAX 64u /* each symbol is held against all of them */
#define SYMTAB_NO_OUTER	       UINT32_MAX

/* The place of names. */
struct symtab_source {
	const struct elf_file *elf;	 /* borrowed */
	const struct elf_section *table; /* the symbols, in elf */
	uint64_t names_off, names_size;
};

struct symtab_symbol {
	uint64_t key;  /* vaddr << 16 | flags; vaddrs from 2^48 on are no code of a user process */
	uint32_t size; /* 0 only until symtab_arrange; sizes over 4 GiB count as 4 GiB */
	uint32_t name_off;
};
_Static_assert(sizeof(struct symtab_symbol) == 16, "four to a cache line");

#define SYMBOL_VADDR_END    (1ull << 48)
#define SYMBOL_BINDING_MASK 3u /* enum name_binding */
#define SYMBOL_UNTYPED	    (1u << 2)
#define SYMBOL_PLT	    (1u << 3) /* "@plt" belongs behind the name */
#define SYMBOL_SOURCE_SHIFT 4u	      /* 2 bits: index in sources */

/* [start, end) */
struct symtab_range {
	uint64_t start, end;
};

/*
 * Names as they are read: one by one, until that has cost as much as reading the whole string table
 * would have; then that is read, and kept.
 */
struct symtab_names {
	char name[SYMTAB_NAME_MAX]; /* the one at hand */
	struct {
		char *bytes; /* owned [names_size], or NULL */
		size_t nr_read;
	} tables[SYMTAB_SOURCES_MAX];
};

struct symtab {
	struct symtab_names *names;   /* owned */
	VECTOR(struct symtab_symbol); /* by vaddr, then largest first, then flags */
	uint32_t *outer; /* owned [nr]: the last symbol before that ends behind it, or NO_OUTER */
	size_t nr_arranged; /* of them, from the first: what symtab_find sees */
	struct symtab_source sources[SYMTAB_SOURCES_MAX];
	size_t nr_sources;
	/* executable segments; of variables the others */
	struct symtab_range code[SYMTAB_CODE_RANGES_MAX];
	size_t nr_code;
	bool is_data; /* its symbols are variables */
};

static inline uint64_t symbol_vaddr(const struct symtab_symbol *symbol)
{
	return symbol->key >> 16;
}

static inline enum name_binding symbol_binding(const struct symtab_symbol *symbol)
{
	return (enum name_binding)(symbol->key & SYMBOL_BINDING_MASK);
}

static inline bool symbol_is_untyped(const struct symtab_symbol *symbol)
{
	return symbol->key & SYMBOL_UNTYPED;
}

static inline size_t symbol_source(const struct symtab_symbol *symbol)
{
	return (symbol->key >> SYMBOL_SOURCE_SHIFT) & 3u;
}

/* The code range that holds @vaddr, or NULL. */
static inline const struct symtab_range *symtab_code_range(const struct symtab *tab, uint64_t vaddr)
{
	for (size_t k = 0; k < tab->nr_code; k++) {
		if (vaddr >= tab->code[k].start && vaddr < tab->code[k].end)
			return &tab->code[k];
	}
	return NULL;
}
