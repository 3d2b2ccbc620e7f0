/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact unwind table of one object: compiled from its CFI, laid out as the image described in
 * bpf/shared.h, answered by bpf/lookup.h. Immutable once compiled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "obj/elf_file.h"
#include "unwind/script_facts.h"

/* Limits for one file; a file over one of them is refused, the limit named. */
struct table_limits {
	uint64_t cpu_ns;       /* 2 s */
	uint64_t memory_bytes; /* 256 MiB: sections read plus everything built from them */
	uint64_t rows;	       /* 4 M, before merging */
	/* Make rows for code without CFI, too (unwind/synth), with the same limits of time and
	 * memory again. Over them, such rows are dropped, not the table; rows likely to exceed the
	 * time are not begun, except around synth_near. */
	bool synth; /* true */
	/* Rows from code are left for later, and synth_left says so. */
	bool synth_later; /* false */
	/* Such rows are made around these vaddrs only, the others are left for later. */
	const uint64_t *synth_near; /* borrowed [nr_synth_near], ascending */
	size_t nr_synth_near;	    /* 0: everywhere */
};
extern const struct table_limits table_limits_default;

struct table_stats {
	uint64_t text_bytes;	/* of executable PT_LOADs */
	uint64_t cfi_bytes;	/* of .eh_frame and .debug_frame read */
	uint64_t fdes;		/* used */
	uint64_t fdes_bad;	/* skipped: malformed, or outside executable segments */
	uint64_t fdes_shadowed; /* wholly hidden by FDEs with higher starts */
	uint64_t rows_raw;	/* as decoded */
	uint64_t rows;		/* in the image */
	uint64_t rules;		/* distinct, extended ones counted once */
	uint64_t rules_ext;
	uint64_t rows_expr;	/* rows that stop with `expr` */
	uint64_t synth_bytes;	/* of code without FDE with rows made from its instructions */
	uint64_t judged_bytes;	/* of such code proven to have no valid row and no valid
				   frame-pointer step */
	uint64_t synth_refused; /* 1: making rows from code would have exceeded its limits */
	uint64_t synth_left;	/* likely time of rows left for later, at least in part, ns; 0: none
				   left */
	uint64_t image_bytes;
	uint64_t covered_bytes; /* of text that has a row */
};

struct table {
	/* Owned [nr_chunks], FPL_CHUNK_SIZE bytes each; a single one that is in the heap may end
	 * behind image_bytes and what lookups read there. */
	uint8_t **chunks;
	size_t nr_chunks;
	bool in_heap;	      /* of malloc(), else of zeroed_alloc() */
	uint32_t image_bytes; /* used, from offset 0 of chunk 0 */
	uint32_t rules_off, dir_off, nr_pages;
	uint64_t first_vaddr;
	uint64_t entry_vaddr;
	struct table_stats stats;
	struct script_facts script; /* by unwind/script_find.h */
};

/* Bytes of the image in chunk @i of @table. */
static inline size_t table_chunk_bytes(const struct table *table, size_t i)
{
	size_t left = table->image_bytes - i * FPL_CHUNK_SIZE;

	return left < FPL_CHUNK_SIZE ? left : FPL_CHUNK_SIZE;
}

/*
 * Compile the CFI of @elf: .eh_frame (by section, else through PT_GNU_EH_FRAME), then .debug_frame
 * for code without .eh_frame, then the .debug_frame of @debug, its separate debug file (may be
 * NULL). A bad FDE costs that FDE and is counted.
 *
 * Errors: -ENODATA no CFI at all (message says so: not a fault of the file); -EFBIG over a limit
 * (message names the limit); -EINVAL CFI that is malformed as a whole; -ENOTSUP code of another
 * architecture; -ENOMEM.
 */
FPL_MUST_CHECK int table_compile(const struct elf_file *elf, const struct elf_file *debug,
				 const struct table_limits *limits, struct table **ret,
				 struct fpl_err *err);
/*
 * Make room for the image_bytes of @table, which has no chunks yet: zeroes. Errors: -ENOMEM; what
 * was made is the table's.
 */
FPL_MUST_CHECK int table_make_room(struct table *table);
void table_destroy(struct table *table);

/* For CLEANUP(). */
static inline void table_cleanup(struct table **table)
{
	table_destroy(*table);
}

/* Find the first rule whose CFA is of the kind @cfa; false: no rule is. Cost: O(rules). */
bool table_find_rule(const struct table *table, enum fpl_cfa cfa, struct fpl_rule *ret);

/*
 * The rule in force at @vaddr (a lookup_pc), followed by its extended rules; slot 0 (NONE) if
 * nothing covers it. Owned by the table. Never NULL.
 */
const struct fpl_rule *table_find(const struct table *table, uint64_t vaddr);

/* The same; [*ret_start, *ret_end): addresses around @vaddr with the same answer, not necessarily
 * all of them. */
const struct fpl_rule *table_find_reach(const struct table *table, uint64_t vaddr,
					uint64_t *ret_start, uint64_t *ret_end);
