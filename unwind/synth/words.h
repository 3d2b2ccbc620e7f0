/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a file that its loader relocates to addresses of code without CFI: tables of functions,
 * and of labels. Private to unwind/synth.
 */
#pragma once

#include <stdbool.h>

#include "obj/elf_file.h"
#include "unwind/budget.h"

struct synth_word {
	uint64_t vaddr, value;
};

struct synth_words {
	struct synth_word *list; /* owned [nr], ascending by vaddr */
	size_t nr, room;
};

/* The source of the words, and the filter for those to keep. */
struct synth_words_source {
	const struct elf_file *elf; /* borrowed */
	struct budget *budget;	    /* borrowed */
	/* Copy @size bytes at @vaddr of the file; false: not there. */
	bool (*read)(void *ctx, uint64_t vaddr, void *to, size_t size);
	bool (*is_wanted)(void *ctx, uint64_t value);
	void *ctx;
};

/*
 * Read the words of relocations relative to the load address: SHT_RELA and SHT_RELR sections or,
 * without section headers, the tables of PT_DYNAMIC. Errors: -ENOMEM, -EFBIG over the budget;
 * synth_words_fini() is safe then.
 */
FPL_MUST_CHECK int synth_words_read(const struct synth_words_source *source,
				    struct synth_words *ret, struct fpl_err *err);
void synth_words_fini(struct synth_words *words);

/* The word at @vaddr; NULL: not kept. Cost: O(log nr). */
const struct synth_word *synth_words_find(const struct synth_words *words, uint64_t vaddr);
