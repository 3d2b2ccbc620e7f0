/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter for the parts that nearly all programs consist of, on packed rules: its state is
 * the 16 bytes of a slot, in two words, so a row costs an interning and no packing. From an unknown
 * instruction on cfa_program.h takes over.
 */
#pragma once

#include "unwind/cfi_file.h"
#include "unwind/compact.h"
#include "unwind/image.h"

/* A slot of the image as two words. */
struct rule_words {
	uint64_t low;  /* cfa, flags, regs, from_reg, cfa_off */
	uint64_t high; /* saved, off2 */
};

/* The state in which the FDEs of a CIE start. */
struct fast_start {
	bool known;
	bool usable;	      /* it fits one plain slot, and the factors are the usual ones */
	const uint8_t *bytes; /* of the section; borrowed */
	struct rule_words words;
};

enum { FAST_CACHE_LOG2 = 9 };

struct fast {
	struct cfi_file *file;	   /* borrowed */
	struct rule_set *rules;	   /* borrowed */
	struct image *image;	   /* borrowed */
	struct fast_start *starts; /* owned [file->list.nr_cies] */
	uint64_t rows, covered_bytes;
	/* Rules seen lately by their hash; slot 0: empty. */
	struct fast_entry {
		struct rule_words words;
		uint32_t slot;
	} cache[1u << FAST_CACHE_LOG2];
};

/* Errors: -ENOMEM. */
FPL_MUST_CHECK int fast_init(struct fast *fast, struct cfi_file *file, struct rule_set *rules,
			     struct image *image, struct fpl_err *err);
void fast_fini(struct fast *fast);

/*
 * Add the rows of @piece to the image up to the first unknown instruction. @ret_pc: the pc reached,
 * or the piece's end. Errors: as rule_set_add() and image_add().
 */
FPL_MUST_CHECK int fast_run(struct fast *fast, const struct cfi_piece *piece, uint64_t *ret_pc,
			    struct fpl_err *err);
