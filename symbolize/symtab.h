/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code symbols of one object, from all places that have any: its .symtab and .dynsym, and the
 * .symtab of its separate debug file and of its .gnu_debugdata. 20 bytes a symbol; names stay in
 * the file until asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"

#define SYMTAB_SYMBOLS_MAX (4u << 20) /* the largest Debian debug file (chromium) has 1.1 M */
#define SYMTAB_NAME_MAX	   65536u     /* bytes of a name; what is longer is cut */
#define SYMTAB_ALIASES_MAX 64u	      /* names of one address that are compared */

struct symtab;

/* Which symbol covers an address. */
struct symtab_match {
	uint64_t start; /* vaddr of the symbol */
	uint64_t end;	/* behind its last byte; of an unsized symbol the next one's start */
	size_t idx;	/* equal idx: equal name */
	/* Addresses around the one asked about whose answer is the same; empty: unknown. */
	struct vaddr_range same;
};

void symtab_destroy(struct symtab *tab);

size_t symtab_nr_symbols(const struct symtab *tab);

/* One symbol as symtab_for_each shows it. */
struct symtab_entry {
	struct symtab_match match;
	uint64_t size; /* bytes; of an unsized symbol up to the next one */
	bool is_plt;   /* made for an entry of a procedure linkage table */
};

/*
 * Call @fn for every symbol by ascending address, aliases one after the other, the largest first.
 * Another value than 0 ends it and is returned.
 */
int symtab_for_each(const struct symtab *tab,
		    int (*fn)(const struct symtab_entry *entry, void *ctx), void *ctx);

/*
 * Find the symbol that covers @vaddr: of several the one that starts last. Returns false if no
 * symbol does: behind the end of a symbol there is no name. Only same of *ret is filled then.
 * Cost: O(log n).
 */
bool symtab_find(const struct symtab *tab, uint64_t vaddr, struct symtab_match *ret);

/*
 * Read the name of a match into a new string (the caller frees it), chosen among aliases by
 * name_rule.h, without "@VERSION". NULL where it cannot be read or memory ran out.
 */
char *symtab_name(const struct symtab *tab, const struct symtab_match *match);
