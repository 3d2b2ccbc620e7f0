/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a writer has written of a frame, to be written again: a profile has a hundred thousand
 * frames, and among them a few thousand that differ.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct frame_texts {
	struct frame_texts_slot *slots; /* owned [nr_slots], hash table by frame and kind */
	size_t nr_slots, nr;		/* nr_slots: power of two */
	FILE *to;			/* owned: writes texts; NULL: nothing was written yet */
	char *texts;			/* owned [size], one behind the other */
	size_t size;
};

/* One that is all zeros is empty. */
void frame_texts_fini(struct frame_texts *texts);

/* Write to @to what was kept of (@frame, @kind). Returns false where nothing was. */
bool frame_texts_repeat(const struct frame_texts *texts, uint64_t frame, uint32_t kind, FILE *to);

/*
 * What is written to *ret (borrowed) until frame_texts_keep() is kept there under (@frame, @kind),
 * @kind from 1 on. Errors: -ENOMEM.
 */
FPL_MUST_CHECK int frame_texts_begin(struct frame_texts *texts, FILE **ret);
FPL_MUST_CHECK int frame_texts_keep(struct frame_texts *texts, uint64_t frame, uint32_t kind);
