/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in a file where a probe can be set: functions by their name, and what its author marked by
 * the macros of sys/sdt.h (USDT), as the notes of the file say. The file is hostile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/elf_file.h"

#define PROBE_SITES_MAX	       65536u	    /* of a file; node has some 30, a database some 1,000 */
#define PROBE_TEXT_MAX	       (8u << 20)   /* bytes of all names and arguments */
#define PROBE_SAME_NAME_MAX    64u	    /* functions of one name that are told */
#define PROBE_SIMILAR_MAX      4u	    /* names that may be meant */
#define PROBE_SYMBOL_TEXTS_MAX (512u << 20) /* bytes of a string table */
#define PROBE_CODE_SIZE	       8u	    /* bytes of a function that are told */

enum probe_site_kind {
	PROBE_SITE_CODE,
	PROBE_SITE_IFUNC,   /* not the function, but what chooses it when the program starts */
	PROBE_SITE_SIMILAR, /* a function whose name may be meant; it is its name only */
	PROBE_SITE_KIND_COUNT
};

struct probe_site {
	uint64_t vaddr, off; /* in the file */
	uint64_t size;	     /* bytes of a function; 0: unknown */
	/* Offset in the file of a counter, of 2 bytes: the probe's code runs while it is not 0. 0:
	 * it always does. */
	uint64_t ref_ctr_off;
	/* Offsets in probe_sites.text. Of functions provider and args are empty texts. */
	uint32_t provider, name, args;
	uint32_t kind; /* enum probe_site_kind */
	uint8_t nr_code;
	uint8_t code[PROBE_CODE_SIZE]; /* a function's first bytes, [nr_code] */
	uint8_t _pad[7];
};

/* All 0: empty. */
struct probe_sites {
	struct probe_site *list; /* owned [nr] */
	size_t nr, room;
	char *text; /* owned [text_size]; each text ends with a NUL */
	size_t text_size, text_room;
};

void probe_sites_fini(struct probe_sites *sites);

/* Do all sites lie in executable code and name texts? For those that another process has sent. */
bool probe_sites_check(const struct probe_sites *sites);

/*
 * Append what the notes of @elf (.note.stapsdt) say, in their order. Notes that make no sense, or
 * whose code is not in the file, are left out. Errors: -E2BIG more than PROBE_SITES_MAX, or too
 * much text; those of elf_file_section_bytes(); -ENOMEM. No notes are no error.
 */
FPL_MUST_CHECK int probe_sites_read_notes(const struct elf_file *elf, struct probe_sites *sites,
					  struct fpl_err *err);

/*
 * Append the functions called @name in the symbol tables of @elf and of its @nr_debug files @debug:
 * one for each address, in no order. Of versions of a symbol (name@VERSION) only the default one
 * counts, if there is one. 0x and an address in @elf stand for the place there. Without such a
 * function the names most like @name are appended, as PROBE_SITE_SIMILAR. Errors: -E2BIG more than
 * PROBE_SAME_NAME_MAX; -ENOMEM; a symbol table that cannot be read is left out.
 */
FPL_MUST_CHECK int probe_sites_find(const struct elf_file *elf, const struct elf_file *const *debug,
				    size_t nr_debug, const char *name, struct probe_sites *sites,
				    struct fpl_err *err);

/* For the readers: append a site with its texts. Errors: -E2BIG; -ENOMEM. */
FPL_MUST_CHECK int probe_sites_add(struct probe_sites *sites, const struct probe_site *site,
				   const char *provider, const char *name, const char *args);
/* Likewise: find the place in the file of @size bytes at @vaddr, in a segment that has @flags
 * (PF_*). False: no such segment. */
bool probe_sites_place(const struct elf_file *elf, uint64_t vaddr, uint64_t size, uint32_t flags,
		       uint64_t *ret);
