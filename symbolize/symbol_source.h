/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody else who reads the files of objects for a symbolizer: a process without rights. All that
 * comes from it has been checked to hold together; whether it is true only the file knows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"
#include "obj/identity.h"

#define SYMBOL_NO_START UINT64_MAX

/* A name for an address. */
struct symbol_place {
	const char *name; /* readable; NULL: there is none */
	/* Of the symbol; without one of the function, as its FDE says; SYMBOL_NO_START: unknown. */
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

/*
 * Each asks about the object open at @fd, that its process sees as @path. Errors, with a message
 * that names the file: those of reading it; -EOWNERDEAD it was the end of who read it; -ENOMEM.
 */
struct symbol_source {
	/* The files that are asked about from here on were of @trust when they were met, and have
	 * not been written to since: one that has lost its name would be of another. NULL: as they
	 * are. May be NULL. */
	void (*trust)(void *ctx, const struct trust *trust);
	/* Name the code at each of @vaddrs [@nr], ascending. */
	int (*names)(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		     struct symbol_places *ret, struct fpl_err *err);
	/* What is inlined at each of @vaddrs [@nr], ascending, and where that is written. May be
	 * NULL. -ENOENT: the file has no debugging information. */
	int (*lines)(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		     struct symbol_chains *ret, struct fpl_err *err);
	/* List the functions, as their FDEs say, ascending start: [*ret_nr], the caller frees it.
	 */
	int (*functions)(void *ctx, int fd, const char *path, struct vaddr_range **ret,
			 size_t *ret_nr, struct fpl_err *err);
	/* SYMBOL_FRAME_* of each of @vaddrs [@nr], ascending, into @ret [@nr]. */
	int (*frames)(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		      uint8_t *ret, struct fpl_err *err);
	void *ctx;
};

void symbol_places_fini(struct symbol_places *places);
void symbol_chains_fini(struct symbol_chains *chains);
