/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about addresses in a file: names, functions that are inlined, lines, frames. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "obj/elf_file.h"

#define SYMBOL_NO_START UINT64_MAX

/* A name for an address. */
struct symbol_place {
	const char *name; /* readable; NULL: no name */
	/* The start of the symbol, or without one of the function, as its FDE says;
	 * SYMBOL_NO_START: unknown. */
	uint64_t start;
	/* Addresses around it that have the same answer; empty: unknown, else it lies in it. */
	struct vaddr_range same;
};

/* A function at an address, inlined or not. */
struct symbol_line {
	const char *name;      /* readable; NULL: unknown */
	const char *file;      /* its source, absolute as far as is known; NULL: unknown */
	uint32_t line, column; /* of the address in that file; 0: unknown */
	uint32_t start_line;   /* where the function is declared; 0: unknown */
};

#define SYMBOL_LINES_MAX 255u /* functions at one address */

/* All functions at an address, the innermost first: the last one is not inlined. */
struct symbol_chain {
	uint32_t first, nr; /* in symbol_chains.lines; nr 0: nothing is known */
};

struct symbol_chains {
	struct symbol_chain *chains; /* owned [nr], in the order of the question */
	struct symbol_line *lines;   /* owned */
	char *text;		     /* owned: names and files */
};

struct symbol_places {
	struct symbol_place *places; /* owned [nr], in the order of the question */
	char *text;		     /* owned: the names */
	struct symbol_chains chains; /* of the same addresses, where they were asked for */
};

/* Bits of what the CFI says about the frame pointer at an address. */
#define SYMBOL_FRAME_KNOWN    1u /* it has a row */
#define SYMBOL_FRAME_HERE     2u /* which has the CFA by the frame pointer */
#define SYMBOL_FRAME_ANYWHERE 4u /* some row of its function has */

void symbol_places_fini(struct symbol_places *places);
void symbol_chains_fini(struct symbol_chains *chains);
